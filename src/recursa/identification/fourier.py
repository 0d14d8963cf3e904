"""Finite Fourier series that start and end at rest, within limits at all times.

``x = sum_k a_k sin(k w t) + b_k cos(k w t)`` with ``sum k a_k = 0`` and ``sum k^2 b_k = 0``: speed and acceleration are
zero at the start and, a period later, at the end (Swevers et al. 1997, with those two conditions). Between instants a
series of degree H is no larger than ``1 / cos(pi H / M)`` times the largest of M even samples (Ehlich and Zeller 1964),
so limits that hold for samples times that factor hold always.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from recursa.sweeps.batching import Array
from recursa.trajectories.curves import Derivatives

_SAMPLES = 40  # for each harmonic, of which extremes are taken


@dataclass(frozen=True, eq=False)
class Series:
    """Shapes of joints over a period ``T``: ``basis`` (2 H, free) spans the coefficients (a, b) that begin at rest."""

    T: float
    harmonics: int

    @property
    def free(self) -> int:
        """Numbers that choose a shape."""
        return 2 * self.harmonics - 2

    @property
    def basis(self) -> Array:
        """Orthonormal columns of coefficients that obey both conditions."""
        k = np.arange(1.0, self.harmonics + 1.0)
        found = np.zeros((2 * self.harmonics, self.free))
        for part, condition in enumerate((k, k * k)):
            rows = slice(part * self.harmonics, (part + 1) * self.harmonics)
            columns = slice(part * (self.harmonics - 1), (part + 1) * (self.harmonics - 1))
            found[rows, columns] = _complement(condition)
        return found

    def curve(self, coefficients: Array, t: Array) -> Derivatives:
        """x, dx/dt and d2x/dt2, (..., n, joints), of coefficients (..., 2 H, joints) at instants (n,)."""
        rate = 2.0 * math.pi / self.T * np.arange(1.0, self.harmonics + 1.0)
        turn = t[:, None] * rate
        s, c = np.sin(turn), np.cos(turn)
        rows = (np.hstack([s, c]), np.hstack([c * rate, -s * rate]), np.hstack([-s * rate**2, -c * rate**2]))
        return rows[0] @ coefficients, rows[1] @ coefficients, rows[2] @ coefficients

    def extremes(self, coefficients: Array) -> tuple[Array, Array, Array, Array]:
        """Lowest and highest x, largest speed and acceleration, (..., joints): bounds at all instants."""
        count = _SAMPLES * self.harmonics
        factor = 1.0 / math.cos(math.pi * self.harmonics / count)
        x, v, a = self.curve(coefficients, self.T * np.arange(count) / count)
        low, high = x.min(axis=-2), x.max(axis=-2)
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        # x - middle is a series of the same degree
        return middle - factor * half, middle + factor * half, factor * _largest(v), factor * _largest(a)


def _largest(x: Array) -> Array:
    return np.abs(x).max(axis=-2)


def _complement(direction: Array) -> Array:
    """Orthonormal columns across a direction (n,), (n, n - 1): by a reflection that turns it into the first axis."""
    unit = direction / np.linalg.norm(direction)
    mirror = unit.copy()
    mirror[0] += 1.0
    return (np.eye(len(unit)) - np.outer(mirror, mirror) / (1.0 + unit[0]))[:, 1:]


@dataclass(frozen=True, eq=False)
class Bounds:
    """Within which joints move: positions (joints,), largest speeds and accelerations (joints,)."""

    low: Array
    high: Array
    speed: Array
    acceleration: Array


def within(series: Series, bounds: Bounds, numbers: Array) -> tuple[Array, Array]:
    """Centres (B, joints) and coefficients (B, 2 H, joints) of motions within bounds, for any numbers.

    ``numbers`` (B, joints, free + 2): the shape, the share of the largest amplitude that bounds allow, and where in the
    range that is left the motion lies; the last two through a sigmoid.
    """
    shapes = np.einsum("cf,bjf->bcj", series.basis, numbers[:, :, :-2])
    low, high, speed, acceleration = series.extremes(shapes)
    with np.errstate(divide="ignore"):
        most = np.minimum(
            (bounds.high - bounds.low) / (high - low),
            np.minimum(bounds.speed / speed, bounds.acceleration / acceleration),
        )
    size = np.where(np.isfinite(most), most, 0.0) * _sigmoid(numbers[:, :, -2])
    first, last = bounds.low - size * low, bounds.high - size * high
    return first + (last - first) * _sigmoid(numbers[:, :, -1]), shapes * size[:, None, :]


def _sigmoid(x: Array) -> Array:
    return 0.5 * (1.0 + np.tanh(0.5 * x))
