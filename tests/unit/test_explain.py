"""Explanations: the seven levels are there and true, down to a run of what they print."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import recursa as rc
from recursa.model.canonical import canonical
from recursa.model.model import WORLD
from recursa.operators.rules import RULES

NAMES = (
    "expression", "decomposition", "recognition", "recursion", "link step", "half steps", "coordinate transformation",
)  # fmt: skip
FORMULAS = {
    "phi* H* T": 1,
    "mass": 2,
    "inv(mass)": 2,
    "inv(mass) (T - C)": 3,
    "mass T + C": 2,
    "phi* H* inv(mass) H phi": 2,
    "(1 + H phi K) D (1 + H phi K)*": 2,
    "2 P - 0.5 M + R": 1,
    "H E_phi* tau_bar M tau_bar* E_phi H*": 2,
}


@pytest.fixture(scope="module", params=["puma560", "tree", "free_flyer", "planar"])
def robot(request: pytest.FixtureRequest) -> rc.Robot:
    return rc.robots.by_name(request.param)


def cells(told: rc.Explanation, number: int) -> list[tuple[str, ...]]:
    return [row for part in told.levels[number - 1].parts for row in part.rows]


# ---- the levels ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formula", FORMULAS)
def test_seven_levels_agree_with_the_compiled_expression(formula: str, robot: rc.Robot) -> None:
    expression = rc.parse(formula, robot)
    told, f = rc.explain(expression), rc.compile(expression)
    assert [(level.number, level.name) for level in told.levels] == list(enumerate(NAMES, 1))
    assert (told.simplified, told.rewritings) == (f.simplified, f.rewritings)
    assert told.plan is not None
    assert str(told.plan) == str(f.plan)
    assert (told.operations, told.form, told.inputs) == (f.operations, f.form, f.inputs)
    for number in (4, 5):
        assert len(told.levels[number - 1].parts) == len(f.plan.sweeps)
        for part, sweep in zip(told.levels[number - 1].parts, f.plan.sweeps, strict=True):
            assert sweep.direction.value in part.title
    text = told.text()
    assert f.simplified.text() in text
    for step in f.rewritings:
        assert f"{step.rule} [{step.equation}]" in text
    counts = f.operations
    assert f"cost: {counts.mul} mul, {counts.add} add, {counts.div} div" in text.replace("\n  ", " ")


def test_number_of_sweeps_of_what_everyone_asks() -> None:
    for formula, sweeps in FORMULAS.items():
        plan = rc.explain(formula, rc.robots.panda_like()).plan
        assert plan is not None
        assert len(plan.sweeps) == sweeps, formula


def test_identities_have_the_numbers_of_the_papers(robot: rc.Robot) -> None:
    (step,) = rc.explain("inv(mass)", robot).rewritings
    assert (step.rule, step.equation) == ("innovations inverse", "Rodriguez & Kreutz-Delgado Identity 6 (46)")
    (step,) = rc.explain("phi* H* inv(mass) H phi", robot).rewritings
    assert step.equation == "Jain & Rodriguez (31)"
    known = {rule.equation for rule in RULES} | {"arithmetic", "Rodriguez & Kreutz-Delgado (66)-(73)"}
    for formula in FORMULAS:
        assert {step.equation for step in rc.explain(formula, robot).rewritings} <= known


def test_operators_are_recognised(robot: rc.Robot) -> None:
    told = rc.explain("inv(mass)", robot)
    found = {row[0]: row[1:] for row in cells(told, 3)}
    assert found["ψ"] == ("transition operator", "tip to base")
    assert found["ψ*"] == ("transition operator", "base to tip")
    assert found["D⁻¹"][0] == "block diagonal"
    assert [row[0] for row in cells(told, 2)] == ["K", "ψ", "H", "D"]
    assert any("(34)-(36)" in part.title for part in told.levels[2].parts)


@pytest.mark.parametrize("formula", FORMULAS)
def test_every_step_has_its_equation_at_a_body(formula: str, robot: rc.Robot) -> None:
    lines = [row[0] for row in cells(rc.explain(formula, robot), 5)]
    assert all("<-" not in line for line in lines)
    assert all(re.match(r"\S+\(k\) = ", line) for line in lines)


def test_half_steps_are_those_that_occur() -> None:
    arm = rc.robots.planar(3)
    assert [row[0] for row in cells(rc.explain("phi* H* T", arm), 6)] == ["φ*(p,k)"]
    assert [row[0][:6] for row in cells(rc.explain("phi", arm), 6)] == ["φ(k,c)"]
    assert len(cells(rc.explain("inv(mass)", arm), 6)) == 4
    assert "nothing" in cells(rc.explain("M", arm), 6)[0][0]


# ---- level 5 is true: run what it prints -----------------------------------------------------------------------------


class Interpreter:
    """The equations at body k, taken by their text; blocks of operators come from the dense matrices."""

    def __init__(self, robot: rc.Robot, q: Any, v: Any, x: Any) -> None:
        self.model, self.o = robot.model, robot.operators
        self.q, self.v, self.values = q, v, {"x": x, "T": x}
        self.known: dict[str, dict[int, Any]] = {}
        self.dense: dict[str, Any] = {}

    def run(self, told: rc.Explanation) -> Any:
        assert told.plan is not None
        for part, sweep in zip(told.levels[4].parts, told.plan.sweeps, strict=True):
            bodies = range(self.model.nbodies)
            for k in bodies if sweep.direction.value == "base to tip" else reversed(bodies):
                for (line,) in part.rows:
                    if re.match(r"x\d+\(k\) = ", line):
                        self.statement(line, k)
        result = self.known[told.levels[3].about.rpartition(" ")[2]]
        return np.concatenate([np.atleast_1d(result[k]) for k in range(self.model.nbodies)])

    def statement(self, line: str, k: int) -> None:
        name, _, right = line.partition("(k) = ")
        code = re.sub(r"([^\s()\[\]+-]+)\(([kcp](?:,[kc])?)\)", r"at('\1', (\2))", right)
        code = code.replace("[", "(").replace("]", ")")
        code = re.sub(r"(?<=[)\d]) (?=at|\()", " @ ", re.sub(r"Σ (.*)$", r"total(lambda c: \1)", code))
        code = re.sub(r"([\d.]+) @ ", r"\1 * ", code)
        where = {"at": self.at, "total": lambda term: self.total(k, term), "k": k, "p": self.model.joints[k].parent}
        own = self.known.setdefault(name, {})
        own[k] = eval(code, where)

    def total(self, k: int, term: Callable[[int], Any]) -> Any:
        return sum((term(c) for c in range(k + 1, self.model.nbodies) if self.model.joints[c].parent == k), np.zeros(6))

    def at(self, name: str, where: Any) -> Any:
        if name in self.known:
            return self.known[name][where] if where != WORLD else np.zeros(6)
        if name.startswith("φ"):
            p, k = where
            block = self.matrix("E_phi")[6 * p : 6 * p + 6, 6 * k : 6 * k + 6] if p != WORLD else np.zeros((6, 6))
            return block.T if name.endswith("*") else block
        rows = self.rows(where, 6)
        if name in self.values:
            vector = self.values[name]
            return vector[rows if len(vector) == 6 * self.model.nbodies else self.freedoms(where)]
        bare = name.rstrip("*").replace("⁻¹", "").replace("τ̄", "tau_bar").replace("alpha", "gravity")
        matrix = self.matrix(bare)
        if matrix.ndim == 1:
            return matrix[rows]
        left, right = getattr(self.o, bare).shape
        block = matrix[self.part(left, where), self.part(right, where)]
        return block.T if name.endswith("*") else np.linalg.inv(block) if name.endswith("⁻¹") else block

    def part(self, space: Any, k: int) -> slice:
        return self.rows(k, 6) if space.name == "link" else self.freedoms(k)

    def rows(self, k: int, size: int) -> slice:
        return slice(size * k, size * k + size)

    def freedoms(self, k: int) -> slice:
        joint = self.model.joints[k]
        return slice(joint.v_start, joint.v_start + joint.kind.nv)

    def matrix(self, name: str) -> Any:
        if name not in self.dense:
            self.dense[name] = rc.dense(getattr(self.o, name), self.q, self.v)
        return self.dense[name]


@pytest.mark.parametrize("formula", FORMULAS)
def test_equations_at_a_body_give_the_value(formula: str, robot: rc.Robot) -> None:
    told, f = rc.explain(formula, robot), rc.compile(rc.parse(formula, robot))
    q, v = robot.random_state(seed=3)
    size = 6 * robot.nbodies if formula in ("phi* H* inv(mass) H phi", "2 P - 0.5 M + R") else robot.nv
    x = np.random.default_rng(4).normal(size=size)
    expected = f(q, v, x)
    found = Interpreter(robot, q, v, x).run(told)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-12 + 1e-9 * np.abs(expected).max())


# ---- level 7 ---------------------------------------------------------------------------------------------------------


def test_frames_are_moved_only_where_nobody_can_tell() -> None:
    arm = rc.robots.panda_like()
    moved, kept = rc.explain("mass", arm).levels[6], rc.explain("phi", arm).levels[6]
    screws = sum(1 + len(joint.before) for joint in canonical(arm.model).joints)  # type: ignore[attr-defined]
    assert "moved onto the joint axes" in moved.about
    assert moved.parts[0].title.startswith(f"{screws} screws")
    assert "link axes" in kept.about
    assert kept.parts[0].title.startswith("7 general rotations")


@pytest.mark.parametrize("name", ["puma560", "stanford", "chain"])
def test_screws_that_are_printed_are_the_poses(name: str) -> None:
    robot = rc.robots.by_name(name)
    q, _ = robot.random_state(seed=2)
    rows = rc.explain("mass", robot).levels[6].parts[1].rows
    for joint, (label, kind, formula) in zip(canonical(robot.model).joints, rows, strict=True):
        assert (label, kind) == (joint.name, joint.kind.name)
        pose = np.eye(4)
        for operation, axis, argument in re.findall(r"([RT])([xyz])\(([^)]*)\)", formula):
            value = argument.replace("°", "")
            coordinate = re.match(r"q(\d+)(?: ([-+]) (.*))?$", value)
            if coordinate is None:
                amount = np.radians(float(value)) if operation == "R" else float(value)
            else:
                offset = float((coordinate[2] or "+") + (coordinate[3] or "0"))
                amount = q[int(coordinate[1])] + (np.radians(offset) if operation == "R" else offset)
            pose = pose @ elementary(operation, "xyz".index(axis), amount)
        expected = np.array(joint.transform(q[joint.q_start : joint.q_start + 1]).general().rows())
        assert np.allclose(pose[:3], expected[:3], atol=1e-5)


def elementary(operation: str, axis: int, amount: float) -> Any:
    matrix = np.eye(4)
    if operation == "T":
        matrix[axis, 3] = amount
    else:
        i, j = (axis + 1) % 3, (axis + 2) % 3
        matrix[i, i] = matrix[j, j] = np.cos(amount)
        matrix[j, i], matrix[i, j] = np.sin(amount), -np.sin(amount)
    return matrix


def test_long_robots_are_cut_short_and_say_so() -> None:
    told = rc.explain("mass", rc.robots.chain(80, seed=1))
    assert told.form == "loop"
    assert cells(told, 7)[-1][0] == "... and 68 more"
    assert "loop code" in told.cost


# ---- what cannot be lowered ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formula", ["inv(phi + M)", "inv(mass + H phi M H*)", "phi H* inv(H phi H*) H"])
def test_expression_without_sweeps_is_explained_as_far_as_it_goes(formula: str, robot: rc.Robot) -> None:
    told = rc.explain(formula, robot)
    assert [level.name for level in told.levels] == list(NAMES[:3])
    assert (told.plan, told.operations, told.form, told.code, told.inputs) == (None, None, None, None, ())
    assert told.obstacle is not None
    assert str(told.obstacle) in told.cost
    assert "it ends here" in str(told)
    if told.obstacle.factor is not None:
        row = next(row for row in cells(told, 3) if "in the way" in row[-1])
        assert row[0] == told.obstacle.factor.text()  # type: ignore[attr-defined]


def test_missing_armature_is_said() -> None:
    said = "armature is left out: with it the mass matrix is H phi M phi* H* + A"
    for formula in ("inv(H phi M phi* H*) A (T - C)", "inv(mass - A)"):
        assert said in rc.explain(formula, rc.robots.puma560()).text(ascii=True)
        assert said not in rc.explain(formula, rc.robots.panda_like()).text(ascii=True)
    assert said not in rc.explain("inv(mass)", rc.robots.puma560()).text(ascii=True)


def test_advice_to_simplify_is_given_only_where_it_helps() -> None:
    from recursa.operators.lower import lower

    o = rc.robots.planar(2).operators
    with pytest.raises(rc.NoSweepError, match=r"lower what simplify\(\) makes of it") as refused:
        lower(o.mass.inverse())
    assert refused.value.factor == o.mass.inverse()
    with pytest.raises(rc.NoSweepError, match=r"no factors of M \+ φ are known\. Use dense") as refused:
        lower((o.M + o.phi).inverse())
    assert refused.value.factor == (o.M + o.phi).inverse()
    with pytest.raises(rc.NoSweepError, match=r"H phi X phi\* H\* \+ Y has some"):
        lower((o.mass + o.H @ o.phi @ o.H.T).inverse())


# ---- arguments -------------------------------------------------------------------------------------------------------


def test_text_needs_a_robot() -> None:
    with pytest.raises(rc.StateError, match=r"rc.explain\(text, robot\)"):
        rc.explain("inv(mass)")
    with pytest.raises(rc.StateError, match="operator expression"):
        rc.explain(3.0)  # type: ignore[arg-type]


def test_free_vectors_may_be_named() -> None:
    told = rc.explain("J(tip) y", rc.robots.planar(3), vectors={"y": "joint"})
    assert told.inputs == ("y",)
    assert "free vector" in [row[1] for row in cells(told, 2)]


def test_expression_of_another_robot_is_refused() -> None:
    with pytest.raises(rc.ShapeError, match="not of robot"):
        rc.explain(rc.robots.planar(3).operators.mass, rc.robots.panda_like())
    with pytest.raises(rc.NoSweepError, match="no operator of a robot"):
        rc.explain(rc.robots.planar(3).operators.I)


def test_code_is_the_compiled_one() -> None:
    arm = rc.robots.planar(2)
    f = rc.compile(arm.operators.mass)
    told = rc.explain(arm.operators.mass, code="c")
    assert told.code == f.source("c")
    assert told.code in told.text()
    assert rc.explain(arm.operators.mass, code="llvm").code == f.source("llvm")
    with pytest.raises(rc.UnknownNameError, match="no kind of code 'cuda'"):
        rc.explain(arm.operators.mass, code="cuda")  # type: ignore[arg-type]


# ---- how it is shown -------------------------------------------------------------------------------------------------


def test_text_is_narrow_and_has_a_typed_form() -> None:
    told = rc.explain("inv(mass) (T - C)", rc.robots.puma560())
    assert max(map(len, told.text().splitlines())) <= 120
    typed = told.text(ascii=True)
    assert typed.isascii()
    assert "?" not in typed
    assert "x17(k) = x16(k) + tau_bar*(k) phi*(p,k) x17(p)" in typed


def test_rich_and_markdown_say_the_same() -> None:
    told = rc.explain("inv(mass)", rc.robots.planar(3), code="llvm")
    out = Console(file=io.StringIO(), width=200, force_terminal=True, color_system=None)
    out.print(told)
    terminal, page = out.file.getvalue(), told._repr_markdown_()  # type: ignore[attr-defined]
    for text in (terminal, page):
        for level in told.levels:
            assert f"{level.number} {level.name}" in text
            for part in level.parts:
                for row in part.rows:
                    assert all(cell in text for cell in row)
        assert "define void @kernel" in text
    assert rf"$${told.expression.latex()} \;=\; {told.simplified.latex()}$$" in page


def test_names_of_links_cannot_break_the_markdown() -> None:
    builder = rc.Builder("odd|`<b>")
    builder.link("a|`b", mass=1.0, inertia=(1.0, 1.0, 1.0)).joint("j|`[red]k", "revolute", parent="world", child="a|`b")
    told = rc.explain("J(a|`b) T", builder.build())
    table = [line for line in told._repr_markdown_().splitlines() if "[red]k" in line]
    assert table == [r"| ``j\|`[red]k`` | `revolute` | `Rz(q0)` |"]
    Console(file=io.StringIO()).print(told)


def test_data_are_plain() -> None:
    import json

    told = rc.explain("inv(mass)", rc.robots.planar(3))
    data = json.loads(json.dumps(told.as_dict()))
    assert (data["expression"], data["simplified"]) == ("inv(H phi M phi* H*)", "(I - H psi K)* inv(D) (I - H psi K)")
    assert [sweep["direction"] for sweep in data["sweeps"]] == ["tip to base", "base to tip"]
    assert data["operations"]["total"] == told.operations.total  # type: ignore[union-attr]
    assert data["frames_moved"] is True
    assert "2 sweeps" in repr(told)


def test_poses_of_bodies_have_what_stands_behind_the_joint():
    """A standard Denavit-Hartenberg arm has its constants there."""
    row = rc.DHLink(joint="revolute", a=0.5, d=0.1, alpha=0.5 * np.pi, mass=1.0, inertia=(0.01, 0.02, 0.02))
    told = rc.explain("phi M V", rc.from_dh([row, row], convention="standard"))
    poses = [cells[2] for cells in told.levels[6].parts[1].rows]
    assert poses == ["xyz 0 0 0, rpy 0° 0° 0°, axis 0 0 1; behind the joint xyz 0.5 0 0.1, rpy 90° 0° 0°"] * 2


@pytest.mark.parametrize(
    ("formula", "end"), [("inv(mass)", "as applied to one vector"), ("inv(mass) T", "spelled out)")]
)
def test_cost_says_what_is_counted(formula, end):
    assert rc.explain(formula, rc.robots.planar(2)).cost.endswith(end)
