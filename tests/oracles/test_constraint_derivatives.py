"""Derivatives of constrained forward dynamics, against differences of its accelerations: every kind of constraint."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from test_constraints_dense import ROBOTS, state

QUICK = ("closed_tree", "springs", "tied", "rod")  # the others take seconds to compile
robots = pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in ROBOTS]
)


def differences(robot: rc.Robot, accelerations) -> np.ndarray:
    """d/dx at zero, by differences of order four."""
    h, columns = 1e-4, []
    for unit in np.eye(robot.nv):
        at = [accelerations(k * h * unit) for k in (-2, -1, 1, 2)]
        columns.append((at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h))
    return np.array(columns).T


@robots
def test_derivatives_are_those_of_the_accelerations(name: str) -> None:
    robot = ROBOTS[name]()
    q, v, tau = state(robot)
    ways = (
        lambda d: robot.forward_dynamics(robot.integrate(q, d), v, tau),
        lambda d: robot.forward_dynamics(q, v + d, tau),
        lambda d: robot.forward_dynamics(q, v, tau + d),
    )
    for found, way in zip(robot.forward_dynamics_derivatives(q, v, tau), ways, strict=True):
        expected = differences(robot, way)
        assert np.abs(found - expected).max() <= 1e-8 * max(1.0, np.abs(expected).max())


def test_pushed_links_and_many_states() -> None:
    robot = ROBOTS["closed_tree"]()
    q, v, tau = (np.array(x) for x in zip(*(state(robot, k) for k in range(3)), strict=True))
    wrenches = np.random.default_rng(3).normal(size=(len(robot.link_names), 6))
    found = robot.forward_dynamics_derivatives(q, v, tau, wrenches=wrenches)
    one = q[1], v[1], tau[1]
    expected = differences(
        robot, lambda d: robot.forward_dynamics(robot.integrate(one[0], d), *one[1:], wrenches=wrenches)
    )
    assert np.abs(found[1, 0] - expected).max() <= 1e-8 * max(1.0, np.abs(expected).max())


def test_redundant_equations_change_no_derivative() -> None:
    once = ROBOTS["closed_tree"]()
    twice = once.with_constraints(*once.constraints)
    at = state(once)
    expected = once.forward_dynamics_derivatives(*at)
    found = twice.forward_dynamics_derivatives(*at)
    assert np.abs(found - expected).max() <= 1e-8 * np.abs(expected).max()
