"""LLVM IR with loops: integers from a table, numbers per lane in a scratch, rows turned into lanes and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from recursa.kernels.writer import Shape, Writer, transposed


class LoopWriter(Writer):
    """IR with loops, integers from the header of the tables, and numbers per lane in the scratch."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape, "start")
        self.header: dict[str, int] = {}

    def size(self, name: str) -> str:
        """An integer of the header."""
        self.header.setdefault(name, len(self.header))
        return f"%h.{name}"

    def add(self, a: str, b: str | int) -> str:
        """Sum of integers."""
        return a if b == 0 else self.put(f"add i64 {a}, {b}")

    def scaled(self, a: str, factor: int) -> str:
        """An integer times a constant."""
        return a if factor == 1 else self.put(f"mul i64 {a}, {factor}")

    def least(self, a: str, b: str) -> str:
        """The smaller one of two integers."""
        return self.put(f"select i1 {self.put(f'icmp slt i64 {a}, {b}')}, i64 {a}, i64 {b}")

    def integer(self, index: str) -> str:
        """An entry of the tables."""
        place = self.put(f"getelementptr i32, ptr %tables, i64 {index}")
        return self.put(f"sext i32 {self.put(f'load i32, ptr {place}, align 4')} to i64")

    def scratch(self, index: str) -> str:
        """The place of a number per lane."""
        return self.put(f"getelementptr {self.shape.vector}, ptr %scratch, i64 {index}")

    def load(self, place: str) -> str:
        """A number per lane."""
        return self.put(f"load {self.shape.vector}, ptr {place}, align {self.alignment}")

    def store(self, value: str, place: str) -> None:
        """Store a number per lane."""
        self.line(f"  store {self.shape.vector} {value}, ptr {place}, align {self.alignment}")

    def result(self, j: str) -> str:
        """An entry of the result, from where the table says."""
        return self.load(self.scratch(self.integer(self.add(self.size("entries"), j))))

    @property
    def alignment(self) -> int:
        """Of the scratch."""
        return self.shape.width * self.number

    @property
    def number(self) -> int:
        """Bytes of a number."""
        return 4 if self.shape.single else 8

    def splat(self, scalar: str) -> str:
        """A scalar in every lane."""
        if self.shape.width == 1:
            return scalar
        one = self.put(f"insertelement {self.shape.vector} poison, {self.shape.scalar} {scalar}, i32 0")
        return self.shuffle(one, "poison", [0] * self.shape.width)

    def in_row(self, name: str, lane: int, column: str) -> str:
        """The place of a number in the row that belongs to a lane, of an input or the result."""
        size = self.size(f"size.{name}")
        offset = self.add(column, 0 if lane == 0 else self.put(f"mul i64 {size}, {lane}"))
        return self.put(f"getelementptr {self.shape.scalar}, ptr %{name}.here, i64 {offset}")

    @contextmanager
    def loop(
        self, name: str, start: str, count: str, step: int = 1, carried: Sequence[tuple[str, str]] = ()
    ) -> Iterator[str]:
        """``for i in range(start, count, step)``, as long as a whole step fits.

        ``carried`` are types and first values of ``%name.carried0`` and so on; the body says by :meth:`carry` how they
        go on.
        """
        before = self.label
        self.line(f"  br label %{name}.head")
        self.start(f"{name}.head")
        self.line(f"  %{name}.i = phi i64 [ {start}, %{before} ], [ %{name}.next, %{name}.latch ]")
        for n, (kind, first) in enumerate(carried):
            self.line(f"  %{name}.carried{n} = phi {kind} [ {first}, %{before} ], [ %{name}.after{n}, %{name}.latch ]")
        self.line(f"  %{name}.next = add i64 %{name}.i, {step}")
        self.line(f"  %{name}.more = icmp sle i64 %{name}.next, {count}")
        self.line(f"  br i1 %{name}.more, label %{name}.body, label %{name}.done")
        self.start(f"{name}.body")
        yield f"%{name}.i"
        self.line(f"  br label %{name}.latch")
        self.start(f"{name}.latch")
        self.line(f"  br label %{name}.head")
        self.start(f"{name}.done")

    def carry(self, name: str, *values: str) -> None:
        """The values that a loop carries into its next round."""
        for n, value in enumerate(values):
            self.line(f"  %{name}.after{n} = bitcast {self.shape.vector} {value} to {self.shape.vector}")


def turn_input(writer: LoopWriter, name: str) -> None:
    """Rows of an input to numbers per lane."""
    target = writer.size(f"input.{name}")
    rows_to_lanes(
        writer,
        f"turn.{name}",
        writer.size(f"size.{name}"),
        lambda lane, j: writer.in_row(name, lane, j),
        lambda j: writer.scratch(writer.add(target, j)),
    )


def rows_to_lanes(
    writer: LoopWriter, label: str, size: str, row: Callable[[int, str], str], lanes: Callable[[str], str]
) -> None:
    """Entries of the rows of W states to numbers per lane, W entries at a time, then one at a time.

    ``row(lane, j)`` is the place of entry j in the row of a lane, ``lanes(j)`` that of its numbers per lane.
    """
    shape = writer.shape
    with writer.loop(label, "0", size, shape.width) as j:
        rows = [
            writer.put(f"load {shape.vector}, ptr {row(lane, j)}, align {writer.number}") for lane in range(shape.width)
        ]
        for c, column in enumerate(transposed(writer, rows)):
            writer.store(column, lanes(writer.add(j, c)))
    with writer.loop(f"{label}.rest", f"%{label}.i", size) as j:
        places = [row(lane, j) for lane in range(shape.width)]
        entries = [writer.put(f"load {shape.scalar}, ptr {place}, align {writer.number}") for place in places]
        writer.store(writer.gathered(entries), lanes(j))


def lanes_to_rows(
    writer: LoopWriter,
    label: str,
    size: str,
    lanes: Callable[[str], str],
    row: Callable[[int, str], str],
) -> None:
    """The other way: ``lanes(j)`` is entry j of W states, ``row(lane, j)`` its place in the row of a lane."""
    shape = writer.shape
    start = "0"
    if shape.width > 1:
        with writer.loop(label, "0", size, shape.width) as j:
            columns = [lanes(writer.add(j, c)) for c in range(shape.width)]
            for lane, numbers in enumerate(transposed(writer, columns)):
                writer.line(f"  store {shape.vector} {numbers}, ptr {row(lane, j)}, align {writer.number}")
        start = f"%{label}.i"
    entries_to_rows(writer, f"{label}.rest", start, size, lanes, row)


def entries_to_rows(
    writer: LoopWriter,
    label: str,
    start: str,
    size: str,
    lanes: Callable[[str], str],
    row: Callable[[int, str], str],
) -> None:
    """The same, one entry at a time."""
    shape = writer.shape
    with writer.loop(label, start, size) as j:
        numbers = lanes(j)
        for lane in range(shape.width):
            one = writer.lane(numbers, lane)
            writer.line(f"  store {shape.scalar} {one}, ptr {row(lane, j)}, align {writer.number}")
