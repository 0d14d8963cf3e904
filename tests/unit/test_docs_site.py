"""The site: pages are linked and not too long, links lead somewhere, public names have an entry and an example."""

from __future__ import annotations

import html
import importlib
import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import pytest

import recursa as rc
from recursa.cli.commands import recursa

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))
import make_reference as reference  # noqa: E402
from make_command_line import output  # noqa: E402
from make_dictionary import LIBRARIES, dictionary, library_of  # noqa: E402
from make_speeds import QUANTITIES, ROBOTS, ratios  # noqa: E402
from page_blocks import blocks  # noqa: E402
from page_length import screens  # noqa: E402

PAGES = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
LONGEST = 10.0  # screens


def test_pages_are_at_most_ten_screens_long() -> None:
    """By an estimate; ``make pages`` measures them in a browser. None is exempt: what grows too long is split,
    and lists of files stand on docs/files-*.md, not in docs/architecture.md."""
    lengths = {str(page.relative_to(DOCS)): screens(page) for page in PAGES}
    assert {name: round(length, 1) for name, length in lengths.items() if length > LONGEST} == {}
    assert lengths["quickstart.md"] > 2.0


def test_every_page_is_in_a_table_of_contents() -> None:
    named = {"index.md"}
    for page in PAGES:
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL):
            entries = [line for line in tree.splitlines() if line.strip() and not line.startswith(":")]
            named |= {str((page.parent / f"{entry}.md").resolve().relative_to(DOCS.resolve())) for entry in entries}
    assert {str(page.relative_to(DOCS)) for page in PAGES} <= named


