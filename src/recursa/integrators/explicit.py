"""Explicit steps. They only name their arithmetic, so the generator of native code can follow them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from recursa.errors import unknown_name
from recursa.integrators.implicit import implicit_midpoint
from recursa.integrators.mechanics import A, Mechanics, Q, Scheme


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


# ---- -----------------------------------------------------------------------------------------------------------------
# At which fractions of a step an integrator looks, found by following it with mechanics that move nothing.


class _Stages:
    """Mechanics that only note at which fractions of a step slopes are asked for."""

    def __init__(self) -> None:
        self.found: list[float] = []

    def slope(self, q: Any, v: Any, at: float) -> tuple[Any, Any]:
        if at not in self.found:
            self.found.append(at)
        return 0, 0

    def moved(self, *_: Any) -> Any:
        return 0

    local_rate = combined = moved

    def settled(self, q: Any, v: Any) -> tuple[Any, Any]:
        return 0, 0


def stages_of(scheme: Scheme) -> tuple[float, ...]:
    """At which fractions of a step an integrator asks for slopes.

    >>> from recursa.integrators import INTEGRATORS
    >>> stages_of(INTEGRATORS["rk4"].scheme)
    (0.0, 0.5, 1.0)
    """
    on = _Stages()
    scheme(on, 0, 0)
    return tuple(on.found)


# ---- -----------------------------------------------------------------------------------------------------------------
# The integrators there are: an entry here appears in ``simulate``, ``rollout``, the command line and the docs.


Use = Literal["simulate", "rollout", "links"]


@dataclass(frozen=True)
class Integrator:
    """One way to move a state in time.

    - ``order``: errors fall with this power of the step; a test measures it.
    - ``scheme``: a step of given length; None for those that choose their steps themselves.
    - ``solver``: of ``scipy.integrate``, which chooses them.
    - ``uses``: what offers it: one robot (``simulate``), batches in native code (``rollout``), links apart (``links``).
    - ``takes_losses``: whether damping and friction act on the new speeds, as part of the step.
    - ``symmetric``: whether a step back from its end leads to where it began.
    """

    name: str
    order: int
    uses: tuple[Use, ...]
    scheme: Scheme | None = None
    solver: str = ""
    takes_losses: bool = False
    symmetric: bool = False

    @property
    def adaptive(self) -> bool:
        """Whether it chooses its steps, to a tolerance."""
        return self.scheme is None


INTEGRATORS: dict[str, Integrator] = {
    one.name: one
    for one in (
        Integrator("dop853", 8, ("simulate",), solver="DOP853"),
        Integrator("rk45", 5, ("simulate",), solver="RK45"),
        Integrator("radau", 5, ("simulate",), solver="Radau"),
        Integrator("rk4", 4, ("simulate", "rollout", "links"), runge_kutta_4),
        Integrator("semi-implicit", 1, ("simulate", "rollout", "links"), semi_implicit_euler, takes_losses=True),
        Integrator("implicit-midpoint", 2, ("simulate",), implicit_midpoint, symmetric=True),
        Integrator("euler", 1, ("rollout",), explicit_euler),
    )
}
SimulationIntegrator = Literal["dop853", "rk45", "radau", "rk4", "semi-implicit", "implicit-midpoint"]
RolloutIntegrator = Literal["rk4", "semi-implicit", "euler"]
LinksIntegrator = Literal["rk4", "semi-implicit"]


def names(use: Use) -> tuple[str, ...]:
    """The integrators that something offers.

    >>> names("rollout")
    ('rk4', 'semi-implicit', 'euler')
    """
    return tuple(name for name, one in INTEGRATORS.items() if use in one.uses)


def named(name: object, use: Use) -> Integrator:
    """The integrator of that name; one that is not offered is an error with a proposal."""
    offered = names(use)
    if not isinstance(name, str) or name not in offered:
        raise unknown_name("integrator", name, offered)
    return INTEGRATORS[name]
