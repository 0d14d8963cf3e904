"""URDF: from the records of a description to XML text."""

from __future__ import annotations

import math
from collections.abc import Iterator

from recursa.formats.urdf import LARGEST, URDF_TYPES
from recursa.formats.urdf_shapes import SIZE_ATTRIBUTES
from recursa.formats.xml_text import HEAD, element, empty_tag, numbers
from recursa.model.description import LIMITED, Description, Geometry, JointRecord, JointType, LinkRecord
from recursa.model.geometry import NO_SCALE
from recursa.model.inputs import claimed
from recursa.model.joints import has_axis
from recursa.model.model import Model
from recursa.model.variations import with_free_base
from recursa.spatial.rotation import IDENTITY
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import X_AXIS, ZERO

_TYPE_OF_KIND: dict[JointType, str] = {kind: name for name, kind in URDF_TYPES.items()}


def urdf_of(model: Model) -> str:
    """The model as URDF text for Recursa: with every extension, and without a word about what is missing there."""
    return write_urdf(with_free_base(model))


def write_urdf(description: Description) -> str:
    """The description as URDF text, which :func:`~recursa.formats.urdf.read_urdf` reads back to the same numbers.

    Rotations come back to 1e-15, all else exactly. Joint types, attributes and multiple values that are Recursa's
    additions to the format are written as ``read_urdf`` understands them;
    :mod:`recursa.formats.urdf_conformance` says which of them other programs refuse or ignore. Shapes that a URDF has
    no word for (ellipsoids, planes) are left out, as are those without a size or a file. Named frames become links
    without inertia. A revolute joint without limits is written as ``continuous``, which is the same thing; a limit that
    is infinite or unknown as the largest float, which reads back as no limit. A link frame at the far end of its joint
    (standard Denavit-Hartenberg) becomes an extra massless link at the joint and a fixed joint from there.

    >>> from recursa.formats.urdf import read_urdf
    >>> print(write_urdf(read_urdf('<robot name="one"><link name="base"/></robot>')), end="")
    <?xml version="1.0" encoding="utf-8"?>
    <robot name="one">
      <link name="base"/>
    </robot>
    """
    taken_links = {link.name for link in description.links}
    taken_joints = {joint.name for joint in description.joints}
    content: list[str] = []
    for link in description.links:
        content += element("link", {"name": link.name}, [*_inertial(link), *_shapes(link)])
    for joint in description.joints:
        if joint.after == IDENTITY_TRANSFORM:
            content += _joint(joint, joint.child)
            continue
        middle = claimed(f"{joint.child}_joint_frame", taken_links)
        weld = JointRecord(claimed(f"{joint.name}_weld", taken_joints), "fixed", middle, joint.child, joint.after)
        content += [*element("link", {"name": middle}, []), *_joint(joint, middle), *_joint(weld, weld.child)]
    robot = element("robot", {"name": description.name} | _version(description), content)
    return "\n".join([HEAD, *robot, ""])


def _version(description: Description) -> dict[str, str]:
    """The version of the format, where the robot has what only newer ones have; others are read by all programs."""
    newer = any(joint.acceleration or joint.jerk for joint in description.joints)
    newer = newer or any(shape.shape == "capsule" for link in description.links for shape in link.geometry)
    return {"version": "1.2"} if newer else {}


def _inertial(link: LinkRecord) -> list[str]:
    if not (link.inertial or link.mass != 0.0 or any(link.inertia)):
        return []
    inertia = {"i" + entry: numbers(value) for entry, value in link.inertia._asdict().items()}
    content = [
        *_origin(Transform(IDENTITY, link.com)),
        empty_tag("mass", {"value": numbers(link.mass)}),
        empty_tag("inertia", inertia),
    ]
    return element("inertial", {}, content)


def _shapes(link: LinkRecord) -> Iterator[str]:
    for shape in link.geometry:
        if shape.mesh if shape.shape == "mesh" else shape.size and shape.shape in SIZE_ATTRIBUTES:
            holder = element("geometry", {}, [empty_tag(shape.shape, _sizes(shape))])
            content = [*_origin(shape.pose), *holder, *_material(shape)]
            yield from element(shape.role, {"name": shape.name} if shape.name else {}, content)


def _sizes(shape: Geometry) -> dict[str, str]:
    if shape.shape == "mesh":
        scale = {"scale": numbers(*shape.scale)} if shape.scale != NO_SCALE else {}
        return {"filename": shape.mesh, **scale}
    if shape.shape == "box":
        return {"size": numbers(*shape.size)}
    return {name: numbers(x) for name, x in zip(SIZE_ATTRIBUTES[shape.shape], shape.size, strict=True)}


