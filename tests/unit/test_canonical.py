"""The frame pass: moved link frames change no torque, and every step is a chain of screws."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import close, tied_gripper
from recursa.book import augmented_recursion
from recursa.dynamics import articulated_bodies, gathering, inverse, mass_matrix
from recursa.kernels.graph import Graph
from recursa.model.canonical import CanonicalJoint, canonical
from recursa.sweeps import run
from zoo import ZOO


def nearly_parallel(tilt: float) -> rc.Robot:
    """A floating base and an arm, axes out of parallel by about ``tilt``, as rounded angles in files leave them."""
    b = rc.Builder("nearly_parallel")
    inertial = {"mass": 1.3, "com": (0.1, -0.02, 0.03), "inertia": (0.01, 0.02, 0.015, 0.001, -0.002, 0.003)}
    b.link("base", **inertial)
    b.joint("root", "free", parent="world", child="base")
    parent = "base"
    for k, kind in enumerate(("revolute", "revolute", "prismatic", "revolute", "revolute")):
        b.link(f"link{k}", **inertial)
        b.joint(
            f"joint{k}", kind, parent=parent, child=f"link{k}", axis=(0, 0, 1), xyz=(0.3, 0.1, 0.2),
            rpy=(np.pi + tilt, 0.7 * tilt, 0.4),
        )  # fmt: skip
        parent = f"link{k}" if k != 2 else "link1"  # and a branch
    return b.build()


ROBOTS = {
    **{name: make for name, make in ZOO.items() if name != "chain200"},
    "ur5_like": rc.robots.ur5_like,
    "parallel": lambda: rc.robots.planar(5),
    "tied": tied_gripper,
    **{
        f"tilted by {tilt}": (lambda tilt=tilt: nearly_parallel(tilt)) for tilt in (3e-11, 1e-9, 3e-7, 4e-6, 2e-3, 0.06)
    },
}


@pytest.mark.parametrize("name", ROBOTS)
def test_moved_frames_give_the_same_torques_and_inertias(name):
    robot = ROBOTS[name]()
    moved = canonical(robot.model)
    q, v = robot.random_state(3)
    a = np.random.default_rng(2).normal(size=robot.nv)
    wrenches = np.random.default_rng(4).normal(size=6 * robot.nlinks)
    inputs = {"q": q.tolist(), "v": v.tolist(), "a": a.tolist(), "wrench": wrenches.tolist()}
    for plan, gather in (
        (inverse.inverse_plan(), lambda m, values: gathering.joint_vector(m, values["T"])),
        (inverse.inverse_plan(wrenches=True), lambda m, values: gathering.joint_vector(m, values["T"])),
        (mass_matrix.MASS_MATRIX_PLAN, lambda m, values: gathering.joint_matrix(m, values["rows"], symmetric=True)),
    ):
        expected = np.array(list(gather(robot.model, run(plan, robot.model, inputs))))
        found = np.array(list(gather(moved, run(plan, moved, inputs))))
        close(found, expected, 1e-12)


@pytest.mark.parametrize(
    "name", ["stanford", "puma560", "panda_like", "planar_arm", "tree", "tilted by 1e-09", "tilted by 4e-06"]
)
def test_moved_frames_give_the_same_accelerations(name):
    robot = ROBOTS[name]()
    moved = canonical(robot.model)
    q, v = robot.random_state(3)
    inputs = {"q": q.tolist(), "v": v.tolist(), "tau": [0.3] * robot.nv}
    plan = articulated_bodies.forward_plan()
    expected = np.array(gathering.joint_vector(robot.model, run(plan, robot.model, inputs)["qdd"]))
    found = np.array(gathering.joint_vector(moved, run(plan, moved, inputs)["qdd"]))
    close(found, expected, 1e-11)


@pytest.mark.parametrize("name", ["pendulum", "stanford", "puma560", "panda_like", "planar_arm", "chain_mixed", "tree"])
def test_augmented_links_match_newton_euler(name):
    robot = ROBOTS[name]()
    moved = canonical(robot.model)
    assert augmented_recursion.suits(moved)
    q, v = robot.random_state(6)
    a = np.random.default_rng(7).normal(size=robot.nv)
    inputs = {"q": q.tolist(), "v": v.tolist(), "a": a.tolist()}
    for plan, fewer in (
        (inverse.inverse_plan(), augmented_recursion.augmented_plan()),
        (inverse.bias_plan(), augmented_recursion.augmented_bias_plan()),
    ):
        expected = np.array(gathering.joint_vector(robot.model, run(plan, robot.model, inputs)["T"]))
        found = np.array(gathering.joint_vector(moved, run(fewer, moved, inputs)["T"]))
        assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()


def test_augmented_links_of_a_turning_arm_cost_nothing():
    """Step 1 of Algorithm 5.7 is off line: only the two later steps are left in the graph."""
    robot = rc.robots.chain(6)
    moved = canonical(robot.model)
    graph = Graph()
    inputs = {name: graph.inputs(name, 6) for name in "qva"}
    values = run(augmented_recursion.augmented_plan(), moved, inputs)
    assert all(isinstance(x, float) for k in range(6) for x in (values["mass"][k], *values["u"][k], *values["K"][k]))


def test_robots_that_do_not_suit_are_told_apart():
    for name in ("free_flyer", "helical", "spherical", "planar", "mixed_tree"):
        assert not augmented_recursion.suits(canonical(ROBOTS[name]().model))


def test_serial_arms_need_two_screws_a_step_and_none_before_the_first_joint():
    for robot in (rc.robots.chain(8, seed=5, joints="mixed"), rc.robots.panda_like(), rc.robots.ur5_like()):
        joints = canonical(robot.model).joints
        assert all(isinstance(joint, CanonicalJoint) for joint in joints)
        assert joints[0].before == ()
        assert all(len(joint.before) <= 1 for joint in joints)


def test_right_angles_and_zero_offsets_stay_exact():
    for joint in canonical(rc.robots.puma560().model).joints:
        for screw in joint.before:
            assert {abs(screw.c), abs(screw.s)} <= {0.0, 1.0}


def test_joints_with_several_freedoms_keep_their_frames():
    robot = rc.robots.free_flyer()
    moved = canonical(robot.model)
    assert moved.inertias[0] == robot.model.inertias[0]
    assert not isinstance(moved.joints[0], CanonicalJoint)
