"""Products of matrices at the end of a kernel, for results such as ``-inv(mass) dtau/dq``.

A plan with a :class:`Product` lists a matrix A and then others, B, all with the same rows and n columns; the kernel's
result is ``-A* B`` for each of them, and the first n rows of A. Rows in which a column of B is zero for good are left
out: on trees that is most of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from recursa.kernels.loop_writer import LoopWriter
from recursa.spatial.scalars import is_zero

_ROWS, _COLUMNS = 4, 2  # of a product at once, so that what is loaded is used several times
_STRIP = 8  # columns that stay in the cache while all rows go by: a multiple of _COLUMNS
_LANES = 8  # rows of one state in a register, on every processor


class Product(NamedTuple):
    """How many columns the matrices have, how many of them there are behind the first; how many ``more`` rows."""

    size: int
    factors: int
    more: int = 0

    @property
    def rows(self) -> int:
        """Rows of each matrix."""
        return self.size + self.more

    @property
    def results(self) -> int:
        """Numbers of the result."""
        return (self.factors + 1) * self.size * self.size


def rows_of_columns(outputs: Sequence[int | float], product: Product) -> list[list[int]]:
    """For every few columns the rows in which one of the factors is not zero for good."""
    n, whole = product.size, product.size * product.rows
    factors = [outputs[whole * (k + 1) : whole * (k + 2)] for k in range(product.factors)]
    groups = [(c, min(c + _COLUMNS, n)) for c in range(0, n, _COLUMNS)]
    return [
        [
            row
            for row in range(product.rows)
            if not all(is_zero(x) for one in factors for x in one[row * n + c : row * n + stop])
        ]
        for c, stop in groups
    ]


def multiplications(outputs: Sequence[int | float], product: Product) -> int:
    """How many are done."""
    groups = rows_of_columns(outputs, product)
    widths = [min(_COLUMNS, product.size - k * _COLUMNS) for k in range(len(groups))]
    return product.size * product.factors * sum(len(rows) * width for rows, width in zip(groups, widths, strict=True))


def multiply(writer: LoopWriter, product: Product) -> None:
    """From the numbers in "matrix" to those in "products": a few columns and rows at a time, strip by strip.

    Of one state, whose numbers lie side by side, a register holds several rows. Sums are the same to the bit.
    """
    n = writer.size("product.size")
    tiles = [(_ROWS, 1), (1, 1)] if writer.shape.width > 1 else [(2, _LANES), (1, _LANES), (1, 1)]
    strips = writer.put(f"udiv i64 {writer.add(n, _STRIP - 1)}, {_STRIP}")
    with writer.loop("strip", "0", strips) as strip:
        start = writer.put(f"mul i64 {strip}, {_STRIP}")
        end = writer.least(writer.add(start, _STRIP), n)
        first = "0"
        for rows, lanes in tiles:
            name = f"rows{rows}x{lanes}"
            with writer.loop(name, first, n, rows * lanes) as row:
                _tiles_of_strip(writer, product, (rows, lanes), row, (start, end))
            first = f"%{name}.i"


def _tiles_of_strip(
    writer: LoopWriter, product: Product, shape: tuple[int, int], row: str, strip: tuple[str, str]
) -> None:
    """Some rows of all columns of a strip."""
    first, end = strip
    for columns in (_COLUMNS, 1):
        name = f"columns{columns}x{shape[0]}x{shape[1]}"
        with writer.loop(name, first, end, columns) as column:
            place = writer.add(writer.put(f"udiv i64 {column}, {_COLUMNS}"), writer.size("product.starts"))
            between = writer.integer(place), writer.integer(writer.add(place, 1))
            _Tile(writer, product, (*shape, columns), (row, column)).write(between)
        first = f"%{name}.i"


class _Tile:
    """Some rows of some columns of every product: ``shape`` is registers, rows in each, columns."""

    def __init__(self, writer: LoopWriter, product: Product, shape: tuple[int, int, int], at: tuple[str, str]) -> None:
        self.writer, self.product = writer, product
        self.rows, self.lanes, self.columns = shape
        self.row, self.column = at
        self.n = writer.size("product.size")
        self.square = writer.put(f"mul i64 {self.n}, {self.n}")
        self.whole = writer.put(f"mul i64 {self.n}, {writer.size('product.height')}")
        own = writer.shape
        self.numbers = own if self.lanes == 1 else replace(own, width=self.lanes)  # what a register holds

    def write(self, between: tuple[str, str]) -> None:
        """Sums over the rows of the factors that are not zero, then signs and places."""
        writer, name = self.writer, f"sum{self.rows}x{self.lanes}x{self.columns}"
        zero = self.numbers.vector, self.numbers.constant(0.0)
        with writer.loop(name, *between, carried=[zero] * (self.rows * self.columns * self.product.factors)) as t:
            k = writer.integer(writer.add(writer.size("product.rows"), t))
            line = writer.add(writer.put(f"mul i64 {k}, {self.n}"), writer.size("matrix"))
            here = writer.add(line, self.row)
            own = [self._several(writer.add(here, i * self.lanes)) for i in range(self.rows)]
            place, totals = writer.add(line, self.column), list[str]()
            for _ in range(self.product.factors):
                place = writer.add(place, self.whole)
                for c in range(self.columns):
                    other = self._one(writer.add(place, c))
                    for a in own:
                        so_far = f"%{name}.carried{len(totals)}"
                        totals.append(writer.call("fma", a, other, so_far, shape=self.numbers))
            for number, total in enumerate(totals):
                kind = self.numbers.vector
                writer.line(f"  %{name}.after{number} = bitcast {kind} {total} to {kind}")
        self._store([f"%{name}.carried{k}" for k in range(len(totals))])

    def _store(self, totals: list[str]) -> None:
        writer, left = self.writer, iter(totals)
        for factor in range(self.product.factors):
            offset = writer.add(writer.size("products"), writer.put(f"mul i64 {self.square}, {factor}"))
            for c in range(self.columns):
                for i in range(self.rows):
                    total = writer.put(f"fneg {self.numbers.vector} {next(left)}")
                    for lane in range(self.lanes):
                        at = writer.add(self.row, i * self.lanes + lane)
                        line = writer.add(writer.put(f"mul i64 {at}, {self.n}"), offset)
                        place = writer.scratch(writer.add(writer.add(line, self.column), c))
                        writer.store(total if self.lanes == 1 else writer.lane(total, lane, self.numbers), place)

    def _several(self, index: str) -> str:
        """Numbers of neighbouring rows."""
        if self.lanes == 1:
            return self.writer.load(self.writer.scratch(index))
        kind = self.numbers.vector
        return self.writer.put(f"load {kind}, ptr {self.writer.scratch(index)}, align {self.writer.number}")

    def _one(self, index: str) -> str:
        """A number, for every row."""
        one, writer = self.writer.load(self.writer.scratch(index)), self.writer
        if self.lanes == 1:
            return one
        kind, mask = self.numbers.vector, ", ".join(["i32 0"] * self.lanes)
        first = writer.put(f"insertelement {kind} poison, {self.numbers.scalar} {one}, i32 0")
        return writer.put(f"shufflevector {kind} {first}, {kind} poison, <{self.lanes} x i32> <{mask}>")
