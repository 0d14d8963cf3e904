"""The places at which the speed along a path is chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recursa.dynamics.gathering import friction_coefficients
from recursa.dynamics.wrenches import FRICTION, Losses
from recursa.kernels.switch import extension
from recursa.paths.limit_rows import NODES, Along
from recursa.paths.passes import NO_LINE, Passed, Rows
from recursa.paths.timed_trajectory import Profile
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import Limits

if TYPE_CHECKING:
    from recursa.paths.path import Path
    from recursa.robot import Robot

_BISECTIONS = 52
_GRADED = 4  # intervals next to a stop that are divided
_PARTS = np.linspace(0.0, 1.0, 2 * _GRADED + 1)[1:-1] ** 2  # of all of them


def grid_of(robot: Robot, path: Path, points: int, losses: Losses, *, finer: bool = True) -> Array:
    """So many places or somewhat more: joins of the path and turning points of joints with friction are among them."""
    joins = path.breaks
    if losses in FRICTION:
        joins = np.union1d(joins, _turning_points(robot, path, points))
        keep = np.concatenate([[True], np.diff(joins) > 1e-12 * path.length])
        joins = joins[keep]
        joins[-1] = path.end
    grid = spread(joins, points)
    return _finer_at(grid, [path.start, *path.stops, path.end]) if finer else grid


def spread(joins: Array, points: int) -> Array:
    """The joins, and as many places between as give ``points`` in all, evenly by length."""
    lengths = joins[1:] - joins[:-1]
    parts = np.maximum(np.round(lengths * ((points - 1) / lengths.sum())), 1).astype(int)
    if len(parts) == 1:
        return np.linspace(joins[0], joins[1], parts[0] + 1)
    total = int(parts.sum())
    first = np.repeat(np.stack([joins[:-1], lengths / parts, np.cumsum(parts) - parts]), parts, axis=1)
    grid = np.empty(total + 1)
    grid[:-1], grid[-1] = first[0] + first[1] * (np.arange(total) - first[2]), joins[-1]
    return grid


def _finer_at(grid: Array, stops: list[float]) -> Array:
    """Where motions start and stop, shorter intervals: growing with the square of their number, as s does with time."""
    parts = [grid]
    for stop in stops:
        after = int(grid.searchsorted(stop))
        k = after - (after > 0 and (after == len(grid) or stop - grid[after - 1] < grid[after] - stop))
        if k + _GRADED < len(grid):
            parts.append(grid[k] + _PARTS * (grid[k + _GRADED] - grid[k]))
        if k >= _GRADED:
            parts.append(grid[k] - _PARTS * (grid[k] - grid[k - _GRADED]))
    together = np.concatenate(parts)
    together.sort()
    keep = np.ones(len(together), bool)
    np.greater(together[1:] - together[:-1], 1e-9 * (grid[-1] - grid[0]) / len(grid), out=keep[1:])
    return together[keep]


def _turning_points(robot: Robot, path: Path, points: int) -> Array:
    """Where a joint with Coulomb friction changes its direction: there its torque jumps."""
    rubbing = np.array(friction_coefficients(robot.model)).any(axis=0)
    if not rubbing.any():
        return np.empty(0)
    s = np.union1d(path.breaks, np.linspace(path.start, path.end, 2 * points))
    signs = np.sign(path.sample(s)[1][:, rubbing])
    rows, columns = np.nonzero(signs[1:] * signs[:-1] < 0.0)
    low, high, sign = s[rows], s[rows + 1], signs[rows, columns]
    chosen = np.flatnonzero(rubbing)[columns]
    for _ in range(_BISECTIONS if len(low) else 0):
        middle = 0.5 * (low + high)
        before = np.sign(path.sample(middle)[1][np.arange(len(middle)), chosen]) == sign
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    return high


# ---- -----------------------------------------------------------------------------------------------------------------
# Switches inside intervals: where a motion changes from one limit to another, to the place and not to the grid.


KINK = 0.02  # of the largest |u|: by which u before and after an interval differ that is looked at
NEAR = 1e-4  # of an interval: shorter pieces would lose digits of u
EDGE = 1e-9  # of x and of limits: on the edge of what is allowed


class Motion(NamedTuple):
    """A motion along one path, and the interval (K,) of each of its pieces."""

    profile: Profile
    interval: Array


def switched(along: Along, limits: Limits, rows: Rows, passed: Passed) -> list[Motion]:
    """The motions with two pieces in intervals in which they switch, one for each path.

    With one u for all of an interval, a switch within it costs time. Two pieces do better: a first one from the x at
    its start, a second one to the x at its end, which cross in between. They are

    - the largest u that rows other than those of velocity allow, then the upper edge of the controllable sets; or
    - the largest u that all rows allow, then the least u that rows other than those of velocity allow.

    Each keeps to its rows at all places of the interval; and one of both keeps to the limits of velocity, under which
    the other is slower. So both are within all limits.
    """
    room = 2 * len(along.h) + len(along.counts)
    places, squares, times, speeds, slopes = np.empty((5, room))
    interval, found = np.empty(room, np.int64), np.empty(len(along.counts), np.int64)
    effort, acceleration, _ = limits.chosen
    settings = np.array([2.0 * NODES * (len(effort) + len(acceleration)), KINK, NEAR, NO_LINE, EDGE])
    extension("the timing of paths").switches(
        settings,
        along.counts,
        along.grid,
        rows.doubled,
        rows.A,
        rows.B,
        rows.C,
        passed.sets.T,
        passed.x,
        passed.u,
        places,
        squares,
        interval,
        times,
        speeds,
        slopes,
        found,
    )
    motions, start = [], 0
    for count in found:
        end = start + int(count)
        profile = Profile(
            places[start : end + 1], times[start : end + 1], speeds[start:end], slopes[start:end], np.zeros(end - start)
        )
        motions.append(Motion(profile, interval[start:end]))
        start = end + 1
    return motions
