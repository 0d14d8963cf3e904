"""A Plan says how something is computed: a few sweeps over the bodies, each a list of small steps. It is data.

A step is ``Step(fn, reads, writes)``: ``fn`` is a function over the spatial types, for any scalar; it gets one value
per entry of ``reads`` and returns one per entry of ``writes``. It never sees the tree. What the names mean, at body k:

=================  =================================================================================================
``"V"``            the value of buffer V at this body (at this link, in a sweep over links)
``"V@parent"``     read: at the parent body, or the buffer's ``base`` value at a root; write: added to the parent's
``"V@child"``      read, in a sweep along a path: at the next body outward, or ``base`` at the end of the path
``"V@elder"``      read, going base to tip: at the child of the same parent before this one, or ``base``
``"V@younger"``    read, going tip to base: at the child of the same parent after this one, or ``base``
``"V@body"``       in a sweep over links, read: at the body the link is part of, or ``base`` for links of the world;
                   write: added to that body's
``"V@target"``     read: at the plan's target link
``"V@robot"``      one value for the whole robot: read as it is, written by adding
``"V@start"``, ``"V@here"``  in walks inward from every body, read: at the body where the walk starts, and at the body
                   inward of it where it has come to; ``"V"`` is then the value of this pair of bodies
``"V@carried"``    there, read: the value of V one body further out on the walk; at the first one that of the buffer
                   which V ``begins`` with, at the body where the walk starts; ``base`` where a sweep left that out
``"V@left"``, ``"V@right"``  for two bodies on different branches, read: the values of the pairs that each of them makes
                   with the body on which they branch; ``"V"`` is then the value of these two bodies
``"q"``, ``"q1"``, ``"v"``, ``"a"``  the joint's own coordinates (a second set), speeds, accelerations, as a tuple
``"tau"``, ``"wrench"``  the joint's own torques; the six numbers given for a link
``"joint:T"``, ``"body:x"``, ``"tip:f"``, ``"pose:T"``  numbers with names of their own: the joint's part, the
                   body's six, six for the robot, a pose
``"joint"``, ``"number"``, ``"inertia"``, ``"offset"``, ``"gravity"``  the constants of the body (or link, or robot)
=================  =================================================================================================

Inputs and constants are a table: ``inputs.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from recursa.sweeps.inputs import CONSTANTS, INPUT_KINDS, Given, has_own_name, readers

PLACES = (
    "",
    "parent",
    "child",
    "elder",
    "younger",
    "body",
    "target",
    "robot",
    "start",
    "here",
    "carried",
    "left",
    "right",
)
DOMAINS = BODIES, LINKS, PAIRS, APART = "bodies", "links", "pairs", "apart"
"""What sweeps visit, and what buffers have values for."""


class Direction(Enum):
    """Which way a sweep runs."""

    BASE_TO_TIP = "base to tip"
    TIP_TO_BASE = "tip to base"
    EACH_LINK = "each link"
    EACH_PAIR = "from each body inward"
    EACH_TWO_APART = "each two bodies on different branches"


_DOMAIN = {Direction.EACH_LINK: LINKS, Direction.EACH_PAIR: PAIRS, Direction.EACH_TWO_APART: APART}


@dataclass(frozen=True)
class Buffer:
    """A named value per body, link or pair of bodies, or for the robot. ``base`` is its value at the world, and where
    sums start.

    ``base_from`` makes that value from what is given with a run (gravity, a prescribed base acceleration) instead.
    ``begins``: in walks inward, the buffer whose value at the first body is carried to the second.
    """

    name: str
    base: Any
    base_from: Callable[[Given], Any] | None = None
    begins: str | None = None


@dataclass(frozen=True)
class Step:
    """One small computation at one body. ``equation`` is what it means, for people."""

    fn: Callable[..., Any]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    equation: str = ""

    def reading(self, **instead: str) -> Step:
        """The same step with other names for what it reads."""
        return replace(self, reads=tuple(instead.get(name, name) for name in self.reads))

    def __str__(self) -> str:
        meaning = f"    {self.equation}" if self.equation else ""
        function = getattr(self.fn, "__name__", type(self.fn).__name__)
        return f"{', '.join(self.writes)} <- {function}({', '.join(self.reads)}){meaning}"


@dataclass(frozen=True)
class Sweep:
    """Steps done at every body in one direction; ``only`` restricts it to some bodies (a path), links or pairs."""

    direction: Direction
    steps: tuple[Step, ...]
    only: tuple[int, ...] | None = None

    @property
    def domain(self) -> str:
        """What it visits."""
        return _DOMAIN.get(self.direction, BODIES)

    def __str__(self) -> str:
        limit = "" if self.only is None else f" (only {', '.join(map(str, self.only))})"
        return f"{self.direction.value}{limit}:\n" + "\n".join(f"    {step}" for step in self.steps)


def base_to_tip(*steps: Step, only: tuple[int, ...] | None = None) -> Sweep:
    """A sweep from the base outward."""
    return Sweep(Direction.BASE_TO_TIP, steps, only)


def tip_to_base(*steps: Step, only: tuple[int, ...] | None = None) -> Sweep:
    """A sweep from the tips inward."""
    return Sweep(Direction.TIP_TO_BASE, steps, only)


def each_link(*steps: Step, only: tuple[int, ...] | None = None) -> Sweep:
    """Steps at every link and frame, in no particular order."""
    return Sweep(Direction.EACH_LINK, steps, only)


def from_each_inward(*steps: Step, only: tuple[int, ...] | None = None) -> Sweep:
    """Walks: from every body, steps at each body inward of it, its parent first. Each of these pairs has values."""
    return Sweep(Direction.EACH_PAIR, steps, only)


def each_two_apart(*steps: Step, only: tuple[int, ...] | None = None) -> Sweep:
    """Steps for every two bodies on different branches, in no particular order."""
    return Sweep(Direction.EACH_TWO_APART, steps, only)


@dataclass(frozen=True)
class Plan:
    """Buffers and sweeps. Making one checks that it is well formed (``checking.py``).

    ``target`` is the link it is about, if it is about one. ``print(plan)`` shows the computation.
    """

    name: str
    buffers: tuple[Buffer, ...]
    sweeps: tuple[Sweep, ...]
    target: int | None = None

    def __post_init__(self) -> None:
        from recursa.sweeps.checking import check  # which knows what plans are made of

        check(self)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Which of the inputs it needs."""
        read = (name for sweep in self.sweeps for step in sweep.steps for name in step.reads)
        used = dict.fromkeys(name for name in read if is_given(name) and name not in CONSTANTS)
        return (*(name for name in INPUT_KINDS if name in used), *(name for name in used if has_own_name(name)))

    @property
    def domains(self) -> tuple[str, ...]:
        """What its sweeps go over. Others are not even to be counted: a chain has n^2/2 pairs."""
        used = {sweep.domain for sweep in self.sweeps}
        return tuple(domain for domain in DOMAINS if domain in used)

    def __str__(self) -> str:
        return f"plan {self.name}\n" + "\n".join(f"  {line}" for s in self.sweeps for line in str(s).splitlines())


def split(name: str) -> tuple[str, str]:
    """Buffer and place of a name such as ``"V@parent"``.

    >>> split("V@parent"), split("V")
    (('V', 'parent'), ('V', ''))
    """
    buffer, _, place = name.partition("@")
    return buffer, place


def domain_at(place: str, sweep: Sweep) -> str:
    """For what a buffer has values that a step of a sweep names with this place."""
    if place in ("", "carried"):
        return sweep.domain
    return LINKS if place == "target" else PAIRS if place in ("left", "right") else BODIES


def is_given(name: str) -> bool:
    """Whether a step gets it from outside: an input or a constant."""
    return readers(name) is not None
