"""What each operator does at one body: the small functions that lowering makes steps of.

Link vectors are six numbers; whether they are called motions or forces makes no difference to an operator expression,
so each function takes them as what it needs. Joint vectors are tuples with an entry per freedom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import Signature, signature
from typing import Any, ClassVar

from recursa.dynamics.articulated_bodies import Elimination, filtered, innovated, smoothed
from recursa.dynamics.compliance import yielding
from recursa.dynamics.factorization import six_by_six
from recursa.model.model import Joint
from recursa.operational.compliance_plans import compliance_entries
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar, reciprocal, sqrt, where
from recursa.spatial.small_systems import solve_positive
from recursa.spatial.transform import Transform

Six = Motion | Force
Freedoms = tuple[Scalar, ...]


class Stacked(tuple[Scalar, ...]):
    """What the robot has once, numbers at pick-offs or of constraints; unlike plain tuples they are added up entry by
    entry.
    """

    __slots__ = ()

    @classmethod
    def _make(cls, entries: Iterable[Scalar]) -> Stacked:
        return cls(entries)

    def __add__(self, other: Any) -> Any:
        return Stacked(a + b for a, b in zip(self, entries_of(other), strict=True))


@dataclass(frozen=True)
class Once:
    """A step function: what another one makes at a link, as what the robot has once."""

    fn: Callable[..., Any]

    @property
    def __name__(self) -> str:
        return self.fn.__name__

    @property
    def __signature__(self) -> Signature:
        return signature(self.fn)

    def __call__(self, *arguments: Any) -> Stacked:
        """The numbers, which are added up."""
        return Stacked(entries_of(self.fn(*arguments)))


Total = Sequence[Scalar] | Six
"""What the robot has once: given or computed."""
Eliminations = tuple[Elimination, ...]


def as_motion(x: Six) -> Motion:
    """The six numbers as a motion."""
    return x if isinstance(x, Motion) else Motion(*x)


def as_force(x: Six) -> Force:
    """The six numbers as a force."""
    return x if isinstance(x, Force) else Force(*x)


# ---- at the body itself --------------------------------------------------------------------------------------------


def hinge(joint: Joint, x: Six) -> Freedoms:
    """``H x``."""
    return tuple(joint.project(as_force(x)))


def hinge_transposed(joint: Joint, x: Freedoms) -> Six:
    """``H* x``."""
    return joint.motion(x)


def inertia_times(inertia: RigidInertia | ArticulatedInertia, x: Six) -> Six:
    """``M x``, ``R x`` or ``P x``."""
    return inertia @ as_motion(x)


def armature_times(joint: Joint, x: Freedoms) -> Freedoms:
    """``A x``."""
    return tuple(rotor * value for rotor, value in zip(joint.armature, x, strict=True))


def hinge_inertia_times(joint: Joint, inertia: ArticulatedInertia, x: Freedoms) -> Freedoms:
    """``D x = H P H* x + A x``."""
    projected = joint.project(inertia @ joint.motion(x))
    return tuple(p + rotor * value for p, rotor, value in zip(projected, joint.armature, x, strict=True))


def inertia_solve(inertia: RigidInertia | ArticulatedInertia, x: Six) -> Six:
    """``inv(M) x``, ``inv(R) x`` or ``inv(P) x``."""
    return Motion.of(solve_positive(rows_of(six_by_six(whole(inertia))), x.components(), alike=3))


def armature_solve(joint: Joint, x: Freedoms) -> Freedoms:
    """``inv(A) x``."""
    return tuple(value * reciprocal(rotor) for rotor, value in zip(joint.armature, x, strict=True))


def compliance_times(of: ArticulatedInertia, x: Six) -> Six:
    """``Upsilon x``."""
    return yielding(of, as_force(x))


def compliance_solve(of: ArticulatedInertia, x: Six) -> Six:
    """``inv(Upsilon) x``."""
    return Motion.of(solve_positive(rows_of(compliance_entries(of)), x.components(), alike=3))


def whole(inertia: RigidInertia | ArticulatedInertia) -> ArticulatedInertia:
    """The inertia of a rigid body as one of the other kind, which is let through."""
    return ArticulatedInertia.from_rigid(inertia) if isinstance(inertia, RigidInertia) else inertia


def rows_of(entries: Iterable[Scalar]) -> list[list[Scalar]]:
    """The entries of a 6 x 6 matrix, row by row, as rows."""
    flat = list(entries)
    return [flat[start : start + 6] for start in range(0, 36, 6)]


def gain_times(done: Eliminations, x: Freedoms) -> Six:
    """``G x = P H* inv(D) x``, freedom by freedom."""
    return filtered(done, x, Force.zero())[1]


def gain_transposed(done: Eliminations, x: Six) -> Freedoms:
    """``G* x``."""
    return tuple(-value for value in smoothed(done, (0.0,) * len(done), as_motion(x))[0])


def projected(done: Eliminations, x: Six) -> Six:
    """``tau_bar x = x - G H x``."""
    z = as_force(x)
    for column, u, inverse_d in done:
        z = z - u * (column.dot(z) * inverse_d)
    return z


def projected_transposed(done: Eliminations, x: Six) -> Six:
    """``tau_bar* x = x - H* G* x``."""
    return smoothed(done, (0.0,) * len(done), as_motion(x))[1]


def hinge_inertia_solve(done: Eliminations, x: Freedoms) -> Freedoms:
    """``inv(D) x``: absorbed in one order, answered in the other, as with any L D L* factors."""
    return smoothed(done, filtered(done, x, Force.zero())[0], Motion.zero())[0]


# ---- the root W of the hinge inertia: D = W W*, W lower triangular with a positive diagonal --------------------------
# Freedom by freedom, from the eliminations that made P: D = L d L*, W = L sqrt(d). With one freedom W is D^(1/2).


def root_times(done: Eliminations, x: Freedoms) -> Freedoms:
    """``W x``."""
    z, found = Force.zero(), []
    for (column, u, inverse_d), value in zip(done, x, strict=True):
        root = sqrt(inverse_d)
        found.append(column.dot(z) + value / root)
        z = z + u * (value * root)
    return tuple(found)


def root_transposed(done: Eliminations, x: Freedoms) -> Freedoms:
    """``W* x``."""
    carried, found = Motion.zero(), []
    for (column, u, inverse_d), value in zip(reversed(done), reversed(x), strict=True):
        found.append((value + carried.dot(u) * inverse_d) / sqrt(inverse_d))
        carried = carried + column * value
    return tuple(reversed(found))


def root_solve(done: Eliminations, x: Freedoms) -> Freedoms:
    """``inv(W) x``."""
    innovations, _, _ = innovated(done, x, Force.zero())
    return tuple(value * sqrt(inverse_d) for value, (_, _, inverse_d) in zip(innovations, done, strict=True))


def root_solve_transposed(done: Eliminations, x: Freedoms) -> Freedoms:
    """``inv(W*) x``."""
    normalized = [value * sqrt(inverse_d) for value, (_, _, inverse_d) in zip(x, done, strict=True)]
    return smoothed(done, normalized, Motion.zero())[0]


# ---- that of the link inertia: M = W_M W_M* --------------------------------------------------------------------------


def _inertia_root(inertia: RigidInertia) -> list[list[Scalar]]:
    """The rows of the lower Cholesky factor of a link inertia; a pivot of zero has a column of zeros."""
    rows = rows_of(six_by_six(whole(inertia)))
    root: list[list[Scalar]] = [[0.0] * 6 for _ in range(6)]
    for k in range(6):
        left = [rows[i][k] - sum((root[i][j] * root[k][j] for j in range(k)), start=0.0) for i in range(k, 6)]
        positive = left[0] > 0.0
        pivot = sqrt(where(positive, left[0], 1.0))
        for i in range(k, 6):
            root[i][k] = where(positive, left[i - k] / pivot, 0.0)
    return root


def inertia_root_times(inertia: RigidInertia, x: Six) -> Six:
    """``W_M x``."""
    root, entries = _inertia_root(inertia), x.components()
    return Motion.of([sum((root[i][j] * entries[j] for j in range(i + 1)), start=0.0) for i in range(6)])


def inertia_root_transposed(inertia: RigidInertia, x: Six) -> Six:
    """``W_M* x``."""
    root, entries = _inertia_root(inertia), x.components()
    return Motion.of([sum((root[i][j] * entries[i] for i in range(j, 6)), start=0.0) for j in range(6)])


def inertia_root_solve(inertia: RigidInertia, x: Six) -> Six:
    """``inv(W_M) x``."""
    root, found = _inertia_root(inertia), list[Scalar]()
    for i, entry in enumerate(x.components()):
        found.append((entry - sum((root[i][j] * y for j, y in enumerate(found)), start=0.0)) / root[i][i])
    return Motion.of(found)


def inertia_root_solve_transposed(inertia: RigidInertia, x: Six) -> Six:
    """``inv(W_M*) x``."""
    root, found = _inertia_root(inertia), list(x.components())
    for i in reversed(range(6)):
        found[i] = (found[i] - sum((root[j][i] * found[j] for j in range(i + 1, 6)), start=0.0)) / root[i][i]
    return Motion.of(found)


# ---- cross operators -------------------------------------------------------------------------------------------------


def joint_cross(joint: Joint, v: Freedoms, x: Six) -> Six:
    """``S x = crf(H* v) x``."""
    return joint.motion(v).cross_force(as_force(x))


def joint_cross_transposed(joint: Joint, v: Freedoms, x: Six) -> Six:
    """``S* x = -crm(H* v) x = crm(x) H* v``."""
    return as_motion(x).cross_motion(joint.motion(v))


def velocity_cross(velocity: Motion, x: Six) -> Six:
    """``S_V x = crf(V) x``."""
    return velocity.cross_force(as_force(x))


def velocity_cross_transposed(velocity: Motion, x: Six) -> Six:
    """``S_V* x = -crm(V) x = crm(x) V``."""
    return as_motion(x).cross_motion(velocity)


def rotated(velocity: Motion, x: Six) -> Six:
    """``Omega x``: both halves times the angular velocity."""
    turning, (first, second) = velocity.angular, as_motion(x)
    return Motion(turning.cross(first), turning.cross(second))


def momentum_cross(inertia: RigidInertia, velocity: Motion, x: Six) -> Six:
    """``N x = crf(x) M V``."""
    return as_motion(x).cross_force(inertia @ velocity)


# ---- between neighbours --------------------------------------------------------------------------------------------


def shift(step: Transform, x: Six, gathered: Force) -> tuple[Six, Force]:
    """``y = E_phi x``: what the children handed in, and what the parent is handed."""
    return gathered, step.force(as_force(x))


def gather(step: Transform, x: Six, gathered: Force) -> tuple[Six, Six, Force]:
    """``y = phi x``: ``y(k) = x(k) + sum of phi(k, c) y(c)``; the sum by itself is ``phi E_phi x``."""
    y = as_force(x) + gathered
    return y, gathered, step.force(y)


def gather_articulated(step: Transform, done: Eliminations, x: Six, gathered: Force) -> tuple[Six, Force]:
    """``y = psi x``: ``y(k) = x(k) + sum of phi(k, c) tau_bar(c) y(c)``."""
    y = as_force(x) + gathered
    return y, step.force(as_force(projected(done, y)))


def gather_articulated_shifted(step: Transform, done: Eliminations, x: Six, gathered: Force) -> tuple[Six, Force]:
    """``y = psi E_phi x``: ``y(k) = sum of phi(k, c) (tau_bar(c) y(c) + x(c))``."""
    return gathered, step.force(as_force(projected(done, gathered)) + as_force(x))


def gather_with_shifted(step: Transform, x: Six, shifted: Six, gathered: Force) -> tuple[Six, Force]:
    """``z = phi (x + E_phi y)``: what is to be shifted is handed over together with z."""
    z = as_force(x) + gathered
    return z, step.force(z + as_force(shifted))


def gather_articulated_with_shifted(
    step: Transform, done: Eliminations, x: Six, shifted: Six, gathered: Force
) -> tuple[Six, Force]:
    """``z = psi (x + E_phi y)``, likewise: ``z+ = tau_bar z + y`` goes to the parent, (71) with ``y = G T``."""
    z = as_force(x) + gathered
    return z, step.force(as_force(projected(done, z)) + as_force(shifted))


def shift_transposed(step: Transform, parent: Six) -> Six:
    """``y = E_phi* x``: what the parent has."""
    return step.inverse_motion(as_motion(parent))


def spread(step: Transform, x: Six, parent: Six) -> tuple[Six, Six]:
    """``y = phi* x``: ``y(k) = x(k) + phi* y(parent)``; the last term by itself is ``E_phi* phi* x``."""
    carried = step.inverse_motion(as_motion(parent))
    return as_motion(x) + carried, carried


def spread_articulated(step: Transform, done: Eliminations, x: Six, parent: Six) -> tuple[Six, Six]:
    """``y = psi* x``: ``y(k) = x(k) + tau_bar* phi* y(parent)``; ``phi* y(parent)`` is ``E_phi* psi* x``."""
    carried = step.inverse_motion(as_motion(parent))
    return as_motion(x) + as_motion(projected_transposed(done, carried)), carried


# ---- sums, numbers, links ------------------------------------------------------------------------------------------


def same(x: Any) -> Any:
    """A copy."""
    return x


def six(x: Sequence[Scalar]) -> Six:
    """Six numbers that were given, as a link vector."""
    return Motion.of(x)


@dataclass(frozen=True)
class Combination:
    """A step function: the sum of vectors times numbers."""

    numbers: tuple[float, ...]
    __name__: ClassVar[str] = "combine"

    def __call__(self, *vectors: Any) -> Any:
        """The sum, of link or joint vectors, of what the robot has once, or of single numbers."""
        if not isinstance(vectors[0], Motion | Force | tuple):
            return _weighted(self.numbers, vectors)
        columns = zip(*map(entries_of, vectors), strict=True)
        return alike(vectors[0], [_weighted(self.numbers, entries) for entries in columns])


def _weighted(numbers: tuple[float, ...], entries: Sequence[Scalar]) -> Scalar:
    """Sum of numbers times entries, without multiplying by one."""
    total = None
    for number, entry in zip(numbers, entries, strict=True):
        if total is None:
            total = entry if number == 1.0 else -entry if number == -1.0 else number * entry
        elif abs(number) == 1.0:
            total = total + entry if number > 0.0 else total - entry
        else:
            total = total + number * entry
    return total


def dot(x: Sequence[Scalar] | Six, y: Sequence[Scalar] | Six) -> Scalar:
    """``x* y``: a body's share of it."""
    total = 0.0
    for a, b in zip(entries_of(x), entries_of(y), strict=True):
        total = total + a * b
    return total


