"""Polynomials in n, exact: read from text, printed, and found from counts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from recursa.errors import RecursaError
from recursa.kernels.graph import Graph
from recursa.spatial.scalars import Subtraction

_TERM = re.compile(r"(?P<sign>[+-])?(?P<factor>\d+(?:/\d+|\.\d+)?)?(?P<n>n(?:\^(?P<power>\d+))?)?")


@dataclass(frozen=True)
class Polynomial:
    """``c0 + c1 n + c2 n^2 + ...`` with exact coefficients.

    >>> p = Polynomial.read("5.5n^2 + 32.5n - 54")
    >>> p(6), str(p)
    (339, '11/2 n^2 + 65/2 n - 54')
    """

    coefficients: tuple[Fraction, ...]

    @staticmethod
    def read(text: str) -> Polynomial:
        """From text such as "93n - 108" or "1/6n^3 + 7n^2 - 46"."""
        rest, found = text.replace(" ", ""), dict[int, Fraction]()
        while rest:
            match = _TERM.match(rest)
            if match is None or not (match["factor"] or match["n"]):
                raise RecursaError(f"'{text}' is not a polynomial in n, such as '93n - 108'")
            power = int(match["power"] or 1) if match["n"] else 0
            value = Fraction(match["factor"] or 1) * (-1 if match["sign"] == "-" else 1)
            found[power] = found.get(power, Fraction(0)) + value
            rest = rest[match.end() :]
        return Polynomial(tuple(found.get(power, Fraction(0)) for power in range(max(found, default=0) + 1)))

    @staticmethod
    def through(values: Mapping[int, int]) -> Polynomial | None:
        """The one of least degree through all the values, if one more value than it needs confirms it; else None.

        >>> str(Polynomial.through({3: 168, 4: 261, 6: 447}))
        '93 n - 111'
        >>> Polynomial.through({3: 168, 4: 261, 6: 448}) is None
        True
        """
        points = sorted(values)
        for size in range(1, len(points)):
            fitted = _interpolated({n: values[n] for n in points[:size]})
            if all(fitted(n) == values[n] for n in points):
                return fitted
        return None

    def __call__(self, n: int) -> int | Fraction:
        """Its value."""
        total = sum((c * n**power for power, c in enumerate(self.coefficients)), Fraction(0))
        return int(total) if total.denominator == 1 else total

    def __str__(self) -> str:
        text = ""
        for power, c in reversed(list(enumerate(self.coefficients))):
            if c == 0:
                continue
            letter = "" if power == 0 else "n" if power == 1 else f"n^{power}"
            size = str(abs(c)) if abs(c) != 1 or not letter else ""
            sign = (" - " if c < 0 else " + ") if text else ("-" if c < 0 else "")
            text += f"{sign}{size}{' ' if size and letter else ''}{letter}"
        return text or "0"


def _interpolated(values: Mapping[int, int]) -> Polynomial:
    """Lagrange's formula."""
    total = [Fraction(0)] * len(values)
    for n, value in values.items():
        basis = [Fraction(value)]
        for other in values:
            if other != n:  # times (x - other)/(n - other)
                shifted, scaled = [Fraction(0), *basis], [c * -other for c in basis] + [Fraction(0)]
                basis = [(a + b) / (n - other) for a, b in zip(shifted, scaled, strict=True)]
        total = [a + b for a, b in zip(total, basis, strict=True)]
    return Polynomial(tuple(total))


# ---- -----------------------------------------------------------------------------------------------------------------
# Constants without rounding, so that what is zero or one by the structure of an arm is exactly that in a count.
# With floats ``s (-d s) + c (d c) - d`` may be 1e-17, which would be counted as a number to add.


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
