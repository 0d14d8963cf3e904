"""``recursa demo``: the two examples of Saha's paper, torques along a motion and free fall, with pictures and files.

The planar three-link arm and the Stanford arm (S. K. Saha, decoupled natural orthogonal complement, section 6): inverse
dynamics along the cycloid (38) over 10 s, and motion without torques from the posture in which the paper lets go.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.progress import track
from rich.table import Table

import recursa as rc
from recursa.cli import show
from recursa.files import write_together
from recursa.model.columns import angular, freedom_names
from recursa.trajectories.csv_files import write_torques

_TURN = math.pi / 3
INSTANTS = 1001  # of the motion
FPS = 12  # of the animations
BATCH = 10_000  # states that an evaluation is timed over


@dataclass(frozen=True)
class Example:
    """One arm of the paper: the motion from start to end, then the fall from the start."""

    robot: str
    start: tuple[float, ...]
    end: tuple[float, ...]
    motion: float = 10.0
    fall: float = 1.0


EXAMPLES = (
    Example("planar", (0.0, 0.0, 0.0), (math.pi, math.pi, math.pi)),
    Example("stanford", (0.0, math.pi / 2, 0.0, 0.0, 0.0, 0.0), (_TURN, _TURN, 0.1, _TURN, _TURN, _TURN)),
)


def run_demo(folder: Path, as_json: bool = False) -> None:
    """Work through the examples, write their files and ``summary.json`` into the folder, and tell."""
    out = show.console()
    folder.mkdir(parents=True, exist_ok=True)
    quiet = as_json or not out.is_terminal
    results = {}
    for example in track(EXAMPLES, description="two arms", console=out, transient=True, disable=quiet):
        results[example.robot] = work_through(example, folder)
    text = show.json_text(results)
    write_together({folder / "summary.json": text + "\n"})
    if as_json:
        print(text)
        return
    for name, result in results.items():
        out.rule(f"[bold]{name}[/]", characters="-" if out.options.ascii_only else "─")
        start, end, duration = _row(result["start"]), _row(result["end"]), result["motion_s"]
        out.print(f"torques along the cycloid from {start} to {end} in {duration:g} s")
        show.put(out, torque_table(result))
        out.print(f"let go at rest from {start}: after {result['fall_s']:g} s")
        show.put(out, fall_table(result))
    out.rule("[bold]summary[/]", characters="-" if out.options.ascii_only else "─")
    show.put(out, summary_table(results))
    out.print("agreement: largest difference of Saha's method ('denoc') from the default one, of the largest value")
    out.print("drift: of the energy in the fall, of the kinetic energy; times: one evaluation in a batch, one thread")
    files = sorted({file for result in results.values() for file in result["files"]} | {"summary.json"})
    pages = " and ".join(f"{name}_fall.html" for name in results)
    out.print(f"open {pages} in a browser: the arms fall there, too, and can be stopped, posed, pulled and let go")
    out.print(f"in [bold]{escape(str(folder))}[/]: {', '.join(files)}")


def work_through(example: Example, folder: Path) -> dict[str, Any]:
    """Torques, fall, times and files of one arm."""
    robot = rc.robots.by_name(example.robot)
    start, end = np.array(example.start), np.array(example.end)
    motion = rc.Trajectory.cycloid(start, end, example.motion)
    t = motion.times(INSTANTS)
    q, v, a = motion.sample(t)
    torques = robot.inverse_dynamics(q, v, a)
    by_saha = robot.inverse_dynamics(q, v, a, method="denoc")
    run = robot.simulate(start, duration=example.fall, samples=201, progress=False)
    none = np.zeros_like(run.v)
    fallen, fallen_by_saha = (robot.forward_dynamics(run.q, run.v, none, method=m) for m in (None, "denoc"))
    files = write_files(robot, example.robot, (t, q, torques), run, folder)
    return {
        "robot": robot.name,
        "nv": robot.nv,
        "mass_kg": robot.mass,
        "provenance": robot.model.description.provenance,
        "findings": [str(finding) for finding in robot.doctor()],
        "motion_s": example.motion,
        "start": list(example.start),
        "end": list(example.end),
        "joints": _extremes(robot, t, torques),
        "torque_agreement": _agreement(torques, by_saha),
        "fall_s": float(run.t[-1]),
        "fall_status": run.status,
        "fall_q": run.q[-1].tolist(),
        "fall_v": run.v[-1].tolist(),
        "fall_energy_drift": run.energy_drift,
        "fall_steps": run.statistics["steps"],
        "fall_evaluations": run.statistics["evaluations"],
        "acceleration_agreement": _agreement(fallen, fallen_by_saha),
        "seconds_per_state": _times(robot, q),
        "files": files,
    }


def _extremes(robot: rc.Robot, t: Any, torques: Any) -> list[dict[str, Any]]:
    rows = []
    for k, (name, turns) in enumerate(zip(freedom_names(robot.model), angular(robot.model), strict=True)):
        curve = torques[:, k]
        low, high = int(np.argmin(curve)), int(np.argmax(curve))
        rows.append(
            {
                "joint": name,
                "unit": "N m" if turns else "N",
                "least": float(curve[low]),
                "least_time_s": float(t[low]),
                "most": float(curve[high]),
                "most_time_s": float(t[high]),
            }
        )
    return rows


def _agreement(ours: Any, others: Any) -> float:
    """The largest difference, of the largest value."""
    return float(np.abs(ours - others).max() / np.abs(ours).max())


def _times(robot: rc.Robot, q: Any) -> dict[str, float]:
    """Seconds for one state of a batch, compiled; the best of a few."""
    rows = np.resize(q, (BATCH, robot.nq))
    out = np.empty((BATCH, robot.nv))
    calls: dict[str, Callable[[], Any]] = {
        "inverse_dynamics": lambda: robot.inverse_dynamics(rows, rows, rows, out=out),
        "inverse_dynamics_denoc": lambda: robot.inverse_dynamics(rows, rows, rows, method="denoc", out=out),
        "forward_dynamics": lambda: robot.forward_dynamics(rows, rows, rows, out=out),
        "forward_dynamics_denoc": lambda: robot.forward_dynamics(rows, rows, rows, method="denoc", out=out),
    }
    found = {}
    for name, call in calls.items():
        times = []
        for _ in range(4):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
        found[name] = min(times) / BATCH
    return found


# ---- files -----------------------------------------------------------------------------------------------------------


def write_files(robot: rc.Robot, name: str, motion: tuple[Any, Any, Any], run: rc.Run, folder: Path) -> list[str]:
    """Pictures, animations, the torques as CSV and the fall as a results file; their names."""
    from recursa.plotting import animate, draw, plot_motion  # slow to import

    t, q, tau = motion
    falling: dict[str, Any] = {"path": folder / f"{name}_fall.png", "panels": ("angles", "speeds", "energy")}
    run.plot(title=f"{robot.name}: let go", **falling)
    run.plot(folder / f"{name}_fall_joints.png", panels=("angles",), by_joint=True, title=f"{robot.name}: let go")
    torques: dict[str, Any] = {"panels": ("torques",), "by_joint": True, "path": folder / f"{name}_torques.png"}
    plot_motion(robot, t, tau=tau, title=f"{robot.name}: torques of the motion", **torques)
    write_torques(folder / f"{name}_torques.csv", robot, t, tau, losses=False)
    draw(robot, q[len(q) // 2], folder / f"{name}.png")
    animate(robot, t, q, folder / f"{name}_motion.gif", fps=FPS, speed=3.0, title=f"{robot.name}, 3 times as fast")
    run.animate(folder / f"{name}_fall.gif", fps=FPS, speed=0.4, title=f"{robot.name} falls, at 0.4 of its speed")
    run.to_html(folder / f"{name}_fall.html", title=f"{robot.name}: let go")
    pictures = [".png", "_torques.png", "_fall.png", "_fall_joints.png", "_motion.gif", "_fall.gif"]
    written = [*pictures, "_fall.html", "_torques.csv"]
    save = getattr(run, "save", None)
    if save is not None:
        save(folder / f"{name}_fall.h5")
        written.append("_fall.h5")
    return [name + ending for ending in written]


# ---- tables ----------------------------------------------------------------------------------------------------------


def torque_table(result: dict[str, Any]) -> Table:
    """The extremes of each joint's torque."""
    table = Table()
    for column in ("joint", "least", "at, s", "most", "at, s", "unit"):
        table.add_column(column, justify="left" if column in ("joint", "unit") else "right")
    for row in result["joints"]:
        table.add_row(
            escape(row["joint"]), f"{row['least']:.5g}", f"{row['least_time_s']:.2f}", f"{row['most']:.5g}",
            f"{row['most_time_s']:.2f}", row["unit"],
        )  # fmt: skip
    return table


