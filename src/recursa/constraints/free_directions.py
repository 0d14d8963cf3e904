"""Compliance and mass in the directions that constraints leave free.

Torques move a robot with constraints by K, and accelerations that the equations demand by Psi. With the rows of G made
orthonormal, ``G = L Q``, ``Y = inv(mass) Q*`` and ``A = Q Y``, which is well conditioned,

    K = inv(mass) - Y inv(A) Y*,    Psi = Y inv(A) inv(L).

Where rows depend on others the inverses are those of the rows that do not, as in forward dynamics.
"""

from __future__ import annotations

from collections.abc import Iterator

from recursa.constraints import dense
from recursa.constraints.quantities import mass_and_rows, orthonormal_rows
from recursa.constraints.rows import jacobian_plan
from recursa.dynamics.articulated import MASS_MATRIX_INVERSE_PLAN
from recursa.dynamics.gathering import flat
from recursa.model.model import Model
from recursa.spatial.scalars import Scalar
from recursa.spatial.small_systems import solve_positive
from recursa.sweeps import Plan, Values, fuse, renamed

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