def anchors(page: Path) -> set[str]:
    """As MyST makes them from headings."""
    headings = re.findall(r"^#{1,3} (.*)$", page.read_text("utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        place = (page.parent / name).resolve() if name else page
        assert place.exists(), f"{page.name}: {target}"
        if anchor and place.suffix == ".md":
            assert anchor in anchors(place), f"{page.name}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_cards_and_pictures_lead_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    for target in re.findall(r"^:link: (\S+)$", text, flags=re.MULTILINE):
        assert (page.parent / f"{target}.md").is_file(), f"{page.name}: {target}"
    for picture in re.findall(r"^:img-top: (\S+)$|\{image\} (\S+)$", text, flags=re.MULTILINE):
        assert (page.parent / "".join(picture)).is_file(), f"{page.name}: {picture}"


def test_dictionaries_have_every_library() -> None:
    page = (DOCS / "coming-from.md").read_text("utf-8")
    for library in LIBRARIES.keys() - {"nobody"}:
        assert f"<!-- dictionary: {library} -->" in page
        assert dictionary(library).count("\n") > 5
    assert library_of("rnea") == "pinocchio"
    assert library_of("fkine") == "toolbox"
    assert "| `crba` | `robot.mass_matrix(q)` |" in dictionary("pinocchio")


def test_what_dictionaries_propose_exists() -> None:
    for library in LIBRARIES:
        for name in re.findall(r"`robot\.(\w+)", dictionary(library)):
            assert hasattr(rc.Robot, name) or name in ("nq", "nv"), name
        for name in re.findall(r"`rc\.(\w+)", dictionary(library)):
            assert hasattr(rc, name), name


def test_chart_of_speeds_has_its_figures_from_the_measurements() -> None:
    found = ratios()
    assert found.keys() == QUANTITIES.keys()
    assert all(set(ROBOTS) <= set(row) for row in found.values())
    assert found["inverse dynamics"]["arm, nv 7"] == (9.3, 100.4)


def test_speeds_are_claimed_as_measured() -> None:
    """The README and the front page name the range that the chart shows."""
    shown = [row[robot][1] for row in ratios().values() for robot in ROBOTS]
    claim = f"{min(shown):.2g} to {max(shown):.0f} times"
    for page in (ROOT / "README.md", DOCS / "index.md"):
        assert set(re.findall(r"in batches\D* ([\d.]+ to [\d.]+ times)", page.read_text("utf-8"))) == {claim}, page.name


def test_install_page_names_every_extra_for_users() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    rows = "".join(re.findall(r"^\| (`.*?) \|", (DOCS / "install.md").read_text("utf-8"), flags=re.MULTILINE))
    work_on_recursa = {"test", "bridges", "peers", "lint", "bench", "dist", "docs"}
    assert set(re.findall(r"`(\w+)`", rows)) == project["optional-dependencies"].keys() - work_on_recursa


def test_no_page_has_commands_for_terminals_or_gaps_to_fill() -> None:
    for page in [*PAGES, ROOT / "README.md"]:
        assert not re.search(r"\x1b|<!-- more|\[\?25[lh]", page.read_text("utf-8")), page.name


def test_page_of_the_shell_keeps_progress_bars_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(*_: object, **__: object) -> None:
        print("\x1b[?25l\n\x1b[2Kbar 0%\n\x1b[2Kbar 100%\n\x1b[?25h\n\x1b[1A\x1b[2K\x1b[1mdone\x1b[0m")

    monkeypatch.setattr(recursa.get_command(click.Context(recursa), "demo"), "callback", drawn)
    assert output("recursa demo")[1].split() == ["done"]


def public() -> dict[str, object]:
    """Names of the module and of robots, as users write them."""
    module = {f"rc.{name}": getattr(rc, name) for name in dir(rc) if not name.startswith("_")}
    robot = {f"robot.{name}": getattr(rc.Robot, name) for name in dir(rc.Robot) if not name.startswith("_")}
    return {**module, **robot}


def examples() -> str:
    """All code that tests run: blocks of pages and doctests."""
    pages = [block.code for page in [*PAGES, ROOT / "README.md"] for block in blocks(page)]
    sources = [path.read_text("utf-8") for path in Path(rc.__file__).parent.rglob("*.py")]
    doctests = [line for text in sources for line in re.findall(r"^\s*(?:>>>|\.\.\.) (.*)$", text, flags=re.MULTILINE)]
    return "\n".join([*pages, *doctests])


def test_every_public_name_has_an_entry_in_the_reference() -> None:
    listed = [one.called for page in reference.pages() for one in reference.entries(page)]
    assert len(listed) > 500
    modules = {name for name, value in public().items() if inspect.ismodule(value)}
    assert {name.removeprefix("rc.") for name in public().keys() - modules} - set(listed) == set()


def test_entries_stand_on_the_pages_of_the_reference_once() -> None:
    """A page by topic in docs/reference/; the first page has a table of them, made from them."""
    assert sorted(reference.pages()) == sorted((DOCS / "reference").glob("*.md"))
    anchors = [one.anchor for page in reference.pages() for one in reference.entries(page)]
    assert {name for name in anchors if anchors.count(name) > 1} == set()
    assert all(callable(reference.thing(name)) or reference.thing(name) is not None for name in anchors)
    for page in PAGES:
        assert page.parent.name == "reference" or "{eval-rst}" not in page.read_text("utf-8"), page.name
    table = reference.with_table((DOCS / "api.md").read_text("utf-8"))
    assert "{py:obj}`robot.inverse_dynamics <recursa.Robot.inverse_dynamics>`" in table
    assert "{py:obj}`free.reorient <recursa.free.reorient>`" in table


def test_every_public_name_has_an_example_that_runs() -> None:
    """But for errors, and for classes that one gets from a call and never names."""
    words = set(re.findall(r"\w+", examples()))
    sources = "\n".join(path.read_text("utf-8") for path in Path(rc.__file__).parent.rglob("*.py"))
    returned = set(re.findall(r"\w+", " ".join(re.findall(r"-> ([^:\n]+):", sources))))
    without = []
    for name, value in public().items():
        short = name.rpartition(".")[2]
        excused = inspect.isclass(value) and (issubclass(value, Warning | Exception) or short in returned)
        if short not in words and not excused:
            without.append(name)
    assert without == []


def test_words_are_spelt_right() -> None:
    """A list of common misspellings; British spelling is ours."""
    program = shutil.which("codespell", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("codespell is not installed")
    command = [program, "-q", "35", "--ignore-words-list", ",".join(IGNORED), "--builtin", "clear,rare", "README.md"]
    told = subprocess.run([*command, *map(str, PAGES)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert told.stdout == ""


IGNORED = ("lamda", "som", "te", "ans", "fo", "nd", "ser", "hist")


# ---- secrets ---------------------------------------------------------------------------------------------------------


def functions() -> dict[str, Callable[..., Any]]:
    """Every function and method of the package by name, the private ones included."""
    listed: dict[str, Callable[..., Any]] = {}
    for item in pkgutil.walk_packages(rc.__path__, "recursa."):
        if item.name.endswith("__main__") or ".examples" in item.name:
            continue
        try:
            module = importlib.import_module(item.name)
        except ImportError:  # bridges to libraries that are not installed
            continue
        for name, value in vars(module).items():
            members = vars(value).items() if inspect.isclass(value) and value.__module__ == item.name else ()
            for member, function in ((name, value), *((f"{name}.{inner}", one) for inner, one in members)):
                function = getattr(function, "__func__", function)
                if inspect.isfunction(function) and function.__module__ == item.name:
                    listed[f"{item.name}.{member}"] = function
    return listed


def secrets() -> list[str]:
    """Values of the environment that no text contains by chance."""
    return [value for value in os.environ.values() if len(value) >= 16 and not Path(value).is_dir()]


def test_no_default_captures_the_environment() -> None:
    checked = functions()
    assert len(checked) > 3000
    for name, function in checked.items():
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        assert not any(value is os.environ for value in defaults), name
        shown = " ".join(repr(value) for value in defaults if isinstance(value, str | Mapping | list | tuple))
        assert "environ(" not in shown and not any(secret in shown for secret in secrets()), name


def test_no_page_of_the_site_shows_the_environment() -> None:
    site = DOCS / "_build" / "html"
    if not site.is_dir():
        pytest.skip("the site is not built; the test above searches the signatures that it would show")
    for page in site.rglob("*.html"):
        text = html.unescape(page.read_text("utf-8"))
        assert "environ({" not in text and not [one for one in secrets() if one in text], page
