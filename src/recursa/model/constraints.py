"""Constraints beside the tree, as plain frozen records: loops, contacts that hold, relations of joints, told motions.

A record names links and joints; numbers are those of the user, made plain. What they mean for one model, with frames
and rows, is :mod:`recursa.constraints.resolved`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from recursa.errors import ModelError, did_you_mean
from recursa.spatial.transform import Transform

LoopKind = Literal[
    "revolute", "continuous", "prismatic", "helical", "cylindrical", "spherical", "universal", "planar", "translation",
    "fixed", "weld", "point", "rod", "point-on-plane",
]  # fmt: skip
ContactKind = Literal["point", "line", "surface"]
LOOP_KINDS: tuple[str, ...] = get_args(LoopKind)
CONTACT_KINDS: tuple[str, ...] = get_args(ContactKind)
Triple: TypeAlias = tuple[float, float, float]

WORLD_NAME = "world"
_LARGEST_POWER = 16  # of a relation: far beyond what files have


@dataclass(frozen=True)
class Loop:
    """A joint beside those of the tree: it closes a loop between a frame on one link and a frame on another.

    - ``kind``: what the joint leaves free, so a revolute loop is five equations. "revolute" ("continuous"),
      "prismatic", "helical", "cylindrical" (turns about the axis and slides along it), "spherical", "universal",
      "planar", "translation", "fixed"; "weld" (as "fixed", six equations), "point" (as "spherical", three: two points
      stay together), "rod" (one: two points stay ``length`` apart), "point-on-plane" (one: a point of the second link
      stays on a plane of the first, through ``at`` with normal ``axis``).
    - ``link``, ``other``: the first and the second link; "world" is the world.
    - ``at``, ``rpy``: origin and roll-pitch-yaw of the frame on the first link, in that link; ``at_other``,
      ``rpy_other`` on the second. When the loop is closed with its joint at zero, the frames coincide.
    - ``axis``: of the joint, in the first frame. ``axis_other``: of a universal joint, the axis held by the second
      link, in the second frame; by default one across.
    - ``length``: of a rod, m. ``pitch``: of a helical joint, m/rad.

    >>> import recursa as rc
    >>> arm = rc.robots.planar(3).with_constraints(rc.Loop("point", "world", "tip", at=(0.5, 0.0, 0.0)))
    >>> arm.ncon
    3
    """

    kind: LoopKind
    link: str
    other: str
    axis: Triple = (0.0, 0.0, 1.0)
    at: Triple = (0.0, 0.0, 0.0)
    at_other: Triple = (0.0, 0.0, 0.0)
    rpy: Triple = (0.0, 0.0, 0.0)
    rpy_other: Triple = (0.0, 0.0, 0.0)
    length: float = 0.0
    pitch: float = 0.0
    axis_other: Triple | None = None
    name: str = ""

    def __post_init__(self) -> None:
        what = f"the {self.kind} loop between '{self.link}' and '{self.other}'"
        _known(self.kind, LOOP_KINDS, "kind of loop")
        _named(self, "link", "other")
        _triples(self, what, "at", "at_other", "rpy", "rpy_other")
        _directions(self, what, "axis", *(("axis_other",) if self.axis_other is not None else ()))
        _plain(self, what, "length", "pitch")
        if self.kind == "rod" and not self.length > 0.0:
            raise ModelError(
                f"{what}: length must be over zero, not {self.length:g}. Points that coincide are a 'point'"
            )
        if self.kind == "helical" and self.pitch == 0.0:
            raise ModelError(
                f"{what}: its pitch is 0, which makes it a revolute one. Say how far it advances, in m/rad"
            )


@dataclass(frozen=True)
class Contact:
    """A contact that holds: what touches neither slips nor lifts, wherever it is.

    - ``kind``: "point" (three equations: it may roll and pivot), "line" (five: it may roll about the line), "surface"
      (six).
    - ``link``, ``at``: the link and the point of it that touches, in that link.
    - ``normal``: of the surface, in axes of ``other``, the link that has it, by default the world. Rows are in axes
      whose z is the normal.
    - ``axis``: of a line, its direction, in axes of the link.
    - ``anchor``: where on ``other`` it is held, a pose of the touching frame, made by
      :meth:`~recursa.Robot.with_contacts_at`; without one a contact holds at whatever place it is, and its error is
      zero everywhere.

    >>> import recursa as rc
    >>> rc.robots.planar(2).with_constraints(rc.Contact("point", "tip", normal=(0, 1, 0))).ncon
    3
    """

    kind: ContactKind
    link: str
    at: Triple = (0.0, 0.0, 0.0)
    normal: Triple = (0.0, 0.0, 1.0)
    other: str = WORLD_NAME
    axis: Triple = (1.0, 0.0, 0.0)
    anchor: Transform | None = None
    name: str = ""

    def __post_init__(self) -> None:
        what = f"the {self.kind} contact of '{self.link}'"
        _known(self.kind, CONTACT_KINDS, "kind of contact")
        _named(self, "link", "other")
        _triples(self, what, "at")
        _directions(self, what, "normal", "axis")


@dataclass(frozen=True, init=False)
class JointRelation:
    """A relation between joints of one freedom: ``sum of coefficient * q + offset = 0``, as of gears and racks.

    ``coefficients`` are numbers by joint, or the coefficients of q, q^2, q^3 ... where a relation is not linear. Unlike
    a mimic joint it takes no coordinate away: its equation is kept by a force.

    >>> import recursa as rc
    >>> gear = rc.JointRelation({"joint1": 1.0, "joint2": -3.0})
    >>> rc.robots.planar(2).with_constraints(gear).constraint_error([0.75, 0.25])
    array([0.])
    """

    coefficients: tuple[tuple[str, tuple[float, ...]], ...]
    offset: float = 0.0
    name: str = ""

    def __init__(
        self,
        coefficients: Mapping[str, float | Sequence[float]] | tuple[tuple[str, tuple[float, ...]], ...],
        offset: float = 0.0,
        name: str = "",
    ) -> None:
        from recursa.model.inputs import finite, floats, name_of

        try:
            items = list(coefficients.items() if isinstance(coefficients, Mapping) else coefficients)
            pairs = [(joint, number) for joint, number in items]
        except (TypeError, ValueError):
            raise ModelError(
                f'a relation takes numbers by joint, as in {{"finger1": 1.0, "finger2": -1.0}}, not {coefficients!r}'
            ) from None
        if not pairs:
            raise ModelError("a relation of no joints says nothing. Name at least one joint")
        found = []
        for joint, number in pairs:
            what = f"the coefficient of joint '{name_of(joint, 'a joint of a relation')}'"
            several = (isinstance(number, Sequence) and not isinstance(number, str)) or bool(
                getattr(number, "shape", ())
            )
            if several and not 0 < len(number) <= _LARGEST_POWER:  # type: ignore[arg-type]
                raise ModelError(f"{what} must be one number, or up to {_LARGEST_POWER} for the powers of q")
            numbers = floats(number, len(number) if several else 1, what)  # type: ignore[arg-type]
            found.append((joint, tuple(finite(x, what) for x in numbers)))
        if len({joint for joint, _ in found}) < len(found):
            raise ModelError("a relation names a joint twice. Add up its coefficients")
        if all(x == 0.0 for _, numbers in found for x in numbers):
            raise ModelError("all coefficients of a relation are zero, so it says nothing")
        object.__setattr__(self, "coefficients", tuple(found))
        object.__setattr__(self, "offset", finite(offset, "the offset of a relation"))
        object.__setattr__(self, "name", str(name))


@dataclass(frozen=True)
class Prescribed:
    """A joint or a link that moves as it is told: its acceleration is given with each call, ``prescribed=``.

    - ``joint``: as many equations as it has freedoms; accelerations as in ``a``.
    - ``link``: six equations, angular acceleration and acceleration of the point ``at`` of the link, in axes of
      ``other``, by default the world.

    Where no acceleration is given it is zero: the joint or link keeps its speed. What it takes are the constraint
    forces. It has no place of its own, so its error is zero everywhere.

    >>> import recursa as rc
    >>> arm = rc.robots.planar(2).with_constraints(rc.Prescribed("joint1"))
    >>> float(arm.forward_dynamics([0.1, 0.2], [0.0, 0.0], [0.0, 0.0], prescribed=[2.5])[0].round(12))
    2.5
    """

    joint: str = ""
    link: str = ""
    at: Triple = (0.0, 0.0, 0.0)
    other: str = WORLD_NAME
    name: str = ""

    def __post_init__(self) -> None:
        if bool(self.joint) is bool(self.link):
            raise ModelError(
                'a prescribed motion is that of a joint or of a link: Prescribed("joint1") or (link="hand")'
            )
        _named(self, "joint" if self.joint else "link", "other")
        _triples(self, f"the prescribed motion of '{self.joint or self.link}'", "at")


Constraint: TypeAlias = Loop | Contact | JointRelation | Prescribed


def with_link_names(constraint: Constraint, link: Callable[[str], str]) -> Constraint:
    """The same with other names of links."""
    if isinstance(constraint, JointRelation):
        return constraint
    changed = {"link": constraint.link and link(constraint.link), "other": link(constraint.other)}
    return replace(constraint, **changed)  # type: ignore[arg-type]


def with_joint_names(constraint: Constraint, joint: Callable[[str], str]) -> Constraint:
    """The same with other names of joints."""
    if isinstance(constraint, JointRelation):
        pairs = tuple((joint(name), numbers) for name, numbers in constraint.coefficients)
        return replace(constraint, coefficients=pairs)
    if isinstance(constraint, Prescribed) and constraint.joint:
        return replace(constraint, joint=joint(constraint.joint))
    return constraint


def links_of(constraint: Constraint) -> tuple[str, ...]:
    """The links it is about."""
    if isinstance(constraint, JointRelation) or (isinstance(constraint, Prescribed) and constraint.joint):
        return ()
    return constraint.link, constraint.other


def joints_of(constraint: Constraint) -> tuple[str, ...]:
    """The joints it is about."""
    if isinstance(constraint, JointRelation):
        return tuple(name for name, _ in constraint.coefficients)
    return (constraint.joint,) if isinstance(constraint, Prescribed) and constraint.joint else ()


def called(constraint: Constraint) -> str:
    """How messages call it: by its name, else by what it is between.

    >>> called(Loop("rod", "a", "b", length=1.0)), called(JointRelation({"x": 1, "y": 2}, name="gear"))
    ("rod loop between 'a' and 'b'", "relation 'gear'")
    """
    if isinstance(constraint, Loop):
        return _called(
            f"{constraint.kind} loop", constraint.name, f"between '{constraint.link}' and '{constraint.other}'"
        )
    if isinstance(constraint, Contact):
        return _called(f"{constraint.kind} contact", constraint.name, f"of '{constraint.link}'")
    if isinstance(constraint, JointRelation):
        return _called("relation", constraint.name, "of " + ", ".join(f"'{name}'" for name in joints_of(constraint)))
    return _called("prescribed motion", constraint.name, f"of '{constraint.joint or constraint.link}'")


def _called(what: str, name: str, between: str) -> str:
    return f"{what} '{name}'" if name else f"{what} {between}"


# ---- checks ----------------------------------------------------------------------------------------------------------


def _known(value: Any, words: tuple[str, ...], what: str) -> None:
    if value not in words:
        hint = did_you_mean(value, words) if isinstance(value, str) else f"It is one of {', '.join(words)}."
        raise ModelError(f"there is no {what} {value!r}. {hint}")


def _named(record: Any, *names: str) -> None:
    from recursa.model.inputs import name_of

    for name in names:
        name_of(getattr(record, name), f"{name} of a {type(record).__name__}")
    object.__setattr__(record, "name", str(record.name))


def _plain(record: Any, what: str, *names: str) -> None:
    from recursa.model.inputs import finite

    for name in names:
        object.__setattr__(record, name, finite(getattr(record, name), f"{what}: {name}"))


def _triples(record: Any, what: str, *names: str) -> None:
    from recursa.model.inputs import finite, floats

    for name in names:
        numbers = floats(getattr(record, name), 3, f"{what}: {name}")
        object.__setattr__(record, name, tuple(finite(x, f"{what}: {name}") for x in numbers))


def _directions(record: Any, what: str, *names: str) -> None:
    _triples(record, what, *names)
    for name in names:
        if not math.hypot(*getattr(record, name)) > 0.0:
            raise ModelError(f"{what}: {name} is (0, 0, 0), which is no direction")
