"""A stranger's path: build the wheel, install it into an empty environment, and run what the pages say, away from here.

The blocks of README, the first page, the quickstart, the course and the how-to pages named below are run as pasted, and
what they print is compared. ``python tools/strangers_path.py [--keep FOLDER] [PAGE ...]``; about two minutes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs"))
from page_blocks import ALONE, PEERS, SETTING_UP, Block, blocks  # noqa: E402

PAGES = (
    "README.md", "docs/index.md", "docs/quickstart.md", "docs/coming-from.md", "docs/install.md", "docs/robots.md",
    "docs/change-a-robot.md", "docs/trajectories.md", "docs/workspace.md", "docs/free-flyers.md", "docs/c-export.md",
    "docs/speed.md", *(f"docs/course/{page.name}" for page in sorted((ROOT / "docs" / "course").glob("*.md"))),
)  # fmt: skip


def main() -> None:
    """Go the path; the first stumble ends it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", default=PAGES)
    parser.add_argument("--keep", type=Path, help="a folder for wheel, environment and results")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as passing:
        place = (chosen.keep or Path(passing)).resolve()
        place.mkdir(parents=True, exist_ok=True)
        programs = installed(place)
        for page in chosen.pages:
            print(f"{page}: {walk(ROOT / page, place / page.replace('/', '-'), programs)} blocks", flush=True)


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


def walk(page: Path, folder: Path, programs: Path) -> int:
    """Run a page's blocks in an empty folder, those that build on each other as one program."""
    folder.mkdir()
    absent = [sign for signs in PEERS.values() for sign in signs]  # of libraries that the wheel does not bring
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
    done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} in {folder}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
