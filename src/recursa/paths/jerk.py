"""Timing with limits of jerk: a sequence of linear programs, each within all limits and faster than the one before.

The path is reparameterised, ``s = g(p)`` with ``g' = g'' = 0`` where the motion starts or stops: there it has neither
speed nor acceleration whatever dp/dt is. ``x = (dp/dt)^2`` is a quadratic spline over p, so d2p/dt2 is continuous. The
jerk is

    ``j = sqrt(x) (Z x + 3/2 W x' + 1/2 V x'')``,   V, W, Z = the first three derivatives of q by p,

and ``|j| <= J`` is ``|Z x + ...| <= J / sqrt(x)``. The right side is convex in x; its tangent at the present solution
lies below it. With the tangent the limit is linear and narrower than the true one, the present solution still keeps to
it, and so does every mixture of both (an inner approximation: Marks & Wright 1978). Of each program's solution as much
is taken over as shortens the time most; so every step is within the limits, and shorter than the one before. What comes
out is a local optimum of the spline, not the fastest motion of all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.dynamics.wrenches import Losses
from recursa.errors import ConvergenceError, PathError, StateError
from recursa.paths.diagnosis import require_positions, unit_of
from recursa.paths.grid import grid_of
from recursa.paths.limit_rows import NODES, THETA, TO_BERNSTEIN, Along, Kind
from recursa.paths.path import Path
from recursa.paths.timed_trajectory import Profile, TimedTrajectory, Timing
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import Limits
from recursa.trajectories.coordinates import States
from recursa.trajectories.courses import Course
from recursa.trajectories.drives import Drive

if TYPE_CHECKING:
    from recursa.robot import Robot

INTERVALS = 120  # of the spline
_ROUNDS = 60
_ENOUGH = 1e-4  # of the duration: a round that shortens it by less is the last
_GROWTH = 2.9  # x at most so many times as large in one round: the tangent of 1/sqrt(x) is zero at 3
_NARROWER = 12
_BETWEEN = np.linspace(0.0, 1.0, 13)  # places in an interval at which the result is looked at
_SPARE = 1e-7  # of a limit, for what lies between these places
_BESIDE = 1e-5  # of an interval, for derivatives by differences


class Warp:
    """``s = g(p)`` leg by leg between stops, p from leg to leg by one; its derivatives by p."""

    def __init__(self, ends: list[float], resting: list[bool]) -> None:
        self.ends = np.array(ends)
        self.resting = resting

    def __call__(self, p: Array) -> tuple[Array, Array, Array]:
        """g, g', g''."""
        leg = np.clip(np.floor(p).astype(int), 0, len(self.ends) - 2)
        x, length = p - leg, np.diff(self.ends)[leg]
        g, dg, ddg = x, np.ones_like(x), np.zeros_like(x)
        for before in (True, False):
            for after in (True, False):
                here = (np.array(self.resting)[leg] == before) & (np.array(self.resting)[leg + 1] == after)
                if here.any():
                    g, dg, ddg = (
                        np.where(here, new, old) for new, old in zip(_law(x, before, after), (g, dg, ddg), strict=True)
                    )
        return self.ends[leg] + length * g, length * dg, length * ddg


def _law(x: Array, before: bool, after: bool) -> tuple[Array, Array, Array]:
    """From 0 to 1 with two derivatives; both vanish where it rests."""
    if before and after:
        return (
            x**3 * (10.0 - 15.0 * x + 6.0 * x * x),
            30.0 * (x * (1.0 - x)) ** 2,
            60.0 * x * (1.0 - x) * (1.0 - 2.0 * x),
        )
    if before:
        return x**3, 3.0 * x * x, 6.0 * x
    if after:
        y = 1.0 - x
        return 1.0 - y**3, 3.0 * y * y, -6.0 * y
    return x, np.ones_like(x), np.zeros_like(x)


