"""What steps are given from outside, as one table: the kinds of input of a run, and the constants of a model.

A kind of input says once how its numbers lie in a state and what a step gets of them. Arguments are checked by it, the
engine cuts them by it, kernels and native entries read them by it; another kind is another entry of ``INPUT_KINDS``.
Constants are what steps read of the model itself; an input may take the place of one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from typing import Any, NamedTuple

from recursa.errors import UntraceableError, unknown_name
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import Motion, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import Vec3

FORCES = "N m for rotations, N for translations; places as in v"


class Over(Enum):
    """Who reads it."""

    BODIES = "bodies"  # steps of sweeps over bodies
    LINKS = "links"  # steps of sweeps over links
    EITHER = "bodies and links"
    BASE = "base"  # no step: buffers start from it (:class:`Given`)


@dataclass(frozen=True)
class InputKind:
    """A kind of input.

    - ``name``: by which steps read it. One that ends with a colon begins the names of any number of inputs: "joint:T".
    - ``over``: who reads it. What ``BASE`` reads, and what takes the place of something, need not be given.
    - ``axes``: ``axes(model, count)`` are the axes of an argument after the batch axes; ``count`` is the length of the
      last one as it was given, for kinds that come in several lengths, else 0.
    - ``part``: ``part(model, k)`` are the entries of joint, body or link k among the numbers of a state.
    - ``value``: what a step gets of its own entries.
    - ``of_joint``: instead, what a joint, perhaps tied to another, makes of the robot's numbers. Such an input may be
      given by the names of joints.
    - ``replaces``: the constant whose place it takes where given; ``own``: numbers that make sense, if not all do.
    - ``fixes_frames``: whether it is given in the frames of bodies or the world, so that kernels may not move these.
    - ``meaning``: of the axes, for errors; ``words``: what the numbers are, and their units, for whoever hands them in.
    """

    name: str
    over: Over
    axes: Callable[[Model, int], tuple[int, ...]]
    part: Callable[[Model, int], slice]
    value: Callable[[Sequence[Scalar]], Any] = tuple
    of_joint: Callable[[Joint, Sequence[Scalar]], tuple[Scalar, ...]] | None = None
    replaces: str = ""
    own: Callable[[Model], list[float]] | None = None
    fixes_frames: bool = False
    meaning: str = ""
    words: str = ""

    @property
    def has_own_names(self) -> bool:
        """Whether there may be several, told apart by what follows the colon."""
        return self.name.endswith(":")

    @property
    def coordinates(self) -> bool:
        """Whether it is made of coordinates, which quaternions may be among, and not of speeds."""
        return self.of_joint is Joint.coordinates

    def size(self, model: Model) -> int:
        """Numbers per state."""
        return math.prod(self.axes(model, 0))

    def cut(self, model: Model, numbers: Sequence[Scalar]) -> list[Any]:
        """What steps get at every body (or link) of the numbers of one state."""
        if self.of_joint is not None:
            return [self.of_joint(joint, numbers) for joint in model.joints]
        count = {Over.BODIES: model.nbodies, Over.EITHER: max(model.nbodies, len(model.links))}.get(
            self.over, len(model.links)
        )
        return [self.value(numbers[self.part(model, k)]) for k in range(count)]


# ---- how numbers lie -------------------------------------------------------------------------------------------------


def coordinates(name: str, words: str = "") -> InputKind:
    """A number for every coordinate of every joint."""

    def part(model: Model, k: int) -> slice:
        joint = model.joints[k]
        return slice(joint.q_start, joint.q_start + joint.kind.nq)

    return InputKind(name, Over.BODIES, lambda model, _: (model.nq,), part, of_joint=Joint.coordinates, words=words)


def speeds(name: str, words: str = "") -> InputKind:
    """A number for every freedom of every joint."""

    def part(model: Model, k: int) -> slice:
        joint = model.joints[k]
        return slice(joint.v_start, joint.v_start + joint.kind.nv)

    return InputKind(name, Over.BODIES, lambda model, _: (model.nv,), part, of_joint=Joint.rates, words=words)


def per_body(name: str, count: int, meaning: str, **more: Any) -> InputKind:
    """So many numbers for every body, in one row."""
    part, axes = _in_turn(count), lambda model, _: (count * model.nbodies,)
    return InputKind(name, Over.BODIES, axes, part, meaning=meaning, **more)


def per_link(name: str, count: int, meaning: str, **more: Any) -> InputKind:
    """A row of so many numbers for every link."""
    part, axes = _in_turn(count), lambda model, _: (len(model.links), count)
    return InputKind(name, Over.LINKS, axes, part, meaning=meaning, **more)


def for_all(name: str, over: Over, count: int, meaning: str, *, several: bool = False, **more: Any) -> InputKind:
    """So many numbers for the robot, or ``several`` times as many, the same for every reader."""

    def axes(model: Model, given: int) -> tuple[int, ...]:
        return (count * max(1, given // count),) if several else (count,)

    return InputKind(name, over, axes, lambda model, k: slice(0, None), meaning=meaning, **more)


def _in_turn(count: int) -> Callable[[Model, int], slice]:
    return lambda _, k: slice(count * k, count * k + count)


# ---- the table -------------------------------------------------------------------------------------------------------


def _pose(numbers: Sequence[Scalar]) -> Transform:
    return Transform.from_matrix([*(numbers[k : k + 4] for k in (0, 4, 8)), (0.0, 0.0, 0.0, 1.0)])


def _own_parameters(model: Model) -> list[float]:
    return [float(x) for inertia in model.inertias for x in inertia.components()]


INPUT_KINDS: dict[str, InputKind] = {
    kind.name: kind
    for kind in (
        coordinates("q", "coordinates, joint by joint as below"),
        coordinates("q1", "coordinates, joint by joint as below"),
        speeds("v", "speeds, joint by joint as below"),
        speeds("a", "accelerations: componentwise rates of v, places as in v"),
        speeds("tau", f"joint forces: {FORCES}"),
        per_link(
            "wrench",
            6,
            "one row (moment, force) per link, in link axes at the link origin",
            words="per link (moment, force) in N m and N that act on it, link axes at the link origin",
        ),
        per_body(
            "parameters",
            10,
            "ten inertial parameters per body, in the regressor's order",
            value=RigidInertia.from_components,
            replaces="inertia",
            own=_own_parameters,
            fixes_frames=True,
            words="per body (m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz) about the link origin in link axes",
        ),
        for_all(
            "base_acceleration",
            Over.BASE,
            6,
            "(angular, linear) in world axes",
            value=Motion.of,
            fixes_frames=True,
            words="(angular, linear) of the base in rad/s^2 and m/s^2, world axes",
        ),
        for_all(
            "base_twist",
            Over.BASE,
            6,
            "(angular, linear) in world axes",
            value=Motion.of,
            fixes_frames=True,
            words="(angular, linear) velocity of the base in rad/s and m/s, world axes",
        ),
        InputKind(
            "prescribed",
            Over.EITHER,
            lambda model, _: (model.ntold,),
            lambda model, k: slice(0, None),
            meaning="accelerations of prescribed joints and links, in the order of the constraints",
            words="prescribed accelerations, in the order of the constraints",
        ),
        InputKind(
            "multipliers",
            Over.BODIES,
            lambda model, _: (model.ncon,),
            lambda model, k: slice(0, None),
            meaning="one number per equation of the constraints",
            words="constraint forces, in the order of the constraints",
        ),
        speeds("joint:", "a number per freedom, places as in v"),
        per_body("body:", 6, "six numbers per moving body, base first"),
        for_all("tip:", Over.LINKS, 6, "six numbers for every link", several=True),
        InputKind(
            "constraint:",
            Over.EITHER,
            lambda model, _: (model.ncon,),
            lambda model, k: slice(0, None),
            meaning="one number per equation of the constraints",
        ),
        for_all(
            "pose:",
            Over.LINKS,
            12,
            "the upper three rows of a homogeneous matrix, row by row",
            value=_pose,
            own=lambda model: [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            fixes_frames=True,
        ),
        InputKind(
            "frame:",
            Over.LINKS,
            lambda model, _: (4, 4),
            lambda model, k: slice(0, 16),
            value=_pose,
            own=lambda model: [1.0, 0, 0, 0, 0, 1.0, 0, 0, 0, 0, 1.0, 0, 0, 0, 0, 1.0],
            fixes_frames=True,
            meaning="a homogeneous matrix",
        ),
    )
}


# ---- inputs of derivatives, which say in their names what they are ---------------------------------------------------


def changes_of(name: str, level: int) -> str:
    """The input that has changes of another one: as many numbers, taken apart like those, without offsets of ties.

    >>> changes_of("joint:T", 1), kind_of_input(changes_of("q", 2)).of_joint is not None
    ('change:1.joint:T', True)
    """
    return f"change:{level}.{name}"


def weights(level: int, anchor: str, span: int) -> str:
    """The input that weighs the numbers of a result: every reader gets ``span`` of them from where its own begin.

    ``anchor`` says where these are: "v" and "q", at the entries of its joint; "bodies6", "links6", at six times its
    number; "all", at the first.
    """
    return f"weights:{level}.{anchor}.{span}"


@cache
def _changes(own: str) -> InputKind:
    kind = kind_of_input(own.partition(".")[2])
    if kind.over is Over.BASE:
        raise UntraceableError(f"sweeps cannot follow changes of {kind.name!r}")
    of_joint = kind.of_joint

    def linear(joint: Joint, numbers: Sequence[Scalar]) -> tuple[Scalar, ...]:
        assert of_joint is not None
        return of_joint(joint if joint.tie is None else replace(joint, tie=replace(joint.tie, offset=0.0)), numbers)

    return replace(kind, name="change:", of_joint=None if of_joint is None else linear, replaces="", own=None)


@cache
def _weights(own: str) -> InputKind:
    _, anchor, length = own.split(".")
    per_item, span = anchor.lstrip("abcdefghijklmnopqrstuvwxyz"), int(length)

    def part(model: Model, k: int) -> slice:
        joint = {"v": lambda: model.joints[k].v_start, "q": lambda: model.joints[k].q_start}
        start = joint[anchor]() if anchor in joint else int(per_item or 0) * k
        return slice(start, start + span)

    def value(numbers: Sequence[Scalar]) -> tuple[Scalar, ...]:
        return (*numbers, *(0.0,) * (span - len(numbers)))  # the last readers' are never those that are missing

    over = Over.EITHER if anchor == "all" else Over.LINKS if anchor.startswith("links") else Over.BODIES
    return InputKind("weights:", over, lambda model, count: (count,), part, value)


_MADE_OF_THE_NAME: dict[str, Callable[[str], InputKind]] = {"change:": _changes, "weights:": _weights}


class Constant(NamedTuple):
    """What steps read of the model: ``at(model)(k)`` at body or link k."""

    over: Over
    at: Callable[[Model], Callable[[int], Any]]


def _same(value: Any) -> Callable[[int], Any]:
    return lambda _: value


CONSTANTS: dict[str, Constant] = {
    "joint": Constant(Over.BODIES, lambda model: model.joints.__getitem__),
    "number": Constant(Over.EITHER, lambda model: lambda k: k),
    "inertia": Constant(Over.BODIES, lambda model: model.inertias.__getitem__),
    "offset": Constant(Over.LINKS, lambda model: lambda k: model.links[k].offset),
    "gravity": Constant(Over.EITHER, lambda model: _same(Vec3(*model.gravity))),
}


class Given(NamedTuple):
    """What a run is given for the whole robot: gravity, and the motion of the base if it is prescribed."""

    gravity: Vec3
    base_acceleration: Motion
    base_twist: Motion

    @staticmethod
    def of(model: Model, inputs: Mapping[str, Sequence[Scalar]]) -> Given:
        """From the inputs of a run; what is not among them is zero."""
        base = [kind for kind in INPUT_KINDS.values() if kind.over is Over.BASE]
        own = {kind.name: kind.value(inputs.get(kind.name, (0.0,) * kind.size(model))) for kind in base}
        return Given(Vec3(*model.gravity), **own)


# ---- names -----------------------------------------------------------------------------------------------------------


def kind_of_input(name: str) -> InputKind:
    """The kind of an input, by its own name.

    >>> kind_of_input("joint:T").name, kind_of_input("q").coordinates
    ('joint:', True)
    """
    kind = find_kind_of_input(name)
    if kind is None:
        raise unknown_name("kind of input", name, INPUT_KINDS)
    return kind


def find_kind_of_input(name: str) -> InputKind | None:
    """The kind of an input, by its own name; None where there is none of that name."""
    beginning, colon, own = name.partition(":")
    made = _MADE_OF_THE_NAME.get(beginning + colon)
    return INPUT_KINDS.get(beginning + colon) if made is None else made(own)


def readers(name: str) -> Over | None:
    """Who may read this name of an input or a constant; None where it is the name of neither.

    >>> readers("offset"), readers("tip:f"), readers("V"), readers("parameters")
    (<Over.LINKS: 'links'>, <Over.LINKS: 'links'>, None, None)
    """
    if name in CONSTANTS:
        return CONSTANTS[name].over
    kind = find_kind_of_input(name)
    return None if kind is None or kind.over is Over.BASE or kind.replaces else kind.over


def has_own_name(name: str) -> bool:
    """Whether it is an input with a name of its own, such as "joint:T"."""
    kind = find_kind_of_input(name)
    return kind is not None and kind.has_own_names


def input_behind(name: str) -> str | None:
    """The input that a step reads by this name, or by the name of the constant that it replaces.

    >>> input_behind("v"), input_behind("inertia"), input_behind("joint")
    ('v', 'parameters', None)
    """
    if name not in CONSTANTS:
        return None if readers(name) is None else name
    return next((kind.name for kind in INPUT_KINDS.values() if kind.replaces == name), None)
