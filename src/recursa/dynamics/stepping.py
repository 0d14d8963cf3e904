"""One time step of an integrator, written once: for arrays of states, and for the generator of native code.

A state is q on the configuration manifold and v. Within a step, configurations are ``q exp(u)`` with local coordinates
u (nv numbers) that start at zero, and Runge-Kutta runs on (u, v): Munthe-Kaas. For joints that turn or slide
``q exp(u) = q + u`` and ``u' = v``, and this is the classical method to the letter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from recursa.errors import unknown_name

A = TypeVar("A")  # whatever stands for an array of states: numbers, or a place in memory


class Mechanics(Protocol[A]):
    """What a step is made of. The step's length h and the torques are its own."""

    def acceleration(self, q: A, v: A) -> A:
        """Forward dynamics at a state."""

    def moved(self, q: A, u: A) -> A:
        """``q exp(u)``."""

    def local_rate(self, u: A, v: A) -> A:
        """``u'`` where ``q exp(u)`` moves with the speeds v."""

    def combined(self, start: A | None, *terms: tuple[float, A]) -> A:
        """``start + h (c1 x1 + c2 x2 + ...)``; None starts from zero."""


Scheme = Callable[[Any, Any, Any], tuple[Any, Any]]  # (mechanics, q, v) -> q, v one step later


def runge_kutta_4(on: Mechanics[A], q: A, v: A) -> tuple[A, A]:
    """The classical method of order four, in local coordinates; four evaluations of forward dynamics."""
    a1 = on.acceleration(q, v)
    u2, v2 = on.combined(None, (0.5, v)), on.combined(v, (0.5, a1))
    a2, k2 = on.acceleration(on.moved(q, u2), v2), on.local_rate(u2, v2)
    u3, v3 = on.combined(None, (0.5, k2)), on.combined(v, (0.5, a2))
    a3, k3 = on.acceleration(on.moved(q, u3), v3), on.local_rate(u3, v3)
    u4, v4 = on.combined(None, (1.0, k3)), on.combined(v, (1.0, a3))
    a4, k4 = on.acceleration(on.moved(q, u4), v4), on.local_rate(u4, v4)
    u = on.combined(None, (1 / 6, v), (1 / 3, k2), (1 / 3, k3), (1 / 6, k4))
    return on.moved(q, u), on.combined(v, (1 / 6, a1), (1 / 3, a2), (1 / 3, a3), (1 / 6, a4))


def semi_implicit_euler(on: Mechanics[A], q: A, v: A) -> tuple[A, A]:
    """``v += h a(q, v)``, then ``q`` moves with the new v: order one, one evaluation.

    Symplectic where the mass matrix is constant; energy then stays near its value for good.
    """
    after = on.combined(v, (1.0, on.acceleration(q, v)))
    return on.moved(q, on.combined(None, (1.0, after))), after


def explicit_euler(on: Mechanics[A], q: A, v: A) -> tuple[A, A]:
    """``q`` moves with v, ``v += h a(q, v)``: order one, one evaluation; swings grow. For comparison."""
    return on.moved(q, on.combined(None, (1.0, v))), on.combined(v, (1.0, on.acceleration(q, v)))


SCHEMES: dict[str, Scheme] = {
    "rk4": runge_kutta_4,
    "semi-implicit": semi_implicit_euler,
    "euler": explicit_euler,
}


def scheme_named(name: object) -> Scheme:
    """The integrator of that name; an unknown one is an error with a proposal."""
    if not isinstance(name, str) or name not in SCHEMES:
        raise unknown_name("integrator", name, SCHEMES)
    return SCHEMES[name]
