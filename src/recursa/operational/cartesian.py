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

For fewer coordinates than speeds, and for singular configurations, see :mod:`recursa.operational`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.losses import Losses
from recursa.dynamics.springs import resting_forces
from recursa.errors import ShapeError, SingularConfigurationError
from recursa.operational.quantities import selected_rows
from recursa.sweeps.batching import Array, as_array, times

if TYPE_CHECKING:
    from recursa.robot import Robot

MAX_CONDITION = 1e8  # of the Jacobian; beyond, half of the digits are lost


class CartesianModel(NamedTuple):
    """``f = mass chi'' + coriolis + gravity`` (7.4.2), with ``tau = J* f``; m coordinates.

    mass (..., m, m), coriolis and gravity (..., m), jacobian and its time derivative (..., m, m).
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


def model(
    robot: Robot,
    link: str,
    q: ArrayLike,
    v: ArrayLike,
    *,
    coordinates: str | Sequence[int] = "twist",
    max_condition: float = MAX_CONDITION,
) -> CartesianModel:
    """The equations of motion in the coordinates of a link, (7.4.2) and (7.4.4).

    ``mass = J^-* D J^-1``, ``coriolis = J^-* (C - D J^-1 dJ/dt v)``, ``gravity = J^-* G``, G with the springs of
    joints. ``coordinates``: "twist" (all six), "position" (the last three), or numbers of rows of (omega, v), as (3, 4)
    for an arm that moves in the plane. There have to be as many as the robot has speeds.

    >>> import recursa as rc
    >>> arm, q, v = rc.robots.planar(2), [0.3, 0.8], [0.5, -0.2]
    >>> arm_model = rc.cartesian.model(arm, "tip", q, v, coordinates=(3, 4))
    >>> rise = (arm.accelerations(q, v, [1.0, 2.0], "mixed", "classical"))[-1, 3:5]
    >>> force = arm_model.mass @ rise + arm_model.coriolis + arm_model.gravity
    >>> bool(np.allclose(arm_model.jacobian.T @ force, arm.inverse_dynamics(q, v, [1.0, 2.0])))
    True
    """
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
    losses: Losses = False,
    max_condition: float = MAX_CONDITION,
) -> CartesianLinearization:
    """Torques near a state as functions of the link's motion, (7.4.15)-(7.4.18).

    With x' = J v and x'' the link's velocity and acceleration and P, V, D of :meth:`Robot.linearize`::

        mass      = D J^-1
        damping   = (V - mass dx''/dv) J^-1
        stiffness = (P - damping dx'/dq - mass dx''/dq) J^-1

    The book writes 2 dJ/dt, dJ/dt and d2J/dt2 for the three derivatives; for angular velocities that is not what they
    are, see the head of this module. ``coordinates`` as for :func:`model`, ``losses`` as for :meth:`Robot.linearize`.

    >>> import recursa as rc
    >>> robot = rc.robots.puma560()
    >>> (q, v), a = robot.random_state(2), np.ones(6)
    >>> P, V, D = rc.cartesian.linearize(robot, robot.link_names[-1], q, v, a)
    >>> P.shape, V.shape, D.shape
    ((6, 6), (6, 6), (6, 6))
    """
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
