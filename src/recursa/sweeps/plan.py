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

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from inspect import signature
from itertools import pairwise
from types import FunctionType
from typing import Any

from recursa.errors import RecursaError
from recursa.sweeps.input_kinds import CONSTANTS, INPUT_KINDS, Given, Over, has_own_name, readers

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


# ---- what a well-formed plan is. Every plan is checked when it is made; nothing later has to doubt it ----------------
# - Every buffer is declared once and is of one kind: a value per body, per link, per pair, or one for the robot.
# - Inputs and constants are read where they mean something: those of joints and bodies in sweeps over bodies, those of
#   links in sweeps over links; walks inward from every body read buffers only.
# - A step takes as many arguments as it reads, and writes something, nothing twice.
# - What is read has been written. At the same body or link: by a step listed before, or by children adding to it. At
#   the parent (going out) or the next body outward (going in along a path): anywhere in the sweep. Elsewhere, that is a
#   sum over the robot or over the links of a body, and what is at the target link: by sweeps that are over, since a sum
#   that is still being added to depends on the order of the bodies.
#
# The values that a well-formed plan computes follow from these rules alone, which is what ``fusing.py`` relies on.


NEIGHBOURS = ("parent", "child", "elder", "younger", "carried")  # places that a sweep has been to before


class PlanError(RecursaError):
    """A plan that is not well formed: a mistake in Recursa, not in its use."""


class Kind(Enum):
    """What a buffer holds one value for."""

    BODY = "per body"
    LINK = "per link"
    PAIR = "per pair of bodies"
    APART = "per two bodies on different branches"
    ROBOT = "one for the robot"


def check(plan: Plan) -> None:
    """Raise :class:`PlanError` for the first thing wrong with a plan; say where it is and why it cannot be.

    >>> from recursa.sweeps import Buffer, Plan, Step, base_to_tip
    >>> Plan("sum", (Buffer("x", 0),), (base_to_tip(Step(abs, ("y",), ("x",))),))
    Traceback (most recent call last):
    ...
    recursa.sweeps.plan.PlanError: plan 'sum', step x <- abs(y): unknown name 'y'
    """
    for step, complaint in _complaints(plan):
        where = "" if step is None else f", step {step}"
        raise PlanError(f"plan {plan.name!r}{where}: {complaint}")


def kind_of(name: str, sweep: Sweep) -> Kind:
    """Of which kind a buffer is if a step of this sweep names it so."""
    _, place = split(name)
    if place == "robot":
        return Kind.ROBOT
    return {LINKS: Kind.LINK, PAIRS: Kind.PAIR, APART: Kind.APART}.get(domain_at(place, sweep), Kind.BODY)


def _complaints(plan: Plan) -> Iterator[tuple[Step | None, str]]:
    yield from ((None, complaint) for complaint in _about_declarations(plan))
    kinds: dict[str, tuple[Kind, str]] = {}  # and the name by which it was first written
    for sweep in plan.sweeps:
        for step in sweep.steps:
            for name in step.writes:
                kinds.setdefault(split(name)[0], (kind_of(name, sweep), name))
    declared = {buffer.name for buffer in plan.buffers}
    written: set[str] = set()  # by steps so far
    for sweep in plan.sweeps:
        here = {name for step in sweep.steps for name in step.writes}
        for step in sweep.steps:
            for complaint in _about_step(step):
                yield step, complaint
            for name in step.reads:
                yield from ((step, c) for c in _about_read(name, plan, sweep, declared, written, here))
            for name in step.writes:
                yield from ((step, c) for c in _about_write(name, sweep, declared))
            for name in (*step.reads, *step.writes):
                used = kind_of(name, sweep)
                kind, first = kinds.get(split(name)[0], (used, name))
                if used is not kind and not is_given(name):
                    yield step, f"{name!r} is {used.value} here, but written as {first!r} it is {kind.value}"
            for buffer in (split(name)[0] for name in step.reads if split(name)[1] == "carried"):
                begins = next((one.begins for one in plan.buffers if one.name == buffer), None)
                kind, first = kinds.get(begins or "", (Kind.BODY, ""))
                if kind is not Kind.BODY:
                    yield step, f"walks of {buffer!r} begin with {begins!r}, which written as {first!r} is {kind.value}"
            written |= {split(name)[0] for name in step.writes}


