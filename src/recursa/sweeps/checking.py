"""What a well-formed plan is. Every plan is checked when it is made; nothing later has to doubt it.

- Every buffer is declared once and is of one kind: a value per body, per link, per pair, or one for the robot.
- Inputs and constants are read where they mean something: those of joints and bodies in sweeps over bodies, those of
  links in sweeps over links; walks inward from every body read buffers only.
- A step takes as many arguments as it reads, and writes something, nothing twice.
- What is read has been written. At the same body or link: by a step listed before, or by children adding to it. At the
  parent (going out) or the next body outward (going in along a path): anywhere in the sweep. Elsewhere, that is a sum
  over the robot or over the links of a body, and what is at the target link: by sweeps that are over, since a sum that
  is still being added to depends on the order of the bodies.

The values that a well-formed plan computes follow from these rules alone, which is what ``fusing.py`` relies on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from inspect import signature
from itertools import pairwise
from types import FunctionType
from typing import Any

from recursa.errors import RecursaError
from recursa.sweeps.inputs import Over, readers
from recursa.sweeps.plan import (
    APART,
    LINKS,
    PAIRS,
    PLACES,
    Direction,
    Plan,
    Step,
    Sweep,
    domain_at,
    is_given,
    split,
)

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
    recursa.sweeps.checking.PlanError: plan 'sum', step x <- abs(y): unknown name 'y'
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
