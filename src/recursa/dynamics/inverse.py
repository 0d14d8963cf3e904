"""Inverse dynamics by the Newton-Euler recursion, and what follows from it: bias, gravity, reactions.

Rodriguez & Kreutz-Delgado (6)-(12), body derivatives: out with velocities and accelerations, in with forces. Gravity is
an upward acceleration of the base.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from recursa.dynamics.base_velocity import changes, in_forces
from recursa.dynamics.gathering import FORCES, flat, vector_of
from recursa.dynamics.kinematics import ACCELERATION, BASE_MOTION, BUFFERS, POSE, RELATIVE, VELOCITY
from recursa.dynamics.mass_properties import check_moved_base
from recursa.dynamics.wrenches import DRIVE, Losses, completing
from recursa.model.may_move import MayMove
from recursa.model.model import Joint
from recursa.quantities import Names, Quantity, Recipe, Subject, refusals
from recursa.spatial.inertia import Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO
from recursa.sweeps import Buffer, Given, Plan, Step, Sweep, Values, base_to_tip, each_link, tip_to_base

# ---- steps ---------------------------------------------------------------------------------------------------------


def base_going_up(given: Given) -> Motion:
    """Acceleration of the base: what is prescribed, minus gravity."""
    return given.base_acceleration + Motion(ZERO, -given.gravity)


def static_acceleration(step: Transform, parent: Motion) -> Motion:
    """Acceleration of a body that only feels the base's."""
    return step.inverse_motion(parent)


def drift(joint: Joint, step: Transform, parent: Motion, own: Motion, v: Sequence[Scalar]) -> Motion:
    """Acceleration of a body whose joints do not accelerate: only ``a = crm(V) H* v`` is added on the way out."""
    return step.inverse_motion(parent) + own.cross_motion(joint.motion(v))


def moving_force(inertia: RigidInertia, acceleration: Motion, velocity: Motion) -> Force:
    """Force that a moving body needs: ``M alpha + crf(V) M V``."""
    return inertia @ acceleration + velocity.cross_force(inertia @ velocity)


def resting_force(inertia: RigidInertia, acceleration: Motion) -> Force:
    """Force that a body at rest needs."""
    return inertia @ acceleration


def less_external(force: Force, external: Force) -> Force:
    """The part of a force that the joint has to supply."""
    return force - external


def joint_torque(joint: Joint, step: Transform, force: Force) -> tuple[tuple[Scalar, ...], Force]:
    """``T = H f``, and the force handed to the parent, ``phi f``."""
    return joint.project(force), step.force(force)


