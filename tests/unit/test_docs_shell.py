"""The commands on the page about the command line print what stands below them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from recursa.cli.commands import recursa

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
from make_command_line import BLOCK, FILES, PAGE, output, prepare  # noqa: E402

BLOCKS = [(kind, command, printed) for kind, command, printed in BLOCK.findall(PAGE.read_text("utf-8"))]


@pytest.mark.parametrize(("command", "printed"), [(c, p) for kind, c, p in BLOCKS if kind == "console"])
def test_command_prints_what_the_page_says(
    command: str, printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    assert output(command)[1] == printed


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_page_shows_the_files_that_its_commands_read(content: str) -> None:
    assert content.strip() in PAGE.read_text("utf-8")


def test_page_has_every_verb() -> None:
    page = PAGE.read_text("utf-8")
    for name in recursa.commands:
        assert f"recursa {name}" in page, f"run docs/make_command_line.py after adding {name} to {PAGE.name}"
