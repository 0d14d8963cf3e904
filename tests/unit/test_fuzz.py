"""A short run of the fuzz harness, the same inputs every time, and the inputs that were found by longer ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FUZZ = Path(__file__).parents[2] / "fuzz"


def harness(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FUZZ / "harness.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="processes cannot be forked there")
def test_mutated_inputs_of_every_format_give_results_or_our_errors() -> None:
    done = harness("--inputs", "400", "--seed", "7", "--seconds", "120")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("400 inputs: ")
    assert done.stdout.endswith("; 0 found\n")


def test_inputs_that_were_found_once_do_no_harm_any_more() -> None:
    cases = sorted(map(str, (FUZZ / "cases").iterdir()))
    assert cases
    done = harness(*cases)
    assert done.returncode == 0, done.stdout + done.stderr


def test_harness_finds_what_it_is_for(tmp_path: Path) -> None:
    """A reader that raises something else, hangs, or opens another file is found."""
    code = (
        "import sys, pathlib\n"
        f"sys.path.insert(0, {str(FUZZ)!r})\n"
        "import harness\n"
        "place = pathlib.Path(sys.argv[1])\n"
        "harness.FOUND, harness.MOST_SECONDS = place / 'found', 1\n"
        "(place / 'secret').write_text('')\n"
        "watch = harness.Watch(place)\n"
        "harness.READERS.update(a=lambda file: 1 / 0, b=lambda file: open(place / 'secret').close(),\n"
        "                       c=lambda file: [None for _ in iter(int, 1)], d=lambda file: file.read_bytes())\n"
        "print([watch.broken(reader, b'x') for reader in 'abcd'])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "[True, True, True, False]", done.stdout + done.stderr
    for told in ("ZeroDivisionError", "opened [", "TooSlowError"):
        assert told in done.stdout
