"""The Hessian of ``lambda* tau`` times one direction (dq, dv, da), in O(n): its gradient differentiated line by line.

Symbols as in ``second_derivatives.py``. With the columns s taken out, the gradient at a joint is ``H`` times

    G_q = crf(U)(crf(U) p - c) - crf(Y) f - crf(A) p,      G_v = c - crf(U + V) p,      G_a = p

A motion ``d = H* dq`` changes what comes from the parent by ``-crm(d)`` and what goes there by ``crf(d)``, as in
``tangent.py``. ``crf(d) G_q / 2`` makes the derivative of the derivative the symmetric one of ``integrate``; at joints
of one freedom it has no part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from recursa.dynamics.derivatives import CARRIED_FORCE
from recursa.dynamics.gathering import joint_vector
from recursa.dynamics.second_derivatives import (
    VIRTUAL,
    VIRTUAL_BIAS,
    VIRTUAL_BUFFERS,
    VIRTUAL_MOMENTUM,
    bias_moment,
    carried_moment,
)
from recursa.dynamics.tangent import TANGENT, displaced
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, tip_to_base

DIRECTION = ("joint:dq", "joint:dv", "joint:da")


class Arriving(NamedTuple):
    """What comes from the parent, in axes of the body, or its change: velocity, acceleration, virtual velocity."""

    U: Motion
    A: Motion
    Y: Motion


NOTHING = Arriving(Motion.zero(), Motion.zero(), Motion.zero())


def arriving(step: Transform, velocity: Motion, acceleration: Motion, virtual: Motion) -> Arriving:
    """``phi*`` of the parent's V, alpha and W."""
    return Arriving(*(step.inverse_motion(motion) for motion in (velocity, acceleration, virtual)))


def arriving_change(joint: Joint, came: Arriving, change: Arriving, dq: Sequence[Scalar]) -> Arriving:
    """``phi* dm + crm(phi* m) H* dq``."""
    d = joint.motion(dq)
    return Arriving(*(new + old.cross_motion(d) for old, new in zip(came, change, strict=True)))


def momentum_change(
    joint: Joint, children: Force, inertia: RigidInertia, dW: Motion, p: Force, step: Transform, dq: Sequence[Scalar]
) -> tuple[Force, Force]:
    """``dp = M dW + ...``, and ``phi (dp + crf(d) p)`` for the parent."""
    total = children + inertia @ dW
    return total, force_change(joint, step, total, p, dq)


def bias_change(
    joint: Joint,
    children: Vec3,
    inertia: RigidInertia,
    own: Motion,
    virtual: Motion,
    dV: Motion,
    dW: Motion,
    c: Vec3,
    step: Transform,
    dq: Sequence[Scalar],
) -> tuple[Vec3, Vec3]:
    """``dc = 2 B(dV)* W + 2 B(V)* dW + ...``, and its share at the parent."""
    total = children + bias_moment(inertia, dV, virtual) + bias_moment(inertia, own, dW)
    return total, carried_moment(step, total + joint.motion(dq).angular.cross(c))


def force_change(joint: Joint, step: Transform, change: Force, force: Force, dq: Sequence[Scalar]) -> Force:
    """``phi (df + crf(d) f)`` for the parent."""
    return step.force(change + joint.motion(dq).cross_force(force))


def gradient_change(
    joint: Joint,
    came: Arriving,
    came_change: Arriving,
    own: Motion,
    dV: Motion,
    f: Force,
    df: Force,
    p: Force,
    dp: Force,
    c: Vec3,
    dc: Vec3,
    dq: Sequence[Scalar],
) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...], tuple[Scalar, ...]]:
    """What a direction makes of g_q, g_v and g_a at a joint."""
    (U, A, Y), (dU, dA, dY) = came, came_change
    bias, dbias = Force(c, ZERO), Force(dc, ZERO)
    turned = U.cross_force(p) - bias
    by_q = dU.cross_force(turned) + U.cross_force(dU.cross_force(p) + U.cross_force(dp) - dbias)
    by_q = by_q - dY.cross_force(f) - Y.cross_force(df) - dA.cross_force(p) - A.cross_force(dp)
    if joint.kind.nv > 1:
        g = U.cross_force(turned) - Y.cross_force(f) - A.cross_force(p)
        by_q = by_q + joint.motion(dq).cross_force(g) * 0.5
    by_v = dbias - (dU + dV).cross_force(p) - (U + own).cross_force(dp)
    return joint.project(by_q), joint.project(by_v), joint.project(dp)


_CAME = Step(arriving, ("X", "V@parent", "alpha@parent", "W_lambda@parent"), ("came",), "U, A, Y = phi* V, alpha, W")
_CHANGE = Step(arriving, ("X", "dV@parent", "dalpha@parent", "dW_lambda@parent"), ("dcame",), "phi* dV, dalpha, dW")

SECOND_TANGENT = Plan(
    "Hessian of inverse dynamics times a direction",
    (
        *TANGENT.buffers,
        *VIRTUAL_BUFFERS,
        Buffer("dW_lambda", Motion.zero()),
        Buffer("came", NOTHING),
        Buffer("dcame", NOTHING),
        Buffer("dp", Force.zero()),
        Buffer("dc", ZERO),
        Buffer("g_q", ()),
        Buffer("g_v", ()),
        Buffer("g_a", ()),
    ),
    (
        base_to_tip(
            *TANGENT.sweeps[0].steps,
            VIRTUAL,
            Step(
                displaced,
                ("joint", "X", "W_lambda@parent", "dW_lambda@parent", "joint:dq"),
                ("dW_lambda",),
                "dW_lambda",
            ),
            _CAME,
            _CHANGE,
            Step(arriving_change, ("joint", "came", "dcame", "joint:dq"), ("dcame",), "dU, dA, dY += crm(.) H* dq"),
        ),
        tip_to_base(
            VIRTUAL_MOMENTUM,
            VIRTUAL_BIAS,
            Step(
                momentum_change,
                ("joint", "dp", "inertia", "dW_lambda", "p", "X", "joint:dq"),
                ("dp", "dp@parent"),
                "dp = M dW + sum of phi (dp + crf(d) p)",
            ),
            Step(
                bias_change,
                ("joint", "dc", "inertia", "V", "W_lambda", "dV", "dW_lambda", "c", "X", "joint:dq"),
                ("dc", "dc@parent"),
                "dc = 2B(dV)* W + 2B(V)* dW + sum of phi (dc + crf(d) c)",
            ),
            Step(force_change, ("joint", "X", "df", "f", "joint:dq"), ("df@parent",), "df += phi (df + crf(d) f)"),
            CARRIED_FORCE,
            Step(
                gradient_change,
                ("joint", "came", "dcame", "V", "dV", "f", "df", "p", "dp", "c", "dc", "joint:dq"),
                ("g_q", "g_v", "g_a"),
                "H dG_q + H crf(d) G_q / 2, H dG_v, H dG_a",
            ),
        ),
    ),
)


def second_tangent_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """What the direction makes of the gradient by q, v and a, (3, nv) row by row."""
    return chain.from_iterable(joint_vector(model, values.lists.get(name, [])) for name in ("g_q", "g_v", "g_a"))
