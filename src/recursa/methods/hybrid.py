"""Hybrid dynamics as a quantity: by one plan, or by the mass matrix where joints are tied."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from recursa.dynamics.gathering import joint_vector
from recursa.dynamics.hybrid import hybrid_plan
from recursa.dynamics.joint_space import ACCELERATIONS, FORCES
from recursa.dynamics.losses import JOINT_LOSSES, Losses
from recursa.errors import StateError
from recursa.methods.inverse_and_forward import EQUATIONS_OF_MOTION, READS
from recursa.model.model import Model
from recursa.model.moving import MayMove
from recursa.quantities import Composed, Names, Quantity, Recipe, Subject, refusals
from recursa.sweeps import Values
from recursa.sweeps.batching import Array, as_array, cut


def _hybrid_dynamics(
    of: Subject, given: Names, *, prescribed: tuple[str, ...], losses: Losses = False
) -> Recipe | Composed:
    """Accelerations, then torques, of all joints."""
    model, held = of.model, held_joints(of.model, prescribed)
    if of.tied:
        return Composed(partial(_by_mass_matrix, model, held, losses))
    plan = hybrid_plan(held=held, wrenches="wrenches" in given, losses=losses, springs=model.has_springs)
    return Recipe(plan, partial(_both, model), (2, model.nv), MayMove.INERTIAS)


def names_of(prescribed: Any, what: str = "prescribed") -> tuple[str, ...]:
    """Names of joints as a tuple, whatever collection they came in."""
    if isinstance(prescribed, str) or not isinstance(prescribed, Iterable):
        raise StateError(
            f'{what} takes names of joints, several or one, as in ("joint1",) or robot.joint_names[:2]; got '
            f"{prescribed!r}"
        )
    return prescribed if type(prescribed) is tuple else tuple(prescribed)


def held_joints(model: Model, prescribed: Collection[str]) -> tuple[int, ...]:
    """The numbers of the joints that are prescribed, base first."""
    found = sorted({model.joint_index(name) for name in names_of(prescribed)})
    for joint in (model.joints[k] for k in found):
        if joint.tie is not None:
            source = next(one.name for one in model.joints if one.independent and one.v_start == joint.v_start)
            raise StateError(
                f"joint '{joint.name}' of robot '{model.name}' moves with joint '{source}', so it has no acceleration "
                f"of its own to prescribe. Prescribe '{source}', or load the robot with mimic=\"free\""
            )
    return tuple(found)


def _both(model: Model, values: Values) -> Any:
    return chain(*(joint_vector(model, values.lists.get(name, [])) for name in ("qdd", "T")))


def _by_mass_matrix(
    model: Model,
    held: tuple[int, ...],
    losses: Losses,
    others: Any,
    *,
    q: Any,
    v: Any,
    a: Any,
    tau: Any,
    wrenches: Any = None,
) -> Array:
    """The equations of motion ``M a + C = tau`` by rows: those of the free joints are solved, then all are known."""
    a, tau = (as_array(model, name, x, coordinates=False) for name, x in (("a", a), ("tau", tau)))
    known = np.zeros(model.nv, bool)
    for joint in (model.joints[k] for k in held):
        known[joint.v_start : joint.v_start + joint.kind.nv] = True
    others.require_hinges(q=q)
    equations = others(EQUATIONS_OF_MOTION, q=q, v=v, wrenches=wrenches)
    entries, bias = cut(equations, [model.nv**2])
    mass = entries.reshape(*bias.shape, model.nv)
    bias = bias + others(JOINT_LOSSES, {"losses": losses}, v=v) if losses else bias
    done = np.where(known, a, 0.0)
    left = (tau - bias - (mass @ done[..., None])[..., 0])[..., ~known]
    moved = others.solve(mass[..., ~known, :][..., ~known], left[..., None])[..., 0]
    done = np.broadcast_to(done, (*moved.shape[:-1], model.nv)).astype(np.result_type(done, moved))
    done[..., ~known] = moved
    needed = (mass @ done[..., None])[..., 0] + bias
    return np.stack([done, np.where(known, needed, tau)], axis=-2)


HYBRID_DYNAMICS = Quantity(
    "hybrid_dynamics",
    ("q", "v", "a", "tau"),
    _hybrid_dynamics,
    f"accelerations: {ACCELERATIONS}; then torques: {FORCES}",
    optional=("wrenches",),
    reads=READS,
    words={
        "a": "accelerations, places as in v; those of joints that are not prescribed are not looked at",
        "tau": f"joint forces: {FORCES}; those of prescribed joints are not looked at",
    },
    of_joints=True,
    on_constraints=refusals.TORQUES,
)
