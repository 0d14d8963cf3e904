"""A base that is moved in a known way while the robot on it moves: what is given, checked, and what dynamics are told.

The base is where a free joint at the world would be: pose (x, y, z, quaternion), velocity and acceleration in its own
axes, (angular, linear) each, the acceleration being the rate of these numbers. To dynamics, whose world axes are those
of the base, gravity turns the other way as the base turns; there it is an acceleration of the base.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from recursa.errors import ShapeError, StateError
from recursa.integrators.mechanics import standing_after_end, told_when
from recursa.model.joints import KINDS
from recursa.model.model import Model
from recursa.spatial.rotation import Quaternion, Rotation
from recursa.spatial.vec3 import Vec3
from recursa.sweeps.batching import Array

_PARTS = (("pose", 7), ("velocity", 6), ("acceleration", 6))
_LOOKED_AT = (0.137, 0.519, 0.823)  # of the duration: instants at which rates are compared with what they are rates of
_APART, _AGREE = 1e-6, 1e-4  # s between two poses, and how well rates agree with differences of them


class BaseState(NamedTuple):
    """Where a base is and how it moves, as q, v, a of a free joint."""

    q: Array  # (7,)
    v: Array  # (6,)
    a: Array  # (6,)

    @property
    def rotation(self) -> Rotation:
        """From axes of the base to those of the world."""
        return Rotation.from_quaternion(Quaternion(*self.q[3:].tolist()))


class MovedBase:
    """The prescribed motion of a robot's base, ready to be asked at any time."""

    def __init__(self, model: Model, motion: Any, duration: float) -> None:
        self._motion = _as_function(motion)
        self._gravity = Vec3(*model.gravity)
        for share in _LOOKED_AT:
            self._require_rates(share * duration, min(_APART, 0.1 * duration))

    def at(self, t: float) -> BaseState:
        """Pose, velocity and acceleration."""
        given = told_when(lambda t, q, v: self._motion(t), "base=", t, np.zeros(0), np.zeros(0))
        try:
            parts = [np.asarray(part, dtype=float) for part in given]
            got = ", ".join(str(part.shape) for part in parts)
        except (TypeError, ValueError):
            parts, got = [], type(given).__name__
        if [part.shape for part in parts] != [(size,) for _, size in _PARTS]:
            raise ShapeError(
                f"the motion of the base at t = {t:.6g} s is {got}: expected its pose (x, y, z, and a quaternion "
                "x, y, z, w), velocity and acceleration, of shapes (7,), (6,), (6,), as q, v, a of a free joint are"
            )
        for (name, _), part in zip(_PARTS, parts, strict=True):
            if not np.isfinite(part).all():
                raise StateError(f"the {name} of the base at t = {t:.6g} s is not finite: {part}")
        pose, velocity, acceleration = parts
        length = float(np.linalg.norm(pose[3:]))
        if abs(length - 1.0) > 1e-6:
            raise StateError(f"the quaternion of the base at t = {t:.6g} s has length {length:.6g}, which has to be 1")
        return BaseState(np.concatenate([pose[:3], pose[3:] / length]), velocity, acceleration)

    def acting(self, t: float) -> tuple[Array, Array]:
        """Twist and acceleration as forward dynamics take them: gravity, which they know in axes of the base at rest,
        is turned into axes of the base by what is added to the acceleration.
        """
        state, g = self.at(t), self._gravity
        shift = g - state.rotation.inverse_times(g)
        acceleration = state.a.copy()
        acceleration[3:] += (shift.x, shift.y, shift.z)
        return state.v, acceleration

    def poses(self, t: float, poses: Array) -> Array:
        """Poses (..., 4, 4) of links in the world, from those on the base."""
        state = self.at(t)
        base = np.eye(4)
        base[:3, :3], base[:3, 3] = state.rotation.rows(), state.q[:3]
        return base @ poses

    def _require_rates(self, t: float, apart: float) -> None:
        """Velocity and acceleration are the rates of pose and velocity, or the motion is not what it seems."""
        before, now, after = (self.at(t + shift) for shift in (-apart, 0.0, apart))
        free = KINDS["free"]
        moved = np.array(free.difference(before.q.tolist(), after.q.tolist()), dtype=float) / (2.0 * apart)
        sped = (after.v - before.v) / (2.0 * apart)
        for (name, rate), given, found in zip(
            (("velocity", "pose"), ("acceleration", "velocity")), (now.v, now.a), (moved, sped), strict=True
        ):
            scale = max(1.0, float(np.abs(given).max()), float(np.abs(found).max()))
            if np.abs(given - found).max() > _AGREE * scale:
                raise StateError(
                    f"the {name} of the base at t = {t:.6g} s is {np.round(given, 6).tolist()}, but its {rate} changes "
                    f"by {np.round(found, 6).tolist()} per second. Both rates are (angular, linear) in axes of the base"
                )


def _as_function(motion: Any) -> Callable[[float], Any]:
    """A motion in time, such as a trajectory of a free body, which stands still behind its end; or a function."""
    if hasattr(motion, "sample"):
        return standing_after_end(motion)
    if not callable(motion):
        raise StateError(
            f"base= is a function of time that returns pose, velocity and acceleration, or a trajectory of a free "
            f"body, not {type(motion).__name__}"
        )
    return motion  # type: ignore[no-any-return]


def moved_base(model: Model, motion: Any, duration: float) -> MovedBase | None:
    """From what the caller gave; None where the base stands still."""
    return None if motion is None else MovedBase(model, motion, duration)
