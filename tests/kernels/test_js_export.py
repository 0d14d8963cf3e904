"""JavaScript export: modules that Node runs agree with the methods, whatever their length, and document themselves."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import recursa as rc
import zoo
from recursa.cli.commands import recursa
from recursa.dynamics.configuration import random_input
from recursa.facade.asking import quantity_named
from recursa.facade.exporting import JsExport
from recursa.kernels import js_source
from recursa.kernels.js_source import js_number

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no node, which runs JavaScript")

CALLER = """
import {{ readFileSync }} from "node:fs";
const calls = JSON.parse(readFileSync(0));
const answers = [];
for (const [file, name, inputs, size] of calls) {{
  const module = await import(file);
  if (module[name] !== module.default) throw new Error("the default is not the function");
  const out = new Float64Array(size);
  const given = inputs.map(x => Float64Array.from(x));
  if (module[name](...given, out) !== out) throw new Error("out is not returned");
  answers.push([Array.from(out), Array.from(module[name](...given))]);
}}
console.log(JSON.stringify(answers));
"""


def answers(calls: list[tuple[JsExport, list[np.ndarray], int]]) -> list[list[list[float]]]:
    """What the modules say, with an array to fill and without, from one process for all."""
    given = [(str(x.files[0]), x.function, [np.ravel(y).tolist() for y in inputs], n) for x, inputs, n in calls]
    done = subprocess.run(
        [str(NODE), "--input-type=module", "-e", CALLER.format()],
        input=json.dumps(given), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: list[list[list[float]]] = json.loads(done.stdout)
    return found


CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("puma560", "forward_dynamics", {}),
    ("puma560", "forward_dynamics", {"losses": True}),
    ("puma560", "jacobian", {"link": "link6", "frame": "world"}),
    ("free_flyer", "forward_dynamics", {"wrenches": True, "parameters": True}),
    ("mixed_tree", "forward_dynamics", {"wrenches": True}),
    ("one_of_each", "integrate", {}),
    ("one_of_each", "difference", {}),
    ("one_of_each", "configuration.chart_rates", {}),
    ("one_of_each", "mass_matrix", {}),
    ("floating_tree", "poses", {}),
    ("floating_tree", "potential_energy", {}),
]


@needs_node
def test_modules_agree_with_the_methods(tmp_path: Path) -> None:
    """Also where a function is cut into pieces: the tree of 40 bodies has some 9,000 nodes."""
    robots = {name: zoo.ZOO[name]() for name in {case[0] for case in CASES}} | {"long": rc.robots.tree(40, seed=2)}
    calls, expected = [], []
    rng = np.random.default_rng(5)
    for number, (name, quantity, options) in enumerate([*CASES, ("long", "forward_dynamics", {})]):
        robot, record = robots[name], quantity_named(quantity)
        export = robot.export_js(quantity, tmp_path / f"m{number}.mjs", **options)
        names = (*record.inputs, *(x for x in record.optional if options.get(x)))
        arrays = {
            x: np.array(random_input(robot.model, record.kind(x), rng)).reshape(record.kind(x).axes(robot.model, 0))
            for x in names
        }
        plain = {key: value for key, value in options.items() if key in record.options}
        expected.append(np.ravel(robot.evaluator.evaluate(record, arrays, plain)))
        calls.append((export, list(arrays.values()), expected[-1].size))
    assert "_values" in calls[-1][0].files[0].read_text()
    for (export, _, _), found, wanted in zip(calls, answers(calls), expected, strict=True):
        for filled in found:
            assert np.abs(np.array(filled) - wanted).max() <= 1e-12 * np.abs(wanted).max(), export.function


@needs_node
def test_pieces_of_any_length_do_the_same_arithmetic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = zoo.ZOO["mixed_tree"]()
    arrays = [np.array(x) for x in (*robot.random_state(3), np.ones(robot.nv))]
    calls = []
    for piece in (7, 100, 100_000):
        monkeypatch.setattr(js_source, "PIECE", piece)
        calls.append((robot.export_js("forward_dynamics", tmp_path / f"p{piece}.mjs"), arrays, robot.nv))
    first, *others = answers(calls)
    assert others == [first, first]


@needs_node
def test_formulas_agree(tmp_path: Path) -> None:
    robot = rc.robots.puma560()
    f = rc.compile("inv(mass) (T - C)", robot)
    q, v = robot.random_state(1)
    tau = np.arange(6.0)
    export = robot.export_js(f, tmp_path / "forward.mjs", name="forward")
    found = answers([(export, [q, v, tau], 6)])[0][0]
    np.testing.assert_allclose(found, robot.forward_dynamics(q, v, tau), rtol=1e-11)
    assert "function kernel(" in f.source("js")


def test_a_hostile_name_stays_in_the_comment(tmp_path: Path) -> None:
    text = rc.robots.planar(1).to_urdf().replace("planar1", "a*/ alert(1) /*`${x}").replace("joint1", "*/ typeof")
    export = rc.load(text).export_js("poses", tmp_path / "x.js", name="typeof")
    assert export.function == "typeof_"
    comment, code = export.files[0].read_text().split("*/", 1)
    assert "alert" in comment
    assert "alert" not in code


def test_the_verb_writes_javascript_by_the_ending(tmp_path: Path) -> None:
    done = CliRunner().invoke(recursa, ["export", "stanford", "gravity_forces", "-o", str(tmp_path / "g.js")])
    assert done.exit_code == 0, done.output
    text = (tmp_path / "g.js").read_text()
    assert text.startswith("/*\n * gravity_forces of robot 'stanford'")
    assert text.endswith("export default stanford_gravity_forces;\n")
    assert "joint3: prismatic, q[2] m, v[2] m/s" in text


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    robot = rc.robots.planar(1)
    with pytest.raises(rc.RecursaError, match=r"give the path of a JavaScript file, such as 'id.js'"):
        robot.export_js("poses", tmp_path / "poses.ts")
    with pytest.raises(rc.RecursaError, match="cannot be part of JavaScript"):
        js_number(np.inf)
