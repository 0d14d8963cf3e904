"""``recursa linearize``: what it prints and writes agrees with the library; bad states are one clear line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import recursa as rc
from recursa.cli import main
from recursa.cli.commands import recursa
from recursa.cli.linearize import controllability
from recursa.files import write_together

Q, V = [0.1, 0.4, -0.7, 0.3, 0.6, -0.2], [0.3, -0.2, 0.5, 0.1, -0.4, 0.2]
TAU = [1.0, -20.0, 3.0, 0.5, -0.4, 0.1]


@pytest.fixture
def state(tmp_path: Path):
    def write(content: object) -> str:
        path = tmp_path / "S.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    return write


def run(*arguments: str, text: str | None = None):
    return CliRunner().invoke(recursa, ["linearize", *arguments], catch_exceptions=False, input=text)


def data(*arguments: str, text: str | None = None) -> dict:
    return json.loads(run(*arguments, "--json", text=text).output)


@pytest.mark.parametrize("method", ["spatial", "balafoutis-patel"])
def test_json_matches_the_library(method, state):
    robot = rc.robots.puma560()
    found = data("puma560", "--state", state({"q": Q, "v": V, "tau": TAU}), "--state-space", "--method", method)
    a = robot.forward_dynamics(Q, V, TAU)
    for key, wanted in zip(("stiffness", "damping", "mass"), robot.linearize(Q, V, a), strict=True):
        assert np.allclose(found[key], wanted, atol=1e-10)
    A, B = robot.state_space(Q, V, TAU)
    assert np.allclose(found["A"], A)
    assert np.allclose(found["B"], B)
    poles = np.array([complex(*pair) for pair in found["poles"]])
    assert np.isclose(np.prod(poles - 1.0), np.linalg.det(A - np.eye(12)))
    assert (np.diff(poles.real) <= 1e-8).all()
    assert np.allclose(found["a"], a)
    assert found["method"] == method
    assert found["freedoms"] == list(robot.joint_names)
    assert [verdict["controllable"] for verdict in found["controllable"]] == [True]


def test_missing_rates_are_zero_and_names_stand_for_places(state):
    by_name = {"q": {"joint3": 0.4, "joint2": -0.3}, "a": {"joint1": 2.0}}
    by_place = {"q": [0, -0.3, 0.4, 0, 0, 0], "v": [0] * 6, "a": [2, 0, 0, 0, 0, 0]}
    one, other = (data("stanford", "--state", state(content)) for content in (by_name, by_place))
    assert one == other
    assert one["tau"] == pytest.approx(rc.robots.stanford().inverse_dynamics(one["q"], one["v"], one["a"]))
    still = data("stanford", "--state", "-", text='{"q": {}}')
    assert still["a"] == still["v"] == [0.0] * 6
    assert still["angular"] == [True, True, False, True, True, True]


def test_cartesian_matches_the_library(state):
    path = state({"q": Q, "v": V, "a": TAU})
    robot = rc.robots.puma560()
    found = data("puma560", "--state", path, "--cartesian", "link6")
    for key, wanted in zip(
        ("stiffness", "damping", "mass"), rc.cartesian.linearize(robot, "link6", Q, V, TAU), strict=True
    ):
        assert np.allclose(found[f"cartesian_{key}"], wanted)
    planar = data(
        "planar", "--state", "-", "--cartesian", "tip", "--coordinates", "rz,x,y", text='{"q": [0.3, 0.8, 1]}'
    )
    wanted = rc.cartesian.linearize(rc.robots.planar(), "tip", [0.3, 0.8, 1.0], [0] * 3, [0] * 3, coordinates=(2, 3, 4))
    assert np.allclose(planar["cartesian_mass"], wanted.mass)
    assert planar["coordinates"] == ["rz", "x", "y"]


def test_tables_name_joints_and_units(state):
    path = state({"q": Q, "v": V})
    output = run("stanford", "--state", path, "--state-space", "--cartesian", "link6").output
    for words in (
        "stiffness P = d tau/d q",
        "joint3, N ",
        "joint3, m ",
        "joint2, rad/s^2",
        "v joint3, m/s",
        "rx, rad/s",
        "poles",
        "controllable",
        "The state moves",
    ):
        assert words in output
    mass = rc.robots.stanford().mass_matrix(Q)
    assert f"{mass[1, 1]:.5g}" in output


def test_free_flyer_without_thrusters_is_not_controllable():
    """Its momentum is what it is; with the base's own forces all of it moves."""
    output = run("free_flyer", "--state", "-", "--state-space", text='{"q": {}}').output
    assert "all freedoms (9): controllable" in output
    assert "all but free joints (3): not controllable" in output
    assert "root.rx, N m" in output
    assert "The state moves" not in output
    flyer = rc.robots.free_flyer()
    assert "root.tz, N" in output
    q, v = flyer.random_state(1)
    A, B = flyer.state_space(q, 0.0 * v, np.zeros(flyer.nv))
    assert [verdict.controllable for verdict in controllability(flyer, A, B)] == [True, False]


