"""The pages of the five works: names on them exist, files exist, tests are there to be collected."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np
import pytest

import recursa as rc
from recursa.cli.commands import recursa
from recursa.errors import NotationError
from recursa.facade.derivative_methods import LinearizeMethod
from recursa.methods.inverse_and_forward import ForwardMethod, InverseMethod
from recursa.methods.matrices import MassMethod
from recursa.operators.rules import LINK_RULES, RATE_RULES, RULES, TABLE

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "sources").glob("*.md"))
WORKS = [page for page in PAGES if page.name != "index.md"]
HEAD = ["in the work", "what", "name", "file", "test"]
LETTERS = ["in the paper", "here", "typed"]
METHODS = {name for kind in (InverseMethod, ForwardMethod, MassMethod, LinearizeMethod) for name in get_args(kind)}
IDENTITIES = {rule.name.replace(" ", "_") for rule in (*RULES, *LINK_RULES, *RATE_RULES, *TABLE)}
TESTS = {
    item.name
    for path in (ROOT / "tests").rglob("test_*.py")
    for item in ast.parse(path.read_text("utf-8")).body
    if isinstance(item, ast.FunctionDef) and item.name.startswith("test_")
}
LAST = {  # the last number of the equations of every section, "" where they are counted through
    "spatial-operators": {"": 79},
    "denoc": {"": 55},
    "base-invariant": {"": 56},
    "diagonalized": {"1.": 4, "2.": 5, "3.": 2, "4.": 12, "5.": 6, "6.": 18, "7.": 10, "8.": 6},
    "book": {
        "1.1.": 3, "1.2.": 1, "2.2.": 11, "2.3.": 6, "5.1.": 1, "5.2.": 37, "5.3.": 46, "5.4.": 20,
        "6.1.": 1, "6.2.": 19, "6.3.": 46, "7.2.": 3, "7.3.": 19, "7.4.": 18,
    },
    "book-tensors": {"3.2.": 34, "3.3.": 36, "3.4.": 39, "4.2.": 24, "4.3.": 44},
}  # fmt: skip
STATEMENTS = {  # the numbers of named statements; those of the book are on two pages
    "spatial-operators": {"Identity": "1-6", "Algorithm": "1-4"},
    "denoc": {},
    "base-invariant": {"Lemma": "2.1 3.1-3.2 4.1 A.1-A.2", "Algorithm": "2.1-2.3 3.1-3.4 4.1"},
    "diagonalized": {
        "Lemma": "2.1-2.2 3.1 6.1-6.2 7.1-7.3", "Identity": "4.1-4.2 6.1-6.3 7.1", "Algorithm": "4.1 6.1 7.1 8.1",
    },
    "book": {
        "Theorem": "2.1-2.2", "Lemma": "5.1-5.2 6.1", "Definition": "5.1-5.2", "Algorithm": "5.1-5.7 6.1-6.2 7.1",
    },
    "book-tensors": {
        "Theorem": "4.1-4.5", "Corollary": "4.1-4.2", "Definition": "3.1-3.4", "Proposition": "3.1-3.12",
    },
}  # fmt: skip
UNNAMED = "not done, because "


class Row(NamedTuple):
    work: str
    what: str
    name: str
    file: str
    test: str


def rows(page: Path) -> list[Row]:
    """All rows of the tables of a page, without that of letters."""
    found, of_letters = [], False
    for line in page.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        of_letters = bool(cells) and (of_letters or cells == LETTERS)
        if not cells or of_letters or cells == HEAD or set(line) <= set("|-"):
            continue
        assert len(cells) == len(HEAD), f"{page.name}: {line}"
        found.append(Row(*cells))
    return found


ROWS = [pytest.param(row, id=f"{page.stem}: {row.work}") for page in WORKS for row in rows(page)]


def resolve(name: str) -> object:
    """What stands behind a name on the page."""
    if name.startswith("recursa "):
        return {verb: recursa.get_command(None, verb) for verb in recursa.list_commands(None)}[
            name.removeprefix("recursa ")
        ]
    first, *rest = name.split(".")
    if first in ("robot", "rc"):
        found = {"robot": rc.Robot, "rc": rc}[first]
        for part in rest:
            found = getattr(found, part)
        return found
    for depth in range(len(rest), 0, -1):  # a module, and what is in it
        try:
            found = import_module(".".join([first, *rest[:depth]]))
        except ModuleNotFoundError:
            continue
        for part in rest[depth:]:
            found = getattr(found, part)
        return found
    raise AttributeError(name)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_leads_to_code_and_to_a_test(row: Row) -> None:
    assert row.work
    assert row.what
    if row.name.startswith(UNNAMED):
        assert (row.file, row.test) == ("", "")
        return
    names = re.findall(r"`([^`]+)`", row.name)
    assert names
    for name in names:
        method = re.fullmatch(r'method="([\w-]+)"', name)
        if method:
            assert method[1] in METHODS, name
        elif re.fullmatch(r"\w+", name):
            assert name in IDENTITIES, name
        else:
            assert resolve(name) is not None, name
    for file in re.findall(r"`([^`]+)`", row.file) or ["no file"]:
        assert (ROOT / "src" / "recursa" / file).is_file(), file
    for test in re.findall(r"`([^`]+)`", row.test) or ["no test"]:
        assert (ROOT / test).is_file() if test.startswith("docs/") else test in TESTS, test


@pytest.mark.parametrize("page", WORKS, ids=lambda page: page.stem)
def test_every_numbered_equation_is_in_a_row(page: Path) -> None:
    found = set()
    for first, last in re.findall(r"\(([\d.]+)\w?\)(?:–\(([\d.]+)\w?\))?", "\n".join(row.work for row in rows(page))):
        section, low = first[: first.rfind(".") + 1], int(first.rsplit(".", 1)[-1])
        found |= {(section, number) for number in range(low, int((last or first).rsplit(".", 1)[-1]) + 1)}
    wanted = {(section, k) for section, count in LAST[page.stem].items() for k in range(1, count + 1)}
    assert sorted(wanted - found) == []
    assert sorted(found - wanted) == []


def numbers_in(text: str) -> set[tuple[str, int]]:
    """``4.1, A.3-A.5``, with any dash, as ("4", 1), ("A", 3), ("A", 4), ("A", 5)."""
    numbers = set()
    for first, last in re.findall(r"([A-Z\d.]*\d)(?:[-–]([A-Z\d.]*\d))?", text):
        section, _, low = first.rpartition(".")
        numbers |= {(section, number) for number in range(int(low), int((last or first).rsplit(".", 1)[-1]) + 1)}
    return numbers


@pytest.mark.parametrize("page", WORKS, ids=lambda page: page.stem)
def test_every_named_statement_is_in_a_row(page: Path) -> None:
    works = "\n".join(row.work for row in rows(page))
    for kind, wanted in STATEMENTS[page.stem].items():
        name = f"(?:{kind}s?|{kind[:-1]}ies)"
        listed = re.findall(rf"{name} ([A-Z\d][A-Z\d.–]*(?:, [A-Z\d][A-Z\d.–]*)*)", works)
        assert numbers_in(wanted) <= numbers_in(" ".join(listed)), kind


def test_every_work_has_a_page_with_many_rows() -> None:
    assert [page.name for page in WORKS] == [
        "base-invariant.md", "book-tensors.md", "book.md", "denoc.md", "diagonalized.md", "spatial-operators.md",
    ]  # fmt: skip
    index = (ROOT / "docs" / "sources" / "index.md").read_text("utf-8")
    for page in WORKS:
        assert len(rows(page)) >= 24, page.name
        assert f"[]({page.name})" in index
        assert len({(row.work, row.what) for row in rows(page)}) == len(rows(page)), page.name


@pytest.mark.parametrize("name", ["robot.mass_matrx", "rc.denoc.ud", "recursa.denoc.forward.nothing", "recursa fly"])
def test_names_that_do_not_exist_are_found_out(name: str) -> None:
    with pytest.raises((AttributeError, KeyError)):
        resolve(name)


def test_numbers_of_equations_are_in_order_within_a_table() -> None:
    """So that nobody has to search: the first numbers of rows that begin with one do not go back."""
    for page in WORKS:
        for table in page.read_text("utf-8").split("\n## ")[1:]:
            numbers = [
                [int(part) for part in found[1].split(".")]
                for line in table.splitlines()
                if (found := re.match(r"\| \((\d+(?:\.\d+)*)\)", line))
            ]
            assert numbers == sorted(numbers), f"{page.name}: {table.splitlines()[0]}"


def typed() -> list[str]:
    """The formulas in the last column of the table of letters."""
    text = (ROOT / "docs" / "sources" / "spatial-operators.md").read_text("utf-8")
    table = text.partition(f"| {' | '.join(LETTERS)} |")[2].partition("\n\n")[0]
    return [formula for line in table.splitlines()[2:] for formula in re.findall("`([^`]+)`", line.split("|")[3])]


@pytest.mark.parametrize(
    "formula", [one for one in typed() if not one.startswith(("o", "vectors", "robot", "notation"))]
)
def test_formulas_in_the_letters_of_the_paper_are_read(formula):
    """Some only in the notation of this paper, others only without one, since the library's K is another than its."""
    robot, found = rc.robots.planar(2), []
    for notation in (None, "rodriguez"):
        with suppress(NotationError):
            found.append(rc.parse(formula, robot, vectors={"f": "tip"}, notation=notation))
    assert found and found[0].shape is not None


@pytest.mark.parametrize(
    ("printed", "here"),
    [
        ("Phi", "phi - I"), ("Phi G", "phi K"), ("Psi G", "psi K"), ("Psi tau_bar", "psi - I"),
        ("(I + H Phi G) D (I + H Phi G)*", "mass"), ("(I - Psi G H) Phi", "Psi"),
        ("inv(I + H Phi G)", "I - H Psi G"), ("(I - H Psi G)* inv(D) (I - H Psi G)", "inv(mass)"),
    ],
)  # fmt: skip
def test_capital_letters_mean_what_the_paper_says(printed, here):
    """(41), (43)-(46), on a robot with rotors."""
    robot = rc.robots.puma560()
    q, _ = robot.random_state(seed=2)
    both = [rc.dense(rc.parse(text, robot), q) for text in (printed, here)]
    np.testing.assert_allclose(both[0], both[1], atol=1e-11)
