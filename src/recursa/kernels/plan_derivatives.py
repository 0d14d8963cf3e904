"""Plans differentiated: another plan, whose sweeps run the other way for reverse mode, and along for forward mode.

What holds for a graph of operations holds for a plan of steps. Forward mode does beside every step what changes of its
arguments make of its results. Reverse mode does the plan, every step keeping what it was given, and then its steps in
reverse: what was read of a parent is added to it, what was added to one is read of it. So there is one more sweep for
each that there was, the work stays proportional to the number of bodies, and bodies share code as they do in any plan.

A derivative of buffer V is a buffer "~1 V" of :class:`~recursa.kernels.step_derivatives.Numbers`; the number tells
levels apart, since derivatives can be differentiated again. What is not there yet, sweeps over pairs of bodies, is
refused (``UntraceableError``), and every body has to be spelled out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recursa.errors import UntraceableError
from recursa.kernels.adjoint import gradient
from recursa.kernels.graph import Graph, Traced
from recursa.kernels.observe import numbers_of, observe
from recursa.kernels.step_derivatives import Along, Kept, Numbers, Pulled, Tape
from recursa.kernels.weighing import Gathered, Weighing
from recursa.model.model import Model
from recursa.spatial.scalars import Scalar
from recursa.sweeps.engine import Values
from recursa.sweeps.input_kinds import changes_of, input_behind, kind_of_input
from recursa.sweeps.plan import (
    BODIES,
    Buffer,
    Direction,
    Plan,
    PlanError,
    Step,
    Sweep,
    base_to_tip,
    each_link,
    is_given,
    split,
)

_REVERSED = {
    Direction.BASE_TO_TIP: Direction.TIP_TO_BASE,
    Direction.TIP_TO_BASE: Direction.BASE_TO_TIP,
    Direction.EACH_LINK: Direction.EACH_LINK,
}
_FOUND = {"child": "parent", "elder": "younger", "younger": "elder"}  # where a body finds what was left for it


@dataclass(frozen=True)
class PlanFunction:
    """Rows of numbers in, one row out, by a plan: what kernels of any form are made of.

    ``sizes`` are the numbers of every input by the names that plans know, in order; ``size`` those of the result.
    """

    plan: Plan
    model: Model
    sizes: Mapping[str, int]
    gather: Callable[[Values], Iterable[Scalar]]
    size: int
    level: int = 0

    def pulled(self, names: Sequence[str]) -> PlanFunction:
        """Weights of the result differentiated by these inputs, one after the other: reverse mode."""
        _refuse_pairs(self.plan)
        seen, level = observe(self.plan, self.model, self.sizes), self.level + 1
        weighing = Weighing.of(Gathered.of(self.plan, self.model, seen, self.gather), self.model, self.size, level)
        made = _Reverse(self, weighing, names, level)
        sizes, plan = {**self.sizes, weighing.name: self.size}, made.plan()
        total = sum(self.sizes[name] for name in names)
        return PlanFunction(plan, self.model, sizes, made.gather(names), total, level)

    def along(self, names: Sequence[str]) -> PlanFunction:
        """The change of the result along directions of these inputs: forward mode."""
        _refuse_pairs(self.plan)
        seen, level = observe(self.plan, self.model, self.sizes), self.level + 1
        directions = {name: changes_of(name, level) for name in names}
        made = _Forward(self.plan, directions, level)
        gathered = Gathered.of(self.plan, self.model, seen, self.gather)
        sizes = {**self.sizes, **{directions[name]: self.sizes[name] for name in names}}
        return PlanFunction(made.plan(), self.model, sizes, made.gather(gathered), self.size, level)


def plan_along(plan: Plan, directions: Mapping[str, str | Step]) -> Plan:
    """A plan and, beside each of its steps, what changes of some inputs make of what the step writes: forward mode.

    ``directions`` has for every input that changes the name by which steps read its change, or a step that makes the
    change. The change of buffer T is the buffer ``change_of("T")``: :class:`Numbers`, one for each of T's.
    """
    _refuse_pairs(plan)
    return _Forward(plan, directions, level=1).plan()


def change_of(buffer: str, level: int = 1) -> str:
    """The buffer with the change, or the derivative, of another one.

    >>> change_of("T")
    '~1 T'
    """
    return f"~{level} {buffer}"


def _refuse_pairs(plan: Plan) -> None:
    if any(sweep.direction not in _REVERSED for sweep in plan.sweeps):
        raise UntraceableError(
            f"plan {plan.name!r} goes over pairs of bodies, which is not differentiated sweep by sweep"
        )


def _buffer(name: str) -> str:
    return split(name)[0]


def _at(buffer: str, place: str) -> str:
    return f"{buffer}@{place}" if place else buffer


class _Active:
    """Which buffers change with some inputs, and which inputs steps read for them."""

    def __init__(self, plan: Plan, names: Collection[str]) -> None:
        self.names = names
        self.buffers: set[str] = set()
        while True:
            before = len(self.buffers)
            for sweep in plan.sweeps:
                for step in sweep.steps:
                    if any(map(self.reads, step.reads)):
                        self.buffers |= set(map(_buffer, step.writes))
            if len(self.buffers) == before:
                return

    def input(self, name: str) -> str | None:
        """The input behind a name, if it is one of those that change."""
        found = input_behind(name)
        return found if found in self.names else None

    def reads(self, name: str) -> bool:
        """Whether what is read by this name changes."""
        return self.input(name) is not None if is_given(name) else _buffer(name) in self.buffers


def _needed(plan: Plan, results: Iterable[str]) -> set[str]:
    """The buffers on which results depend."""
    needed = set(results)
    while True:
        before = len(needed)
        for step in (step for sweep in plan.sweeps for step in sweep.steps):
            if not needed.isdisjoint(map(_buffer, step.writes)):
                needed |= {_buffer(name) for name in step.reads if not is_given(name)}
        if len(needed) == before:
            return needed


def _bases(plan: Plan, level: int, buffers: Iterable[str]) -> list[Buffer]:
    """The buffers of derivatives. Sums start from zeros, as many as the buffer's own base value has numbers."""
    own = {one.name: one for one in plan.buffers}
    return [Buffer(change_of(name, level), Numbers.zero(own[name].base)) for name in sorted(buffers)]


