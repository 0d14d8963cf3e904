"""Motions for pages: states at even instants as numbers of 32 bits, and the curves that are drawn of them."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.model.columns import angular, coordinate_names, coordinate_units, freedom_names
from recursa.sweeps.batching import Array
from recursa.view.figures import finite_or_none

if TYPE_CHECKING:
    from recursa.robot import Robot

_NOISE = {"q": 1e-10, "v": 1e-10}  # rounding, of what does not move at all
_A_SECOND, _FEWEST, _MOST = 200, 201, 2001  # instants

Sampled = tuple[Array, Array, Array | None]  # q (n, nq), v (n, nv), tau (n, nv)


@dataclass(frozen=True)
class Recording:
    """A motion of a robot from ``start`` to ``end``; ``sample`` gives its states at instants."""

    robot: Robot
    start: float
    end: float
    sample: Callable[[Array], Sampled]
    title: str

    @classmethod
    def of_samples(
        cls, robot: Robot, at: Callable[[Array], tuple[Array, Array]], t: Array, tau: Array | None, title: str
    ) -> Recording:
        """With states at any time by a function, and torques (n, nv) at the instants t, straight between them."""

        def sample(times: Array) -> Sampled:
            columns = [] if tau is None else [np.interp(times, t, column) for column in tau.T]
            return *at(times), None if tau is None else np.stack(columns, axis=1) if columns else np.zeros(
                (len(times), 0)
            )

        return cls(robot, float(t[0]), float(t[-1]), sample, title)

    def times(self) -> Array:
        """Even instants, so close that cubics between them are the motion."""
        if not self.end > self.start:
            return np.array([self.start])
        count = min(max(math.ceil((self.end - self.start) * _A_SECOND) + 1, _FEWEST), _MOST)
        return np.linspace(self.start, self.end, count)


@dataclass(frozen=True)
class Taken:
    """A recording at its instants."""

    recording: Recording
    t: Array
    series: dict[str, Array]

    @classmethod
    def of(cls, recording: Recording) -> Taken:
        """With energies, where they are to be had."""
        robot, t = recording.robot, recording.times()
        q, v, tau = recording.sample(t)
        series = {"q": q, "v": v}
        if tau is not None:
            series["tau"] = tau
        if robot.mass > 0.0:
            kinetic, potential = robot.kinetic_energy(q, v), robot.potential_energy(q)
            series["energy"] = np.stack([kinetic, potential, kinetic + potential], axis=1)
        return cls(recording, t, series)

    def record(self, robot: int) -> dict[str, Any]:
        """As data for the page."""
        series = {
            name: base64.b64encode(np.asarray(values, dtype="<f4").tobytes()).decode()
            for name, values in self.series.items()
        }
        one = self.recording
        return {
            "robot": robot, "title": one.title, "start": one.start, "end": one.end, "count": len(self.t),
            "series": series,
        }  # fmt: skip


def panels(taken: Taken) -> list[dict[str, Any]]:
    """The curves, those of one unit in one panel; what is the same number throughout is left out."""
    robot = taken.recording.robot
    model, (low, high) = robot.model, robot.position_limits
    units, turns = coordinate_units(model), angular(model)
    names, freedoms = coordinate_names(model), freedom_names(model)
    speed, effort = robot.velocity_limits, robot.effort_limits
    found = []
    for unit, title in (("rad", "Angles"), ("m", "Positions"), ("1", "Quaternions")):
        columns = [(k, names[k], (low[k], high[k])) for k in range(model.nq) if units[k] == unit]
        found.append(_panel(taken, title, unit, "q", columns))
    for kind, rate, force, words in ((True, "rad/s", "N m", "Torques"), (False, "m/s", "N", "Forces")):
        own = [k for k in range(model.nv) if turns[k] is kind]
        speeds = [(k, freedoms[k], (-speed[k], speed[k])) for k in own]
        found.append(_panel(taken, "Turning speeds" if kind else "Sliding speeds", rate, "v", speeds))
        torques = [(k, freedoms[k], (-effort[k], effort[k])) for k in own]
        found.append(_panel(taken, words, force, "tau", torques))
    parts = [(k, name, ()) for k, name in enumerate(("kinetic", "potential", "total"))]
    found.append(_panel(taken, "Energy", "J", "energy", parts))
    return [panel for panel in found if panel is not None]


def _panel(
    taken: Taken, title: str, unit: str, series: str, columns: Sequence[tuple[int, str, Sequence[float]]]
) -> dict[str, Any] | None:
    if series not in taken.series or not columns:
        return None
    values = taken.series[series][:, [place for place, _, _ in columns]]
    still = np.ptp(values, axis=0) <= np.maximum(_NOISE.get(series, 0.0), 1e-12 * np.abs(values).max(axis=0))
    if still.all() and not (series == "tau" and values.any()):
        return None
    return {
        "title": title,
        "unit": unit,
        "series": series,
        "columns": [[place, name, [finite_or_none(x) for x in limits]] for place, name, limits in columns],
    }
