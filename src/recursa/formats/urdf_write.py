"""URDF: from the records of a description to XML text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from recursa.errors import ModelError
from recursa.formats.urdf import LARGEST, URDF_TYPES
from recursa.formats.urdf_shapes import SIZE_ATTRIBUTES
from recursa.model.description import LIMITED, Description, Geometry, JointRecord, JointType, LinkRecord
from recursa.model.geometry import NO_SCALE
from recursa.model.inputs import unused
from recursa.model.joints import has_axis
from recursa.spatial.rotation import IDENTITY
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import X_AXIS, ZERO

_TYPE_OF_KIND: dict[JointType, str] = {kind: name for name, kind in URDF_TYPES.items()}
_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
)


def write_urdf(description: Description) -> str:
    """The description as URDF text, which :func:`~recursa.formats.urdf.read_urdf` reads back to the same numbers.

    Rotations come back to 1e-15, all else exactly. Joint types, attributes and multiple values that are Recursa's
    additions to the format are written as ``read_urdf`` understands them. Shapes that a URDF has no word for
    (ellipsoids, planes) are left out, as are those without a size or a file. Named frames become links without
    inertia. A revolute joint without limits is written as ``continuous``, which is the same thing; an infinite limit as
    the largest float, which reads back as infinite. A link frame at the far end of its joint
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
        content += _element("link", {"name": link.name}, [*_inertial(link), *_shapes(link)])
    for joint in description.joints:
        if joint.after == IDENTITY_TRANSFORM:
            content += _joint(joint, joint.child)
            continue
        middle = unused(f"{joint.child}_joint_frame", taken_links)
        weld = JointRecord(unused(f"{joint.name}_weld", taken_joints), "fixed", middle, joint.child, joint.after)
        taken_links.add(middle)
        taken_joints.add(weld.name)
        content += [*_element("link", {"name": middle}, []), *_joint(joint, middle), *_joint(weld, weld.child)]
    robot = _element("robot", {"name": description.name}, content)
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', *robot, ""])


def _inertial(link: LinkRecord) -> list[str]:
    if not (link.inertial or link.mass != 0.0 or any(link.inertia)):
        return []
    inertia = {"i" + entry: _numbers(value) for entry, value in link.inertia._asdict().items()}
    content = [
        *_origin(Transform(IDENTITY, link.com)),
        _tag("mass", {"value": _numbers(link.mass)}),
        _tag("inertia", inertia),
    ]
    return _element("inertial", {}, content)


def _shapes(link: LinkRecord) -> Iterator[str]:
    for shape in link.geometry:
        if shape.mesh if shape.shape == "mesh" else shape.size and shape.shape in SIZE_ATTRIBUTES:
            holder = _element("geometry", {}, [_tag(shape.shape, _sizes(shape))])
            content = [*_origin(shape.pose), *holder, *_material(shape)]
            yield from _element(shape.role, {"name": shape.name} if shape.name else {}, content)


def _sizes(shape: Geometry) -> dict[str, str]:
    if shape.shape == "mesh":
        scale = {"scale": _numbers(*shape.scale)} if shape.scale != NO_SCALE else {}
        return {"filename": shape.mesh, **scale}
    if shape.shape == "box":
        return {"size": _numbers(*shape.size)}
    return {name: _numbers(x) for name, x in zip(SIZE_ATTRIBUTES[shape.shape], shape.size, strict=True)}


def _material(shape: Geometry) -> list[str]:
    """The material of a shape; described wherever it is used, which readers take for the same."""
    if shape.material is None:
        return []
    color = [_tag("color", {"rgba": _numbers(*shape.material.rgba)})] if shape.material.rgba else []
    image = [_tag("texture", {"filename": shape.material.texture})] if shape.material.texture else []
    return _element("material", {"name": shape.material.name}, [*color, *image])