def _checked(name: str, buffers: Iterable[Buffer], sweeps: Iterable[Sweep], target: int | None) -> Plan:
    kept = tuple(sweep for sweep in sweeps if sweep.steps)
    try:
        return Plan(name, tuple(buffers), kept, target)
    except PlanError as error:
        raise UntraceableError(f"no derivative sweep by sweep: {error}") from None


# ---- forward mode ----------------------------------------------------------------------------------------------------


class _Forward:
    """Beside every step what changes."""

    def __init__(self, plan: Plan, directions: Mapping[str, str | Step], level: int) -> None:
        self.own, self.level = plan, level
        self.making = [one for one in directions.values() if isinstance(one, Step)]
        self.directions = {name: one.writes[0] if isinstance(one, Step) else one for name, one in directions.items()}
        self.active = _Active(plan, directions)

    def plan(self) -> Plan:
        """Changes are found just before the step, which may replace what it reads."""
        sweeps, making = list[Sweep](), list(self.making)
        for sweep in self.own.sweeps:
            steps = [made for step in sweep.steps for made in (*self._changes(step), step)]
            read = {name for step in steps for name in step.reads}
            first = [one for one in making if not read.isdisjoint(one.writes)]
            making = [one for one in making if one not in first]
            sweeps.append(replace(sweep, steps=(*first, *steps)))
        made = (Buffer(name, ()) for one in self.making for name in one.writes)
        buffers = (*self.own.buffers, *made, *_bases(self.own, self.level, self.active.buffers))
        return _checked(f"{self.own.name} along", buffers, sweeps, self.own.target)

    def _changes(self, step: Step) -> Iterable[Step]:
        written = [split(name) for name in step.writes]
        wanted = tuple(k for k, (buffer, _) in enumerate(written) if buffer in self.active.buffers)
        moving = tuple(k for k, name in enumerate(step.reads) if self.active.reads(name))
        if not wanted:
            return
        reads = (*step.reads, *(self._change(step.reads[k]) for k in moving))
        writes = tuple(_at(change_of(written[k][0], self.level), written[k][1]) for k in wanted)
        yield Step(Along(step.fn, len(step.reads), len(step.writes), moving, wanted), reads, writes)

    def _change(self, name: str) -> str:
        given = self.active.input(name)
        if given is not None:
            return self.directions[given]
        buffer, place = split(name)
        return _at(change_of(buffer, self.level), place)

    def gather(self, gathered: Gathered) -> Callable[[Values], list[Scalar]]:
        """The changes of what is gathered."""
        graph, loads = gathered.graph, gathered.loads()
        moving = {
            Traced(graph, number): Traced(graph, graph.node("load", "change", *operands))
            for number, operands in loads.items()
            if operands[2].buffer in self.active.buffers
        }
        tape, level = Tape.of(graph, gathered.changed(moving)), self.level

        def gather(values: Values) -> list[Scalar]:
            def leaf(*operands: Any) -> Any:
                changed = operands[0] == "change"
                area, k, slot = operands[changed:]
                name = change_of(slot.buffer, level) if changed else slot.buffer
                value = values.robot[name] if area == "robot" else values[name][k]
                return value[slot.leaf] if changed else numbers_of(value)[slot.leaf]

            return tape.again(leaf)

        return gather


