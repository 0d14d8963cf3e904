"""What comes out of a timing: a trajectory that knows its path, its speeds along it, and what holds it back where."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from recursa.paths import passes
from recursa.paths.diagnosis import unit_of
from recursa.paths.passes import CAP, Rows
from recursa.paths.path import Path
from recursa.paths.profile import Profile
from recursa.paths.rows import NODES, Along, Kind, bernstein, kinds, rows_of
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import Limits
from recursa.trajectories.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from recursa.robot import Robot

_ACTIVE = 5e-5  # of a limit: nearer to it than this is at it
_NEARLY = 0.02  # the same with limits of jerk, where the motion is a local optimum
_BRIEF = 1e-4  # of the duration: what holds for less is left out
_FROM = np.array([0.0, 1.0])


@dataclass(frozen=True)
class Held:
    """A limit that a motion keeps to, from one place and instant to another: ``joint``'s ``quantity`` at ``limit``.

    ``limit`` has the sign of the value that is at it; speeds are held by their magnitude.
    """

    joint: str
    quantity: str
    limit: float
    unit: str
    places: tuple[float, float]
    times: tuple[float, float]

    def __str__(self) -> str:
        return (
            f"{self.quantity} of '{self.joint}' at {self.limit:.6g} {self.unit} from t = {self.times[0]:.4g} to "
            f"{self.times[1]:.4g} s (s = {self.places[0]:.4g} to {self.places[1]:.4g})"
        )


@dataclass(eq=False, repr=False)
class Timing:
    """How a path is gone along: places, speeds ds/dt, the limits that hold.

    - ``places`` (K + 1,), ``times`` (K + 1,), ``speeds`` (K + 1,): s, t and ds/dt where the motion along the path
      changes; between, d2s/dt2 is constant (with jerk limits it is linear in s).
    - ``maximum_speeds`` (K + 1,): the largest ds/dt at each place that any d2s/dt2 allows, the maximum velocity curve.
    - ``active``: which limits hold it where, in order, as :class:`Held`; with limits of jerk those of which it uses at
      least 98 %.
    """

    robot: Robot
    path: Path
    limits: Limits
    _looked_up: Callable[[], Along]
    _bounds: Array
    profile: Profile
    _interval: Array
    jerks: tuple[Array, Array] | None = None  # places and jerks, where these have limits
    parts: tuple[list[Kind], Array] | None = None  # there also: of every limit (columns) in every piece (K)

    def __post_init__(self) -> None:
        self.places, self.times = self.profile.places, self.profile.times

    @property
    def speeds(self) -> Array:
        """ds/dt at the places."""
        return self.profile.speeds

    @cached_property
    def _along(self) -> Along:
        return self._looked_up()  # torques at all places are many numbers: made again when somebody asks

    @cached_property
    def _rows(self) -> Rows:
        return rows_of(self._along, self.limits, self._bounds, kept=True)

    @cached_property
    def maximum_speeds(self) -> Array:
        """The maximum velocity curve at the places; inf where there is none."""
        rows, grid = self._rows, self._along.grid
        ends = bernstein(_FROM)  # values at both ends of an interval, from the coefficients
        curve = np.full(len(grid), CAP)
        for side, weights in enumerate(ends):
            A, B, C = (part.reshape(len(part), -1, NODES) @ weights for part in rows[:3])
            A = A - side * rows.doubled[:, None] * B  # rows in u and x at this end
            alone = np.ones(len(A), np.int64)  # every interval as a path of its own, after which anything may come
            bounds = np.tile([[0.0, -passes.BIG], [CAP, passes.BIG]], len(A))
            most = passes.run(Rows(A, B, C, rows.doubled, bounds), alone).sets[1, ::2]
            places = slice(side, side + len(A))
            curve[places] = np.minimum(curve[places], np.where(np.isnan(most), 0.0, most))
        speeds = np.sqrt(np.where(curve >= 0.5 * CAP, np.inf, curve))
        return np.interp(self.places, grid, speeds)

    @cached_property
    def _kinds(self) -> list[Kind]:
        return kinds(self.limits) if self.parts is None else self.parts[0]

    @cached_property
    def _at_limit(self) -> Array:
        """The number of the kind that holds each piece, or -1."""
        if self.parts is not None:
            part = self.parts[1]
            return np.where(part.max(axis=1) >= 1.0 - _NEARLY, part.argmax(axis=1), -1)
        p, count, rows = self.profile, len(self._kinds), self._rows
        worst = np.full((len(p.u), count), -np.inf)
        for theta in (0.0, 0.5, 1.0):
            gone = theta * np.diff(p.places)
            s, u = p.places[:-1] + gone, p.u + p.bend * gone
            x = p.speed**2 + 2.0 * p.u * gone + p.bend * gone**2
            x = x - 2.0 * u * (s - self._along.grid[self._interval])  # at the start of the interval
            A, B, C = (part[self._interval] for part in rows[:3])
            value = A * u[:, None] + B * x[:, None] + C
            worst = np.maximum(worst, value.reshape(len(u), count, NODES).max(axis=2))
        best = worst.argmax(axis=1)
        return np.where(worst.max(axis=1) >= -_ACTIVE, best, -1)

    @cached_property
    def active(self) -> tuple[Held, ...]:
        """The limits that hold the motion, one after the other; stretches on which none does are left out."""
        numbers = self._at_limit
        starts = np.flatnonzero(np.concatenate([[True], np.diff(numbers) != 0]))
        ends = np.append(starts[1:], len(numbers))
        return tuple(
            self._held(self._kinds[numbers[start]], int(start), int(end))
            for start, end in zip(starts, ends, strict=True)
            if numbers[start] >= 0 and self.times[end] - self.times[start] > _BRIEF * self.times[-1]
        )

    def _held(self, kind: Kind, start: int, end: int) -> Held:
        limit = float(getattr(self.limits, kind.quantity)[kind.freedom])
        return Held(
            self.robot.v_names[kind.freedom],
            kind.quantity,
            limit * (kind.sign or 1),
            unit_of(self.robot, kind),
            (float(self.places[start]), float(self.places[end])),
            (float(self.times[start]), float(self.times[end])),
        )

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """The phase plane: ds/dt over s with the maximum velocity curve, coloured by the limit that holds.

        Returns the figure, and writes it where a file is named (png, pdf, svg ...).
        """
        from recursa.paths.picture import phase_plane
        from recursa.plotting.styles import saved

        figure = phase_plane(self, shown=path is None)
        return saved(figure, path, dpi=110)

    def __str__(self) -> str:
        lines = [f"{self.times[-1]:.6g} s along the path, s from {self.places[0]:g} to {self.places[-1]:g}"]
        return "\n".join([*lines, *(f"  {held}" for held in self.active)])


class TimedTrajectory(Trajectory):
    """A :class:`recursa.Trajectory` along a path; ``timing`` tells of its speeds and of what holds it back."""

    def __init__(self, timing: Timing) -> None:
        self.timing = timing
        self._begin(timing.profile.along(timing.path._states), timing.times, timing.robot)
        self.nq = timing.robot.nq

    def __repr__(self) -> str:
        path = self.timing.path
        along = f"s from {path.start:g} to {path.end:g}"
        return f"<TimedTrajectory of {self.nq} coordinates, 0 to {self.end:g} s, along {along}>"
