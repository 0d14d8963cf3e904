"""How fast joints may go in the next instant, so that they keep their speeds and accelerations and can stop in time.

At a distance d from a limit, a joint that goes on with speed u for a time step and then slows down with its largest
deceleration a comes to rest where ``u dt + u^2 / (2 a) = d``, hence

    u <= a (sqrt(dt^2 + 2 d / a) - dt),      without a limit of acceleration  u <= d / dt.

Who has kept to it can keep to it: slowing down by ``a dt`` leads to a speed that is allowed a step later.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recursa.model.model import Model
from recursa.reach.ranges import position_ranges
from recursa.sweeps.batching import Array


class Bounds(NamedTuple):
    """Lowest and highest speeds (nv,), and which freedoms break a limit whatever they do: of position, of velocity."""

    low: Array
    high: Array
    past_position: Array
    past_velocity: Array | None  # None: none


class SpeedLimits:
    """Limits of all freedoms: of positions, speeds (nv,) and accelerations (nv,). What may not move has speed zero."""

    def __init__(self, model: Model, velocity: Array, acceleration: Array, dt: float, may_move: Array) -> None:
        self.lowest, self.highest = position_ranges(model)
        speeds, places = np.array(velocity, float), np.zeros(model.nv, int)
        for joint in model.joints:
            if joint.tie is not None and joint.velocity is not None and joint.tie.multiplier != 0.0:
                speeds[joint.v_start] = min(speeds[joint.v_start], joint.velocity / abs(joint.tie.multiplier))
            if joint.independent and joint.kind.nq == 1:
                places[joint.v_start] = joint.q_start
        self.velocity, self.dt = np.where(may_move, speeds, 0.0), dt
        self._places = places  # in q, of freedoms that may have limits; of others anything
        self._signs, self._ends = np.array([[-1.0], [1.0]]), np.stack([-self.lowest, self.highest])
        self._change = acceleration * dt
        self._braked = np.isfinite(acceleration)
        self._deceleration = np.where(self._braked, acceleration, 1.0)

    def at(self, q: Array, v: Array | None) -> Bounds:
        """The bounds of speeds at a state; without a present speed accelerations are not bounded."""
        low, high = -self.velocity, self.velocity
        too_fast = None
        if v is not None:  # motors cannot do otherwise
            least, most = v - self._change, v + self._change
            too_fast = (least > high) | (most < low)
            low, high = _between(low, least, most), _between(high, least, most)
        down, up = self._rates(self._ends - self._signs * q[self._places])
        least = np.minimum(-down, up)  # between limits that have no room between them: towards the upper one
        too_far = (least > high) | (up < low)
        return Bounds(_between(least, low, high), _between(up, low, high), too_far, too_fast)

    def _rates(self, distances: Array) -> Array:
        """The largest speeds (2, nv) towards limits at distances; beyond a limit, the speed that is back in a step."""
        straight = distances / self.dt
        if not self._braked.any():
            return straight
        a = self._deceleration
        slowing = a * (np.sqrt(self.dt**2 + np.maximum(distances, 0.0) * (2.0 / a)) - self.dt)
        return np.where(self._braked & (distances > 0.0), slowing, straight)


def _between(x: Array, low: Array, high: Array) -> Array:
    return np.minimum(np.maximum(x, low), high)
