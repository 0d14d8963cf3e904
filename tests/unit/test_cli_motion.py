"""``recursa inverse``: torques as the library computes them, what is told and written, and one line for bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import recursa as rc
from recursa.cli.commands import recursa
from recursa.trajectories.csv_files import read_table


def run(*arguments: str) -> Result:
    return CliRunner().invoke(recursa, ["inverse", *arguments], catch_exceptions=False)


@pytest.fixture
def refused(refused: Callable[..., str]) -> Callable[..., str]:
    return partial(refused, "inverse")


@pytest.fixture
def file(tmp_path: Path) -> str:
    robot = rc.robots.puma560()
    motion = rc.Trajectory.cycloid(robot.random_state(1)[0], robot.random_state(2)[0], 1.5, robot=robot)
    motion.to_csv(tmp_path / "moves.csv", times=motion.times(31))
    return str(tmp_path / "moves.csv")


def test_torques_match_the_library(file: str, tmp_path: Path) -> None:
    robot, out = rc.robots.puma560(), tmp_path / "torque.csv"
    motion = rc.Trajectory.from_csv(file, robot)
    for typed, options in (
        ((), {}),
        (("--no-losses",), {"losses": False}),
        (("--method=tensor",), {"method": "tensor"}),
    ):
        options = {"losses": True, **options}
        result = run("puma560", file, "-o", str(out), *typed)
        assert result.exit_code == 0
        table = read_table(out)
        assert table.names == ("t", *robot.joint_names)
        assert np.array_equal(table.column("t"), motion.knots)
        torques = robot.inverse_dynamics(*motion.sample(motion.knots), **options)
        assert np.array_equal(table.columns(robot.joint_names), torques)
        assert f"wrote {out}" in result.output
        assert "31 instants" in result.output
        assert f"damping and friction {'included' if options['losses'] else 'left out'}" in result.output
        first = f"# losses: {'included' if options['losses'] else 'excluded'}"
        assert out.read_text().splitlines()[0] == first
        assert rc.TorqueTable.from_csv(out, robot).losses is options["losses"]


def test_summary_matches_the_torques(file: str) -> None:
    robot = rc.robots.puma560()
    motion = rc.Trajectory.from_csv(file, robot)
    told = json.loads(run("puma560", file, "--samples", "401", "--json").output)
    t = motion.times(401)
    q, v, a = motion.sample(t)
    tau = robot.inverse_dynamics(q, v, a, losses=True)
    assert (told["samples"], told["start_s"], told["end_s"], told["method"]) == (401, 0.0, 1.5, "newton-euler")
    for k, row in enumerate(told["joints"]):
        assert row["joint"] == robot.joint_names[k]
        assert row["unit"] == "N m"
        assert abs(row["peak"]) == np.abs(tau[:, k]).max()
        assert row["peak"] == tau[int(np.argmin(np.abs(t - row["peak_time_s"]))), k]
        assert row["rms"] == pytest.approx(np.sqrt(np.mean(tau[:-1, k] ** 2)), rel=0.02)
        assert row["peak_power_W"] == pytest.approx(np.abs(tau[:, k] * v[:, k]).max())
    assert "joint6" in run("puma560", file).output


def test_effort_beyond_its_limit_is_told_and_is_no_failure(tmp_path: Path) -> None:
    result = run("panda_like", "--from", "joint4=-1.5", "--to", "joint2=1.2", "--duration", "0.3")
    assert result.exit_code == 0
    assert "87 exceeded" in result.output
    assert "warning: joint 'joint2': effort" in result.output
    told = json.loads(
        run("panda_like", "--from", "joint4=-1.5", "--to", "joint2=1.2", "--duration", "0.3", "--json").output
    )
    assert told["joints"][1]["exceeded"]
    assert not told["joints"][6]["exceeded"]
    assert {"velocity", "effort"} <= {one["quantity"] for one in told["beyond_limits"]}


def test_cycloid_goes_where_it_is_told() -> None:
    told = json.loads(run("stanford", "--to", "joint3=0.4", "--from", "joint2=0.3", "--json").output)
    robot = rc.robots.stanford()
    start = {"joint2": 0.3}
    motion = rc.Trajectory.cycloid(start, {"joint2": 0.3, "joint3": 0.4}, 2.0, robot=robot)
    tau = robot.inverse_dynamics(*motion.sample(motion.times(201)))
    assert told["samples"] == 201
    assert [abs(row["peak"]) for row in told["joints"]] == pytest.approx(np.abs(tau).max(axis=0))
    assert [row["unit"] for row in told["joints"]] == ["N m", "N m", "N", "N m", "N m", "N m"]


def test_plot_and_film_are_written(tmp_path: Path) -> None:
    plot, film = tmp_path / "p.png", tmp_path / "f.gif"
    result = run("planar", "--to", "joint1=0.5", "--duration", "0.2", "--plot", str(plot), "--gif", str(film), "--json")
    assert json.loads(result.output)["files"] == [str(plot), str(film)]
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert film.read_bytes().startswith(b"GIF89a")


def test_floating_robot_has_columns_for_each_freedom(tmp_path: Path) -> None:
    robot = rc.robots.by_name("planar", floating=True)
    rc.Trajectory.constant(robot.random_state(3)[0], robot=robot).to_csv(tmp_path / "m.csv")
    assert run("planar", str(tmp_path / "m.csv"), "--floating", "-o", str(tmp_path / "t.csv")).exit_code == 0
    assert read_table(tmp_path / "t.csv").names[1:7] == tuple(f"root.{x}" for x in ("rx", "ry", "rz", "tx", "ty", "tz"))


def test_bad_input_is_one_line_that_says_what_to_do(refused: Callable[..., str], file: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("t,joint1,joint2,joint3\n0,0,0,x\n")
    for arguments, message in (
        (("planar", str(bad)), "line 2, column 'joint3': 'x' is not a number"),
        (("planar", str(tmp_path / "none.csv")), "cannot be read: No such file"),
        (("planar", file), "column 'joint4': belongs to no joint of robot 'planar3'"),
        (("puma560", file, "--method", "tensr"), "Did you mean 'tensor'?"),
        (("planar", "--to", "jiont1=1"), "Did you mean 'joint1'"),
        (("planar", "--to", "joint1=nan"), "q1 contains nan ('joint1')"),
        (("planar", "--to", "joint1=1", "--duration", "-1"), "T = -1: a duration is positive"),
        (("puma560", file, "-o", str(tmp_path)), "it is a folder"),
        (("puma560", file, "-o", str(tmp_path / "none" / "t.csv")), "No such file"),
        (("puma560", file, "--plot", str(tmp_path / "t.docx")), "its ending is none of"),
        (("puma560", file, "--gif", str(tmp_path / "t.mp4")), "end in .gif"),
    ):
        complaint = refused(*arguments)
        assert complaint.startswith("recursa: ")
        assert message in complaint
        assert complaint.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv", "moves.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("planar",), "which motion?"),
        (("planar", "--to", "joint1"), "write NAME=VALUE"),
        (("planar", "--to", "joint1=far"), "write NAME=VALUE"),
        (("planar", "x.csv", "--duration", "2"), "for a motion without a file"),
        (("planar", "--to", "joint1=1", "--samples", "1"), "Invalid value for '--samples'"),
    ],
)
def test_wrong_usage_is_exit_code_two(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output


def test_motion_is_not_overwritten_by_its_torques(file: str, refused: Callable[..., str]) -> None:
    before = Path(file).read_bytes()
    assert "is the file that is read" in refused("puma560", file, "-o", file)
    assert Path(file).read_bytes() == before


def test_few_instants_of_a_file_are_drawn_as_the_motion_between_them(tmp_path: Path) -> None:
    """The speed between two postures at rest is beyond its limit half way; at neither instant of the file is it."""
    from recursa.cli import motion_commands

    robot = rc.robots.panda_like()
    start, end = (dict(zip(robot.joint_names, (x, 0, 0, -1.5, 0, 1.5, 0), strict=True)) for x in (-1.5, 1.5))
    moves = rc.Trajectory.cycloid(start, end, 1.0, robot=robot)
    moves.to_csv(tmp_path / "moves.csv", times=[0.0, 1.0])
    drawn = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("recursa.plotting.plot_motion", lambda robot, t, *rest, **_: drawn.append(t))
        result = run("panda_like", str(tmp_path / "moves.csv"), "--plot", str(tmp_path / "a.png"))
    assert "2 instants" in result.output
    assert "warning: joint 'joint1': velocity" in result.output
    assert len(drawn[0]) >= motion_commands._FINE


def test_entries_of_joints_of_several_freedoms_are_set_by_name(refused: Callable[..., str]) -> None:
    told = run("free_flyer", "--to", "root.x=0.5", "--to", "joint1=0.2", "--json")
    assert told.exit_code == 0
    assert json.loads(told.output)["joints"][3]["peak_speed"] == pytest.approx(0.5, rel=1e-3)  # 2 x 0.5 m / 2 s
    message = refused("free_flyer", "--to", "root=1")
    assert "--to root=1: joint 'root' has 7 entries: root.x, root.y, root.z, root.qx" in message
    assert "root.x=0.1" in message
    assert "Did you mean 'root.qw'" in refused("free_flyer", "--to", "root.w=1")
