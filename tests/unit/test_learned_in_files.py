"""What controllers learn is kept by files, and a run that was cut short goes on with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import recursa as rc


def learning(arm: rc.Robot, **more) -> rc.control.Adaptive:
    motion = rc.Trajectory.cycloid([0.0, 0.5], [1.0, -0.5], T=1.0)
    return rc.control.Adaptive(arm, motion, bandwidth=8.0, damping=2.0, adaptation=0.5, **more)


@pytest.fixture(scope="module")
def arm() -> rc.Robot:
    return rc.robots.planar(2)


def test_files_keep_the_memory(arm: rc.Robot, tmp_path: Path) -> None:
    loaded = arm.with_payload("tip", 2.0)
    run = loaded.simulate([0.0, 0.5], duration=0.4, torque=learning(arm), integrator="rk4", step=2e-3, save_every=10)
    assert run.memory is not None and np.ptp(run.memory, axis=0).max() > 1e-3  # it has learned
    run.save(tmp_path / "run.npz")
    np.testing.assert_array_equal(rc.read(tmp_path / "run.npz").memory, run.memory)
    run.save(tmp_path / "run.npz")
    np.testing.assert_array_equal(np.load(tmp_path / "run.npz")["memory"], run.memory)
    plain = arm.simulate([0.0, 0.5], duration=0.1)
    plain.save(tmp_path / "plain.npz")
    assert rc.read(tmp_path / "plain.npz").memory is None


def test_a_further_run_starts_with_what_was_learned(arm: rc.Robot, tmp_path: Path) -> None:
    """Two halves, the second from a file, are the whole."""
    loaded = arm.with_payload("tip", 2.0)
    options = {"integrator": "rk4", "step": 2e-3}
    whole = loaded.simulate([0.0, 0.5], duration=0.4, torque=learning(arm), **options)
    loaded.simulate([0.0, 0.5], duration=0.2, torque=learning(arm), **options).save(tmp_path / "half.npz")
    half = rc.read(tmp_path / "half.npz")
    later = learning(arm, estimate=half.memory[-1])
    later._desired = lambda t, of=later._desired: of(np.asarray(t) + 0.2)
    rest = half.robot.simulate(half.q[-1], half.v[-1], duration=0.2, torque=later, **options)
    np.testing.assert_allclose(rest.memory[-1], whole.memory[-1], rtol=1e-12)
    np.testing.assert_allclose(rest.q[-1], whole.q[-1], rtol=1e-12)


@pytest.mark.parametrize("options", [{"integrator": "rk4", "step": 2e-3}, {"integrator": "dop853"}])
def test_resumed_runs_go_on_with_it(arm: rc.Robot, tmp_path: Path, options) -> None:
    loaded = arm.with_payload("tip", 2.0)
    whole = loaded.simulate([0.0, 0.5], duration=0.5, torque=learning(arm), samples=11, **options)
    broken = learning(arm)
    driven = broken.driven

    def interrupted(t: float, *state):
        if t > 0.25:
            raise KeyboardInterrupt
        return driven(t, *state)

    broken.driven = interrupted  # type: ignore[method-assign]
    file = tmp_path / "run.part"
    cut = loaded.simulate(
        [0.0, 0.5], duration=0.5, torque=broken, samples=11, checkpoint=file, checkpoint_every=0.01, **options
    )
    assert cut.interrupted
    resumed = rc.resume(file, torque=learning(arm))
    np.testing.assert_array_equal(resumed.memory, whole.memory)
    np.testing.assert_array_equal(resumed.q, whole.q)
