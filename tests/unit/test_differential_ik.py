"""Differential inverse kinematics: it gets there, keeps every limit on the way, and says what cannot be kept."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

import recursa as rc
from numeric import close, tied_gripper
from recursa.reach.differential import solve, solve_with_rows, solver
from zoo import large_flyer

pytest.importorskip("daqp")
LOOSE = {"damping": 0.0, "posture": 0.0}


def panda() -> tuple[rc.Robot, np.ndarray]:
    robot = rc.robots.panda_like()
    q = robot.neutral()
    q[3], q[5] = -1.5, 1.8
    return robot, q


def run(ik: rc.DifferentialIK, q: np.ndarray, steps: int, **goals: object) -> tuple[np.ndarray, np.ndarray, list]:
    v = np.zeros(ik.robot.nv)
    path, rates, said = [q], [v], []
    for _ in range(steps):
        found = ik.step(path[-1], rates[-1], **goals)
        path.append(found.q)
        rates.append(found.v)
        said.append(found)
    return np.array(path), np.array(rates), said


def test_without_limits_it_is_damped_least_squares():
    robot, q = panda()
    wanted = np.array([0.1, -0.2, 0.3, 0.05, 0.02, -0.04])
    found = rc.DifferentialIK(robot, 0.01, velocity=1e3, **LOOSE).step(q, velocities={"flange": wanted})
    close(robot.jacobian(q, "flange") @ found.v, wanted, 1e-6)
    close(found.v, np.linalg.pinv(robot.jacobian(q, "flange")) @ wanted, 1e-6)  # and the smallest of these
    close(found.errors["flange"], wanted - robot.jacobian(q, "flange") @ found.v, 1e-12)
    assert found.feasible and not found.at_limit.any()


@pytest.mark.parametrize("frame", ["body", "mixed", "world"])
def test_velocities_are_in_the_frame_that_is_said(frame):
    robot, q = panda()
    wanted = np.array([0.1, -0.2, 0.3, 0.05, 0.02, -0.04])
    found = rc.DifferentialIK(robot, 0.01, velocity=1e3, frame=frame, **LOOSE).step(q, velocities={"flange": wanted})
    close(robot.jacobian(q, "flange", frame=frame) @ found.v, wanted, 1e-6)


def test_a_pose_is_reached_within_all_limits():
    robot, q = panda()
    goal = robot.pose(q, "flange")
    goal[:3, 3] += [-0.1, 0.3, 0.1]
    ik = rc.DifferentialIK(robot, 0.005, acceleration=5.0, velocity=0.8)
    path, rates, said = run(ik, q, 800, poses={"flange": goal})
    assert np.abs(robot.pose(path[-1], "flange") - goal).max() < 1e-6
    low, high = robot.position_limits
    assert (path >= low - 1e-12).all() and (path <= high + 1e-12).all()
    assert np.abs(rates).max() <= 0.8 + 1e-12
    assert np.abs(np.diff(rates, axis=0)).max() <= 5.0 * 0.005 + 1e-12
    assert all(one.feasible for one in said) and any(one.at_limit.any() for one in said)


@pytest.mark.parametrize("acceleration", [None, 2.0, 50.0])
def test_joints_that_are_driven_at_a_limit_stop_before_it(acceleration):
    robot, q = panda()
    low, high = robot.position_limits
    ik = rc.DifferentialIK(robot, 0.01, acceleration=acceleration)
    rng = np.random.default_rng(0)
    v = np.zeros(robot.nv)
    for k in range(600):
        if k % 150 == 0:
            wanted = 5.0 * rng.normal(size=6)
        found = ik.step(q, v, velocities={"flange": wanted})
        assert found.feasible
        if acceleration is not None:
            assert np.abs(found.v - v).max() <= acceleration * 0.01 + 1e-9
        q, v = found.q, found.v
        assert (q >= low - 1e-9).all() and (q <= high + 1e-9).all()


def test_a_joint_outside_its_limits_comes_back_and_that_is_said():
    robot, q = panda()
    q[1] = robot.position_limits[1][1] + 0.2
    ik = rc.DifferentialIK(robot, 0.01, acceleration=5.0)
    first = ik.step(q, np.zeros(7), velocities={"flange": np.zeros(6)})
    assert (
        first.past_limit == {"joint2": "position"} and not first.feasible and "position limit of joint2" in str(first)
    )
    close(first.v[1], -0.05, 1e-12)  # as fast as it may
    path, _, said = run(ik, q, 300)
    assert path[-1][1] <= robot.position_limits[1][1] + 1e-9 and said[-1].feasible


def test_a_speed_that_cannot_be_kept_is_braked_and_said():
    robot, q = panda()
    v = np.zeros(7)
    v[0] = 10.0
    found = rc.DifferentialIK(robot, 0.001, velocity=1.0, acceleration=3.0).step(q, v)
    assert found.past_limit == {"joint1": "velocity and position"}  # nor is there room to stop
    close(found.v[0], 10.0 - 0.003, 1e-12)


def test_rows_hold_and_are_passed_least_where_they_cannot():
    robot, q = panda()
    ik = rc.DifferentialIK(robot, 0.01, velocity=1.0)
    up = robot.jacobian(q, "flange", frame="mixed")[5]  # not downward: a floor
    wanted = {"flange": np.array([0, 0, 0, 0.0, 0.0, 0.3])}  # its own z points down
    free = ik.step(q, velocities=wanted)
    kept = ik.step(q, velocities=wanted, rows=(up, 0.0, np.inf))
    assert up @ free.v < -0.1 and up @ kept.v >= -1e-6 and kept.feasible
    both = ik.step(q, velocities=wanted, rows=([up, -up], [2.0, 5.0], [np.inf, np.inf]))
    assert not both.feasible and np.isfinite(both.v).all() and np.abs(both.v).max() <= 1.0 + 1e-9
    close(both.passed, [0.5 * 7.0 - 0.0, 0.5 * 7.0], 2.0)
    assert "rows passed" in str(both)


def test_the_least_violation_is_the_least():
    solve_qp = solver()
    A, least = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, 1.0])  # x >= 1 and x <= -1
    x, passed = solve_with_rows(
        solve_qp, np.eye(2), np.array([0.0, -3.0]), np.full(2, -2.0), np.full(2, 2.0), (A, least, np.full(2, np.inf))
    )
    close(x, [0.0, 2.0], 1e-4)
    close(passed, [1.0, 1.0], 1e-4)
    close(solve(solve_qp, np.eye(2), np.array([5.0, 1.0]), np.full(2, -2.0), np.full(2, np.inf)), [-2.0, -1.0], 1e-9)


def test_near_a_singular_configuration_speeds_stay_small():
    robot = rc.robots.puma560()
    q = np.array([0.1, -0.6, 0.2, 0.4, 1e-4, -0.5])  # the wrist is nearly stretched
    hard = np.linalg.svd(robot.jacobian(q, "link6"))[0][:, -1]
    wild = rc.DifferentialIK(robot, 1e-5, velocity=1e9, **LOOSE).step(q, velocities={"link6": hard})
    calm = rc.DifferentialIK(robot, 1e-5, velocity=1e9).step(q, velocities={"link6": hard})
    assert np.abs(wild.v).max() > 1e3 and np.abs(calm.v).max() < 20.0
    assert calm.damping > 0.04 and wild.damping == 0.0 and "singular" in str(calm)
    far = rc.DifferentialIK(robot, 0.01).step([0.1, -0.6, 0.2, 0.4, 0.8, -0.5], velocities={"link6": hard})
    assert far.damping == 0.0


def test_weights_leave_directions_free_and_the_posture_uses_them():
    robot, q = panda()
    goal = robot.pose(q, "flange")
    rest = q + 0.2
    ik = rc.DifferentialIK(robot, 0.01, weights={"flange": (0.0, 1.0)}, posture=0.01)
    path, _, _ = run(ik, q, 2000, poses={"flange": goal}, posture=rest)
    there = robot.pose(path[-1], "flange")
    assert np.abs(there[:3, 3] - goal[:3, 3]).max() < 5e-4
    assert np.abs(there - goal).max() > 0.05
    assert np.linalg.norm(path[-1] - rest) < 0.9 * np.linalg.norm(q - rest)
    assert abs(path[-1][6] - rest[6]) < 1e-3  # the last joint turns about the point


def test_several_links_of_a_floating_robot():
    robot = large_flyer()
    q, _ = robot.random_state(3)
    links = [robot.model.joints[-1].child, robot.model.joints[len(robot.model.joints) // 2].child]
    goals = {link: robot.pose(robot.integrate(q, np.full(robot.nv, 0.02)), link) for link in links}
    ik = rc.DifferentialIK(robot, 0.01, velocity=50.0)
    path, _, said = run(ik, q, 300, poses=goals)
    for link in links:
        assert np.abs(robot.pose(path[-1], link) - goals[link]).max() < 1e-4
    held = rc.DifferentialIK(robot, 0.01, joints=[j.name for j in robot.model.joints[1:] if j.independent])
    close(held.step(q, poses=goals).q[:7], q[:7], 1e-15)
    assert (held.step(q, poses=goals).v[:6] == 0.0).all()
    assert said[-1].feasible


def test_limits_of_tied_joints_bind_the_joint_they_follow():
    robot = tied_gripper()
    q, _ = robot.random_state(0)
    low, high = rc.DifferentialIK(robot, 0.01)._limits.lowest, rc.DifferentialIK(robot, 0.01)._limits.highest
    assert (low <= high).all() and len(low) == sum(j.independent and j.kind.nq == 1 for j in robot.model.joints)
    found = rc.DifferentialIK(robot, 0.01).step(q, velocities={robot.link_names[-1]: np.ones(6)})
    assert np.isfinite(found.v).all() and found.v.shape == (robot.nv,)


def step(robot: rc.Robot, q: np.ndarray | None = None, **options: object) -> object:
    return rc.DifferentialIK(robot, 0.1).step(np.zeros(7) if q is None else q, **options)


def test_without_goals_nothing_moves():
    robot, q = panda()
    found = rc.DifferentialIK(robot, 0.01).step(q)
    assert np.array_equal(found.v, np.zeros(7)) and str(found) == "no goals"


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda r: rc.DifferentialIK(r, 0.0), rc.StateError, "dt must be a positive number"),
        (lambda r: rc.DifferentialIK(r, 0.1, gain=50.0), rc.StateError, "too large for a time step"),
        (lambda r: rc.DifferentialIK(r, 0.1, acceleration=-1.0), rc.StateError, "joint 'joint1' is -1; it must be"),
        (lambda r: rc.DifferentialIK(r, 0.1, velocity=[1.0, 2.0]), rc.ShapeError, "velocity has shape"),
        (lambda r: rc.DifferentialIK(r, 0.1, acceleration={"joint9": 1.0}), rc.UnknownNameError, "joint9"),
        (lambda r: rc.DifferentialIK(r, 0.1, weights={"flang": 1.0}), rc.UnknownNameError, "flange"),
        (lambda r: rc.DifferentialIK(r, 0.1, weights={"flange": (1, 2, 3)}), rc.StateError, "weights"),
        (lambda r: rc.DifferentialIK(r, 0.1, joints=["joint9"]), rc.UnknownNameError, "joint9"),
        (lambda r: rc.DifferentialIK(r, 0.1, frame="hand"), rc.UnknownNameError, "hand"),
        (lambda r: step(r, np.zeros((2, 7))), rc.ShapeError, "a step is for one state"),
        (lambda r: step(r, np.full(7, np.nan)), rc.StateError, "q must be finite"),
        (lambda r: step(r, poses={"flange": np.eye(3)}), rc.ShapeError, "flange"),
        (lambda r: step(r, poses={"flange": 2 * np.eye(4)}), rc.StateError, "no rotation"),
        (lambda r: step(r, velocities={"hand": np.zeros(6)}), rc.UnknownNameError, "hand"),
        (lambda r: step(r, velocities={"flange": ["a"]}), rc.StateError, "numbers"),
        (lambda r: step(r, rows=(np.eye(3), 0, 1)), rc.ShapeError, "rows"),
        (lambda r: step(r, rows=(np.eye(7), 1, 0)), rc.StateError, "rows"),
        (lambda r: step(r, rows=3), rc.ShapeError, "rows"),
    ],
)  # fmt: skip
def test_bad_arguments_are_said(make, error, words):
    with pytest.raises(error, match=words):
        make(rc.robots.panda_like())


def test_without_the_solver_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def none(name: str, *args: object, **options: object) -> object:
        if name == "daqp":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", none)
    with pytest.raises(rc.RecursaError, match=r"recursa\[qp\]"):
        rc.DifferentialIK(rc.robots.panda_like(), 0.01)


def test_a_program_that_is_not_solved_is_an_error():
    with pytest.raises(rc.ConvergenceError, match="exit flag"):
        solve(lambda *_: (np.zeros(1), 0.0, -4, {}), np.eye(1), np.zeros(1), -np.ones(1), np.ones(1))
