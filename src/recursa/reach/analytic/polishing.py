"""From angles near a solution to the solution: steps of Newton's method, taken where they make the error smaller."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot

_STEPS = 12
_NEAR = 0.1  # rad and m: beyond it a branch does not exist, and steps would lead to another one
_EXACT = 1e-13  # rad and m: what rounding leaves of a zero
_DAMPING = 1e-14  # rad^2, m^2, as a part of the largest: what keeps a singular Jacobian from an infinite step


class Target(NamedTuple):
    """Where a link is to be: the upper three rows (B, 3, 4) of poses."""

    robot: Robot
    link: str
    rows: Array

    def error(self, q: Array, of: Array) -> Array:
        """What positions (n, nq) lack of the poses with numbers ``of``, (n, 6)."""
        poses = np.zeros((len(of), 4, 4))
        poses[:, :3], poses[:, 3, 3] = self.rows[of], 1.0
        return self.robot.pose_error(q, self.link, poses)


def polished(target: Target, q: Array, there: Array) -> tuple[Array, Array]:
    """Positions (B, 8, nq) after Newton's steps where that helps, and by how much they miss, (B, 8, 2) in rad and m."""
    count, nq = len(q), q.shape[-1]
    of = np.repeat(np.arange(count), 8)
    q = q.reshape(-1, nq).copy()
    error = target.error(q, of) if len(q) else np.zeros((0, 6))
    square = np.square(error).sum(axis=1)
    rows = np.flatnonzero(there.reshape(-1) & (square < _NEAR**2) & (square > _EXACT**2))
    for _ in range(_STEPS):
        if not len(rows):
            break
        after = target.robot.integrate(q[rows], _newton_step(target, q[rows], error[rows]))
        lacks = target.error(after, of[rows])
        left = np.square(lacks).sum(axis=1)
        better = left < square[rows]
        rows, after, lacks, left = rows[better], after[better], lacks[better], left[better]
        q[rows], error[rows], square[rows] = after, lacks, left
        rows = rows[left > _EXACT**2]
    return q.reshape(count, 8, nq), distances(error).reshape(count, 8, 2)


def _newton_step(target: Target, q: Array, error: Array) -> Array:
    """``dq = J* inv(J J* + lambda 1) e``."""
    jacobian = target.robot.jacobian(q, target.link)
    square = jacobian @ jacobian.swapaxes(-1, -2)
    damping = _DAMPING * np.trace(square, axis1=-2, axis2=-1) + 1e-30
    square += damping[:, None, None] * np.eye(6)
    return np.asarray((jacobian.swapaxes(-1, -2) @ np.linalg.solve(square, error[..., None]))[..., 0])


def distances(error: Array) -> Array:
    """The angle and the distance (..., 2) of errors (..., 6)."""
    return np.stack([np.sqrt(np.square(part).sum(axis=-1)) for part in (error[..., :3], error[..., 3:])], axis=-1)
