"""The native loop over time steps against the same integrators stepped from Python."""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import recursa as rc
from numeric import close, same_bits, states, tied_gripper
from questions import interpreted
from recursa.kernels import rollout_kernel
from recursa.kernels.dispatch import Switch
from recursa.kernels.kernel import Program
from recursa.loading import trusted
from recursa.model.joints import KINDS
from recursa.robots import random_description
from zoo import one_of_each, small_mixed_tree

pytestmark = pytest.mark.compiled

STEP = 2e-3


def lossy_tree() -> rc.Robot:
    """Three joints of two kinds, all with damping and friction."""
    description = random_description("lossy", [-1, 0, 0], 31, ["spherical", "revolute"])
    joints = tuple(
        replace(joint, damping=(0.05 * (k + 1),) * KINDS[joint.kind].nv, friction=(0.02,) * KINDS[joint.kind].nv)
        for k, joint in enumerate(description.joints)
    )
    return trusted(replace(description, joints=joints))


ROBOTS = {
    "panda_like": rc.robots.panda_like,
    "small_mixed_tree": small_mixed_tree,
    "free_flyer": lambda: rc.robots.free_flyer(2),
    "lossy_tree": lossy_tree,
    "one_of_each": one_of_each,
    "chain": lambda: rc.robots.chain(66, seed=6),
}
LOOPS = ("chain", "one_of_each")


def kernels(robot: rc.Robot) -> list[rollout_kernel.RolloutKernel]:
    return [kernel for store in robot.evaluator.stores for kernel in store._rollouts.values() if kernel is not None]


def programs_of(kernel: rollout_kernel.RolloutKernel) -> list[Program]:
    return [one for native in kernel._compiled.values() for one in native.programs]


@pytest.fixture(scope="module")
def arm() -> rc.Robot:
    return rc.robots.planar(3)


@pytest.mark.parametrize("name", ROBOTS)
def test_native_loop_matches_steps_from_python(name, monkeypatch):
    if name in LOOPS:
        monkeypatch.setattr(Switch, "form", "loop")
    robot = ROBOTS[name]()
    rng = np.random.default_rng(1)
    rows, steps = 6, 2 if name in LOOPS else 4
    q0, v0, _ = states(robot, rows)
    torque = rng.normal(size=(rows, steps, robot.nv))

    def ask(integrator="rk4"):
        return rc.rollout(robot, q0, v0, torque, STEP, steps, integrator)

    for integrator in ("rk4", "semi-implicit", "euler") if name == "lossy_tree" else ("rk4",):
        for x, y in zip(ask(integrator), interpreted(ask, integrator), strict=True):
            close(x, y, 1e-11, integrator)
    forms = {one.form for kernel in kernels(robot) for one in programs_of(kernel)}
    assert forms == {"loop" if name in LOOPS else "straight"}


@pytest.mark.parametrize("form", ["straight", "loop"])
def test_row_depends_neither_on_its_place_nor_on_threads(form, monkeypatch):
    monkeypatch.setattr(Switch, "form", form)
    robot = rc.robots.free_flyer(1)
    q0, v0, torque = states(robot, 11)
    q, v = rc.rollout(robot, q0, v0, torque, STEP, 6, save_every=2)
    for row in (0, 3, 10):
        alone = rc.rollout(robot, q0[row], v0[row], torque[row], STEP, 6, save_every=2)
        same_bits(alone[0], q[row])
        same_bits(alone[1], v[row])
    for threads in (2, 5, 64):
        again = rc.rollout(robot, q0[::-1], v0[::-1], torque[::-1], STEP, 6, save_every=2, threads=threads)
        same_bits(again[0][::-1], q)
        same_bits(again[1][::-1], v)


def test_pieces_do_not_change_a_bit(arm, monkeypatch):
    q0, v0, _ = states(arm, 9)
    torque = np.random.default_rng(3).normal(size=(9, 20, 3))
    whole = rc.rollout(arm, q0, v0, torque, STEP, 20, save_every=5)
    for piece in (1, 3000, 10**5):
        monkeypatch.setattr(rollout_kernel, "PIECE", piece)
        for x, y in zip(rc.rollout(arm, q0, v0, torque, STEP, 20, save_every=5, threads=2), whole, strict=True):
            same_bits(x, y)


def test_torques_of_all_shapes(arm):
    q0, v0, _ = states(arm, 5)
    rng = np.random.default_rng(4)
    constant = rng.normal(size=(5, 3))
    per_step = np.repeat(constant[:, None], 8, axis=1)
    expected = rc.rollout(arm, q0, v0, per_step, STEP, 8)
    for x, y in zip(rc.rollout(arm, q0, v0, constant, STEP, 8), expected, strict=True):
        same_bits(x, y)
    none = rc.rollout(arm, q0, v0, None, STEP, 8)
    same_bits(none[0], rc.rollout(arm, q0, v0, np.zeros(3), STEP, 8)[0])
    shared = rng.normal(size=(1, 8, 3))
    each = rc.rollout(arm, q0, v0, np.repeat(shared, 5, axis=0), STEP, 8)
    same_bits(rc.rollout(arm, q0, v0, shared, STEP, 8)[1], each[1])
    one = rc.rollout(arm, q0[2], v0[2], shared[0], STEP, 8)
    same_bits(one[1], each[1][2])
    assert np.abs(each[1] - none[1]).max() > 1e-3


