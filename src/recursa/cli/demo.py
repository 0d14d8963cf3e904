"""``recursa demo``: bundled arms shown, checked, drawn and summed up."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from rich.table import Table

import recursa as rc
from recursa.cli import show
from recursa.plotting import draw

# a pose that shows the arm, and the frame whose place is reported
ARMS: dict[str, tuple[list[float], str]] = {
    "planar": ([0.9, -0.5, -0.7], "tip"),
    "stanford": ([0.5, 1.2, 0.4, 0.3, 0.8, 0.0], "link6"),
    "puma560": ([0.6, 0.8, 2.9, 0.4, 0.8, 0.0], "link6"),
}


def run_demo(folder: Path) -> None:
    """Show every arm, write a picture each and ``summary.json`` into the folder."""
    out = show.console()
    folder.mkdir(parents=True, exist_ok=True)
    results = {}
    for name, (q, frame) in ARMS.items():
        robot = rc.robots.by_name(name)
        out.rule(f"[bold]{name}[/]")
        show.put(out, show.tree(robot))
        show.put(out, show.mass_table(robot))
        show.report_line(robot.doctor())
        results[name] = measure(robot, np.array(q), frame)
    for name, (q, _) in track(ARMS.items(), description="drawing", console=out, transient=True):
        picture = folder / f"{name}.png"
        draw(rc.robots.by_name(name), q, picture)
        results[name]["picture"] = picture.name
    (folder / "summary.json").write_text(json.dumps(results, indent=2) + "\n")
    out.rule("[bold]summary[/]")
    out.print(summary_table(results))
    out.print(f"pictures and summary.json are in [bold]{folder}[/]")


def measure(robot: rc.Robot, q: Any, frame: str) -> dict[str, Any]:
    """Where the arm is, its mass properties there, and the time one evaluation takes in a batch."""
    _, v = robot.random_state(0)
    batch = np.tile(q, (10_000, 1))
    start = time.perf_counter()
    robot.jacobian(batch, frame)
    each = (time.perf_counter() - start) / len(batch)
    return {
        "nv": robot.nv,
        "mass_kg": robot.mass,
        "q": q.tolist(),
        "frame": frame,
        "position_m": robot.pose(q, frame)[:3, 3].tolist(),
        "center_of_mass_m": robot.center_of_mass(q).tolist(),
        "kinetic_energy_J": float(robot.kinetic_energy(q, v)),
        "potential_energy_J": float(robot.potential_energy(q)),
        "smallest_singular_value": float(
            np.linalg.svd(robot.jacobian(q, frame), compute_uv=False)[min(robot.nv, 6) - 1]
        ),
        "findings": [str(finding) for finding in robot.doctor()],
        "jacobian_seconds_per_state": each,
    }


def summary_table(results: dict[str, dict[str, Any]]) -> Table:
    """The results side by side."""
    table = Table()
    for name in ("arm", "nv", "mass, kg", "frame at, m", "centre of mass, m", "U, J", "findings", "Jacobian, µs/state"):
        table.add_column(name, justify="left" if name == "arm" else "right")
    for name, r in results.items():
        table.add_row(
            name, str(r["nv"]), f"{r['mass_kg']:.4g}", _place(r["position_m"]), _place(r["center_of_mass_m"]),
            f"{r['potential_energy_J']:.3f}", str(len(r["findings"])), f"{1e6 * r['jacobian_seconds_per_state']:.2f}",
        )  # fmt: skip
    return table


def _place(position: list[float]) -> str:
    return ", ".join(f"{0.0 if abs(x) < 1e-12 else x:.3f}" for x in position)
