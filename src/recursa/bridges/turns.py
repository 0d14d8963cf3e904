"""A graph as the turns of a loop: rows of nodes of one kind, with the places of what they read and write.

Sums, differences, products and changes of sign are one kind, ``s p q + r``. A product that one sum alone uses is done
together with it. A turn is as wide as the graph has work to do at the same time: turns that are too wide would be empty
for the most part, so the widest are taken that do no more than ``MOST`` times the graph's operations. Places of values
that nobody reads again are taken by later turns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import Any

import numpy as np

from recursa.kernels.function import Output
from recursa.kernels.graph import Graph, Node, operands_of

MOST = 2.9  # operations that are done for every one of the graph
WIDTHS = (128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 2)
SUM = "sum"
FLOPS = defaultdict(lambda: 1, {SUM: 3})  # operations of a node of each kind

_ZERO, _ONE = 0, 1  # places of these constants


@dataclass(frozen=True)
class Schedule:
    """Turns of a loop: what kind of node each takes, the places of operands and where values go."""

    kinds: tuple[str, ...]  # the branches of the loop
    which: np.ndarray[Any, Any]  # (turns,)
    operands: np.ndarray[Any, Any]  # (turns, 3, width): p, q, r
    signs: np.ndarray[Any, Any]  # (turns, width): s
    start: np.ndarray[Any, Any]  # (turns,): where the values are stored
    inputs: tuple[np.ndarray[Any, Any], ...]  # which entries of each input are read
    constants: np.ndarray[Any, Any]
    rows: int  # of all values
    results: np.ndarray[Any, Any]  # where the results are

    @property
    def width(self) -> int:
        """Nodes of a turn."""
        return int(self.signs.shape[1])

    @property
    def operations(self) -> int:
        """What all turns do, empty places included."""
        return sum(self.width * FLOPS[self.kinds[k]] for k in self.which)


@dataclass(frozen=True)
class _Task:
    """One node, or a sum with its product: ``s p q + r``."""

    kind: str
    reads: tuple[int, ...]  # p, q, r; None of them for the constants 0 and 1, which are -1 - place
    sign: float = 1.0


def schedule(graph: Graph, outputs: Sequence[Output], sizes: Iterable[str]) -> Schedule:
    """The turns of a function with these inputs, by name."""
    work = _Work(graph, outputs)
    if not work.tasks:
        return _placed(work, [], 1, sizes)
    bound = MOST * max(1, graph.counts(work.results).total)
    wide = [width for width in WIDTHS if width <= max(WIDTHS[-1], work.parallel)]
    for width in wide:
        turns = work.turns(width)
        if width == WIDTHS[-1] or sum(width * FLOPS[kind] for kind, _ in turns) <= bound:
            break
    return _placed(work, turns, width, sizes)


class _Work:
    """What is to be computed, and who waits for whom."""

    def __init__(self, graph: Graph, outputs: Sequence[Output]) -> None:
        self.nodes, self.outputs = graph.nodes, outputs
        self.results = [x for x in outputs if isinstance(x, int)]
        self.order = graph.reachable(self.results)
        self.tasks = dict(self._tasks())
        self.users: dict[int, list[int]] = defaultdict(list)
        self.waits: dict[int, int] = {}
        for number, task in self.tasks.items():
            needed = {k for k in task.reads if k in self.tasks}
            self.waits[number] = len(needed)
            for k in needed:
                self.users[k].append(number)

    def _tasks(self) -> Iterable[tuple[int, _Task]]:
        used, kept = defaultdict[int, int](int), set(self.results)
        for number in self.order:
            for k in operands_of(self.nodes[number]):
                used[k] += 1
        inside: dict[int, int] = {}  # by sum, the product in it

        def lone_product(k: int) -> bool:
            return self.nodes[k].op == "mul" and used[k] == 1 and k not in kept

        for number in self.order:
            op, operands = self.nodes[number]
            places = {"add": operands[::-1], "sub": operands[1:]}.get(op, ())
            product = next((k for k in places if lone_product(k)), None)
            if product is not None:
                inside[number] = product
        gone = set(inside.values())
        for number in self.order:
            node = self.nodes[number]
            if node.op not in ("const", "input") and number not in gone:
                yield number, self._task(node, inside.get(number))

    def _task(self, node: Node, product: int | None) -> _Task:
        zero, one = -1 - _ZERO, -1 - _ONE
        if product is not None:
            rest = node.operands[1 if node.operands[0] == product else 0]
            return _Task(SUM, (*self.nodes[product].operands, rest), 1.0 if node.op == "add" else -1.0)
        if node.op in ("add", "sub"):
            return _Task(SUM, (node.operands[1], one, node.operands[0]), 1.0 if node.op == "add" else -1.0)
        if node.op == "mul":
            return _Task(SUM, (*node.operands, zero))
        if node.op == "neg":
            return _Task(SUM, (node.operands[0], one, zero), -1.0)
        return _Task(node.op, (*node.operands, *[one] * (3 - len(node.operands))))

    @cached_property
    def height(self) -> dict[int, int]:
        """How long the way from a node to a result is."""
        found: dict[int, int] = {}
        for number in reversed(self.tasks):
            found[number] = 1 + max((found[k] for k in self.users[number]), default=0)
        return found

    @property
    def parallel(self) -> float:
        """Nodes that could be computed at the same time, on average."""
        return len(self.tasks) / max(self.height.values())

    def turns(self, width: int) -> list[tuple[str, list[int]]]:
        """At every turn the kind of which most nodes are ready, the longest way to go first."""
        waits, left = dict(self.waits), len(self.tasks)
        ready: dict[str, list[tuple[int, int]]] = defaultdict(list)

        def comes(number: int) -> None:
            heappush(ready[self.tasks[number].kind], (-self.height[number], number))

        for number, count in waits.items():
            if count == 0:
                comes(number)
        found = []
        while left:
            kind = max(
                (one for one in ready if ready[one]),
                key=lambda one: (min(len(ready[one]), width), -ready[one][0][0]),
            )
            chosen = [heappop(ready[kind])[1] for _ in range(min(width, len(ready[kind])))]
            left -= len(chosen)
            found.append((kind, chosen))
            for user in (user for number in chosen for user in self.users[number]):
                waits[user] -= 1
                if waits[user] == 0:
                    comes(user)
        return found


def _placed(work: _Work, turns: Sequence[tuple[str, list[int]]], width: int, sizes: Iterable[str]) -> Schedule:
    """Turns with places for all values: constants, inputs, then blocks of a turn each, used again when free."""
    constants = _constants(work)
    place: dict[int, int] = {n: constants[work.nodes[n].operands[0]] for n in work.order if work.nodes[n].op == "const"}
    inputs, at = [], len(constants)
    for name in sizes:
        own = sorted((work.nodes[n].operands[1], n) for n in work.order if work.nodes[n][0] == "input"
                     and work.nodes[n].operands[0] == name)  # fmt: skip
        inputs.append(np.array([entry for entry, _ in own], np.int32))
        place |= {n: at + k for k, (_, n) in enumerate(own)}
        at += len(own)
    start, rows = _blocks(work, turns, width, at)
    for first, (_, chosen) in zip(start, turns, strict=True):
        place |= {n: first + lane for lane, n in enumerate(chosen)}
    kinds = tuple(dict.fromkeys(kind for kind, _ in turns))
    operands, signs = np.full((len(turns), 3, width), _ONE, np.int32), np.ones((len(turns), width))
    for turn, (_, chosen) in enumerate(turns):
        for lane, n in enumerate(chosen):
            task = work.tasks[n]
            operands[turn, :, lane] = [-1 - k if k < 0 else place[k] for k in task.reads]
            signs[turn, lane] = task.sign
    results = [place[x] if isinstance(x, int) else constants[x] for x in work.outputs]
    which = np.array([kinds.index(kind) for kind, _ in turns], np.int32)
    return Schedule(
        kinds, which, operands, signs, np.array(start, np.int32), tuple(inputs), np.array(list(constants)), rows,
        np.array(results, np.int32),
    )  # fmt: skip


def _constants(work: _Work) -> Mapping[float, int]:
    found = {0.0: _ZERO, 1.0: _ONE}
    numbers = [work.nodes[n].operands[0] for n in work.order if work.nodes[n].op == "const"]
    for x in (*numbers, *(x for x in work.outputs if isinstance(x, float))):
        found.setdefault(x, len(found))
    return found


def _blocks(work: _Work, turns: Sequence[tuple[str, list[int]]], width: int, first: int) -> tuple[list[int], int]:
    """Where each turn's block starts, and the rows of all."""
    born = {n: turn for turn, (_, chosen) in enumerate(turns) for n in chosen}
    last = list(range(len(turns)))  # the turn that reads a block for the last time
    for turn, (_, chosen) in enumerate(turns):
        for k in (k for n in chosen for k in work.tasks[n].reads if k in born):
            last[born[k]] = max(last[born[k]], turn)
    for n in work.results:
        if n in born:
            last[born[n]] = len(turns)
    ends = defaultdict[int, list[int]](list)
    start, free, top = list[int](), list[int](), first
    for turn in range(len(turns)):
        for block in ends.pop(turn, ()):
            heappush(free, block)
        if not free:
            heappush(free, top)
            top += width
        start.append(heappop(free))
        ends[last[turn] + 1].append(start[-1])
    return start, top
