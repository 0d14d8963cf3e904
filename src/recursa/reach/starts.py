"""Where the search for joint positions starts: configurations spread over the range of a robot, the nearest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recursa.dynamics.configuration import random_state
from recursa.reach.ranges import Ranges
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot

SPREAD = 64  # configurations; twice as many save a fifth of the steps, and take as long to be compared
_SEED = 0
_BLOCK = 256  # targets at a time, so that what is on the way stays in the caches


@dataclass(frozen=True)
class Starts:
    """Configurations (n, nq) within the limits, and the poses (n, 12) of a link there, row by row."""

    q: Array
    poses: Array
    reach: float  # how far apart the positions of the link are, to weigh them against its directions

    @staticmethod
    def of(robot: Robot, link: str) -> Starts:
        """The same for every process and machine; made once for a robot and link."""
        found = robot.evaluator.kept.get((Starts, link))
        return found or robot.evaluator.kept.setdefault((Starts, link), Starts._made(robot, link))

    @staticmethod
    def _made(robot: Robot, link: str) -> Starts:
        rng = np.random.default_rng(_SEED)
        q = np.stack([random_state(robot.model, rng)[0] for _ in range(SPREAD)])
        poses = upper_rows(robot.pose(q, link))
        spread = poses[:, 3::4].max(axis=0) - poses[:, 3::4].min(axis=0)
        return Starts(q, poses, float(spread.max()) or 1.0)

    def distances(self, targets: Array, share: tuple[float, float]) -> Array:
        """How far each of the configurations is from targets (B, 12): (B, n).

        Added up entry by entry, so that their order does not depend on how a machine adds up rows.
        """
        angles, lengths = share
        factors = np.full((3, 4), 0.25 * angles)
        factors[:, 3] = lengths / self.reach**2
        far = np.empty((len(targets), len(self.q)))
        for start in range(0, len(targets), _BLOCK):
            some = slice(start, start + _BLOCK)
            apart = targets[some].T[:, :, None] - self.poses.T[:, None, :]
            np.add.reduce(factors.reshape(12, 1, 1) * np.square(apart), axis=0, out=far[some])
        return far


class StartsInTurn:
    """The starts of every target one after the other: where one is (B, nq), if that is said, then from near to far."""

    def __init__(self, home: Array, ranges: Ranges, spread: Starts, distances: Array, *, from_home: bool) -> None:
        self.home, self._ranges, self._from_home = home, ranges, from_home
        self._spread, self._distances = spread, distances

    def __call__(self, rows: Array, count: int) -> Array:
        """The next starts (n, count, nq) of some targets, within their limits; one once left out is never asked for."""
        found = []
        if self._from_home:
            self._from_home, count = False, count - 1
            found.append(self.home[rows][:, None])
        if count:
            far = self._distances[rows]
            nearest = far.argmin(axis=1)[:, None] if count == 1 else far.argsort(axis=1, kind="stable")[:, :count]
            self._distances[rows[:, None], nearest] = np.inf
            found.append(np.where(self._ranges.moving, self._spread.q[nearest], self.home[rows][:, None]))
        return self._ranges.clipped(rows, np.concatenate(found, axis=1))


def upper_rows(poses: Array) -> Array:
    """The three rows of homogeneous matrices (..., 4, 4) that say something, (..., 12)."""
    return poses[..., :3, :].reshape(*poses.shape[:-2], 12)
