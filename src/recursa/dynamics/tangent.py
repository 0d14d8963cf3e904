"""The tangent of inverse dynamics: what small changes of q, v and a make of the torques, in O(n).

Newton-Euler differentiated line by line, in link axes. A motion ``d = H* dq`` of a body in its joint changes what
comes from the parent by ``-crm(d)``, and what goes there by ``crf(d)``:

    dV     = phi* dV(parent) + crm(phi* V(parent)) d + H* dv
    dalpha = phi* dalpha(parent) + crm(phi* alpha(parent)) d + H* da + crm(dV) H* v + crm(V) H* dv
    df     = M dalpha + crf(dV) M V + crf(V) M dV + sum over children of phi (df + crf(d) f)
    dT     = H df + A da
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain

from recursa.dynamics.derivatives import CARRIED_FORCE
from recursa.dynamics.gathering import joint_vector
from recursa.dynamics.inverse import FORCE_BUFFERS, MOVING_FORCE, joint_torque, pushed, resting_force, with_rotors
from recursa.dynamics.kinematics import ACCELERATION, RELATIVE, VELOCITY, velocity
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, tip_to_base

# ---- steps -----------------------------------------------------------------------------------------------------------


def displaced(joint: Joint, step: Transform, parent: Motion, change: Motion, dq: Sequence[Scalar]) -> Motion:
    """Change of a motion that comes from the parent: ``phi* dm + crm(phi* m) H* dq``."""
    return step.inverse_motion(change) + step.inverse_motion(parent).cross_motion(joint.motion(dq))


def displaced_acceleration(
    joint: Joint,
    step: Transform,
    parent: Motion,
    change: Motion,
    speed: Motion,
    dq: Sequence[Scalar],
    v: Sequence[Scalar],
) -> Motion:
    """dalpha by dq: what comes from the parent, and ``crm(dV) H* v``."""
    return displaced(joint, step, parent, change, dq) + speed.cross_motion(joint.motion(v))


def sped_up(
    joint: Joint,
    step: Transform,
    change: Motion,
    own: Motion,
    speed: Motion,
    v: Sequence[Scalar],
    dv: Sequence[Scalar],
) -> Motion:
    """dalpha by dv: ``phi* dalpha + crm(dV) H* v + crm(V) H* dv``."""
    turning = speed.cross_motion(joint.motion(v)) + own.cross_motion(joint.motion(dv))
    return step.inverse_motion(change) + turning


def plus_joint(joint: Joint, motion: Motion, rates: Sequence[Scalar]) -> Motion:
    """A motion and the joint's own: ``m + H* x``."""
    return motion + joint.motion(rates)


def plus_bias(joint: Joint, motion: Motion, own: Motion, dv: Sequence[Scalar], da: Sequence[Scalar]) -> Motion:
    """``dalpha + H* da + crm(V) H* dv``."""
    return motion + joint.motion(da) + own.cross_motion(joint.motion(dv))


def changed_force(inertia: RigidInertia, acceleration: Motion, own: Motion, speed: Motion) -> Force:
    """``df = M dalpha + crf(dV) M V + crf(V) M dV``."""
    turning = speed.cross_force(inertia @ own) + own.cross_force(inertia @ speed)
    return inertia @ acceleration + turning


def displaced_torque(
    joint: Joint, step: Transform, change: Force, force: Force, dq: Sequence[Scalar]
) -> tuple[tuple[Scalar, ...], Force]:
    """``dT = H df``, and ``phi (df + crf(H* dq) f)`` for the parent."""
    return joint.project(change), step.force(change + joint.motion(dq).cross_force(force))


# ---- plans -----------------------------------------------------------------------------------------------------------

_NOMINAL = (RELATIVE, VELOCITY, ACCELERATION, MOVING_FORCE)


def _buffers(*suffixes: str) -> tuple[Buffer, ...]:
    """Those of inverse dynamics, and of each tangent: dV, dalpha, df, dT."""
    return FORCE_BUFFERS + tuple(
        Buffer(name + suffix, zero)
        for suffix in suffixes
        for name, zero in (("dV", Motion.zero()), ("dalpha", Motion.zero()), ("df", Force.zero()), ("dT", ()))
    )


