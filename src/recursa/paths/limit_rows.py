"""Limits of a robot along a path as rows ``A u + B x + C <= 0`` of every interval, valid at all places between.

With ``x = (ds/dt)^2`` and ``u = d2s/dt2`` everything that has a limit is linear in both, at every place s:

- speeds: ``v^2 = V(s)^2 x``, where ``V = dq/ds``;
- accelerations: ``a = V(s) u + W(s) x``, where ``W = d2q/ds2``;
- torques: ``tau = a(s) u + b(s) x + c(s) + d(s) sqrt(x)``, where c holds gravity, springs and Coulomb friction (its
  sign is that of V), and d is the damping, ``D V``. The root is replaced by its tangent at a speed near the solution.

On an interval of length h, u is constant and ``x(theta) = x + 2 h theta u``, so a limited quantity is a smooth function
of theta in [0, 1]. Its polynomial of degree 3 through four places (Chebyshev's, inside the interval: no value at one
where derivatives jump is ever asked for) lies within the range of its Bernstein coefficients, and these are linear in
u and x, too. So the rows say of every limit that its four coefficients are within it: sufficient for all places, and
not only for those of the grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recursa.dynamics.wrenches import Losses
from recursa.kernels.switch import extension
from recursa.paths.passes import Rows
from recursa.paths.room import Room, scratch
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import Limits
from recursa.trajectories.curves import Pieces
from recursa.trajectories.drives import Drive

if TYPE_CHECKING:
    from recursa.paths.path import Path
    from recursa.robot import Robot

NODES = 4
THETA = np.array([0.5 - 0.5 * math.cos(math.pi * (2 * k + 1) / (2 * NODES)) for k in range(NODES)])
LOOKED_AT = np.append(THETA, 0.5)  # and the middle, at which cubics are compared with what they stand for


def bernstein(theta: Array) -> Array:
    """The basis (len(theta), NODES) of polynomials on [0, 1] whose coefficients bound them."""
    n = NODES - 1
    return np.stack([math.comb(n, k) * theta**k * (1.0 - theta) ** (n - k) for k in range(NODES)], axis=1)


TO_BERNSTEIN = np.linalg.inv(bernstein(THETA))
_NONE = np.empty(0)
MIDDLE = bernstein(np.array([0.5]))[0] @ TO_BERNSTEIN
_NODES_AND_MIDDLE = np.stack([THETA, MIDDLE])
_STEEP = 0.05  # part of the larger x at the ends of an interval below which the root of x is no polynomial


class Kind(NamedTuple):
    """What a column of rows limits: the quantity, and the freedom's number."""

    quantity: str
    freedom: int
    sign: int


