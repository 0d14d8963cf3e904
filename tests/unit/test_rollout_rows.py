"""Closed-loop rollouts in which every row has a controller of its own."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from recursa.kernels.switch import Switch

STEP, STEPS = 1e-3, 60


def motions(robot: rc.Robot, count: int) -> list[rc.Trajectory]:
    random = np.random.default_rng(4)
    ends = 0.5 * random.normal(size=(count, 2, robot.nq))
    return [rc.Trajectory.cycloid(*pair, T=0.1 + 0.05 * k) for k, pair in enumerate(ends)]


def laws_of(kind: str, robot: rc.Robot, paths: list[rc.Trajectory]) -> list:
    control = rc.control
    make = {
        "computed": lambda path, k: control.ComputedTorque(robot, path, stiffness=60.0 + k, damping=12.0),
        "gravity": lambda path, k: control.GravityPD(robot, path, stiffness=1.0 + k, damping=0.02 * (k + 1)),
        "adaptive": lambda path, k: control.Adaptive(
            robot,
            path,
            bandwidth=8.0,
            damping=1.0,
            adaptation=1e-3 * (k + 1),
            estimate=(0.5 + 0.1 * k) * robot.parameters,
        ),
    }[kind]
    return [make(path, k) for k, path in enumerate(paths)]


@pytest.mark.parametrize("integrator", ["rk4", "semi-implicit"])
@pytest.mark.parametrize("kind", ["computed", "gravity", "adaptive"])
def test_rows_follow_their_own_motions(kind: str, integrator: str) -> None:
    """To the bit as each row alone, and to rounding as simulate."""
    robot = rc.robots.planar(3)
    paths = motions(robot, 11)
    laws = laws_of(kind, robot, paths)
    q0 = np.stack([path.sample(0.0)[0] for path in paths]) + 0.05
    v0 = np.zeros_like(q0)
    q, v = rc.rollout(robot, q0, v0, laws, STEP, STEPS, integrator)
    for k, law in enumerate(laws):
        alone = rc.rollout(robot, q0[k : k + 1], v0[k : k + 1], [law], STEP, STEPS, integrator)
        np.testing.assert_allclose(q[k], alone.q[0], rtol=1e-13, atol=1e-13)
        single = rc.rollout(robot, q0[k], v0[k], law, STEP, STEPS, integrator)
        np.testing.assert_allclose(q[k], single.q, rtol=1e-13, atol=1e-13)
    run = robot.simulate(q0[3], v0[3], duration=STEP * STEPS, torque=laws[3], integrator=integrator, step=STEP)
    np.testing.assert_allclose(q[3], run.q[1:], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(v[3], run.v[1:], rtol=1e-10, atol=1e-10)


def test_native_and_stepped_agree_and_the_same_motion_is_kept_once(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = rc.robots.planar(2)
    two = laws_of("computed", robot, motions(robot, 2))
    laws = [two[k % 2] for k in range(9)]
    q0 = np.random.default_rng(0).normal(size=(9, 2))
    native = rc.rollout(robot, q0, 0 * q0, laws, STEP, STEPS, save_every=STEPS, threads=2)
    np.testing.assert_allclose(native.q[0], rc.rollout(robot, q0[:1], 0 * q0[:1], laws[:1], STEP, STEPS).q[0, -1:])
    monkeypatch.setattr(Switch, "on", False)
    stepped = rc.rollout(robot, q0, 0 * q0, laws, STEP, STEPS, save_every=STEPS)
    np.testing.assert_allclose(stepped.q, native.q, rtol=1e-10, atol=1e-10)


def test_memory_of_every_row() -> None:
    robot = rc.robots.planar(2)
    laws = laws_of("adaptive", robot, motions(robot, 4))
    q0 = np.zeros((4, 2))
    q, _, memory = rc.rollout(robot, q0, q0, laws, STEP, STEPS, save_every=STEPS, memory=True)
    run = robot.simulate(q0[2], duration=STEP * STEPS, torque=laws[2], integrator="rk4", step=STEP)
    np.testing.assert_allclose(memory[2, 0], run.memory[-1], rtol=1e-10)
    assert q.shape == (4, 1, 2)


def test_what_does_not_go_together_is_refused() -> None:
    robot, paths = rc.robots.planar(2), motions(rc.robots.planar(2), 3)
    laws = laws_of("computed", robot, paths)
    q0 = np.zeros((3, 2))
    with pytest.raises(rc.ShapeError, match="3 controllers need as many states"):
        rc.rollout(robot, q0[:2], q0[:2], laws, STEP, STEPS)
    with pytest.raises(rc.StateError, match="of one kind"):
        rc.rollout(robot, q0, q0, [*laws[:2], *laws_of("gravity", robot, paths[:1])], STEP, STEPS)
    with pytest.raises(rc.StateError, match="in the controllers themselves"):
        rc.rollout(robot, q0, q0, laws, STEP, STEPS, gains={"stiffness": 1.0})
    with pytest.raises(rc.TooLargeError, match="of 3 controllers"):
        rc.rollout(robot, q0, q0, laws, 1e-9, 10**7, save_every=10**7)


# ---- wrenches --------------------------------------------------------------------------------------------------------


def _in_simulation(robot: rc.Robot, q0, v0, torque, wrenches, integrator="rk4"):
    return robot.simulate(
        q0, v0, duration=STEP * STEPS, torque=torque, wrenches=wrenches, integrator=integrator, step=STEP
    )


@pytest.mark.parametrize("integrator", ["rk4", "semi-implicit"])
@pytest.mark.parametrize(
    "wrenches",
    [
        rc.Wrench(at="tip", force=(1.0, -2.0, 0.0)),
        rc.Wrench(at="tip", force=(1.0, 2.0, 0.5), moment=(0.1, 0.2, 0.3), point=(0.1, 0.2, 0.0), frame="link"),
        [
            rc.Wrench(at="tip", force=(0.0, 3.0, 0.0), point=(0.0, 0.1, 0.0)),
            rc.Wrench(at="tip", moment=(0.0, 0.0, 0.2), frame="link"),
            rc.Wrench(at="link1", force=(1.0, 0.0, 0.0), moment=(0.0, 0.0, 0.1), point=(0.2, 0.0, 0.0)),
        ],
        {"tip": [0.0, 0.0, 0.1, 1.0, 2.0, 0.0]},
    ],
)
def test_wrenches_act_as_in_simulate(wrenches, integrator: str) -> None:
    robot = rc.robots.planar(2)
    q0, v0 = np.array([[0.3, 0.5], [-0.2, 1.0], [0.0, 0.0]]), np.array([[0.1, 0.0], [0.0, 0.2], [0.0, 0.0]])
    law = laws_of("computed", robot, motions(robot, 1))[0]
    for torque in (None, [0.3, -0.1], law):
        found = rc.rollout(robot, q0, v0, torque, STEP, STEPS, integrator, wrenches=wrenches)
        run = _in_simulation(robot, q0[1], v0[1], torque, wrenches, integrator)
        np.testing.assert_allclose(found.q[1], run.q[1:], rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(found.v[1], run.v[1:], rtol=1e-10, atol=1e-11)
    assert np.abs(found.q[1] - rc.rollout(robot, q0, v0, law, STEP, STEPS, integrator).q[1]).max() > 1e-5


def test_wrenches_by_row_and_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays (B, links, 6) and (B, steps, links, 6), forces (B, 3); native and stepped, with their own parameters."""
    robot = rc.robots.free_flyer(2)
    rng = np.random.default_rng(2)
    q0, v0 = (np.stack([robot.random_state(k)[i] for k in range(5)]) for i in (0, 1))
    constant = rng.normal(size=(5, robot.nlinks, 6))
    varying = rng.normal(size=(5, STEPS, robot.nlinks, 6))
    force = rc.Wrench(at=robot.link_names[-1], force=rng.normal(size=(5, 3)))
    parameters = robot.parameters * np.linspace(1.0, 1.5, 5)[:, None]
    tau = rng.normal(size=robot.nv)
    for wrenches in (constant, varying, force, constant[0], varying[:1]):
        native = rc.rollout(robot, q0, v0, tau, STEP, STEPS, wrenches=wrenches, parameters=parameters)
        with monkeypatch.context() as patch:
            patch.setattr(Switch, "on", False)
            by_python = rc.rollout(robot, q0, v0, tau, STEP, STEPS, wrenches=wrenches, parameters=parameters)
        np.testing.assert_allclose(native.q, by_python.q, rtol=1e-9, atol=1e-9)
    one = rc.rollout(robot, q0, v0, tau, STEP, STEPS, wrenches=constant)
    same = rc.rollout(robot, q0, v0, tau, STEP, STEPS, wrenches=np.repeat(constant[:, None], STEPS, axis=1))
    np.testing.assert_array_equal(one.q, same.q)
    run = _in_simulation(robot, q0[2], v0[2], tau, constant[2])
    np.testing.assert_allclose(one.q[2], run.q[1:], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("make", [lambda: rc.robots.tree(19, seed=2), lambda: rc.mechanisms.four_bar()])
def test_wrenches_on_larger_robots_and_on_loops(make) -> None:
    robot = make()
    q0 = robot.neutral() if robot.constraints else robot.random_state(1)[0]
    pushed = rc.Wrench(at=robot.link_names[-1], force=(0.0, 2.0, 1.0))
    found = rc.rollout(robot, q0, np.zeros(robot.nv), None, STEP, 10, wrenches=pushed)
    run = robot.simulate(q0, duration=10 * STEP, wrenches=pushed, integrator="rk4", step=STEP)
    np.testing.assert_allclose(found.q, run.q[1:], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    ("wrenches", "words"),
    [
        (lambda t, q, v: None, "is a function"),
        (np.zeros((9, 6)), "expected .*, 6"),
        (rc.Wrench(at="nose"), "nose"),
        (rc.Wrench(at="tip", force=(1.0, 2.0)), "expected"),
        (rc.Wrench(at="tip", force=(1.0, 2.0, np.nan)), "not finite"),
        (rc.Wrench(at="tip", frame="body"), "frame of a wrench"),  # type: ignore[arg-type]
        (rc.Wrench(at="tip", force=np.zeros((7, 3))), "batch"),
    ],
)
def test_wrenches_that_are_none(wrenches, words: str) -> None:
    robot = rc.robots.planar(2)
    with pytest.raises(rc.RecursaError, match=words):
        rc.rollout(robot, np.zeros((3, 2)), np.zeros((3, 2)), None, STEP, STEPS, wrenches=wrenches)
