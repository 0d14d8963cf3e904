"""Hints about states that are valid numbers but look as if another convention was meant, once per robot and reason.

States that come by way of Python are looked at here. Those that go straight into native code, one state or the first of
a batch, are compared with :func:`bounds_of_doubt` there, and come here if they are beyond.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Hashable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from recursa.errors import ConventionWarning, RecursaError
from recursa.model.model import Joint, Model
from recursa.sweeps.batching import Array, as_array

_ROWS = 1000  # so many states of a batch tell, evenly spread
_FACTOR = 3.0  # beyond the widest limit: nobody moves a joint that far by mistake, but 45 degrees are 45
_TURNS = 3600.0  # ten turns in degrees: what is beyond that is no angle of a joint in any unit
_W_FIRST = (1.0, 0.0, 0.0, 0.0)
_DEGREES, _QUATERNION = ("convention", "degrees"), ("convention", "quaternion")
_BOUNDS, _MOTION = ("convention", "bounds"), ("convention", "motion")


def bounds_of_doubt(model: Model, said: MutableMapping[Hashable, Any]) -> np.ndarray[Any, Any]:
    """Coordinates (nq,) up to which a state gives no reason for a hint; infinite once the hint was given.

    It is one array for each robot, and changes.
    """
    bounds: np.ndarray[Any, Any] = said.setdefault(_BOUNDS, np.empty(model.nq))
    bounds[:] = np.inf
    for joint in model.joints:
        if joint.independent and _QUATERNION not in said and joint.kind.quaternion is not None:
            bounds[joint.q_start + joint.kind.quaternion] = np.nextafter(1.0, 0.0)
        if joint.independent and _DEGREES not in said and joint.kind.angle is not None:
            bounds[joint.q_start + joint.kind.angle] = _farthest(joint)
    return bounds


def warn_of_conventions(model: Model, q: Any, said: MutableMapping[Hashable, Any]) -> None:
    """A :class:`recursa.ConventionWarning` where coordinates (..., nq) look like degrees, or quaternions like w first.

    ``said`` remembers what was said of this robot. Arrays that are no states are left to others to refuse.
    """
    bounds = said[_BOUNDS] if _BOUNDS in said else bounds_of_doubt(model, said)
    for reason, message in _doubts_about(model, q, bounds):
        if reason not in said:
            said[reason] = True
            bounds_of_doubt(model, said)
            if reason != _DEGREES or _MOTION not in said:
                warnings.warn(message, ConventionWarning, stacklevel=user_level())


def coordinates_of(model: Model, name: str, q: Any, said: MutableMapping[Hashable, Any]) -> Array:
    """Coordinates (..., nq) that a user handed in under a name, as an array; see :func:`warn_of_conventions`."""
    array = as_array(model, name, q, coordinates=True)
    warn_of_conventions(model, array, said)
    return array


@contextmanager
def motion(said: MutableMapping[Hashable, Any]) -> Iterator[None]:
    """A motion of the robot is being computed, which may turn joints as far as it likes.

    Meanwhile there are no hints about degrees. States that are looked at and are so far away end them for good: what is
    computed from the motion later has such states, too.
    """
    outer = said.get(_MOTION, 0)
    said[_MOTION] = outer + 1
    try:
        yield
    finally:
        said[_MOTION] = outer
        if not outer:
            del said[_MOTION]


def warn_of_w_first(name: str, quaternion: np.ndarray[Any, Any]) -> None:
    """The same for one quaternion (4,) that is an argument of its own."""
    if bool((quaternion == _W_FIRST).all()):
        warnings.warn(
            f"{name} is the quaternion (1, 0, 0, 0), half a turn about x. Quaternions are (x, y, z, w) here, no "
            "rotation is (0, 0, 0, 1). np.roll(quaternion, -1) turns one with w first into this order",
            ConventionWarning,
            stacklevel=user_level(),
        )


def _doubts_about(model: Model, q: Any, bounds: Array) -> Iterator[tuple[Hashable, str]]:
    """Reasons for hints, and their texts; none where all coordinates are within ``bounds``."""
    try:
        rows = as_array(model, "q", q, coordinates=True) if isinstance(q, Mapping) else np.asarray(q)
    except (RecursaError, RuntimeError, TypeError, ValueError):
        return
    if rows.dtype.kind in "fiu" and rows.ndim > 0 and rows.shape[-1] == model.nq and rows.size > 0:
        rows = rows.reshape(-1, model.nq)
        rows = rows[:: -(-len(rows) // _ROWS)]
        if not (np.abs(rows) <= bounds).all():
            yield from _doubts(model, rows)


def _doubts(model: Model, rows: np.ndarray[Any, Any]) -> Iterator[tuple[Hashable, str]]:
    for joint in model.joints:
        if not joint.independent:
            continue
        if joint.kind.angle is not None:
            angle = rows[:, joint.q_start + joint.kind.angle]
            angle = np.where(np.isfinite(angle), angle, 0.0)
            farthest = float(angle[np.argmax(np.abs(angle))])
            if _farthest(joint) < abs(farthest) < _TURNS:
                yield (
                    _DEGREES,
                    f"joint '{joint.name}' is at {farthest:.4g} rad, and its limits are at most {_widest(joint):.4g} "
                    "rad away from zero. Are these degrees? np.radians(q) turns them into the radians that are meant "
                    "here",
                )
        if joint.kind.quaternion is not None:
            start = joint.q_start + joint.kind.quaternion
            if bool((rows[:, start : start + 4] == _W_FIRST).all(axis=1).any()):
                yield (
                    _QUATERNION,
                    f"the quaternion of joint '{joint.name}' is (1, 0, 0, 0), half a turn about x. Quaternions are "
                    "(x, y, z, w) here, no rotation is (0, 0, 0, 1). If it came from MuJoCo or Drake, where w "
                    'comes first, robot.reorder(q, names, layout="mujoco") puts states into this order',
                )


def _widest(joint: Joint) -> float:
    """The limit that is farthest from zero; infinite if one is missing."""
    return max(map(abs, joint.limits)) if joint.limits is not None else math.inf


def _farthest(joint: Joint) -> float:
    """The angle beyond which a joint is taken to be in degrees."""
    return max(_FACTOR * _widest(joint), 2.0 * math.pi)


def user_level() -> int:
    """How many calls up the user's own line is."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "recursa":
        frame, level = frame.f_back, level + 1
    return level