@dataclass(frozen=True)
class Along:
    """A robot along P paths, which follow one another, with N intervals in all.

    Arrays are (NODES + 1, N, ...): at the four places of every interval, and at its middle. ``held``, ``pushed``,
    ``moving`` are the torques c, a + c and b + c: at rest; with the accelerations V; with the speeds V and
    accelerations W. Where damping counts, it is in them, and ``d`` is what it takes at ds/dt = 1. ``margin`` is what
    they may be off by, up or down. ``tips`` (P, 2, nv) is dq/ds at the start and the end of each path.
    """

    counts: Array  # (P,) intervals
    grid: Array  # (N + P,)
    q: Array
    V: Array
    W: Array
    held: Array
    pushed: Array
    moving: Array
    tips: Array
    d: Array | None
    spare: Array  # (N,): part of every limit that is left for what cubics miss
    friction: Array | None = None
    margin: Array | None = None
    undamped: Along | None = None

    @classmethod
    def of(
        cls,
        robot: Robot,
        paths: Sequence[Path],
        grids: Sequence[Array],
        losses: Losses,
        drive: Drive | None,
        room: Room | None = None,
    ) -> Along:
        """Two derivatives of the paths and, where efforts have limits, three inverse dynamics.

        With ``room``, what comes back is valid as long as that is borrowed.
        """
        empty = np.empty if room is None else room.empty
        counts = np.array([len(grid) - 1 for grid in grids], np.int64)
        shape = NODES + 1, int(counts.sum())
        torques = 3 if drive is not None else 1  # the last of each is the path itself
        q, speeds, rates = (empty((torques, *shape, n)) for n in (robot.nq, robot.nv, robot.nv))
        tips = np.empty((len(paths), 2, robot.nv))
        first = 0
        for number, (path, grid) in enumerate(zip(paths, grids, strict=True)):
            own = slice(first, first + len(grid) - 1)
            places = (grid[:-1] + LOOKED_AT[:, None] * (grid[1:] - grid[:-1])).ravel()
            tips[number] = path._states(grid[[0, -1]])[1]
            if len(paths) == 1 and isinstance(path._states, Pieces):
                path._states.into(places, q[-1], speeds[-1], rates[-1])
            else:
                for target, part in zip((q, speeds, rates), path._states(places), strict=True):
                    target[-1][:, own] = part.reshape(NODES + 1, -1, part.shape[1])
            first = own.stop
        V, W = speeds[-1], rates[-1]
        grid = grids[0] if len(grids) == 1 else np.concatenate(grids)
        none = np.zeros(shape[1])
        if drive is None:
            still = np.zeros_like(V)
            return cls(counts, grid, q[-1], V, W, still, still, still, tips, None, none)
        q[:2], speeds[:2], rates[0], rates[1] = q[2], 0.0, 0.0, V
        found = empty((3 * shape[0] * shape[1], robot.nv))
        flat = -1, robot.nv
        drive.torques(q.reshape(-1, robot.nq), speeds.reshape(flat), rates.reshape(flat), out=found)
        found = found.reshape(3, *V.shape)
        at = q[-1].reshape(-1, robot.nq), V.reshape(flat)
        friction, d = drive.friction(*at, losses), drive.damping(*at, losses)
        if friction is not None:
            friction = friction.reshape(V.shape)
            found += friction
        d = d.reshape(V.shape) if d is not None and d.any() else None
        return cls(counts, grid, q[-1], V, W, found[0], found[1], found[2], tips, d, none, friction)

    @cached_property
    def starts(self) -> Array:
        """The number of the place (N,) at which every interval starts."""
        return np.arange(len(self.spare)) + np.repeat(np.arange(len(self.counts)), self.counts)

    @cached_property
    def h(self) -> Array:
        """The lengths of the intervals (N,)."""
        return np.diff(self.grid) if len(self.counts) == 1 else self.grid[self.starts + 1] - self.grid[self.starts]

    def intervals(self, path: int) -> slice:
        """Those of one path."""
        end = int(self.counts[: path + 1].sum())
        return slice(end - int(self.counts[path]), end)

    def places(self, path: int) -> slice:
        """Those of the grid of one path."""
        own = self.intervals(path)
        return slice(own.start + path, own.stop + path + 1)

    def leaving(self, spare: Array) -> Along:
        """With other parts of limits (N,) left over."""
        other = copy(self)
        other.__dict__["spare"] = spare
        return other

    def only(self, paths: Sequence[int] | Array) -> Along:
        """Some of the paths."""
        if len(paths) == len(self.counts):
            return self
        rows = np.concatenate([np.arange(len(self.spare))[self.intervals(int(k))] for k in paths])
        places = np.concatenate([np.arange(len(self.grid))[self.places(int(k))] for k in paths])
        which = np.asarray(paths, int)

        def own(value: Array | None) -> Any:
            return None if value is None else np.take(value, rows, axis=1)

        return replace(
            self, q=own(self.q), V=own(self.V), W=own(self.W), held=own(self.held), pushed=own(self.pushed),
            moving=own(self.moving), d=own(self.d), friction=own(self.friction), margin=own(self.margin),
            counts=self.counts[which], grid=self.grid[places], tips=self.tips[which], spare=self.spare[rows],
            undamped=None if self.undamped is None else self.undamped.only(paths),
        )  # fmt: skip

    def straight(self) -> list[bool]:
        """For each path, whether nothing changes within intervals, so that cubics miss nothing."""
        found = []
        for path in range(len(self.counts)):
            own = self.intervals(path)
            parts = [part[:, own] for part in (self.held, self.pushed, self.moving)]
            found.append(
                not self.W[:, own].any()
                and all(np.ptp(part, axis=0).max() <= 1e-12 * np.abs(part).max() for part in parts)
            )
        return found

    def stopping(self, chosen: Array) -> Along:
        """On the chosen intervals, next to a stop, friction does not help: at rest it need not be there.

        Upwards torques are then ``c + max(F, 0)``, downwards ``c + min(F, 0)``: ``c + F/2`` with a margin of ``|F|/2``.
        """
        if self.friction is None or not len(chosen):
            return self
        half = np.zeros_like(self.friction)
        half[:, chosen] = 0.5 * self.friction[:, chosen]
        return replace(
            self,
            held=self.held - half,
            pushed=self.pushed - half,
            moving=self.moving - half,
            margin=np.abs(half),
        )

    def damped(self, x: Array) -> Along:
        """With ``d sqrt(x)`` by its tangent at x (N + P,) of the grid, ``d (r/2 + x/(2 r))``, ``r = sqrt(x)``.

        Next to rest the root is steep and no polynomial. There damping is between nothing and what it takes at the
        largest speed r of the interval: ``d r/2`` with a margin of ``|d| r/2``.
        """
        assert self.d is not None
        before, after = x[self.starts], x[self.starts + 1]
        fast = np.maximum(before, after)
        moving = np.minimum(before, after) > _STEEP * fast
        r = np.sqrt(np.where(moving, before + LOOKED_AT[:, None] * (after - before), fast))[..., None]
        still = 0.5 * self.d * r
        margin = np.where(moving[:, None], 0.0, np.abs(still))
        slope = np.where(moving[:, None], self.d / (2.0 * np.maximum(r, 1e-300)), 0.0)
        return replace(
            self,
            held=self.held + still,
            pushed=self.pushed + still,
            moving=self.moving + still + slope,
            margin=margin if self.margin is None else margin + self.margin,
            undamped=self,
        )


