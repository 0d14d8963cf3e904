"""Switches inside intervals: where a motion changes from one limit to another, to the place and not to the grid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recursa.kernels.switch import Switch
from recursa.paths.passes import NO_LINE, Passed, Rows
from recursa.paths.profile import Profile
from recursa.paths.rows import NODES, Along, rows_of
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import Limits

_KINK = 0.02  # of the largest |u|: by which u before and after an interval differ that is looked at
_NEAR = 1e-4  # of an interval: shorter pieces would lose digits of u
_EDGE = 1e-9  # of x and of limits: on the edge of what is allowed

try:
    from recursa._entry import switches as native_switches
except ImportError:  # the optional extension was not built
    native_switches = None


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
    if not Switch.on or native_switches is None:
        return [
            _clearly(along.only([path]), limits, passed.of(along.counts, path)) for path in range(len(along.counts))
        ]
    room = 2 * len(along.h) + len(along.counts)
    places, squares, times, speeds, slopes = np.empty((5, room))
    interval, found = np.empty(room, np.int64), np.empty(len(along.counts), np.int64)
    effort, acceleration, _ = limits.chosen
    settings = np.array([2.0 * NODES * (len(effort) + len(acceleration)), _KINK, _NEAR, NO_LINE, _EDGE])
    native_switches(settings, along.counts, along.grid, rows.doubled, rows.A, rows.B, rows.C, passed.sets.T, passed.x,
                    passed.u, places, squares, interval, times, speeds, slopes, found)  # fmt: skip
    motions, start = [], 0
    for count in found:
        end = start + int(count)
        profile = Profile(
            places[start : end + 1], times[start : end + 1], speeds[start:end], slopes[start:end], np.zeros(end - start)
        )
        motions.append(Motion(profile, interval[start:end]))
        start = end + 1
    return motions


def _clearly(along: Along, limits: Limits, passed: Passed) -> Motion:
    """The same by NumPy, for one path."""
    sets, x, u = passed.sets, passed.x, passed.u
    grid, high = along.grid, sets[1]
    before, after = np.append(u[:1], u[:-1]), np.append(u[1:], u[-1:])
    kinks = before - after > _KINK * np.abs(u).max()
    which = np.flatnonzero(kinks & (x[1:] >= high[1:] - _EDGE * (x[:-1] + x[1:])))
    if not len(which):
        return Motion(Profile.of_squares(grid, x), np.arange(len(u)))
    A, B, C, d, _ = rows_of(along, limits, sets, which)
    start, end, top = x[which], x[which + 1], high[which]
    others = len(A[0]) - NODES * len(limits.chosen[2])
    back = (end - top) / d
    kept = (A * back[:, None] + B * top[:, None] + C).max(axis=1) <= _EDGE
    rising = kept & (start < top - _EDGE * (start + top))
    first = np.where(rising, _most(A, B, C, d, start, others), _most(A, B, C, d, start, len(A[0])))
    braking = -_most(-(A - d[:, None] * B)[:, :others], B, C, d, end, others)
    second = np.where(rising, back, braking)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        part = (end - start - d * second) / (first - second) / d
    inside = np.isfinite(first) & np.isfinite(second) & (first > second) & (part > _NEAR) & (part < 1.0 - _NEAR)
    which, part, peak = which[inside], part[inside], (start + d * part * first)[inside]
    extra = grid[which] + part * np.diff(grid)[which]
    pieces = np.insert(np.arange(len(u)), which + 1, which)
    return Motion(Profile.of_squares(np.insert(grid, which + 1, extra), np.insert(x, which + 1, peak)), pieces)


def _most(A: Array, B: Array, C: Array, d: Array, x: Array, count: int) -> Array:
    """The largest u at x that the first so many rows of every interval allow; inf where none does."""
    A, B, C = A[:, :count], B[:, :count], C[:, :count]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        u = np.where(NO_LINE * d[:, None] * np.abs(B) < A, -(B * x[:, None] + C) / A, np.inf)
    return u.min(axis=1, initial=np.inf)