# ---- lengths and masses that are valid numbers and look as if another unit was meant: millimetres, grams -------------
# Like the hints on angles and quaternions these are a :class:`recursa.ConventionWarning`: nothing is refused, nothing
# converted.


_BEYOND = 30.0  # times the size of the robot; what is meant in millimetres is a thousand times as far
_HEAVY = 5.0  # times the mass of the robot


def warn_of_millimetres(model: Model, distance: float, what: str) -> None:
    """Hint at millimetres where something lies far outside all that the robot reaches."""
    size = size_of(model)
    if 0.0 < _BEYOND * size < distance:
        warnings.warn(
            f"{what} is {distance:.4g} m away, and the robot '{model.name}' measures about {size:.2g} m from end to "
            f"end. Are these millimetres? Lengths are in metres here: divide them by 1000",
            ConventionWarning,
            stacklevel=user_level(),
        )


def warn_of_grams(model: Model, mass: float, what: str) -> None:
    """Hint at grams where something is much heavier than the robot that carries it."""
    own = sum(inertia.mass for inertia in model.inertias)
    if 0.0 < _HEAVY * own < mass:
        warnings.warn(
            f"{what} weighs {mass:.4g} kg, and the moving parts of the robot '{model.name}' {own:.3g} kg together. Are "
            f"these grams? Masses are in kilograms here: {mass:.4g} g are {mass / 1000.0:.4g} kg",
            ConventionWarning,
            stacklevel=user_level(),
        )


def size_of(model: Model) -> float:
    """How long the robot is if all of its joints and frames lie in a line, with the ways of joints that slide, in m."""
    lengths = [link.offset.translation.norm() for link in model.links]
    size = max((float(length) for length in lengths), default=0.0)
    for joint in model.joints:
        size += float(joint.placement.translation.norm())
        size += 0.0 if joint.after is None else float(joint.after.translation.norm())
        if joint.kind.slides:
            size += max((abs(x) for x in joint.limits or ()), default=math.inf)
    return size if math.isfinite(size) else 0.0
