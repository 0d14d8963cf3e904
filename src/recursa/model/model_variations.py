"""Descriptions made from others: one more frame, a payload, other inertias or joints, the free base written out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from recursa.errors import ModelError
from recursa.model.branches import without
from recursa.model.description import DRIVEN, LIMITED, Description, JointRecord, LinkRecord, numbers_of
from recursa.model.inputs import (
    finite,
    floats,
    frictions,
    limits_of,
    name_of,
    per_freedom,
    placement,
    symmetric,
    unused,
)
from recursa.model.joint_inputs import TRANSMISSION, transmission
from recursa.model.joints import KINDS
from recursa.model.model import WORLD, Model
from recursa.model.transmissions import link_inertias
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.vec3 import SYM_ZERO, ZERO, SymMat3, Vec3


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


def with_inertias(model: Model, inertias: Sequence[RigidInertia]) -> Description:
    """The description with other inertias of the bodies, about the origins of the links that their joints carry.

    These links have all of it but for the shares of rotors, which their joints have: the others of the same body, those
    on fixed joints, are left without mass.
    """
    rest = link_inertias(replace(model, inertias=tuple(inertias)))
    carried = {joint.child: inertia for joint, inertia in zip(model.joints, rest, strict=True)}
    body = {link.name: link.body for link in model.links}
    description = model.description
    links = (
        _with_inertia(link, carried.get(link.name)) if body[link.name] != WORLD else link for link in description.links
    )
    return replace(description, links=tuple(links))


def _with_inertia(link: LinkRecord, inertia: RigidInertia | None) -> LinkRecord:
    if inertia is None:
        return replace(link, mass=0.0, com=ZERO, inertia=SYM_ZERO, about_origin=None, estimated="")  # said, and none
    com = inertia.com() if inertia.mass != 0.0 else ZERO
    about_com = inertia.moment_about_com()
    return replace(
        link,
        mass=inertia.mass,
        com=com,
        inertia=about_com,
        inertial=True,
        frame=False,
        about_origin=inertia,
        estimated="",
    )


def ready_for(description: Description, name: str, changes: Collection[str]) -> Description:
    """The description before a joint gets another rotor or elasticity: what its rotor became goes, a spring stays."""
    spring = f"{name}.spring"
    if "elastic" in changes and any(one.name == spring and one.kind != "fixed" for one in description.joints):
        raise ModelError(
            f"joint '{name}' is elastic, with joint '{spring}' behind it. Change that one, "
            f"robot.with_joint('{spring}', stiffness=..., damping=...), or make it stiff, "
            f"robot.reduced(lock=['{spring}'])"
        )
    if "rotor" not in changes:
        return description
    beside = {one.name for one in description.joints if _drives(name, one)}
    return without(description, beside) if beside else description


def _drives(name: str, joint: JointRecord) -> bool:
    """Whether a joint is that of the rotor of another."""
    tie, rotor = joint.mimic, joint.rotor
    return tie is not None and tie.rigid and tie.joint == name and rotor is not None and rotor.mount == "itself"


def with_joint(record: JointRecord, changes: dict[str, Any]) -> JointRecord:
    """The joint with other properties, by their names; those that its kind cannot have are an error."""
    where = f"joint '{record.name}'"
    kind, nv = record.kind, KINDS[record.kind].nv
    checked: dict[str, Any] = {}
    for name, value in changes.items():
        kinds = {"limits": LIMITED, **dict.fromkeys(("effort", "velocity", *TRANSMISSION), DRIVEN)}.get(name)
        what = f"{where}: {name}"
        if name == "friction":
            checked[name] = frictions(value, nv, what)
            for x in numbers_of(checked[name]):
                finite(x, what)
        elif kinds is None:
            checked[name] = tuple(finite(x, what) for x in per_freedom(value, nv, what))
        elif value is not None and kind not in kinds:
            raise ModelError(f"{where}: a {kind} joint has no {name}; {', '.join(kinds)} joints do")
        elif name in TRANSMISSION:
            checked |= transmission({name: value}, where)
        elif name == "limits":
            checked[name] = limits_of(value, what)
        else:
            checked[name] = None if value is None else floats(value, 1, what)[0]
    return replace(record, **checked)
