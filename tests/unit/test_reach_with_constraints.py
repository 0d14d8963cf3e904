"""Inverse kinematics of robots with loops, relations of joints and anchored contacts: these come before all goals."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
import search_oracle
from recursa import mechanisms


def assembled(robot: rc.Robot, count: int, size: float = 0.2, seed: int = 1) -> np.ndarray:
    random = np.random.default_rng(seed)
    near = robot.integrate(robot.neutral(), size * random.normal(size=(count, robot.nv)))
    near = np.clip(near, *robot.position_limits)  # a joint that starts beyond a limit may stay there
    return np.stack([robot.assemble(q) for q in near])


CASES = [
    ("four_bar", "coupler_end", "position"),
    ("slider_crank", "piston", "position"),
    ("five_bar", "tool", "position"),
    ("delta", "platform", "position"),
    ("stewart", "platform", "pose"),
    ("gripper", "left_tip", "position"),  # a four-bar finger on each side, and a relation of both
    ("two_arms", "bar", "pose"),
]


@pytest.mark.parametrize(("name", "link", "task"), CASES)
def test_mechanisms_reach_and_stay_closed(name: str, link: str, task: str) -> None:
    robot = getattr(mechanisms, name)()
    wanted = robot.pose(assembled(robot, 40), link)
    found = rc.inverse_kinematics(robot, link, wanted, task=task)
    assert found.solved.all()
    assert np.abs(robot.constraint_error(found.q)).max() < 2e-8
    np.testing.assert_allclose(found.constraint_error, -robot.constraint_error(found.q), atol=1e-12)
    rows = slice(3, 4) if task == "position" else slice(None)
    got = robot.pose(found.q, link)
    np.testing.assert_allclose(got[:, :3, rows], wanted[:, :3, rows], atol=1e-7)
    low, high = robot.position_limits
    assert (found.q >= low - 1e-12).all() and (found.q <= high + 1e-12).all()
    alone = [rc.inverse_kinematics(robot, link, one, task=task).q for one in wanted[:3]]
    np.testing.assert_array_equal(alone, found.q[:3])


def test_out_of_reach_loops_are_closed_all_the_same() -> None:
    robot = mechanisms.delta()
    height = robot.pose(robot.neutral(), "platform")[2, 3]
    points = [[2.0, 0.0, height], [0.0, 0.0, -3.0], [0.0, -2.0, height]]  # three points are no rotation
    found = rc.inverse_kinematics(robot, "platform", points, task="position")
    assert found.out_of_reach.all() and (found.distance > 1.0).all()
    assert np.abs(robot.constraint_error(found.q)).max() < 1e-7


def test_goals_of_lower_priority_and_postures_leave_loops_closed() -> None:
    robot = mechanisms.five_bar()
    q = assembled(robot, 1, 0.15)[0]
    point = robot.pose(q, "tool")[:3, 3]
    goals = [rc.reach.Position("tool", point), rc.reach.Position("left_crank_end", [9.0, 9.0, 0.0], priority=1)]
    found = rc.inverse_kinematics(robot, goals, posture=q)
    assert found.met[0] and not found.met[1]
    assert np.abs(robot.constraint_error(found.q)).max() < 2e-8
    chosen = rc.inverse_kinematics(robot, rc.reach.Plane("tool", point, normal=[0, 1, 0]), posture=q)
    assert chosen.solved
    np.testing.assert_allclose(chosen.q, q, atol=1e-5)  # of all that reach the line, the posture itself


def test_relations_of_joints_hold() -> None:
    """The second joint turns by the square of the first: q2 = 0.3 + q1^2, through tied joints, too."""
    arm = rc.robots.planar(3)
    names = arm.joint_names
    relation = rc.JointRelation({names[0]: (0.0, 1.0), names[1]: -1.0}, offset=0.3)
    robot = arm.with_constraints(relation)
    q = np.array([0.4, 0.46, -0.7])
    found = rc.inverse_kinematics(robot, "tip", robot.pose(q, "tip")[:3, 3], task="position")
    assert found.solved and found.q[1] == pytest.approx(0.3 + found.q[0] ** 2, abs=1e-7)
    np.testing.assert_allclose(found.constraint_error, -robot.constraint_error(found.q), atol=1e-12)


def test_anchored_feet_stay_where_they_are() -> None:
    robot = mechanisms.standing_quadruped()
    q = robot.neutral()
    standing = robot.with_contacts_at(q)
    lower = robot.pose(q, "trunk")
    lower[2, 3] -= 0.05
    lower[0, 3] += 0.03
    found = rc.inverse_kinematics(standing, "trunk", lower, q)
    assert found.solved
    for foot in [name for name in robot.link_names if name.endswith("foot")]:
        np.testing.assert_allclose(standing.pose(found.q, foot)[:3, 3], robot.pose(q, foot)[:3, 3], atol=1e-7)


def test_the_native_search_is_that_of_numpy() -> None:
    for name, link in (("four_bar", "coupler_end"), ("gripper", "left_tip")):
        robot = getattr(mechanisms, name)()
        points = robot.pose(assembled(robot, 4), link)[:, :3, 3]
        native = rc.inverse_kinematics(robot, link, points, robot.neutral(), task="position")
        with search_oracle.searching():
            twin = getattr(mechanisms, name)()  # which has no native search at hand
            plain = rc.inverse_kinematics(twin, link, points, robot.neutral(), task="position")
        assert native.solved.all() and plain.solved.all()
        np.testing.assert_allclose(plain.q, native.q, atol=1e-6)


def test_held_joints_and_a_loop_that_cannot_be_closed() -> None:
    robot = mechanisms.four_bar()
    q = robot.neutral()
    q[0] += 1.0  # the crank is turned and held, so that the pin can be reached in two ways only
    found = rc.inverse_kinematics(robot, "coupler_end", [0.3, 0.5, 0.0], q, task="position", hold=["crank_joint"])
    assert not found.solved and found.q[0] == q[0]
    assert np.abs(robot.constraint_error(found.q)).max() < 1e-7
    apart = rc.robots.planar(2).with_constraints(rc.Loop("spherical", "world", "tip", at=(9.0, 0.0, 0.0)))
    far = rc.inverse_kinematics(apart, "tip", [0.2, 0.1, 0.0], task="position")
    assert not far.solved and np.abs(far.constraint_error).max() > 1.0
    assert "constraints are not kept" in str(far)
