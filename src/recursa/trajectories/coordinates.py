"""From coordinates and their time derivatives to speeds and accelerations, and back, joint by joint.

Curves through points are curves of coordinates; a quaternion's four leave the unit sphere between the points. What
counts is its direction ``p/|p|``, whose angular velocity in child axes is the vector part of ``2 p* dp/dt / |p|^2``:
a change of length only adds to the scalar part. So speeds and accelerations are exact derivatives all the same.
"""

from __future__ import annotations

import math

import numpy as np

from recursa.model.model import Joint, Model
from recursa.sweeps.batching import Array

States = tuple[Array, Array, Array]


def aligned(model: Model, q: Array) -> Array:
    """The same rows with each quaternion on the side of the row before: q and -q are the same rotation."""
    q = q.copy()
    for start in model.quaternions:
        part = q[:, start : start + 4]
        flips = np.sign(np.sum(part[1:] * part[:-1], axis=1))
        part[1:] *= np.cumprod(np.where(flips < 0.0, -1.0, 1.0))[:, None]
    return q


def states(model: Model, p: Array, dp: Array, ddp: Array) -> States:
    """q (N, nq), v and a (N, nv) of coordinates p with their derivatives (N, nq)."""
    q, v, a = p.copy(), np.empty((len(p), model.nv)), np.empty((len(p), model.nv))
    for joint in model.joints:
        if joint.independent:
            own, freedoms = _spans(joint)
            parts = joint.kind.motion_of(*(tuple(rows[:, own].T) for rows in (p, dp, ddp)))
            q[:, own], v[:, freedoms], a[:, freedoms] = (np.stack(part, axis=1) for part in parts)
    return q, v, a


def coordinate_rates(model: Model, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
    """The first and second time derivatives of q (N, nq) of a motion with v and a (N, nv)."""
    dq, ddq = np.empty_like(q), np.empty_like(q)
    for joint in model.joints:
        if joint.independent:
            own, freedoms = _spans(joint)
            coordinates, speeds, accelerations = (
                tuple(columns.T) for columns in (q[:, own], v[:, freedoms], a[:, freedoms])
            )
            dq[:, own] = np.stack(joint.kind.rates(coordinates, speeds), axis=1)
            ddq[:, own] = np.stack(joint.kind.second_rates(coordinates, speeds, accelerations), axis=1)
    return dq, ddq


def _spans(joint: Joint) -> tuple[slice, slice]:
    q, v = joint.q_start, joint.v_start
    return slice(q, q + joint.kind.nq), slice(v, v + joint.kind.nv)


def shortest_quaternion(model: Model, p: Array) -> tuple[float, str]:
    """The least length of any quaternion in rows of coordinates, and its joint."""
    shortest, where = math.inf, ""
    for joint in model.joints:
        if joint.kind.quaternion is not None:
            start = joint.q_start + joint.kind.quaternion
            length = float(np.linalg.norm(p[:, start : start + 4], axis=1).min())
            shortest, where = min((shortest, where), (length, joint.name))
    return shortest, where
