"""The timing of paths in NumPy, one interval at a time: clear slow forms of what ``_paths.c`` does natively."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recursa.paths.grid import EDGE, KINK, NEAR, Motion
from recursa.paths.limit_rows import MIDDLE, NODES, THETA, TO_BERNSTEIN, Along
from recursa.paths.passes import CAP, EPSILON, NO_LINE, ROUNDING, STEPS, Passed, Rows
from recursa.paths.timed_trajectory import Profile
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import Limits


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


def passes(rows: Rows, counts: Array) -> Passed:
    """Controllable sets and the fastest way along paths with ``counts`` intervals each."""
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


def rows_of(along: Along, limits: Limits, bounds: Array, chosen: slice | Array = slice(None)) -> Rows:
    """Every limit as rows, each divided by its limit, of all intervals or of those chosen."""
    h = along.h[chosen]
    count = len(h)
    held, pushed, moving, V, W = (
        part[:NODES, chosen] for part in (along.held, along.pushed, along.moving, along.V, along.W)
    )
    E, L, S = limits.chosen
    efforts, both = len(E), len(E) + len(L)
    columns = 2 * both + len(S)
    nodal = np.zeros((NODES, 3, count, both + len(S)))
    if efforts:  # tau = a u + b x + c
        c = held[..., E] / limits.effort[E]
        nodal[:, 0, :, :efforts] = pushed[..., E] / limits.effort[E] - c
        nodal[:, 1, :, :efforts] = moving[..., E] / limits.effort[E] - c
        nodal[:, 2, :, :efforts] = c
    nodal[:, 0, :, efforts:both] = V[..., L] / limits.acceleration[L]
    nodal[:, 1, :, efforts:both] = W[..., L] / limits.acceleration[L]
    nodal[:, 1, :, both:] = np.square(V[..., S] / limits.velocity[S])
    nodal[:, 0] += nodal[:, 1] * (2.0 * THETA[:, None] * h)[..., None]  # x(theta) = x + 2 h theta u
    found = (TO_BERNSTEIN @ nodal.reshape(NODES, -1)).reshape(nodal.shape)
    rows = np.zeros((3, count, columns * NODES))
    view = rows[..., : columns * NODES].reshape(3, count, columns, NODES)
    view[:, :, :both] = found[..., :both].transpose(1, 2, 3, 0)
    view[:, :, both : 2 * both] = -view[:, :, :both]
    view[:, :, 2 * both :] = found[..., both:].transpose(1, 2, 3, 0)
    rows[2] -= 1.0 - along.spare[chosen, None]
    if along.margin is not None and efforts:
        largest = (along.margin[:NODES, chosen][..., E] / limits.effort[E]).max(axis=0)[..., None]
        view[2, :, :efforts] += largest
        view[2, :, both : both + efforts] += largest
    return Rows(rows[0], rows[1], rows[2], 2.0 * h, bounds)


def missed(along: Along, limits: Limits, x: Array) -> Array:
    """What cubics miss of limits: differences of cubic and truth are sums over the four places and the middle."""
    along = along if along.undamped is None else along.undamped
    before, after = x[along.starts], x[along.starts + 1]
    u, middle = (after - before) / (2.0 * along.h), 0.5 * (before + after)
    by_u = np.concatenate([MIDDLE[:, None] * u, -u[None]])
    by_x = np.concatenate([MIDDLE[:, None] * (before + THETA[:, None] * (after - before)), -middle[None]])
    rest = np.append(MIDDLE, -1.0)[:, None] - by_u - by_x
    off = [
        np.abs(_summed(by_x, along.V * along.V)) / limits.velocity**2,
        np.abs(_summed(by_u, along.V) + _summed(by_x, along.W)) / limits.acceleration,
        np.abs(_summed(rest, along.held) + _summed(by_u, along.pushed) + _summed(by_x, along.moving)) / limits.effort,
    ]
    worst = np.max(off, axis=(0, 2))
    return np.array([worst[along.intervals(path)].max() for path in range(len(along.counts))])


def _summed(weights: Array, values: Array) -> Array:
    """Over the places: (NODES + 1, N) and (NODES + 1, N, nv) to (N, nv)."""
    return np.einsum("kn,knj->nj", weights, values)


def profile_of_squares(places: Array, x: Array) -> Profile:
    """From ``x = (ds/dt)^2`` at the places, linear in s between: u is constant on every piece."""
    h, speed = np.diff(places), np.sqrt(x)
    u = np.diff(x) / (2.0 * h)
    times = np.concatenate([[0.0], np.cumsum(2.0 * h / (speed[:-1] + speed[1:]))])
    return Profile(places, times, speed[:-1], u, np.zeros_like(u))


def switched(along: Along, limits: Limits, passed: Passed) -> Motion:
    """The motion along one path, with two pieces in intervals in which it switches."""
    sets, x, u = passed.sets, passed.x, passed.u
    grid, high = along.grid, sets[1]
    before, after = np.append(u[:1], u[:-1]), np.append(u[1:], u[-1:])
    kinks = before - after > KINK * np.abs(u).max()
    which = np.flatnonzero(kinks & (x[1:] >= high[1:] - EDGE * (x[:-1] + x[1:])))
    if not len(which):
        return Motion(profile_of_squares(grid, x), np.arange(len(u)))
    A, B, C, d, _ = rows_of(along, limits, sets, which)
    start, end, top = x[which], x[which + 1], high[which]
    others = len(A[0]) - NODES * len(limits.chosen[2])
    back = (end - top) / d
    kept = (A * back[:, None] + B * top[:, None] + C).max(axis=1) <= EDGE
    rising = kept & (start < top - EDGE * (start + top))
    first = np.where(rising, _most(A, B, C, d, start, others), _most(A, B, C, d, start, len(A[0])))
    braking = -_most(-(A - d[:, None] * B)[:, :others], B, C, d, end, others)
    second = np.where(rising, back, braking)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        part = (end - start - d * second) / (first - second) / d
    inside = np.isfinite(first) & np.isfinite(second) & (first > second) & (part > NEAR) & (part < 1.0 - NEAR)
    which, part, peak = which[inside], part[inside], (start + d * part * first)[inside]
    extra = grid[which] + part * np.diff(grid)[which]
    pieces = np.insert(np.arange(len(u)), which + 1, which)
    return Motion(profile_of_squares(np.insert(grid, which + 1, extra), np.insert(x, which + 1, peak)), pieces)


def _most(A: Array, B: Array, C: Array, d: Array, x: Array, count: int) -> Array:
    """The largest u at x that the first so many rows of every interval allow; inf where none does."""
    A, B, C = A[:, :count], B[:, :count], C[:, :count]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        u = np.where(NO_LINE * d[:, None] * np.abs(B) < A, -(B * x[:, None] + C) / A, np.inf)
    return u.min(axis=1, initial=np.inf)
