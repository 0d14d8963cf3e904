"""URDF: from XML text to the records of a :class:`~recursa.model.description.Description`.

Read as the format says, with four additions: joint types ``spherical`` and ``helical`` (``pitch`` in metres per radian
on ``<axis>``), the attribute ``armature`` on ``<dynamics>``, and damping, friction and armature with one number per
freedom. Numbers that make no sense physically are kept: judging them is the doctor's work. Elements that say nothing
about dynamics are passed over, mesh files are never opened, and of an element that stands twice the first counts.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from typing import get_args

from recursa.errors import ModelError, did_you_mean
from recursa.formats.xml import Element, clipped, parse
from recursa.model.description import DRIVEN, Description, Geometry, JointRecord, JointType, LinkRecord, Mimic
from recursa.model.joints import KINDS
from recursa.model.model import WORLD_LINK
from recursa.spatial.rotation import IDENTITY, Quaternion, Rotation
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import SYM_ZERO, X_AXIS, ZERO, SymMat3, Vec3

URDF_TYPES: dict[str, JointType] = {"floating" if kind == "free" else kind: kind for kind in get_args(JointType)}
LARGEST = sys.float_info.max
"""Stands for infinity in limits: every reader of the format can read this number."""

_OTHER_FORMATS = {
    "sdf": "SDF is not supported; convert it to URDF",
    "mujoco": "this is MJCF (MuJoCo), the format 'mjcf'",
    "mujocoinclude": "this is a part of an MJCF (MuJoCo) model; load the file that includes it as 'mjcf'",
    "collada": "this is a COLLADA mesh; load the URDF that refers to it",
}
_SIZES = {"box": ["size"], "sphere": ["radius"], "cylinder": ["radius", "length"], "capsule": ["radius", "length"]}
_RUN_XACRO = "this is xacro source; run 'xacro file.xacro > file.urdf' first and load the result"


def read_urdf(text: str | bytes, source: str | None = None, *, strict: bool = True) -> Description:
    """The description in a URDF text; ``source`` names the file in errors.

    Anything malformed raises :class:`~recursa.errors.ModelError` with the line. Whether the links and joints form a
    tree is not asked here. What every reader forgives is forgiven and noted: a parent link "world" that is not
    declared, blanks around a number, text before the XML; unless ``strict``, elements that xacro left behind.

    >>> arm = read_urdf('''<robot name="arm">
    ...   <link name="base"/>
    ...   <link name="rod"><inertial><mass value="2"/><origin xyz="0 0 0.5"/></inertial></link>
    ...   <joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint>
    ... </robot>''')
    >>> arm.name, [link.mass for link in arm.links], arm.joints[0].axis
    ('arm', [0.0, 2.0], Vec3(x=0.0, y=1.0, z=0.0))
    """
    root = parse(text, source)
    _check_root(root, strict)
    links = _by_name(root, "link", strict)
    joints = _by_name(root, "joint", strict)
    if not links:
        hint = "is it a xacro file that was never given its macros, or only a fragment?"
        raise root.error(f"the robot has no links; {hint}")
    read = [_joint(name, element) for name, element in joints.items()]
    return Description(
        name=root.attributes.get("name", "") or "robot",
        links=(*_undeclared_world(links, joints, read), *(_link(name, element) for name, element in links.items())),
        joints=tuple(read),
        source=source,
        notes=tuple(root.notes),
    )


def _undeclared_world(
    links: dict[str, Element], joints: dict[str, Element], read: Sequence[JointRecord]
) -> Iterator[LinkRecord]:
    """The link "world" where joints hang on it and nobody declared it."""
    hanging = [joint for joint in read if joint.parent == WORLD_LINK]
    if hanging and WORLD_LINK not in links:
        first = joints[hanging[0].name]
        reason = (
            f"joint '{clipped(hanging[0].name)}' has the parent '{WORLD_LINK}', which is not declared; it was added."
        )
        first.forgive("world", reason, f'Write <link name="{WORLD_LINK}"/>.')
        yield LinkRecord(WORLD_LINK, line=first.line)


def _check_root(root: Element, strict: bool) -> None:
    if root.tag != "robot":
        if root.tag.startswith("xacro:"):
            hint = _RUN_XACRO
        else:
            hint = _OTHER_FORMATS.get(root.tag.lower(), "is this a robot description?")
        raise root.error(f"expected the root element <robot> of a URDF, found <{clipped(root.tag)}>; {hint}")
    _meet_xacro(root, strict or root.child("link") is None)  # a file of macros alone is no robot


def _meet_xacro(element: Element, strict: bool) -> None:
    """Macros that were never expanded: refused, or passed over with a note."""
    for child in element.children:
        if child.tag.startswith("xacro:"):
            if strict:
                hint = "if it says nothing about the robot, strict=False passes over it"
                raise child.error(f"found <{clipped(child.tag)}>; {_RUN_XACRO}; {hint}")
            reason = f"<{clipped(child.tag)}> was passed over: what it stands for is missing in the robot."
            child.forgive("xacro", reason, "Run 'xacro file.xacro > file.urdf' and load the result.")


def _by_name(root: Element, tag: str, strict: bool) -> dict[str, Element]:
    """The children with a tag by their names, which must differ."""
    found: dict[str, Element] = {}
    for element in root.children:
        if element.tag != tag:
            continue
        name = _text(element, "name", f"a {tag}")
        if name in found:
            lines = f"on line {found[name].line} and again on line {element.line}"
            raise element.error(f"two {tag}s are called '{clipped(name)}', {lines}; rename one of them")
        _meet_xacro(element, strict)
        found[name] = element
    return found


# ---- links -------------------------------------------------------------------------------------------------------


def _link(name: str, element: Element) -> LinkRecord:
    owner = f"link '{clipped(name)}'"
    geometry = tuple(
        shape for part in element.children if part.tag in ("visual", "collision") for shape in _geometry(part, owner)
    )
    inertial = element.child("inertial")
    if inertial is None:
        return LinkRecord(name, geometry=geometry, line=element.line)
    placement = _placement(inertial.child("origin"), owner)
    return LinkRecord(
        name,
        mass=_number(inertial.child("mass"), "value", owner, 0.0),
        com=placement.translation,
        inertia=_inertia(inertial.child("inertia"), placement.rotation, owner),
        inertial=True,
        geometry=geometry,
        line=element.line,
    )


def _inertia(element: Element | None, rotation: Rotation, owner: str) -> SymMat3:
    """The tensor about the centre of mass, turned into link axes; entries not given are zero."""
    if element is None:
        return SYM_ZERO
    tensor = SymMat3(*(_number(element, "i" + entry, owner, 0.0) for entry in SymMat3._fields))
    return tensor if rotation == IDENTITY else rotation.symmetric(tensor)


def _geometry(part: Element, owner: str) -> list[Geometry]:
    """The shape of a visual or collision element; a list, because its geometry may be missing."""
    holder = part.child("geometry")
    if holder is None:
        return []
    origin = _vector(part.child("origin"), "xyz", owner, ZERO)
    return [Geometry(shape.tag, origin, _reach(shape, owner)) for shape in holder.children[:1]]


def _reach(shape: Element, owner: str) -> float | None:
    """The distance from a shape's origin to its farthest point; None where that is not told."""
    names = _SIZES.get(shape.tag, ())
    if not names or any(name not in shape.attributes for name in names):
        return None
    if shape.tag == "box":
        return 0.5 * math.hypot(*_vector(shape, "size", owner, ZERO))
    radius, half = _number(shape, "radius", owner, 0.0), 0.5 * _number(shape, "length", owner, 0.0)
    return math.hypot(radius, half) if shape.tag == "cylinder" else radius + half


