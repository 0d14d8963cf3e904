"""Inverse kinematics: positions that were found give the wanted poses, within the limits, or say why not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import recursa as rc
import search_oracle
from questions import answered
from recursa.errors import NativeCodeError
from recursa.kernels.switch import Switch
from recursa.reach.levels import LEAST_DAMPING
from recursa.reach.search_steps import Motions
from recursa.reach.tasks import Task
from robot_data import urdf_files
from zoo import large_flyer, mixed_tree, one_of_each, small_flyer

ARMS = {
    "panda_like": (rc.robots.panda_like, "flange"),
    "puma560": (rc.robots.puma560, "link6"),
    "stanford": (rc.robots.stanford, "link6"),
    "chain of 13": (lambda: rc.robots.chain(13, seed=2, joints="mixed"), "link13"),
}
TREES = {"small_flyer": small_flyer, "mixed_tree": mixed_tree, "one_of_each": one_of_each, "large_flyer": large_flyer}


def reachable(robot: rc.Robot, link: str, count: int, seed: int = 7) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return robot.pose(np.stack([robot.random_state(rng)[0] for _ in range(count)]), link)


def solution(J: np.ndarray, error: np.ndarray, right: np.ndarray) -> np.ndarray:
    """``J* inv(J J* + lambda I) right``."""
    size, length = error @ error, np.sqrt(np.square(J).sum() + LEAST_DAMPING)
    damping = size * length / (0.5 * np.sqrt(size) + 2.0 * length) + LEAST_DAMPING
    return J.T @ np.linalg.solve(J @ J.T + damping * np.eye(6), right)


def within(robot: rc.Robot, q: np.ndarray) -> bool:
    low, high = robot.position_limits
    return bool(((low <= q) & (q <= high)).all())


@pytest.mark.parametrize("name", ARMS)
def test_positions_give_the_poses_and_stay_within_the_limits(name):
    make, link = ARMS[name]
    robot = make()
    poses = reachable(robot, link, 300)
    found = rc.inverse_kinematics(robot, link, poses)
    assert found.solved.mean() > 0.995
    assert within(robot, found.q)
    gap = np.abs(robot.pose(found.q, link) - poses)[found.solved]
    assert gap.max() < 3e-8
    assert np.sqrt(np.square(found.error[found.solved, :3]).sum(1)).max() <= 1e-8


@pytest.mark.parametrize("name", TREES)
def test_joints_of_every_kind_reach_poses(name):
    robot = TREES[name]()
    link = robot.link_names[-1]
    poses = reachable(robot, link, 40)
    found = rc.inverse_kinematics(robot, link, poses)
    assert found.solved.all()
    assert np.abs(robot.pose(found.q, link) - poses).max() < 1e-7


def test_a_target_alone_has_the_bits_it_has_in_a_batch():
    robot = rc.robots.puma560()
    poses = reachable(robot, "link6", 700).reshape(7, 100, 4, 4)
    together = rc.inverse_kinematics(robot, "link6", poses)
    assert together.q.shape == (7, 100, 6)
    assert together.solved.shape == (7, 100)
    for at in [(0, 0), (3, 55), (6, 99), *np.argwhere(together.attempts > 4)[:3]]:
        alone = rc.inverse_kinematics(robot, "link6", poses[tuple(at)])
        assert np.array_equal(alone.q, together.q[tuple(at)])
        assert alone.attempts == together.attempts[tuple(at)]


def one_step(robot: rc.Robot, link: str, q: np.ndarray, wanted: np.ndarray, low, high) -> tuple[np.ndarray, np.ndarray]:
    """Positions after a step, and the errors before it."""
    motions = Motions(robot.model, (Task("pose", (robot.model.link_index(link),), 0),), False)
    numbers = np.array([[*wanted[:3].ravel(), 1.0, 1.0]])
    bounds = low[None], high[None], np.ones((1, robot.nv))
    control = np.array([[1e-8, 1e-8, 0.0, 0.5]])
    told = search_oracle.evaluate(
        motions, "step", q[None], motions.frames(q[None]), numbers, *bounds, np.empty((1, 0)), control
    )[0]
    return told[: robot.nq], told[robot.nq : robot.nq + 6]


def test_a_step_is_damped_least_squares():
    robot = rc.robots.chain(9, seed=3, joints="mixed")
    link, (q, _), free = robot.link_names[-1], robot.random_state(1), np.full(9, np.inf)
    wanted = robot.pose(robot.random_state(2)[0], link)
    after, error = one_step(robot, link, q, wanted, -free, free)
    assert np.allclose(after - q, solution(robot.jacobian(q, link), error, error), rtol=1e-9, atol=1e-12)
    turned = robot.pose(q, link)[:3, :3].T @ wanted[:3, :3]
    assert np.allclose(2.0 * np.cos(np.linalg.norm(error[:3])) + 1.0, np.trace(turned))
    assert np.allclose(robot.pose(q, link)[:3, :3] @ error[3:], wanted[:3, 3] - robot.pose(q, link)[:3, 3])


def test_a_step_beyond_a_limit_ends_there_and_the_others_do_the_rest():
    robot = rc.robots.chain(9, seed=3)
    link, (q, _) = robot.link_names[-1], robot.random_state(1)
    low, high = np.full(9, -np.inf), np.full(9, np.inf)
    wanted = robot.pose(robot.random_state(2)[0], link)
    after, error = one_step(robot, link, q, wanted, low, high)
    free = after - q
    held = int(np.argmax(np.abs(free)))
    bound = high if free[held] > 0.0 else low
    bound[held] = q[held] + 0.25 * free[held]
    limited = one_step(robot, link, q, wanted, low, high)[0] - q
    assert np.isclose(limited[held], 0.25 * free[held])
    J, others = robot.jacobian(q, link), np.arange(9) != held
    left = error - J[:, held] * limited[held]
    assert np.allclose(limited[others], solution(J[:, others], error, left), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("task", ["pose", "position", "orientation"])
@pytest.mark.parametrize("name", TREES)
def test_searches_agree_in_every_form(name, task):
    answers = []
    for form in ("numpy", "straight", "loop"):
        robot = TREES[name]()
        link, rng = robot.link_names[-1], np.random.default_rng(0)
        q = np.stack([robot.random_state(rng)[0] for _ in range(5)])
        start = robot.integrate(q, 0.1 * rng.normal(size=(5, robot.nv)))
        with search_oracle.searching() if form == "numpy" else answered(form):
            answers.append(rc.inverse_kinematics(robot, link, robot.pose(q, link), start, task=task, restarts=2))
    plain, *others = answers
    assert plain.solved.all()
    for other in others:
        assert np.array_equal(other.attempts, plain.attempts)
        assert np.array_equal(other.iterations, plain.iterations)
        assert np.allclose(other.q, plain.q, atol=1e-6)


def test_tasks_ask_for_what_they_say():
    robot = rc.robots.panda_like()
    poses = reachable(robot, "flange", 50)
    point = rc.inverse_kinematics(robot, "flange", poses[:, :3, 3], task="position")
    turn = rc.inverse_kinematics(robot, "flange", poses, task="orientation")
    assert point.solved.all()
    assert turn.solved.all()
    assert np.abs(robot.pose(point.q, "flange") - poses)[:, :3, 3].max() < 2e-8
    assert np.abs(robot.pose(turn.q, "flange") - poses)[:, :3, :3].max() < 2e-8
    assert np.abs(robot.pose(point.q, "flange") - poses)[:, :3, :3].max() > 0.1


def test_what_is_out_of_reach_says_by_how_much_and_what_holds_it():
    robot = rc.robots.planar(3)
    reach = 3 * np.linalg.norm(
        robot.pose(robot.neutral(), "link1")[:3, 3] - robot.pose(robot.neutral(), "link2")[:3, 3]
    )
    tip = robot.link_names[-1]
    far = rc.inverse_kinematics(robot, tip, [10.0 * reach, 0.0, 0.0], task="position")
    assert not far.solved
    assert np.isfinite(far.error).all()
    nearest = np.linalg.norm(robot.pose(far.q, tip)[:3, 3])
    assert np.isclose(np.linalg.norm(far.error[3:]), 10.0 * reach - nearest, rtol=1e-3)
    assert "0 of 1 targets reached; missed by at most" in str(far)

    b = rc.Builder("slider")
    b.link("cart", mass=1.0)
    b.joint("rail", "prismatic", parent="world", child="cart", axis=(1, 0, 0), limits=(-1.0, 0.5))
    cart = b.build()
    held = rc.inverse_kinematics(cart, "cart", [[2.0, 0.0, 0.0], [0.25, 0.0, 0.0]], task="position")
    assert held.q.ravel().tolist() == pytest.approx([0.5, 0.25])
    assert held.held_by.tolist() == [[True], [False]]
    assert "held back by limits of rail" in str(held)


def test_joints_that_are_not_named_and_those_elsewhere_stay():
    robot = rc.robots.panda_like()
    q0 = robot.random_state(4)[0]
    moved = robot.integrate(q0, np.array([0.1, 0.0, -0.1, 0.2, 0.0, 0.1, 0.0]))
    chosen = [robot.joint_names[k] for k in (0, 2, 3, 5)]
    wanted = robot.pose(moved, "flange")
    found = rc.inverse_kinematics(robot, "flange", wanted, q0, joints=chosen, tolerance=1e-9)
    assert found.solved
    assert np.array_equal(found.q[[1, 4, 6]], q0[[1, 4, 6]])
    assert np.abs(found.q - moved).max() < 0.5  # from near by, the answer is near by
    flyer = small_flyer()
    start = flyer.random_state(1)[0]
    still = rc.inverse_kinematics(flyer, flyer.link_names[-1], np.eye(4), start, joints=flyer.joint_names[1:])
    assert np.array_equal(still.q[:7], start[:7])
    side = rc.inverse_kinematics(robot, robot.link_names[3], robot.pose(moved, robot.link_names[3]), q0)
    assert np.array_equal(side.q[3:], q0[3:])


def test_angles_without_limits_come_within_a_turn():
    robot = rc.robots.chain(6, seed=1)
    poses = reachable(robot, robot.link_names[-1], 20)
    start = robot.random_state(0)[0] + 40.0 * np.pi
    found = rc.inverse_kinematics(robot, robot.link_names[-1], poses, start, tolerance=1e-7)
    assert found.solved.all()
    assert np.abs(found.q).max() <= np.pi + 1e-12


def test_restarts_are_bounded():
    robot = rc.robots.puma560()
    poses = reachable(robot, "link6", 200)
    one = rc.inverse_kinematics(robot, "link6", poses, restarts=0)
    some = rc.inverse_kinematics(robot, "link6", poses, restarts=3)
    assert one.attempts.max() == 1
    assert some.attempts.max() <= 4
    assert one.solved.sum() < some.solved.sum()
    at_once = some.attempts == 1
    assert one.solved[at_once].all()
    assert np.array_equal(some.q[at_once & some.solved], one.q[at_once & some.solved])


@pytest.mark.parametrize(
    "change, message",
    [
        ({"link": "flang"}, "Did you mean 'flange'"),
        ({"poses": np.eye(3)}, r"poses has shape \(3, 3\), expected homogeneous matrices"),
        ({"poses": 2.0 * np.eye(4)}, "is no rotation: its columns miss being orthonormal by 3"),
        ({"poses": np.diag([1.0, 1.0, -1.0, 1.0])}, "mirror image"),
        ({"poses": np.full((4, 4), np.nan)}, "poses must be finite"),
        ({"q0": [0.0] * 6}, "nq = 7"),
        ({"q0": [np.inf] * 7}, "q0 must be finite"),
        ({"task": "point"}, "position"),
        ({"joints": ["joint1"]}, "q0= must say where the others are"),
        ({"joints": ["joint9"], "q0": [0.0] * 7}, "joint9"),
        ({"tolerance": -1.0}, "tolerance must be positive"),
        ({"tolerance": "tight"}, "tolerance must be a number"),
        ({"restarts": 1000}, "whole number from 0 to 63"),
        ({"poses": np.tile(np.eye(4), (3, 1, 1)), "q0": np.zeros((2, 7))}, "do not fit together"),
    ],
)
def test_bad_input_is_named(change, message):
    given = {"link": "flange", "poses": np.eye(4), **change}
    with pytest.raises(rc.RecursaError, match=message):
        rc.inverse_kinematics(rc.robots.panda_like(), **given)


def test_nothing_to_reach():
    found = rc.inverse_kinematics(rc.robots.panda_like(), "flange", np.zeros((0, 4, 4)))
    assert found.q.shape == (0, 7)
    assert str(found) == "0 of 0 targets reached"


ROBOT_DATA = {
    "Panda": ("panda_description/urdf/panda.urdf", "panda_hand"),
    "UR5": ("ur_description/urdf/ur5_robot.urdf", "tool0"),
    "UR10": ("ur_description/urdf/ur10_robot.urdf", "tool0"),
    "Talos, left": ("talos_data/robots/talos_reduced.urdf", "gripper_left_base_link"),
    "Talos, right": ("talos_data/robots/talos_reduced.urdf", "gripper_right_base_link"),
    "Puma 560": (None, "link6"),
}


@pytest.mark.parametrize("name", ROBOT_DATA)
def test_arms_of_the_world_reach_what_they_can(name):
    path, link = ROBOT_DATA[name]
    files = [one for one in urdf_files() if path is not None and one.as_posix().endswith(path)]
    if path is not None and not files:
        pytest.skip("example-robot-data is not installed")
    robot = rc.robots.puma560() if path is None else rc.load(files[0])
    low, high = (np.where(np.isfinite(x), x, y) for x, y in zip(robot.position_limits, (-np.pi, np.pi), strict=True))
    shares = np.random.default_rng(11).uniform(-1.0, 1.0, (10_000, robot.nq))
    poses = robot.pose(0.5 * (low + high) + 0.49 * (high - low) * shares, link)
    found = rc.inverse_kinematics(robot, link, poses)
    assert found.solved.mean() >= 0.999
    assert within(robot, found.q)
    there = robot.pose(found.q, link)[found.solved]
    gap = np.linalg.norm(there[:, :3, 3] - poses[found.solved, :3, 3], axis=1)
    turned = np.square(there[:, :3, :3] - poses[found.solved, :3, :3]).sum(axis=(1, 2))
    assert gap.max() < 1.001e-8
    assert np.sqrt(0.5 * turned).max() < 1.001e-8
    far = poses[:20].copy()
    far[:, :3, 3] += [0.0, 0.0, 5.0]
    missed = rc.inverse_kinematics(robot, link, far)
    assert missed.out_of_reach.all()
    assert missed.distance.min() > 1.0


def test_threads_have_searches_of_their_own():
    robot = rc.robots.chain(19, seed=4, joints="mixed")
    link = robot.link_names[-1]
    poses = reachable(robot, link, 400)
    alone = rc.inverse_kinematics(robot, link, poses)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: rc.inverse_kinematics(robot, link, poses), range(8)))
    assert all(np.array_equal(one.q, alone.q) for one in together)


@pytest.mark.parametrize("name", ["puma560", "panda_like"])
def test_the_native_search_is_that_of_numpy(name: str) -> None:
    """Among targets that can be reached, and one that cannot; attempts and steps are counted alike."""
    make, link = ARMS[name]
    poses = reachable(make(), link, 12)
    poses[3, :3, 3] += 9.0
    native = rc.inverse_kinematics(make(), link, poses, restarts=8)
    with search_oracle.searching():
        plain = rc.inverse_kinematics(make(), link, poses, restarts=8)
    assert native.solved.sum() == 11 and np.array_equal(native.solved, plain.solved)
    assert np.array_equal(native.attempts[native.solved], plain.attempts[native.solved])
    np.testing.assert_allclose(plain.q[native.solved], native.q[native.solved], atol=1e-6)
    np.testing.assert_allclose(plain.errors, native.errors, atol=1e-6)


def test_the_search_says_why_it_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    arm = rc.robots.planar(2)
    monkeypatch.setattr(Switch, "on", False)
    with pytest.raises(NativeCodeError, match=r"inverse kinematics runs in native code alone.*RECURSA_COMPILE"):
        rc.inverse_kinematics(arm, "tip", [1.0, 0.0, 0.0], task="position")


def test_a_body_that_cannot_move_is_where_it_is() -> None:
    b = rc.Builder("block")
    b.link("block", mass=1.0, inertia=(1, 1, 1))
    b.joint("fixed", "fixed", parent="world", child="block")
    away = np.eye(4)
    away[0, 3] = 1.0
    found = rc.inverse_kinematics(b.build(), "block", np.stack([np.eye(4), away]))
    assert found.solved.tolist() == [True, False] and "1 of 2" in str(found)
    assert found.error[1, 3] == 1.0
