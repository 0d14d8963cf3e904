"""In which order the steps of plans have to be done, and the fewest sweeps that respect it.

Two steps depend on each other where both name a buffer and one of them writes it. In a well-formed plan it is clear
which of two such uses comes first at every body, even within a sweep: a parent has been visited before its children
going out, after them going in. The table ``_AT_ONE_GO`` says for which pairs one sweep does both in that order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from recursa.sweeps.plan import NEIGHBOURS, Direction, Plan, PlanError, Step, is_given, split

Stage = tuple[Direction, tuple[int, ...] | None]  # what a sweep goes through: direction and ``only``


class Use(Enum):
    """How a step uses a buffer."""

    READ = 1  # where it is
    WRITE = 2
    NEIGHBOUR = 3  # reads at the parent or the next body outward
    ADD = 4  # to the parent's
    FAR_READ = 5  # of a sum over the robot or a body's links, or at the target
    FAR_ADD = 6  # to such a sum


_PLAIN, _ADDS = (Use.READ, Use.WRITE), (Use.ADD, Use.FAR_ADD)
_WRITES = (Use.WRITE, *_ADDS)
_AT_ONE_GO = {
    (Use.WRITE, Use.NEIGHBOUR),  # the neighbour has been visited
    (Use.ADD, Use.READ),  # so have all children
    (Use.ADD, Use.WRITE),
    (Use.ADD, Use.NEIGHBOUR),
}


class Work(NamedTuple):
    """A step at its place in a plan."""

    step: Step
    sweep: int
    stages: tuple[Stage, ...]  # in which it may be done: both directions, if it touches nothing but its own body
    uses: tuple[tuple[str, Use], ...]  # buffers, first those read

    @property
    def written(self) -> set[str]:
        """The buffers that it changes."""
        return {buffer for buffer, use in self.uses if use in _WRITES}


class Order(NamedTuple):
    """One work does not come in an earlier sweep than another, or (``apart``) only in a later one.

    Where both are in one sweep, ``listed`` says that the first is also listed first.
    """

    first: int
    then: int
    apart: bool
    listed: bool


def works(plan: Plan) -> list[Work]:
    """The steps of a plan, one by one."""
    begins = {buffer.name: buffer.begins for buffer in plan.buffers if buffer.begins is not None}
    return [
        Work(step, number, _stages(step, (sweep.direction, sweep.only)), _uses(step, begins))
        for number, sweep in enumerate(plan.sweeps)
        for step in sweep.steps
    ]


def _stages(step: Step, own: Stage) -> tuple[Stage, ...]:
    direction, only = own
    stays = any(split(name)[1] in NEIGHBOURS for name in step.reads) or any("@" in n for n in step.writes)
    if direction not in (Direction.BASE_TO_TIP, Direction.TIP_TO_BASE) or stays:
        return (own,)
    return (Direction.BASE_TO_TIP, only), (Direction.TIP_TO_BASE, only)


def _uses(step: Step, begins: Mapping[str, str]) -> tuple[tuple[str, Use], ...]:
    reads = {"": Use.READ} | dict.fromkeys(NEIGHBOURS, Use.NEIGHBOUR)
    writes = {"": Use.WRITE, "parent": Use.ADD}
    named = [(*split(name), reads, Use.FAR_READ) for name in step.reads if not is_given(name)]
    named += [(*split(name), writes, Use.FAR_ADD) for name in step.writes]
    carried = [buffer for buffer, place in map(split, step.reads) if place == "carried"]
    named += [(begins[buffer], "start", reads, Use.FAR_READ) for buffer in carried]
    return tuple((buffer, near.get(place, far)) for buffer, place, near, far in named)


def sources(all_works: Sequence[Work]) -> list[tuple[tuple[int, ...], ...]]:
    """For each work and each of its uses: which works have written that buffer before."""
    writers: dict[str, list[tuple[int, Use]]] = {}
    for number, work in enumerate(all_works):
        for buffer, use in work.uses:
            if use in _WRITES:
                writers.setdefault(buffer, []).append((number, use))
    return [
        tuple(
            tuple(dict.fromkeys(i for i, how in writers.get(buffer, ()) if _precedes(all_works, i, how, number, use)))
            for buffer, use in work.uses
        )
        for number, work in enumerate(all_works)
    ]


def orders(all_works: Sequence[Work]) -> Iterator[Order]:
    """All that has to hold for the works of one plan, so that every use finds the values that it finds in the plan."""
    users: dict[str, list[tuple[int, Use]]] = {}
    for number, work in enumerate(all_works):
        for buffer, use in work.uses:
            users.setdefault(buffer, []).append((number, use))
    for at in users.values():
        for i, how in at:
            for j, use in at:
                if i != j and (how in _WRITES or use in _WRITES) and _precedes(all_works, i, how, j, use):
                    plain = how in _PLAIN and use in _PLAIN
                    together = how in _ADDS and use in _ADDS and all_works[i].sweep == all_works[j].sweep
                    apart = not (plain or together or (how, use) in _AT_ONE_GO)
                    yield Order(i, j, apart, listed=plain or (together and i < j))


def _precedes(all_works: Sequence[Work], i: int, how: Use, j: int, use: Use) -> bool:
    """Whether use ``how`` of work i comes before ``use`` of work j at every item; sums of one sweep go together."""
    if all_works[i].sweep != all_works[j].sweep:
        return all_works[i].sweep < all_works[j].sweep
    if how in _PLAIN and use in _PLAIN:
        return i < j
    return (how, use) in _AT_ONE_GO or (how in _ADDS and use in _ADDS)


# ---- the fewest sweeps -----------------------------------------------------------------------------------------------


def schedule(stages: Sequence[tuple[Stage, ...]], rules: Iterable[Order]) -> list[tuple[Stage, list[int]]]:
    """Sweeps, as few as possible, each with the works to do in it; every work is as early as that allows.

    Breadth first over what can be done by then: a sweep does all that it can, as having done more never hurts.
    """
    needs: list[list[Order]] = [[] for _ in stages]
    for rule in sorted(set(rules)):
        needs[rule.then].append(rule)
    kinds = sorted({stage for own in stages for stage in own}, key=_rank)
    reached: dict[frozenset[int], list[tuple[Stage, list[int]]]] = {frozenset(): []}
    while True:
        for done, sweeps in reached.items():
            if len(done) == len(stages):
                return sweeps
        further: dict[frozenset[int], list[tuple[Stage, list[int]]]] = {}
        for done, sweeps in reached.items():
            for stage, new in _next_sweeps(done, kinds, stages, needs):
                further.setdefault(done | new, [*sweeps, (stage, _listed(new, needs))])
        if not further:
            raise PlanError("no order of the steps suits all plans: they use the same buffers in different orders")
        reached = {done: sweeps for done, sweeps in further.items() if not any(done < other for other in further)}


def _rank(stage: Stage) -> tuple[int, tuple[int, ...]]:
    direction, only = stage
    return list(Direction).index(direction), (-1,) if only is None else only


def _next_sweeps(
    done: frozenset[int],
    kinds: Sequence[Stage],
    stages: Sequence[tuple[Stage, ...]],
    needs: Sequence[Sequence[Order]],
) -> list[tuple[Stage, set[int]]]:
    """What the next sweep could be and do. One that leaves nothing for another of its kind is the only choice."""
    choices = []
    for stage in kinds:
        new = _all_possible(stage, done, stages, needs)
        left = [own for number, own in enumerate(stages) if stage in own and number not in done]
        if len(new) == len(left) and (stage,) in left:
            return [(stage, new)]
        if new:
            choices.append((stage, new))
    return choices


def _all_possible(
    stage: Stage, done: frozenset[int], stages: Sequence[tuple[Stage, ...]], needs: Sequence[Sequence[Order]]
) -> set[int]:
    """All works that a sweep can do next."""
    new = {number for number, own in enumerate(stages) if stage in own and number not in done}
    while True:
        stuck = {
            number
            for number in new
            if any(rule.first not in done and (rule.apart or rule.first not in new) for rule in needs[number])
        }
        if not stuck:
            return new
        new -= stuck


def _listed(chosen: set[int], needs: Sequence[Sequence[Order]]) -> list[int]:
    """The works of a sweep in an order that the rules allow, else as they come."""
    waiting, listed = sorted(chosen), list[int]()
    while waiting:
        for number in waiting:
            if not any(rule.listed and rule.first in waiting for rule in needs[number]):
                break
        else:
            raise PlanError("no order of the steps suits all plans: they use the same buffers in different orders")
        waiting.remove(number)
        listed.append(number)
    return listed
