"""Joints that move in a known way, and the base that goes along while momentum stays."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.configuration import CHART_RATES
from recursa.errors import LimitWarning, ShapeError, StateError
from recursa.evaluation.hints import coordinates_of, user_level
from recursa.free.arguments import BASE, free_flyer, joint_part
from recursa.free.momentum import base_velocity
from recursa.integrators import ArrayStep
from recursa.integrators.explicit import runge_kutta_4
from recursa.sweeps.batching import Array, as_numbers

if TYPE_CHECKING:
    from recursa.robot import Robot

JointRates = Callable[[float, Array], ArrayLike]
Speeds = Callable[[float, Array], Array]
_NOTHING = np.zeros(1)


class FreeMotion(NamedTuple):
    """A motion at instants t (n,): q (n, ..., nq), v (n, ..., nv)."""

    t: Array
    q: Array
    v: Array


def move_joints(
    robot: Robot,
    q0: ArrayLike,
    rates: JointRates,
    t: ArrayLike,
    momentum: ArrayLike | None = None,
    *,
    tolerance: float | None = 1e-3,
) -> FreeMotion:
    """How a free flyer moves from q0 (..., nq) when its joints have the rates ``rates(t, q)`` (..., nv - 6).

    The base has the velocity ``inv(A_b) (h - A_m rates)`` of :func:`base_velocity`, with the momentum h conserved: the
    only equation there is without gravity and forces from outside. Integrated from instant to instant by the
    Runge-Kutta method of order four in local coordinates on the configuration manifold (Munthe-Kaas).

    ``tolerance``: the sum of the errors of all steps, rad or m, above which a :class:`~recursa.LimitWarning` says when
    most of it comes about; rates that grow near a singular posture are the usual cause. It is estimated by going every
    two steps in one, besides; what an error grows into later is not in it. None leaves that out.

    >>> import recursa as rc
    >>> robot = rc.robots.free_flyer(2)
    >>> motion = rc.free.move_joints(robot, robot.neutral(), lambda t, q: [0.5, 0.0], np.linspace(0.0, 2.0, 21))
    >>> motion.q[-1, 7:].round(9)                                          # the shoulder has turned by 1 rad
    array([1., 0.])
    >>> bool(np.abs(robot.momentum(motion.q, motion.v)).max() < 1e-9)
    True
    """
    free_flyer(robot, "move_joints", weightless=True)
    if not callable(rates):
        raise StateError(f"rates is a function of (t, q) that gives the joints' rates, not {type(rates).__name__}")
    if tolerance is not None and not (isinstance(tolerance, float | int) and tolerance > 0.0):
        raise StateError(f"tolerance must be a number above 0, or None for no check, not {tolerance!r}")
    times = _instants(t)
    q = coordinates_of(robot.model, "q0", q0, robot.evaluator.kept)

    def speeds(time: float, at: Array) -> Array:
        wanted = joint_part(robot, "rates", rates(time, at))
        if not np.isfinite(wanted).all():
            raise StateError(f"rates(t, q) must be finite; at t = {time:g} s they are {wanted}")
        base = base_velocity(robot, at, wanted, momentum)
        return np.concatenate([base, np.broadcast_to(wanted, (*base.shape[:-1], robot.nv - BASE))], axis=-1)

    first = speeds(times[0], q)
    q = np.broadcast_to(q, (*first.shape[:-1], robot.nq))  # rates and momentum may have batch axes of their own
    samples: list[tuple[Any, ...]] = [(q, first)]
    for now, then in pairwise(times):
        q, _ = runge_kutta_4(_Kinematics(robot, speeds, now, then - now), *samples[-1])
        samples.append((q, speeds(then, q)))
    path, velocities = (np.array(part) for part in zip(*samples, strict=True))
    motion = FreeMotion(times, path, velocities)
    if tolerance is not None and len(times) > 1:
        _warn_of_error(robot, speeds, motion, tolerance)
    return motion


def _warn_of_error(robot: Robot, speeds: Speeds, motion: FreeMotion, tolerance: float) -> None:
    """Say so where steps are too long for the rates: the sum of their errors, each told from a step of another length.

    A step of length h is off by ``c h^5``. So of the difference between two steps and one over both the share
    ``(h1^5 + h2^5) / ((h1 + h2)^5 - h1^5 - h2^5)`` is the error of the two; 1/15 if they are equally long.
    """

    def stepped(q: Array, v: Array, now: float, then: float) -> Array:
        there: Array = runge_kutta_4(_Kinematics(robot, speeds, now, then - now), q, v)[0]
        return there

    def between(fine: Array, coarse: Array) -> float:
        return float(np.abs(robot.difference(fine, coarse)).max(initial=0.0))

    t, q, v = motion
    errors = []
    if len(t) == 2:  # a single step: beside two of half its length
        middle = 0.5 * (t[0] + t[1])
        half = stepped(q[0], v[0], t[0], middle)
        fine = stepped(half, speeds(middle, half), middle, t[1])
        errors = [(16.0 / 15.0 * between(fine, q[1]), t[0], t[1])]
    pairs = list(range(0, len(t) - 2, 2))
    for k in pairs if len(t) % 2 or not pairs else [*pairs, len(t) - 3]:  # the last step, too
        once, both = (t[k + 1] - t[k]) ** 5 + (t[k + 2] - t[k + 1]) ** 5, (t[k + 2] - t[k]) ** 5
        share = once / (both - once)
        errors.append((share * between(q[k + 2], stepped(q[k], v[k], t[k], t[k + 2])), t[k], t[k + 2]))
    total = math.fsum(error for error, _, _ in errors)
    if not total <= tolerance:
        most, now, then = max(errors)
        warnings.warn(
            f"robot '{robot.name}': the steps of its motion are off by about {total:.2g} rad or m together, more than "
            f"tolerance={tolerance:g}; {most:.2g} of it comes about from t = {now:g} to {then:g} s, where rates reach "
            f"{np.abs(v[(t >= now) & (t <= then)][..., BASE:]).max():.3g}. Give more instants t. If that does not "
            "help, the rates jump or grow without bound there, as they do near a singular posture: start from another "
            "one, go a shorter way, or ask for less at once",
            LimitWarning,
            stacklevel=user_level(),
        )


def _instants(t: ArrayLike) -> Array:
    times = as_numbers("t", t, 1)
    if times.ndim != 1 or not len(times):
        raise ShapeError(f"t has shape {times.shape}, expected (n,): one entry per instant")
    if times.dtype.kind == "c" or not np.isfinite(times).all() or not (np.diff(times) > 0.0).all():
        raise StateError("t must be finite and increase")
    return times


class _Kinematics(ArrayStep):
    """A motion whose speeds are known, for a time h; see :class:`recursa.integrators.Mechanics`.

    v are the speeds at the start of the step, which are known there.
    """

    def __init__(self, robot: Robot, speeds: Speeds, time: float, h: float) -> None:
        self.robot, self.speeds, self.time, self.h = robot, speeds, time, h

    def slope(self, q: Array, v: Array, at: float) -> tuple[Array, Array]:
        return v if at == 0.0 else self.speeds(self.time + at * self.h, q), _NOTHING

    def moved(self, q: Array, u: Array) -> Array:
        return self.robot.integrate(q, u)

    def local_rate(self, u: Array, speeds: Array) -> Array:
        return self.robot.evaluator.evaluate(CHART_RATES, {"x": u, "v": speeds})
