"""The code of one class of bodies, links or pairs in one sweep."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from recursa.kernels.classes import ADDED, Class, Output, Slot
from recursa.kernels.emit import Arithmetic
from recursa.kernels.graph import Node
from recursa.kernels.loop_layout import Block
from recursa.kernels.loop_writer import LoopWriter
from recursa.sweeps.plan import BODIES

if TYPE_CHECKING:
    from recursa.kernels.loop_emit import Loops


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
        stores = [(slot, self.output(x)) for slot, x in self.stores()]
        for place, value in roots:
            self.writer.store(value, place)
        for slot, value in stores:
            if self.loops.direct is not None and slot in self.loops.direct.places:
                self._into_result(slot, value)
                continue
            place = self.target(slot)
            adds = slot.area in ADDED and not (slot.area == "sum" and self.sweep in self.one.gives_first)
            total = self.writer.binary("fadd", self.writer.load(place), value) if adds else value
            self.writer.store(total, place)

    def _into_result(self, slot: Slot, value: str) -> None:
        """Store a number where it belongs in the result."""
        writer, direct = self.writer, self.loops.direct
        assert direct is not None
        for place in direct.places[slot]:
            column = ("direct", place.column)
            line = self._base(column, partial(self._entry, column))
            index = writer.add(line, writer.size(f"step.{place.step}"))
            target = writer.put(f"getelementptr {self.shape.scalar}, ptr %out.here, i64 {index}")
            writer.line(f"  store {self.shape.scalar} {value}, ptr {target}, align {writer.number}")

    def stores(self) -> list[tuple[Slot, Output]]:
        """What is stored for others."""
        return self.block.stores

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
        if slot in layout.handed:
            return self.loops.handed(slot)
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

    def target(self, slot: Slot) -> str:
        """Where a number is stored for others."""
        layout = self.loops.layout
        if slot in layout.handed:
            return self.loops.handed(slot)
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
