"""Small systems of equations on any scalar: ``inv(A) b`` without branches, so that it can be traced and compiled.

Whether a matrix is singular is judged pivot by pivot. A pivot is what is left of a row after as much of the others as
possible was taken away, and rounding leaves of a zero a trace of all that was taken: what is not clearly more than that
counts as zero, in the precision of the numbers at hand and whatever the units of the rows. The result is then not
finite.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from recursa.spatial.scalars import Scalar, reciprocal, sqrt, where

Rows = Sequence[Sequence[Scalar]]
_ROUNDINGS = 2048.0  # units of rounding that count as zero: 5e-13 in double precision


def solve_positive(rows: Rows, right: Sequence[Scalar]) -> list[Scalar]:
    """``inv(A) b`` of a symmetric positive A by its L D L* factors; the upper triangle is read.

    >>> solve_positive([[4.0, 2.0], [2.0, 3.0]], [2.0, 5.0])
    [-0.5, 2.0]
    >>> solve_positive([[1.0, 0.1], [0.1, 0.01]], [1.0, 1.0])
    [-inf, inf]
    """
    size = len(rows)
    left, x, inverse_d = [list(row) for row in rows], list(right), list[Scalar]()
    unit: list[list[Scalar]] = [[0.0] * size for _ in range(size)]  # L*
    for k, row in enumerate(left):
        taken = sum((y * y * rows[i][i] for i, y in enumerate(_combination(unit, k))), start=rows[k][k])
        inverse_d.append(reciprocal(unless_rounding(row[k], taken)))
        for i in range(k + 1, size):
            unit[k][i] = row[i] * inverse_d[k]
            for j in range(i, size):
                left[i][j] = left[i][j] - unit[k][i] * row[j]
            x[i] = x[i] - unit[k][i] * x[k]
    return _substituted(unit, [entry * d for entry, d in zip(x, inverse_d, strict=True)])


def solve_general(rows: Rows, right: Sequence[Scalar]) -> list[Scalar]:
    """``inv(A) b`` of any square A by Q R, the columns made orthogonal one after the other: no row is exchanged.

    >>> [round(x, 12) for x in solve_general([[0.0, 2.0], [1.0, 1.0]], [4.0, 3.0])]
    [1.0, 2.0]
    """
    size = len(rows)
    columns = [list(column) for column in zip(*rows, strict=True)]
    squares = [_dot(column, column) for column in columns]
    columns.append(list(right))
    unit: list[list[Scalar]] = [[0.0] * size for _ in range(size)]  # R, its rows divided by their first entries
    x = list[Scalar]()
    for k in range(size):
        taken = sum((y * y * squares[i] for i, y in enumerate(_combination(unit, k))), start=squares[k])
        length = unless_rounding(sqrt(_dot(columns[k], columns[k])), sqrt(taken))
        inverse = reciprocal(length)
        direction = [entry * inverse for entry in columns[k]]
        for j in range(k + 1, size + 1):
            along = _dot(direction, columns[j])
            columns[j] = [entry - along * part for entry, part in zip(columns[j], direction, strict=True)]
            if j < size:
                unit[k][j] = along * inverse
            else:
                x.append(along * inverse)
    return _substituted(unit, x)


class Ranked(NamedTuple):
    """Factors ``A = L D L*`` of a symmetric matrix that is not negative, and which of its rows depend on those before.

    - ``unit``: L*, in dependent rows zero beside the diagonal; ``inverse_d``: 1/D, in dependent rows zero.
    - ``taken``: per row how much of each row before it has to be taken from it, so that nothing is left of a dependent
      one: ``taken[k][i]`` for i < k.
    - ``dependent``: 1 where a row depends on those before, else 0.
    """

    unit: list[list[Scalar]]
    inverse_d: list[Scalar]
    taken: list[list[Scalar]]
    dependent: list[Scalar]


def factored(rows: Rows, least: Sequence[Scalar]) -> Ranked:
    """The factors of a symmetric matrix A >= 0 of any rank; the upper triangle is read.

    Rows come in their order, none is exchanged: of equal rows the first counts. A pivot counts as zero where it could
    be rounding of what was taken from it, and where its root could be rounding of the root of ``least``: a row of
    ``A = B B*`` is then zero as far as rows of B are known.

    >>> factored([[4.0, 2.0], [2.0, 1.0]], [1.0, 1.0]).dependent
    [0.0, 1.0]
    """
    size = len(rows)
    left = [list(row) for row in rows]
    unit: list[list[Scalar]] = [[0.0] * size for _ in range(size)]
    inverse_d, dependent, combinations = list[Scalar](), list[Scalar](), list[list[Scalar]]()
    for k, row in enumerate(left):
        combinations.append(_combination(unit, k))
        taken = sum((y * y * rows[i][i] for i, y in enumerate(combinations[k])), start=rows[k][k])
        pivot = unless_rounding(row[k], taken)
        size_of = sqrt(_positive(pivot))
        known = unless_rounding(size_of, sqrt(least[k]))
        there = _real(known) > 0.0
        inverse_d.append(where(there, reciprocal(where(there, pivot, 1.0)), 0.0))
        dependent.append(where(there, 0.0, 1.0))
        for i in range(k + 1, size):
            unit[k][i] = row[i] * inverse_d[k]
            for j in range(i, size):
                left[i][j] = left[i][j] - unit[k][i] * row[j]
    return Ranked(unit, inverse_d, combinations, dependent)


def _positive(x: Scalar) -> Scalar:
    return where(_real(x) > 0.0, x, 0.0)


def solve_ranked(of: Ranked, right: Sequence[Scalar]) -> list[Scalar]:
    """Some x with ``A x = b``, if there is one: its entries at dependent rows are zero.

    >>> solve_ranked(factored([[4.0, 2.0], [2.0, 1.0]], [1.0, 1.0]), [8.0, 4.0])
    [2.0, 0.0]
    """
    x = list(right)
    for k, row in enumerate(of.unit):
        for i in range(k + 1, len(x)):
            x[i] = x[i] - row[i] * x[k]
    return _substituted(of.unit, [entry * d for entry, d in zip(x, of.inverse_d, strict=True)])


def shortest(of: Ranked, x: Sequence[Scalar]) -> list[Scalar]:
    """The shortest of all y with ``A y = A x``: x less its part in the null space of A.

    >>> [round(y, 12) for y in shortest(factored([[4.0, 2.0], [2.0, 1.0]], [1.0, 1.0]), [2.0, 0.0])]
    [1.6, 0.8]
    """
    size, out = len(x), of.dependent  # the null space is spanned by n(k) = e(k) - taken(k), k dependent
    rows = [[0.0] * size for _ in range(size)]
    along = list[Scalar]()
    for k in range(size):
        along.append(out[k] * (x[k] - _dot(of.taken[k], x[:k])))
        rows[k][k] = out[k] * (_dot(of.taken[k], of.taken[k]) + 1.0) + (1.0 - out[k])
        for j in range(k + 1, size):  # n(j) has -taken(j, k) along e(k), n(k) nothing along e(j)
            rows[k][j] = out[k] * out[j] * (_dot(of.taken[k], of.taken[j][:k]) - of.taken[j][k])
    parts = [out[k] * y for k, y in enumerate(solve_positive(rows, along))]
    result = list(x)
    for k, part in enumerate(parts):
        result[k] = result[k] - part
        for i in range(k):
            result[i] = result[i] + of.taken[k][i] * part
    return result


def _combination(unit: Rows, k: int) -> list[Scalar]:
    """How much of each row before it was taken from row k, by a unit upper triangle."""
    taken: list[Scalar] = [0.0] * k
    for j in reversed(range(k)):
        taken[j] = unit[j][k]
        for i in range(j + 1, k):
            taken[j] = taken[j] - unit[j][i] * taken[i]
    return taken


def _substituted(unit: Rows, x: list[Scalar]) -> list[Scalar]:
    """Backwards through a unit upper triangle."""
    for k in reversed(range(len(x))):
        for i in range(k + 1, len(x)):
            x[k] = x[k] - unit[k][i] * x[i]
    return x


def unless_rounding(pivot: Scalar, taken: Scalar) -> Scalar:
    """A pivot, or zero where it could be rounding of what was taken from it and it was taken from.

    A small share of it, added to that, must be felt: which asks for the precision of the numbers themselves.
    """
    felt = taken + pivot * (1.0 / _ROUNDINGS)
    return where(_real(taken) < _real(felt), pivot, 0.0)


def _real(x: Scalar) -> Scalar:
    return x.real if isinstance(x, complex | np.ndarray) else x


def _dot(x: Sequence[Scalar], y: Sequence[Scalar]) -> Scalar:
    return sum((a * b for a, b in zip(x, y, strict=True)), start=0.0)