def missed(along: Along, limits: Limits, x: Array) -> Array:
    """The part of a limit by which the cubics of each path (P,) miss what they stand for, at the middle of intervals.

    There they do most. With x at the grid (N + P,) both come from the motion itself: the cubic from its four places,
    the truth from the path and inverse dynamics at the middle.
    """
    own = along if along.undamped is None else along.undamped
    off = np.empty(len(along.counts))
    extension("the timing of paths").missed(
        along.counts, x, along.h, _NODES_AND_MIDDLE, limits.table, own.V, own.W, own.held, own.pushed, own.moving, off
    )
    return off


def kinds(limits: Limits) -> list[Kind]:
    """What the columns of the rows are, in their order."""
    both = [
        (name, int(j))
        for name in ("effort", "acceleration")
        for j in np.flatnonzero(np.isfinite(getattr(limits, name)))
    ]
    found = [Kind(name, j, sign) for sign in (1, -1) for name, j in both]
    return found + [Kind("velocity", int(j), 0) for j in np.flatnonzero(np.isfinite(limits.velocity))]


def rows_of(along: Along, limits: Limits, bounds: Array, *, kept: bool = False) -> Rows:
    """Every limit as rows of every interval, each divided by its limit.

    Unless they are ``kept``, the rows are valid until the next call in the same thread: fresh memory would cost more
    than what is written to it.
    """
    sizes = np.array([len(joints) for joints in limits.chosen], np.int64)
    shape = 3, len(along.h), NODES * int(2 * sizes[:2].sum() + sizes[2])
    A, B, C = np.empty(shape) if kept else scratch("rows", math.prod(shape)).reshape(shape)
    states = along.V, along.W, along.held, along.pushed, along.moving, _NONE if along.margin is None else along.margin
    extension("the timing of paths").limit_rows(
        sizes, *limits.in_rows, along.h, along.spare, TO_BERNSTEIN, THETA, *map(np.ascontiguousarray, states), A, B, C
    )
    return Rows(A, B, C, 2.0 * along.h, bounds)
