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
from recursa.results import journal
from recursa.trajectories.tables import write_table

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
        "--integrator", "rk4", "--step", "0.01", "--save-every", "2", "--no-losses", "-o", str(tmp_path / "run.h5"),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    expected = robot.simulate(
        [0.1, 0.2, 0.3], [0, 0.5, 0], duration=0.1, torque=rc.TorqueTable(rows[:, 0], rows[:, 1:], "hold"),
        integrator="rk4", step=0.01, save_every=2, losses=False,
    )  # fmt: skip
    found = rc.read(tmp_path / "run.h5")
    equal_runs(found, expected, seconds=False)
    assert not (tmp_path / "run.h5.part").exists()
    for text in ("finished", "joint2", "energy drift", "10 steps", "6 samples", f"wrote {tmp_path / 'run.h5'}"):
        assert text in result.output
    told = run("info", str(tmp_path / "run.h5"))
    assert told.exit_code == 0
    assert "energy drift" in told.output
    data = json.loads(run("info", str(tmp_path / "run.h5"), "--json").output)
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
    run(*SHORT, "--samples", "5", "-o", str(tmp_path / "run.h5"))
    assert run("plot", str(tmp_path / "run.h5"), "-o", str(tmp_path / "b.svg")).exit_code == 0
    assert "svg" in (tmp_path / "b.svg").read_text()


def test_run_that_was_cut_short_goes_on_or_starts_again(tmp_path: Path, refused: Callable[..., str]) -> None:
    robot, out, part = rc.robots.planar(3), tmp_path / "run.h5", tmp_path / "run.h5.part"
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
    out, part = tmp_path / "run.h5", tmp_path / "run.h5.part"
    from recursa.simulation.driver import Simulation

    step, count = Simulation.step, [0]

    def interrupted(self: Simulation) -> None:
        count[0] += 1
        if count[0] == 4:
            raise KeyboardInterrupt
        step(self)

    monkeypatch.setattr(Simulation, "step", interrupted)
    result = run(*SHORT, "-o", str(out))
    assert result.exit_code == 1
    assert f"go on with: recursa simulate --resume {out}" in result.output
    assert rc.read(out).status == "interrupted"
    assert part.exists()
    count[0] = 100
    assert run("simulate", "--resume", str(out)).exit_code == 0
    assert rc.read(out).status == "finished"
    count[0] = 0
    result = run(*SHORT)
    assert result.exit_code == 1
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
        (("simulate", "planar", "--duration", "1", "--q0", "joint9=1"), "no independent joint 'joint9'"),
        (("simulate", "planar", "--duration", "1", "--q0", "joint1"), "write JOINT=VALUE"),
        (("simulate", "planar", "--duration", "1", "--state", str(state)), "no key 'tau' in a state"),
        (("simulate", "planar", "--duration", "1", "--state", str(state), "--q0", "joint1=1"), "say the same"),
        (("simulate", "planar", "--duration", "1", "--between", "hold"), "--torque file"),
        (("simulate", "planar", "--duration", "1", "--torque", str(tmp_path / "no.csv")), "cannot be read"),
        (("simulate", "planar", "--duration", "1", "-o", str(tmp_path / "run.mat")), "let it end in .h5"),
        (("simulate", "planar", "--duration", "1", "-o", str(tmp_path / "no" / "run.h5")), "cannot write"),
        (("simulate", "planar", "--duration", "1", "--plot", str(tmp_path / "run.txt")), "let it end in .png"),
        (("simulate", "planar", "--duration", "1", "--plot", str(tmp_path / "no" / "a.png")), "there is no folder"),
        (("simulate", "--resume", str(tmp_path / "run.h5")), "there is no file"),
        (("plot", str(tmp_path / "run.h5")), "where to?"),
        (("plot", str(tmp_path / "run.h5"), "-o", str(tmp_path / "a.png")), "there is no file"),
        (("info", str(tmp_path / "run.h5")), "there is no file"),
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
