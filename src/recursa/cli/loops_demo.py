"""``recursa demo --loops``: every bundled mechanism moves for a moment; pictures and a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.progress import track
from rich.table import Table

import recursa as rc
from recursa.bundled import MECHANISMS
from recursa.cli import show
from recursa.files import write_together

SECONDS = 0.3


def run_loops_demo(folder: Path, as_json: bool = False) -> None:
    """Let the mechanisms move, write a picture of each and ``summary.json`` into the folder, and tell."""
    out = show.console()
    folder.mkdir(parents=True, exist_ok=True)
    quiet = as_json or not out.is_terminal
    names = track(MECHANISMS, description="mechanisms", console=out, transient=True, disable=quiet)
    results = [work_through(name, folder) for name in names]
    text = show.json_text({"mechanisms": results})
    write_together({folder / "summary.json": text + "\n"})
    if as_json:
        print(text)
        return
    show.put(out, mechanisms_table(results))
    out.print("open by: the largest error of closure, in m and rad; drift: of the energy, of what was on the move")
    files = ", ".join([*(one["file"] for one in results), "summary.json"])
    out.print(f"in [bold]{escape(str(folder))}[/]: {files}")


def work_through(name: str, folder: Path) -> dict[str, Any]:
    """A mechanism from rest, or with a push where gravity does not move it; its picture."""
    from recursa.plotting import draw  # slow to import

    robot = rc.robots.by_name(name)
    q = robot.neutral()
    v = robot.project_velocity(q, np.linspace(-0.2, 0.3, robot.nv))
    run = robot.simulate(q, v, duration=SECONDS, rtol=1e-8, atol=1e-10, progress=False)
    draw(robot, q, folder / f"{name}.png")
    return {
        "mechanism": name,
        "nv": robot.nv,
        "equations": robot.ncon,
        "freedoms": robot.mobility(q).freedoms,
        "open_by": float(np.abs(robot.constraint_error(run.q)).max()),
        "energy_drift": run.energy_drift,
        "steps": run.statistics["steps"],
        "file": f"{name}.png",
    }


def mechanisms_table(results: list[dict[str, Any]]) -> Table:
    """The mechanisms side by side."""
    table = Table()
    for column in ("mechanism", "nv", "equations", "freedoms", "steps", "open by", "drift"):
        table.add_column(column, justify="left" if column == "mechanism" else "right")
    for one in results:
        counts = (f"{one[key]:g}" for key in ("nv", "equations", "freedoms", "steps"))
        table.add_row(one["mechanism"], *counts, f"{one['open_by']:.1e}", f"{one['energy_drift']:.1e}")
    return table
