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

import math
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from recursa.dynamics.gathering import Block, Entries, TwoWays, dots, entries_with, joint_matrix
from recursa.dynamics.inverse import EXTERNAL, FORCE_BUFFERS, MOVING_FORCE, pushing
from recursa.dynamics.kinematics import ACCELERATION, RELATIVE, VELOCITY
from recursa.dynamics.mass_matrix import COMPOSITE
from recursa.dynamics.wrenches import DAMPED_OWN, STIFFER_OWN
from recursa.errors import StateError
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO, SymMat3, Vec3
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, tip_to_base
from recursa.sweeps.batching import Array

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
        by_q, by_v, by_a = map(step.force, (self.by_q, self.by_v, self.by_a))
        return Reach(by_q, by_v, by_a, carried_moment(step, self.back))


def carried_moment(step: Transform, moment: Vec3) -> Vec3:
    """A moment without a force, handed to the parent."""
    return step.force(Force(moment, ZERO)).moment


Reaches = tuple[Reach, ...]  # one per freedom of a joint
Outward = tuple[tuple[int, Reaches], ...]  # with the number of the joint


class Own(NamedTuple):
    """A joint with itself."""

    by_q: Block
    by_v: Block
    by_a: Block  # up to the diagonal


class Pair(NamedTuple):
    """An inner joint and an outer one."""

    by_q: TwoWays
    by_v: TwoWays
    by_a: TwoWays


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
    columns, up, rise = joint.columns(), step.inverse_motion(parent_velocity), step.inverse_motion(parent_acceleration)
    found = []
    for column in columns:
        first = up.cross_motion(column)
        # with a single freedom the joint's own speed turns nothing: crm(V) s is s'
        twice = first * 2.0 if len(columns) == 1 else first + velocity.cross_motion(column)
        found.append(ColumnRates(column, first, rise.cross_motion(column) + up.cross_motion(first), twice))
    return tuple(found)


def reaches(
    joint: Joint,
    rates: tuple[ColumnRates, ...],
    total: RigidInertia,
    rate: RigidInertia,
    momentum: Force,
    force: Force,
) -> tuple[Own, Reaches]:
    """Entries that pair a joint with itself, and what every joint inward meets."""
    found = [reach_of(own, total, rate, momentum, force) for own in rates]
    columns = [own.column for own in rates]
    masses = [[column.dot(reach.by_a) for _, reach in found[: k + 1]] for k, column in enumerate(columns)]
    own = Own(
        dots(columns, [here for here, _ in found]),
        dots(columns, [reach.by_v for _, reach in found]),
        tuple((*row[:-1], row[-1] + rotor) for row, rotor in zip(masses, joint.armature, strict=True)),
    )
    return own, tuple(reach for _, reach in found)


def pair_derivatives(inner: tuple[ColumnRates, ...], outer: Reaches) -> Pair:
    """``s(j).(R s'' + 2B s' + crf(s) f)(i)`` and so on, j inward of i."""
    columns = [own.column for own in inner]
    back_by_q = ((own.second.dot(far.by_a) + own.first.angular.dot(far.back) for own in inner) for far in outer)
    back_by_v = ((own.twice.dot(far.by_a) + own.column.angular.dot(far.back) for own in inner) for far in outer)
    return Pair(
        TwoWays(dots(columns, [far.by_q for far in outer]), tuple(map(tuple, back_by_q))),
        TwoWays(dots(columns, [far.by_v for far in outer]), tuple(map(tuple, back_by_v))),
        TwoWays(dots(columns, [far.by_a for far in outer])),
    )


def derivative_rows(
    number: int, rates: tuple[ColumnRates, ...], own: Own, reaches: Reaches, below: Outward, step: Transform
) -> tuple[Entries, Entries, Entries, Outward]:
    """Entries that pair this joint with itself and the joints outward, by q, v and a; the forces for the parent."""
    pairs = [(outer, pair_derivatives(rates, far)) for outer, far in below]
    by_q, by_v, by_a = (
        entries_with(number, block, ((outer, pair[k]) for outer, pair in pairs)) for k, block in enumerate(own)
    )
    passed_on = ((key, tuple(reach.carried(step) for reach in far)) for key, far in ((number, reaches), *below))
    return by_q, by_v, by_a, tuple(passed_on)


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
REACHES = Step(reaches, ("joint", "S", "R", "Rdot", "h", "f"), ("own", "reach"), "R s'' + 2B s' + crf(s) f, ...")
DERIVATIVE_ROWS = Step(
    derivative_rows,
    ("number", "S", "own", "reach", "F", "X"),
    ("by_q", "by_v", "by_a", "F@parent"),
    "s(j).(R s'' + 2B s' + crf(s) f)(i), s''(j).(R s)(i) + s'(j).(2B* s)(i)",
)


