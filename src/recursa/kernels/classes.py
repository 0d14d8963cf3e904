"""Bodies (and links) that can share code, and that code: a plan's steps traced once per class.

A class is a set of bodies whose steps read values of the same structure and that stand alike in the tree. Its steps run
on tracing scalars whose leaves are inputs of the body (``input``), constants from a table (``param``) and values stored
by another body or summed over several (``load``). Where all members have a 0, 1 or -1 it is part of the code; what
follows from constants alone is computed once, here, and becomes another column of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recursa.errors import UntraceableError
from recursa.kernels.graph import Graph, Node, Traced, code_name, operands_of
from recursa.kernels.history import History
from recursa.kernels.observe import Observation, numbers_of, rebuilt, structure
from recursa.model.model import WORLD, Joint, Model
from recursa.spatial.constant_trig import atan2, cos_sin
from recursa.sweeps.engine import Values, begins_walk, count
from recursa.sweeps.input_kinds import Given, Over, input_behind, kind_of_input
from recursa.sweeps.plan import APART, BODIES, LINKS, PAIRS, Plan, Step, Sweep, domain_at, is_given, split

Output = int | float  # a node, or a constant


class Slot(NamedTuple):
    """A stored number: the ``leaf``-th of a buffer's value, where ``area`` says, as it is after a sweep.

    Areas: "row" (at a body, for its children, during one sweep), "sum" (at a body, from its children, during one
    sweep), "bodies", "links", "pairs" and "apart" (kept), "total" (at a body, from its links or from children, added up
    in a sweep that does not visit the body), "robot" (added up over all).
    """

    area: str
    buffer: str
    leaf: int
    sweep: int


_ANYWHERE = ("const", "input", "param")  # leaves that every sweep can have
ADDED = ("sum", "total", "robot")  # areas into which several bodies or links add


class ClassGraph(Graph):
    """A graph that works out what depends on constants alone, for every member at once."""

    def __init__(self) -> None:
        super().__init__()
        self.columns: list[NDArray[np.float64]] = []  # per param its value at each member
        self._known: dict[bytes, int] = {}
        self._fixed: set[int] = set()  # nodes that are constants

    def param(self, column: NDArray[np.float64]) -> int:
        """The node of a number that differs from member to member."""
        key = column.tobytes()
        if key not in self._known:
            self._known[key] = len(self.columns)
            self.columns.append(column)
        number = super().node("param", self._known[key])
        self._fixed.add(number)
        return number

    def constant(self, value: float) -> int:
        """The number of a constant."""
        number = super().constant(value)
        self._fixed.add(number)
        return number

    def node(self, op: str, *operands: Any) -> int:
        """The number of a node; operations on constants are done."""
        done = _ON_COLUMNS.get(op)
        if done is not None and self._fixed.issuperset(operands):
            with np.errstate(all="ignore"):  # what is not finite shows in the result, as elsewhere
                return self.param(np.asarray(done(*[self._column(self.nodes[k]) for k in operands]), float))
        return super().node(op, *operands)

    def _column(self, node: Node) -> Any:
        return self.columns[node.operands[0]] if node.op == "param" else node.operands[0]


_FREE = (0.0, 1.0, -1.0)  # constants worth folding; others come from the table, so that robots can share code

_ON_COLUMNS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "neg": np.negative, "sqrt": np.sqrt,
    "cos": np.vectorize(lambda angle: cos_sin(float(angle))[0], otypes=[float]),
    "sin": np.vectorize(lambda angle: cos_sin(float(angle))[1], otypes=[float]),
    "atan2": np.vectorize(lambda y, x: atan2(float(y), float(x)), otypes=[float]),
}  # fmt: skip


@dataclass
class Class:
    """Bodies or links that share code. ``offers[sweep]`` are the numbers that could be stored at the end of a sweep;
    ``level`` says in which sweep a node can first be computed (-1: in any).
    """

    domain: str
    members: list[int]
    graph: ClassGraph
    has_children: bool
    gives_first: frozenset[int]  # sweeps in which it is the first to add to its parent's sums
    offers: dict[int, dict[Slot, Output]] = field(default_factory=dict)
    before: list[int] = field(default_factory=list)  # how many nodes there were before each of its sweeps
    traced_in: list[int] = field(default_factory=list)  # and which sweeps these are
    postponed: dict[int, int] = field(default_factory=dict)  # nodes that are computed in a later sweep than they could
    _pure: dict[int, bool] = field(default_factory=dict)

    @property
    def sweeps(self) -> list[int]:
        """The sweeps that visit it."""
        return list(self.offers)

    def level(self, number: int) -> int:
        """In which sweep a node is computed."""
        return self.postponed.get(number, self._levels[number])

    @cached_property
    def _levels(self) -> list[int]:
        """For every node the sweep in which it was traced."""
        starts = zip((0, *self.before[1:]), (*self.before[1:], len(self.graph.nodes)), strict=True)
        found = [sweep for sweep, (start, stop) in zip(self.traced_in, starts, strict=True) for _ in range(start, stop)]
        return [-1 if node.op in _ANYWHERE else s for node, s in zip(self.graph.nodes, found, strict=True)]

    def follows_from_inputs(self, number: int) -> bool:
        """Whether a node needs nothing that another body has stored, so that any sweep can compute it."""
        known = self._pure.get(number)
        if known is None:
            node = self.graph.nodes[number]
            known = node.op != "load" and all(self.follows_from_inputs(k) for k in operands_of(node))
            self._pure[number] = known
        return known


# ---- who is like whom ------------------------------------------------------------------------------------------------


def classes(history: History, sizes: Mapping[str, int], seen: Observation) -> list[Class]:
    """All classes of bodies and links, traced."""
    shared = _Shared(history, sizes, seen)
    model = shared.model
    return [
        _Tracer(shared, domain, members).traced()
        for domain in shared.plan.domains
        for members in _alike(shared, domain, count(domain, model))
    ]


class _Shared:
    """What all classes of a plan need."""

    def __init__(self, history: History, sizes: Mapping[str, int], seen: Observation) -> None:
        self.history = history
        self.plan: Plan = history.plan
        self.model: Model = history.model
        self.sizes = sizes
        self.seen = seen
        self.parents = {joint.parent for joint in self.model.joints}

    def steps(self, domain: str) -> list[tuple[int, int]]:
        """(sweep, step) of all steps done there."""
        return [
            (s, t) for s, sweep in enumerate(self.plan.sweeps) if sweep.domain == domain
            for t in range(len(sweep.steps))
        ]  # fmt: skip

    def written(self, sweep: int, buffer: str, suffix: str) -> bool:
        """Whether a sweep writes a buffer in this way."""
        return any(buffer + suffix in step.writes for step in self.plan.sweeps[sweep].steps)


def _alike(shared: _Shared, domain: str, size: int) -> list[list[int]]:
    """The members of each class."""
    steps = shared.steps(domain)
    found: dict[Any, list[int]] = {}
    for k in range(size) if steps else ():
        visits = [shared.seen.given[s][t].get(k) for s, t in steps]
        if any(visits):
            given = tuple(visit and visit.structures for visit in visits)
            found.setdefault((given, _standing(shared, domain, steps, k)), []).append(k)
    return list(found.values())


def _standing(shared: _Shared, domain: str, steps: Sequence[tuple[int, int]], k: int) -> Any:
    """How a body or link stands in the tree, as far as its code depends on it."""
    model = shared.model
    sources = tuple(
        shared.history.source(name, k, s)
        for s, t in steps if k in shared.history.visited[s]
        for name in shared.plan.sweeps[s].steps[t].reads if _is_elsewhere(name)
    )  # fmt: skip
    if domain == PAIRS:
        return begins_walk(k, model), sources
    if domain == APART:
        return sources
    if domain == LINKS:
        return model.links[k].body == WORLD, not any(_moved(model.links[k].offset)), sources
    joint = model.joints[k]
    return structure(joint, []), joint.parent == WORLD, k in shared.parents, _sums(shared, k), sources


def _sums(shared: _Shared, k: int) -> Any:
    """What a body gives and takes in the sweeps that add to bodies; the world takes nothing."""
    history, at_world = shared.history, shared.model.joints[k].parent == WORLD
    return tuple(
        (None if at_world or sweep.domain == LINKS else history.gives(k, s), k in history.first_giver[s])
        for s, sweep in enumerate(shared.plan.sweeps)
        if history.added[s]
    )


def _is_elsewhere(name: str) -> bool:
    """Whether a step reads this at another body or link."""
    return not is_given(name) and split(name)[1] not in ("", "robot")


def _moved(offset: Any) -> list[bool]:
    identity = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    return [x != y for x, y in zip(numbers_of(offset), identity, strict=True)]


# ---- tracing ---------------------------------------------------------------------------------------------------------


class _Tracer:
    """Runs the steps of one class."""

    def __init__(self, shared: _Shared, domain: str, members: list[int]) -> None:
        self.shared = shared
        self.plan = shared.plan
        self.model = shared.model
        self.first = members[0]
        self.graph = ClassGraph()
        self.history = shared.history
        sweeps = range(len(self.plan.sweeps)) if domain == BODIES else ()
        gives_first = frozenset(s for s in sweeps if all(self.history.gives(self.first, s)))
        has_children = domain == BODIES and self.first in shared.parents
        self.result = Class(domain, members, self.graph, has_children, gives_first)
        self.values: dict[str, Any] = {}
        of_base = [name for name in shared.sizes if kind_of_input(name).over is Over.BASE]
        self.base = Values(self.plan, Given.of(self.model, {name: self._input(name) for name in of_base})).base

    def traced(self) -> Class:
        """The class with everything it computes."""
        for number, sweep in enumerate(self.plan.sweeps):
            if self.history.visits(self.result.domain, self.first, number):
                self._sweep(number, sweep)
        return self.result

    def _sweep(self, number: int, sweep: Sweep) -> None:
        self.number, self.current = number, sweep
        self.result.before.append(len(self.graph.nodes))
        self.result.traced_in.append(number)
        given: dict[tuple[str, str], Any] = {}  # by area and buffer: several steps may add to the same
        self._take_sums()
        for t, step in enumerate(sweep.steps):
            result = step.fn(*self._given(t, step))
            for name, value in zip(step.writes, (result,) if len(step.writes) == 1 else result, strict=True):
                buffer, place = split(name)
                if place == "":
                    self.values[buffer] = value
                else:
                    self._give(given, buffer, place, value)
        self.result.offers[number] = self._offers(given)

    def _offers(self, given: dict[tuple[str, str], Any]) -> dict[Slot, Output]:
        """Everything that could be stored at the end of a sweep."""
        values = [
            (Slot(area, buffer, leaf, 0 if area == "robot" else self.number), x)
            for (area, buffer), value in given.items() for leaf, x in enumerate(numbers_of(value))
        ]  # fmt: skip
        areas = (self.result.domain, "row") if self.result.has_children else (self.result.domain,)
        values += [
            (Slot(area, buffer, leaf, self.number), x)
            for buffer, value in self.values.items() for leaf, x in enumerate(numbers_of(value)) for area in areas
        ]  # fmt: skip
        return {slot: _output(x) for slot, x in values}

    def _give(self, given: dict[tuple[str, str], Any], buffer: str, place: str, value: Any) -> None:
        """Note what is added to a parent, to a link's body or to the robot's; the world takes nothing."""
        k = self.first
        if place == "robot":
            if any(one.name == buffer and one.base_from is not None for one in self.plan.buffers):
                raise UntraceableError(f"a loop over bodies cannot start the sum {buffer!r} from what a run is given")
            area = "robot"
        elif (self.model.joints[k].parent if place == "parent" else self.model.links[k].body) == WORLD:
            return
        else:
            area = "sum" if place == "parent" and self.history.gives(k, self.number)[0] else "total"
        if structure(value, []) != structure(self.base[buffer], []):
            raise UntraceableError(f"a loop over bodies cannot add up {buffer!r}, whose values differ in structure")
        before = given.get((area, buffer))
        given[area, buffer] = value if before is None else before + value

    def _take_sums(self) -> None:
        """Add what links and children have handed over."""
        if self.result.domain != BODIES:
            return
        taken = [("total", buffer, sweep) for buffer, sweep in self.history.waiting(self.first, self.number)]
        added = sorted(self.history.added[self.number])
        for buffer in added:  # without children too, somebody may read it
            self.values.setdefault(buffer, self.base[buffer])
        if self.first in self.history.first_giver[self.number]:
            taken += [("sum", buffer, self.number) for buffer in added]
        for area, buffer, sweep in taken:
            own = self.values.get(buffer, self.base[buffer])
            self.values[buffer] = own + self._loaded(self.base[buffer], "own", area, buffer, sweep)

    # ---- what a step is given ----------------------------------------------------------------------------------------

    def _given(self, t: int, step: Step) -> list[Any]:
        """Arguments of a step: known numbers from the table, unknown ones from where the name says."""
        seen = self.shared.seen.given[self.number][t]
        observed = [seen[k].numbers for k in self.result.members]
        first = seen[self.first].values
        return [self._argument(name, first[i], [one[i] for one in observed]) for i, name in enumerate(step.reads)]

    def _argument(self, name: str, template: Any, numbers: list[list[Any]]) -> Any:
        known = [self._known([one[j] for one in numbers]) for j in range(len(numbers[0]))]
        if any(x is None for x in known):
            source = self._source(name, template)
            if structure(source, []) != structure(template, []):
                raise UntraceableError(f"{name!r} differs in structure from body to body")
            known = [own if x is None else x for x, own in zip(known, numbers_of(source), strict=True)]
        return rebuilt(template, iter(known))

    def _known(self, numbers: Sequence[Any]) -> Any:
        """A constant, a number from the table, or None where it is not known for all members."""
        if not all(isinstance(x, float) for x in numbers):
            return None
        if numbers[0] in _FREE and all(x == numbers[0] for x in numbers):
            return float(numbers[0])
        return Traced(self.graph, self.graph.param(np.array(numbers, float)))

    def _source(self, name: str, template: Any) -> Any:
        """Where unknown numbers come from."""
        given = input_behind(name)
        if given is not None:
            kind = kind_of_input(given)
            if kind.of_joint is not None:
                return kind.of_joint(self._joint(), self._input(given))
            return kind.value(self._input(given))
        buffer, place = split(name)
        if place == "":
            return self.values.get(buffer, self.base[buffer])
        if place == "robot":
            return self._loaded(template, "robot", "robot", buffer, 0)
        return self._elsewhere(name, template)

    def _elsewhere(self, name: str, template: Any) -> Any:
        """A buffer's value at a neighbour or at the target."""
        buffer, place = split(name)
        sweep = self.history.source(name, self.first, self.number)
        if sweep is None:
            return self.base[buffer]
        if place == "carried" and begins_walk(self.first, self.model):
            return self._loaded(template, "start", BODIES, self.history.beginning(buffer), sweep)
        everywhere = self.current.only is None
        if place == "parent" and everywhere and self.shared.written(self.number, buffer, ""):
            return self._loaded(template, "parent", "row", buffer, self.number)
        return self._loaded(template, place, domain_at(place, self.current), buffer, sweep)

    def _joint(self) -> Joint:
        """The joint, its constants known or from the table, its coordinates first in line."""
        joints = [self.model.joints[k] for k in self.result.members]
        numbers = [numbers_of(joint) for joint in joints]
        known = [self._known([one[j] for one in numbers]) for j in range(len(numbers[0]))]
        return replace(rebuilt(joints[0], iter(known)), q_start=0, v_start=0)

    def _input(self, name: str) -> list[Traced]:
        """The entries of an input that belong to a member, counted from where these begin."""
        part = kind_of_input(name).part(self.model, self.first)
        return self.graph.inputs(code_name(name), len(range(*part.indices(self.shared.sizes[name]))))

    def _loaded(self, template: Any, via: str, area: str, buffer: str, sweep: int) -> Any:
        count = len(numbers_of(template))
        nodes = [
            self.graph.node("load", via, Slot(area, buffer, leaf, sweep), self.number) for leaf in range(count)
        ]  # the sweep of reading is part of it: what is stored may change
        return rebuilt(template, (Traced(self.graph, node) for node in nodes))


def _output(x: Any) -> Output:
    return x.number if isinstance(x, Traced) else float(x)
