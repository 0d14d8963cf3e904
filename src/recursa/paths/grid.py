"""The places at which the speed along a path is chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recursa.dynamics.gathering import friction_coefficients
from recursa.dynamics.losses import FRICTION, Losses
from recursa.sweeps.batching import Array

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
