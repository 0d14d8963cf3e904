"""How the equations of constraints change with q and v, and what their forces do then.

With ``mass a + C - G* lambda = tau`` and ``G a + gamma = 0``, a change of the state changes a and lambda by

    mass da - G* dlambda = -r dx,    r = d/dx (mass a + C - G* lambda)
           G da          = -s dx,    s = d/dx (G a + gamma),              a and lambda held,

so that with ``A = G inv(mass) G*``, ``Psi = inv(mass) G* inv(A)``, ``K = inv(mass) - Psi G inv(mass)``

    d a/d x = -K r - Psi s,    d a/d tau = K.

A change dq of joint j carries everything outward along, rigidly. With the columns s, s', s'' and s' + crm(V) s of
``dynamics/derivatives.py``, a link outward of it changes its pose by s, its velocity and acceleration, in its own axes,
by

    dV = s',     d alpha = s'' - crm(V) s'            by q
    dV = s,      d alpha = s' + crm(V) s - crm(V) s   by v, the second crm with the V of the link

and ``G a + gamma`` of a closing by ``p.dpose + u.dV + w.d alpha`` on either side, w being the row of G as a wrench. So
three wrenches per row and side say all: p, ``u + crf(V) w`` and w, on s, s' and s''.

The derivative of ``G* lambda`` has two parts. Wrenches that turn with their links are what derivatives of inverse
dynamics know; what is left is how lambda's wrench, in link axes, changes with the pose of one link seen from the other.
Everything is put down in world axes, where columns of different joints meet without being carried.

In one plan everything is in root axes: accelerations and multipliers come first, by the augmentation method; then
walks as for a robot without constraints, what the constraints do taken off the forces; and how the equations change, at
closings. What is left is the product of ``(K Psi)`` with r over s, which a kernel makes column by column where columns
are not zero for good. Where trees do not add up in common axes, parts are put together in world axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from recursa.constraints.augmentation import DRIVEN, constraint_buffers, factored_values, inward, solving
from recursa.constraints.ends import (
    ACCELERATION,
    PLACED,
    ROOT,
    End,
    Numbers,
    put_down_ends,
    put_down_ends_in_root,
    read_ends,
)
from recursa.constraints.rows import (
    GIVEN_MULTIPLIERS,
    accelerating_errors,
    curvature,
    demand_steps,
    row_bodies,
    slope,
    support_of,
    total_wrench,
    wrenches_on_link,
)
from recursa.constraints.slopes import Sloped, slopes
from recursa.dynamics import kinematics
from recursa.dynamics.derivatives import COLUMN_RATES, ColumnRates
from recursa.dynamics.gathering import speed_index
from recursa.dynamics.inverse import off, pushing
from recursa.dynamics.kinematics import RELATIVE, VELOCITY
from recursa.dynamics.wrenches import driving
from recursa.model.constraint_equations import NO_LINK, Closing, Relating
from recursa.model.model import Model
from recursa.spatial.inertia import Force, Motion
from recursa.spatial.rotation import Rotation
from recursa.spatial.scalars import Scalar, is_zero
from recursa.spatial.small_systems import solve_ranked
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import X_AXIS, Y_AXIS, Z_AXIS, Vec3
from recursa.sweeps import Buffer, Plan, Step, Sweep, Values, base_to_tip, each_link, from_each_inward, tip_to_base
from recursa.walks.derivative_pairs import (
    ACCELERATIONS,
    AT_BODIES,
    BIAS,
    DERIVATIVE_BUFFERS,
    FORWARD_BUFFERS,
    INNOVATIONS,
    PAIR_DERIVATIVES,
    outward_sums,
    state_entries,
)
from recursa.walks.jacobians import BUFFERS, EXTERNAL, MOVING, PARENT_ACCELERATION, free_root
from recursa.walks.mass_matrix_inverse import (
    COMPLIANCE,
    HINGE,
    INVERSE_BUFFERS,
    OUTWARD,
    inverse_entries,
    inverse_walks,
)

_AXES = X_AXIS, Y_AXIS, Z_AXIS
_POSE, _FIRST, _SECOND = 0, 6, 12  # where the directions begin: pose of the second link, speeds of the first, second


# ---- at a closing ----------------------------------------------------------------------------------------------------


class Touch(NamedTuple):
    """What a row of a closing says of one link, as wrenches at its place: on its pose, velocity, acceleration."""

    pose: Force  # p
    velocity: Force  # u + crf(V) w
    acceleration: Force  # w


def shifted(pose: Transform) -> Transform:
    """A pose with its derivatives along small motions in its own axes."""
    R = pose.rotation
    turned = [R @ _skew(axis) for axis in _AXES]
    entries = (Sloped(x, {_POSE + k: one[i] for k, one in enumerate(turned)}) for i, x in enumerate(R))
    moved = [R @ axis for axis in _AXES]
    place = (
        Sloped(x, {_POSE + 3 + k: column[i] for k, column in enumerate(moved)}) for i, x in enumerate(pose.translation)
    )
    return Transform(Rotation(*entries), Vec3(*place))


def _skew(axis: Vec3) -> Rotation:
    x, y, z = axis
    return Rotation(0.0, -z, y, z, 0.0, -x, -y, x, 0.0)


def _varied(motion: Motion, first: int) -> Motion:
    return Motion.of([Sloped(x, {first + k: 1.0}) for k, x in enumerate(motion.components())])


def _held(motion: Motion) -> Motion:
    return Motion.of([Sloped(x, {}) for x in motion.components()])


def touches(of: Closing, first: End, second: End) -> list[tuple[Touch, Touch]]:
    """Of every row, on the first and the second link."""
    between = first.pose.inverse @ second.pose
    found = accelerating_errors(
        of,
        End(Transform.identity(), _varied(first.velocity, _FIRST), _held(first.acceleration), first.place),
        End(shifted(between), _varied(second.velocity, _SECOND), _held(second.acceleration), second.place),
    )
    rows = [wrenches_on_link(of, side, first, second) for side in (0, 1)]
    result = []
    for x, w_first, w_second in zip(found, *rows, strict=True):
        p = Force.of(slopes(x, _POSE, 6))
        u, w = (Force.of(slopes(x, at, 6)) for at in (_FIRST, _SECOND)), (w_first, w_second)
        sides = zip((first, second), (-between.force(p), p), u, w, strict=True)
        result.append(tuple(_touch(*side) for side in sides))
    return result  # type: ignore[return-value]


def _touch(end: End, p: Force, u: Force, w: Force) -> Touch:
    out = end.place.force
    return Touch(out(p), out(u + end.velocity.cross_force(w)), out(w))


def turning(of: Closing, multipliers: Sequence[Scalar], first: End, second: End) -> tuple[list[Force], list[Force]]:
    """Of the wrenches on both links the derivatives by how the second one moves, seen from the first: in the axes of
    their places, one for every direction of a motion of the second link in these."""
    ends = End(Transform.identity(), *first[1:]), End(shifted(first.pose.inverse @ second.pose), *second[1:])
    found = []
    for side, end in enumerate((first, second)):
        entries = [slopes(x, _POSE, 6) for x in total_wrench(of, side, multipliers, *ends).components()]
        by = [end.place.force(Force.of([row[k] for row in entries])) for k in range(6)]  # directions in axes of link 2
        rows = [
            second.place.force(Force.of(row)).components() for row in zip(*(x.components() for x in by), strict=True)
        ]
        found.append([Force.of(column) for column in zip(*rows, strict=True)])
    return found[0], found[1]


# ---- the plan --------------------------------------------------------------------------------------------------------


def in_world(pose: Transform, rates: tuple[ColumnRates, ...]) -> tuple[ColumnRates, ...]:
    """Columns of a joint and how they change, in world axes."""
    return tuple(ColumnRates(*(pose.motion(x) for x in one)) for one in rates)


_IN_WORLD = Step(in_world, ("W", "S"), ("S world",), "s, s', s'' in world axes")


def changes_plan(model: Model) -> Plan:
    """Everything at closings and joints that the derivatives are made of."""
    ends, buffers = put_down_ends(model, ACCELERATION)
    bodies = row_bodies(model)
    sweeps: list[Sweep] = [
        base_to_tip(RELATIVE),
        base_to_tip(PLACED, VELOCITY, kinematics.ACCELERATION, COLUMN_RATES, _IN_WORLD, only=bodies),
        *ends,
        GIVEN_MULTIPLIERS,
    ]
    steps, found = at_closings(model)
    sweeps += steps
    own = (
        Buffer("L", IDENTITY_TRANSFORM),
        *buffers,
        Buffer("S", ()),
        Buffer("S world", ()),
        Buffer("lambda", Numbers.zero(model.ncon)),
        *found,
    )
    return Plan("constraint_derivatives", (*kinematics.BUFFERS, *own), tuple(sweeps))


def at_closings(
    model: Model, accelerations: str = "a", *, then: bool = False
) -> tuple[list[Sweep], tuple[Buffer, ...]]:
    """What is looked at there once it is known how everything accelerates.

    ``then``: ends are put down once more, with accelerations that let the base rise instead of bodies fall.
    """
    closings = [one for one in model.equations if isinstance(one, Closing)]
    sweeps = []
    for of in closings:
        link = of.links[1] if of.links[1] != NO_LINK else of.links[0]
        sweeps.append(each_link(_closing_step(model, of, then), only=(link,)))
    joints = tuple(sorted({number for one in model.equations if isinstance(one, Relating) for number, _ in one.terms}))
    if joints:
        reads = ("q", "v", accelerations)
        keep = Step(lambda q, v, a: (q[0], v[0], a[0]), reads, ("state",), "q, v, a of joints in relations")
        sweeps.append(base_to_tip(keep, only=joints))
    found = (Buffer(_buffer(of), Numbers.zero(36 * len(of.units) + 72)) for of in closings)
    return sweeps, (Buffer("state", ()), *found)


def _buffer(of: Closing) -> str:
    return f"closing{of.start}"


def _closing_step(model: Model, of: Closing, then: bool) -> Step:
    reads, both = read_ends(model, of, rising=then, then=then)

    def changes(multipliers: Numbers, *put: Any) -> Numbers:
        first, second = both(*put)
        rows = (force for row in touches(of, first, second) for touch in row for force in touch)
        forces = (*rows, *(x for side in turning(of, multipliers.entries, first, second) for x in side))
        return Numbers(tuple(x for force in forces for x in force.components()))

    return Step(changes, ("lambda@robot", *reads), (f"{_buffer(of)}@robot",), "p, u + crf(V) w, w of every row")


# ---- the result ------------------------------------------------------------------------------------------------------


class Column(NamedTuple):
    """One freedom of a joint: its place in v, what it counts for there, and its columns."""

    place: int
    factor: float | None
    rates: ColumnRates


class Changes(NamedTuple):
    """G, s by q and by v, (ncon, nv), and what ``G* lambda`` changes by beside wrenches that turn along, (nv, nv)."""

    rows: list[list[Scalar]]
    by_q: list[list[Scalar]]
    by_v: list[list[Scalar]]
    forces: list[list[Scalar]]


def changes(model: Model, values: Values, columns: str = "S world") -> Changes:
    """From the values of :func:`changes_plan`, or of another that has ``columns`` in axes of the ends' places."""
    m, n = model.ncon, model.nv
    total = Changes(*([[0.0] * n for _ in range(size)] for size in (m, m, m, n)))
    for of in model.equations:
        if isinstance(of, Closing):
            _add_closing(model, values.lists[columns], values.robot[_buffer(of)], of, total)
        elif isinstance(of, Relating):
            _add_relation(model, values, of, total)
        else:
            joint = model.joints[of.joint]
            for k in range(len(of.units)):
                total.rows[of.start + k][joint.v_start + k] = 1.0
    return total


