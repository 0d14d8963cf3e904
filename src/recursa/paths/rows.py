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
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recursa.dynamics.losses import DAMPING, FRICTION, Losses
from recursa.paths.passes import Rows
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import Limits

if TYPE_CHECKING:
    from recursa.paths.path import Path
    from recursa.robot import Robot

NODES = 4
THETA = np.array([0.5 - 0.5 * math.cos(math.pi * (2 * k + 1) / (2 * NODES)) for k in range(NODES)])


def bernstein(theta: Array) -> Array:
    """The basis (len(theta), NODES) of polynomials on [0, 1] whose coefficients bound them."""
    n = NODES - 1
    return np.stack([math.comb(n, k) * theta**k * (1.0 - theta) ** (n - k) for k in range(NODES)], axis=1)


TO_BERNSTEIN = np.linalg.inv(bernstein(THETA))
_MIDDLE = bernstein(np.array([0.5]))[0] @ TO_BERNSTEIN
_STEEP = 0.05  # part of the larger x at the ends of an interval below which the root of x is no polynomial


class Kind(NamedTuple):
    """What a column of rows limits: the quantity, and the freedom's number."""

    quantity: str
    freedom: int
    sign: int


@dataclass(frozen=True)
class Along:
    """A robot at the four places of every interval; arrays are (NODES, N, ...), q is (NODES N, nq).

    ``held``, ``pushed``, ``moving`` are the torques c, a + c and b + c: at rest; with the accelerations V; with the
    speeds V and accelerations W. Where damping counts, it is in them, and ``d`` is what it takes at ds/dt = 1.
    ``margin`` is what they may be off by, up or down.
    """

    grid: Array  # (N + 1,)
    q: Array
    V: Array
    W: Array
    held: Array
    pushed: Array
    moving: Array
    d: Array | None
    friction: Array | None = None
    margin: Array | None = None
    undamped: Along | None = None
    spare: float = 0.0  # part of every limit that is left for what cubics miss

    @classmethod
    def of(cls, robot: Robot, path: Path, grid: Array, losses: Losses, effort: bool) -> Along:
        """Two derivatives of the path and, where efforts have limits, three inverse dynamics."""
        h = np.diff(grid)
        s = grid[:-1] + THETA[:, None] * h
        q, V, W = path._states(s.ravel())
        shape = (NODES, len(h), robot.nv)
        if not effort:
            none = np.zeros(shape)
            return cls(grid, q, V.reshape(shape), W.reshape(shape), none, none, none, None)
        rest = np.zeros_like(V)
        torques = robot.inverse_dynamics(
            np.concatenate([q, q, q]), np.concatenate([rest, rest, V]), np.concatenate([rest, V, W])
        ).reshape(3, *shape)
        friction = robot.joint_losses(V, losses="friction").reshape(shape) if losses in FRICTION else None
        if friction is not None:
            torques = torques + friction
        d = robot.joint_losses(V, losses="damping").reshape(shape) if losses in DAMPING else None
        if d is not None and not d.any():
            d = None
        return cls(grid, q, V.reshape(shape), W.reshape(shape), torques[0], torques[1], torques[2], d, friction)

    def straight(self) -> bool:
        """Whether nothing changes within intervals, so that cubics miss nothing."""
        parts = (self.held, self.pushed, self.moving)
        return not self.W.any() and all(np.ptp(part, axis=0).max() <= 1e-12 * np.abs(part).max() for part in parts)

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
        """With ``d sqrt(x)`` by its tangent at x (N + 1,) of the grid, ``d (r/2 + x/(2 r))``, ``r = sqrt(x)``.

        Next to rest the root is steep and no polynomial. There damping is between nothing and what it takes at the
        largest speed r of the interval: ``d r/2`` with a margin of ``|d| r/2``.
        """
        assert self.d is not None
        fast = np.maximum(x[:-1], x[1:])
        moving = np.minimum(x[:-1], x[1:]) > _STEEP * fast
        r = np.sqrt(np.where(moving, x[:-1] + THETA[:, None] * np.diff(x), fast))[..., None]
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


