"""Compliance and mass in the directions that constraints leave free.

Torques move a robot with constraints by K, and accelerations that the equations demand by Psi. With the rows of G made
orthonormal, ``G = L Q``, ``Y = inv(mass) Q*`` and ``A = Q Y``, which is well conditioned,

    K = inv(mass) - Y inv(A) Y*,    Psi = Y inv(A) inv(L).

Where rows depend on others the inverses are those of the rows that do not, as in forward dynamics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from recursa.constraints import dense
from recursa.constraints.quantities import CONSTRAINT_JACOBIAN, constrained_model, mass_and_rows, orthonormal_rows
from recursa.constraints.rows import jacobian_plan, row_scales
from recursa.dynamics.articulated_bodies import MASS_MATRIX_INVERSE_PLAN
from recursa.dynamics.gathering import flat
from recursa.errors import ShapeError, StateError
from recursa.model.columns import freedom_names
from recursa.model.model import Model
from recursa.spatial.scalars import Scalar
from recursa.spatial.small_systems import solve_positive
from recursa.sweeps import Plan, Values, fuse, renamed
from recursa.sweeps.batching import Array

_INVERSE = renamed(MASS_MATRIX_INVERSE_PLAN, {"responses": "unit responses"})


def responses_plan(model: Model) -> Plan:
    """The inverse of the mass matrix, and G."""
    return fuse(_INVERSE, jacobian_plan(model), name="constrained responses")


def response_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """K (nv, nv), then Psi* (ncon, nv), row by row."""
    n = model.nv
    inverse, G = mass_and_rows(model, values)
    rows = orthonormal_rows(model, G)
    pushed = [[dense.dot(column, q) for column in inverse] for q in rows.rows]  # Y*
    system = [[dense.dot(q, y) for y in pushed] for q in rows.rows]
    for k, there in enumerate(rows.independent):
        system[k][k] = system[k][k] + (1.0 - there)
    along = [solve_positive(system, [y[i] for y in pushed]) for i in range(n)]  # rows of Y inv(A)
    K = [[inverse[i][j] - dense.dot(along[i], [y[j] for y in pushed]) for j in range(n)] for i in range(n)]
    demanded = [dense.multipliers(rows, one) for one in along]  # rows of Psi
    return flat([*K, *([demanded[i][k] for i in range(n)] for k in range(model.ncon))])


# ---- how many freedoms constraints leave, and which speeds determine the others --------------------------------------


class Mobility(NamedTuple):
    """What constraints leave at a configuration: ``freedoms`` = nv - ``rank``, and the names of ``independent`` speeds.

    Names are those of :attr:`~recursa.Robot.v_names`.
    """

    freedoms: int
    rank: int
    independent: tuple[str, ...]


def mobility_of(evaluator: Any, q: Any, tolerance: float | None) -> Mobility:
    """Of one configuration."""
    model = constrained_model(evaluator)
    limit = None if tolerance is None else float(tolerance)
    if limit is not None and not 0.0 < limit < 1.0:
        raise StateError(f"tolerance must be between 0 and 1, not {tolerance!r}")
    G = evaluator.evaluate(CONSTRAINT_JACOBIAN, {"q": q})
    if G.ndim != 2:
        raise ShapeError(f"mobility is of one configuration, q of shape ({model.nq},); got {G.ndim - 2} batch axes")
    rank, dependent = determined(np.asarray(G, float), row_scales(model), limit)
    names = freedom_names(model)
    return Mobility(model.nv - rank, rank, tuple(name for k, name in enumerate(names) if k not in dependent))


def determined(G: Array, scales: Sequence[float], limit: float | None = None) -> tuple[int, set[int]]:
    """The rank of G (m, n), and the columns that its equations are solved for: the others are free.

    Of columns that determine an equation nearly as well as the best one the last is taken, so that inner joints tend
    to be free. Rank and independent rows are those of :func:`~recursa.constraints.dense.orthonormal`.
    """
    found = dense.orthonormal([[float(x) for x in row] for row in G], scales, limit)
    left = np.array([q for q, there in zip(found.rows, found.independent, strict=True) if there > 0.0])
    dependent, rows = set[int](), list(range(len(left)))
    while rows:
        entries = np.abs(left[rows])
        places = np.argwhere(entries >= 0.1 * entries.max()).tolist()
        at, column = max(((i, j) for i, j in places), key=lambda two: two[1])
        row = rows.pop(at)
        dependent.add(column)
        for other in rows:
            left[other] -= left[row] * (left[other, column] / left[row, column])
            left[other, column] = 0.0
    return len(left), dependent
