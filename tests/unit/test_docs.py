"""Every block of Python and shell in the README and the docs runs as pasted in an empty folder and prints what it says.

The blocks of a page build on each other, from its top; those of the pages that people read first run alone.
"""

from __future__ import annotations

import re
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import recursa as rc

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
from make_command_line import output  # noqa: E402
from page_blocks import ALONE, BLOCK, PEERS, SETTING_UP, blocks  # noqa: E402

COMPILED = (  # thousands of evaluations
    "README.md", "index.md", "quickstart.md", "rollout.md", "control.md", "control-of-links.md",
    "diagonal-simulation.md", "lqr.md", "simulation.md", "trajectories.md",
)  # fmt: skip


def as_run(page: Path) -> object:
    marks = [pytest.mark.compiled] if page.name in COMPILED else []
    return pytest.param(page, marks=marks, id=str(page.relative_to(ROOT)))


ELSEWHERE = ("command-line.md", "command-line-motions.md", "command-line-models.md")  # test_docs_shell.py runs these
PAGES = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))] if page.name not in ELSEWHERE]


@pytest.mark.parametrize("page", [as_run(page) for page in PAGES if blocks(page)])
def test_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    names: dict[str, object] = {}
    for number, block in enumerate(blocks(page)):
        for peer, signs in PEERS.items():
            if find_spec(peer) is None and any(sign in block.code for sign in signs):
                pytest.skip(f"{peer} is not installed")
        folder = tmp_path / (str(number) if page.name in ALONE else "all")
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        if page.name in ALONE:
            names = {}
        if block.language == "sh":
            run_shell(block.code)
            continue
        capsys.readouterr()
        exec(compile(block.code, f"{page.name}, block {number}", "exec"), names)
        assert not block.printed or capsys.readouterr().out == block.printed, f"{page.name}, block {number}"


def run_shell(code: str) -> None:
    """Its lines, one after the other, each of which has to be understood."""
    for line in code.splitlines():
        words = shlex.split(line, comments=True)
        if not words or line.startswith(SETTING_UP):
            continue
        assert words[0] == "recursa", f"the test does not know how to run: {line}"
        status, told = output(shlex.join(words))
        assert status == 0, f"{line}\n{told}"


def test_no_command_hides_in_a_block_that_is_not_run() -> None:
    """Commands stand in blocks that are marked sh, which are."""
    for page in PAGES:
        for block in re.findall(r"```\n(.*?)```", BLOCK.sub("", page.read_text("utf-8")), flags=re.DOTALL):
            assert not re.search(r"^(\$ )?recursa ", block, flags=re.MULTILINE), f"{page.name}: {block}"


def test_readme_tells_strangers_first_what_they_ask_first() -> None:
    """In this order: what it is, for whom, beside what, how to install it, code, a moving picture; limits, papers."""
    text = (ROOT / "README.md").read_text("utf-8")
    wanted = (
        "Recursa computes", "is for people", "Pinocchio", "MuJoCo", "Drake", "Robotics Toolbox", "pip install",
        "```python", "rc.load", "inverse_dynamics", "simulate(", "to_html", "<img", "make demo", "make test",
        "Three everyday tasks", "does not do", "papers",
    )  # fmt: skip
    places = [text.find(words) for words in wanted]
    assert -1 not in places
    assert places == sorted(places)
    assert text[: text.index("```python")].count("\n") < 26  # the code is on the first screen
    assert text[: text.index("<img")].count("\n") < 48
    picture = re.search(r'src="([^"]+)"', text)
    assert picture is not None
    assert (ROOT / picture[1]).stat().st_size > 10_000


def test_links_of_the_readme_lead_somewhere() -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)", (ROOT / "README.md").read_text("utf-8")):
        assert (ROOT / target).is_file(), target


def listed_files(page: str) -> set[str]:
    """Paths of the files in the blocks of a page: folders by indentation, several files on a line in one folder."""
    paths: set[str] = set()
    for block in re.findall(r"^```\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        folders: list[tuple[int, str]] = [(-1, "")]  # how far a folder is indented, and its path
        for line in filter(None, block.splitlines()):
            indent = len(line) - len(line.lstrip())
            first = line.split()[0]
            if indent < 20:  # else it goes on with the line above
                while folders[-1][0] >= indent:
                    folders.pop()
                if first.endswith("/"):
                    folders.append((indent, folders[-1][1] + first))
            paths |= {folders[-1][1] + name for name in re.findall(r"(?<![\w/.])\w+\.py\b", line)}
    return paths


def test_pages_of_files_name_every_module_in_its_folder() -> None:
    pages = [page.read_text("utf-8") for page in (ROOT / "docs").glob("files-*.md")]
    listed = set().union(*map(listed_files, pages))
    source = Path(rc.__file__).parent
    modules = {path.relative_to(source).as_posix() for path in source.rglob("*.py") if not path.name.startswith("__")}
    assert modules - listed == set(), "modules that no page lists in their folder"
    assert listed - modules == set(), "files that are not there"
