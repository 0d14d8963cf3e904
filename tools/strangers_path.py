"""A stranger's path: build the wheel, install it into an empty environment, and run what the pages say, away from here.

The blocks of README and of every page under *Start*, *How-to*, *Understand* and *Benchmarks* are run as pasted, and
what they print is compared: first the pages that need nothing but the wheel, then those that tell the reader to install
an extra, after that has been done. ``python tools/strangers_path.py [--keep FOLDER] [PAGE ...]``; about five minutes.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Collection
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))
from page_blocks import ALONE, PEERS, SETTING_UP, Block, blocks  # noqa: E402

TOO_LARGE = "jax", "torch"  # gigabytes; `make bridges` runs the page about them
SAYS = re.compile(r"pip install ['\"]?(recursa\[[\w,]+\]|(?:(?:pin|mujoco)\b ?)+)")
BROUGHT = {"pinocchio": "pin", "mujoco": "mujoco", "casadi": "recursa[casadi]", "jax": "recursa[jax]"}  # by what
CAPTIONS = ("Start", "How-to", "Understand", "Benchmarks")


def every_page() -> list[str]:
    """README, the first page, and what the tables of contents there have, with the pages below them."""
    found, seen = ["README.md", "docs/index.md"], (ROOT / "docs" / "index.md").read_text("utf-8")
    for caption, entries in re.findall(r":caption: (.*?)\n:hidden:\n\n(.*?)```", seen, flags=re.DOTALL):
        for entry in entries.split() if caption in CAPTIONS else ():
            page = ROOT / "docs" / f"{entry}.md"
            below = sorted(page.parent.glob("*.md")) if page.name == "index.md" else [page]
            found += [str(one.relative_to(ROOT)) for one in below]
    return found


def needs(page: str) -> set[str]:
    """What a page tells the reader to install beside the wheel; on the pages that people read first, nothing."""
    if page in ("README.md", "docs/index.md", "docs/install.md", "docs/quickstart.md"):
        return set()
    found = SAYS.findall((ROOT / page).read_text("utf-8"))
    return {one for words in found for one in (words.split() if "[" not in words else [words])}


def main() -> None:
    """Go the path; the first stumble ends it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", help="such as docs/quickstart.md; all unless said")
    parser.add_argument("--keep", type=Path, help="a folder for wheel, environment and results")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        place = (chosen.keep or Path(passing)).resolve()
        place.mkdir(parents=True, exist_ok=True)
        programs = installed(place)
        wanted = {page: needs(page) for page in chosen.pages or every_page()}
        for page, more in sorted(wanted.items(), key=lambda row: bool(row[1])):
            if any(f"[{large}]" in one for one in more for large in TOO_LARGE):
                print(f"{page}: left out, needs {', '.join(sorted(more))}")
                continue
            if more:
                add(programs, place, more)
            count = walk(ROOT / page, place / page.replace("/", "-"), programs, more)
            print(f"{page}: {count} blocks", flush=True)


def add(programs: Path, place: Path, more: set[str]) -> None:
    """Install what a page says; extras are those of the wheel that was built."""
    (wheel,) = place.glob("recursa-*.whl")
    packages = [one.replace("recursa", str(wheel), 1) for one in sorted(more)]
    pip = [programs / "python", "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    subprocess.run([*pip, *packages], check=True)


def installed(place: Path) -> Path:
    """The folder of programs of an environment that has the wheel and what it needs, and nothing else."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", str(place), str(ROOT)], check=True)
    (wheel,) = place.glob("recursa-*.whl")
    venv.create(place / "venv", with_pip=True, clear=True)
    programs = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
    python = programs / "python"
    subprocess.run([python, "-m", "pip", "--disable-pip-version-check", "-q", "install", str(wheel)], check=True)
    found = told(programs, [str(python), "-c", "import recursa; print(recursa.__file__)"], place)
    assert str(place) in found, f"the package comes from elsewhere: {found}"
    return programs


def walk(page: Path, folder: Path, programs: Path, more: Collection[str] = ()) -> int:
    """Run a page's blocks in an empty folder, those that build on each other as one program."""
    folder.mkdir()
    absent = [sign for peer, signs in PEERS.items() for sign in signs if BROUGHT[peer] not in more]
    parts = blocks(page)
    code = [one for one in parts if one.language == "python" and not any(sign in one.code for sign in absent)]
    for together in [[one] for one in code] if page.name in ALONE else [code]:
        if together:
            text = "\n".join(f"{one.code}\nprint({MARK!r}, flush=True)\n" for one in together)
            script = folder / "pasted.py"
            script.write_text(text, "utf-8")
            compare(page, together, told(programs, [str(programs / "python"), script.name], folder))
    for one in parts:
        for line in one.code.splitlines() if one.language == "sh" else ():
            if line.strip() and not line.startswith(("#", *SETTING_UP)) and not any(sign in line for sign in absent):
                told(programs, ["bash", "-c", line], folder)
    return len(parts)


MARK = "-- end of block --"


def compare(page: Path, together: list[Block], output: str) -> None:
    """What was printed against what the page says."""
    for one, printed in zip(together, output.split(f"{MARK}\n"), strict=False):
        if one.printed and printed != one.printed:
            raise SystemExit(f"{page.name} says\n{one.printed}\nand a stranger sees\n{printed}\nof\n{one.code}")


def told(programs: Path, command: list[str], folder: Path) -> str:
    """Standard output of a command with the environment's programs, and nothing of this repository in reach."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    clean |= {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "MPLBACKEND": "Agg", "PYTHONUTF8": "1"}
    clean |= {"HOME": str(folder), "RECURSA_CACHE": str(folder.parent / "cache")}
    done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} in {folder}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
