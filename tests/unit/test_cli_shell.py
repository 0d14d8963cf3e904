"""How the command line behaves in a shell: groups, completion, colours, plain terminals, interruption, bad words."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

import recursa as rc
from recursa.cli import commands, main
from recursa.cli.commands import recursa
from recursa.cli.group import VERBS, completion_script, first_sentence

COMMANDS = {name: recursa.get_command(None, name) for name in recursa.list_commands(None)}


def test_every_verb_is_under_a_heading() -> None:
    output = CliRunner().invoke(recursa, ["--help"]).output
    headings = [line[:-1] for line in output.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Options", *VERBS]
    assert recursa.list_commands(None) == sorted(name for verbs in VERBS.values() for name in verbs)


def test_the_list_of_verbs_says_what_their_help_says() -> None:
    for verbs in VERBS.values():
        for name, module in verbs.items():
            assert COMMANDS[name].get_short_help_str(500) == first_sentence(module, name)


def test_a_verb_is_imported_when_it_is_used() -> None:
    """``info`` imports neither SciPy nor other verbs with what they need; the list of verbs imports none of them."""
    code = (
        "import sys\nfrom recursa.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    print(*sys.modules, file=sys.stderr)"
    )
    for arguments in (["--help"], ["info", "puma560"]):
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
        loaded = set(done.stderr.split())
        assert not loaded & {"scipy", "matplotlib", "recursa.simulation", "recursa.trajectories", "recursa.studies"}
        verbs = {module for verbs in VERBS.values() for module in verbs.values()}
        assert {name for name in verbs if f"recursa.cli.{name}" in loaded} <= {"commands"}


def test_every_verb_that_answers_has_json() -> None:
    for name, command in COMMANDS.items():
        verbs = command.commands.values() if isinstance(command, click.Group) else [command]
        for verb in verbs:
            options = {spelling for item in verb.params for spelling in item.opts}
            assert "--json" in options or name == "completion", name


# ---- completion ------------------------------------------------------------------------------------------------------


def proposals(*words: str) -> list[str]:
    """What a shell proposes for the last of the words."""
    complete = BashComplete(recursa, {}, "recursa", "_RECURSA_COMPLETE")
    return [item.value for item in complete.get_completions(list(words[:-1]), words[-1])]


def test_shell_completes_verbs_robots_methods_and_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "puma.urdf").write_text("")
    (tmp_path / "pump.txt").write_text("")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "go2.urdf").write_text("")
    assert proposals("do") == ["doctor"]
    assert proposals("info", "pu") == ["puma560", "puma.urdf"]
    assert proposals("info", "mod") == ["models/"]
    assert proposals("info", "models/") == ["models/go2.urdf"]
    assert proposals("info", "nowhere/") == []
    assert proposals("inverse", "planar", "--method", "h") == ["hollerbach-4x4", "hollerbach-3x3"]
    assert proposals("counts", "--table", "saha") == ["saha-1", "saha-2"]
    assert proposals("export", "planar", "inverse_dynamics_d") == ["inverse_dynamics_derivatives"]
    assert proposals("explain", "mass", "--robot", "sta") == ["stanford", "standing_quadruped"]
    assert proposals("compare", "planar", "--with", "") == ["pin", "mujoco"]
    assert proposals("completion", "z") == ["zsh"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_that_the_shell_reads(shell: str) -> None:
    result = CliRunner().invoke(recursa, ["completion", shell])
    assert result.exit_code == 0
    assert f"_RECURSA_COMPLETE={shell}_complete" in result.output
    assert result.output.rstrip() == completion_script(shell, recursa).rstrip()
    found = shutil.which(shell)
    if found is not None:
        subprocess.run([found, "-n"], input=result.output, text=True, check=True, timeout=20)


# ---- terminals -------------------------------------------------------------------------------------------------------


def program(monkeypatch: pytest.MonkeyPatch, *arguments: str, encoding: str = "utf-8") -> tuple[int, str, str]:
    """Exit code and what was written, as the program runs, to streams of an encoding."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
    monkeypatch.setattr(sys, "argv", ["recursa", *arguments])
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    with pytest.raises(SystemExit) as stopped:
        main()
    for stream in streams:
        stream.flush()
    out, err = (stream.buffer.getvalue().decode(encoding) for stream in streams)  # type: ignore[attr-defined]
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, out, err


