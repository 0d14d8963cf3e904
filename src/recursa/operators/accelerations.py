"""Accelerations without computing the bias forces: what no identity between letters says, since T may be anything."""

from __future__ import annotations

from recursa.operators.arithmetic import scaled
from recursa.operators.expression import Expression
from recursa.operators.leaves import Operators


def joint_accelerations(o: Operators, y: Expression | None, weight: float) -> Expression:
    """``inv(mass) (y + weight C)``: Rodriguez & Kreutz-Delgado's Algorithm 4, (66)-(73).

    With ``u = inv(D) (y - H psi (K y + P a + b)) - G* gravity`` it is ``u - K* psi* (H* u + a)``, weight -1;
    gravity stands by itself since ``psi M gravity = P gravity``.
    """
    u = _smoothed_rates(o, y, weight)
    return u - o.K.T @ o.psi.T @ (o.H.T @ u + scaled(-weight, o.a))


def link_accelerations(o: Operators, y: Expression | None, weight: float) -> Expression:
    """``phi* (H* inv(mass) (y + weight C) - weight a)``: ``psi* (H* u + a)`` with weight -1, Jain & Rodriguez (21)."""
    return o.psi.T @ (o.H.T @ _smoothed_rates(o, y, weight) + scaled(-weight, o.a))


def _smoothed_rates(o: Operators, y: Expression | None, weight: float) -> Expression:
    """The u of both."""
    a, b, gravity = (scaled(-weight, x) for x in (o.a, o.b, o.gravity))
    bias = o.P @ a + b
    innovations = -(o.H @ o.psi @ bias) if y is None else y - o.H @ o.psi @ (o.K @ y + bias)
    return o.D.inverse() @ innovations - o.G.T @ gravity