def derivative_steps(*, losses: bool = False, springs: bool = False) -> tuple[Step, ...]:
    """Rows of the derivatives, damping and k of springs among them."""
    return (REACHES, *diagonal_steps(losses=losses, springs=springs), DERIVATIVE_ROWS)


def diagonal_steps(*, losses: bool = False, springs: bool = False) -> tuple[Step, ...]:
    """Damping and k of springs among the entries of joints with themselves."""
    return (*((DAMPED_OWN,) if losses else ()), *((STIFFER_OWN,) if springs else ()))


MATRICES = (
    Buffer("R", RigidInertia.zero()),
    Buffer("S", ()),
    Buffer("Rdot", RigidInertia.zero()),
    Buffer("h", Force.zero()),
    *(Buffer(name, ()) for name in ("own", "reach", "F", "by_q", "by_v", "by_a")),
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


# ---- linear models in discrete time: the exponential of a matrix, for batches ----------------------------------------


_ORDER = 8  # of the Pade approximant: 1e-17 where the norm is below one half


def discrete(A: Array, B: Array, dt: float) -> tuple[Array, Array]:
    """``x(t + dt) = Ad x + Bd u`` of ``dx/dt = A x + B u`` with u held: the upper rows of ``exp([[A, B], [0, 0]] dt)``.

    >>> Ad, Bd = discrete(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]]), 0.5)  # a mass, pushed
    >>> Ad.tolist(), Bd.tolist()
    ([[1.0, 0.5], [0.0, 1.0]], [[0.125], [0.5]])
    """
    try:
        step = float(dt)
    except (TypeError, ValueError):
        raise StateError(f"dt is the length of a step in seconds, not {dt!r}") from None
    if not (step > 0.0 and math.isfinite(step)):
        raise StateError(f"dt is the length of a step in seconds, a positive number, not {dt!r}")
    n, m = B.shape[-2:]
    whole = np.zeros((*A.shape[:-2], n + m, n + m), A.dtype)
    whole[..., :n, :n], whole[..., :n, n:] = A * step, B * step
    made = exponential(whole)
    return made[..., :n, :n], made[..., :n, n:]


def exponential(matrix: Array) -> Array:
    """``exp(X)`` of matrices (..., n, n), each for itself: scaled until its norm is below one half, squared back.

    nan and infinity pass through as nan.

    >>> exponential(np.array([[0.0, -np.pi], [np.pi, 0.0]])).round(12) + 0.0
    array([[-1.,  0.],
           [ 0., -1.]])
    """
    norm = np.abs(matrix).sum(axis=-1).max(axis=-1, initial=0.0)
    sound = np.isfinite(norm)
    halvings = np.where(norm > 0.5, np.ceil(np.log2(np.where(sound & (norm > 0.5), norm, 0.5) / 0.5)), 0.0).astype(int)
    x = matrix * (0.5**halvings)[..., None, None].astype(np.abs(matrix).dtype)
    unit = np.eye(matrix.shape[-1], dtype=matrix.dtype)
    above, below, power, factor = unit, unit, unit, 1.0
    for k in range(1, _ORDER + 1):  # Pade: N(x) / N(-x)
        factor *= (_ORDER - k + 1) / (k * (2 * _ORDER - k + 1))
        power = power @ np.where(np.isfinite(x), x, 0.0)
        above, below = above + factor * power, below + (-1.0) ** k * factor * power
    result = np.linalg.solve(np.broadcast_to(below, x.shape), np.broadcast_to(above, x.shape))
    for k in range(int(halvings.max(initial=0))):
        with np.errstate(all="ignore"):
            result = np.where((halvings > k)[..., None, None], result @ result, result)
    return np.where(sound[..., None, None], result, np.nan)
