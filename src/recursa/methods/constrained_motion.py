"""Derivatives of motion that obeys constraints, and how such robots yield, as quantities."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from recursa.constraints import constraint_derivatives, dense, free_directions, plans
from recursa.constraints.balancing import balanced
from recursa.constraints.quantities import (
    CONSTRAINT_FORCES,
    CONSTRAINT_JACOBIAN,
    WRENCHES_OF_MULTIPLIERS,
    by_matrices,
    constrained,
    constrained_model,
    orthonormal_rows,
    with_multipliers,
)
from recursa.dynamics.gathering import FORCES
from recursa.dynamics.kinematics import POSES
from recursa.dynamics.wrenches import Losses, known_losses, wrench_array
from recursa.errors import StateError, shortened
from recursa.evaluation.evaluator import Evaluator
from recursa.kernels.loop import Looped
from recursa.kernels.products import Product
from recursa.methods.inverse_and_forward import FORWARD_DYNAMICS, INVERSE_DYNAMICS, OPTIONAL, READS
from recursa.methods.matrices import MASS_MATRIX
from recursa.model.columns import freedom_names
from recursa.model.may_move import MayMove
from recursa.model.model import Model
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
    gather = partial(constraint_derivatives.change_entries, model)
    shape = ((3 * model.ncon + model.nv) * model.nv,)
    return Recipe(constraint_derivatives.changes_plan(model), gather, shape, MayMove.FRAMES)


def derivatives_recipe(torques: Quantity, of: Subject, given: Names) -> Recipe | Composed:
    """Derivatives of accelerations: in one kernel, or made of ``torques``, the derivatives of inverse dynamics."""
    model = constrained_model(of)
    apart = Composed(partial(constrained_derivatives, torques, model))
    if by_matrices(of) or not constraint_derivatives.has_common_axes(model):
        return apart
    plan = constraint_derivatives.derivatives_plan(model, wrenches="wrenches" in given, springs=model.has_springs)
    return Recipe(
        plan,
        partial(constraint_derivatives.derivative_entries, model),
        (3, model.nv, model.nv),
        MayMove.INERTIAS,
        looped=Looped(
            plan,
            partial(constraint_derivatives.factor_entries, model),
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


# ---- -----------------------------------------------------------------------------------------------------------------
# Torques of the joints that have motors, while the constraints of the robot carry what they can, as quantities.


Motors = tuple[str, ...]


def motors_of(model: Model, actuated: Motors | None) -> Motors:
    """The joints that have motors: those that are named, or all joints of a robot without constraints."""
    if actuated is not None:
        return actuated
    if constrained(model):
        raise StateError(
            f"robot '{model.name}' has constraints, so not every joint needs a motor: name the joints that have one, "
            'actuated=["...", ...]. Its joints are '
            + ", ".join(repr(joint.name) for joint in model.joints if joint.independent)
        )
    return tuple(joint.name for joint in model.joints if joint.independent)


def _actuator_torques(of: Subject, given: Names, *, actuated: Motors | None = None, losses: Losses = False) -> Composed:
    tree = partial(_torques_of_tree, {"losses": known_losses(losses)})
    return Composed(partial(balanced, of.model, motors_of(of.model, actuated), tree))


def _torques_of_tree(options: dict[str, Any], others: Any, **arguments: Any) -> Array:
    """Torques that move the tree without the help of constraints."""
    return others.tree(INVERSE_DYNAMICS, options, **arguments)  # type: ignore[no-any-return]


def _equivalent_torques(of: Subject, given: Names, *, actuated: Motors | None = None) -> Composed:
    return Composed(partial(balanced, of.model, motors_of(of.model, actuated), _as_they_are))


def _as_they_are(others: Any, *, q: Any, forces: Any) -> Array:
    batch = np.broadcast_shapes(np.shape(q)[:-1], np.shape(forces)[:-1])
    return np.broadcast_to(forces, (*batch, np.shape(forces)[-1]))


_BOTH = f"{FORCES}; then, places likewise, what neither motors nor constraints supply"

ACTUATOR_TORQUES = Quantity(
    "actuator_torques",
    ("q", "v", "a"),
    _actuator_torques,
    _BOTH,
    optional=OPTIONAL,
    reads=READS,
    exported=False,
    on_constraints="obeys",
)
EQUIVALENT_TORQUES = Quantity(
    "actuator_torques.equivalent",
    ("q", "forces"),
    _equivalent_torques,
    _BOTH,
    reads={"forces": "joint:forces"},
    words={"forces": "forces at all joints, places as in v"},
    exported=False,
    on_constraints="obeys",
)

_ROUNDING = 1e-8  # of the largest force, which neither motors nor constraints supply


def motor_torques(evaluator: Evaluator, q: Array, forces: Array, actuated: Motors | None) -> Array:
    """Torques of motors (..., nv) that do what forces at all joints would do; StateError where they cannot."""
    both = evaluator.evaluate(EQUIVALENT_TORQUES, {"q": q, "forces": forces}, {"actuated": actuated})
    tau, residual = both[..., 0, :], both[..., 1, :]
    lacking = np.abs(residual) > _ROUNDING * np.abs(forces).max(axis=-1, keepdims=True, initial=0.0)
    if lacking.any():
        model = evaluator.model
        worst = int(np.nanargmax(np.where(lacking, np.abs(residual), 0.0))) % model.nv
        largest = float(np.nanmax(np.where(lacking, np.abs(residual), 0.0)))
        names = shortened([f"'{name}'" for name in motors_of(model, actuated)]) or "no joint"
        raise StateError(
            f"robot '{model.name}' has motors at {names}, which cannot drive this motion: {largest:.6g} N m or N at "
            f"'{freedom_names(model)[worst]}' is supplied neither by them nor by the constraints.\n"
            "  Name all joints that have motors in actuated=, or ask for another motion."
        )
    return np.ascontiguousarray(tau)