@pytest.mark.parametrize("suffix", ["npz", "json"])
def test_files_hold_what_json_prints(suffix, state, tmp_path):
    path, out = state({"q": Q, "v": V}), tmp_path / f"model.{suffix}"
    result = run("puma560", "--state", path, "--state-space", "-o", str(out))
    assert result.exit_code == 0
    assert f"wrote {out}" in result.output
    printed = data("puma560", "--state", path, "--state-space")
    found = json.loads(out.read_text()) if suffix == "json" else dict(np.load(out))
    for key in ("q", "tau", "stiffness", "damping", "mass", "A", "B"):
        assert np.array_equal(found[key], printed[key]), key
    assert list(found["freedoms"]) == printed["freedoms"]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["S.json", f"model.{suffix}"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{'q': 1}", "S.json', line 1: this is not JSON"),
        ("[0.1, 0.2]", "a state is an object"),
        ('{"p": [1]}', "no key 'p' in a state. There are: q, v, a, tau."),
        ('{"q": {}, "taus": []}', "no key 'taus' in a state. Did you mean 'tau'?"),
        ('{"v": [0]}', '"q" is missing'),
        ('{"q": {}, "q": {}}', "the key 'q' is twice in the same object"),
        ('{"q": {}, "a": {}, "tau": {}}', "Leave one out"),
        ('{"q": [0, 0]}', "q has shape (2,), expected (..., 6): robot 'puma560' has nq = 6"),
        ('{"q": [[0, 0, 0, 0, 0, 0]]}', "expected (6,): this command takes one state"),
        ('{"q": [0, 0, NaN, 0, 0, 0]}', "q[2] is nan"),
        ('{"q": {}, "v": {"joint2": 1e999}}', "the number 1e999 is too large for a float"),
        ('{"q": [0, 0, null, 0, 0, 0]}', "q must be numbers"),
        ('{"q": {"joint7": 1}}', "no independent joint 'joint7' in robot 'puma560'. Did you mean"),
        ('{"q": {"joint1": [1, 2]}}', "q has shape (2, 6)"),
        ("[" * 100_000, "S.json"),
        ('{"q": {}, "v": {"joint1": 1e200}}', "not finite"),
    ],
)
def test_bad_state_is_one_line(content, message, state, monkeypatch, capsys):
    assert message in refused(monkeypatch, capsys, "puma560", "--state", state(content))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("puma560", "--state", "nowhere.json"), "there is no file 'nowhere.json'"),
        (("puma56", "--state", "S.json"), "Did you mean the bundled robot rc.robots.puma560()?"),
        (("puma560", "--state", "S.json", "-o", "m.nzp"), "let it end in .json or .npz. Did you mean '.npz'?"),
        (("puma560", "--state", "S.json", "-o", "m"), "from no ending"),
        (("puma560", "--state", "S.json", "-o", "no/m.npz"), "cannot write 'no/m.npz': No such file or directory"),
        (("puma560", "--state", "S.json", "--cartesian", "link9"), "no link 'link9' in robot 'puma560'. Did you mean"),
        (("puma560", "--state", "S.json", "--cartesian", "link6", "--coordinates", "x,u"), "no coordinate 'u'"),
        (("puma560", "--state", "S.json", "--cartesian", "link6"), "condition number"),
        (("panda_like", "--state", "S.json", "--cartesian", "flange"), "nv = 7, the link 6 coordinates"),
        (("free_flyer", "--state", "S.json", "--method", "balafoutis-patel"), "Algorithm 7.1 is for revolute"),
        (("puma560", "--state", "."), "cannot read '.'"),
    ],
)
def test_bad_request_is_one_line(arguments, message, state, tmp_path, monkeypatch, capsys):
    state({"q": {}})
    monkeypatch.chdir(tmp_path)
    assert message in refused(monkeypatch, capsys, *arguments)
    assert [file.name for file in tmp_path.iterdir()] == ["S.json"]


def refused(monkeypatch, capsys, *arguments: str) -> str:
    monkeypatch.setattr("sys.argv", ["recursa", "linearize", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("recursa: ")
    assert err.count("\n") == 1
    return err


def test_coordinates_need_a_link(state):
    result = run("puma560", "--state", state({"q": {}}), "--coordinates", "position")
    assert result.exit_code == 2
    assert "add --cartesian LINK" in result.output


def test_text_in_another_encoding_is_refused(tmp_path, monkeypatch, capsys):
    path = tmp_path / "S.json"
    path.write_bytes(b"\xff\xfe\x00")
    assert "is not text" in refused(monkeypatch, capsys, "puma560", "--state", str(path))


def test_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    path.write_text("old")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", stop)
    with pytest.raises(KeyboardInterrupt):
        write_together({path: b"new"})
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
