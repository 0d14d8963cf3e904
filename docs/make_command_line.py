"""Run the commands of the pages about the command line and put what they print below them: ``python docs/make_command_line.py``.

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

import numpy as np
from click.testing import CliRunner

import recursa as rc
from recursa.cli.commands import recursa
from recursa.trajectories.csv_files import table_text

PAGES = [Path(__file__).with_name(f"command-line{rest}.md") for rest in ("", "-motions", "-models")]
BLOCK = re.compile(r"```(console|text)\n\$ (recursa[^\n]*)\n(.*?)```", flags=re.DOTALL)
PROGRESS = re.compile(r"\x1b\[\?25l.*?\x1b\[\?25h", flags=re.DOTALL)  # bars are drawn while the cursor is hidden
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
TERMINAL = {
    "FORCE_COLOR": "1",
    "TERM": "xterm",
    "COLUMNS": "80",
    "NO_COLOR": None,
}  # as wide as a page, colours taken off
FILES = {
    "fall.yaml": "robot: planar\nvary: {q0: uniform}\noptions: {step: 0.001, steps: 100}\n"
    "samples: 1000\nkeep: {peak_speed: [[top, 2], [histogram, 4, 0, 20]]}\n",
    "S.json": '{"q": [0.3, 0.8, -0.4], "v": {"joint1": 0.5}}\n',
    "points.csv": "joint1,joint2,joint3\n0,0,0\n1.2,-0.4,0.6\n",
    "moves.csv": "t,joint1,joint2,joint3\n0,0,0,0\n0.5,0.2,0.1,0\n1,0.6,0.4,-0.3\n1.5,0.8,0.7,-0.5\n",
}


def output(command: str) -> tuple[int, str]:
    """Exit code and standard output of a line of shell in the current folder, on a terminal of 80 columns."""
    line, _, head = command.partition(" | head -")
    result = CliRunner(env=TERMINAL).invoke(recursa, shlex.split(line)[1:])
    text = ESCAPES.sub("", PROGRESS.sub("", result.stdout))
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
    (folder / "log.csv").write_text(_log(), "utf-8")


def _log() -> str:
    """A log of the planar arm as if it were twice as heavy and rubbed, 10 s at 100 Hz."""
    real = rc.robots.planar(3).scaled(mass=2.0)
    for name in real.joint_names:
        real = real.with_joint(name, damping=0.2, friction=0.1)
    t = np.arange(1000) / 100.0
    rates = np.array([[1.0, 1.7, 2.3], [2.1, 0.9, 1.3], [3.1, 2.9, 3.7]])
    turns = rates * t[:, None, None]
    q, v, a = (
        x.sum(axis=1) for x in (0.4 * np.sin(turns), 0.4 * rates * np.cos(turns), -0.4 * rates**2 * np.sin(turns))
    )
    tau = real.inverse_dynamics(q, v, a, losses=True)
    rows = np.column_stack([t, q, tau])
    names = ("t", *real.q_names, *(f"{name}:tau" for name in real.v_names))
    return table_text(names, rows)


def main() -> None:
    """Renew the pages."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        os.chdir(folder)
        for page in PAGES:
            page.write_text(BLOCK.sub(_renewed, page.read_text("utf-8")), "utf-8")


def _renewed(found: re.Match[str]) -> str:
    return f"```{found[1]}\n$ {found[2]}\n{output(found[2])[1]}```"


if __name__ == "__main__":
    sys.exit(main())
