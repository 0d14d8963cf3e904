"""Importing and kinematics, beside Pinocchio where it is installed. Run with ``make bench``.

Machines are noisy: read ratios within one run, not times across runs.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import recursa as rc
from recursa.interop import pinocchio as interop

BATCH = 10_000


def _import(module: str) -> None:
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)


@pytest.mark.benchmark(group="import, fresh process")
@pytest.mark.parametrize("module", ["sys", "numpy", "recursa", "pinocchio"])
def test_import(benchmark, module):
    if module == "pinocchio":
        pytest.importorskip(module)
    benchmark.pedantic(_import, (module,), rounds=7, warmup_rounds=1)


@pytest.fixture(scope="module")
def arm():
    robot = rc.robots.panda_like()
    states = [robot.random_state(seed) for seed in range(100)]
    q = np.tile(np.stack([s[0] for s in states]), (BATCH // 100, 1))
    v = np.tile(np.stack([s[1] for s in states]), (BATCH // 100, 1))
    return robot, q, v


@pytest.mark.benchmark(group=f"Jacobian of the flange, {BATCH} states, one thread")
@pytest.mark.parametrize("library", ["recursa", "pinocchio"])
def test_jacobian_batch(benchmark, arm, library):
    robot, q, _ = arm
    if library == "recursa":
        benchmark(robot.jacobian, q, "flange")
        return
    pin = pytest.importorskip("pinocchio")
    model = interop.build(robot)
    data, frame = model.createData(), model.getFrameId("flange")

    def loop() -> None:
        for row in q:
            pin.computeFrameJacobian(model, data, row, frame, pin.ReferenceFrame.LOCAL)

    benchmark(loop)


@pytest.mark.benchmark(group=f"kinetic energy, {BATCH} states, one thread")
@pytest.mark.parametrize("library", ["recursa", "pinocchio"])
def test_kinetic_energy_batch(benchmark, arm, library):
    robot, q, v = arm
    if library == "recursa":
        benchmark(robot.kinetic_energy, q, v)
        return
    pin = pytest.importorskip("pinocchio")
    model = interop.build(robot)
    data = model.createData()

    def loop() -> None:
        for a, b in zip(q, v, strict=True):
            pin.computeKineticEnergy(model, data, a, b)

    benchmark(loop)


@pytest.mark.benchmark(group="Jacobian of the flange, one state")
@pytest.mark.parametrize("library", ["recursa", "pinocchio"])
def test_jacobian_single(benchmark, arm, library):
    robot, q, _ = arm
    if library == "recursa":
        benchmark(robot.jacobian, q[0], "flange")
        return
    pin = pytest.importorskip("pinocchio")
    model = interop.build(robot)
    data, frame = model.createData(), model.getFrameId("flange")
    benchmark(pin.computeFrameJacobian, model, data, q[0], frame, pin.ReferenceFrame.LOCAL)
