"""What may move, and how far: limits of joints, of those tied to them, and joints that are held."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from recursa.errors import ModelError, StateError
from recursa.model.model import Model
from recursa.sweeps.batching import Array

AT_A_LIMIT = 1e-9  # rad, m


@dataclass(frozen=True)
class Ranges:
    """Lowest and highest positions (nv), and 1 for what may move (nv, and nq for its coordinates), else 0.

    Joints with several freedoms have no limits, nor has what is held: it stays wherever it is. Coordinates of joints
    with one freedom are at ``single_q`` in q and at ``single_v`` in v; ``angles`` are the places in q of angles
    without limits, to which whole turns may be added.
    """

    low: Array
    high: Array
    moving: Array
    moving_q: Array
    single_q: Array
    single_v: Array
    angles: Array

    @staticmethod
    def of(model: Model, bodies: Iterable[int], chosen: frozenset[int] | None, held: frozenset[int]) -> Ranges:
        """With the joints that carry some bodies, or only chosen ones, without those that are held."""
        low, high = np.full(model.nv, -np.inf), np.full(model.nv, np.inf)
        lowest, highest = position_ranges(model)
        moving, moving_q = np.zeros(model.nv), np.zeros(model.nq)
        carrying = {model.joints[k].v_start for k in bodies}
        singles, angles = list[tuple[int, int]](), list[int]()
        for number, joint in enumerate(model.joints):
            if not joint.independent:
                continue
            kind, q, v = joint.kind, joint.q_start, joint.v_start
            if kind.nq == 1:
                singles.append((q, v))
            if lowest[v] > highest[v]:
                raise ModelError(
                    f"joint '{joint.name}' and the joints that are tied to it cannot all be within their limits: "
                    f"'{joint.name}' would have to be at least {lowest[v]:.6g} and at most {highest[v]:.6g}"
                )
            if kind.angle is not None and not np.isfinite([lowest[v], highest[v]]).any():
                angles.append(q + kind.angle)
            if v in carrying and number not in held and (chosen is None or number in chosen):
                moving[v : v + kind.nv] = moving_q[q : q + kind.nq] = 1.0
                low[v], high[v] = lowest[v], highest[v]
        places = np.array(singles, np.int64).reshape(-1, 2).T.copy()
        return Ranges(low, high, moving, moving_q, places[0], places[1], np.array(angles, np.int64))

    @property
    def stacked(self) -> Array:
        """Lowest, highest, moving."""
        return np.stack([self.low, self.high, self.moving])

    def holding(self, q: Array, wanted: Array) -> Array:
        """The freedoms (n, nv) that stand at a limit which a wanted motion (n, nv) would pass."""
        position = np.full(wanted.shape, np.nan)
        position[:, self.single_v] = q[:, self.single_q]
        at_low, at_high = position <= self.low + AT_A_LIMIT, position >= self.high - AT_A_LIMIT
        return (at_low & (wanted < 0.0)) | (at_high & (wanted > 0.0))


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


def joints_named(model: Model, option: str, names: Sequence[str] | None) -> frozenset[int] | None:
    """Numbers of joints; tied ones have no coordinates of their own."""
    if names is None:
        return None
    if isinstance(names, str):
        raise StateError(f"{option}= takes several names of joints, as in {option}=[{names!r}]")
    numbers = frozenset(map(model.joint_index, names))
    for number in sorted(numbers):
        joint = model.joints[number]
        if not joint.independent:
            source = next(one.name for one in model.joints if one.independent and one.q_start == joint.q_start)
            raise StateError(
                f"joint '{joint.name}' is tied to '{source}' and moves with it; name '{source}' in {option}="
            )
    return numbers


# ---- -----------------------------------------------------------------------------------------------------------------
# How fast joints may go in the next instant, so that they keep their speeds and accelerations and can stop in time.
# At a distance d from a limit, a joint that goes on with speed u for a time step and then slows down with its largest
# deceleration a comes to rest where ``u dt + u^2 / (2 a) = d``, hence
#
#     u <= a (sqrt(dt^2 + 2 d / a) - dt),      without a limit of acceleration  u <= d / dt.
#
# Who has kept to it can keep to it: slowing down by ``a dt`` leads to a speed that is allowed a step later.


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
