"""Derivatives of motion that obeys constraints, and how such robots yield, as quantities."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from recursa.constraints import derivatives, free_directions, plans
from recursa.constraints.quantities import (
    CONSTRAINT_FORCES,
    CONSTRAINT_JACOBIAN,
    WRENCHES_OF_MULTIPLIERS,
    require_constraints,
)
from recursa.dynamics.gathering import joint_vector
from recursa.dynamics.springs import acting, with_springs
from recursa.methods.inverse_and_forward import FORWARD_DYNAMICS, READS
from recursa.methods.matrices import MASS_MATRIX_INVERSE
from recursa.model.model import Model
from recursa.model.moving import MayMove
from recursa.quantities import Composed, Names, Quantity, Recipe, Subject
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Values
from recursa.sweeps.batching import Array

# ---- how it yields ---------------------------------------------------------------------------------------------------


def _responses(of: Subject, given: Names) -> Recipe | Composed:
    model = of.model
    require_constraints(model)
    apart = Composed(partial(_responses_apart, model))
    if of.tied:
        return apart
    gather, shape = partial(free_directions.response_entries, model), (model.nv + model.ncon, model.nv)
    return Recipe(free_directions.responses_plan(model), gather, shape, MayMove.INERTIAS, apart=apart)


def _responses_apart(model: Model, others: Any, *, q: Any) -> Array:
    """From the inverse of the mass matrix and the rows, entry by entry for all states."""
    inverse, G = others(MASS_MATRIX_INVERSE, q=q), others(CONSTRAINT_JACOBIAN, q=q)
    rows, own = ([[x[..., i, j] for j in range(model.nv)] for i in range(x.shape[-2])] for x in (inverse, G))
    found = free_directions.responses(model, rows, own)
    result = np.empty((*inverse.shape[:-2], model.nv + model.ncon, model.nv), inverse.dtype)
    for i, row in enumerate((*found.compliance, *found.demanded)):
        for j, x in enumerate(row):
            result[..., i, j] = x
    return result


def _compliance(of: Subject, given: Names) -> Recipe | Composed:
    model = of.model
    require_constraints(model)
    apart = Composed(lambda others, *, q: others(RESPONSES, q=q)[..., : model.nv, :])
    if of.tied:
        return apart
    gather = partial(free_directions.compliance_entries, model)
    return Recipe(free_directions.responses_plan(model), gather, (model.nv,) * 2, MayMove.INERTIAS, apart=apart)


# ---- derivatives -----------------------------------------------------------------------------------------------------


@with_springs(acting)
def _motion(of: Subject, given: Names) -> Recipe | Composed:
    """Accelerations, and the multipliers behind them."""
    model = of.model
    require_constraints(model)
    if of.tied:
        return Composed(_motion_apart)
    options = {"wrenches": "wrenches" in given, "told": "prescribed" in given}
    plan = plans.forward_plan(model, model.unit_length, **options)
    return Recipe(plan, partial(_motion_entries, model), (model.nv + model.ncon,), MayMove.INERTIAS)


def _motion_entries(model: Model, values: Values) -> Iterator[Scalar]:
    return chain(joint_vector(model, values.lists.get("qdd", [])), values.robot["lambda"].entries)


def _motion_apart(others: Any, **given: Any) -> Array:
    return np.concatenate([others(FORWARD_DYNAMICS, **given), others(CONSTRAINT_FORCES, **given)], axis=-1)


def _changes(of: Subject, given: Names) -> Recipe:
    model = of.model
    require_constraints(model)
    gather = partial(derivatives.change_entries, model)
    shape = ((3 * model.ncon + model.nv) * model.nv,)
    return Recipe(derivatives.changes_plan(model), gather, shape, MayMove.FRAMES)


def constrained_derivatives(
    torques: Quantity, model: Model, others: Any, *, q: Any, v: Any, tau: Any, wrenches: Any = None, **more: Any
) -> Array:
    """``-K r - Psi s`` by q and by v, and K; ``torques`` are the derivatives of inverse dynamics."""
    n, m = model.nv, model.ncon
    given = {**more, **({} if wrenches is None else {"wrenches": wrenches})}
    motion = others(MOTION, q=q, v=v, tau=tau, **given)
    a, multipliers = np.ascontiguousarray(motion[..., :n]), np.ascontiguousarray(motion[..., n:])
    pushing = others(WRENCHES_OF_MULTIPLIERS, q=q, multipliers=multipliers)
    if wrenches is not None:
        pushing = pushing + wrenches
    result = others(torques, q=q, v=v, a=a, wrenches=pushing)
    found = others(CONSTRAINT_CHANGES, q=q, v=v, a=a, multipliers=multipliers)
    K = others(RESPONSES, q=q)
    batch = result.shape[:-3]
    s = found[..., n * m : 3 * n * m].reshape(*batch, 2, m, n)
    result[..., 0, :, :] -= found[..., 3 * n * m :].reshape(*batch, n, n)
    right = np.concatenate([result[..., :2, :, :], s], axis=-2)
    np.matmul(np.swapaxes(K, -1, -2)[..., None, :, :], right, out=result[..., :2, :, :])
    np.negative(result[..., :2, :, :], out=result[..., :2, :, :])
    result[..., 2, :, :] = K[..., :n, :]
    return result  # type: ignore[no-any-return]


RESPONSES = Quantity(
    "constrained_compliance.and_demanded",
    ("q",),
    _responses,
    "rad/s^2 and m/s^2 per torque, then per demanded acceleration of an equation; columns as in v",
)
CONSTRAINED_COMPLIANCE = Quantity(
    "constrained_compliance", ("q",), _compliance, "times torques: rad/s^2 and m/s^2; rows and columns as in v"
)
MOTION = Quantity(
    "constraints.motion",
    ("q", "v", "tau"),
    _motion,
    "accelerations as in v, then constraint forces",
    optional=("wrenches", "prescribed"),
    reads=READS,
)
CONSTRAINT_CHANGES = Quantity(
    "constraints.changes",
    ("q", "v", "a", "multipliers"),
    _changes,
    "G, derivatives of G a + gamma by q and by v, that of G* lambda by q",
)
