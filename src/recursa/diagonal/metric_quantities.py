"""The mass matrix as a metric, as quantities: its sensitivity and its contractions, Christoffel symbols."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from recursa.diagonal.equations import reading
from recursa.diagonal.sensitivity import (
    GRADIENT,
    GRADIENT_ALONG,
    MASS_RATE,
    MASS_RATE_TIMES,
    MASS_TIMES_BY_Q,
    SENSITIVITY_PLAN,
    sensitivity_entries,
)
from recursa.dynamics.coriolis import CORIOLIS_MATRIX_PLAN
from recursa.dynamics.gathering import flat, joint_matrix, joint_vector
from recursa.errors import NoSweepError
from recursa.kernels.loop import Looped
from recursa.model.model import Model
from recursa.model.moving import MayMove
from recursa.quantities import Composed, Names, Quantity, Recipe, Subject
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Plan, Values
from recursa.sweeps.batching import Array, as_array
from recursa.walks.coriolis import CORIOLIS_MATRIX_PAIRS, coriolis_entries
from recursa.walks.mass_matrix_rate import MASS_RATE_PAIRS, change_entries, mass_times_pairs, rate_entries

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


def _of_left(plan: Plan) -> Plan:
    """The same plan with ``left`` where it has ``right``: rows and columns are exchangeable."""
    sweeps = (
        replace(sweep, steps=tuple(reading(step, **{"joint:right": "joint:left"}) for step in sweep.steps))
        for sweep in plan.sweeps
    )
    return replace(plan, sweeps=tuple(sweeps))


_CONTRACTIONS = {  # by the vectors that are given
    (): _Contraction(SENSITIVITY_PLAN, sensitivity_entries),
    ("left",): _Contraction(
        _of_left(MASS_TIMES_BY_Q), partial(_rows, symmetric=False), mass_times_pairs("joint:left"), change_entries
    ),
    ("right",): _Contraction(
        MASS_TIMES_BY_Q, partial(_rows, symmetric=False), mass_times_pairs("joint:right"), change_entries
    ),
    ("along",): _Contraction(MASS_RATE, partial(_rows, symmetric=True), MASS_RATE_PAIRS, rate_entries),
    ("left", "right"): _Contraction(GRADIENT, _vector),
    ("left", "along"): _Contraction(_of_left(MASS_RATE_TIMES), _vector),
    ("right", "along"): _Contraction(MASS_RATE_TIMES, _vector),
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
)


# ---- Christoffel symbols ---------------------------------------------------------------------------------------------


def require_coordinates(model: Model, what: str) -> None:
    """Refuse joints whose velocities are no rates of coordinates."""
    for joint in model.joints:
        if joint.kind.nv > 1:
            raise NoSweepError(
                f"{what}: joint '{joint.name}' is {joint.kind.name}, and its velocities are not the rates of "
                "coordinates, so derivatives along them do not commute. Offered for revolute, continuous, "
                "prismatic and helical joints; sensitivity(q) is for all"
            )


def _christoffel(of: Subject, given: Names) -> Recipe | Composed:
    """Small robots have every entry of the sensitivity; of others a Coriolis matrix at each unit speed has them all."""
    model = of.model
    require_coordinates(model, "Christoffel symbols")
    if model.nv > _SPELLED_OUT:
        return Composed(partial(_at_unit_speeds, model))
    return Recipe(SENSITIVITY_PLAN, partial(christoffel_entries, model), (model.nv,) * 3, MayMove.INERTIAS)


def christoffel_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """``[ij, k] = (d_j M_ik + d_i M_jk - d_k M_ij)/2``, nv x nv x nv entries."""
    n, entries = model.nv, list(sensitivity_entries(model, values))

    def by(i: int, j: int, k: int) -> Scalar:
        return entries[(i * n + j) * n + k]

    places = product(range(n), repeat=3)
    return (0.5 * (by(i, k, j) + by(j, k, i) - by(i, j, k)) for i, j, k in places)


def _at_unit_speeds(model: Model, others: Any, q: Any) -> Array:
    q = as_array(model, "q", q, coordinates=True)
    return others(CHRISTOFFEL_ALONG, q=q[..., None, :], v=np.eye(model.nv, dtype=q.dtype))


def _christoffel_along(of: Subject, given: Names) -> Recipe:
    """``v_i [ij, k]``: the Coriolis matrix, transposed."""
    model = of.model
    shape, walks = (model.nv, model.nv), partial(_transposed, model, partial(coriolis_entries, model))
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
    "diagonal.christoffel", ("q",), _christoffel, "[ij, k]: the mass matrix's units per rad or m; i, j, k as in v"
)
CHRISTOFFEL_ALONG = Quantity(
    "diagonal.christoffel_along",
    ("q", "v"),
    _christoffel_along,
    "v_i [ij, k]: times v N m for rotations, N for translations; rows and columns as in v",
)