# ---- reverse mode ----------------------------------------------------------------------------------------------------


class _Reverse:
    """A plan, and after it its steps in reverse."""

    def __init__(self, function: PlanFunction, weighing: Weighing, names: Collection[str], level: int) -> None:
        self.function, self.own, self.level, self.weighing = function, function.plan, level, weighing
        self.active = _Active(self.own, names)
        self.relevant = self.active.buffers & _needed(self.own, weighing.buffers)
        self.base = {one.name: one for one in self.own.buffers}
        self.known: set[str] = set()  # derivatives that were written or added to so far
        self.kept: dict[tuple[int, int, int], Buffer] = {}  # what steps were given, by sweep, step, argument
        self.inputs: dict[tuple[str, str], str] = {}  # buffers of inputs' derivatives, by domain and input
        self.made: dict[str, Buffer] = {}  # all buffers of the way back
        self.changes = Counter(
            _buffer(name) for sweep in self.own.sweeps for step in sweep.steps for name in step.writes
        )

    def plan(self) -> Plan:
        """All sweeps."""
        outward = [self._keeping(s, sweep) for s, sweep in enumerate(self.own.sweeps)]
        back = list(self._beginning())
        for s in reversed(range(len(self.own.sweeps))):
            back += self._back(s, self.own.sweeps[s])
        buffers = (*self.own.buffers, *self.kept.values(), *self.made.values())
        return _checked(f"{self.own.name} back", buffers, (*outward, *back), self.own.target)

    # ---- buffers -----------------------------------------------------------------------------------------------------

    def _derivative(self, buffer: str, what: str = "") -> str:
        """The buffer for the derivative by another one, or for a part of it; sums of them start from zeros."""
        name = f"{change_of(buffer, self.level)}{what}"
        self.made.setdefault(name, Buffer(name, Numbers.zero(self.base[buffer].base)))
        return name

    def _derivative_by_input(self, domain: str, given: str) -> str:
        name = f"~{self.level} {domain} {given}"
        self.made.setdefault(name, Buffer(name, Numbers()))
        return self.inputs.setdefault((domain, given), name)

    def _and(self, name: str) -> tuple[str, ...]:
        """What a derivative is so far, to be added to; from now on there is something."""
        before = (name,) if name in self.known else ()
        self.known.add(name)
        return before

    # ---- outward -----------------------------------------------------------------------------------------------------

    def _differentiated(self, step: Step) -> bool:
        """Whether anything of a step matters."""
        return any(map(self._is_wanted, step.reads)) and not self.relevant.isdisjoint(map(_buffer, step.writes))

    def _is_wanted(self, name: str) -> bool:
        return self.active.input(name) is not None if is_given(name) else _buffer(name) in self.relevant

    def _keeping(self, s: int, sweep: Sweep) -> Sweep:
        """The sweep whose steps keep what they are given, where it does not stay anyhow."""
        steps = []
        for t, step in enumerate(sweep.steps):
            copied = [k for k, name in enumerate(step.reads) if not is_given(name) and not self._stays(name)]
            if not copied or not self._differentiated(step):
                steps.append(step)
                continue
            for k in copied:
                name = f"{step.reads[k].replace('@', ' of ')} at {self.level}.{s}.{t}"
                self.kept[s, t, k] = Buffer(name, self.base[_buffer(step.reads[k])].base)
            writes = (*step.writes, *(self.kept[s, t, k].name for k in copied))
            steps.append(replace(step, fn=Kept(step.fn, len(step.writes), tuple(copied)), writes=writes))
        return replace(sweep, steps=tuple(steps))

    def _stays(self, name: str) -> bool:
        """Whether what a step reads at its own place is never changed after it was first there."""
        buffer, place = split(name)
        return place == "" and self.changes[buffer] == 1 and self._last_written(buffer) is not None

    def _last_written(self, buffer: str) -> int | None:
        """The last sweep that writes a buffer at the place that it visits, if nobody adds to it later."""
        for s in reversed(range(len(self.own.sweeps))):
            written = {name for step in self.own.sweeps[s].steps for name in step.writes if _buffer(name) == buffer}
            if written:
                return s if buffer in written else None
        return None

    # ---- back --------------------------------------------------------------------------------------------------------

    def _beginning(self) -> Iterable[Sweep]:
        """Weights of what is not handed over in the sweep that wrote it last."""
        if self.weighing.of_robot is not None:
            step = self.weighing.step_of_robot(self._derivative)
            self.known |= {_buffer(name) for name in step.writes}
            yield base_to_tip(step, only=(0,))
            return
        over = base_to_tip if self.weighing.domain == BODIES else each_link
        late = [b for b in sorted(self.weighing.buffers & self.relevant) if self._last_written(b) is None]
        if late:
            yield over(*map(self._weighed, late))

    def _weighed(self, buffer: str) -> Step:
        name = self._derivative(buffer)
        return self.weighing.step(buffer, name, added=bool(self._and(name)))

    def _back(self, s: int, sweep: Sweep) -> list[Sweep]:
        """The sweep in reverse, and one for what it read of the target."""
        steps = [(t, step) for t, step in enumerate(sweep.steps) if self._differentiated(step)]
        reads = [
            split(name) for _, step in steps for name in step.reads if not is_given(name) and self._is_wanted(name)
        ]
        self.known |= {self._derivative(buffer) for buffer, place in reads if place == "parent"}  # children are first
        own = [] if self.weighing.of_robot else [
            self._weighed(buffer)
            for buffer in sorted(self.weighing.buffers & self.relevant) if self._last_written(buffer) == s
        ]  # fmt: skip
        for buffer, place in dict.fromkeys(reads):
            if place in _FOUND:  # what was left for a body by the one inward of it, or by a sibling
                left, name = self._derivative(buffer, f" for {place}"), self._derivative(buffer)
                own.append(Step(_total, (f"{left}@{_FOUND[place]}", *self._and(name)), (name,)))
        here = {self._derivative(buffer) for buffer, place in reads if place == ""}
        own += [made for t, step in reversed(steps) for made in self._pulled(s, t, step, sweep, here)]
        back = [Sweep(_REVERSED[sweep.direction], tuple(own), sweep.only)]
        for buffer in sorted({buffer for buffer, place in reads if place == "target"}):
            assert self.own.target is not None
            name, total = self._derivative(buffer), self._derivative(buffer, " of target")
            back.append(each_link(Step(_total, (f"{total}@robot", *self._and(name)), (name,)), only=(self.own.target,)))
        return back

    def _pulled(self, s: int, t: int, step: Step, sweep: Sweep, here: set[str]) -> Iterable[Step]:
        """The step in reverse: from derivatives by its results to those by what it read; ``here`` are the sweep's."""
        written = [split(name) for name in step.writes]
        there = {"parent": self.known | here}  # a parent has been visited already
        weighted = tuple(
            k for k, (buffer, place) in enumerate(written)
            if buffer in self.relevant and self._derivative(buffer) in there.get(place, self.known)
        )  # fmt: skip
        if not weighted:
            return
        wanted = tuple(k for k, name in enumerate(step.reads) if self._is_wanted(name))
        replaced = {self._derivative(buffer) for buffer, place in written if place == "" and buffer in self.relevant}
        outs: list[str] = []
        totals, added = list[str](), list[int]()
        for at, k in enumerate(wanted):
            name, place = self._place(step.reads[k], sweep)
            before = self._and(name)
            if place == "" and before and name not in replaced:
                totals.append(name)
                added.append(at)
            outs.append(_at(name, place))
        if len(set(outs)) < len(outs):
            raise UntraceableError(f"step {step} reads something twice")
        weights = [_at(self._derivative(written[k][0]), written[k][1]) for k in weighted]
        cleared = tuple(
            at for at, k in enumerate(weighted)
            if written[k][1] == "" and weights[at] not in outs and self.changes[written[k][0]] > 1
        )  # fmt: skip
        given = [self.kept[s, t, k].name if (s, t, k) in self.kept else name for k, name in enumerate(step.reads)]
        fn = Pulled(step.fn, len(step.reads), len(step.writes), wanted, weighted, tuple(added), cleared)
        yield Step(fn, (*given, *weights, *totals), (*outs, *(weights[at] for at in cleared)))

    def _place(self, name: str, sweep: Sweep) -> tuple[str, str]:
        """The buffer that takes the derivative by what a step read, and at which place."""
        given = self.active.input(name)
        if is_given(name):
            assert given is not None
            return self._derivative_by_input(sweep.domain, given), ""
        buffer, place = split(name)
        if place == "target":
            return self._derivative(buffer, " of target"), "robot"
        return (self._derivative(buffer, f" for {place}"), "") if place in _FOUND else (self._derivative(buffer), place)

    # ---- results -----------------------------------------------------------------------------------------------------

    def gather(self, names: Sequence[str]) -> Callable[[Values], list[Scalar]]:
        """The derivatives by inputs in a row."""
        model, sizes, found = self.function.model, self.function.sizes, dict(self.inputs)
        turned = {name: _Transposed(model, name, sizes[name]) for name in names}

        def gather(values: Values) -> list[Scalar]:
            row: list[Scalar] = []
            for name in names:
                total: list[Scalar] = [0.0] * sizes[name]
                for (_, given), buffer in found.items():
                    if given == name:
                        turned[name].add(total, values.lists.get(buffer, ()))
                row += total
            return row

        return gather


