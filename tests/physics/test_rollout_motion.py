"""Motions of rollout: how fast errors fall with the step, and what is conserved."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import quaternion_starts, states
from recursa.integrators import INTEGRATORS, names
from zoo import each_kind, small_mixed_tree

pytestmark = pytest.mark.compiled

ROBOTS = {
    "small_mixed_tree": small_mixed_tree,
    "free": lambda: each_kind("free"),
    "planar": lambda: each_kind("planar"),
    "spherical": lambda: each_kind("spherical"),
}


def end(robot, state, steps, integrator, duration=0.1):
    q, v = rc.rollout(robot, *state, duration / steps, steps, integrator, save_every=steps)
    return q[:, 0], v[:, 0]


@pytest.mark.parametrize("name", ROBOTS)
def test_errors_of_rk4_fall_with_the_fourth_power_of_the_step(name):
    robot = ROBOTS[name]()
    q0, v0, torque = states(robot, 4)
    state = q0, 2.0 * v0, torque
    exact = end(robot, state, 1600, "rk4")
    errors = []
    for steps in (25, 50, 100):
        q, v = end(robot, state, steps, "rk4")
        errors.append(np.hypot(np.linalg.norm(robot.difference(exact[0], q)), np.linalg.norm(v - exact[1])))
    assert errors[0] / errors[2] == pytest.approx(4.0**4, rel=0.4)
    assert 1e-12 < errors[2] < 1e-3


@pytest.mark.parametrize("integrator", [one for one in names("rollout") if one != "rk4"])
def test_errors_fall_with_the_step_to_the_order_of_the_table(integrator):
    robot = rc.robots.planar(2)
    state = states(robot, 4)
    exact = end(robot, state, 3200, "rk4")
    errors = [np.linalg.norm(end(robot, state, steps, integrator)[1] - exact[1]) for steps in (100, 200, 400)]
    assert errors[0] / errors[2] == pytest.approx(4.0 ** INTEGRATORS[integrator].order, rel=0.2)


def drift(robot, integrator, step, duration=4.0):
    """How far the energy of free motions goes from its value at the start."""
    q0, v0, _ = states(robot, 5)
    q, v = rc.rollout(robot, q0, v0, None, step, round(duration / step), integrator, save_every=100)
    energy = robot.kinetic_energy(q, v) + robot.potential_energy(q)
    return np.abs(energy - (robot.kinetic_energy(q0, v0) + robot.potential_energy(q0))[:, None]).max()


def test_energy_of_a_free_motion_is_kept():
    arm, pendulum = rc.robots.planar(2), rc.robots.planar(1)
    assert drift(arm, "rk4", 1e-3) < 1e-6
    assert drift(arm, "rk4", 5e-4) < 2.0**-4 * drift(arm, "rk4", 1e-3)
    bounded, growing = ([drift(pendulum, name, 1e-3, t) for t in (2.0, 8.0)] for name in ("semi-implicit", "euler"))
    assert bounded[1] < 1.2 * bounded[0] < 0.1
    assert growing[1] > 3.0 * growing[0]


def test_momentum_of_a_flyer_is_kept_and_quaternions_stay_unit():
    robot = rc.robots.free_flyer(2).with_gravity((0.0, 0.0, 0.0))
    q0, v0, _ = states(robot, 5)
    q, v = rc.rollout(robot, q0, v0, None, 1e-3, 1000, save_every=250)
    assert np.abs(robot.momentum(q, v) - robot.momentum(q0, v0)[:, None]).max() < 1e-8
    for _, first in quaternion_starts(robot):
        assert np.abs(np.linalg.norm(q[..., first : first + 4], axis=-1) - 1.0).max() < 1e-14
