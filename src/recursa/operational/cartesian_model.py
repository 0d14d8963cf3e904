"""Dynamics in the coordinates of a link, as many as the robot has speeds: Balafoutis & Patel, section 7.4.

Coordinates chi are quasi-coordinates: chi's rate is the velocity of the link, (omega, v) in world axes at the link's
origin (frame "mixed"), or those of its six rows that ``coordinates`` selects. No orientation angles are involved, so
there are no singularities but the arm's own. Variations are then, in world axes:

- ``displacement``: a small rotation of the link (a vector) and the motion of its origin,
- ``velocity``: the change of the components of (omega, v),
- ``acceleration``: that of (d omega/dt, dv/dt), the classical acceleration.

The velocity's change is *not* the rate of the displacement: these differ by ``rotation x omega``. Section 7.4 tacitly
takes one for the other; put true changes into (7.4.18) as printed and the torques are wrong. Here (7.4.15)-(7.4.17)
are formed with the derivatives of velocity and acceleration themselves, so that true changes are right.

With ``orientation=`` the first three rows are coordinates of the orientation instead: chi = (roll, pitch, yaw; origin),
Euler's angles or a quaternion. Then chi = h(q) (7.4.1), J = dh/dq (7.4.7), and variations are those of chi and of its
rates, for which (7.4.15)-(7.4.18) hold as printed. Both come from the same model: with ``omega = E(phi) phi'``,

    tau = D J^-1 (E phi'' + E' phi'; x'') + ...        f_chi = diag(E*, 1) f

For fewer coordinates than speeds, and for singular configurations, see :mod:`recursa.operational`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.requirements import refuse_constraints
from recursa.dynamics.wrenches import Losses, resting_forces
from recursa.errors import ShapeError, SingularConfigurationError
from recursa.operational.operational_quantities import selected_rows
from recursa.operational.orientation import Angles, Orientation, UnitQuaternion, known
from recursa.quantities import Refusal, refusals
from recursa.sweeps.batching import Array, as_array, times

if TYPE_CHECKING:
    from recursa.robot import Robot

MAX_CONDITION = 1e8  # of the Jacobian; beyond, half of the digits are lost
_OPERATIONAL = Refusal("rc.operational.model(robot, link, q, v), which obeys the constraints")


class CartesianModel(NamedTuple):
    """``f = mass chi'' + coriolis + gravity`` (7.4.2), with ``tau = J* f``; m coordinates.

    mass (..., m, m), coriolis and gravity (..., m), jacobian and its time derivative (..., m, nv).
    """

    mass: Array
    coriolis: Array
    gravity: Array
    jacobian: Array
    jacobian_derivative: Array


class CartesianLinearization(NamedTuple):
    """``d tau = mass d acceleration + damping d velocity + stiffness d displacement`` (7.4.18), each (..., nv, m)."""

    stiffness: Array
    damping: Array
    mass: Array


class CartesianRates(NamedTuple):
    """J, dJ/dt and d2J/dt2 of the coordinates of a link, (..., m, nv) each."""

    jacobian: Array
    first: Array
    second: Array


def model(
    robot: Robot,
    link: str,
    q: ArrayLike,
    v: ArrayLike,
    *,
    coordinates: str | Sequence[int] = "twist",
    orientation: Orientation | None = None,
    max_condition: float = MAX_CONDITION,
) -> CartesianModel:
    """The equations of motion in the coordinates of a link, (7.4.2) and (7.4.4).

    ``mass = J^-* D J^-1``, ``coriolis = J^-* (C - D J^-1 dJ/dt v)``, ``gravity = J^-* G``, G with the springs of
    joints. ``coordinates``: "twist" (all six), "position" (the last three), or numbers of rows of (omega, v), as (3, 4)
    for an arm that moves in the plane. There have to be as many as the robot has speeds.

    ``orientation``, for all six (or for coordinates="orientation", the first three): chi = (orientation, position of
    the origin) instead of quasi-coordinates. The orientation is "rpy" (roll, pitch, yaw of ``Rz(yaw) Ry(pitch)
    Rx(roll)``), "zyz" (Euler's angles of ``Rz Ry Rz``) or "quaternion" (x, y, z, w; then chi has seven numbers, and the
    mass matrix rank six). Angles have singular orientations, a :class:`SingularConfigurationError`.

    >>> import recursa as rc
    >>> arm, q, v = rc.robots.planar(2), [0.3, 0.8], [0.5, -0.2]
    >>> arm_model = rc.cartesian.model(arm, "tip", q, v, coordinates=(3, 4))
    >>> rise = (arm.accelerations(q, v, [1.0, 2.0], "mixed", "classical"))[-1, 3:5]
    >>> force = arm_model.mass @ rise + arm_model.coriolis + arm_model.gravity
    >>> bool(np.allclose(arm_model.jacobian.T @ force, arm.inverse_dynamics(q, v, [1.0, 2.0])))
    True
    """
    refuse_constraints(robot.model, "rc.cartesian.model", _OPERATIONAL)
    if orientation is not None:
        _require_whole(coordinates, orientation)
        twist = model(robot, link, q, v, coordinates=coordinates, max_condition=max_condition)
        speeds = as_array(robot.model, "v", v, coordinates=False)
        return _in_coordinates(twist, known(orientation), robot.pose(q, link), speeds)
    rows = _selected(robot, coordinates)
    speeds = as_array(robot.model, "v", v, coordinates=False)
    jacobian = robot.jacobian(q, link, frame="mixed")[..., rows, :]
    inverse = _inverse(jacobian, link, max_condition)
    rate = robot.jacobian_derivative(q, v, link, frame="mixed")[..., rows, :]
    gravity = resting_forces(robot, q)
    mass = robot.mass_matrix(q) @ inverse
    bias = robot.bias_forces(q, v) - gravity - times(mass, times(rate, speeds))
    back = np.swapaxes(inverse, -1, -2)
    return CartesianModel(back @ mass, times(back, bias), times(back, gravity), jacobian, rate)


def linearize(
    robot: Robot,
    link: str,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    coordinates: str | Sequence[int] = "twist",
    orientation: Orientation | None = None,
    losses: Losses = False,
    max_condition: float = MAX_CONDITION,
) -> CartesianLinearization:
    """Torques near a state as functions of the link's motion, (7.4.15)-(7.4.18).

    With x' = J v and x'' the link's velocity and acceleration and P, V, D of :meth:`Robot.linearize`::

        mass      = D J^-1
        damping   = (V - mass dx''/dv) J^-1
        stiffness = (P - damping dx'/dq - mass dx''/dq) J^-1

    The book writes 2 dJ/dt, dJ/dt and d2J/dt2 for the three derivatives; for angular velocities that is not what they
    are, see the head of this module. ``coordinates`` and ``orientation`` as for :func:`model`, ``losses`` as
    for :meth:`Robot.linearize`.

    >>> import recursa as rc
    >>> robot = rc.robots.puma560()
    >>> (q, v), a = robot.random_state(2), np.ones(6)
    >>> P, V, D = rc.cartesian.linearize(robot, robot.link_names[-1], q, v, a)
    >>> P.shape, V.shape, D.shape
    ((6, 6), (6, 6), (6, 6))
    """
    refuse_constraints(robot.model, "rc.cartesian.linearize", refusals.DERIVATIVES)
    if orientation is not None:
        _require_whole(coordinates, orientation)
        twist = linearize(robot, link, q, v, a, coordinates=coordinates, losses=losses, max_condition=max_condition)
        speeds = as_array(robot.model, "v", v, coordinates=False)
        jacobian = robot.jacobian(q, link, frame="mixed")
        rise = times(jacobian, as_array(robot.model, "a", a, coordinates=False)) + times(
            robot.jacobian_derivative(q, v, link, frame="mixed"), speeds
        )
        moving = times(jacobian, speeds)[..., :3], rise[..., :3]
        return _linearized_in_coordinates(twist, known(orientation), robot.pose(q, link), *moving)
    rows = _selected(robot, coordinates)
    jacobian = robot.jacobian(q, link, frame="mixed")[..., rows, :]
    inverse = _inverse(jacobian, link, max_condition)
    velocity_by_q = robot.velocity_derivatives(q, v, link, frame="mixed")[0][..., rows, :]
    changes = robot.acceleration_derivatives(q, v, a, link, frame="mixed", kind="classical")
    by_q, by_v = (matrix[..., rows, :] for matrix in changes[:2])
    joint = robot.linearize(q, v, a, losses=losses)
    mass = joint.mass @ inverse
    damping = (joint.damping - mass @ by_v) @ inverse
    stiffness = (joint.stiffness - damping @ velocity_by_q - mass @ by_q) @ inverse
    return CartesianLinearization(stiffness, damping, mass)


# ---- with coordinates of the orientation -----------------------------------------------------------------------------


def coordinates(robot: Robot, link: str, q: ArrayLike, *, orientation: Orientation = "rpy") -> Array:
    """chi = h(q) (7.4.1): orientation and position of a link in the world, (..., 6), with a quaternion (..., 7).

    ``orientation`` as for :func:`model`: angles in rad, of "rpy" with the pitch between -90 and 90 degrees, of "zyz"
    with the second between 0 and 180; quaternions with w >= 0.

    >>> import recursa as rc
    >>> rc.cartesian.coordinates(rc.robots.planar(2), "tip", [0.3, 0.4]).round(3) + 0.0
    array([0.   , 0.   , 0.7  , 0.478, 0.25 , 0.   ])
    """
    pose = robot.pose(q, link)
    return np.concatenate([known(orientation).of(pose[..., :3, :3]), pose[..., :3, 3]], axis=-1)


def rates(
    robot: Robot, link: str, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, orientation: Orientation | None = "rpy"
) -> CartesianRates:
    """The Jacobian J = dh/dq (7.4.7) of a link's coordinates and its first and second time derivative along a motion.

    Each (..., m, nv): ``chi' = J v``, ``chi'' = J a + J' v``. Any robot and link; ``orientation=None`` for (omega, v).

    >>> import recursa as rc
    >>> arm = rc.robots.stanford()
    >>> (q, v), a = arm.random_state(1), np.ones(6)
    >>> J, J1, J2 = rc.cartesian.rates(arm, "link6", q, v, a, orientation="zyz")
    >>> J.shape, J1.shape, J2.shape
    ((6, 6), (6, 6), (6, 6))
    """
    J = robot.jacobian(q, link, frame="mixed")
    J1 = robot.jacobian_derivative(q, v, link, frame="mixed")
    J2 = robot.jacobian_second_derivative(q, v, a, link, frame="mixed")
    if orientation is None:
        return CartesianRates(J, J1, J2)
    kind, pose = known(orientation), robot.pose(q, link)
    speeds, rises = (as_array(robot.model, n, x, coordinates=False) for n, x in (("v", v), ("a", a)))
    phi = kind.of(pose[..., :3, :3])
    phi, rate, second = _moving(kind, phi, times(J, speeds)[..., :3], (times(J, rises) + times(J1, speeds))[..., :3])
    T, T1 = kind.inverse(phi), kind.inverse_rate(phi, rate)
    # E T = 1, so T'' from the rates of E: E'' T + 2 E' T' + E T'' = 0 for square E; T is linear for quaternions
    E1, E2 = kind.slope(phi, rate), kind.bend(phi, rate, rate) + kind.slope(phi, second)
    T2 = kind.inverse(second) if kind.size == 4 else -T @ (E2 @ T + 2.0 * E1 @ T1)
    turning, one, two = (x[..., :3, :] for x in (J, J1, J2))
    upper = T @ turning, T1 @ turning + T @ one, T2 @ turning + 2.0 * T1 @ one + T @ two
    return CartesianRates(
        *(np.concatenate([u, x[..., 3:, :]], axis=-2) for u, x in zip(upper, (J, J1, J2), strict=True))
    )


def _moving(kind: Angles | UnitQuaternion, phi: Array, omega: Array, change: Array) -> tuple[Array, Array, Array]:
    """phi, phi' and phi'' from omega and its rate: ``phi'' = T (omega' - E' phi')``, for quaternions as T turns."""
    rate = times(kind.inverse(phi), omega)
    if kind.size == 4:
        return phi, rate, times(kind.inverse(phi), change) + times(kind.inverse_rate(phi, rate), omega)
    return phi, rate, times(kind.inverse(phi), change - times(kind.slope(phi, rate), rate))


def _in_coordinates(twist: CartesianModel, kind: Angles | UnitQuaternion, pose: Array, speeds: Array) -> CartesianModel:
    """(omega, v) replaced by rates of coordinates: ``mass = E* Lambda E``, ``coriolis = E* (mu + Lambda E' chi')``."""
    phi = kind.of(pose[..., :3, :3])
    omega = times(twist.jacobian, speeds)[..., :3]
    rate = times(kind.inverse(phi), omega)
    E = _beside_position(kind.matrix(phi), 1.0, twist.mass.shape[-1] - 3)
    back = np.swapaxes(E, -1, -2)
    bias = times(kind.slope(phi, rate), rate)  # E' phi', of the rows of omega
    felt = twist.coriolis + times(twist.mass[..., :, :3], bias)
    T, T1 = kind.inverse(phi), kind.inverse_rate(phi, rate)
    turning, one = twist.jacobian[..., :3, :], twist.jacobian_derivative[..., :3, :]
    jacobian = np.concatenate([T @ turning, twist.jacobian[..., 3:, :]], axis=-2)
    changing = np.concatenate([T1 @ turning + T @ one, twist.jacobian_derivative[..., 3:, :]], axis=-2)
    return CartesianModel(back @ twist.mass @ E, times(back, felt), times(back, twist.gravity), jacobian, changing)


def _linearized_in_coordinates(
    twist: CartesianLinearization, kind: Angles | UnitQuaternion, pose: Array, omega: Array, change: Array
) -> CartesianLinearization:
    """Changes of (rotation, omega, omega') from those of phi, phi', phi''.

    ``rotation = E dphi``, ``d omega = E dphi' + dE[dphi] phi'`` and ``d omega' = E dphi'' + (E' + dE[.] phi') dphi' +
    dE[dphi] phi'' + d2E[dphi, phi'] phi'``.
    """
    phi, rate, second = _moving(kind, kind.of(pose[..., :3, :3]), omega, change)
    units = np.eye(kind.size, dtype=phi.dtype)

    def each(make: Callable[[Array], Array]) -> Array:
        return np.stack([make(np.broadcast_to(unit, phi.shape)) for unit in units], axis=-1)

    P, V, D = twist
    more = D.shape[-1] - 3
    E = _beside_position(kind.matrix(phi), 1.0, more)
    speed_by_phi = each(lambda d: times(kind.slope(phi, d), rate))
    rise_by_rate = kind.slope(phi, rate) + speed_by_phi
    rise_by_phi = each(lambda d: times(kind.slope(phi, d), second) + times(kind.bend(phi, d, rate), rate))
    by_speed, by_rate, by_phi = (_beside_position(x, 0.0, more) for x in (speed_by_phi, rise_by_rate, rise_by_phi))
    return CartesianLinearization(P @ E + V @ by_speed + D @ by_phi, V @ E + D @ by_rate, D @ E)


def _beside_position(turning: Array, moving: float, more: int) -> Array:
    """A block for orientations (..., 3, m), and beside it so much of the change of ``more`` others, 0 or 3."""
    m = turning.shape[-1]
    whole = np.zeros((*turning.shape[:-2], 3 + more, m + more), turning.dtype)
    whole[..., :3, :m] = turning
    whole[..., 3:, m:] = moving * np.eye(more)
    return whole


def _require_whole(coordinates: str | Sequence[int], orientation: str) -> None:
    """Raise where rows are selected that orientation coordinates would mix."""
    known(orientation)
    if tuple(selected_rows(coordinates)) not in ((0, 1, 2), tuple(range(6))):
        raise ShapeError(
            f"orientation='{orientation}' is for all six coordinates of a link or the three of its orientation, not "
            f"for coordinates={coordinates!r}: leave one of them out"
        )


def _selected(robot: Robot, coordinates: str | Sequence[int]) -> list[int]:
    rows = selected_rows(coordinates)
    if len(rows) != robot.nv:
        raise ShapeError(
            f"robot '{robot.name}' has nv = {robot.nv}, the link {len(rows)} coordinates: the Cartesian model needs as "
            'many of one as of the other. Select rows of (omega, v), as coordinates="position" or (3, 4)'
        )
    return list(rows)


def _inverse(jacobian: Array, link: str, limit: float) -> Array:
    """The inverse of the Jacobian, where it is far enough from singular."""
    conditions = np.asarray(np.linalg.cond(jacobian))
    if (conditions > limit).any():  # false for nan, which passes through
        worst = np.unravel_index(int(np.nanargmax(conditions)), conditions.shape)
        row = tuple(int(i) for i in worst)
        where = f" in row {row}" if row else ""
        condition = float(conditions[row])
        raise SingularConfigurationError(
            f"the Jacobian of link '{link}'{where} has condition number {condition:.3g}, beyond {limit:.3g}: the link "
            "cannot be moved in every coordinate there. Keep away from stretched and folded arms, or select other "
            "coordinates",
            condition,
        )
    return np.linalg.inv(jacobian)
