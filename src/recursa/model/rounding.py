"""Zeros that rounding hides: what is left of terms that cancel is told from a number that is small.

``0.3 - (0.1 + 0.2)`` is 6e-17, and code that is generated from it would multiply by it for ever. Whether a number is
such a remainder cannot be seen from the number; it can from the terms that it was added up from.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from recursa.spatial.formulas import Formula
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.rotation import Rotation
from recursa.spatial.scalars import Subtraction
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import Vec3

_ROUNDING = 1e-14  # of the terms: some fifty times what one operation loses


class Weighed(Subtraction):
    """A scalar that knows the sum of the sizes of its terms.

    >>> rest = Weighed(0.1) + 0.2 - 0.3
    >>> rest.value != 0.0, rest.settled(), (Weighed(1e-20) * 2.0).settled()
    (True, 0.0, 2e-20)
    """

    __array_ufunc__ = None
    __slots__ = ("value", "weight")

    def __init__(self, value: float, weight: float | None = None) -> None:
        self.value = float(value)
        self.weight = abs(self.value) if weight is None else weight

    def __add__(self, other: Any) -> Weighed:
        other = _weighed(other)
        return Weighed(self.value + other.value, self.weight + other.weight)

    __radd__ = __add__

    def __neg__(self) -> Weighed:
        return Weighed(-self.value, self.weight)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, tuple):  # a vector, which scales itself
            return NotImplemented
        other = _weighed(other)
        return Weighed(self.value * other.value, self.weight * other.weight)

    __rmul__ = __mul__

    def settled(self) -> float:
        """The number; zero where it is nothing but what rounding left of its terms."""
        return 0.0 if abs(self.value) <= _ROUNDING * self.weight < math.inf else self.value


def _weighed(x: Any) -> Weighed:
    return x if isinstance(x, Weighed) else Weighed(x)


def weighed_inertia(inertia: RigidInertia) -> RigidInertia:
    """The same of weighed numbers."""
    return RigidInertia.from_components([Weighed(x) for x in inertia.components()])


def weighed_transform(pose: Transform) -> Transform:
    """The same of weighed numbers; an entry of a rotation carries the rounding of numbers of size one, unless exact."""
    entries = (Weighed(x, abs(x) if x in (0.0, 1.0, -1.0) else 1.0) for x in pose.rotation)
    return Transform(Rotation(*entries), Vec3(*(Weighed(x) for x in pose.translation)))


def settled_inertia(inertia: RigidInertia) -> RigidInertia:
    """Plain numbers again, remainders of rounding being zero."""
    return RigidInertia.from_components([_weighed(x).settled() for x in inertia.components()])


def added_inertia(total: RigidInertia, inertia: RigidInertia, pose: Transform) -> RigidInertia:
    """``total`` and a body more that is fixed to it at a pose, remainders of rounding being zero.

    Plain numbers tell of most sums that they are no such remainders: then nothing has to be weighed.
    """
    plain = total + pose.inertia(inertia)
    if any(isinstance(x, Formula) for x in plain.components()):  # formulas do not round
        return plain
    if _certain(plain, total, inertia, pose):
        return plain
    return settled_inertia(total + weighed_transform(pose).inertia(inertia))


def _certain(plain: RigidInertia, total: RigidInertia, own: RigidInertia, pose: Transform) -> bool:
    """Whether all numbers are exact zeros, or larger than what rounding can leave of any terms: bounds of weights."""
    mass, distance = abs(own.mass), _size(pose.translation)
    first = _size(own.first) + mass * distance
    moment = 16.0 * _size(own.moment) + 5.0 * distance * first
    return (
        _beyond(_ROUNDING * (abs(total.mass) + mass), (plain.mass,))
        and _beyond(_ROUNDING * (_size(total.first) + first), plain.first)
        and _beyond(_ROUNDING * (_size(total.moment) + moment), plain.moment)
    )


def _size(numbers: Iterable[float]) -> float:
    return sum(map(abs, numbers))


def _beyond(bound: float, numbers: Iterable[float]) -> bool:
    return all(abs(x) > bound or x == 0.0 for x in numbers)
