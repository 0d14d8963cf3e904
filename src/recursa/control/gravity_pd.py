"""GravityPD: springs and dampers at the joints, and gravity compensated."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.control.arithmetic import Arithmetic, X, parts_of
from recursa.control.inputs import as_posture, desired, gain
from recursa.control.law import Law, weighed
from recursa.control.tracking import PULL, TRACKING
from recursa.errors import StateError
from recursa.robot import Robot
from recursa.sweeps.batching import Array


class GravityPD(Law):
    """Holds a posture or follows a motion: ``tau = stiffness (q_d - q) + damping (v_d - v) + g(q)``.

    The controller to start with: no inertias are needed but those that weigh. ``stiffness`` in N m/rad or N/m,
    ``damping`` in N m s/rad or N s/m; each one number, one per freedom, numbers by joint name, or a symmetric positive
    matrix. ``target``: a posture (nq,), or anything with ``sample(t) -> q, v, a``, such as :class:`recursa.Trajectory`.
    ``gravity=False`` leaves weight and springs of the joints to the feedback.

    At a fixed posture ``lyapunov = v M v / 2 + x stiffness x / 2`` with ``x = difference(q, q_d)`` falls at the rate
    ``-v damping v`` (and by what the joints lose), so the robot comes to rest at the posture, for any positive gains
    (Takegaki and Arimoto, 1981). On joints that turn about several axes the spring's force is the gradient of
    ``x stiffness x / 2``, which makes that exact there, too. Along a motion deviations stay as small as the gains are
    large: :class:`ComputedTorque` feeds the motion forward. Joints of every kind, trees, tied joints. O(n).

    On a robot with constraints ``actuated`` names the joints that have motors. With a posture that obeys the
    constraints the Lyapunov function falls there, too.

    With dry (Coulomb) friction in the joints the robot stops short: where the spring's torque is less than the friction
    it moves nothing, so each joint may rest up to ``friction / stiffness`` (rad or m) away from the posture.

    >>> import numpy as np, recursa as rc
    >>> arm = rc.robots.planar(2)
    >>> hold = rc.control.GravityPD(arm, [0.3, -0.5], stiffness=60.0, damping=8.0)
    >>> run = arm.simulate([0.0, 0.0], duration=6.0, torque=hold)
    >>> run.q[-1].round(3)
    array([ 0.3, -0.5])
    """

    GAINS: tuple[str, ...] = ("stiffness", "damping")
    SIGNED = ("target",)
    CHOICES = ("moving", "gravity")

    def __init__(
        self,
        robot: Robot,
        target: Any,
        stiffness: Any,
        damping: Any,
        *,
        gravity: bool = True,
        effort: Any = None,
        drive_base: bool = False,
        actuated: Collection[str] | None = None,
    ) -> None:
        super().__init__(robot, effort, drive_base, actuated)
        self.moving = hasattr(target, "sample")
        self._desired = desired(robot, target) if self.moving else None
        self.target = target if self.moving else as_posture(robot, "target", target)
        self.stiffness, self.damping = gain(robot, "stiffness", stiffness), gain(robot, "damping", damping)
        self.gravity = bool(gravity)
        if not self.moving:
            self.GAINS += ("target",)  # rows of a rollout may go to different postures

    def sample(self, t: ArrayLike) -> Array:
        """Desired q, v, a; nothing where a posture is held."""
        return super().sample(t) if self._desired is None else np.concatenate(self._desired(t), axis=-1)

    def law(self, on: Arithmetic[X], q: X, v: X, gains: Mapping[str, X], sample: X, memory: X) -> tuple[X, X | None]:
        """Spring, damper, weight."""
        nq, nv = self.robot.nq, self.robot.nv
        if self.moving:
            q_d, v_d, a_d = parts_of(on, sample, nq, nv, nv)
        else:
            q_d = gains["target"]
            v_d = a_d = on.apply(lambda _: [0.0] * nv, nv, v)
        x, off, _, _ = parts_of(on, on.ask(TRACKING, q=q, v=v, q_d=q_d, v_d=v_d, a_d=a_d), *[nv] * 4)
        spring = on.ask(PULL, q=q, q_d=q_d, y=self._gained(on, gains["stiffness"], x, "stiffness"))
        tau = self._sum(on, spring, self._gained(on, gains["damping"], off, "damping"))
        return self._carried(on, q, v, tau), None

    def lyapunov(self, q: ArrayLike, v: ArrayLike) -> Array:
        """``v M v / 2 + x stiffness x / 2`` (...) of a posture that is held."""
        x = self.robot.difference(q, self._posture())
        return np.asarray(self.robot.kinetic_energy(q, v) + 0.5 * (x * weighed(self.stiffness, x)).sum(axis=-1))

    def lyapunov_rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Its derivative in time, ``-v damping v``, without limits and losses."""
        speeds = np.asarray(v, dtype=float)
        return np.asarray(-(speeds * weighed(self.damping, speeds)).sum(axis=-1))

    def _posture(self) -> Array:
        if self.moving:
            raise StateError("the Lyapunov function is about a posture that is held, and this target moves")
        return np.asarray(self.target)
