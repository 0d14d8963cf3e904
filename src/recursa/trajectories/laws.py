"""How all joints share one law of time, and when a joint of several freedoms keeps one axis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.errors import StateError
from recursa.sweeps.batching import Array
from recursa.trajectories import inputs
from recursa.trajectories.curves import Pieces, trapezoid

if TYPE_CHECKING:
    from recursa.robot import Robot

_ROUNDING = 1e-12


def synchronised(step: Array, velocity: Any, acceleration: Any, T: Any) -> Pieces:
    """The trapezoidal law from 0 to 1 under which no freedom of ``step`` (nv,) exceeds its bounds.

    With s the part of the way, ``ds/dt <= V = min velocity/|step|`` and ``|d2s/dt2| <= A = min acceleration/|step|``.
    """
    moved = np.abs(step)
    V = _bound("velocity", velocity, moved)
    A = _bound("acceleration", acceleration, moved)
    if T is None:
        if velocity is None or acceleration is None:
            raise StateError("give velocity and acceleration, or T: they say how fast the motion is to be")
        if not moved.any():
            raise StateError("q0 and q1 are the same, so the shortest motion takes no time; give T")
        # ramps of V/A and a cruise at V, or a triangle where V is not reached
        T = 2.0 / math.sqrt(A) if V * V >= A else 1.0 / V + V / A
        return trapezoid(inputs.duration("the shortest T", T), min(V / A, 0.5 * T))
    T = inputs.duration("T", T)
    if velocity is None and acceleration is None:
        return trapezoid(T, T / 3.0)
    if acceleration is None:  # the gentlest ramps that keep to V: as long as they can be
        _require_time(T, 1.0 / V, "at the given velocity, even without ramps,", exclusive=True)
        return trapezoid(T, min(T - 1.0 / V, 0.5 * T))
    _require_time(T, 2.0 / math.sqrt(A), "at the given acceleration")
    # A ramp (T - ramp) = 1, the shorter root, written without cancellation
    ramp = 2.0 / A / (T + math.sqrt(max(T * T - 4.0 / A, 0.0))) if math.isfinite(A) else T / 3.0
    if 1.0 / (T - ramp) > V * (1.0 + _ROUNDING):
        _require_time(T, 1.0 / V + V / A, "within both bounds")
    return trapezoid(T, min(ramp, 0.5 * T))


def _bound(name: str, value: Any, moved: Array) -> float:
    """Of the law itself: the freedom that has most to do decides."""
    if value is None:
        return math.inf
    bounds = inputs.positive(name, value, len(moved))
    active = moved > 0.0
    return float(np.min(bounds[active] / moved[active])) if active.any() else math.inf


def _require_time(T: float, least: float, why: str, *, exclusive: bool = False) -> None:
    spare = T - least
    if spare < -_ROUNDING * least or (exclusive and spare <= 0.0):
        than = "more than" if exclusive else "at least"
        raise StateError(f"T = {T:.6g} s is too short: {why} the motion takes {than} {least:.6g} s")


def require_one_axis(robot: Robot | None, step: Array, ends: list[Array]) -> None:
    """Joints of several freedoms move ``exp(x(t))`` with x along one line, else dx/dt would not be the speed."""
    if robot is None:
        return
    for joint in robot.model.joints:
        own = np.stack([row[joint.v_start : joint.v_start + joint.kind.nv] for row in (step, *ends)])
        if joint.kind.nv > 1 and np.linalg.matrix_rank(own, tol=1e-9 * max(1.0, float(np.abs(own).max()))) > 1:
            raise StateError(
                f"joint '{joint.name}': speeds and accelerations at the ends do not lie along its step from q0 to q1, "
                f"so it cannot keep one axis. Trajectory.along([0, T], [q0, q1], [v0, v1], [a0, a1], robot=robot) can"
            )
