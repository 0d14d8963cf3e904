"""ComputedTorque: inverse dynamics with feedback."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.control.arithmetic import Arithmetic, X, parts_of
from recursa.control.inputs import desired, gain
from recursa.control.law import Law
from recursa.control.tracking import TRACKING
from recursa.dynamics.losses import Losses, known_losses
from recursa.errors import StateError
from recursa.robot import Robot
from recursa.sweeps.batching import Array


class ComputedTorque(Law):
    """Follows a motion: ``tau = M(q) (a_d + damping (v_d - v) + stiffness (q_d - q)) + bias(q, v)``.

    Deviations then obey ``x'' + damping x' + stiffness x = 0``, each freedom for itself if the gains are numbers (1/s
    and 1/s^2; one, per freedom, by joint name, or matrices). Without ``damping`` it is critical, ``2 sqrt(stiffness)``.
    ``losses`` (True, False, "damping" or "friction"): damping and friction of the joints are fed forward, at the
    desired speeds. After the end of the trajectory the robot is held there. Joints of every kind, trees, tied joints.
    O(n).

    On a robot with constraints ``actuated`` names the joints that have motors. The acceleration is then the nearest to
    the command that the constraints allow, in the metric of the mass matrix; on a motion that obeys them deviations
    follow the same equation to first order, if the gains are equal at all joints.

    >>> import numpy as np, recursa as rc
    >>> arm = rc.robots.planar(2)
    >>> motion = rc.Trajectory.cycloid([0.0, 0.5], [1.0, -0.5], T=1.0)
    >>> follow = rc.control.ComputedTorque(arm, motion, stiffness=400.0)
    >>> q, v, a = motion.sample(0.4)
    >>> bool(np.allclose(follow.torque(0.4, q, v), arm.inverse_dynamics(q, v, a)))
    True
    """

    GAINS = ("stiffness", "damping")

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
        actuated: Collection[str] | None = None,
    ) -> None:
        super().__init__(robot, effort, drive_base, actuated)
        self.trajectory = trajectory
        self._desired = desired(robot, trajectory)
        self.stiffness = gain(robot, "stiffness", stiffness)
        if damping is None:
            if self.stiffness.ndim == 2:
                raise StateError("a stiffness that is a matrix needs a damping: there is no usual one")
            damping = 2.0 * np.sqrt(self.stiffness)
        self.damping = gain(robot, "damping", damping)
        self.losses = known_losses(losses)

    def sample(self, t: ArrayLike) -> Array:
        """Desired q, v, a, and the losses at these speeds."""
        q, v, a = self._desired(t)
        return np.concatenate([q, v, a, self._lost(v)], axis=-1)

    def law(self, on: Arithmetic[X], q: X, v: X, gains: Mapping[str, X], sample: X, memory: X) -> tuple[X, X | None]:
        """Inverse dynamics of the commanded acceleration, at the state as it is."""
        nq, nv = self.robot.nq, self.robot.nv
        q_d, v_d, a_d, lost = parts_of(on, sample, nq, nv, nv, nv)
        x, off, faster, _ = parts_of(on, on.ask(TRACKING, q=q, v=v, q_d=q_d, v_d=v_d, a_d=a_d), *[nv] * 4)
        damped = self._gained(on, gains["damping"], off, "damping")
        command = self._sum(on, faster, damped, self._gained(on, gains["stiffness"], x, "stiffness"))
        return self._sum(on, self._moving(on, q, v, command), lost), None

    def _lost(self, v: Array) -> Array:
        return self.robot.joint_losses(v, losses=self.losses) if self.losses else np.zeros_like(v)
