"""How native entries read the arguments of one state: which array, which places of names, which quaternions."""

from __future__ import annotations

from typing import Any

import numpy as np

from recursa.kernels.switch import native_module
from recursa.model.model import Model
from recursa.sweeps.batching import Array
from recursa.sweeps.inputs import kind_of_input


def argument_input(model: Model, name: str, size: int, *, checked: bool = True, bounds: Array | None = None) -> Any:
    """The reader of an argument of so many numbers: arrays; for joint vectors also lists, tuples, and mappings by joint
    name. Quaternions are ``checked`` for unit length, or left to the caller. Coordinates beyond ``bounds`` (nq,), which
    may change later, are not read but left to the general way.
    """
    kind = kind_of_input(name)
    axes = kind.axes(model, size)
    if kind.of_joint is None:
        return native_module.Input(axes)
    places, neutral = {}, np.zeros(axes)
    for k, joint in enumerate(model.joints):
        if joint.independent:
            part = kind.part(model, k)
            places[joint.name] = (part.start, part.stop - part.start)
            neutral[part] = joint.kind.neutral() if kind.coordinates else 0.0
    own = {} if bounds is None or not kind.coordinates else {"bounds": bounds}
    return native_module.Input(axes, places, neutral, model.quaternions if kind.coordinates and checked else (), **own)
