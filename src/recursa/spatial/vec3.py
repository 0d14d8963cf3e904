"""Three-vectors over any scalar."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from recursa.spatial.scalars import Scalar, one_operand, sqrt


@one_operand
class Vec3(NamedTuple):
    """A vector with three components, each a scalar of any kind.

    >>> Vec3(1.0, 0.0, 0.0).cross(Vec3(0.0, 1.0, 0.0))
    Vec3(x=0.0, y=0.0, z=1.0)
    """

    x: Scalar
    y: Scalar
    z: Scalar

    @staticmethod
    def zero() -> Vec3:
        """The zero vector."""
        return ZERO

    @staticmethod
    def of(values: Iterable[float]) -> Vec3:
        """A vector of plain floats from any three numbers."""
        x, y, z = values
        return Vec3(float(x), float(y), float(z))

    def __add__(self, other: Vec3) -> Vec3:  # type: ignore[override]
        a, b, c = self
        x, y, z = other
        return Vec3(a + x, b + y, c + z)

    def __sub__(self, other: Vec3) -> Vec3:
        a, b, c = self
        x, y, z = other
        return Vec3(a - x, b - y, c - z)

    def __neg__(self) -> Vec3:
        return Vec3(-self.x, -self.y, -self.z)

    def __mul__(self, factor: Scalar) -> Vec3:
        x, y, z = self
        return Vec3(x * factor, y * factor, z * factor)

    def __rmul__(self, factor: Scalar) -> Vec3:
        return self * factor

    def dot(self, other: Vec3) -> Scalar:
        """Scalar product, 3 mul 2 add."""
        a, b, c = self
        x, y, z = other
        return a * x + b * y + c * z

    def cross(self, other: Vec3) -> Vec3:
        """Vector product ``self x other``, 6 mul 3 add."""
        a, b, c = self
        x, y, z = other
        return Vec3(b * z - c * y, c * x - a * z, a * y - b * x)

    def norm_squared(self) -> Scalar:
        """Square of the length."""
        return self.dot(self)

    def norm(self) -> Scalar:
        """Length."""
        return sqrt(self.dot(self))


ZERO = Vec3(0.0, 0.0, 0.0)
X_AXIS = Vec3(1.0, 0.0, 0.0)
Y_AXIS = Vec3(0.0, 1.0, 0.0)
Z_AXIS = Vec3(0.0, 0.0, 1.0)


@one_operand
class SymMat3(NamedTuple):
    """A symmetric 3x3 matrix by its six numbers, named as matrix entries (``xy`` is the entry, not an integral).

    >>> SymMat3.diagonal(1.0, 2.0, 3.0) @ Vec3(1.0, 1.0, 1.0)
    Vec3(x=1.0, y=2.0, z=3.0)
    """

    xx: Scalar
    yy: Scalar
    zz: Scalar
    xy: Scalar
    xz: Scalar
    yz: Scalar

    @staticmethod
    def zero() -> SymMat3:
        """The zero matrix."""
        return SYM_ZERO

    @staticmethod
    def diagonal(xx: Scalar, yy: Scalar, zz: Scalar) -> SymMat3:
        """A diagonal matrix."""
        return SymMat3(xx, yy, zz, 0.0, 0.0, 0.0)

    @staticmethod
    def dyad(u: Vec3, factor: Scalar = 1.0) -> SymMat3:
        """``factor u u^T``."""
        w = u * factor
        return SymMat3(w.x * u.x, w.y * u.y, w.z * u.z, w.x * u.y, w.x * u.z, w.y * u.z)

    @staticmethod
    def dyad_pair(u: Vec3, v: Vec3) -> SymMat3:
        """``u v^T + v u^T``."""
        return SymMat3(
            2.0 * (u.x * v.x),
            2.0 * (u.y * v.y),
            2.0 * (u.z * v.z),
            u.x * v.y + u.y * v.x,
            u.x * v.z + u.z * v.x,
            u.y * v.z + u.z * v.y,
        )

    def __add__(self, other: SymMat3) -> SymMat3:  # type: ignore[override]
        a, b, c, d, e, f = self
        u, v, w, x, y, z = other
        return SymMat3(a + u, b + v, c + w, d + x, e + y, f + z)

    def __sub__(self, other: SymMat3) -> SymMat3:
        a, b, c, d, e, f = self
        u, v, w, x, y, z = other
        return SymMat3(a - u, b - v, c - w, d - x, e - y, f - z)

    def __neg__(self) -> SymMat3:
        return SymMat3(*(-a for a in self))

    def __mul__(self, factor: Scalar) -> SymMat3:
        return SymMat3(*(a * factor for a in self))

    def __rmul__(self, factor: Scalar) -> SymMat3:
        return self * factor

    def __matmul__(self, u: Vec3) -> Vec3:
        """Matrix times vector, 9 mul 6 add."""
        xx, yy, zz, xy, xz, yz = self
        x, y, z = u
        return Vec3(xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z)

    def trace(self) -> Scalar:
        """Sum of the diagonal."""
        return self.xx + self.yy + self.zz

    def plus_diagonal(self, d: Scalar) -> SymMat3:
        """``self + d 1``."""
        return SymMat3(self.xx + d, self.yy + d, self.zz + d, self.xy, self.xz, self.yz)

    def rows(self) -> tuple[Vec3, Vec3, Vec3]:
        """The rows of the full matrix."""
        return (
            Vec3(self.xx, self.xy, self.xz),
            Vec3(self.xy, self.yy, self.yz),
            Vec3(self.xz, self.yz, self.zz),
        )


SYM_ZERO = SymMat3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
