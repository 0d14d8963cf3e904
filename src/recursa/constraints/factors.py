"""The factors of the Delassus matrix, to be kept and solved with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from recursa.constraints import dense, plans
from recursa.constraints.augmentation import factored_values
from recursa.constraints.quantities import constrained_model, mass_and_rows
from recursa.constraints.rows import jacobian_plan, row_scales
from recursa.dynamics import mass_matrix
from recursa.errors import ShapeError
from recursa.model.may_move import MayMove
from recursa.model.model import Model
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.scalars import Scalar, reciprocal, sqrt, where
from recursa.spatial.small_systems import in_given_order, in_order_of_steps, in_steps, real_part, whitened
from recursa.sweeps import Values, fuse
from recursa.sweeps.batching import Array


class DelassusFactors(NamedTuple):
    """``A = L D L*``, one equation taken after the other.

    Equations that may depend on each other are taken with the largest pivots first, others in their order.

    - ``L``: (..., ncon, ncon), one row for every equation in the order of the constraints, one column for every step.
    - ``D``: (..., ncon), one pivot for every step, zero where the equation that was left depends on those taken before.
    - ``order``: (..., ncon), the number of the equation that each step took.
    """

    L: Array
    D: Array
    order: Array

    @property
    def independent(self) -> Array:
        """Whether each equation was taken as one that says something new, (..., ncon)."""
        found = np.zeros(self.D.shape, bool)
        np.put_along_axis(found, self.order, self.D > 0.0, axis=-1)
        return found

    @property
    def rank(self) -> Array:
        """How many equations say something new, (...)."""
        return np.asarray((self.D > 0.0).sum(axis=-1))

    def solve(self, b: Array) -> Array:
        """The shortest x (..., ncon) with ``A x = b``; where there is none, one that comes nearest."""
        b = np.asarray(b)
        size = self.D.shape[-1]
        if b.shape[-1:] != (size,):
            raise ShapeError(f"b has {size} entries, one for every equation; got shape {b.shape}")
        there = self.D > 0.0
        inverse = np.linalg.pinv(np.where(there[..., None, :], self.L, 0.0))
        pivots = np.where(there, 1.0 / np.where(there, self.D, 1.0), 0.0)
        return np.asarray(np.einsum("...ki,...k,...kj,...j->...i", inverse, pivots, inverse, b, optimize=True))

    @staticmethod
    def of(flat: Array, size: int) -> DelassusFactors:
        """From what the quantity lists."""
        square = size * size
        L = flat[..., :square].reshape(*flat.shape[:-1], size, size)
        return DelassusFactors(L, flat[..., square : square + size], np.rint(flat[..., square + size :]).astype(int))


def _factors(of: Subject, given: Names) -> Recipe:
    model = constrained_model(of)
    shape = (model.ncon * (model.ncon + 2),)
    if of.tied:
        plan = fuse(mass_matrix.MASS_MATRIX_PLAN, jacobian_plan(model), name="delassus_factors, tied")
        return Recipe(plan, partial(_dense_entries, model), shape, MayMove.INERTIAS)
    plan = plans.delassus_plan(model, orthogonal=True)
    return Recipe(plan, partial(_entries, model), shape, MayMove.INERTIAS)


def _entries(model: Model, values: Values) -> Iterator[Scalar]:
    of, turns = factored_values(model, values)
    columns = (
        turns.undone(in_given_order(of, [0.0] * k + [1.0, *row[k + 1 :]]))
        for k, row in enumerate(in_order_of_steps(of))
    )
    pivots = []
    for inverse in of.inverse_d:
        there = real_part(inverse) > 0.0
        pivots.append(where(there, reciprocal(where(there, inverse, 1.0)), 0.0))
    numbers = turns.exchanged([float(k) for k in range(of.size)])
    return _listed(of.size, [*columns], pivots, in_steps(of, numbers) + [numbers[k] for k in _others(of.size, of.live)])


def _dense_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """From rows ``W = G inv(U)`` with ``mass = U* U``, as the sweeps have them at joints: ``A = W W*``."""
    mass, G = mass_and_rows(model, values)
    yielding: Scalar = 0.0
    for k, row in enumerate(mass):
        yielding = yielding + reciprocal(row[k])
    usual = reciprocal(sqrt(yielding))
    of = dense.orthonormal([[x * usual for x in whitened(mass, row)] for row in G], row_scales(model))
    columns, pivots = [], []
    for k, there in enumerate(of.independent):
        length = of.lower[k][k]
        columns.append(in_given_order(of, [0.0] * k + [row[k] / length for row in of.lower[k:]]))
        pivots.append(there * (length * length) * yielding)
    order = in_steps(of, [float(k) for k in range(model.ncon)]) + [float(k) for k in _others(model.ncon, of.live)]
    return _listed(model.ncon, columns, pivots, order)


def _others(size: int, live: Sequence[int]) -> list[int]:
    return [k for k in range(size) if k not in set(live)]


def _listed(
    size: int, columns: Sequence[Sequence[Scalar]], pivots: Sequence[Scalar], order: Sequence[Scalar]
) -> Iterator[Scalar]:
    """L row by row, D, and the order; what there is no step for has zeros."""
    absent = size - len(columns)
    for i in range(size):
        yield from (*(column[i] for column in columns), *[0.0] * absent)
    yield from (*pivots, *[0.0] * absent, *order)


DELASSUS_FACTORS = Quantity(
    "constraint_delassus_factors",
    ("q",),
    _factors,
    "L row by row, D, and the numbers of the equations in the order in which they were taken",
    optional=("parameters",),
    on_constraints="obeys",
)
