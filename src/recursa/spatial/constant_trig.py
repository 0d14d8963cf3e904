"""Sines, cosines and angles of constants, with the same bits on every machine.

A C library chooses its sine by the processor (with fused multiply-adds or without), NumPy its own by the width of the
registers; the last bit then differs, and with it code that is generated from a robot's constants. Here they come from
whole numbers, so far beyond double precision that what is returned is the nearest double.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

_BITS = 128  # after the binary point
_ONE = 1 << _BITS
_LARGEST = 64.0  # beyond, the series is long; nobody writes such an angle into a table


@lru_cache(maxsize=4096)
def cos_sin(angle: float) -> tuple[float, float]:
    """Cosine and sine; nan of what is not finite.

    >>> cos_sin(0.0), cos_sin(1.0) == (math.cos(1.0), math.sin(1.0))
    ((1.0, 0.0), True)
    """
    if not math.isfinite(angle):
        return math.nan, math.nan
    if abs(angle) > _LARGEST:
        return math.cos(angle), math.sin(angle)
    cosine, sine = _series(angle)
    return cosine / _ONE, sine / _ONE


def atan2(y: float, x: float) -> float:
    """The angle of the point (x, y), in (-pi, pi]; 0 for (0, 0).

    >>> atan2(2.0, 0.0) == math.pi / 2
    True
    """
    near = math.atan2(y + 0.0, x)  # a half turn is pi, whatever the sign of its zero
    if not (x or y) or not math.isfinite(x + y):
        return near
    c, s = _series(near)
    across, along = Fraction(y), Fraction(x)
    rest = (across * c - along * s) / (along * c + across * s)  # a tangent, so small that it is the angle
    return float(Fraction(near) + rest)


def _series(angle: float) -> tuple[int, int]:
    """Taylor's series in units of 2^-128; of a positive angle, because whole numbers round downwards."""
    over, under = abs(angle).as_integer_ratio()
    x = (over << _BITS) // under
    sums = [0, 0]
    term, order = _ONE, 0
    while term:
        sums[order % 2] += -term if order & 2 else term
        order += 1
        term = (term * x >> _BITS) // order
    return sums[0], sums[1] if angle >= 0.0 else -sums[1]
