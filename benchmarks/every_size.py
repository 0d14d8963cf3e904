"""Every quantity at every size against Pinocchio from Python: ``python benchmarks/every_size.py [ROBOT ...]``.

Robots: arm, chain30, chain100, tree60, and files of example-robot-data by name, where these are installed, on a free
base (go1, talos). A cell is Pinocchio's time over ours: single call, then 512 states on one thread into a given array.
For results in matrices a third number is the time of a batch over that of merely writing its bytes. Measured in turns,
the fastest turn of each counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pinocchio as pin

import recursa as rc
from recursa.interop import pinocchio as interop

STATES, TURNS, SLICE = 512, 15, 2e-3
FILES = {
    "go1": "go1.urdf",
    "solo12": "solo12.urdf",
    "talos": "talos_full_v2.urdf",
    "talos_reduced": "talos_reduced.urdf",
}


def robot_of(name: str) -> rc.Robot:
    """A robot by the names above, or a bundled one, or a file."""
    if name in FILES:
        found = [p for place in map(Path, sys.path) for p in place.rglob(f"example-robot-data/robots/**/{FILES[name]}")]
        return rc.load(found[0], floating=True)
    if name == "arm":
        return rc.robots.panda_like()
    if name.startswith("chain"):
        return rc.robots.chain(int(name[5:]))
    if name.startswith("tree"):
        return rc.robots.tree(int(name[4:]))
    return rc.load(name, floating=name.endswith("+"))


def seconds(call: Callable[[], Any], count: int) -> float:
    """Processor time per call."""
    start = process_time()
    for _ in range(count):
        call()
    return (process_time() - start) / count


def fastest(*calls: Callable[[], Any]) -> list[float]:
    """Seconds per call, measured in turns."""
    counts = []
    for call in calls:
        call(), call()
        counts.append(max(1, int(SLICE / max(seconds(call, 2), 1e-8))))
    best = [np.inf] * len(calls)
    for _ in range(TURNS):
        best = [min(b, seconds(c, n)) for b, c, n in zip(best, calls, counts, strict=True)]
    return best


Row = tuple[str, Callable[..., Any], tuple[Any, ...], Callable[..., Any]]


def questions(robot: rc.Robot) -> Iterator[Row]:
    """Name, our call, our arguments, Pinocchio's call of the state's number."""
    model = interop.build(robot)
    data = model.createData()
    states = [robot.random_state(k) for k in range(STATES)]
    q, v = (np.array(x) for x in zip(*states, strict=True))
    a = np.random.default_rng(0).uniform(-1, 1, v.shape)
    Q = [interop.configuration(robot, model, x) for x in q]
    V, A = ([interop.velocity(robot, model, y) for y in x] for x in (v, a))
    tip = robot.link_names[-1]
    frame = model.njoints - 1

    yield "inverse dynamics", robot.inverse_dynamics, (q, v, a), lambda k: pin.rnea(model, data, Q[k], V[k], A[k])
    yield "forward dynamics", robot.forward_dynamics, (q, v, a), lambda k: pin.aba(model, data, Q[k], V[k], A[k])
    yield "gravity", robot.gravity_forces, (q,), lambda k: pin.computeGeneralizedGravity(model, data, Q[k])
    yield "mass matrix", robot.mass_matrix, (q,), lambda k: pin.crba(model, data, Q[k])
    yield "its inverse", robot.mass_matrix_inverse, (q,), lambda k: pin.computeMinverse(model, data, Q[k])
    yield "Coriolis", robot.coriolis_matrix, (q, v), lambda k: pin.computeCoriolisMatrix(model, data, Q[k], V[k])
    yield (
        "d inverse dynamics", robot.inverse_dynamics_derivatives, (q, v, a),
        lambda k: pin.computeRNEADerivatives(model, data, Q[k], V[k], A[k]),
    )  # fmt: skip
    yield (
        "d forward dynamics", robot.forward_dynamics_derivatives, (q, v, a),
        lambda k: pin.computeABADerivatives(model, data, Q[k], V[k], A[k]),
    )  # fmt: skip
    yield (
        "regressor", robot.regressor, (q, v, a),
        lambda k: pin.computeJointTorqueRegressor(model, data, Q[k], V[k], A[k]),
    )  # fmt: skip
    yield (
        "frame Jacobian", partial(robot.jacobian, link=tip), (q,),
        lambda k: pin.computeJointJacobian(model, data, Q[k], frame),
    )  # fmt: skip
    yield "frame poses", robot.poses, (q,), lambda k: _poses(model, data, Q[k])
    yield "centroidal", robot.momentum_matrix, (q,), lambda k: pin.computeCentroidalMap(model, data, Q[k])


def _poses(model: Any, data: Any, q: Any) -> None:
    pin.forwardKinematics(model, data, q)
    pin.updateFramePlacements(model, data)


def measured(row: Row) -> str:
    """The three numbers of a cell."""
    _, ours, arguments, theirs = row
    one = [x[3].copy() for x in arguments]
    many = ours(*arguments)
    out = np.stack(many, axis=-3) if isinstance(many, tuple) else np.empty_like(many)
    zeros = np.empty_like(out)
    single, peer, batched, written = fastest(
        partial(ours, *one), partial(theirs, 3), lambda: ours(*arguments, out=out), lambda: zeros.fill(0.0)
    )  # fmt: skip
    tail = "" if out.ndim < 3 else f" ({batched / written:.1f})"
    return f"{peer / single:.1f} / {peer / (batched / STATES):.1f}{tail} [{single * 1e6:.2f} us]"


def main(names: list[str]) -> None:
    """Print a table in Markdown."""
    robots = {name: robot_of(name) for name in names}
    rows: dict[str, list[str]] = {}
    for robot in robots.values():
        for row in questions(robot):
            rows.setdefault(row[0], []).append(measured(row))
            print(".", end="", flush=True, file=sys.stderr)
    print("\n| |", " | ".join(f"{name}, nv {robot.nv}" for name, robot in robots.items()), "|")
    print("|---|" + "---|" * len(robots))
    for name, cells in rows.items():
        print("|", name, "|", " | ".join(cells), "|")


if __name__ == "__main__":
    main(sys.argv[1:] or ["arm", "go1", "talos", "chain30", "tree60", "chain100"])
