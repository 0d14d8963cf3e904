"""What laws at a link share: how far it is from a pose, the inertia that it shows, a target in time, a posture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.control.law import Law
from recursa.control.law_arithmetic import Arithmetic, OnArrays, X
from recursa.control.settings import as_posture, desired, each_instant, hint_at_metres, movable_link, numbers, pose
from recursa.control.tracking import slowed
from recursa.dynamics.configuration import DIFFERENCE
from recursa.errors import ShapeError
from recursa.operational.operational_quantities import NAMED_ROWS
from recursa.robot import Robot
from recursa.spatial.rotation import Rotation
from recursa.spatial.scalars import Scalar, half_cotangent, reciprocal, sqrt
from recursa.spatial.vec3 import Vec3
from recursa.sweeps.batching import Array, times
from recursa.trajectories import checks
from recursa.trajectories.bounds import per_freedom
from recursa.trajectories.curves import Cycloid

# ---- PoseLine: a pose that moves straight and turns about one axis ---------------------------------------------------


class PoseLine:
    """From one pose to another in time T: the origin on a straight line, the axes turned about one axis, as a cycloid.

    ``line(t)`` is (pose (..., 4, 4), velocity (..., 6), acceleration (..., 6)): (omega, v) of the origin in world axes
    and its derivative. Before and after it stands still.

    >>> import numpy as np
    >>> end = np.array([[0.0, -1, 0, 0.3], [1, 0, 0, 0], [0, 0, 1, 0.1], [0, 0, 0, 1]])
    >>> line = PoseLine(np.eye(4), end, T=2.0)
    >>> here, velocity, acceleration = line(1.0)
    >>> here[:3, 3], velocity.round(6)
    (array([0.15, 0.  , 0.05]), array([0.      , 0.      , 1.570796, 0.3     , 0.      , 0.1     ]))
    """

    def __init__(self, start: ArrayLike, end: ArrayLike, T: float) -> None:
        self.start, self.end = pose("start", start), pose("end", end)
        self.duration = checks.duration("T", T)
        turn = self.end[:3, :3] @ self.start[:3, :3].T
        self._turn = rotation_vector(turn)
        self._way = np.concatenate([self._turn, self.end[:3, 3] - self.start[:3, 3]])
        self._law = Cycloid(self.duration)

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Pose, velocity and acceleration at instants t (...)."""
        when = checks.times(t)
        inside = ((when >= 0.0) & (when <= self.duration))[..., None]
        progress = self._law(np.clip(when, 0.0, self.duration).ravel())
        s, ds, dds = (part.reshape(*when.shape, 1) for part in progress)
        here = np.zeros((*when.shape, 4, 4))
        here[..., :3, :3] = rotation_of(s * self._turn) @ self.start[:3, :3]
        here[..., :3, 3] = self.start[:3, 3] + s * self._way[3:]
        here[..., 3, 3] = 1.0
        return here, np.where(inside, ds * self._way, 0.0), np.where(inside, dds * self._way, 0.0)


def rotation_vector(rotation: Array) -> Array:
    """The axis times the angle (..., 3) of rotation matrices (..., 3, 3)."""
    return _stacked(Rotation(*_entries(rotation)).log(), rotation.shape[:-2])


def rotation_of(vector: Array) -> Array:
    """Rotation matrices (..., 3, 3) of rotation vectors (..., 3)."""
    turned = Rotation.exp(Vec3(*(vector.tolist() if vector.ndim == 1 else vector.T)))
    return _stacked(turned, vector.shape[:-1]).reshape(*vector.shape[:-1], 3, 3)


def _entries(rotation: Array) -> list[Any]:
    """Nine numbers, or columns of a batch; on few numbers floats are faster than arrays."""
    return rotation.ravel().tolist() if rotation.ndim == 2 else list(rotation.reshape(*rotation.shape[:-2], 9).T)


def _stacked(parts: Any, batch: tuple[int, ...]) -> Array:
    """Numbers (n,), or columns of a batch, axes reversed, as (..., n)."""
    if not batch:
        return np.array(parts, dtype=float)
    return np.stack([np.broadcast_to(part, batch[::-1]) for part in parts]).T


Numbers = Sequence[Scalar]
Target = Callable[[Any], tuple[Array, Array, Array]]
_ROUNDING = 1e-15  # of a compliance: all there is where no row can be moved


