"""Which numbers a loop over bodies stores, and where.

Only what somebody reads is computed: results ask for slots, slots for nodes, nodes for further slots. A node that a
later sweep needs is computed once and saved with its body. What children read from their parent, or add to it, during
one sweep lives in a row that is handed on as soon as the last of them is done: few rows, which stay in the nearest
cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from recursa.errors import UntraceableError
from recursa.kernels.classes import Class, Output, Slot
from recursa.kernels.graph import LEAVES, Graph, Node, Traced
from recursa.kernels.history import History
from recursa.kernels.observe import Observation, Unknown, numbers_of, rebuilt
from recursa.model.model import WORLD, Model
from recursa.spatial.scalars import Scalar, is_zero
from recursa.sweeps.engine import Values, visiting_order
from recursa.sweeps.plan import BODIES, DOMAINS, Direction, Plan


@dataclass
class Block:
    """The code of one class in one sweep: nodes to compute, nodes saved by an earlier sweep, what to save and store."""

    order: list[int]
    restored: set[int]
    saves: list[int] = field(default_factory=list)
    stores: list[tuple[Slot, Output]] = field(default_factory=list)


# ---- results ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Results:
    """Where each entry of the result comes from: a constant, a node of ``graph`` (often just a stored number)."""

    graph: Graph
    outputs: list[Output]

    @cached_property
    def made(self) -> list[int]:
        """The nodes that have to be computed from stored numbers."""
        nodes = self.graph.nodes
        return sorted({x for x in self.outputs if isinstance(x, int) and nodes[x].op != "load"})

    def filled(self, width: int) -> list[bool]:
        """For every ``width`` entries, the last ones being as many too, whether one may be other than zero."""
        last = max(len(self.outputs) - width, 0)
        starts = (min(start, last) for start in range(0, len(self.outputs), width))
        return [not all(map(is_zero, self.outputs[start : start + width])) for start in starts]

    def loads(self) -> list[tuple[str, int, Slot]]:
        """The stored numbers they need: area, body or link, slot."""
        nodes = self.graph.reachable(x for x in self.outputs if isinstance(x, int))
        return [self.graph.nodes[k].operands for k in nodes if self.graph.nodes[k].op == "load"]  # type: ignore[misc]


def results(history: History, seen: Observation, gather: Callable[[Values], Iterable[Scalar]]) -> Results:
    """Gather from values that stand for what will have been stored."""
    graph, sweeps = Graph(), history.plan.sweeps
    domains = {name: sweep.domain for sweep in sweeps for step in sweep.steps for name in step.writes}

    def stored(value: Any, area: str, k: int, buffer: str, sweep: int | None) -> Any:
        def load(leaf: int) -> Traced:
            if sweep is None:
                raise UntraceableError(f"a loop over bodies keeps no {buffer!r} of bodies that it does not visit")
            return Traced(graph, graph.node("load", area, k, Slot(area, buffer, leaf, sweep)))

        known = [load(leaf) if isinstance(x, Unknown) else x for leaf, x in enumerate(numbers_of(value))]
        return rebuilt(value, iter(known))

    def stored_list(name: str) -> list[Any]:
        area = domains.get(name, BODIES)
        return [
            stored(value, area, k, name, history.left_by(area, k, name, len(sweeps) - 1))
            for k, value in enumerate(seen.values.lists[name])
        ]

    values = Values.__new__(Values)
    values.base = seen.values.base
    values.robot = {name: stored(value, "robot", 0, name, 0) for name, value in seen.values.robot.items()}
    values.lists = _OnDemand(stored_list, seen.values.lists.keys())
    outputs = [x.number if isinstance(x, Traced) else float(x) for x in gather(values)]
    return Results(graph, outputs)


class _OnDemand(dict[str, list[Any]]):
    """Lists made when they are asked for."""

    def __init__(self, make: Callable[[str], list[Any]], names: Iterable[str]) -> None:
        super().__init__()
        self._make = make
        self._names = frozenset(names)

    def __missing__(self, name: str) -> list[Any]:
        self[name] = made = self._make(name)
        return made

    def get(self, name: str, default: Any = None) -> Any:
        """The list, made if it is new; the default where no step wrote one."""
        return self[name] if name in self._names else default


# ---- demand ----------------------------------------------------------------------------------------------------------


def demanded(found: Sequence[Class], wanted: set[Slot], repeated: int) -> list[dict[int, Block]]:
    """The code of every class in every sweep, reduced to what the wanted slots need; ``wanted`` grows to all slots.

    Sweeps from ``repeated`` on are done for every column, so that nothing waits for them.
    """
    blocks: list[dict[int, Block]] = [{} for _ in found]
    known = [-1] * len(found)  # how many of its offers were wanted when the blocks of a class were made
    while True:
        reached: set[Slot] = set()
        for number, one in enumerate(found):
            own = sum(slot in wanted for offer in one.offers.values() for slot in offer)
            if own != known[number]:
                known[number], blocks[number] = own, _blocks(one, wanted, reached, repeated)
        if reached <= wanted:
            return blocks
        wanted |= reached


def _blocks(one: Class, wanted: set[Slot], reached: set[Slot], repeated: int) -> dict[int, Block]:
    """The blocks of a class; notes the slots they read. What can wait for the sweep that needs it waits."""
    while True:
        blocks = _blocks_as_they_are(one, wanted)
        late = _could_wait(one, blocks, repeated) or _wait_too_long(one, blocks)
        if not late:
            break
        one.postponed |= late
    nodes = one.graph.nodes
    reached |= {nodes[k].operands[1] for block in blocks.values() for k in block.order if nodes[k].op == "load"}
    return blocks


def _blocks_as_they_are(one: Class, wanted: set[Slot]) -> dict[int, Block]:
    """From the last sweep to the first: what each stores, and what later ones need of it."""
    saves: dict[int, set[int]] = {sweep: set() for sweep in one.sweeps}
    blocks: dict[int, Block] = {}
    for sweep in reversed(one.sweeps):
        stores = [(slot, node) for slot, node in one.offers[sweep].items() if slot in wanted]
        roots = [node for _, node in stores if isinstance(node, int)]
        order, restored = _needed(one, sweep, [*roots, *saves[sweep]])
        for number in restored:
            saves[one.level(number)].add(number)
        blocks[sweep] = Block(order, restored, sorted(saves[sweep]), stores)
    return {sweep: blocks[sweep] for sweep in one.sweeps}


def _could_wait(one: Class, blocks: dict[int, Block], repeated: int) -> dict[int, int]:
    """Saved nodes that follow from inputs alone and that their sweep does not need itself: the sweep that does."""
    late: dict[int, int] = {}
    for sweep, block in blocks.items():
        roots = [node for _, node in block.stores if isinstance(node, int)]
        volatile = [number for number in block.saves if not one.follows_from_inputs(number)]
        needed_here = set(_needed(one, sweep, [*roots, *volatile])[0])
        for number in block.saves:
            if number not in needed_here and one.follows_from_inputs(number):
                then = next(s for s in blocks if s > sweep and number in blocks[s].restored)
                if (then < repeated) == (sweep < repeated):
                    late[number] = then
    return late


def _wait_too_long(one: Class, blocks: dict[int, Block]) -> dict[int, int]:
    """Postponed nodes that an earlier sweep needs after all, for something else that was postponed."""
    early: dict[int, int] = {}
    for sweep, block in blocks.items():
        for number in block.order:
            if one.postponed.get(number, sweep) > sweep:
                early.setdefault(number, sweep)
    return early


_DONE_AGAIN = ("neg", "lt")  # a sign is cheaper to change again than to store, and a comparison is not a number


def _needed(one: Class, sweep: int, roots: Iterable[int]) -> tuple[list[int], set[int]]:
    """Nodes to compute in a sweep, and those that an earlier one has saved."""
    nodes, needed, restored = one.graph.nodes, set(), set()
    pending = list(roots)
    while pending:
        number = pending.pop()
        if number in needed or number in restored:
            continue
        op, operands = nodes[number]
        if op not in _DONE_AGAIN and 0 <= one.level(number) < sweep:
            restored.add(number)
            continue
        needed.add(number)
        if op not in LEAVES:
            pending.extend(operands)
    return sorted(needed), restored


def is_carried(node: Node) -> bool:
    """Whether it is loaded from one body further out on the same walk, where this very sweep has been before."""
    via, slot, reading = node.operands
    return bool(via == "carried" and slot.sweep == reading)


def loads_of_steps(found: Sequence[Class], blocks: Sequence[dict[int, Block]]) -> list[Node]:
    """The stored numbers that steps read."""
    every = (
        one.graph.nodes[k]
        for one, own in zip(found, blocks, strict=True)
        for block in own.values()
        for k in block.order
    )
    return [node for node in every if node.op == "load"]


def handed_on(found: Sequence[Class], blocks: Sequence[dict[int, Block]], results: Results) -> set[Slot]:
    """Slots that nobody reads otherwise than one body further in on the same walk."""
    loads = loads_of_steps(found, blocks)
    at_rest = {node.operands[1] for node in loads if not is_carried(node)}
    at_rest |= {slot for _, _, slot in results.loads()}
    return {node.operands[1] for node in loads} - at_rest


# ---- places ----------------------------------------------------------------------------------------------------------


class Layout:
    """Places of all slots, in units of one number per lane: records per body and link, rows, and one for the robot.

    What is only handed on along a walk has one place for all pairs.
    """

    def __init__(self, plan: Plan, model: Model, wanted: Iterable[Slot], handed: Iterable[Slot] = ()) -> None:
        self.plan = plan
        self.model = model
        self.kept: dict[str, dict[Slot, int]] = {domain: {} for domain in DOMAINS}
        self.in_row: dict[Slot, int] = {}
        self.robot: dict[Slot, int] = {}
        self.handed = {slot: place for place, slot in enumerate(sorted(handed))}
        filled = [0] * len(plan.sweeps)
        for slot in sorted(set(wanted) - self.handed.keys()):
            if slot.area in ("row", "sum"):
                self.in_row[slot] = filled[slot.sweep]
                filled[slot.sweep] += 1
            elif slot.area == "robot":
                self.robot[slot] = len(self.robot)
            else:
                places = self.kept.get(slot.area, self.kept[BODIES])
                places[slot] = len(places)
        self.row_size = max(filled, default=0)

    def rows(self, sweep: int) -> tuple[list[int], list[int], int]:
        """During a sweep: each body's own row, its parent's (-1: none), and how many rows there are.

        Going in, parents that the sweep does not visit have none.
        """
        size = self.model.nbodies
        own, other, count = [-1] * size, [-1] * size, 0
        free: list[int] = []
        waiting: dict[int, int] = {}  # children of a body not yet visited
        for joint in self.model.joints:
            waiting[joint.parent] = waiting.get(joint.parent, 0) + 1
        outward = self.plan.sweeps[sweep].direction is Direction.BASE_TO_TIP
        order = visiting_order(self.plan.sweeps[sweep], self.model)
        visited = frozenset(order)

        def taken() -> int:
            nonlocal count
            if free:
                return free.pop()
            count += 1
            return count - 1

        for k in order:
            parent = self.model.joints[k].parent
            if outward:
                if parent != WORLD:
                    other[k] = own[parent]
                    waiting[parent] -= 1
                    if waiting[parent] == 0 and own[parent] >= 0:
                        free.append(own[parent])
                if k in waiting:
                    own[k] = taken()
            else:
                if own[k] >= 0:
                    free.append(own[k])
                if parent in visited:
                    if own[parent] < 0:
                        own[parent] = taken()
                    other[k] = own[parent]
        return own, other, count
