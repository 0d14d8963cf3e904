"""Loading, importing and kinematics, beside Pinocchio where it is installed. Run with ``make bench``.

Machines are noisy: read ratios within one run, not times across runs.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import numpy as np
import pytest

import recursa as rc
from recursa.interop import pinocchio as interop

BATCH = 10_000
EXAMPLES = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots"
ROBOTS = {
    "the Panda": "panda_description/urdf/panda.urdf",
    "UR5": "ur_description/urdf/ur5_robot.urdf",
    "Talos": "talos_data/robots/talos_reduced.urdf",
}
needs_panda = pytest.mark.skipif(not EXAMPLES.exists(), reason="example-robot-data is not installed")


def _import(module: str) -> None:
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True)


@pytest.mark.benchmark(group="import, fresh process")
@pytest.mark.parametrize("module", ["sys", "numpy", "recursa", "pinocchio"])
def test_import(benchmark, module):
    if module == "pinocchio":
        pytest.importorskip(module)
    benchmark.pedantic(_import, (module,), rounds=7, warmup_rounds=1)


@needs_panda
@pytest.mark.filterwarnings("ignore::recursa.ModelWarning")
@pytest.mark.parametrize("name", ROBOTS)
def test_load(benchmark, name):
    """Both in turns, in processor time, the least of many rounds: the ratio is what counts."""
    pin = pytest.importorskip("pinocchio")
    path = EXAMPLES / ROBOTS[name]
    ways = {"recursa": lambda: rc.load(path, strict=False), "pinocchio": lambda: pin.buildModelFromUrdf(str(path))}
    least = dict.fromkeys(ways, float("inf"))
    for _ in range(100):
        for library, load in ways.items():
            start = time.process_time_ns()
            load()
            least[library] = min(least[library], 1e-6 * (time.process_time_ns() - start))
    benchmark.extra_info.update(least, ratio=least["recursa"] / least["pinocchio"])
    print(f"load {name}: {least['recursa']:.2f} ms, Pinocchio {least['pinocchio']:.2f} ms")
    benchmark(ways["recursa"])


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
