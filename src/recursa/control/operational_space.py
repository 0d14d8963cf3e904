"""OperationalSpace: a link follows a pose or a motion, in the coordinates in which it is asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.control.at_link import LinkLaw, error_between, shown_force, shown_inertia
from recursa.control.law_arithmetic import Arithmetic, OnArrays, X, parts_of
from recursa.control.settings import numbers
from recursa.dynamics.kinematics import JACOBIAN, JACOBIAN_DERIVATIVE, POSE_OF_LINK
from recursa.dynamics.wrenches import JOINT_LOSSES, Losses, known_losses
from recursa.errors import ShapeError, StateError
from recursa.operational.operational_quantities import OPERATIONAL_COMPLIANCE, selected_rows
from recursa.robot import Robot
from recursa.spatial.scalars import Scalar
from recursa.sweeps.batching import Array


class OperationalSpace(LinkLaw):
    """A link follows a pose: ``tau = J* Lambda (x''_c - J a_0 - J' v) + M(q) a_0 + bias(q, v)``.

    ``x''_c = x''_d + damping (x'_d - x') + stiffness e``: velocities are (omega, v) of the link's origin in world axes,
    e is the rotation vector and the way from the link to the target. ``Lambda = inv(J inv(M) J*)`` is the inertia that
    the link shows (Khatib), so deviations obey ``e'' + damping e' + stiffness e = 0`` (turns: to first order). ``a_0``
    are joint accelerations for what the link leaves free: towards ``posture``, if there is one, and damped. They reach
    the joints through the null space alone; an arm without freedoms to spare does not notice them.

    - ``target``: a pose (4, 4); a function of t that returns a pose, or (pose, velocity, acceleration), as
      :class:`PoseLine` does; or a joint motion with ``sample(t)``, whose link motion is followed.
    - ``coordinates``: "twist" (all six), "position", "orientation", or numbers of rows of (omega, v), world axes.
    - ``stiffness``, ``damping``: 1/s^2 and 1/s, a number or one per row; the damping is critical if it is not given.
    - ``singular``: directions in which the link yields less than this share of the root of the sum of squares of all
      (m and rad weighed alike) are given up smoothly, instead of unbounded torques near singular postures.
    - ``losses``: compensate damping and friction (True, or one of them, "damping" or "friction") at the actual speeds;
      friction then jumps where a joint turns back.
    - ``actuated``: names of the joints that have motors, which a robot with constraints needs. Lambda is then the
      inertia of the closed mechanism, and ``a_0`` the nearest accelerations that the constraints allow.

    >>> import numpy as np, recursa as rc
    >>> arm = rc.robots.panda_like()
    >>> q = np.array([0.3, -0.6, 0.2, -2.0, 0.1, 1.6, 0.4])
    >>> hold = rc.control.OperationalSpace(arm, "flange", arm.pose(q, "flange"), stiffness=100.0, posture=q)
    >>> bool(np.allclose(hold.torque(0.0, q, np.zeros(7)), arm.gravity_forces(q)))
    True
    """

    CHOICES = ("link", "rows", "singular", "losses")

    def __init__(
        self,
        robot: Robot,
        link: str,
        target: Any,
        stiffness: Any,
        damping: Any = None,
        *,
        coordinates: str | Sequence[int] = "twist",
        posture: Any = None,
        posture_stiffness: Any = 10.0,
        posture_damping: Any = None,
        singular: float = 1e-5,
        losses: Losses = False,
        effort: Any = None,
        drive_base: bool = False,
        actuated: Collection[str] | None = None,
    ) -> None:
        held = posture, posture_stiffness, posture_damping
        super().__init__(robot, link, target, *held, effort, drive_base, actuated)
        self.rows = selected_rows(coordinates)
        if not self.rows:
            raise StateError("coordinates are different rows 0..5 of (omega, v), and at least one")
        self.stiffness = _per_row("stiffness", stiffness, len(self.rows))
        critical = 2.0 * np.sqrt(self.stiffness)
        self.damping = critical if damping is None else _per_row("damping", damping, len(self.rows))
        self.singular = float(numbers("singular", singular))
        if not 0.0 < self.singular < 1.0:
            raise StateError(f"singular is a share between 0 and 1, not {singular!r}")
        self.losses = known_losses(losses)

    def law(self, on: Arithmetic[X], q: X, v: X, gains: Mapping[str, X], sample: X, memory: X) -> tuple[X, X | None]:
        """The torques that give the link the commanded acceleration."""
        there, velocity, acceleration = parts_of(on, sample, 16, 6, 6)
        return self._followed(on, q, v, gains, there, velocity, acceleration), None

    def _followed(
        self, on: Arithmetic[X], q: X, v: X, gains: Mapping[str, X], there: X, velocity: X, acceleration: X
    ) -> X:
        """Torques towards a moving pose."""
        nv, link, size = self.robot.nv, {"link": self.link, "frame": "mixed"}, len(self.rows)
        jacobian, rate = on.ask(JACOBIAN, link, q=q), on.ask(JACOBIAN_DERIVATIVE, link, q=q, v=v)
        here = on.ask(POSE_OF_LINK, {"link": self.link}, q=q)
        rest = self._allowed(on, q, v, self._to_spare(on, q, v, gains))  # a_0
        parts = (on.product(jacobian, v, 6), on.product(rate, v, 6), on.product(jacobian, rest, 6))
        missing = on.apply(
            partial(_missing, self.rows), size, here, there, velocity, acceleration, *parts, gains["stiffness"],
            gains["damping"],
        )  # fmt: skip
        force = on.apply(self._force, 6, on.ask(OPERATIONAL_COMPLIANCE, link, q=q), missing)
        pushed = on.product(jacobian, force, nv, transposed=True)
        tau = self._sum(on, self._moving(on, q, v, rest), pushed)
        return self._sum(on, tau, on.ask(JOINT_LOSSES, {"losses": self.losses}, v=v)) if self.losses else tau

    def _force(self, compliance: list[Scalar], missing: list[Scalar]) -> list[Scalar]:
        """On all six rows, zero along those that are not controlled."""
        found = dict(zip(self.rows, shown_force(self.rows, self.singular, compliance, missing), strict=True))
        return [found.get(row, 0.0) for row in range(6)]

    def inertia(self, q: ArrayLike) -> Array:
        """``Lambda`` (..., m, m), smoothly zero in the directions in which the link cannot be moved."""
        compliance = self.robot.operational_compliance(q, self.link, frame="mixed")
        flat, size = compliance.reshape(*compliance.shape[:-2], 36), len(self.rows)
        found = OnArrays(self.robot).apply(partial(shown_inertia, self.rows, self.singular), size * size, flat)
        return found.reshape(*compliance.shape[:-2], size, size)


def _missing(rows: Sequence[int], *given: list[Scalar]) -> list[Scalar]:
    """The commanded acceleration, less what joints do anyway: ``x''_c - J a_0 - J' v``."""
    here, there, velocity, acceleration, moving, drifting, resting, stiffness, damping = given
    e = error_between(here, there)
    return [
        acceleration[r] + damping[k] * (velocity[r] - moving[r]) + stiffness[k] * e[r] - resting[r] - drifting[r]
        for k, r in enumerate(rows)
    ]


def _per_row(name: str, value: Any, size: int) -> Array:
    array = numbers(name, value)
    if array.shape not in ((), (size,)):
        raise ShapeError(f"{name} has shape {array.shape}, expected one number or ({size},), one per coordinate")
    if (array < 0.0).any():
        raise StateError(f"{name} must not be negative: {value!r}")
    return np.broadcast_to(array, size)
