"""The motion along a path in time: ds/dt and d2s/dt2 piece by piece, as exact functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recursa.sweeps.batching import Array
from recursa.trajectories.coordinates import States

_NEWTON = 60
_FLAT = 1e-6  # of bend t^2, below which sine and cosine are their series


@dataclass(frozen=True)
class Profile:
    """At time t within piece k, ``d2s/dt2 = u + bend (s - place)``: s(t) is a parabola, or made of (hyperbolic) sines.

    ``places`` and ``times`` (K + 1,); ``speed``, ``u``, ``bend`` (K,) at the start of each piece.
    """

    places: Array
    times: Array
    speed: Array
    u: Array
    bend: Array

    @classmethod
    def of_parabolas(cls, places: Array, x: Array, slope: Array, bend: Array) -> Profile:
        """From ``x = x0 + 2 u (s - s0) + bend (s - s0)^2`` on every piece, ``slope = 2 u``."""
        h, u = np.diff(places), 0.5 * slope
        speed = np.sqrt(np.maximum(x, 0.0))
        after = np.sqrt(np.maximum(x + slope * h + bend * h * h, 0.0))
        t = 2.0 * h / (speed + after)
        for _ in range(_NEWTON):  # s(t) rises steadily: Newton's method from near
            s, rate = _moved(t, speed, u, bend)
            step = (s - h) / np.maximum(rate, 1e-300)
            t = np.maximum(t - step, 0.5 * t)
            if np.all(np.abs(step) <= 1e-15 * t):
                break
        return cls(places, np.concatenate([[0.0], np.cumsum(t)]), speed, u, bend)

    @cached_property
    def speeds(self) -> Array:
        """ds/dt (K + 1,) at the places."""
        h = np.diff(self.places)[-1:]
        last = self.speed[-1:] ** 2 + 2.0 * self.u[-1:] * h + self.bend[-1:] * h * h
        return np.append(self.speed, np.sqrt(np.maximum(last, 0.0)))

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """s, ds/dt and d2s/dt2 at instants (n,)."""
        k = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self.u) - 1)
        gone, speed = _moved(t - self.times[k], self.speed[k], self.u[k], self.bend[k])
        s = np.clip(self.places[k] + gone, self.places[k], self.places[k + 1])
        return s, np.maximum(speed, 0.0), self.u[k] + self.bend[k] * gone

    def along(self, geometry: Callable[[Array], States]) -> Callable[[Array], States]:
        """q, v, a of instants, where ``geometry`` gives q, dq/ds, d2q/ds2 of places."""

        def states(t: Array) -> States:
            s, speed, u = self(t)
            q, V, W = geometry(s)
            speed, u = speed[:, None], u[:, None]
            return q, V * speed, V * u + W * (speed * speed)

        return states


def _moved(t: Array, speed: Array, u: Array, bend: Array) -> tuple[Array, Array]:
    """How far and how fast after time t: ``y'' = u + bend y``, ``y(0) = 0``, ``y'(0) = speed``."""
    if not bend.any():
        return t * (speed + 0.5 * u * t), speed + u * t
    z = bend * t * t
    flat = np.abs(z) < _FLAT
    root = np.sqrt(np.abs(np.where(flat, 1.0, z)))
    growing = z > 0.0
    with np.errstate(over="ignore"):
        sine = np.where(flat, 1.0 + z / 6.0, np.where(growing, np.sinh(root), np.sin(root)) / root)
        cosine = np.where(flat, 1.0 + 0.5 * z, np.where(growing, np.cosh(root), np.cos(root)))
        rest = np.where(flat, 0.5 + z / 24.0, (cosine - 1.0) / np.where(flat, 1.0, z))
    return t * (speed * sine + u * t * rest), speed * cosine + u * t * sine
