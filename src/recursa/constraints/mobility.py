"""How many freedoms constraints leave, and which speeds determine the others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from recursa.constraints.quantities import CONSTRAINT_JACOBIAN, require_constraints
from recursa.errors import ShapeError, StateError
from recursa.model.columns import freedom_names
from recursa.model.model import Model
from recursa.sweeps.batching import Array

ROUNDING = 2048.0 * float(np.finfo(float).eps)  # as in spatial/small_systems.py


class Mobility(NamedTuple):
    """What constraints leave at a configuration: ``freedoms`` = nv - ``rank``, and the names of ``independent`` speeds.

    Names are those of :attr:`~recursa.Robot.v_names`.
    """

    freedoms: int
    rank: int
    independent: tuple[str, ...]


def mobility_of(evaluator: Any, q: Any, tolerance: float | None) -> Mobility:
    """Of one configuration."""
    model: Model = evaluator.model
    require_constraints(model)
    limit = ROUNDING if tolerance is None else float(tolerance)
    if not 0.0 < limit < 1.0:
        raise StateError(f"tolerance must be between 0 and 1, not {tolerance!r}")
    G = evaluator.evaluate(CONSTRAINT_JACOBIAN, {"q": q})
    if G.ndim != 2:
        raise ShapeError(f"mobility is of one configuration, q of shape ({model.nq},); got {G.ndim - 2} batch axes")
    rank, dependent = eliminated(scaled(model, np.asarray(G, float)), limit)
    names = freedom_names(model)
    return Mobility(model.nv - rank, rank, tuple(name for k, name in enumerate(names) if k not in dependent))


def scaled(model: Model, G: Array) -> Array:
    """Rows in units in which turning and moving can be compared."""
    lengths = [1.0 if unit == "r" else model.unit_length for one in model.equations for unit in one.units]
    return G / np.array(lengths)[:, None]


def eliminated(G: Array, limit: float) -> tuple[int, set[int]]:
    """Rank, and the columns that Gauss' elimination with the largest pivots solves for: the others are free.

    Of pivots that are nearly as large as the largest the last column is taken, so that inner joints tend to be free.
    """
    left, dependent = G.copy(), set[int]()
    size = max(float(np.abs(G).max(initial=0.0)), 1.0)
    rows = list(range(len(G)))
    while rows:
        entries = np.abs(left[rows])
        largest = float(entries.max(initial=0.0))
        if largest <= limit * size:
            break
        at, column = max(((i, j) for i, j in np.argwhere(entries >= 0.1 * largest).tolist()), key=lambda two: two[1])
        row = rows.pop(at)
        dependent.add(column)
        for other in rows:
            left[other] -= left[row] * (left[other, column] / left[row, column])
            left[other, column] = 0.0
    return len(dependent), dependent
