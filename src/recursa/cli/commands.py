"""The verbs of ``recursa``."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

import recursa as rc
from recursa.cli import show
from recursa.model.assemble import assemble

_Function = TypeVar("_Function", bound=Callable[..., Any])


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(rc.__version__, prog_name="recursa")
def recursa() -> None:
    """Dynamics of robot manipulators and other trees of rigid bodies.

    \b
    Examples:
      recursa demo
      recursa info puma560
      recursa doctor my_robot.urdf

    ROBOT is a URDF file or the name of a bundled robot (recursa info --list).
    """


def _robot_options(command: _Function) -> _Function:
    for option in (
        click.option("--floating", is_flag=True, help="Put a free joint under the root link."),
        click.option("--mimic", type=click.Choice(["free", "tie"]), default="free", show_default=True),
        click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts."),
    ):
        command = option(command)
    return command


def open_robot(name: str, *, floating: bool = False, mimic: Any = "free", strict: bool = True) -> rc.Robot:
    """A robot by file or bundled name."""
    if name in rc.robots.names() and not Path(name).is_file():
        robot = rc.robots.by_name(name)
        if not floating:
            return robot
        return rc.Robot(assemble(robot.model.description, gravity=robot.gravity, floating=True, mimic=mimic))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ModelWarning)  # the commands print the findings themselves
        return rc.load(name, floating=floating, mimic=mimic, strict=strict)


@recursa.command()
@click.argument("robot", required=False)
@click.option("--list", "list_robots", is_flag=True, help="List the bundled robots.")
@_robot_options
def info(robot: str | None, list_robots: bool, floating: bool, mimic: str, as_json: bool) -> None:
    """Show a robot: tree, joints, masses, conventions, provenance.

    \b
    Examples:
      recursa info stanford
      recursa info go2.urdf --floating
      recursa info arm.urdf --json
      recursa info --list
    """
    if list_robots:
        show.robot_list(as_json)
        return
    if robot is None:
        raise click.UsageError("which robot? Give a URDF file or a bundled name; --list shows those.")
    chosen = open_robot(robot, floating=floating, mimic=mimic, strict=False)
    if as_json:
        click.echo(json.dumps(show.as_data(chosen), indent=2))
    else:
        show.info(chosen)


@recursa.command()
@click.argument("robot")
@_robot_options
def doctor(robot: str, floating: bool, mimic: str, as_json: bool) -> None:
    """Check a robot's data. Exit code 0: healthy, 1: findings, 2: cannot be read.

    \b
    Examples:
      recursa doctor my_robot.urdf
      recursa doctor my_robot.urdf --json > findings.json
      recursa doctor puma560
    """
    report = open_robot(robot, floating=floating, mimic=mimic, strict=False).doctor()
    if as_json:
        click.echo(json.dumps(report.as_dicts(), indent=2))
    else:
        show.report(report)
    sys.exit(1 if report else 0)


@recursa.command()
@click.option(
    "-o", "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("demo-output"), show_default=True
)
def demo(out: Path) -> None:
    """Three bundled arms: tree, masses, a check, a picture each, and a results file.

    \b
    Example:
      recursa demo --out demo-output
    """
    from recursa.cli.demo import run_demo

    run_demo(out)
