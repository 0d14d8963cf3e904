"""From the classes of a plan to LLVM IR: loops over bodies, one piece of code per class and sweep.

``void kernel(i64 blocks, ptr inputs..., ptr out, ptr scratch, ptr tables, ptr numbers)``. Nothing in the code depends
on how many bodies there are: counts, places and indices are read from ``tables``, constants from ``numbers``. The
scratch is the caller's. Inputs are turned into lanes at the start of a block, results back into rows at its end. Code
for several lanes takes a negative number of blocks, too: as many, whose results are written past the caches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from recursa.kernels.classes import Class, Slot
from recursa.kernels.emit import Arithmetic, Function
from recursa.kernels.graph import Node
from recursa.kernels.loop_body import Here, Place
from recursa.kernels.loop_direct import copy_rest, direct_for, fill_with_zeros
from recursa.kernels.loop_layout import Block, Layout, Results, loads_of_steps
from recursa.kernels.loop_results import write_results
from recursa.kernels.loop_runs import write_runs
from recursa.kernels.loop_writer import LoopWriter, turn_input
from recursa.kernels.observe import numbers_of
from recursa.kernels.products import Product, multiply
from recursa.kernels.writer import Shape
from recursa.sweeps.plan import APART, BODIES, PAIRS


class Loops:
    """Writes a whole kernel."""

    def __init__(
        self,
        layout: Layout,
        found: Sequence[Class],
        blocks: Sequence[dict[int, Block]],
        results: Results,
        inputs: Sequence[str],
        shape: Shape,
        repeated: tuple[str, int] | None = None,
        product: Product | None = None,
    ) -> None:
        """``repeated``: the input whose unit vectors the sweeps from that number on are done for, one by one."""
        self.layout = layout
        self.found = found
        self.blocks = blocks
        self.results = results
        self.inputs = inputs
        self.unit = None if repeated is None else repeated[0]
        self.first_repeated = len(layout.plan.sweeps) if repeated is None else repeated[1]
        self.product = product
        self.column = ""  # the number of the unit vector, while one is under way
        self.writer = LoopWriter(shape)
        self.saved = {id(one): _saved(layout, one, own) for one, own in zip(found, blocks, strict=True)}
        self.params = {id(one): _params(one, own) for one, own in zip(found, blocks, strict=True)}
        self.records = dict.fromkeys(layout.kept, 0)
        self.numbers = dict.fromkeys(layout.kept, 0)
        for one in found:
            kept = len(layout.kept[one.domain])
            self.records[one.domain] = max(self.records[one.domain], kept + len(self.saved[id(one)]))
            self.numbers[one.domain] = max(self.numbers[one.domain], len(self.params[id(one)]))
        self.direct = direct_for(self)
        self.loads_of_results: dict[int, int] = {}
        self.columns: dict[str, dict[object, int]] = {domain: {"class": 0} for domain in layout.kept}

    @cached_property
    def read_by_steps(self) -> set[Slot]:
        """Slots that steps read."""
        return {node.operands[1] for node in loads_of_steps(self.found, self.blocks)}

    # ---- places ------------------------------------------------------------------------------------------------------

    def input(self, name: str, index: str) -> str:
        """An entry of an input, for every lane."""
        writer = self.writer
        if name == self.unit:
            one = writer.put(f"icmp eq i64 {index}, {self.column}")
            return writer.splat(writer.put(f"uitofp i1 {one} to {writer.shape.scalar}"))
        if writer.shape.turned or writer.shape.width == 1:
            place = writer.put(f"getelementptr {writer.shape.vector}, ptr %{name}.here, i64 {index}")
            return writer.put(f"load {writer.shape.vector}, ptr {place}, align {writer.number}")
        return writer.load(writer.scratch(writer.add(writer.size(f"input.{name}"), index)))

    def whole(self, place: Place) -> str:
        """A number of the whole robot, or one that goes from pair to pair of a walk."""
        return self.writer.scratch(self.writer.add(self.writer.size(place.part), place.number))

    def stored(self, begins: Mapping[str, int], area: str, k: int, slot: Slot) -> int:
        """Where a number of the robot or of body, link or pair ``k`` is, if its parts begin there."""
        if area == "robot":
            return begins["robot"] + self.layout.robot[slot]
        return begins[f"records.{area}"] + k * self.records[area] + self.layout.kept[area][slot]

    # ---- parts -------------------------------------------------------------------------------------------------------

    def function(self, name: str = "kernel") -> Function:
        """All of it."""
        writer = self.writer
        wide = writer.shape.wide
        if wide:
            writer.line("  %past = icmp slt i64 %blocks, 0")
            writer.line("  %negated = sub i64 0, %blocks")
            writer.line("  %rounds = select i1 %past, i64 %negated, i64 %blocks")
        with writer.loop("block", "0", "%rounds" if wide else "%blocks") as block:
            for one in (*self.inputs, "out"):
                step = writer.put(f"mul i64 {writer.size(f'size.{one}')}, {writer.shape.width}")
                offset = writer.put(f"mul i64 {block}, {step}")
                writer.line(f"  %{one}.here = getelementptr {writer.shape.scalar}, ptr %{one}, i64 {offset}")
            for one in self.inputs if wide else ():
                turn_input(writer, one)
            if self.direct is not None:
                fill_with_zeros(writer)
            self._sweeps(range(self.first_repeated))
            if self.unit is not None:
                self._columns()
            elif self.product is not None:
                self._products(self.product)
            else:
                self._compute_results()
                write_results(writer, gaps=self.has_gaps) if self.direct is None else copy_rest(writer)
        pointers = ", ".join(f"ptr noalias %{p}" for p in (*self.inputs, "out", "scratch", "tables", "numbers"))
        header = [
            line
            for entry, index in writer.header.items()
            for line in (
                f"  %p.{entry} = getelementptr i32, ptr %tables, i64 {index}",
                f"  %n.{entry} = load i32, ptr %p.{entry}, align 4",
                f"  %h.{entry} = sext i32 %n.{entry} to i64",
            )
        ]
        begin = f"define void @{name}(i64 %blocks, {pointers}) #0 {{"
        lines = [begin, "start:", *header, *writer.lines, "  ret void", "}"]
        return Function(lines, frozenset(writer.intrinsics))

    @cached_property
    def has_gaps(self) -> bool:
        """Whether a good part of the result is zero for so many entries in a row as there are lanes."""
        shape, plain = self.writer.shape, self.unit is None and self.product is None
        filled = self.results.filled(shape.width) if plain and shape.wide else []
        return 4 * filled.count(False) > len(filled)

    def _columns(self) -> None:
        """The sweeps that wait for a unit vector, for each; what they find is a column of the matrix."""
        writer = self.writer
        with writer.loop("column", "0", writer.size("size.columns")) as self.column:
            self._sweeps(range(self.first_repeated, len(self.layout.plan.sweeps)))
            self._compute_results()
            with writer.loop("entry", "0", writer.size("size.column")) as j:
                line = writer.put(f"mul i64 {j}, {writer.size('size.columns')}")
                place = writer.add(writer.add(line, self.column), writer.size("matrix"))
                writer.store(writer.result(j), writer.scratch(place))
        write_results(writer, lambda j: writer.load(writer.scratch(writer.add(writer.size("matrix"), j))))

    def _products(self, product: Product) -> None:
        """The matrices side by side, so that they can be multiplied, and their products."""
        writer = self.writer
        self._compute_results()
        with writer.loop("entry", "0", writer.size("size.column")) as j:
            writer.store(writer.result(j), writer.scratch(writer.add(writer.size("matrix"), j)))
        multiply(writer, product)
        write_results(writer, lambda j: writer.load(writer.scratch(writer.add(writer.size("products"), j))))

    def _sweeps(self, numbers: range) -> None:
        self._clear_sums(numbers)
        for sweep in numbers:
            self._sweep(sweep)

    def _clear_sums(self, numbers: range) -> None:
        """Begin the sums into which these sweeps add."""
        writer, layout = self.writer, self.layout
        for slot, index in layout.robot.items():
            if self.added_in(slot, numbers):
                writer.store(writer.shape.constant(self.base_number(slot)), self.whole(Place("robot", index)))
        totals = self.totals(numbers)
        if totals:
            with writer.loop(f"clear{numbers.start}", "0", writer.size("count.bodies")) as k:
                first = writer.add(writer.scaled(k, self.records[BODIES]), writer.size(f"records.{BODIES}"))
                for index in totals:
                    writer.store(writer.shape.constant(0.0), writer.scratch(writer.add(first, index)))

    def totals(self, numbers: range) -> list[int]:
        """Places in the records of bodies of sums that these sweeps add up there."""
        kept = self.layout.kept[BODIES]
        return [index for slot, index in kept.items() if slot.area == "total" and slot.sweep in numbers]

    def added_in(self, slot: Slot, numbers: range) -> bool:
        """Whether one of these sweeps adds to a number of the whole robot."""
        sweeps = [self.layout.plan.sweeps[number] for number in numbers]
        return any(f"{slot.buffer}@robot" in step.writes for sweep in sweeps for step in sweep.steps)

    def classes_in(self, sweep: int) -> list[tuple[int, Class, Block]]:
        """The classes with something to do in a sweep, by number, and what it is."""
        return [
            (number, one, own[sweep])
            for number, (one, own) in enumerate(zip(self.found, self.blocks, strict=True))
            if sweep in own and (own[sweep].stores or own[sweep].saves)
        ]

    def base_number(self, slot: Slot) -> float:
        """Where a sum over the whole robot begins."""
        buffer = next(b for b in self.layout.plan.buffers if b.name == slot.buffer)
        return float(numbers_of(buffer.base)[slot.leaf])

    def _sweep(self, sweep: int) -> None:
        """One loop over the bodies or links in their order."""
        writer = self.writer
        here = self.classes_in(sweep)
        if not here:
            return
        domain = self.layout.plan.sweeps[sweep].domain
        name = f"sweep{sweep}"
        if domain in (PAIRS, APART):
            write_runs(self, sweep, here)
            return
        with writer.loop(name, "0", writer.size(f"count.{sweep}")) as i:
            k = writer.integer(writer.add(writer.size(f"order.{sweep}"), i))
            line = writer.put(f"mul i64 {k}, {writer.size(f'columns.{domain}')}")
            which = writer.integer(writer.add(line, writer.size(f"table.{domain}")))
            cases = " ".join(f"i64 {number}, label %{name}.class{number}" for number, _, _ in here)
            writer.line(f"  switch i64 {which}, label %{name}.latch [ {cases} ]")
            for number, one, block in here:
                writer.start(f"{name}.class{number}")
                Here(self, one, sweep, block, k).write()
                writer.line(f"  br label %{name}.end")
            writer.start(f"{name}.end")

    def _compute_results(self) -> None:
        """Results that are more than a stored number."""
        made = self.results.made
        if not made:
            return
        graph = self.results.graph
        order = graph.reachable(made)
        final = _Final(self, order, made)
        final.compute()
        for index, number in enumerate(made):
            self.writer.store(
                final.value(number), self.writer.scratch(self.writer.add(self.writer.size("made"), index))
            )


class _Final(Arithmetic):
    """Arithmetic on stored numbers, after the sweeps."""

    writer: LoopWriter

    def __init__(self, loops: Loops, order: Sequence[int], roots: Sequence[int]) -> None:
        super().__init__(loops.results.graph, order, roots, loops.writer)
        self.loops = loops

    def leaf(self, number: int, node: Node) -> str:
        """A stored number; the table says where."""
        writer, used = self.writer, self.loops.loads_of_results
        position = used.setdefault(number, len(used))
        return writer.load(writer.scratch(writer.integer(writer.add(writer.size("loads"), position))))


def _saved(layout: Layout, one: Class, own: dict[int, Block]) -> dict[int, int]:
    """Places of saved nodes in the record, after what is kept for others."""
    nodes = sorted({number for block in own.values() for number in block.saves})
    return {number: len(layout.kept[one.domain]) + i for i, number in enumerate(nodes)}


def _params(one: Class, own: dict[int, Block]) -> dict[int, int]:
    """Columns of the table of constants that are used, in a new order."""
    nodes = one.graph.nodes
    used = {number for block in own.values() for number in block.order}
    used |= {x for block in own.values() for _, x in block.stores if isinstance(x, int)}
    columns = sorted({nodes[k].operands[0] for k in used if nodes[k].op == "param"})
    return {column: i for i, column in enumerate(columns)}
