"""Free flyers in non-minimal coordinates: every link has a pose and a velocity of its own.

Jain & Rodriguez, Algorithm 3.4. The messages of ``base_invariant.py`` run on the links' own states: the step X from
parent to link is the pose of one in the other, the motion across a hinge what the link's velocity has beyond its
parent's. No joint coordinate is needed, and every link could be integrated by itself.

What is across a hinge, ``U = V - phi* V(parent)``, is ``H* v`` and an error e_v; with ``a = crm(V) U`` that error stays
as it is (in link axes) whatever happens, so neither accelerations nor the messages depend on it. Rounding and the
integrator let it and the joint's gap e drift. The same messages remove both: without forces and with ``a = -e_v`` they
give the change of velocities that closes e_v with the least kinetic energy, ``beta = inv(Mass) H phi M V``; with
``a = -e`` a displacement that closes the gaps to second order.

Inputs per body: ``body:axes`` (x and y axis of the link in world axes), ``body:place`` (z axis, origin) and
``body:twist`` (V in link axes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

from recursa.dynamics.articulated_bodies import BIAS_FORCE
from recursa.dynamics.gathering import in_turn
from recursa.dynamics.kinematics import motion_entries
from recursa.dynamics.wrenches import less_losses
from recursa.errors import NoSweepError
from recursa.free.base_invariant import branches, message_plan
from recursa.model.model import Joint
from recursa.model.rebase import require_free_flyer
from recursa.quantities import Names, Quantity, Recipe, Subject, refusals
from recursa.spatial.inertia import Force, Motion
from recursa.spatial.rotation import Rotation
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip
from recursa.sweeps.batching import Array

POSES = ("body:axes", "body:place")
TWIST = "body:twist"

# ---- states of links -------------------------------------------------------------------------------------------------


def given_pose(axes: Sequence[Scalar], place: Sequence[Scalar]) -> Transform:
    """A link's own pose."""
    x, y, z = axes[0:3], axes[3:6], place[0:3]
    rotation = Rotation(x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])
    return Transform(rotation, Vec3(*place[3:6]))


def given_twist(twist: Sequence[Scalar]) -> Motion:
    """A link's own velocity."""
    return Motion.of(twist)


def between(parent: Transform, own: Transform) -> Transform:
    """Pose of a link in its parent, from both poses in the world."""
    return parent.inverse @ own


def across_hinge(step: Transform, parent: Motion, own: Motion) -> Motion:
    """``U = V - phi* V(parent)``."""
    return own - step.inverse_motion(parent)


def at_hinge(joint: Joint, motion: Motion) -> Motion:
    """A motion at a body's origin, taken to the frame of its joint that moves with it."""
    return motion if joint.after is None else joint.after.motion(motion)


def measured_rates(joint: Joint, across: Motion) -> tuple[Scalar, ...]:
    """The joint speeds nearest to a motion across a hinge."""
    return joint.kind.speeds(joint.hinge, at_hinge(joint, across))


def hinge_pose(joint: Joint, step: Transform) -> Transform:
    """Pose of the joint's moving frame in its fixed one; the joint allows it but for errors."""
    moved = joint.placement.inverse @ step
    return moved if joint.after is None else moved @ joint.after.inverse


def measured_coordinates(joint: Joint, pose: Transform) -> tuple[Scalar, ...]:
    """The joint coordinates nearest to a pose across a hinge."""
    return joint.kind.coordinates(joint.hinge, pose)


def gap(joint: Joint, pose: Transform) -> Motion:
    """How far the moving frame is from where the joint allows it to be: (rotation, translation), in its axes."""
    off = joint.kind.nearest(joint.hinge, pose).inverse @ pose
    r = off.rotation
    turned = Vec3(r.zy - r.yz, r.xz - r.zx, r.yx - r.xy) * 0.5  # the rotation vector, but for its third power
    return Motion(turned, off.translation)