def _about_declarations(plan: Plan) -> Iterator[str]:
    seen: set[str] = set()
    for buffer in plan.buffers:
        if buffer.name in seen:
            yield f"buffer {buffer.name!r} is declared twice"
        if is_given(buffer.name) or "@" in buffer.name:
            yield f"no buffer can be called {buffer.name!r}, which means something else in a step"
        seen.add(buffer.name)
    for sweep in plan.sweeps:
        numbers = sweep.only or ()
        if any(later <= earlier for earlier, later in pairwise(numbers)):
            yield f"a sweep goes through {numbers}: these numbers must increase, as they do from base to tip"


def _about_step(step: Step) -> Iterator[str]:
    if not step.writes:
        yield "it writes nothing"
    if len(set(step.writes)) < len(step.writes):
        yield f"it writes {next(n for n in step.writes if step.writes.count(n) > 1)!r} twice"
    if not _takes(step.fn, len(step.reads)):
        yield f"its function does not take the {len(step.reads)} arguments that it reads"


def _takes(fn: Callable[..., Any], count: int) -> bool:
    """Whether a function can be called with so many arguments; built-in ones may not say."""
    if isinstance(fn, FunctionType) and fn.__code__.co_argcount == count and not fn.__code__.co_kwonlyargcount:
        return True  # the usual case, without the cost of a signature
    try:
        signature(fn).bind(*range(count))
    except TypeError:
        return False
    except ValueError:
        pass
    return True


def _about_read(
    name: str, plan: Plan, sweep: Sweep, declared: set[str], written: set[str], here: set[str]
) -> Iterator[str]:
    links = sweep.domain == LINKS
    of = readers(name)
    if of is not None and sweep.domain in (PAIRS, APART):
        yield f"{name!r} is given for a body or a link, and this sweep visits pairs: keep it in a buffer"
    elif of is not None:
        here_are = Over.LINKS if links else Over.BODIES
        if of not in (here_are, Over.EITHER):
            yield f"{name!r} is given for {of.value}, and this is a sweep over {here_are.value}"
    if of is not None:
        return
    buffer, place = split(name)
    if buffer not in declared or place not in PLACES:
        yield f"unknown name {name!r}"
    if place == "parent" and sweep.direction is not Direction.BASE_TO_TIP:
        yield f"{name!r} is only known going base to tip"
    if place == "elder" and sweep.direction is not Direction.BASE_TO_TIP:
        yield f"{name!r} is only known going base to tip"
    if place == "younger" and sweep.direction is not Direction.TIP_TO_BASE:
        yield f"{name!r} is only known going tip to base"
    if place == "child" and (sweep.direction is not Direction.TIP_TO_BASE or sweep.only is None):
        yield f"{name!r} is only known going in along a path"
    if place == "target" and plan.target is None:
        yield f"{name!r} without a target link"
    if place == "body" and not links:
        yield f"{name!r} outside a sweep over links"
    if place in ("start", "here", "carried") and sweep.domain != PAIRS:
        yield f"{name!r} outside walks inward"
    if place in ("left", "right") and sweep.domain != APART:
        yield f"{name!r} outside a sweep over bodies on different branches"
    if place == "carried":
        begins = next((one.begins for one in plan.buffers if one.name == buffer), None)
        if begins is None:
            yield f"{name!r}, but the buffer does not say what it begins with"
        elif begins not in written:
            yield f"{name!r} begins with {begins!r}, which is read before it is written"
    summed = f"{buffer}@parent" in here
    if buffer not in written and not (summed or (place in NEIGHBOURS and buffer in here)):
        yield f"{name!r} is read before it is written"
    source = buffer if place == "target" else name
    if place in ("robot", "body", "target") and source in here:
        yield f"{name!r} is read in the sweep that writes it, so that it would depend on the order of the bodies"


def _about_write(name: str, sweep: Sweep, declared: set[str]) -> Iterator[str]:
    buffer, place = split(name)
    if buffer not in declared or place not in ("", "parent", "body", "robot"):
        yield f"cannot write {name!r}"
    if place == "parent" and sweep.direction is not Direction.TIP_TO_BASE:
        yield f"{name!r} going out"
    if place == "body" and sweep.domain != LINKS:
        yield f"{name!r} outside a sweep over links"
