"""Forward dynamics in three sweeps for robots with rotors that spin about other axes than their joints'.

Such a rotor is a body tied to the joint that it drives. Where it is carried by the parent or the child of that joint,
the two are one freedom: the articulated recursion of ``articulated.py`` with the couple ``c = J N s`` per unit of
speed, whose axis s is fixed in the link that carries it. With the rotor as a part of that link that does not spin:

    U = P H* + c,   D = H P H* + A + J N^2 (+ 2 H c on the child),   P+ = P - U inv(D) U*
    nu = inv(D) (T - H z - c.a),   z+ = z + U nu + w x c v

The third term of nu is there for a rotor on the child, whose bias acceleration is a; w is that of the carrying link.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from recursa.dynamics.articulated_bodies import (
    ACCELERATIONS,
    ARTICULATED_BUFFERS,
    Elimination,
    bias_acceleration,
    bias_force,
    filtered,
    reduced,
)
from recursa.dynamics.kinematics import RELATIVE, velocity
from recursa.dynamics.needs import divides_by_hinges
from recursa.dynamics.wrenches import Losses, driving
from recursa.model.model import Couple, Joint, Model
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar, reciprocal
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.sweeps import Plan, Step, base_to_tip, tip_to_base

Numbers = tuple[Scalar, ...]


def suits(model: Model) -> bool:
    """Whether all that is tied are rotors, each beside its joint or on its child, and nothing but rotors."""
    parents = {joint.parent for joint in model.joints}
    return all(
        joint.independent
        or (
            rides(joint)
            and joint.parent in (model.joints[joint.tie.source].parent, joint.tie.source)  # type: ignore[union-attr]
            and model.joints[joint.tie.source].couple is not None  # type: ignore[union-attr]
            and number not in parents
            and not any((*joint.damping, *map(bool, joint.friction), joint.stiffness))
        )
        for number, joint in enumerate(model.joints)
    )


def rides(joint: Joint) -> bool:
    """Whether a joint is that of a rotor, which here stands still on the link that carries it."""
    return joint.tie is not None and joint.rotor is not None and joint.rotor.mount == "itself"


def _turned(couple: Couple, step: Transform) -> Vec3:
    """The couple of a rotor on the parent, in body axes."""
    return step.rotation.inverse_times(couple.beside)


# ---- steps -----------------------------------------------------------------------------------------------------------


def carrying_velocity(joint: Joint, step: Transform, parent: Motion, v: Sequence[Scalar]) -> Motion:
    """``phi* V(parent) + H* v``; a rotor moves as the link that carries it."""
    return step.inverse_motion(parent) if rides(joint) else velocity(joint, step, parent, v)


def carrying_bias(joint: Joint, own: Motion, v: Sequence[Scalar]) -> Motion:
    """``crm(V) H* v``, zero for a rotor."""
    return Motion.zero() if rides(joint) else bias_acceleration(joint, own, v)


def gyroscopic_force(joint: Joint, inertia: RigidInertia, own: Motion, v: Sequence[Scalar]) -> Force:
    """``crf(V) M V``, and ``w x c v`` of a rotor on this link."""
    force = bias_force(inertia, own)
    if joint.couple is None:
        return force
    return force + Force(own.angular.cross(joint.couple.carried) * v[0], ZERO)


@divides_by_hinges
def eliminate_geared(
    joint: Joint, children: ArticulatedInertia, inertia: RigidInertia, step: Transform
) -> tuple[ArticulatedInertia, tuple[Elimination, ...], ArticulatedInertia]:
    """P, the eliminations with the couples of rotors, and what the parent feels; a rotor is a part of it."""
    own = children + ArticulatedInertia.from_rigid(inertia)
    if rides(joint):
        return own, (), step.articulated(own)
    if joint.couple is None:
        done, rest = reduced(joint, own)
        return own, done, step.articulated(rest)
    (column,), couple = joint.columns(), joint.couple
    straight = own @ column
    u = straight + Force(couple.carried + _turned(couple, step), ZERO)
    across = 2.0 * column.angular.dot(couple.carried)
    inverse_d = reciprocal(column.dot(straight) + joint.armature[0] + couple.reflected + across)
    return own, (Elimination(column, u, inverse_d),), step.articulated(own.minus_dyad(u, u * inverse_d))


def geared_innovations(
    joint: Joint,
    done: tuple[Elimination, ...],
    inertia: ArticulatedInertia,
    bias: Motion,
    force: Force,
    torque: Sequence[Scalar],
    step: Transform,
    own: Motion,
    v: Sequence[Scalar],
) -> tuple[Numbers, Force]:
    """``nu = inv(D) (T - H z - c.a)``, and z+ with the gyroscopic moment of a rotor on the parent, carried there."""
    if rides(joint):
        return (), step.force(force)
    z, couple = force + inertia @ bias, joint.couple
    if couple is None:
        nu, passed = filtered(done, torque, z)
        return nu, step.force(passed)
    nu, passed = filtered(done, (torque[0] - couple.carried.dot(bias.angular),), z)
    turning = own.angular - joint.columns()[0].angular * v[0]  # of the parent
    return nu, step.force(passed + Force(turning.cross(_turned(couple, step)) * v[0], ZERO))


@cache
def forward_plan(*, losses: Losses = False, springs: bool = False) -> Plan:
    """Accelerations for given torques."""
    drive, torque = driving(losses, springs)
    innovations = Step(
        geared_innovations,
        ("joint", "elimination", "P", "c", "f", torque, "X", "V", "v"),
        ("nu", "f@parent"),
        "nu = inv(D) (T - H z - c.a), z+ = z + U nu + w x c v",
    )
    return Plan(
        "forward_dynamics with rotors",
        ARTICULATED_BUFFERS,
        (
            base_to_tip(
                RELATIVE,
                Step(carrying_velocity, ("joint", "X", "V@parent", "v"), ("V",), "V = phi* V(parent) + H* v"),
                Step(carrying_bias, ("joint", "V", "v"), ("c",), "a = crm(V) H* v"),
                Step(gyroscopic_force, ("joint", "inertia", "V", "v"), ("f",), "b = crf(V) M V + w x c v"),
            ),
            tip_to_base(
                Step(
                    eliminate_geared,
                    ("joint", "P", "inertia", "X"),
                    ("P", "elimination", "P@parent"),
                    "U = P H* + c, D = H P H* + A + J N^2, P+ = P - U inv(D) U*",
                ),
                *drive,
                innovations,
            ),
            base_to_tip(ACCELERATIONS),
        ),
    )
