"""Regressors times the robot's own parameters are what they stand for; Pinocchio's are the same."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import recursa as rc
from numeric import close, states, tied_gripper
from recursa.interop import pinocchio as interop
from zoo import ZOO, large_interpreted

ROBOTS = {
    **{name: make for name, make in ZOO.items() if name != "chain200"},
    "tied_gripper": tied_gripper,
}
every_robot = pytest.mark.parametrize("name", large_interpreted(ROBOTS))


@cache
def robot_named(name: str) -> rc.Robot:
    return ROBOTS[name]()


def parameters(robot):
    return np.array([x for inertia in robot.model.inertias for x in inertia.components()])


@every_robot
def test_static_regressor_is_that_of_a_robot_at_rest(name):
    robot = robot_named(name)
    q, v, _ = states(robot, 3, seed=1)
    found = robot.static_regressor(q)
    close(found, robot.regressor(q, 0 * v, 0 * v), 1e-12)
    close(found @ parameters(robot), robot.gravity_forces(q), 1e-12)


@every_robot
def test_energies_are_linear_in_the_parameters(name):
    robot = robot_named(name)
    q, v, _ = states(robot, 3, seed=2)
    rotors = robot.kinetic_energy(q, v) - 0.5 * np.einsum("si,sij,sj->s", v, without_rotors(robot, q), v)
    close(robot.kinetic_energy_regressor(q, v) @ parameters(robot) + rotors, robot.kinetic_energy(q, v), 1e-12)
    close(robot.potential_energy_regressor(q) @ parameters(robot), robot.potential_energy(q), 1e-12)


def without_rotors(robot, q):
    """The mass matrix from the regressor, column by column: forces of unit accelerations."""
    units = np.eye(robot.nv)
    still = np.zeros((len(q), robot.nv))
    rest = robot.regressor(q, still, still) @ parameters(robot)
    columns = [robot.regressor(q, still, still + e) @ parameters(robot) - rest for e in units]
    return np.stack(columns, axis=-1)


@every_robot
def test_a_link_feels_what_its_load_needs(name):
    """The torques of a payload are the link's regressor times its parameters, seen through the Jacobian."""
    robot = robot_named(name)
    q, v, a = states(robot, 2, seed=3)
    link = robot.link_names[-1]
    load = rc.robots.planar(1).model.inertias[0]
    wrench = robot.link_regressor(q, v, a, link) @ np.array(load.components())
    torque = np.einsum("sji,sj->si", robot.jacobian(q, link), wrench)
    pushed = np.zeros((2, robot.nlinks, 6))
    pushed[:, -1] = -wrench
    close(robot.inverse_dynamics(q, v, a, wrenches=pushed) - robot.inverse_dynamics(q, v, a), torque, 1e-10)
    if name == "tied_gripper":
        return
    about = np.array([list(row) for row in load.moment_about_com().rows()])
    loaded = robot.with_payload(link, load.mass, tuple(load.com()), about)
    close(loaded.inverse_dynamics(q, v, a) - robot.inverse_dynamics(q, v, a), torque, 1e-10)


@every_robot
def test_links_of_joints_tell_bodies_apart(name):
    """Reactions between a body and its children are its own regressor times its own parameters."""
    robot = robot_named(name)
    q, v, a = states(robot, 2, seed=4)
    found = sum(
        np.einsum(
            "sji,sj->si",
            robot.jacobian(q, joint.child),
            robot.link_regressor(q, v, a, joint.child) @ np.array(inertia.components()),
        )
        for joint, inertia in zip(robot.model.joints, robot.model.inertias, strict=True)
    )
    close(found, robot.regressor(q, v, a) @ parameters(robot), 1e-11)


@pytest.mark.parametrize("name", large_interpreted(name for name in ROBOTS if name != "tied_gripper"))
def test_pinocchio_agrees(name):
    pin = pytest.importorskip("pinocchio")
    robot = robot_named(name)
    model = interop.build(robot)
    data = model.createData()
    q, v, a = (x[0] for x in states(robot, 1, seed=5))
    pq, (pv, pa) = interop.configuration(robot, model, q), (interop.velocity(robot, model, x) for x in (v, a))
    pin.rnea(model, data, pq, pv, pa)
    for link in robot.link_names:
        theirs = pin.frameBodyRegressor(model, data, model.getFrameId(link))
        close(robot.link_regressor(q, v, a, link), interop.swap_halves(theirs, axis=0), 1e-9, link)
    if any(joint.after is not None or joint.kind.name == "planar" for joint in robot.model.joints):
        return  # their bodies have other frames
    numbers = [model.getJointId(joint.name) for joint in robot.model.joints]
    columns = np.concatenate([np.arange(10 * (k - 1), 10 * k) for k in numbers])  # theirs come in another order
    close(robot.kinetic_energy_regressor(q, v), pin.computeKineticEnergyRegressor(model, data, pq, pv)[columns], 1e-9)
    close(robot.potential_energy_regressor(q), pin.computePotentialEnergyRegressor(model, data, pq)[columns], 1e-9)
