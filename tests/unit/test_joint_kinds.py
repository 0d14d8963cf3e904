"""What the rest of the package knows of joint kinds: properties of the kind, never its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import recursa as rc
from recursa.identification.logs import driven
from recursa.loading import trusted
from recursa.model.description import DRIVEN, LIMITED, PITCHED, TURNING, JointType
from recursa.model.joint_kind import Hinge, JointKind
from recursa.model.joints import KINDS
from recursa.plotting.arm import skeleton, symbol
from recursa.robots import random_description
from recursa.spatial import Motion, Rotation, Transform, Vec3
from recursa.trajectories.coordinates import coordinate_rates

SOURCE = Path(rc.__file__).parent
ZERO = Vec3(0.0, 0.0, 0.0)

MAY_NAME_KINDS = ("model/joint", "formats/", "interop/pinocchio.py")
"""Where names of kinds are looked up: the kinds themselves, file formats, and the table of Pinocchio's joints."""

OTHER_WORDS = {
    "mimic": ("mimic", "self.mimic"),  # how ties are treated: "free" or "tie"
    "joints": ("joints", "row.joint"),  # rc.robots.chain(joints="revolute"), rows of Denavit-Hartenberg tables
    "loops": ("self.kind", "one.kind", "closure.kind"),  # constraints that close loops, in the files below
}
OF_LOOPS = ("model/constraints.py", "model/closures.py")


def names_of_kinds(source: str, *, loops: bool = False) -> list[str]:
    """Comparisons with names of joint kinds, tables of them, and tables read by them, in a text."""
    innocent = {*OTHER_WORDS["mimic"], *OTHER_WORDS["joints"], *(OTHER_WORDS["loops"] if loops else ())}
    return [ast.unparse(node) for node in ast.walk(ast.parse(source)) if _names_kind(node, innocent)]


def _names_kind(node: ast.AST, innocent: set[str]) -> bool:
    match node:
        case ast.Compare():
            sides = [node.left, *node.comparators]
            if any(ast.unparse(side) in innocent for side in sides):
                return False
            return any(_is_name(side) or KINDS.keys() & set(_texts(side)) for side in sides)
        case ast.Assign(value=table) | ast.AnnAssign(value=table) if isinstance(table, ast.Tuple | ast.List):
            return _only_kinds(table)
        case ast.Set():
            return _only_kinds(node)
        case ast.Subscript(slice=index):
            return _is_name(index)
        case ast.Call(func=ast.Attribute(attr="get"), args=[first, *_]):
            return _is_name(first)
        case ast.MatchValue(value=ast.Constant(value=text)):
            return text in KINDS
    return False


def _is_name(node: ast.AST) -> bool:
    """Whether an expression is ``kind.name`` of a joint."""
    return isinstance(node, ast.Attribute) and node.attr == "name" and ast.unparse(node.value).endswith("joint.kind")


def _only_kinds(table: ast.Tuple | ast.List | ast.Set) -> bool:
    texts = _texts(table)
    return bool(texts) and len(texts) == len(table.elts) and {*KINDS, "fixed"}.issuperset(texts)


def _texts(node: ast.AST) -> list[str]:
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return [text for part in parts for text in _texts(part)]
        case ast.Call(args=parts):
            return [text for part in parts for text in _texts(part)]
    return []


@pytest.mark.parametrize(
    "source",
    [
        "joint.kind.name == 'screw'",
        "kind.name == 'prismatic'",
        "name in ('free', 'planar')",
        "record.kind != 'helical'",
        "LOOSE = ('free', 'planar', 'translation')",
        "TABLE[joint.kind.name]",
        "TABLE.get(joint.kind.name, 'o')",
        "'spherical' in kinds",
        "kinds & {'free', 'planar'}",
        "match kind:\n    case 'planar': pass",
    ],
)
def test_rule_sees_names_of_kinds(source: str) -> None:
    assert names_of_kinds(source)


@pytest.mark.parametrize("source", ["mimic == 'free'", "f'{joint.kind.name} joints'", "joint.kind.slides", "x in ()"])
def test_rule_leaves_other_words_alone(source: str) -> None:
    assert not names_of_kinds(source)


def _files() -> Iterator[str]:
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith(MAY_NAME_KINDS):
            yield name


def test_no_file_compares_names_of_joint_kinds() -> None:
    """A new kind needs no other file than its class: others ask what it does."""
    said = {name: names_of_kinds((SOURCE / name).read_text("utf-8"), loops=name in OF_LOOPS) for name in _files()}
    assert not {name: lines for name, lines in said.items() if lines}


