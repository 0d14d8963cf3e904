"""``recursa bench``: our latency and throughput beside every installed peer, as ratios in one run."""

from __future__ import annotations

import platform
from functools import partial
from typing import Any

import numpy as np
from rich.table import Table

import recursa as rc
from recursa.interop.timing import Asked, Work, calls, in_turns, installed_peers
from recursa.quantities import quantity

QUANTITIES = ("inverse_dynamics", "mass_matrix", "forward_dynamics")  # what people ask first; --all has the others
BATCH = 10_000


def run_bench(robot: rc.Robot, batch: int = BATCH, repeats: int = 7) -> dict[str, Any]:
    """Times in seconds: a call with one state, and a state within a batch, ours beside peers' single calls."""
    peers, _ = installed_peers(robot)
    results: dict[str, Any] = {}
    for name in QUANTITIES:
        asked = Asked(robot, quantity(name), batch)
        works = {
            "call": calls(asked.single, asked.rows),
            "batch": Work(partial(asked.whole, threads=None), batch),
            "batch, 2 threads": Work(partial(asked.whole, threads=2), batch),
        }
        works |= {peer: calls(*theirs) for peer, one in peers.items() if (theirs := asked.of_peer(one)) is not None}
        asked.whole()
        results[name] = {kind: float(times.min()) for kind, times in in_turns(works, repeats).items()}
    return {**about(robot), "batch": batch, "seconds": results}


def about(robot: rc.Robot) -> dict[str, Any]:
    """What is measured on what."""
    machine = f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}"
    return {"robot": robot.name, "nv": robot.nv, "machine": machine}


def bench_table(report: dict[str, Any]) -> Table:
    """Microseconds, and how many times faster than each peer's call."""
    title = f"{report['robot']}, nv = {report['nv']}: microseconds (times faster than the peer's call from Python)"
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name in QUANTITIES:
        table.add_column(name.replace("_", " "), justify="right")
    seconds = report["seconds"]
    kinds = list(seconds[QUANTITIES[0]])
    peers = [kind for kind in kinds if kind not in ("call", "batch", "batch, 2 threads")]
    for kind in kinds:
        cells = []
        for name in QUANTITIES:
            own = seconds[name][kind]
            ratios = "" if kind in peers else _ratios([seconds[name][peer] / own for peer in peers])
            cells.append(f"{1e6 * own:.3f}{ratios}")
        label = f"{kind}, a call" if kind in peers else f"recursa, {kind}"
        table.add_row(label, *cells)
    return table


def _ratios(values: list[float]) -> str:
    return f"  ({', '.join(f'{value:.1f}x' for value in values)})" if values else ""
