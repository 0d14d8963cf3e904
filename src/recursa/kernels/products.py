"""Products of matrices at the end of a kernel, for results such as ``-inv(mass) dtau/dq``.

A plan with a :class:`Product` lists a symmetric matrix A and then others, B, all n x n; the kernel's result is ``-A B``
for each of them, and A. Rows in which a column of B is zero for good are left out: on trees that is most of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recursa.kernels.loop_writer import LoopWriter

_TILE = 4  # rows of A at once, so that what is loaded of B is used as often


class Product(NamedTuple):
    """How large the matrices are, and how many there are behind the first."""

    size: int
    factors: int


def rows_of_columns(outputs: Sequence[int | float], product: Product) -> list[list[int]]:
    """For every column the rows in which one of the factors is not zero for good."""
    n = product.size
    factors = [outputs[n * n * (k + 1) : n * n * (k + 2)] for k in range(product.factors)]
    return [[row for row in range(n) if any(one[row * n + c] != 0.0 for one in factors)] for c in range(n)]


def multiply(writer: LoopWriter, product: Product) -> None:
    """From the numbers in "matrix" to those in "products": column by column, some rows at a time."""
    with writer.loop("product", "0", writer.size("product.size")) as column:
        first = writer.integer(writer.add(writer.size("product.starts"), column))
        stop = writer.integer(writer.add(writer.add(writer.size("product.starts"), column), 1))
        for tile, start in ((_TILE, "0"), (1, f"%tile{_TILE}.i")):
            with writer.loop(f"tile{tile}", start, writer.size("product.size"), tile) as row:
                _tile(writer, product, tile, row, column, (first, stop))


def _tile(
    writer: LoopWriter, product: Product, tile: int, row: str, column: str, between: tuple[str, str]
) -> None:
    """Some rows of one column of every product."""
    n, name, matrix = writer.size("product.size"), f"sum{tile}", writer.size("matrix")
    square = writer.put(f"mul i64 {n}, {n}")
    zeros = ((writer.shape.vector, writer.shape.constant(0.0)),) * (tile * product.factors)
    first, stop = between
    with writer.loop(name, first, stop, carried=zeros) as t:
        k = writer.integer(writer.add(writer.size("product.rows"), t))
        line = writer.add(writer.put(f"mul i64 {k}, {n}"), matrix)
        own = [writer.load(writer.scratch(writer.add(writer.add(line, row), i))) for i in range(tile)]
        place, totals = writer.add(line, column), []
        for factor in range(product.factors):
            place = writer.add(place, square)
            other = writer.load(writer.scratch(place))
            totals += [
                writer.call("fma", a, other, f"%{name}.carried{factor * tile + i}") for i, a in enumerate(own)
            ]  # fmt: skip
        writer.carry(name, *totals)
    for factor in range(product.factors):
        for i in range(tile):
            total = writer.put(f"fneg {writer.shape.vector} %{name}.carried{factor * tile + i}")
            line = writer.put(f"mul i64 {writer.add(row, i)}, {n}")
            place = writer.add(writer.add(line, column), writer.size("products"))
            offset = writer.put(f"mul i64 {square}, {factor}")
            writer.store(total, writer.scratch(writer.add(place, offset)))
