"""Dynamics against itself: identities that need no other library."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import numeric
import recursa as rc
from numeric import complex_step, tied_gripper
from zoo import ZOO, large_interpreted

ROBOTS = {
    **{name: make for name, make in ZOO.items() if name not in ("chain200", "floating_tree")},
    "tied": tied_gripper,
}
every_robot = pytest.mark.parametrize("name", large_interpreted(ROBOTS))


def state(robot: rc.Robot, seed: int = 5):
    q, v = robot.random_state(seed)
    rng = np.random.default_rng(seed)
    return q, v, rng.normal(size=robot.nv), rng.normal(size=robot.nv)


close = partial(numeric.close, tolerance=1e-10)


@every_robot
def test_mass_matrix_matches_kinetic_energy(name):
    robot = ROBOTS[name]()
    q, v, *_ = state(robot)
    mass = robot.mass_matrix(q)
    close(0.5 * v @ mass @ v, robot.kinetic_energy(q, v))
    assert np.array_equal(mass, mass.T)
    assert np.linalg.eigvalsh(mass)[0] > 0.0


@every_robot
def test_inverse_dynamics_is_mass_times_acceleration_plus_bias(name):
    robot = ROBOTS[name]()
    q, v, a, _ = state(robot)
    close(robot.inverse_dynamics(q, v, a), robot.mass_matrix(q) @ a + robot.bias_forces(q, v))
    close(robot.bias_forces(q, 0 * v), robot.gravity_forces(q))


@every_robot
def test_gravity_forces_are_the_gradient_of_potential_energy(name):
    robot = ROBOTS[name]()
    q, v, *_ = state(robot)
    slope = complex_step(lambda t: robot.potential_energy(robot.integrate(q, t * v)))
    close(robot.gravity_forces(q) @ v, slope)


@every_robot
def test_mass_matrix_rate_minus_twice_coriolis_is_skew(name):
    robot = ROBOTS[name]()
    q, v, *_ = state(robot)
    rate = complex_step(lambda t: robot.mass_matrix(robot.integrate(q, t * v)))
    coriolis = robot.coriolis_matrix(q, v)
    still = robot.with_gravity((0, 0, 0))
    close(coriolis @ v, still.bias_forces(q, v))
    skew = rate - 2.0 * coriolis
    close(skew + skew.T, np.zeros_like(skew))


@every_robot
def test_applied_power_is_the_rate_of_energy(name):
    robot = ROBOTS[name]()
    q, v, a, _ = state(robot)
    torque = robot.inverse_dynamics(q, v, a)

    def energy(t):
        there = robot.integrate(q, t * v)
        return robot.kinetic_energy(there, v + t * a) + robot.potential_energy(there)

    close(torque @ v, complex_step(energy))


@every_robot
@pytest.mark.parametrize("losses", [False, True])
def test_forward_dynamics_inverts_inverse_dynamics(name, losses):
    robot = ROBOTS[name]()
    q, v, a, _ = state(robot)
    wrenches = np.random.default_rng(1).normal(size=(robot.nlinks, 6))
    torque = robot.inverse_dynamics(q, v, a, losses=losses, wrenches=wrenches)
    close(robot.forward_dynamics(q, v, torque, losses=losses, wrenches=wrenches), a, tolerance=1e-8)
    close(robot.forward_dynamics(q, v, torque, losses=losses, wrenches=wrenches, method="composite"), a, tolerance=1e-8)


@every_robot
def test_inverse_mass_matrix_matches_its_name(name):
    robot = ROBOTS[name]()
    q, *_ = state(robot)
    product = robot.mass_matrix_inverse(q) @ robot.mass_matrix(q)
    close(product, np.eye(robot.nv), tolerance=1e-8)


@every_robot
def test_momentum_matrix_matches_momentum(name):
    robot = ROBOTS[name]()
    q, v, *_ = state(robot)
    close(robot.momentum_matrix(q) @ v, robot.momentum(q, v))
    step = complex_step(lambda t: robot.center_of_mass(robot.integrate(q, t * v)))
    close(robot.center_of_mass_jacobian(q) @ v, step)


@every_robot
def test_regressor_times_parameters_is_the_torque_without_rotors(name):
    robot = ROBOTS[name]()
    q, v, a, _ = state(robot)
    parameters = np.concatenate([np.array(inertia.components()) for inertia in robot.model.inertias])
    rotors = robot.mass_matrix(q) - robot.mass_matrix(q, parameters=0.0 * parameters)
    bare = rotors @ a + robot.bias_forces(q, v)  # the mass matrix less the armature
    close(robot.regressor(q, v, a) @ parameters, bare)


@pytest.mark.parametrize("name", ["stanford", "panda_like", "mixed_tree", "free_flyer"])
def test_reactions_match_torques_and_balance_the_whole_robot(name):
    robot = ROBOTS[name]()
    q, v, a, _ = state(robot)
    reactions = robot.reaction_wrenches(q, v, a)
    torque = robot.inverse_dynamics(q, v, a)
    for k, joint in enumerate(robot.model.joints):
        columns = np.array([column.components() for column in joint.columns()])
        own = (
            torque[joint.v_start : joint.v_start + joint.kind.nv]
            - np.array(joint.armature) * a[joint.v_start :][: joint.kind.nv]
        )
        close(columns @ reactions[k], own)
    roots = [k for k, joint in enumerate(robot.model.joints) if joint.parent < 0]
    poses = robot.poses(q)
    push = sum(poses[robot.model.link_index(robot.model.joints[k].child), :3, :3] @ reactions[k, 3:] for k in roots)

    def momentum(t):
        return robot.momentum(robot.integrate(q, t * v), v + t * a, "world")[3:]

    close(push, complex_step(momentum) - robot.mass * np.array(robot.gravity))


def test_a_rising_base_is_gravity():
    robot = rc.robots.panda_like()
    q, v, a, _ = state(robot)
    weightless = robot.with_gravity((0, 0, 0))
    lifted = weightless.inverse_dynamics(q, v, a, base_acceleration=[0, 0, 0, 0, 0, 9.81])
    close(lifted, robot.inverse_dynamics(q, v, a))


@pytest.mark.parametrize("frame", ["world", "link"])
def test_wrenches_match_jacobians(frame):
    robot = rc.robots.panda_like()
    q, v, a, _ = state(robot)
    force, moment, point = np.array([1.0, -2.0, 3.0]), np.array([0.3, 0.2, -0.1]), np.array([0.05, -0.02, 0.1])
    wrench = rc.Wrench(force=force, moment=moment, at="link5", point=point, frame=frame)
    rotation = robot.pose(q, "link5")[:3, :3]
    in_link = [rotation.T @ x if frame == "world" else x for x in (force, moment)]
    at_origin = np.concatenate([in_link[1] + np.cross(point, in_link[0]), in_link[0]])
    expected = robot.inverse_dynamics(q, v, a) - robot.jacobian(q, "link5").T @ at_origin
    close(robot.inverse_dynamics(q, v, a, wrenches=[wrench]), expected)
    close(robot.inverse_dynamics(q, v, a, wrenches=wrench), expected)


@pytest.mark.parametrize("name", ["stanford", "free_flyer", "mixed_tree"])
def test_link_accelerations_of_forward_dynamics_are_true(name):
    robot = ROBOTS[name]()
    q, v, _, tau = state(robot)
    a, links = robot.forward_dynamics(q, v, tau, links=True)
    close(links, robot.accelerations(q, v, a))


def test_free_fall_from_rest_is_gravity():
    bus = rc.robots.free_flyer().with_gravity((0.3, -0.2, -9.81))
    q, _ = bus.random_state(2)
    a = bus.forward_dynamics(q, np.zeros(bus.nv), np.zeros(bus.nv))
    rotation = bus.pose(q, "bus")[:3, :3]
    close(a[:6], np.concatenate([np.zeros(3), rotation.T @ np.array(bus.gravity)]))
    close(a[6:], np.zeros(3))


def test_methods_that_do_not_exist_are_refused():
    robot = rc.robots.planar()
    zero = np.zeros(3)
    with pytest.raises(rc.UnknownNameError, match="Did you mean 'newton-euler'"):
        robot.inverse_dynamics(zero, zero, zero, method="newton_euler")
    with pytest.raises(rc.UnknownNameError, match="articulated"):
        robot.forward_dynamics(zero, zero, zero, method="aba")
    with pytest.raises(rc.ShapeError, match="wrench"):
        robot.inverse_dynamics(zero, zero, zero, wrenches=np.zeros((2, 6)))
    with pytest.raises(rc.UnknownNameError, match="Did you mean 'tip'"):
        robot.inverse_dynamics(zero, zero, zero, wrenches=[rc.Wrench(at="tipp")])
    with pytest.raises(rc.ShapeError, match="parameters"):
        robot.inverse_dynamics(zero, zero, zero, parameters=np.zeros(10))
