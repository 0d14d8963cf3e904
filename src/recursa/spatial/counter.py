"""A scalar that counts what is done to it, for the operation tables of the literature.

Rules, the usual ones: a product or sum of two counted numbers costs one; a subtraction is an addition; changes of sign
are free; multiplying by the constants 0, 1, -1 and adding the constant 0 is free (the constant is a plain float);
work on plain constants is free, because it can be done once beforehand; dividing by a constant is a multiplication.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from typing import Any

from recursa.spatial.scalars import Subtraction


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of operations. Add them, compare them, print them.

    >>> Counts(mul=20, add=12)
    Counts(mul=20, add=12, div=0, sqrt=0, trig=0)
    """

    mul: int = 0
    add: int = 0
    div: int = 0
    sqrt: int = 0
    trig: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __mul__(self, times: int) -> Counts:
        return Counts(*(a * times for a in astuple(self)))

    @property
    def total(self) -> int:
        """All operations together."""
        return sum(astuple(self))


@dataclass(slots=True)
class Counter:
    """A running tally. ``counter.number(2.5)`` makes a scalar that reports to it.

    >>> counter = Counter()
    >>> x, y = counter.number(2.0), counter.number(3.0)
    >>> float(x * y + 1.0), counter.counts()
    (7.0, Counts(mul=1, add=1, div=0, sqrt=0, trig=0))
    """

    mul: int = 0
    add: int = 0
    div: int = 0
    sqrt: int = 0
    trig: int = 0

    def number(self, value: float) -> Counted:
        """A counted number with this value."""
        return Counted(float(value), self)

    def numbers(self, values: Any) -> list[Counted]:
        """Counted numbers for a sequence of values."""
        return [self.number(v) for v in values]

    def counts(self) -> Counts:
        """The tally so far, frozen."""
        return Counts(self.mul, self.add, self.div, self.sqrt, self.trig)

    def reset(self) -> None:
        """Start again from zero."""
        self.mul = self.add = self.div = self.sqrt = self.trig = 0


class Counted(Subtraction):
    """A number with a value and a counter; results are counted numbers or, where folding applies, plain floats."""

    __array_ufunc__ = None
    __slots__ = ("counter", "value")

    def __init__(self, value: float, counter: Counter) -> None:
        self.value = value
        self.counter = counter

    def _new(self, value: float) -> Counted:
        return Counted(value, self.counter)

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Counted):
            other = other.value
        elif other == 0:
            return self
        self.counter.add += 1
        return self._new(self.value + other)

    __radd__ = __add__

    def __neg__(self) -> Counted:
        return self._new(-self.value)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, tuple):  # a vector: it scales itself, component by component
            return NotImplemented
        if isinstance(other, Counted):
            other = other.value
        elif other == 0:
            return 0.0
        elif other == 1:
            return self
        elif other == -1:
            return -self
        self.counter.mul += 1
        return self._new(self.value * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Counted):
            self.counter.div += 1
            return self._new(self.value / other.value)
        return self * (1.0 / other)

    def __rtruediv__(self, other: Any) -> Any:
        if other == 0:
            return 0.0
        self.counter.div += 1
        return self._new(other / self.value)

    def sin(self) -> Counted:
        """Sine, one trig."""
        self.counter.trig += 1
        return self._new(math.sin(self.value))

    def cos(self) -> Counted:
        """Cosine, one trig."""
        self.counter.trig += 1
        return self._new(math.cos(self.value))

    def sqrt(self) -> Counted:
        """Square root, one sqrt."""
        self.counter.sqrt += 1
        return self._new(math.sqrt(self.value))

    def atan2(self, y: Any, x: Any) -> Counted:
        """Angle of (x, y), one trig."""
        self.counter.trig += 1
        return self._new(math.atan2(float(y), float(x)))

    def __float__(self) -> float:
        return self.value

    def __lt__(self, other: Any) -> bool:
        return self.value < float(other)

    def __gt__(self, other: Any) -> bool:
        return self.value > float(other)

    def __le__(self, other: Any) -> bool:
        return self.value <= float(other)

    def __ge__(self, other: Any) -> bool:
        return self.value >= float(other)

    def __repr__(self) -> str:
        return f"Counted({self.value})"