def test_robots_of_their_own_for_each_row(arm):
    q0, v0, torque = states(arm, 5)
    own = np.concatenate([inertia.components() for inertia in arm.model.inertias])
    parameters = own * np.array([1.0, 1.0, 1.3, 0.8, 2.0])[:, None]
    q, v = rc.rollout(arm, q0, v0, torque, STEP, 5, parameters=parameters)
    plain = rc.rollout(arm, q0, v0, torque, STEP, 5)
    assert np.abs(v - plain[1])[:2].max() < 1e-12
    assert np.abs(v - plain[1])[2:].max(axis=(1, 2)).min() > 1e-4
    expected = interpreted(lambda: rc.rollout(arm, q0, v0, torque, STEP, 5, parameters=parameters))
    assert np.abs(q - expected[0]).max() < 1e-12


def test_single_precision(arm):
    state = [x.astype(np.float32) for x in states(arm, 19)]
    q, v = rc.rollout(arm, *state, STEP, 10)
    assert q.dtype == v.dtype == np.float32
    wide = rc.rollout(arm, *(x.astype(float) for x in state), STEP, 10)
    assert np.abs(q - wide[0]).max() < 1e-5
    assert rc.rollout(arm, *state[:2], state[2].astype(float), STEP, 10)[0].dtype == np.float64
    same_bits(rc.rollout(arm, *(x[4] for x in state), STEP, 10)[1], v[4])


def test_results_into_given_arrays(arm):
    q0, v0, torque = states(arm, 5)
    expected = rc.rollout(arm, q0, v0, torque, STEP, 4)
    plain = np.empty((5, 4, 3)), np.empty((5, 4, 3))
    strided = np.empty((5, 4, 6))[..., ::2], np.empty((4, 5, 3)).swapaxes(0, 1)
    for out in (plain, strided):
        found = rc.rollout(arm, q0, v0, torque, STEP, 4, out=out)
        assert found[0] is out[0] and found[1] is out[1]
        same_bits(out[0], expected[0])
        same_bits(out[1], expected[1])
    torques = np.repeat(torque[:, None], 4, axis=1)
    same_bits(rc.rollout(arm, q0, v0, torques, STEP, 4, out=(plain[0], torques))[1], expected[1])


def test_lost_row_leaves_the_others_alone(arm):
    q0, v0, torque = states(arm, 7)
    sound = rc.rollout(arm, q0, v0, torque, STEP, 40, save_every=10)
    torques = np.repeat(torque[:, None], 40, axis=1)
    torques[4, 25] = 1e300
    with pytest.raises(rc.DivergenceError, match=r"row 4 left the finite numbers in step 2[56]") as caught:
        rc.rollout(arm, q0, v0, torques, STEP, 40, save_every=10, threads=2)
    assert caught.value.row == 4 and caught.value.step in (25, 26)
    q, v = rc.rollout(arm, q0, v0, torques, STEP, 40, save_every=10, on_divergence="nan")
    others = [k for k in range(7) if k != 4]
    same_bits(q[others], sound[0][others])
    same_bits(v[4, :2], sound[1][4, :2])
    assert np.isnan(q[4, 2:]).all() and np.isnan(v[4, 2:]).all()
    torques[4, 25] = np.nan
    with pytest.raises(rc.StateError, match="torque in row 4, step 25: entry 0 is nan"):
        rc.rollout(arm, q0, v0, torques, STEP, 40)


def test_tied_joints_move_as_their_free_coordinates_say():
    robot = tied_gripper()
    q0, v0, torque = states(robot, 3)
    q, v = rc.rollout(robot, q0, v0, torque, 1e-3, 3, "semi-implicit", losses=False)
    speed = v0 + 1e-3 * robot.forward_dynamics(q0, v0, torque)
    assert np.abs(v[:, 0] - speed).max() < 1e-13
    assert np.abs(q[:, 0] - robot.integrate(q0, 1e-3 * speed)).max() < 1e-13
    assert not kernels(robot)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs an alarm")
@pytest.mark.parametrize("threads", [1, 2])
def test_long_run_can_be_interrupted(arm, threads, monkeypatch):
    monkeypatch.setattr(rollout_kernel, "PIECE", 10**6)
    q0, v0, _ = states(arm, 64)
    rc.rollout(arm, q0, v0, None, STEP, 1)

    def alarm(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    started = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            rc.rollout(arm, q0, v0, None, 1e-6, 10**8, save_every=10**8, threads=threads)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - started < 30.0  # all of it would take hours
    assert threading.active_count() < 100
