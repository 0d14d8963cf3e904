"""At which fractions of a step an integrator looks, found by following it with mechanics that move nothing."""

from __future__ import annotations

from typing import Any

from recursa.integrators.mechanics import Scheme


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
