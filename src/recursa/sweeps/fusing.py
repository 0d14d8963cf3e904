"""Plans joined into one: what they share is done once, in the fewest sweeps.

A buffer of the same name is the same quantity in all plans, so it has to be computed by the same steps; then X, P, D
and G of two plans are computed once. Every buffer holds in the end what it holds after its own plan, to the bit: sums
are added in the same order, and steps change their place only where nobody can tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from recursa.sweeps.plan import Buffer, Plan, PlanError, Step, Sweep, split
from recursa.sweeps.scheduling import Order, Stage, Use, Work, orders, schedule, sources, works


def fuse(*plans: Plan, name: str | None = None, keep: Iterable[str] | None = None) -> Plan:
    """One plan that computes what all of them compute. With ``keep``, only what these buffers need.

    >>> from recursa.dynamics.mass_matrix import MASS_MATRIX_PLAN
    >>> from recursa.dynamics.inverse import gravity_plan
    >>> for sweep in fuse(MASS_MATRIX_PLAN, gravity_plan()).sweeps:
    ...     print(sweep.direction.value, [step.fn.__name__ for step in sweep.steps])
    base to tip ['relative', 'static_acceleration', 'resting_force']
    tip to base ['composite', 'mass_rows', 'joint_torque']

    Buffers of the same name that are computed differently are a :class:`PlanError`: see :func:`renamed`.
    """
    if not plans:
        raise PlanError("fuse needs at least one plan")
    joint = _Joint()
    for plan in plans:
        joint.add(plan)
    wanted = set(range(len(joint.works))) if keep is None else joint.needed_for(tuple(keep))
    numbers = sorted(wanted)
    place = {number: at for at, number in enumerate(numbers)}
    rules = {
        rule._replace(first=place[rule.first], then=place[rule.then])
        for rule in joint.rules
        if rule.first in wanted and rule.then in wanted
    }
    sweeps = tuple(
        Sweep(direction, tuple(joint.works[numbers[at]].step for at in chosen), only)
        for (direction, only), chosen in schedule([joint.works[number].stages for number in numbers], rules)
    )
    used = {buffer for number in numbers for buffer, _ in joint.works[number].uses}
    buffers = tuple(buffer for buffer in joint.buffers.values() if buffer.name in used)
    joined = " + ".join(dict.fromkeys(plan.name for plan in plans))
    return Plan(joined if name is None else name, buffers, sweeps, joint.target)


def renamed(plan: Plan, names: Mapping[str, str], name: str | None = None) -> Plan:
    """The same plan with other names for some of its buffers, so that it can be fused with one that uses them.

    >>> from recursa.dynamics.inverse import gravity_plan
    >>> print(renamed(gravity_plan(), {"f": "g"}).sweeps[1])
    tip to base:
        T, g@parent <- joint_torque(joint, X, g)    T = H f, f(parent) += phi f           (11), (12)
    """
    declared = [buffer.name for buffer in plan.buffers]
    for old in names:
        if old not in declared:
            raise PlanError(f"plan {plan.name!r} has no buffer {old!r} to rename")

    def new(names_of_step: tuple[str, ...]) -> tuple[str, ...]:
        parts = [text.partition("@") for text in names_of_step]
        return tuple(f"{names.get(buffer, buffer)}{at}{place}" for buffer, at, place in parts)

    buffers = tuple(
        replace(buffer, name=names.get(buffer.name, buffer.name), begins=names.get(buffer.begins or "", buffer.begins))
        for buffer in plan.buffers
    )
    sweeps = tuple(
        replace(
            sweep, steps=tuple(replace(step, reads=new(step.reads), writes=new(step.writes)) for step in sweep.steps)
        )
        for sweep in plan.sweeps
    )
    return Plan(plan.name if name is None else name, buffers, sweeps, plan.target)


def following(plan: Plan, first: Plan, instead: Mapping[str, str]) -> Plan:
    """A plan that does another one first, and reads buffers of that in place of inputs.

    >>> from recursa.dynamics.configuration import COORDINATE_RATES_PLAN
    >>> from recursa.sweeps import Buffer, Step, base_to_tip
    >>> twice = Step(lambda v: tuple(2.0 * x for x in v), ("v",), ("w",), "w = 2 v")
    >>> print(following(COORDINATE_RATES_PLAN, Plan("twice", (Buffer("w", ()),), (base_to_tip(twice),)), {"v": "w"}))
    plan coordinate_rates
      base to tip:
          w <- <lambda>(v)    w = 2 v
      base to tip:
          qdot <- coordinate_rates(joint, q, w)    dq/dt
    """
    sweeps = (replace(sweep, steps=tuple(step.reading(**instead) for step in sweep.steps)) for sweep in plan.sweeps)
    return replace(plan, buffers=(*plan.buffers, *first.buffers), sweeps=(*first.sweeps, *sweeps))


class _Same(NamedTuple):
    """What makes two steps the same."""

    fn: object
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    stages: tuple[Stage, ...]
    turn: int  # which of several such steps of a plan


class _Joint:
    """Plans joined so far."""

    def __init__(self) -> None:
        self.works: list[Work] = []
        self.sources: list[tuple[tuple[int, ...], ...]] = []  # by number among all works
        self.rules: set[Order] = set()
        self.buffers: dict[str, Buffer] = {}
        self.target: int | None = None
        self._numbers: dict[_Same, int] = {}
        self._writers: dict[str, tuple[set[int], str]] = {}  # of a buffer, and the plan that brought it

    def add(self, plan: Plan) -> None:
        """Bring in a plan: steps that are there already keep their numbers, others get new ones."""
        if None not in (self.target, plan.target) and self.target != plan.target:
            raise PlanError(f"plan {plan.name!r} has target link {plan.target}, another one {self.target}")
        self.target = plan.target if self.target is None else self.target
        own = _without_repetitions(works(plan))
        numbers = self._numbered(own)
        self._agree(plan, own, numbers)
        seen = [tuple(tuple(numbers[i] for i in before) for before in uses) for uses in sources(own)]
        for work, number, before in zip(own, numbers, seen, strict=True):
            if number == len(self.works):
                self.works.append(work)
                self.sources.append(before)
            elif self.sources[number] != before:
                self._refuse(plan, work)
        self.rules |= {rule._replace(first=numbers[rule.first], then=numbers[rule.then]) for rule in orders(own)}

    def needed_for(self, keep: tuple[str, ...]) -> set[int]:
        """The works on which the final values of some buffers depend."""
        for buffer in keep:
            if buffer not in self._writers:
                raise PlanError(f"no plan computes {buffer!r}, which is to be kept")
        todo = [number for buffer in keep for number in self._writers[buffer][0]]
        needed: set[int] = set()
        while todo:
            number = todo.pop()
            if number not in needed:
                needed.add(number)
                uses = zip(self.works[number].uses, self.sources[number], strict=True)
                todo += [source for (_, use), before in uses if use is not Use.WRITE for source in before]
        return needed

    def _numbered(self, own: list[Work]) -> list[int]:
        numbers, turns = [], dict[_Same, int]()
        for work in own:
            same = _Same(work.step.fn, work.step.reads, work.step.writes, work.stages, 0)
            turns[same] = turns.get(same, 0) + 1
            numbers.append(self._numbers.setdefault(same._replace(turn=turns[same]), len(self._numbers)))
        return numbers

    def _agree(self, plan: Plan, own: list[Work], numbers: list[int]) -> None:
        """Buffers of the same name have to be the same and be written by the same steps."""
        declared = {buffer.name: buffer for buffer in plan.buffers}
        writers: dict[str, set[int]] = {}
        for work, number in zip(own, numbers, strict=True):
            for buffer in work.written:
                writers.setdefault(buffer, set()).add(number)
        for buffer, at in writers.items():
            if self.buffers.setdefault(buffer, declared[buffer]) != declared[buffer]:
                raise PlanError(
                    f"plans {self._writers[buffer][1]!r} and {plan.name!r} declare buffer {buffer!r} differently. "
                    f"{_remedy(buffer)}"
                )
            if self._writers.setdefault(buffer, (at, plan.name))[0] != at:
                other = min(at ^ self._writers[buffer][0])
                steps = [*(work.step for work in self.works), *_new_steps(own, numbers, len(self.works))]
                raise PlanError(
                    f"plans {self._writers[buffer][1]!r} and {plan.name!r} compute buffer {buffer!r} differently: only "
                    f"one of them has the step {steps[other]}. {_remedy(buffer)}"
                )

    def _refuse(self, plan: Plan, work: Work) -> None:
        buffer = min(work.written)
        raise PlanError(
            f"plans {self._writers[buffer][1]!r} and {plan.name!r} do the step {work.step} at different points of "
            f"their computation. {_remedy(buffer)}"
        )


def _new_steps(own: list[Work], numbers: list[int], known: int) -> list[Step]:
    return [work.step for work, number in zip(own, numbers, strict=True) if number >= known]


def _remedy(buffer: str) -> str:
    return f"Give it another name in one of them: renamed(plan, {{{buffer!r}: ...}})"


def _without_repetitions(all_works: list[Work]) -> list[Work]:
    """Leaves out what is only computed again: the same step, and nothing that it reads or writes changed in between."""
    for later in range(len(all_works)):
        for earlier in range(later):
            if _repeats(all_works, earlier, later):
                return _without_repetitions(all_works[:later] + all_works[later + 1 :])
    return all_works


def _repeats(all_works: list[Work], earlier: int, later: int) -> bool:
    one, other = all_works[earlier], all_works[later]
    same = (one.step.fn, one.step.reads, one.step.writes) == (other.step.fn, other.step.reads, other.step.writes)
    if not same or one.stages != other.stages or any(split(name)[1] for name in one.step.writes):
        return False
    before = sources(all_works)
    for (_, use), was, now in zip(one.uses, before[earlier], before[later], strict=True):
        if use is Use.WRITE:
            expected = (*was, earlier)
        elif use is Use.NEIGHBOUR:  # the neighbour's value is its own, if it writes that: then again the same
            was, now = (tuple(dict.fromkeys(earlier if i == later else i for i in seen)) for seen in (was, now))
            expected = was
        else:
            expected = was
        if now != expected:
            return False
    return True
