"""A plan that stands for a matrix: what it makes of unit vectors. What does not wait for the vector is done once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from recursa.sweeps.plan import Plan, Sweep
from recursa.sweeps.scheduling import Use, sources, works


@dataclass(frozen=True)
class Unit:
    """The input in which a plan is linear, and how many unit vectors there are of it."""

    name: str
    count: int


def staged(plan: Plan, unit: str) -> tuple[Plan, int]:
    """The same plan with all steps that wait for an input in sweeps of their own, at the end, and their first sweep.

    >>> from recursa.dynamics.factorization import SOLVE
    >>> later, first = staged(SOLVE, "tau")
    >>> [(sweep.direction.value, [step.writes for step in sweep.steps]) for sweep in later.sweeps[first:]]
    [('tip to base', [('nu', 'z@parent')]), ('base to tip', [('qdd', 'lambda')])]
    """
    late = _waiting(plan, unit)
    cut: tuple[list[Sweep], list[Sweep]] = [], []
    number = 0
    for sweep in plan.sweeps:
        numbered = list(enumerate(sweep.steps, number))
        number += len(numbered)
        for waits, sweeps in enumerate(cut):
            steps = tuple(step for at, step in numbered if (at in late) is bool(waits))
            sweeps += [replace(sweep, steps=steps)] if steps else []
    early, rest = cut
    return replace(plan, sweeps=(*early, *rest)), len(early)


def _waiting(plan: Plan, unit: str) -> set[int]:
    """The steps, by number, that depend on an input, or that change what such a step has read by then."""
    every = works(plan)
    before = sources(every)
    late = {number for number, work in enumerate(every) if unit in work.step.reads}
    while True:
        changed = {buffer for number in late for buffer in every[number].written}
        overtaken = {
            number
            for at in late
            for (buffer, use), seen in zip(every[at].uses, before[at], strict=True)
            if use not in (Use.WRITE, Use.ADD, Use.FAR_ADD)
            for number, work in enumerate(every)
            if number != at and buffer in work.written and number not in seen
        }
        more = {number for number, work in enumerate(every) if any(buffer in changed for buffer, _ in work.uses)}
        if late >= more | overtaken:
            return late
        late |= more | overtaken
