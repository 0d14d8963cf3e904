"""The command line: thin commands that call the public API and print.

Exit codes: 0 done, 1 the answer is no (findings, differences, no sweep), 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import codecs
import os
import sys
import warnings

_PLAIN = {"→": "->", "²": "2", "·": "*", "…": "...", "×": "x", "−": "-", "—": "-", "–": "-", "─": "-", "✓": "v"}


def main() -> None:
    """Entry point of ``recursa``: bad input is one clear line and exit code 2, Ctrl-C one line and 130."""
    from recursa.cli.terminal_tables import PlainOutput, discard, open_closed_streams

    open_closed_streams()
    _prepare_streams()
    sys.stdout = PlainOutput(sys.stdout)  # type: ignore[assignment]
    warnings.showwarning = _warn
    try:
        code = _run()
    except KeyboardInterrupt:
        code = _say("interrupted", 130)
    except SystemExit as stopped:
        code = stopped.code if isinstance(stopped.code, int) else int(stopped.code is not None)
    try:
        sys.stdout.flush()
    except OSError as error:
        code = code or _say(str(error), 2)
        discard(sys.stdout)  # Python flushes it once more when it ends
    sys.exit(code)


def _run() -> int:
    import click

    from recursa.cli.commands import recursa
    from recursa.cli.group import restore_help
    from recursa.errors import RecursaError

    try:
        if sys.flags.optimize > 1:
            restore_help(recursa)
        result = recursa.main(prog_name="recursa", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Abort:
        return _say("interrupted", 130)
    except click.ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # the help page; older versions of click have no such error
            error.show()
            return error.exit_code
        verb = getattr(getattr(error, "ctx", None), "command_path", "recursa")
        message = " ".join(error.format_message().split())
        return _say(f"{message}{'' if message[-1:] in '.?' else '.'} More: {verb} --help", error.exit_code)
    except RecursaError as error:
        return _say(str(error), 2)
    except OSError as error:  # a folder that cannot be written, a full disk
        return _say(str(error), 2)
    except Exception as error:
        if os.environ.get("RECURSA_TRACEBACK"):
            raise
        known = type(error).__name__ + (f": {error}" if str(error) else "")
        return _say(f"internal error: {known} (set RECURSA_TRACEBACK=1 for a traceback)", 2)


def _say(text: str, code: int) -> int:
    from recursa.errors import printable

    print(f"recursa: {printable(text)}", file=sys.stderr)
    return code


def _warn(message: Warning | str, *_: object, **_named: object) -> None:
    """A warning is one line, too, without the place in the program that gave it."""
    from recursa.errors import printable

    print(f"warning: {printable(' '.join(str(message).split()))}", file=sys.stderr)


def _prepare_streams() -> None:
    """Where a terminal lacks a character, a plain one stands for it; nothing fails for want of an arrow."""
    codecs.register_error("recursa", _plain)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None and not (stream.encoding or "").lower().startswith("utf"):
            reconfigure(errors="recursa")


def _plain(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(_PLAIN.get(letter, "?") for letter in error.object[error.start : error.end]), error.end
