"""Sweeps over pairs as two nested loops: runs, and the pairs of a run.

Pairs that follow one another, have the same code and share a body (where a walk starts, or the right one of two bodies
on different branches) are a run. What they read of that body is loaded once, before the inner loop, and what a walk
carries inward stays in registers until the run is over.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from recursa.kernels.classes import Class, Output, Slot
from recursa.kernels.graph import Node
from recursa.kernels.loop_body import Here
from recursa.kernels.loop_layout import Block, is_carried
from recursa.model.model import Model
from recursa.sweeps.plan import PAIRS

if TYPE_CHECKING:
    from recursa.kernels.loop_emit import Loops

_SHARED = ("start", "right")  # places that are the same throughout a run


def runs(model: Model, domain: str, order: Sequence[int], kinds: Sequence[int]) -> list[tuple[int, int, int]]:
    """(class, first pair, how many) of every run of an order of pairs with these classes."""
    with_whom = [pair[0] for pair in model.pairs] if domain == PAIRS else [right for _, right in model.apart]
    keys = [(kinds[k], with_whom[k], k - at) for at, k in enumerate(order)]
    found = []
    for (kind, _, _), members in groupby(zip(keys, order, strict=True), key=lambda one: one[0]):
        own = [k for _, k in members]
        found.append((kind, own[0], len(own)))
    return found


def write_runs(loops: Loops, sweep: int, here: Sequence[tuple[int, Class, Block]]) -> None:
    """The loop over runs; ``here`` are the classes with something to do, by number."""
    writer, name = loops.writer, f"sweep{sweep}"
    with writer.loop(name, "0", writer.size(f"runs.count.{sweep}")) as i:
        line = writer.add(writer.scaled(i, 3), writer.size(f"runs.{sweep}"))
        kind, first, count = (writer.integer(writer.add(line, column)) for column in range(3))
        cases = " ".join(f"i64 {number}, label %{name}.class{number}" for number, _, _ in here)
        writer.line(f"  switch i64 {kind}, label %{name}.latch [ {cases} ]")
        for number, one, block in here:
            writer.start(f"{name}.class{number}")
            _write_run(loops, sweep, one, block, (f"{name}.run{number}", first, count))
            writer.line(f"  br label %{name}.end")
        writer.start(f"{name}.end")


def _write_run(loops: Loops, sweep: int, one: Class, block: Block, run: tuple[str, str, str]) -> None:
    writer, (name, first, count) = loops.writer, run
    before = Here(loops, one, sweep, block, first)
    nodes = one.graph.nodes
    loads = [(k, nodes[k]) for k in block.order if nodes[k].op == "load"]
    shared = {k: before.leaf(k, node) for k, node in loads if node.operands[0] in _SHARED}
    carried = [(k, node.operands[1]) for k, node in loads if is_carried(node)]
    begins = [(writer.shape.vector, before.leaf(k, nodes[k])) for k, _ in carried]
    with writer.loop(name, "0", count, carried=begins) as t:
        kept = {k: f"%{name}.carried{n}" for n, (k, _) in enumerate(carried)}
        inside = _InRun(loops, one, sweep, block, writer.put(f"add i64 {first}, {t}"), shared | kept)
        inside.kept = {slot for _, slot in carried if slot in loops.layout.handed}
        inside.write()
        results = dict(block.stores)
        writer.carry(name, *(inside.output(results[slot]) for _, slot in carried))
    for n, (_, slot) in enumerate(carried):
        if slot in inside.kept:
            writer.store(f"%{name}.carried{n}", loops.whole(before.visit.target(slot)))


class _InRun(Here):
    """The code at one pair of a run, with what is known before it."""

    kept: set[Slot]  # what stays in registers until the run is over

    def __init__(self, loops: Loops, one: Class, sweep: int, block: Block, k: str, known: dict[int, str]) -> None:
        super().__init__(loops, one, sweep, block, k)
        self.known = known

    def leaf(self, number: int, node: Node) -> str:
        """As anywhere, unless the run has it."""
        return self.known[number] if number in self.known else super().leaf(number, node)

    def stores(self) -> list[tuple[Slot, Output]]:
        """What is stored for others at every pair."""
        return [(slot, x) for slot, x in self.visit.block.stores if slot not in self.kept]
