"""tests/README.md: what it names exists, and every test and every part of the package is on it."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

import recursa as rc

TESTS = Path(__file__).parents[1]
SOURCE = Path(rc.__file__).parent
PAGE = (TESTS / "README.md").read_text("utf-8")
_ROWS = PAGE.partition("## By part")[2].partition("\n## ")[0]
FILES = {path.relative_to(TESTS).as_posix(): path for path in TESTS.glob("*/test_*.py")}


def patterns() -> list[str]:
    """Patterns of paths in the table by part, with braces written out."""
    found = []
    for row in re.findall(r"^\| .* \| (`.*) \|$", _ROWS, re.MULTILINE):
        for pattern in re.findall(r"`([^`]+)`", row):
            folder, _, names = pattern.partition("/")
            found += [f"{folder}/test_{name}.py" for name in names.strip("{}").split(",")]
    return found


def test_patterns_name_tests() -> None:
    assert len(patterns()) > 100
    for pattern in patterns():
        assert any(fnmatch(name, pattern) for name in FILES), pattern


def test_every_test_is_on_the_page() -> None:
    missing = [name for name in FILES if not any(fnmatch(name, pattern) for pattern in patterns())]
    assert not missing, "enter them in tests/README.md"


def test_every_folder_of_the_package_is_on_the_page() -> None:
    folders = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert not {name for name in folders if f"`{name}/`" not in _ROWS}


def test_helpers_that_are_named_exist() -> None:
    for name in re.findall(r"`(\w+\.py)`", PAGE.partition("## How the tests work")[2]):
        assert (TESTS / name).is_file(), name


def test_page_is_short() -> None:
    assert len(PAGE.splitlines()) <= 80
