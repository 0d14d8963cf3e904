"""The command line: what the verbs print, their exit codes, and one clear line for bad input."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result
from PIL import Image
from rich.console import Console

import recursa as rc
from recursa.cli import show
from recursa.cli.commands import recursa

COMMANDS = {name: recursa.get_command(None, name) for name in recursa.list_commands(None)}
Run = Callable[..., Result]
Refused = Callable[..., str]

DOUBTFUL = """<robot name="doubtful">
  <link name="base"/>
  <link name="arm"><inertial><mass value="2"/><origin xyz="0.1 0 0"/>
    <inertia ixx="0.03" iyy="0.04" izz="0.08" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="slew" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <origin xyz="0 0 0.5"/><limit lower="-1" upper="2" effort="50" velocity="1"/></joint>
</robot>
"""


@pytest.fixture
def run() -> Run:
    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(recursa, list(arguments), catch_exceptions=False)

    return invoke


@pytest.fixture
def doubtful(tmp_path: Path) -> str:
    path = tmp_path / "doubtful.urdf"
    path.write_text(DOUBTFUL)
    return str(path)


def process(*arguments: str, **options: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "recursa", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUTF8": "1"}, **options,
    )  # type: ignore[call-overload] # fmt: skip


# ---- help ------------------------------------------------------------------------------------------------------------


def test_help_shows_examples_and_every_verb(run: Run) -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert "recursa info puma560" in result.output
    for name in COMMANDS:
        assert f"\n  {name} " in result.output
    assert run("-h").output == result.output


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_verb_has_an_example_that_names_it(name: str, run: Run) -> None:
    output = run(name, "--help").output
    examples = output.split("Example", 1)[1]
    assert f"recursa {name}" in examples


def test_examples_in_the_help_use_options_that_exist() -> None:
    """Each word that starts with a dash in an example is an option of that verb."""
    for name, command in COMMANDS.items():
        known = {
            spelling
            for item in command.params
            for spelling in (*item.opts, *item.secondary_opts)
            if isinstance(item, click.Option)
        }
        lines = [line.strip() for line in (command.help or "").splitlines() if line.strip().startswith("recursa ")]
        assert lines, name
        used = {word for line in lines for word in shlex.split(line) if word.startswith("-")}
        assert used <= known, name


def test_version_matches_the_package(run: Run) -> None:
    assert rc.__version__ in run("--version").output


# ---- info ------------------------------------------------------------------------------------------------------------


def test_info_shows_tree_joints_masses_and_conventions(run: Run) -> None:
    output = run("info", "puma560").output
    assert "6 moving bodies, 7 links, nq = 6, nv = 6, fixed base" in output
    for word in (
        "joint6",
        "(revolute)",
        "17.4 kg",
        "total",
        "36.45",
        "angular first",
        "(0.0, 0.0, -9.81)",
        "ICRA 1994",
    ):
        assert word in output
    assert "0 errors, 1 warning" in output


@pytest.mark.parametrize("length", [15, 16, 17, 60, 3000])
def test_tree_of_a_long_chain_tells_what_it_leaves_out(length: int) -> None:
    output = tree_text(rc.robots.planar(length))
    shown = output.count("→ link")
    assert shown == min(length, 16)
    left = length + 1 - shown  # with the frame at the tip
    assert ("more link" in output) == (length >= 16)
    assert length < 16 or f"... {left} more link{'s' * (left > 1)}\n" in output


def tree_text(robot: rc.Robot) -> str:
    text = io.StringIO()
    show.put(Console(file=text, width=60), show.tree(robot))
    return text.getvalue()


def test_names_are_not_broken_where_there_is_no_terminal(run: Run, tmp_path: Path) -> None:
    path, link, joint = tmp_path / "long.urdf", "forearm_" * 12, "elbow_" * 15
    path.write_text(DOUBTFUL.replace('"arm"', f'"{link}"').replace('"slew"', f'"{joint}"'))
    output = run("info", str(path)).output
    assert f"{joint} (revolute) → {link}  2 kg\n" in output
    assert output.count(link) == 3  # tree and both tables
    assert f"link '{link}'" in run("doctor", str(path)).output


def test_info_as_json_has_null_for_what_is_no_number(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "odd.urdf"
    odd = DOUBTFUL.replace('value="2"', 'value="nan"').replace('upper="2"', 'upper="inf"')
    path.write_text(odd.replace("</joint>", '<dynamics damping="inf"/></joint>'))

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    data = json.loads(run("info", str(path), "--json").output, parse_constant=refuse)
    assert (data["mass"], data["joints"][0]["limits"], data["joints"][0]["damping"]) == (None, [-1.0, None], [None])
    json.loads(run("doctor", str(path), "--json").output, parse_constant=refuse)


def test_info_as_json_matches_the_robot(run: Run) -> None:
    robot = rc.robots.free_flyer()
    data = json.loads(run("info", "free_flyer", "--json").output)
    assert (data["name"], data["nq"], data["nv"], data["floating"]) == (robot.name, robot.nq, robot.nv, True)
    assert data["mass"] == robot.mass
    assert data["gravity"] == [0.0, 0.0, 0.0]
    assert [link["name"] for link in data["links"]] == list(robot.link_names)
    assert data["links"][0]["body"] is None
    assert [joint["name"] for joint in data["joints"]] == list(robot.joint_names)
    assert data["inertias"][0][0] == 500.0
    assert data["digest"] == robot.model.digest


def test_list_shows_every_bundled_robot(run: Run) -> None:
    text, data = run("info", "--list").output, json.loads(run("info", "--list", "--json").output)
    assert [item["name"] for item in data] == [*rc.robots.names(), "desk_arm", "quadruped"]
    for item in data:
        assert item["name"] in text
        assert item["nv"] == rc.robots.by_name(item["name"]).nv
        assert item["provenance"]


def test_info_of_a_file_matches_loading_it(run: Run, doubtful: str) -> None:
    data = json.loads(run("info", doubtful, "--json").output)
    assert data["digest"] == rc.load(doubtful).model.digest
    assert data["joints"][0]["limits"] == [-1.0, 2.0]
    text = run("info", doubtful).output
    assert "slew (revolute) → arm  2 kg" in text
    assert "fixed base" in text
    assert "provenance  file" in text


@pytest.mark.parametrize("robot", ["planar", "stanford"])
def test_floating_bundled_robot_keeps_gravity_and_provenance(robot: str, run: Run) -> None:
    fixed, floating = (json.loads(run("info", robot, "--json", *more).output) for more in ([], ["--floating"]))
    assert floating["nv"] == fixed["nv"] + 6
    assert floating["floating"]
    assert floating["joints"][0]["name"] == "root"
    for same in ("gravity", "provenance", "mass"):
        assert floating[same] == fixed[same]
    assert floating["inertias"][1:] == fixed["inertias"]
    assert [link["name"] for link in floating["links"]] == [link["name"] for link in fixed["links"]]


def test_floating_file_has_a_free_base(run: Run, doubtful: str) -> None:
    assert "nq = 8, nv = 7, floating base" in run("info", doubtful, "--floating").output
    assert "root (free) → base" in run("info", doubtful, "--floating").output


def test_mimic_option_ties(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "pair.urdf"
    extra = (
        '<link name="b"/><joint name="k" type="prismatic"><parent link="arm"/><child link="b"/>'
        '<mimic joint="slew" multiplier="-2" offset="0.5"/></joint></robot>'
    )
    path.write_text(DOUBTFUL.replace("</robot>", extra))
    assert json.loads(run("info", str(path), "--json").output)["nv"] == 2
    assert json.loads(run("info", str(path), "--json", "--mimic", "tie").output)["nv"] == 1
    assert "-2·[0]+0.5" in run("info", str(path), "--mimic", "tie").output
    assert "mimics slew" in run("info", str(path)).output


def test_brackets_in_names_are_printed_as_they_are(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "odd.urdf"
    path.write_text(DOUBTFUL.replace("slew", "[red]slew[/red]").replace('"arm"', '"[/]arm"'))
    for verb in ("info", "doctor"):
        output = run(verb, str(path)).output
        assert "[/]arm" in output
    assert "[red]slew[/red] (revolute) → [/]arm" in run("info", str(path)).output


def test_info_of_a_robot_that_cannot_move(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rock.urdf"
    path.write_text('<robot name="rock"><link name="base"/></robot>')
    assert "0 moving bodies, 1 links, nq = 0, nv = 0" in run("info", str(path)).output
    assert run("doctor", str(path)).exit_code == 0


# ---- doctor ----------------------------------------------------------------------------------------------------------


def test_doctor_exit_code_tells_health(run: Run, doubtful: str) -> None:
    healthy, sick = run("doctor", "stanford"), run("doctor", doubtful)
    assert (healthy.exit_code, sick.exit_code) == (0, 1)
    assert "nothing to complain about" in healthy.output
    for word in ("triangle", "link 'arm'", "line 3", "inequality by 0.01", "0 errors, 1 warning"):
        assert word in sick.output


def test_doctor_as_json_matches_the_report(run: Run, doubtful: str) -> None:
    result = run("doctor", doubtful, "--json")
    assert result.exit_code == 1
    assert json.loads(result.output) == rc.load(doubtful).doctor().as_dicts()
    assert json.loads(run("doctor", "planar", "--json").output) == []


def test_doctor_reads_what_strict_loading_refuses(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "sick.urdf"
    path.write_text(DOUBTFUL.replace('value="2"', 'value="-2"').replace("0 0 1", "0 0 0"))
    result = run("doctor", str(path))
    assert result.exit_code == 1
    assert "its mass is -2 kg" in result.output
    assert "which has no direction" in result.output


# ---- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["info", "doctor"])
def test_bad_input_is_one_line_that_says_what_to_do(verb: str, refused: Refused, tmp_path: Path) -> None:
    broken, xacro, twice = (tmp_path / name for name in ("broken.urdf", "macro.urdf", "twice.urdf"))
    broken.write_text(DOUBTFUL.replace("</joint>", ""))
    xacro.write_text('<robot name="r">\n<xacro:macro/>\n</robot>')
    twice.write_text(DOUBTFUL.replace('child link="arm"', 'child link="amr"'))
    cases = {
        "puma": "recursa: there is no file 'puma'. Did you mean the bundled robot rc.robots.puma560()?",
        str(tmp_path / "broke.urdf"): "Did you mean 'broken.urdf'",
        str(tmp_path / "nowhere" / "arm.urdf"): "Nor is there a folder",
        str(tmp_path): "cannot read",
        str(broken): "broken.urdf, line 7: an end tag does not match: <joint>, opened on line 5",
        str(xacro): "macro.urdf, line 2: found <xacro:macro>; this is xacro source",
        str(twice): "twice.urdf, line 5: joint 'slew': its child link 'amr' does not exist. Did you mean 'arm'?",
    }
    for robot, message in cases.items():
        complaint = refused(verb, robot)
        assert complaint.startswith("recursa: ")
        assert message in complaint
        assert complaint.count("\n") == 1


def test_clash_with_the_free_joint_is_one_line(refused: Refused) -> None:
    assert "has a joint of that name" in refused("info", "free_flyer", "--floating")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Usage"),
        (("fly",), "No such command 'fly'. There are: "),
        (("inof",), "Did you mean 'info'?"),
        (("info",), "which robot?"),
        (("doctor",), "Missing argument 'ROBOT'"),
        (("info", "planar", "--mimic", "loose"), "'loose' is not one of"),
        (("info", "planar", "--wrong"), "--wrong"),
    ],
)
def test_wrong_usage_is_exit_code_two(arguments: tuple[str, ...], message: str, run: Run) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("fly",), "recursa: No such command 'fly'. There are: "),
        (("simulate", "planar"), "recursa: how long? Add --duration SECONDS. More: recursa simulate --help\n"),
        (("compare", "planar", "--with", "foo"), "recursa: Invalid value for '--with': 'foo' is not one of"),
        (("info", "planar", "--wrong"), "recursa: No such option: --wrong"),
    ],
)
def test_wrong_usage_is_one_line(arguments: tuple[str, ...], line: str, refused: Refused) -> None:
    complaint = refused(*arguments)
    assert complaint.replace("option '--wrong'", "option: --wrong").startswith(line)
    assert complaint.count("\n") == 1


# ---- explain ---------------------------------------------------------------------------------------------------------


def test_counts_print_a_table_with_ours_beside_the_print(run: Run) -> None:
    result = run("counts", "--table", "5.2")
    assert result.exit_code == 0
    assert "450/386" in result.output
    assert "447/383" in result.output
    assert "rules:" in result.output


def test_counts_as_json_match_the_table(run: Run) -> None:
    assert json.loads(run("counts", "--table", "6.1", "--json").output) == rc.tables("6.1").as_dict()
    data = json.loads(run("counts", "--robot", "planar", "--json").output)
    found = rc.count(rc.robots.planar(), "inverse_dynamics", method="kane")
    assert {"method": "kane", "mul": found.mul, "add": found.add}.items() <= next(
        row for row in data["rows"] if row["method"] == "kane"
    ).items()


def test_counts_without_options_name_the_robots_and_the_tables(run: Run) -> None:
    result = run("counts")
    assert result.exit_code == 0
    assert "free_flyer3" in result.output
    assert "recursa counts --table saha-2" in result.output


def test_robot_without_masses_is_shown_and_its_dynamics_refused(refused: Refused, run: Run, tmp_path: Path) -> None:
    bare = tmp_path / "bare.urdf"
    bare.write_text(re.sub("<inertial>.*?</inertial>", "", DOUBTFUL, flags=re.DOTALL))
    words = "none of its moving links has mass or inertia"
    shown = run("info", str(bare))
    assert shown.exit_code == 0 and words in shown.output
    assert run("doctor", str(bare)).exit_code == 1
    assert json.loads(run("doctor", str(bare), "--json").output)[0]["code"] == "no-masses"
    for verb in (
        ("inverse", str(bare), "--to", "slew=0.5"),
        ("simulate", str(bare), "--duration", "0.1"),
        ("export", str(bare), "mass_matrix", "-o", str(tmp_path / "m.c")),
    ):
        assert words in refused(*verb)
    assert run("export", str(bare), "pose", "-o", str(tmp_path / "p.c"), "--link", "arm").exit_code == 0


def test_counts_refuse_what_they_do_not_know(refused: Refused, run: Run, tmp_path: Path) -> None:
    assert "There are: 5.1, 5.2" in refused("counts", "--table", "4.1")
    assert run("counts", "--table", "5.1", "--robot", "planar").exit_code == 2
    still = tmp_path / "still.urdf"
    still.write_text('<robot name="still"><link name="base"/></robot>')
    assert "no joints that move" in refused("counts", "--robot", str(still))


def test_explain_prints_the_levels_and_the_code(run: Run) -> None:
    result = run("explain", "inv(mass) (T - C)", "--robot", "puma560", "--code", "c")
    assert result.exit_code == 0
    told = rc.explain("inv(mass) (T - C)", rc.robots.puma560(), code="c")
    assert result.output == f"{told.text()}\n"
    assert "void kernel(const double q[6], const double v[6], const double joint_T[6], double out[6])" in result.output


def test_explain_as_json_matches(run: Run) -> None:
    result = run("explain", "J(tip) x", "--robot", "planar", "--vector", "x=joint", "--json")
    data = json.loads(result.output)
    told = rc.explain("J(tip) x", rc.robots.planar(), vectors={"x": "joint"})
    assert data == json.loads(json.dumps(told.as_dict()))
    assert data["inputs"] == ["x"]


def test_explain_in_colour_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Console(file=io.StringIO(), width=150, force_terminal=True, color_system="truecolor", highlight=False)
    monkeypatch.setattr(show, "console", lambda: out)
    show.explanation(rc.explain("inv(mass)", rc.robots.planar()))
    text = out.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[1;36m4 recursion" in text
    assert "Rodriguez & Kreutz-Delgado Identity 6 (46)" in text


def test_formula_without_sweeps_is_exit_code_one_and_says_what_to_write(run: Run) -> None:
    result = run("explain", "inv(mass + H phi H*) (T - C)", "--robot", "puma560")
    assert result.exit_code == 1
    assert "stands in the way" in result.output
    assert "H phi X phi* H* + Y has some" in result.output.replace("\n  ", " ")
    assert json.loads(run("explain", "inv(M + phi)", "--robot", "planar", "--json").output)["sweeps"] is None


def test_formula_of_the_paper_is_explained_for_a_robot_with_rotors_too(run: Run) -> None:
    result = run("explain", "inv(H phi M phi* H*) (T - C)", "--robot", "puma560")
    assert result.exit_code == 0
    assert "armature is left out" in result.output
    assert "H φ M φ* H* + A" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("inv(H phi M", "--robot", "planar"),
            "expected ')', but the text ends after 'M'\n  inv(H phi M\n             ^\n",
        ),
        (("H phy", "--robot", "planar"), "no operator 'phy' in robot 'planar3'. Did you mean 'phi'?\n  H phy\n    ^\n"),
        (("H H", "--robot", "planar"), "cannot multiply H by H"),
        (("mass", "--robot", "puma"), "there is no file 'puma'. Did you mean the bundled robot"),
        (("x", "--robot", "planar", "--vector", "x=jont"), "no space 'jont'. Did you mean 'joint'?"),
    ],
)
def test_bad_formula_is_refused_with_its_place(arguments: tuple[str, ...], message: str, refused: Refused) -> None:
    complaint = refused("explain", *arguments)
    assert complaint.startswith("recursa: ")
    assert message in complaint


def test_vector_of_explain_needs_a_space(run: Run) -> None:
    result = run("explain", "x", "--robot", "planar", "--vector", "x")
    assert result.exit_code == 2
    assert "write NAME=SPACE" in result.output
    assert "Missing option '--robot'" in run("explain", "mass").output


# ---- demo ------------------------------------------------------------------------------------------------------------


@pytest.mark.compiled
def test_demo_writes_pictures_animations_and_a_summary(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recursa.examples.two_arms.FPS", 4)
    folder = tmp_path / "new" / "demo"
    result = run("demo", "--out", str(folder))
    assert result.exit_code == 0
    results = json.loads((folder / "summary.json").read_text())
    assert set(results) == {"planar", "stanford"}
    for name, numbers in results.items():
        files = sorted(file.name for file in folder.glob(f"{name}*"))
        endings = (".png", "_fall.gif", "_fall.html", "_fall.npz", "_fall.png", "_fall_joints.png", "_motion.gif")
        assert files == [name + ending for ending in (*endings, "_torques.csv", "_torques.png")]
        for file in files:
            content = (folder / file).read_bytes()
            if file.endswith(".png"):
                assert content.startswith(b"\x89PNG\r\n\x1a\n")
            if file.endswith((".png", ".gif")):
                assert len(content) > 10_000
        assert numbers["torques beside denoc"] < 1e-13
        assert numbers["accelerations beside denoc"] < 1e-11
        assert numbers["energy drift of the fall"] < 1e-9
        assert numbers["mass, kg"] == rc.robots.by_name(name).mass
        assert all(row["joint"] in result.output for row in numbers["joints"])
    known = [0.0025434783, 0.0809666575, 2.9996616196, 0.0444530563, 1.4895769770, -0.0035945922]
    fallen = [row["fallen to"] for row in results["stanford"]["joints"]]
    assert np.abs(np.array(fallen) - known).max() < 1e-8
    table = np.genfromtxt(folder / "stanford_torques.csv", delimiter=",", names=True, skip_header=1)
    assert table["joint2"][[0, 500]] == pytest.approx([13.3416, 15.75378540])
    with Image.open(folder / "planar_fall.gif") as film:
        assert film.n_frames == 11


def test_demo_into_a_place_that_is_taken_is_refused(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is a file" in refused("demo", "-o", str(tmp_path / "file"))
    complaint = refused("demo", "-o", str(tmp_path / "file" / "below"))
    assert complaint.startswith("recursa: ")
    assert complaint.count("\n") == 1


# ---- as a process ----------------------------------------------------------------------------------------------------


def test_module_runs_as_a_program() -> None:
    with process("info", "planar", "--json") as child:
        out, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (0, "")
    assert json.loads(out)["name"] == "planar3"
    with process("doctor", "pumma560") as child:
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (2, "")
    assert err == "recursa: there is no file 'pumma560'. Did you mean the bundled robot rc.robots.puma560()?\n"


@pytest.mark.parametrize("arguments", [("info", "puma560"), ("info", "puma560", "--json"), ("info", "--list")])
def test_closed_pipe_leaves_no_traceback(arguments: tuple[str, ...]) -> None:
    with process(*arguments) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert child.stderr.read() == ""


def test_space_demo_turns_the_bus_and_keeps_the_momentum(run: Run, tmp_path: Path, monkeypatch) -> None:
    from recursa.examples import space_robot

    shown = []
    monkeypatch.setattr(space_robot, "SAMPLES", 9)
    monkeypatch.setattr(space_robot, "animate", lambda robot, t, q, path, **_: shown.append((Path(path).name, len(q))))
    result = run("demo", "--space", "-o", str(tmp_path))
    assert result.exit_code == 0
    results = json.loads((tmp_path / "summary.json").read_text())
    assert results["one arm"]["bus_turned_deg"] > 5.0 > 1e-9 > results["both arms"]["bus_turned_deg"]
    driven = results["one arm, by its torques"]
    assert driven["bus_turned_deg"] == pytest.approx(results["one arm"]["bus_turned_deg"], rel=0.01)
    assert driven["joints_open_m"] < 1e-12
    for name in ("round and back", "round and back, by its torques"):
        assert results[name]["off_the_attitude_deg"] < 1e-5
        assert results[name]["largest_momentum"] < 1e-6
    assert [name for name, _ in shown] == ["space_one_arm.gif", "space_both_arms.gif", "space_round_and_back.gif"]
    for picture in ("space_robot.png", "space_motion.png", "space_turn.png"):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert "largest momentum" in result.output
    assert "pictures, animations and summary.json are in" in " ".join(result.output.split())  # and no pages


def test_loops_demo_writes_pictures_and_pages(run: Run, tmp_path: Path, monkeypatch) -> None:
    from recursa.examples import mechanisms

    monkeypatch.setattr(mechanisms, "MECHANISMS", ("four_bar", "delta"))
    result = run("demo", "--loops", "-o", str(tmp_path))
    assert result.exit_code == 0
    files = {path.name for path in tmp_path.iterdir()}
    assert files == {"four_bar.png", "four_bar.html", "delta.png", "delta.html", "summary.json"}
    assert "mobility 3" in (tmp_path / "delta.html").read_text("utf-8")
    assert "pictures, pages for the browser and summary.json are in" in " ".join(result.output.split())
