"""Limits of a robot along a path as rows ``A u + B x + C <= 0`` of every interval, valid at all places between.

With ``x = (ds/dt)^2`` and ``u = d2s/dt2`` everything that has a limit is linear in both, at every place s:

- speeds: ``v^2 = V(s)^2 x``, where ``V = dq/ds``;
- accelerations: ``a = V(s) u + W(s) x``, where ``W = d2q/ds2``;
- torques: ``tau = a(s) u + b(s) x + c(s) + d(s) sqrt(x)``, where c holds gravity, springs and Coulomb friction (its sign is
  that of V), and d is the damping, ``D V``. The root is replaced by its tangent at a speed near the solution.

On an interval of length h, u is constant and ``x(theta) = x + 2 h theta u``, so a limited quantity is a smooth function of
theta in [0, 1]. Its polynomial of degree 3 through four places (Chebyshev's, inside the interval: no value at a place
where derivatives jump is ever asked for) lies within the range of its Bernstein coefficients, and these are linear in
u and x, too. So the rows say of every limit that its four coefficients are within it: sufficient for all places, and
not only for those of the grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recursa.dynamics.losses import DAMPING, FRICTION, Losses
from recursa.paths.limits import Limits
from recursa.paths.passes import Rows
from recursa.sweeps.batching import Array

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
_STEEP = 0.05  # part of the larger x at the ends of an interval below which the root of x is no polynomial


class Kind(NamedTuple):
    """What a column of rows limits: the quantity, and the freedom's number."""

    quantity: str
    freedom: int
    sign: int


@dataclass(frozen=True)
class Along:
    """A robot at the four places of every interval; arrays are (NODES, N, ...)."""

    grid: Array  # (N + 1,)
    q: Array
    V: Array
    W: Array
    a: Array
    b: Array
    c: Array
    d: Array | None

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
        held, pushed, moving = robot.inverse_dynamics(
            np.concatenate([q, q, q]), np.concatenate([rest, rest, V]), np.concatenate([rest, V, W])
        ).reshape(3, *shape)
        a, b = pushed - held, moving - held
        if losses in FRICTION:
            held = held + robot.joint_losses(V, losses="friction").reshape(shape)
        d = robot.joint_losses(V, losses="damping").reshape(shape) if losses in DAMPING else None
        if d is not None and not d.any():
            d = None
        return cls(grid, q, V.reshape(shape), W.reshape(shape), a, b, held, d)

    def speeds_at(self, x: Array) -> Array:
        """x at the four places, from x at the grid: (NODES, N)."""
        return x[:-1] + THETA[:, None] * np.diff(x)


def kinds(limits: Limits) -> list[Kind]:
    """What the columns of the rows are, in their order."""
    found: list[Kind] = []
    for name in ("effort", "acceleration"):
        chosen = np.flatnonzero(np.isfinite(getattr(limits, name)))
        found += [Kind(name, int(j), sign) for sign in (1, -1) for j in chosen]
    return found + [Kind("velocity", int(j), 0) for j in np.flatnonzero(np.isfinite(limits.velocity))]


def rows_of(along: Along, limits: Limits, bounds: Array, padding: int, reference: Array | None = None) -> Rows:
    """Every limit as rows, each divided by its limit; ``reference`` is x at the grid near which damping is linear."""
    h = np.diff(along.grid)
    count = len(h)
    E, L, S = (np.flatnonzero(np.isfinite(x)) for x in (limits.effort, limits.acceleration, limits.velocity))
    both, single = len(E) + len(L), len(S)
    columns = 2 * both + single
    wide = -(-columns * NODES // padding) * padding
    nodal = np.zeros((NODES, 3, count, both + single))
    damping = None if along.d is None or not len(E) else along.d[..., E] / limits.effort[E]
    if len(E):
        limit = limits.effort[E]
        nodal[:, 0, :, : len(E)] = along.a[..., E] / limit
        nodal[:, 1, :, : len(E)] = along.b[..., E] / limit
        nodal[:, 2, :, : len(E)] = along.c[..., E] / limit
        if damping is not None and reference is not None:
            _add_damping(nodal[..., : len(E)], damping, along.speeds_at(reference), reference)
    if len(L):
        nodal[:, 0, :, len(E) : both] = along.V[..., L] / limits.acceleration[L]
        nodal[:, 1, :, len(E) : both] = along.W[..., L] / limits.acceleration[L]
    nodal[:, 1, :, both:] = np.square(along.V[..., S] / limits.velocity[S])
    nodal[:, 0] += nodal[:, 1] * (2.0 * THETA[:, None] * h)[..., None]  # x(theta) = x + 2 h theta u
    found = (TO_BERNSTEIN @ nodal.reshape(NODES, -1)).reshape(nodal.shape)
    rows = np.zeros((3, count, wide))
    view = rows[..., : columns * NODES].reshape(3, count, NODES, columns)
    view[..., :both] = found[..., :both].transpose(1, 2, 0, 3)
    view[..., both : 2 * both] = -view[..., :both]
    view[..., 2 * both :] = found[..., both:].transpose(1, 2, 0, 3)
    rows[2] -= 1.0
    if damping is not None and reference is not None:
        forwards, backwards = view[2, ..., : len(E)], view[2, ..., both : both + len(E)]
        _bound_slow_damping(forwards, backwards, damping, reference)
    return Rows(rows[0], rows[1], rows[2], 2.0 * h, bounds)


def _add_damping(nodal: Array, d: Array, x: Array, reference: Array) -> None:
    """``d sqrt(x)`` by its tangent at x of the reference, ``d (r/2 + x/(2 r))``; not next to rest."""
    moving = _moving(reference)
    r = np.sqrt(np.where(moving, x, 1.0))[..., None]
    d = np.where(moving[:, None], d, 0.0)
    nodal[:, 1] += d / (2.0 * r)
    nodal[:, 2] += 0.5 * d * r


def _moving(reference: Array) -> Array:
    """Intervals at no end of which the reference is nearly at rest: there the root is no polynomial."""
    slow = np.minimum(reference[:-1], reference[1:])
    return slow > _STEEP * np.maximum(reference[:-1], reference[1:])


def _bound_slow_damping(over: Array, under: Array, share: Array, reference: Array) -> None:
    """Next to rest: what damping takes at most, forwards and backwards, at any speed that the reference has there."""
    slow = np.flatnonzero(~_moving(reference))
    fastest = np.sqrt(np.maximum(reference[slow], reference[slow + 1]))[:, None]
    part = share[:, slow]  # (NODES, slow, efforts)
    over[slow] += (np.maximum(part.max(axis=0), 0.0) * fastest)[:, None]
    under[slow] += (np.maximum(-part.min(axis=0), 0.0) * fastest)[:, None]
