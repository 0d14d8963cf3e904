"""Jacobians of all links: columns of every joint in root axes, seen from every body outward of it.

Links that are not at their body's origin take theirs from the body. At the world origin a column is the same for
whatever it moves. For more links than that is worth, loops make columns from velocities, at unit speed of each freedom.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from recursa.dynamics import mass_matrix
from recursa.dynamics.gathering import inward_entries, joint_matrix, matrices_of_pairs, own_entries
from recursa.dynamics.inverse import base_going_up
from recursa.dynamics.kinematics import (
    ACCELERATION,
    POSE,
    RELATIVE,
    VELOCITY,
    frame_function,
    motion_entries,
    velocities_plan,
)
from recursa.dynamics.kinematics import jacobian_entries as link_entries
from recursa.kernels.loop import MAX_FINAL, Looped
from recursa.kernels.staging import Unit
from recursa.model.model import WORLD, Joint, Link, Model
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.inertia import Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import IDENTITY_TRANSFORM, ScrewChain, Transform
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, from_each_inward
from recursa.sweeps.plan import split

# ---- -----------------------------------------------------------------------------------------------------------------
# Motion and inertia of every body in one set of axes, so that walks inward need no transform on their way.
# The axes are those of the world; for a robot on a free base those of the base, so that numbers stay small wherever the
# robot flies. Everything here is what it is in link axes, seen from the root: a composite inertia is then a mere sum.
# Steps of plans in link axes serve here too (:func:`in_root`), with a step to the parent that changes nothing.


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


Change = Callable[[Transform, Motion], Motion]  # of frame, with the pose of the body


def own_columns(change: Change, joint: Joint, pose: Transform) -> Motions:
    """H* of a joint at its own body, changed to a frame."""
    return tuple(change(pose, column) for column in joint.columns())


def seen_columns(change: Change, columns: Motions, place: Transform, pose: Transform) -> Motions:
    """Columns in root axes as a body further out sees them, changed to a frame."""
    return tuple(change(pose, place.inverse_motion(column)) for column in columns)


def jacobians_plan(frame: str) -> Plan:
    """Columns of every joint at its body, and at every body outward."""
    change = frame_function(frame)
    own = Step(partial(own_columns, change), ("joint", "W"), ("own",), f"J(k, k) in frame '{frame}'")
    buffers = (*BUFFERS, Buffer("W", IDENTITY_TRANSFORM), Buffer("own", ()), Buffer("J", ()))
    if frame == "world":
        return Plan("jacobians", buffers, (base_to_tip(RELATIVE, POSE, own),))
    seen = Step(partial(seen_columns, change), ("S@here", "O@start", "W@start"), ("J",), f"J(k, j) in frame '{frame}'")
    return Plan("jacobians", buffers, (base_to_tip(RELATIVE, POSE, PLACE, COLUMNS, own), from_each_inward(seen)))


# ---- results ---------------------------------------------------------------------------------------------------------


def jacobians_entries(model: Model, frame: str, values: Values) -> Iterator[Scalar]:
    """A 6 x nv matrix for every link, row by row."""
    own, pairs, poses = (values.lists.get(name, []) for name in ("own", "J", "W"))
    at_body: dict[tuple[int, int], Motions] = {(body, body): columns for body, columns in enumerate(own)}
    seen = (own[inner] for _, inner in model.pairs) if frame == "world" else pairs
    at_body |= dict(zip(model.pairs, seen, strict=True))
    for number, link in enumerate(model.links):
        path = model.support(link.body)
        columns: list[Motions] = [()] * model.nbodies
        for body in path:
            columns[body] = _at_link(frame, link, poses, at_body[link.body, body])
        yield from link_entries(model, number, columns)


def _at_link(frame: str, link: Link, poses: Sequence[Transform], columns: Motions) -> Motions:
    """Columns at a body's origin, at the link's."""
    if not _moves(frame, link):
        return columns
    if frame == "body":
        return tuple(link.offset.inverse_motion(column) for column in columns)
    lever = poses[link.body].rotation @ link.offset.translation
    return tuple(Motion(c.angular, c.linear + c.angular.cross(lever)) for c in columns)


def _moves(frame: str, link: Link) -> bool:
    """Whether a link's columns are others than its body's."""
    return frame != "world" and link.offset != IDENTITY_TRANSFORM


# ---- quantity --------------------------------------------------------------------------------------------------------


def _jacobians(of: Subject, given: Names, *, frame: str = "body") -> Recipe:
    model, plan = of.model, jacobians_plan(frame)
    gather, shape = partial(jacobians_entries, model, frame), (len(model.links), 6, model.nv)
    walks = Looped(plan, gather)
    if _numbers_beside(model, frame) > MAX_FINAL:
        walks = Looped(velocities_plan(frame), lambda values: motion_entries(values["VF"]), Unit("v", model.nv))
    return Recipe(plan, gather, shape, looped=walks)


def _numbers_beside(model: Model, frame: str) -> int:
    """Numbers that are not simply those of bodies: of links elsewhere, and of tied joints."""
    return sum(
        6 * model.joints[body].kind.nv
        for link in model.links
        for body in model.support(link.body)
        if _moves(frame, link) or model.joints[body].tie is not None
    )


JACOBIANS = Quantity(
    "jacobians", ("q",), _jacobians, "per link, times v: (angular, linear) in rad/s and m/s; columns as in v, {frame}"
)