def missed(along: Along, limits: Limits, path: Path, robot: Robot, x: Array) -> float:
    """The part of a limit by which the cubics miss what they stand for, at the middle of intervals, where they do most.

    With x at the grid (N + 1,) both come from the motion itself: the cubic from its four places, the truth from the
    path and inverse dynamics at the middle.
    """
    grid, h = along.grid, np.diff(along.grid)
    u, middle = np.diff(x) / (2.0 * h), 0.5 * (x[:-1] + x[1:])
    q, V, W = path._states(0.5 * (grid[:-1] + grid[1:]))
    a = V * u[:, None] + W * middle[:, None]
    by_u, by_x = _MIDDLE[:, None] * u, _MIDDLE[:, None] * (x[:-1] + THETA[:, None] * np.diff(x))  # (NODES, N)
    off = []
    if np.isfinite(limits.velocity).any():
        squares = V * V * middle[:, None] - _summed(by_x, along.V * along.V)
        off.append(np.abs(squares) / limits.velocity**2)
    if np.isfinite(limits.acceleration).any():
        off.append(np.abs(a - _summed(by_u, along.V) - _summed(by_x, along.W)) / limits.acceleration)
    if np.isfinite(limits.effort).any():
        own = along if along.undamped is None else along.undamped
        tau = robot.inverse_dynamics(q, V * np.sqrt(middle)[:, None], a)
        if own.friction is not None:  # the same at all places of an interval
            tau += own.friction[1]
        if own.margin is not None and own.friction is not None:
            tau -= own.margin[1] * np.sign(own.friction[1])
        rest = _MIDDLE[:, None] - by_u - by_x
        cubic = _summed(rest, own.held) + _summed(by_u, own.pushed) + _summed(by_x, own.moving)
        off.append(np.abs(tau - cubic) / limits.effort)
    return max(float(one.max()) for one in off)


def _summed(weights: Array, values: Array) -> Array:
    """Over the places: (NODES, N) and (NODES, N, nv) to (N, nv)."""
    return np.einsum("kn,knj->nj", weights, values)


def kinds(limits: Limits) -> list[Kind]:
    """What the columns of the rows are, in their order."""
    both = [
        (name, int(j))
        for name in ("effort", "acceleration")
        for j in np.flatnonzero(np.isfinite(getattr(limits, name)))
    ]
    found = [Kind(name, j, sign) for sign in (1, -1) for name, j in both]
    return found + [Kind("velocity", int(j), 0) for j in np.flatnonzero(np.isfinite(limits.velocity))]


def rows_of(along: Along, limits: Limits, bounds: Array, chosen: slice | Array = slice(None), padding: int = 1) -> Rows:
    """Every limit as rows, each divided by its limit, of all intervals or of those chosen.

    This is the clear form; :mod:`recursa.paths.rows_emit` is the same in native code.
    """
    h = np.diff(along.grid)[chosen]
    count = len(h)
    held, pushed, moving, V, W = (
        part[:, chosen] for part in (along.held, along.pushed, along.moving, along.V, along.W)
    )
    E, L, S = (np.flatnonzero(np.isfinite(x)) for x in (limits.effort, limits.acceleration, limits.velocity))
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
    rows = np.zeros((3, count, -(-columns * NODES // padding) * padding))
    view = rows[..., : columns * NODES].reshape(3, count, columns, NODES)
    view[:, :, :both] = found[..., :both].transpose(1, 2, 3, 0)
    view[:, :, both : 2 * both] = -view[:, :, :both]
    view[:, :, 2 * both :] = found[..., both:].transpose(1, 2, 3, 0)
    rows[2] -= 1.0 - along.spare
    if along.margin is not None and efforts:
        largest = (along.margin[:, chosen][..., E] / limits.effort[E]).max(axis=0)[..., None]
        view[2, :, :efforts] += largest
        view[2, :, both : both + efforts] += largest
    return Rows(rows[0], rows[1], rows[2], 2.0 * h, bounds)
