"""On narrow terminals every table of the command line keeps the names of joints and links, and the numbers, whole."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console
from rich.table import Table

import recursa as rc
from recursa.cli.commands import recursa
from recursa.cli.terminal_tables import fitted, width_of

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
from make_command_line import prepare

SIDES = ("left", "right")
JOINTS = ["torso_pitch_joint"] + [f"arm_{side}_{k}_joint" for side in SIDES for k in (1, 2, 3)]
LINKS = ["torso_pitch_link"] + [f"arm_{side}_{k}_link" for side in SIDES for k in (1, 2, 3)]
STATE = '{"q": {"arm_left_1_joint": 0.25}, "v": {"torso_pitch_joint": 0.1}}'
PEERS = [("compare", "robot.urdf", "--with", "pin"), ("compare", "robot.urdf", "--with", "mujoco")]
VERBS = {  # whose tables name what
    ("info", "robot.urdf"): JOINTS + LINKS,
    ("info", "run.npz"): JOINTS,
    ("inverse", "robot.urdf", "--to", "arm_left_1_joint=0.5"): JOINTS,
    ("simulate", "robot.urdf", "--duration", "0.01"): JOINTS,
    ("linearize", "robot.urdf", "--state", "S.json", "--state-space"): JOINTS,
    ("explain", "--diagonal", "--robot", "robot.urdf"): JOINTS,
    ("explain", "inv(mass) (T - C)", "--robot", "robot.urdf"): [*JOINTS, "articulated-body", "revolute"],
    ("doctor", "robot.urdf"): ["'torso_pitch_link'", "'arm_right_2_link'", "triangle"],
    ("counts", "--robot", "robot.urdf"): ["luh-walker-paul", "inverse_dynamics", "forward_dynamics"],
    ("counts", "--table", "saha-1"): ["Hollerbach"],
    ("info", "--list"): [*rc.robots.names(), "desk_arm", "quadruped"],
    PEERS[0]: ["Jacobians", "difference", "potential"],
    PEERS[1]: ["Jacobians", "difference", "potential"],
}


def two_arms() -> rc.Robot:
    """A torso with two arms; the inertias of two links cannot be, so that the doctor has something to say."""
    builder = rc.Builder("two_arms")
    wrong, right = (0.3, 0.01, 0.01), (0.02, 0.03, 0.025)
    builder.link(LINKS[0], mass=4.0, com=(0.01, 0.02, 0.2), inertia=wrong)
    builder.joint(JOINTS[0], "revolute", parent="world", child=LINKS[0], axis=(0, 1, 0), limits=(-1, 1), damping=0.3)
    for side, sign in zip(SIDES, (1.0, -1.0), strict=True):
        parent, place = LINKS[0], (0.0, 0.2 * sign, 0.4)
        for k in (1, 2, 3):
            link = f"arm_{side}_{k}_link"
            inertia = wrong if link == "arm_right_2_link" else right
            builder.link(link, mass=1.5, com=(0.01, -0.02 * sign, -0.15), inertia=inertia)
            builder.joint(
                f"arm_{side}_{k}_joint", "revolute", parent=parent, child=link, xyz=place,
                axis=(k == 1, k == 2, k == 3), limits=(-2.5, 2.5), effort=80.0, velocity=3.0,
            )  # fmt: skip
            parent, place = link, (0.0, 0.0, -0.3)
    return builder.build()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    robot = two_arms()
    (tmp_path / "robot.urdf").write_text(robot.to_urdf())
    (tmp_path / "S.json").write_text(STATE)
    robot.simulate(robot.neutral(), duration=0.01, progress=False).save("run.npz")
    return tmp_path


def printed(width: int, *arguments: str) -> list[str]:
    """What a terminal of that width gets, without colours."""
    terminal = {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": str(width), "NO_COLOR": None}
    result = CliRunner(env=terminal).invoke(recursa, arguments, catch_exceptions=False)
    assert result.exit_code in (0, 1), result.output  # 1: the answer is no
    return re.sub(r"\x1b\[[0-9;]*m", "", result.stdout).splitlines()


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("arguments", VERBS, ids=" ".join)
def test_names_stay_whole(arguments: tuple[str, ...], width: int, folder: Path) -> None:
    if arguments in PEERS:
        pytest.importorskip({"pin": "pinocchio", "mujoco": "mujoco"}[arguments[-1]])
    lines = printed(width, *arguments)
    framed = [line for line in lines if line[:1] in "┏┃┡│├└"]
    assert max(map(len, framed), default=0) <= width
    assert not any("…" in line for line in lines)
    whole = set(re.findall(r"[\w'-]+", "\n".join(lines)))
    assert [name for name in VERBS[arguments] if name not in whole] == []
    assert {word.strip("'") for word in whole if re.match("'?(arm|torso|link|joint)_", word)} <= {*JOINTS, *LINKS}


def test_the_list_of_verbs_is_wrapped_and_not_cut() -> None:
    lines = printed(80, "--help")
    assert max(map(len, lines)) <= 80
    assert not any(line.endswith("...") for line in lines[1:])  # but the usage
    assert {"examples", "identify", "completion"} <= {line.split()[0] for line in lines if line.strip()}


@pytest.mark.parametrize(
    "arguments",
    [
        ("examples", "--list"),
        ("ik", "robot.urdf", "--link", LINKS[3], "--position", "0 0.2 0.1"),
        ("time", "planar", "points.csv", "--velocity", "2", "--acceleration", "8"),
        ("bench", "planar"),
        ("excite", "planar", "--duration", "2"),
        ("identify", "planar", "log.csv"),
        ("study", "run", "fall.yaml"),
        ("counts",),
        ("--version",),
    ],
    ids=" ".join,
)
def test_every_line_of_other_verbs_fits(arguments: tuple[str, ...], folder: Path) -> None:
    prepare(folder)
    for width in (60, 80) if arguments[0] not in ("counts", "excite") else (60,):  # which take seconds
        lines = printed(width, *arguments)
        assert max(map(len, lines)) <= width
        assert not any("…" in line for line in lines)


@pytest.mark.parametrize("group", ["cache", "study"])
def test_groups_of_verbs_say_whole_sentences(group: str) -> None:
    lines = printed(80, group, "--help")
    assert max(map(len, lines)) <= 80
    assert not any(line.endswith("...") for line in lines[1:])


def example() -> Table:
    table = Table("name", title="title", caption="caption")
    for header in ("peak", "at, s", "nothing", "a rather long header", "remark"):
        table.add_column(header, footer="9.75" if header == "peak" else "")
    table.add_row("first_joint", "-1.234567", "0.125", "", "1, 2, 3", "what goes on and on here")
    table.add_row("second_joint", "2.5", "0.25", "", "", "")
    return table


def text(parts: list[Table], width: int) -> list[str]:
    out = Console(width=width, force_terminal=False)
    with out.capture() as captured:
        for part in parts:
            out.print(part)
    return captured.get().splitlines()


def test_a_table_that_fits_is_left_alone() -> None:
    table = example()
    assert fitted(Console(width=200), table) == [table]


@pytest.mark.parametrize("width", [30, 36, 45, 60, 80])
def test_parts_fit_and_say_everything(width: int) -> None:
    parts = fitted(Console(width=width), example(), prose=["remark"])
    lines = text(parts, width)
    assert max(map(len, lines)) <= width
    words = set(" ".join(lines).replace("│", " ").split())
    assert words >= {"first_joint", "second_joint", "-1.234567", "0.125", "1,", "2.5", "what", "on", "title", "caption"}
    assert all(part.columns[0].header == "name" for part in parts)
    assert not any(column.header == "nothing" for part in parts for column in part.columns)


def test_times_stay_beside_what_they_are_of() -> None:
    for width in range(37, 60):  # below there is no room for both
        for part in fitted(Console(width=width), example()):
            headers = [column.header for column in part.columns]
            assert ("peak" in headers) == ("at, s" in headers)


def test_rows_without_anything_are_left_out_of_a_part() -> None:
    remarks = fitted(Console(width=40), example())[-1]
    assert list(remarks.columns[0].cells) == ["first_joint"]


def test_names_without_anything_stay_in_the_first_part() -> None:
    table = example()
    table.add_row("silent_joint", "", "", "", "", "")
    assert [list(part.columns[0].cells).count("silent_joint") for part in fitted(Console(width=40), table)] == [1, 0, 0]
    bare = Table("joint", "nothing at all")
    bare.add_row("silent_joint", "")
    (part,) = fitted(Console(width=20), bare)
    assert list(part.columns[0].cells) == ["silent_joint"]


def test_a_cell_too_wide_for_the_terminal_wraps_between_words() -> None:
    table = Table("name", "cell")
    table.add_row("first_joint", "one two three four five six seven eight nine")
    assert width_of(Console(width=40), table) > 40
    lines = text(fitted(Console(width=40), table), 40)
    assert any("first_joint" in line for line in lines)
    assert max(map(len, lines)) <= 40
    assert {"seven", "eight"} <= set(" ".join(lines).split())