# ---- joints ------------------------------------------------------------------------------------------------------


def _joint(name: str, element: Element) -> JointRecord:
    owner = f"joint '{clipped(name)}'"
    kind = _kind(element, owner)
    nv = KINDS[kind].nv if kind in KINDS else 0
    axis, dynamics = element.child("axis"), element.child("dynamics")
    limits, effort, velocity = _limits(element.child("limit"), kind, owner)
    armature, damping, friction = (_per_freedom(dynamics, a, nv, owner) for a in ("armature", "damping", "friction"))
    return JointRecord(
        name,
        kind,
        parent=_end(element, "parent", owner),
        child=_end(element, "child", owner),
        placement=_placement(element.child("origin"), owner),
        axis=_vector(axis, "xyz", owner, X_AXIS),
        pitch=_pitch(axis, element, owner) if kind == "helical" else 0.0,
        armature=armature,
        damping=damping,
        friction=friction,
        limits=limits,
        effort=effort,
        velocity=velocity,
        mimic=_mimic(element.child("mimic"), owner),
        line=element.line,
    )


def _kind(element: Element, owner: str) -> JointType:
    name = _text(element, "type", owner)
    kind = URDF_TYPES.get(name.strip())
    if kind is not None and name != name.strip():
        _forgive_blanks(element, "type", owner)
    if kind is None:
        raise element.error(f"{owner}: unknown joint type '{clipped(name)}'. {did_you_mean(clipped(name), URDF_TYPES)}")
    return kind


