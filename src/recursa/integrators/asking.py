"""Functions that users give: called with copies of the state, and when one raises, the exception learns the time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from recursa.errors import SingularHingeError
from recursa.sweeps.batching import Array

_CAME_OUT = "This came out of "


def told_when(function: Callable[[float, Array, Array], Any], what: str, t: float, q: Array, v: Array) -> Any:
    """``function(t, q, v)``; an exception of it keeps its type, and a note says what was asked for and when.

    >>> import numpy as np
    >>> try:
    ...     told_when(lambda t, q, v: 1.0 / q[0].item(), "torque=", 0.25, np.zeros(1), np.zeros(1))
    ... except ZeroDivisionError as error:
    ...     print(error, error.__notes__)
    float division by zero ['This came out of torque= at t = 0.25 s of the simulation.']
    """
    try:
        return function(t, q.copy(), v.copy())  # theirs to change
    except Exception as error:
        error.add_note(f"{_CAME_OUT}{what} at t = {t:.9g} s of the simulation.")
        raise


def standing_after_end(motion: Any) -> Callable[[float], tuple[Array, Array, Array]]:
    """A motion with a method ``sample(t)`` as a function of time; behind its end it stands still there."""
    end = float(getattr(motion, "end", getattr(motion, "duration", np.inf)))  # trajectories may start later than at 0

    def sampled(t: float) -> tuple[Array, Array, Array]:
        q, v, a = (np.asarray(part, dtype=float) for part in motion.sample(min(t, end)))
        return (q, np.zeros_like(v), np.zeros_like(a)) if t > end else (q, v, a)

    return sampled


def from_outside(error: BaseException) -> bool:
    """Whether an exception is the business of such a function, and no sign that the integrator has lost the motion.

    A function that asks for dynamics at a state that makes no sense hears of singular hinges, as the integrator does.
    """
    noted = any(note.startswith(_CAME_OUT) for note in getattr(error, "__notes__", ()))
    return noted and not isinstance(error, SingularHingeError)