TANGENT = Plan(
    "tangent of inverse dynamics",
    _buffers(""),
    (
        base_to_tip(
            *_NOMINAL,
            Step(
                displaced, ("joint", "X", "V@parent", "dV@parent", "joint:dq"), ("dV",), "phi* dV + crm(phi* V) H* dq"
            ),
            Step(plus_joint, ("joint", "dV", "joint:dv"), ("dV",), "dV += H* dv"),
            Step(
                displaced_acceleration,
                ("joint", "X", "alpha@parent", "dalpha@parent", "dV", "joint:dq", "v"),
                ("dalpha",),
                "phi* dalpha + crm(phi* alpha) H* dq + crm(dV) H* v",
            ),
            Step(
                plus_bias,
                ("joint", "dalpha", "V", "joint:dv", "joint:da"),
                ("dalpha",),
                "dalpha += H* da + crm(V) H* dv",
            ),
            Step(changed_force, ("inertia", "dalpha", "V", "dV"), ("df",), "M dalpha + crf(dV) M V + crf(V) M dV"),
        ),
        tip_to_base(
            Step(
                displaced_torque,
                ("joint", "X", "df", "f", "joint:dq"),
                ("dT", "df@parent"),
                "dT = H df, df(parent) += phi (df + crf(H* dq) f)",
            ),
            CARRIED_FORCE,
            Step(with_rotors, ("joint", "dT", "joint:da"), ("dT",), "dT += A da"),
        ),
    ),
)


@cache
def tangent_plan(*, wrenches: bool = False) -> Plan:
    """Along one direction; wrenches turn with their links."""
    return replace(TANGENT, sweeps=pushed(TANGENT.sweeps, "f")) if wrenches else TANGENT


# The same for one vector x in the place of dq, of dv and of da: three columns of the matrices at once.
TANGENTS = Plan(
    "tangents of inverse dynamics by q, v and a",
    _buffers("_q", "_v", "_a"),
    (
        base_to_tip(
            *_NOMINAL,
            Step(displaced, ("joint", "X", "V@parent", "dV_q@parent", "joint:x"), ("dV_q",), "dV by x as dq"),
            Step(
                displaced_acceleration,
                ("joint", "X", "alpha@parent", "dalpha_q@parent", "dV_q", "joint:x", "v"),
                ("dalpha_q",),
                "dalpha by x as dq",
            ),
            Step(changed_force, ("inertia", "dalpha_q", "V", "dV_q"), ("df_q",), "df by x as dq"),
            Step(velocity, ("joint", "X", "dV_v@parent", "joint:x"), ("dV_v",), "dV by x as dv: phi* H* x"),
            Step(
                sped_up,
                ("joint", "X", "dalpha_v@parent", "V", "dV_v", "v", "joint:x"),
                ("dalpha_v",),
                "dalpha by x as dv",
            ),
            Step(changed_force, ("inertia", "dalpha_v", "V", "dV_v"), ("df_v",), "df by x as dv"),
            Step(resting_force, ("inertia", "dV_v"), ("df_a",), "df by x as da: M phi* H* x"),
        ),
        tip_to_base(
            Step(displaced_torque, ("joint", "X", "df_q", "f", "joint:x"), ("dT_q", "df_q@parent"), "dT by x as dq"),
            CARRIED_FORCE,
            Step(joint_torque, ("joint", "X", "df_v"), ("dT_v", "df_v@parent"), "dT by x as dv"),
            Step(joint_torque, ("joint", "X", "df_a"), ("dT_a", "df_a@parent"), "dT by x as da"),
            Step(with_rotors, ("joint", "dT_a", "joint:x"), ("dT_a",), "dT += A x"),
        ),
    ),
)


def tangent_entries(model: Model, values: Values) -> list[Scalar]:
    """d tau."""
    return joint_vector(model, values.lists.get("dT", []))


def column_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """One column of d tau/d q, of d tau/d v and of d tau/d a."""
    return chain.from_iterable(joint_vector(model, values.lists.get(name, [])) for name in ("dT_q", "dT_v", "dT_a"))
