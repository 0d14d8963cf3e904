"""What inverse kinematics found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from recursa.reach.goals import Goal
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot


@dataclass(frozen=True)
class InverseKinematics:
    """What :func:`recursa.inverse_kinematics` found.

    - ``q`` (..., nq): positions within the limits; where there is no solution, the nearest that were found.
    - ``solved`` (...,): whether all goals are met, to the tolerance.
    - ``error`` (..., 6): of one link, what is missing, (angular, linear) in rad and m, link axes. Of a list of goals
      (..., rows), the numbers of all goals one after the other; ``errors`` has them goal by goal.
    - ``held_by`` (..., nv): the freedoms that stand at a limit and would have to go on; all False where it is solved.
    - ``attempts`` (...,): starts that were tried up to the one that counts.
    - ``iterations`` (...,): steps that were made in all of these attempts.
    - ``constraint_error`` (..., equations): what is missing of loops and relations of joints, in rad and m, with the
      sign of ``-robot.constraint_error``; empty for robots without.
    - ``goals``: what was wanted.
    - ``robot``: whose they are.
    """

    q: Array
    solved: Array
    error: Array
    held_by: Array
    attempts: Array
    iterations: Array
    goals: tuple[Goal, ...]
    robot: Robot
    _angles: tuple[tuple[bool, ...], ...] = field(repr=False)
    _tolerance: tuple[float, float] = field(repr=False)
    constraint_error: Array = field(repr=False)

    @property
    def out_of_reach(self) -> Array:
        """Where no start led there (...,): the goals cannot be met, or cannot together, as far as was found out."""
        return ~self.solved

    @property
    def errors(self) -> tuple[Array, ...]:
        """What is missing, goal by goal: arrays (..., rows)."""
        ends = np.cumsum([len(angles) for angles in self._angles])
        return tuple(np.split(self.error, ends[:-1], axis=-1))

    @property
    def distance(self) -> Array:
        """By how many metres the goals are missed (...,): the largest of theirs, 0 if all are about angles."""
        return self._largest(angles=False)

    @property
    def angle(self) -> Array:
        """By how many radians the goals are missed (...,): the largest of theirs, 0 if none is about angles."""
        return self._largest(angles=True)

    @property
    def met(self) -> Array:
        """Which goals are met, to the tolerance (..., number of goals)."""
        angle, distance = self._tolerance
        pairs = zip(self._sizes(angles=True), self._sizes(angles=False), strict=True)
        return np.stack([(a < angle) & (d < distance) for a, d in pairs], axis=-1)

    def _sizes(self, *, angles: bool) -> list[Array]:
        """Of the errors of every goal, those that are angles, or lengths."""
        chosen = (
            one[..., [kind is angles for kind in kinds]] for one, kinds in zip(self.errors, self._angles, strict=True)
        )
        return [np.sqrt(np.square(one).sum(axis=-1)) for one in chosen]

    def _largest(self, *, angles: bool) -> Array:
        return np.max(np.stack(self._sizes(angles=angles)), axis=0)

    def __str__(self) -> str:
        found, all_of_them = int(np.count_nonzero(self.solved)), self.solved.size
        lines = [f"{found} of {all_of_them} targets reached"]
        if found < all_of_them:
            missed = ~self.solved
            lines.append(
                f"missed by at most {self.distance[missed].max():.3g} m and {self.angle[missed].max():.3g} rad"
            )
            if len(self.goals) > 1:
                unmet = [not one.all() for one in self.met.reshape(-1, len(self.goals)).T]
                lines.append(f"not met: {', '.join(repr(g) for g, one in zip(self.goals, unmet, strict=True) if one)}")
            angle, distance = self._tolerance
            off = float(np.abs(self.constraint_error).max(initial=0.0))
            if off > 2.0 * max(angle, distance):
                lines.append(f"constraints are not kept: off by up to {off:.3g} rad or m")
            held = [one.any() for one in self.held_by.reshape(self.solved.size, self.robot.nv).T]
            holding = [name for name, one in zip(self.robot.v_names, held, strict=True) if one]
            if holding:
                lines.append(f"held back by limits of {', '.join(holding)}")
        return "; ".join(lines)
