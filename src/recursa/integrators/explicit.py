"""Explicit steps. They only name their arithmetic, so the generator of native code can follow them."""

from __future__ import annotations

from recursa.integrators.mechanics import A, Mechanics, Q


def runge_kutta_4(on: Mechanics[Q, A], q: Q, v: A) -> tuple[Q, A]:
    """The classical method of order four, in local coordinates; four evaluations.

    For order four the series of ``u' = dexpinv(u) v`` may end after the second bracket.
    """
    k1, a1 = on.slope(q, v, 0.0)
    u2, v2 = on.combined(None, (0.5, k1)), on.combined(v, (0.5, a1))
    k2, a2 = _stage(on, q, u2, v2, 0.5)
    u3, v3 = on.combined(None, (0.5, k2)), on.combined(v, (0.5, a2))
    k3, a3 = _stage(on, q, u3, v3, 0.5)
    u4, v4 = on.combined(None, (1.0, k3)), on.combined(v, (1.0, a3))
    k4, a4 = _stage(on, q, u4, v4, 1.0)
    u = on.combined(None, (1 / 6, k1), (1 / 3, k2), (1 / 3, k3), (1 / 6, k4))
    return on.moved(q, u), on.combined(v, (1 / 6, a1), (1 / 3, a2), (1 / 3, a3), (1 / 6, a4))


def _stage(on: Mechanics[Q, A], q: Q, u: A, v: A, at: float) -> tuple[A, A]:
    """``(u', v')`` at ``q exp(u)``."""
    speeds, rate = on.slope(on.moved(q, u), v, at)
    return on.local_rate(u, speeds), rate


def semi_implicit_euler(on: Mechanics[Q, A], q: Q, v: A) -> tuple[Q, A]:
    """``v += h a(q, v)``, then ``q`` moves with the new v: order one, one evaluation.

    Symplectic where the mass matrix is constant; energy then stays near its value for good.
    """
    _, rate = on.slope(q, v, 0.0)
    speeds, after = on.settled(q, on.combined(v, (1.0, rate)))
    return on.moved(q, on.combined(None, (1.0, speeds))), after


def explicit_euler(on: Mechanics[Q, A], q: Q, v: A) -> tuple[Q, A]:
    """``q`` moves with v, ``v += h a(q, v)``: order one, one evaluation; swings grow. For comparison."""
    speeds, rate = on.slope(q, v, 0.0)
    return on.moved(q, on.combined(None, (1.0, speeds))), on.combined(v, (1.0, rate))
