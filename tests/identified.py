"""Robots with friction, and logs of their motion with noise, for tests of identification."""

from __future__ import annotations

from typing import Any

import numpy as np

import recursa as rc
from recursa.identification.fourier import Series

ENCODER, SENSOR = 5e-5, 0.003  # rad, and of the largest torque: standard deviations of noise


def with_friction(robot: rc.Robot, *, armature: bool = True) -> rc.Robot:
    """The same with damping, dry friction and armature on every joint, each another."""
    for k, name in enumerate(robot.joint_names):
        more = {"armature": 0.05 + 0.01 * k} if armature else {}
        robot = robot.with_joint(name, damping=0.3 + 0.05 * k, friction=0.4 - 0.03 * k, **more)
    return robot


def vaguely(robot: rc.Robot, seed: int = 5) -> rc.Robot:
    """The same with masses and inertias of bodies that are known to a third."""
    shares = np.random.default_rng(seed).uniform(0.7, 1.4, size=(robot.nbodies, 1))
    return robot.with_parameters((robot.parameters.reshape(-1, 10) * shares).ravel())


def motion(robot: rc.Robot, seed: int, duration: float = 10.0, rate: float = 200.0) -> tuple[np.ndarray, ...]:
    """t, q, v, a of a random Fourier series about the middle of the range, with its exact derivatives."""
    rng = np.random.default_rng(seed)
    low, high = np.clip(robot.position_limits, -1.5, 1.5)
    series = Series(0.5 * duration, 5)
    t = np.arange(round(duration * rate)) / rate
    x, v, a = series.curve(0.12 * (high - low) * rng.normal(size=(10, robot.nv)) / np.sqrt(5.0), t)
    return t, 0.5 * (low + high) + x, v, a


def log(robot: rc.Robot, seed: int, noise: float = 1.0, **options: Any) -> dict[str, np.ndarray]:
    """What would be measured of such a motion: t, q, tau."""
    t, q, v, a = motion(robot, seed, **options)
    rng = np.random.default_rng(1000 + seed)
    tau = robot.inverse_dynamics(q, v, a, losses=True)
    sizes = np.abs(tau).max(axis=0)
    return {
        "t": t,
        "q": q + noise * ENCODER * rng.normal(size=q.shape),
        "tau": tau + noise * SENSOR * sizes * rng.normal(size=tau.shape),
    }
