"""Compliance and mass in the directions that constraints leave free.

With ``Y = inv(mass) G*`` and ``A = G Y``, torques move a robot with constraints by ``K = inv(mass) - Y inv(A) Y*``, and
accelerations that the equations demand by ``Psi = Y inv(A)``. Where rows depend on others the inverse is that of the
rows that do not, as in forward dynamics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from recursa.constraints import plans
from recursa.dynamics.articulated import MASS_MATRIX_INVERSE_PLAN
from recursa.dynamics.gathering import joint_matrix
from recursa.model.model import Model
from recursa.spatial.scalars import Scalar
from recursa.spatial.small_systems import Ranked, factored, solve_ranked
from recursa.sweeps import Plan, Values, fuse, renamed

Matrix = Sequence[Sequence[Scalar]]


class Responses(NamedTuple):
    """``inv(mass)`` (nv, nv), Y* and Psi*, (ncon, nv)."""

    inverse: Matrix
    pushed: list[list[Scalar]]
    demanded: list[list[Scalar]]


def responses(model: Model, inverse: Matrix, G: Matrix) -> Responses:
    """From the inverse of the mass matrix and the rows."""
    n, m = model.nv, model.ncon
    Y = [[_sparse_dot(row, column) for column in inverse] for row in G]
    delassus = [[_sparse_dot(G[i], Y[j]) if j >= i else 0.0 for j in range(m)] for i in range(m)]
    factors = delassus_factors(model, [inverse[k][k] for k in range(n)], delassus)
    columns = [solve_ranked(factors, [Y[k][i] for k in range(m)]) for i in range(n)]  # rows of Psi
    return Responses(inverse, Y, [[columns[i][k] for i in range(n)] for k in range(m)])


def delassus_factors(model: Model, diagonal: Sequence[Scalar], delassus: Matrix) -> Ranked:
    """The Delassus matrix in factors, its rank judged against how much the joints yield altogether: ``diagonal`` is
    that of the inverse mass matrix."""
    yielding: Scalar = 0.0
    length = model.unit_length
    for joint in (x for x in model.joints if x.independent):
        for k, turns in enumerate(joint.kind.angular):
            at = joint.v_start + k
            yielding = yielding + diagonal[at] * (length * length if turns else 1.0)
    turning = yielding * (1.0 / (length * length))
    least = [turning if unit == "r" else yielding for of in model.equations for unit in of.units]
    return factored(delassus, least)


def _sparse_dot(row: Sequence[Scalar], other: Sequence[Scalar]) -> Scalar:
    """Without what is zero for good."""
    total: Scalar = 0.0
    for x, y in zip(row, other, strict=True):
        if not (isinstance(x, float) and x == 0.0):
            total = total + x * y
    return total


_INVERSE = renamed(MASS_MATRIX_INVERSE_PLAN, {"responses": "unit responses"})


def responses_plan(model: Model) -> Plan:
    """The inverse of the mass matrix, and G."""
    return fuse(_INVERSE, plans.jacobian_plan(model), name="constrained responses")


def responses_of(model: Model, values: Values) -> Responses:
    """From the values of that."""
    nv = model.nv
    entries = list(joint_matrix(model, values.lists.get("rows", []), symmetric=True))
    flat = list(plans.jacobian_entries(model, values))
    inverse = [entries[k * nv : k * nv + nv] for k in range(nv)]
    return responses(model, inverse, [flat[k * nv : k * nv + nv] for k in range(model.ncon)])


def response_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """All three, row by row."""
    return chain.from_iterable(chain(*responses_of(model, values)))
