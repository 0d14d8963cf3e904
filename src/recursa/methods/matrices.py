"""Matrices in joint space as quantities: by which plan, and how those of large robots are made."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np

from recursa.book import methods as book
from recursa.book.column_recursion import COLUMNS, MASS_TIMES_PLAN
from recursa.denoc import inertia_and_convection as denoc
from recursa.denoc.mass_centers import require_mass_centers, require_masses
from recursa.dynamics.articulated_bodies import MASS_MATRIX_INVERSE_PLAN
from recursa.dynamics.base_velocity import changes, in_rows_and_columns
from recursa.dynamics.composite_factor import MASS_MATRIX_INVERSE_BY_FACTORS
from recursa.dynamics.coriolis import CORIOLIS_MATRIX_PLAN
from recursa.dynamics.gathering import MASSES, columns_of, matrix_of
from recursa.dynamics.mass_matrix import MASS_MATRIX_PLAN
from recursa.dynamics.reference import REFERENCE_READS, REFERENCE_REGRESSOR_PLAN, REFERENCE_WORDS
from recursa.dynamics.regressor import REGRESSOR_PLAN, STATIC_REGRESSOR_PLAN, regressor_entries
from recursa.dynamics.sparsity import packed as packed_recipe
from recursa.errors import known_method
from recursa.kernels.kernel import FEW_BODIES
from recursa.kernels.loop import Looped
from recursa.model.may_move import MayMove
from recursa.model.model import WORLD, Model
from recursa.quantities import Cheaper, Composed, Names, Quantity, Recipe, Subject, refusals
from recursa.sweeps import Plan
from recursa.sweeps.batching import Array
from recursa.walks.coriolis_pairs import (
    CORIOLIS_MATRIX_PAIRS,
    REFERENCE_REGRESSOR_PAIRS,
    REGRESSOR_PAIRS,
    STATIC_REGRESSOR_PAIRS,
)
from recursa.walks.coriolis_pairs import regressor_entries as pair_entries
from recursa.walks.jacobians import symmetric_entries, two_way_entries
from recursa.walks.mass_matrix_inverse import inverse_entries, mass_matrix_inverse_pairs
from recursa.walks.mass_matrix_rate import MASS_MATRIX_PAIRS

MassMethod = Literal["composite", "augmented", "walker-orin", "column", "denoc"]


def _mass_matrix(
    of: Subject, given: Names, *, method: str = "composite", packed: bool = False, base_velocity: str = "body"
) -> Recipe:
    if packed:
        whole = _mass_matrix(of, given, method=method, base_velocity=base_velocity)
        return packed_recipe(whole, "mass_matrix", of.model)
    if changes(base_velocity, of.model):
        return in_rows_and_columns(_mass_matrix(of, given, method=method), base_velocity)
    known_method("the mass matrix", method, ("composite", *book.MASS, "column", "denoc"))
    model = of.model
    gather, shape = matrix_of(model, symmetric=True), (model.nv, model.nv)
    if method in book.MASS:
        return Recipe(book.mass_method(of.on_axes, method, tuple(given)), gather, shape, on_axes=True)
    if method == "column":
        columns = columns_of(model, MASS_TIMES_PLAN, "T", "a")
        return Recipe(COLUMNS, gather, shape, MayMove.INERTIAS, looped=columns)
    if method == "denoc":
        return Recipe(
            denoc.GENERALIZED_INERTIA,
            gather,
            shape,
            MayMove.FRAMES,
            looped=columns_of(model, denoc.INERTIA_TIMES, "T", "a"),
            require=require_mass_centers,
            check=partial(require_masses, model) if "parameters" in given else None,
        )
    walks = Looped(MASS_MATRIX_PAIRS, partial(symmetric_entries, model))
    return Recipe(MASS_MATRIX_PLAN, gather, shape, MayMove.INERTIAS, looped=walks)


def _mass_matrix_inverse(of: Subject, given: Names) -> Recipe | Composed:
    model = of.model
    if of.tied:
        return Composed(_inverse_of_mass_matrix)
    return Recipe(
        MASS_MATRIX_INVERSE_PLAN,
        matrix_of(model, symmetric=True),
        (model.nv, model.nv),
        MayMove.INERTIAS,
        cheaper=by_factors(MASS_MATRIX_INVERSE_BY_FACTORS),
        looped=Looped(mass_matrix_inverse_pairs(model), partial(inverse_entries, model)),
        pivots=partial(inverse_pivots, model),
    )


def _inverse_of_mass_matrix(others: Any, q: Any) -> Array:
    others.require_hinges(q=q)
    return others.inverse(others(MASS_MATRIX, {"method": "composite"}, q=q))


def by_factors(plan: Plan) -> Cheaper:
    """Few bodies have both factors from the entries of the mass matrix: fewer operations."""
    return Cheaper(MayMove.INERTIAS, lambda moved: plan if moved.nbodies <= FEW_BODIES else None)


def inverse_pivots(model: Model, inverse: Array, by_factors: bool) -> Array:
    """Entries of the inverse of the mass matrix that are not finite where a hinge inertia is zero: its diagonal, or of
    what a plan in factors made only the first one of every tree.
    """
    diagonal = np.einsum("...ii->...i", inverse)
    if not by_factors:
        return diagonal
    roots = [joint.v_start for joint in model.joints if joint.parent == WORLD]
    return diagonal[..., roots[0]] if len(roots) == 1 else diagonal[..., roots]


def _coriolis_matrix(of: Subject, given: Names, *, packed: bool = False) -> Recipe:
    model = of.model
    if packed:
        return packed_recipe(_coriolis_matrix(of, given), "coriolis_matrix", model)
    gather, walks = matrix_of(model, symmetric=False), Looped(CORIOLIS_MATRIX_PAIRS, partial(two_way_entries, model))
    return Recipe(CORIOLIS_MATRIX_PLAN, gather, (model.nv, model.nv), MayMove.INERTIAS, looped=walks)


def _regressor(of: Subject, given: Names, *, packed: bool = False) -> Recipe:
    recipe = _by_parameters(REGRESSOR_PLAN, REGRESSOR_PAIRS, of, given)
    return packed_recipe(recipe, "regressor", of.model) if packed else recipe


def _by_parameters(plan: Plan, walks: Plan, of: Subject, given: Names) -> Recipe:
    model = of.model
    gather, by_walks = partial(regressor_entries, model), Looped(walks, partial(pair_entries, model))
    return Recipe(plan, gather, (model.nv, 10 * model.nbodies), looped=by_walks)


MASS_MATRIX = Quantity("mass_matrix", ("q",), _mass_matrix, MASSES, optional=("parameters",), of_joints=True)
MASS_MATRIX_INVERSE = Quantity(
    "mass_matrix_inverse",
    ("q",),
    _mass_matrix_inverse,
    "the inverse of the mass matrix's units; rows and columns as in v",
    of_joints=True,
    on_constraints=refusals.RESPONSES,
)
CORIOLIS_MATRIX = Quantity(
    "coriolis_matrix",
    ("q", "v"),
    _coriolis_matrix,
    "times v: N m for rotations, N for translations; rows and columns as in v",
    of_joints=True,
)
REGRESSOR = Quantity(
    "regressor",
    ("q", "v", "a"),
    _regressor,
    "rows as in v; times the ten parameters per body: N m for rotations, N for translations",
)
STATIC_REGRESSOR = Quantity(
    "static_regressor",
    ("q",),
    partial(_by_parameters, STATIC_REGRESSOR_PLAN, STATIC_REGRESSOR_PAIRS),
    REGRESSOR.units,
)
REFERENCE_REGRESSOR = Quantity(
    "reference_regressor",
    ("q", "v", "v_r", "a_r"),
    partial(_by_parameters, REFERENCE_REGRESSOR_PLAN, REFERENCE_REGRESSOR_PAIRS),
    REGRESSOR.units,
    reads=REFERENCE_READS,
    words=REFERENCE_WORDS,
)
