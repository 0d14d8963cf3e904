"""Where the search for joint positions starts: configurations spread over the range of a robot, the nearest first."""

from __future__ import annotations

import numpy as np

from recursa.dynamics.configuration import random_state
from recursa.model.model import Model
from recursa.sweeps.batching import Array

SPREAD = 64  # configurations; twice as many save a fifth of the steps, and take as long to be compared
_SEED = 0
_FARTHEST = 1.0  # rad, m: of a step from the neutral configuration, where there are loops


def starts(model: Model) -> Array:
    """Configurations (n, nq) within the limits, the same for every process and machine."""
    rng = np.random.default_rng(_SEED)
    return np.stack([random_state(model, rng)[0] for _ in range(SPREAD)])


def around(model: Model) -> Array:
    """Steps (n, nv) away from a configuration in which loops can be closed, ever longer ones."""
    rng = np.random.default_rng(_SEED)
    return np.linspace(0.0, _FARTHEST, SPREAD)[:, None] * rng.normal(size=(SPREAD, model.nv))


def apart(positions: Array) -> float:
    """How far apart positions (n, ..., 3) of links are, to weigh lengths against angles; 1 m if they are not."""
    spread = positions.max(axis=0) - positions.min(axis=0)
    return float(spread.max(initial=0.0)) or 1.0
