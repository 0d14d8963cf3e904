"""Torques of chosen actuators for a wanted motion, with the constraints carrying what they can.

``mass a + bias = S tau + G* lambda + residual``: only what the constraints do not carry has to be driven. With P the
projection onto speeds that they allow, ``P S tau = P T`` with T the torques of the tree; of several tau the shortest,
and where none will do, the one that leaves the shortest residual. The residual is what the equations of motion leave
with the torques and the constraint forces that were found, ``mass a + bias - S tau - G* lambda``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from recursa.constraints import dense
from recursa.constraints.quantities import CONSTRAINT_JACOBIAN, constrained, orthonormal_rows
from recursa.errors import StateError
from recursa.model.model import Model
from recursa.sweeps.batching import Array


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


def balanced(model: Model, actuated: tuple[str, ...], torques: Any, others: Any, *, q: Any, **more: Any) -> Array:
    """The torques and the residual (..., 2, nv); ``torques(others, q=..., ...)`` are the torques of the tree."""
    places = driven_speeds(model, actuated)
    whole = np.asarray(torques(others, q=q, **more))
    if not constrained(model):  # what has a motor has it all, what has none is left over
        tau = np.zeros_like(whole)
        tau[..., places] = whole[..., places]
        return np.stack([tau, whole - tau], axis=-2)
    columns = [whole[..., k] for k in range(model.nv)]
    G = others(CONSTRAINT_JACOBIAN, q=q)
    rows = [[G[..., i, j] for j in range(model.nv)] for i in range(G.shape[-2])]
    held = orthonormal_rows(model, rows)
    dtype = np.result_type(whole, G)
    units = [[1.0 if k == place else 0.0 for k in range(model.nv)] for place in places]
    driving = [dense.left_free(held, unit) for unit in units]  # rows of S* P
    chosen = dense.orthonormal(driving, [1.0] * len(driving))
    found = dense.reactions(chosen, dense.left_free(held, columns))
    tau = np.zeros(whole.shape, dtype)
    for place, value in zip(places, found, strict=True):
        tau[..., place] = value
    missing = whole - tau
    forces = dense.reactions(held, [missing[..., k] for k in range(model.nv)])
    for row, force in enumerate(forces):
        missing = missing - G[..., row, :] * np.asarray(force)[..., None]
    return np.stack([tau, missing], axis=-2).astype(dtype, copy=False)
