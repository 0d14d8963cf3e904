"""Momentum of free flyers: how the base answers the joints while momentum stays, and motions it does not answer.

With ``h = A_b v_b + A_m rates`` (the momentum matrix, split) and h conserved,

    v_b = inv(A_b) (h - A_m rates)

and whatever depends on the base's velocity becomes a function of joint rates and momentum: the generalised Jacobian of
Umetani and Yoshida is ``J* = J_m - J_b inv(A_b) A_m``. Armature does not enter: rotors are in joint equations only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import mass_matrix
from recursa.dynamics.kinematics import Frame
from recursa.errors import UnknownNameError, unknown_name
from recursa.evaluation.evaluator import into
from recursa.free.arguments import BASE, free_flyer, joint_part, several, solved
from recursa.sweeps.batching import Array, as_array, fitting, times

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