def with_rotors(joint: Joint, torque: Sequence[Scalar], a: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """The torque that also turns the rotors: ``T + A a``."""
    return tuple(t + rotor * x for t, rotor, x in zip(torque, joint.armature, a, strict=True))


def without_own_rotor(
    joint: Joint, force: Force, acceleration: Motion, velocity: Motion, v: Sequence[Scalar], a: Sequence[Scalar]
) -> Force:
    """The force across a joint less what its rotor's share of the child needs, ``J N h (h.w)``, if the parent has it.

    On a child that carries it, the rotor needs ``J N h v``: of the share, the part with the parent's ``h.w`` goes.
    """
    rotor = joint.rotor
    if rotor is None or not rotor.coupled or rotor.mount == "itself":
        return force
    h, share = joint.columns()[0].angular, rotor.inertia * rotor.ratio
    turning, faster = h.dot(velocity.angular), h.dot(acceleration.angular)
    if rotor.mount == "child":
        turning, faster = turning - v[0], faster - a[0]
    moment = h * (share * faster) + velocity.angular.cross(h) * (share * turning)
    return Force(force.moment - moment, force.force)


def link_wrench(offset: Transform, wrench: Sequence[Scalar]) -> Force:
    """A wrench at a link's origin, carried to its body's."""
    return offset.force(Force.of(wrench))


# ---- plans ---------------------------------------------------------------------------------------------------------

STATIC = Step(static_acceleration, ("X", "alpha@parent"), ("alpha",), "alpha(k) = phi* alpha(parent)")
DRIFT = Step(
    drift,
    ("joint", "X", "alpha@parent", "V", "v"),
    ("alpha",),
    "alpha(k) = phi* alpha(parent) + crm(V) H* v  (8), a = 0",
)
MOVING_FORCE = Step(moving_force, ("inertia", "alpha", "V"), ("f",), "f = M alpha + crf(V) M V             (10)")
RESTING_FORCE = Step(resting_force, ("inertia", "alpha"), ("f",), "f = M alpha")
EXTERNAL = Step(less_external, ("f", "E"), ("f",), "f -= external")
TORQUE = Step(joint_torque, ("joint", "X", "f"), ("T", "f@parent"), "T = H f, f(parent) += phi f           (11), (12)")
ROTORS = Step(with_rotors, ("joint", "T", "a"), ("T",), "T += A a")
OWN_ROTOR = Step(
    without_own_rotor, ("joint", "f", "alpha", "V", "v", "a"), ("f",), "f -= d/dt (J N h h.w) of the joint's own rotor"
)
WRENCH = Step(link_wrench, ("offset", "wrench"), ("E@body",), "external += phi wrench")


def pushing(*less: Step, wrenches: bool) -> tuple[tuple[Sweep, ...], tuple[Step, ...]]:
    """What wrenches on links add to a plan: the sweep that brings them to the bodies, E, and the steps that take them
    off what bodies need.
    """
    return ((each_link(WRENCH),), less) if wrenches else ((), ())


def off(force: str, external: Step) -> Step:
    """A step that takes wrenches off a force by another name."""
    return replace(external, reads=(force, *external.reads[1:]), writes=(force,))


FORCE_BUFFERS = (
    *(buffer for buffer in BUFFERS if buffer.name != "alpha"),
    Buffer("alpha", Motion.zero(), base_going_up),
    Buffer("f", Force.zero()),
    Buffer("E", Force.zero()),
    Buffer("T", ()),
    DRIVE,
)


@cache
def inverse_plan(*, wrenches: bool = False, losses: Losses = False, springs: bool = False) -> Plan:
    """Torques for given accelerations."""
    motion, joint = (RELATIVE, VELOCITY, ACCELERATION, MOVING_FORCE), at_joint(losses=losses, springs=springs)
    return _newton_euler("inverse_dynamics", motion, (TORQUE, *joint), wrenches=wrenches)


def at_joint(*, losses: Losses, springs: bool) -> tuple[Step, ...]:
    """What a joint needs beside the torque that moves the bodies."""
    return (ROTORS, *completing(losses, springs))


@cache
def bias_plan(*, wrenches: bool = False, springs: bool = False) -> Plan:
    """Torques that keep the joints from accelerating: ``C = H phi (M phi* a + b)``, gravity included."""
    joint = (TORQUE, *completing(False, springs))
    return _newton_euler("bias_forces", (RELATIVE, VELOCITY, DRIFT, MOVING_FORCE), joint, wrenches=wrenches)


@cache
def gravity_plan() -> Plan:
    """Torques that hold the robot still."""
    return _newton_euler("gravity_forces", (RELATIVE, STATIC, RESTING_FORCE), (TORQUE,), wrenches=False)


@cache
def base_wrench_plan(*, wrenches: bool = False) -> Plan:
    """What the base carries: the forces of all bodies, at the world origin."""
    bring, external = pushing(EXTERNAL, wrenches=wrenches)
    share = Step(lambda pose, f: pose.force(f), ("W", "f"), ("f0@robot",), "f(0) = sum of phi(0, k) f(k)")
    outward = base_to_tip(RELATIVE, POSE, VELOCITY, ACCELERATION, MOVING_FORCE, *external, share)
    return Plan("base_wrench", (*FORCE_BUFFERS, Buffer("f0", Force.zero())), (*bring, outward))


def _newton_euler(name: str, outward: tuple[Step, ...], inward: tuple[Step, ...], *, wrenches: bool) -> Plan:
    bring, external = pushing(EXTERNAL, wrenches=wrenches)
    return Plan(name, FORCE_BUFFERS, (*bring, base_to_tip(*outward, *external), tip_to_base(*inward)))


# ---- quantities ----------------------------------------------------------------------------------------------------


def _gravity_forces(of: Subject, given: Names, *, base_velocity: str = "body") -> Recipe:
    recipe = Recipe(gravity_plan(), vector_of(of.model, "T"), (of.model.nv,), MayMove.INERTIAS)
    return in_forces(recipe, base_velocity, accelerating=False) if changes(base_velocity, of.model) else recipe


def _reaction_wrenches(of: Subject, given: Names) -> Recipe:
    def gather(values: Values) -> Iterator[Scalar]:
        return flat(force.components() for force in values.lists.get("f", []))

    plan = inverse_plan(wrenches="wrenches" in given)
    if any(joint.rotor for joint in of.model.joints):
        plan = replace(plan, sweeps=(*plan.sweeps, base_to_tip(OWN_ROTOR)))
    return Recipe(plan, gather, (of.model.nbodies, 6))


def _base_wrench(of: Subject, given: Names) -> Recipe:
    check_moved_base(of.model, given)
    plan = base_wrench_plan(wrenches="wrenches" in given)
    return Recipe(plan, lambda values: values.robot.get("f0", Force.zero()).components(), (6,))


GRAVITY_FORCES = Quantity("gravity_forces", ("q",), _gravity_forces, FORCES, of_joints=True)
REACTION_WRENCHES = Quantity(
    "reaction_wrenches",
    ("q", "v", "a"),
    _reaction_wrenches,
    "(moment, force) per joint in N m and N, on the child, link axes at the link origin",
    optional=("wrenches", *BASE_MOTION),
    reads={"wrenches": "wrench"},
    on_constraints=refusals.REACTIONS,
)
BASE_WRENCH = Quantity(
    "base_wrench",
    ("q", "v", "a"),
    _base_wrench,
    "(moment, force) in N m and N, world axes at the world origin",
    optional=("wrenches", *BASE_MOTION),
    reads={"wrenches": "wrench"},
    on_constraints=refusals.REACTIONS,
)
