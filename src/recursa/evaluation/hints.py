"""States that are valid numbers and look as if another convention was meant: a hint, once for a robot and a reason.

What is looked at comes by way of Python: the first call of every question, simulations, searches, files. Later calls of
the same question go straight into native code, which looks at nothing.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Hashable, Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np

from recursa.errors import ConventionWarning, RecursaError
from recursa.model.model import Joint, Model
from recursa.sweeps.batching import as_array

_ROWS = 1000  # so many states of a batch tell
_FACTOR = 3.0  # beyond the widest limit: nobody moves a joint that far by mistake, but 45 degrees are 45
_TURNS = 3600.0  # ten turns in degrees: what is beyond that is no angle of a joint in any unit
_W_FIRST = (1.0, 0.0, 0.0, 0.0)
_DEGREES, _QUATERNION = ("convention", "degrees"), ("convention", "quaternion")


def warn_of_conventions(model: Model, q: Any, said: MutableMapping[Hashable, Any]) -> None:
    """A :class:`recursa.ConventionWarning` where coordinates (..., nq) look like degrees, or quaternions like w first.

    ``said`` remembers what was said of this robot. Arrays that are no states are left to others to refuse.
    """
    try:
        rows = as_array(model, "q", q, coordinates=True) if isinstance(q, Mapping) else np.asarray(q)
    except (RecursaError, TypeError, ValueError):
        return
    if rows.dtype.kind not in "fiu" or rows.ndim == 0 or rows.shape[-1] != model.nq or rows.size == 0:
        return
    rows = rows.reshape(-1, model.nq)[:_ROWS]
    for reason, message in _doubts(model, rows):
        if reason not in said:
            said[reason] = True
            warnings.warn(message, ConventionWarning, stacklevel=user_level())


def warn_of_start(model: Model, q: Any, said: MutableMapping[Hashable, Any]) -> None:
    """The same for the start of a motion. What it comes to later may turn as far as it likes."""
    warn_of_conventions(model, q, said)
    said[_DEGREES] = True


def warn_of_w_first(name: str, quaternion: np.ndarray[Any, Any]) -> None:
    """The same for one quaternion (4,) that is an argument of its own."""
    if bool((quaternion == _W_FIRST).all()):
        warnings.warn(
            f"{name} is the quaternion (1, 0, 0, 0), half a turn about x. Quaternions are (x, y, z, w) here, no "
            "rotation is (0, 0, 0, 1). np.roll(quaternion, -1) turns one with w first into this order",
            ConventionWarning,
            stacklevel=user_level(),
        )


def _doubts(model: Model, rows: np.ndarray[Any, Any]) -> Iterator[tuple[Hashable, str]]:
    for joint in model.joints:
        if not joint.independent:
            continue
        if joint.kind.angle is not None:
            angle = rows[:, joint.q_start + joint.kind.angle]
            angle = np.where(np.isfinite(angle), angle, 0.0)
            farthest = float(angle[np.argmax(np.abs(angle))])
            widest = _widest(joint)
            if widest is not None and max(_FACTOR * widest, 2.0 * math.pi) < abs(farthest) < _TURNS:
                yield (
                    _DEGREES,
                    f"joint '{joint.name}' is at {farthest:.4g} rad, and its limits are at most {widest:.4g} rad away "
                    f"from zero. Are these degrees? np.radians(q) turns them into the radians that are meant here",
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


def _widest(joint: Joint) -> float | None:
    """The limit that is farthest from zero; None if one is missing."""
    widest = max(map(abs, joint.limits)) if joint.limits is not None else math.inf
    return widest if math.isfinite(widest) else None


def user_level() -> int:
    """How many calls up the user's own line is."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "recursa":
        frame, level = frame.f_back, level + 1
    return level
