"""Where the numbers are that the code of one class reads and stores in one sweep, for every language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from recursa.kernels.classes import ADDED, Class, Slot
from recursa.kernels.loop_layout import Block
from recursa.sweeps.plan import BODIES

if TYPE_CHECKING:
    from recursa.kernels.loop_emit import Loops

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
