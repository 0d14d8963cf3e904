"""Derivatives of inverse dynamics: with respect to q, v and a, as matrices in one inward sweep.

Singh, Russell & Wensing (2022), in link axes. A small motion dq of joint j carries everything outward along, rigidly:
the world seen from there moves by ``-H* dq``. With U and A the velocity and acceleration of the parent (phi* V, phi*
alpha, gravity included), s a column of ``H*``, R, h and f inertia, momentum and force of everything outward:

    s'  = crm(U) s                    rate of the column with the parent
    s'' = crm(A) s + crm(U) s'        its acceleration
    2 B = dR/dt + icrf(h)             icrf(h) m = crf(m) h; B as in ``coriolis.py``

    d tau(i)/d q(j) = s(i).(R(i) s''(j) + 2 B(i) s'(j)),          j inward of i, or i itself
    d tau(j)/d q(i) = s(j).(R(i) s''(i) + 2 B(i) s'(i) + crf(s(i)) f(i)),    j inward of i
    d tau/d v       : the same with s + s', s' + crm(V) s in place of s', s'', and without f
    d tau/d a       : the mass matrix

f is what everything outward needs of the joint: a wrench that acts on a link is taken off it, as one that turns with
the link, its components in link axes constant. dR/dt is an inertia too, without mass: its first moment is the linear
momentum. The derivative with respect to q is with respect to dq of ``integrate(q, dq)``, for every kind of joint,
because ``H*`` is constant in link axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import NamedTuple

from recursa.dynamics.gathering import Entries, Entry, joint_matrix
from recursa.dynamics.inverse import EXTERNAL, FORCE_BUFFERS, MOVING_FORCE, pushing
from recursa.dynamics.kinematics import ACCELERATION, RELATIVE, VELOCITY
from recursa.dynamics.losses import DAMPED_ROWS
from recursa.dynamics.mass_matrix import COMPOSITE
from recursa.dynamics.springs import STIFFER_ROWS
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO, SymMat3, Vec3
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, tip_to_base

# ---- everything outward of a joint -----------------------------------------------------------------------------------


def inertia_rate(inertia: RigidInertia, velocity: Motion) -> RigidInertia:
    """``crf(V) M - M crm(V)``, the rate of an inertia that moves: again an inertia, without mass.

    Its first moment is the linear momentum, its moment ``~w I + (~w I)* - ~v ~h - (~v ~h)*``.
    """
    w, v = velocity
    h, i = inertia.first, inertia.moment
    a, b, c = (w.cross(column) for column in i.rows())  # columns of ~w I
    turning = SymMat3(2.0 * a.x, 2.0 * b.y, 2.0 * c.z, a.y + b.x, a.z + c.x, b.z + c.y)
    along = 2.0 * v.dot(h)  # ~v ~h = h v* - (v.h) 1
    return RigidInertia(0.0, v * inertia.mass - h.cross(w), (turning - SymMat3.dyad_pair(v, h)).plus_diagonal(along))


def composite_rate(
    children: RigidInertia, inertia: RigidInertia, velocity: Motion, step: Transform
) -> tuple[RigidInertia, RigidInertia]:
    """dR/dt of everything outward as one rigid body, and its share at the parent."""
    total = children + inertia_rate(inertia, velocity)
    return total, step.inertia(total)


def composite_momentum(
    children: Force, inertia: RigidInertia, velocity: Motion, step: Transform
) -> tuple[Force, Force]:
    """Momentum of everything outward, and its share at the parent."""
    total = children + inertia @ velocity
    return total, step.force(total)


def carried_force(step: Transform, force: Force) -> Force:
    """The force handed to the parent, ``phi f``."""
    return step.force(force)


# ---- the matrices ----------------------------------------------------------------------------------------------------


class Reach(NamedTuple):
    """The forces of one freedom i that every joint inward meets."""

    by_q: Force  # R s'' + 2 B s' + crf(s) f
    by_v: Force  # R (s' + crm(V) s) + 2 B s
    by_a: Force  # R s
    back: Vec3  # 2 B* s; it has a moment only

    def carried(self, step: Transform) -> Reach:
        """To the parent."""
        by_q, by_v, by_a = (step.force(force) for force in self[:3])
        return Reach(by_q, by_v, by_a, carried_moment(step, self.back))


def carried_moment(step: Transform, moment: Vec3) -> Vec3:
    """A moment without a force, handed to the parent."""
    return step.force(Force(moment, ZERO)).moment


Reaches = tuple[tuple[Entry, Reach], ...]


def reach_of(
    rates: ColumnRates, total: RigidInertia, rate: RigidInertia, momentum: Force, force: Force
) -> tuple[Force, Reach]:
    """``R s'' + 2 B s'``, which the joint itself meets, and what every joint inward meets."""
    column, first, second, twice = rates
    here = total @ second + (rate @ first + first.cross_force(momentum))
    moving = total @ twice + (rate @ column + column.cross_force(momentum))
    back = (rate @ column).moment - column.cross_force(momentum).moment
    return here, Reach(here + column.cross_force(force), moving, total @ column, back)


