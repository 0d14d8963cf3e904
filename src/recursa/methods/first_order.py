"""Derivatives of inverse and forward dynamics as quantities: in one kernel, in parts, by columns, or made of others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from recursa.book import linear_model
from recursa.book.direct import direct_plan
from recursa.constraints.quantities import constrained
from recursa.dynamics import derivatives, forward_derivatives, second_tangent
from recursa.dynamics.gathering import FORCES
from recursa.dynamics.sparsity import packed as packed_recipe
from recursa.errors import known_method
from recursa.kernels.kernel import FEW_BODIES
from recursa.kernels.loop import Looped
from recursa.kernels.products import Product
from recursa.methods.constrained_motion import derivatives_recipe
from recursa.methods.inverse_and_forward import FORWARD_DYNAMICS, READS
from recursa.methods.matrices import MASS_MATRIX_INVERSE, by_factors, inverse_pivots
from recursa.model.may_move import MayMove
from recursa.quantities import Composed, Names, Quantity, Recipe, Subject, refusals
from recursa.sweeps import Plan
from recursa.sweeps.batching import Array
from recursa.walks.derivative_pairs import derivative_entries as pair_entries
from recursa.walks.derivative_pairs import factor_entries, forward_derivatives_pairs, inverse_derivatives_pairs


def _acting(of: Subject, given: Names) -> dict[str, bool]:
    """What acts besides torques, as options of plans."""
    return {"wrenches": "wrenches" in given, "springs": of.model.has_springs}


# ---- inverse dynamics ------------------------------------------------------------------------------------------------


def _inverse_derivatives(of: Subject, given: Names, *, packed: bool = False) -> Recipe:
    recipe = _spatial(of, given, losses=False)
    return packed_recipe(recipe, "inverse_dynamics_derivatives", of.model) if packed else recipe


def _linearize(of: Subject, given: Names, *, method: str = "spatial", losses: bool = False) -> Recipe:
    """Stiffness, damping and mass; with ``losses`` the damping of the joints, too."""
    known_method("linearization", method, tuple(LINEARIZATIONS))
    return LINEARIZATIONS[method](of, given, losses=losses)


def _spatial(of: Subject, given: Names, *, losses: bool) -> Recipe:
    model, acting = of.model, {**_acting(of, given), "losses": losses}
    return Recipe(
        derivatives.inverse_derivatives_plan(**acting),
        partial(derivatives.derivative_entries, model),
        (3, model.nv, model.nv),
        MayMove.INERTIAS,
        looped=Looped(inverse_derivatives_pairs(**acting), partial(pair_entries, model)),
    )


def _of_the_book(make: Callable[..., Plan], what: str, of: Subject, given: Names, *, losses: bool) -> Recipe:
    model = of.model
    linear_model.require_suited(model, what)
    gather = partial(derivatives.derivative_entries, model)
    return Recipe(make(losses=losses, springs=model.has_springs), gather, (3, model.nv, model.nv), on_axes=True)


LINEARIZATIONS: dict[str, Callable[..., Recipe]] = {
    "spatial": _spatial,
    "balafoutis-patel": partial(_of_the_book, linear_model.algorithm_7_1, "Algorithm 7.1"),
    "direct": partial(_of_the_book, direct_plan, "(7.3.2)-(7.3.4)"),
}


def _along(of: Subject, given: Names) -> Recipe:
    model = of.model
    plan = second_tangent.tangent_plan(**_acting(of, given))
    return Recipe(plan, partial(second_tangent.tangent_entries, model), (model.nv,), MayMove.INERTIAS)


# ---- forward dynamics ------------------------------------------------------------------------------------------------


def _forward_derivatives(of: Subject, given: Names) -> Recipe | Composed:
    model, apart, acting = of.model, Composed(_forward_derivatives_apart), _acting(of, given)
    if constrained(of):
        return derivatives_recipe(INVERSE_DYNAMICS_DERIVATIVES, of, given)
    if of.tied:
        return apart

    return Recipe(
        forward_derivatives.forward_derivatives_plan(**acting),
        partial(forward_derivatives.forward_derivative_entries, model),
        (3, model.nv, model.nv),
        MayMove.INERTIAS,
        cheaper=by_factors(forward_derivatives.forward_derivatives_by_factors_plan(**acting)),
        looped=Looped(
            forward_derivatives_pairs(model, **acting),
            partial(factor_entries, model),
            product=Product(model.nv, factors=2),
        ),
        apart=apart,
        pivots=lambda result, cheaper: inverse_pivots(model, result[..., 2, :, :], cheaper),
    )


def _forward_derivatives_apart(others: Any, *, q: Any, v: Any, tau: Any, wrenches: Any = None) -> Array:
    """Accelerations, derivatives and inverse mass matrix one by one."""
    a = others(FORWARD_DYNAMICS, q=q, v=v, tau=tau, wrenches=wrenches)
    result = others(INVERSE_DYNAMICS_DERIVATIVES, q=q, v=v, a=a, wrenches=wrenches)
    inverse = others(MASS_MATRIX_INVERSE, q=q)
    np.negative(inverse, out=inverse)
    result[..., :2, :, :] = inverse[..., None, :, :] @ result[..., :2, :, :]
    np.negative(inverse, out=result[..., 2, :, :])
    return result


def _state_space(of: Subject, given: Names) -> Recipe | Composed:
    """The entries of A, and those of B behind them."""
    model, nv, apart, acting = of.model, of.model.nv, Composed(_state_space_apart), _acting(of, given)
    if of.tied or model.nbodies > FEW_BODIES:
        return apart

    return Recipe(
        forward_derivatives.state_space_plan(**acting),
        partial(forward_derivatives.state_space_entries, model),
        (6 * model.nv * model.nv,),
        MayMove.INERTIAS,
        cheaper=by_factors(forward_derivatives.state_space_by_factors_plan(**acting)),
        apart=apart,
        pivots=lambda both, cheaper: inverse_pivots(model, state_space_halves(both, nv)[1][..., nv:, :], cheaper),
    )


def _state_space_apart(others: Any, *, q: Any, v: Any, tau: Any, wrenches: Any = None) -> Array:
    lower = others(FORWARD_DYNAMICS_DERIVATIVES, q=q, v=v, tau=tau, wrenches=wrenches)
    nv, batch = lower.shape[-1], lower.shape[:-3]
    both = np.zeros((*batch, 6 * nv * nv), lower.dtype)
    A, B = state_space_halves(both, nv)
    A[..., :nv, :nv] = others(MOVING_COORDINATES, v=v)
    A[..., :nv, nv:] = np.eye(nv)
    A[..., nv:, :nv], A[..., nv:, nv:], B[..., nv:, :] = (lower[..., by, :, :] for by in range(3))
    return both


def state_space_halves(both: Array, nv: int) -> tuple[Array, Array]:
    """A (..., 2 nv, 2 nv) and B (..., 2 nv, nv), views of what they are kept in."""
    split, batch = 4 * nv * nv, both.shape[:-1]
    A, B = both[..., :split], both[..., split:]
    try:
        return A.reshape(*batch, 2 * nv, 2 * nv), B.reshape(*batch, 2 * nv, nv)
    except AttributeError:  # the array API standard has a function instead
        reshape = both.__array_namespace__().reshape
        return reshape(A, (*batch, 2 * nv, 2 * nv)), reshape(B, (*batch, 2 * nv, nv))


def _moving_coordinates(of: Subject, given: Names) -> Recipe:
    model = of.model
    gather = partial(forward_derivatives.moving_entries, model)
    return Recipe(forward_derivatives.MOVING_COORDINATES, gather, (model.nv, model.nv))


INVERSE_DYNAMICS_DERIVATIVES = Quantity(
    "inverse_dynamics_derivatives",
    ("q", "v", "a"),
    _inverse_derivatives,
    "by q, by v, by a; N m for rotations, N for translations, per unit; places as in v",
    optional=("wrenches",),
    reads=READS,
    on_constraints=refusals.DERIVATIVES,
)
LINEARIZE = Quantity(
    "linearize",
    ("q", "v", "a"),
    _linearize,
    INVERSE_DYNAMICS_DERIVATIVES.units,
    of_joints=True,
    on_constraints=refusals.DERIVATIVES,
)
LINEARIZE_ALONG = Quantity(
    "linearize.along",
    ("q", "v", "a", "dq", "dv", "da"),
    _along,
    FORCES,
    optional=("wrenches",),
    reads={"dq": "joint:dq", "dv": "joint:dv", "da": "joint:da", **READS},
    on_constraints=refusals.DERIVATIVES,
)
FORWARD_DYNAMICS_DERIVATIVES = Quantity(
    "forward_dynamics_derivatives",
    ("q", "v", "tau"),
    _forward_derivatives,
    "by q, by v, by tau; rad/s^2 for rotations, m/s^2 for translations, per unit; places as in v",
    optional=("wrenches",),
    reads=READS,
    on_constraints="obeys",
)
STATE_SPACE = Quantity(
    "state_space",
    ("q", "v", "tau"),
    _state_space,
    "A, then B, row by row; rows (dq, dv) per s, columns dq, dv and tau",
    optional=("wrenches",),
    reads=READS,
    on_constraints=refusals.DERIVATIVES,
)
MOVING_COORDINATES = Quantity(
    "state_space.moving_coordinates", ("v",), _moving_coordinates, "rad/s and m/s; rows and columns as in v"
)
