"""Options: what a run was asked for; kept with it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from recursa.dynamics.losses import Losses
from recursa.errors import ResultFileError
from recursa.integrators import INTEGRATORS
from recursa.integrators.table import SimulationIntegrator
from recursa.sweeps.batching import Array

Coordinates = Literal["joint", "diagonal"]


@dataclass(frozen=True)
class Options:
    """What a run was asked for."""

    duration: float
    integrator: SimulationIntegrator = "dop853"
    rtol: float = 1e-10
    atol: float = 1e-12
    step: float | None = None
    times: Array | None = None
    save_every: int = 1
    dense: bool = False
    losses: Losses = True
    progress: bool = True
    coordinates: Coordinates = "joint"
    baumgarte: tuple[float, float] | None = None  # rate and damping; None: projection onto constraints

    @property
    def fixed(self) -> bool:
        """Whether steps are of one size."""
        return not INTEGRATORS[self.integrator].adaptive


_FLAGS = ("dense", "progress")
_NUMBERS = ("duration", "rtol", "atol", "step")


def options_again(stored: Mapping[str, Any], times: Array | None) -> Options:
    """Options from a file, which anyone may have written.

    With what is no option a run would not end, or mean something else: that is a :class:`ResultFileError`.
    """
    known = {name: value for name, value in stored.items() if name != "times"}
    wrong = known.keys() ^ (Options.__dataclass_fields__.keys() - {"times"})
    if wrong:
        raise ResultFileError(f"its options are not those of a run: {min(wrong)[:40]!r}")
    for name, value in known.items():
        if not _possible(name, value):
            raise ResultFileError(f"its option {name} is {str(value)[:40]!r}")
    if known.get("baumgarte") is not None:
        known["baumgarte"] = tuple(float(x) for x in known["baumgarte"])
    return Options(**known, times=times)


def _possible(name: str, value: Any) -> bool:
    if name in _FLAGS or (name == "losses" and not isinstance(value, str)):
        return type(value) is bool
    if name == "losses":
        return value in ("damping", "friction")
    if name in _NUMBERS:
        if name == "step" and value is None:
            return True
        return type(value) in (int, float) and math.isfinite(value) and (value > 0 or (name, value) == ("duration", 0))
    if name == "baumgarte":
        numbers = value if isinstance(value, list | tuple) else value.tolist() if hasattr(value, "tolist") else ()
        return value is None or (
            len(numbers) == 2 and all(type(x) in (int, float) and 0 <= x < math.inf for x in numbers)
        )
    if name == "save_every":
        return type(value) is int and value >= 1
    return value in (INTEGRATORS if name == "integrator" else get_args(Coordinates))
