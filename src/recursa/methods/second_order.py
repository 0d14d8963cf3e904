"""Second derivatives of inverse dynamics as quantities: contracted, of every torque, along a direction."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from recursa.dynamics.second_derivatives import BLOCKS, COVECTOR, SECOND_DERIVATIVES, second_entries
from recursa.dynamics.second_tangent import SECOND_TANGENT, second_tangent_entries
from recursa.kernels.loop import Looped
from recursa.model.may_move import MayMove
from recursa.quantities import Composed, Names, Quantity, Recipe, Subject, refusals
from recursa.sweeps.batching import Array
from recursa.walks.second_derivative_pairs import SECOND_DERIVATIVES_PAIRS
from recursa.walks.second_derivative_pairs import second_entries as pair_entries


def _second_derivatives(of: Subject, given: Names) -> Recipe | Composed:
    """The blocks of one Hessian, (4, nv, nv), or of every torque's, (4, nv, nv, nv)."""
    if "contract" not in given:
        return Composed(_of_each_torque)
    model = of.model
    return Recipe(
        SECOND_DERIVATIVES,
        partial(second_entries, model),
        (len(BLOCKS), model.nv, model.nv),
        MayMove.INERTIAS,
        looped=Looped(SECOND_DERIVATIVES_PAIRS, partial(pair_entries, model)),
    )


def _of_each_torque(others: Any, **state: Any) -> Array:
    """Contractions with unit vectors; the blocks first."""
    return np.swapaxes(others(INVERSE_DYNAMICS_SECOND_DERIVATIVES, **others.for_each_torque(**state)), -4, -3)


def _along(of: Subject, given: Names) -> Recipe:
    """One Hessian times a direction, (3, nv)."""
    model = of.model
    return Recipe(SECOND_TANGENT, partial(second_tangent_entries, model), (3, model.nv), MayMove.INERTIAS)


def _each_along(of: Subject, given: Names) -> Composed:
    """Every torque's, (3, nv, nv)."""
    return Composed(_of_each_torque_along)


def _of_each_torque_along(others: Any, **state_and_direction: Any) -> Array:
    arguments = others.for_each_torque(**state_and_direction)
    made = others(SECOND_DERIVATIVES_ALONG, **{name: arguments[name] for name in SECOND_DERIVATIVES_ALONG.inputs})
    return np.swapaxes(made, -3, -2)


_WORDS = {"contract": "weights of the torques, places as in v"}

INVERSE_DYNAMICS_SECOND_DERIVATIVES = Quantity(
    "inverse_dynamics_second_derivatives",
    ("q", "v", "a"),
    _second_derivatives,
    "of contract* tau: by q and q, q and v, v and v, q and a; places as in v",
    optional=("contract",),
    reads={"contract": COVECTOR},
    words=_WORDS,
    on_constraints=refusals.DERIVATIVES,
)
SECOND_DERIVATIVES_ALONG = Quantity(
    "inverse_dynamics_second_derivatives.along",
    ("q", "v", "a", "contract", "dq", "dv", "da"),
    _along,
    "of contract* tau: what the direction makes of its derivatives by q, by v and by a; places as in v",
    reads={"contract": COVECTOR, "dq": "joint:dq", "dv": "joint:dv", "da": "joint:da"},
    words=_WORDS,
    on_constraints=refusals.DERIVATIVES,
)
EACH_SECOND_DERIVATIVE_ALONG = Quantity(
    "inverse_dynamics_second_derivatives.each_along",
    ("q", "v", "a", "dq", "dv", "da"),
    _each_along,
    "what the direction makes of the derivatives of tau by q, by v and by a; places as in v",
    reads={"dq": "joint:dq", "dv": "joint:dv", "da": "joint:da"},
    exported=False,  # a batch of contractions, on_constraints=refusals.DERIVATIVES,
)
