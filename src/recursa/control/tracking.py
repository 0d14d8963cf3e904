"""How far a state is from a desired one, on joints of every kind.

On spherical, planar and free joints v and v_d are in different axes, those of q and of q_d. With ``q_d = q g``,
``g = exp(x)``, the desired motion seen from q is ``Ad_g v_d``, and its rate ``Ad_g a_d - [v, Ad_g v_d]``: the command
``a = Ad_g a_d - [v, Ad_g v_d] + damping e_v + stiffness x`` with ``e_v = Ad_g v_d - v`` makes ``e_v' = -damping e_v -
stiffness x`` exactly, and x' is e_v to first order in x. On all other joints that is ``x = q_d - q`` and the usual law.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recursa.model.joint_kind import JointKind
from recursa.robot import Robot
from recursa.sweeps.batching import Array

_TERMS = 30  # of exp(ad_x): pi^30/30! is rounding


class Deviation(NamedTuple):
    """``x`` from q to the desired configuration, ``velocity`` desired less actual, and what has to be fed forward."""

    x: Array
    velocity: Array
    acceleration: Array


def deviation(robot: Robot, q: Array, v: Array, wanted: tuple[Array, Array, Array]) -> Deviation:
    """All three (..., nv), in the axes of q."""
    x = robot.difference(q, wanted[0])
    velocity, acceleration = (np.array(np.broadcast_to(part, x.shape)) for part in wanted[1:])
    for joint in robot.model.joints:
        if joint.independent and joint.kind.nv > 1:
            own = slice(joint.v_start, joint.v_start + joint.kind.nv)
            moved = _carried(joint.kind, x[..., own], velocity[..., own])
            turning = _bracket(joint.kind, np.broadcast_to(v, x.shape)[..., own], moved)
            acceleration[..., own] = _carried(joint.kind, x[..., own], acceleration[..., own]) - turning
            velocity[..., own] = moved
    return Deviation(x, velocity - v, acceleration)


def _carried(kind: JointKind, x: Array, y: Array) -> Array:
    """``Ad_exp(x) y = y + [x, y] + [x, [x, y]]/2 + ...``."""
    total = term = y
    for k in range(1, _TERMS):
        term = _bracket(kind, x, term) / k
        total = total + term
    return total


def _bracket(kind: JointKind, x: Array, y: Array) -> Array:
    found = kind.bracket(list(np.moveaxis(x, -1, 0)), list(np.moveaxis(y, -1, 0)))
    if found is None:
        return np.zeros_like(y)
    return np.stack([np.broadcast_to(np.asarray(part, dtype=float), y.shape[:-1]) for part in found], axis=-1)
