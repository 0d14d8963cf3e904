"""The quick tests with the lowest versions that pyproject.toml allows, and with the newest: ``make matrix``.

Every Python from the lowest that is allowed is tried that is found on the path, or among those of pyenv: the lowest of
them with the lowest versions of everything, each with the newest. Environments stay in ``build/matrix``. With names of
environments, as ``3.11-lowest``, only those are tried; ``--list`` shows them.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "build" / "matrix"
NEWEST = 30  # no Python 3 is looked for beyond this
PEERS = ("pin", "example-robot-data")  # every pin 3 needs a newer NumPy than we do: tests without them with the lowest


def main() -> int:
    """1 if one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--keep", action="store_true", help="use environments that are there already")
    parser.add_argument("--tests", default="tests/unit tests/errors", help="what pytest is given")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    jobs = _jobs(_project())
    if given.list:
        print("\n".join(f"{name}\t{python}" for name, (python, _) in jobs.items()))
        return 0
    tests = shlex.split(given.tests)
    told = {name: _tried(name, *jobs[name], tests, keep=given.keep) for name in given.names or jobs}
    print("\n".join(f"{name}: {'passed' if passed else 'FAILED'}" for name, passed in told.items()))
    return int(not all(told.values()))


def _project() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def _jobs(project: dict[str, object]) -> dict[str, tuple[str, list[str]]]:
    """By name: the Python, and what is installed beside this package."""
    least = int(re.search(r"3\.(\d+)", str(project["requires-python"]))[1])
    found = {minor: python for minor in range(least, NEWEST) if (python := _python(minor)) is not None}
    if not found:
        sys.exit(f"there is no Python from 3.{least} on")
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    lowest = {f"3.{min(found)}-lowest": (found[min(found)], minima(wanted))}
    return lowest | {f"3.{minor}-newest": (python, wanted) for minor, python in found.items()}


def minima(wanted: list[str]) -> list[str]:
    """The lowest version of each: what is stated has to be true."""
    split = [re.fullmatch(r"([\w.-]+)>=([\w.]+)(;.*)?", one) for one in wanted]
    if None in split:
        sys.exit(f"no lowest version is stated in one of {wanted}")
    return sorted({f"{one[1]}=={one[2]}" for one in split if one[1] not in PEERS})


def _python(minor: int) -> str | None:
    places = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/3.{minor}.*/bin/python"))
    for one in (shutil.which(f"python3.{minor}"), *map(str, places)):
        if one is not None:
            asked = [one, "-c", "import sys, venv; print(sys.version_info[1])"]
            done = subprocess.run(asked, capture_output=True, text=True, check=False)
            if done.stdout.strip() == str(minor):
                return one
    return None


def _tried(name: str, python: str, wanted: list[str], tests: list[str], *, keep: bool) -> bool:
    folder = PLACE / name
    own = folder / "bin" / "python"
    if not (keep and own.exists()):
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
        # not editable: an extension for one Python must not stand in the way of the others
        install = [str(own), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(ROOT), *wanted]
        done = subprocess.run(install, check=False)
        if done.returncode != 0:
            return False
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    subprocess.run([str(own), "-m", "pip", "list", "--disable-pip-version-check"], check=True)
    return subprocess.run([str(own), "-m", "pytest", *tests], cwd=ROOT, env=environment, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
