"""What every integrator offers: one step at a time, the state within the last one, and a state that can be kept."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from recursa.simulation.equations import Equations
from recursa.sweeps.batching import Array


class RunState(NamedTuple):
    """Where a run is: coordinates, speeds, and the work (gained, lost) since the start; behind it what is learned.

    The speeds are those that are integrated: v, or in diagonal coordinates nu. ``Equations.to_joint`` makes v of them.
    """

    q: Array
    u: Array
    work: Array


class Stepper:
    """Advances a state in time. ``t_old`` is where the last step began, ``t`` where it ended."""

    interpolant: Any = None  # the last step as a function of time, for the packed state, where there is one
    resolves_friction = False  # whether friction is part of a step, or modes are set from outside
    probes = 1  # into how many parts a step is cut when crossings of zero are looked for

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self.t = self.t_old = 0.0
        self.now = RunState(np.empty(0), np.empty(0), np.zeros(2))
        self.steps = 0

    def start(self, t: float, state: RunState) -> None:
        """Begin here, forgetting what was."""
        raise NotImplementedError

    def advance(self, bound: float) -> None:
        """One step, not beyond ``bound``."""
        raise NotImplementedError

    def at(self, t: float) -> RunState:
        """The state at a time within the last step."""
        raise NotImplementedError

    def about(self, t: float) -> RunState:
        """The same where it need not obey constraints to the last digit, if that takes less."""
        return self.at(t)

    def land(self, t: float) -> None:
        """Take the last step again, up to a time within it."""
        raise NotImplementedError

    def statistics(self) -> dict[str, int]:
        """What it took so far."""
        return {"steps": self.steps, "evaluations": self.equations.evaluations}

    def state(self) -> dict[str, Any]:
        """All that the next step depends on, as plain numbers and arrays."""
        raise NotImplementedError

    def described(self, end: float) -> dict[str, Any]:
        """What :meth:`state` gives, in a run that ends at ``end``; see :mod:`recursa.simulation.described`."""
        raise NotImplementedError

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`, which is as described; what follows is the same to the bit."""
        raise NotImplementedError
