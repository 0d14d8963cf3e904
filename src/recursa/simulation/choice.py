"""Which steps a run is made of: of fixed size or adaptive, by the name of the integrator."""

from __future__ import annotations

import numpy as np

from recursa.errors import StateError
from recursa.integrators import INTEGRATORS
from recursa.runs.options import Options
from recursa.simulation.adaptive_steps import Adaptive, Stepper
from recursa.simulation.equations import Equations
from recursa.simulation.fixed_steps import FixedStep


def stepper_for(equations: Equations, options: Options) -> Stepper:
    """The steps that the options of a run ask for; what they cannot do with these equations is an error."""
    if not options.fixed:
        longest = np.inf if options.step is None else options.step
        return Adaptive(equations, options.integrator, options.duration, options.rtol, options.atol, longest)
    method = INTEGRATORS[options.integrator]
    if equations.memory and options.integrator == "implicit-midpoint":
        raise StateError(
            "the implicit midpoint rule does not carry along what a controller remembers: take another integrator, "
            "such as 'rk4'"
        )
    if method.takes_losses and equations.rubbed and equations.diagonal:
        raise StateError(
            f"integrator {options.integrator!r} stops joints by impulses of friction, which are on joint rates:"
            " in diagonal coordinates take another integrator, or losses=False"
        )
    return FixedStep(equations, method, options.step or options.duration)
