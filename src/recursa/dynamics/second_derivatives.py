"""Second derivatives of inverse dynamics, contracted with a vector on the torques: the Hessian of ``lambda* tau``.

Let the joints move with the virtual speeds lambda; then body k moves with ``W = phi* H* lambda`` and, by virtual power,

    lambda* tau = sum over k of W.(M alpha + crf(V) M V)  +  lambda* A a

A small motion of joint j is felt by everything outward alike, in axes that go along: with U, A, Y the velocity,
acceleration and virtual velocity of the parent (phi* V, phi* alpha with gravity, phi* W), s a column of ``H*``,

    by q:   dW = w = crm(Y) s,   dV = s' = crm(U) s,   dalpha = s'' + crm(s') V,   s'' = crm(A) s + crm(U) s'
    by v:   dW = 0,              dV = s,               dalpha = t + crm(s) V,      t = s' + crm(V) s
    by a:   dW = 0,              dV = 0,               dalpha = s

With R, h, f inertia, momentum and force of everything outward and ``2 B = dR/dt + icrf(h)`` as in ``derivatives.py``,
and of the virtual motion p = sum of M W, Z = sum of ``crf(W) M - M crm(W)``, c = sum of ``2 B* W``, the gradient is

    g_q(j) = w.f + s''.p + s'.c,      g_v(j) = t.p + s.c,      g_a(j) = s.p + A lambda

and once more by joint i, inward of j or j itself, each product linear in what i does:

    q(i) q(j):  w(i).(R s'' + 2B s' + crf(s) f) + s''(i).b + s'(i).e     b = R w + crf(s) p
    q(i) v(j):  w(i).(R t + 2B s) + s'(i).d                              e = 2B* w + crf(s) c + crf(s') p - Z s'
    v(i) q(j):  t(i).b + s(i).e                    (i other than j)      d = crf(s) p - Z s
    v(i) v(j):  s(i).d                             (at one joint: -s(i).Z s(j))
    q(i) a(j):  w(i).R s
    a(i) q(j):  s(i).b                             (i other than j)

c, d and e have a moment only; pairs on different branches have none at all. The equations are ours; Singh, Russell &
Wensing (arXiv 2203.01497) derive the tensor itself, in O(n d^2).

q(i) q(j) is the derivative by i of the derivative by j. Within a joint of several freedoms the two do not commute:
``D(i) D(j) - D(j) D(i)`` is the derivative along ``crm(s(i)) s(j)``. The mean of both orders is the Hessian with
respect to dq of ``integrate(q, dq)`` at dq = 0, since that moves along one-parameter subgroups; it is what is returned.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from recursa.dynamics.derivatives import (
    CARRIED_FORCE,
    COLUMN_RATES,
    COMPOSITE_MOMENTUM,
    COMPOSITE_RATE,
    MATRICES,
    ColumnRates,
    carried_moment,
)
from recursa.dynamics.gathering import Block, Entries, TwoWays, dots, entries_with, joint_matrix
from recursa.dynamics.inverse import FORCE_BUFFERS, MOVING_FORCE
from recursa.dynamics.kinematics import ACCELERATION, RELATIVE, VELOCITY, velocity
from recursa.dynamics.mass_matrix import COMPOSITE
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, tip_to_base

BLOCKS = ("qq", "qv", "vv", "qa")  # in the order of the result; by v and a, and by a twice, there is nothing
SYMMETRIC = ("qq", "vv")
COVECTOR = "joint:lambda"

# ---- the virtual motion ----------------------------------------------------------------------------------------------


def bias_moment(inertia: RigidInertia, own: Motion, virtual: Motion) -> Vec3:
    """``2 B* W = crf(V) M W - M crm(V) W - crf(W) M V`` of one body; the force parts cancel."""
    turning = _moment_of_cross(own, inertia @ virtual) - _moment_of(inertia, own.cross_motion(virtual))
    return turning - _moment_of_cross(virtual, inertia @ own)


def _moment_of(inertia: RigidInertia, motion: Motion) -> Vec3:
    """Of ``M m`` the moment alone: ``I w + h x v``."""
    return inertia.moment @ motion.angular + inertia.first.cross(motion.linear)


def _moment_of_cross(motion: Motion, force: Force) -> Vec3:
    """Of ``crf(m) f`` the moment alone: ``w x n + v x f``."""
    return motion.angular.cross(force.moment) + motion.linear.cross(force.force)


def virtual_bias(
    children: Vec3, inertia: RigidInertia, own: Motion, virtual: Motion, step: Transform
) -> tuple[Vec3, Vec3]:
    """c of everything outward, and its share at the parent."""
    total = children + bias_moment(inertia, own, virtual)
    return total, carried_moment(step, total)


def virtual_rates(joint: Joint, step: Transform, parent: Motion) -> tuple[Motion, ...]:
    """``w = crm(phi* W(parent)) s`` of every freedom."""
    up = step.inverse_motion(parent)
    return tuple(up.cross_motion(column) for column in joint.columns())


VIRTUAL = Step(velocity, ("joint", "X", "W_lambda@parent", COVECTOR), ("W_lambda",), "W = phi* W(parent) + H* lambda")
VIRTUAL_RATES = Step(virtual_rates, ("joint", "X", "W_lambda@parent"), ("w",), "w = crm(phi* W(parent)) s")
VIRTUAL_MOMENTUM = replace(
    COMPOSITE_MOMENTUM,
    reads=("p", "inertia", "W_lambda", "X"),
    writes=("p", "p@parent"),
    equation="p = M W + sum of phi p",
)
VIRTUAL_RATE = replace(
    COMPOSITE_RATE,
    reads=("Z", "inertia", "W_lambda", "X"),
    writes=("Z", "Z@parent"),
    equation="Z = own + sum of phi Z phi*",
)
VIRTUAL_BIAS = Step(virtual_bias, ("c", "inertia", "V", "W_lambda", "X"), ("c", "c@parent"), "c = 2B* W + sum of phi c")

# ---- the matrices ----------------------------------------------------------------------------------------------------


class SecondReach(NamedTuple):
    """What one freedom j means for every joint inward."""

    by_q: Force  # R s'' + 2 B s' + crf(s) f
    by_v: Force  # R t + 2 B s
    by_a: Force  # R s
    b: Force  # R w + crf(s) p
    d: Vec3  # crf(s) p - Z s
    e: Vec3  # 2 B* w + crf(s) c + crf(s') p - Z s'

    def carried(self, step: Transform) -> SecondReach:
        """To the parent."""
        by_q, by_v, by_a, b = map(step.force, (self.by_q, self.by_v, self.by_a, self.b))
        return SecondReach(by_q, by_v, by_a, b, carried_moment(step, self.d), carried_moment(step, self.e))


SecondReaches = tuple[SecondReach, ...]  # one per freedom of a joint
Outward = tuple[tuple[int, SecondReaches], ...]  # with the number of the joint
Virtual = tuple[Motion, ...]


class Own(NamedTuple):
    """A joint with itself, by name of the block; symmetric ones up to the diagonal."""

    qq: Block
    qv: Block
    vv: Block
    qa: Block


class Pair(NamedTuple):
    """An inner joint and an outer one."""

    qq: TwoWays
    qv: TwoWays
    vv: TwoWays
    qa: TwoWays


def reach(
    rates: ColumnRates,
    w: Motion,
    total: RigidInertia,
    rate: RigidInertia,
    momentum: Force,
    force: Force,
    p: Force,
    z: RigidInertia,
    c: Vec3,
) -> SecondReach:
    """The forces of one freedom."""
    s, first, second, twice = rates
    back = _moment_of(rate, w) - _moment_of_cross(w, momentum)  # 2 B* w
    return SecondReach(
        by_q=total @ second + (rate @ first + first.cross_force(momentum)) + s.cross_force(force),
        by_v=total @ twice + (rate @ s + s.cross_force(momentum)),
        by_a=total @ s,
        b=total @ w + s.cross_force(p),
        d=_moment_of_cross(s, p) - _moment_of(z, s),
        e=back + s.angular.cross(c) + _moment_of_cross(first, p) - _moment_of(z, first),
    )


def second_reaches(
    rates: tuple[ColumnRates, ...],
    virtual: Virtual,
    total: RigidInertia,
    rate: RigidInertia,
    momentum: Force,
    force: Force,
    p: Force,
    z: RigidInertia,
    c: Vec3,
) -> tuple[Own, SecondReaches]:
    """Entries that pair a joint with itself, and what every joint inward meets."""
    inner = list(zip(rates, virtual, strict=True))
    found = tuple(reach(one, w, total, rate, momentum, force, p, z, c) for one, w in inner)
    orders = [[_twice_by_q(one, w, far) for far in found] for one, w in inner]
    turned = [z @ one.column for one in rates]
    own = Own(
        tuple((*(0.5 * (orders[i][j] + orders[j][i]) for j in range(i)), orders[i][i]) for i in range(len(rates))),
        tuple(tuple(_by_q_and_v(one, w, far) for far in found) for one, w in inner),
        tuple(tuple(-rates[j].column.dot(turned[i]) for j in range(i + 1)) for i in range(len(rates))),
        dots(virtual, [far.by_a for far in found]),
    )
    return own, found


def _twice_by_q(inner: ColumnRates, w: Motion, outer: SecondReach) -> Scalar:
    return w.dot(outer.by_q) + inner.second.dot(outer.b) + inner.first.angular.dot(outer.e)


def _by_q_and_v(inner: ColumnRates, w: Motion, outer: SecondReach) -> Scalar:
    return w.dot(outer.by_v) + inner.first.angular.dot(outer.d)


def second_pair(rates: tuple[ColumnRates, ...], virtual: Virtual, outer: SecondReaches) -> Pair:
    """The blocks of two joints, one inward of the other."""
    inner = list(zip(rates, virtual, strict=True))
    return Pair(
        TwoWays(tuple(tuple(_twice_by_q(one, w, far) for far in outer) for one, w in inner)),
        TwoWays(
            tuple(tuple(_by_q_and_v(one, w, far) for far in outer) for one, w in inner),
            tuple(tuple(one.twice.dot(far.b) + one.column.angular.dot(far.e) for one in rates) for far in outer),
        ),
        TwoWays(tuple(tuple(one.column.angular.dot(far.d) for far in outer) for one in rates)),
        TwoWays(
            dots(virtual, [far.by_a for far in outer]),
            tuple(tuple(one.column.dot(far.b) for one in rates) for far in outer),
        ),
    )


def second_rows(
    number: int,
    rates: tuple[ColumnRates, ...],
    virtual: Virtual,
    own: Own,
    reaches: SecondReaches,
    below: Outward,
    step: Transform,
) -> tuple[Entries, Entries, Entries, Entries, Outward]:
    """Entries that pair this joint with itself and the joints outward, by qq, qv, vv and qa; the forces for the
    parent.
    """
    pairs = [(outer, second_pair(rates, virtual, far)) for outer, far in below]
    qq, qv, vv, qa = (
        entries_with(number, block, ((outer, pair[k]) for outer, pair in pairs)) for k, block in enumerate(own)
    )
    passed_on = ((key, tuple(one.carried(step) for one in far)) for key, far in ((number, reaches), *below))
    return qq, qv, vv, qa, tuple(passed_on)


PAIR_EQUATION = "w(i).(R s'' + 2B s' + crf(s) f)(j) + s''(i).b(j) + s'(i).e(j), ..."
SECOND_REACHES = Step(
    second_reaches,
    ("S", "w", "R", "Rdot", "h", "f", "p", "Z", "c"),
    ("own", "reach"),
    "R s'' + 2B s' + crf(s) f, ...",
)
SECOND_ROWS = Step(
    second_rows,
    ("number", "S", "w", "own", "reach", "F", "X"),
    (*BLOCKS, "F@parent"),
    PAIR_EQUATION,
)

VIRTUAL_BUFFERS = (Buffer("W_lambda", Motion.zero()), Buffer("p", Force.zero()), Buffer("c", ZERO))
SECOND_BUFFERS = (*VIRTUAL_BUFFERS, Buffer("Z", RigidInertia.zero()), Buffer("w", ()))
VIRTUAL_OUTWARD = (VIRTUAL_MOMENTUM, VIRTUAL_RATE, VIRTUAL_BIAS)

SECOND_DERIVATIVES = Plan(
    "inverse_dynamics_second_derivatives",
    (
        *FORCE_BUFFERS,
        *SECOND_BUFFERS,
        *(one for one in MATRICES if not one.name.startswith("by_")),
        *(Buffer(name, ()) for name in BLOCKS),
    ),
    (
        base_to_tip(RELATIVE, VELOCITY, ACCELERATION, COLUMN_RATES, MOVING_FORCE, VIRTUAL, VIRTUAL_RATES),
        tip_to_base(
            COMPOSITE,
            COMPOSITE_RATE,
            COMPOSITE_MOMENTUM,
            *VIRTUAL_OUTWARD,
            CARRIED_FORCE,
            SECOND_REACHES,
            SECOND_ROWS,
        ),
    ),
)


def second_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """All blocks, (4, nv, nv) row by row."""
    return chain.from_iterable(
        joint_matrix(model, values.lists.get(name, []), symmetric=name in SYMMETRIC) for name in BLOCKS
    )