class _Transposed:
    """From derivatives by what steps get of an input to derivatives by its numbers."""

    def __init__(self, model: Model, name: str, size: int) -> None:
        self.model, self.kind, self.size = model, kind_of_input(name), size

    def add(self, total: list[Scalar], items: Sequence[Numbers]) -> None:
        """Add the derivatives of all bodies or links to a row of the input's numbers."""
        for k, slopes in enumerate(items):
            if slopes:
                places = range(*self.kind.part(self.model, k).indices(self.size))
                for place, slope in zip(places, self._own(k, len(places), slopes), strict=True):
                    total[place] = total[place] + slope

    def _own(self, k: int, count: int, slopes: Numbers) -> list[Scalar]:
        graph = Graph()
        own = graph.inputs("own", count)
        if self.kind.of_joint is not None:
            joint = replace(self.model.joints[k], q_start=0, v_start=0)
            got = numbers_of(self.kind.of_joint(joint, own))
        else:
            got = numbers_of(self.kind.value(own))
        found: list[Scalar] = [0.0] * count
        for number, slope in zip(got, slopes, strict=True):
            factors = _factors(number, own)
            for at, factor in factors.items():
                found[at] = found[at] + slope * factor
        return found


def _factors(number: Any, own: Sequence[Traced]) -> dict[int, float]:
    """The slopes of a number that is linear in some."""
    if not isinstance(number, Traced):
        return {}
    slopes = gradient(number, own)
    if any(isinstance(slope, Traced) for slope in slopes):
        raise UntraceableError("an input that does not enter linearly")
    return {at: float(slope) for at, slope in enumerate(slopes) if slope != 0.0}


def _total(*parts: Numbers) -> Numbers:
    total = Numbers()
    for part in parts:
        total = total + Numbers(part)
    return total