def _add_closing(
    model: Model, rates: Sequence[Sequence[ColumnRates]], found: Numbers, of: Closing, total: Changes
) -> None:
    forces = [Force.of(found.entries[k : k + 6]) for k in range(0, len(found.entries), 6)]
    supports = [support_of(model, link) for link in of.links]
    for side, support in enumerate(supports):
        columns = [column for body in support for column in _columns(model, rates, body)]
        for k in range(len(of.units)):
            touch = Touch(*forces[6 * k + 3 * side : 6 * k + 3 * side + 3])
            for column in columns:
                s, first, second, twice = column.rates
                w = touch.acceleration
                row = s.dot(w)
                by_q = s.dot(touch.pose) + first.dot(touch.velocity) + second.dot(w)
                by_v = s.dot(touch.velocity) + twice.dot(w)
                for matrix, x in zip(total, (row, by_q, by_v), strict=False):
                    _add(matrix[of.start + k], column, x)
    for side, support in enumerate(supports):
        turned = forces[6 * len(of.units) + 6 * side :][:6]
        for moving, sign in ((supports[1], 1.0), (supports[0], -1.0)):
            others = supports[0] if sign > 0.0 else supports[1]
            for body in (x for x in moving if x not in others):  # what moves both links changes nothing between them
                for column in _columns(model, rates, body):
                    change = _combined(turned, column.rates.column)
                    for own in (x for inner in support for x in _columns(model, rates, inner)):
                        _add(total.forces[own.place], column, sign * own.rates.column.dot(change), own.factor)


