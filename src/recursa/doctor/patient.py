"""The model as the doctor sees it: what several checks need, worked out once."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property

from recursa.dynamics.hinges import ROUNDING, Moments, Singular, principal, tensors_of_bodies
from recursa.dynamics.requirements import Lacking
from recursa.model.description import JointRecord, LinkRecord, numbers_of
from recursa.model.model import WORLD, WORLD_LINK, Model
from recursa.spatial.constants import finite, least_moment, not_negative
from recursa.spatial.transform import IDENTITY_TRANSFORM
from recursa.spatial.vec3 import X_AXIS, Y_AXIS, Z_AXIS, ZERO, Vec3

FAR = 3.0
"""A centre of mass beyond this many link sizes is doubtful."""

WIDE, NARROW = 3.0, 1e-2
"""So is a radius of gyration, or one below this fraction of the link's size."""

_USUAL = frozenset({X_AXIS, Y_AXIS, Z_AXIS})

UNIT_AXIS = 1e-6
"""An axis differs from unit length by no more than that, or it is said."""

POINT = 1e-12
"""Of mass times size squared: a smaller moment is a point mass's zero with somebody's rounding noise."""


class Patient:
    """The model with what several checks need."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.links: dict[str, LinkRecord] = {link.name: link for link in model.description.links}
        self.joints: tuple[JointRecord, ...] = model.description.joints
        self.body = {link.name: link.body for link in model.links}
        self.sizes = _link_sizes(self.links, self.joints)
        self.scale = max(self.sizes.values(), default=0.0)  # 0 where neither joints nor shapes tell a size
        self.doubtful = tuple(joint for joint in self.joints if not _plain(joint))
        self._weigh()
        self.finite = self._finite_links and all(not any(non_finite_data(joint)) for joint in self.doubtful)

    def _weigh(self) -> None:
        """Look at all masses.

        - ``odd``: links that want a closer look: not those of which a few products tell that nothing can be wrong with
          them, see :func:`~recursa.spatial.constants.least_moment`, nor those that are mere frames.
        - ``sound``: of these those with positive mass that move.
        - ``solid``: whether every body certainly has mass and moments: it has such a link, and no other with less than
          none, since positive masses add up to a positive mass.
        """
        odd, sound, least, solid, known = [], [], [0.0] * self.model.nbodies, True, True
        square = self.scale * self.scale
        reach, largest = (
            FAR * FAR * square,
            2.0 * WIDE * WIDE * square,
        )  # by the trace, at most twice its largest moment
        for (name, link), size in zip(self.links.items(), self.sizes.values(), strict=True):
            if not link.inertial:
                if link.geometry or link.mass or link.estimated:
                    odd.append(link)
                continue
            body = self.body[name]
            smallest = 3.0 * NARROW * NARROW * size * size
            moment = least_moment(link.mass, link.com, link.inertia, reach, smallest, largest)
            if link.estimated or not moment > 0.0:
                odd.append(link)
            if moment > 0.0:
                if body != WORLD and moment > least[body]:
                    least[body] = moment
                continue
            numbers = finite_link(link)
            known = known and numbers
            if body != WORLD and numbers and link.mass > 0.0:
                sound.append(link)
            if body != WORLD and (link.mass != 0.0 or any(link.inertia)):
                solid = False
        self.odd, self.sound, self._finite_links = tuple(odd), tuple(sound), known
        self.solid = solid and all(
            moment > ROUNDING * inertia.moment.trace() and min(joint.armature) >= 0.0 and joint.rotor is None
            for joint, inertia, moment in zip(self.model.joints, self.model.inertias, least, strict=True)
        )

    @property
    def plain(self) -> bool:
        """Whether no check can find fault with the numbers of any link or joint; most robots are soon told."""
        return self.solid and self.finite and not self.odd and not self.doubtful

    @cached_property
    def lacking(self) -> Lacking:
        """What the model lacks, as far as that can be told."""
        if self.solid or not self.finite:
            return Lacking(self.model, (), massless=False)
        return Lacking.of(self.model, self.body_moments)

    @cached_property
    def moments(self) -> dict[str, list[float]]:
        """Principal moments of sound links, about their centres of mass, in rising order."""
        names = [link.name for link in self.sound]
        return dict(zip(names, principal([link.inertia for link in self.sound]), strict=True))

    @cached_property
    def body_moments(self) -> Moments:
        """The same of bodies."""
        return principal(tensors_of_bodies(self.model))

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


def _plain(joint: JointRecord) -> bool:
    """Whether no check can find fault with the numbers of a joint; most are soon told. nan and infinity fail."""
    axis, limits = joint.axis, joint.limits
    return (
        joint.mimic is None
        and (axis in _USUAL or abs(length(axis) - 1.0) <= UNIT_AXIS)
        and finite(joint.placement, joint.pitch, joint.rest, limits)
        and not_negative(joint.armature, joint.damping, joint.friction, joint.effort, joint.velocity, joint.stiffness)
        and not_negative(joint.acceleration, joint.jerk)
        and (limits is None or limits[0] < limits[1])
    )


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
    rates = (joint.velocity or 0.0, joint.acceleration or 0.0, joint.jerk or 0.0)
    bounds = (*(joint.limits or ()), joint.effort or 0.0, *rates)
    if any(math.isnan(x) for x in bounds):
        yield "limit"


def _link_sizes(links: dict[str, LinkRecord], joints: tuple[JointRecord, ...]) -> dict[str, float]:
    """How far each link reaches from its origin, as far as joints and simple shapes tell."""
    sizes = dict.fromkeys(links, 0.0)
    for joint in joints:
        place = joint.placement.translation
        if place is not ZERO and (reach := length(place)) > sizes[joint.parent]:
            sizes[joint.parent] = reach
        if joint.after is not IDENTITY_TRANSFORM:
            sizes[joint.child] = max(sizes[joint.child], length(joint.after.translation))
    for link in links.values():
        for shape in link.geometry:
            if shape.size or shape.pose is not IDENTITY_TRANSFORM:
                sizes[link.name] = max(sizes[link.name], length(shape.pose.translation) + (shape.reach or 0.0))
    if math.isfinite(sum(sizes.values())):
        return sizes
    return {name: size if math.isfinite(size) else 0.0 for name, size in sizes.items()}


def length(vector: Sequence[float]) -> float:
    """Length of a vector of floats."""
    return math.hypot(*vector)
