"""Principal axes of symmetric matrices of plain numbers, by Jacobi's rotations: the same bits on every machine."""

from __future__ import annotations

import math

from recursa.spatial.rotation import IDENTITY, Rotation
from recursa.spatial.vec3 import SymMat3, Vec3

_SWEEPS = 60  # five are enough for doubles; infinities and nan never get there


def principal_axes(matrix: SymMat3) -> tuple[Vec3, Rotation]:
    """The moments d and the rotation R of ``R diag(d) R^T``, in the order nearest to that of the matrix.

    >>> principal_axes(SymMat3.diagonal(1.0, 3.0, 2.0))[0]
    Vec3(x=1.0, y=3.0, z=2.0)
    >>> moments, axes = principal_axes(SymMat3(2.0, 2.0, 5.0, 1.0, 0.0, 0.0))
    >>> [round(moment, 15) for moment in moments], [round(entry, 12) for entry in axes.columns()[1]]
    ([1.0, 3.0, 5.0], [0.707106781187, 0.707106781187, 0.0])
    """
    a = [[float(x) for x in row] for row in matrix.rows()]
    v = [[float(x) for x in row] for row in IDENTITY.rows()]
    for _ in range(_SWEEPS):
        if all(a[i][j] == 0.0 for i, j in ((0, 1), (0, 2), (1, 2))):
            break
        for i, j in ((0, 1), (0, 2), (1, 2)):
            _eliminate(a, v, i, j)
    return Vec3(a[0][0], a[1][1], a[2][2]), Rotation.from_rows(v)


def _eliminate(a: list[list[float]], v: list[list[float]], i: int, j: int) -> None:
    """Turn rows and columns i and j so that their product becomes zero."""
    product = a[i][j]
    if abs(product) <= 1e-18 * (abs(a[i][i]) + abs(a[j][j])):  # it would change nothing any more
        a[i][j] = a[j][i] = 0.0
        return
    theta = (a[j][j] - a[i][i]) / (2.0 * product)
    t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1.0))
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    a[i][i] -= t * product
    a[j][j] += t * product
    a[i][j] = a[j][i] = 0.0
    k = 3 - i - j
    a[i][k], a[j][k] = c * a[i][k] - s * a[j][k], s * a[i][k] + c * a[j][k]
    a[k][i], a[k][j] = a[i][k], a[j][k]
    for row in v:
        row[i], row[j] = c * row[i] - s * row[j], s * row[i] + c * row[j]
