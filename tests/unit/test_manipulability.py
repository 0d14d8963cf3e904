"""Errors of poses, manipulability, condition, singular directions: against their definitions, in every form."""

from __future__ import annotations

import numpy as np
import pytest

import native_oracles
import recursa as rc
from numeric import close, tied_gripper
from questions import answered
from recursa.dynamics import manipulability
from recursa.dynamics.manipulability import singular_value_decomposition
from recursa.kernels.switch import extension
from zoo import large_flyer, one_of_each

ROWS = {"pose": slice(0, 6), "position": slice(3, 6), "orientation": slice(0, 3)}
ROBOTS = {
    "puma560": lambda: rc.robots.puma560(),
    "panda_like": lambda: rc.robots.panda_like(),
    "tree40": lambda: rc.robots.tree(40, branching=1, seed=3),
    "large_flyer": large_flyer,
    "one_of_each": one_of_each,
    "tied_gripper": tied_gripper,
}


def configurations(robot: rc.Robot, count: int = 5) -> np.ndarray:
    return np.stack([robot.random_state(seed)[0] for seed in range(count)])


@pytest.mark.parametrize("task", ROWS)
@pytest.mark.parametrize("name", ROBOTS)
def test_manipulability_is_the_root_of_the_determinant(name, task):
    robot = ROBOTS[name]()
    q, link = configurations(robot), robot.link_names[-1]
    J = robot.jacobian(q, link)[:, ROWS[task]]
    values = np.linalg.svd(J, compute_uv=False)
    product = values.prod(axis=1) if J.shape[2] >= J.shape[1] else np.zeros(len(q))
    close(robot.manipulability(q, link, task=task), product, 1e-7 * values[:, 0].max() ** J.shape[1])


@pytest.mark.parametrize("form", ["interpreted", "straight", "loop"])
@pytest.mark.parametrize("name", ["puma560", "panda_like", "large_flyer"])
def test_condition_and_directions_are_those_of_the_jacobian(name, form):
    robot = ROBOTS[name]()
    q, link = configurations(robot), robot.link_names[-1]
    with answered(form):
        for task, frame in (("pose", "body"), ("position", "world"), ("orientation", "mixed")):
            J = robot.jacobian(q, link, frame=frame)
            J[:, 3:] /= 0.5
            J = J[:, ROWS[task]]
            close(
                robot.condition(q, link, task=task, length=0.5), np.linalg.cond(robot_rows(robot, q, link, task)), 1e-8
            )
            found = robot.singular_directions(q, link, task=task, frame=frame, length=0.5)
            close(np.swapaxes(found.directions, 1, 2) @ (found.gains[..., None] * found.speeds), J, 1e-12)
            close(
                found.directions @ np.swapaxes(found.directions, 1, 2),
                np.broadcast_to(np.eye(J.shape[1]), (5, J.shape[1], J.shape[1])),
                1e-12,
            )
            assert (np.diff(found.gains, axis=1) <= 0.0).all()


def robot_rows(robot, q, link, task):
    J = robot.jacobian(q, link)
    J[:, 3:] /= 0.5
    return J[:, ROWS[task]]


def test_what_cannot_be_moved_has_no_gain_and_an_infinite_condition():
    arm = rc.robots.planar(2)
    assert arm.condition([0.3, 0.4], "tip") == np.inf
    assert arm.manipulability([0.3, 0.4], "tip", task="position") == 0.0
    found = arm.singular_directions([0.3, 0.4], "tip")
    assert (found.gains[2:] == 0.0).all() and (found.speeds[2:] == 0.0).all() and np.isfinite(found.directions).all()
    assert arm.manipulability([0.3, 0.4], "world") == 0.0
    assert arm.condition([0.3, 0.4], "world") == np.inf


def test_a_state_has_the_same_bits_alone_and_in_a_batch():
    robot = rc.robots.panda_like()
    q = configurations(robot, 9)
    together = robot.singular_directions(q, "flange")
    for k, one in enumerate(q):
        alone = robot.singular_directions(one, "flange")
        assert all(np.array_equal(a, b[k]) for a, b in zip(alone, together, strict=True))
        assert robot.condition(one, "flange") == robot.condition(q, "flange")[k]


def test_singular_values_keep_their_digits():
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(n, n)))[0] for n in (6, 8))
    values = 10.0 ** -np.arange(0, 12, 2)
    found = singular_value_decomposition((left * values) @ right[:6])
    assert np.abs(found[1] / values - 1.0).max() < 1e-5  # J J* would have none left


def test_pose_error_is_the_motion_that_is_missing():
    robot = rc.robots.panda_like()
    q, other = configurations(robot, 6)[:3], configurations(robot, 6)[3:]
    wanted = robot.pose(other, "flange")
    error = robot.pose_error(q, "flange", wanted)
    for k in range(3):
        w, v = error[k, :3], error[k, 3:]
        close(robot.pose(q[k], "flange") @ exponential(w, v), wanted[k], 1e-12)
    assert np.abs(robot.pose_error(other, "flange", wanted)).max() < 1e-14


def exponential(w: np.ndarray, v: np.ndarray) -> np.ndarray:
    """By the series."""
    twist = np.zeros((4, 4))
    twist[:3, :3] = [[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]
    twist[:3, 3] = v
    total, term = np.eye(4), np.eye(4)
    for k in range(1, 60):
        term = term @ twist / k
        total = total + term
    return total


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda r, q: r.manipulability(q, "flange", task="speed"), rc.UnknownNameError, "no task 'speed'"),
        (lambda r, q: r.condition(q, "flang"), rc.UnknownNameError, "Did you mean 'flange'"),
        (lambda r, q: r.condition(q, "flange", length=0.0), rc.StateError, "length must be a positive number"),
        (lambda r, q: r.singular_directions(q, "flange", frame="hand"), rc.UnknownNameError, "no frame 'hand'"),
        (lambda r, q: r.pose_error(q, "flange", np.eye(3)), rc.ShapeError, "pose"),
    ],
)
def test_what_cannot_be_asked_is_said(call, error, words):
    robot = rc.robots.panda_like()
    with pytest.raises(error, match=words):
        call(robot, robot.neutral())


@pytest.mark.parametrize("shape", [(20, 6, 7), (20, 3, 7), (20, 6, 3), (5, 1, 4), (0, 6, 7), (3, 5, 5)])
def test_native_turns_have_the_bits_of_the_clear_ones(shape: tuple[int, ...]) -> None:
    matrices = np.random.default_rng(5).normal(size=shape)
    if len(matrices):
        matrices[0], matrices[1] = 0.0, matrices[1][:, :1] * matrices[1][:1]  # nothing, and rank one
    count, m, n = shape
    both = np.concatenate([matrices, np.broadcast_to(np.eye(m), (count, m, m))], axis=2)
    clear = native_oracles.turned_rows(both.transpose(1, 2, 0).copy(), n)
    extension("turns").turned_rows(manipulability._rounds(m), manipulability._TURNING, both, n)
    np.testing.assert_array_equal(both.transpose(1, 2, 0), clear)
