"""How far states are from desired ones, as controllers see it, by name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import recursa as rc
from recursa.control.tracking import TRACKING

Array = np.ndarray


class Deviation(NamedTuple):
    """From q to the desired configuration, desired less actual speeds, what is fed forward, the rate of the first."""

    x: Array
    velocity: Array
    acceleration: Array
    rate: Array


def deviation(robot: rc.Robot, q: Array, v: Array, wanted: tuple[Array, Array, Array]) -> Deviation:
    """All (..., nv), in the axes of q."""
    q_d, v_d, a_d = wanted
    found = robot.evaluator.evaluate(TRACKING, {"q": q, "v": v, "q_d": q_d, "v_d": v_d, "a_d": a_d})
    return Deviation(*np.moveaxis(found, -2, 0))
