"""RateDamping: control 8.1 of Jain and Rodriguez."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.control.arithmetic import Arithmetic, X
from recursa.control.law import TREES_ONLY, Law
from recursa.diagonal.quantities import JOINT_MOMENTS, TOTAL_RATES
from recursa.robot import Robot
from recursa.spatial.scalars import Scalar
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import per_freedom


class RateDamping(Law):
    """Stops a robot, wherever it is: ``eps = -c nu``, ``tau = m eps``, in total rates. Jain & Rodriguez, 8.1.

    With one number c (1/s) the kinetic energy falls as ``exp(-2 c t)``, whatever the robot does meanwhile:
    ``tau = -c M(q) v``. With one per freedom it falls at least as fast as with the smallest. ``gravity`` is
    compensated by ``eps_grav = inv(m) G(q)`` unless it is False, and springs of joints with it; losses of the joints
    only add to the damping. O(n).

    >>> import numpy as np, recursa as rc
    >>> arm = rc.robots.planar(2)
    >>> stop = rc.control.RateDamping(arm, 3.0)
    >>> q, v = np.array([0.3, -0.5]), np.array([1.0, 2.0])
    >>> bool(np.allclose(stop.torque(0.0, q, v), -3.0 * arm.mass_matrix(q) @ v + arm.gravity_forces(q)))
    True
    """

    on_constraints = TREES_ONLY
    GAINS: tuple[str, ...] = ("damping",)
    CHOICES: tuple[str, ...] = ("gravity",)

    def __init__(
        self, robot: Robot, damping: Any, *, gravity: bool = True, effort: Any = None, drive_base: bool = False
    ) -> None:
        super().__init__(robot, effort, drive_base)
        robot.diagonal._independent()
        self.damping = per_freedom(robot, "damping", damping)
        self.gravity = bool(gravity)

    def law(self, on: Arithmetic[X], q: X, v: X, gains: Mapping[str, X], sample: X, memory: X) -> tuple[X, X | None]:
        """``m (-c nu + eps_grav)``; t does not matter."""
        return self._carried(on, q, v, self._braking(on, q, v, gains)), None

    def _braking(self, on: Arithmetic[X], q: X, v: X, gains: Mapping[str, X]) -> X:
        """``-m c nu``."""
        nu = on.ask(TOTAL_RATES, q=q, v=v)
        return on.ask(JOINT_MOMENTS, q=q, eps=on.apply(slowed, self.robot.nv, gains["damping"], nu))

    def lyapunov(self, q: ArrayLike, v: ArrayLike) -> Array:
        """``|nu|^2`` (...), twice the kinetic energy."""
        nu = self.robot.diagonal.total_rates(q, v)
        return np.asarray((nu * nu).sum(axis=-1))

    def lyapunov_rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Its derivative in time, ``-2 nu c nu``, without limits and losses."""
        nu = self.robot.diagonal.total_rates(q, v)
        return np.asarray(-2.0 * (self.damping * nu * nu).sum(axis=-1))


def slowed(c: list[Scalar], nu: list[Scalar]) -> list[Scalar]:
    """``-c nu``."""
    return [-(a * b) for a, b in zip(c, nu, strict=True)]
