"""What the rest of the package knows of joint kinds: properties of the kind, never its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

import recursa as rc
from recursa.model.description import DRIVEN, LIMITED, PITCHED, TURNING, JointType
from recursa.model.joints import KINDS

SOURCE = Path(rc.__file__).parent

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
