"""The code of one class of bodies, links or pairs in one sweep."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from recursa.kernels.classes import Class, Output, Slot
from recursa.kernels.emit import Arithmetic
from recursa.kernels.graph import Node
from recursa.kernels.loop_layout import Block
from recursa.kernels.loop_places import Column, Place, Visit
from recursa.kernels.loop_writer import LoopWriter

if TYPE_CHECKING:
    from recursa.kernels.loop_emit import Loops


class Here(Arithmetic):
    """Writes the code of one class in one sweep, at body (or link) ``k``."""

    writer: LoopWriter

    def __init__(self, loops: Loops, one: Class, sweep: int, block: Block, k: str) -> None:
        roots: list[Output] = [*(x for _, x in block.stores), *block.saves]
        super().__init__(one.graph, block.order, roots, loops.writer)
        self.loops = loops
        self.visit = Visit(loops, one, sweep, block)
        self.k = k
        self._bases: dict[object, str] = {}

    def write(self) -> None:
        """Everything: compute, save what later sweeps need, store what others read."""
        self.compute()
        visit = self.visit
        roots = [(self._at(visit.saved(k)), self.value(k)) for k in visit.block.saves]
        stores = [(slot, self.output(x)) for slot, x in self.stores()]
        for place, value in roots:
            self.writer.store(value, place)
        for slot, value in stores:
            if self.loops.direct is not None and slot in self.loops.direct.places:
                self._into_result(slot, value)
                continue
            place = self._at(visit.target(slot))
            total = self.writer.binary("fadd", self.writer.load(place), value) if visit.adds(slot) else value
            self.writer.store(total, place)

    def _into_result(self, slot: Slot, value: str) -> None:
        """Store a number where it belongs in the result."""
        writer, direct = self.writer, self.loops.direct
        assert direct is not None
        for place in direct.places[slot]:
            column = ("direct", place.column)
            index = writer.add(self._column(column), writer.size(f"step.{place.step}"))
            target = writer.put(f"getelementptr {self.shape.scalar}, ptr %out.here, i64 {index}")
            writer.line(f"  store {self.shape.scalar} {value}, ptr {target}, align {writer.number}")

    def stores(self) -> list[tuple[Slot, Output]]:
        """What is stored for others."""
        return self.visit.block.stores

    # ---- where things are --------------------------------------------------------------------------------------------

    def leaf(self, number: int, node: Node) -> str:
        """A node saved by an earlier sweep, an input, a constant from the table, a stored number."""
        writer, visit = self.writer, self.visit
        if number in visit.block.restored:
            return writer.load(self._at(visit.saved(number)))
        if node.op == "param":
            base = self._base("numbers", lambda: self._start("numbers", self.loops.numbers[visit.one.domain]))
            index = writer.add(base, visit.param(node.operands[0]))
            place = writer.put(f"getelementptr {self.shape.scalar}, ptr %numbers, i64 {index}")
            return writer.splat(writer.put(f"load {self.shape.scalar}, ptr {place}, align {writer.number}"))
        if node.op == "input":
            name, index = node.operands
            return self.loops.input(name, writer.add(self._column(("input", name)), index))
        via, slot, _ = node.operands
        return writer.load(self._at(visit.source(via, slot)))

    def _at(self, place: Place) -> str:
        """A number of the robot, or in a row or record."""
        if not place.via:
            return self.loops.whole(place)
        base = self._base((place.part, place.via), lambda: self._first(place))
        return self.writer.put(f"getelementptr {self.shape.vector}, ptr {base}, i64 {place.number}")

    def _first(self, place: Place) -> str:
        """Where the row or record of a place begins."""
        writer = self.writer
        if place.column is not None:
            item = self._column(place.column)
        elif place.via == "target":
            item = writer.size("target")
        else:
            item = writer.add(self.k, -1) if place.via == "carried" else self.k
        return writer.scratch(writer.add(writer.scaled(item, place.stride), writer.size(place.part)))

    def _column(self, column: Column) -> str:
        """An integer from this body's line of the table."""
        return self._base(column, lambda: self._entry(column))

    def _entry(self, column: Column) -> str:
        columns = self.loops.columns[self.visit.one.domain]
        index = columns.setdefault(column, len(columns))
        base = self._base("table", lambda: self._start("table", None))
        return self.writer.integer(self.writer.add(base, index))

    def _start(self, what: str, stride: int | None) -> str:
        """Where this body's line begins in a table; the stride of the table of integers is read from the header."""
        writer, domain = self.writer, self.visit.one.domain
        if stride is None:
            line = writer.put(f"mul i64 {self.k}, {writer.size(f'columns.{domain}')}")
        else:
            line = writer.scaled(self.k, stride)
        return writer.add(line, writer.size(f"{what}.{domain}"))

    def _base(self, key: object, make: Callable[[], str]) -> str:
        if key not in self._bases:
            self._bases[key] = make()
        return self._bases[key]
