"""The verb ``recursa bench``: quantities of a robot, timed beside the installed peers, as one table."""

from __future__ import annotations

import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.table import Table

from recursa.cli import show
from recursa.cli.group import QUANTITY, ROBOT
from recursa.cli.root import open_robot, robot_options
from recursa.errors import RecursaError
from recursa.files import named_file, write_together
from recursa.interop.timing import installed_peers, plain_quantities, timing
from recursa.quantities import quantity
from recursa.waits import now, told

QUANTITIES = ("inverse_dynamics", "mass_matrix", "forward_dynamics")  # what people ask first


@click.command()
@click.argument("robot", type=ROBOT, default="panda_like")
@click.argument("names", metavar="[QUANTITY]...", type=QUANTITY, nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every quantity that takes plain arrays.")
@click.option("--batch", type=click.IntRange(1), help="States in a batch; 10000 if not said, with --all 512.")
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="For the batch.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write the times as JSON, too.")
@robot_options
def bench(
    robot: str,
    names: tuple[str, ...],
    everything: bool,
    batch: int | None,
    threads: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Speed on this machine, beside the peers that are installed (pin, mujoco), as ratios in one run.

    \b
    Examples:
      recursa bench
      recursa bench go2.urdf --floating -o speed.json
      recursa bench puma560 jacobian coriolis_matrix --batch 10000 --threads 2
      recursa bench puma560 --all --json > speed.json

    QUANTITY is a method such as mass_matrix, or any other name that recursa export knows; without one, inverse
    dynamics, mass matrix and forward dynamics. A call has one state; a batch goes into a given array. Times are the
    least of up to 15 turns, ratios the medians of those of the turns.
    """
    file = None if out is None else named_file(out)
    batch = batch or (512 if everything else 10_000)
    chosen = open_robot(robot, strict=False)
    records = plain_quantities() if everything else [quantity(name) for name in names or QUANTITIES]
    peers, remarks = installed_peers(chosen)
    found, left_out = [], {}
    with told(f"timing '{chosen.name}'"):
        for record in records:
            now(record.name)
            try:
                found.append(timing(chosen, record, batch=batch, threads=threads, peers=peers))
            except RecursaError as error:  # what is for free flyers only, a robot without masses
                left_out[record.name] = " ".join(str(error).split())
    data: dict[str, Any] = {
        "robot": chosen.name,
        "nv": chosen.nv,
        "machine": f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}",
        "batch": batch,
        "threads": threads,
        "remarks": remarks,
        "quantities": [asdict(one) for one in found],
        "left_out": left_out,
    }
    if file is not None:
        write_together({file: show.json_text(data) + "\n"})
    if as_json:
        show.print_json(data)
        return
    show.put(show.console(), _table(data, list(peers)))
    for line in (*(f"left out: {name}: {why}" for name, why in left_out.items()), *remarks):
        click.echo(click.wrap_text(line, show.line_width()))
    show.wrote(file)


def _table(data: dict[str, Any], peers: list[str]) -> Table:
    """A line for each quantity, with the peers' calls and how many times as long they take as ours."""
    rows = []
    for row in data["quantities"]:
        smaller = "" if row["states"] == data["batch"] else f" (of {row['states']})"
        beside = (
            f"{1e6 * row['peers'][peer]:.2f} ({row['call_ratios'][peer]:.1f}, {row['batch_ratios'][peer]:.1f})"
            if peer in row["peers"]
            else ""
            for peer in peers
        )
        rows.append((row["quantity"], f"{1e6 * row['call']:.3f}", f"{1e6 * row['batch']:.3g}{smaller}", *beside))
    columns = ("quantity", "a call", "a state in a batch", *(f"{peer}, a call" for peer in peers))
    table = show.table(columns, rows, f"{data['robot']}, nv = {data['nv']}: microseconds")
    table.caption = "in brackets: times our call, and times our state in a batch" if peers else None
    return table
