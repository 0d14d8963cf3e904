"""Random states for benchmarks."""

from __future__ import annotations

from recursa.interop.timing import Asked
from recursa.quantities import quantity
from recursa.robot import Robot
from recursa.sweeps.batching import Array


def sample(robot: Robot, states: int) -> tuple[Array, Array, Array]:
    """Rows of q, v and of accelerations or torques."""
    q, v, a = Asked(robot, quantity("inverse_dynamics"), states).arrays.values()
    return q, v, a
