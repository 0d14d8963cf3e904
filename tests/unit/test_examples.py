"""The examples run, as scripts and as notebooks, and are copied out without harm."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import recursa as rc
from recursa.cli.commands import recursa
from recursa.cli.examples_command import as_notebook, example_scripts, title_of

SCRIPTS = example_scripts()
DEMOS = ("two_arms", "space_robot", "mechanisms")  # which recursa demo runs: see test_cli.py


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in DEMOS])
def test_script_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(SCRIPTS[name], name, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_notebook_runs(name: str, tmp_path: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.reads(as_notebook(SCRIPTS[name]), as_version=4)
    nbformat.validate(book)
    nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert any(cell.get("outputs") for cell in book.cells)


def test_notebooks_have_the_code_of_the_scripts() -> None:
    for script in SCRIPTS.values():
        cells = json.loads(as_notebook(script))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        marks = [line for line in script.splitlines() if line and not line.startswith("#")]
        assert [line for line in code.splitlines() if line and not line.startswith("#")] == marks
        assert cells[0]["source"][0].strip() == f"# {title_of(script)}"


def copied(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(recursa, ["examples", *arguments])
    if isinstance(result.exception, rc.RecursaError):
        return 2, str(result.exception)
    return result.exit_code, result.output


def test_they_are_copied_out(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "mine"
    status, told = copied(str(place))
    assert status == 0
    assert sorted(path.stem for path in place.glob("*.py")) == sorted(SCRIPTS)
    assert sorted(path.stem for path in place.glob("*.ipynb")) == sorted(SCRIPTS)
    assert title_of(SCRIPTS["reach"]) in told
    assert copied(str(place))[0] == 0  # the same again is no harm


def test_what_a_user_changed_stays(tmp_path: Path) -> None:
    copied(str(tmp_path))
    (tmp_path / "reach.py").write_text("mine")
    status, told = copied(str(tmp_path))
    assert status == 2
    assert "reach.py" in told
    assert (tmp_path / "reach.py").read_text() == "mine"
    assert copied(str(tmp_path), "--force")[0] == 0
    assert (tmp_path / "reach.py").read_text() == SCRIPTS["reach"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    status, told = copied(str(tmp_path / "file" / "inside"))
    assert status == 2
    assert "cannot make the folder" in told


def test_they_can_be_listed() -> None:
    assert json.loads(copied("--list", "--json")[1]).keys() == SCRIPTS.keys()
    assert title_of(SCRIPTS["formula"]) in copied("--list")[1]
