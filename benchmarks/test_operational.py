"""Operational compliance of all links of a floating humanoid, beside Pinocchio with NumPy. Run with ``make bench``.

The peer is called state by state, as Python has it: the mass matrix, all link Jacobians stacked, and one factorisation
of the mass matrix for all of them, ``Y = inv(L) J*``, ``Upsilon(k) = Y_k* Y_k``. Both give the 6x6 blocks of all links.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from states import sample

import recursa as rc
from robot_data import urdf_files

BATCH = 1_000
FILES = {path.name: path for path in urdf_files()}
NAMES = ("simple_humanoid.urdf", "talos_reduced.urdf")
brief = pytest.mark.benchmark(max_time=0.5, min_rounds=3, warmup=True, warmup_iterations=1)
every_robot = pytest.mark.parametrize("name", NAMES)


@cache
def subject(name: str) -> tuple[rc.Robot, Any]:
    if name not in FILES:
        pytest.skip("example-robot-data is not installed")
    robot = rc.load(FILES[name], floating=True)
    return robot, sample(robot, BATCH)[0]


def by_numpy(mass: Any, jacobians: Any) -> Any:
    """With NumPy's Cholesky factor."""
    return np.linalg.solve(np.linalg.cholesky(mass), jacobians.T)


def by_scipy(mass: Any, jacobians: Any) -> Any:
    """With a triangular solver, which NumPy lacks."""
    linalg = pytest.importorskip("scipy.linalg")
    factor = linalg.cholesky(mass, lower=True, check_finite=False)
    return linalg.solve_triangular(factor, jacobians.T, lower=True, check_finite=False)


def by_pinocchio(name: str, solved: Callable[[Any, Any], Any]) -> tuple[Callable[[Any], Any], Any]:
    """The blocks at one configuration, and the configurations."""
    pin = pytest.importorskip("pinocchio")
    subject(name)
    model = pin.buildModelFromUrdf(str(FILES[name]), pin.JointModelFreeFlyer())
    data = model.createData()
    links = [k for k, frame in enumerate(model.frames) if frame.type == pin.FrameType.BODY]
    upper = np.triu(np.ones((model.nv, model.nv), dtype=bool), 1)

    def compliances(q: Any) -> Any:
        mass = pin.crba(model, data, q)
        mass.T[upper] = mass[upper]
        pin.computeJointJacobians(model, data, q)
        pin.updateFramePlacements(model, data)
        jacobians = np.concatenate([pin.getFrameJacobian(model, data, k, pin.LOCAL) for k in links])
        half = solved(mass, jacobians).T.reshape(len(links), 6, model.nv)
        return half @ half.transpose(0, 2, 1)

    size = np.ones(model.nq)
    return compliances, [pin.randomConfiguration(model, -size, size) for _ in range(BATCH)]


@brief
@every_robot
@pytest.mark.parametrize("solved", [by_numpy, by_scipy])
def test_all_links_by_pinocchio(benchmark, name, solved):
    benchmark.group = f"operational compliance of all links, {name}, {BATCH} states"
    one, states = by_pinocchio(name, solved)

    def loop() -> None:
        for q in states:
            one(q)

    benchmark(loop)


@brief
@every_robot
@pytest.mark.parametrize("frame", ["body", "mixed"])
def test_all_links(benchmark, name, frame):
    benchmark.group = f"operational compliance of all links, {name}, {BATCH} states"
    robot, q = subject(name)
    out = np.empty_like(robot.operational_compliance(q, frame=frame))
    benchmark(partial(robot.operational_compliance, q, frame=frame, out=out))


@brief
@every_robot
@pytest.mark.parametrize("what", ["compliance", "inertia", "delassus of two", "delassus of four points"])
def test_some_links(benchmark, name, what):
    benchmark.group = f"{what}, {name}, {BATCH} states"
    robot, q = subject(name)
    tips = [link for link in robot.link_names[1:] if robot.model.links[robot.model.link_index(link)].body >= 0][-1::-9]
    ask = {
        "compliance": lambda: robot.operational_compliance(q, tips[0]),
        "inertia": lambda: robot.operational_inertia(q, tips[0]),
        "delassus of two": lambda: robot.delassus(q, tips[:2]),
        "delassus of four points": lambda: robot.delassus(q, tips[:4], coordinates="position"),
    }[what]
    benchmark(ask)
