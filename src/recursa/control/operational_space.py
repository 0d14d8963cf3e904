"""OperationalSpace: a link follows a pose or a motion, in the coordinates in which it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.control.inputs import desired, movable_link, numbers, per_freedom, pose
from recursa.control.law import Law
from recursa.control.pose_line import PoseLine, rotation_vector
from recursa.dynamics.losses import Losses, known_losses
from recursa.errors import ShapeError, StateError, unknown_name
from recursa.robot import Robot
from recursa.sweeps.batching import Array, prepare

_ROWS = {"twist": (0, 1, 2, 3, 4, 5), "orientation": (0, 1, 2), "position": (3, 4, 5)}
Target = Callable[[Any], tuple[Array, Array, Array]]


class OperationalSpace(Law):
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
    - ``singular``: directions in which the link yields less than this share of the most yielding one (m and rad
      weighed alike) are given up smoothly, instead of unbounded torques near singular postures.
    - ``losses``: compensate damping and friction (or one of them, by name) at the actual speeds; friction then jumps
      where a joint turns back.

    >>> import numpy as np, recursa as rc
    >>> arm = rc.robots.panda_like()
    >>> q = np.array([0.3, -0.6, 0.2, -2.0, 0.1, 1.6, 0.4])
    >>> hold = rc.control.OperationalSpace(arm, "flange", arm.pose(q, "flange"), stiffness=100.0, posture=q)
    >>> bool(np.allclose(hold.torque(0.0, q, np.zeros(7)), arm.gravity_forces(q)))
    True
    """

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
    ) -> None:
        super().__init__(robot, effort, drive_base)
        self.link = movable_link(robot, link)
        self.rows = _rows(coordinates)
        self._target = _target(robot, link, target)
        self.stiffness = _per_row("stiffness", stiffness, len(self.rows))
        critical = 2.0 * np.sqrt(self.stiffness)
        self.damping = critical if damping is None else _per_row("damping", damping, len(self.rows))
        self.posture = None
        if posture is not None:
            self.posture = prepare(robot.model, {"q": posture}, {"q": "posture"}).rows["q"][0].astype(float)
        self.posture_stiffness = per_freedom(robot, "posture_stiffness", posture_stiffness)
        critical = 2.0 * np.sqrt(self.posture_stiffness)
        given = posture_damping is not None
        self.posture_damping = per_freedom(robot, "posture_damping", posture_damping) if given else critical
        self.singular = float(numbers("singular", singular))
        if not 0.0 < self.singular < 1.0:
            raise StateError(f"singular is a share between 0 and 1, not {singular!r}")
        self.losses = known_losses(losses)

    def demand(self, t: ArrayLike, q: ArrayLike, v: ArrayLike) -> Array:
        """The torques that give the link the commanded acceleration."""
        robot, rows = self.robot, self.rows
        q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
        jacobian = robot.jacobian(q, self.link, frame="mixed")[..., rows, :]
        rate = robot.jacobian_derivative(q, v, self.link, frame="mixed")[..., rows, :]
        there, velocity, acceleration = self._target(t)
        off = velocity[..., rows] - _times(jacobian, v)
        command = acceleration[..., rows] + self.damping * off + self.stiffness * self._error(there, q)
        rest = -self.posture_damping * v  # a_0
        if self.posture is not None:
            rest = rest + self.posture_stiffness * robot.difference(q, self.posture)
        missing = command - _times(jacobian, rest) - _times(rate, v)
        force = _times(self.inertia(q), missing)
        tau = robot.inverse_dynamics(q, v, rest) + _times(np.swapaxes(jacobian, -1, -2), force)
        return tau + robot.joint_losses(v, losses=self.losses) if self.losses else tau

    def error(self, t: ArrayLike, q: ArrayLike) -> Array:
        """From the link to its target (..., m): rotation vector and way, world axes, the rows that are controlled."""
        return self._error(self._target(t)[0], q)

    def _error(self, there: Array, q: ArrayLike) -> Array:
        here = self.robot.pose(q, self.link)
        turn = there[..., :3, :3] @ np.swapaxes(here[..., :3, :3], -1, -2)
        both = np.concatenate([rotation_vector(turn), there[..., :3, 3] - here[..., :3, 3]], axis=-1)
        return both[..., self.rows]

    def inertia(self, q: ArrayLike) -> Array:
        """``Lambda`` (..., m, m), smoothly zero in the directions in which the link cannot be moved."""
        compliance = self.robot.operational_compliance(q, self.link, frame="mixed")
        values, vectors = np.linalg.eigh(compliance[..., self.rows, :][..., self.rows])
        rounding = 1e-15 * np.trace(compliance, axis1=-2, axis2=-1)[..., None]  # all there is where no row can be moved
        floor = np.maximum(self.singular * values[..., -1:], rounding)
        return (vectors * (values / (values**2 + floor**2))[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def _target(robot: Robot, link: str, target: Any) -> Target:
    """Whatever is to be followed as a function from instants to pose, velocity and acceleration of the link."""
    if hasattr(target, "sample"):
        motion = desired(robot, target)

        def along(t: Any) -> tuple[Array, Array, Array]:
            q, v, a = motion(t)
            jacobian = robot.jacobian(q, link, frame="mixed")
            rate = robot.jacobian_derivative(q, v, link, frame="mixed")
            return robot.pose(q, link), _times(jacobian, v), _times(jacobian, a) + _times(rate, v)

        return along
    if isinstance(target, PoseLine):
        return target
    still = np.zeros(6)
    if not callable(target):
        fixed = pose("target", target)
        return lambda t: (fixed, still, still)

    def called(t: Any) -> tuple[Array, Array, Array]:
        times = np.asarray(t, dtype=float)
        if times.ndim:
            columns = zip(*(called(float(x)) for x in times.ravel()), strict=True)
            return tuple(np.array(part).reshape(*times.shape, *part[0].shape) for part in columns)  # type: ignore[return-value]
        found = target(float(times))
        here, velocity, acceleration = found if isinstance(found, tuple) else (found, still, still)
        motion = numbers("the target's velocity", velocity), numbers("the target's acceleration", acceleration)
        if any(part.shape != (6,) for part in motion):
            raise ShapeError(
                f"the target at t = {float(times):g} s has velocity and acceleration of shapes {motion[0].shape} and "
                f"{motion[1].shape}, expected (6,): (omega, v) in world axes"
            )
        return pose(f"the target at t = {float(times):g} s", here), *motion

    called(0.0)  # a mistake is found now
    return called


def _rows(coordinates: str | Sequence[int]) -> tuple[int, ...]:
    if isinstance(coordinates, str):
        if coordinates not in _ROWS:
            raise unknown_name("set of coordinates", coordinates, _ROWS)
        return _ROWS[coordinates]
    rows = tuple(coordinates)
    if not rows or any(row not in range(6) for row in rows) or len(set(rows)) < len(rows):
        raise StateError(f"coordinates are different rows 0..5 of (omega, v), not {rows}")
    return rows


def _per_row(name: str, value: Any, size: int) -> Array:
    array = numbers(name, value)
    if array.shape not in ((), (size,)):
        raise ShapeError(f"{name} has shape {array.shape}, expected one number or ({size},), one per coordinate")
    if (array < 0.0).any():
        raise StateError(f"{name} must not be negative: {value!r}")
    return np.broadcast_to(array, size)


def _times(matrix: Array, vector: Array) -> Array:
    return (matrix @ vector[..., None])[..., 0]
