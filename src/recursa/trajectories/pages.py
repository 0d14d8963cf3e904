"""A trajectory as a page for a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recursa.errors import RecursaError
from recursa.sweeps.batching import Array
from recursa.view.motions import Recording, Sampled

if TYPE_CHECKING:
    from recursa.robot import Robot
    from recursa.trajectories.trajectory import Trajectory


def recording_of(trajectory: Trajectory, robot: Robot, title: str | None) -> Recording:
    """The motion with the torques that it takes, losses covered; without torques where mass data are missing."""

    def sample(t: Array) -> Sampled:
        q, v, a = trajectory.sample(t)
        try:
            tau = robot.inverse_dynamics(q, v, a, losses=True)
        except RecursaError:
            return q, v, None
        return q, v, tau if np.isfinite(tau).all() else None

    return Recording(robot, trajectory.start, trajectory.end, sample, title or robot.name)
