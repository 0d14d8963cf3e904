"""Derivatives of motion that obeys constraints, and how such robots yield, as quantities."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from recursa.constraints import dense, derivatives, free_directions, plans
from recursa.constraints.quantities import (
    CONSTRAINT_FORCES,
    CONSTRAINT_JACOBIAN,
    WRENCHES_OF_MULTIPLIERS,
    by_matrices,
    constrained_model,
    orthonormal_rows,
    with_multipliers,
)
from recursa.dynamics.kinematics import POSES
from recursa.dynamics.wrenches import wrench_array
from recursa.kernels.loop import Looped
from recursa.kernels.products import Product
from recursa.methods.inverse_and_forward import FORWARD_DYNAMICS, READS
from recursa.methods.matrices import MASS_MATRIX
from recursa.model.model import Model
from recursa.model.moving import MayMove
from recursa.quantities import Composed, Names, Quantity, Recipe, Subject
from recursa.sweeps.batching import Array

# ---- how it yields ---------------------------------------------------------------------------------------------------


def _responses(of: Subject, given: Names) -> Recipe | Composed:
    model = constrained_model(of)
    apart = Composed(partial(_responses_by_projection, model))
    if by_matrices(of):
        return apart
    gather, shape = partial(free_directions.response_entries, model), (model.nv + model.ncon, model.nv)
    return Recipe(free_directions.responses_plan(model), gather, shape, MayMove.INERTIAS, apart=apart)


def _responses_by_projection(model: Model, others: Any, *, q: Any) -> Array:
    """K, and what demanded accelerations do, from matrices."""
    n, m = model.nv, model.ncon
    both = others(MASS_MATRIX, q=q), others(CONSTRAINT_JACOBIAN, q=q)
    mass, G = ([[x[..., i, j, None] for j in range(n)] for i in range(x.shape[-2])] for x in both)
    rows = orthonormal_rows(model, G)
    torques, demands = np.eye(n, n + m), -np.eye(m, n + m, n)  # right sides, one after the other
    found = np.stack(dense.by_projection(mass, list(torques), rows, list(demands)), axis=-2)
    return np.swapaxes(found, -1, -2).astype(np.result_type(*both), copy=False)


def _compliance(of: Subject, given: Names) -> Composed:
    return Composed(partial(_compliance_of, constrained_model(of)))


def _compliance_of(model: Model, others: Any, *, q: Any) -> Array:
    return np.ascontiguousarray(others(RESPONSES, q=q)[..., : model.nv, :])


# ---- derivatives -----------------------------------------------------------------------------------------------------


def _motion(of: Subject, given: Names) -> Recipe | Composed:
    """Accelerations, and the multipliers behind them."""
    model = constrained_model(of)
    if by_matrices(of):
        return Composed(_motion_apart)
    options = {"wrenches": "wrenches" in given, "told": "prescribed" in given, "springs": model.has_springs}
    plan = plans.forward_plan(model, **options)
    return Recipe(plan, partial(with_multipliers, model, "qdd"), (model.nv + model.ncon,), MayMove.INERTIAS)


def _motion_apart(others: Any, **given: Any) -> Array:
    return np.concatenate([others(FORWARD_DYNAMICS, **given), others(CONSTRAINT_FORCES, **given)], axis=-1)


def _changes(of: Subject, given: Names) -> Recipe:
    model = constrained_model(of)
    gather = partial(derivatives.change_entries, model)
    shape = ((3 * model.ncon + model.nv) * model.nv,)
    return Recipe(derivatives.changes_plan(model), gather, shape, MayMove.FRAMES)


def derivatives_recipe(torques: Quantity, of: Subject, given: Names) -> Recipe | Composed:
    """Derivatives of accelerations: in one kernel, or made of ``torques``, the derivatives of inverse dynamics."""
    model = constrained_model(of)
    apart = Composed(partial(constrained_derivatives, torques, model))
    if by_matrices(of) or not derivatives.has_common_axes(model):
        return apart
    plan = derivatives.derivatives_plan(model, wrenches="wrenches" in given, springs=model.has_springs)
    return Recipe(
        plan,
        partial(derivatives.derivative_entries, model),
        (3, model.nv, model.nv),
        MayMove.INERTIAS,
        looped=Looped(
            plan,
            partial(derivatives.factor_entries, model),
            product=Product(model.nv, factors=2, more=model.ncon),
        ),
        apart=apart,
    )


_BLOCK = 256  # states at a time, whose matrices stay in the cache


def constrained_derivatives(torques: Quantity, model: Model, others: Any, **given: Any) -> Array:
    """``-K r - Psi s`` by q and by v, and K; ``torques`` are the derivatives of inverse dynamics."""
    given = {name: x for name, x in given.items() if x is not None}
    if "wrenches" in given:
        given["wrenches"] = wrench_array(model, given["wrenches"], lambda: others(POSES, q=given["q"]))
    arrays = {name: np.asarray(x) for name, x in given.items()}
    own = {name: 2 if name == "wrenches" else 1 for name in arrays}
    batch = np.broadcast_shapes(*(x.shape[: x.ndim - own[name]] for name, x in arrays.items()))
    count = int(np.prod(batch, dtype=int))
    if count <= _BLOCK:
        return _derivatives(torques, model, others, **arrays)
    rows = {
        name: np.broadcast_to(x, (*batch, *x.shape[x.ndim - own[name] :])).reshape(-1, *x.shape[x.ndim - own[name] :])
        for name, x in arrays.items()
    }
    result = np.empty((count, 3, model.nv, model.nv), np.result_type(*arrays.values()))
    for start in range(0, count, _BLOCK):
        part = {name: x[start : start + _BLOCK] for name, x in rows.items()}
        result[start : start + _BLOCK] = _derivatives(torques, model, others, **part)
    return result.reshape(*batch, *result.shape[1:])


def _derivatives(
    torques: Quantity, model: Model, others: Any, *, q: Any, v: Any, tau: Any, wrenches: Any = None
) -> Array:
    n = model.nv
    motion = others(MOTION, q=q, v=v, tau=tau, **({} if wrenches is None else {"wrenches": wrenches}))
    a, multipliers = np.ascontiguousarray(motion[..., :n]), np.ascontiguousarray(motion[..., n:])
    pushing = others(WRENCHES_OF_MULTIPLIERS, q=q, multipliers=multipliers)
    if wrenches is not None:
        pushing = pushing + wrenches
    result = others.tree(torques, q=q, v=v, a=a, wrenches=pushing)
    found = others(CONSTRAINT_CHANGES, q=q, v=v, a=a, multipliers=multipliers)
    batch = result.shape[:-3]
    responding = np.broadcast_to(_with_batch(others(RESPONSES, q=q), len(batch)), (*batch, n + model.ncon, n))
    _solved(model, *(x.reshape(-1, *x.shape[len(batch) :]) for x in (result, found, responding)))
    return result  # type: ignore[no-any-return]


def _with_batch(found: Array, axes: int) -> Array:
    """Of fewer states than there are speeds or torques, maybe."""
    return found.reshape(*(1,) * (axes + 2 - found.ndim), *found.shape)


def _solved(model: Model, result: Array, found: Array, responding: Array) -> None:
    """In place of the derivatives of torques those of accelerations, for some states."""
    n, m = model.nv, model.ncon
    K = responding[:, :n]
    s = found[:, n * m : 3 * n * m].reshape(-1, 2, m, n)
    result[:, 0] -= found[:, 3 * n * m :].reshape(-1, n, n)
    right = np.empty((len(result), n + m, 2 * n), result.dtype)  # r over s, by q and by v side by side
    for by in range(2):
        columns = slice(by * n, by * n + n)
        np.negative(result[:, by], out=right[:, :n, columns])
        np.negative(s[:, by], out=right[:, n:, columns])
    both = np.swapaxes(responding, -1, -2) @ right  # K is symmetric
    result[:, 0], result[:, 1], result[:, 2] = both[..., :n], both[..., n:], K


RESPONSES = Quantity(
    "constraints.responses",
    ("q",),
    _responses,
    "rad/s^2 and m/s^2 per torque, then per demanded acceleration of an equation; columns as in v",
    on_constraints="obeys",
)
CONSTRAINED_COMPLIANCE = Quantity(
    "constrained_compliance",
    ("q",),
    _compliance,
    "times torques: rad/s^2 and m/s^2; rows and columns as in v",
    on_constraints="obeys",
)
MOTION = Quantity(
    "constraints.motion",
    ("q", "v", "tau"),
    _motion,
    "accelerations as in v, then constraint forces",
    optional=("wrenches", "prescribed"),
    reads=READS,
    on_constraints="obeys",
)
CONSTRAINT_CHANGES = Quantity(
    "constraints.changes",
    ("q", "v", "a", "multipliers"),
    _changes,
    "G, derivatives of G a + gamma by q and by v, that of G* lambda by q",
)
