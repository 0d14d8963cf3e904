"""Products of matrices at the end of a kernel, for results such as ``-inv(mass) dtau/dq``.

A plan with a :class:`Product` lists a symmetric matrix A and then others, B, all n x n; the kernel's result is ``-A B``
for each of them, and A. Rows in which a column of B is zero for good are left out: on trees that is most of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recursa.kernels.loop_writer import LoopWriter

_ROWS, _COLUMNS = 4, 2  # of a product at once, so that what is loaded is used several times


class Product(NamedTuple):
    """How large the matrices are, and how many there are behind the first."""

    size: int
    factors: int


def rows_of_columns(outputs: Sequence[int | float], product: Product) -> list[list[int]]:
    """For every few columns the rows in which one of the factors is not zero for good."""
    n = product.size
    factors = [outputs[n * n * (k + 1) : n * n * (k + 2)] for k in range(product.factors)]
    groups = [(c, min(c + _COLUMNS, n)) for c in range(0, n, _COLUMNS)]
    return [
        [row for row in range(n) if any(x != 0.0 for one in factors for x in one[row * n + c : row * n + stop])]
        for c, stop in groups
    ]


def multiplications(outputs: Sequence[int | float], product: Product) -> int:
    """How many are done."""
    groups = rows_of_columns(outputs, product)
    widths = [min(_COLUMNS, product.size - k * _COLUMNS) for k in range(len(groups))]
    return product.size * product.factors * sum(len(rows) * width for rows, width in zip(groups, widths, strict=True))


def multiply(writer: LoopWriter, product: Product) -> None:
    """From the numbers in "matrix" to those in "products": a few columns and rows at a time."""
    n = writer.size("product.size")
    for columns, start in ((_COLUMNS, "0"), (1, f"%columns{_COLUMNS}.i")):
        with writer.loop(f"columns{columns}", start, n, columns) as column:
            place = writer.add(writer.put(f"udiv i64 {column}, {_COLUMNS}"), writer.size("product.starts"))
            between = writer.integer(place), writer.integer(writer.add(place, 1))
            for rows, first in ((_ROWS, "0"), (1, f"%rows{columns}x{_ROWS}.i")):
                with writer.loop(f"rows{columns}x{rows}", first, n, rows) as row:
                    _tile(writer, product, (rows, columns), (row, column), between)


def _tile(
    writer: LoopWriter, product: Product, shape: tuple[int, int], at: tuple[str, str], between: tuple[str, str]
) -> None:
    """Some rows of some columns of every product."""
    n, matrix, (rows, columns), (row, column) = writer.size("product.size"), writer.size("matrix"), shape, at
    square, name = writer.put(f"mul i64 {n}, {n}"), f"sum{rows}x{columns}"
    zeros = ((writer.shape.vector, writer.shape.constant(0.0)),) * (rows * columns * product.factors)
    with writer.loop(name, *between, carried=zeros) as t:
        k = writer.integer(writer.add(writer.size("product.rows"), t))
        line = writer.add(writer.put(f"mul i64 {k}, {n}"), matrix)
        own = [writer.load(writer.scratch(writer.add(writer.add(line, row), i))) for i in range(rows)]
        place, totals = writer.add(line, column), list[str]()
        for _ in range(product.factors):
            place = writer.add(place, square)
            for c in range(columns):
                other = writer.load(writer.scratch(writer.add(place, c)))
                totals += [writer.call("fma", a, other, f"%{name}.carried{len(totals) + i}") for i, a in enumerate(own)]
        writer.carry(name, *totals)
    sums = iter(range(len(zeros)))
    for factor in range(product.factors):
        offset = writer.add(writer.size("products"), writer.put(f"mul i64 {square}, {factor}"))
        for c in range(columns):
            for i in range(rows):
                total = writer.put(f"fneg {writer.shape.vector} %{name}.carried{next(sums)}")
                line = writer.add(writer.put(f"mul i64 {writer.add(row, i)}, {n}"), offset)
                writer.store(total, writer.scratch(writer.add(writer.add(line, column), c)))
