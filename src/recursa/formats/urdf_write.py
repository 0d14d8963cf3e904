"""URDF: from the records of a description to XML text."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator

from recursa.errors import ModelError, ModelWarning, shortened
from recursa.formats.urdf import LARGEST, URDF_TYPES
from recursa.formats.urdf_values import SIZE_ATTRIBUTES
from recursa.formats.xml import HEAD, element, empty_tag, numbers
from recursa.model.assemble import STANDARD_GRAVITY
from recursa.model.constraints import called
from recursa.model.description import LIMITED, Description, Geometry, JointRecord, JointType, LinkRecord
from recursa.model.geometry import NO_SCALE
from recursa.model.inputs import claimed
from recursa.model.joints import has_axis
from recursa.model.model import Model
from recursa.model.model_variations import with_free_base
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
    :mod:`recursa.formats.urdf_write` says which of them other programs refuse or ignore. Shapes that a URDF has
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


# ---- -----------------------------------------------------------------------------------------------------------------
# What URDF cannot hold: the parts of a robot that make other programs refuse the file, and those that they ignore.


_OUR_TYPES: tuple[JointType, ...] = ("spherical", "translation", "helical")
"""Joint types that only Recursa reads: other programs refuse a file that has one."""


def require_standard(description: Description) -> None:
    """Refuse what other programs cannot read at all, with the joint and the alternatives."""
    for joint in description.joints:
        reason = _unreadable(joint)
        if reason:
            raise ModelError(
                f"joint '{joint.name}' {reason}, which URDF does not have: other programs refuse the whole file. "
                "Write it for Recursa alone with robot.to_urdf(extensions=True), keep everything with "
                "robot.save('robot.json'), or write robot.to_mjcf()"
            )


def _unreadable(joint: JointRecord) -> str:
    if joint.kind in _OUR_TYPES:
        return f"is {joint.kind}"
    friction = [one[0] if isinstance(one, tuple) else one for one in joint.friction]
    for name, values in (("damping", joint.damping), ("friction", friction)):
        if len(set(values)) > 1:
            return f"has a different {name} along each of its axes"
    return ""


def warn_of_losses(model: Model, description: Description, *, stacklevel: int) -> None:
    """Give one warning that lists what the robot has and readers of its URDF will not find there."""
    losses = list(_losses(model, description))
    if losses:
        warnings.warn(
            f"the URDF of robot '{model.name}' does not hold all of it. Readers will miss {'; '.join(losses)}. "
            "robot.save('robot.json') keeps everything",
            ModelWarning,
            stacklevel=stacklevel + 1,
        )


def _losses(model: Model, description: Description) -> Iterator[str]:
    if tuple(model.gravity) != STANDARD_GRAVITY:
        vector = ", ".join(f"{x:g}" for x in model.gravity)
        yield f"gravity ({vector}), which other programs take as (0, 0, -9.81); pass gravity=({vector}) to rc.load"
    beside = [called(one) for one in description.constraints]
    beside += [f"closure '{one.name}'" for one in description.closures]
    beside += [f"relation '{one.name}'" for one in description.relations]
    if beside:
        yield f"constraints: {shortened(beside)}"
    for records, what in ((description.actuators, "motors"), (description.states, "named states")):
        if records:
            yield f"{what}: {shortened([repr(one.name) for one in records])}"
    shapes = {
        f"{shape.shape} on link '{link.name}'"
        for link in description.links
        for shape in link.geometry
        if shape.shape != "mesh" and shape.shape not in SIZE_ATTRIBUTES
    }
    if shapes:
        yield f"shapes: {shortened(sorted(shapes))}"
    for what, has in _IGNORED.items():
        names = [repr(joint.name) for joint in description.joints if has(joint)]
        if names:
            yield f"{what} of {shortened(names)}, which only Recursa reads"
    still = [repr(joint.name) for joint in description.joints if 0.0 in (joint.effort, joint.velocity)]
    if still:
        yield f"a largest effort or speed of zero of {shortened(still)}, which Recursa itself reads as unknown"


_IGNORED: dict[str, Callable[[JointRecord], bool]] = {
    "armature": lambda joint: any(joint.armature),
    "rotors": lambda joint: joint.rotor is not None,
    "springs": lambda joint: bool(joint.stiffness),
    "friction by direction": lambda joint: any(isinstance(one, tuple) for one in joint.friction),
}
"""Attributes of joints that we add to the format, which other programs pass over."""
