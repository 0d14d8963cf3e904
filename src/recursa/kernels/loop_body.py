"""The code of one class of bodies, links or pairs in one sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from recursa.kernels.classes import ADDED, Class, Output, Slot
from recursa.kernels.emit import Arithmetic
from recursa.kernels.graph import Node
from recursa.kernels.loop_layout import Block
from recursa.kernels.loop_writer import LoopWriter
from recursa.sweeps.plan import BODIES

if TYPE_CHECKING:
    from recursa.kernels.loop_emit import Loops


# ---- where the numbers are that the code of one class reads and stores in one sweep, for every language --------------


Column = tuple[Any, ...]  # of the table of integers: what it says, and of which sweep or input


class Place(NamedTuple):
    """A number of a ``part``: "robot", "handed", or one of the "rows" or records, ``stride`` apart.

    ``via`` says which row or record: that of body, link or pair ``k`` ("own"), of the plan's target, of the body before
    ("carried"), or the one whose number is in a ``column`` of the line of ``k``.
    """

    part: str
    number: int
    via: str = ""
    stride: int = 0
    column: Column | None = None


class Visit:
    """One class in one sweep, at body, link or pair ``k``."""

    def __init__(self, loops: Loops, one: Class, sweep: int, block: Block) -> None:
        self.loops, self.one, self.sweep, self.block = loops, one, sweep, block

    def saved(self, number: int) -> Place:
        """A node that an earlier sweep has saved, or that this one saves."""
        return self._record(self.one.domain, "own", self.loops.saved[id(self.one)][number])

    def _record(self, domain: str, via: str, index: int, column: Column | None = None) -> Place:
        return Place(f"records.{domain}", index, via, self.loops.records[domain], column)

    def source(self, via: str, slot: Slot) -> Place:
        """A stored number that is read ``via`` a neighbour."""
        layout = self.loops.layout
        if slot in layout.handed:
            return Place("handed", layout.handed[slot])
        if slot.area in ("row", "sum"):
            row = "own row" if via == "own" else "other row"
            return Place("rows", layout.in_row[slot], row, layout.row_size, (row, self.sweep))
        if via == "robot":
            return Place("robot", layout.robot[slot])
        domain = slot.area if slot.area in layout.kept else BODIES
        column = None if via in ("own", "target", "carried") else (via, self.sweep if via == "child" else 0)
        return self._record(domain, via, layout.kept[domain][slot], column)

    def target(self, slot: Slot) -> Place:
        """Where a number is stored for others."""
        outward = "parent" if self.one.domain == BODIES else "body"
        return self.source({"sum": "other", "robot": "robot", "total": outward}.get(slot.area, "own"), slot)

    def adds(self, slot: Slot) -> bool:
        """Whether a number is added to what is stored there."""
        return slot.area in ADDED and not (slot.area == "sum" and self.sweep in self.one.gives_first)

    def param(self, number: int) -> int:
        """The column of a constant in the table of numbers."""
        return self.loops.params[id(self.one)][number]


def begins(sizes: Mapping[str, int]) -> dict[str, int]:
    """Where parts of these sizes begin, one after the other; "end" is the size of all."""
    places, end = {}, 0
    for name, size in sizes.items():
        places[name] = end
        end += size
    return places | {"end": end}


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
