"""Motion and inertia of every body in one set of axes, so that walks inward need no transform on their way.

The axes are those of the world; for a robot on a free base those of the base, so that numbers stay small wherever the
robot flies. Everything here is what it is in link axes, seen from the root: a composite inertia is then a mere sum.
Steps of plans in link axes serve here too (:func:`in_root`), with a step to the parent that changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from recursa.dynamics import mass_matrix
from recursa.dynamics.gathering import inward_entries, joint_matrix, matrices_of_pairs, own_entries
from recursa.dynamics.inverse import base_going_up
from recursa.dynamics.kinematics import ACCELERATION, RELATIVE, VELOCITY
from recursa.model.model import WORLD, Joint, Model
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.screws import ScrewChain
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vectors6 import Force, Motion
from recursa.sweeps import Buffer, Step, Values
from recursa.sweeps.plan import split

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


class RootJoint(NamedTuple):
    """A joint as steps in root axes see it: its motions there, and its rotors."""

    motions: Motions
    armature: tuple[Scalar, ...]

    def columns(self) -> Motions:
        """Columns of ``H*``."""
        return self.motions

    def motion(self, rates: Sequence[Scalar]) -> Motion:
        """``H* v``."""
        return along(self.motions, rates)


def joint_in_root(joint: Joint, columns: Motions) -> tuple[RootJoint, ScrewChain]:
    """A joint, and the step to the parent."""
    return RootJoint(columns, joint.armature), ScrewChain(())


def parent_acceleration(joint: Joint, step: Transform, parent: Motion) -> Motion:
    """Acceleration of the parent; the world's, that is the upward one of the base, comes in world axes."""
    return step.inverse_motion(parent) if free_root(joint) else parent


def less_external_in_root(force: Force, place: Transform, external: Force) -> Force:
    """The part of a force in root axes that the joint has to supply; what acts on the body is in its own axes."""
    return force - place.force(external)


PLACE = Step(placed, ("joint", "O@parent", "X"), ("O",), "O(k) = O(parent) X: from link to root axes")
COLUMNS = Step(columns_in_root, ("joint", "O"), ("S",), "s = O H*")
INERTIA = Step(inertia_in_root, ("O", "inertia"), ("I",), "I = O M O*")
JOINT = Step(joint_in_root, ("joint", "S"), ("H", "1"), "s, A; phi = 1")
PARENT_ACCELERATION = Step(parent_acceleration, ("joint", "X", "alpha@parent"), ("A",), "A = alpha(parent)")


def in_root(step: Step, **names: str) -> Step:
    """A step of a plan in link axes as one in root axes, with other ``names`` for some of its buffers.

    >>> print(in_root(VELOCITY).reads)
    ('H', '1', 'V@parent', 'v')
    """
    own = {"joint": "H", "X": "1", "inertia": "I", **names}

    def new(texts: Iterable[str]) -> tuple[str, ...]:
        parts = (split("A" if text == "alpha@parent" else text) for text in texts)
        return tuple(f"{own.get(buffer, buffer)}{place and '@'}{place}" for buffer, place in parts)

    return replace(step, reads=new(step.reads), writes=new(step.writes))


COMPOSITE = in_root(mass_matrix.COMPOSITE)
EXTERNAL = Step(less_external_in_root, ("f", "O", "E"), ("f",), "f -= O external")

AT_REST = (RELATIVE, PLACE, COLUMNS, JOINT, INERTIA)
MOVING = (*AT_REST, in_root(VELOCITY))
ACCELERATING = (*MOVING, PARENT_ACCELERATION, in_root(ACCELERATION))

BUFFERS = (
    Buffer("X", IDENTITY_TRANSFORM),
    Buffer("O", IDENTITY_TRANSFORM),
    Buffer("S", ()),
    Buffer("H", ()),
    Buffer("1", ScrewChain(())),
    Buffer("I", RigidInertia.zero()),
    Buffer("R", RigidInertia.zero()),
    Buffer("V", Motion.zero()),
    Buffer("A", Motion.zero()),
    Buffer("alpha", Motion.zero(), base_going_up),
    Buffer("E", Force.zero()),
)

# ---- entries ---------------------------------------------------------------------------------------------------------


def symmetric_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """A symmetric nv x nv matrix, row by row, of joints with themselves, and of inner joints with outer ones."""
    pairs = inward_entries(model, values.lists.get("entries", []))
    return joint_matrix(model, [*own_entries(values.lists.get("own", [])), *pairs], symmetric=True)


def two_way_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """An nv x nv matrix, row by row, of joints with themselves, and of every two joints both ways."""
    own, pairs = ([(one,) for one in values.lists.get(name, [])] for name in ("own", "entries"))
    return matrices_of_pairs(model, own, pairs, (False,))
