"""What laws at a link share: how far it is from a pose, the inertia that it shows, targets as functions of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from recursa.control.inputs import desired, hint_at_metres, numbers, pose
from recursa.control.pose_line import PoseLine
from recursa.errors import ShapeError, StateError, unknown_name
from recursa.robot import Robot
from recursa.spatial.rotation import Rotation
from recursa.spatial.scalars import Scalar, half_cotangent, reciprocal, sqrt
from recursa.spatial.vec3 import Vec3
from recursa.sweeps.batching import Array

Numbers = Sequence[Scalar]
Target = Callable[[Any], tuple[Array, Array, Array]]
_ROWS = {"twist": (0, 1, 2, 3, 4, 5), "orientation": (0, 1, 2), "position": (3, 4, 5)}
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
    theta, moment = Vec3(*e[:3]), Vec3(*y[:3])
    once = theta.cross(moment)
    twice = theta.cross(once)
    return [*(moment - once * 0.5 + twice * half_cotangent(theta.norm_squared())), *y[3:]]


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


def chosen_rows(coordinates: str | Sequence[int]) -> tuple[int, ...]:
    """Rows of (omega, v) by name or number."""
    if isinstance(coordinates, str):
        if coordinates not in _ROWS:
            raise unknown_name("set of coordinates", coordinates, _ROWS)
        return _ROWS[coordinates]
    rows = tuple(coordinates)
    if not rows or any(row not in range(6) for row in rows) or len(set(rows)) < len(rows):
        raise StateError(f"coordinates are different rows 0..5 of (omega, v), not {rows}")
    return rows


def target_of(robot: Robot, link: str, target: Any) -> Target:
    """Whatever is to be followed as a function from instants to pose, velocity and acceleration of the link."""
    if hasattr(target, "sample"):
        motion = desired(robot, target)

        def along(t: Any) -> tuple[Array, Array, Array]:
            q, v, a = motion(t)
            jacobian = robot.jacobian(q, link, frame="mixed")
            rate = robot.jacobian_derivative(q, v, link, frame="mixed")
            return robot.pose(q, link), _times(jacobian, v), _times(jacobian, a) + _times(rate, v)

        return along
    follow: Target = target
    if not isinstance(target, PoseLine):
        follow = partial(_called, target) if callable(target) else partial(_standing, pose("target", target))
    hint_at_metres(robot, link, follow(0.0)[0])  # other mistakes are found here, too
    return follow


def sampled(found: tuple[Array, Array, Array]) -> Array:
    """Pose, velocity and acceleration as one row (..., 28)."""
    here, velocity, acceleration = found
    return np.concatenate([here.reshape(*here.shape[:-2], 16), velocity, acceleration], axis=-1)


def _standing(fixed: Array, t: Any) -> tuple[Array, Array, Array]:
    still = np.zeros((*np.shape(t), 6))
    return np.broadcast_to(fixed, (*np.shape(t), 4, 4)), still, still


def _called(target: Callable[[float], Any], t: Any) -> tuple[Array, Array, Array]:
    times = np.asarray(t, dtype=float)
    if times.ndim:
        columns = zip(*(_called(target, float(x)) for x in times.ravel()), strict=True)
        return tuple(np.array(part).reshape(*times.shape, *part[0].shape) for part in columns)  # type: ignore[return-value]
    found, still = target(float(times)), np.zeros(6)
    here, velocity, acceleration = found if isinstance(found, tuple) else (found, still, still)
    motion = numbers("the target's velocity", velocity), numbers("the target's acceleration", acceleration)
    if any(part.shape != (6,) for part in motion):
        raise ShapeError(
            f"the target at t = {float(times):g} s has velocity and acceleration of shapes {motion[0].shape} and "
            f"{motion[1].shape}, expected (6,): (omega, v) in world axes"
        )
    return pose(f"the target at t = {float(times):g} s", here), *motion


def _times(matrix: Array, vector: Array) -> Array:
    return (matrix @ vector[..., None])[..., 0]
