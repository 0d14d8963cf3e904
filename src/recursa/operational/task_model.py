"""Equations of motion at links: tasks of fewer coordinates than the robot has speeds, of several links, or singular.

With x' = J v the velocity of the task, ``mass a + c + g = J* F`` times ``J inv(mass)`` reads

    Lambda x'' + mu + p = F        Lambda = (J inv(mass) J*)^+,  Jbar = inv(mass) J* Lambda
    mu = Jbar* c - Lambda J' v,    p = Jbar* g

(Khatib 1987, in the operators of Jain & Rodriguez, section 4). Where the task can be moved every way and has as many
coordinates as the robot speeds, this is the Cartesian model of :mod:`recursa.cartesian`. Where it cannot, the
compliance is still what it was: Lambda is its pseudo-inverse, its ``rank`` says so, and the equation holds for the part
of F that moves the task, ``movable F`` with ``movable = Lambda Upsilon``.

On a robot with constraints K of :meth:`Robot.constrained_compliance` takes the place of ``inv(mass)``, and mu has the
accelerations in it that the constraints demand: the equation is then that of the closed mechanism.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.kinematics import Frame
from recursa.dynamics.wrenches import resting_forces
from recursa.errors import ShapeError
from recursa.operational.operational_methods import compliance_factor, inertia_of
from recursa.operational.operational_quantities import MASS_SOLVED, Coordinates, link_list, selected_links
from recursa.operational.pseudo_inverse import RankedArray
from recursa.sweeps.batching import Array, as_array, as_numbers, fitting, times

if TYPE_CHECKING:
    from recursa.robot import Robot


@dataclass(frozen=True, eq=False)
class TaskModel:
    """``mass x'' + coriolis + gravity = F`` of a task with m coordinates, made by :func:`model`.

    - ``mass`` (..., m, m): Lambda, with its ``rank``.
    - ``coriolis``, ``gravity`` (..., m): mu and p; g has the springs of joints in it.
    - ``jacobian``, ``jacobian_derivative`` (..., m, nv): J and its time derivative.
    - ``compliance`` (..., m, m): Upsilon = J inv(mass matrix) J*, the Delassus matrix.
    - ``inverse`` (..., nv, m): Jbar, the dynamically consistent inverse of J: of all accelerations with a given x'' it
      gives that with the least kinetic energy, and a torque ``J* F`` does not move what ``projector`` leaves.
    """

    mass: RankedArray
    coriolis: Array
    gravity: Array
    jacobian: Array
    jacobian_derivative: Array
    compliance: Array
    inverse: Array

    @property
    def rank(self) -> int | Array:
        """In how many directions the task can be moved; an array for a batch."""
        return self.mass.rank

    @cached_property
    def projector(self) -> Array:
        """N = ``1 - Jbar J`` (..., nv, nv): speeds that leave the task at rest; of torques, N*: those it does not feel.

        >>> import recursa as rc
        >>> arm = rc.robots.panda_like()
        >>> q, v = arm.random_state(1)
        >>> task = rc.operational.model(arm, "flange", q, v)
        >>> bool(np.allclose(task.jacobian @ task.projector, 0))
        True
        >>> bool(np.allclose(task.jacobian @ arm.mass_matrix_inverse(q) @ task.projector.T, 0))
        True
        """
        nv = self.jacobian.shape[-1]
        return np.eye(nv, dtype=self.jacobian.dtype) - self.inverse @ self.jacobian

    @cached_property
    def movable(self) -> Array:
        """``Lambda Upsilon`` (..., m, m): onto the directions that can be moved; the unit matrix where all can."""
        return np.asarray(self.mass @ self.compliance)

    @cached_property
    def immovable(self) -> Array:
        """``1 - movable`` (..., m, m): onto the singular directions; forces along them move nothing.

        >>> import recursa as rc
        >>> task = rc.operational.model(rc.robots.planar(2), "tip", [0.3, 0.0], [0, 0], coordinates=(3, 4))
        >>> task.rank, bool(np.allclose(task.immovable @ [np.cos(0.3), np.sin(0.3)], [np.cos(0.3), np.sin(0.3)]))
        (1, True)
        """
        m = self.mass.shape[-1]
        return np.eye(m, dtype=self.mass.dtype) - self.movable

    def force(self, acceleration: ArrayLike) -> Array:
        """``F = mass x'' + coriolis + gravity`` (..., m), the force on the task for an acceleration of it."""
        m = self.mass.shape[-1]
        wanted = as_numbers("acceleration", acceleration, m)
        if wanted.ndim == 0 or wanted.shape[-1] != m:
            raise ShapeError(f"acceleration has shape {wanted.shape}, expected (..., {m}): the task has m = {m}")
        fitting(task=self.coriolis, acceleration=wanted)
        return times(np.asarray(self.mass), wanted) + self.coriolis + self.gravity


def model(
    robot: Robot,
    links: str | Sequence[str],
    q: ArrayLike,
    v: ArrayLike,
    *,
    coordinates: Coordinates | Mapping[str, Coordinates] = "twist",
    frame: Frame = "mixed",
    tolerance: float | None = None,
) -> TaskModel:
    """The equations of motion of a link or of several, ``Lambda x'' + mu + p = F``; see the head of this module.

    x' is what :meth:`Robot.jacobian` of that ``frame`` ("body", "mixed", "world") gives, one link after the other, or
    those rows of (omega, v) that ``coordinates`` selects as in :meth:`Robot.delassus`; x'' is its time derivative, in
    the frame "mixed" the classical acceleration. ``tolerance`` of the rank as in :meth:`Robot.operational_inertia`.
    O(n) for each coordinate.

    >>> import recursa as rc
    >>> arm = rc.robots.panda_like()
    >>> q, v = arm.random_state(1)
    >>> task = rc.operational.model(arm, "flange", q, v, coordinates="position")
    >>> task.mass.shape, task.rank, task.inverse.shape
    ((3, 3), 3, (7, 3))
    >>> tau = task.jacobian.T @ task.force([1.0, 2.0, 3.0]) + task.projector.T @ np.ones(7)
    >>> a = arm.forward_dynamics(q, v, tau)
    >>> bool(np.allclose(task.jacobian @ a + task.jacobian_derivative @ v, [1, 2, 3]))
    True
    """
    names = link_list(links)
    numbers, rows = selected_links(robot.model, names, coordinates)
    state = as_array(robot.model, "q", q, coordinates=True)
    speeds = as_array(robot.model, "v", v, coordinates=False)

    def stacked(matrices: list[Array]) -> Array:
        if not matrices:
            return np.zeros((*fitting(q=state, v=speeds), 0, robot.nv))
        return np.concatenate([x[..., list(rows[k]), :] for k, x in zip(numbers, matrices, strict=True)], axis=-2)

    jacobian = stacked([robot.jacobian(q, name, frame=frame) for name in names])
    rate = stacked([robot.jacobian_derivative(q, v, name, frame=frame) for name in names])
    compliance = robot.delassus(q, names, coordinates=coordinates, frame=frame)
    factor, reference = compliance_factor(robot.evaluator, q, numbers, rows, frame)
    mass = inertia_of(robot.model, factor, numbers, rows, tolerance, reference)
    yielding = robot.evaluator.evaluate(MASS_SOLVED, {"q": q, "columns": np.swapaxes(jacobian, -1, -2)})
    inverse = yielding @ np.asarray(mass)
    gravity = resting_forces(robot, q)
    back = np.swapaxes(inverse, -1, -2)
    bias = robot.bias_forces(q, v)
    drift = times(rate, speeds)
    if robot.constraints:  # what they demand of joints on which no forces act
        drift = drift + times(jacobian, robot.forward_dynamics(q, v, bias))
    coriolis = times(back, bias - gravity) - times(np.asarray(mass), drift)
    return TaskModel(mass, coriolis, times(back, gravity), jacobian, rate, compliance, inverse)


def consistent_inverse(
    robot: Robot,
    links: str | Sequence[str],
    q: ArrayLike,
    *,
    coordinates: Coordinates | Mapping[str, Coordinates] = "twist",
    frame: Frame = "mixed",
    tolerance: float | None = None,
) -> Array:
    """The dynamically consistent inverse ``Jbar = inv(mass matrix) J* Lambda`` (..., nv, m), as in :func:`model`.

    ``frame``: "body", "mixed" or "world".

    >>> import recursa as rc
    >>> arm = rc.robots.panda_like()
    >>> q, _ = arm.random_state(1)
    >>> J = arm.jacobian(q, "flange", frame="mixed")
    >>> bool(np.allclose(J @ rc.operational.consistent_inverse(arm, "flange", q), np.eye(6)))
    True
    """
    still = np.zeros(robot.nv)
    return model(robot, links, q, still, coordinates=coordinates, frame=frame, tolerance=tolerance).inverse
