"""``recursa demo``: bundled arms shown, checked, drawn, moved, let fall and summed up."""

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
from recursa.plotting import Panel, draw, draw_panels

# a pose that shows the arm, and the frame whose place is reported
ARMS: dict[str, tuple[list[float], str]] = {
    "planar": ([0.9, -0.5, -0.7], "tip"),
    "stanford": ([0.5, 1.2, 0.4, 0.3, 0.8, 0.0], "link6"),
    "puma560": ([0.6, 0.8, 2.9, 0.4, 0.8, 0.0], "link6"),
}
MOTION, FALL, STEP = 2.0, 0.5, 1e-3  # seconds of the planned motion and of the fall, and its step


def run_demo(folder: Path) -> None:
    """Show every arm, write pictures of it and ``summary.json`` into the folder."""
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
        robot, pictures = rc.robots.by_name(name), [f"{name}.png", f"{name}_motion.png"]
        draw(robot, q, folder / pictures[0])
        results[name] |= {"pictures": pictures, **move(robot, np.array(q), folder / pictures[1])}
    (folder / "summary.json").write_text(json.dumps(results, indent=2) + "\n")
    out.rule("[bold]summary[/]")
    out.print(summary_table(results))
    out.print(f"pictures and summary.json are in [bold]{folder}[/]")


def measure(robot: rc.Robot, q: Any, frame: str) -> dict[str, Any]:
    """Where the arm is, its mass properties there, and the time one evaluation takes in a batch."""
    _, v = robot.random_state(0)
    return {
        "nv": robot.nv,
        "mass_kg": robot.mass,
        "q": q.tolist(),
        "frame": frame,
        "position_m": robot.pose(q, frame)[:3, 3].tolist(),
        "center_of_mass_m": robot.center_of_mass(q).tolist(),
        "kinetic_energy_J": float(robot.kinetic_energy(q, v)),
        "potential_energy_J": float(robot.potential_energy(q)),
        "holding_torques": robot.gravity_forces(q).tolist(),
        "smallest_singular_value": float(
            np.linalg.svd(robot.jacobian(q, frame), compute_uv=False)[min(robot.nv, 6) - 1]
        ),
        "findings": [str(finding) for finding in robot.doctor()],
        "inverse_dynamics_seconds_per_state": _seconds_per_state(robot, q),
    }


def _seconds_per_state(robot: rc.Robot, q: Any) -> float:
    """Of inverse dynamics in a batch, once it is compiled; the best of a few."""
    batch, out = np.tile(q, (10_000, 1)), np.empty((10_000, robot.nv))
    times = []
    for _ in range(5):
        start = time.perf_counter()
        robot.inverse_dynamics(batch, batch, batch, out=out)
        times.append(time.perf_counter() - start)
    return min(times) / len(batch)


def move(robot: rc.Robot, target: Any, picture: Path) -> dict[str, Any]:
    """Torques for a motion to the target and a fall from there, drawn; the largest torques and the energy lost."""
    motion = rc.Trajectory.cycloid(robot.neutral(), target, MOTION)
    t = motion.times(401)
    torques = robot.inverse_dynamics(*motion.sample(t))
    fallen, q, v = fall(robot, target)
    kinetic, potential = robot.kinetic_energy(q, v), robot.potential_energy(q)
    energies = {"kinetic": kinetic, "potential": potential, "total": kinetic + potential}
    by_joint = {name: torques[:, k] for k, name in enumerate(robot.joint_names)}
    draw_panels(
        picture,
        f"{robot.name}: moved, then let fall",
        Panel("time, s", "torque, N m (force, N)", t, by_joint),
        Panel("time, s", "energy, J", fallen, energies),
    )
    total = energies["total"]
    return {
        "largest_torques": np.abs(torques).max(axis=0).tolist(),
        "fall_energy_drift_J": float(np.abs(total - total[0]).max()),
        "fall_largest_kinetic_energy_J": float(kinetic.max()),
    }


def fall(robot: rc.Robot, q: Any) -> tuple[Any, Any, Any]:
    """Let go at rest: t, q, v by Runge and Kutta's fourth-order rule."""
    none, state = np.zeros(robot.nv), (q, np.zeros(robot.nv))
    states = [state]

    def rate(q: Any, v: Any) -> tuple[Any, Any]:
        return v, robot.forward_dynamics(q, v, none)

    for _ in range(round(FALL / STEP)):
        q, v = state
        k1 = rate(q, v)
        k2 = rate(q + 0.5 * STEP * k1[0], v + 0.5 * STEP * k1[1])
        k3 = rate(q + 0.5 * STEP * k2[0], v + 0.5 * STEP * k2[1])
        k4 = rate(q + STEP * k3[0], v + STEP * k3[1])
        state = tuple(  # type: ignore[assignment]
            x + STEP / 6.0 * (a + 2.0 * b + 2.0 * c + d) for x, a, b, c, d in zip(state, k1, k2, k3, k4, strict=True)
        )
        states.append(state)
    qs, vs = (np.stack(part) for part in zip(*states, strict=True))
    return STEP * np.arange(len(states)), qs, vs


def summary_table(results: dict[str, dict[str, Any]]) -> Table:
    """The results side by side."""
    table = Table(
        caption="torque: the largest of the motion, N m or N; drift: of the energy in the fall; "
        "ns/state: one evaluation of the torques in a batch"
    )
    for name in (
        "arm", "nv", "mass, kg", "frame at, m", "U, J", "torque", "drift, J", "findings", "ns/state",
    ):  # fmt: skip
        table.add_column(name, justify="left" if name == "arm" else "right")
    for name, r in results.items():
        table.add_row(
            name, str(r["nv"]), f"{r['mass_kg']:.4g}", _place(r["position_m"]), f"{r['potential_energy_J']:.3f}",
            f"{max(r['largest_torques']):.3g}", f"{r['fall_energy_drift_J']:.1e}", str(len(r["findings"])),
            f"{1e9 * r['inverse_dynamics_seconds_per_state']:.0f}",
        )  # fmt: skip
    return table


def _place(position: list[float]) -> str:
    return ", ".join(f"{0.0 if abs(x) < 1e-12 else x:.3f}" for x in position)
