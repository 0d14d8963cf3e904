"""The commands on the pages about the command line print what stands below them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from recursa.cli.commands import recursa

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
from make_command_line import BLOCK, FILES, PAGES, output, prepare  # noqa: E402

TEXT = "\n".join(page.read_text("utf-8") for page in PAGES)
BLOCKS = [(kind, command, printed) for kind, command, printed in BLOCK.findall(TEXT)]


@pytest.mark.parametrize(("command", "printed"), [(c, p) for kind, c, p in BLOCKS if kind == "console"])
def test_command_prints_what_the_page_says(
    command: str, printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path)
    assert output(command)[1] == printed


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_page_shows_the_files_that_its_commands_read(content: str) -> None:
    assert content.strip() in TEXT


def test_page_has_every_verb() -> None:
    for name in recursa.list_commands(None):
        assert f"recursa {name}" in TEXT, f"run docs/make_command_line.py after adding {name} to a page"
