"""The verb ``recursa compare``: our terms against a peer's, with the reason where they differ."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

import recursa as rc
from recursa.cli import show
from recursa.cli.group import ROBOT
from recursa.cli.root import open_robot, reading, robot_options
from recursa.dynamics.requirements import refuse_constraints
from recursa.formats.source import Assets, Source, source_of
from recursa.formats.table import format_of
from recursa.formats.urdf_write import require_standard, urdf_of
from recursa.interop import comparing
from recursa.interop.comparing import Comparison, Difference
from recursa.interop.peer import Peer, opened
from recursa.waits import told

PEERS = {"pin": ("pinocchio", "pin"), "mujoco": ("mujoco", "mujoco")}  # the module, what to install


@click.command()
@click.argument("robot", type=ROBOT)
@click.option("--with", "peer", type=click.Choice(["pin", "mujoco"]), required=True, help="The other program.")
@click.option(
    "--through", type=click.Choice(["file", "urdf", "model"]),
    help="How the peer gets the robot: it reads the file itself (the default where it can), or a URDF that we write, "
    "or is handed our numbers.",
)  # fmt: skip
@click.option("--states", type=click.IntRange(1, 10_000), default=5, show_default=True, help="Random states.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the random states.")
@click.option(
    "--tolerance", type=click.FloatRange(0.0), default=1e-9, show_default=True,
    help="Of the largest entry, or of 1 where that is smaller.",
)  # fmt: skip
@robot_options
def compare(robot: str, peer: str, as_json: bool, **options: Any) -> None:
    """Our terms against a peer's, and the reason where they differ.

    \b
    Examples:
      recursa compare arm.urdf --with pin
      recursa compare puma560 --with mujoco
      recursa compare humanoid.xml --with mujoco
      recursa compare go2.urdf --floating --with mujoco --through model --json

    Poses, Jacobians, centre of mass, mass matrix, gravity, bias, inverse and forward dynamics, energies, at random
    states and in one convention. A reason is tested: what differs in the peer's model is put right, and the difference
    vanishes. Exit code 0: all agree, 1: some differ, 2: bad input, or the peer is not installed.
    """
    chosen = open_robot(robot, strict=False)
    sys.exit(0 if run_compare(chosen, peer, as_json=as_json, **options) else 1)


def peer_of(robot: rc.Robot, name: str, through: str | None) -> tuple[Peer, str]:
    """The peer with the robot in it, and how it got there."""
    module, package = PEERS[name]
    if find_spec(module) is None:
        raise rc.RecursaError(f"{module} is not installed: pip install {package}")
    source, form = _file_of(robot)
    readable = source is not None and (form == "urdf" or (form, name) == ("mjcf", "mujoco"))
    through = through or ("file" if readable else "model")
    if through == "urdf" and form == "urdf":
        through = "file"
    if through == "file" and (source is None or not readable):
        what = f"files in the format '{form}'" if source is not None else f"'{robot.name}', which has no file"
        raise rc.RecursaError(f"{module} does not read {what}. Try --through urdf or --through model")
    how = {"model": "was handed our model", "urdf": "read the URDF that robot.to_urdf() writes"}
    told = how.get(through) or f"read '{source.path if source else ''}' itself"
    urdf = None
    if through == "urdf":
        require_standard(robot.model.description)
        urdf = urdf_of(robot.model)
    if through == "file" and form == "urdf" and source is not None:
        urdf = Path(source.path or "").read_text("utf-8-sig", errors="replace")
    peer = opened(module, robot, urdf, source if (through, form) == ("file", "mjcf") else None)
    return peer, told + (f"; {peer.remark}" if peer.remark else "")


def _file_of(robot: rc.Robot) -> tuple[Source | None, str]:
    """The file that a robot comes from, and its format; bundled robots have none."""
    path = robot.model.description.source
    if path is None or not Path(path).is_file():
        return None, ""
    said = reading()
    source = source_of(path, Assets(said.get("assets", ())))
    return source, said.get("format") or format_of(source)


def run_compare(
    robot: rc.Robot, name: str, *, through: str | None, states: int, seed: int, tolerance: float, as_json: bool
) -> bool:
    """Compare and tell; whether everything agrees."""
    refuse_constraints(robot.model, "compare")  # peers are handed the tree alone
    with told(f"comparing '{robot.name}'"):
        peer, how = peer_of(robot, name, through)
        found = comparing.compare(robot, peer, states=states, seed=seed, tolerance=tolerance)
    if as_json:
        show.print_json(as_data(found, how))
    else:
        show_comparison(found, how)
    return found.agrees


def show_comparison(found: Comparison, how: str) -> None:
    """A table of differences, then the reasons, then what was translated."""
    out = show.console()
    title = found.peer.title
    out.print(f"[bold]{escape(found.robot.name)}[/] in {title}, which {escape(how)}; {found.states} random states")
    columns = ("quantity", "difference", "unit", "of size", "at", "", "reason")
    rows = (
        (
            x.words, f"{x.largest:.1e}", x.unit, f"{x.size:.3g}", escape(x.where),
            "[green]agrees[/]" if x.agrees else "[red]differs[/]", _reason(x),
        )
        for x in found.differences
    )  # fmt: skip
    table = show.table(columns, rows, "largest differences", left=("unit", "at", "", "reason"))
    show.put(out, table, prose=("reason",))
    for suspect in found.reasons:
        out.print(
            f"[bold]{suspect.name}[/]: {escape(suspect.what)}. To agree: {escape(suspect.advice)}.",
            soft_wrap=not out.is_terminal,
        )
    if found.unexplained:
        tried = ", ".join(suspect.name for suspect in found.suspects) or "nothing else differs in the models"
        out.print(f"[red]not explained[/] by what differs in the models (put right: {tried})")
        _first_link(out, found)
    innocent = [suspect for suspect in found.suspects if suspect not in found.reasons]
    for suspect in innocent:
        out.print(f"also different, without effect here: {suspect.name}: {escape(suspect.what)}.")
    for conversion, worth in found.conversions:
        out.print(f"translated: {conversion.what} (forgotten, torques would be off by {worth:.3g})")
    for note in found.notes:
        out.print(f"note: {escape(note)}")
    out.print("[green]all terms agree[/]" if found.agrees else "[red]some terms differ[/]")


def _reason(difference: Difference) -> str:
    if difference.agrees:
        return ""
    return "not explained" if difference.reasons is None else " + ".join(difference.reasons)


def _first_link(out: Any, found: Comparison) -> None:
    for difference in found.unexplained:
        if difference.quantity == "poses":
            out.print(f"the links stand elsewhere, '{escape(difference.where)}' most of all: what follows cannot agree")


def as_data(found: Comparison, how: str) -> dict[str, Any]:
    """For JSON."""
    return {
        "robot": found.robot.name,
        "digest": found.robot.model.digest,
        "peer": found.peer.title,
        "how": how,
        "states": found.states,
        "agrees": found.agrees,
        "differences": [vars(difference) for difference in found.differences],
        "suspects": [suspect._asdict() for suspect in found.suspects],
        "reasons": [suspect.name for suspect in found.reasons],
        "conversions": [
            {**conversion._asdict(), "torque_error_if_forgotten": worth} for conversion, worth in found.conversions
        ],
        "notes": list(found.notes),
    }
