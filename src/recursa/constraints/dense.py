"""Constrained motion from matrices: the mass matrix, the bias, G and gamma, on any scalars.

Projection works for any rank of G, for joints that are tied and for links without mass. Accelerations are split into
what the constraints demand and what they leave free. Rows of G are made orthonormal, the largest remaining one first,
``G = L Q``; with ``P = I - Q* Q`` and ``a = Q* y + x``, ``L y = -gamma``,

    (P mass P + Q* S Q) x = P (T - bias - mass Q* y),        x = P x.

Any positive S will do. A diagonal one of the inertia that each row of Q would move makes both terms of the same size,
whether the robot is a watch or a crane: with S = 1 the larger term would round the smaller one away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recursa.spatial.scalars import Scalar, is_zero, reciprocal, sqrt, where
from recursa.spatial.small_systems import dot as dot
from recursa.spatial.small_systems import (
    exchanged,
    in_given_order,
    in_steps,
    largest_first,
    real_part,
    solve_positive,
    unless_rounding,
)

_LIGHT = 2.0**-20  # of the mean inertia: at least that much is in S, also along joints that move no mass

Row = Sequence[Scalar]
Matrix = Sequence[Sequence[Scalar]]


class Orthonormal(NamedTuple):
    """Orthonormal rows Q that span those of G: ``G = L Q`` with the rows of G in the order in which they were taken.

    - ``shape``: that of G. ``live``: the rows of G that are not zero for structural reasons; only these have rows in
      what follows.
    - ``exchanges``: for every step the flags with which its row was exchanged; :func:`in_steps` takes vectors from the
      order of G to that of the steps, :func:`in_given_order` back.
    - ``rows``: Q, at most as many as G has columns; zero where a row of G depends on those taken before it.
    - ``lower``: L, row k up to its diagonal; there 1 where Q has a zero row.
    - ``independent``: 1 or 0 for every row of Q.
    """

    shape: tuple[int, int]
    live: list[int]
    exchanges: list[list[Scalar]]
    rows: list[list[Scalar]]
    lower: list[list[Scalar]]
    independent: list[Scalar]

    @property
    def size(self) -> int:
        """The number of rows of G."""
        return self.shape[0]


def orthonormal(G: Matrix, scales: Sequence[float], tolerance: float | None = None) -> Orthonormal:
    """Gram and Schmidt with exchange of rows: in every step the largest remaining row is taken.

    ``scales`` are the usual sizes of the rows, which make rows in different units comparable. A row depends on those
    before it where what is left of it could be rounding of a row of the usual size, or of the largest one. Rows with
    less than ``tolerance`` of these sizes count as dependent, too.

    >>> orthonormal([[2.0, 0.0], [4.0, 0.0], [0.0, 3.0]], [1.0, 1.0, 1.0]).independent
    [1.0, 1.0]
    """
    live = [k for k, row in enumerate(G) if not all(is_zero(x) for x in row)]
    shape = len(G), len(G[0]) if G else 0
    left = [list(G[k]) for k in live]
    weights: list[Scalar] = [1.0 / scales[k] for k in live]
    lower: list[list[Scalar]] = [[] for _ in live]
    exchanges, rows, independent = list[list[Scalar]](), list[list[Scalar]](), list[Scalar]()
    largest: Scalar = 0.0
    for k in range(min(len(live), shape[1])):
        keys = [real_part(dot(row, row)) * (w * w) for row, w in zip(left[k:], weights[k:], strict=True)]
        flags = largest_first(keys)
        exchanges.append(flags)
        _exchange_rows(flags, left, k)
        _exchange_rows(flags, lower, k)
        weights[k:] = exchanged(flags, weights[k:])
        own = left[k]
        for j, q in enumerate(rows):  # once more: what rounding has left along the rows before
            along = dot(q, own)
            own = [x - along * y for x, y in zip(own, q, strict=True)]
            lower[k][j] = lower[k][j] + along
        length = sqrt(dot(own, own))
        relative = length * weights[k]
        largest = relative if k == 0 else largest
        there = _significant(relative, largest, tolerance)
        divisor = where(there, length, 1.0)
        factor = where(there, reciprocal(divisor), 0.0)
        q = [x * factor for x in own]
        rows.append(q)
        lower[k].append(divisor)
        independent.append(where(there, 1.0, 0.0))
        for i in range(k + 1, len(live)):
            along = dot(q, left[i])
            left[i] = [x - along * y for x, y in zip(left[i], q, strict=True)]
            lower[i].append(along)
    return Orthonormal(shape, live, exchanges, rows, lower, independent)


def _exchange_rows(flags: Row, matrix: list[list[Scalar]], k: int) -> None:
    columns = [exchanged(flags, column) for column in zip(*matrix[k:], strict=True)]
    if columns:
        matrix[k:] = [list(row) for row in zip(*columns, strict=True)]


def _significant(length: Scalar, largest: Scalar, tolerance: float | None) -> Scalar:
    """Whether a length, in units of the usual one, is clearly more than rounding."""
    clear = real_part(unless_rounding(unless_rounding(length, 1.0), largest))
    if tolerance is None:
        return clear > 0.0
    return where(clear > tolerance, clear, 0.0) > tolerance * real_part(largest)


def demanded(of: Orthonormal, right: Row) -> list[Scalar]:
    """The shortest a with ``G a = b``, as far as there is one: dependent equations are not asked."""
    y = list[Scalar]()
    for row, b, there in zip(of.lower, in_steps(of, right), of.independent, strict=False):
        rest = b
        for x, factor in zip(y, row, strict=False):
            rest = rest - factor * x
        y.append(there * (rest / row[-1]))
    return combined(of.rows, y, of.shape[1])


def fitted(of: Orthonormal, right: Row) -> list[Scalar]:
    """The shortest a of all that make ``G a - b`` smallest: ``L y`` is fitted to b, ``a = Q* y``."""
    columns, taken = _columns_of_lower(of), in_steps(of, right)
    y = solve_positive(_products(of, columns), [dot(column, taken) for column in columns])
    return combined(of.rows, y, of.shape[1])


def reactions(of: Orthonormal, forces: Row) -> list[Scalar]:
    """The shortest lambda with ``G* lambda = f``, f as far as rows of G reach: ``L* lambda = Q f``."""
    columns = _columns_of_lower(of)
    y = solve_positive(_products(of, columns), [dot(q, forces) for q in of.rows])
    return in_given_order(of, combined(columns, y, len(of.live)))


def multipliers(of: Orthonormal, along: Row) -> list[Scalar]:
    """Some lambda with ``G* lambda = Q* z``: ``L* lambda = z``, zero for dependent rows."""
    x = [z * there for z, there in zip(along, of.independent, strict=True)]
    for k in reversed(range(len(x))):
        for i in range(k + 1, len(x)):
            x[k] = x[k] - of.lower[i][k] * x[i]
        x[k] = of.independent[k] * (x[k] / of.lower[k][k])
    return in_given_order(of, [*x, *[0.0] * (len(of.live) - len(x))])


def _columns_of_lower(of: Orthonormal) -> Matrix:
    """Columns of L, zero for dependent rows."""
    return [
        [row[k] * there if i >= k else 0.0 for i, row in enumerate(of.lower)] for k, there in enumerate(of.independent)
    ]


def _products(of: Orthonormal, columns: Matrix) -> Matrix:
    """``L* L``, with 1 on its diagonal for dependent rows."""
    products = [[dot(one, other) for other in columns] for one in columns]
    for k, there in enumerate(of.independent):
        products[k][k] = products[k][k] + (1.0 - there)
    return products


def left_free(of: Orthonormal, vector: Row) -> list[Scalar]:
    """``P x``."""
    along = [dot(q, vector) for q in of.rows]
    return [x - part for x, part in zip(vector, combined(of.rows, along, len(vector)), strict=True)]


def by_projection(mass: Matrix, moments: Row, of: Orthonormal, gamma: Row) -> list[Scalar]:
    """Accelerations; ``moments`` are ``T - bias``."""
    size = len(moments)
    least = sum((mass[k][k] for k in range(size)), start=0.0) * (_LIGHT / size)
    inertia = [mass[k][k] + least for k in range(size)]
    weighted = [[dot([x * x for x in q], inertia) * x for x in q] for q in of.rows]  # S Q
    demand = demanded(of, [-x for x in gamma])
    rest = [t - x for t, x in zip(moments, times(mass, demand), strict=True)]
    half = [left_free(of, row) for row in mass]  # mass P
    both = list(zip(*(left_free(of, column) for column in zip(*half, strict=True)), strict=True))  # P mass P
    held = [[dot([q[i] for q in of.rows], [w[j] for w in weighted]) for j in range(size)] for i in range(size)]
    system = [[both[i][j] + held[i][j] for j in range(size)] for i in range(size)]
    free = solve_positive(system, left_free(of, rest))
    return [a + x for a, x in zip(demand, free, strict=True)]


def times(matrix: Matrix, x: Row) -> list[Scalar]:
    """A matrix times a vector."""
    return [dot(row, x) for row in matrix]


def combined(rows: Matrix, factors: Row, size: int) -> list[Scalar]:
    """``rows* factors``."""
    total: list[Scalar] = [0.0] * size
    for row, factor in zip(rows, factors, strict=True):
        total = [x + factor * y for x, y in zip(total, row, strict=True)]
    return total
