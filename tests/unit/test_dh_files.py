"""Denavit-Hartenberg tables in files give what ``from_dh`` gives, to the bit; mistakes are told with their place."""

from __future__ import annotations

import json
import math
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recursa as rc
from robot_files import BASE, CSV, GRAVITY, JSON, ROWS, TOOL, YAML

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
from make_command_line import output

anew = pytest.mark.interpreted(reason="every table is another robot")
needs_yaml = pytest.mark.skipif(find_spec("yaml") is None, reason="PyYAML is not installed")

HEAD, BODY = CSV[: CSV.index("joint,")], CSV[CSV.index("joint,") :]
TEXTS = [JSON, pytest.param(YAML, marks=needs_yaml), CSV, HEAD + BODY.replace(",", ";")]
IDS = ["json", "yaml", "csv", "semicolons"]


def from_dh(convention: Any, **options: Any) -> rc.Robot:
    return rc.from_dh(ROWS, convention=convention, name="table arm", gravity=GRAVITY, base=BASE, tool=TOOL, **options)


@pytest.mark.parametrize("convention", ["standard", "modified"])
@pytest.mark.parametrize("text", TEXTS, ids=IDS)
def test_table_in_a_file_is_from_dh_to_the_bit(text: str, convention: Any, tmp_path: Path) -> None:
    file = tmp_path / "arm.txt"  # the content tells
    file.write_text(text.replace("CONVENTION", convention), encoding="utf-8")
    robot, expected = rc.load(file), from_dh(convention)
    assert robot == expected
    for part in ("joints", "inertias", "links", "gravity"):
        assert repr(getattr(robot.model, part)) == repr(getattr(expected.model, part))
    assert rc.load(file, format="dh") == robot
    assert rc.load(text.replace("CONVENTION", convention)) == robot


@anew
def test_base_and_tool_stand_where_they_were_put() -> None:
    plain = rc.from_dh(ROWS, convention="modified")
    robot = from_dh("modified")
    assert robot.link_names == ("world", "base", "link1", "link2", "link3", "tool")
    q, _ = robot.random_state(1)
    base = robot.pose(q, "base")
    assert base[:3, 3].tolist() == [0.1, 0.2, 0.3]
    close = {"rtol": 0.0, "atol": 1e-15}
    np.testing.assert_allclose(robot.pose(q, "link3"), base @ plain.pose(q, "link3"), **close)
    np.testing.assert_allclose(robot.pose(q, "tool")[:3, 3], robot.pose(q, "link3")[:3] @ [0, 0, 0.1, 1], **close)
    matrix = np.eye(4)
    matrix[:3, 3] = 1.0, 2.0, 3.0
    assert rc.from_dh(ROWS, convention="modified", base=matrix).pose(q, "base").tolist() == matrix.tolist()
    for wrong, told in (
        (np.eye(3), "base must be a 4x4 matrix, or position and roll-pitch-yaw"),
        (2 * np.eye(4), "no rotation matrix"),
        (np.full((4, 4), np.nan), "must be finite"),
        (7, "4x4"),
    ):
        with pytest.raises(rc.ModelError, match=told):
            rc.from_dh(ROWS, convention="modified", base=wrong)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_degrees_are_those_of_angles_only(kind: Any) -> None:
    row = {
        "joint": kind,
        "alpha": 90,
        "theta": -45,
        "d": 3,
        "limits": [-90, 180],
        "velocity": 90,
        "mass": 1,
        "damping": 2,
    }
    text = json.dumps({"convention": "modified", "angles": "deg", "rows": [row], "base": [[0, 0, 0], [90, 0, 0]]})
    turns = math.radians if kind == "revolute" else float
    same = rc.DHLink(
        joint=kind, alpha=math.radians(90), theta=math.radians(-45), d=3.0, mass=1.0, damping=2.0,
        limits=(turns(-90), turns(180)), velocity=turns(90),
    )  # fmt: skip
    base = ((0, 0, 0), (math.radians(90), 0, 0))
    assert rc.load(text, strict=False) == rc.from_dh([same], convention="modified", base=base, strict=False)


def row(more: str) -> str:
    return f'{{"convention": "modified", "rows": [{{{more}}}]}}'


