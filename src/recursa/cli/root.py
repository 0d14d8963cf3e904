"""The program itself, and what its verbs share: the options of robots, and opening one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

import recursa as rc
from recursa.bundled import BUNDLED, FILES
from recursa.cli.group import Verbs
from recursa.formats.table import FORMAT_NAMES

_Function = TypeVar("_Function", bound=Callable[..., Any])

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")


def _version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from recursa.cli.versions import text  # slow to import

        click.echo(text())
        context.exit()


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version,
    help="Show the versions of what matters, and exit.",
)  # fmt: skip
def recursa() -> None:
    """Dynamics of robot manipulators and other trees of rigid bodies.

    \b
    Examples:
      recursa demo
      recursa info puma560
      recursa doctor my_robot.urdf
      recursa inverse puma560 --to joint2=0.8 --plot torque.png

    ROBOT is a robot file or the name of a bundled robot (recursa info --list). Exit code 0: done, 1: the answer is no,
    2: bad input, with one line that says what, 130: interrupted.
    """


_READING = f"{__name__}: reading"  # where the context keeps what was said about reading files


def _said(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Keep an option for :func:`open_robot`, so that no verb has to pass it on."""
    if value not in (None, ()):
        context.meta.setdefault(_READING, {})[parameter.name] = value


def _arguments(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> None:
    """The same for arguments of the file."""
    _said(context, parameter, dict(map(_argument, value)) or None)


def _argument(text: str) -> tuple[str, str]:
    name, mark, value = text.partition(":=")
    if not mark or not name:
        raise click.UsageError(f"--arg {text}: write NAME:=VALUE")
    return name, value


_OPENING = (
    click.option(
        "--arg", "arguments", multiple=True, metavar="NAME:=VALUE", expose_value=False, callback=_arguments,
        help="A value for an argument of the file (xacro; model:=NAME in SDF).",
    ),
    click.option(
        "--assets", type=click.Path(file_okay=False), multiple=True, metavar="FOLDER", expose_value=False,
        callback=_said,
        help="A folder in which files that the robot file refers to may be opened; can be repeated.",
    ),
    click.option(
        "--format", type=click.Choice(FORMAT_NAMES), expose_value=False, callback=_said,
        help="Insist on a format.  [default: what the text says]",
    ),
    click.option(
        "--floating/--welded", default=None, expose_value=False, callback=_said,
        help="A free joint under the root link, or none.  [default: as the file says, else none]",
    ),
    click.option(
        "--mimic", type=click.Choice(["free", "tie"]), expose_value=False, callback=_said,
        help="Joints that mimic others: free ones, or tied to them.  [default: as the file says, else free]",
    ),
)  # fmt: skip


def robot_options(command: _Function) -> _Function:
    """Decorator: how a robot is opened, and JSON."""
    for option in (JSON, *_OPENING):
        command = option(command)
    return command


def open_robot(name: str, *, strict: bool = True, **options: Any) -> rc.Robot:
    """A robot by file or bundled name, as the options of the command line say, or those given here."""
    said = reading() | options
    if name in BUNDLED + FILES and not Path(name).is_file():
        return rc.robots.by_name(name, floating=bool(said.get("floating")), mimic=said.get("mimic") or "free")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ModelWarning)  # the commands print the findings themselves
        return rc.load(name, strict=strict, **said)


def reading() -> dict[str, Any]:
    """What was said about reading files: arguments of :func:`recursa.load`."""
    context = click.get_current_context(silent=True)
    return dict(context.meta.get(_READING, {})) if context else {}
