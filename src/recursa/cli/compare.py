"""``recursa compare``: our terms against a peer's, with the reason where they differ."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

import recursa as rc
from recursa.cli import show
from recursa.cli.root import reading
from recursa.dynamics.lacking import require_tree
from recursa.formats.source import Assets, Source, source_of
from recursa.formats.table import format_of
from recursa.interop.comparing import Comparison, Difference, compare
from recursa.interop.peer import Peer
from recursa.waits import told

PEERS = {"pin": ("pinocchio", "pin"), "mujoco": ("mujoco", "mujoco")}  # the module, what to install


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
    urdf = robot.to_urdf() if through == "urdf" else None
    if through == "file" and form == "urdf" and source is not None:
        urdf = Path(source.path or "").read_text("utf-8-sig", errors="replace")
    if name == "pin":
        from recursa.interop.pinocchio_peer import InPinocchio

        return InPinocchio(robot, urdf), told
    from recursa.interop.mujoco import InMujoco, quiet

    quiet()
    peer = InMujoco(robot, urdf, source if (through, form) == ("file", "mjcf") else None)
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
    require_tree(robot.model, "compare")  # peers are handed the tree alone
    with told(f"comparing '{robot.name}'"):
        peer, how = peer_of(robot, name, through)
        found = compare(robot, peer, states=states, seed=seed, tolerance=tolerance)
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
    table = Table("quantity", title="largest differences", title_justify="left")
    for column in ("difference", "unit", "of size"):
        table.add_column(column, justify="left" if column == "unit" else "right")
    table.add_column("at")
    table.add_column("")
    table.add_column("reason")
    for difference in found.differences:
        mark = "[green]agrees[/]" if difference.agrees else "[red]differs[/]"
        table.add_row(
            difference.words, f"{difference.largest:.1e}", difference.unit, f"{difference.size:.3g}",
            escape(difference.where), mark, _reason(difference),
        )  # fmt: skip
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
