"""Twists at mass centres, the matrices that they are stacked in, and the same as operators. Saha (1)-(26)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa.denoc import in_base
from recursa.dynamics.gathering import speed_index
from recursa.evaluation.evaluator import NO_OPTIONS
from recursa.model.model import WORLD
from recursa.sweeps.batching import Array, cut

if TYPE_CHECKING:
    from recursa.robot import Robot

# ---- as operators ----------------------------------------------------------------------------------------------------


class Expressions(NamedTuple):
    """DeNOC in the operators of :attr:`Robot.operators`, blocks in link axes at link origins.

    Each is a :class:`recursa.operators.expression.Expression`.
    """

    N_l: Any
    N_d: Any
    M: Any
    inertia: Any
    U: Any
    D: Any


def expressions(robot: Robot) -> Expressions:
    """Saha's matrices as operator expressions: ``N_l = phi*``, ``N_d = H*``, ``U = I + H phi K``.

    They are the same operators at link origins instead of mass centres; :func:`to_mass_centers` is the change of
    coordinates between them, and joint-space matrices do not see it. With joints of several freedoms D has blocks,
    which :func:`udu` splits further.

    >>> import recursa as rc
    >>> e = rc.denoc.expressions(rc.robots.planar(3))
    >>> print(e.N_l, "|", e.N_d, "|", e.N_d.T @ e.N_l.T @ e.M @ e.N_l @ e.N_d, "|", e.U)
    φ* | H* | H φ M φ* H* | I + H φ K
    """
    o = robot.operators
    return Expressions(o.phi.T, o.H.T, o.M, o.mass, o.I + o.H @ o.phi @ o.K, o.D)


def to_mass_centers(robot: Robot, q: ArrayLike) -> Array:
    """S (..., 6n, 6n), block diagonal: velocities at link origins in link axes to twists at mass centres, world axes.

    ``N_l = S phi* inv(S)``, ``N_d = S H*``, ``M = S^-T M S^-1``.

    >>> import recursa as rc
    >>> robot = rc.robots.stanford()
    >>> q, v = robot.random_state(1)
    >>> S, e = rc.denoc.to_mass_centers(robot, q), rc.denoc.expressions(robot)
    >>> N_l, N_d = rc.denoc.natural_orthogonal_complement(robot, q)
    >>> bool(np.allclose(N_l @ S, S @ rc.dense(e.N_l, q))), bool(np.allclose(N_d, S @ rc.dense(e.N_d, q)))
    (True, True)
    """
    links = _links(robot, q)
    rotation = links.pose[..., :3]
    arm = links.center - links.pose[..., 3]
    return _diagonal(_six(rotation, np.zeros_like(rotation), -_skew(arm) @ rotation, rotation))


# ---- twists and wrenches ---------------------------------------------------------------------------------------------


def twists(robot: Robot, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
    """Twists (..., n, 6) of the links: ``t_i = B_{i,i-1} t_{i-1} + p_i qd_i`` (12), stacked ``t = N qd``. O(n).

    >>> import recursa as rc
    >>> rc.denoc.twists(rc.robots.planar(1), [0.0], [2.0]).round(12) + 0.0  # a rod of 0.3 m, its middle
    array([[0. , 0. , 2. , 0. , 0.3, 0. ]])
    """
    return robot.evaluator.evaluate(in_base.TWISTS, {"q": q, "v": v}, NO_OPTIONS, out, threads)


def twist_rates(
    robot: Robot, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, out: Array | None = None, threads: int | None = None
) -> Array:
    """Rates (..., n, 6) of the twists, ``tdot = N qdd + Ndot qd``: their lower halves are the centres' accelerations.

    ``tdot_i = p_i qdd_i + Omega_i p_i qd_i + B tdot_{i-1} + Bdot t_{i-1}``, section 5.1. O(n).

    >>> import recursa as rc
    >>> rc.denoc.twist_rates(rc.robots.planar(1), [0.0], [2.0], [0.0]).round(12) + 0.0  # 0.15 m 2^2/s^2
    array([[ 0. ,  0. ,  0. , -0.6,  0. ,  0. ]])
    """
    return robot.evaluator.evaluate(in_base.TWIST_RATES, {"q": q, "v": v, "a": a}, NO_OPTIONS, out, threads)


def joint_wrenches(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    wrenches: Any = None,
    out: Array | None = None,
    threads: int | None = None,
) -> Array:
    """Wrenches (..., n, 6) that pass through the joints onto their links, motor included, about the mass centres.

    ``gam_i = M_i tdot_i + Mdot_i t_i - w_i^E + sum of B^T gam`` over the links carried (9), (30); ``p_i^T gam_i`` is
    the joint's torque without armature. O(n). :meth:`Robot.reaction_wrenches` has them at link origins in link axes.

    >>> import recursa as rc
    >>> rc.denoc.joint_wrenches(rc.robots.planar(1), [0.0], [0.0], [0.0]).round(6) + 0.0  # 0.5 kg
    array([[0.   , 0.   , 0.   , 0.   , 4.905, 0.   ]])
    """
    arguments = {"q": q, "v": v, "a": a, "wrenches": wrenches}
    return robot.evaluator.evaluate(in_base.JOINT_WRENCHES, arguments, NO_OPTIONS, out, threads)


# ---- the complement --------------------------------------------------------------------------------------------------


class Complement(NamedTuple):
    """``t = N_l N_d qd``: N_l (..., 6n, 6n) and N_d (..., 6n, nv), or their rates."""

    N_l: Array
    N_d: Array


def natural_orthogonal_complement(robot: Robot, q: ArrayLike) -> Complement:
    """The decoupled natural orthogonal complement (16), (17): ``(N_l)_ij = B_ij``, ``(N_d)_ii = p_i``.

    N_l is unit lower block triangular, ``B_ij = [[1, 0], [~c_ij, 1]]`` with c_ij from C_i to C_j (13); N_d is block
    diagonal (a tied joint's block is in its source's column).

    >>> import recursa as rc
    >>> robot = rc.robots.stanford()
    >>> q, v = robot.random_state(1)
    >>> N_l, N_d = rc.denoc.natural_orthogonal_complement(robot, q)
    >>> bool(np.allclose(N_l @ N_d @ v, rc.denoc.twists(robot, q, v).ravel()))
    True
    """
    links = _links(robot, q)
    between = links.center[..., None, :, :] - links.center[..., :, None, :]  # c_ij, from C_i to C_j
    one = np.broadcast_to(np.eye(3), (*between.shape, 3))
    return Complement(_lower(robot, _six(one, np.zeros_like(one), _skew(between), one)), _hinges(robot, links.p))


def natural_orthogonal_complement_rates(robot: Robot, q: ArrayLike, v: ArrayLike) -> Complement:
    """Time derivatives of N_l and N_d: ``Bdot_ij = [[0, 0], [~(v_j - v_i), 0]]``, ``pdot_i = Omega_i p_i`` (26).

    >>> import recursa as rc
    >>> robot = rc.robots.stanford()
    >>> q, v = robot.random_state(1)
    >>> N = rc.denoc.natural_orthogonal_complement(robot, q)
    >>> dN = rc.denoc.natural_orthogonal_complement_rates(robot, q, v)
    >>> tdot = N.N_l @ dN.N_d @ v + dN.N_l @ N.N_d @ v
    >>> bool(np.allclose(tdot, rc.denoc.twist_rates(robot, q, v, 0 * v).ravel()))
    True
    """
    links, t = _links(robot, q), twists(robot, q, v)
    w, speed = t[..., :3], t[..., 3:]
    between = speed[..., None, :, :] - speed[..., :, None, :]
    nothing = np.zeros((*between.shape, 3))
    w = np.repeat(w, _freedoms(robot), axis=-2)  # of each freedom's link
    turned = np.concatenate([np.cross(w, links.p[..., :3]), np.cross(w, links.p[..., 3:])], axis=-1)  # Omega p
    return Complement(_lower(robot, _six(nothing, nothing, _skew(between), nothing)), _hinges(robot, turned))


def extended_mass(robot: Robot, q: ArrayLike) -> Array:
    """M (..., 6n, 6n), block diagonal with ``M_i = diag(I_i, m_i 1)`` (2), inertia tensors about mass centres.

    >>> import recursa as rc
    >>> robot = rc.robots.stanford()
    >>> q, v = robot.random_state(1)
    >>> N_l, N_d = rc.denoc.natural_orthogonal_complement(robot, q)
    >>> N = N_l @ N_d
    >>> bool(np.allclose(N.T @ rc.denoc.extended_mass(robot, q) @ N, rc.denoc.generalized_inertia(robot, q)))
    True
    """
    moment = _links(robot, q).moment
    mass = np.array([float(inertia.mass) for inertia in robot.model.inertias])[:, None, None] * np.eye(3)
    nothing = np.zeros_like(moment)
    return _diagonal(_six(moment, nothing, nothing, np.broadcast_to(mass, moment.shape)))


def extended_mass_rate(robot: Robot, q: ArrayLike, v: ArrayLike) -> Array:
    """Mdot (..., 6n, 6n), block diagonal with ``Mdot_i = diag(~w_i I_i, O)`` (8).

    By definition, and not the time derivative of M, which is ``Omega M - M Omega``: times t both give the gyroscopic
    moments, but only this one makes ``dI/dt - 2 C`` skew.

    >>> import recursa as rc
    >>> rc.denoc.extended_mass_rate(rc.robots.planar(2), [0.3, 0.4], [0.0, 0.0]).any()
    np.False_
    """
    moment, t = _links(robot, q).moment, twists(robot, q, v)
    rate = _skew(t[..., :3]) @ moment
    nothing = np.zeros_like(rate)
    return _diagonal(_six(rate, nothing, nothing, nothing))


# ---- inside ----------------------------------------------------------------------------------------------------------


class _Links(NamedTuple):
    """Geometry of the links in world axes: frames (..., n, 3, 4), C (..., n, 3), I (..., n, 3, 3), p (..., columns, 6).

    Tied joints have columns of their own here.
    """

    pose: Array
    center: Array
    moment: Array
    p: Array


def _links(robot: Robot, q: ArrayLike) -> _Links:
    n, columns = robot.nbodies, sum(_freedoms(robot))
    flat = robot.evaluator.evaluate(in_base.LINKS, {"q": q})
    batch = flat.shape[:-1]
    bodies, p = flat[..., : 24 * n].reshape(*batch, n, 24), flat[..., 24 * n :].reshape(*batch, columns, 6)
    pose, center, moment = cut(bodies, [12, 15])
    return _Links(pose.reshape(*batch, n, 3, 4), center, moment.reshape(*batch, n, 3, 3), p)


def _freedoms(robot: Robot) -> list[int]:
    return [joint.kind.nv for joint in robot.model.joints]


def _outward(robot: Robot) -> Array:
    """Whether link i is link j or outward of it: where N_l has blocks."""
    result = np.eye(robot.nbodies, dtype=bool)
    for i, joint in enumerate(robot.model.joints):
        if joint.parent != WORLD:
            result[i] |= result[joint.parent]
    return result


def _lower(robot: Robot, blocks: Array) -> Array:
    """The matrix (..., 6n, 6n) of blocks (..., n, n, 6, 6) where link i is outward of link j."""
    n = robot.nbodies
    kept = np.where(_outward(robot)[:, :, None, None], blocks, 0.0)
    return np.swapaxes(kept, -3, -2).reshape(*blocks.shape[:-4], 6 * n, 6 * n)


def _diagonal(blocks: Array) -> Array:
    """The block-diagonal matrix (..., 6n, 6n) of blocks (..., n, 6, 6)."""
    n = blocks.shape[-3]
    spread = blocks[..., :, None, :, :] * np.eye(n)[:, :, None, None]
    return np.swapaxes(spread, -3, -2).reshape(*blocks.shape[:-3], 6 * n, 6 * n)


def _hinges(robot: Robot, p: Array) -> Array:
    """N_d (..., 6n, nv) of motions per freedom."""
    result = np.zeros((*p.shape[:-2], 6 * robot.nbodies, robot.nv))
    column = 0
    for k, joint in enumerate(robot.model.joints):
        for freedom in range(joint.kind.nv):
            at, factor = speed_index(joint, freedom)
            result[..., 6 * k : 6 * k + 6, at] += p[..., column, :] * (1.0 if factor is None else factor)
            column += 1
    return result


def _six(upper_left: Array, upper_right: Array, lower_left: Array, lower_right: Array) -> Array:
    """6 x 6 blocks of 3 x 3 ones."""
    upper = np.concatenate([upper_left, upper_right], axis=-1)
    return np.concatenate([upper, np.concatenate([lower_left, lower_right], axis=-1)], axis=-2)


def _skew(u: Array) -> Array:
    """``~u`` (..., 3, 3)."""
    return np.cross(u[..., None, :], np.eye(3)).swapaxes(-1, -2)
