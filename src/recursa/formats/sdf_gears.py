"""Gearboxes of SDF, as relations between the joints on which their wheels turn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from recursa.formats.xml import Element, clipped
from recursa.model.description import JointRecord, Relation
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import Vec3

_PARALLEL = 0.999999  # cosine of the angle between axes that are the same


class Wheel(NamedTuple):
    """A link that a gearbox turns, and the axis, in the model, about which its angle is counted."""

    link: str
    axis: Vec3


class Gear(NamedTuple):
    """A gearbox: ``angle of second = -ratio * angle of first``, both seen from the reference."""

    name: str
    ratio: float
    reference: str
    first: Wheel
    second: Wheel
    element: Element


def relations_of(
    gears: Iterable[Gear], joints: Iterable[JointRecord], poses: Mapping[str, Transform]
) -> tuple[Relation, ...]:
    """The relations between joints; a gearbox whose wheels do not turn on its reference body is noted and left out."""
    turning: dict[frozenset[str], list[JointRecord]] = {}
    for joint in joints:
        if joint.kind in ("revolute", "continuous"):
            turning.setdefault(frozenset((joint.parent, joint.child)), []).append(joint)
    found = []
    for gear in gears:
        first, second = (
            _holder(wheel, turning.get(frozenset((gear.reference, wheel.link)), ()), poses)
            for wheel in (gear.first, gear.second)
        )
        if first is None or second is None:
            reason = f"gearbox '{clipped(gear.name)}' was left out: its wheels do not turn on its reference body."
            gear.element.forgive("gearbox", reason, "Hang both on that body by revolute joints along the axes.")
            continue
        ratio = -gear.ratio * first[1] * second[1]
        found.append(Relation(gear.name, second[0], first[0], (0.0, ratio), line=gear.element.own_line))
    return tuple(found)


def _holder(wheel: Wheel, joints: Iterable[JointRecord], poses: Mapping[str, Transform]) -> tuple[str, float] | None:
    """The joint on which a wheel turns, and 1 if it counts as the gearbox does, -1 if the other way."""
    for joint in joints:
        axis = poses[joint.parent].rotation @ (joint.placement.rotation @ joint.axis)
        size = math.sqrt(axis.norm_squared() * wheel.axis.norm_squared())
        cosine = axis.dot(wheel.axis) / size if size else 0.0
        if abs(cosine) > _PARALLEL:
            return joint.name, math.copysign(1.0, cosine if joint.child == wheel.link else -cosine)
    return None
