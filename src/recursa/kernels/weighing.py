"""Where a result comes from, and so where its weights go when it is differentiated in reverse.

An entry of a result is most often a number that some body or link has in the end. If every reader finds its own weights
in the same way, such as at the entries of its joint, then one step that all bodies share hands them over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from recursa.errors import UntraceableError
from recursa.kernels.adjoint import gradient, tangent
from recursa.kernels.graph import Graph, Traced
from recursa.kernels.history import History
from recursa.kernels.loop_layout import results
from recursa.kernels.observe import Observation, numbers_of
from recursa.kernels.step_derivatives import Numbers, Tape
from recursa.model.model import Joint, Model
from recursa.spatial.scalars import Scalar
from recursa.sweeps.engine import Values
from recursa.sweeps.input_kinds import kind_of_input, weights
from recursa.sweeps.plan import BODIES, LINKS, Plan, Step

Kind = tuple[int, int, int]  # of an item: how many numbers its value has, coordinates and freedoms of its joint


@dataclass(frozen=True)
class Gathered:
    """A result in terms of what bodies, links and the robot have in the end: leaves ("load", (area, item, slot))."""

    graph: Graph
    outputs: list[Scalar]
    seen: Values

    @staticmethod
    def of(plan: Plan, model: Model, seen: Observation, gather: Callable[[Values], Iterable[Scalar]]) -> Gathered:
        """Found out by gathering such leaves."""
        found = results(History(plan, model), seen, gather)
        outputs = [Traced(found.graph, x) if isinstance(x, int) else x for x in found.outputs]
        return Gathered(found.graph, outputs, seen.values)

    def loads(self) -> dict[int, Any]:
        """The leaves by their nodes."""
        nodes = self.graph.reachable(x.number for x in self.outputs if isinstance(x, Traced))
        return {k: self.graph.nodes[k].operands for k in nodes if self.graph.nodes[k].op == "load"}

    def changed(self, moving: Mapping[Traced, Scalar]) -> list[Scalar]:
        """The change of the result along changes of its leaves."""
        return tangent(self.outputs, moving)


@dataclass(frozen=True)
class Weighing:
    """How the numbers of a buffer find their weights in an input called ``name``.

    ``places``: per buffer, and kind of item, and number of its value, the places of its weights among those that the
    item reads. ``tied``: numbers of tied joints count as often as their joint moves when the other moves by one.
    """

    name: str
    domain: str
    places: dict[str, dict[Kind, tuple[tuple[int, ...], ...]]] = field(default_factory=dict)
    tied: bool = False
    of_robot: Gathered | None = None

    @staticmethod
    def of(gathered: Gathered, model: Model, size: int, level: int) -> Weighing:
        """Found by trying; UntraceableError where the result is put together in another way."""
        loads = gathered.loads().values()
        domains = {area for area, _, _ in loads}
        if domains == {"robot"}:
            return Weighing(
                weights(level, "all", size), BODIES, {slot.buffer: {} for *_, slot in loads}, of_robot=gathered
            )
        if domains not in ({BODIES}, {LINKS}):
            raise UntraceableError(f"the result is made of numbers of {' and '.join(sorted(domains)) or 'nobody'}")
        domain = domains.pop()
        uses = list(_uses(gathered))
        tied = domain == BODIES and _tied(model, uses)
        for anchor in _anchors(domain, model, size):
            found = _places(uses, _Items(gathered, model, domain), weights(level, anchor, 0), size)
            if found is not None:
                span = 1 + max(place for one in found.values() for own in one.values() for all in own for place in all)
                return Weighing(weights(level, anchor, span), domain, found, tied)
        raise UntraceableError("numbers of the result do not lie alike for all bodies or links")

    @property
    def buffers(self) -> frozenset[str]:
        """What the result is made of."""
        return frozenset(self.places)

    def step(self, buffer: str, derivative: str, *, added: bool) -> Step:
        """Hand their weights to the numbers of a buffer, in a sweep over bodies or links."""
        joint = ("joint",) if self.domain == BODIES else ()
        reads = (buffer, self.name, *joint, *((derivative,) if added else ()))
        return Step(_Handed(self.places[buffer], bool(joint), self.tied), reads, (derivative,))

    def step_of_robot(self, derivative: Callable[[str], str]) -> Step:
        """The same for what is one for the whole robot; a step of one body."""
        assert self.of_robot is not None
        names = sorted(self.places)
        reads = (*(f"{name}@robot" for name in names), self.name)
        return Step(_OfRobot(self.of_robot, names), reads, tuple(f"{derivative(name)}@robot" for name in names))


class _Handed:
    """A step's function: from weights of an item to those of its numbers."""

    def __init__(self, places: dict[Kind, tuple[tuple[int, ...], ...]], of_joint: bool, tied: bool) -> None:
        self.places, self.of_joint, self.tied = places, of_joint, tied

    def __call__(self, value: Any, given: tuple[Scalar, ...], *rest: Any) -> Numbers:
        joint: Joint | None = rest[0] if self.of_joint else None
        count = len(numbers_of(value))
        own = self.places.get((count, *_freedoms(joint)), ((),) * count)
        factor = joint.tie.multiplier if self.tied and joint is not None and joint.tie is not None else 1.0
        found = Numbers(_sum(given[place] for place in places) * factor for places in own)
        return found + Numbers(rest[-1]) if len(rest) > self.of_joint else found


