"""The short verbs of ``recursa``: info, doctor, counts, cache and completion. Which verb is where, group.py says."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

import recursa as rc
from recursa.cli import show
from recursa.cli.group import ROBOT, TABLE, Whole, completion_script
from recursa.cli.root import JSON, open_robot, robot_options
from recursa.cli.root import recursa as recursa
from recursa.waits import told

_RUNS = (".npz", ".part")  # files of runs, rather than of robots


@click.command()
@click.argument("robot", type=ROBOT, required=False)
@click.option("--list", "list_robots", is_flag=True, help="List the bundled robots.")
@robot_options
def info(robot: str | None, list_robots: bool, as_json: bool) -> None:
    """Show a robot: tree, joints, masses, conventions, provenance.

    \b
    Examples:
      recursa info stanford
      recursa info go2.urdf --floating
      recursa info arm.urdf --json
      recursa info run.npz
      recursa info --list

    A result of recursa simulate, or a checkpoint, is summed up, too.
    """
    if list_robots:
        show.robot_list(as_json)
        return
    if robot is None:
        raise click.UsageError("which robot? Give a robot file or a bundled name; --list shows those.")
    if Path(robot).suffix.lower() in _RUNS:
        from recursa.cli.runs import describe

        describe(robot, as_json)
        return
    chosen = open_robot(robot, strict=False)
    if as_json:
        show.print_json(show.as_data(chosen))
    else:
        show.info(chosen)


@click.command()
@click.argument("robot", type=ROBOT)
@robot_options
def doctor(robot: str, as_json: bool) -> None:
    """Check a robot's data. Exit code 0: healthy, 1: errors or warnings, 2: cannot be read.

    \b
    Examples:
      recursa doctor my_robot.urdf
      recursa doctor my_robot.urdf --json > findings.json
      recursa doctor puma560
    """
    report = open_robot(robot, strict=False).doctor()
    if as_json:
        show.print_json(report.as_dicts())
    else:
        show.report(report)
    sys.exit(0 if report.healthy else 1)


@click.command()
@click.option(
    "--table", "name", type=TABLE, help="A table of the papers: 5.1 to 7.3, saha-1, saha-2; or robots, regrouping."
)
@click.option("--robot", type=ROBOT, help="A robot file or a bundled name: what every method costs in the code for it.")
@robot_options
def counts(name: str | None, robot: str | None, as_json: bool) -> None:
    """Operation counts: the papers' tables with ours beside the printed numbers, and what the code for a robot costs.

    \b
    Examples:
      recursa counts
      recursa counts --table 5.3
      recursa counts --table 6.1 --json
      recursa counts --robot puma560

    Without options: the bundled robots by the usual methods, and the names of the tables.
    """
    from recursa.counts.tables import TABLES, overview, robot_table

    if name is not None and robot is not None:
        raise click.UsageError("--table and --robot are two questions: ask one of them.")
    with told("counting"):
        if robot is not None:
            table = robot_table(open_robot(robot, strict=False))
        else:
            table = overview() if name is None else rc.tables(name)
    if as_json:
        show.print_json(table.as_dict())
        return
    show.counts(table)
    if name is None and robot is None:
        for key, spec in TABLES.items():
            command = f"recursa counts --table {key:<10} "
            click.echo(click.wrap_text(command + spec.title, show.line_width(), subsequent_indent=" " * len(command)))


@click.group(cls=Whole)
def cache() -> None:
    """The compiled kernels that are kept on disk.

    \b
    Examples:
      recursa cache info
      recursa cache clear

    RECURSA_CACHE moves the directory (RECURSA_CACHE=off does without), RECURSA_CACHE_MB bounds its size.
    """


@cache.command("info")
@JSON
def cache_info(as_json: bool) -> None:
    """Show where the kernels are kept, how many there are, their size and its bound.

    \b
    Examples:
      recursa cache info
      recursa cache info --json
    """
    from recursa.kernels.native import info

    found = info()
    if as_json:
        show.print_json(asdict(found))
        return
    for name, value in (
        ("path", found.path or "-"),
        ("state", found.state),
        ("entries", f"{found.entries}{f', {found.unfinished} unfinished' if found.unfinished else ''}"),
        ("size", f"{found.size / 2**20:.2f} MiB"),
        ("bound", f"{found.bound / 2**20:g} MiB"),
    ):
        click.echo(f"{name:<8} {value}")


@cache.command("clear")
@JSON
def cache_clear(as_json: bool) -> None:
    """Remove all kept kernels, and nothing else; they are compiled again when needed.

    \b
    Examples:
      recursa cache clear
      RECURSA_CACHE=/scratch/kernels recursa cache clear
    """
    from recursa.kernels.native import clear, info

    state = info().state
    if state.startswith("refused"):
        raise rc.RecursaError(f"cache directory '{info().path}' is left alone; {state}")
    count = clear()
    if as_json:
        show.print_json({"removed": count})
        return
    click.echo(f"{count} {'entry' if count == 1 else 'entries'} removed")


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print what a shell needs to complete verbs, options, bundled robots, methods, tables.

    \b
    Examples:
      recursa completion bash > ~/.local/share/bash-completion/completions/recursa
      recursa completion zsh > ~/.zfunc/_recursa      (with fpath+=~/.zfunc before compinit)
      recursa completion fish > ~/.config/fish/completions/recursa.fish
      eval "$(recursa completion bash)"
    """
    click.echo(completion_script(shell, recursa))
