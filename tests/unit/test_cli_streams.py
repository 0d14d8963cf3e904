"""The command line beside other programs: readers that leave, closed streams, hostile texts, Python -OO, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import recursa as rc
from recursa.cli.commands import recursa
from recursa.errors import printable

VERBS = [
    ("info", "puma560"), ("info", "--list"), ("doctor", "puma560"), ("counts", "--table", "5.1"),
    ("info", "puma560", "--json"), ("explain", "mass", "--robot", "planar"),
]  # fmt: skip
COMMANDS = ("\x1b[2J", "\x1b[8m", "\x9b", "\u202e", "\u2066", "\u200f", "\x07")
HOSTILE = "ab\x1b[2J\x1b[8mc\x9b1m\u202ed\u2066e\u200ff\x07g"


def program(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "recursa", *arguments]


def in_shell(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command of the shell, in which "$@" is the program with its arguments."""
    return subprocess.run(
        ["bash", "-c", command, "bash", *program(*arguments)],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


shell = pytest.mark.skipif(os.name == "nt", reason="a POSIX shell")


@shell
@pytest.mark.parametrize("arguments", VERBS)
def test_a_reader_that_leaves_is_no_failure(arguments: tuple[str, ...]) -> None:
    alone = in_shell('"$@" > /dev/null; echo $?', *arguments)
    left = in_shell('"$@" | true; echo ${PIPESTATUS[0]}', *arguments)
    assert (left.stdout, left.stderr) == (alone.stdout, "")


@shell
@pytest.mark.parametrize("arguments", [("info", "puma560"), ("info", "puma560", "--json"), ("--help",), ("--version",)])
def test_closed_streams_are_no_failure(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = in_shell('"$@" >&-', *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert in_shell('"$@" <&- >&- 2>&-', *arguments).returncode == 0


@shell
def test_a_file_is_whole_where_standard_output_is_closed(tmp_path: Path) -> None:
    """The file must not become standard output itself, being the first that is opened."""
    files = [tmp_path / "open.csv", tmp_path / "closed.csv"]
    for file, command in zip(files, ('"$@"', '"$@" >&-'), strict=True):
        assert in_shell(command, "inverse", "planar", "--to", "joint1=1", "-o", str(file)).returncode == 0
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", VERBS[:1] + VERBS[4:5])
def test_output_that_finds_no_space_is_one_line_and_code_2(arguments: tuple[str, ...]) -> None:
    done = in_shell('"$@" > /dev/full', *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("recursa: ") and done.stderr.count("\n") == 1 and "No space" in done.stderr


def test_help_is_whole_in_optimised_python() -> None:
    verbs = [[], ["simulate"], ["study", "run"]]
    code = (
        "import sys\nfrom recursa.cli import main\nassert main.__doc__ is None\n"
        f"for verb in {verbs}:\n    sys.argv = ['recursa', *verb, '--help']\n"
        "    try:\n        main()\n    except SystemExit as ended:\n        assert ended.code == 0\n"
    )
    told = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=True, timeout=240)
    usual = [CliRunner().invoke(recursa, [*verb, "--help"]).output for verb in verbs]
    assert told.stdout.split() == "".join(usual).split()  # lines are broken elsewhere


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_in_simulations_is_130_as_in_all_verbs(tmp_path: Path) -> None:
    out = tmp_path / "run.npz"
    command = program("simulate", "planar", "--duration", "1e5", "--checkpoint-every", "0", "-o", str(out))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        part = tmp_path / "run.npz.part"
        while child.poll() is None and not (part.exists() and part.stat().st_size > 50_000):
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=300)
    assert child.returncode == 130 and "go on with: recursa simulate --resume" in err
    assert rc.read(out).interrupted
    page = (Path(__file__).parents[2] / "docs" / "simulation.md").read_text("utf-8")
    assert "1: failed, 2: bad input, 130: interrupted" in page


# ---- texts of others -------------------------------------------------------------------------------------------------


def texts(data: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all texts in nested lists and mappings."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [place] * isinstance(data, str) + [one for key, item in inside for one in texts(item, (*place, key))]


def test_no_text_of_a_robot_file_commands_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from test_cli_shell import program as run

    robot = rc.robots.panda_like()
    data = json.loads(robot.save(tmp_path / "arm.robot.json").read_text("utf-8"))
    data["notes"] = [{"reason": "r", "fix": "f", "code": "c"}]
    file = tmp_path / "hostile.robot.json"
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    seen = shown = 0
    for place in texts(data):
        if any(isinstance(key, int) and key > 0 for key in place):
            continue
        hostile = json.loads(json.dumps(data))
        inside = hostile
        for key in place[:-1]:
            inside = inside[key]
        inside[place[-1]] += HOSTILE
        file.write_text(json.dumps(hostile))
        for verb in ("info", "doctor"):
            _, out, err = run(monkeypatch, verb, str(file))
            assert not [part for part in COMMANDS if part in out + err], (place, verb)
            seen += 1
            shown += printable(HOSTILE) in (out + err).replace("\n", "")
    assert seen > 10 and shown > 2


def test_printing_from_python_commands_no_terminal(tmp_path: Path) -> None:
    robot = rc.robots.panda_like()
    data = json.loads(robot.save(tmp_path / "arm.robot.json").read_text("utf-8"))
    data["notes"] = [{"reason": HOSTILE, "fix": "f", "code": "c"}]
    loaded = rc.load(json.dumps(data))
    report = str(loaded.doctor())
    assert printable(report) == report and "x1b[2J" in report
