"""What constraints mean for one model: frames on its bodies, joints by number, and how many equations each has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from recursa.errors import ModelError, did_you_mean
from recursa.model.constraints import (
    WORLD_NAME,
    Constraint,
    Contact,
    JointRelation,
    Loop,
    Prescribed,
    called,
    joints_of,
    links_of,
)
from recursa.spatial.constants import unit_axis
from recursa.spatial.rotation import IDENTITY, Rotation
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import X_AXIS, Vec3

if TYPE_CHECKING:
    from recursa.model.model import Model

NO_LINK = -1
"""Where a link's number is expected: the world of a robot that has no link there."""

UNITS: dict[str, str] = {
    "weld": "rrrmmm",
    "fixed": "rrrmmm",
    "revolute": "rrmmm",
    "continuous": "rrmmm",
    "prismatic": "rrrmm",
    "helical": "rrmmm",
    "cylindrical": "rrmm",
    "spherical": "mmm",
    "point": "mmm",
    "universal": "rmmm",
    "planar": "rrm",
    "translation": "rrr",
    "rod": "m",
    "point-on-plane": "m",
    "line": "rrmmm",
}
"""Per kind of closing the units of its equations, rad or m, in their order: turning first."""

CONTACT_CLOSINGS = {"point": "point", "line": "line", "surface": "weld"}


class Closing(NamedTuple):
    """Two frames that are held together as far as a kind says.

    - ``links``: by number, or ``NO_LINK``; ``frames``: on these, z along the axis or normal.
    - ``anchored``: whether the place of the first frame is given; else it is wherever the second one is, and only its
      axes are. ``line``: of an unanchored line, its direction in the second frame.
    - ``told``: whether its accelerations are prescribed.
    """

    constraint: Constraint
    start: int
    units: str
    kind: str
    links: tuple[int, int]
    frames: tuple[Transform, Transform]
    length: float = 0.0
    pitch: float = 0.0
    second_axis: Vec3 = X_AXIS
    anchored: bool = True
    told: int | None = None


class Relating(NamedTuple):
    """A sum of powers of coordinates of joints, by number, that is zero."""

    constraint: Constraint
    start: int
    units: str
    terms: tuple[tuple[int, tuple[float, ...]], ...]
    offset: float


class Telling(NamedTuple):
    """A joint whose accelerations are prescribed; ``told`` is where these begin."""

    constraint: Constraint
    start: int
    units: str
    joint: int
    told: int


Equation: TypeAlias = Closing | Relating | Telling


def equations_of(model: Model) -> tuple[Equation, ...]:
    """The equations of all constraints of a model, in order; what cannot be is a ModelError that names it."""
    names = [one.name for one in model.description.constraints if one.name]
    for name in names:
        if names.count(name) > 1:
            raise _refused(model, f"two constraints are called '{name}'")
    found: list[Equation] = []
    start = told = 0
    for one in model.description.constraints:
        made = _equation(model, one, start, told)
        found.append(made)
        start += len(made.units)
        told += len(made.units) if told_of(made) is not None else 0
    return tuple(found)


def told_of(equation: Equation) -> int | None:
    """Where its prescribed accelerations begin among all; None where it has none."""
    return None if isinstance(equation, Relating) else equation.told