def warped(path: Path, warp: Warp) -> Path:
    """The path over p."""

    def states(p: Array) -> States:
        s, dg, ddg = (part[:, None] for part in warp(p))
        q, V, W = path._states(np.clip(s[:, 0], path.start, path.end))
        return q, V * dg, W * dg * dg + V * ddg

    inside = path.breaks[(path.breaks > path.start) & (path.breaks < path.end)]
    legs = np.arange(len(warp.ends), dtype=float)
    joins = np.union1d(legs, [_inverse(warp, s) for s in inside if not np.isin(s, warp.ends)])
    return Path._from(Course(states, joins), path.robot)


def _inverse(warp: Warp, s: float) -> float:
    low, high = 0.0, float(len(warp.ends) - 1)
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if warp(np.array([middle]))[0][0] < s else (low, middle)
    return 0.5 * (low + high)


class _Spline:
    """Quadratic splines over a grid, one per leg: matrices from coefficients to x, x', x'' at places of intervals."""

    def __init__(self, grid: Array, legs: Array) -> None:
        from scipy.interpolate import BSpline

        self.grid = grid
        self.parts: list[tuple[int, int, int, Any]] = []
        first = 0
        for start, end in pairwise(legs):
            inside = (grid > start + 1e-12) & (grid < end - 1e-12)
            knots = np.concatenate([[start] * 3, grid[inside], [end] * 3])
            count = len(knots) - 3
            intervals = int(inside.sum()) + 1
            self.parts.append((first, count, intervals, BSpline(knots, np.eye(count), 2, extrapolate=True)))
            first += count
        self.count = first

    def at(self, theta: Array) -> tuple[Any, Any, Any]:
        """Sparse matrices for x, x', x'' at theta of every interval, theta slowest."""
        from scipy.sparse import block_diag, csr_matrix, vstack

        levels: list[list[Any]] = [[], [], []]
        for value in theta:
            blocks: list[list[Any]] = [[], [], []]
            done = 0
            for _, _, intervals, spline in self.parts:
                low = self.grid[done : done + intervals]
                high = self.grid[done + 1 : done + intervals + 1]
                middle = 0.5 * (low + high)
                bend = spline(middle, 2)
                x, slope = spline(middle), spline(middle, 1)
                offset = (low + value * (high - low) - middle)[:, None]
                parts = x + slope * offset + 0.5 * bend * offset**2, slope + bend * offset, bend
                for k, part in enumerate(parts):
                    blocks[k].append(csr_matrix(np.where(np.abs(part) < 1e-14 * np.abs(part).max(), 0.0, part)))
                done += intervals
            for k in range(3):
                levels[k].append(block_diag(blocks[k], format="csr"))
        return tuple(vstack(level, format="csr") for level in levels)  # type: ignore[return-value]


def smoothed(
    drive: Drive | None, robot: Robot, path: Path, limits: Limits, losses: Losses, speeds: tuple[float, float]
) -> TimedTrajectory:
    """The trajectory with limits of jerk."""
    slopes = np.abs(path._states(np.concatenate([path.places(), [path.start, path.end]]))[1])
    if not slopes.any():
        raise StateError("nothing moves along this path")
    ends = slopes[-2:].max(axis=1) > 1e-9 * slopes.max()
    rests = [not (speeds[0] > 0.0 and ends[0]), *[True] * len(path.stops), not (speeds[1] > 0.0 and ends[1])]
    warp = Warp([path.start, *path.stops, path.end], rests)
    over = warped(path, warp)
    grid = grid_of(robot, over, INTERVALS + 1, losses, finer=False)
    along = Along.of(robot, [over], [grid], losses, drive)
    require_positions(robot, along)
    spline = _Spline(grid, np.arange(len(warp.ends), dtype=float))
    rates = warp(np.array([0.0, float(len(warp.ends) - 1)]))[1]
    given = [(speeds[k] / rates[k]) ** 2 if not rests[-k] else None for k in (0, 1)]
    problem = _Problem(robot, drive, over, along, losses, spline, limits, given)
    c = problem.solved_within()
    x, slope, bend = (matrix @ c for matrix in spline.at(np.zeros(1)))
    profile = Profile.of_parabolas(grid, x, slope, 0.5 * bend)
    bounds = np.zeros((2, len(grid)))
    more = problem.jerks_at(c), problem.parts_of_limits(c)
    return TimedTrajectory(Timing(robot, over, limits, lambda: along, bounds, profile, np.arange(len(grid) - 1), *more))


