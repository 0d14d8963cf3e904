"""The mass matrix as a metric, as quantities: its sensitivity and its contractions, Christoffel symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from recursa.diagonal.diagonal_coriolis import structure_of
from recursa.diagonal.mass_matrix_sensitivity import (
    GRADIENT,
    GRADIENT_ALONG,
    MASS_RATE,
    SENSITIVITY_PLAN,
    mass_rate_times,
    mass_times_by_q,
    sensitivity_entries,
)
from recursa.dynamics.coriolis import CORIOLIS_MATRIX_PLAN
from recursa.dynamics.gathering import flat, joint_matrix, joint_vector
from recursa.dynamics.mass_matrix import MASS_MATRIX_PLAN
from recursa.kernels.loop import Looped
from recursa.model.may_move import MayMove
from recursa.model.model import Model
from recursa.quantities import Composed, Names, Quantity, Recipe, Subject, refusals
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Plan, Values, fuse
from recursa.sweeps.batching import Array, as_array
from recursa.walks.coriolis_pairs import CORIOLIS_MATRIX_PAIRS
from recursa.walks.jacobians import symmetric_entries, two_way_entries
from recursa.walks.mass_matrix_rate import MASS_RATE_PAIRS, mass_times_pairs

_SPELLED_OUT = 10  # freedoms up to which every entry of the tensor has code of its own: seconds to compile
_VECTORS = ("left", "right", "along")
Entering = Callable[[Model, Values], Iterable[Scalar]]


@dataclass(frozen=True)
class _Contraction:
    """How the tensor is contracted with vectors: a plan, and which entries are the result; by walks, if a matrix."""

    plan: Plan
    entries: Entering
    walks: Plan | None = None
    pair_entries: Entering | None = None

    def looped(self, model: Model) -> Looped | None:
        """For robots too large for the plan."""
        if self.walks is None or self.pair_entries is None:
            return None
        return Looped(self.walks, partial(self.pair_entries, model))


def _rows(model: Model, values: Values, *, symmetric: bool) -> Iterator[Scalar]:
    return joint_matrix(model, values.lists.get("rows", []), symmetric=symmetric)


def _vector(model: Model, values: Values) -> list[Scalar]:
    return joint_vector(model, values.lists.get("dT", []))


def _total(model: Model, values: Values) -> list[Scalar]:
    shares = list(flat(values.lists.get("share", [])))
    return [sum(shares[1:], shares[0]) if shares else 0.0]


_CONTRACTIONS: dict[tuple[str, ...], _Contraction] = {  # by the vectors that are given
    (): _Contraction(SENSITIVITY_PLAN, sensitivity_entries),
    **{
        (side,): _Contraction(
            mass_times_by_q(f"joint:{side}"),
            partial(_rows, symmetric=False),
            mass_times_pairs(f"joint:{side}"),
            two_way_entries,
        )
        for side in ("left", "right")
    },
    ("along",): _Contraction(MASS_RATE, partial(_rows, symmetric=True), MASS_RATE_PAIRS, symmetric_entries),
    ("left", "right"): _Contraction(GRADIENT, _vector),
    ("left", "along"): _Contraction(mass_rate_times("joint:left"), _vector),
    ("right", "along"): _Contraction(mass_rate_times("joint:right"), _vector),
    ("left", "right", "along"): _Contraction(GRADIENT_ALONG, _total),
}


def _sensitivity(of: Subject, given: Names) -> Recipe | Composed:
    model = of.model
    if not given and model.nv > _SPELLED_OUT:
        return Composed(partial(_by_units, model))
    how = _CONTRACTIONS[tuple(name for name in _VECTORS if name in given)]
    return Recipe(
        how.plan,
        partial(how.entries, model),
        (model.nv,) * (3 - len(given)),
        MayMove.INERTIAS,
        looped=how.looped(model),
    )


def _by_units(model: Model, others: Any, q: Any) -> Array:
    """The tensor from unit vectors: for robots too large for code that spells out every entry."""
    q = as_array(model, "q", q, coordinates=True)
    return others(SENSITIVITY, q=q[..., None, :], left=np.eye(model.nv, dtype=q.dtype))


SENSITIVITY = Quantity(
    "diagonal.sensitivity",
    ("q",),
    _sensitivity,
    "the mass matrix's units per rad or m; rows, columns and coordinates as in v, but for those contracted",
    optional=_VECTORS,
    reads={name: f"joint:{name}" for name in _VECTORS},
    on_constraints=refusals.ACCELERATIONS,
)


# ---- Christoffel symbols ---------------------------------------------------------------------------------------------


def _christoffel(of: Subject, given: Names) -> Recipe | Composed:
    """Small robots have every entry of the sensitivity; of others a Coriolis matrix at each unit speed has them all."""
    model = of.model
    if model.nv > _SPELLED_OUT:
        return Composed(partial(_at_unit_speeds, model))
    return Recipe(SYMBOLS_PLAN, partial(christoffel_entries, model), (model.nv,) * 3, MayMove.INERTIAS)


SYMBOLS_PLAN = fuse(SENSITIVITY_PLAN, MASS_MATRIX_PLAN, name="Christoffel symbols", keep=("dM", "rows"))


def christoffel_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """Koszul's formula along unit speeds, nv x nv x nv entries; C_ij,k = c_ijl M_lk is zero among coordinates:

    ``[ij, k] = <nabla_i e_j, e_k> = (e_i M_jk + e_j M_ki - e_k M_ij + C_ij,k - C_jk,i + C_ki,j)/2``
    """
    n, entries = model.nv, list(sensitivity_entries(model, values))
    brackets = _brackets(model, values)

    def by(i: int, j: int, k: int) -> Scalar:
        return entries[(i * n + j) * n + k]

    def symbol(i: int, j: int, k: int) -> Scalar:
        total = by(j, k, i) + by(k, i, j) - by(i, j, k)
        for sign, place in ((1.0, (i, j, k)), (-1.0, (j, k, i)), (1.0, (k, i, j))):
            if place in brackets:
                total = total + sign * brackets[place]
        return 0.5 * total

    return (symbol(*place) for place in product(range(n), repeat=3))


def _brackets(model: Model, values: Values) -> dict[tuple[int, int, int], Scalar]:
    """C_ij,k = <[e_i, e_j], e_k>, those that may be other than zero."""
    structure = structure_of(model)
    if not structure:
        return {}
    n, mass = model.nv, list(_rows(model, values, symmetric=True))
    found: dict[tuple[int, int, int], Scalar] = {}
    for i, j, along, c in structure:
        for k in range(n):
            found[i, j, k] = found.get((i, j, k), 0.0) + c * mass[along * n + k]
    return found


def _at_unit_speeds(model: Model, others: Any, q: Any) -> Array:
    q = as_array(model, "q", q, coordinates=True)
    found: Array = others(CHRISTOFFEL_ALONG, q=q[..., None, :], v=np.eye(model.nv, dtype=q.dtype))
    for place, value in _of_armature(model).items():
        found[..., *place] += value
    return found


def _of_armature(model: Model) -> dict[tuple[int, int, int], float]:
    """What armature along speeds that do not commute adds to the symbols; Coriolis matrices do not have it.

    Dynamics take armature as inertia of rotors that do not turn with the link; the metric knows no such difference.
    """
    armature = np.zeros(model.nv)
    for joint in model.joints:
        if joint.independent:
            armature[joint.v_start : joint.v_start + joint.kind.nv] = joint.armature
    found: dict[tuple[int, int, int], float] = {}
    for i, j, k, c in structure_of(model):
        for sign, place in ((1.0, (i, j, k)), (-1.0, (k, i, j)), (1.0, (j, k, i))):
            found[place] = found.get(place, 0.0) + 0.5 * sign * c * float(armature[k])
    return {place: value for place, value in found.items() if value}


def _christoffel_along(of: Subject, given: Names) -> Recipe:
    """``v_i [ij, k]``: the Coriolis matrix, transposed."""
    model = of.model
    shape, walks = (model.nv, model.nv), partial(_transposed, model, partial(two_way_entries, model))
    return Recipe(
        CORIOLIS_MATRIX_PLAN,
        partial(_transposed, model, partial(_rows, model, symmetric=False)),
        shape,
        MayMove.INERTIAS,
        looped=Looped(CORIOLIS_MATRIX_PAIRS, walks),
    )


def _transposed(model: Model, gather: Callable[[Values], Iterable[Scalar]], values: Values) -> Iterator[Scalar]:
    entries = list(gather(values))
    return flat(entries[column :: model.nv] for column in range(model.nv))


CHRISTOFFEL = Quantity(
    "diagonal.christoffel",
    ("q",),
    _christoffel,
    "[ij, k]: the mass matrix's units per rad or m; i, along which it is differentiated, j, k as in v",
)
CHRISTOFFEL_ALONG = Quantity(
    "diagonal.christoffel_along",
    ("q", "v"),
    _christoffel_along,
    "v_i [ij, k]: times v N m for rotations, N for translations; rows and columns as in v",
)
