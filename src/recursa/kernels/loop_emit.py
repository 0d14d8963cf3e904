"""From the classes of a plan to LLVM IR: loops over bodies, one piece of code per class and sweep.

``void kernel(i64 blocks, ptr inputs..., ptr out, ptr scratch, ptr tables, ptr numbers)``. Nothing in the code depends
on how many bodies there are: counts, places and indices are read from ``tables``, constants from ``numbers``. The
scratch is the caller's. Inputs are turned into lanes at the start of a block, results back into rows at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from recursa.kernels.classes import ADDED, Class, Output, Slot
from recursa.kernels.emit import Arithmetic, Function, Shape
from recursa.kernels.graph import Node
from recursa.kernels.loop_layout import Block, Layout, Results
from recursa.kernels.loop_writer import LoopWriter, turn_input, turn_results
from recursa.kernels.observe import numbers_of
from recursa.kernels.products import Product, multiply
from recursa.sweeps.plan import BODIES


class Here(Arithmetic):
    """Writes the code of one class in one sweep, at body (or link) ``k``."""

    writer: LoopWriter

    def __init__(self, loops: Loops, one: Class, sweep: int, block: Block, k: str) -> None:
        roots: list[Output] = [*(x for _, x in block.stores), *block.saves]
        super().__init__(one.graph, block.order, roots, loops.writer)
        self.loops = loops
        self.one = one
        self.sweep = sweep
        self.block = block
        self.k = k
        self._bases: dict[object, str] = {}

    def write(self) -> None:
        """Everything: compute, save what later sweeps need, store what others read."""
        self.compute()
        roots = [(self._own(self.loops.saved[id(self.one)][k]), self.value(k)) for k in self.block.saves]
        stores = [(slot, self.output(x)) for slot, x in self.block.stores]
        for place, value in roots:
            self.writer.store(value, place)
        for slot, value in stores:
            place = self._target(slot)
            adds = slot.area in ADDED and not (slot.area == "sum" and self.sweep in self.one.gives_first)
            total = self.writer.binary("fadd", self.writer.load(place), value) if adds else value
            self.writer.store(total, place)

    # ---- where things are --------------------------------------------------------------------------------------------

    def leaf(self, number: int, node: Node) -> str:
        """A node saved by an earlier sweep, an input, a constant from the table, a stored number."""
        writer = self.writer
        if number in self.block.restored:
            return writer.load(self._own(self.loops.saved[id(self.one)][number]))
        if node.op == "param":
            base = self._base("numbers", lambda: self._start("numbers", self.loops.numbers[self.one.domain]))
            place = writer.put(
                f"getelementptr {self.shape.scalar}, ptr %numbers, i64 "
                f"{writer.add(base, self.loops.params[id(self.one)][node.operands[0]])}"
            )
            return writer.splat(writer.put(f"load {self.shape.scalar}, ptr {place}, align {writer.number}"))
        if node.op == "input":
            name, index = node.operands
            start = self._base(("input", name), lambda: self._entry(("input", name)))
            return self.loops.input(name, writer.add(start, index))
        via, slot, _ = node.operands
        return writer.load(self._source(via, slot))

    def _source(self, via: str, slot: Slot) -> str:
        layout = self.loops.layout
        if slot.area in ("row", "sum"):
            return self._row("own row" if via == "own" else "other row", slot)
        if via == "robot":
            return self.loops.robot(slot)
        if via == "own":
            return self._own(layout.kept[BODIES][slot])
        if via == "target":
            return self._at(slot.area, self.writer.size("target"), layout.kept[slot.area][slot], via)
        if via == "carried":
            return self._at(slot.area, self.writer.add(self.k, -1), layout.kept[slot.area][slot], via)
        item = self._base(via, lambda: self._entry((via, self.sweep if via == "child" else 0)))
        return self._at(slot.area, item, layout.kept[slot.area][slot], via)

    def _target(self, slot: Slot) -> str:
        layout = self.loops.layout
        if slot.area == "row":
            return self._row("own row", slot)
        if slot.area == "sum":
            return self._row("other row", slot)
        if slot.area == "robot":
            return self.loops.robot(slot)
        if slot.area == "total":
            via = "parent" if self.one.domain == BODIES else "body"
            item = self._base(via, lambda: self._entry((via, 0)))
            return self._at(BODIES, item, layout.kept[BODIES][slot], via)
        return self._own(layout.kept[slot.area][slot])

    def _own(self, index: int) -> str:
        return self._at(self.one.domain, self.k, index, "own")

    def _at(self, domain: str, item: str, index: int, via: str) -> str:
        """A number in the record of a body or link."""
        writer = self.writer
        stride = self.loops.records[domain]
        base = self._base(
            ("record", domain, via),
            lambda: writer.scratch(writer.add(writer.scaled(item, stride), writer.size(f"records.{domain}"))),
        )
        return writer.put(f"getelementptr {self.shape.vector}, ptr {base}, i64 {index}")

    def _row(self, which: str, slot: Slot) -> str:
        writer, layout = self.writer, self.loops.layout

        def first() -> str:
            row = self._entry((which, self.sweep))
            return writer.scratch(writer.add(writer.scaled(row, layout.row_size), writer.size("rows")))

        base = self._base(which, first)
        return writer.put(f"getelementptr {self.shape.vector}, ptr {base}, i64 {layout.in_row[slot]}")

    def _entry(self, column: object) -> str:
        """An integer from this body's line of the table."""
        columns = self.loops.columns[self.one.domain]
        index = columns.setdefault(column, len(columns))
        base = self._base("table", lambda: self._start("table", None))
        return self.writer.integer(self.writer.add(base, index))

    def _start(self, what: str, stride: int | None) -> str:
        """Where this body's line begins in a table; the stride of the table of integers is read from the header."""
        writer, domain = self.writer, self.one.domain
        if stride is None:
            line = writer.put(f"mul i64 {self.k}, {writer.size(f'columns.{domain}')}")
        else:
            line = writer.scaled(self.k, stride)
        return writer.add(line, writer.size(f"{what}.{domain}"))

    def _base(self, key: object, make: Callable[[], str]) -> str:
        if key not in self._bases:
            self._bases[key] = make()
        return self._bases[key]


