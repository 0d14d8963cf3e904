"""What all controllers share: a robot, torques within limits, and a report of where limits were met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.control.inputs import torque_limits
from recursa.errors import NoSweepError, StateError
from recursa.robot import Robot
from recursa.simulation.equations import freedom_name
from recursa.sweeps.batching import Array


@dataclass(frozen=True)
class Saturation:
    """A freedom whose torque was cut off: the worst ``demand`` (and when), its ``limit``, the ``share`` of instants."""

    freedom: str
    demand: float
    time: float
    limit: float
    share: float

    def __str__(self) -> str:
        return (
            f"{self.freedom}: {100 * self.share:.3g} % of the instants at its limit of {self.limit:.6g}; "
            f"the largest demand is {self.demand:.6g}, at t = {self.time:.6g} s"
        )


class Law:
    """A control law for one robot. :meth:`demand` is what it asks for, :meth:`torque` what the limits leave of it.

    Laws have no memory: any instants may be asked for, in any order, also many at once (leading axes of t, q, v).
    ``effort``: limits of the torques, "model" for those of the joints, numbers (one, or per freedom, or by joint
    name), or None. A free joint has no motor: robots with one are refused unless ``drive_base=True`` says that its six
    freedoms are driven, too, as by thrusters.
    """

    def __init__(self, robot: Robot, effort: Any = None, drive_base: bool = False) -> None:
        if not isinstance(robot, Robot):
            raise StateError(f"the first argument of a controller is a robot, not {robot!r}")
        self.robot = robot
        for joint in robot.model.joints:
            if joint.kind.name == "free" and not drive_base:
                raise NoSweepError(
                    f"{type(self).__name__} needs a torque at every freedom, and joint '{joint.name}' of robot "
                    f"'{robot.name}' is free: nothing drives it. If thrusters do, say drive_base=True; or control the "
                    "arm on a fixed base"
                )
        self.effort = torque_limits(robot, effort)

    def demand(self, t: ArrayLike, q: ArrayLike, v: ArrayLike) -> Array:
        """Torques (..., nv) at time t in the state q, v, whatever the limits."""
        raise NotImplementedError

    def torque(self, t: ArrayLike, q: ArrayLike, v: ArrayLike) -> Array:
        """Torques (..., nv) at time t in the state q, v, within the limits."""
        wanted = self.demand(t, *self._state(q, v))
        return wanted if self.effort is None else np.clip(wanted, -self.effort, self.effort)

    def saturation(self, t: ArrayLike, q: ArrayLike, v: ArrayLike) -> list[Saturation]:
        """Which freedoms are at their limit at some of the instants (n,) of a motion; empty where none is.

        For a run: ``controller.saturation(run.t, run.q, run.v)``.
        """
        if self.effort is None:
            return []
        times = np.atleast_1d(np.asarray(t, dtype=float))
        wanted = np.atleast_2d(self.demand(times, *(np.atleast_2d(x) for x in self._state(q, v))))
        beyond = np.abs(wanted) > self.effort
        found = []
        for freedom in np.flatnonzero(beyond.any(axis=0)):
            worst = int(np.argmax(np.abs(wanted[:, freedom])))
            found.append(
                Saturation(
                    freedom_name(self.robot.model, int(freedom)),
                    float(wanted[worst, freedom]),
                    float(times[worst]),
                    float(self.effort[freedom]),
                    float(beyond[:, freedom].mean()),
                )
            )
        return found

    def _state(self, q: ArrayLike, v: ArrayLike) -> tuple[Array, Array]:
        """As arrays, finite; their shapes are looked at by what computes with them."""
        state = np.asarray(q), np.asarray(v)
        for name, part in zip(("q", "v"), state, strict=True):
            if part.dtype.kind not in "fiu":
                raise StateError(f"{name} must be real numbers, not {part.dtype}")
            if not np.isfinite(part).all():
                raise StateError(f"{name} has entries that are not finite: {part}")
        return state

    def _independent(self) -> None:
        """Refuse tied joints, for laws in total rates."""
        self.robot.diagonal._independent()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of '{self.robot.name}'>"
