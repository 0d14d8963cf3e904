"""The factors of the Delassus matrix, to be kept and solved with."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from recursa.constraints import dense, plans
from recursa.constraints.augmentation import delassus_factors
from recursa.constraints.quantities import mass_and_rows, require_constraints, scales_of
from recursa.dynamics import mass_matrix
from recursa.errors import ShapeError
from recursa.model.model import Model
from recursa.model.moving import MayMove
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.scalars import Scalar
from recursa.spatial.small_systems import Ranked, shortest, solve_ranked
from recursa.sweeps import Values, fuse
from recursa.sweeps.batching import Array


class DelassusFactors(NamedTuple):
    """``A = L D L*`` of equations in their order.

    - ``L``: (..., ncon, ncon), lower triangular with ones on its diagonal.
    - ``D``: (..., ncon), zero where an equation depends on those before.
    - ``taken``: (..., ncon, ncon), per row how much of each row before it leaves nothing of a dependent one.
    """

    L: Array
    D: Array
    taken: Array

    @property
    def independent(self) -> Array:
        """Whether each equation says something that those before do not, (..., ncon)."""
        return self.D > 0.0

    @property
    def rank(self) -> Array:
        """How many do, (...)."""
        return np.asarray(self.independent.sum(axis=-1))

    def solve(self, b: Array) -> Array:
        """The shortest x (..., ncon) with ``A x = b``; of dependent equations b is not looked at."""
        b = np.asarray(b)
        size = self.D.shape[-1]
        if b.shape[-1:] != (size,):
            raise ShapeError(f"b has {size} entries, one for every equation; got shape {b.shape}")
        ranked = self._ranked()
        found = shortest(ranked, solve_ranked(ranked, [b[..., k] for k in range(size)]))
        return np.stack(np.broadcast_arrays(*found), axis=-1)

    def _ranked(self) -> Ranked:
        size, there = range(self.D.shape[-1]), self.independent
        inverse = np.where(there, 1.0 / np.where(there, self.D, 1.0), 0.0)
        unit = [[self.L[..., i, k] if i > k else 0.0 * self.D[..., k] for i in size] for k in size]
        taken = [[self.taken[..., k, i] for i in range(k)] for k in size]
        zeros = [np.where(there[..., k], 0.0, 1.0) for k in size]
        return Ranked(unit, [inverse[..., k] for k in size], taken, zeros)

    @staticmethod
    def of(flat: Array, size: int) -> DelassusFactors:
        """From what the quantity lists."""
        batch, square = flat.shape[:-1], size * size
        L = flat[..., :square].reshape(*batch, size, size)
        return DelassusFactors(
            L, flat[..., square : square + size], flat[..., square + size :].reshape(*batch, size, size)
        )


def _factors(of: Subject, given: Names) -> Recipe:
    model = of.model
    require_constraints(model)
    shape = (model.ncon * (2 * model.ncon + 1),)
    if of.tied:
        plan = fuse(mass_matrix.MASS_MATRIX_PLAN, plans.jacobian_plan(model), name="delassus_factors, tied")
        return Recipe(plan, partial(_dense_entries, model), shape, MayMove.INERTIAS)
    plan = plans.delassus_plan(model, model.unit_length)
    return Recipe(plan, partial(_entries, model, model.unit_length), shape, MayMove.INERTIAS)


def _entries(model: Model, unit_length: float, values: Values) -> Iterator[Scalar]:
    return _listed(delassus_factors(model, unit_length, values.robot["delassus"], values.robot["yielding"]))


def _dense_entries(model: Model, values: Values) -> Iterator[Scalar]:
    return _listed(dense.augmented(*mass_and_rows(model, values), scales_of(model, model.unit_length)).factors)


def _listed(of: Ranked) -> Iterator[Scalar]:
    """L, D and what was taken."""
    size = len(of.dependent)
    for i in range(size):
        yield from (of.unit[k][i] if k < i else float(k == i) for k in range(size))
    for inverse, out in zip(of.inverse_d, of.dependent, strict=True):
        yield (1.0 - out) / (inverse + out)
    for i in range(size):
        yield from (of.taken[i][k] if k < i else 0.0 for k in range(size))


DELASSUS_FACTORS = Quantity(
    "constraint_delassus_factors",
    ("q",),
    _factors,
    "L row by row, D, and how much of rows before leaves nothing of a dependent one, row by row",
    optional=("parameters",),
)