@pytest.mark.parametrize(
    "arguments",
    [("info", "puma560"), ("doctor", "puma560"), ("info", "--list"), ("counts", "--table", "5.1"),
     ("explain", "mass", "--robot", "planar"), ("inverse", "planar", "--to", "joint1=1")],
)  # fmt: skip
def test_plain_terminals_get_plain_characters(arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = program(monkeypatch, *arguments, encoding="ascii")
    assert (code, err) == (int(arguments[0] == "doctor"), "")
    assert len(out) > 100
    assert "?" not in out
    code, rich, _ = program(monkeypatch, *arguments)
    assert "\x1b" not in rich  # no terminal, no colour


def test_arrows_have_a_plain_form(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "joint1 (revolute) -> link1" in program(monkeypatch, "info", "planar", encoding="ascii")[1]
    assert "joint1 (revolute) → link1" in program(monkeypatch, "info", "planar")[1]


# ---- exit codes ------------------------------------------------------------------------------------------------------


def test_exit_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert program(monkeypatch, "info", "planar")[0] == 0
    assert program(monkeypatch, "--version")[0] == 0
    assert program(monkeypatch, "doctor", "puma560")[0] == 1
    assert program(monkeypatch, "explain", "inv(M + phi)", "--robot", "planar")[0] == 1
    for wrong in (("info", "nope"), ("fly",), ("info",), ("inverse", "planar"), ("counts", "--table", "x")):
        code, out, err = program(monkeypatch, *wrong)
        assert (code, out) == (2, "")
        assert "Traceback" not in err


def test_interruption_is_one_line_and_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "open_robot", interrupted)
    code, out, err = program(monkeypatch, "info", "planar")
    assert (code, out, err.strip()) == (130, "", "recursa: interrupted")  # on a line of its own, after the ^C


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_stops_the_program() -> None:
    code = (
        "import sys, time, recursa.cli, recursa.cli.commands as commands\n"
        "commands.open_robot = lambda *a, **k: (print('up', flush=True), time.sleep(60))\n"
        "sys.argv = ['recursa', 'info', 'planar']\nrecursa.cli.main()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "up\n"
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=30)
    assert (child.returncode, err.strip()) == (130, "recursa: interrupted")


def test_mistakes_of_our_own_are_one_line_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(commands, "open_robot", broken)
    code, _, err = program(monkeypatch, "info", "planar")
    assert code == 2
    assert err.startswith("recursa: internal error: ZeroDivisionError: by zero (set RECURSA_TRACEBACK=1")
    assert err.count("\n") == 1
    monkeypatch.setenv("RECURSA_TRACEBACK", "1")
    monkeypatch.setattr(sys, "argv", ["recursa", "info", "planar"])
    with pytest.raises(ZeroDivisionError):
        main()


# ---- bad words -------------------------------------------------------------------------------------------------------


def test_bad_words_never_end_in_a_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random arguments for every verb: an answer, or an error that says what is wrong."""
    monkeypatch.chdir(tmp_path)
    files = {
        "empty.urdf": b"", "binary.urdf": bytes(range(256)), "other.xml": b"<a/>",
        "still.urdf": b'<robot name="s"><link name="b"/></robot>',
        "light.urdf": b'<robot name="m"><link name="b"/><link name="c"/><joint name="joint1" type="continuous">'
        b'<parent link="b"/><child link="c"/></joint></robot>',
        "ok.urdf": rc.robots.planar(2).to_urdf().encode(), "s.json": b'{"q": [0.1, 0.2]}', "bad.json": b"{",
        "short.csv": b"t,joint1\n0,0\n", "nan.csv": b"t,joint1,joint2\n0,0,0\n1,nan,1\n",
    }  # fmt: skip
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    words = [*files, ".", "", "nope", "-1", "1e400", "nan", "x=", "=1", "joint1=nan", "joint1=1e300", "joint1=2", "é",
             "inverse_dynamics", "jacobian", "inv(", "mass", "--", "none/here.c", "p.xyz", "kane", "tie", "9.9",
             "x=joint", "link1", "x,y", "0", "3", "pin", "bash", "clear"]  # fmt: skip
    verbs = {name: command for name, command in COMMANDS.items() if name not in ("demo", "bench", "cache")}
    monkeypatch.setattr("recursa.cli.view_command.wait_for_the_keyboard", lambda: None)
    monkeypatch.setattr("webbrowser.open", lambda address: False)
    rng = random.Random(5)
    codes = set()
    for _ in range(250):
        name, command = rng.choice(list(verbs.items()))
        options = [spelling for item in command.params for spelling in item.opts if spelling.startswith("-")]
        more = [rng.choice(options if options and rng.random() < 0.5 else words) for _ in range(rng.randint(0, 5))]
        result = CliRunner().invoke(recursa, [name, rng.choice(list(files)), *more])
        expected = result.exception is None or isinstance(result.exception, SystemExit | rc.RecursaError | OSError)
        assert expected, (name, more, result.exception)
        codes.add(result.exit_code)
    assert codes <= {0, 1, 2}


def test_bench_and_cache_print_json(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RECURSA_CACHE", str(tmp_path / "kernels"))
    assert json.loads(CliRunner().invoke(recursa, ["cache", "clear", "--json"]).output) == {"removed": 0}
    monkeypatch.setattr("recursa.interop.timing.STATES", 20)  # more than the batch has
    file = tmp_path / "speed.json"
    result = CliRunner().invoke(recursa, ["bench", "planar", "--batch", "10", "--json", "-o", str(file)])
    assert json.loads(result.output) == json.loads(file.read_text())
    refused = CliRunner().invoke(recursa, ["bench", "planar", "-o", str(tmp_path)])
    assert isinstance(refused.exception, rc.RecursaError)