def _combined(forces: Sequence[Force], motion: Motion) -> Force:
    total = Force.zero()
    for force, x in zip(forces, motion.components(), strict=True):
        total = total + force * x
    return total


def _add(row: list[Scalar], column: Column, x: Scalar, factor: float | None = None) -> None:
    for one in (column.factor, factor):
        x = x if one is None else x * one
    row[column.place] = row[column.place] + x


def _columns(model: Model, rates: Sequence[Sequence[ColumnRates]], body: int) -> Iterator[Column]:
    for k, own in enumerate(rates[body]):
        yield Column(*speed_index(model.joints[body], k), own)


def _add_relation(model: Model, values: Values, of: Relating, total: Changes) -> None:
    force = values.robot["lambda"].entries[of.start]
    for number, powers in of.terms:
        q, v, a = values.lists["state"][number]
        place, factor = speed_index(model.joints[number], 0)
        bent = curvature(powers, q)
        third = curvature(tuple(c * float(k) for k, c in enumerate(powers[1:], 2)) or (0.0,), q)
        scale = 1.0 if factor is None else factor
        found = slope(powers, q), bent * a + third * (v * v), 2.0 * (bent * v)
        for matrix, x in zip(total, found, strict=False):
            matrix[of.start][place] = matrix[of.start][place] + x * scale
        own = total.forces[place]
        own[place] = own[place] + force * bent * (scale * scale)


