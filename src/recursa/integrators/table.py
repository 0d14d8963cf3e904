"""The integrators there are: an entry here appears in ``simulate``, ``rollout``, the command line and the docs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recursa.errors import unknown_name
from recursa.integrators.explicit import explicit_euler, runge_kutta_4, semi_implicit_euler
from recursa.integrators.implicit import implicit_midpoint
from recursa.integrators.mechanics import Scheme

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
