"""From coordinates and their time derivatives to speeds and accelerations, and back, joint by joint.

Curves through points are curves of coordinates; a quaternion's four leave the unit sphere between the points. What
counts is its direction ``p/|p|``, whose angular velocity in child axes is the vector part of ``2 p* dp/dt / |p|^2``:
a change of length only adds to the scalar part. So speeds and accelerations are exact derivatives all the same.
"""

from __future__ import annotations

import math

import numpy as np

from recursa.model.model import Joint, Model
from recursa.spatial.rotation import Quaternion, Rotation
from recursa.spatial.vec3 import Vec3
from recursa.sweeps.batching import Array

States = tuple[Array, Array, Array]


def is_flat(model: Model) -> bool:
    """Whether speeds are the time derivatives of the coordinates: every joint has one freedom."""
    return all(joint.kind.nv == 1 for joint in model.joints)


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
            parts = _joint_states(joint, p[:, own].T, dp[:, own].T, ddp[:, own].T)
            q[:, own], v[:, freedoms], a[:, freedoms] = (np.stack(part, axis=1) for part in parts)
    return q, v, a


def coordinate_rates(model: Model, q: Array, v: Array, a: Array) -> tuple[Array, Array]:
    """The first and second time derivatives of q (N, nq) of a motion with v and a (N, nv)."""
    dq, ddq = np.empty_like(q), np.empty_like(q)
    for joint in model.joints:
        if joint.independent:
            own, freedoms = _spans(joint)
            parts = _joint_rates(joint, q[:, own].T, v[:, freedoms].T, a[:, freedoms].T)
            dq[:, own], ddq[:, own] = (np.stack(part, axis=1) for part in parts)
    return dq, ddq


def _spans(joint: Joint) -> tuple[slice, slice]:
    q, v = joint.q_start, joint.v_start
    return slice(q, q + joint.kind.nq), slice(v, v + joint.kind.nv)


_Parts = tuple[Array, ...]


def _joint_states(joint: Joint, p: Array, dp: Array, ddp: Array) -> tuple[_Parts, _Parts, _Parts]:
    name = joint.kind.name
    if name == "spherical":
        return _turning(p, dp, ddp)
    if name == "free":
        turned, w, dw = _turning(p[3:], dp[3:], ddp[3:])
        back = Rotation.from_quaternion(Quaternion(*turned)).T
        u, du = back @ Vec3(*dp[:3]), back @ Vec3(*ddp[:3])
        du = du - Vec3(*w).cross(u)  # componentwise derivative in moving axes
        return (*p[:3], *turned), (*w, *u), (*dw, *du)
    if name == "planar":
        c, s = np.cos(p[2]), np.sin(p[2])
        x, y = c * dp[0] + s * dp[1], c * dp[1] - s * dp[0]
        dx, dy = c * ddp[0] + s * ddp[1], c * ddp[1] - s * ddp[0]
        w = dp[2]
        return tuple(p), (w, x, y), (ddp[2], dx + w * y, dy - w * x)
    return tuple(p), tuple(dp), tuple(ddp)


def _turning(p: Array, dp: Array, ddp: Array) -> tuple[_Parts, _Parts, _Parts]:
    """Unit quaternion, angular velocity and acceleration in child axes."""
    quaternion = Quaternion(*p)
    length = quaternion.norm_squared()
    turn, bend = (quaternion.conjugate() @ Quaternion(*rate) for rate in (dp, ddp))
    w = Vec3(turn.x, turn.y, turn.z) * (2.0 / length)
    dw = Vec3(bend.x, bend.y, bend.z) * (2.0 / length) - w * (2.0 * turn.w / length)
    return tuple(quaternion.normalized()), tuple(w), tuple(dw)


def _joint_rates(joint: Joint, q: Array, v: Array, a: Array) -> tuple[_Parts, _Parts]:
    name = joint.kind.name
    if name == "spherical":
        return _quaternion_rates(q, v, a)
    if name == "free":
        turn, bend = _quaternion_rates(q[3:], v[:3], a[:3])
        out = Rotation.from_quaternion(Quaternion(*q[3:]))
        w, u = Vec3(*v[:3]), Vec3(*v[3:])
        return (*(out @ u), *turn), (*(out @ (Vec3(*a[3:]) + w.cross(u))), *bend)
    if name == "planar":
        c, s = np.cos(q[2]), np.sin(q[2])
        (w, x, y), (dw, dx, dy) = v, a
        dx, dy = dx - w * y, dy + w * x
        return (c * x - s * y, s * x + c * y, w), (c * dx - s * dy, s * dx + c * dy, dw)
    return tuple(v), tuple(a)


def _quaternion_rates(q: Array, w: Array, dw: Array) -> tuple[_Parts, _Parts]:
    """``dq/dt = q w / 2`` and its derivative."""
    spin, bend = (Quaternion(rate[0], rate[1], rate[2], 0.0) for rate in (w, dw))
    rate = (Quaternion(*q) @ spin).scaled(0.5)
    again = tuple(0.5 * (x + y) for x, y in zip(Quaternion(*q) @ bend, rate @ spin, strict=True))
    return tuple(rate), again


def shortest_quaternion(model: Model, p: Array) -> tuple[float, str]:
    """The least length of any quaternion in rows of coordinates, and its joint."""
    shortest, where = math.inf, ""
    for joint in model.joints:
        if joint.kind.quaternion is not None:
            start = joint.q_start + joint.kind.quaternion
            length = float(np.linalg.norm(p[:, start : start + 4], axis=1).min())
            shortest, where = min((shortest, where), (length, joint.name))
    return shortest, where
