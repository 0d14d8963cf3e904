"""Reachability analysis along a path: controllable sets backwards, the fastest way forwards (Pham & Pham, TOPP-RA).

The state at a place s of the path is ``x = (ds/dt)^2``, the input is ``u = d2s/dt2``; held over an interval of the
grid, ``x`` at its end is ``x + 2 d u`` with its length d. Every limit is a row ``A u + B x + C <= 0``. So what can be
reached is an interval of x at every place:

- backwards: ``K(i) = {x : there is u with all rows <= 0 and x + 2 d u in K(i + 1)}``          (controllable sets)
- forwards: the largest u that all rows allow and that stays in K(i + 1)                      (greedy, and optimal)

For a given x the rows bound u from above and below by straight lines in x, and their gap
``g(x) = min (upper lines) - max (lower lines)`` is concave. The ends of K(i) are where it is zero: Newton's method from
outside comes there in finitely many steps and never goes past it. A row with A = 0, at a zero-inertia point, bounds x
itself; nothing is divided by A there.

``_paths.c`` does this in native code, and ``tests/path_oracles.py`` in NumPy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recursa.kernels.switch import extension
from recursa.paths.room import scratch
from recursa.sweeps.batching import Array

BIG = 1e300  # a bound that does not bind
CAP = 1e30  # x beyond it is without bound
NO_LINE = 1e-12  # a row with |A| below this part of 2 d |B| bounds x, not u: u is at most of the size of x / (2 d)
ROUNDING = 1e-12  # of u, by which the gap may be negative
EPSILON = 1e-15  # of x, the same for steep lines
STEPS = 200  # of Newton's method at one place: more than the rows that it could visit
_SETTINGS = np.array([CAP, NO_LINE, ROUNDING, EPSILON, STEPS])


class Rows(NamedTuple):
    """Rows (N, R) of every interval, twice its length (N,), and bounds of x at the grid's places (2, N + 1)."""

    A: Array
    B: Array
    C: Array
    doubled: Array
    bounds: Array


class Passed(NamedTuple):
    """``sets`` (2, N + P): ends of K; ``x`` (N + P,), ``u`` (N,). ``stuck`` (P,): intervals with empty sets, or -1.

    Paths follow one another; intervals are counted from the start of each.
    """

    sets: Array
    x: Array
    u: Array
    stuck: Array


def run(rows: Rows, counts: Array) -> Passed:
    """Both passes along paths with ``counts`` intervals each."""
    (count, wide), paths = rows.A.shape, len(counts)
    places = count + paths
    sets, x, u, stuck = np.empty((places, 2)), np.zeros(places), np.zeros(count), np.empty(paths, np.int64)
    A, B, C, doubled, bounds = (np.ascontiguousarray(part) for part in (*rows[:4], rows.bounds.T))
    lines, numbers = scratch("lines", 2 * count * wide), np.empty(2 * count, np.int64)
    extension("the timing of paths").passes(
        _SETTINGS, counts, A, B, C, doubled, bounds, sets, x, u, stuck, lines, numbers
    )
    return Passed(sets.T, x, u, stuck)