def slip(joint: Joint, across: Motion, v: Sequence[Scalar]) -> Motion:
    """The part of the motion across a hinge that the joint does not allow, at the body's origin: ``e_v = U - H* v``."""
    return across - joint.motion(v)


def coriolis(velocity: Motion, across: Motion) -> Motion:
    """``a = crm(V) U``."""
    return velocity.cross_motion(across)


def against(error: Motion) -> Motion:
    """``a = -e``."""
    return -error


def gap_at_body(joint: Joint, error: Motion) -> Motion:
    """A gap at the hinge as a displacement at the body's origin."""
    return error if joint.after is None else joint.after.inverse_motion(error)


def no_force(joint: Joint) -> tuple[Force, tuple[Scalar, ...]]:
    """Neither bias forces nor torques."""
    return Force.zero(), (0.0,) * joint.kind.nv


def with_fall(acceleration: Motion, pose: Transform, gravity: Vec3) -> Motion:
    """The true acceleration of a link: the messages know it relative to free fall."""
    return acceleration + Motion(ZERO, pose.inverse_rotate(gravity))


POSE = Step(given_pose, POSES, ("W",), "W: the link's own pose")
VELOCITY = Step(given_twist, (TWIST,), ("V",), "V: the link's own velocity")
BETWEEN = Step(between, ("W@parent", "W"), ("X",), "X = W(parent)^-1 W")
ACROSS = Step(across_hinge, ("X", "V@parent", "V"), ("U",), "U = V - phi* V(parent)")
RATES = Step(measured_rates, ("joint", "U"), ("rate",), "v = H U")
CORIOLIS = Step(coriolis, ("V", "U"), ("c",), "a = crm(V) U")
LOSSES = less_losses(True, "rate")
HINGE_POSE = Step(hinge_pose, ("joint", "X"), ("J",), "J = placement^-1 X after^-1")
GAP = Step(gap, ("joint", "J"), ("e",), "e: J beyond the nearest pose that the joint allows")
GAP_AT_BODY = Step(gap_at_body, ("joint", "e"), ("off",), "e at the body")
SLIP = Step(slip, ("joint", "U", "rate"), ("off",), "e_v = U - H* v")
AGAINST = Step(against, ("off",), ("c",), "a = -e")
NO_FORCE = Step(no_force, ("joint",), ("f", "T"), "b = 0, T = 0")
WITH_FALL = Step(with_fall, ("alpha", "W", "gravity"), ("AL",), "alpha + gravity")
COORDINATES = Step(measured_coordinates, ("joint", "J"), ("coordinate",), "q of J")

_OWN = (
    Buffer("W", Transform.identity()),
    Buffer("U", Motion.zero()),
    Buffer("rate", ()),
    Buffer("T", ()),
    Buffer("J", Transform.identity()),
    Buffer("e", Motion.zero()),
    Buffer("off", Motion.zero()),
)


@cache
def accelerations_plan(*, branching: bool, wrenches: bool = False) -> Plan:
    """Algorithm 3.4: accelerations of all links from their own poses and velocities; losses act."""
    first = (POSE, VELOCITY, BETWEEN, ACROSS, RATES, CORIOLIS, BIAS_FORCE, LOSSES)
    name = "accelerations of separate links"
    return message_plan(name, first, (WITH_FALL,), _OWN, branching=branching, wrenches=wrenches)


@cache
def velocity_projection_plan(*, branching: bool) -> Plan:
    """The change of velocities that closes what slips, with the least kinetic energy."""
    first = (POSE, VELOCITY, BETWEEN, ACROSS, RATES, SLIP, AGAINST, NO_FORCE)
    return message_plan("velocities of separate links, projected", first, (), _OWN, branching=branching, falling=False)


