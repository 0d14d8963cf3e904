"""Arithmetic on the constants of a robot (plain floats), which loading does for every link and joint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from recursa.spatial.inertia import RigidInertia
from recursa.spatial.rotation import IDENTITY, Quaternion, Rotation
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import X_AXIS, Y_AXIS, Z_AXIS, ZERO, SymMat3, Vec3

NOTHING = RigidInertia.zero()


def rotation_of(quaternion: Sequence[float]) -> Rotation:
    """The rotation of a quaternion (w, x, y, z) of any length, right angles exact.

    >>> rotation_of([0.5, 0.5, 0.5, 0.5])
    Rotation(xx=0.0, xy=0.0, xz=1.0, yx=1.0, yy=0.0, yz=0.0, zx=0.0, zy=1.0, zz=0.0)
    """
    w, x, y, z = quaternion
    return IDENTITY if x == y == z == 0.0 else Rotation.from_quaternion(Quaternion(x, y, z, w)).snapped()


def placed(outer: Transform, inner: Transform) -> Transform:
    """``outer @ inner`` with right angles exact; an identity, as most are, costs nothing but that zeros are positive.

    >>> placed(IDENTITY_TRANSFORM, Transform(IDENTITY, Vec3(1.0, -0.0, 0.0))).translation
    Vec3(x=1.0, y=0.0, z=0.0)
    """
    if outer is inner is IDENTITY_TRANSFORM:
        return IDENTITY_TRANSFORM
    if outer == IDENTITY_TRANSFORM:
        found = Transform(inner.rotation, inner.translation + ZERO)
    elif inner == IDENTITY_TRANSFORM:
        found = Transform(outer.rotation, outer.translation + ZERO)
    else:
        found = outer @ inner
    return Transform(found.rotation.snapped(), found.translation)


def unit_axis(axis: Vec3) -> Vec3:
    """The axis at unit length; a zero axis becomes x, URDF's default (the doctor reports it).

    >>> unit_axis(Vec3(0.0, 3e200, 4e200))
    Vec3(x=0.0, y=0.6, z=0.8)
    """
    if axis in (X_AXIS, Y_AXIS, Z_AXIS):
        return axis
    x, y, z = axis
    largest = max(abs(x), abs(y), abs(z))
    if largest == 0.0:
        return X_AXIS
    factor = 1.0 / largest if math.isfinite(largest) else 1.0  # no overflow in the squares
    x, y, z = x * factor, y * factor, z * factor
    length = math.sqrt(x * x + y * y + z * z)
    return Vec3(x / length, y / length, z / length)


def rigid_inertia(mass: float, com: Vec3, inertia: SymMat3) -> RigidInertia:
    """The inertia about the origin: :meth:`~recursa.spatial.inertia.RigidInertia.from_com`. Its zeros are positive.

    >>> rigid_inertia(2.0, Vec3(0.5, -0.0, 0.0), SymMat3(0.1, 0.2, 0.3, 0.0, 0.0, 0.0)).first
    Vec3(x=1.0, y=0.0, z=0.0)
    """
    return NOTHING + RigidInertia.from_com(mass, com, inertia)


def least_moment(mass: float, com: Vec3, inertia: SymMat3, reach: float, low: float, high: float) -> float:
    """A bound from below of the least moment of inertia of a body that can be real, or 0.

    ``inertia`` is about the centre of mass, whose distance from the origin squared is below ``reach``. With the trace t
    of I: no moment is negative, and none exceeds the sum of the others, where the Euler tensor ``J = t/2 - I`` is
    positive definite; ``4 det(I) / t^2`` then is the bound. By the mass t is between ``low`` and ``high``. Comparisons
    with nan and infinity fail.

    >>> round(least_moment(1.0, Vec3(0.1, 0.0, 0.0), SymMat3(2.0, 2.0, 2.0, 0.0, 0.0, 0.0), 1.0, 0.1, 10.0), 6)
    0.888889
    >>> least_moment(1.0, Vec3(0.1, 0.0, 0.0), SymMat3(2.0, 2.0, 5.0, 0.0, 0.0, 0.0), 1.0, 0.1, 10.0)
    0.0
    """
    (x, y, z), (xx, yy, zz, xy, xz, yz) = com, inertia
    t = xx + yy + zz
    jx, jy, jz = 0.5 * t - xx, 0.5 * t - yy, 0.5 * t - zz
    minor, products = jx * jy - xy * xy, 2.0 * xy * xz * yz
    if not (
        mass > 0.0
        and jx > 0.0
        and minor > 0.0
        and jz * minor - products > jy * xz * xz + jx * yz * yz  # the determinant of J, whose products are negative
        and (x * x + y * y + z * z) * mass < reach * mass
        and low * mass < t < high * mass < math.inf
    ):
        return 0.0
    determinant = xx * yy * zz + products - xx * yz * yz - yy * xz * xz - zz * xy * xy
    return 4.0 * determinant / (t * t)


def finite(*numbers: Any) -> bool:
    """Whether all numbers, also those in tuples and lists, are finite; None is none.

    >>> finite(1.0, (2.0, (3.0,)), None), finite((math.nan,))
    (True, False)
    """
    return all(finite(*one) if isinstance(one, tuple | list) else one is None or math.isfinite(one) for one in numbers)


def not_negative(*numbers: Any) -> bool:
    """Whether they are finite and none is negative.

    >>> not_negative((0.0, 1.0), None), not_negative(-1.0)
    (True, False)
    """
    return all(
        not_negative(*one) if isinstance(one, tuple | list) else one is None or 0.0 <= one < math.inf for one in numbers
    )


# ---- -----------------------------------------------------------------------------------------------------------------
# Principal axes of symmetric matrices of plain numbers, by Jacobi's rotations: the same bits on every machine.


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
