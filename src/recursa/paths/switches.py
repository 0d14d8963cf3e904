"""Switches inside intervals: where a motion changes from one limit to another, to the place and not to the grid."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recursa.kernels.switch import extension
from recursa.paths.passes import NO_LINE, Passed, Rows
from recursa.paths.profile import Profile
from recursa.paths.rows import NODES, Along
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import Limits

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
