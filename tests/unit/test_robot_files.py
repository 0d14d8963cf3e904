"""Robot files of our own: exact to the bit, as their schema says, and refused with the place of what is wrong."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import recursa as rc
from recursa.cli.commands import recursa
from recursa.formats.recursa_json import described, write_recursa
from robot_files import with_everything
from robot_schema import robot_schema
from zoo import ZOO

SHIPPED = files("recursa").joinpath("formats", "robot.schema.json")


ROBOTS = {
    **{name: make for name, make in ZOO.items() if name != "chain200"},
    "everything": with_everything,
    "tied": lambda: rc.load(rc.robots.urdf("desk_arm"), mimic="tie"),
    "parameters": lambda: ZOO["pendulum"]().with_parameters([0.0, 0.1, 0.2, 0.3, *range(6)]),
}


def checked(data: Any, schema: dict[str, Any], place: str, top: dict[str, Any]) -> list[str]:
    """What of some data a schema does not allow: as much of JSON schema as ours uses."""
    wrong: list[str] = []
    for key, wanted in schema.items():
        match key:
            case "$ref":
                wrong += checked(data, top["$defs"][wanted.removeprefix("#/$defs/")], place, top)
            case "anyOf":
                wrong += (
                    [] if any(not checked(data, one, place, top) for one in wanted) else [f"{place}: none of those"]
                )
            case "const" | "enum":
                wrong += [] if data in (wanted if key == "enum" else [wanted]) else [f"{place}: {data!r}"]
            case "type":
                kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
                number = isinstance(data, int | float) and not isinstance(data, bool)
                whole = isinstance(data, int) and number
                fits = {"number": number, "integer": whole}.get(wanted)
                wrong += (
                    [] if (isinstance(data, kinds[wanted]) if fits is None else fits) else [f"{place}: no {wanted}"]
                )
            case "properties":
                for name in wanted.keys() & (data.keys() if isinstance(data, dict) else set()):
                    wrong += checked(data[name], wanted[name], f"{place}.{name}", top)
            case "required":
                wrong += [f"{place}: no {name}" for name in wanted if isinstance(data, dict) and name not in data]
            case "additionalProperties":
                others = data.keys() - schema.get("properties", {}).keys() if isinstance(data, dict) else set()
                for name in others:
                    wrong += checked(data[name], wanted, place, top) if wanted else [f"{place}: unknown {name}"]
            case "items":
                for k, item in enumerate(data if isinstance(data, list) else []):
                    wrong += checked(item, wanted, f"{place}[{k}]", top)
            case "prefixItems":
                for k, (item, one) in enumerate(zip(data if isinstance(data, list) else [], wanted, strict=False)):
                    wrong += checked(item, one, f"{place}[{k}]", top)
            case "minItems" | "maxItems":
                count = len(data) if isinstance(data, list) else wanted
                wrong += [] if (count >= wanted if key == "minItems" else count <= wanted) else [f"{place}: {count}"]
            case "description" | "title" | "$schema" | "$defs":
                pass
            case _:
                raise AssertionError(f"the test does not know {key}")
    return wrong


@pytest.mark.parametrize("name", ROBOTS)
def test_robot_comes_back_to_the_bit(name: str, tmp_path: Path) -> None:
    robot = ROBOTS[name]()
    file = tmp_path / "a robot.robot.json"
    assert robot.save(str(file)) == file
    again = rc.load(file, strict=False)
    assert again == robot
    for part in ("joints", "inertias", "links", "nq", "nv", "gravity", "floating", "mimic"):  # -0.0 is not 0.0 here
        assert repr(getattr(again.model, part)) == repr(getattr(robot.model, part)), part
    kept, was = again.model.description, robot.model.description
    assert kept.provenance == was.provenance
    assert [note.reason for note in kept.notes] == [note.reason for note in was.notes]
    assert again.save(tmp_path / "again.json").read_bytes() == file.read_bytes()
    assert len(list(tmp_path.iterdir())) == 2  # nothing else is left behind


@pytest.mark.parametrize("name", ROBOTS)
def test_saved_file_is_as_the_schema_says(name: str) -> None:
    schema = json.loads(SHIPPED.read_text("utf-8"))
    data = json.loads(write_recursa(ROBOTS[name]().model), parse_constant=pytest.fail)
    assert checked(data, schema, "", schema) == []


def test_shipped_schema_is_that_of_the_records() -> None:
    """Where records have changed: write it anew with robot_schema.py; raise VERSION if older files no longer fit."""
    assert json.loads(SHIPPED.read_text("utf-8")) == robot_schema()


HEAD = '{"format": "recursa", "version": 1, "name": "arm", '
BASE = '{"name": "base"}, {"name": "rod"}'
JOINT = '"name": "j", "parent": "base", "child": "rod"'


def one_joint(more: str, beside: str = "") -> str:
    return f'{HEAD}{beside}"links": [{BASE}], "joints": [{{{JOINT}, "kind": "revolute", {more}}}]}}'


def one_link(more: str) -> str:
    return f'{HEAD}"links": [{{{more}}}], "joints": []}}'


NO_JSON = [
    (one_link('"name": "a", "mass": 1e999'), "1e999 is too large"),
    (one_link(f'"name": "a", "mass": {"9" * 5000}'), "is too large"),
    (one_link('"name": "a", "name": "b"'), "'name' is twice"),
    (one_joint('"kind": "prismatic"'), "'kind' is twice"),
    (HEAD + '"links": ' + "[" * 100_000, "too deeply"),
    (HEAD + '"links": [{"name": "a"}', "cut off"),
    (HEAD + '"links": [{"name" "a"}]', "line 1: this is not JSON"),
]
AGAINST_THE_SCHEMA = [
    ('{"format": "recursa"}', '"version" must be a whole number'),
    ('{"format": "recursa", "version": true}', '"version" must be a whole number'),
    ('{"format": "recursa", "version": 9, "links": [], "joints": [], "name": "a"}', "version 9, and this"),
    ('{"format": "recursa", "version": 1, "links": [], "joints": []}', "lacks the key 'name'"),
    (HEAD + '"links": [], "joints": [], "gravty": []}', "unknown key 'gravty'. Did you mean 'gravity'"),
    (HEAD + '"links": {}, "joints": []}', "links must be a list, not an object"),
    (one_link('"name": 3'), r"links\[0\].name must be text, not a number: 3"),
    (one_link('"name": "a", "mass": true'), r"links\[0\].mass must be a number"),
    (one_link('"name": "a", "mass": "1"'), r"links\[0\].mass must be a number, not text"),
    (one_link('"name": "a", "com": [1, 2]'), r"links\[0\].com must be a list of 3, not of 2"),
    (one_link('"name": "a", "line": 1.5'), r"links\[0\].line must be a whole number"),
    (one_joint('"axis": [0, 0, "up"]'), r"joints\[0\].axis\[2\] must be a number"),
    (one_joint('"mimic": {"joint": "j", "offest": 1}'), r"joints\[0\].mimic has the unknown key 'offest'"),
    (one_joint('"damping": 3'), r"joints\[0\].damping must be a list"),
    (one_joint('"placement": [[1, 0, 0, 0, 1, 0, 0, 0], [0, 0, 0]]'), r"joints\[0\].placement\[0\] must be a list"),
    (f'{HEAD}"links": [{BASE}], "joints": [{{{JOINT}, "kind": "revolut"}}]}}', r"joints\[0\].kind .* mean 'revolute'"),
]  # fmt: skip
MEANINGLESS = [
    (one_link('"name": "\\ud800"'), "surrogate pair"),
    (one_link('"name": ""'), r"links\[0\].name must be a name; it is empty"),
    (one_joint('"armature": [1, 2]'), r"joints\[0\].armature: joint 'j'"),
    (one_joint('"placement": [[1, 0, 0, 0, 1, 0, 0, 0, 2], [0, 0, 0]]'), "no rotation matrix"),
    (one_joint('"placement": [["nan", 0, 0, 0, 1, 0, 0, 0, 1], [0, 0, 0]]'), "no rotation matrix"),
    (one_joint('"pitch": 0', '"states": [{"name": "s", "q": {"k": [1]}}], '), r"states\[0\].q: no joint 'k'"),
    (one_joint('"pitch": 0', '"states": [{"name": "s", "q": {"j": []}}], '), "takes 1 numbers, not 0"),
    (one_joint('"pitch": 0', '"actuators": [{"name": "m", "gears": {"j": [1, 2]}}], '), "takes 1 numbers, not 2"),
    (one_joint('"pitch": 0', '"relations": [{"name": "r", "joint": "j", "other": "k", "polynomial": []}], '), "'k'"),
    (
        one_joint('"pitch": 0', '"closures": [{"name": "c", "kind": "point", "first": "base", "second": "rot"}], '),
        r"closures\[0\].second: no link 'rot'. Did you mean 'rod'",
    ),
]  # fmt: skip


@pytest.mark.parametrize("text", [text for text, _ in AGAINST_THE_SCHEMA])
def test_schema_refuses_what_the_reader_refuses(text: str) -> None:
    schema = robot_schema()
    assert checked(json.loads(text), schema, "", schema)
    assert not checked(json.loads(one_joint('"pitch": 0')), schema, "", schema)


@pytest.mark.parametrize(("text", "told"), [*NO_JSON, *AGAINST_THE_SCHEMA, *MEANINGLESS])
def test_what_is_wrong_is_told_with_its_place(text: str, told: str) -> None:
    with pytest.raises(rc.ModelError, match=told):
        rc.load(text)


def test_file_is_named_in_errors(tmp_path: Path) -> None:
    file = tmp_path / "arm.robot.json"
    file.write_text(one_joint('"axis": 1'))
    with pytest.raises(rc.ModelError, match=r"arm\.robot\.json: joints\[0\]\.axis must be a list"):
        rc.load(file)


def test_options_of_load_come_before_those_of_the_file(tmp_path: Path) -> None:
    file = rc.load(rc.robots.urdf("desk_arm"), mimic="tie").save(tmp_path / "arm.json")
    assert rc.load(file).nv == 7
    assert rc.load(file, mimic="free").nv == 8
    assert rc.load(file, gravity=(0, 0, 0)).gravity == (0.0, 0.0, 0.0)
    assert rc.load(file, floating=True).nv == 13
    assert rc.load(file, format="recursa").name == "desk_arm"
    with pytest.raises(rc.ModelError, match="not XML"):
        rc.load(file, format="urdf")


def test_a_robot_is_saved_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    robot = rc.robots.planar(1)
    with pytest.raises(rc.RecursaError, match=r"let it end in \.json"):
        robot.save(tmp_path / "arm.urdf")
    with pytest.raises(rc.RecursaError, match="it is a folder"):
        robot.save(tmp_path)
    with pytest.raises(rc.RecursaError, match="cannot write"):
        robot.save(tmp_path / "missing" / "arm.json")
    assert list(tmp_path.iterdir()) == []


def test_description_says_what_makes_the_model_again() -> None:
    model = with_everything().model
    options = described(model)
    assert (options.gravity, options.floating, options.mimic) == (model.gravity, True, "free")


def test_command_line_takes_saved_robots_as_they_were_saved(tmp_path: Path) -> None:
    file = rc.load(rc.robots.urdf("desk_arm"), mimic="tie").save(tmp_path / "arm.robot.json")
    for options, freedoms in (([], 7), (["--mimic", "free"], 8)):
        told = CliRunner().invoke(recursa, ["info", str(file), "--json", *options], catch_exceptions=False)
        assert json.loads(told.output)["nv"] == freedoms
