"""A number with its first and second derivative along one motion, over any scalar.

A condition is written once, as a function of a pose. Asked with the rates of that pose it gives its own rate and
acceleration, exactly: rows of Jacobians and bias terms need no formulas of their own.
"""

from __future__ import annotations

from typing import Any

from recursa.constraints.slopes import chosen
from recursa.spatial.scalars import Scalar, Subtraction, atan2, sqrt

FLOOR = (
    1e-16  # of what a root is taken of and divided by: half turns away from closed, where no direction is the nearest
)


class Jet(Subtraction):
    """``x`` with ``d``, its rate, and ``dd``, its acceleration.

    >>> t = Jet(3.0, 1.0, 0.0)
    >>> square = t * t - 2.0
    >>> square.x, square.d, square.dd
    (7.0, 6.0, 2.0)
    """

    __array_ufunc__ = None
    __slots__ = ("d", "dd", "x")

    def __init__(self, x: Scalar, d: Scalar = 0.0, dd: Scalar = 0.0) -> None:
        self.x, self.d, self.dd = x, d, dd

    def __neg__(self) -> Jet:
        return Jet(-self.x, -self.d, -self.dd)

    def __add__(self, other: Any) -> Jet:
        if isinstance(other, Jet):
            return Jet(self.x + other.x, self.d + other.d, self.dd + other.dd)
        return Jet(self.x + other, self.d, self.dd)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Jet:
        if isinstance(other, Jet):
            (a, b, c), (x, y, z) = (self.x, self.d, self.dd), (other.x, other.d, other.dd)
            return Jet(a * x, a * y + b * x, a * z + c * x + 2.0 * (b * y))
        return Jet(self.x * other, self.d * other, self.dd * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Jet:
        if not isinstance(other, Jet):
            return self * (1.0 / other)
        q = self.x / other.x
        d = (self.d - q * other.d) / other.x
        return Jet(q, d, (self.dd - 2.0 * (d * other.d) - q * other.dd) / other.x)


def root(x: Any) -> Any:
    """The square root of something that is not negative, kept away from zero."""
    if not isinstance(x, Jet):
        return sqrt(_over_floor(x, x))
    s = root(x.x)
    d = _over_floor(x.x, x.d, 0.0) / (2.0 * s)
    return Jet(s, d, (0.5 * _over_floor(x.x, x.dd, 0.0) - d * d) / s)


def _over_floor(x: Scalar, then: Scalar, otherwise: Scalar = FLOOR) -> Scalar:
    return then if isinstance(x, float) and x > FLOOR else chosen(x > FLOOR, then, otherwise)


def angle(y: Any, x: Any) -> Any:
    """The angle of the point (x, y)."""
    if not isinstance(y, Jet) or not isinstance(x, Jet):
        return atan2(y, x)
    square = x.x * x.x + y.x * y.x
    d = (x.x * y.d - y.x * x.d) / square
    turning = x.x * y.dd - y.x * x.dd
    return Jet(atan2(y.x, x.x), d, (turning - d * (2.0 * (x.x * x.d + y.x * y.d))) / square)
