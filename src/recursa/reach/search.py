"""Where searches start and what they go by: many targets, each from several starts; the first that leads there counts.

What becomes of a target depends on its own starts alone, in their order, never on what else is in the batch: see
``_search.c``, and ``tests/search_oracle.py``, which says the same in NumPy.
"""

from __future__ import annotations

import numpy as np

from recursa.dynamics.configuration import random_state
from recursa.model.model import Model
from recursa.sweeps.batching import Array

SPREAD = 64  # configurations; twice as many save a fifth of the steps, and take as long to be compared
_SEED = 0
_FARTHEST = 1.0  # rad, m: of a step from the neutral configuration, where there are loops
PATIENCE = 8.0  # steps within which the square of the error of the first level not met has to shrink by a quarter
MOST_STEPS = 64.0  # of an attempt
NEAREST = 100.0  # steps from the best attempt towards what cannot be reached
POSTURE_STEPS = 60.0  # in which the posture is sought, too
POSTURE_SHARE = 0.5  # of the way to the posture, at every step
LONGEST = 0.5, 0.93  # rad, m: about how far lower levels go at first; times as far at each step, so that it dies away
SETTLED = 1e-12  # rad^2, m^2: the square of a step of the posture that is worth no further one


def settings(tolerance: tuple[float, float], size: float) -> Array:
    """What a search goes by, in the order in which it is asked for; ``size``: how far apart links are at the starts."""
    return np.array(
        [*tolerance, 1.0 / size**2, PATIENCE, MOST_STEPS, NEAREST, POSTURE_STEPS, POSTURE_SHARE, SETTLED, *LONGEST]
    )


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
