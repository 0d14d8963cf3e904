"""Stops at joint limits: which joints can have one, and the numbers that stops have unless others are chosen."""

from __future__ import annotations

import math

from recursa.model.model import Joint, Model

STOP_FREQUENCY = 200.0
"""rad/s at which a joint would swing on a stop whose stiffness is not given: stiff, yet 1 ms is a small part of it."""

STOP_DAMPING = 1.0
"""s/rad or s/m: how much more a stop pushes per unit of speed into it."""


def limited_joints(model: Model) -> list[Joint]:
    """Return the joints that a stop can hold: one coordinate, moved by no other joint, with a finite limit."""
    return [
        joint
        for joint in model.joints
        if joint.limits is not None and joint.independent and joint.kind.nv == joint.kind.nq == 1
        if any(map(math.isfinite, joint.limits))
    ]
