"""What the tools for free flyers share: checked arguments, products and solutions over batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.dynamics.hinges import RELATIVE_ZERO
from recursa.dynamics.lacking import refuse_constraints
from recursa.errors import ShapeError, SingularHingeError, StateError
from recursa.model.free_flyer import require_free_flyer
from recursa.quantities import refusals
from recursa.sweeps.batching import Array, as_numbers

if TYPE_CHECKING:
    from recursa.robot import Robot

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
