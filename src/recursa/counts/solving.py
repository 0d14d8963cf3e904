"""The linear solve of forward dynamics, on any scalars: ``M a = b`` by ``M = L D L^T``."""

from __future__ import annotations

from collections.abc import Sequence

from recursa.spatial.scalars import Scalar


def solve_symmetric(matrix: Sequence[Sequence[Scalar]], right: Sequence[Scalar]) -> list[Scalar]:
    """The solution for a symmetric positive definite matrix, of which the lower triangle is read.

    ``n^3/6 + 3 n^2/2 - 2 n/3`` products and divisions, ``n^3/6 + n^2 - 7 n/6`` sums, as Balafoutis & Patel count it.

    >>> solve_symmetric([[2.0, 1.0], [1.0, 3.0]], [4.0, 7.0])
    [1.0, 2.0]
    """
    n = len(right)
    rest = [list(row) for row in matrix]
    factor = [[0.0 for _ in row] for row in matrix]
    for k in range(n):
        for i in range(k + 1, n):
            factor[i][k] = rest[i][k] / rest[k][k]
            for j in range(k + 1, i + 1):
                rest[i][j] = rest[i][j] - factor[i][k] * rest[j][k]
    x = list(right)
    for i in range(n):
        for k in range(i):
            x[i] = x[i] - factor[i][k] * x[k]
    x = [value / rest[i][i] for i, value in enumerate(x)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - factor[k][i] * x[k]
    return x
