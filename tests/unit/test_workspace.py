"""Workspaces: within limits, evenly spread, the same every time; their sizes, and the picture."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import close, tied_gripper
from recursa.reach.workspace import low_discrepancy
from zoo import one_of_each


def test_configurations_are_within_limits_and_poses_are_theirs():
    robot = rc.robots.panda_like()
    found = rc.workspace(robot, "flange", samples=500)
    low, high = robot.position_limits
    assert (found.q >= low).all() and (found.q <= high).all()
    assert (np.ptp(found.q, axis=0) > 0.95 * (high - low)).all()
    close(found.poses, robot.pose(found.q, "flange"), 1e-15)
    close(found.manipulability, robot.manipulability(found.q, "flange", task="position"), 1e-15)
    again = rc.workspace(robot, "flange", samples=500)
    assert np.array_equal(found.q, again.q)
    assert not np.array_equal(found.q, rc.workspace(robot, "flange", samples=500, seed=1).q)


def test_reach_bounds_and_volume_of_an_arm_whose_they_are_known():
    arm = rc.robots.planar(2)  # 0.3 and 0.25 m, without limits: a ring in the plane
    found = rc.workspace(arm, "tip", samples=20_000)
    assert abs(found.reach.most - 0.55) < 1e-3 and abs(found.reach.least - 0.05) < 1e-2
    close(found.bounds[:, :2], [[-0.55, -0.55], [0.55, 0.55]], 1e-2)
    cell = 0.02
    ring = np.pi * (0.55**2 - 0.05**2)
    assert 0.9 < found.volume(cell) / (ring * cell) < 1.2
    assert found.volume() > 0.0 and "poses of tip" in str(found)


def test_joints_that_do_not_matter_or_have_no_bounds_stay():
    robot = rc.robots.free_flyer(3)
    q0 = robot.random_state(1)[0]
    found = rc.workspace(robot, "link2", samples=50, q0=q0)
    assert (found.q[:, :7] == q0[:7]).all() and (found.q[:, -1] == q0[-1]).all()
    everything = one_of_each()
    found = rc.workspace(everything, everything.link_names[-1], samples=40)
    assert np.isfinite(found.points).all()
    tied = tied_gripper()
    found = rc.workspace(tied, tied.link_names[-1], samples=40)
    for joint in tied.model.joints:
        if joint.tie is not None and joint.limits is not None:
            own = joint.tie.multiplier * found.q[:, joint.q_start] + joint.tie.offset
            assert (own >= min(joint.limits) - 1e-9).all() and (own <= max(joint.limits) + 1e-9).all()


def test_the_sequence_is_more_even_than_chance():
    cells = np.floor(low_discrepancy(4096, 2) * 16).astype(int)
    counts = np.bincount(cells[:, 0] * 16 + cells[:, 1], minlength=256)
    assert counts.min() >= 12 and counts.max() <= 20  # 16 each; chance gives 5 to 30


def test_the_picture_is_a_file_or_a_figure(tmp_path):
    found = rc.workspace(rc.robots.puma560(), "link6", samples=3000, task="pose")
    figure = found.plot(tmp_path / "reach.png", dpi=50)
    assert (tmp_path / "reach.png").stat().st_size > 10_000
    assert len(figure.axes) == 5
    assert rc.workspace(rc.robots.planar(1), "tip", samples=1).plot() is not None
    with pytest.raises(rc.RecursaError, match="ending"):
        found.plot(tmp_path / "reach.word")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"link": "base"}, rc.ModelError, "no joint moves it"),
        ({"link": "hand"}, rc.UnknownNameError, "hand"),
        ({"link": "flange", "samples": 0}, rc.StateError, "samples"),
        ({"link": "flange", "task": "speed"}, rc.UnknownNameError, "speed"),
        ({"link": "flange", "seed": -1}, rc.StateError, "seed"),
        ({"link": "flange", "q0": np.zeros((2, 7))}, rc.StateError, "one configuration"),
        ({"link": "flange", "q0": np.full(7, np.nan)}, rc.StateError, "finite"),
    ],
)
def test_bad_arguments_are_said(options, error, words):
    with pytest.raises(error, match=words):
        rc.workspace(rc.robots.panda_like(), **options)


def test_a_cell_is_a_length():
    found = rc.workspace(rc.robots.panda_like(), "flange", samples=10)
    with pytest.raises(rc.StateError, match="cell"):
        found.volume(0.0)