WHICH = {
    "turns": {"revolute", "continuous"},
    "turns_about_axis": {"revolute", "continuous", "helical"},
    "slides": {"prismatic"},
    "is_free": {"free"},
    "is_ball": {"spherical"},
    "is_loose": {"planar", "translation", "free"},
    "has_pitch": {"helical"},
    "has_plane": {"planar"},
    "has_limits": {"revolute", "prismatic", "helical"},
    "has_endless_angle": {"continuous", "planar"},
}


@pytest.mark.parametrize("question", WHICH)
def test_questions_to_kinds(question: str) -> None:
    assert {name for name, kind in KINDS.items() if getattr(kind, question)} == WHICH[question]


def test_tables_of_kinds_are_those_of_the_type() -> None:
    assert get_args(JointType) == (*KINDS, "fixed")
    assert {*LIMITED, *PITCHED, *TURNING} <= set(DRIVEN)
    assert {name: kind.unlimited for name, kind in KINDS.items() if kind.unlimited} == {"revolute": "continuous"}


def test_linear_speeds_first() -> None:
    assert KINDS["free"].linear_first == (3, 4, 5, 0, 1, 2)
    assert KINDS["planar"].linear_first == (1, 2, 0)
    assert KINDS["spherical"].linear_first == (0, 1, 2)


class Cylindrical(JointKind):
    """A kind that the package does not have: rotation about the axis and translation along it."""

    name = "cylindrical"
    nq, nv = 2, 2
    angular = (True, False)
    q_units = ("rad", "m")
    q_parts = ("theta", "z")
    v_parts = ("rz", "tz")
    meaning = ("(angle, advance) in rad, m", "their rates in rad/s and m/s")
    angle = 0

    def transform(self, hinge: Hinge, q: Sequence[Any]) -> Transform:
        return Transform(Rotation.from_axis_angle(hinge.axis, q[0]), hinge.axis * q[1])

    def columns(self, hinge: Hinge) -> tuple[Motion, ...]:
        return Motion(hinge.axis, ZERO), Motion(ZERO, hinge.axis)

    def motion(self, hinge: Hinge, v: Sequence[Any]) -> Motion:
        return Motion(hinge.axis * v[0], hinge.axis * v[1])

    def random(self, rng: Any, limits: tuple[float, float] | None) -> tuple[float, ...]:
        return tuple(float(x) for x in rng.uniform(-1.0, 1.0, 2))


@pytest.fixture
def crane(monkeypatch: pytest.MonkeyPatch) -> rc.Robot:
    """Two links: the first on a joint of the new kind, the second on a revolute one."""
    monkeypatch.setitem(KINDS, "cylindrical", Cylindrical())
    description = random_description("crane", [-1, 0], 5, ["revolute"])
    first, second = description.joints
    column = replace(first, kind="cylindrical", armature=(0.0, 0.0), damping=(0.0, 0.0), friction=(0.0, 0.0))
    return trusted(replace(description, joints=(column, second)))


@pytest.mark.interpreted(reason="code of a kind that no other test needs")
def test_new_kind_needs_no_other_file(crane: rc.Robot, tmp_path: Path) -> None:
    (q, v), a = crane.random_state(1), np.array([0.3, -0.2, 0.5])
    tau = crane.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(crane.forward_dynamics(q, v, tau), a, atol=1e-10)
    np.testing.assert_allclose(tau, crane.mass_matrix(q) @ a + crane.bias_forces(q, v), atol=1e-10)
    t = np.array([0.0, 0.1, 0.25])
    rows = q + np.outer(t, v) + np.outer(0.5 * t**2, a)
    rates, second_rates = coordinate_rates(crane.model, rows, v + np.outer(t, a), np.tile(a, (3, 1)))
    np.testing.assert_allclose(rates, v + np.outer(t, a))
    np.testing.assert_allclose(second_rates, np.tile(a, (3, 1)))
    assert crane.q_units == ("rad", "m", "rad") and not crane.is_floating
    assert len(skeleton(crane, q).base)  # the world holds the axis
    assert [symbol(joint.kind) for joint in crane.model.joints] == ["o", "o"]
    assert rc.workspace(crane, "link2", samples=50).points.shape == (50, 3)
    crane.to_html(tmp_path / "crane.html")
    assert "cylindrical" in (tmp_path / "crane.html").read_text("utf-8")
    assert driven(crane).all()
    with pytest.raises(rc.NoSweepError, match="is cylindrical"):
        crane.linearize(q, v, a, method="balafoutis-patel")
    with pytest.raises(rc.ModelError, match="has no row in a Denavit-Hartenberg table"):
        crane.to_dh()
