"""The model as the doctor sees it: what several checks need, worked out once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property

from recursa.dynamics.hinges import Singular, principal, tensors_of_bodies
from recursa.dynamics.lacking import Lacking
from recursa.model.description import JointRecord, LinkRecord, numbers_of
from recursa.model.model import WORLD, WORLD_LINK, Model
from recursa.spatial.transform import IDENTITY_TRANSFORM
from recursa.spatial.vec3 import Vec3

POINT = 1e-12
"""Of mass times size squared: a smaller moment is a point mass's zero with somebody's rounding noise."""


class Patient:
    """The model with what several checks need."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.links: dict[str, LinkRecord] = {link.name: link for link in model.description.links}
        self.joints: tuple[JointRecord, ...] = model.description.joints
        self.body = {link.name: link.body for link in model.links}
        moments = principal([*(link.inertia for link in self.links.values()), *tensors_of_bodies(model)])
        self.moments = dict(zip(self.links, moments, strict=False))
        self.body_moments = moments[len(self.links) :]
        self.finite = all(map(finite_link, self.links.values())) and all(map(_finite_joint, self.joints))
        self.lacking = Lacking.of(model, self.body_moments) if self.finite else Lacking(model, (), massless=False)
        self.sizes = _link_sizes(self.links, self.joints)
        self.scale = max(self.sizes.values(), default=0.0)  # 0 where neither joints nor shapes tell a size

    @property
    def singular(self) -> tuple[Singular, ...]:
        """Joints that have nothing to move, in a robot that has masses."""
        return () if self.lacking.massless else self.lacking.hinges

    def noise(self, mass: float, com: Vec3) -> float:
        """Moments of inertia up to this are zero: those of a point mass, after somebody's rounding."""
        size = max(self.scale, length(com))
        return POINT * mass * size * size

    @cached_property
    def moving(self) -> tuple[LinkRecord, ...]:
        """Links with mass data that the robot moves."""
        return tuple(link for link in self.links.values() if link.inertial and self.body[link.name] != WORLD)

    @cached_property
    def sound(self) -> tuple[LinkRecord, ...]:
        """Those with finite numbers and positive mass."""
        return tuple(link for link in self.moving if link.mass > 0.0 and (self.finite or finite_link(link)))


def floats_the_world(model: Model) -> bool:
    """Whether the free base is a root link called "world", without inertia, whose children all move against it."""
    root = model.links[0].name
    if not model.floating or root != WORLD_LINK:
        return False
    below = [joint for joint in model.description.joints if joint.parent == root]
    empty = all(not link.inertial for link in model.description.links if link.name == root)
    return empty and bool(below) and all(joint.kind != "fixed" for joint in below)


def finite_link(link: LinkRecord) -> bool:
    """Whether all mass data of a link are finite."""
    numbers = (link.mass, *link.com, *link.inertia)
    return math.isfinite(sum(numbers)) or all(map(math.isfinite, numbers))


def _finite_joint(joint: JointRecord) -> bool:
    placement, losses = joint.placement, (*joint.armature, *joint.damping, *numbers_of(joint.friction))
    numbers = (
        *placement.translation,
        *placement.rotation,
        *joint.axis,
        joint.pitch,
        joint.stiffness,
        joint.rest,
        *losses,
    )
    bounds = (*(joint.limits or ()), joint.effort or 0.0, joint.velocity or 0.0)
    if joint.mimic is None and math.isfinite(sum(numbers) + sum(bounds)):
        return True  # most are; a sum says so soonest
    return not any(True for _ in non_finite_data(joint))


def non_finite_data(joint: JointRecord) -> Iterator[str]:
    """Which data of a joint are not finite (limits may be infinite)."""
    groups: dict[str, Sequence[float]] = {
        "origin": (*joint.placement.translation, *joint.placement.rotation),
        "axis": joint.axis,
        "pitch": (joint.pitch,),
        "armature": joint.armature,
        "damping": joint.damping,
        "friction": numbers_of(joint.friction),
        "spring": (joint.stiffness, joint.rest),
        "mimic": () if joint.mimic is None else (joint.mimic.multiplier, joint.mimic.offset),
    }
    yield from (name for name, numbers in groups.items() if not all(math.isfinite(x) for x in numbers))
    bounds = (*(joint.limits or ()), joint.effort or 0.0, joint.velocity or 0.0)
    if any(math.isnan(x) for x in bounds):
        yield "limit"


def _link_sizes(links: dict[str, LinkRecord], joints: tuple[JointRecord, ...]) -> dict[str, float]:
    """How far each link reaches from its origin, as far as joints and simple shapes tell."""
    sizes = dict.fromkeys(links, 0.0)
    for joint in joints:
        reach = length(joint.placement.translation)
        if reach > sizes[joint.parent]:
            sizes[joint.parent] = reach
        if joint.after is not IDENTITY_TRANSFORM:
            sizes[joint.child] = max(sizes[joint.child], length(joint.after.translation))
    for link in links.values():
        for shape in link.geometry:
            if shape.size or shape.pose is not IDENTITY_TRANSFORM:
                sizes[link.name] = max(sizes[link.name], length(shape.pose.translation) + (shape.reach or 0.0))
    return {name: size if math.isfinite(size) else 0.0 for name, size in sizes.items()}


def length(vector: Sequence[float]) -> float:
    """Length of a vector of floats."""
    return math.hypot(*vector)