def _end(element: Element, tag: str, owner: str) -> str:
    """The link at one end of a joint."""
    end = element.child(tag)
    if end is None:
        raise element.error(f'{owner} has no <{tag} link="..."/>; every joint needs a parent and a child link')
    return _text(end, "link", owner)


def _pitch(axis: Element | None, joint: Element, owner: str) -> float:
    if axis is None or "pitch" not in axis.attributes:
        where = axis or joint
        example = '<axis xyz="0 0 1" pitch="0.01"/>'
        raise where.error(f"{owner} is helical and needs its pitch in metres per radian, as in {example}")
    return _number(axis, "pitch", owner, 0.0)


_Limits = tuple[tuple[float, float] | None, float | None, float | None]


def _limits(limit: Element | None, kind: JointType, owner: str) -> _Limits:
    """((lower, upper), effort, velocity); the largest float is infinity, and 0 an unknown strength.

    The format demands effort and velocity, so files write 0 where nobody knows them.
    """
    if limit is None or kind not in DRIVEN:
        return None, None, None
    effort, velocity = _bound(limit, "effort", owner) or None, _bound(limit, "velocity", owner) or None
    if kind == "continuous":
        return None, effort, velocity
    span = _bound(limit, "lower", owner), _bound(limit, "upper", owner)
    return (None if span == (-math.inf, math.inf) else span), effort, velocity


def _bound(limit: Element, attribute: str, owner: str) -> float:
    value = _number(limit, attribute, owner, 0.0)
    return math.copysign(math.inf, value) if abs(value) >= LARGEST else value


def _mimic(element: Element | None, owner: str) -> Mimic | None:
    if element is None:
        return None
    return Mimic(
        _text(element, "joint", owner),
        _number(element, "multiplier", owner, 1.0),
        _number(element, "offset", owner, 0.0),
    )


def _per_freedom(element: Element | None, attribute: str, nv: int, owner: str) -> tuple[float, ...]:
    """One number for all freedoms of a joint, or one for each; zero where nothing is given."""
    if nv == 0 or element is None or attribute not in element.attributes:
        return (0.0,) * nv
    values = _numbers(element, attribute, owner)
    if len(values) == 1:
        return tuple(values) * nv
    if len(values) != nv:
        raise _wrong_count(element, attribute, owner, "1 number" if nv == 1 else f"1 or {nv} numbers", len(values))
    return tuple(values)


# ---- attributes --------------------------------------------------------------------------------------------------


def _placement(origin: Element | None, owner: str) -> Transform:
    """The pose that an origin element gives; the identity if it is missing."""
    if origin is None:
        return IDENTITY_TRANSFORM
    xyz = _vector(origin, "xyz", owner, ZERO)
    if "quat_xyzw" in origin.attributes:
        return Transform(_quaternion(origin, owner), xyz)
    rpy = _vector(origin, "rpy", owner, ZERO)
    if rpy == ZERO:
        return Transform(IDENTITY, xyz)
    # the cosine of infinity is nan as well, but with a warning from NumPy
    return Transform.from_xyz_rpy(xyz, [angle if math.isfinite(angle) else math.nan for angle in rpy])


