"""Paths of a tool: lines, arcs and rounded corners are where they should be; what cannot be followed is named."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import recursa as rc
from recursa.cli.commands import recursa

Q0 = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 2.1, 0.8])


@pytest.fixture(scope="module")
def arm() -> rc.Robot:
    return rc.robots.panda_like()


def moved(pose: np.ndarray, *step: float) -> np.ndarray:
    pose = pose.copy()
    pose[:3, 3] += step
    return pose


def positions(arm: rc.Robot, path: rc.Path, count: int = 301) -> np.ndarray:
    return arm.pose(path.sample(path.places(count))[0], "flange")


def test_a_line_is_straight_and_turns_about_one_axis(arm: rc.Robot) -> None:
    start = arm.pose(Q0, "flange")
    to = moved(start, 0.05, 0.2, 0.1)
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    to[:3, :3] = start[:3, :3] @ turn
    poses = positions(arm, rc.tool_path(arm, "flange", Q0, [to], tolerance=1e-6))
    share = np.linspace(0.0, 1.0, len(poses))
    np.testing.assert_allclose(poses[:, :3, 3], start[:3, 3] + share[:, None] * (to - start)[:3, 3], atol=2e-6)
    turned = np.swapaxes(start[None, :3, :3], 1, 2) @ poses[:, :3, :3]
    np.testing.assert_allclose(np.arctan2(turned[:, 1, 0], turned[:, 0, 0]), share * np.pi / 2, atol=1e-5)


def test_an_arc_is_a_circle_through_its_points(arm: rc.Robot) -> None:
    start = arm.pose(Q0, "flange")
    path = rc.tool_path(arm, "flange", Q0, [rc.Arc(start[:3, 3] + [0.0, 0.1, 0.1], moved(start, 0.0, 0.2, 0.0))])
    assert path.length == pytest.approx(np.pi * 0.1)
    p = positions(arm, path)[:, :3, 3] - start[:3, 3] - [0.0, 0.1, 0.0]
    np.testing.assert_allclose(np.linalg.norm(p, axis=1), 0.1, atol=2e-5)
    assert p[:, 2].max() == pytest.approx(0.1, abs=1e-4)


def test_corners_are_stops_or_rounded(arm: rc.Robot) -> None:
    start = arm.pose(Q0, "flange")
    poses = [moved(start, 0.0, 0.2, 0.0), moved(start, 0.0, 0.2, 0.2)]
    sharp = rc.tool_path(arm, "flange", Q0, poses)
    round_ = rc.tool_path(arm, "flange", Q0, poses, blend=0.05)
    assert sharp.stops == pytest.approx([0.2]) and round_.stops == ()
    corner = poses[0][:3, 3]
    near = np.linalg.norm(positions(arm, round_)[:, :3, 3] - corner, axis=1).min()
    assert 0.005 < near < 0.05
    times = [rc.time_optimal(arm, path, acceleration=10.0) for path in (sharp, round_)]
    assert times[1].duration < 0.9 * times[0].duration
    for motion in times:
        motion.check(arm)


def test_what_cannot_be_followed_is_named(arm: rc.Robot) -> None:
    start = arm.pose(Q0, "flange")
    with pytest.raises(rc.PathError, match=r"link 'flange' at s = .* misses by"):
        rc.tool_path(arm, "flange", Q0, [moved(start, 1.0, 0.0, 0.0)])
    puma = rc.robots.puma560()
    qa = np.array([0.3, -0.5, 0.3, 0.0, 0.3, 0.0])
    qb = qa + np.array([0.05, 0.0, 0.0, 0.0, -0.6, 0.0])  # past the singular wrist
    with pytest.raises(rc.RecursaError, match="least singular value"):
        rc.tool_path(puma, "link6", qa, [puma.pose(qb, "link6")])


@pytest.mark.parametrize(
    ("poses", "options", "words"),
    [
        ([], {}, "empty"),
        ([np.eye(3)], {}, "expected homogeneous matrices"),
        ([2.0 * np.eye(4)], {}, "no rotation"),
        ([rc.Arc([0.0, 0.0], np.eye(4))], {}, r"via has shape \(2,\)"),
        ([np.eye(4)], {"blend": -1.0}, "blend"),
        ([np.eye(4)], {"tolerance": 0.0}, "tolerance"),
    ],
)
def test_bad_poses_are_named(arm: rc.Robot, poses, options, words: str) -> None:
    with pytest.raises(rc.RecursaError, match=words):
        rc.tool_path(arm, "flange", Q0, poses, **options)


def test_arcs_and_lines_that_are_none(arm: rc.Robot) -> None:
    start = arm.pose(Q0, "flange")
    with pytest.raises(rc.StateError, match="already is"):
        rc.tool_path(arm, "flange", Q0, [start])
    with pytest.raises(rc.StateError, match="one line"):
        rc.tool_path(arm, "flange", Q0, [rc.Arc(start[:3, 3] + [0, 0.1, 0], moved(start, 0.0, 0.2, 0.0))])


# ---- recursa time ----------------------------------------------------------------------------------------------------


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(recursa, ["time", *arguments])
    error = str(result.exception) if isinstance(result.exception, rc.RecursaError) else ""
    return result.exit_code, result.stdout + error


def test_verb_writes_a_motion_and_a_picture(tmp_path) -> None:
    points = tmp_path / "points.csv"
    points.write_text("joint2,joint1,joint3\n0,0,0\n-0.4,1.2,0.6\n0.3,1.0,0.2\n")
    out, plot = tmp_path / "moves.csv", tmp_path / "speed.png"
    limits = ["--velocity", "2", "--acceleration", "8"]
    code, text = run("planar", str(points), *limits, "-o", str(out), "--plot", str(plot), "--json")
    told = json.loads(text)
    assert code == 0 and plot.stat().st_size > 5000
    robot = rc.robots.planar(3)
    path = rc.Path([[0, 0, 0], [1.2, -0.4, 0.6], [1.0, 0.3, 0.2]], robot=robot)
    assert told["duration"] == pytest.approx(rc.time_optimal(robot, path, velocity=2.0, acceleration=8.0).duration)
    motion = rc.Trajectory.from_csv(out, robot)
    assert motion.duration == pytest.approx(told["duration"])
    again = json.loads(run("planar", str(out), *limits, "--json")[1])
    assert again["duration"] == pytest.approx(told["duration"], rel=0.02)
    code, text = run("planar", str(points), *limits)
    assert code == 0 and "held by" in text and "acceleration of joint1" in text


def test_verb_names_what_is_wrong(tmp_path) -> None:
    points = tmp_path / "points.csv"
    points.write_text("joint1,joint2\n0,0\n1,1\n")
    assert "lacks columns" in run("planar", str(points), "--velocity", "1")[1]
    points.write_text("joint1,joint2,joint3\n0,0,0\n1,1,1\n")
    code, text = run("planar", str(points))
    assert code != 0 and "no limits" in text
