"""4x4 matrices over any scalar: homogeneous coordinates where they are differentiated, not only composed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, overload

from recursa.spatial.scalars import Scalar, one_operand


@one_operand
class Vec4(NamedTuple):
    """Four numbers: a point (w = 1) or a direction (w = 0) in homogeneous coordinates, or a row of a matrix."""

    x: Scalar
    y: Scalar
    z: Scalar
    w: Scalar

    def __add__(self, other: Vec4) -> Vec4:  # type: ignore[override]
        return Vec4(self.x + other.x, self.y + other.y, self.z + other.z, self.w + other.w)

    def __mul__(self, factor: Scalar) -> Vec4:
        return Vec4(self.x * factor, self.y * factor, self.z * factor, self.w * factor)

    def dot(self, other: Vec4) -> Scalar:
        """Scalar product, 4 mul 3 add."""
        return self.x * other.x + self.y * other.y + self.z * other.z + self.w * other.w


@one_operand
class Mat4(NamedTuple):
    """A 4x4 matrix by rows.

    >>> Mat4.identity() @ Vec4(1.0, 2.0, 3.0, 1.0)
    Vec4(x=1.0, y=2.0, z=3.0, w=1.0)
    """

    x: Vec4
    y: Vec4
    z: Vec4
    w: Vec4

    @staticmethod
    def from_rows(rows: Sequence[Sequence[Scalar]]) -> Mat4:
        """From four rows of four entries."""
        a, b, c, d = rows
        return Mat4(Vec4(*a), Vec4(*b), Vec4(*c), Vec4(*d))

    @staticmethod
    def zero() -> Mat4:
        """The zero matrix."""
        return Mat4.from_rows([[0.0] * 4] * 4)

    @staticmethod
    def identity() -> Mat4:
        """The unit matrix."""
        return Mat4.from_rows([[float(i == j) for j in range(4)] for i in range(4)])

    def __add__(self, other: Mat4) -> Mat4:  # type: ignore[override]
        return Mat4(self.x + other.x, self.y + other.y, self.z + other.z, self.w + other.w)

    def __mul__(self, factor: Scalar) -> Mat4:
        return Mat4(self.x * factor, self.y * factor, self.z * factor, self.w * factor)

    @overload
    def __matmul__(self, other: Vec4) -> Vec4: ...
    @overload
    def __matmul__(self, other: Mat4) -> Mat4: ...
    def __matmul__(self, other: Vec4 | Mat4) -> Vec4 | Mat4:
        """Matrix times vector (16 mul 12 add) or matrix (64 mul 48 add)."""
        if isinstance(other, Vec4):
            return Vec4(*(row.dot(other) for row in self))
        columns = other.T
        return Mat4(*(Vec4(*(row.dot(column) for column in columns)) for row in self))

    @property
    def T(self) -> Mat4:
        """Transpose; its rows are the columns of this matrix."""
        return Mat4(*(Vec4(*column) for column in zip(*self, strict=True)))

    def inner(self, other: Mat4) -> Scalar:
        """``tr(A B^T)``, the sum of the products of equal entries, 16 mul 15 add.

        >>> Mat4.identity().inner(Mat4.identity())
        4.0
        """
        total, *rest = (a.dot(b) for a, b in zip(self, other, strict=True))
        for product in rest:
            total = total + product
        return total
