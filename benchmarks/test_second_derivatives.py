"""Second derivatives of inverse dynamics, contracted with a vector: recursion, differentiated graph, Pinocchio.

Pinocchio's second-order recursion is not bound in Python, so its way there is central differences of its analytic first
derivatives, two calls per freedom for q and two for v. Beside it stands one call of these first derivatives. Run with
``python -m pytest benchmarks/test_second_derivatives.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from states import sample

import recursa as rc
from recursa.dynamics import gathering, inverse
from recursa.interop import pinocchio as interop
from recursa.kernels.adjoint import gradient, tangent
from recursa.kernels.emit import emit
from recursa.kernels.graph import Graph, Traced
from recursa.kernels.native import Native, simd_shape
from recursa.model.may_move import MayMove
from recursa.sweeps.engine import run
from robot_data import urdf_files

HUMANOID = [path for path in urdf_files() if path.name == "simple_humanoid.urdf"]
ROBOTS: dict[str, tuple[Callable[[], rc.Robot], int]] = {
    "panda_like": (rc.robots.panda_like, 10_000),
    "chain of 7": (lambda: rc.robots.chain(7, seed=1), 10_000),
    "floating humanoid": (lambda: rc.load(HUMANOID[0], floating=True), 1000),
    "chain of 12": (lambda: rc.robots.chain(12, seed=1), 1000),
    "chain of 100": (lambda: rc.robots.chain(100, seed=1), 10),
}
SMALL = ["panda_like", "chain of 7"]
brief = pytest.mark.benchmark(max_time=0.5, min_rounds=5, warmup=True, warmup_iterations=1)


@cache
def subject(name: str) -> tuple[rc.Robot, tuple[Any, ...]]:
    if "humanoid" in name and not HUMANOID:
        pytest.skip("example-robot-data is not installed")
    make, batch = ROBOTS[name]
    robot = make()
    return robot, (*sample(robot, batch), np.random.default_rng(0).normal(size=(batch, robot.nv)))


@brief
@pytest.mark.parametrize("what", ["contracted", "direction", "first derivatives"])
@pytest.mark.parametrize("name", ROBOTS)
def test_batch(benchmark, name, what):
    robot, (q, v, a, weights) = subject(name)
    benchmark.group = f"second derivatives, {name}, {len(q)} states"
    n = robot.nv
    if what == "first derivatives":
        out = np.empty((len(q), 3, n, n))
        benchmark(lambda: robot.inverse_dynamics_derivatives(q, v, a, out=out))
        return
    way = (weights, v, a) if what == "direction" else None
    out = np.empty((len(q), 4, n, n) if way is None else (len(q), 3, n))
    ask = robot.inverse_dynamics_second_derivatives
    benchmark(lambda: ask(q, v, a, contract=weights, direction=way, out=out))


@brief
@pytest.mark.parametrize("name", SMALL)
def test_batch_of_full_tensors(benchmark, name):
    robot, (q, v, a, _) = subject(name)
    benchmark.group = f"second derivatives, {name}, {len(q)} states"
    benchmark(lambda: robot.inverse_dynamics_second_derivatives(q, v, a))


@brief
@pytest.mark.parametrize("name", SMALL)
def test_batch_by_a_differentiated_graph(benchmark, name):
    """Inverse dynamics traced, its gradient in reverse, the Hessian forward; for joints of one freedom."""
    robot, (q, v, a, weights) = subject(name)
    benchmark.group = f"second derivatives, {name}, {len(q)} states"
    native = graph_kernel(robot)
    out = np.empty((len(q), 4, robot.nv, robot.nv))
    places = [x.ctypes.data for x in (q, v, a, weights, out)]
    blocks = len(q) // simd_shape(False).width
    benchmark(lambda: native.function(blocks, *places))
    theirs = robot.inverse_dynamics_second_derivatives(q, v, a, contract=weights)
    for block, expected in enumerate(theirs):
        np.testing.assert_allclose(out[: blocks * simd_shape(False).width, block], expected[: len(out)], atol=1e-9)


def graph_kernel(robot: rc.Robot) -> Native:
    n, model = robot.nv, robot.evaluator.store(MayMove.INERTIAS).compiled_model
    graph = Graph()
    q, v, a, weights = (graph.inputs(name, n) for name in "qvaw")
    torques = gathering.joint_vector(model, run(inverse.inverse_plan(), model, {"q": q, "v": v, "a": a})["T"])
    slope = gradient(sum((w * t for w, t in zip(weights, torques, strict=True)), 0.0), [*q, *v, *a])
    along_q = [tangent(slope, {one: 1.0}) for one in q]
    along_v = [tangent(slope[n : 2 * n], {one: 1.0}) for one in v]
    rows = (*(x[:n] for x in along_q), *(x[n : 2 * n] for x in along_q), *along_v, *(x[2 * n :] for x in along_q))
    outputs = [x.number if isinstance(x, Traced) else float(x) for row in rows for x in row]
    return Native(emit(graph, outputs, dict.fromkeys("qvaw", n), simd_shape(False), "kernel"), "kernel", 5)


@brief
@pytest.mark.parametrize("what", ["contracted by differences", "one call of first derivatives"])
@pytest.mark.parametrize("name", ROBOTS)
def test_pinocchio_one_state(benchmark, name, what):
    pin = pytest.importorskip("pinocchio")
    robot, (q, v, a, weights) = subject(name)
    model = interop.build(robot)
    data = model.createData()
    benchmark.group = f"second derivatives, {name}, one state of Pinocchio"
    pq = interop.configuration(robot, model, q[:1])[0]
    pv, pa, pw = (interop.velocity(robot, model, x[:1])[0] for x in (v, a, weights))
    if what.startswith("one"):
        benchmark(pin.computeRNEADerivatives, model, data, pq, pv, pa)
        return
    h, units = 1e-5, np.eye(robot.nv)

    def slope(q: Any, v: Any) -> Any:
        by_q, by_v, _ = pin.computeRNEADerivatives(model, data, q, v, pa)
        return pw @ by_q, pw @ by_v

    def hessian() -> None:
        for unit in units:
            ahead, behind = (slope(pin.integrate(model, pq, x * unit), pv) for x in (h, -h))
            _ = (ahead[0] - behind[0]) / (2 * h), (ahead[1] - behind[1]) / (2 * h)
            ahead, behind = slope(pq, pv + h * unit), slope(pq, pv - h * unit)
            _ = (ahead[1] - behind[1]) / (2 * h)

    benchmark(hessian)
