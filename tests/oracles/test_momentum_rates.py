"""How momentum, centre of mass and those of subtrees change: complex steps, sums over bodies, Pinocchio."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import recursa as rc
from numeric import close, complex_step, states, tied_gripper
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


def by_q(f, robot, q):
    """d f/d q by complex steps, column by column."""
    return np.stack([complex_step(lambda t, e=e: f(robot.integrate(q, t * e))) for e in np.eye(robot.nv)], axis=-1)


def in_time(f, robot, q, v):
    """d f/dt along v."""
    return complex_step(lambda t: f(robot.integrate(q, t * v)))


@every_robot
@pytest.mark.parametrize("about", ["com", "world"])
def test_momentum_changes_as_complex_steps_say(name, about):
    robot = robot_named(name)
    q, v, a = states(robot, 2, seed=1)
    with_q, with_v = robot.momentum_derivatives(q, v, about)
    close(with_q, by_q(lambda x: robot.momentum(x, v, about), robot, q), 1e-12, "by q")
    units = np.stack([robot.momentum(q, np.broadcast_to(e, v.shape), about) for e in np.eye(robot.nv)], axis=-1)
    close(with_v, units, 1e-12, "by v")
    rate = complex_step(lambda t: robot.momentum(robot.integrate(q, t * v), v + t * a, about))
    close(robot.momentum_rate(q, v, a, about), rate, 1e-12, "rate")


@every_robot
def test_momentum_matrix_and_center_of_mass_change_as_complex_steps_say(name):
    robot = robot_named(name)
    q, v, a = states(robot, 2, seed=2)
    rate = robot.momentum_matrix_derivative(q, v)
    close(rate, in_time(robot.momentum_matrix, robot, q, v), 1e-12)
    close((rate @ v[..., None])[..., 0], robot.momentum_rate(q, v, 0 * v), 1e-12)
    close(robot.momentum_derivatives(q, v)[1], robot.momentum_matrix(q), 1e-12)
    close(robot.center_of_mass_velocity(q, v), in_time(robot.center_of_mass, robot, q, v), 1e-12)
    jacobian, its_rate = robot.center_of_mass_jacobian(q), robot.center_of_mass_jacobian_derivative(q, v)
    close(jacobian, by_q(robot.center_of_mass, robot, q), 1e-12)
    close(its_rate, in_time(robot.center_of_mass_jacobian, robot, q, v), 1e-12)
    rise = (jacobian @ a[..., None] + its_rate @ v[..., None])[..., 0]
    close(robot.center_of_mass_acceleration(q, v, a), rise, 1e-12)


@pytest.mark.parametrize("name", large_interpreted(name for name in ROBOTS if name != "floating_tree"))
def test_what_changes_the_momentum_of_a_robot_is_what_acts_on_it(name):
    """The reactions of joints at the world and the weight make up dh/dt about the world origin."""
    robot = robot_named(name)
    q, v, a = states(robot, 2, seed=3)
    total = np.zeros((2, 6))
    for k, joint in enumerate(robot.model.joints):
        if joint.parent == -1:
            pose, wrench = robot.pose(q, joint.child), robot.reaction_wrenches(q, v, a)[:, k]
            moment, force = (np.einsum("sij,sj->si", pose[:, :3, :3], x) for x in (wrench[:, :3], wrench[:, 3:]))
            total += np.concatenate([moment + np.cross(pose[:, :3, 3], force), force], axis=-1)
    weight = robot.mass * np.array(robot.gravity)
    total += np.concatenate([np.cross(robot.center_of_mass(q), weight), np.broadcast_to(weight, (2, 3))], axis=-1)
    close(robot.momentum_rate(q, v, a, "world"), total, 1e-11)


# ---- subtrees --------------------------------------------------------------------------------------------------------


def outward(robot, body):
    """The body, and those outward of it."""
    return [k for k in range(robot.nbodies) if body in robot.model.support(k)]


@every_robot
def test_subtrees_are_sums_over_their_bodies(name):
    robot = robot_named(name)
    q, v, _ = states(robot, 2, seed=4)
    masses, centers = robot.subtree_masses, robot.subtree_centers_of_mass(q)
    assert masses.shape == (robot.nbodies,) and centers.shape == (2, robot.nbodies, 3)
    poses = robot.poses(q)[:, [robot.model.link_index(joint.child) for joint in robot.model.joints]]
    for body in range(robot.nbodies):
        bodies = outward(robot, body)
        inertias = [robot.model.inertias[k] for k in bodies]
        close(masses[body], sum(one.mass for one in inertias), 1e-13)
        moments = [
            poses[:, k, :3, :3] @ np.array(one.first) + one.mass * poses[:, k, :3, 3]
            for k, one in zip(bodies, inertias, strict=True)
        ]
        expected = sum(moments) / masses[body] if masses[body] else poses[:, body, :3, 3]
        close(centers[:, body], expected, 1e-12)
    close(robot.subtree_center_of_mass_velocities(q, v), in_time(robot.subtree_centers_of_mass, robot, q, v), 1e-12)
    close(robot.subtree_center_of_mass_jacobians(q), by_q(robot.subtree_centers_of_mass, robot, q), 1e-12)


def test_a_subtree_without_mass_is_at_its_first_link():
    b = rc.Builder("light")
    b.link("arm", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    for name, parent in (("wire", "arm"), ("tip", "wire")):
        b.link(name)
        b.joint(f"to_{name}", "revolute", parent=parent, child=name, axis=(0, 0, 1), xyz=(0.3, 0, 0))
    b.joint("base", "revolute", parent="world", child="arm", axis=(0, 0, 1))
    robot = b.build(strict=False)
    q, v = np.array([0.3, 0.2, 0.1]), np.array([1.0, 2.0, 3.0])
    origins = robot.poses(q)[[robot.model.link_index(joint.child) for joint in robot.model.joints], :3, 3]
    close(robot.subtree_centers_of_mass(q)[1:], origins[1:], 1e-15)
    rows = [robot.model.link_index(name) for name in ("wire", "tip")]
    moving = robot.velocities(q, v, "mixed")[rows, 3:]
    close(robot.subtree_center_of_mass_velocities(q, v)[1:], moving, 1e-14)
    close(robot.subtree_center_of_mass_jacobians(q)[1:] @ v, moving, 1e-14)


# ---- Pinocchio -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", large_interpreted(name for name in ROBOTS if name != "tied_gripper"))
def test_pinocchio_agrees(name):
    pin = pytest.importorskip("pinocchio")
    robot = robot_named(name)
    model = interop.build(robot)
    data = model.createData()
    back = np.argsort(interop.velocity_order(robot, model))
    q, v, a = states(robot, 2, seed=5)
    pq, (pv, pa) = interop.configuration(robot, model, q), (interop.velocity(robot, model, x) for x in (v, a))
    changes, rate = robot.momentum_derivatives(q, v), robot.momentum_rate(q, v, a)
    matrix_rate, subtrees = robot.momentum_matrix_derivative(q, v), robot.subtree_center_of_mass_jacobians(q)
    rise = robot.center_of_mass_acceleration(q, v, a)
    for s in range(2):
        theirs = pin.computeCentroidalDynamicsDerivatives(model, data, pq[s], pv[s], pa[s])
        for ours, other in zip(changes, (theirs[0], theirs[3]), strict=True):
            close(ours[s], interop.swap_halves(other.reshape(6, -1), axis=0)[:, back], 1e-9)
        there = pin.computeCentroidalMomentumTimeVariation(model, data, pq[s], pv[s], pa[s])
        close(rate[s], interop.swap_halves(there.vector), 1e-9)
        there = pin.dccrba(model, data, pq[s], pv[s]).reshape(6, -1)
        close(matrix_rate[s], interop.swap_halves(there, axis=0)[:, back], 1e-9)
        pin.centerOfMass(model, data, pq[s], pv[s], pa[s])
        close(rise[s], data.acom[0], 1e-9)
        for k, joint in enumerate(robot.model.joints):
            if robot.subtree_masses[k]:
                there = pin.jacobianSubtreeCenterOfMass(model, data, pq[s], model.getJointId(joint.name))
                close(subtrees[s, k], there.reshape(3, -1)[:, back], 1e-9)
