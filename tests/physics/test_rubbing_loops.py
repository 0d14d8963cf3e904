"""Dry friction beside constraints: closed forms, and a plain time-stepping scheme written down here."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import recursa as rc
from recursa.mechanisms import FEET
from robot_data import urdf_files

FRICTION = {"crank_joint": 0.3, "coupler_joint": 0.5, "rocker_joint": 0.4}


def parallelogram(friction: dict[str, float], mass: float = 1.2) -> rc.Robot:
    """Crank and rocker of 1 m, 2 m apart, and a coupler that only translates; without gravity."""
    b = rc.Builder("parallelogram")
    for name, length in (("crank", 1.0), ("coupler", 2.0), ("rocker", 1.0)):
        b.link(name, mass=mass, com=(length / 2, 0, 0), inertia=(1e-3, 0.5, mass * length**2 / 12))
    places = {"crank": ("world", (0, 0, 0)), "coupler": ("crank", (1, 0, 0)), "rocker": ("world", (2, 0, 0))}
    for name, (parent, xyz) in places.items():
        joint = f"{name}_joint"
        b.joint(joint, "revolute", parent=parent, child=name, axis=(0, 0, 1), xyz=xyz, friction=friction[joint])
    tree = b.build(gravity=(0, 0, 0))
    return tree.with_constraints(
        rc.Loop("revolute", "coupler", "rocker", axis=(0, 0, 1), at=(2, 0, 0), at_other=(1, 0, 0))
    )


BENT = np.array([1.0, -1.0, 1.0])  # of crank and rocker upright by 1 rad, the coupler level
INERTIA = 1.2 * (2.0 / 3.0 + 1.0)  # about the crank's axis: two rods about their ends, and a mass at 1 m


def test_a_loop_breaks_away_when_all_its_joints_together_yield() -> None:
    """One degree of freedom, three rubbing joints: friction holds up to the sum, and then takes the sum."""
    robot, rate = parallelogram(FRICTION), 2.0
    run = robot.simulate(BENT, duration=1.2, torque=lambda t, q, v: [rate * t, 0.0, 0.0], samples=241)
    breaks = sum(FRICTION.values()) / rate
    before, after = run.t < breaks, run.t > breaks
    assert (run.v[before] == 0.0).all()
    assert (run.q[before] == BENT).all()
    since = run.t[after] - breaks
    assert np.abs(run.v[after, 0] - rate * since**2 / (2 * INERTIA)).max() < 1e-8
    assert np.abs(run.q[after, 0] - 1.0 - rate * since**3 / (6 * INERTIA)).max() < 1e-8
    assert run.energy_drift < 1e-8


@pytest.mark.parametrize("joint", [0, 1, 2])
@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_any_joint_can_be_pushed_and_others_hold_it(joint: int, direction: float) -> None:
    robot = parallelogram(FRICTION)
    for share, moves in ((0.999999, False), (1.000001, True)):
        torque = np.zeros(3)
        torque[joint] = direction * share * sum(FRICTION.values())
        for options in ({}, {"integrator": "semi-implicit"}, {"integrator": "rk4", "step": 0.01}):
            run = robot.simulate(BENT, duration=0.1, torque=torque, **options)
            assert bool(run.v[-1].any()) is moves, (share, options)


def test_a_loop_comes_to_rest_and_stays_there() -> None:
    """From 1 rad/s the sum of all friction stops it after ``I / sum`` seconds; then nothing moves by a single bit."""
    robot = parallelogram(FRICTION)
    total = sum(FRICTION.values())
    run = robot.simulate(BENT, [1.0, -1.0, 1.0], duration=3.0, samples=301)
    stops = INERTIA / total
    assert abs(run.q[-1, 0] - 1.0 - 0.5 * stops) < 1e-9
    rest = run.t > stops
    assert (run.v[rest] == 0.0).all()
    assert (np.ptp(run.q[rest], axis=0) == 0.0).all()
    assert abs(run.lost[-1] - 0.5 * INERTIA) < 1e-9


def test_friction_that_differs_by_direction_in_a_loop() -> None:
    robot = parallelogram(FRICTION).with_joint("coupler_joint", friction=(0.5, 0.1))
    forward = 0.3 + 0.1 + 0.4  # the coupler turns backward when the crank turns forward
    for total, sign in ((forward, 1.0), (0.3 + 0.5 + 0.4, -1.0)):
        for share in (0.9999, 1.0001):
            run = robot.simulate(BENT, duration=0.2, torque=[sign * share * total, 0.0, 0.0])
            assert bool(run.v[-1].any()) is (share > 1.0)


def test_a_stuck_joint_of_a_moving_mechanism_does_not_creep() -> None:
    """A five-bar whose left crank is held by friction moves as one whose left crank is welded."""
    robot = rc.robots.five_bar().with_joint("left_joint", friction=1e3)
    q = robot.neutral()
    held = rc.robots.five_bar().reduced({"left_joint": q[0]})
    run = robot.simulate(q, duration=1.5, samples=31)
    welded = held.simulate(held.neutral(), duration=1.5, samples=31)
    assert np.ptp(run.q[:, 0]) == 0.0
    assert np.abs(run.q[:, 1:] - welded.q).max() < 1e-7
    assert np.ptp(welded.q, axis=0).max() > 0.5


# ---- a plain time-stepping scheme --------------------------------------------------------------------------------


def stepped(robot: rc.Robot, q: np.ndarray, torque, friction: np.ndarray, damping: np.ndarray, step: float, steps: int):
    """Moreau's scheme: per step, impulses of constraints and friction by projected Gauss-Seidel on all rows at once."""
    v = np.zeros(robot.nv)
    tree = robot.without_constraints()
    rubbing = np.flatnonzero(friction)
    for k in range(steps):
        M = tree.mass_matrix(q)
        W = np.linalg.inv(M)
        free = v + step * W @ (torque(k * step, q, v) - damping * v - tree.bias_forces(q, v))
        G = robot.constraint_jacobian(q)
        R = np.concatenate([G, np.eye(robot.nv)[rubbing]])
        D, c = R @ W @ R.T, R @ free
        c[: len(G)] += 0.2 * robot.constraint_error(q) / step
        bound = np.concatenate([np.full(len(G), np.inf), step * friction[rubbing]])
        p = np.zeros(len(R))
        for _ in range(4000):
            last = p.copy()
            for i in range(len(R)):
                p[i] = np.clip(p[i] - (c[i] + D[i] @ p) / max(D[i, i], 1e-12), -bound[i], bound[i])
            if np.abs(p - last).max() <= 1e-11 * np.abs(p).max():
                break
        v = free + W @ R.T @ p
        q = robot.integrate(q, step * v)
    return q, v


