"""Small systems of equations on any scalar: ``inv(A) b`` without branches, so that it can be traced and compiled.

Whether a matrix is singular is judged pivot by pivot. A pivot is what is left of a row after as much of the others as
possible was taken away, and rounding leaves of a zero a trace of all that was taken: what is not clearly more than that
counts as zero, in the precision of the numbers at hand and whatever the units of the rows. The result is then not
finite.
"""

from __future__ import annotations

from collections.abc import Sequence

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
