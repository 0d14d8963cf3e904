"""Torques of chosen actuators for a wanted motion, with the constraints carrying what they can.

``mass a + bias = S tau + G* lambda + residual``: only what the constraints do not carry has to be driven. With P the
projection onto speeds that they allow, ``P S tau = P T`` with T the torques of the tree; of several tau the shortest,
and where none will do, the one that leaves the shortest residual ``P (T - S tau)``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from recursa.constraints import dense
from recursa.constraints.quantities import CONSTRAINT_JACOBIAN, constrained
from recursa.errors import StateError
from recursa.model.model import Model
from recursa.spatial.small_systems import factored, shortest, solve_ranked
from recursa.sweeps.batching import Array


class Balanced(np.ndarray[Any, Any]):
    """Torques (..., nv) with ``residual`` (..., nv): generalised forces that neither they nor constraints supply."""

    residual: Array = None  # type: ignore[assignment]  # of what is computed from it, which has none

    @staticmethod
    def of(tau: Array, residual: Array) -> Balanced:
        """Both together."""
        made = tau.view(Balanced)
        made.residual = residual
        return made

    def __array_wrap__(self, array: Array, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else np.asarray(array)


def driven_speeds(model: Model, actuated: Collection[str]) -> list[int]:
    """The places in v of actuated joints."""
    found: list[int] = []
    for name in actuated:
        joint = model.joints[model.joint_index(name)]
        if joint.tie is not None:
            raise StateError(
                f"joint '{name}' of robot '{model.name}' moves with another: it has no torque. Name its source"
            )
        found += range(joint.v_start, joint.v_start + joint.kind.nv)
    return sorted(set(found))


def balanced(model: Model, actuated: tuple[str, ...], torques: Any, others: Any, *, q: Any, **more: Any) -> Balanced:
    """The torques; ``torques(others, q=..., ...)`` are those of the tree."""
    places = driven_speeds(model, actuated)
    whole = np.asarray(torques(others, q=q, **more))
    columns = [whole[..., k] for k in range(model.nv)]
    rows: list[list[Array]] = []
    scales: list[float] = []
    if constrained(model):
        G = others(CONSTRAINT_JACOBIAN, q=q)
        rows = [[G[..., i, j] for j in range(model.nv)] for i in range(model.ncon)]
        scales = dense.row_scales([unit for one in model.equations for unit in one.units], model.unit_length)
    held = dense.orthonormal(rows, scales)
    free = dense.left_free(held, columns)
    units = [[1.0 if k == place else 0.0 for k in range(model.nv)] for place in places]
    driving = [dense.left_free(held, unit) for unit in units]  # P S, column by column
    system = [[dense.dot(one, other) for other in driving] for one in driving]
    factors = factored(system, [1.0] * len(system))
    found = shortest(factors, solve_ranked(factors, [dense.dot(one, free) for one in driving])) if places else []
    left = dense.combined(driving, found, model.nv)
    tau = np.zeros(whole.shape, whole.dtype)
    for place, value in zip(places, found, strict=True):
        tau[..., place] = value
    residual = np.stack([np.broadcast_to(x - y, whole.shape[:-1]) for x, y in zip(free, left, strict=True)], axis=-1)
    return Balanced.of(tau, residual)