def turned_columns(joint: Joint, step: Transform, parent: Motion) -> tuple[tuple[Motion, Motion], ...]:
    """Columns s of ``H*``, each with ``s' = crm(phi* m) s``: how a motion m of the parent turns it."""
    up = step.inverse_motion(parent)
    return tuple((column, up.cross_motion(column)) for column in joint.columns())


class ColumnRates(NamedTuple):
    """How one column s of a joint changes as the parent moves."""

    column: Motion
    first: Motion  # s' = crm(U) s
    second: Motion  # s'' = crm(A) s + crm(U) s'
    twice: Motion  # s' + crm(V) s


def column_rates(
    joint: Joint, step: Transform, parent_velocity: Motion, parent_acceleration: Motion, velocity: Motion
) -> tuple[ColumnRates, ...]:
    """s, s' and s'' of every freedom of a joint."""
    up, rise = step.inverse_motion(parent_velocity), step.inverse_motion(parent_acceleration)
    return rates_of(joint.columns(), up, rise, velocity)


def rates_of(columns: Sequence[Motion], up: Motion, rise: Motion, velocity: Motion) -> tuple[ColumnRates, ...]:
    """The same from the columns, and the velocities of parent and body, all in the same axes."""
    found = []
    for column in columns:
        first = up.cross_motion(column)
        # with a single freedom the joint's own speed turns nothing: crm(V) s is s'
        twice = first * 2.0 if len(columns) == 1 else first + velocity.cross_motion(column)
        found.append(ColumnRates(column, first, rise.cross_motion(column) + up.cross_motion(first), twice))
    return tuple(found)


def derivative_rows(
    joint: Joint,
    number: int,
    rates: tuple[ColumnRates, ...],
    total: RigidInertia,
    rate: RigidInertia,
    momentum: Force,
    force: Force,
    below: Reaches,
    step: Transform,
) -> tuple[Entries, Entries, Entries, Reaches]:
    """Entries that pair this joint with itself and the joints outward, by q, v and a; the forces for the parent."""
    by_q: list[tuple[tuple[Entry, Entry], Scalar]] = []
    by_v: list[tuple[tuple[Entry, Entry], Scalar]] = []
    by_a: list[tuple[tuple[Entry, Entry], Scalar]] = []
    own = []
    for i, own_rates in enumerate(rates):
        key = (number, i)
        here, reach = reach_of(own_rates, total, rate, momentum, force)
        own.append((key, reach))
        for k, other in enumerate(rates):
            by_q.append((((number, k), key), other.column.dot(here)))
            by_v.append((((number, k), key), other.column.dot(reach.by_v)))
            if k <= i:
                by_a.append((((number, k), key), other.column.dot(reach.by_a) + (joint.armature[i] if k == i else 0.0)))
    for i, (column, first, second, twice) in enumerate(rates):
        key = (number, i)
        for outer, reach in below:
            by_q.append(((key, outer), column.dot(reach.by_q)))
            by_v.append(((key, outer), column.dot(reach.by_v)))
            by_a.append(((key, outer), column.dot(reach.by_a)))
            by_q.append(((outer, key), second.dot(reach.by_a) + first.angular.dot(reach.back)))
            by_v.append(((outer, key), twice.dot(reach.by_a) + column.angular.dot(reach.back)))
    passed_on = tuple((key, reach.carried(step)) for key, reach in (*own, *below))
    return tuple(by_q), tuple(by_v), tuple(by_a), passed_on


