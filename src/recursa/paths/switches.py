"""Switches inside intervals: where a motion changes from one limit to another, to the place and not to the grid."""

from __future__ import annotations

import numpy as np

from recursa.paths.passes import NO_LINE, Passed
from recursa.paths.rows import NODES, Along, rows_of
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import Limits

_KINK = 0.02  # of the largest |u|: by which u before and after an interval differ that is looked at
_NEAR = 1e-4  # of an interval: shorter pieces would lose digits of u
_MOST = 64  # intervals that are looked at


def switched(along: Along, limits: Limits, bounds: Array, passed: Passed) -> tuple[Array, Array, Array]:
    """The motion with two pieces in intervals in which it switches: places, x, and the interval of each piece.

    With one u for all of an interval, a switch within it costs time. Two pieces do better: a first one from the x at
    its start, a second one to the x at its end, which cross in between. They are

    - the largest u that rows other than those of velocity allow, then the upper edge of the controllable sets; or
    - the largest u that all rows allow, then the least u that rows other than those of velocity allow.

    Each keeps to its rows at all places of the interval; and one of both keeps to the limits of velocity, under which
    the other is slower. So both are within all limits.
    """
    sets, x, u, _ = passed
    grid, high = along.grid, sets[1]
    before, after = np.append(u[:1], u[:-1]), np.append(u[1:], u[-1:])
    kinks = before - after > _KINK * np.abs(u).max()
    which = np.flatnonzero(kinks & (x[1:] >= high[1:] - 1e-9 * (x[:-1] + x[1:])))
    if not 0 < len(which) <= _MOST:
        which = which[np.argsort((after - before)[which])[:_MOST]]
        which.sort()
    if not len(which):
        return grid, x, np.arange(len(u))
    A, B, C, d, _ = rows_of(along, limits, bounds, which)
    start, end, top = x[which], x[which + 1], high[which]
    others = len(A[0]) - NODES * int(np.count_nonzero(np.isfinite(limits.velocity)))
    back = (end - top) / d
    kept = (A * back[:, None] + B * top[:, None] + C).max(axis=1) <= 1e-9
    rising = kept & (start < top - 1e-9 * (start + top))
    first = np.where(rising, _most(A, B, C, d, start, others), _most(A, B, C, d, start, len(A[0])))
    braking = -_most(-(A - d[:, None] * B)[:, :others], B, C, d, end, others)
    second = np.where(rising, back, braking)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        part = (end - start - d * second) / (first - second) / d
    inside = np.isfinite(first) & np.isfinite(second) & (first > second) & (part > _NEAR) & (part < 1.0 - _NEAR)
    which, part, peak = which[inside], part[inside], (start + d * part * first)[inside]
    extra = grid[which] + part * np.diff(grid)[which]
    pieces = np.insert(np.arange(len(u)), which + 1, which)
    return np.insert(grid, which + 1, extra), np.insert(x, which + 1, peak), pieces


def _most(A: Array, B: Array, C: Array, d: Array, x: Array, count: int) -> Array:
    """The largest u at x that the first so many rows of every interval allow; inf where none does."""
    A, B, C = A[:, :count], B[:, :count], C[:, :count]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        u = np.where(NO_LINE * d[:, None] * np.abs(B) < A, -(B * x[:, None] + C) / A, np.inf)
    return u.min(axis=1, initial=np.inf)
