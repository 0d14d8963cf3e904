"""Non-minimal coordinates: links by themselves move as the robot does, and projection keeps joints closed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import recursa as rc
from numeric import close, states
from recursa.free import base_invariant, separate_links
from recursa.free.simulated_links import _LinkMechanics, _Links
from recursa.integrators.explicit import runge_kutta_4
from recursa.kernels.dispatch import Switch
from recursa.loading import trusted
from recursa.robots import random_description

KINDS = ("revolute", "prismatic", "helical", "spherical", "planar")


def flyer(parents: list[int], seed: int, kinds: tuple[str, ...] = KINDS) -> rc.Robot:
    """Damped joints with rotors, under gravity, frames behind some hinges (another base puts them there)."""
    base = random_description("flyer", [-1], 3, ["free"])
    limbs = random_description("flyer", parents, seed, kinds)
    damped = [
        replace(joint, damping=(0.02,), armature=(0.03,))
        if joint.kind in ("revolute", "prismatic", "helical")
        else joint
        for joint in limbs.joints[1:]
    ]
    robot = trusted(replace(limbs, joints=(base.joints[0], *damped)), gravity=(0.3, 0.1, -2.0))
    return robot.with_base(f"link{len(parents)}")


TREE = flyer([-1, 0, 0, 1, 1, 2], 4)


def test_accelerations_match_those_of_the_robot():
    q, v, tau = states(TREE, 3)
    links = _Links(TREE, tau)
    found = links.accelerations(0.0, *links.start(q, v))
    _, expected = TREE.forward_dynamics(q, v, tau, losses=True, links=True)
    close(found, expected[:, links.bodies], 1e-11)


def test_accelerations_under_wrenches_match_those_of_the_robot():
    q, v, tau = states(TREE, 3)
    pushes = np.random.default_rng(2).normal(size=(3, TREE.nlinks, 6))
    pull = [rc.Wrench(at=TREE.link_names[-1], force=(1.0, -2.0, 0.5), point=(0.1, 0.2, 0.0), frame="world")]
    for wrenches in (pushes, pull):
        _, expected = TREE.forward_dynamics(q, v, tau, wrenches=wrenches, losses=True, links=True)
        for given in (wrenches, lambda t, q, v, wrenches=wrenches: wrenches):
            links = _Links(TREE, tau, given)
            close(links.accelerations(0.0, *links.start(q, v)), expected[:, links.bodies], 1e-11)


def test_motion_under_a_wrench_matches_minimal_coordinates():
    robot = rc.robots.free_flyer(2)
    q, v = robot.random_state(1)
    pull = [rc.Wrench(at="link2", force=(0.3, -0.2, 0.5), frame="world")]
    exact = robot.simulate(q, 0.3 * v, duration=0.1, wrenches=pull, progress=False).q[-1]
    found = rc.free.simulate_links(robot, q, 0.3 * v, 0.1, step=0.01, wrenches=pull).q[-1]
    close(robot.difference(found, exact), np.zeros(robot.nv), 1e-9)
    with pytest.raises(rc.ShapeError, match="wrenches"):
        rc.free.simulate_links(robot, q, v, 0.1, wrenches=np.zeros((2, 6)))


def test_measured_coordinates_match_the_start():
    q, v, _ = states(TREE, 3)
    links = _Links(TREE, None)
    state = links.start(q, v)
    found_q, found_v = links.measured(*state)
    close(TREE.poses(found_q), TREE.poses(q), 1e-12)
    close(found_v, v, 1e-12)
    close(links.gaps(state[0]), np.zeros((3, TREE.nbodies, 6)), 1e-14)


def test_motion_matches_minimal_coordinates_to_the_order_of_the_integrator():
    q, v = TREE.random_state(1)
    v, tau = 0.4 * v, 0.1 * np.random.default_rng(3).normal(size=TREE.nv)
    exact = TREE.simulate(q, v, duration=0.2, torque=tau, rtol=1e-8, progress=False).q[-1]
    errors = []
    for step in (0.04, 0.02):
        run = rc.free.simulate_links(TREE, q, v, 0.2, step=step, torque=tau)
        assert run.drift < 1e-13
        assert run.t[-1] == 0.2
        errors.append(np.abs(TREE.difference(exact, run.q[-1])).max())
    assert errors[1] < 1e-5
    assert 10.0 < errors[0] / errors[1] < 25.0
    sparse = rc.free.simulate_links(TREE, q, v, 0.2, step=0.04, torque=lambda t, q, v: tau, save_every=3)
    assert sparse.t.tolist() == pytest.approx([0.0, 0.12, 0.2])
    assert np.abs(TREE.difference(exact, sparse.q[-1])).max() == pytest.approx(errors[0], rel=1e-6)


def test_drift_follows_the_integrator_and_projection_removes_it():
    robot = rc.robots.free_flyer(3)
    q, v = robot.random_state(1)
    gaps = {}
    for step in (0.08, 0.04):
        gaps[step] = rc.free.simulate_links(robot, q, v, 0.8, step=step, projection=False).drift
    assert 10.0 < gaps[0.08] / gaps[0.04] < 40.0
    assert gaps[0.04] > 1e-10
    for integrator in ("rk4", "semi-implicit"):
        run = rc.free.simulate_links(robot, q, v, 0.8, step=0.04, integrator=integrator)
        assert run.drift < 1e-12
        assert run.misalignment.max() < 1e-12
        assert run.gap.shape == run.t.shape
        close(run.poses, robot.poses(run.q)[:, [robot.link_names.index(j.child) for j in robot.model.joints]], 1e-11)


def test_velocity_projection_keeps_momentum_and_is_that_of_the_mass_matrix():
    """beta = inv(Mass) H phi M V: the joint speeds nearest in kinetic energy, rotors left out."""
    base = random_description("flyer", [-1], 3, ["free"])
    limbs = random_description("flyer", [-1, 0, 0, 2], 5, KINDS)
    robot = trusted(replace(limbs, joints=(base.joints[0], *limbs.joints[1:])))
    q, v, _ = states(robot, 2)
    links = _Links(robot, None)
    where, twists = links.start(q, v)
    torn = twists + 0.1 * np.random.default_rng(6).normal(size=twists.shape)
    _, closed = links.projected(where, torn)
    inertias = np.stack([_matrix(i) for i in robot.model.inertias])
    J = np.stack([robot.jacobian(q, joint.child) for joint in robot.model.joints], axis=1)
    weighted = np.einsum("bkir,kij,bkj->br", J, inertias, torn)
    best = np.linalg.solve(robot.mass_matrix(q), weighted[..., None])[..., 0]
    close(closed, np.einsum("bkir,br->bki", J, best), 1e-11)
    before, after = (np.einsum("bki,kij,bkj->b", t, inertias, t) for t in (torn, closed))
    assert (after < before).all()
    poses = robot.poses(q)[:, links.bodies]
    close(_momentum(poses, inertias, closed), _momentum(poses, inertias, torn), 1e-11)


def _matrix(inertia) -> np.ndarray:
    units = np.eye(6)
    return np.array([(inertia @ rc.spatial.Motion.of(row)).components() for row in units])


def _momentum(poses, inertias, twists) -> np.ndarray:
    """About the world origin."""
    local = np.einsum("kij,bkj->bki", inertias, twists)
    moment, force = ((poses[..., :3, :3] @ part[..., None])[..., 0] for part in np.split(local, 2, axis=-1))
    return np.concatenate([moment + np.cross(poses[..., :3, 3], force), force], axis=-1).sum(axis=1)


def test_position_projection_squares_the_gaps():
    q, v = TREE.random_state(2)
    links = _Links(TREE, None)
    where = links.start(q, v)[0].moved(0.02 * np.random.default_rng(1).normal(size=(TREE.nbodies, 6)))
    sizes = []
    for _ in range(4):
        sizes.append(np.abs(links.gaps(where)).max())
        where = where.moved(links._ask(separate_links.POSITION_PROJECTION, where))
    assert sizes[0] > 1e-2
    assert sizes[1] < 0.2 * sizes[0]
    assert sizes[2] < 20.0 * sizes[1] ** 2
    assert sizes[3] < 1e-6


def test_an_open_start_is_closed_or_grows():
    """A velocity that tears a joint apart is repaired by projection; without, the gap grows steadily."""
    robot = rc.robots.free_flyer(2)
    q, v = robot.random_state(4)
    links = _Links(robot, None)
    where, twists = links.start(q, 0.1 * v)
    apart = np.zeros((3, 6))
    apart[1, 5] = 0.01
    twists = twists + apart
    gaps = []
    for k in range(20):
        where, twists = runge_kutta_4(_LinkMechanics(links, 0.05 * k, 0.05), where, twists)
        gaps.append(np.abs(links.gaps(where)).max())
    assert gaps[-1] == pytest.approx(0.01, rel=0.1)  # 1 s at 1 cm/s
    assert np.abs(links.gaps(links.projected(where, twists)[0])).max() < 1e-8


@pytest.mark.compiled
@pytest.mark.parametrize(("parents", "form"), [([-1, 0, 1], "loop"), ([-1, 0, 0], "straight")])
def test_kernels_match_the_interpreter(parents, form, monkeypatch):
    monkeypatch.setattr(Switch, "form", form)
    robot = flyer(parents, 8)
    branching = base_invariant.branches(robot.model)
    q, v, tau = states(robot, 5)
    links = _Links(robot, tau)
    where, twists = links.start(q, v)
    where = where.moved(1e-3 * np.random.default_rng(1).normal(size=twists.shape))
    found = links.accelerations(0.0, where, twists), links.projected(where, twists), links.gaps(where)
    made = {plan.name: kernel for plan, kernel in robot.evaluator.store()._kernels.values()}
    for make in ("accelerations_plan", "velocity_projection_plan", "position_projection_plan"):
        kernel = made[getattr(separate_links, make)(branching=branching).name]
        assert kernel is not None and kernel.form == form
    Switch.on = False
    close(found[0], links.accelerations(0.0, where, twists), 1e-11)
    again = links.projected(where, twists)
    close(found[1][1], again[1], 1e-11)
    close(found[1][0].origins, again[0].origins, 1e-12)
    close(found[2], links.gaps(where), 1e-13)


def test_batches_match_single_runs():
    robot = rc.robots.free_flyer(2)
    q, v, _ = states(robot, 3)
    run = rc.free.simulate_links(robot, q, v, 0.1, step=0.05)
    assert run.q.shape == (3, 3, robot.nq)
    alone = rc.free.simulate_links(robot, q[1], v[1], 0.1, step=0.05)
    close(run.q[:, 1], alone.q, 1e-13)


def test_angles_go_on_past_half_a_turn():
    robot = rc.robots.free_flyer(1)
    v = np.zeros(7)
    v[6] = 30.0
    run = rc.free.simulate_links(robot, robot.neutral(), v, 0.3, step=0.02)
    assert run.q[-1, 7] > 6.5
    assert np.abs(np.diff(run.q[:, 7])).max() < 1.0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"duration": -1.0}, rc.StateError, "duration must be finite and above 0 s"),
        ({"step": float("nan")}, rc.StateError, "step must be finite and above 0 s"),
        ({"step": 1e-12}, rc.StateError, "are too many for one run"),
        ({"integrator": "rk5"}, rc.UnknownNameError, "Did you mean 'rk4'"),
        ({"save_every": 0}, rc.StateError, "save_every must be a whole number of at least 1"),
        ({"torque": [1.0, 2.0]}, rc.ShapeError, r"torque has shape \(2,\)"),
        ({"v0": np.full(8, np.nan)}, rc.StateError, "v0 must be finite"),
        ({"v0": np.full(8, 1e200)}, rc.SimulationError, "the motion is not finite from t = "),
    ],
)
def test_meaningless_runs_are_refused(options, error, message):
    robot = rc.robots.free_flyer(2)
    arguments = {"q0": robot.neutral(), "v0": np.zeros(8), "duration": 0.1} | options
    with pytest.raises(error, match=message):
        rc.free.simulate_links(robot, **arguments)
    with pytest.raises(rc.NoSweepError, match=r"rc.free.simulate_links: robot 'puma560' is no free flyer"):
        rc.free.simulate_links(rc.robots.puma560(), np.zeros(6), np.zeros(6), 1.0)
