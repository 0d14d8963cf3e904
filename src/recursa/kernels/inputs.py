"""How native entries read the arguments of one state: which array, which places of names, which quaternions."""

from __future__ import annotations

from typing import Any

import numpy as np

from recursa.model.model import Model
from recursa.sweeps.batching import argument_axes, is_joint_vector
from recursa.sweeps.plan import COORDINATES

try:
    from recursa._entry import MAX_QUATERNIONS as MAX_QUATERNIONS
    from recursa._entry import Input as Input
except ImportError:  # the optional extension was not built
    Input, MAX_QUATERNIONS = None, 0


def argument_input(model: Model, name: str, size: int, *, checked: bool = True) -> Any:
    """The reader of an argument of so many numbers: arrays; for joint vectors also lists, tuples, and mappings by joint
    name. Quaternions are ``checked`` for unit length, or left to the caller.
    """
    axes, _ = argument_axes(model, name, size)
    if not is_joint_vector(name):
        return Input(axes)
    coordinates, places, neutral = name in COORDINATES, {}, np.zeros(axes)
    for joint in model.joints:
        if joint.independent:
            start, count = (joint.q_start, joint.kind.nq) if coordinates else (joint.v_start, joint.kind.nv)
            places[joint.name] = (start, count)
            neutral[start : start + count] = joint.kind.neutral() if coordinates else 0.0
    return Input(axes, places, neutral, model.quaternions if coordinates and checked else ())
