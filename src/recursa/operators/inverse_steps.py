"""What inverses do at one body, at one link, or once for the robot: unit vectors, the columns they make, small solves.

A matrix that sweeps can apply, but whose factors are not known, is read off column by column where it is small: the
blocks of what is block diagonal, and whatever takes wrenches at a few links to motions there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from recursa.dynamics.articulated_bodies import Elimination, eliminated
from recursa.dynamics.compliance import yielding
from recursa.model.model import Joint
from recursa.operational.compliance_plans import compliance_entries
from recursa.operators.steps import (
    Eliminations,
    Fixed,
    Freedoms,
    Six,
    Total,
    alike,
    dot,
    entries_of,
    gain_times,
    gain_transposed,
    hinge_inertia_solve,
    root_solve,
    root_solve_transposed,
    root_times,
    root_transposed,
    rows_of,
    whole,
)
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion, RigidInertia
from recursa.spatial.mat3 import Mat3
from recursa.spatial.scalars import Scalar, log, reciprocal, where
from recursa.spatial.small_systems import pivots_of_positive, solve_general, solve_positive, unless_rounding
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import SymMat3, Vec3

# ---- unit vectors ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UnitOfJoint:
    """A step function: one for one freedom of every joint that has it."""

    freedom: int
    __name__: ClassVar[str] = "unit_of_joint"

    def __call__(self, joint: Joint) -> Freedoms:
        """The freedoms of a joint."""
        return tuple(float(k == self.freedom) for k in range(len(joint.armature)))


def unit_of_body(entry: int) -> Fixed:
    """A step function: one for one of the six numbers of every body."""
    return Fixed("unit_of_body", Motion.of([float(k == entry) for k in range(6)]))


def unit_of_tip(entry: int, size: int) -> Fixed:
    """A step function: one for one of the numbers at pick-offs."""
    return Fixed("unit_of_tip", tuple(float(k == entry) for k in range(size)))


def ones(joint: Joint) -> Freedoms:
    """One for every freedom: what a diagonal matrix makes of it is its diagonal."""
    return (1.0,) * len(joint.armature)


# ---- several links ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PutPartOn:
    """A step function: the six numbers of one of several links, as a force on its body."""

    place: int
    __name__: ClassVar[str] = "put_part_on"

    def __call__(self, offset: Transform, f: Total) -> Force:
        """The force."""
        return offset.force(Force.of(entries_of(f)[6 * self.place : 6 * self.place + 6]))


def stacked(*parts: Six) -> Total:
    """The six numbers of several links in one vector."""
    return tuple(x for part in parts for x in entries_of(part))


# ---- solving with columns --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Solve:
    """A step function: ``inv(X) x`` at a body or of what the robot has once, from what X makes of unit vectors."""

    positive: bool
    alike: int
    __name__: ClassVar[str] = "solve"

    def __call__(self, x: Any, *columns: Any) -> Any:
        """The solution, of the kind that x is."""
        right, solve = entries_of(x), solve_positive if self.positive else solve_general
        return alike(x, solve(_rows(map(entries_of, columns), len(right)), right, self.alike))


def _rows(columns: Iterable[Sequence[Scalar]], size: int) -> list[tuple[Scalar, ...]]:
    """The matrix of the first columns, as rows; a joint with fewer freedoms has fewer of them."""
    return list(zip(*list(columns)[:size], strict=True))


def compliance_times_at_link(offset: Transform, of: ArticulatedInertia, f: Total) -> Motion:
    """``B* Upsilon B f``: how a link yields to a wrench on it."""
    return offset.inverse_motion(yielding(of, offset.force(Force.of(entries_of(f)))))


def compliance_solve_at_link(offset: Transform, of: ArticulatedInertia, x: Total) -> Motion:
    """``inv(B* Upsilon B) x``: the operational inertia of a link times its acceleration."""
    rows = rows_of(compliance_entries(offset.inverse.articulated(of)))
    return Motion.of(solve_positive(rows, entries_of(x), alike=3))


@dataclass(frozen=True)
class LogDeterminant:
    """A step function: ``log det X`` of a positive block from what X makes of unit vectors."""

    alike: int
    __name__: ClassVar[str] = "log_determinant"

    def __call__(self, *columns: Any) -> Scalar:
        """The number; a joint with fewer freedoms has fewer columns."""
        size = len(entries_of(columns[0]))
        pivots = pivots_of_positive(_rows(map(entries_of, columns), size), self.alike) if size else []
        return sum((log(pivot) for pivot in pivots), start=0.0)


def divide(x: Scalar, by: Scalar) -> Scalar:
    """``inv(y) x`` of numbers."""
    return x * reciprocal(by)


# ---- diagonals and blocks of numbers ---------------------------------------------------------------------------------


def diagonal_times(diagonal: Any, x: Any) -> Any:
    """``diag(d) x`` at a body, or of what the robot has once."""
    return alike(x, [a * b for a, b in zip(entries_of(diagonal), entries_of(x), strict=True)])


def block_times(x: Any, *columns: Any) -> Any:
    """A block of numbers, given by its columns, times the vector at its body."""
    right = entries_of(x)
    rows = _rows(map(entries_of, columns), len(right))
    return alike(x, [sum((a * b for a, b in zip(row, right, strict=True)), start=0.0) for row in rows])


# ---- articulated bodies of another matrix than the mass matrix -------------------------------------------------------


def block_of(*columns: Six) -> ArticulatedInertia:
    """A symmetric 6 x 6 block from what it makes of the six unit vectors."""
    c = [column.components() for column in columns]
    coupling = Mat3(*(Vec3(c[3][i], c[4][i], c[5][i]) for i in range(3)))
    return ArticulatedInertia(_symmetric(c, 0), coupling, _symmetric(c, 3))


def _symmetric(c: Sequence[Sequence[Scalar]], at: int) -> SymMat3:
    x, y, z = at, at + 1, at + 2
    return SymMat3(c[x][x], c[y][y], c[z][z], c[y][x], c[z][x], c[z][y])


def eliminate_with(
    joint: Joint,
    children: ArticulatedInertia,
    inertia: RigidInertia | ArticulatedInertia,
    rotors: Freedoms,
    step: Transform,
) -> tuple[ArticulatedInertia, tuple[Elimination, ...], ArticulatedInertia]:
    """As :func:`recursa.dynamics.articulated_bodies.eliminate`, with another inertia and other rotors."""
    own = children + whole(inertia)
    done, rest = eliminated(joint.columns(), rotors, own)
    return own, done, step.articulated(rest)


class JointBasis(NamedTuple):
    """Freedoms of a joint in which a matrix that couples them is diagonal: ``turn X turn* = diag(rotors)``.

    ``turn`` is unit lower triangular. P, psi and tau_bar are the same in any freedoms of a joint; D and G are not.
    """

    turn: tuple[tuple[Scalar, ...], ...]
    rotors: Freedoms


def joint_basis(*columns: Freedoms) -> JointBasis:
    """The L D L* factors of a positive block, from its columns; what has no pivot has no row either."""
    left = [list(column) for column in columns[: len(columns[0])]]
    size = len(left)
    turn = [[float(i == j) for j in range(size)] for i in range(size)]
    rotors = []
    for k in range(size):
        pivot = unless_rounding(left[k][k], columns[k][k])
        has_pivot = pivot > 0.0
        rotors.append(pivot)
        gain = where(has_pivot, 1.0 / where(has_pivot, pivot, 1.0), 0.0)
        for i in range(k + 1, size):
            factor = left[i][k] * gain
            left[i] = [a - factor * b for a, b in zip(left[i], left[k], strict=True)]
            turn[i] = [a - factor * b for a, b in zip(turn[i], turn[k], strict=True)]
    return JointBasis(tuple(map(tuple, turn)), tuple(rotors))


def eliminate_in_basis(
    joint: Joint,
    children: ArticulatedInertia,
    inertia: RigidInertia | ArticulatedInertia,
    basis: JointBasis,
    step: Transform,
) -> tuple[ArticulatedInertia, tuple[Elimination, ...], ArticulatedInertia]:
    """The same with a block that couples the freedoms of a joint, in freedoms that it does not couple."""
    own = children + whole(inertia)
    columns = joint.columns()
    turned = [joint.motion(row) for row in basis.turn]
    done, rest = eliminated(turned if len(columns) > 1 else columns, basis.rotors, own)
    return own, done, step.articulated(rest)


def root_times_in_basis(basis: JointBasis, done: Eliminations, x: Freedoms) -> Freedoms:
    """``W x``, of freedoms as they are: ``turn W`` is the root in the freedoms that are not coupled."""
    left, found = root_times(done, x), list[Scalar]()
    for row, value in zip(basis.turn, left, strict=True):
        found.append(value - dot(row[: len(found)], found))
    return tuple(found)


def root_transposed_in_basis(basis: JointBasis, done: Eliminations, x: Freedoms) -> Freedoms:
    """``W* x``, likewise."""
    found, size = list(x), len(x)
    for k in reversed(range(size)):
        found[k] = found[k] - dot([basis.turn[i][k] for i in range(k + 1, size)], found[k + 1 :])
    return root_transposed(done, tuple(found))


@dataclass(frozen=True)
class InBasis:
    """A step function: what another one does at a hinge, of freedoms as they are.

    ``takes`` and ``gives``: whether these are freedoms that it takes, and that it gives.
    """

    fn: Callable[..., Any]
    takes: bool = False
    gives: bool = False

    @property
    def __name__(self) -> str:
        return f"{self.fn.__name__}_in_basis"

    def __call__(self, basis: JointBasis, done: Eliminations, x: Any) -> Any:
        """What it does, with the freedoms turned."""
        result = self.fn(done, tuple(dot(row, x) for row in basis.turn) if self.takes else x)
        return tuple(dot(column, result) for column in zip(*basis.turn, strict=True)) if self.gives else result


IN_BASIS: dict[Callable[..., Any], Callable[..., Any]] = {
    gain_times: InBasis(gain_times, takes=True),
    gain_transposed: InBasis(gain_transposed, gives=True),
    hinge_inertia_solve: InBasis(hinge_inertia_solve, takes=True, gives=True),
    root_times: root_times_in_basis,
    root_transposed: root_transposed_in_basis,
    root_solve: InBasis(root_solve, takes=True),
    root_solve_transposed: InBasis(root_solve_transposed, gives=True),
}
"""What takes or gives freedoms of joints, for matrices that couple them: these read the basis first."""
