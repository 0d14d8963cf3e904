"""What users hand in: configurations, speeds, instants and durations, checked and named when they are wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import ShapeError, StateError
from recursa.evaluation.hints import warn_of_conventions
from recursa.model.columns import coordinate_names, freedom_names
from recursa.sweeps.batching import Array, as_numbers, prepare

if TYPE_CHECKING:
    from recursa.robot import Robot

Posture = ArrayLike | Mapping[str, Any]
"""A configuration: numbers, or (of a robot) some of them by joint name, the rest neutral."""


def coordinates(name: str, value: Any, robot: Robot | None, *, rows: bool = False) -> Array:
    """Configurations as float64, one (nq,) or a row each (m, nq): finite, quaternions of unit length."""
    if robot is None:
        if isinstance(value, Mapping):
            raise _nameless(name)
        return _real(name, value, "n", rows, None)
    warn_of_conventions(robot.model, value, robot.evaluator.kept)
    prepared = prepare(robot.model, {"q": value}, {"q": name})
    array = prepared.rows["q"].reshape(*prepared.shape, robot.nq)
    return _real(name, array, robot.nq, rows, coordinate_names(robot.model))


def freedoms(name: str, value: Any, robot: Robot | None, like: Array, *, rows: bool = False) -> Array:
    """Speeds or accelerations as float64: as many per row as there are freedoms (as ``like`` has without a robot).

    None is zero; without ``rows`` one number stands for all.
    """
    if value is None:
        value = 0.0
    size = like.shape[-1] if robot is None else robot.nv
    if robot is None and isinstance(value, Mapping):
        raise _nameless(name)
    if robot is not None and isinstance(value, Mapping):
        value = prepare(robot.model, {"v": value}, {"v": name}).rows["v"]
        value = value if rows else value[0]
    if not rows and np.ndim(value) == 0:
        value = np.full(size, value)
    array = _real(name, value, size, rows, None if robot is None else freedom_names(robot.model))
    if array.shape[-1] != size:
        raise ShapeError(f"{name} has shape {array.shape}, expected {f'(..., {size})' if rows else f'({size},)'}")
    if rows and len(array) != len(like):
        raise ShapeError(f"{name} has {len(array)} rows, q has {len(like)}")
    return array


def _nameless(name: str) -> StateError:
    return StateError(f"{name} goes by joint names, and only a robot knows where they belong: give robot= as well")


def _real(name: str, value: Any, size: int | str, rows: bool, labels: tuple[str, ...] | None) -> Array:
    array = as_numbers(name, value, size)  # type: ignore[arg-type]
    if array.dtype.kind == "c":
        raise StateError(f"{name} must be real numbers, not complex ones")
    if array.ndim != 1 + rows:
        wanted = f"(m, {size}): one row per instant" if rows else f"({size},)"
        raise ShapeError(f"{name} has shape {array.shape}, expected {wanted}")
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        *row, entry = (int(i) for i in wrong[0])
        where = f"row {row[0]}, " if row else ""
        what = f"entry {entry}" if labels is None else f"'{labels[entry]}'"
        raise StateError(f"{name} contains {array[tuple(wrong[0])]} ({where}{what}); it must be finite")
    return array.astype(np.float64)


def duration(name: str, T: Any) -> float:
    """A positive number of seconds."""
    value = number(name, T)
    if value <= 0.0:
        raise StateError(f"{name} = {value:g}: a duration is positive, in seconds")
    if not np.isfinite(1.0 / value / value):
        raise StateError(f"{name} = {value:g} is too short for floating-point accelerations")
    return value


def number(name: str, value: Any) -> float:
    """One finite number."""
    array = as_numbers(name, value, 1)
    if array.ndim or array.dtype.kind == "c" or not np.isfinite(array):
        raise StateError(f"{name} must be one finite number, not {value!r}")
    return float(array)


def share(name: str, value: Any, most: float, of: str) -> float:
    """A number from 0 to ``most``, the part of something."""
    part = number(name, value)
    if not 0.0 <= part <= most:
        raise StateError(f"{name} must be a share from 0 to {most:g} of {of}, not {value!r}")
    return part


def instants(times: Any, count: int, of: str) -> Array:
    """Increasing times, one for each of ``count`` rows of ``of``."""
    array = _real("times", times, "m", False, None)
    if len(array) != count:
        raise ShapeError(f"there are {len(array)} times for {count} {of}")
    if count < 2:
        raise ShapeError(f"a motion needs at least two {of}, not {count}; Trajectory.constant stands still")
    stuck = np.flatnonzero(~(np.diff(array) > 0.0))
    if len(stuck):
        at = int(stuck[0])
        raise StateError(
            f"times must increase: times[{at + 1}] = {array[at + 1]:g} follows times[{at}] = {array[at]:g}"
        )
    return array


def positive(name: str, value: Any, size: int) -> Array:
    """One positive number, or one for each freedom: (size,)."""
    array = as_numbers(name, value, size)
    if array.ndim == 0:
        array = np.full(size, array)
    array = _real(name, array, size, False, None)
    if len(array) != size:
        raise ShapeError(f"{name} has shape {array.shape}, expected one number or ({size},)")
    if not (array > 0.0).all():
        raise StateError(f"{name} must be positive; entry {int(np.argmin(array))} is {array.min():g}")
    return array


def times(t: Any) -> Array:
    """Instants of any shape, finite."""
    array = as_numbers("t", t, 1)
    if array.dtype.kind == "c" or not np.isfinite(array).all():
        raise StateError("t must be finite real numbers, in seconds")
    return array.astype(np.float64)
