"""Run the commands of command-line.md and put what they print below them: ``python docs/make_command_line.py``.

A block that begins with ``$ recursa`` is run. In ``console`` blocks the output is exact and a test,
tests/unit/test_docs_shell.py, compares it; in ``text`` blocks it differs from machine to machine. ``| head -12``
keeps the first lines.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

from click.testing import CliRunner

import recursa as rc
from recursa.cli.commands import recursa

PAGE = Path(__file__).with_name("command-line.md")
BLOCK = re.compile(r"```(console|text)\n\$ (recursa[^\n]*)\n(.*?)```", flags=re.DOTALL)
FILES = {
    "fall.yaml": "robot: planar\nvary: {q0: uniform}\noptions: {step: 0.001, steps: 100}\n"
    "samples: 1000\nkeep: {peak_speed: [[top, 2], [histogram, 4, 0, 20]]}\n",
    "S.json": '{"q": [0.3, 0.8, -0.4], "v": {"joint1": 0.5}}\n',
    "moves.csv": "t,joint1,joint2,joint3\n0,0,0,0\n0.5,0.2,0.1,0\n1,0.6,0.4,-0.3\n1.5,0.8,0.7,-0.5\n",
}


def output(command: str) -> tuple[int, str]:
    """Exit code and standard output of a line of shell, in the current folder."""
    line, _, head = command.partition(" | head -")
    result = CliRunner().invoke(recursa, shlex.split(line)[1:])
    text = result.stdout
    if isinstance(result.exception, rc.RecursaError):
        return 2, f"recursa: {result.exception}\n"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    lines = [each.rstrip() for each in text.splitlines()]
    return result.exit_code, "\n".join(lines[: int(head)] if head else lines) + "\n"


def prepare(folder: Path) -> None:
    """The files that the commands read."""
    for name, content in FILES.items():
        (folder / name).write_text(content, "utf-8")


def main() -> None:
    """Renew the page."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        os.chdir(folder)
        text = BLOCK.sub(
            lambda found: f"```{found[1]}\n$ {found[2]}\n{output(found[2])[1]}```", PAGE.read_text("utf-8")
        )
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    sys.exit(main())