# ---- functions of scalars; poses are sixteen numbers, row by row -----------------------------------------------------


def rotation_in(pose: Numbers) -> Rotation:
    """The rotation of a pose."""
    return Rotation(*(pose[4 * i + j] for i in range(3) for j in range(3)))


def origin_in(pose: Numbers) -> Vec3:
    """Its origin."""
    return Vec3(pose[3], pose[7], pose[11])


def error_between(here: Numbers, there: Numbers) -> list[Scalar]:
    """Rotation vector and way from one pose to another, world axes."""
    turn = rotation_in(there) @ rotation_in(here).T
    return [*turn.log(), *(origin_in(there) - origin_in(here))]


def work_conjugate(e: Numbers, y: Numbers) -> list[Scalar]:
    """The wrench on the link that does the work of y along e: its moment is ``L* y``, L' = theta / (1 - exp(-theta)).

    With ``y = K e`` it is the gradient of ``e K e / 2``, so that a spring of any stiffness gives back what it took.
    """
    return [*in_chart(Vec3(*e[:3]), Vec3(*y[:3])), *y[3:]]


def in_chart(theta: Vec3, x: Vec3) -> Vec3:
    """``theta / (exp(theta) - 1) x``: the rate of a rotation vector in world axes, or the dual of that in link axes."""
    once = theta.cross(x)
    return x - once * 0.5 + theta.cross(once) * half_cotangent(theta.norm_squared())


def shown_force(rows: Sequence[int], share: float, compliance: Numbers, acceleration: Numbers) -> list[Scalar]:
    """``Lambda a``: forces along some rows of (omega, v) that give a link this acceleration.

    ``Lambda`` has the eigenvalues ``x / (x^2 + f^2)`` where the compliance A has x, with f the ``share`` of its norm:
    zero where the link cannot be moved. That is the real part of ``inv(A + i f)``, whose elimination needs no pivots
    (Higham, Mathematics of Computation 67 (1998) 1591) and loses no digits by squares of A.
    """
    size = len(rows)
    a = [[compliance[6 * i + j] for j in rows] for i in rows]
    squares = sum((x * x for row in a for x in row), start=0.0)
    every = sum((compliance[7 * i] for i in range(6)), start=0.0)
    floor = share * sqrt(squares) + _ROUNDING * every
    real = [list(row) for row in a]
    imaginary: list[list[Scalar]] = [[floor if i == j else 0.0 for j in range(size)] for i in range(size)]
    right: list[Scalar] = list(acceleration)
    side: list[Scalar] = [0.0] * size
    for k in range(size):  # complex numbers as pairs: traced scalars have no others
        p, q = real[k][k], imaginary[k][k]
        over = reciprocal(p * p + q * q)
        for i in range(k + 1, size):
            c, d = (real[i][k] * p + imaginary[i][k] * q) * over, (imaginary[i][k] * p - real[i][k] * q) * over
            for j in range(k + 1, size):
                x, y = real[k][j], imaginary[k][j]
                real[i][j], imaginary[i][j] = real[i][j] - (c * x - d * y), imaginary[i][j] - (c * y + d * x)
            right[i], side[i] = right[i] - (c * right[k] - d * side[k]), side[i] - (c * side[k] + d * right[k])
    for k in reversed(range(size)):
        for j in range(k + 1, size):
            x, y = real[k][j], imaginary[k][j]
            right[k], side[k] = right[k] - (x * right[j] - y * side[j]), side[k] - (x * side[j] + y * right[j])
        p, q = real[k][k], imaginary[k][k]
        over = reciprocal(p * p + q * q)
        right[k], side[k] = (right[k] * p + side[k] * q) * over, (side[k] * p - right[k] * q) * over
    return right


def shown_inertia(rows: Sequence[int], share: float, compliance: Numbers) -> list[Scalar]:
    """``Lambda`` itself, row by row."""
    units = [[1.0 if i == j else 0.0 for i in range(len(rows))] for j in range(len(rows))]
    columns = [shown_force(rows, share, compliance, unit) for unit in units]
    return [column[i] for i in range(len(rows)) for column in columns]


# ---- what users hand in ----------------------------------------------------------------------------------------------


