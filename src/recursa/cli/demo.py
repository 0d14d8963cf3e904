"""The verb ``recursa demo``: one of the examples, with its pictures, animations and numbers in a folder."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from recursa.cli import show
from recursa.cli.root import JSON
from recursa.files import write_together
from recursa.waits import told


@click.command()
@click.option(
    "-o", "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("demo-output"), show_default=True,
    help="The folder for pictures, animations and results.",
)  # fmt: skip
@click.option("--space", is_flag=True, help="A space robot instead: an arm moves, the bus turns, momentum stays.")
@click.option("--loops", is_flag=True, help="The bundled mechanisms instead: loops stay closed while they move.")
@JSON
def demo(out: Path, space: bool, loops: bool, as_json: bool) -> None:
    """The two arms of Saha's paper: torques along a motion, then let fall; pictures, animations, results.

    \b
    Examples:
      recursa demo
      recursa demo --out demo-output
      recursa demo --space
      recursa demo --loops
      recursa demo --json > summary.json

    The scripts behind it are among those of recursa examples.
    """
    if space and loops:
        raise click.UsageError("--space and --loops are two demonstrations: take one of them")
    example = "space_robot" if space else "mechanisms" if loops else "two_arms"
    out.mkdir(parents=True, exist_ok=True)
    with told(f"working through {example}"):
        results = import_module(f"recursa.examples.{example}").run(out)
    text = show.json_text(results)
    write_together({out / "summary.json": text + "\n"})
    if as_json:
        print(text)
        return
    console = show.console()
    for name, numbers in results.items():
        if "joints" in numbers:
            show.put(console, _records(name, numbers.pop("joints")))
    show.put(console, _side_by_side(results))
    kinds = ["pictures"] + ["animations"] * (not loops) + ["pages for the browser"] * (not space)
    console.print(f"{', '.join(kinds)} and summary.json are in [bold]{escape(str(out))}[/]")


def _records(title: str, rows: list[dict[str, Any]]) -> Table:
    """A row for each."""
    cells = ((value if isinstance(value, str) else f"{value:.3g}" for value in row.values()) for row in rows)
    return show.table(map(str.strip, rows[0]), cells, title, left=("unit",))


def _side_by_side(results: dict[str, dict[str, float]]) -> Table:
    """A column for each, a row for each number."""
    labels = dict.fromkeys(label for numbers in results.values() for label in numbers)
    cells = (
        (label.replace("_", " "), *(f"{x[label]:.3g}" if label in x else "" for x in results.values()))
        for label in labels
    )
    return show.table(("", *results), cells)
