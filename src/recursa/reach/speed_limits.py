"""How fast joints may go in the next instant, so that they keep their speeds and accelerations and can stop in time.

At a distance d from a limit, a joint that goes on with speed u for a time step and then slows down with its largest
deceleration a comes to rest where ``u dt + u^2 / (2 a) = d``, hence

    u <= a (sqrt(dt^2 + 2 d / a) - dt),      without a limit of acceleration  u <= d / dt.

Who has kept to it can keep to it: slowing down by ``a dt`` leads to a speed that is allowed a step later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from recursa.model.model import Model
from recursa.sweeps.batching import Array


def position_ranges(model: Model) -> tuple[Array, Array]:
    """Lowest and highest positions (nv,) of freedoms; those of tied joints bind the joints that they follow."""
    lowest, highest = np.full(model.nv, -np.inf), np.full(model.nv, np.inf)
    for joint in model.joints:
        factor, offset = (1.0, 0.0) if joint.tie is None else (joint.tie.multiplier, joint.tie.offset)
        if joint.kind.nq == 1 and joint.limits is not None and factor != 0.0:
            low, high = sorted((limit - offset) / factor for limit in joint.limits)
            lowest[joint.v_start] = max(lowest[joint.v_start], low)
            highest[joint.v_start] = min(highest[joint.v_start], high)
    return lowest, highest


class Bounds(NamedTuple):
    """Lowest and highest speeds (nv,), and which freedoms break a limit whatever they do: of position, of velocity."""

    low: Array
    high: Array
    past_position: Array
    past_velocity: Array


@dataclass(frozen=True)
class SpeedLimits:
    """Limits of single freedoms: of positions at ``q_places`` in q and ``v_places`` in v; of speeds and accelerations."""

    q_places: Array
    v_places: Array
    lowest: Array
    highest: Array
    velocity: Array
    acceleration: Array
    dt: float

    @staticmethod
    def of(model: Model, velocity: Array, acceleration: Array, dt: float, may_move: Array) -> SpeedLimits:
        """Those of a model's joints, with speeds (nv,) and accelerations (nv,); what may not move has speed zero."""
        lowest, highest = position_ranges(model)
        speeds = np.array(velocity, float)
        for joint in model.joints:
            if joint.tie is not None and joint.velocity is not None and joint.tie.multiplier != 0.0:
                speeds[joint.v_start] = min(speeds[joint.v_start], joint.velocity / abs(joint.tie.multiplier))
        singles = [joint for joint in model.joints if joint.independent and joint.kind.nq == 1]
        at = np.array([joint.v_start for joint in singles], int)
        q_places = np.array([joint.q_start for joint in singles], int)
        return SpeedLimits(q_places, at, lowest[at], highest[at], np.where(may_move, speeds, 0.0), acceleration, dt)

    def at(self, q: Array, v: Array | None) -> Bounds:
        """The bounds of speeds at a state; without a present speed accelerations are not bounded."""
        low, high = -self.velocity, self.velocity.copy()
        past_velocity = past_position = np.zeros(len(high), bool)
        if v is not None:  # motors cannot do otherwise
            change = self.acceleration * self.dt
            least, most = v - change, v + change
            past_velocity = (least > high) | (most < low)
            low, high = _between(low, least, most), _between(high, least, most)
        position, places = q[self.q_places], self.v_places
        distances = np.stack([position - self.lowest, self.highest - position])
        down, up = self._rates(distances)
        least = np.minimum(-down, up)  # between limits that have no room between them: towards the upper one
        before, beyond = low[places], high[places]
        past = (least > beyond) | (up < before)
        if past.any():
            past_position = past_position.copy()
            past_position[places] = past
        low[places], high[places] = _between(least, before, beyond), _between(up, before, beyond)
        return Bounds(low, high, past_position, past_velocity)

    def _rates(self, distances: Array) -> Array:
        """The largest speeds (2, k) towards limits at distances; beyond a limit, the speed that is back in a step."""
        straight = distances / self.dt
        deceleration = self.acceleration[self.v_places]
        braked = np.isfinite(deceleration)
        if not braked.any():
            return straight
        a = np.where(braked, deceleration, 1.0)
        slowing = a * (np.sqrt(self.dt**2 + np.maximum(distances, 0.0) * (2.0 / a)) - self.dt)
        return np.where(braked & (distances > 0.0), slowing, straight)


def _between(x: Array, low: Array, high: Array) -> Array:
    return np.minimum(np.maximum(x, low), high)
