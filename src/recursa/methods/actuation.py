"""Torques of the joints that have motors, while the constraints of the robot carry what they can, as quantities."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from recursa.constraints.balancing import balanced
from recursa.constraints.quantities import constrained
from recursa.dynamics.joint_space import FORCES
from recursa.dynamics.losses import Losses, known_losses
from recursa.errors import StateError, shortened
from recursa.evaluation.evaluator import Evaluator
from recursa.methods.inverse_and_forward import INVERSE_DYNAMICS, OPTIONAL, READS
from recursa.model.columns import freedom_names
from recursa.model.model import Model
from recursa.quantities import Composed, Names, Quantity, Subject
from recursa.sweeps.batching import Array

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
