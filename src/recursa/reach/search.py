"""What a search goes by: many targets, each from several starts; the first start that leads there counts.

What becomes of a target depends on its own starts alone, in their order, never on what else is in the batch: see
``_search.c``, and ``tests/search_oracle.py``, which says the same in NumPy.
"""

from __future__ import annotations

import numpy as np

from recursa.sweeps.batching import Array

PATIENCE = 8.0  # steps within which the square of the error of the first level not met has to shrink by a quarter
MOST_STEPS = 64.0  # of an attempt
NEAREST = 100.0  # steps from the best attempt towards what cannot be reached
POSTURE_STEPS = 60.0  # in which the posture is sought, too
POSTURE_SHARE = 0.5  # of the way to the posture, at every step
LONGEST = 0.5, 0.93  # rad, m: about how far lower levels go at first; times as far at each step, so that it dies away
SETTLED = 1e-12  # rad^2, m^2: the square of a step of the posture that is worth no further one


def settings(tolerance: tuple[float, float], apart: float) -> Array:
    """What a search goes by, in the order in which it is asked for."""
    return np.array(
        [*tolerance, 1.0 / apart**2, PATIENCE, MOST_STEPS, NEAREST, POSTURE_STEPS, POSTURE_SHARE, SETTLED, *LONGEST]
    )