def change_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """All four, row by row."""
    return (x for matrix in changes(model, values) for row in matrix for x in row)


Rows = Sequence[Sequence[Scalar]]


def has_common_axes(model: Model) -> bool:
    """Whether the ends of every closing are in trees that add up in the same axes, as all are but several flyers."""
    for of in (one for one in model.equations if isinstance(one, Closing)):
        roots = {min(support) for support in (support_of(model, link) for link in of.links) if support}
        if len(roots) > 1 and any(free_root(model.joints[root]) for root in roots):
            return False
    return True


# ---- in one plan: multipliers ----------------------------------------------------------------------------------------


def _reactions(model: Model) -> Iterator[Sweep]:
    """What the multipliers do to bodies, in root axes, need not come through their joints."""
    for of in (one for one in model.equations if isinstance(one, Closing)):
        for side, link in enumerate(of.links):
            if support_of(model, link):
                yield each_link(_reaction(model, of, side), only=(link,))


def _reaction(model: Model, of: Closing, side: int) -> Step:
    reads, both = read_ends(model, of)

    def reaction(offset: Transform, multipliers: Numbers, *put: Any) -> Force:
        ends = both(*put)
        return -ends[side].place.force(total_wrench(of, side, multipliers.entries, *ends))

    return Step(reaction, ("offset", "lambda@robot", *reads), ("f@body",), "f -= G* lambda")


# ---- in one plan: all of it ------------------------------------------------------------------------------------------


