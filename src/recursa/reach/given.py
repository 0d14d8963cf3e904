"""Numbers that users hand in: poses that have to be some."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import ShapeError, StateError
from recursa.sweeps.batching import Array, as_numbers

ROTATION_TOLERANCE = 1e-6  # by which the rotation of a wanted pose may miss being one


def poses(given: ArrayLike, name: str = "poses", instead: str = "", *, turned: bool = True) -> Array:
    """Homogeneous matrices (..., 4, 4), checked.

    ``instead``: what else would do, for the error; ``turned``: their rotations have to be some.
    """
    if type(given) is np.ndarray and given.shape == (4, 4) and given.dtype == float and _is_pose(given.tolist()):
        return given
    array = real(name, given, 4)
    if array.ndim < 2 or array.shape[-2:] != (4, 4):
        raise ShapeError(f"{name} has shape {array.shape}, expected homogeneous matrices (..., 4, 4){instead}")
    if turned:
        _require_rotations(name, array[..., :3, :3].reshape(-1, 3, 3))
    return array


def one_pose(name: str, given: ArrayLike) -> Array:
    """One homogeneous matrix (4, 4), checked."""
    pose = poses(given, name)
    if pose.shape != (4, 4):
        raise ShapeError(f"{name} has shape {pose.shape}, expected one homogeneous matrix (4, 4)")
    return pose


def real(name: str, given: ArrayLike, count: int) -> Array:
    """Finite numbers, ``count`` of them in the last axis of those that have one."""
    array = as_numbers(name, given, count)
    if array.dtype.kind == "c":
        raise StateError(f"{name} must be real")
    require_finite(**{name: array})
    return array.astype(float, copy=False)


def pair(name: str, given: Any) -> tuple[float, float]:
    """A positive number for angles and one for lengths; one alone stands for both."""
    if type(given) is float and 0.0 < given < math.inf:
        return given, given
    try:
        angle, length = (float(x) for x in (given if isinstance(given, tuple | list) else (given, given)))
    except (TypeError, ValueError):
        raise StateError(f"{name} must be a number or a pair for angles (rad) and lengths (m), not {given!r}") from None
    if not (0.0 < angle < math.inf and 0.0 < length < math.inf):
        raise StateError(f"{name} must be positive, not {given!r}")
    return angle, length


def require_finite(**arrays: Array) -> None:
    """What is computed with has to be numbers."""
    for name, values in arrays.items():
        if not np.isfinite(values).all():
            raise StateError(f"{name} must be finite; entry {np.argwhere(~np.isfinite(values))[0].tolist()} is not")


def _is_pose(rows: list[list[float]]) -> bool:
    """Whether a matrix is a pose beyond doubt: of one, numbers say it sooner than arrays."""
    (a, b, c, x), (d, e, f, y), (g, h, i, z), last = rows
    across = abs(a * d + b * e + c * f) + abs(a * g + b * h + c * i) + abs(d * g + e * h + f * i)
    along = abs(a * a + b * b + c * c - 1.0) + abs(d * d + e * e + f * f - 1.0) + abs(g * g + h * h + i * i - 1.0)
    turning = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    finite = math.isfinite(x + y + z + sum(last))
    return finite and across + along < 0.1 * ROTATION_TOLERANCE and turning > 0.0


def _require_rotations(name: str, matrices: Array) -> None:
    x, y, z = (matrices[:, :, k] for k in range(3))
    pairs = ((x, x, 1.0), (y, y, 1.0), (z, z, 1.0), (x, y, 0.0), (y, z, 0.0), (z, x, 0.0))
    products = [np.abs((one * other).sum(axis=1) - wanted) for one, other, wanted in pairs]
    off = np.maximum.reduce(products)
    mirrored = (np.cross(x, y) * z).sum(axis=1) < 0.0
    wrong = np.flatnonzero((off > ROTATION_TOLERANCE) | mirrored)
    if len(wrong):
        row = int(wrong[0])
        why = "it is a mirror image" if mirrored[row] else f"its columns miss being orthonormal by {off[row]:.3g}"
        raise StateError(
            f"{name}: the upper left 3 x 3 block of matrix {row} is no rotation: {why}. "
            "Poses are (R, p; 0 0 0 1) with R from link to world axes"
        )