HEADER = "# convention: modified\njoint,a,alpha,d,theta\n"
WRONG = [
    ('{"rows": []}', 'lacks \'convention\'. .* "format": "recursa"'),
    ('{"convention": "modified"}', "lacks 'rows'"),
    ('{"convention": "modifed", "rows": [{}]}', "convention must be .* Did you mean 'modified'"),
    ('{"convention": "modified", "rows": []}', "has no rows"),
    ('{"convention": "modified", "rows": {}}', "rows must be a list"),
    ('{"convention": "modified", "rows": [3]}', r"rows\[0\] must be an object"),
    ('{"convention": "modified", "rows": [{}], "angels": "deg"}', "unknown key 'angels'. Did you mean 'angles'"),
    ('{"convention": "modified", "rows": [{}], "angles": "grad"}', "'rad' or 'deg'"),
    ('{"convention": "modified", "rows": [{}], "gravity": 9.81}', "gravity must be a list of 3"),
    ('{"convention": "modified", "rows": [{}], "base": {"xzy": [0, 0, 0]}}', "base has the unknown key 'xzy'"),
    ('{"convention": "modified", "rows": [{}], "tool": [1, 2, 3]}', r"tool\[0\] must be a list of 4"),
    ('{"format": "hd", "convention": "modified", "rows": [{}]}', "format must be 'dh'"),
    ("[1, 2]", "a table is an object"),
    (row('"alfa": 1'), r"rows\[0\] has the unknown key 'alfa'. Did you mean 'alpha'"),
    (row('"alpha": "import os"'), r"rows\[0\].alpha must be a number, not 'import os'"),
    (row('"alpha": "pi/0"'), "must be a number"),
    (row('"alpha": true'), "must be a number, not 'True'"),
    (row('"alpha": 1e999'), "too large"),
    (row('"alpha": "1e999"'), "too large"),
    (row('"alpha": "inf"'), "alpha must be finite"),
    (row('"alpha": "1_0"'), "must be a number"),
    (row('"com": [1, 2]'), r"rows\[0\].com must be a list of 3 numbers"),
    (row('"inertia": [1, 2, 3, 4]'), r"rows\[0\].inertia must be a list of 3"),
    (row('"inertia": [[1, 2, 0], [0, 1, 0], [0, 0, 1]]'), "must be symmetric"),
    (row('"joint": "revolut"'), r"rows\[0\].joint must be revolute or prismatic.* Did you mean 'revolute'"),
    ("joint,a,alpha,d,theta\nrevolute,1,1,1,1\n", "lacks 'convention'"),
    (HEADER + "revolute,1,1\n", "line 3: the row has 3 cells, and there are 5 columns"),
    (HEADER + "revolute,1,1,1,x\n", r"line 3: column 'theta' must be a number, not 'x'"),
    (HEADER + 'revolute,"1,1,1,1\n', "line 3: these are no cells"),
    ("# convention: modified\njoint,a,alpha,d,theta,bb\n", "line 2: unknown column 'bb'"),
    ("# convention: modified\njoint,a,alpha,d,theta,a\n", "line 2: there are two columns 'a'"),
    ("# convention: modified\n# base: [1\njoint,a,alpha,d,theta\n", "line 2: .* is not JSON"),
    ('{"convention": "modified", "angles": "deg", "rows": [{"alpha": "pi/2"}]}', "angles are in degrees"),
    ('{"convention": "modified", "rows": [' + "{}," * 100_000 + "{}]}", "too many for a table"),
]
WRONG_YAML = [
    ("convention: modified\nrows:\n  - {alpha: x}\n", r"line 3: rows\[0\].alpha must be a number, not 'x'"),
    ("convention: modified\nrows:\n  - a: 1\n    a: 2\n", "line 4: the key 'a' is twice"),
    ("convention: modified\nrows: &rows [*rows]\n", "line 2: aliases"),
    ("convention: modified\nrows: !!python/object/apply:os.system ['true']\n", "line 2: the tag"),
    ("convention: modified\nrows: [1, 2\n", "line 3: this is not YAML"),
    ("convention: modified\nrows: " + "[" * 5000, "nest too deeply|not YAML"),
    ("convention: modified\nrows: \x07", "not YAML"),
    ("convention: modified\n---\nrows: []\n", "not YAML"),
    ("convention: modified\n? [a]\n: b\nrows: []\n", "a key must be a word"),
]


@pytest.mark.parametrize(("text", "told"), WRONG)
def test_what_is_wrong_is_told_with_its_place(text: str, told: str) -> None:
    with pytest.raises(rc.ModelError, match=told):
        rc.load(text)


@needs_yaml
@pytest.mark.parametrize(("text", "told"), WRONG_YAML)
def test_what_is_wrong_in_yaml_is_told_with_its_line(text: str, told: str) -> None:
    with pytest.raises(rc.ModelError, match=told):
        rc.load(text)


def test_without_pyyaml_the_others_still_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(rc.ModelError, match=r"needs the package 'PyYAML': pip install 'recursa\[yaml\]'"):
        rc.load(YAML)
    assert rc.load(CSV.replace("CONVENTION", "modified")).nv == 3


@pytest.mark.parametrize("text", TEXTS[:3], ids=IDS[:3])
def test_command_line_takes_tables(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("arm.dh").write_text(text.replace("CONVENTION", "modified"), encoding="utf-8")
    assert output("recursa inverse arm.dh --to joint1=0.3 -o torque.csv")[0] == 0
    assert "joint3" in Path("torque.csv").read_text()
