"""Impacts in which all constraints of a robot begin to hold in one instant."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from recursa.constraints.quantities import IMPULSES
from recursa.dynamics.mass_properties import KINETIC_ENERGY
from recursa.errors import StateError
from recursa.model.model import Model
from recursa.sweeps.batching import Array, as_array


class Impact(NamedTuple):
    """The outcome of an impact.

    - ``v``: speeds after it, (..., nv).
    - ``impulses``: what each equation of the constraints transfers, (..., ncon), in N s and N m s: ``M (v - v_before) =
      G* impulses``. Where constraints are redundant these are the shortest that do it.
    - ``energy_lost``: kinetic energy before less that after, (...), in J. It is never negative.
    """

    v: Array
    impulses: Array
    energy_lost: Array


def impact_of(evaluator: Any, q: Any, v: Any, restitution: Any) -> Impact:
    """Speeds, impulses and the energy lost, for restitution from 0 to 1."""
    model: Model = evaluator.model
    e = restitution
    if isinstance(e, bool) or not isinstance(e, (int, float)) or not 0.0 <= e <= 1.0:
        raise StateError(f"restitution must be a number from 0 to 1, not {restitution!r}")
    solution = np.asarray(evaluator.evaluate(IMPULSES, {"q": q, "v": v}))
    allowed, impulses = solution[..., : model.nv], solution[..., model.nv :]
    before = as_array(model, "v", v, coordinates=False)
    stopped = before - allowed  # what an impact without restitution takes away: its momenta are those of the impulses
    lost = (1.0 - e * e) * np.asarray(evaluator.evaluate(KINETIC_ENERGY, {"q": q, "v": stopped}))
    return Impact(allowed - e * stopped, (1.0 + e) * impulses, lost)
