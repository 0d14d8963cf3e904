"""General 3x3 matrices over any scalar: the second-order Cartesian tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from recursa.errors import ShapeError
from recursa.spatial.rotation import Rotation
from recursa.spatial.scalars import Scalar, one_operand
from recursa.spatial.vec3 import ZERO, SymMat3, Vec3


@one_operand
class Mat3(NamedTuple):
    """A general 3x3 matrix by rows of vectors; its ``x.y`` is the entry in row x, column y.

    The second-order tensor of :mod:`recursa.book.tensors` and the coupling block of an articulated inertia.

    >>> t = Mat3.skew(Vec3(1.0, 2.0, 3.0))
    >>> t @ Vec3(0.0, 0.0, 1.0)
    Vec3(x=2.0, y=-1.0, z=0.0)
    >>> (t @ t).trace()
    -28.0
    """

    x: Vec3
    y: Vec3
    z: Vec3

    # ---- making one ------------------------------------------------------------------------------------------------

    @staticmethod
    def zero() -> Mat3:
        """The zero matrix."""
        return Mat3(ZERO, ZERO, ZERO)

    @staticmethod
    def identity() -> Mat3:
        """The unit matrix."""
        return MAT_IDENTITY

    @staticmethod
    def of(matrix: Mat3 | SymMat3 | Rotation) -> Mat3:
        """The full matrix of a symmetric matrix or a rotation."""
        return Mat3(*matrix.rows())

    @staticmethod
    def from_rows(rows: Sequence[Sequence[Scalar]]) -> Mat3:
        """From three rows of three entries."""
        a, b, c = rows
        return Mat3(Vec3(*a), Vec3(*b), Vec3(*c))

    @staticmethod
    def from_array(array: Any) -> Mat3:
        """From an array of shape (..., 3, 3); plain floats if there is no batch axis. Inverse of :meth:`array`."""
        a = np.asarray(array)
        if a.shape[-2:] != (3, 3):
            raise ShapeError(f"a 3x3 tensor needs an array of shape (..., 3, 3), not {a.shape}")
        if a.ndim == 2:
            return Mat3.from_rows(a.tolist())
        return Mat3.from_rows([[a[..., i, j] for j in range(3)] for i in range(3)])

    @staticmethod
    def skew(u: Vec3) -> Mat3:
        """``~u``, so that ``skew(u) @ v`` is ``u x v``."""
        return Mat3(Vec3(0.0, -u.z, u.y), Vec3(u.z, 0.0, -u.x), Vec3(-u.y, u.x, 0.0))

    @staticmethod
    def dyad(u: Vec3, v: Vec3) -> Mat3:
        """``u v^T``."""
        return Mat3(v * u.x, v * u.y, v * u.z)

    # ---- arithmetic ------------------------------------------------------------------------------------------------

    def __add__(self, other: Mat3) -> Mat3:  # type: ignore[override]
        return Mat3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Mat3) -> Mat3:
        return Mat3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> Mat3:
        return Mat3(-self.x, -self.y, -self.z)

    def __mul__(self, factor: Scalar) -> Mat3:
        if isinstance(factor, tuple):  # tuples of tuples would multiply entry by entry into nonsense
            raise TypeError(f"Mat3 * {type(factor).__name__}: use @ for products; * scales by a number")
        return Mat3(self.x * factor, self.y * factor, self.z * factor)

    def __rmul__(self, factor: Scalar) -> Mat3:
        return self * factor

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...
    @overload
    def __matmul__(self, other: Mat3 | SymMat3 | Rotation) -> Mat3: ...
    def __matmul__(self, other: Vec3 | Mat3 | SymMat3 | Rotation) -> Vec3 | Mat3:
        """Matrix times vector (9 mul 6 add) or matrix (27 mul 18 add)."""
        if isinstance(other, Vec3):
            return Vec3(self.x.dot(other), self.y.dot(other), self.z.dot(other))
        a, b, c = Mat3.of(other).T
        return Mat3(*(Vec3(row.dot(a), row.dot(b), row.dot(c)) for row in self))

    def transpose_times(self, v: Vec3) -> Vec3:
        """``A^T v``."""
        return self.x * v.x + self.y * v.y + self.z * v.z

    def plus_diagonal(self, d: Scalar) -> Mat3:
        """``self + d 1``."""
        (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = self
        return Mat3(Vec3(xx + d, xy, xz), Vec3(yx, yy + d, yz), Vec3(zx, zy, zz + d))

    def rotated(self, rotation: Rotation) -> Mat3:
        """``R A R^T``."""
        half = Mat3(rotation @ self.x, rotation @ self.y, rotation @ self.z).T  # (A R^T)^T rows -> columns of A R^T
        return Mat3(rotation @ half.x, rotation @ half.y, rotation @ half.z).T

    def cross_columns(self, r: Vec3) -> Mat3:
        """``~r A``: r x each column."""
        a, b, c = self
        return Mat3(c * r.y - b * r.z, a * r.z - c * r.x, b * r.x - a * r.y)

    # ---- taking it apart -------------------------------------------------------------------------------------------

    @property
    def T(self) -> Mat3:
        """Transpose; its rows are the columns of this matrix."""
        return Mat3(
            Vec3(self.x.x, self.y.x, self.z.x), Vec3(self.x.y, self.y.y, self.z.y), Vec3(self.x.z, self.y.z, self.z.z)
        )

    def rows(self) -> tuple[Vec3, Vec3, Vec3]:
        """The rows, as the symmetric and rotation matrices give them."""
        return self.x, self.y, self.z

    def trace(self) -> Scalar:
        """Sum of the diagonal."""
        return self.x.x + self.y.y + self.z.z

    def det(self) -> Scalar:
        """Determinant, as the triple product of the rows."""
        return self.x.dot(self.y.cross(self.z))

    def array(self) -> np.ndarray:
        """A NumPy array of shape (..., 3, 3) with the batch axes first (objects for counted or symbolic entries)."""
        return array_of(self)


def array_of(rows: Sequence[Sequence[Scalar]]) -> np.ndarray:
    """The matrix of given rows as an array of shape (..., rows, columns); plain constants spread over the batch.

    >>> array_of([[np.zeros(7), 1.0], [2.0, 3.0]]).shape
    (7, 2, 2)
    """
    entries = np.broadcast_arrays(*(np.asarray(entry) for row in rows for entry in row))
    flat = np.stack(entries, axis=-1)
    return flat.reshape(*flat.shape[:-1], len(rows), -1)


MAT_IDENTITY = Mat3(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))
