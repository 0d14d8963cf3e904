"""A base that turns because joints go round and come back: planned on kinematics, confirmed by forces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import recursa as rc
from recursa.free import holonomy, reorientation
from recursa.spatial.rotation import Quaternion


def quaternion(vector: list[float]) -> np.ndarray:
    """(x, y, z, w) of a rotation vector."""
    angle = np.linalg.norm(vector)
    return np.append(np.sin(angle / 2) * np.array(vector) / angle, np.cos(angle / 2))


def posed(robot: rc.Robot) -> np.ndarray:
    """At rest somewhere, joints within their limits."""
    q, _ = robot.random_state(4)
    q[7:] *= 0.3
    return q


def test_holonomy_has_the_derivative_that_differences_have():
    robot = rc.robots.space_robot()
    still = reorientation._still(robot, posed(robot), 0.8, 2)
    rng = np.random.default_rng(1)
    x, change = 0.4 * rng.normal(size=still.x.shape), rng.normal(size=still.x.shape)
    goal = holonomy.rotation_matrices(np.array([0.1, 0.2, -0.05]))
    missing = lambda x: holonomy.missing_rotation(robot, replace(still, x=x), goal)  # noqa: E731
    differences = (missing(x + 1e-5 * change)[0] - missing(x - 1e-5 * change)[0]) / 2e-5
    assert np.abs(missing(x)[1] @ change.ravel() - differences).max() < 1e-5 * np.abs(differences).max()


def test_torques_turn_the_base_as_planned_and_momentum_stays_zero():
    robot = rc.robots.space_robot()
    q0 = posed(robot)
    aim = Quaternion(*q0[3:7]) @ Quaternion(*quaternion([0.15, -0.2, 0.1]))
    turn = rc.free.reorient(robot, q0, aim, reach=0.7)
    motion = turn.motion
    assert turn.residual < 1e-6
    assert np.abs(robot.momentum(motion.q, motion.v)).max() < 1e-11
    assert np.ptp(robot.center_of_mass(motion.q), axis=0).max() < 1e-12
    assert np.abs(motion.q[-1, 7:] - q0[7:]).max() < 1e-12
    assert np.abs(motion.v[[0, -1]]).max() == 0.0
    assert turn.excursion.max() < 0.7
    low, high = robot.position_limits[:, 7:]
    assert np.all((motion.q[:, 7:] > low) & (motion.q[:, 7:] < high))
    assert np.all(np.abs(motion.v) <= robot.velocity_limits)
    fastest = np.abs(motion.v[:, 6:] / robot.velocity_limits[6:]).max()
    assert turn.duration == 4.0 * turn.loops or fastest > 0.99  # no longer than it must

    def torque(t, q, v):
        return np.concatenate([np.zeros(6), rc.free.inverse_dynamics(robot, q, v, turn.joints(t)[2]).torques])

    run = robot.simulate(q0, duration=turn.duration, torque=torque, rtol=1e-8, atol=1e-10, losses=False, progress=False)
    assert np.abs(robot.momentum(run.q[-1], run.v[-1])).max() < 1e-6
    assert np.abs(robot.difference(motion.q[-1], run.q[-1])).max() < 1e-5
    end = np.concatenate([run.q[-1, :3], aim, run.q[-1, 7:]])
    assert np.abs(robot.difference(end, run.q[-1])[:3]).max() < 1e-5
    assert np.abs(run.v[-1]).max() < 1e-6


def test_large_turns_take_several_loops_and_paths_do_not_depend_on_time():
    robot = rc.robots.free_flyer(3)
    q0, aim = robot.neutral(), quaternion([0.0, 0.0, 0.3])
    q0[7:] = 0.5, -0.8, 0.7
    found = rc.free.reorient(robot, q0, aim, duration=30.0, harmonics=1)
    slow = rc.free.reorient(robot, q0, aim, duration=60.0, harmonics=1, loops=found.loops)
    assert found.loops > 1
    assert max(found.residual, slow.residual) < 1e-6
    assert slow.duration == 60.0
    t = np.linspace(0.0, 30.0, 7)
    assert np.abs(found.joints(t)[0] - slow.joints(2.0 * t)[0]).max() < 1e-9
    step = 1e-5
    before, now, after = (found.joints(t[1:-1] + k * step) for k in (-1, 0, 1))
    for order in (0, 1):
        assert np.abs((after[order] - before[order]) / (2 * step) - now[order + 1]).max() < 1e-5
    moved = rc.free.move_joints(robot, q0, lambda t, q: found.joints(t)[1], found.motion.t)
    assert np.abs(robot.difference(moved.q[-1], found.motion.q[-1])).max() < 1e-6


def test_two_joints_turn_the_base_about_an_axis_that_neither_has():
    robot = rc.robots.free_flyer(2)  # they turn about z and y
    turn = rc.free.reorient(robot, robot.neutral(), quaternion([0.03, 0.0, 0.0]), harmonics=1, tolerance=1e-9)
    assert turn.residual < 1e-9
    assert np.abs(robot.momentum(turn.motion.q, turn.motion.v)).max() < 1e-11


def test_joints_of_several_freedoms_hold_still():
    builder = rc.Builder("wrist")
    for name in ("bus", "ball", "arm", "hand"):
        builder.link(name, mass=5.0, com=(0.1, 0.0, 0.05), inertia=(0.5, 0.6, 0.7))
    builder.joint("root", "free", parent="world", child="bus")
    builder.joint("s", "spherical", parent="bus", child="ball", xyz=(0.3, 0, 0))
    builder.joint("a", "revolute", parent="ball", child="arm", axis=(0, 1, 0), xyz=(0.3, 0, 0))
    builder.joint("b", "revolute", parent="arm", child="hand", axis=(0, 1, 0), xyz=(0.3, 0.2, 0))
    robot = builder.build().with_gravity((0, 0, 0))
    q0 = posed(robot)
    q0[7:11] = quaternion([0.0, 0.5, 0.0])
    aim = Quaternion(*q0[3:7]) @ Quaternion(*quaternion([0.0, 0.02, 0.0]))
    turn = rc.free.reorient(robot, q0, aim, reach=1.5)
    assert turn.residual < 1e-6
    assert np.abs(turn.motion.q[:, 7:11] - q0[7:11]).max() < 1e-15
    assert np.all(turn.motion.v[:, 6:9] == 0.0)


def planar_flyer() -> rc.Robot:
    """Two links that turn in the plane of the mass centres: nothing turns it out of that."""
    builder = rc.Builder("flat")
    for name in ("bus", "arm", "hand"):
        builder.link(name, mass=5.0, com=(0.1, 0.0, 0.0), inertia=(0.5, 0.6, 0.7))
    builder.joint("root", "free", parent="world", child="bus")
    builder.joint("a", "revolute", parent="bus", child="arm", axis=(0, 0, 1), xyz=(0.3, 0, 0))
    builder.joint("b", "revolute", parent="arm", child="hand", axis=(0, 0, 1), xyz=(0.3, 0, 0))
    return builder.build().with_gravity((0, 0, 0))


def test_what_cannot_be_is_said():
    robot = planar_flyer()
    q0, aim = robot.neutral(), quaternion([0.0, 0.0, 0.1])
    with pytest.raises(rc.StateError, match=r"about \[1. 0. 0.\] in base axes; the closest"):
        rc.free.reorient(robot, q0, quaternion([0.2, 0.0, 0.0]), loops=1)
    with pytest.raises(rc.StateError, match="has 1 joints of one freedom"):
        rc.free.reorient(rc.robots.free_flyer(1), rc.robots.free_flyer(1).neutral(), aim)
    with pytest.raises(rc.StateError, match="has gravity"):
        rc.free.reorient(robot.with_gravity((0, 0, -9.81)), q0, aim)
    with pytest.raises(rc.NoSweepError, match="no free flyer"):
        rc.free.reorient(rc.robots.puma560(), np.zeros(6), aim)
    with pytest.raises(rc.ShapeError, match=r"attitude has shape \(3,\)"):
        rc.free.reorient(robot, q0, [0, 0, 1])
    with pytest.raises(rc.StateError, match="not a rotation matrix"):
        rc.free.reorient(robot, q0, np.diag([1.0, 1.0, -1.0]))
    with pytest.raises(rc.StateError, match="finite length"):
        rc.free.reorient(robot, q0, [0, 0, 0, 0])
    with pytest.raises(rc.StateError, match="harmonics must be a whole number"):
        rc.free.reorient(robot, q0, aim, harmonics=0)
    with pytest.raises(rc.StateError, match="reach must be finite and above 0"):
        rc.free.reorient(robot, q0, aim, reach=-1.0)
    with pytest.raises(rc.ShapeError, match="one configuration"):
        rc.free.reorient(robot, np.stack([q0, q0]), aim)
    limited = rc.robots.space_robot()
    beyond = limited.neutral()
    beyond[9] = 3.0
    with pytest.raises(rc.StateError, match=r"joint 'left_3' starts at 3, outside its limits"):
        rc.free.reorient(limited, beyond, aim)
