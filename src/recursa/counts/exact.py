"""Constants without rounding, so that what is zero or one by the structure of an arm is exactly that in a count.

With floats ``s (-d s) + c (d c) - d`` may be 1e-17, which would be counted as a number to add.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from recursa.kernels.graph import Graph
from recursa.spatial.scalars import Subtraction

_SAME = 1e-12


class Exact(Subtraction):
    """A rational number as a scalar; with floats, which it takes as what they are, it stays exact.

    >>> third = Exact(1, 3)
    >>> third + third + third == 1, float(0.5 * third * 6.0)
    (True, 1.0)
    """

    __array_ufunc__ = None
    __slots__ = ("value",)

    def __init__(self, value: Fraction | float | int, over: int = 1) -> None:
        self.value = Fraction(value) / over

    def __add__(self, other: Any) -> Any:
        known = _known(other)
        return NotImplemented if known is None else Exact(self.value + known)

    __radd__ = __add__

    def __neg__(self) -> Exact:
        return Exact(-self.value)

    def __mul__(self, other: Any) -> Any:
        known = _known(other)
        return NotImplemented if known is None else Exact(self.value * known)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        known = _known(other)
        return NotImplemented if known is None else Exact(self.value / known)

    def __rtruediv__(self, other: Any) -> Any:
        known = _known(other)
        return NotImplemented if known is None else Exact(known / self.value)

    def __eq__(self, other: object) -> bool:
        return self.value == _known(other)

    def __gt__(self, other: Any) -> bool:
        known = _known(other)
        return NotImplemented if known is None else self.value > known

    def __hash__(self) -> int:
        return hash(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def sqrt(self) -> Exact:
        """The root of a general number is another one, here the nearest float; squared it is not the number again."""
        return Exact(math.sqrt(self.value))

    def __repr__(self) -> str:
        return f"Exact({self.value})"


def _known(other: object) -> Fraction | None:
    """The value of a constant; None of anything else."""
    if isinstance(other, Exact):
        return other.value
    return Fraction(other) if isinstance(other, float | int) else None


class ExactGraph(Graph):
    """A graph in which ``(1/m) m`` is 1, whatever the rounding of 1/m."""

    def scale(self, a: int, factor: float) -> int:
        """``factor a``."""
        return super().scale(a, next((one for one in (1.0, -1.0) if abs(factor - one) < _SAME), factor))
