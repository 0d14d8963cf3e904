"""``recursa ik``: what it prints agrees with the library; bad input is one clear line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import recursa as rc
from recursa.cli.commands import recursa
from recursa.cli.reach_command import FORMS, goal


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(recursa, ["ik", *arguments], catch_exceptions=False)
    return result.exit_code, result.stdout


def test_a_pose_is_reached():
    code, text = run("panda_like", "--link", "flange", "--pose", "0.45 0.1 0.4 1 0 0 0", "--json")
    told = json.loads(text)
    robot = rc.robots.panda_like()
    wanted = np.array([[1, 0, 0, 0.45], [0, -1, 0, 0.1], [0, 0, -1, 0.4], [0, 0, 0, 1.0]])
    assert code == 0
    assert told["solved"]
    assert np.abs(robot.pose(list(told["q"].values()), "flange") - wanted).max() < 1e-7
    assert list(told["q"]) == list(robot.q_names)


def test_a_start_leads_to_a_position_near_by():
    code, text = run("planar", "--link", "tip", "--position", "0.5 0.4 0", "--from", "joint1=0.2", "--from", "joint2=1")
    assert code == 0
    assert "1 of 1 targets reached" in text
    assert "joint3" in text


def test_what_is_out_of_reach_is_no_for_an_answer():
    code, text = run("planar", "--link", "tip", "--position", "5 0 0")
    assert code == 1
    assert "0 of 1 targets reached; missed by" in text


def test_goals_are_met_together():
    goals = ("look-at flange 0.5 0 0", "plane flange 0 0 0.5 0 0 1", "position link4 0 0 1 priority=1 weight=2")
    code, text = run("panda_like", *(word for one in goals for word in ("--goal", one)), "--json")
    told = json.loads(text)
    robot = rc.robots.panda_like()
    pose = robot.pose(list(told["q"].values()), "flange")
    way = np.array([0.5, 0.0, 0.0]) - pose[:3, 3]
    assert code == 1  # the third cannot be met as well
    assert [one["met"] for one in told["goals"]] == [True, True, False]
    assert np.abs(pose[:3, 2] - way / np.linalg.norm(way)).max() < 1e-7
    assert abs(pose[2, 3] - 0.5) < 1e-7


GOALS = [
    "pose flange 0.45 0.1 0.4 1 0 0 0", "orientation flange 1 0 0 0", "position flange 0.45 0.1 0.4",
    "plane flange 0.4 0 0 1 0 0", "line flange 0.4 0 0 0 0 1", "along flange 0 0 -1", "along flange 0 0 -1 0 1 0",
    "look-at flange 1 0 0 1 0 0", "center-of-mass 0.05 0 0.4", "relative flange link3 0.1 0.1 -0.4 1 0 0 0",
]  # fmt: skip


def test_every_kind_of_goal_can_be_typed():
    assert {text.split()[0] for text in GOALS} == set(FORMS)
    kinds = {type(goal(text)) for text in GOALS}
    assert kinds == set(rc.reach.Goal.__subclasses__())
    typed = goal("relative flange link3 0.1 0.2 0.3 0 0 0 1 weight=3")
    assert (typed.link, typed.to, typed.weight) == ("flange", "link3", 3.0)
    assert typed.pose[:3, 3].tolist() == [0.1, 0.2, 0.3]


def test_a_joint_is_held_and_a_posture_preferred():
    shared = ("panda_like", "--goal", "position flange 0.4 0.1 0.5", "--json")
    _, text = run(*shared, "--hold", "joint1", "--from", "joint1=0.3", "--from", "joint4=-1")
    assert json.loads(text)["q"]["joint1"] == 0.3
    _, near = run(*shared, "--posture", "joint4=-1.2", "--posture", "joint6=1.5")
    _, far = run(*shared, "--posture", "joint4=-2.4", "--posture", "joint6=1.5")
    assert json.loads(far)["q"]["joint4"] < json.loads(near)["q"]["joint4"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("--link", "tip"), "either --pose or --position"),
        ((), "or a --goal"),
        (("--position", "0 0 0"), "say with --link what is to be there"),
        (("--goal", "positon tip 0 0 0"), "Did you mean 'position'"),
        (("--goal", "relative tip"), "expected 2 names of links"),
        (("--goal", "look-at tip 0 0 0 1"), "expected 3 or 6 finite numbers"),
        (("--goal", "position tip 0 0 0 prio=1"), "priority"),
        (("--goal", "position tip 0 0 0 priority=high"), 'priority must be a number, not "high"'),
        (("--goal", "plane tip 0 0 0 0 0 0"), "normal is a direction"),
        (("--link", "tip", "--position", "1 2"), "expected 3 finite numbers"),
        (("--link", "tip", "--position", "1 2 x"), "not all numbers"),
        (("--link", "tip", "--pose", "0 0 0 1 1 0 0"), "has length 1.41421"),
        (("--link", "tipp", "--position", "0 0 0"), "Did you mean 'tip'"),
        (("--link", "tip", "--position", "0 0 0", "--from", "elbow=1"), "elbow"),
        (("--link", "tip", "--position", "0 0 0", "--tolerance", "0"), "tolerance must be positive"),
    ],
)
def test_bad_input_is_one_line(refused, arguments, message):
    assert message in refused("ik", "planar", *arguments)
