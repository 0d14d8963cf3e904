"""``recursa bench``: our latency and throughput beside every installed peer, as ratios in one run."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rich.table import Table

import recursa as rc
from recursa.interop import pinocchio as interop
from recursa.interop.mujoco import full_mass

QUANTITIES = ("inverse_dynamics", "mass_matrix", "forward_dynamics")
STATES = 200  # distinct states, repeated to fill a batch
Call = Callable[[int], Any]


def run_bench(robot: rc.Robot, batch: int = 10_000, repeats: int = 7) -> dict[str, Any]:
    """Times in seconds: a call with one state, and a state within a batch, ours beside peers' single calls."""
    q, v, x = sample(robot, max(batch, STATES))
    calls: dict[str, tuple[Any, ...]] = {
        "inverse_dynamics": (q, v, x),
        "mass_matrix": (q,),
        "forward_dynamics": (q, v, x),
    }
    peers = _peers(robot, q, v, x)
    results: dict[str, Any] = {}
    for name in QUANTITIES:
        method, arguments = getattr(robot, name), calls[name]
        rows = [tuple(argument[k] for argument in arguments) for k in range(STATES)]
        arguments = tuple(argument[:batch] for argument in arguments)
        method(*arguments)
        method(*rows[0])
        timing = {
            "call": _best(partial(_each, method, rows), repeats) / STATES,
            "batch": _best(partial(method, *arguments), repeats) / batch,
            "batch, 2 threads": _best(partial(method, *arguments, threads=2), repeats) / batch,
        }
        for peer, functions in peers.items():
            numbers = [(k,) for k in range(STATES)]
            timing[peer] = _best(partial(_each, functions[name], numbers), repeats) / STATES
        results[name] = timing
    return {
        "robot": robot.name,
        "nv": robot.nv,
        "batch": batch,
        "machine": f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}",
        "seconds": results,
    }


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


def sample(robot: rc.Robot, batch: int) -> tuple[Any, Any, Any]:
    """Rows of q, v and of accelerations or torques."""
    drawn = [robot.random_state(seed) for seed in range(STATES)]
    repeats = -(-batch // STATES)
    q = np.tile(np.stack([state[0] for state in drawn]), (repeats, 1))[:batch]
    v = np.tile(np.stack([state[1] for state in drawn]), (repeats, 1))[:batch]
    return q, v, np.random.default_rng(0).normal(size=v.shape)


def _each(function: Callable[..., Any], arguments: list[tuple[Any, ...]]) -> None:
    for row in arguments:
        function(*row)


def _best(work: Callable[[], Any], repeats: int) -> float:
    """The least of several timings: noise only ever adds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _peers(robot: rc.Robot, q: Any, v: Any, x: Any) -> dict[str, dict[str, Call]]:
    found = {"pinocchio": pinocchio_calls(robot, q, v, x), "mujoco": _mujoco(robot, q, v, x)}
    return {name: calls for name, calls in found.items() if calls is not None}


def pinocchio_calls(robot: rc.Robot, q: Any, v: Any, x: Any) -> dict[str, Call] | None:
    """Each quantity for state number k, as Pinocchio is called from Python; None if it is not installed."""
    try:
        import pinocchio as pin
    except ImportError:
        return None
    model = interop.build(robot)
    data = model.createData()
    pq = list(interop.configuration(robot, model, q[:STATES]))
    pv, px = (list(interop.velocity(robot, model, a[:STATES])) for a in (v, x))
    return {
        "inverse_dynamics": lambda k: pin.rnea(model, data, pq[k], pv[k], px[k]),
        "mass_matrix": lambda k: pin.crba(model, data, pq[k]),
        "forward_dynamics": lambda k: pin.aba(model, data, pq[k], pv[k], px[k]),
        "mass_matrix_inverse": lambda k: pin.computeMinverse(model, data, pq[k]),
        "inverse_dynamics_derivatives": lambda k: pin.computeRNEADerivatives(model, data, pq[k], pv[k], px[k]),
        "forward_dynamics_derivatives": lambda k: pin.computeABADerivatives(model, data, pq[k], pv[k], px[k]),
    }


def _mujoco(robot: rc.Robot, q: Any, v: Any, x: Any) -> dict[str, Call] | None:
    """Robots with one freedom per joint, as MuJoCo reads them from our URDF."""
    try:
        import mujoco
    except ImportError:
        return None
    if robot.nq != robot.nv:
        return None
    try:
        model = mujoco.MjModel.from_xml_string(robot.to_urdf())
    except ValueError:
        return None
    if model.nv != robot.nv:
        return None
    calls = mujoco_calls(model, q, v, x)
    try:
        for call in calls.values():
            call(0)
    except (AttributeError, TypeError):  # another version of its interface
        return None
    return calls


def mujoco_calls(model: Any, q: Any, v: Any, x: Any) -> dict[str, Call]:
    """Each quantity for state number k, as MuJoCo is called from Python; rows in its own conventions."""
    import mujoco

    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    full = np.zeros((model.nv, model.nv))

    def inverse(k: int) -> Any:
        data.qpos, data.qvel, data.qacc = q[k], v[k], x[k]
        mujoco.mj_inverse(model, data)
        return data.qfrc_inverse

    def forward(k: int) -> Any:
        data.qpos, data.qvel, data.qfrc_applied = q[k], v[k], x[k]
        mujoco.mj_forward(model, data)
        return data.qacc

    def mass(k: int) -> Any:
        data.qpos = q[k]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_crb(model, data)
        return full_mass(model, data, full)

    return {"inverse_dynamics": inverse, "mass_matrix": mass, "forward_dynamics": forward}
