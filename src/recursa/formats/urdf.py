"""URDF: from XML text to the records of a :class:`~recursa.model.description.Description`.

Read as the format says, with these additions: joint types ``spherical``, ``translation`` and ``helical`` (``pitch`` in
metres per radian on ``<axis>``), the attributes ``armature`` and ``friction_negative`` (against negative speeds, where
friction differs by direction) on ``<dynamics>``, and damping, friction and armature with one number per freedom.
Numbers that make no sense physically are kept: judging them is the doctor's work. Elements that say nothing about
the robot are passed over, mesh files are never opened, and of an element that stands twice the first counts.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import get_args

from recursa.errors import ModelError, did_you_mean
from recursa.formats.file_bytes import read_bytes
from recursa.formats.urdf_values import (
    RUN_XACRO,
    Materials,
    forgive_blanks,
    number_of,
    numbers_of,
    placement_of,
    plain_number,
    plain_numbers,
    read_materials,
    read_shapes,
    tensor_of,
    text_of,
    vector_of,
    wrong_count,
)
from recursa.formats.xml import Element, clipped, parse
from recursa.model.description import (
    DRIVEN,
    Description,
    Friction,
    JointRecord,
    JointType,
    LinkRecord,
    Mimic,
    Rotor,
)
from recursa.model.joints import KINDS
from recursa.model.model import WORLD_LINK
from recursa.spatial.rotation import IDENTITY, Rotation
from recursa.spatial.transform import IDENTITY_TRANSFORM
from recursa.spatial.vec3 import SYM_ZERO, X_AXIS, SymMat3

URDF_TYPES: dict[str, JointType] = {"floating" if kind == "free" else kind: kind for kind in get_args(JointType)}
_BESIDE_LOSSES = re.compile("stiffness|rest|rotor_").search
_BOUNDS = itemgetter("lower", "upper", "effort", "velocity")

_OF_URDF_1_2 = frozenset({"acceleration", "deceleration", "jerk"})

_XACRO = "xacro:"
_PASSED = frozenset({"gazebo", "transmission"})
"""What other programs read in a URDF."""

LARGEST = sys.float_info.max
"""Stands for infinity in limits: every reader of the format can read this number."""

_OTHER_FORMATS = {
    "sdf": "this is SDF; leave format= out or say format='sdf'",
    "mujoco": "this is MJCF (MuJoCo), the format 'mjcf'",
    "mujocoinclude": "this is a part of an MJCF (MuJoCo) model; load the file that includes it as 'mjcf'",
    "collada": "this is a COLLADA mesh; load the URDF that refers to it",
}


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
    return describe_urdf(parse(text, source, passed=_PASSED), source, strict=strict)


def describe_urdf(root: Element, source: str | None, *, strict: bool = True) -> Description:
    """The description of a robot from the root element of a URDF document; see :func:`read_urdf`."""
    _check_root(root)
    _meet_xacro(root, strict or root.child("link") is None)  # a file of macros alone is no robot
    links = _by_name(root, "link", strict)
    joints = _by_name(root, "joint", strict)
    if not links:
        hint = "is it a xacro file that was never given its macros, or only a fragment?"
        raise root.error(f"the robot has no links; {hint}")
    materials = read_materials(root)
    read = [_joint(name, element) for name, element in joints.items()]
    return Description(
        name=root.attributes.get("name", "") or "robot",
        links=(
            *_undeclared_world(links, joints, read),
            *(_link(name, element, materials) for name, element in links.items()),
        ),
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
        yield LinkRecord(WORLD_LINK, line=first.own_line)


def _check_root(root: Element) -> None:
    if root.tag != "robot":
        if root.tag.startswith(_XACRO):
            hint = RUN_XACRO
        else:
            hint = _OTHER_FORMATS.get(root.tag.lower(), "is this a robot description?")
        raise root.error(f"expected the root element <robot> of a URDF, found <{clipped(root.tag)}>; {hint}")


def _meet_xacro(element: Element, strict: bool) -> None:
    """Macros that were never expanded: refused, or passed over with a note."""
    for child in element.children:
        if child.tag.startswith(_XACRO):
            if strict:
                hint = "if it says nothing about the robot, strict=False passes over it"
                raise child.error(f"found <{clipped(child.tag)}>; {RUN_XACRO}; {hint}")
            reason = f"<{clipped(child.tag)}> was passed over: what it stands for is missing in the robot."
            child.forgive("xacro", reason, "Load it with format='xacro', and its macros.")


def _by_name(root: Element, tag: str, strict: bool) -> dict[str, Element]:
    """The children with a tag by their names, which must differ."""
    found: dict[str, Element] = {}
    for element in root.children:
        if element.tag != tag:
            continue
        name = text_of(element, "name", f"a {tag}")
        if name in found:
            lines = f"on line {found[name].line} and again on line {element.line}"
            raise element.error(f"two {tag}s are called '{clipped(name)}', {lines}; rename one of them")
        _meet_xacro(element, strict)
        found[name] = element
    return found


# ---- links -------------------------------------------------------------------------------------------------------


def _link(name: str, element: Element, materials: Materials) -> LinkRecord:
    owner = f"link '{clipped(name)}'"
    geometry = read_shapes(element, owner, materials)
    inertial = element.child("inertial")
    if inertial is None:
        return LinkRecord(name, geometry=geometry, line=element.own_line)
    parts = inertial.parts()
    rotation, com = placement_of(parts.get("origin"), owner)
    return LinkRecord(
        name,
        number_of(parts.get("mass"), "value", owner, 0.0),
        com,
        _inertia(parts.get("inertia"), rotation, owner),
        True,
        geometry=geometry,
        line=element.own_line,
    )


def _inertia(element: Element | None, rotation: Rotation, owner: str) -> SymMat3:
    """The tensor about the centre of mass, turned into link axes; entries not given are zero."""
    if element is None:
        return SYM_ZERO
    tensor = tensor_of(element, owner)
    return tensor if rotation == IDENTITY else rotation.symmetric(tensor)


# ---- joints ------------------------------------------------------------------------------------------------------


def _joint(name: str, element: Element) -> JointRecord:
    owner = f"joint '{clipped(name)}'"
    kind = _kind(element, owner)
    nv = KINDS[kind].nv if kind in KINDS else 0
    parts = element.parts()
    axis, dynamics, mimic = parts.get("axis"), parts.get("dynamics"), parts.get("mimic")
    limits, effort, velocity = _limits(parts.get("limit"), kind, owner)
    armature = damping = (0.0,) * nv
    friction: tuple[Friction, ...] = damping
    acceleration, jerk = _smoothness(parts.get("limit"), kind, owner)
    stiffness, rest, rotor = 0.0, 0.0, None
    if dynamics is not None and nv:
        armature = _per_freedom(dynamics, "armature", nv, owner)
        damping = _per_freedom(dynamics, "damping", nv, owner)
        friction = _friction(dynamics, nv, owner)
        if _BESIDE_LOSSES(" ".join(dynamics.attributes)):
            stiffness = number_of(dynamics, "stiffness", owner, 0.0)
            rest = number_of(dynamics, "rest", owner, 0.0)
            rotor = _rotor(dynamics, owner)
    return JointRecord(
        name,
        kind,
        _end(element, parts, "parent", owner),
        _end(element, parts, "child", owner),
        placement_of(parts.get("origin"), owner),
        IDENTITY_TRANSFORM,
        X_AXIS if axis is None else vector_of(axis, "xyz", owner, X_AXIS),
        _pitch(axis, element, owner) if kind == "helical" else 0.0,
        armature,
        damping,
        friction,
        limits,
        effort,
        velocity,
        None if mimic is None else _mimic(mimic, owner),
        stiffness,
        rest,
        rotor,
        acceleration=acceleration,
        jerk=jerk,
        line=element.own_line,
    )


def _kind(element: Element, owner: str) -> JointType:
    kind = URDF_TYPES.get(element.attributes.get("type", ""))
    if kind is not None:
        return kind
    name = text_of(element, "type", owner)
    kind = URDF_TYPES.get(name.strip())
    if kind is not None:
        forgive_blanks(element, "type", owner)
    if kind is None:
        raise element.error(f"{owner}: unknown joint type '{clipped(name)}'. {did_you_mean(clipped(name), URDF_TYPES)}")
    return kind


def _end(element: Element, parts: dict[str, Element], tag: str, owner: str) -> str:
    """The link at one end of a joint."""
    end = parts.get(tag)
    if end is None:
        raise element.error(f'{owner} has no <{tag} link="..."/>; every joint needs a parent and a child link')
    return text_of(end, "link", owner)


def _pitch(axis: Element | None, joint: Element, owner: str) -> float:
    if axis is None or "pitch" not in axis.attributes:
        where = axis or joint
        example = '<axis xyz="0 0 1" pitch="0.01"/>'
        raise where.error(f"{owner} is helical and needs its pitch in metres per radian, as in {example}")
    return number_of(axis, "pitch", owner, 0.0)


_Limits = tuple[tuple[float, float] | None, float | None, float | None]


def _limits(limit: Element | None, kind: JointType, owner: str) -> _Limits:
    """((lower, upper), effort, velocity); None where there is no limit.

    The largest float stands for infinity. The format demands effort and velocity, so files write 0 where nobody knows
    them.
    """
    if limit is None or kind not in DRIVEN:
        return None, None, None
    usual = plain_numbers(limit, _BOUNDS)
    if usual is not None and max(usual) < LARGEST and min(usual) > -LARGEST:
        lower, upper, strength, speed = usual
        return (None if kind == "continuous" else (lower, upper)), strength or None, speed or None
    effort, velocity = _strength(limit, "effort", owner), _strength(limit, "velocity", owner)
    if kind == "continuous":
        return None, effort, velocity
    span = _bound(limit, "lower", owner), _bound(limit, "upper", owner)
    return (None if span == (-math.inf, math.inf) else span), effort, velocity


def _smoothness(limit: Element | None, kind: JointType, owner: str) -> tuple[float | None, float | None]:
    """The largest acceleration and jerk, which URDF 1.2 has; of acceleration and deceleration the smaller."""
    if limit is None or kind not in DRIVEN or _OF_URDF_1_2.isdisjoint(limit.attributes):
        return None, None
    rates = [rate for name in ("acceleration", "deceleration") if (rate := _strength(limit, name, owner)) is not None]
    if len(set(rates)) > 1:
        reason = f"{owner} has a limit of acceleration, {rates[0]:g}, and another of deceleration, {rates[1]:g}."
        limit.forgive("deceleration", f"{reason} The smaller one is used for both.", "Nothing, if that will do.")
    return min(rates, default=None), _strength(limit, "jerk", owner)


def _strength(limit: Element, attribute: str, owner: str) -> float | None:
    value = _bound(limit, attribute, owner)
    return None if value in (0.0, math.inf) else value


def _bound(limit: Element, attribute: str, owner: str) -> float:
    value = number_of(limit, attribute, owner, 0.0)
    return math.copysign(math.inf, value) if abs(value) >= LARGEST else value


def _mimic(element: Element, owner: str) -> Mimic:
    return Mimic(
        text_of(element, "joint", owner),
        number_of(element, "multiplier", owner, 1.0),
        number_of(element, "offset", owner, 0.0),
        _yes(element, "rigid", owner, default=False),
    )


def _rotor(element: Element, owner: str) -> Rotor | None:
    if not any(name.startswith("rotor_") for name in element.attributes):
        return None
    text_of(element, "rotor_inertia", owner)
    given = "rotor_axis" in element.attributes
    return Rotor(
        number_of(element, "rotor_inertia", owner, 0.0),
        number_of(element, "rotor_ratio", owner, 1.0),
        vector_of(element, "rotor_axis", owner, X_AXIS) if given else None,
        element.attributes.get("rotor_mount", "parent"),
        _yes(element, "rotor_included", owner, default=True),
        _yes(element, "rotor_coupled", owner, default=True),
    )


def _yes(element: Element, attribute: str, owner: str, *, default: bool) -> bool:
    text = element.attributes.get(attribute)
    if text not in (None, "true", "false"):
        raise element.error(f"{owner}: the attribute '{attribute}' is true or false, not '{clipped(text)}'")
    return default if text is None else text == "true"


def _friction(element: Element, nv: int, owner: str) -> tuple[Friction, ...]:
    """Coulomb friction of each freedom, a pair where it differs by direction."""
    forward = _per_freedom(element, "friction", nv, owner)
    if "friction_negative" not in element.attributes:
        return forward
    backward = _per_freedom(element, "friction_negative", nv, owner)
    return tuple(one if one == other else (one, other) for one, other in zip(forward, backward, strict=True))


def _per_freedom(element: Element, attribute: str, nv: int, owner: str) -> tuple[float, ...]:
    """One number for all freedoms of a joint, or one for each; zero where nothing is given."""
    if attribute not in element.attributes:
        return (0.0,) * nv
    usual = plain_number(element.attributes[attribute])
    if usual is not None:
        return (usual,) * nv
    values = numbers_of(element, attribute, owner)
    if len(values) == 1:
        return tuple(values) * nv
    if len(values) != nv:
        raise wrong_count(element, attribute, owner, "1 number" if nv == 1 else f"1 or {nv} numbers", len(values))
    return tuple(values)


# ---- ROS packages: folders with a ``package.xml`` that names them, and where an installed ROS keeps them -------------


_PACKAGE_SIZE = 1024 * 1024


def ros_paths(environment: Mapping[str, str] | None = None) -> tuple[Path, ...]:
    """Return the folders that hold the packages of ROS, for ``rc.load(..., assets=rc.ros_paths())``.

    These are the folders in ``ROS_PACKAGE_PATH`` (ROS 1), and ``share`` in those of ``AMENT_PREFIX_PATH`` (ROS 2), as
    far as they exist; ``package://NAME/...`` is then ``NAME/...`` below one of them. ``environment`` defaults to the
    environment of this process, which nothing else reads for this purpose.

    >>> import recursa as rc
    >>> rc.ros_paths({"ROS_PACKAGE_PATH": "/no/such/folder"})
    ()
    """
    variables = os.environ if environment is None else environment
    return tuple(dict.fromkeys(folder for folder in _named(variables) if folder.is_dir()))


def _named(environment: Mapping[str, str]) -> Iterator[Path]:
    for variable, inside in (("ROS_PACKAGE_PATH", ""), ("AMENT_PREFIX_PATH", "share")):
        yield from (Path(entry, inside) for entry in environment.get(variable, "").split(os.pathsep) if entry)


def package_name(folder: Path) -> str | None:
    """The name of the ROS package in a folder, by its ``package.xml``; None if there is none that can be read."""
    path = folder / "package.xml"
    try:
        if not path.is_file():  # a pipe, for one, could be waited for without end
            return None
        name = parse(read_bytes(path, _PACKAGE_SIZE), with_text=True).child("name")
    except (OSError, ModelError):
        return None
    return None if name is None else name.text.strip()
