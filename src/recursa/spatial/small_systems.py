"""Small systems of equations on any scalar: ``inv(A) b`` without branches, so that it can be traced and compiled.

Whether a matrix is singular is judged pivot by pivot. A pivot is what is left of a row after as much of the others as
possible was taken away, and rounding leaves of a zero a trace of all that was taken: what is not clearly more than that
counts as zero, in the precision of the numbers at hand and whatever the units of the rows. The result is then not
finite. Rows of wrenches and motions come in threes that have a unit in common and were rotated into these axes, so that
each has a trace of the other two: ``alike=3`` counts that as zero, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from recursa.spatial.scalars import Scalar, is_zero, reciprocal, sqrt, where

Rows = Sequence[Sequence[Scalar]]
_ROUNDINGS = 2048.0  # units of rounding that count as zero: 5e-13 in double precision
_FINER = 8.0  # rows made orthogonal one by one are known that much better: from 6e-14 of the usual size on
_ROTATIONS = 32.0  # units of rounding that rotating three rows into other axes can leave


def solve_positive(rows: Rows, right: Sequence[Scalar], alike: int = 1, *, judged: bool = True) -> list[Scalar]:
    """``inv(A) b`` of a symmetric positive A by its L D L* factors; the upper triangle is read.

    Rows come in groups of ``alike`` that have a unit in common. Pivots that are not ``judged`` are taken as they are.

    >>> solve_positive([[4.0, 2.0], [2.0, 3.0]], [2.0, 5.0])
    [-0.5, 2.0]
    >>> solve_positive([[1.0, 0.1], [0.1, 0.01]], [1.0, 1.0])
    [-inf, inf]
    """
    unit, _, inverse_d = _factors_of_positive(rows, alike, judged=judged)
    x = _forward(unit, right)
    return _substituted(unit, [entry * d for entry, d in zip(x, inverse_d, strict=True)])


def whitened(rows: Rows, right: Sequence[Scalar]) -> list[Scalar]:
    """``inv(L sqrt(D)) b`` of a symmetric positive ``A = L D L*``: products of such vectors are ``b* inv(A) c``.

    >>> whitened([[4.0, 2.0], [2.0, 5.0]], [2.0, 5.0])
    [1.0, 2.0]
    """
    unit, _, inverse_d = _factors_of_positive(rows)
    return [entry * sqrt(d) for entry, d in zip(_forward(unit, right), inverse_d, strict=True)]


def pivots_of_positive(rows: Rows, alike: int = 1) -> list[Scalar]:
    """The diagonal D of the L D L* factors of a symmetric positive matrix; zero where only rounding is left.

    >>> pivots_of_positive([[4.0, 2.0], [2.0, 3.0]])
    [4.0, 2.0]
    >>> pivots_of_positive([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1e-16]], alike=3)
    [1.0, 2.0, 0.0]
    """
    return _factors_of_positive(rows, alike)[1]


def _forward(unit: Rows, right: Sequence[Scalar]) -> list[Scalar]:
    """``inv(L) b`` from L*."""
    x = list(right)
    for k in range(len(x)):
        for i in range(k + 1, len(x)):
            x[i] = x[i] - unit[k][i] * x[k]
    return x


def _factors_of_positive(
    rows: Rows, alike: int = 1, *, judged: bool = True
) -> tuple[list[list[Scalar]], list[Scalar], list[Scalar]]:
    """L*, D and inv(D) of a symmetric positive matrix, of which the upper triangle is read."""
    size = len(rows)
    left, pivots, inverse_d = [list(row) for row in rows], list[Scalar](), list[Scalar]()
    unit: list[list[Scalar]] = [[0.0] * size for _ in range(size)]
    usual = _felt([rows[k][k] for k in range(size)], alike)
    for k, row in enumerate(left):
        pivots.append(row[k])
        if judged:
            taken = sum((y * y * rows[i][i] for i, y in enumerate(_combination(unit, k))), start=usual[k])
            pivots[k] = unless_rounding(row[k], taken)
        inverse_d.append(reciprocal(pivots[k]))
        for i in range(k + 1, size):
            unit[k][i] = row[i] * inverse_d[k]
            for j in range(i, size):
                left[i][j] = left[i][j] - unit[k][i] * row[j]
    return unit, pivots, inverse_d


def _felt(squares: Sequence[Scalar], alike: int) -> list[Scalar]:
    """Each entry, more by what rounding can bring into it from the others of its group of ``alike``."""
    if alike == 1:
        return list(squares)
    groups = [squares[k : k + alike] for k in range(0, len(squares), alike)]
    shares = [sum(group[1:], start=group[0]) * (_ROTATIONS / _ROUNDINGS) for group in groups]
    return [square + shares[k // alike] for k, square in enumerate(squares)]


def solve_general(rows: Rows, right: Sequence[Scalar], alike: int = 1) -> list[Scalar]:
    """``inv(A) b`` of any square A by Q R, the columns made orthogonal one after the other: no row is exchanged.

    Columns come in groups of ``alike`` that have a unit in common.

    >>> [round(x, 12) for x in solve_general([[0.0, 2.0], [1.0, 1.0]], [4.0, 3.0])]
    [1.0, 2.0]
    """
    size = len(rows)
    columns = [list(column) for column in zip(*rows, strict=True)]
    squares = [dot(column, column) for column in columns]
    columns.append(list(right))
    unit: list[list[Scalar]] = [[0.0] * size for _ in range(size)]  # R, its rows divided by their first entries
    x, usual = list[Scalar](), _felt(squares, alike)
    for k in range(size):
        taken = sum((y * y * squares[i] for i, y in enumerate(_combination(unit, k))), start=usual[k])
        length = unless_rounding(sqrt(dot(columns[k], columns[k])), sqrt(taken))
        inverse = reciprocal(length)
        direction = [entry * inverse for entry in columns[k]]
        for j in range(k + 1, size + 1):
            along = dot(direction, columns[j])
            columns[j] = [entry - along * part for entry, part in zip(columns[j], direction, strict=True)]
            if j < size:
                unit[k][j] = along * inverse
            else:
                x.append(along * inverse)
    return _substituted(unit, x)


# ---- exchange --------------------------------------------------------------------------------------------------------


def largest_first(keys: Sequence[Scalar]) -> list[Scalar]:
    """Which of several rows to exchange with the first one, so that the largest key comes first.

    Returns one flag for every key but the first: 1 for the row to exchange, 0 for the others. Of equal keys the earlier
    one wins. Traced code has no branches, so both outcomes of an exchange are computed and selected from.

    >>> largest_first([1.0, 3.0, 2.0]), largest_first([3.0, 3.0])
    ([1.0, 0.0], [0.0])
    """
    best = keys[0]
    for key in keys[1:]:
        best = best if is_zero(key) else where(key > best, key, best)
    pending: Scalar = where(keys[0] < best, 1.0, 0.0)  # 1 until the largest key has been met
    flags = list[Scalar]()
    for key in keys[1:]:
        flag = 0.0 if is_zero(key) else where(key < best, 0.0, pending)
        flags.append(flag)
        pending = pending if is_zero(flag) else pending - flag
    return flags


def exchanged(flags: Sequence[Scalar], entries: Sequence[Scalar]) -> list[Scalar]:
    """Entries with the first one exchanged for the flagged one. Doing it twice restores them.

    >>> exchanged([1.0, 0.0], [5.0, 6.0, 7.0])
    [6.0, 5.0, 7.0]
    """
    first, *others = entries
    chosen, result = first, list[Scalar]()
    for flag, other in zip(flags, others, strict=True):
        chosen = if_flagged(flag, other, chosen)
        result.append(if_flagged(flag, first, other))
    return [chosen, *result]


def if_flagged(flag: Scalar, if_true: Scalar, if_false: Scalar) -> Scalar:
    """One of two values; without a comparison where the flag is a constant or the values are the same."""
    same = isinstance(if_true, float) and isinstance(if_false, float) and if_true == if_false
    if same or if_true is if_false or is_zero(flag):
        return if_false
    return where(flag > 0.5, if_true, if_false)


def inverse_pivot(square: Scalar, usual: Scalar, weight: Scalar = 1.0) -> Scalar:
    """1/square, or 0 where the square is not clearly more than rounding of rows of the usual size.

    ``weight * square`` and ``usual`` are squares of lengths in the same unit. Their roots are compared, since rounding
    is proportional to lengths. What is left of such rows has less rounding than what is left of a matrix.
    """
    weighted = square if isinstance(weight, float) and weight == 1.0 else square * weight
    length = sqrt(_positive(weighted))
    there = real_part(unless_rounding(length * _FINER, sqrt(usual))) > 0.0
    return where(there, reciprocal(where(there, square, 1.0)), 0.0)


# ---- symmetric matrices of any rank ----------------------------------------------------------------------------------


class Ranked(NamedTuple):
    """Factors ``A = L D L*`` of a symmetric matrix A >= 0 of any rank, rows taken in an order that pivots decide.

    - ``live``: the rows that are not zero for structural reasons; only these are factored, in the following order.
    - ``exchanges``: for every step the flags with which its row was exchanged, see :func:`exchanged`.
    - ``unit``: rows of L* as they were when their step was done, that is before later exchanges.
    - ``inverse_d``: 1/D in the order of the steps, zero for dependent rows.
    """

    size: int
    live: list[int]
    exchanges: list[list[Scalar]]
    unit: list[list[Scalar]]
    inverse_d: list[Scalar]


def factored(rows: Rows, usual: Scalar, weights: Sequence[Scalar], exchange: bool = True) -> Ranked:
    """The factors of a symmetric matrix A >= 0 of any rank; the upper triangle is read.

    In every step the row with the largest remaining pivot is taken, pivots multiplied by ``weights`` to make rows in
    different units comparable; without ``exchange`` rows are taken in their order, which is as good for matrices that
    are not singular. A row depends on those before it where its pivot could be rounding of what was taken from it, or
    where the root of its weighted pivot could be rounding of the root of ``usual``: a row of ``A = B B*`` is
    then zero as far as rows of B are known.

    >>> [round(x, 12) for x in factored([[1.0, 2.0], [2.0, 4.0]], 1.0, [1.0, 1.0]).inverse_d]
    [0.25, 0.0]
    """
    live = [k for k in range(len(rows)) if not is_zero(rows[k][k])]
    size = len(live)
    left = [[rows[i][j] if j >= i else rows[j][i] for j in live] for i in live]
    whole, scale = [rows[k][k] for k in live], [weights[k] for k in live]
    mixed, heavy = any(not (isinstance(w, float) and w == scale[0]) for w in scale), list[Scalar](scale)
    exchanges, unit, inverse_d = list[list[Scalar]](), list[list[Scalar]](), list[Scalar]()
    for k in range(size):
        keys = [real_part(left[i][i]) * heavy[i] if mixed else real_part(left[i][i]) for i in range(k, size)]
        flags = largest_first(keys) if exchange else [0.0] * (size - k - 1)
        exchanges.append(flags)
        exchange_both_ways(left, k, flags)
        for entries in (whole, heavy) if mixed else (whole,):
            entries[k:] = exchanged(flags, entries[k:])
        taken = whole[k]  # with the largest pivots first this bounds all that was taken from the row
        if not exchange:
            taken = sum((y * y * whole[i] for i, y in enumerate(_combination(unit, k))), start=taken)
        pivot = unless_rounding(left[k][k], taken)
        inverse_d.append(inverse_pivot(pivot, usual, heavy[k]))
        unit.append([0.0] * (k + 1) + [left[k][i] * inverse_d[k] for i in range(k + 1, size)])
        for i in range(k + 1, size):
            if not is_zero(unit[k][i]):
                for j in range(i, size):
                    left[i][j] = left[i][j] - unit[k][i] * left[k][j]
    return Ranked(len(rows), live, exchanges, unit, inverse_d)


def exchange_both_ways(left: list[list[Scalar]], k: int, flags: Sequence[Scalar]) -> None:
    """Exchange a row, and the column of the same number, of a symmetric matrix of which the upper triangle counts."""
    size = len(left)
    if all(is_zero(flag) for flag in flags):
        return
    old = {i: left[k][i] for i in range(k, size)}
    diagonal = exchanged(flags, [left[i][i] for i in range(k, size)])
    by = dict(enumerate(flags, k + 1))
    for j in range(k + 1, size):  # the row that comes first: that of the flagged number, with its own two entries apart
        chosen = old[j]
        for i in range(k + 1, size):
            if i != j:
                chosen = if_flagged(by[i], left[min(i, j)][max(i, j)], chosen)
        left[k][j] = chosen
    for i in range(k + 1, size):
        for j in range(i + 1, size):
            left[i][j] = if_flagged(by[i], old[j], if_flagged(by[j], old[i], left[i][j]))
    for i, entry in enumerate(diagonal, k):
        left[i][i] = entry


def solve_ranked(of: Ranked, right: Sequence[Scalar]) -> list[Scalar]:
    """Some x with ``A x = b``, if there is one: its entries at dependent rows are zero.

    >>> solve_ranked(factored([[4.0, 2.0], [2.0, 1.0]], 1.0, [1.0, 1.0]), [8.0, 4.0])
    [2.0, 0.0]
    """
    x = [right[k] for k in of.live]
    for k, (flags, row) in enumerate(zip(of.exchanges, of.unit, strict=True)):
        x[k:] = exchanged(flags, x[k:])
        for i in range(k + 1, len(x)):
            x[i] = x[i] - row[i] * x[k]
    x = [entry * d for entry, d in zip(x, of.inverse_d, strict=True)]
    for k in reversed(range(len(x))):
        for i in range(k + 1, len(x)):
            x[k] = x[k] - of.unit[k][i] * x[i]
        x[k:] = exchanged(of.exchanges[k], x[k:])
    return _spread(of, x)


def _spread(of: Any, entries: Sequence[Scalar]) -> list[Scalar]:
    result: list[Scalar] = [0.0] * of.size
    for k, entry in zip(of.live, entries, strict=True):
        result[k] = entry
    return result


def in_order_of_steps(of: Ranked) -> list[list[Scalar]]:
    """Rows of L*, after all exchanges."""
    unit = [list(row) for row in of.unit]
    for k, flags in enumerate(of.exchanges):
        for row in unit[:k]:
            row[k:] = exchanged(flags, row[k:])
    return unit


def in_steps(of: Any, entries: Sequence[Scalar]) -> list[Scalar]:
    """Entries of live rows in the order of the steps, from a vector in the order of the rows of A.

    ``of`` are factors whose rows were taken in steps, with ``size``, ``live`` and ``exchanges`` as :class:`Ranked` has.
    """
    x = [entries[k] for k in of.live]
    for k, flags in enumerate(of.exchanges):
        x[k:] = exchanged(flags, x[k:])
    return x


def in_given_order(of: Any, entries: Sequence[Scalar]) -> list[Scalar]:
    """A vector in the order of the rows of A, from one in the order of the steps; zero at rows that are not live."""
    x = list(entries)
    for k in reversed(range(len(of.exchanges))):
        x[k:] = exchanged(of.exchanges[k], x[k:])
    return _spread(of, x)


def null_vectors(of: Ranked) -> list[list[Scalar]]:
    """Vectors that span the null space of A among live rows, one for every step; zero where its row is independent."""
    unit, found = in_order_of_steps(of), list[list[Scalar]]()
    for k in range(len(of.live)):
        dependent = where(real_part(of.inverse_d[k]) > 0.0, 0.0, 1.0)
        entries = [-dependent * y for y in _combination(unit, k)]
        found.append(in_given_order(of, [*entries, dependent, *[0.0] * (len(of.live) - k - 1)]))
    return found


def shortest(x: Sequence[Scalar], null: Sequence[Sequence[Scalar]]) -> list[Scalar]:
    """x less its part in the span of vectors, which may be zero or else have to be independent.

    >>> factors = factored([[4.0, 2.0], [2.0, 1.0]], 1.0, [1.0, 1.0])
    >>> [round(y, 12) for y in shortest([2.0, 0.0], null_vectors(factors))]
    [1.6, 0.8]
    """
    vectors = [vector for vector in null if not all(is_zero(y) for y in vector)]
    products = [[dot(one, other) for other in vectors] for one in vectors]
    for k, row in enumerate(products):
        row[k] = where(real_part(row[k]) > 0.0, row[k], 1.0)
    parts = solve_positive(products, [dot(vector, x) for vector in vectors])
    result = list(x)
    for vector, part in zip(vectors, parts, strict=True):
        result = [entry - part * y for entry, y in zip(result, vector, strict=True)]
    return result


def _positive(x: Scalar) -> Scalar:
    return where(real_part(x) > 0.0, x, 0.0)


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
    return where(real_part(taken) < real_part(felt), pivot, 0.0)


def real_part(x: Scalar) -> Scalar:
    """The real part of a number that may carry a derivative as its imaginary part."""
    return x.real if isinstance(x, complex | np.ndarray) else x


def dot(x: Sequence[Scalar], y: Sequence[Scalar]) -> Scalar:
    """Their product."""
    return sum((a * b for a, b in zip(x, y, strict=True)), start=0.0)