def rubbing_five_bar() -> rc.Robot:
    robot = rc.robots.five_bar()
    for name, friction in zip(robot.joint_names, (0.15, 0.05, 0.2, 0.05), strict=True):
        robot = robot.with_joint(name, friction=friction, damping=0.02)
    return robot


def driven(robot: rc.Robot):
    return lambda t, q, v: robot.gravity_forces(q) + np.array([1.2 * np.sin(12 * t), 0.0, 0.8 * np.sin(9 * t), 0.0])


@cache
def expected_end() -> np.ndarray:
    """Two step sizes, extrapolated."""
    robot = rubbing_five_bar()
    friction, damping = np.array([0.15, 0.05, 0.2, 0.05]), np.full(4, 0.02)
    coarse, fine = (
        stepped(robot, robot.neutral(), driven(robot), friction, damping, 0.5 / steps, steps)[0] for steps in (125, 250)
    )
    return 2.0 * fine - coarse


@pytest.mark.parametrize("options", [{}, {"integrator": "semi-implicit", "step": 5e-4}], ids=["adaptive", "fixed"])
def test_a_driven_five_bar_with_friction_everywhere_moves_as_time_stepping_says(options) -> None:
    """It sticks, slips and turns round several times; two independent joints, four that rub."""
    robot = rubbing_five_bar()
    run = robot.simulate(robot.neutral(), duration=0.5, torque=driven(robot), **options)
    assert (run.v[5:, 0] == 0.0).any()
    assert np.ptp(run.q, axis=0).min() > 0.02
    assert np.abs(run.q[-1] - expected_end()).max() < 5e-3 * np.ptp(run.q, axis=0).max()
    assert (np.diff(run.lost) >= -1e-12).all()


# ---- legs ---------------------------------------------------------------------------------------------------------


def standing(robot: rc.Robot, feet: list[str], pose: dict[str, float]) -> tuple[rc.Robot, np.ndarray]:
    q = robot.neutral()
    for joint in robot.model.joints[1:]:
        q[joint.q_start] = next(angle for part, angle in pose.items() if part in joint.name)
    return robot.with_constraints(*(rc.Contact("point", foot) for foot in feet)).with_contacts_at(q), q


def go1() -> tuple[rc.Robot, np.ndarray]:
    paths = [path for path in urdf_files() if path.name == "go1.urdf"]
    if not paths:
        pytest.skip("example-robot-data is not installed")
    robot = rc.load(paths[0], floating=True)
    return standing(
        robot, [f"{leg}_foot" for leg in ("FR", "FL", "RR", "RL")], {"hip": 0.0, "thigh": 0.8, "calf": -1.6}
    )


