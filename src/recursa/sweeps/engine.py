"""The one place that visits the tree: runs any plan of any model on any scalar."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from recursa.model.model import WORLD, Model
from recursa.spatial.scalars import Scalar
from recursa.sweeps.input_kinds import CONSTANTS, INPUT_KINDS, Given, kind_of_input
from recursa.sweeps.plan import BODIES, LINKS, PAIRS, Direction, Plan, Step, Sweep, domain_at, split


class Values:
    """What a run computed: ``values["V"]`` is a list per body, link or pair, ``values.robot["h"]`` one number."""

    __slots__ = ("base", "lists", "robot")

    def __init__(self, plan: Plan, given: Given) -> None:
        self.base: dict[str, Any] = {
            buffer.name: buffer.base if buffer.base_from is None else buffer.base_from(given) for buffer in plan.buffers
        }
        self.lists: dict[str, list[Any]] = {}
        self.robot: dict[str, Any] = {}

    def __getitem__(self, name: str) -> list[Any]:
        return self.lists[name]


def run(plan: Plan, model: Model, inputs: Mapping[str, Sequence[Scalar]]) -> Values:
    """Carry out a plan. ``inputs`` holds the scalars of one state by input, q, v ..., as far as the plan needs them.

    How many there are of each, and what may be given besides: ``INPUT_KINDS`` in ``inputs.py``.
    """
    values = Values(plan, Given.of(model, inputs))
    cut = _cut_inputs(plan, model, inputs)
    for sweep in plan.sweeps:
        _Run(plan, sweep, model, values, cut).go()
    return values


def _cut_inputs(plan: Plan, model: Model, inputs: Mapping[str, Sequence[Scalar]]) -> dict[str, list[Any]]:
    """What steps get at each body or link, by the names they read; what replaces a constant by the constant's."""
    cut = {name: kind_of_input(name).cut(model, inputs[name]) for name in plan.inputs}
    instead = [kind for kind in INPUT_KINDS.values() if kind.replaces and kind.name in inputs]
    return cut | {kind.replaces: kind.cut(model, inputs[kind.name]) for kind in instead}


def count(domain: str, model: Model) -> int:
    """How many bodies, links or pairs there are."""
    if domain in (BODIES, LINKS):
        return model.nbodies if domain == BODIES else len(model.links)
    return len(model.pairs if domain == PAIRS else model.apart)


def visiting_order(sweep: Sweep, model: Model) -> Sequence[int]:
    """The bodies (or links, or pairs) that a sweep visits, in its order."""
    numbers: Sequence[int] = range(count(sweep.domain, model)) if sweep.only is None else sweep.only
    return numbers[::-1] if sweep.direction is Direction.TIP_TO_BASE else numbers


def neighbours(place: str, sweep: Sweep, model: Model) -> Callable[[int], int]:
    """Which body (or pair) a place such as ``"@parent"`` means, seen from body, link or pair k, or WORLD."""
    if place == "parent":
        return lambda k: model.joints[k].parent
    if place == "body":
        return lambda k: model.links[k].body
    if place in ("elder", "younger"):
        which = 0 if place == "elder" else 1
        return lambda k: model.siblings[k][which]
    if place in ("start", "here"):
        which = 0 if place == "start" else 1
        return lambda k: model.pairs[k][which]
    if place in ("left", "right"):
        which = 0 if place == "left" else 1
        return lambda k: model.apart[k][which]
    path = sweep.only or ()
    outward = dict(zip(path, (*path[1:], WORLD), strict=False))  # along a path every body has one next body
    return outward.__getitem__


def begins_walk(pair: int, model: Model) -> bool:
    """Whether a pair is the first one of its body's walk inward."""
    outer, inner = model.pairs[pair]
    return model.joints[outer].parent == inner


class _Run:
    """One sweep under way."""

    def __init__(
        self,
        plan: Plan,
        sweep: Sweep,
        model: Model,
        values: Values,
        inputs: dict[str, list[Any]],
    ) -> None:
        self.plan = plan
        self.sweep = sweep
        self.model = model
        self.values = values
        self.inputs = inputs
        self.steps = [(step.fn, *self._accessors(step)) for step in sweep.steps]

    def go(self) -> None:
        for k in visiting_order(self.sweep, self.model):
            for fn, getters, setters in self.steps:
                result = fn(*[get(k) for get in getters])
                if len(setters) == 1:
                    setters[0](k, result)
                else:
                    for put, value in zip(setters, result, strict=True):
                        put(k, value)

    def _accessors(self, step: Step) -> tuple[list[Callable[[int], Any]], list[Callable[[int, Any], None]]]:
        return [self._getter(name) for name in step.reads], [self._setter(name) for name in step.writes]

    def _getter(self, name: str) -> Callable[[int], Any]:
        if name in self.inputs:
            return self.inputs[name].__getitem__
        if name in CONSTANTS:
            return CONSTANTS[name].at(self.model)
        buffer, place = split(name)
        if place == "robot":
            return lambda _: self.values.robot[buffer]
        if place == "carried":
            return self._carried(buffer)
        items, base = self._items(buffer, place), self.values.base[buffer]
        if place == "":
            return items.__getitem__
        if place == "target":
            return lambda _: items[self.plan.target]  # type: ignore[index]
        neighbour = neighbours(place, self.sweep, self.model)

        def get(k: int) -> Any:
            n = neighbour(k)
            return base if n == WORLD else items[n]

        return get

    def _carried(self, buffer: str) -> Callable[[int], Any]:
        """The value one body further out on a walk."""
        begins = next(one.begins for one in self.plan.buffers if one.name == buffer)
        assert begins is not None
        pairs, items, first = self.model.pairs, self._items(buffer, ""), self._items(begins, "start")
        return lambda k: first[pairs[k][0]] if begins_walk(k, self.model) else items[k - 1]

    def _setter(self, name: str) -> Callable[[int, Any], None]:
        buffer, place = split(name)
        if place == "robot":
            totals = self.values.robot
            totals.setdefault(buffer, self.values.base[buffer])

            def add_total(_: int, value: Any) -> None:
                totals[buffer] = totals[buffer] + value

            return add_total
        items = self._items(buffer, place)
        if place == "":
            return items.__setitem__
        neighbour = neighbours(place, self.sweep, self.model)

        def add(k: int, value: Any) -> None:
            n = neighbour(k)
            if n != WORLD:
                items[n] = items[n] + value

        return add

    def _items(self, buffer: str, place: str) -> list[Any]:
        size = count(domain_at(place, self.sweep), self.model)
        return self.values.lists.setdefault(buffer, [self.values.base[buffer]] * size)
