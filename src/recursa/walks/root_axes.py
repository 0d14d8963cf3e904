"""Motion and inertia of every body in one set of axes, so that walks inward need no transform on their way.

The axes are those of the world; for a robot on a free base those of the base, so that numbers stay small wherever the
robot flies. Everything here is what it is in link axes, seen from the root: a composite inertia is then a mere sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recursa.dynamics.gathering import Block
from recursa.dynamics.inverse import base_going_up
from recursa.dynamics.kinematics import RELATIVE
from recursa.model.model import WORLD, Joint
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Step

Motions = tuple[Motion, ...]  # one per freedom of a joint
Forces = tuple[Force, ...]


def free_root(joint: Joint) -> bool:
    """Whether the axes are those of this body, and not of the world."""
    return joint.parent == WORLD and joint.kind.nv == 6


def placed(joint: Joint, parent: Transform, step: Transform) -> Transform:
    """Pose of a body in root axes."""
    return IDENTITY_TRANSFORM if free_root(joint) else parent @ step.general()


def columns_in_root(joint: Joint, place: Transform) -> Motions:
    """H* of a joint."""
    return tuple(place.motion(column) for column in joint.columns())


def inertia_in_root(place: Transform, inertia: RigidInertia) -> RigidInertia:
    """Inertia of a body."""
    return place.inertia(inertia)


def along(columns: Motions, rates: Sequence[Scalar]) -> Motion:
    """``H* v``."""
    total = Motion.zero()
    for column, rate in zip(columns, rates, strict=True):
        total = total + column * rate
    return total


def velocity_in_root(columns: Motions, parent: Motion, v: Sequence[Scalar]) -> Motion:
    """Velocity of a body."""
    return parent + along(columns, v)


def parent_acceleration(joint: Joint, step: Transform, parent: Motion) -> Motion:
    """Acceleration of the parent; the world's, that is the upward one of the base, comes in world axes."""
    return step.inverse_motion(parent) if free_root(joint) else parent


def acceleration_in_root(
    columns: Motions, parent: Motion, velocity: Motion, v: Sequence[Scalar], a: Sequence[Scalar]
) -> Motion:
    """Acceleration of a body."""
    return parent + (along(columns, a) + velocity.cross_motion(along(columns, v)))


def outward_sum(children: RigidInertia, own: RigidInertia) -> tuple[RigidInertia, RigidInertia]:
    """Everything outward together, and the same for the parent."""
    total = children + own
    return total, total


def less_external_in_root(force: Force, place: Transform, external: Force) -> Force:
    """The part of a force in root axes that the joint has to supply; what acts on the body is in its own axes."""
    return force - place.force(external)


PLACE = Step(placed, ("joint", "O@parent", "X"), ("O",), "O(k) = O(parent) X: from link to root axes")
COLUMNS = Step(columns_in_root, ("joint", "O"), ("S",), "s = O H*")
INERTIA = Step(inertia_in_root, ("O", "inertia"), ("I",), "I = O M O*")
VELOCITY = Step(velocity_in_root, ("S", "V@parent", "v"), ("V",), "V(k) = V(parent) + s v")
PARENT_ACCELERATION = Step(parent_acceleration, ("joint", "X", "alpha@parent"), ("A",), "A = alpha(parent)")
ACCELERATION = Step(
    acceleration_in_root, ("S", "A", "V", "v", "a"), ("alpha",), "alpha(k) = alpha(parent) + s a + crm(V) s v"
)
COMPOSITE = Step(outward_sum, ("R", "I"), ("R", "R@parent"), "R = sum of I outward")

EXTERNAL = Step(less_external_in_root, ("f", "O", "E"), ("f",), "f -= O external")

AT_REST = (RELATIVE, PLACE, COLUMNS, INERTIA)
MOVING = (*AT_REST, VELOCITY)
ACCELERATING = (*MOVING, PARENT_ACCELERATION, ACCELERATION)

BUFFERS = (
    Buffer("X", IDENTITY_TRANSFORM),
    Buffer("O", IDENTITY_TRANSFORM),
    Buffer("S", ()),
    Buffer("I", RigidInertia.zero()),
    Buffer("R", RigidInertia.zero()),
    Buffer("V", Motion.zero()),
    Buffer("A", Motion.zero()),
    Buffer("alpha", Motion.zero(), base_going_up),
    Buffer("E", Force.zero()),
)

# ---- entries ---------------------------------------------------------------------------------------------------------


def dots(motions: Iterable[Motion], forces: Sequence[Force]) -> Block:
    """Every motion along every force."""
    return tuple(tuple(motion.dot(force) for force in forces) for motion in motions)
