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

    - ``scheme``: a step of given length; None for those that choose their steps themselves.
    - ``solver``: of ``scipy.integrate``, which chooses them.
    - ``uses``: what offers it: one robot (``simulate``), batches in native code (``rollout``), links apart (``links``).
    - ``takes_losses``: whether damping and friction act on the new speeds, as part of the step.
    """

    name: str
    words: str
    uses: tuple[Use, ...]
    scheme: Scheme | None = None
    solver: str = ""
    takes_losses: bool = False

    @property
    def adaptive(self) -> bool:
        """Whether it chooses its steps, to a tolerance."""
        return self.scheme is None


INTEGRATORS: dict[str, Integrator] = {
    one.name: one
    for one in (
        Integrator("dop853", "order 8, adaptive", ("simulate",), solver="DOP853"),
        Integrator("rk45", "order 5, adaptive", ("simulate",), solver="RK45"),
        Integrator("radau", "order 5, adaptive, implicit, for stiff motions", ("simulate",), solver="Radau"),
        Integrator("rk4", "order 4", ("simulate", "rollout", "links"), runge_kutta_4),
        Integrator(
            "semi-implicit",
            "order 1, new speeds first; robust with friction",
            ("simulate", "rollout", "links"),
            semi_implicit_euler,
            takes_losses=True,
        ),
        Integrator("implicit-midpoint", "order 2, keeps energy for long", ("simulate",), implicit_midpoint),
        Integrator("euler", "order 1, for comparison", ("rollout",), explicit_euler),
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
