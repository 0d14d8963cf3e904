"""The page of quantities is made from the registry, and nothing is missing on it."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

import recursa as rc

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
from make_quantities import COLUMNS, PAGES, filled, records, row  # noqa: E402


def written() -> set[str]:
    """The names of records as the source has them."""
    found = set()
    for path in Path(rc.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id="Quantity"), args=[ast.Constant(value=str(name)), *_]):
                    found.add(name)
    return found


@pytest.fixture(scope="module")
def page() -> str:
    return "\n".join(filled(page.read_text("utf-8")) for page in PAGES)


def test_every_record_has_a_line(page: str) -> None:
    names = re.findall(r"^\| `([\w.]+)` \|(?=.*\|.*\|.*\|$)", page, flags=re.MULTILINE)
    assert len(names) == len(set(names))
    assert written() <= set(names)
    assert set(names) == {one.name for one in records()}


def test_lines_say_what_records_say(page: str) -> None:
    for one in records():
        cells = row(one)
        assert tuple(cells) == COLUMNS
        assert f"| {' | '.join(cells.values())} |" in page
        assert all(f"`{name}" in cells["takes"] for name in one.arrays)
        assert all(f"`{name}" in cells["takes"] for name in one.options)
        assert cells["also"].startswith("C") == bool(one.exported)
    inverse = next(row(one) for one in records() if one.name == "inverse_dynamics")
    assert "`method=` newton-euler, augmented" in inverse["takes"]
    assert inverse["also"] == "C, pinocchio, mujoco"
    assert "<!--" not in page


def test_every_array_has_words(page: str) -> None:
    assert "| `nu` | total joint rates in sqrt(J), places as in v |" in page
    assert not re.search(r"^\| `\w+` \|\s*\|$", page, flags=re.MULTILINE)


def test_the_docs_are_built_with_the_tables() -> None:
    names: dict[str, object] = {"__file__": str(DOCS / "conf.py")}
    exec(compile((DOCS / "conf.py").read_text("utf-8"), "conf.py", "exec"), names)
    called = {}

    class App:
        def connect(self, event: str, function: object) -> None:
            called[event] = function

    names["setup"](App())  # type: ignore[operator]
    source = [PAGES[0].read_text("utf-8")]
    called["source-read"](None, "quantities", source)  # type: ignore[operator]
    assert "| `mass_matrix` |" in source[0]
