"""Other ways to look: the verb, tables of pandas and xarray, what notebooks show."""

from __future__ import annotations

import copy
import json
import pickle
import sys
import webbrowser
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import recursa as rc
from recursa.cli.commands import recursa


def told(*words: str) -> str:
    done = CliRunner().invoke(recursa, ["view", *words])
    assert done.exit_code == 0, done.output
    return done.output


def test_the_verb_writes_robots_runs_and_trajectories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    opened: list[str] = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    assert told("planar", "--no-open", "--q0", "joint1=0.5").startswith("wrote planar.html (0.")
    assert opened == []
    data = json.loads((tmp_path / "planar.html").read_text().split('id="recursa-data">')[1].split("</script>")[0])
    assert data["robots"][0]["q"] == [0.5, 0.0, 0.0]
    run = rc.robots.planar(2).simulate([0.1, 0.2], duration=0.1, losses=False)
    run.save("run.npz")
    assert told("run.npz", "--ghost", "run.npz") == "wrote run.html (0.7 MB)\n"
    assert opened == [(tmp_path / "run.html").as_uri()]
    rc.Trajectory.cycloid([0.0, 0, 0], [1.0, 1, 1], T=1.0, robot=rc.robots.planar(3)).to_csv("moves.csv")
    assert json.loads(told("moves.csv", "--robot", "planar", "--json", "--no-open"))["wrote"] == "moves.html"


def test_the_verb_says_what_goes_with_what() -> None:
    for words, complaint in (
        (["planar", "--ghost", "run.npz"], "--ghost goes with a run"),
        (["planar", "--robot", "planar"], "--robot goes with a trajectory"),
    ):
        done = CliRunner().invoke(recursa, ["view", *words])
        assert done.exit_code == 2
        assert complaint in done.output


def test_the_verb_serves_until_it_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    run = rc.robots.planar(2).simulate([0.1, 0.2], duration=0.1)
    run.save(tmp_path / "run.npz")
    monkeypatch.setattr("recursa.cli.view_command.wait_for_the_keyboard", interrupted)
    for what in ("planar", str(tmp_path / "run.npz")):
        done = CliRunner().invoke(recursa, ["view", what, "--serve", "--no-open"])
        assert done.output.startswith("http://127.0.0.1:")
        assert done.exit_code != 0
    done = CliRunner().invoke(recursa, ["view", "planar", "--serve", "-o", "x.html"])
    assert "leave out -o" in done.output


def test_runs_and_trajectories_as_tables() -> None:
    robot = rc.robots.free_flyer(1)
    run = robot.simulate(robot.neutral(), np.arange(robot.nv) / 10, duration=0.2, samples=5)
    frame, dataset = run.to_pandas(), run.to_xarray()
    assert frame.index.name == "t"
    assert frame.attrs["units"]["root.x"] == "m"
    assert frame.attrs["units"]["joint1:tau"] == "N m"
    np.testing.assert_array_equal(frame["joint1"], run.q[:, -1])
    np.testing.assert_array_equal(frame["root.rx:v"], run.v[:, 0])
    np.testing.assert_array_equal(dataset["v"].sel(freedom="joint1"), run.v[:, -1])
    assert dataset["q_unit"].sel(coordinate="root.qw") == "1"
    np.testing.assert_array_equal(dataset["kinetic"], run.kinetic_energy)
    motion = rc.Trajectory.cycloid([0.0], [1.0], T=2.0)
    table = motion.to_pandas(rc.robots.planar(1), times=[0.0, 1.0, 2.0])
    assert table["joint1"].tolist() == [0.0, 0.5, 1.0]
    assert motion.to_xarray(rc.robots.planar(1)).sizes["t"] == 101


def test_rollouts_are_pairs_and_tables() -> None:
    robot = rc.robots.free_flyer(1)
    states = [robot.random_state(seed) for seed in range(6)]
    q0, v0 = (np.array(x) for x in zip(*states, strict=True))
    moved = rc.rollout(robot, q0, v0, None, step=2e-3, steps=6, save_every=2)
    q, v = moved
    assert isinstance(moved, tuple)
    assert len(moved) == 2
    assert q is moved.q
    np.testing.assert_allclose(moved.t, [0.004, 0.008, 0.012], rtol=1e-15)
    frame, dataset = moved.to_pandas(), moved.to_xarray()
    assert frame.index.names == ["row", "t"]
    assert frame.attrs["units"]["root.x"] == "m"
    assert frame.attrs["units"]["joint1:v"] == "rad/s"
    np.testing.assert_array_equal(frame.loc[4, "joint1"], q[4, :, -1])
    np.testing.assert_array_equal(frame.loc[2, "root.rx:v"], v[2, :, 0])
    np.testing.assert_array_equal(dataset["v"].sel(freedom="joint1"), v[..., -1])
    np.testing.assert_array_equal(dataset["t"], moved.t)
    assert dataset["q_unit"].sel(coordinate="root.qw") == "1"
    alone = rc.rollout(robot, q0[0], v0[0], None, step=2e-3, steps=6)
    assert alone.to_pandas().index.name == "t"
    assert alone.to_xarray()["q"].dims == ("t", "coordinate")
    several = rc.rollout(robot, q0.reshape(2, 3, -1), v0.reshape(2, 3, -1), None, step=2e-3, steps=6)
    assert several.to_pandas().index.names == ["row1", "row2", "t"]
    np.testing.assert_array_equal(several.to_pandas().loc[(1, 2), "joint1:v"], several.v[1, 2, :, -1])
    assert several.to_xarray()["v"].dims == ("row1", "row2", "t", "freedom")
    again = pickle.loads(pickle.dumps(moved))
    np.testing.assert_array_equal(again.to_pandas(), frame)
    assert copy.copy(moved).t is moved.t
    assert len(rc.rollout(robot, q0, v0, None, step=2e-3, steps=0).to_pandas()) == 0
    assert len(rc.rollout(robot, q0[:0], v0[:0], None, step=2e-3, steps=3).to_pandas()) == 0


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(rc.RecursaError, match=r"'pandas': pip install 'recursa\[data\]'"):
        rc.robots.planar(1).simulate([0.0], duration=0.1).to_pandas()


def test_notebooks_show_reports_tables_and_explanations() -> None:
    text = (
        rc.robots.planar(1).to_urdf().replace('name="link1"', 'name="&lt;b>"').replace('link="link1"', 'link="&lt;b>"')
    )
    report = rc.load(text.replace('mass value="', 'mass value="-'), strict=False).doctor()
    shown = report._repr_html_()
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown
    assert shown.count("<tr>") == len(report) + 1
    assert "<td>" in rc.tables("5.1")._repr_html_()
    assert "&lt;" not in rc.explain("phi M phi*", rc.robots.planar(2))._repr_html_().split("φ")[0]