def quadruped() -> tuple[rc.Robot, np.ndarray]:
    robot = rc.robots.standing_quadruped().without_constraints()
    for joint in robot.model.joints[1:]:
        robot = robot.with_joint(joint.name, friction=0.2, damping=0.01)
    return standing(robot, list(FEET), {"roll": 0.0, "pitch": 0.8, "knee": -1.6})


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("legs", [go1, quadruped])
def test_a_standing_robot_with_rubbing_joints_simulates_with_default_options(legs) -> None:
    """Twelve rubbing joints and six degrees of freedom; held by torques, sinking, and moved by a controller."""
    robot, q = legs()
    motors = np.r_[np.zeros(6), np.ones(robot.nv - 6)]
    names = [joint.name for joint in robot.model.joints[1:]]
    hold = robot.actuator_torques(q, 0 * motors, 0 * motors, actuated=names).tau
    still = robot.simulate(q, duration=1.0, torque=hold)
    assert (still.q[-1, 7:] == q[7:]).all()
    assert (still.v[:, 6:] == 0.0).all()
    sinks = robot.simulate(q, duration=0.05, torque=motors * robot.gravity_forces(q))
    assert sinks.v[-1, 6:].any()
    assert sinks.energy_drift < 1e-8

    def controller(t: float, at: np.ndarray, v: np.ndarray) -> np.ndarray:
        wanted = q[7:] + 0.1 * np.sin(6.0 * t) * np.tile([0.0, 1.0, -2.0], 4)
        return hold + np.r_[np.zeros(6), 60.0 * (wanted - at[7:]) - v[6:]]

    run = robot.simulate(q, duration=0.4, torque=controller)
    assert run.statistics["evaluations"] < 10_000
    assert run.energy_drift < 1e-8
    assert (np.diff(run.lost) >= -1e-12).all()
    assert np.abs(robot.constraint_error(run.q)).max() < 1e-12
    steps = robot.simulate(q, duration=0.4, torque=controller, integrator="semi-implicit", save_every=400)
    assert np.abs(steps.q[-1] - run.q[-1]).max() < 0.02 * np.ptp(run.q, axis=0).max()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("legs", [go1, quadruped])
def test_a_sinking_robot_moves_as_with_regularised_friction(legs) -> None:
    """Friction ``f tanh(v / width)`` in small steps: what that is off by is halved with the width, and extrapolates."""
    robot, q = legs()
    names = [joint.name for joint in robot.model.joints[1:]]
    still = np.zeros(robot.nv)
    push = np.r_[np.zeros(6), np.tile([1.0, 0.0, 0.0], 4)]  # sideways, so that all joints slide or stick
    torque = 0.8 * robot.actuator_torques(q, still, still, actuated=names).tau + push
    run = robot.simulate(q, duration=0.1, torque=torque)
    friction, damping = 0.2 * (np.arange(robot.nv) > 5), 0.01 * (np.arange(robot.nv) > 5)
    ends = []
    for width, step in ((8e-3, 1e-4), (4e-3, 5e-5)):
        smooth = robot.simulate(
            q, duration=0.1, losses=False, integrator="rk4", step=step, samples=2,
            torque=lambda t, q, v, width=width: torque - friction * np.tanh(v / width) - damping * v,
        )  # fmt: skip
        ends.append(smooth.q[-1])
    expected = 2.0 * ends[1] - ends[0]
    assert np.ptp(run.q, axis=0).max() > 0.1
    assert np.abs(run.q[-1] - expected).max() < 0.1 * np.abs(ends[0] - expected).max()
    assert np.abs(run.q[-1] - expected).max() < 1e-4


@pytest.mark.parametrize(("name", "seed"), [("two_arms", 1), ("two_arms", 11), ("delta", 3), ("gripper", 3)])
def test_mechanisms_that_rub_everywhere_are_followed_through_all_changes(name: str, seed: int) -> None:
    """More joints rub than can move; near the symmetric pose of the two arms dependent ones become independent."""
    robot, rng = rc.robots.by_name(name), np.random.default_rng(seed)
    single = [joint for joint in robot.model.joints if joint.kind.nv == 1]
    driven = np.zeros(robot.nv)
    for joint in single:
        robot = robot.with_joint(joint.name, friction=float(rng.uniform(0.05, 0.5)))
        driven[joint.v_start] = 1.0
    q, size, pace = robot.neutral(), 0.5 * rng.normal(size=robot.nv), rng.uniform(3.0, 15.0, robot.nv)
    weight = robot.gravity_forces(q)
    run = robot.simulate(q, duration=0.3, torque=lambda t, q, v: driven * (weight + size * np.sin(pace * t)))
    assert run.energy_drift < 1e-7
    assert (np.diff(run.lost) >= -1e-12).all()
    assert run.lost[-1] > 1e-4
    assert np.abs(robot.constraint_error(run.q)).max() < 1e-12


# ---- prescribed joints --------------------------------------------------------------------------------------------


def test_a_prescribed_joint_that_starts_from_rest_rubs() -> None:
    robot = rc.robots.planar(2).with_joint("joint1", friction=2.0).with_constraints(rc.Prescribed("joint1"))
    smooth = robot.with_joint("joint1", friction=0.0)
    motion = {"joint1": lambda t: (t**4, 4 * t**3, 12 * t**2)}
    rubbing, easy = (one.simulate([0.0, 0.3], duration=1.0, prescribed=motion, samples=21) for one in (robot, smooth))
    assert np.abs(rubbing.q - easy.q).max() < 1e-8
    assert np.abs((rubbing.tau - easy.tau)[2:, 0] - 2.0).max() < 1e-6
    assert abs(rubbing.lost[-1] - 2.0) < 1e-6  # 2 N m over 1 rad
