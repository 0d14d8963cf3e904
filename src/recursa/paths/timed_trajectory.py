"""What comes out of a timing: a trajectory that knows its path, its speeds along it, and what holds it back where."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.paths import passes
from recursa.paths.diagnosis import unit_of
from recursa.paths.limit_rows import NODES, Along, Kind, bernstein, kinds, rows_of
from recursa.paths.passes import CAP, Rows
from recursa.paths.path import Path
from recursa.plotting.styles import colour, line_style, new_figure, plain
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import Limits
from recursa.trajectories.coordinates import States
from recursa.trajectories.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from recursa.robot import Robot


# ---- the motion along a path in time: ds/dt and d2s/dt2 piece by piece, as exact functions ---------------------------


_NEWTON = 60
_FLAT = 1e-6  # of bend t^2, below which sine and cosine are their series


@dataclass(frozen=True)
class Profile:
    """At time t within piece k, ``d2s/dt2 = u + bend (s - place)``: s(t) is a parabola, or made of (hyperbolic) sines.

    ``places`` and ``times`` (K + 1,); ``speed``, ``u``, ``bend`` (K,) at the start of each piece.
    """

    places: Array
    times: Array
    speed: Array
    u: Array
    bend: Array

    @classmethod
    def of_parabolas(cls, places: Array, x: Array, slope: Array, bend: Array) -> Profile:
        """From ``x = x0 + 2 u (s - s0) + bend (s - s0)^2`` on every piece, ``slope = 2 u``."""
        h, u = np.diff(places), 0.5 * slope
        speed = np.sqrt(np.maximum(x, 0.0))
        after = np.sqrt(np.maximum(x + slope * h + bend * h * h, 0.0))
        t = 2.0 * h / (speed + after)
        for _ in range(_NEWTON):  # s(t) rises steadily: Newton's method from near
            s, rate = _moved(t, speed, u, bend)
            step = (s - h) / np.maximum(rate, 1e-300)
            t = np.maximum(t - step, 0.5 * t)
            if np.all(np.abs(step) <= 1e-15 * t):
                break
        return cls(places, np.concatenate([[0.0], np.cumsum(t)]), speed, u, bend)

    @cached_property
    def speeds(self) -> Array:
        """ds/dt (K + 1,) at the places."""
        h = np.diff(self.places)[-1:]
        last = self.speed[-1:] ** 2 + 2.0 * self.u[-1:] * h + self.bend[-1:] * h * h
        return np.append(self.speed, np.sqrt(np.maximum(last, 0.0)))

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        """s, ds/dt and d2s/dt2 at instants (n,)."""
        k = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, len(self.u) - 1)
        gone, speed = _moved(t - self.times[k], self.speed[k], self.u[k], self.bend[k])
        s = np.clip(self.places[k] + gone, self.places[k], self.places[k + 1])
        return s, np.maximum(speed, 0.0), self.u[k] + self.bend[k] * gone

    def along(self, geometry: Callable[[Array], States]) -> Callable[[Array], States]:
        """q, v, a of instants, where ``geometry`` gives q, dq/ds, d2q/ds2 of places."""

        def states(t: Array) -> States:
            s, speed, u = self(t)
            q, V, W = geometry(s)
            speed, u = speed[:, None], u[:, None]
            return q, V * speed, V * u + W * (speed * speed)

        return states


def _moved(t: Array, speed: Array, u: Array, bend: Array) -> tuple[Array, Array]:
    """How far and how fast after time t: ``y'' = u + bend y``, ``y(0) = 0``, ``y'(0) = speed``."""
    if not bend.any():
        return t * (speed + 0.5 * u * t), speed + u * t
    z = bend * t * t
    flat = np.abs(z) < _FLAT
    root = np.sqrt(np.abs(np.where(flat, 1.0, z)))
    growing = z > 0.0
    with np.errstate(over="ignore"):
        sine = np.where(flat, 1.0 + z / 6.0, np.where(growing, np.sinh(root), np.sin(root)) / root)
        cosine = np.where(flat, 1.0 + 0.5 * z, np.where(growing, np.cosh(root), np.cos(root)))
        rest = np.where(flat, 0.5 + z / 24.0, (cosine - 1.0) / np.where(flat, 1.0, z))
    return t * (speed * sine + u * t * rest), speed * cosine + u * t * sine


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


# ---- the picture of a timing: speed along the path over the place, under the maximum velocity curve ------------------


_MOST = 2.2  # times the motion's largest speed: how high the picture goes


def phase_plane(timing: Timing, *, shown: bool = False) -> Figure:
    """ds/dt over s, each stretch in the colour of the limit that holds it."""
    figure = new_figure(8.2, 4.4, shown=shown)
    axes = figure.subplots()
    s = np.linspace(timing.places[0], timing.places[-1], 2001)
    k = np.clip(np.searchsorted(timing.places, s, side="right") - 1, 0, len(timing.profile.u) - 1)
    p, gone = timing.profile, s - timing.places[k]
    speed = np.sqrt(np.maximum(p.speed[k] ** 2 + 2.0 * p.u[k] * gone + p.bend[k] * gone**2, 0.0))
    high = _MOST * float(speed.max())
    curve = np.minimum(timing.maximum_speeds, 10.0 * high)
    axes.plot(timing.places, curve, color="0.35", lw=1.0, ls=(0, (5, 3)), label="maximum velocity curve")
    axes.fill_between(timing.places, curve, 10.0 * high, color="0.92", lw=0)
    free = sum(held.times[1] - held.times[0] for held in timing.active) < 0.99 * timing.times[-1]
    axes.plot(s, speed, color="black", lw=1.0, label="no limit" if free else None)
    _stretches(axes, timing, s, speed)
    axes.set_ylim(0.0, min(high, 1.12 * float(np.max(np.minimum(curve, high)))))
    axes.set_xlim(timing.places[0], timing.places[-1])
    axes.set_xlabel("place s along the path")
    axes.set_ylabel("speed ds/dt along the path in 1/s")
    axes.set_title(f"{timing.times[-1]:.4g} s: what holds the motion back", fontsize="medium")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    return figure


def _stretches(axes: Any, timing: Timing, s: Any, speed: Any) -> None:
    """The motion, drawn over where a limit holds it; each joint's limit named once."""
    names: dict[str, int] = {}
    for held in timing.active:
        name = f"{held.joint}: {held.quantity}"
        label = None if name in names else plain(name)
        number = names.setdefault(name, len(names))
        low, high = held.places
        inside = np.concatenate([[low], s[(s > low) & (s < high)], [high]])
        axes.plot(
            inside,
            np.interp(inside, s, speed),
            line_style(number),
            color=colour(number),
            lw=3.0,
            solid_capstyle="butt",
            label=label,
        )