def _equation(model: Model, one: Constraint, start: int, told: int) -> Equation:
    _require_names(model, one)
    if isinstance(one, JointRelation):
        terms = tuple(_terms(model, one))
        first = model.joints[terms[0][0]]
        return Relating(one, start, "r" if first.kind.angular[0] else "m", terms, one.offset)
    if isinstance(one, Prescribed) and one.joint:
        number = model.joint_index(one.joint)
        if model.joints[number].tie is not None:
            raise _refused(model, f"{called(one)}: the joint moves with another and has no acceleration of its own")
        units = "".join("r" if turns else "m" for turns in model.joints[number].kind.angular)
        return Telling(one, start, units, number, told)
    links = _number(model, one.link), _number(model, one.other)
    bodies = [NO_LINK if number == NO_LINK else model.links[number].body for number in links]
    if bodies[0] == bodies[1]:
        ends = f"'{one.link}' and '{one.other}'"
        alike = (
            "are the same link" if one.link == one.other else "are parts of the same body, between which nothing moves"
        )
        raise _refused(
            model, f"{called(one)}: {ends} {alike}. A constraint is between two bodies, or a body and the world"
        )
    if isinstance(one, Loop):
        return _loop(one, start, links)
    held = links[1], links[0]  # rows are in axes of what is touched
    if isinstance(one, Prescribed):
        frames = IDENTITY_TRANSFORM, Transform(IDENTITY, Vec3(*one.at))
        return Closing(one, start, UNITS["weld"], "weld", held, frames, anchored=False, told=told)
    return _contact(one, start, held)


def _loop(one: Loop, start: int, links: tuple[int, int]) -> Closing:
    turn = Rotation.z_to(unit_axis(Vec3(*one.axis)))
    first, second = (
        Transform.from_xyz_rpy(at, rpy) @ Transform(turn, Vec3.zero())
        for at, rpy in ((one.at, one.rpy), (one.at_other, one.rpy_other))
    )
    second_axis = X_AXIS if one.axis_other is None else turn.inverse_times(unit_axis(Vec3(*one.axis_other)))
    units = UNITS[one.kind]
    return Closing(one, start, units, one.kind, links, (first, second), one.length, one.pitch, second_axis)


def _contact(one: Contact, start: int, links: tuple[int, int]) -> Closing:
    kind = CONTACT_CLOSINGS[one.kind]
    normal, line = unit_axis(Vec3(*one.normal)), unit_axis(Vec3(*one.axis))
    at, axes = Vec3(*one.at), Rotation.z_to(normal)
    if one.anchor is None:
        frames = Transform(axes, Vec3.zero()), Transform(IDENTITY, at)
        return Closing(one, start, UNITS[kind], kind, links, frames, second_axis=line, anchored=False)
    held = one.anchor.rotation
    if one.kind == "line":
        along = held @ line
        along = unit_axis(along - normal * along.dot(normal))
        axes = Rotation.from_rows(tuple(zip(along, normal.cross(along), normal, strict=True)))
    frames = Transform(axes, one.anchor.translation), Transform(held.T @ axes, at)
    return Closing(one, start, UNITS[kind], kind, links, frames)


def _terms(model: Model, one: JointRelation) -> Iterator[tuple[int, tuple[float, ...]]]:
    for name, numbers in one.coefficients:
        number = model.joint_index(name)
        joint = model.joints[number]
        if joint.kind.nv != 1:
            raise _refused(
                model,
                f"{called(one)}: joint '{name}' is {joint.kind.name} and has {joint.kind.nv} freedoms; "
                "relations are of joints with one",
            )
        yield number, numbers


def _require_names(model: Model, one: Constraint) -> None:
    links, joints = [link.name for link in model.links], [joint.name for joint in model.joints]
    for name in links_of(one):
        if name not in links and name != WORLD_NAME:
            raise _refused(model, f"{called(one)}: there is no link '{name}'. {did_you_mean(name, links)}")
    for name in joints_of(one):
        if name not in joints:
            still = [joint.name for joint in model.description.joints if joint.kind == "fixed"]
            why = "is fixed and does not move" if name in still else f"does not exist. {did_you_mean(name, joints)}"
            raise _refused(model, f"{called(one)}: joint '{name}' {why}")


def _number(model: Model, name: str) -> int:
    """The link of that name; the world need not be one."""
    return next((number for number, link in enumerate(model.links) if link.name == name), NO_LINK)


def _refused(model: Model, reason: str) -> ModelError:
    return ModelError(f"robot '{model.name}', {reason}", source=model.description.source)
