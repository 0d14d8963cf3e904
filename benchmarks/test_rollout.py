"""Whole motions beside ``mujoco.rollout`` in the same run: the same arm, step, integrator and one thread; no contacts.

The group's ratio is that of throughputs. Both allocate their results; what they return is compared before.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import recursa as rc

ROWS, STEPS, STEP = 4096, 1000, 5e-4


@cache
def subject() -> tuple[rc.Robot, np.ndarray, np.ndarray]:
    robot = rc.robots.panda_like()
    states = [robot.random_state(seed) for seed in range(ROWS)]
    q0, v0 = (np.array(x) for x in zip(*states, strict=True))
    rc.rollout(robot, q0[:8], v0[:8], None, STEP, 1)  # compiled
    return robot, q0, v0


@cache
def in_mujoco() -> Any:
    mujoco = pytest.importorskip("mujoco")
    from mujoco_model import InMujoco

    there = InMujoco(subject()[0])
    there.model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    there.model.opt.timestep = STEP
    there.model.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    return there


def mujoco_rollout(rows: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    from mujoco import rollout

    robot, q0, v0 = subject()
    there = in_mujoco()
    start = np.hstack([np.zeros((rows, 1)), q0[:rows], v0[:rows]])  # the time comes first
    state, _ = rollout.rollout(there.model, there.data, start, nstep=steps)
    return state[..., 1 : 1 + robot.nq], state[..., 1 + robot.nq :]


def test_both_compute_the_same_motion():
    robot, q0, v0 = subject()
    in_mujoco()
    own = rc.rollout(robot, q0[:16], v0[:16], None, STEP, 200)
    for x, y in zip(own, mujoco_rollout(16, 200), strict=True):
        assert np.abs(x - y).max() < 1e-9 * np.abs(y).max()


@pytest.mark.benchmark(group=f"rollout, panda_like, RK4, {ROWS} rows of {STEPS} steps")
@pytest.mark.parametrize("library", ["recursa", "recursa, 2 threads", "mujoco"])
def test_rollout(benchmark, library):
    robot, q0, v0 = subject()
    if library == "mujoco":
        in_mujoco()
        benchmark.pedantic(mujoco_rollout, (ROWS, STEPS), rounds=1)
    else:
        threads = 2 if "2" in library else 1
        benchmark.pedantic(rc.rollout, (robot, q0, v0, None, STEP, STEPS), {"threads": threads}, rounds=3)


# ---- with controllers ------------------------------------------------------------------------------------------------

READY = np.array([0.3, -0.6, 0.2, -2.0, 0.1, 1.6, 0.4])
SPRINGS, DAMPERS = np.array([80.0] * 4 + [2.0] * 3), np.array([8.0] * 4 + [0.05] * 3)


@cache
def controllers() -> dict[str, Any]:
    robot = subject()[0]
    motion, pose, law = rc.Trajectory.cycloid(READY, READY + 0.3, T=2.0), robot.pose(READY, "flange"), rc.control
    return {
        "open": None,
        "GravityPD": law.GravityPD(robot, READY, SPRINGS, DAMPERS),
        "ComputedTorque": law.ComputedTorque(robot, motion, 100.0),
        "LinearQuadratic": law.LinearQuadratic(robot, motion, knots=11),
        "RateDamping": law.RateDamping(robot, 3.0),
        "PoseRegulator": law.PoseRegulator(robot, "flange", pose),
        "Impedance": law.Impedance(robot, "flange", pose, [20] * 3 + [300] * 3, [0.2] * 3 + [20] * 3),
        "OperationalSpace": law.OperationalSpace(robot, "flange", pose, 100.0),
        "Admittance": law.Admittance(robot, "flange", pose, [0, 0, 1, 0, 8, 8], 2.0, 200.0, 40.0, 400.0),
        "Adaptive": law.Adaptive(robot, motion, 8.0, DAMPERS, 0.02),
        "Adaptive, natural": law.Adaptive(robot, motion, 8.0, DAMPERS, 0.02, method="natural"),
    }


@pytest.mark.benchmark(group=f"closed loops, panda_like, RK4, {ROWS} rows of 100 steps")
@pytest.mark.parametrize(
    "name",
    ["open", "GravityPD", "ComputedTorque", "LinearQuadratic", "RateDamping", "PoseRegulator", "Impedance",
     "OperationalSpace", "Admittance", "Adaptive", "Adaptive, natural"],
)  # fmt: skip
def test_closed_loop(benchmark, name):
    robot, law = subject()[0], controllers()[name]
    rng = np.random.default_rng(0)
    q, v = READY + 0.1 * rng.normal(size=(ROWS, 7)), 0.1 * rng.normal(size=(ROWS, 7))
    rc.rollout(robot, q[:8], v[:8], law, 2e-4, 1)  # compiled
    benchmark.pedantic(rc.rollout, (robot, q, v, law, 2e-4, 100), {"save_every": 100}, rounds=5)


@pytest.mark.benchmark(group="closed loops, panda_like, RK4, one row of 100 steps by simulate")
@pytest.mark.parametrize("name", ["GravityPD", "ComputedTorque", "Impedance", "Adaptive"])
def test_closed_loop_by_simulate(benchmark, name):
    robot, law = subject()[0], controllers()[name]
    options = {"duration": 0.02, "torque": law, "integrator": "rk4", "step": 2e-4, "save_every": 100, "losses": False}
    benchmark.pedantic(robot.simulate, (READY + 0.1,), options, rounds=5, warmup_rounds=1)
