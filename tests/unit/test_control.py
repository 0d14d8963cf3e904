"""Controllers: what they take and refuse, limits, many instants at once."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import recursa as rc
from numeric import close, states, tied_gripper
from recursa.control.at_link import PoseLine, rotation_of, rotation_vector
from zoo import each_kind

ARM = rc.robots.planar(2)
MOTION = rc.Trajectory.cycloid([0.2, 0.5], [1.5, -0.9], T=0.8)
GOAL = ARM.pose(np.array([0.4, 0.9]), "tip")


def laws(**options: Any) -> list[rc.control.Law]:
    return [
        rc.control.RateDamping(ARM, 2.0, **options),
        rc.control.PoseRegulator(ARM, "tip", GOAL, stiffness=20.0, damping=3.0, **options),
        rc.control.ComputedTorque(ARM, MOTION, 50.0, **options),
        rc.control.OperationalSpace(ARM, "tip", GOAL, 50.0, coordinates=(3, 4), **options),
        rc.control.OperationalSpace(ARM, "tip", MOTION, 50.0, coordinates=(3, 4), **options),
        rc.control.LinearQuadratic(ARM, MOTION, [100.0, 100.0, 1.0, 1.0], 1.0, knots=5, **options),
    ]


def test_control_is_imported_when_asked_for() -> None:
    code = "import recursa, sys; a = 'recursa.control' in sys.modules; recursa.control.RateDamping; print(a)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


# ---- many instants, limits -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(6))
def test_batch_equals_rows(number: int) -> None:
    law = laws()[number]
    q, v, _ = states(ARM, 3)
    t = np.array([0.1, 0.4, 2.0])
    together = law.torque(t, q, v)
    assert together.shape == (3, 2)
    for k in range(3):
        close(together[k], law.torque(float(t[k]), q[k], v[k]), 1e-12, repr(law))
    close(law.torque(0.4, q[1].tolist(), v[1].tolist()), together[1], 1e-12)


@pytest.mark.parametrize("number", range(6))
def test_torques_stay_within_limits_and_the_report_names_who_was_there(number: int) -> None:
    free, held = laws()[number], laws(effort={"joint1": 0.3, "joint2": 0.01})[number]
    q, v, _ = states(ARM, 5)
    t = np.linspace(0.0, 0.8, 5)
    limits = np.array([0.3, 0.01])
    close(held.torque(t, q, v), np.clip(free.demand(t, q, v), -limits, limits), 1e-12)
    found = {one.freedom: one for one in held.saturation(t, q, v)}
    wanted = free.demand(t, q, v)
    for k, name in enumerate(("joint 'joint1'", "joint 'joint2'")):
        share = float((np.abs(wanted[:, k]) > limits[k]).mean())
        assert (name in found) == (share > 0.0)
        if share:
            assert found[name].share == share
            close(abs(found[name].demand), np.abs(wanted[:, k]).max(), 1e-12)
            assert name in str(found[name])
    assert free.saturation(t, q, v) == []


def test_limits_come_from_the_model() -> None:
    arm = rc.robots.panda_like()
    law = rc.control.RateDamping(arm, 1.0, effort="model")
    assert law.effort is not None
    assert law.effort.tolist() == [87.0] * 4 + [12.0] * 3
    with pytest.raises(rc.StateError, match="no joint of robot 'planar2' has a limit of effort"):
        rc.control.RateDamping(ARM, 1.0, effort="model")


def test_simulation_takes_a_controller_with_limits() -> None:
    law = rc.control.ComputedTorque(ARM, MOTION, 50.0, effort=0.5)
    run = ARM.simulate(MOTION.sample(0.0)[0], duration=0.1, torque=law, rtol=1e-4, atol=1e-6)
    assert np.abs(run.tau).max() <= 0.5
    assert law.saturation(run.t, run.q, run.v)


# ---- motions ---------------------------------------------------------------------------------------------------------


def test_motion_of_ones_own_is_held_at_its_end() -> None:
    class Mine:
        duration = 0.8

        def sample(self, t: float) -> Any:
            return MOTION.sample(t)

    q, v = np.array([0.3, 0.4]), np.array([0.5, -0.2])
    for law in (rc.control.ComputedTorque, rc.control.LinearQuadratic):
        rest = (50.0,) if law is rc.control.ComputedTorque else ([100.0, 100.0, 1.0, 1.0], 1.0)
        options = {} if law is rc.control.ComputedTorque else {"knots": 3}
        ours, theirs = law(ARM, Mine(), *rest, **options), law(ARM, MOTION, *rest, **options)  # type: ignore[arg-type]
        for t in (0.3, 0.8, 5.0):
            close(ours.torque(t, q, v), theirs.torque(t, q, v), 1e-12)
        close(ours.torque(np.array([0.3, 5.0]), q, v), theirs.torque(np.array([0.3, 5.0]), q, v), 1e-12)


def test_pose_line_moves_with_the_velocity_it_tells() -> None:
    arm = rc.robots.ur5_like()
    start, end = (arm.pose(arm.random_state(seed)[0], "link6") for seed in (1, 2))
    line = PoseLine(start, end, 2.0)
    close(line(0.0)[0], start, 1e-12)
    close(line(9.0)[0], end, 1e-12)
    t, h = 0.7, 1e-4
    near = [line(t + k * h) for k in (-1, 0, 1)]
    turn = rotation_vector(near[2][0][:3, :3] @ near[0][0][:3, :3].T) / (2 * h)
    close(turn, near[1][1][:3], 1e-6)
    close((near[2][0][:3, 3] - near[0][0][:3, 3]) / (2 * h), near[1][1][3:], 1e-6)
    close((near[2][1] - near[0][1]) / (2 * h), near[1][2], 1e-6)
    many = line(np.array([[0.1, 0.7], [1.0, 3.0]]))
    assert [part.shape for part in many] == [(2, 2, 4, 4), (2, 2, 6), (2, 2, 6)]
    close(many[0][0, 1], near[1][0], 1e-13)
    close(many[1][1, 1], np.zeros(6), 1e-15)


def test_rotation_vectors_match_rotations() -> None:
    vectors = np.random.default_rng(0).normal(size=(4, 3))
    close(rotation_vector(rotation_of(vectors)), vectors, 1e-12)


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_free_bases_need_thrusters() -> None:
    ship = rc.robots.free_flyer(2)
    q, v = ship.random_state(1)
    with pytest.raises(rc.NoSweepError, match=r"joint 'root' of robot 'free_flyer.*' is free.*drive_base=True"):
        rc.control.RateDamping(ship, 1.0)
    assert rc.control.RateDamping(ship, 1.0, drive_base=True).torque(0.0, q, v).shape == (ship.nv,)


def test_tied_joints() -> None:
    """Total rates need a tree of independent joints; inverse dynamics does not."""
    robot = tied_gripper()
    q, v = robot.random_state(1)
    with pytest.raises(rc.NoSweepError, match="tied joints"):
        rc.control.RateDamping(robot, 1.0)
    with pytest.raises(rc.NoSweepError, match="tied joints"):
        rc.control.PoseRegulator(robot, "lens", np.eye(4))
    motion = rc.Trajectory.constant(q, robot=robot)
    law = rc.control.ComputedTorque(robot, motion, 10.0)
    a = robot.forward_dynamics(q, v, law.torque(0.0, q, v), losses=False)
    close(a, -2.0 * np.sqrt(10.0) * v, 1e-9)
    for other in (
        rc.control.OperationalSpace(robot, "lens", robot.pose(q, "lens"), 10.0, coordinates=(3, 4)),
        rc.control.LinearQuadratic(robot, motion, 1.0, 1.0, knots=3),
    ):
        assert np.isfinite(other.torque(0.0, q, v)).all()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: rc.control.RateDamping("arm", 1.0), rc.StateError, "is a robot, not 'arm'"),
        (lambda: rc.control.RateDamping(ARM, -1.0), rc.StateError, "damping of joint 'joint1' is -1; .*at least 0"),
        (lambda: rc.control.RateDamping(ARM, [1.0, np.nan]), rc.StateError, "joint2.* is nan; .*finite"),
        (lambda: rc.control.RateDamping(ARM, [1.0, 2.0, 3.0]), rc.ShapeError, r"damping has shape \(3,\)"),
        (lambda: rc.control.RateDamping(ARM, {"joint1": 1.0}), rc.StateError, "no number for joint 'joint2'"),
        (lambda: rc.control.RateDamping(ARM, {"joint3": 1.0}), rc.UnknownNameError, "no independent joint 'joint3'"),
        (lambda: rc.control.RateDamping(ARM, "much"), rc.StateError, "damping must be numbers"),
        (lambda: rc.control.RateDamping(ARM, 1.0, effort="motor"), rc.StateError, "effort must be"),
        (lambda: rc.control.RateDamping(ARM, 1.0).torque(0.0, [0.0, np.inf], [0, 0]), rc.StateError, "q has entries"),
        (lambda: rc.control.RateDamping(ARM, 1.0).torque(0.0, [0.0], [0.0, 0.0]), rc.ShapeError, "q"),
        (lambda: rc.control.PoseRegulator(ARM, "top", GOAL), rc.UnknownNameError, "no link 'top'.*'tip'"),
        (lambda: rc.control.PoseRegulator(ARM, "tip", np.eye(3)), rc.ShapeError, r"target has shape \(3, 3\)"),
        (lambda: rc.control.PoseRegulator(ARM, "tip", 2 * np.eye(4)), rc.StateError, "target is not a pose"),
        (lambda: rc.control.PoseRegulator(ARM, "tip", GOAL, damping=0.0), rc.StateError, "must be above 0"),
        (
            lambda: rc.control.PoseRegulator(ARM, "tip", GOAL, stiffness=-1.0),
            rc.StateError,
            "stiffness must have eigen",
        ),
        (
            lambda: rc.control.PoseRegulator(ARM, "tip", GOAL, stiffness=np.triu(np.ones((12, 12)))),
            rc.StateError,
            "symmetric",
        ),
        (lambda: rc.control.ComputedTorque(ARM, 3.0, 1.0), rc.StateError, r"method sample\(t\)"),
        (
            lambda: rc.control.ComputedTorque(ARM, rc.Trajectory.constant([0.0]), 1.0),
            rc.ShapeError,
            "trajectory has 1 coordinates",
        ),
        (
            lambda: rc.control.ComputedTorque(ARM, rc.Trajectory.constant(np.zeros(2), robot=TWO), 1.0),
            rc.StateError,
            "one of robot 'two'",
        ),
        (
            lambda: rc.control.ComputedTorque(ARM, MOTION, [[2.0, 1.0], [1.0, 2.0]]),
            rc.StateError,
            "needs a damping",
        ),
        (
            lambda: rc.control.OperationalSpace(ARM, "tip", GOAL, [1.0, 2.0]),
            rc.ShapeError,
            r"stiffness has shape \(2,\)",
        ),
        (
            lambda: rc.control.OperationalSpace(ARM, "tip", GOAL, 1.0, coordinates="postion"),
            rc.UnknownNameError,
            "Did you mean 'position'",
        ),
        (
            lambda: rc.control.OperationalSpace(ARM, "tip", GOAL, 1.0, coordinates=(3, 3)),
            rc.StateError,
            "different rows",
        ),
        (
            lambda: rc.control.OperationalSpace(ARM, "tip", GOAL, 1.0, singular=2.0),
            rc.StateError,
            "singular is a share",
        ),
        (
            lambda: rc.control.OperationalSpace(ARM, "tip", lambda t: (GOAL, [0.0], [0.0]), 1.0),
            rc.ShapeError,
            "velocity and acceleration of shapes",
        ),
        (
            lambda: rc.control.OperationalSpace(ARM, "world", np.eye(4), 1.0),
            rc.StateError,
            "'world' of robot 'planar2' is fixed to the world",
        ),
        (lambda: rc.control.PoseRegulator(ARM, "world", np.eye(4)), rc.StateError, "no torque moves it"),
        (lambda: rc.control.LinearQuadratic(ARM, MOTION, [1.0, 1.0], 1.0), rc.ShapeError, r"Q has shape \(2,\)"),
        (lambda: rc.control.LinearQuadratic(ARM, MOTION, 1.0, 0.0), rc.StateError, "R must have eigenvalues"),
        (lambda: rc.control.LinearQuadratic(ARM, MOTION, 1.0, 1.0, knots=1), rc.StateError, "knots = 1"),
        (
            lambda: rc.control.LinearQuadratic(ARM, MOTION, 1.0, 1.0, method="best"),
            rc.UnknownNameError,
            "no method of gains 'best'",
        ),
        (
            lambda: rc.control.LinearQuadratic(ARM, MOTION, 1.0, 1.0, method="scheduled", final=np.eye(4)),
            rc.StateError,
            "no use for it",
        ),
        (
            lambda: rc.control.LinearQuadratic(ARM.with_gravity((0, 0, 0)), MOTION, 0.0, 1.0, knots=3),
            rc.StateError,
            "Riccati's equation at t = 0.8 s has no solution",
        ),
    ],
)
def test_mistakes_are_named(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_directions_in_which_a_link_cannot_move_are_left_alone() -> None:
    """All of them: a wheel whose axle is horizontal up to rounding does not turn about z, and is damped only."""
    b = rc.Builder("wheel").link("rim", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.joint("axle", "revolute", parent="world", child="rim", axis=(0, 0, 1), rpy=(np.pi / 2, 0, 0))
    wheel = b.build()
    law = rc.control.OperationalSpace(wheel, "rim", rotation_about_z(1.0), 50.0, coordinates=(2,))
    q, v = np.array([0.3]), np.array([0.2])
    close(law.torque(0.0, q, v), wheel.inverse_dynamics(q, v, -law.posture_damping * v), 1e-12)


def test_weights_by_default_make_a_joint_a_critically_damped_oscillator() -> None:
    """Gains w^2 m and 2 w m with w = 10 rad/s, where the joint carries no weight."""
    b = rc.Builder("slide").link("block", mass=3.0, inertia=(1, 1, 1))
    b.joint("rail", "prismatic", parent="world", child="block", axis=(1, 0, 0))
    law = rc.control.LinearQuadratic(b.build(), rc.Trajectory.cycloid([0.0], [0.4], T=0.5), knots=3)
    close(law.gain(0.2), [[300.0, 60.0]], 1e-9)
    arm = rc.control.LinearQuadratic(ARM, MOTION, knots=3)
    A, B = ARM.state_space([1.5, -0.9], [0.0, 0.0], ARM.gravity_forces([1.5, -0.9]))
    assert np.linalg.eigvals(A - B @ arm.gain(0.8)).real.max() < -5.0


def rotation_about_z(angle: float) -> np.ndarray:
    pose = np.eye(4)
    pose[:3, :3] = rotation_of(np.array([0.0, 0.0, angle]))
    return pose


def two() -> rc.Robot:
    b = rc.Builder("two")
    for name, parent in (("a", "world"), ("b", "a")):
        b.link(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
        b.joint(f"turn_{name}", "revolute", parent=parent, child=name, axis=(0, 0, 1))
    return b.build()


TWO = two()


def test_weights_of_spheres_are_by_freedom() -> None:
    robot = each_kind("spherical")
    names = robot.joint_names
    law = rc.control.RateDamping(robot, {names[0]: [1.0, 2.0, 3.0], names[1]: 4.0, names[2]: 5.0})
    assert law.damping.tolist() == [1.0, 2.0, 3.0] + [4.0] * 3 + [5.0] * 3