@dataclass
class _Problem:
    """All limits at places within every interval, as rows over the spline's coefficients."""

    robot: Robot
    drive: Drive | None
    path: Path
    along: Along
    losses: Losses
    spline: _Spline
    limits: Limits
    given: list[float | None]

    def __post_init__(self) -> None:
        self.matrices, self.values = self.spline.at(THETA), self._terms()
        self.weights = np.tile(np.diff(self.along.grid) / len(THETA), len(THETA))

    @cached_property
    def _between_nodes(self) -> tuple[tuple[Any, Any, Any], dict[str, Array]]:
        """Matrices of the spline and terms of the path at many places in every interval."""
        return self.spline.at(_BETWEEN), self._true_terms(_BETWEEN)

    def _terms(self) -> dict[str, Array]:
        """V, W, Z and torque terms a, b, c, d at the nodes of every interval, (NODES N, nv); Z by the cubics of W."""
        a, h = self.along, np.diff(self.along.grid)
        Z = np.tensordot(_bernstein_rates(THETA) @ TO_BERNSTEIN, a.W[:NODES], 1) / h[:, None]
        found = {"V": a.V, "W": a.W, "Z": Z, "c": a.held, "a": a.pushed - a.held, "b": a.moving - a.held}
        found["d"] = np.zeros_like(a.held) if a.d is None else a.d
        return {name: part[:NODES].reshape(-1, part.shape[2]) for name, part in found.items()}

    def _true_terms(self, theta: Array) -> dict[str, Array]:
        """The same from the path itself, and Z by differences within each interval."""
        low, h = self.along.grid[:-1], np.diff(self.along.grid)
        inside = np.clip(theta, _BESIDE, 1.0 - _BESIDE)  # on this side of a join
        p = (low + inside[:, None] * h).ravel()
        step = _BESIDE * np.tile(h, len(theta))[:, None]
        q, V, W = self.path._states(p)
        before, after = (self.path._states(p + way * step[:, 0])[2] for way in (-0.5, 0.5))
        rest = np.zeros_like(V)
        found = {"V": V, "W": W, "Z": (after - before) / step, "a": rest, "b": rest, "c": rest, "d": rest}
        if self.drive is None:
            return found
        c = self.drive.torques(q, rest, rest)
        found["a"] = self.drive.torques(q, rest, V) - c
        found["b"] = self.drive.torques(q, V, W) - c
        friction, damping = self.drive.friction(q, V, self.losses), self.drive.damping(q, V, self.losses)
        found["c"] = c if friction is None else c + friction
        found["d"] = rest if damping is None else damping
        return found

    def _time(self, c: Array) -> float:
        x = self.matrices[0] @ c
        return float((self.weights / np.sqrt(x)).sum()) if (x > 0.0).all() else np.inf

    def solve(self) -> Array:
        """Rounds of linear programs from a slow motion on."""
        from scipy.optimize import linprog, minimize_scalar

        c = self._slow()
        time = self._time(c)
        for _ in range(_ROUNDS):
            x = self.matrices[0] @ c
            table, sides = self._rows(x)
            found = linprog(
                -(self.matrices[0].T @ (0.5 * self.weights * x**-1.5)),
                A_ub=table,
                b_ub=sides,
                bounds=self._between(c),
                method="highs",
            )
            if not found.success:  # nothing but rounding: c itself keeps to the rows
                break
            step = found.x - c
            part = minimize_scalar(
                lambda r, c=c, step=step: self._time(c + r * step), bounds=(0.0, 1.0), method="bounded"
            )
            c = c + part.x * step
            before, time = time, self._time(c)
            if before - time < _ENOUGH * time:
                break
        else:
            raise ConvergenceError(f"limits of jerk: the duration still changes after {_ROUNDS} rounds")
        return c

    def _slow(self) -> Array:
        """A steady dp/dt at which every limit is kept."""
        v, L = self.values, self.limits
        held = np.abs(v["c"]) / L.effort
        if (held >= 1.0 - _SPARE).any():
            row, k = np.unravel_index(int(np.argmax(held)), held.shape)
            place = float(self.along.grid[row % (len(self.along.grid) - 1)])
            unit = unit_of(self.robot, Kind("effort", int(k), 1))
            value, limit = float(abs(v["c"][row, k])), float(L.effort[k])
            raise PathError(
                f"joint '{self.robot.v_names[k]}' needs {value:.6g} {unit} merely to hold still at p = {place:.4g} of "
                f"the path, its limit is {limit:.6g}; with limits of jerk every place has to allow standing still",
                self.robot.v_names[k], "effort", place, value, limit,
            )  # fmt: skip
        for ramp in np.linspace(0.0, 1.0, 9):
            for power in range(200):
                c = self._with_ends(np.full(self.spline.count, 0.5**power), float(ramp))
                if self._worst(c, self.matrices, v) < 0.97:
                    return c
        raise ConvergenceError(
            "limits of jerk: no motion was found that is slow enough for them"
            + (" and has the speeds given at its ends" if any(one is not None for one in self.given) else "")
        )

    def _with_ends(self, c: Array, ramp: float) -> Array:
        """With x at moving ends as given, and between them and the rest of c a ramp over a part of the spline."""
        way = np.linspace(0.0, 1.0, len(c))
        for end, place in zip(self.given, (way, 1.0 - way), strict=True):
            if end is not None:
                weight = np.clip(1.0 - place / ramp, 0.0, 1.0) if ramp > 0.0 else (place == 0.0)
                c = c + weight * (end - c)
        return c

    def _between(self, c: Array) -> list[tuple[float, float]]:
        """Bounds of the next coefficients; the first and last are x at the ends."""
        bounds = [(0.2 * float(x), _GROWTH * float(x)) for x in c]
        for end, place in zip(self.given, (0, -1), strict=True):
            if end is not None:
                bounds[place] = (end, end)
        return bounds

    def _rows(self, x: Array) -> tuple[Any, Array]:
        from scipy.sparse import diags, vstack

        at, slope, bend = self.matrices
        v, L = self.values, self.limits
        table, sides = [], []
        r = np.sqrt(x)

        def add(limit: float, parts: tuple[Array, Array, Array], constant: Array) -> None:
            """``+-(p0 x + p1 x' + p2 x'' + constant) <= limit``."""
            row = diags(parts[0]) @ at + diags(parts[1]) @ slope + diags(parts[2]) @ bend
            for sign in (1.0, -1.0):
                table.append(sign * row / limit)
                sides.append(1.0 - sign * constant / limit)

        none = np.zeros_like(x)
        for k in range(self.robot.nv):
            V, W, Z = (v[name][:, k] for name in "VWZ")
            if np.isfinite(L.effort[k]):
                d = v["d"][:, k]
                add(L.effort[k], (v["b"][:, k] + 0.5 * d / r, 0.5 * v["a"][:, k], none), v["c"][:, k] + 0.5 * d * r)
            if np.isfinite(L.acceleration[k]):
                add(L.acceleration[k], (W, 0.5 * V, none), none)
            if np.isfinite(L.velocity[k]):
                table.append(diags(np.square(V / L.velocity[k])) @ at)
                sides.append(np.ones_like(x))
            if np.isfinite(L.jerk[k]):  # J/sqrt(x) by its tangent, 3/2 r^-1 - 1/2 x r^-3
                row = diags(Z) @ at + diags(1.5 * W) @ slope + diags(0.5 * V) @ bend
                room = diags(0.5 * r**-3) @ at
                table += [row / L.jerk[k] + room, -row / L.jerk[k] + room]
                sides += [1.5 / r] * 2
        return vstack(table, format="csr"), np.concatenate(sides)

    def _worst(self, c: Array, matrices: tuple[Any, Any, Any], v: dict[str, Array]) -> float:
        """The largest part of any limit, peaks between neighbouring places of an interval included."""
        count = len(self.along.grid) - 1
        worst = 0.0
        for part in self._parts(c, matrices, v).values():
            f = np.abs(part).reshape(-1, count, part.shape[1])
            worst = max(worst, float(f.max(initial=0.0)))
            before, here, after = f[:-2], f[1:-1], f[2:]
            bend = 2.0 * here - before - after
            peak = (here >= before) & (here >= after) & (bend > 0.0)
            worst = max(worst, float((here[peak] + (after - before)[peak] ** 2 / (8.0 * bend[peak])).max(initial=0.0)))
        return worst

    def _parts(self, c: Array, matrices: tuple[Any, Any, Any], v: dict[str, Array]) -> dict[str, Array]:
        """What has limits, as parts of them with their signs."""
        x, slope, bend = ((matrix @ c)[:, None] for matrix in matrices)
        r = np.sqrt(np.maximum(x, 0.0))
        L = self.limits
        return {
            "velocity": v["V"] * r / L.velocity,
            "acceleration": (0.5 * v["V"] * slope + v["W"] * x) / L.acceleration,
            "effort": (0.5 * v["a"] * slope + v["b"] * x + v["c"] + v["d"] * r) / L.effort,
            "jerk": r * (v["Z"] * x + 1.5 * v["W"] * slope + 0.5 * v["V"] * bend) / L.jerk,
        }

    def solved_within(self) -> Array:
        """The solution, slowed down by one factor or, if speeds at the ends are given, with narrower limits."""
        if all(one is None for one in self.given):
            return self.within(self.solve())
        share, wide = 1.0, self.limits
        for _ in range(_NARROWER):
            c = self.solve()
            self.limits = wide
            worst = self._worst(c, *self._between_nodes)
            if worst <= 1.0:
                return c
            share *= (1.0 - 1e-6) / worst
            parts = (wide.velocity, wide.acceleration, wide.effort, wide.jerk)
            self.limits = Limits(*(share * part for part in parts))
        raise ConvergenceError("limits of jerk: no motion with the speeds given at its ends was found within them")

    def within(self, c: Array) -> Array:
        """Slowed down by one factor until every limit is kept at all of many places between."""

        def kept(share: float) -> bool:
            return self._worst(share * c, *self._between_nodes) <= 1.0 - _SPARE

        if kept(1.0):
            return c
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if kept(middle) else (low, middle)
        return low * c

    def parts_of_limits(self, c: Array) -> tuple[list[Kind], Array]:
        """The largest part of every limit in every interval: what the columns are, and (N, columns)."""
        columns: list[Kind] = []
        found = []
        for quantity, part in self._parts(c, *self._between_nodes).items():
            f = part.reshape(len(_BETWEEN), -1, part.shape[1])
            for freedom in np.flatnonzero(np.isfinite(getattr(self.limits, quantity))):
                here = f[..., freedom]
                for sign in (0,) if quantity == "velocity" else (1, -1):
                    columns.append(Kind(quantity, int(freedom), sign))
                    found.append((np.abs(here) if sign == 0 else sign * here).max(axis=0))
        return columns, np.stack(found, axis=1)

    def jerks_at(self, c: Array) -> tuple[Array, Array]:
        """Places (n,) and jerks (n, nv) along the motion."""
        matrices, v = self._between_nodes
        x, slope, bend = ((matrix @ c)[:, None] for matrix in matrices)
        jerks = np.sqrt(x) * (v["Z"] * x + 1.5 * v["W"] * slope + 0.5 * v["V"] * bend)
        places = (self.along.grid[:-1] + _BETWEEN[:, None] * np.diff(self.along.grid)).ravel()
        order = np.argsort(places, kind="stable")
        return places[order], jerks[order]


def _bernstein_rates(theta: Array) -> Array:
    """The derivatives of the cubic basis."""
    t, r = theta, 1.0 - theta
    return np.stack([-3.0 * r * r, 3.0 * r * r - 6.0 * t * r, 6.0 * t * r - 3.0 * t * t, 3.0 * t * t], axis=1)
