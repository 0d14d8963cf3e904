"""Descriptions made from others: one more frame, a payload, the free base written out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from recursa.errors import ModelError
from recursa.model.description import Description, JointRecord, LinkRecord
from recursa.model.inputs import finite, floats, name_of, placement, symmetric, unused
from recursa.model.model import Model
from recursa.spatial.vec3 import SymMat3, Vec3


def frame_records(
    name: str, parent: str, xyz: Sequence[float], rpy: Sequence[float], taken: Collection[str]
) -> tuple[LinkRecord, JointRecord]:
    """A named frame as a massless link on a fixed joint, which gets a name that is not ``taken``."""
    name = name_of(name, "the name of a frame")
    placed = placement(xyz, rpy, f"frame '{name}'")
    return LinkRecord(name, frame=True), JointRecord(unused(f"{name}_frame", taken), "fixed", parent, name, placed)


def with_frame(description: Description, name: str, parent: str, xyz: Any, rpy: Any) -> Description:
    """The description with one more named frame."""
    link, joint = frame_records(name, parent, xyz, rpy, {joint.name for joint in description.joints})
    return replace(description, links=(*description.links, link), joints=(*description.joints, joint))


def with_payload(description: Description, link: str, mass: Any, com: Any, inertia: Any) -> Description:
    """The description with a payload welded to a link: masses add, the centre of mass and inertia are combined."""
    where = f"payload on '{link}'"
    weight = finite(mass, f"{where}: mass")
    if weight < 0.0:
        raise ModelError(f"{where}: mass must not be negative, not {mass!r}")
    name = unused(f"{link}_payload", {other.name for other in description.links})
    extra = LinkRecord(
        name,
        mass=weight,
        com=Vec3(*(finite(x, f"{where}: com") for x in floats(com, 3, f"{where}: com"))),
        inertia=SymMat3(*(finite(x, f"{where}: inertia") for x in symmetric(inertia, f"{where}: inertia"))),
        inertial=True,
    )
    weld = JointRecord(unused(f"{name}_weld", {joint.name for joint in description.joints}), "fixed", link, name)
    return replace(description, links=(*description.links, extra), joints=(*description.joints, weld))


def with_free_base(model: Model) -> Description:
    """The model's description with its free base, if it has one by option, as an ordinary joint."""
    description = model.description
    if not model.floating:
        return description
    world = unused("world", {link.name for link in description.links})
    root = model.joints[0]
    joint = JointRecord(root.name, "free", parent=world, child=root.child)
    return replace(description, links=(LinkRecord(world), *description.links), joints=(joint, *description.joints))