def _material(shape: Geometry) -> list[str]:
    """The material of a shape; described wherever it is used, which readers take for the same."""
    if shape.material is None:
        return []
    color = [empty_tag("color", {"rgba": numbers(*shape.material.rgba)})] if shape.material.rgba else []
    image = [empty_tag("texture", {"filename": shape.material.texture})] if shape.material.texture else []
    return element("material", {"name": shape.material.name}, [*color, *image])


def _joint(joint: JointRecord, child: str) -> list[str]:
    kind: JointType = "continuous" if joint.kind == "revolute" and joint.limits is None else joint.kind
    content = [
        *_origin(joint.placement),
        empty_tag("parent", {"link": joint.parent}),
        empty_tag("child", {"link": child}),
        *_axis(joint),
        *_limit(joint, kind),
        *_dynamics(joint),
        *_mimic(joint),
    ]
    return element("joint", {"name": joint.name, "type": _TYPE_OF_KIND[kind]}, content)


def _axis(joint: JointRecord) -> list[str]:
    attributes = {"xyz": numbers(*joint.axis)}
    if joint.kind == "helical":
        attributes["pitch"] = numbers(joint.pitch)
    return [empty_tag("axis", attributes)] if has_axis(joint.kind) or joint.axis != X_AXIS else []


def _limit(joint: JointRecord, kind: JointType) -> list[str]:
    """All four attributes, as other readers insist; the largest float where there is no limit.

    Other readers take a zero literally: as a joint without strength that never moves. Ours takes it as unknown.
    """
    strength = {"effort": _bound(joint.effort), "velocity": _bound(joint.velocity)}
    smooth = {"acceleration": joint.acceleration, "jerk": joint.jerk}
    strength |= {name: _bound(value) for name, value in smooth.items() if value is not None}
    if kind in LIMITED:
        lower, upper = joint.limits or (-math.inf, math.inf)
        return [empty_tag("limit", {"lower": _bound(lower), "upper": _bound(upper)} | strength)]
    known = (joint.effort, joint.velocity, joint.acceleration, joint.jerk) != (None,) * 4
    return [empty_tag("limit", strength)] if kind == "continuous" and known else []


def _bound(value: float | None) -> str:
    if value is None:
        return numbers(LARGEST)
    return numbers(math.copysign(LARGEST, value) if math.isinf(value) else value)


def _dynamics(joint: JointRecord) -> list[str]:
    forward, backward = (tuple(x[k] if isinstance(x, tuple) else x for x in joint.friction) for k in (0, 1))
    losses = {"damping": joint.damping, "friction": forward, "friction_negative": backward, "armature": joint.armature}
    attributes = {
        name: numbers(*(values if len(set(values)) > 1 else values[:1]))
        for name, values in losses.items()
        if (backward != forward if name == "friction_negative" else any(values))
    } | _transmission(joint)
    if attributes and not attributes.keys() & {"damping", "friction"}:
        attributes = {"damping": numbers(0.0)} | attributes  # urdfdom refuses a robot that has neither of them here
    return [empty_tag("dynamics", attributes)] if attributes else []


def _transmission(joint: JointRecord) -> dict[str, str]:
    """Spring and rotor, our additions to the format."""
    found = {"stiffness": numbers(joint.stiffness), "rest": numbers(joint.rest)} if joint.stiffness else {}
    rotor = joint.rotor
    if rotor is None:
        return found
    found |= {"rotor_inertia": numbers(rotor.inertia), "rotor_ratio": numbers(rotor.ratio)}
    if rotor.mount != "parent":
        found["rotor_mount"] = rotor.mount
    for name in ("included", "coupled"):
        if not getattr(rotor, name):
            found[f"rotor_{name}"] = "false"
    return found


def _mimic(joint: JointRecord) -> list[str]:
    tie = joint.mimic
    if tie is None:
        return []
    return [
        empty_tag(
            "mimic",
            {"joint": tie.joint, "multiplier": numbers(tie.multiplier), "offset": numbers(tie.offset)}
            | ({"rigid": "true"} if tie.rigid else {}),
        )
    ]


def _origin(placement: Transform) -> list[str]:
    attributes = {}
    if placement.translation != ZERO:
        attributes["xyz"] = numbers(*placement.translation)
    if placement.rotation != IDENTITY:
        attributes["rpy"] = numbers(*placement.rotation.constant_rpy())
    return [empty_tag("origin", attributes)] if attributes else []