COLUMN_RATES = Step(
    column_rates,
    ("joint", "X", "V@parent", "alpha@parent", "V"),
    ("S",),
    "s' = crm(U) s, s'' = crm(A) s + crm(U) s',  U = phi* V(parent), A = phi* alpha(parent)",
)
COMPOSITE_RATE = Step(
    composite_rate, ("Rdot", "inertia", "V", "X"), ("Rdot", "Rdot@parent"), "dR/dt = own + sum of phi dR/dt phi*"
)
COMPOSITE_MOMENTUM = Step(composite_momentum, ("h", "inertia", "V", "X"), ("h", "h@parent"), "h = M V + sum of phi h")
CARRIED_FORCE = Step(carried_force, ("X", "f"), ("f@parent",), "f(parent) += phi f                    (11)")
DERIVATIVE_ROWS = Step(
    derivative_rows,
    ("joint", "number", "S", "R", "Rdot", "h", "f", "F", "X"),
    ("by_q", "by_v", "by_a", "F@parent"),
    "s(j).(R s'' + 2B s' + crf(s) f)(i), s''(j).(R s)(i) + s'(j).(2B* s)(i)",
)


def derivative_steps(*, losses: bool = False, springs: bool = False) -> tuple[Step, ...]:
    """Rows of the derivatives, damping and k of springs among them."""
    return (DERIVATIVE_ROWS, *((DAMPED_ROWS,) if losses else ()), *((STIFFER_ROWS,) if springs else ()))


MATRICES = (
    Buffer("R", RigidInertia.zero()),
    Buffer("S", ()),
    Buffer("Rdot", RigidInertia.zero()),
    Buffer("h", Force.zero()),
    Buffer("F", ()),
    Buffer("by_q", ()),
    Buffer("by_v", ()),
    Buffer("by_a", ()),
)


@cache
def inverse_derivatives_plan(*, wrenches: bool = False, losses: bool = False, springs: bool = False) -> Plan:
    """The three matrices; wrenches keep their components in the axes of their links, and so turn with these."""
    rows = derivative_steps(losses=losses, springs=springs)
    bring, external = pushing(EXTERNAL, wrenches=wrenches)
    sweeps = (
        *bring,
        base_to_tip(RELATIVE, VELOCITY, ACCELERATION, COLUMN_RATES, MOVING_FORCE, *external),
        tip_to_base(COMPOSITE, COMPOSITE_RATE, COMPOSITE_MOMENTUM, CARRIED_FORCE, *rows),
    )
    buffers = (*FORCE_BUFFERS, *MATRICES)
    return Plan("inverse_dynamics_derivatives", buffers, sweeps)


def derivative_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """d tau/d q, d tau/d v and d tau/d a, (3, nv, nv) row by row."""
    return chain.from_iterable(named_matrix(model, values, name) for name in _BY)


_BY = ("by_q", "by_v", "by_a")


def named_matrix(model: Model, values: Values, name: str) -> Iterator[Scalar]:
    """The matrix of the entries in a buffer, row by row."""
    return joint_matrix(model, values.lists.get(name, []), symmetric=name in ("by_a", "rows"))
