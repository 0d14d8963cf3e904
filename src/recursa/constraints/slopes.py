"""A number with its derivatives along several directions, over any scalar.

What constraints ask of two links is written once, as a function of their motion. Asked with numbers of this kind it
gives its derivatives too, exactly: rows of Jacobians and bias terms need no formulas of their own. Directions along
which nothing changes cost nothing. A number whose value and derivatives are of this kind again has second derivatives;
all that it meets must be nested as it is, or have no derivatives at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recursa.spatial.scalars import Scalar, Subtraction, atan2, sqrt, where


class Sloped(Subtraction):
    """``x`` with its derivatives ``by`` direction; those that are not there are zero.

    >>> x, y = Sloped(3.0, {0: 1.0}), Sloped(4.0, {1: 1.0})
    >>> length = (x * x + y * y).sqrt()
    >>> length.x, {k: round(slope, 12) for k, slope in length.by.items()}
    (5.0, {0: 0.6, 1: 0.8})
    """

    __array_ufunc__ = None
    __slots__ = ("by", "x")

    def __init__(self, x: Scalar, by: Mapping[int, Scalar]) -> None:
        self.x, self.by = x, by

    def __neg__(self) -> Sloped:
        return Sloped(-self.x, {k: -d for k, d in self.by.items()})

    def __add__(self, other: Any) -> Sloped:
        if isinstance(other, Sloped):
            return Sloped(self.x + other.x, _added(self.by, other.by))
        return Sloped(self.x + other, self.by)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Sloped:
        if isinstance(other, Sloped):
            return Sloped(self.x * other.x, _added(_scaled(self.by, other.x), _scaled(other.by, self.x)))
        return Sloped(self.x * other, _scaled(self.by, other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Sloped:
        if not isinstance(other, Sloped):
            return self * (1.0 / other)
        inverse = 1.0 / other.x
        ratio = self.x * inverse
        return Sloped(ratio, _scaled(_added(self.by, _scaled(other.by, -ratio)), inverse))

    def __rtruediv__(self, other: Any) -> Sloped:
        return Sloped(other, {}) / self

    def __gt__(self, other: Any) -> Any:
        return self.x > (other.x if isinstance(other, Sloped) else other)

    def __lt__(self, other: Any) -> Any:
        return self.x < (other.x if isinstance(other, Sloped) else other)

    def sqrt(self) -> Sloped:
        """Its root."""
        root = sqrt(self.x)
        return Sloped(root, _scaled(self.by, 0.5 / root))

    @staticmethod
    def atan2(y: Any, x: Any) -> Sloped:
        """The angle of the point (x, y)."""
        y, x = (one if isinstance(one, Sloped) else Sloped(one, {}) for one in (y, x))
        inverse = 1.0 / (x.x * x.x + y.x * y.x)
        return Sloped(atan2(y.x, x.x), _added(_scaled(y.by, x.x * inverse), _scaled(x.by, -(y.x * inverse))))


def chosen(condition: Any, if_true: Any, if_false: Any) -> Any:
    """``where`` of numbers that may have derivatives."""
    if not isinstance(if_true, Sloped) and not isinstance(if_false, Sloped):
        return where(condition, if_true, if_false)
    one, other = (x if isinstance(x, Sloped) else Sloped(x, {}) for x in (if_true, if_false))
    by = {k: chosen(condition, one.by.get(k, 0.0), other.by.get(k, 0.0)) for k in sorted({*one.by, *other.by})}
    return Sloped(chosen(condition, one.x, other.x), by)


def slopes(x: Any, first: int, count: int) -> tuple[Scalar, ...]:
    """The derivatives along some directions, one after the other."""
    by = x.by if isinstance(x, Sloped) else {}
    return tuple(by.get(k, 0.0) for k in range(first, first + count))


def _added(one: Mapping[int, Scalar], other: Mapping[int, Scalar]) -> dict[int, Scalar]:
    total = dict(one)
    for k, d in other.items():
        total[k] = total[k] + d if k in total else d
    return total


def _scaled(by: Mapping[int, Scalar], factor: Scalar) -> dict[int, Scalar]:
    if isinstance(factor, float) and factor == 0.0:
        return {}
    return {k: d * factor for k, d in by.items()}
