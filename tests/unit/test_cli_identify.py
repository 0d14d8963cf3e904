"""``recursa excite`` and ``recursa identify``: what they write agrees with the library; bad input is one clear line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import recursa as rc
from identified import log, with_friction
from recursa.cli.commands import recursa


def run(*arguments: object) -> tuple[int, str, BaseException | None]:
    result = CliRunner().invoke(recursa, [str(one) for one in arguments])
    return result.exit_code, result.stdout, result.exception


@pytest.fixture
def file(tmp_path):
    """A log of the bundled planar arm with friction."""
    robot = rc.robots.planar(3)
    measured = log(with_friction(robot), 1, rate=100.0)
    path = tmp_path / "log.csv"
    names = ",".join(["t", *robot.q_names, *(f"{name}:tau" for name in robot.v_names)])
    table = np.column_stack([measured["t"], measured["q"], measured["tau"]])
    np.savetxt(path, table, delimiter=",", header=names, comments="", fmt="%.17g")
    return path


def test_the_robot_that_is_written_is_the_identified_one(file, tmp_path):
    out, picture = tmp_path / "arm.robot.json", tmp_path / "torques.png"
    code, text, error = run("identify", "planar", file, "-o", out, "--plot", picture, "--base")
    assert code == 0, error
    found = rc.identify(rc.robots.planar(3), file)
    assert rc.load(out) == found.robot
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "identification of 'planar3'" in text
    assert "nothing to complain about" in text
    assert "link1.Izz + " in text


def test_json_has_the_same_numbers(file):
    code, text, _ = run(
        "identify", "planar", file, "--json", "--fit", "inertia", "--fit", "viscous", "--fit", "coulomb"
    )
    told = json.loads(text)
    found = rc.identify(rc.robots.planar(3), file, fit=("inertia", "viscous", "coulomb"))
    assert code == 0
    assert told["joints"] == found.joints
    assert told["parameters"] == found.parameters.tolist()
    assert list(told["base"]) == list(found.base.names)


def test_a_payload_from_the_command_line(file):
    code, text, _ = run("identify", "planar", file, "--payload-at", "tip", "--json", "--unexcited", "prior")
    assert code == 0
    assert json.loads(text)["payload"]["link"] == "tip"


def test_bad_logs_are_errors_of_the_package(file, tmp_path):
    for arguments, words in (
        (("identify", "planar", tmp_path / "none.csv"), "cannot be read"),
        (("identify", "stanford", file), "lacks columns"),
        (("identify", "planar", file, "-o", file), "it would be lost"),
        (("identify", "planar", file, "--cutoff", "9999"), "cutoff"),
    ):
        code, _, error = run(*arguments)
        assert code != 0
        assert isinstance(error, rc.RecursaError)
        assert words in str(error)


def test_an_exciting_motion_is_written_and_can_be_read(tmp_path):
    out = tmp_path / "excite.csv"
    code, text, error = run("excite", "planar", "--duration", "3", "--rounds", "1", "-o", out)
    assert code == 0, error
    assert "condition number" in text
    motion = rc.Trajectory.from_csv(out, rc.robots.planar(3))
    assert motion.duration == 3.0
    planned = rc.excitation(rc.robots.planar(3), duration=3.0, rounds=1)
    assert np.allclose(motion.sample(1.0)[0], planned.sample(1.0)[0])
    code, text, _ = run("excite", "planar", "--duration", "3", "--rounds", "0", "--json")
    assert json.loads(text)["random_condition"] > 0.0