class Loops:
    """Writes a whole kernel. ``at_body`` writes what is done at one body."""

    at_body = Here

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
        self.unit, self.first_repeated = repeated or (None, len(layout.plan.sweeps))
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
        self.loads_of_results: dict[int, int] = {}
        self.columns: dict[str, dict[object, int]] = {domain: {"class": 0} for domain in layout.kept}

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

    def robot(self, slot: Slot) -> str:
        """A number of the whole robot."""
        return self.writer.scratch(self.writer.add(self.writer.size("robot"), self.layout.robot[slot]))

    # ---- parts -------------------------------------------------------------------------------------------------------

    def function(self, name: str = "kernel") -> Function:
        """All of it."""
        writer = self.writer
        with writer.loop("block", "0", "%blocks") as block:
            for one in (*self.inputs, "out"):
                step = writer.put(f"mul i64 {writer.size(f'size.{one}')}, {writer.shape.width}")
                offset = writer.put(f"mul i64 {block}, {step}")
                writer.line(f"  %{one}.here = getelementptr {writer.shape.scalar}, ptr %{one}, i64 {offset}")
            if writer.shape.width > 1 and not writer.shape.turned:
                for one in self.inputs:
                    turn_input(writer, one)
            self._sweeps(range(self.first_repeated))
            if self.unit is not None:
                self._columns()
            elif self.product is not None:
                self._products(self.product)
            else:
                self._compute_results()
                turn_results(writer)
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
        turn_results(writer, lambda j: writer.load(writer.scratch(writer.add(writer.size("matrix"), j))))

    def _products(self, product: Product) -> None:
        """The matrices side by side, so that they can be multiplied, and their products."""
        writer = self.writer
        self._compute_results()
        with writer.loop("entry", "0", writer.size("size.column")) as j:
            writer.store(writer.result(j), writer.scratch(writer.add(writer.size("matrix"), j)))
        multiply(writer, product)
        turn_results(writer, lambda j: writer.load(writer.scratch(writer.add(writer.size("products"), j))))

    def _sweeps(self, numbers: range) -> None:
        self._clear_sums(numbers)
        for sweep in numbers:
            self._sweep(sweep)

    def _clear_sums(self, numbers: range) -> None:
        """Begin the sums into which these sweeps add."""
        writer, layout = self.writer, self.layout
        sweeps = [layout.plan.sweeps[number] for number in numbers]
        added = {name for sweep in sweeps for step in sweep.steps for name in step.writes}
        for slot in layout.robot:
            if f"{slot.buffer}@robot" in added:
                writer.store(writer.shape.constant(self._base_number(slot)), self.robot(slot))
        totals = [
            index for slot, index in layout.kept[BODIES].items() if slot.area == "total" and slot.sweep in numbers
        ]
        if totals:
            with writer.loop(f"clear{numbers.start}", "0", writer.size("count.bodies")) as k:
                first = writer.add(writer.scaled(k, self.records[BODIES]), writer.size(f"records.{BODIES}"))
                for index in totals:
                    writer.store(writer.shape.constant(0.0), writer.scratch(writer.add(first, index)))

    def _base_number(self, slot: Slot) -> float:
        buffer = next(b for b in self.layout.plan.buffers if b.name == slot.buffer)
        return float(numbers_of(buffer.base)[slot.leaf])

    def _sweep(self, sweep: int) -> None:
        """One loop over the bodies or links in their order."""
        writer = self.writer
        here = [
            (number, one, own[sweep])
            for number, (one, own) in enumerate(zip(self.found, self.blocks, strict=True))
            if sweep in own and (own[sweep].stores or own[sweep].saves)
        ]
        if not here:
            return
        domain = self.layout.plan.sweeps[sweep].domain
        name = f"sweep{sweep}"
        with writer.loop(name, "0", writer.size(f"count.{sweep}")) as i:
            k = writer.integer(writer.add(writer.size(f"order.{sweep}"), i))
            line = writer.put(f"mul i64 {k}, {writer.size(f'columns.{domain}')}")
            which = writer.integer(writer.add(line, writer.size(f"table.{domain}")))
            cases = " ".join(f"i64 {number}, label %{name}.class{number}" for number, _, _ in here)
            writer.line(f"  switch i64 {which}, label %{name}.latch [ {cases} ]")
            for number, one, block in here:
                writer.start(f"{name}.class{number}")
                self.at_body(self, one, sweep, block, k).write()
                writer.line(f"  br label %{name}.end")
            writer.start(f"{name}.end")

    def _compute_results(self) -> None:
        """Results that are more than a stored number."""
        made = self.made_results()
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

    def made_results(self) -> list[int]:
        """The nodes of results that have to be computed from stored numbers."""
        nodes = self.results.graph.nodes
        numbers = {x for x in self.results.outputs if isinstance(x, int) and nodes[x].op != "load"}
        return sorted(numbers)


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
