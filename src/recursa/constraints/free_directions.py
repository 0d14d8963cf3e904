"""Compliance and mass in the directions that constraints leave free.

Torques move a robot with constraints by K, and accelerations that the equations demand by Psi. With the rows of G made
orthonormal, ``G = L Q``, ``Y = inv(mass) Q*`` and ``A = Q Y``, which is well conditioned,

    K = inv(mass) - Y inv(A) Y*,    Psi = Y inv(A) inv(L).

Where rows depend on others the inverses are those of the rows that do not, as in forward dynamics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from recursa.constraints import dense
from recursa.constraints.quantities import mass_and_rows, orthonormal_rows
from recursa.constraints.rows import jacobian_plan
from recursa.dynamics.articulated import MASS_MATRIX_INVERSE_PLAN
from recursa.model.model import Model
from recursa.spatial.scalars import Scalar
from recursa.spatial.small_systems import solve_positive
from recursa.sweeps import Plan, Values, fuse, renamed

Matrix = Sequence[Sequence[Scalar]]


class Responses(NamedTuple):
    """K (nv, nv) and Psi* (ncon, nv)."""

    compliance: list[list[Scalar]]
    demanded: list[list[Scalar]]


def responses(model: Model, inverse: Matrix, G: Matrix) -> Responses:
    """From the inverse of the mass matrix and the rows."""
    n = model.nv
    rows = orthonormal_rows(model, G)
    pushed = [[dense.dot(column, q) for column in inverse] for q in rows.rows]  # Y*
    system = [[dense.dot(q, y) for y in pushed] for q in rows.rows]
    for k, there in enumerate(rows.independent):
        system[k][k] = system[k][k] + (1.0 - there)
    along = [solve_positive(system, [y[i] for y in pushed]) for i in range(n)]  # rows of Y inv(A)
    K = [[inverse[i][j] - dense.dot(along[i], [y[j] for y in pushed]) for j in range(n)] for i in range(n)]
    demanded = [dense.multipliers(rows, one) for one in along]  # rows of Psi
    return Responses(K, [[demanded[i][k] for i in range(n)] for k in range(model.ncon)])


_INVERSE = renamed(MASS_MATRIX_INVERSE_PLAN, {"responses": "unit responses"})


def responses_plan(model: Model) -> Plan:
    """The inverse of the mass matrix, and G."""
    return fuse(_INVERSE, jacobian_plan(model), name="constrained responses")


def responses_of(model: Model, values: Values) -> Responses:
    """From the values of that."""
    return responses(model, *mass_and_rows(model, values))


def response_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """All three, row by row."""
    return chain.from_iterable(chain(*responses_of(model, values)))
