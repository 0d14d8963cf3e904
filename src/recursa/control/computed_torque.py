"""ComputedTorque: inverse dynamics with feedback."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.control.inputs import desired, gain
from recursa.control.law import Law
from recursa.control.tracking import deviation
from recursa.dynamics.losses import Losses, known_losses
from recursa.errors import StateError
from recursa.robot import Robot
from recursa.sweeps.batching import Array


class ComputedTorque(Law):
    """Follows a motion: ``tau = M(q) (a_d + damping (v_d - v) + stiffness (q_d - q)) + bias(q, v)``.

    Deviations then obey ``x'' + damping x' + stiffness x = 0``, each freedom for itself if the gains are numbers
    (1/s and 1/s^2; one, per freedom, by joint name, or matrices). Without ``damping`` it is critical,
    ``2 sqrt(stiffness)``. ``losses``: damping and friction of the joints are fed forward, at the desired speeds. After
    the end of the trajectory the robot is held there. Joints of every kind, trees, tied joints. O(n).

    >>> import numpy as np, recursa as rc
    >>> arm = rc.robots.planar(2)
    >>> motion = rc.Trajectory.cycloid([0.0, 0.5], [1.0, -0.5], T=1.0)
    >>> follow = rc.control.ComputedTorque(arm, motion, stiffness=400.0)
    >>> q, v, a = motion.sample(0.4)
    >>> bool(np.allclose(follow.torque(0.4, q, v), arm.inverse_dynamics(q, v, a)))
    True
    """

    def __init__(
        self,
        robot: Robot,
        trajectory: Any,
        stiffness: Any,
        damping: Any = None,
        *,
        losses: Losses = True,
        effort: Any = None,
        drive_base: bool = False,
    ) -> None:
        super().__init__(robot, effort, drive_base)
        self.trajectory = trajectory
        self._desired = desired(robot, trajectory)
        self.stiffness = gain(robot, "stiffness", stiffness)
        if damping is None:
            if np.any(self.stiffness - np.diag(np.diag(self.stiffness))):
                raise StateError("a stiffness that is a matrix needs a damping: there is no usual one")
            damping = 2.0 * np.sqrt(np.diag(self.stiffness))
        self.damping = gain(robot, "damping", damping)
        self.losses = known_losses(losses)

    def demand(self, t: ArrayLike, q: ArrayLike, v: ArrayLike) -> Array:
        """Inverse dynamics of the commanded acceleration, at the state as it is."""
        q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
        wanted = self._desired(t)
        off = deviation(self.robot, q, v, wanted)
        command = off.acceleration + off.velocity @ self.damping + off.x @ self.stiffness  # symmetric gains
        tau = self.robot.inverse_dynamics(q, v, command)
        return tau + self.robot.joint_losses(wanted[1], losses=self.losses) if self.losses else tau
