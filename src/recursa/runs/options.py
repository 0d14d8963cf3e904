"""Options: what a run was asked for; kept with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from recursa.dynamics.losses import Losses
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

    @property
    def fixed(self) -> bool:
        """Whether steps are of one size."""
        return not INTEGRATORS[self.integrator].adaptive
