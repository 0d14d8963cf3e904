"""Hybrid dynamics: the accelerations of some joints are prescribed, the torques of the others; what is missing follows.

The articulated recursion of ``articulated.py``, in which a prescribed joint is no freedom: nothing is eliminated there,
so P and the bias force go through it as through a rigid body, and its acceleration ``H* a`` is part of the bias
acceleration. Once the accelerations of the bodies are known, the force across such a joint is ``f = P alpha + y``, y
being the bias force of all that it carries, and its torque is ``H f + A a``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from recursa.dynamics.articulated_bodies import (
    ACCELERATIONS,
    ARTICULATED_BUFFERS,
    BIAS_FORCE,
    INNOVATIONS,
    Elimination,
    bias_acceleration,
    completed,
    reduced,
)
from recursa.dynamics.inverse import with_rotors
from recursa.dynamics.kinematics import RELATIVE, VELOCITY
from recursa.dynamics.needs import divides_by_hinges, spares_hinges
from recursa.dynamics.wrenches import Losses, completing, driving
from recursa.model.model import Joint
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, tip_to_base

FREE, HELD = 0, 1


@spares_hinges
def hold(joint: Joint) -> int:
    """Mark a joint whose acceleration is prescribed."""
    return HELD


def prescribed_bias(joint: Joint, held: int, velocity: Motion, v: Sequence[Scalar], a: Sequence[Scalar]) -> Motion:
    """``crm(V) H* v``, and ``H* a`` where a is known."""
    bias = bias_acceleration(joint, velocity, v)
    return bias + joint.motion(a) if held else bias


@divides_by_hinges
def eliminate_free(
    joint: Joint, held: int, children: ArticulatedInertia, inertia: RigidInertia, step: Transform
) -> tuple[ArticulatedInertia, tuple[Elimination, ...], ArticulatedInertia]:
    """P; the eliminations of a free joint, none of a prescribed one; and what the parent feels."""
    own = children + ArticulatedInertia.from_rigid(inertia)
    done, rest = ((), own) if held else reduced(joint, own)
    return own, done, step.articulated(rest)


def driven(held: int, torque: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """The torques of a free joint; those of a prescribed one are not known yet."""
    return () if held else tuple(torque)


def completed_joint(
    joint: Joint,
    held: int,
    found: tuple[Scalar, ...],
    inertia: ArticulatedInertia,
    own: Force,
    acceleration: Motion,
    a: Sequence[Scalar],
    tau: Sequence[Scalar],
) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    """Acceleration and torque of a joint: one as found, the other as given."""
    if not held:
        return found, tuple(tau)
    return tuple(a), with_rotors(joint, joint.project(inertia @ acceleration + own), a)


HOLD = Step(hold, ("joint",), ("held",), "its acceleration is prescribed")
PRESCRIBED_BIAS = Step(
    prescribed_bias, ("joint", "held", "V", "v", "a"), ("c",), "a = crm(V) H* v; where prescribed, + H* qdd"
)
ELIMINATE_FREE = Step(
    eliminate_free,
    ("joint", "held", "P", "inertia", "X"),
    ("P", "elimination", "P@parent"),
    "P = M + sum of phi P+ phi*, D = H P H* + A, P+ = P - P H* inv(D) H P; where prescribed, P+ = P",
)
DRIVEN = Step(driven, ("held", "T"), ("T",), "T where it is known")
COMPLETED = Step(
    completed_joint,
    ("joint", "held", "qdd", "P", "f", "alpha", "a", "tau"),
    ("qdd", "T"),
    "where prescribed, T = H (P alpha + y) + A qdd",
)


@cache
def hybrid_plan(
    *, held: tuple[int, ...], wrenches: bool = False, losses: Losses = False, springs: bool = False
) -> Plan:
    """Accelerations qdd and torques T of all joints; ``held``: the bodies whose joints are prescribed, base first."""
    drive, torque = driving(losses, springs)
    sweeps = (
        base_to_tip(RELATIVE, VELOCITY, PRESCRIBED_BIAS, BIAS_FORCE),
        tip_to_base(*drive, DRIVEN.reading(T=torque), ELIMINATE_FREE, INNOVATIONS.reading(tau="T")),
        base_to_tip(ACCELERATIONS, COMPLETED),
    )
    buffers = (*ARTICULATED_BUFFERS, Buffer("held", FREE))
    more = completing(losses, springs)
    after = (base_to_tip(*more, only=held),) if more else ()
    marked = (base_to_tip(HOLD, only=held), *completed(sweeps, wrenches=wrenches, links=False), *after)
    return Plan("hybrid_dynamics", buffers, marked)
