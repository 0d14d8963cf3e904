"""What a time step is made of, whatever it moves: one robot, a batch, links apart, or places in memory.

A state is q on the configuration manifold and v. Within a step, configurations are ``q exp(u)`` with local coordinates
u that start at zero, and a method runs on (u, v): Munthe-Kaas, Applied Numerical Mathematics 29 (1999) 115. For joints
that turn or slide ``q exp(u) = q + u`` and ``u' = v``, and this is the classical method to the letter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np

from recursa.errors import SingularHingeError
from recursa.sweeps.batching import Array

Q = TypeVar("Q")  # configurations
A = TypeVar("A")  # speeds and what they are made of: numbers, or a place in memory


class Mechanics(Protocol[Q, A]):
    """What a step asks for. The step's length h, when it begins and what acts are the mechanics' own."""

    def slope(self, q: Q, v: A, at: float) -> tuple[A, A]:
        """(speeds along the manifold, ``v'``) at a state, at the fraction ``at`` of the step."""

    def moved(self, q: Q, u: A) -> Q:
        """``q exp(u)``."""

    def local_rate(self, u: A, speeds: A) -> A:
        """``u'`` where ``q exp(u)`` moves with the speeds."""

    def combined(self, start: A | None, *terms: tuple[float, A]) -> A:
        """``start + h (c1 x1 + c2 x2 + ...)``; None starts from zero."""

    def settled(self, q: Q, v: A) -> tuple[A, A]:
        """(speeds along the manifold, v) at the end of a step, after what acts on the new v itself, if anything."""


Scheme = Callable[[Any, Any, Any], tuple[Any, Any]]  # (mechanics, q, v) -> q, v one step later


class ArrayStep:
    """A step of length h on arrays, where nothing acts on the new v itself: what many :class:`Mechanics` share."""

    h: float

    def combined(self, start: Array | None, *terms: tuple[float, Array]) -> Array:
        """``start + h (c1 x1 + c2 x2 + ...)``."""
        total: Any = 0.0 if start is None else start
        for factor, x in terms:
            total = total + (factor * self.h) * x
        return total  # type: ignore[no-any-return]

    def settled(self, q: Any, v: Array) -> tuple[Array, Array]:
        """Speeds and v as they are."""
        return v, v


# ---- -----------------------------------------------------------------------------------------------------------------
# Functions that users give: called with copies of the state, and when one raises, the exception learns the time.


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
