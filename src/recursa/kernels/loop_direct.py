"""Results of one state that pairs write themselves, where they belong, instead of into the scratch first.

An entry of a matrix is often just a number of one pair, and most of a tree's matrix is zero. So the result is filled
with zeros, pairs put their numbers in their places, and only what is left is copied. Places of a pair's numbers differ
from one another by the same steps at every pair: a few columns of the table and some constants are enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from recursa.kernels.classes import Output, Slot
from recursa.kernels.graph import Node
from recursa.kernels.loop_layout import Results
from recursa.spatial.scalars import is_zero
from recursa.sweeps.plan import APART, PAIRS

if TYPE_CHECKING:
    from recursa.kernels.loop_emit import Loops
    from recursa.kernels.loop_writer import LoopWriter


@dataclass(frozen=True)
class Place:
    """Where a pair's number goes: an entry of its line of the table, and a constant beyond it."""

    column: int
    step: int  # among the constants


class Direct:
    """The places of all numbers of pairs that are results and nothing else."""

    def __init__(self, results: Results, taken: set[Slot], stored: Mapping[Slot, set[int]]) -> None:
        """``taken``: slots that somebody else reads; ``stored``: by which pairs each is."""
        nodes = results.graph.nodes
        self.places: dict[Slot, list[Place]] = {}
        self.columns: dict[str, list[dict[int, int]]] = {PAIRS: [], APART: []}  # by pair, the place in the result
        self.steps: list[int] = []
        found: dict[Slot, dict[int, list[int]]] = {}
        for at, x in enumerate(results.outputs):
            if isinstance(x, int) and nodes[x].op == "load":
                area, k, slot = nodes[x].operands
                if area in self.columns and slot not in taken:
                    found.setdefault(slot, {}).setdefault(k, []).append(at)
        for slot, by_pair in found.items():
            counts = {len(places) for places in by_pair.values()}
            if len(counts) == 1 and by_pair.keys() == stored[slot]:
                own = [{k: places[n] for k, places in by_pair.items()} for n in range(counts.pop())]
                self.places[slot] = [self._place(slot.area, one) for one in own]
        self.rest = [(at, x) for at, x in enumerate(results.outputs) if not (is_zero(x) or self._has(nodes, x))]

    def _has(self, nodes: Sequence[Node], output: Output) -> bool:
        """Whether a pair writes this entry."""
        node = nodes[output] if isinstance(output, int) else None
        return node is not None and node.op == "load" and node.operands[2] in self.places

    def _place(self, domain: str, own: dict[int, int]) -> Place:
        """A column that differs from this one by a constant, or a new one."""
        for number, column in enumerate(self.columns[domain]):
            common = column.keys() & own.keys()
            steps = {own[k] - column[k] for k in common}
            if len(steps) == 1:
                step = steps.pop()
                column |= {k: at - step for k, at in own.items()}
                return Place(number, self._step(step))
        self.columns[domain].append(dict(own))
        return Place(len(self.columns[domain]) - 1, self._step(0))

    def _step(self, step: int) -> int:
        self.steps.append(step)
        return len(self.steps) - 1


def fill_with_zeros(writer: LoopWriter) -> None:
    """The whole result, eight numbers at a time."""
    scalar, size = writer.shape.scalar, writer.size("size.out")
    for name, start, kind, step in (
        ("zeros", "0", f"<8 x {scalar}>", 8),
        ("zeros.rest", "%zeros.i", scalar, 1),
    ):
        with writer.loop(name, start, size, step) as j:
            place = writer.put(f"getelementptr {scalar}, ptr %out.here, i64 {j}")
            writer.line(f"  store {kind} zeroinitializer, ptr {place}, align {writer.number}")


def copy_rest(writer: LoopWriter) -> None:
    """What no pair has written, from where the table says to where it says."""
    with writer.loop("rest", "0", writer.size("direct.count")) as t:
        line = writer.add(writer.scaled(t, 2), writer.size("direct.rest"))
        target, source = writer.integer(line), writer.integer(writer.add(line, 1))
        place = writer.put(f"getelementptr {writer.shape.scalar}, ptr %out.here, i64 {target}")
        value = writer.load(writer.scratch(source))
        writer.line(f"  store {writer.shape.scalar} {value}, ptr {place}, align {writer.number}")


def direct_for(loops: Loops) -> Direct | None:
    """Of one state, where that saves anything."""
    plain = loops.unit is None and loops.product is None
    if loops.writer.shape.width > 1 or loops.writer.shape.turned or not plain:
        return None
    made = loops.results.graph.reachable(loops.results.made)
    nodes = loops.results.graph.nodes
    read = {nodes[k].operands[2] for k in made if nodes[k].op == "load"}
    stored: dict[Slot, set[int]] = {}
    for one, own in zip(loops.found, loops.blocks, strict=True):
        for slot in (slot for block in own.values() for slot, _ in block.stores):
            stored.setdefault(slot, set()).update(one.members)
    direct = Direct(loops.results, loops.read_by_steps | read, stored)
    zeros = sum(map(is_zero, loops.results.outputs))
    return direct if direct.places or 4 * zeros > len(loops.results.outputs) else None
