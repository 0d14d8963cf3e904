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

This is the clear form, on floats and arrays; :mod:`recursa.paths.passes_emit` is the same in native code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recursa.sweeps.batching import Array

BIG = 1e300  # a bound that does not bind
CAP = 1e30  # x beyond it is without bound
NO_LINE = 1e-12  # a row with |A| below this part of 2 d |B| bounds x, not u: u is at most of the size of x / (2 d)
ROUNDING = 1e-12  # of u, by which the gap may be negative
EPSILON = 1e-15  # of x, the same for steep lines
STEPS = 200  # of Newton's method at one place: more than the rows that it could visit


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

    def of(self, counts: Array, path: int) -> Passed:
        """One of the paths."""
        end = int(counts[: path + 1].sum())
        rows = slice(end - int(counts[path]), end)
        places = slice(rows.start + path, rows.stop + path + 1)
        return Passed(self.sets[:, places], self.x[places], self.u[rows], self.stuck[path : path + 1])


class Line(NamedTuple):
    """A bound of u at some x: its value there, ``p x + r``, its slope p and its intercept r."""

    u: float
    p: float
    r: float


class Lines:
    """The rows of an interval as bounds of u, ``p x + r``, and bounds of x."""

    def __init__(self, rows: Rows, i: int) -> None:
        A, B, C, self.doubled = rows.A[i], rows.B[i], rows.C[i], rows.doubled[i]
        bounding = np.abs(A) > NO_LINE * self.doubled * np.abs(B)
        upper, lower = bounding & (A > 0.0), bounding & (A < 0.0)
        self.upper = -B[upper] / A[upper], -C[upper] / A[upper]
        self.lower = -B[lower] / A[lower], -C[lower] / A[lower]
        self.least, self.most = rows.bounds[:, i]
        B, C = B[~bounding], C[~bounding]
        self.most = min(self.most, np.min(-C[B > 0.0] / B[B > 0.0], initial=CAP))
        self.least = max(self.least, np.max(-C[B < 0.0] / B[B < 0.0], initial=0.0))
        self.hopeless = bool(((B == 0.0) & (C > 0.0)).any())

    def bounds(self, x: float, after: tuple[float, float]) -> tuple[Line, Line]:
        """The lines that bound u at x from above and from below; ``after`` is K(i + 1)."""
        low, high = after
        slope = -1.0 / self.doubled
        most = Line((high - x) / self.doubled, slope, high / self.doubled)
        least = Line((low - x) / self.doubled, slope, low / self.doubled)
        for lines, sign in ((self.upper, 1.0), (self.lower, -1.0)):
            if len(lines[0]):
                u = lines[0] * x + lines[1]
                k = int(np.argmin(sign * u))
                found = Line(float(u[k]), float(lines[0][k]), float(lines[1][k]))
                if sign > 0.0:
                    most = found if found.u < most.u else most
                else:
                    least = found if found.u > least.u else least
        return most, least

    def farthest(self, x: float, towards: float, after: tuple[float, float]) -> float | None:
        """The first x from here ``towards`` a far end that has a u; None if there is none before that."""
        way = 1.0 if towards > x else -1.0
        for _ in range(STEPS):
            most, least = self.bounds(x, after)
            rounding = ROUNDING * (abs(most.u) + abs(least.u)) + EPSILON * abs(x) * (abs(most.p) + abs(least.p))
            if most.u - least.u >= -rounding:
                return x
            slope = most.p - least.p
            if slope * way <= 0.0:
                return None
            x = (least.r - most.r) / slope  # where both lines cross: from x itself the rounding of a large x would stay
            if (x - towards) * way > ROUNDING * abs(towards):
                return None
        return x


def run(rows: Rows, counts: Array) -> Passed:
    """Both passes along paths with so many intervals each."""
    found, first = [], 0
    for path, count in enumerate(int(one) for one in counts):
        own, places = slice(first, first + count), slice(first + path, first + path + count + 1)
        A, B, C, doubled = (part[own] for part in rows[:4])
        found.append(_one(Rows(A, B, C, doubled, rows.bounds[:, places])))
        first += count
    sets, *others = zip(*found, strict=True)
    return Passed(np.concatenate(sets, axis=1), *(np.concatenate(part) for part in others))


def _one(rows: Rows) -> Passed:
    count = len(rows.doubled)
    sets, x, u = np.empty((2, count + 1)), np.zeros(count + 1), np.zeros(count)
    sets[:, count] = rows.bounds[:, count]
    lines = [Lines(rows, i) for i in range(count)]
    for i in reversed(range(count)):
        here, after = lines[i], (float(sets[0, i + 1]), float(sets[1, i + 1]))
        none = here.hopeless or here.least > here.most
        high = None if none else here.farthest(here.most, here.least, after)
        low = None if high is None else here.farthest(here.least, high, after)
        if low is None or high is None:
            return Passed(sets, x, u, np.array([i]))
        sets[:, i] = low, high
    x[0] = sets[1, 0]
    for i in range(count):
        after = float(sets[0, i + 1]), float(sets[1, i + 1])
        most, least = lines[i].bounds(float(x[i]), after)
        # at the end of K(i) both are the same but for rounding; that of the steeper line, with the smaller A, is worse
        u[i] = least.u if most.u < least.u and abs(most.p) > abs(least.p) else most.u
        x[i + 1] = min(max(x[i] + lines[i].doubled * u[i], after[0]), after[1])
    return Passed(sets, x, u, np.array([-1]))
