"""What a time step is made of, whatever it moves: one robot, a batch, links apart, or places in memory.

A state is q on the configuration manifold and v. Within a step, configurations are ``q exp(u)`` with local coordinates
u that start at zero, and a method runs on (u, v): Munthe-Kaas, Applied Numerical Mathematics 29 (1999) 115. For joints
that turn or slide ``q exp(u) = q + u`` and ``u' = v``, and this is the classical method to the letter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

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
