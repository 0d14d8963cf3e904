"""``recursa simulate``, ``info`` and ``plot`` of runs: as the library computes; exit codes; one line for bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import recursa as rc
from comparing import equal_runs
from recursa.cli.commands import recursa
from recursa.runs import journal
from recursa.trajectories.csv_files import write_table

SHORT = ("simulate", "planar", "--duration", "0.1", "--q0", "joint1=0.4", "--rtol", "1e-6")


def run(*arguments: str, **options: str) -> Result:
    return CliRunner().invoke(recursa, list(arguments), catch_exceptions=False, **options)  # type: ignore[arg-type]


def test_result_matches_the_library(tmp_path: Path) -> None:
    robot, torque, state = rc.robots.planar(3), tmp_path / "torque.csv", tmp_path / "state.json"
    rows = np.column_stack([np.linspace(0, 0.2, 4), np.random.default_rng(1).normal(size=(4, 3))])
    write_table(torque, ["t", *robot.joint_names], rows)
    state.write_text(json.dumps({"q": [0.1, 0.2, 0.3], "v": {"joint2": 0.5}}))
    result = run(
        "simulate", "planar", "--duration", "0.1", "--torque", str(torque), "--between", "hold", "--state", str(state),
        "--integrator", "rk4", "--step", "0.01", "--save-every", "2", "--no-losses", "-o", str(tmp_path / "run.npz"),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    expected = robot.simulate(
        [0.1, 0.2, 0.3], [0, 0.5, 0], duration=0.1, torque=rc.TorqueTable(rows[:, 0], rows[:, 1:], "hold"),
        integrator="rk4", step=0.01, save_every=2, losses=False,
    )  # fmt: skip
    found = rc.read(tmp_path / "run.npz")
    equal_runs(found, expected, seconds=False)
    assert not (tmp_path / "run.npz.part").exists()
    for text in ("finished", "joint2", "energy drift", "10 steps", "6 samples", f"wrote {tmp_path / 'run.npz'}"):
        assert text in result.output
    told = run("info", str(tmp_path / "run.npz"))
    assert told.exit_code == 0
    assert "energy drift" in told.output
    data = json.loads(run("info", str(tmp_path / "run.npz"), "--json").output)
    assert data["coordinates"][0]["end"] == expected.q[-1, 0]
    assert data["freedoms"][1]["peak_speed"] == expected.v[np.argmax(np.abs(expected.v[:, 1])), 1]


def test_pictures_and_json(tmp_path: Path) -> None:
    result = run(
        *SHORT, "--samples", "5", "--plot", str(tmp_path / "a.png"), "--gif", str(tmp_path / "a.gif"), "--json"
    )
    assert result.exit_code == 0
    data = json.loads(result.output)
    assert (data["status"], data["samples"], data["end_s"], data["momentum_drift"]) == ("finished", 5, 0.1, None)
    assert [Path(file).name for file in data["files"]] == ["a.png", "a.gif"]
    assert (tmp_path / "a.png").read_bytes()[1:4] == b"PNG"
    run(*SHORT, "--samples", "5", "-o", str(tmp_path / "run.npz"))
    assert run("plot", str(tmp_path / "run.npz"), "-o", str(tmp_path / "b.svg")).exit_code == 0
    assert "svg" in (tmp_path / "b.svg").read_text()


def test_run_that_was_cut_short_goes_on_or_starts_again(tmp_path: Path, refused: Callable[..., str]) -> None:
    robot, out, part = rc.robots.planar(3), tmp_path / "run.npz", tmp_path / "run.npz.part"
    whole = robot.simulate({"joint1": 0.4}, duration=0.1, rtol=1e-6, checkpoint=part, checkpoint_every=0)
    data = part.read_bytes()
    cut = data[: [stop for _, stop in journal._extents(data)][3]]
    part.write_bytes(cut)
    assert f"go on with recursa simulate --resume {out}, or add --restart" in refused(*SHORT, "-o", str(out))
    assert "checkpoint of 'planar3'" in run("info", str(part)).output
    assert json.loads(run("info", str(part), "--json").output)["finished"] is False
    assert "of another robot" in refused("simulate", "stanford", "--resume", str(out))
    assert "--duration, --stops, --no-losses: a run that goes on" in refused(
        "simulate", "--resume", str(out), "--duration", "2", "--stops", "--no-losses"
    )
    assert part.read_bytes() == cut
    result = run("simulate", "planar", "--resume", str(out))
    assert result.exit_code == 0
    equal_runs(rc.read(out), whole, seconds=False)
    assert not part.exists()
    part.write_bytes(cut)
    assert run(*SHORT, "-o", str(out), "--restart").exit_code == 0
    assert not part.exists()


def test_interrupted_and_failed_runs_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, part = tmp_path / "run.npz", tmp_path / "run.npz.part"
    from recursa.simulation.driver import Simulation

    step, count = Simulation.step, [0]

    def interrupted(self: Simulation) -> None:
        count[0] += 1
        if count[0] == 4:
            raise KeyboardInterrupt
        step(self)

    monkeypatch.setattr(Simulation, "step", interrupted)
    result = run(*SHORT, "-o", str(out))
    assert result.exit_code == 130
    assert f"go on with: recursa simulate --resume {out}" in result.output
    assert rc.read(out).status == "interrupted"
    assert part.exists()
    count[0] = 100
    assert run("simulate", "--resume", str(out)).exit_code == 0
    assert rc.read(out).status == "finished"
    count[0] = 0
    result = run(*SHORT)
    assert result.exit_code == 130
    assert "with -o FILE it could" in result.output

    def failing(self: Simulation) -> None:
        raise rc.SimulationError("the state is no longer finite", 0.0)

    monkeypatch.setattr(Simulation, "step", failing)
    result = run(*SHORT, "-o", str(out))
    assert result.exit_code == 1
    assert "failed: the state is no longer finite" in result.output
    assert rc.read(out).status == "failed"
    assert not part.exists()


def test_bad_input_is_one_line(tmp_path: Path, refused: Callable[..., str]) -> None:
    state = tmp_path / "state.json"
    state.write_text('{"q": [0, 0, 0], "tau": [0, 0, 0]}')
    for arguments, said in (
        (("simulate",), "which robot?"),
        (("simulate", "planar"), "how long? Add --duration"),
        (("simulate", "planar", "--duration", "-1"), "duration must be finite and at least 0"),
        (("simulate", "planar", "--duration", "1", "--integrator", "rk5"), "Did you mean 'rk4"),
        (("simulate", "planar", "--duration", "1", "--q0", "joint9=1"), "--q0 joint9=1: no entry 'joint9'"),
        (("simulate", "planar", "--duration", "1", "--q0", "joint1"), "write NAME=VALUE"),
        (("simulate", "planar", "--duration", "1", "--state", str(state)), "no key 'tau' in a state"),
        (("simulate", "planar", "--duration", "1", "--state", str(state), "--q0", "joint1=1"), "say the same"),
        (("simulate", "planar", "--duration", "1", "--between", "hold"), "--torque file"),
        (("simulate", "planar", "--duration", "1", "--torque", str(tmp_path / "no.csv")), "cannot be read"),
        (("simulate", "planar", "--duration", "1", "-o", str(tmp_path / "run.mat")), "let it end in .npz"),
        (("simulate", "planar", "--duration", "1", "-o", str(tmp_path / "no" / "run.npz")), "cannot write"),
        (("simulate", "planar", "--duration", "1", "--plot", str(tmp_path / "run.txt")), "let it end in .png"),
        (("simulate", "planar", "--duration", "1", "--plot", str(tmp_path / "no" / "a.png")), "there is no folder"),
        (("simulate", "--resume", str(tmp_path / "run.npz")), "there is no file"),
        (("plot", str(tmp_path / "run.npz")), "where to?"),
        (("plot", str(tmp_path / "run.npz"), "-o", str(tmp_path / "a.png")), "there is no file"),
        (("info", str(tmp_path / "run.npz")), "there is no file"),
    ):
        assert said in refused(*arguments), arguments
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state.json"]


def test_torques_are_not_overwritten_by_the_run(tmp_path: Path, refused: Callable[..., str]) -> None:
    table = tmp_path / "torque.csv"
    table.write_text("t,joint1,joint2,joint3\n0,0,0,0\n1,0,0,0\n")
    before = table.read_bytes()
    said = refused("simulate", "planar", "--duration", "0.1", "--torque", str(table), "-o", str(table))
    assert "is the file that is read" in said
    assert table.read_bytes() == before
    assert list(tmp_path.iterdir()) == [table]


def lossy_arm(folder: Path) -> str:
    b = rc.Builder("lossy").link("upper", mass=2.0, com=(0.2, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.link("lower", mass=1.0, com=(0.2, 0, 0), inertia=(0.05, 0.05, 0.05))
    b.joint("shoulder", "revolute", parent="world", child="upper", axis=(0, 1, 0), damping=0.5, friction=2.0)
    b.joint(
        "elbow", "revolute", parent="upper", child="lower", axis=(0, 1, 0), xyz=(0.4, 0, 0), damping=2.0, friction=4.0
    )
    (folder / "lossy.urdf").write_text(b.build().to_urdf())
    return str(folder / "lossy.urdf")


@pytest.mark.parametrize("losses", [(), ("--no-losses",)])
def test_torques_of_a_motion_bring_it_about(losses: tuple[str, ...], tmp_path: Path) -> None:
    """``inverse`` and ``simulate`` mean the same: what one writes, the other follows, with losses and without."""
    arm, torque, out = lossy_arm(tmp_path), str(tmp_path / "torque.csv"), tmp_path / "run.npz"
    told = run("inverse", arm, "--to", "shoulder=0.6", "--to", "elbow=-0.9", "--duration", "1", "-o", torque, *losses)
    assert told.exit_code == 0, told.output
    steps = ("--integrator", "rk4", "--step", "0.005")  # as the rows of the file
    followed = run("simulate", arm, "--duration", "1", "--torque", torque, *steps, "-o", str(out))
    assert f"damping and friction {'left out' if losses else 'included'}" in followed.output
    motion = rc.read(out)
    assert motion.options.losses is not bool(losses)
    planned = rc.Trajectory.cycloid([0, 0], [0.6, -0.9], 1.0).sample(motion.t)[0]
    assert np.abs(motion.q - planned).max() < 2e-3


def test_torques_for_another_robot_are_told(tmp_path: Path) -> None:
    arm, torque = lossy_arm(tmp_path), tmp_path / "torque.csv"
    for said, option, words in (
        (
            "included",
            "--no-losses",
            "with damping and friction, and this run is without damping and friction; leave --no-losses out",
        ),
        (
            "excluded",
            "--losses",
            "without damping and friction, and this run is with damping and friction; leave --losses out",
        ),
    ):
        torque.write_text(f"# losses: {said}\nt,shoulder,elbow\n0,0,0\n1,0,0\n")
        told = run("simulate", arm, "--duration", "0.01", "--torque", str(torque), option)
        assert f"warning: the torques were computed for a robot {words}" in told.output
        assert "warning: the torques" not in run("simulate", arm, "--duration", "0.01", "--torque", str(torque)).output
    torque.write_text("# losses: perhaps\nt,shoulder,elbow\n0,0,0\n1,0,0\n")
    told = CliRunner().invoke(recursa, ["simulate", arm, "--duration", "0.01", "--torque", str(torque)])
    assert "has the note '# losses: perhaps'; it has to be one of included, excluded, damping, friction" in str(
        told.exception
    )


def test_saved_runs_say_whether_their_torques_met_losses(tmp_path: Path) -> None:
    robot = rc.load(lossy_arm(tmp_path))
    for losses in (True, False):
        robot.simulate([0.1, 0.2], duration=0.01, losses=losses).save(tmp_path / "run.csv")
        assert rc.TorqueTable.from_csv(tmp_path / "run.csv", robot).losses is losses
        assert rc.Trajectory.from_csv(tmp_path / "run.csv", robot).duration == 0.01
    with pytest.raises(rc.ResultFileError, match="is a table"):
        rc.read(tmp_path / "run.csv")


def test_limits_that_are_passed_are_told(tmp_path: Path) -> None:
    b = rc.Builder("press").link("ram", mass=1.0, inertia=(1, 1, 1))
    b.joint(
        "fall", "prismatic", parent="world", child="ram", axis=(0, 0, -1), limits=(0.0, 0.04), velocity=5.0, effort=1.0
    )
    (tmp_path / "press.urdf").write_text(b.build().to_urdf())
    arm, out = str(tmp_path / "press.urdf"), tmp_path / "run.npz"
    told = run("simulate", arm, "--duration", "1", "-o", str(out))
    assert told.exit_code == 0
    again = run("info", str(out))
    for text in (told.output, again.output):
        assert (
            "warning: joint 'fall': position 4.905 m at t = 1 s is beyond its limit 0.04 m (first beyond it at t = 0.09"
            in text
        )
        assert "warning: joint 'fall': velocity 9.81 m/s at t = 1 s is beyond its limit 5 m/s" in text
    assert "--stops" in told.output
    assert "--stops" not in run("simulate", arm, "--duration", "0.2", "--stops").output
    beyond = json.loads(run("info", str(out), "--json").output)["beyond_limits"]
    assert [one["quantity"] for one in beyond] == ["position", "velocity"]
    assert beyond[0]["first_s"] == pytest.approx(np.sqrt(2 * 0.04 / 9.81), abs=5e-3)


def test_speeds_of_single_freedoms_are_set_by_name(refused: Callable[..., str]) -> None:
    told = run("simulate", "free_flyer", "--duration", "0.01", "--v0", "root.rx=1", "--q0", "root.z=2", "--json")
    assert told.exit_code == 0, told.output
    data = json.loads(told.output)
    assert data["freedoms"][0]["peak_speed"] == pytest.approx(1.0, rel=1e-3)
    assert data["coordinates"][2]["start"] == 2.0
    message = refused("simulate", "free_flyer", "--duration", "1", "--v0", "root=1")
    assert "--v0 root=1: joint 'root' has 6 entries: root.rx, root.ry" in message
    assert "root.rx=0.1" in message
