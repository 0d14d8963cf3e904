"""Whether a motion keeps within the robot's limits of position, velocity and effort."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from recursa.errors import LimitError
from recursa.model.model import Joint
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot

_ROUNDING = 1e-9  # of the limit: a motion planned to the limit is within it
_UNITS = {
    "position": ("rad", "m"),
    "velocity": ("rad/s", "m/s"),
    "effort": ("N m", "N"),
}

Limited = Literal["position", "velocity", "effort"]


@dataclass(frozen=True)
class Violation:
    """A joint beyond a limit: ``value`` is the worst, ``time`` its instant, ``first`` the first instant beyond."""

    joint: str
    quantity: Limited
    time: float
    value: float
    limit: float
    first: float
    unit: str

    def __str__(self) -> str:
        return (
            f"joint '{self.joint}': {self.quantity} {self.value:.6g} {self.unit} at t = {self.time:.6g} s is beyond "
            f"its limit {self.limit:.6g} {self.unit} (first beyond it at t = {self.first:.6g} s)"
        )

    def error(self) -> LimitError:
        """The same, to be raised."""
        return LimitError(str(self), self.joint, self.quantity, self.time, self.value, self.limit)


def far_beyond(robot: Robot, t: Array, q: Array, v: Array) -> str:
    """In words, which joint went farther out of its range than the range is wide; "" if none did."""
    far = [
        (one, joint)
        for one in violations(robot, t, q, v)
        for joint in robot.model.joints
        if one.quantity == "position" and joint.name == one.joint and joint.limits is not None
        if abs(one.value - one.limit) > abs(joint.limits[1] - joint.limits[0])
    ]
    if not far:
        return ""
    worst, joint = max(far, key=lambda pair: abs(pair[0].value - pair[0].limit))
    tie = ""
    if joint.mimic is not None and joint.independent:
        tie = f" It is meant to follow '{joint.mimic.joint}': rc.load(..., mimic='tie') ties it."
    return f"{worst}. Nothing holds joints at their limits unless stops=True.{tie}"


def violations(robot: Robot, t: Array, q: Array, v: Array, tau: Array | None = None) -> list[Violation]:
    """Every limit that sampled states (N, ...) leave, joint by joint."""
    found: list[Violation] = []
    for joint in robot.model.joints:
        if joint.kind.nv == 1:
            found += _of_joint(joint, t, q, v, tau)
    return found


def _of_joint(joint: Joint, t: Array, q: Array, v: Array, tau: Array | None) -> Iterator[Violation]:
    (position,) = joint.coordinates(list(q.T))
    (velocity,) = joint.rates(list(v.T))
    if joint.limits is not None:
        lower, upper = sorted(joint.limits)
        yield from _beyond(joint, "position", t, position, lower, upper)
    if joint.velocity is not None:
        yield from _beyond(joint, "velocity", t, velocity, -joint.velocity, joint.velocity)
    if tau is not None and joint.effort is not None and joint.independent:  # what a tied joint bears is not in tau
        yield from _beyond(joint, "effort", t, tau[:, joint.v_start], -joint.effort, joint.effort)


def _beyond(joint: Joint, quantity: Limited, t: Array, x: Array, lower: float, upper: float) -> Iterator[Violation]:
    unit = _UNITS[quantity][0 if joint.kind.angular[0] else 1]
    for limit, excess in ((lower, lower - x), (upper, x - upper)):
        out = excess > _ROUNDING * abs(limit) + 1e-12
        if out.any():
            worst = int(np.argmax(excess))
            first = float(t[int(np.argmax(out))])
            yield Violation(joint.name, quantity, float(t[worst]), float(x[worst]), float(limit), first, unit)
