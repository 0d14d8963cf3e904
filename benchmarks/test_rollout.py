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
