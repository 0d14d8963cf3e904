"""Free-floating robots: nothing pushes the base, the joints do all the work, and the base goes along."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.hinges import RELATIVE_ZERO
from recursa.dynamics.requirements import refuse_constraints
from recursa.dynamics.wrenches import Losses
from recursa.errors import ShapeError, SingularHingeError, StateError
from recursa.evaluation.evaluator import into
from recursa.model.rebase import require_free_flyer
from recursa.quantities import refusals
from recursa.sweeps.batching import Array, as_array, as_numbers, fitting

if TYPE_CHECKING:
    from recursa.robot import Robot


# ---- what the tools for free flyers share: checked arguments, products and solutions over batches --------------------


BASE = 6  # speeds of the base, the first of v


def free_flyer(robot: Robot, what: str, *, weightless: bool = False) -> None:
    """Refuse whatever is held by the world, and whatever constraints move in another way than free links.

    ``weightless``: and whatever has gravity.
    """
    require_free_flyer(robot.model, f"rc.free.{what}")
    refuse_constraints(robot.model, f"rc.free.{what}", refusals.ACCELERATIONS)
    if weightless and any(robot.gravity):
        raise StateError(
            f"robot '{robot.name}' has gravity, so its momentum changes. Use robot.with_gravity((0, 0, 0))"
        )


def joint_part(robot: Robot, name: str, value: Any) -> Array:
    """Values of the joints without the base, (..., nv - 6)."""
    left_out = f"robot '{robot.name}' has nv = {robot.nv}, six of them those of the base, which are left out here"
    return several(name, value, robot.nv - BASE, left_out)


def several(name: str, value: Any, size: int, meaning: str) -> Array:
    """So many numbers, (..., size)."""
    array = as_numbers(name, value, size)
    if array.ndim == 0 or array.shape[-1] != size:
        raise ShapeError(f"{name} has shape {array.shape}, expected (..., {size}): {meaning}")
    return array


def solved(robot: Robot, matrix: Array, right: Array) -> Array:
    """``inv(A) B`` of a 6 x 6 inertia of the whole robot."""
    if _singular(matrix).any():
        raise SingularHingeError(
            f"robot '{robot.name}' as a whole has no inertia about some axis, so its base can turn for nothing. Give "
            "its links inertias; robot.doctor() names those that have none"
        )
    return np.linalg.solve(matrix, right)


def _singular(matrix: Array) -> Array:
    """Whether matrices are singular but for rounding, whatever the units of their rows and columns; nan are not."""
    for axis in (-1, -2):
        size = np.abs(matrix).max(axis=axis, keepdims=True)
        matrix = matrix / np.where(size > 0.0, size, 1.0)
    sound = np.isfinite(matrix).all(axis=(-1, -2), keepdims=True)
    sizes: Array = np.linalg.svd(np.where(sound, matrix, np.eye(BASE)), compute_uv=False)
    return sizes[..., -1] <= RELATIVE_ZERO * sizes[..., 0]


class FreeInverseDynamics(NamedTuple):
    """Joint torques (..., nv - 6), and the base's acceleration (..., 6) as in the free joint's part of a."""

    torques: Array
    base_acceleration: Array


def inverse_dynamics(
    robot: Robot,
    q: ArrayLike,
    v: ArrayLike,
    joint_accelerations: ArrayLike,
    *,
    base_wrench: ArrayLike | None = None,
    wrenches: Any = None,
    losses: Losses = False,
    threads: int | None = None,
) -> FreeInverseDynamics:
    """Joint torques for joint accelerations (..., nv - 6) while nothing, or a given wrench, drives the base.

    From the base's rows of ``M a + C = tau``: ``a_b = inv(M_bb) (F - M_bm a_m - C_b)``, then the joints' rows. F is
    ``base_wrench``: (moment, force) in base axes at its origin, zero by default; ``wrenches`` and ``losses`` (True,
    "damping", "friction") as for :meth:`Robot.inverse_dynamics`. Gravity acts if the robot has it.

    >>> import recursa as rc
    >>> robot = rc.robots.free_flyer(2)
    >>> q, v = robot.random_state(1)
    >>> torques, base = rc.free.inverse_dynamics(robot, q, v, [0.1, -0.3])
    >>> robot.forward_dynamics(q, v, np.concatenate([np.zeros(6), torques]))[6:].round(9)
    array([ 0.1, -0.3])
    """
    free_flyer(robot, "inverse_dynamics")
    wanted = joint_part(robot, "joint_accelerations", joint_accelerations)
    options: dict[str, Any] = {"wrenches": wrenches, "losses": losses, "threads": threads}
    held = np.concatenate([np.zeros((*wanted.shape[:-1], BASE), wanted.dtype), wanted], axis=-1)
    moments = robot.inverse_dynamics(q, v, held, **options)
    push = (
        np.zeros(BASE, wanted.dtype)
        if base_wrench is None
        else several("base_wrench", base_wrench, 6, "(moment, force) in base axes")
    )
    fitting(q=as_array(robot.model, "q", q, coordinates=True), joint_accelerations=moments, base_wrench=push)
    mass = robot.mass_matrix(q, threads=threads)[..., :BASE, :BASE]
    base = solved(robot, mass, (push - moments[..., :BASE])[..., None])[..., 0]
    wanted = np.broadcast_to(wanted, (*base.shape[:-1], wanted.shape[-1]))
    moving = robot.inverse_dynamics(q, v, np.concatenate([base, wanted], axis=-1), **options)
    return FreeInverseDynamics(np.ascontiguousarray(moving[..., BASE:]), base)


def generalized_inertia(robot: Robot, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
    """The mass matrix (..., nv - 6, nv - 6) that the joints feel when the base is free to move.

    ``M* = M_mm - M_mb inv(M_bb) M_bm``: what is left of the mass matrix when the base's speeds are eliminated. With
    zero momentum the kinetic energy is ``rates* M* rates / 2``.

    >>> import recursa as rc
    >>> robot = rc.robots.free_flyer(2)
    >>> (q, v), rates = robot.random_state(1), np.array([0.3, -0.2])
    >>> v = np.concatenate([rc.free.base_velocity(robot, q, rates), rates])
    >>> M = rc.free.generalized_inertia(robot, q)
    >>> bool(np.isclose(0.5 * rates @ M @ rates, robot.kinetic_energy(q, v)))
    True
    """
    free_flyer(robot, "generalized_inertia")
    mass = robot.mass_matrix(q, threads=threads)
    coupling = mass[..., :BASE, BASE:]
    response = solved(robot, mass[..., :BASE, :BASE], coupling)
    return into(out, mass[..., BASE:, BASE:] - np.swapaxes(coupling, -1, -2) @ response)
