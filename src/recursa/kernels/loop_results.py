"""Results of W states, numbers per lane, written as rows: W entries at a time, turned by shuffles.

Where the result is larger than the caches (the number of blocks is then negative), lines are written past them, which
would only read what is overwritten. That needs whole lines, and rows begin anywhere. So entries first go into a small
room that stays in the nearest cache, a row for every state, and from there in vectors that begin at multiples of their
size.

On the way every number is multiplied by zero and added up: "judged" in the scratch, a number per lane, stays zero as
long as all results are finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from recursa.kernels.loop_writer import LoopWriter, entries_to_rows
from recursa.kernels.writer import transposed

TILES = 16  # of W entries each, in the room at a time
PAST_CACHES = ", !nontemporal !0"


def room(width: int) -> int:
    """How much of the scratch the room takes, in numbers per lane: W entries more than are turned at a time."""
    return (TILES + 1) * width


def write_results(writer: LoopWriter, entry: Callable[[str], str] | None = None, *, gaps: bool = False) -> None:
    """Numbers per lane to rows of the result; they stay lanes in a turned kernel.

    ``entry(j)`` is a number of the result; by default it is where the table says. With ``gaps`` the table also says
    which tiles are zero: nothing is turned there.
    """
    shape = writer.shape
    size = writer.size("size.out")
    if shape.turned:
        with writer.loop("results", "0", size) as j:
            place = writer.put(f"getelementptr {shape.vector}, ptr %out.here, i64 {j}")
            writer.line(f"  store {shape.vector} {(entry or writer.result)(j)}, ptr {place}, align {writer.number}")
        return
    few = "0"
    if shape.wide:
        _Rows(writer, entry or writer.result, gaps).write()
        few = writer.put(f"select i1 {writer.put(f'icmp slt i64 {size}, {shape.width}')}, i64 0, i64 {size}")
    entries_to_rows(writer, "few", few, size, entry or writer.result, lambda lane, j: writer.in_row("out", lane, j))


class _Rows:
    """Writes the code for rows of at least W entries."""

    def __init__(self, writer: LoopWriter, entry: Callable[[str], str], gaps: bool) -> None:
        self.writer, self.entry, self.gaps = writer, entry, gaps
        self.width = writer.shape.width
        self.size = writer.size("size.out")

    def write(self) -> None:
        """A room full of tiles after the other; none where rows are shorter than a tile."""
        writer, width = self.writer, self.width
        whole = writer.put(f"icmp sge i64 {self.size}, {width}")
        rounded = writer.put(f"udiv i64 {writer.add(self.size, width - 1)}, {width}")
        tiles = writer.put(f"select i1 {whole}, i64 {rounded}, i64 0")
        rooms = writer.put(f"udiv i64 {writer.add(tiles, TILES - 1)}, {TILES}")
        judged = writer.scratch(writer.size("judged"))
        with writer.loop("room", "0", rooms) as number:
            first = writer.put(f"mul i64 {number}, {TILES}")
            stop = writer.least(writer.add(first, TILES), tiles)
            rows = self._rows(first)
            with writer.loop("tile", first, stop, carried=[(writer.shape.vector, writer.load(judged))]) as tile:
                self._turn(tile, rows)
            writer.store("%tile.carried0", judged)
            last = writer.put(f"icmp eq i64 {stop}, {tiles}")
            lanes = writer.put(f"select i1 %past, i64 {width}, i64 0")
            with writer.loop("lane", "0", lanes) as lane:
                self._hand_out(lane, first, stop, last)

    # ---- turned ------------------------------------------------------------------------------------------------------

    def _rows(self, first: str) -> list[str]:
        """Where entry 0 of every row would be: in the result itself, or in the room that begins with tile ``first``."""
        writer = self.writer
        offset = writer.put(f"sub i64 {self.width}, {writer.scaled(first, self.width)}")
        in_room = self._in_room("0", offset)
        start = writer.put(f"select i1 %past, ptr {in_room}, ptr %out.here")
        pitch = writer.put(f"select i1 %past, i64 {room(self.width)}, i64 {self.size}")
        places = [start]
        for _ in range(1, self.width):
            places.append(writer.put(f"getelementptr {writer.shape.scalar}, ptr {places[-1]}, i64 {pitch}"))
        return places

    def _in_room(self, lane: str, number: str) -> str:
        """The place of a number in the row of a lane; the first W of a row are those of the tile before."""
        writer = self.writer
        start = writer.put(f"mul i64 {writer.size('room')}, {self.width}")
        row = writer.put(f"add i64 {start}, {writer.scaled(lane, room(self.width))}")
        return writer.put(f"getelementptr {writer.shape.scalar}, ptr %scratch, i64 {writer.add(row, number)}")

    def _turn(self, tile: str, rows: Sequence[str]) -> None:
        """W entries; the last ones overlap those before, and write the same numbers."""
        writer, width = self.writer, self.width
        start = writer.least(writer.scaled(tile, width), writer.add(self.size, -width))
        places = [writer.put(f"getelementptr {writer.shape.scalar}, ptr {row}, i64 {start}") for row in rows]
        kind, judged = writer.shape.vector, "%tile.carried0"
        if self.gaps:
            zero = writer.put(f"icmp eq i64 {writer.integer(writer.add(writer.size('filled'), tile))}, 0")
            writer.line(f"  br i1 {zero}, label %tile.zero, label %tile.some")
            writer.start("tile.zero")
            for at in places:
                writer.line(f"  store {kind} zeroinitializer, ptr {at}, align {writer.number}")
            writer.line("  br label %tile.end")
            writer.start("tile.some")
        columns = [self.entry(writer.add(start, c)) for c in range(width)]
        total = writer.binary("fadd", judged, self._nothing(columns))
        for at, numbers in zip(places, transposed(writer, columns), strict=True):
            writer.line(f"  store {kind} {numbers}, ptr {at}, align {writer.number}")
        if self.gaps:
            writer.line("  br label %tile.end")
            writer.start("tile.end")
            total = writer.put(f"phi {kind} [ {judged}, %tile.zero ], [ {total}, %tile.some ]")
        writer.carry("tile", total)

    def _nothing(self, columns: Sequence[str]) -> str:
        """Zero, or nan: a sum of sums, so that no addition waits for many others."""
        if len(columns) == 1:
            return self.writer.binary("fmul", columns[0], self.writer.shape.constant(0.0))
        if len(columns) == 2:
            return self.writer.call("fma", columns[1], self.writer.shape.constant(0.0), self._nothing(columns[:1]))
        half = len(columns) // 2
        return self.writer.binary("fadd", self._nothing(columns[:half]), self._nothing(columns[half:]))

    # ---- out of the room ---------------------------------------------------------------------------------------------

    def _hand_out(self, lane: str, first: str, stop: str, last: str) -> None:
        """What the room has of one row: vectors at multiples of their size; the ends of the row as they lie."""
        writer, width = self.writer, self.width
        row = writer.put(
            f"getelementptr {writer.shape.scalar}, ptr %out.here, i64 {writer.put(f'mul i64 {lane}, {self.size}')}"
        )
        address = writer.put(f"ptrtoint ptr {row} to i64")
        over = writer.put(f"lshr i64 {address}, {writer.number.bit_length() - 1}")
        head = writer.put(f"and i64 {writer.put(f'sub i64 0, {over}')}, {width - 1}")
        whole = writer.put(f"udiv i64 {writer.put(f'sub i64 {self.size}, {head}')}, {width}")
        known = writer.least(whole, writer.add(stop, -1))  # the rest of the last tile waits for the next one
        end = writer.put(f"select i1 {last}, i64 {whole}, i64 {known}")
        before = writer.add(first, -1)
        begins = writer.put(f"select i1 {writer.put(f'icmp slt i64 {before}, 0')}, i64 0, i64 {before}")
        base = writer.put(f"mul i64 {first}, {width}")
        shift = writer.put(f"sub i64 {writer.add(head, width)}, {base}")
        with writer.loop("line", begins, end) as k:
            at = writer.put(f"mul i64 {k}, {width}")
            self._copy(lane, writer.add(at, shift), row, writer.add(at, head), writer.alignment, PAST_CACHES)
        self._ends(lane, row, first, last, base)
        tail = writer.put(f"mul i64 {writer.put(f'sub i64 {stop}, {first}')}, {width}")
        writer.store(writer.load(self._in_room(lane, tail)), self._in_room(lane, "0"))

    def _ends(self, lane: str, row: str, first: str, last: str, base: str) -> None:
        writer, width = self.writer, self.width
        begins = writer.put(f"zext i1 {writer.put(f'icmp eq i64 {first}, 0')} to i64")
        with writer.loop("head", "0", begins):
            self._copy(lane, str(width), row, "0", writer.number)
        ends = writer.put(f"zext i1 {last} to i64")
        with writer.loop("tail", "0", ends):
            at = writer.put(f"sub i64 {self.size}, {base}")
            self._copy(lane, at, row, writer.add(self.size, -width), writer.number)

    def _copy(self, lane: str, number: str, row: str, at: str, alignment: int, how: str = "") -> None:
        writer, vector = self.writer, self.writer.shape.vector
        value = writer.put(f"load {vector}, ptr {self._in_room(lane, number)}, align {writer.number}")
        place = writer.put(f"getelementptr {writer.shape.scalar}, ptr {row}, i64 {at}")
        writer.line(f"  store {vector} {value}, ptr {place}, align {alignment}{how}")
