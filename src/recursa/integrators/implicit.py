"""Implicit steps: an equation is solved in each, so they are for arrays of one state."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from recursa.errors import SimulationError
from recursa.integrators.mechanics import Mechanics
from recursa.sweeps.batching import Array

_FIXED_POINT_ROUNDS = 30
_NEWTON_ROUNDS = 30
_CONVERGED = 4e-15  # of the size of the speeds
_STALLED = 1e-12  # good enough where rounding does not let it come closer


class ArrayMechanics(Mechanics[Array, Array], Protocol):
    """One state. Behind the speeds in v there may be sums that are carried along, such as work."""

    same_speeds: bool  # whether the speeds in v are those along the manifold


def no_step() -> SimulationError:
    """What is raised where no step is possible; the run says where and why."""
    return SimulationError("no step is small enough")


def implicit_midpoint(on: ArrayMechanics, q: Array, v: Array) -> tuple[Array, Array]:
    """``w = (v0 + v1)/2``, ``v1 = v0 + h a(q0 exp(h w/2), w)``, ``q1 = q0 exp(h w)``: order 2.

    Seen from its end, going back, a step is the same step: the method is symmetric. On reversible systems, such as
    robots without losses, it keeps the energy near its value for very long times (Hairer, Lubich & Wanner, XI).

    Where v are other speeds than those along the manifold (diagonal coordinates), w has two parts: the middle joint
    rates, which move q, and the middle nu. Without forces ``nu1 nu1 - nu0 nu0 = 2 nu (nu1 - nu0) = -2 h nu C(q, nu) =
    0`` at the middle: the kinetic energy is kept to rounding.
    """
    return _Middle(on, q, v).step()


class _Middle:
    """The equation for the middle of a step."""

    def __init__(self, on: ArrayMechanics, q: Array, v: Array) -> None:
        self.on, self.q, self.v = on, q, v
        self.first, rate = on.slope(q, v, 0.0)
        self.n = len(self.first)
        self.w = self._joined(self.first, on.combined(v, (0.5, rate)))

    def step(self) -> tuple[Array, Array]:
        """The state at the end; w by fixed-point iteration, by Newton's method where that is slow."""
        w = self._solved()
        speeds, _ = self._parted(w)
        _, rate = self._slope(w)
        return self.on.moved(self.q, self.on.combined(None, (1.0, speeds))), self.on.combined(self.v, (1.0, rate))

    def _solved(self) -> Array:
        w, change = self.w, np.inf
        for _ in range(_FIXED_POINT_ROUNDS):
            new, before = self._next(w), change
            change = float(np.abs(new - w).max(initial=0.0))
            w = new
            if not np.isfinite(change) or change <= _CONVERGED * (1.0 + float(np.abs(w).max(initial=0.0))):
                break
            if change > 0.3 * before:
                return self._newton(w) if change > _STALLED * (1.0 + np.abs(w).max()) else w
        return w

    def _slope(self, w: Array) -> tuple[Array, Array]:
        speeds, u = self._parted(w)
        return self.on.slope(self.on.moved(self.q, self.on.combined(None, (0.5, speeds))), u, 0.5)

    def _next(self, w: Array) -> Array:
        speeds, rate = self._slope(w)
        return self._joined(speeds, self.on.combined(self.v, (0.5, rate)))

    def _joined(self, speeds: Array, v: Array) -> Array:
        return v[: self.n] if self.on.same_speeds else np.concatenate([speeds, v[: self.n]])

    def _parted(self, w: Array) -> tuple[Array, Array]:
        """Speeds along the manifold, and v."""
        return (w, w) if self.on.same_speeds else (w[: self.n], w[self.n :])

    def _newton(self, w: Array) -> Array:
        """``w - next(w) = 0`` with a Jacobian by differences, made anew when progress is poor."""
        jacobian, last = None, np.inf
        for _ in range(_NEWTON_ROUNDS):
            at = self._next(w)
            rest = w - at
            size, scale = float(np.abs(rest).max()), 1.0 + float(np.abs(w).max())
            if not np.isfinite(size):
                raise no_step()
            if size <= _CONVERGED * scale or (size <= _STALLED * scale and size > 0.3 * last):
                return w
            if jacobian is None or size > 0.3 * last:
                small = 1e-7 * scale
                columns = [(self._next(w + small * e) - at) / small for e in np.eye(len(w))]
                jacobian = np.eye(len(w)) - np.stack(columns, axis=1)
            w, last = w - np.linalg.solve(jacobian, rest), size
        raise no_step()