@cache
def position_projection_plan(*, branching: bool) -> Plan:
    """The displacements that close the gaps, to second order."""
    first = (POSE, BETWEEN, HINGE_POSE, GAP, GAP_AT_BODY, AGAINST, NO_FORCE)
    return message_plan("poses of separate links, projected", first, (), _OWN, branching=branching, falling=False)


GAPS_PLAN = Plan(
    "gaps of separate links",
    (*_OWN, Buffer("X", Transform.identity())),
    (base_to_tip(POSE, BETWEEN, HINGE_POSE, GAP),),
)
MEASURED_PLAN = Plan(
    "coordinates of separate links",
    (*_OWN, Buffer("X", Transform.identity()), Buffer("V", Motion.zero()), Buffer("coordinate", ())),
    (base_to_tip(POSE, VELOCITY, BETWEEN, HINGE_POSE, COORDINATES, ACROSS, RATES),),
)


# ---- quantities ------------------------------------------------------------------------------------------------------


def _of_every_link(make: Callable[..., Plan], name: str, of: Subject, given: Names) -> Recipe:
    """Motions of all bodies by messages."""
    require_free_flyer(of.model, "messages between links")
    sprung = [joint.name for joint in of.model.joints if joint.stiffness and name == "AL"]
    if sprung:
        raise NoSweepError(
            f"joint '{sprung[0]}' of robot '{of.model.name}' has a spring, and links apart have no coordinate that "
            "stretches it. Use robot.simulate, or give the spring's torque as tau"
        )
    plan = make(branching=branches(of.model), **({"wrenches": True} if given else {}))
    return Recipe(plan, partial(_motions, name), (of.model.nbodies, 6), pivots=_none)


def _motions(name: str, values: Values) -> Iterator[Scalar]:
    return motion_entries(values[name])


def _none(result: Array, cheaper: bool) -> Array:
    """There is no q at which a hinge could be named; a run says where its motion is not finite."""
    return result[..., :0]


def _gaps(of: Subject, given: Names) -> Recipe:
    return Recipe(GAPS_PLAN, partial(_motions, "e"), (of.model.nbodies, 6))


def _measured(of: Subject, given: Names) -> Recipe:
    return Recipe(MEASURED_PLAN, partial(in_turn, ("coordinate", "rate")), (of.model.nq + of.model.nv,))


_READS = {"axes": POSES[0], "place": POSES[1], "twist": TWIST, "wrenches": "wrench"}
_WORDS = {
    "axes": "per body the x and y axis of its link in world axes",
    "place": "per body the z axis and the origin of its link, in m, world axes",
    "twist": "per body (angular, linear) in rad/s and m/s, link axes at the link origin",
}

# None is exported: poses are no random numbers, which the test program of an export begins with.
_quantity = partial(Quantity, reads=_READS, words=_WORDS, exported=False)

LINK_ACCELERATIONS = _quantity(
    "free.link_accelerations",
    ("axes", "place", "twist", "tau"),
    partial(_of_every_link, accelerations_plan, "AL"),
    "(angular, linear) of every body in rad/s^2 and m/s^2, link axes",
    optional=("wrenches",),
    on_constraints=refusals.ACCELERATIONS,
)
VELOCITY_PROJECTION = _quantity(
    "free.velocity_projection",
    ("axes", "place", "twist"),
    partial(_of_every_link, velocity_projection_plan, "alpha"),
    "changes of the velocity (angular, linear) of every body in rad/s and m/s, link axes",
)
POSITION_PROJECTION = _quantity(
    "free.position_projection",
    ("axes", "place"),
    partial(_of_every_link, position_projection_plan, "alpha"),
    "displacements (rotation, translation) of every body in rad and m, link axes",
)
GAPS = _quantity(
    "free.gaps",
    ("axes", "place"),
    _gaps,
    "(rotation, translation) at every joint in rad and m",
)
MEASURED = _quantity(
    "free.measured",
    ("axes", "place", "twist"),
    _measured,
    "q, then v, in the units of both",
)