def target_of(robot: Robot, link: str, target: Any) -> Target:
    """Whatever is to be followed as a function from instants to pose, velocity and acceleration of the link."""
    if hasattr(target, "sample"):
        motion = desired(robot, target)

        def along(t: Any) -> tuple[Array, Array, Array]:
            q, v, a = motion(t)
            jacobian = robot.jacobian(q, link, frame="mixed")
            rate = robot.jacobian_derivative(q, v, link, frame="mixed")
            return robot.pose(q, link), times(jacobian, v), times(jacobian, a) + times(rate, v)

        return along
    follow: Target = target
    if not isinstance(target, PoseLine):
        called: Any = partial(each_instant, partial(_called, target))
        follow = called if callable(target) else partial(_standing, pose("target", target))
    hint_at_metres(robot, link, follow(0.0)[0])  # other mistakes are found here, too
    return follow


def _standing(fixed: Array, t: Any) -> tuple[Array, Array, Array]:
    still = np.zeros((*np.shape(t), 6))
    return np.broadcast_to(fixed, (*np.shape(t), 4, 4)), still, still


def _called(target: Callable[[float], Any], t: float) -> tuple[Array, Array, Array]:
    found, still = target(t), np.zeros(6)
    here, velocity, acceleration = found if isinstance(found, tuple) else (found, still, still)
    motion = numbers("the target's velocity", velocity), numbers("the target's acceleration", acceleration)
    if any(part.shape != (6,) for part in motion):
        raise ShapeError(
            f"the target at t = {t:g} s has velocity and acceleration of shapes {motion[0].shape} and "
            f"{motion[1].shape}, expected (6,): (omega, v) in world axes"
        )
    return pose(f"the target at t = {t:g} s", here), *motion


# ---- laws ------------------------------------------------------------------------------------------------------------


class LinkLaw(Law):
    """A law about a link that follows a target, and about a posture for what the link leaves to the joints."""

    GAINS: tuple[str, ...] = ("stiffness", "damping", "posture_damping")
    SIGNED: tuple[str, ...] = ("posture",)
    rows: tuple[int, ...] = NAMED_ROWS["twist"]

    def __init__(
        self,
        robot: Robot,
        link: str,
        target: Any,
        posture: Any,
        posture_stiffness: Any,
        posture_damping: Any,
        *limits: Any,
    ) -> None:
        super().__init__(robot, *limits)
        self.link = movable_link(robot, link)
        self._target = target_of(robot, link, target)
        self.posture = None if posture is None else as_posture(robot, "posture", posture)
        self.posture_stiffness = per_freedom(robot, "posture_stiffness", posture_stiffness)
        damping = 2.0 * np.sqrt(self.posture_stiffness) if posture_damping is None else posture_damping
        self.posture_damping = per_freedom(robot, "posture_damping", damping)
        if posture is not None:
            self.GAINS += ("posture_stiffness", "posture")

    def sample(self, t: ArrayLike) -> Array:
        """The target's pose, velocity and acceleration."""
        here, velocity, acceleration = self._target(t)
        return np.concatenate([here.reshape(*here.shape[:-2], 16), velocity, acceleration], axis=-1)

    def error(self, t: ArrayLike, q: ArrayLike) -> Array:
        """From the link to its target (..., m): rotation vector and way, world axes, the rows that are controlled."""
        here, there = (x.reshape(*x.shape[:-2], 16) for x in (self.robot.pose(q, self.link), self._target(t)[0]))
        return OnArrays(self.robot).apply(error_between, 6, here, there)[..., self.rows]

    def _to_spare(self, on: Arithmetic[X], q: X, v: X, gains: Mapping[str, X]) -> X:
        """``a_0``, what joints do where the link does not notice: damped, and towards a posture if there is one."""
        nv = self.robot.nv
        if self.posture is None:
            return on.apply(slowed, nv, gains["posture_damping"], v)
        way = on.ask(DIFFERENCE, q0=q, q1=gains["posture"])
        return on.apply(_returning, nv, gains["posture_damping"], v, gains["posture_stiffness"], way)


def _returning(damping: Numbers, v: Numbers, stiffness: Numbers, way: Numbers) -> list[Scalar]:
    """``a_0``: towards the posture, damped."""
    return [k * x - d * y for d, y, k, x in zip(damping, v, stiffness, way, strict=True)]