def derivatives_plan(model: Model, *, wrenches: bool = False, springs: bool = False) -> Plan:
    """Everything that the product is made of."""
    drive, torque = driving(False, springs)
    bodies = row_bodies(model)
    ends, end_buffers = put_down_ends_in_root(model)
    again, then_buffers = put_down_ends_in_root(model, then=True)
    closings, closing_buffers = at_closings(model, "qdd", then=True)
    bring, external = pushing(EXTERNAL, wrenches=wrenches)
    sweeps = (
        *bring,
        base_to_tip(*MOVING, ROOT, *BIAS, *(off("b", step) for step in external)),
        tip_to_base(OUTWARD, *drive, INNOVATIONS.reading(tau=torque)),
        base_to_tip(PARENT_ACCELERATION, ACCELERATIONS, only=bodies),
        *ends,
        *inward(model, in_root=True),
        *demand_steps(model, told=False),
        base_to_tip(solving(model), only=(0,)),
        base_to_tip(DRIVEN, only=bodies),
        base_to_tip(PARENT_ACCELERATION, ACCELERATIONS, COMPLIANCE, HINGE, *AT_BODIES, *external),
        *again,
        *closings,
        *_reactions(model),
        tip_to_base(*outward_sums(springs=springs)),
        from_each_inward(PAIR_DERIVATIVES),
        *inverse_walks(model),
    )
    buffers = (
        *BUFFERS,
        *FORWARD_BUFFERS,
        *INVERSE_BUFFERS,
        *DERIVATIVE_BUFFERS,
        *constraint_buffers(model),
        *end_buffers,
        *(one for one in then_buffers if one.name != "root"),
        *closing_buffers,
    )
    return Plan("constrained_forward_dynamics_derivatives", buffers, sweeps)


# ---- in one plan: the result -----------------------------------------------------------------------------------------


class Factors(NamedTuple):
    """K over Psi*, and r over s by q and by v: each (nv + ncon, nv)."""

    left: list[list[Scalar]]
    by_q: list[list[Scalar]]
    by_v: list[list[Scalar]]


def factors(model: Model, values: Values) -> Factors:
    """From the values of :func:`derivatives_plan`."""
    n, m = model.nv, model.ncon
    change = changes(model, values, "rates")
    inverse = _square(list(inverse_entries(model, values)), n)
    both = list(state_entries(model, values))
    by_q, by_v = _square(both[: n * n], n), _square(both[n * n :], n)
    by_q = [[_less(x, y) for x, y in zip(*rows, strict=True)] for rows in zip(by_q, change.forces, strict=True)]
    kept, turns = factored_values(model, values)
    pushed_by = [turns.forward([_dot(row, column) for row in change.rows]) for column in inverse]  # Y = inv(mass) G*
    along = [solve_ranked(kept, row) for row in pushed_by]  # rows of Y inv(A), both of orthogonal rows
    K: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i, n):
            K[i][j] = K[j][i] = _less(inverse[i][j], _dot(along[i], pushed_by[j]))
    demanded = [turns.back(row) for row in along]  # rows of Psi
    transposed = [[demanded[i][k] for i in range(n)] for k in range(m)]
    return Factors([*K, *transposed], [*by_q, *change.by_q], [*by_v, *change.by_v])


def factor_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """All three, row by row: what the product is made of."""
    return chain.from_iterable(chain(*factors(model, values)))


def derivative_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """``-K r - Psi s`` by q and by v, then K, row by row."""
    left, *right = factors(model, values)
    n = model.nv
    for one in right:
        columns = list(zip(*one, strict=True))
        for i in range(n):
            own = [row[i] for row in left]
            yield from (_minus(_dot(column, own)) for column in columns)
    yield from chain.from_iterable(left[:n])


def _square(entries: Sequence[Scalar], n: int) -> list[list[Scalar]]:
    return [list(entries[k * n : k * n + n]) for k in range(n)]


def _less(x: Scalar, y: Scalar) -> Scalar:
    return x if is_zero(y) else x - y


def _minus(x: Scalar) -> Scalar:
    return 0.0 if is_zero(x) else -x


def _dot(row: Sequence[Scalar], other: Sequence[Scalar]) -> Scalar:
    """Without what is zero for good in the first."""
    total: Scalar = 0.0
    for x, y in zip(row, other, strict=True):
        if not is_zero(x):
            total = x * y if is_zero(total) else total + x * y
    return total
