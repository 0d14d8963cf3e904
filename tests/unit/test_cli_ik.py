"""``recursa ik``: what it prints agrees with the library; bad input is one clear line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import recursa as rc
from recursa.cli.commands import recursa


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


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("--link", "tip"), "either --pose or --position"),
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
