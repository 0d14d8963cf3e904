"""Constrained motion from matrices: the mass matrix, the bias, G and gamma, on any scalars.

Both classical ways, for any rank of G and joints that may be tied:

- projection: accelerations are split into what the constraints demand and what they leave free. Rows of G are made
  orthonormal one after the other, ``G = L Q``; with ``P = I - Q* Q`` and ``a = Q* y + x``, ``L y = -gamma``,

      (P mass P + Q* Q) x = P (T - bias - mass Q* y),        x = P x.

- augmentation: ``A lambda = -(G a_free + gamma)`` with ``A = G inv(mass) G*``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recursa.spatial.scalars import Scalar, reciprocal, sqrt, where
from recursa.spatial.small_systems import Ranked, factored, solve_positive, unless_rounding

Row = Sequence[Scalar]
Matrix = Sequence[Sequence[Scalar]]


class Orthonormal(NamedTuple):
    """Orthonormal rows Q that span those of G: ``G = L Q``; rows that depend on those before are zero."""

    rows: list[list[Scalar]]  # Q
    lower: list[list[Scalar]]  # L, row k up to its diagonal; there 1 where Q has a zero row
    independent: list[Scalar]  # 1 or 0


def orthonormal(G: Matrix, scales: Sequence[float]) -> Orthonormal:
    """Gram and Schmidt, each row twice.

    A row depends on those before if what is left of it could be rounding, of itself or of ``scales``, its usual size.

    >>> orthonormal([[2.0, 0.0], [4.0, 0.0], [0.0, 3.0]], [1.0, 1.0, 1.0]).independent
    [1.0, 0.0, 1.0]
    """
    rows, lower, independent = list[list[Scalar]](), list[list[Scalar]](), list[Scalar]()
    for own, scale in zip(G, scales, strict=True):
        left, taken = list(own), [0.0] * len(rows)
        for _ in range(2):
            for j, q in enumerate(rows):
                along = dot(q, left)
                left = [x - along * y for x, y in zip(left, q, strict=True)]
                taken[j] = taken[j] + along
        length = sqrt(dot(left, left))
        sizes = sqrt(dot(own, own)), scale
        there = unless_rounding(unless_rounding(length, sizes[0]), sizes[1]) > 0.0
        divisor = where(there, length, 1.0)
        factor = where(there, reciprocal(divisor), 0.0)
        rows.append([x * factor for x in left])
        lower.append([*taken, divisor])
        independent.append(where(there, 1.0, 0.0))
    return Orthonormal(rows, lower, independent)


def demanded(of: Orthonormal, right: Row) -> list[Scalar]:
    """The shortest a with ``G a = b``, as far as there is one: equations that depend on those before are not asked."""
    y = list[Scalar]()
    for row, b, there in zip(of.lower, right, of.independent, strict=True):
        rest = b
        for x, factor in zip(y, row, strict=False):
            rest = rest - factor * x
        y.append(there * (rest / row[-1]))
    return combined(of.rows, y, len(of.rows[0]) if of.rows else 0)


def fitted(of: Orthonormal, right: Row) -> list[Scalar]:
    """The shortest a of all that make ``G a - b`` smallest: ``L y`` is fitted to b, ``a = Q* y``."""
    size = len(of.rows)
    columns = [[of.lower[i][k] * of.independent[k] if i >= k else 0.0 for i in range(size)] for k in range(size)]
    system = [[dot(columns[k], columns[j]) for j in range(size)] for k in range(size)]
    for k in range(size):
        system[k][k] = system[k][k] + (1.0 - of.independent[k])
    y = solve_positive(system, [dot(column, right) for column in columns])
    return combined(of.rows, y, len(of.rows[0]) if of.rows else 0)


def left_free(of: Orthonormal, vector: Row) -> list[Scalar]:
    """``P x``."""
    along = [dot(q, vector) for q in of.rows]
    return [x - part for x, part in zip(vector, combined(of.rows, along, len(vector)), strict=True)]


def by_projection(mass: Matrix, moments: Row, of: Orthonormal, gamma: Row) -> list[Scalar]:
    """Accelerations; ``moments`` are ``T - bias``."""
    size = len(moments)
    demand = demanded(of, [-x for x in gamma])
    rest = [t - x for t, x in zip(moments, times(mass, demand), strict=True)]
    half = [left_free(of, row) for row in mass]  # mass P
    both = list(zip(*(left_free(of, column) for column in zip(*half, strict=True)), strict=True))  # P mass P
    held = [[dot([q[i] for q in of.rows], [q[j] for q in of.rows]) for j in range(size)] for i in range(size)]
    system = [[both[i][j] + held[i][j] for j in range(size)] for i in range(size)]
    free = solve_positive(system, left_free(of, rest))
    return [a + x for a, x in zip(demand, free, strict=True)]


class Augmented(NamedTuple):
    """``inv(mass) G*`` by rows, ``A = G inv(mass) G*`` and its factors."""

    responses: list[list[Scalar]]
    delassus: list[list[Scalar]]
    factors: Ranked


def augmented(mass: Matrix, G: Matrix, scales: Sequence[float]) -> Augmented:
    """What the augmentation method needs of matrices."""
    responses = [solve_positive(mass, row) for row in G]
    delassus = [[dot(row, other) for other in responses] for row in G]
    yielding: Scalar = 0.0
    for k, row in enumerate(mass):
        yielding = yielding + reciprocal(row[k])
    least = [yielding * (scale * scale) for scale in scales]
    return Augmented(responses, delassus, factored(delassus, least))


def dot(x: Row, y: Row) -> Scalar:
    """Their product."""
    return sum((a * b for a, b in zip(x, y, strict=True)), start=0.0)


def times(matrix: Matrix, x: Row) -> list[Scalar]:
    """A matrix times a vector."""
    return [dot(row, x) for row in matrix]


def combined(rows: Matrix, factors: Row, size: int) -> list[Scalar]:
    """``rows* factors``."""
    total: list[Scalar] = [0.0] * size
    for row, factor in zip(rows, factors, strict=True):
        total = [x + factor * y for x, y in zip(total, row, strict=True)]
    return total


def row_scales(units: Sequence[str], unit_length: float) -> list[float]:
    """How large rows of G usually are: 1 where they turn, the robot's own length where they move."""
    return [1.0 if unit == "r" else unit_length for unit in units]