def times_number(x: Any, number: Scalar) -> Any:
    """A vector, or a number, times a number."""
    return tuple(entry * number for entry in x) if type(x) in (tuple, Stacked) else x * number


def rest(joint: Joint) -> Freedoms:
    """Zero in joint space."""
    return (0.0,) * len(joint.armature)


@dataclass(frozen=True)
class Fixed:
    """A step function: the same numbers wherever it is asked."""

    name: str
    value: Any

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, _: Any) -> Any:
        """The numbers."""
        return self.value


still = Fixed("still", Motion.zero())


def put_on(offset: Transform, f: Sequence[Scalar] | Six) -> Force:
    """``B(link) f``: the force on the link's body."""
    return offset.force(Force.of(entries_of(f)))


def taken_from(offset: Transform, x: Six) -> Motion:
    """``B(link)* x``: what the link has of its body's."""
    return offset.inverse_motion(as_motion(x))


def entries_of(f: Total) -> Sequence[Scalar]:
    """The numbers of a vector."""
    return f.components() if isinstance(f, Motion | Force) else f


def alike(x: Six | Sequence[Scalar], entries: Sequence[Scalar]) -> Motion | tuple[Scalar, ...]:
    """Entries as a vector of the kind that x is: of a link or of a joint."""
    return Motion.of(entries) if isinstance(x, Motion | Force) else tuple(entries)
