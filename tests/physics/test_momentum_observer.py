"""The momentum observer against torques and wrenches that are known to act."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from identified import with_friction
from recursa.control import ComputedTorque
from zoo import one_of_each, small_flyer

PUSH = np.array([0.4, -0.3, 0.2, 3.0, -2.0, 4.0])  # moment and force in world axes


def pushed(
    robot: rc.Robot, link: str, torque, q0, duration: float = 1.0, start: float = 0.3, step: float = 1e-3
) -> rc.Run:
    """A run in which a wrench acts on a link from a moment on, sampled as a controller would."""

    def wrenches(t, q, v):
        return [rc.Wrench(at=link, force=PUSH[3:], moment=PUSH[:3])] if t >= start else []

    samples = round(duration / step) + 1
    return robot.simulate(q0, duration=duration, torque=torque, wrenches=wrenches, samples=samples, rtol=1e-8)


def expected(run: rc.Run, link: str) -> np.ndarray:
    return np.einsum("nij,i->nj", run.robot.jacobian(run.q, link, frame="mixed"), PUSH)


@pytest.fixture(scope="module")
def arm_run() -> rc.Run:
    arm = with_friction(rc.robots.panda_like())
    q0 = {"joint2": 0.3, "joint4": -1.5, "joint6": 1.6}
    plan = rc.Trajectory.cycloid(arm.state(q0)[0], arm.state(q0)[0] + 0.7, T=1.5, robot=arm)
    return pushed(arm, "flange", ComputedTorque(arm, plan, 400.0), q0)


def test_residuals_follow_a_wrench_on_a_link(arm_run):
    """As a low pass: zero before it, near the wrench five time constants after it began."""
    observer = rc.MomentumObserver(arm_run.robot, step=1e-3, gain=40.0)
    residuals = observer.over(arm_run)
    wanted = expected(arm_run, "flange")
    size = np.abs(wanted).max()
    assert np.abs(residuals[10:290]).max() < 0.01 * size
    assert np.abs(residuals[500:950] - wanted[500:950]).max() < 0.08 * size


def test_updates_in_a_loop_are_those_over_the_log(arm_run):
    observer = rc.MomentumObserver(arm_run.robot, step=1e-3, gain=40.0)
    whole = observer.over(arm_run)
    observer.reset()
    tau = arm_run.tau
    rows = [observer.update(arm_run.q[0], arm_run.v[0], tau[0])]
    for k in range(1, len(arm_run)):
        rows.append(observer.update(arm_run.q[k], arm_run.v[k], 0.5 * (tau[k - 1] + tau[k])))
    assert np.abs(np.array(rows) - whole).max() < 1e-9
    wrench = observer.wrench(arm_run.q[-1], "flange")
    assert wrench == pytest.approx(PUSH, abs=0.4)


def test_contacts_are_detected_and_not_before_they_are_there(arm_run):
    observer = rc.MomentumObserver(arm_run.robot, step=1e-3, gain=40.0, threshold=0.15)
    beyond = np.abs(observer.over(arm_run)) > observer.threshold
    first = np.flatnonzero(beyond.any(axis=1))[0]
    assert 0.3 <= arm_run.t[first] < 0.33
    assert observer.contact.any()


@pytest.mark.parametrize(
    "make", [small_flyer, lambda: rc.robots.free_flyer(3), one_of_each], ids=["tree", "chain", "kinds"]
)
def test_floating_bases_and_every_kind_of_joint(make):
    robot = make()
    link = robot.link_names[-1]
    q0 = robot.random_state(2)[0]
    run = pushed(robot, link, None, q0, duration=0.2, start=0.0, step=5e-4)
    residuals = rc.MomentumObserver(robot, step=5e-4, gain=200.0).over(run)
    wanted = expected(run, link)
    late = residuals[300:] - wanted[300:]
    assert np.abs(late).max() < 0.05 * np.abs(wanted).max()


def test_losses_that_are_not_told_show_in_the_residual():
    arm = with_friction(rc.robots.planar(2))
    plan = rc.Trajectory.cycloid([0.0, 0.0], [1.0, -1.0], T=1.0, robot=arm)
    run = arm.simulate([0.0, 0.0], torque=ComputedTorque(arm, plan, 400.0), duration=1.0, samples=1001, rtol=1e-8)
    told, untold = (rc.MomentumObserver(arm, step=1e-3, gain=50.0, losses=x).over(run) for x in (True, False))
    middle = slice(300, 700)
    assert np.abs(told[middle]).max() < 0.02
    assert (np.abs(untold[middle]) > 0.2).all()


def test_a_payload_is_felt_at_rest():
    arm = rc.robots.panda_like()
    loaded = arm.with_payload("flange", 1.5)
    q = arm.state({"joint2": 0.3, "joint4": -1.5, "joint6": 1.6})[0]
    observer = rc.MomentumObserver(arm, step=1e-3)
    for _ in range(400):
        observer.update(q, np.zeros(7), loaded.gravity_forces(q))
    assert observer.payload(q, "flange") == pytest.approx(1.5, rel=1e-3)


def test_springs_are_known():
    arm = rc.robots.planar(2).with_joint("joint1", stiffness=8.0)
    run = arm.simulate([0.5, 0.2], duration=0.5, samples=501, rtol=1e-9)
    assert np.abs(rc.MomentumObserver(arm, step=1e-3, gain=50.0).over(run)).max() < 1e-3


def test_any_gain_is_stable():
    arm = rc.robots.planar(2)
    observer = rc.MomentumObserver(arm, step=1e-2, gain=1e5)
    hold = arm.gravity_forces([0.3, 0.4])
    for _ in range(50):
        r = observer.update([0.3, 0.4], [0, 0], hold - [1.0, 0.5])
    assert r == pytest.approx([1.0, 0.5])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"step": 0.0}, "step must be positive"),
        ({"step": 1e-3, "gain": [1.0]}, "gain"),
        ({"step": 1e-3, "threshold": -1.0}, "threshold"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, words):
    with pytest.raises(rc.RecursaError, match=words):
        rc.MomentumObserver(rc.robots.planar(2), **options)


def test_samples_that_are_none_are_refused_and_change_nothing():
    arm = rc.robots.planar(2)
    observer = rc.MomentumObserver(arm, step=1e-3)
    observer.update([0, 0], [0, 0], [1.0, 0])
    before = observer.update([0, 0], [0, 0], [1.0, 0])
    for q, v, tau, words in (
        ([0, np.nan], [0, 0], [0, 0], "q must be finite"),
        ([0, 0], [0], [0, 0], "v has shape"),
        ([0, 0], [0, 0], [[0, 0]], "tau has shape"),
    ):
        with pytest.raises(rc.RecursaError, match=words):
            observer.update(q, v, tau)
    assert np.array_equal(observer.residual, before)
    with pytest.raises(rc.StateError, match="no threshold"):
        _ = observer.contact
    with pytest.raises(rc.StateError, match="with t, q, v and tau"):
        observer.over({"t": np.arange(30.0), "q": np.zeros((30, 2)), "tau": np.zeros((30, 2))})
    weightless = rc.MomentumObserver(arm.with_gravity((0, 0, 0)), step=1e-3)
    with pytest.raises(rc.StateError, match="without gravity"):
        weightless.payload([0, 0], "tip")
