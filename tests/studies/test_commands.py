"""``recursa study run``, ``status`` and ``show``, as they are typed: tables that fit, and words for what is wrong."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import recursa as rc
from recursa.cli.commands import recursa

pytest.importorskip("zarr")

LONG = [f"arm_{side}_{k}_joint" for side in ("left", "right") for k in (1, 2, 3, 4)]
STUDY = """
robot: robot.urdf
vary:
  q0: uniform
  payload.mass: [normal, 2.0, 0.3]
compute: rollout
options: {step: 0.001, steps: 20}
samples: 40
seed: 3
keep:
  peak_speed: [extrema, moments, [quantiles, [0.5, 0.99]], [top, 3], [histogram, 4, 0, 10]]
  violation: moments
store: out.zarr
"""


def two_arms() -> rc.Robot:
    builder = rc.Builder("two_arms")
    builder.link("torso_link", mass=4.0, com=(0.01, 0.02, 0.2), inertia=(0.1, 0.1, 0.1))
    builder.joint("root", "free", parent="world", child="torso_link")
    for side, sign in (("left", 1.0), ("right", -1.0)):
        parent, place = "torso_link", (0.0, 0.2 * sign, 0.4)
        for k in (1, 2, 3, 4):
            link = f"arm_{side}_{k}_link"
            builder.link(link, mass=1.5, com=(0.01, -0.02 * sign, -0.15), inertia=(0.02, 0.03, 0.025))
            builder.joint(
                f"arm_{side}_{k}_joint", "revolute", parent=parent, child=link, xyz=place, axis=(k == 1, k > 2, k == 2),
                limits=(-2.5, 2.5), effort=80.0, velocity=3.0,
            )  # fmt: skip
            parent, place = link, (0.0, 0.0, -0.3)
    return builder.build()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("robot.urdf").write_text(two_arms().to_urdf())
    Path("fall.yaml").write_text(STUDY)
    return tmp_path


def typed(*arguments: str, width: int = 80) -> Result:
    terminal = {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": str(width), "NO_COLOR": None}
    return CliRunner(env=terminal).invoke(recursa, ["study", *arguments])


def lines(result: Result) -> list[str]:
    assert result.exit_code == 0, result.output
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", result.stdout).splitlines()


@pytest.mark.parametrize("width", [60, 80])
def test_a_robot_with_two_arms_fits_and_its_joints_are_named(folder, width) -> None:
    first = lines(typed("run", "fall.yaml", width=width))
    again = lines(typed("show", "fall.yaml", width=width))
    assert [line for line in first if line.startswith("│")] == [line for line in again if line.startswith("│")]
    for printed in (first, again, lines(typed("status", "fall.yaml", width=width))):
        commands = [line for line in printed if "recursa study show" in line]  # are copied, and stay whole
        assert max(len(line) for line in printed if line not in commands) <= width
        assert not any("…" in line or "..." in line for line in printed)
    words = set(re.findall(r"[\w.-]+", "\n".join(again)))
    assert words >= {*LONG, "root.rx", "peak_speed", "violation", "min_row", "mean", "std", "99"}
    replays = [line for line in again if re.search(r"--row \d+ -o row\d+\.html$", line)]
    assert len(replays) == 3
    result = rc.read("out.zarr")
    top = [int(re.search(r"--row (\d+)", line)[1]) for line in replays]
    assert top == result["peak_speed.top_rows"].tolist()


def test_status_and_json_tell_the_same(folder) -> None:
    missing = typed("status", "fall.yaml")
    assert isinstance(missing.exception, rc.StudyError) and "nothing was computed yet" in str(missing.exception)
    run = json.loads(typed("run", "fall.yaml", "--json", "--block", "7").stdout)
    shown = json.loads(typed("show", "fall.yaml", "--json").stdout)
    assert run["found"] == shown["found"] and run["rows"] == run["total"] == 40
    assert json.loads(typed("status", "out.zarr", "--json").stdout)["done"] == 1.0
    row = json.loads(typed("show", "out.zarr", "--row", "3", "--json").stdout)
    assert row["payload.mass"] == rc.read("out.zarr").study.values(3)["payload.mass"].tolist()
    assert lines(typed("run", "fall.yaml", "--estimate"))[-1].startswith("40 rows; ")


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("payload.mass:", "payload.mas:", "nothing called 'payload.mas' can be varied here. Did you mean"),
        ("[normal, 2.0, 0.3]", "[normal, 2.0, 3.0]", "would be negative, which no mass is"),
        ("q0: uniform", "q0.arm_lft_1_joint: uniform", "Did you mean 'arm_left_1_joint'"),
        ("seed: 3", "sed: 3", "Did you mean 'seed'"),
        ("robot: robot.urdf", "robot: robt.urdf", "robt.urdf"),
        ("samples: 40", "samples: many", "samples must be a whole number"),
        ("peak_speed:", "peak_sped:", "Did you mean 'peak_speed'"),
        ("steps: 20", "steps: 0", "nothing to be kept"),
        ("steps: 20", "steps: 20, save_every: 21", "every 21th is saved has nothing to be kept"),
        ("payload.mass: [normal, 2.0, 0.3]", "arm_left_1_link.Ixx: [uniform, 5, 6]", "no body has these parameters"),
        ("store: out.zarr", "store: out.txt", "let it end in"),
        ("vary:", "vary: [", "fall.yaml"),
    ],
)
def test_mistakes_in_a_file_are_named_and_leave_nothing(folder, old, new, message) -> None:
    Path("fall.yaml").write_text(STUDY.replace(old, new))
    result = typed("run", "fall.yaml")
    assert isinstance(result.exception, rc.RecursaError) and message in str(result.exception)
    assert not Path("out.zarr").exists() and not Path("out.txt").exists()


def test_a_store_of_another_study_is_refused_and_not_touched(folder) -> None:
    assert typed("run", "fall.yaml").exit_code == 0
    before = {path: path.read_bytes() for path in Path("out.zarr").rglob("*") if path.is_file()}
    Path("fall.yaml").write_text(STUDY.replace("seed: 3", "seed: 4"))
    result = typed("run", "fall.yaml")
    assert "holds another study (other seed)" in str(result.exception)
    assert {path: path.read_bytes() for path in Path("out.zarr").rglob("*") if path.is_file()} == before
    Path("fall.yaml").write_text(STUDY)
    result = typed("run", "fall.yaml", "--no-resume")
    assert "has results already" in str(result.exception)