def fall_table(result: dict[str, Any]) -> Table:
    """Where the arm is and how fast after it was let go."""
    table = Table()
    for column in ("joint", "q", "v", "unit"):
        table.add_column(column, justify="left" if column in ("joint", "unit") else "right")
    for row, q, v in zip(result["joints"], result["fall_q"], result["fall_v"], strict=True):
        unit = "rad, rad/s" if row["unit"] == "N m" else "m, m/s"
        table.add_row(escape(row["joint"]), f"{q:.8f}", f"{v:.8f}", unit)
    return table


def summary_table(results: dict[str, dict[str, Any]]) -> Table:
    """The arms side by side."""
    table = Table()
    for column in (
        "arm", "nv", "mass, kg", "largest torque", "agreement", "drift", "steps", "torques, ns", "accelerations, ns",
    ):  # fmt: skip
        table.add_column(column, justify="left" if column == "arm" else "right")
    for name, result in results.items():
        largest = max(result["joints"], key=lambda row: max(abs(row["least"]), abs(row["most"])))
        seconds = result["seconds_per_state"]
        table.add_row(
            name, str(result["nv"]), f"{result['mass_kg']:.4g}",
            f"{max(abs(largest['least']), abs(largest['most'])):.5g} {largest['unit']}",
            f"{max(result['torque_agreement'], result['acceleration_agreement']):.1e}",
            f"{result['fall_energy_drift']:.1e}", f"{result['fall_steps']:g}",
            f"{1e9 * seconds['inverse_dynamics']:.0f} (denoc {1e9 * seconds['inverse_dynamics_denoc']:.0f})",
            f"{1e9 * seconds['forward_dynamics']:.0f} (denoc {1e9 * seconds['forward_dynamics_denoc']:.0f})",
        )  # fmt: skip
    return table


def _row(values: list[float]) -> str:
    return "(" + ", ".join(f"{x:.4g}" for x in values) + ")"