def _quaternion(origin: Element, owner: str) -> Rotation:
    """The rotation in ``quat_xyzw``, which URDF 1.2 allows in place of ``rpy``."""
    if "rpy" in origin.attributes:
        raise origin.error(f"{owner}: <origin> has both rpy and quat_xyzw; keep one of them")
    values = _numbers(origin, "quat_xyzw", owner)
    if len(values) != 4:
        raise _wrong_count(origin, "quat_xyzw", owner, "4 numbers", len(values))
    quaternion = Quaternion(*values)
    if quaternion.norm_squared() == 0.0:
        raise origin.error(f"{owner}: quat_xyzw is zero and gives no rotation; no rotation is '0 0 0 1'")
    return Rotation.from_quaternion(quaternion).snapped()


def _text(element: Element, attribute: str, owner: str) -> str:
    """A name that must be there."""
    value = element.attributes.get(attribute, "")
    if not value:
        problem = "is empty" if attribute in element.attributes else "is missing"
        raise element.error(f"{owner}: the attribute '{attribute}' of <{element.tag}> {problem}")
    if "${" in value or "$(" in value:
        raise element.error(f'{owner}: <{element.tag} {attribute}="{clipped(value)}">; {_RUN_XACRO}')
    return value


def _vector(element: Element | None, attribute: str, owner: str, default: Vec3) -> Vec3:
    """Three numbers; the default if the element or the attribute is missing."""
    if element is None or attribute not in element.attributes:
        return default
    values = _numbers(element, attribute, owner)
    if len(values) != 3:
        raise _wrong_count(element, attribute, owner, "3 numbers", len(values))
    return Vec3(*values)


def _optional(element: Element | None, attribute: str, owner: str) -> float | None:
    """One number; None if the element or the attribute is missing."""
    if element is None or attribute not in element.attributes:
        return None
    values = _numbers(element, attribute, owner)
    if len(values) != 1:
        raise _wrong_count(element, attribute, owner, "1 number", len(values))
    if element.attributes[attribute].strip(" \t\r\n") != element.attributes[attribute]:
        _forgive_blanks(element, attribute, owner)
    return values[0]


def _number(element: Element | None, attribute: str, owner: str, default: float) -> float:
    """One number; the default if the element or the attribute is missing."""
    value = _optional(element, attribute, owner)
    return default if value is None else value


def _numbers(element: Element, attribute: str, owner: str) -> Sequence[float]:
    """The numbers of an attribute, as C would read decimal text; Python alone would allow more."""
    text = element.attributes[attribute]
    words = text.split()  # also at blanks of other alphabets: no-break spaces come with text copied from documents
    try:
        if all(word.isascii() for word in words) and "_" not in text:
            if not text.isascii():
                _forgive_blanks(element, attribute, owner)
            return [float(word) for word in words]
    except ValueError:
        pass
    if "${" in text or "$(" in text:
        hint = _RUN_XACRO
    elif "," in text:
        hint = "write decimals with a point and put blanks between numbers"
    else:
        hint = "write plain decimal numbers with blanks between them"
    shown = f'<{element.tag} {attribute}="{clipped(text)}">'
    raise element.error(f"{owner}: {shown} is not numeric; {hint}")


def _forgive_blanks(element: Element, attribute: str, owner: str) -> None:
    shown = f"<{element.tag} {attribute}={clipped(element.attributes[attribute])!r}>"
    element.forgive("blank", f"{owner}: {shown} has a blank where some readers stumble over it.", "Remove it.")


def _wrong_count(element: Element, attribute: str, owner: str, needed: str, got: int) -> ModelError:
    shown = f'<{element.tag} {attribute}="{clipped(element.attributes[attribute])}">'
    return element.error(f"{owner}: {shown} needs {needed}, got {got or 'none'}")
