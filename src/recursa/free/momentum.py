"""Momentum of free flyers: how the base answers the joints while momentum stays, and motions it does not answer.

With ``h = A_b v_b + A_m rates`` (the momentum matrix, split) and h conserved,

    v_b = inv(A_b) (h - A_m rates)

and whatever depends on the base's velocity becomes a function of joint rates and momentum: the generalised Jacobian of
Umetani and Yoshida is ``J* = J_m - J_b inv(A_b) A_m``. Armature does not enter: rotors are in joint equations only.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import mass_matrix
from recursa.dynamics.configuration import CHART_RATES
from recursa.dynamics.kinematics import Frame
from recursa.errors import LimitWarning, ShapeError, StateError, UnknownNameError, unknown_name
from recursa.evaluation.evaluator import into
from recursa.evaluation.hints import coordinates_of, user_level
from recursa.free.floating_base import BASE, free_flyer, joint_part, several, solved
from recursa.integrators import ArrayStep
from recursa.integrators.explicit import runge_kutta_4
from recursa.sweeps.batching import Array, as_array, as_numbers, fitting, times

if TYPE_CHECKING:
    from recursa.robot import Robot

Undisturbed = Literal["all", "attitude", "position"]
_ROWS = {"all": slice(0, 6), "attitude": slice(0, 3), "position": slice(3, 6)}
_RANK = 1e-10  # singular values below this part of the largest count as zero
_MOMENTUM = "(angular about the centre of mass, linear) in world axes, as robot.momentum gives it"


class MomentumMaps(NamedTuple):
    """``momentum = base v_b + joints rates``: base (..., 6, 6), joints (..., 6, nv - 6)."""

    base: Array
    joints: Array


def locked_inertia(
    robot: Robot,
    q: ArrayLike,
    *,
    at: Literal["com", "base"] = "com",
    out: Array | None = None,
    threads: int | None = None,
) -> Array:
    """Inertia (..., 6, 6) of the robot with its joints locked: the composite body ``R = sum of phi M phi*`` (29).

    ``at="com"``: about the centre of mass in world axes, ``[[I, 0], [0, m 1]]``. ``at="base"``: about the origin of the
    base link in its axes, the base's block of the mass matrix without armature. Cost: O(n).

    >>> import recursa as rc
    >>> robot = rc.robots.free_flyer(2)
    >>> q, v = robot.random_state(1)
    >>> np.diag(rc.free.locked_inertia(robot, q))[3:]
    array([520., 520., 520.])
    >>> bool(np.allclose(rc.free.locked_inertia(robot, q, at="base"), robot.mass_matrix(q)[:6, :6]))
    True
    """
    return robot.evaluator.evaluate(mass_matrix.LOCKED_INERTIA, {"q": q}, {"at": at}, out, threads)


def momentum_maps(robot: Robot, q: ArrayLike, *, threads: int | None = None) -> MomentumMaps:
    """The momentum matrix in two parts: what the base's velocity gives, and what the joint rates give.

    >>> import recursa as rc
    >>> robot = rc.robots.free_flyer(2)
    >>> q, v = robot.random_state(1)
    >>> maps = rc.free.momentum_maps(robot, q)
    >>> bool(np.allclose(maps.base @ v[:6] + maps.joints @ v[6:], robot.momentum(q, v)))
    True
    """
    free_flyer(robot, "momentum_maps")
    both = robot.momentum_matrix(q, threads=threads)
    return MomentumMaps(both[..., :BASE], both[..., BASE:])


def base_response(robot: Robot, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
    """What the base does per joint rate while momentum is zero, (..., 6, nv - 6): ``-inv(A_b) A_m``.

    Rows are (omega, v) of the base in link axes. The same as ``-inv(M_bb) M_bm`` of the mass matrix.

    >>> import recursa as rc
    >>> robot = rc.robots.free_flyer(1)
    >>> rc.free.base_response(robot, robot.neutral())[2].round(4)          # it turns back, about z
    array([-0.0609])
    """
    maps = momentum_maps(robot, q, threads=threads)
    return into(out, -solved(robot, maps.base, maps.joints))


def base_velocity(
    robot: Robot,
    q: ArrayLike,
    rates: ArrayLike,
    momentum: ArrayLike | None = None,
    *,
    out: Array | None = None,
    threads: int | None = None,
) -> Array:
    """Velocity of the base (..., 6) that goes with joint rates (..., nv - 6) at a given momentum, zero by default.

    ``v_b = inv(A_b) (h - A_m rates)``: put before the rates it is the robot's v.

    >>> import recursa as rc
    >>> robot = rc.robots.free_flyer(2)
    >>> (q, v), rates = robot.random_state(1), [0.3, -0.2]
    >>> v = np.concatenate([rc.free.base_velocity(robot, q, rates), rates])
    >>> bool(np.allclose(robot.momentum(q, v), 0.0))
    True
    """
    maps = momentum_maps(robot, q, threads=threads)
    given = {"rates": joint_part(robot, "rates", rates)}
    if momentum is not None:
        given["momentum"] = several("momentum", momentum, 6, _MOMENTUM)
    fitting(q=as_array(robot.model, "q", q, coordinates=True), **given)
    missing = -times(maps.joints, given["rates"])
    if momentum is not None:
        missing = missing + given["momentum"]
    return into(out, solved(robot, maps.base, missing[..., None])[..., 0])


def generalized_jacobian(
    robot: Robot,
    q: ArrayLike,
    link: str,
    *,
    frame: Frame = "body",
    out: Array | None = None,
    threads: int | None = None,
) -> Array:
    """Velocity of a link per joint rate while momentum is zero, (..., 6, nv - 6), in a frame of
    :meth:`Robot.jacobian`: "body", "mixed" or "world".

    ``J* = J_m - J_b inv(A_b) A_m`` (Umetani and Yoshida): unlike the arm's own Jacobian it depends on masses. With
    momentum h the link also drifts, see :func:`link_velocity`.

    >>> import recursa as rc
    >>> robot = rc.robots.free_flyer(2)
    >>> (q, v), rates = robot.random_state(1), [0.3, -0.2]
    >>> v = np.concatenate([rc.free.base_velocity(robot, q, rates), rates])
    >>> J = rc.free.generalized_jacobian(robot, q, "gripper")
    >>> bool(np.allclose(J @ rates, robot.velocities(q, v)[-1]))
    True
    """
    response = base_response(robot, q, threads=threads)
    whole = robot.jacobian(q, link, frame=frame, threads=threads)
    return into(out, whole[..., BASE:] + whole[..., :BASE] @ response)


def link_velocity(
    robot: Robot,
    q: ArrayLike,
    rates: ArrayLike,
    link: str,
    momentum: ArrayLike | None = None,
    *,
    frame: Frame = "body",
    out: Array | None = None,
    threads: int | None = None,
) -> Array:
    """Velocity (..., 6) of a link from joint rates and conserved momentum: ``J* rates + J_b inv(A_b) h``.

    ``frame``: "body", "mixed" or "world", as of :meth:`Robot.jacobian`.

    >>> import recursa as rc
    >>> robot = rc.robots.free_flyer(2)
    >>> q, v = robot.random_state(1)
    >>> found = rc.free.link_velocity(robot, q, v[6:], "gripper", robot.momentum(q, v))
    >>> bool(np.allclose(found, robot.velocities(q, v)[-1]))
    True
    """
    base = base_velocity(robot, q, rates, momentum, threads=threads)
    whole = robot.jacobian(q, link, frame=frame, threads=threads)
    moved = times(whole[..., :BASE], base)
    return into(out, moved + times(whole[..., BASE:], joint_part(robot, "rates", rates)))


def reaction_null_projector(
    robot: Robot,
    q: ArrayLike,
    *,
    of: Undisturbed = "attitude",
    out: Array | None = None,
    threads: int | None = None,
) -> Array:
    """The projector (..., nv - 6, nv - 6) onto joint rates that do not disturb the base while momentum is zero.

    ``N = 1 - B+ B`` with B the rows of :func:`base_response` that are to stay zero: the base's "attitude" (three),
    "position" (of its origin) or "all" six, which is the null space of the coupling inertia M_bm. Its trace is the
    number of such motions; with as many joints as rows, or fewer, there are usually none.

    >>> import recursa as rc
    >>> robot = rc.robots.free_flyer(5)
    >>> q, v = robot.random_state(1)
    >>> N = rc.free.reaction_null_projector(robot, q)
    >>> round(float(np.trace(N)), 9)                                     # five joints, three rows
    2.0
    """
    if str(of) == "orientation":  # spelled more like "position"
        raise UnknownNameError("no part of the base's motion 'orientation'. Did you mean 'attitude'?")
    if of not in _ROWS:
        raise unknown_name("part of the base's motion", of, _ROWS)
    felt = base_response(robot, q, threads=threads)[..., _ROWS[of], :]
    finite = np.isfinite(felt).all(axis=(-2, -1), keepdims=True)  # nan passes through, row by row
    inverse = np.linalg.pinv(np.where(finite, felt, 0.0), rcond=_RANK)
    return into(out, np.eye(robot.nv - BASE, dtype=felt.dtype) - inverse @ felt)


def reaction_null_rates(
    robot: Robot,
    q: ArrayLike,
    rates: ArrayLike,
    *,
    of: Undisturbed = "attitude",
    out: Array | None = None,
    threads: int | None = None,
) -> Array:
    """The joint rates (..., nv - 6) nearest to ``rates`` that do not disturb the base: ``N rates``.

    ``of``: what is not disturbed, its "attitude", its "position", or "all" of both.

    >>> import recursa as rc
    >>> robot = rc.robots.free_flyer(5)
    >>> q, v = robot.random_state(1)
    >>> quiet = rc.free.reaction_null_rates(robot, q, v[6:])
    >>> bool(np.allclose(rc.free.base_velocity(robot, q, quiet)[:3], 0.0))
    True
    """
    free_flyer(robot, "reaction_null_rates")
    wished = joint_part(robot, "rates", rates)
    fitting(q=as_array(robot.model, "q", q, coordinates=True), rates=wished)
    return into(out, times(reaction_null_projector(robot, q, of=of, threads=threads), wished))


# ---- joints that move in a known way, and the base that goes along while momentum stays ------------------------------


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