class _OfRobot:
    """A step's function: from weights of a result to those of the robot's numbers that it is made of."""

    def __init__(self, gathered: Gathered, names: list[str]) -> None:
        graph, self.names = gathered.graph, names
        total: Scalar = 0.0
        for k, output in enumerate(gathered.outputs):
            total = total + Traced(graph, graph.node("load", "weight", k, None)) * output
        leaves = [
            [Traced(graph, graph.node("load", "robot", 0, slot)) for slot in self._slots(gathered, name)]
            for name in names
        ]
        slopes = iter(gradient(total, [x for own in leaves for x in own]))
        self.tapes = Tape.of(graph, list(slopes))
        self.slots = [self._slots(gathered, name) for name in names]

    @staticmethod
    def _slots(gathered: Gathered, name: str) -> list[Any]:
        return sorted(slot for _, _, slot in gathered.loads().values() if slot.buffer == name)

    def __call__(self, *args: Any) -> Any:
        values = {name: numbers_of(value) for name, value in zip(self.names, args[:-1], strict=True)}
        given = args[-1]

        def leaf(area: str, k: int, slot: Any) -> Any:
            return given[k] if area == "weight" else values[slot.buffer][slot.leaf]

        slopes = iter(self.tapes.again(leaf))
        found = []
        for name, slots in zip(self.names, self.slots, strict=True):
            own: list[Scalar] = [0.0] * len(values[name])
            for slot in slots:
                own[slot.leaf] = next(slopes)
            found.append(Numbers(own))
        return found[0] if len(found) == 1 else tuple(found)


def _sum(numbers: Iterable[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for number in numbers:
        total = total + number
    return total


def _freedoms(joint: Joint | None) -> tuple[int, int]:
    return (0, 0) if joint is None else (joint.kind.nq, joint.kind.nv)


# ---- how numbers lie -------------------------------------------------------------------------------------------------

Use = tuple[Any, int, float]  # a number of the result is made of: (buffer, item, leaf), place in the result, factor


def _uses(gathered: Gathered) -> Iterator[Use]:
    loads = gathered.loads()
    leaves = {number: Traced(gathered.graph, number) for number in loads}
    for place, output in enumerate(gathered.outputs):
        if not isinstance(output, Traced):
            continue
        own = [k for k in gathered.graph.reachable([output.number]) if k in loads]
        for number, slope in zip(own, gradient(output, [leaves[k] for k in own]), strict=True):
            if isinstance(slope, Traced):
                raise UntraceableError("the result is not linear in what bodies and links have")
            _, item, slot = loads[number]
            yield (slot.buffer, item, slot.leaf), place, float(slope)


def _tied(model: Model, uses: list[Use]) -> bool:
    """Whether factors are those of ties."""
    factors = {item: factor for (_, item, _), _, factor in uses if factor != 1.0}  # all uses are looked at again below
    if not factors:
        return False
    ties = {k: joint.tie.multiplier for k, joint in enumerate(model.joints) if joint.tie is not None}
    if any(factor != ties.get(item, 1.0) for (_, item, _), _, factor in uses):
        raise UntraceableError("numbers of the result have factors that are not those of ties")
    return True


def _anchors(domain: str, model: Model, size: int) -> Iterator[str]:
    if domain == BODIES:
        yield from ("v", "q")
    count = model.nbodies if domain == BODIES else len(model.links)
    if size % count == 0:
        yield f"{domain}{size // count}"
    yield "all"


class _Items:
    """The kinds of items, from what they had in an observed run."""

    def __init__(self, gathered: Gathered, model: Model, domain: str) -> None:
        self.gathered, self.model, self.domain = gathered, model, domain

    def all(self, buffer: str) -> Iterator[tuple[int, Kind]]:
        for item, value in enumerate(self.gathered.seen[buffer]):
            joint = self.model.joints[item] if self.domain == BODIES else None
            yield item, (len(numbers_of(value)), *_freedoms(joint))


def _places(
    uses: list[Use], items: _Items, name: str, size: int
) -> dict[str, dict[Kind, tuple[tuple[int, ...], ...]]] | None:
    """Places by buffer, kind and number; None where they differ from item to item."""
    kind_of = {(buffer, k): kind for buffer in {use[0][0] for use in uses} for k, kind in items.all(buffer)}
    part = kind_of_input(name).part
    by_item: dict[tuple[str, int], dict[int, set[int]]] = {}
    for (buffer, item, leaf), place, _ in uses:
        offset = place - part(items.model, item).start
        if offset < 0:
            return None
        by_item.setdefault((buffer, item), {}).setdefault(leaf, set()).add(offset)
    found: dict[str, dict[Kind, list[set[int]]]] = {}
    for (buffer, item), leaves in by_item.items():
        kind = kind_of[buffer, item]
        own = found.setdefault(buffer, {}).setdefault(kind, [set() for _ in range(kind[0])])
        for leaf, offsets in leaves.items():
            if own[leaf] and own[leaf] != offsets:
                return None
            own[leaf] = offsets
    for (buffer, item), kind in kind_of.items():  # who reads by this pattern finds all of it
        start = part(items.model, item).start
        if any(start + offset >= size for own in found[buffer].get(kind, ()) for offset in own):
            return None
    return {
        buffer: {kind: tuple(tuple(sorted(own)) for own in leaves) for kind, leaves in kinds.items()}
        for buffer, kinds in found.items()
    }