def _joint(joint: JointRecord, child: str) -> list[str]:
    kind: JointType = "continuous" if joint.kind == "revolute" and joint.limits is None else joint.kind
    content = [
        *_origin(joint.placement),
        _tag("parent", {"link": joint.parent}),
        _tag("child", {"link": child}),
        *_axis(joint),
        *_limit(joint, kind),
        *_dynamics(joint),
        *_mimic(joint),
    ]
    return _element("joint", {"name": joint.name, "type": _TYPE_OF_KIND[kind]}, content)


def _axis(joint: JointRecord) -> list[str]:
    attributes = {"xyz": _numbers(*joint.axis)}
    if joint.kind == "helical":
        attributes["pitch"] = _numbers(joint.pitch)
    return [_tag("axis", attributes)] if has_axis(joint.kind) or joint.axis != X_AXIS else []


def _limit(joint: JointRecord, kind: JointType) -> list[str]:
    """All four attributes, as other readers insist: 0 for an unknown strength, the largest numbers for no limit."""
    strength = {"effort": _bound(joint.effort or 0.0), "velocity": _bound(joint.velocity or 0.0)}
    if kind in LIMITED:
        lower, upper = joint.limits or (-math.inf, math.inf)
        return [_tag("limit", {"lower": _bound(lower), "upper": _bound(upper)} | strength)]
    return [_tag("limit", strength)] if kind == "continuous" and (joint.effort or joint.velocity) else []


def _bound(value: float) -> str:
    return _numbers(math.copysign(LARGEST, value) if math.isinf(value) else value)


def _dynamics(joint: JointRecord) -> list[str]:
    forward, backward = (tuple(x[k] if isinstance(x, tuple) else x for x in joint.friction) for k in (0, 1))
    losses = {"damping": joint.damping, "friction": forward, "friction_negative": backward, "armature": joint.armature}
    attributes = {
        name: _numbers(*(values if len(set(values)) > 1 else values[:1]))
        for name, values in losses.items()
        if (backward != forward if name == "friction_negative" else any(values))
    }
    return [_tag("dynamics", attributes)] if attributes else []


def _mimic(joint: JointRecord) -> list[str]:
    tie = joint.mimic
    if tie is None:
        return []
    return [_tag("mimic", {"joint": tie.joint, "multiplier": _numbers(tie.multiplier), "offset": _numbers(tie.offset)})]


def _origin(placement: Transform) -> list[str]:
    attributes = {}
    if placement.translation != ZERO:
        attributes["xyz"] = _numbers(*placement.translation)
    if placement.rotation != IDENTITY:
        attributes["rpy"] = _numbers(*placement.rotation.constant_rpy())
    return [_tag("origin", attributes)] if attributes else []


# ---- text --------------------------------------------------------------------------------------------------------


def _element(tag: str, attributes: dict[str, str], content: Iterable[str]) -> list[str]:
    """The lines of an element, from the lines of its content."""
    words = " ".join([tag, *(f'{name}="{_escaped(value)}"' for name, value in attributes.items())])
    inner = [f"  {line}" for line in content]
    return [f"<{words}>", *inner, f"</{tag}>"] if inner else [f"<{words}/>"]


def _tag(tag: str, attributes: dict[str, str]) -> str:
    """An element without content."""
    return _element(tag, attributes, ())[0]


def _numbers(*values: float) -> str:
    return " ".join(repr(float(value)) for value in values)


def _escaped(text: str) -> str:
    for character in text:
        if not _xml_can_hold(ord(character)):
            raise ModelError(
                f"the name {text!r} contains {character!r}, which XML cannot hold; rename the link or joint"
            )
    return text.translate(_ESCAPES)


def _xml_can_hold(code: int) -> bool:
    """Whether a character may stand in an XML 1.0 text at all."""
    return 0x20 <= code <= 0xD7FF or code in (0x9, 0xA, 0xD) or 0xE000 <= code <= 0xFFFD or code >= 0x10000
