"""Contacts: what one native call says of an instant, forces by complementarity, runs that stop and go on."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

import native_oracles
import recursa as rc
from numeric import tied_gripper
from recursa.errors import NativeCodeError
from recursa.kernels.switch import Switch
from recursa.mechanisms import FEET
from recursa.simulation import checkpoint
from recursa.simulation.complementarity import OPEN, SLIDES, STICKS, Problem, forces, shares
from recursa.simulation.touch_geometry import Geometry


def block() -> rc.Robot:
    b = rc.Builder("block")
    b.link("block", mass=2.0, inertia=(0.01, 0.02, 0.025))
    b.joint("root", "free", parent="world", child="block")
    return b.build(gravity=(0, 0, -9.81))


def corners(**more: Any) -> list[rc.Touch]:
    signs = (-1.0, 1.0)
    return [rc.Touch("block", at=(0.2 * x, 0.15 * y, 0.1 * z), **more) for x in signs for y in signs for z in signs]


# ---- an instant ------------------------------------------------------------------------------------------------------

PLACES = [
    ("quadruped", [rc.Touch(foot) for foot in FEET]),
    (
        "quadruped",
        [
            rc.Touch(FEET[0], at=(0.1, 0.02, 0.3), radius=0.02, axis=(0, 1, 0)),
            rc.Touch(FEET[1], at=(0.02, 0, 0), radius=0.1, normal=(0.1, 0.3, 1), height=-0.4),
        ],
    ),
    ("four_bar", [rc.Touch("rocker", at=(0.1, 0.2, 0.0), normal=(0, 1, 0))]),
]


@pytest.mark.parametrize(("name", "touches"), PLACES)
def test_one_native_call_says_what_the_methods_of_the_robot_say(name: str, touches: list[rc.Touch]) -> None:
    robot = rc.robots.four_bar() if name == "four_bar" else rc.load(rc.robots.urdf(name), floating=True)
    geometry, rng = Geometry(robot, tuple(touches)), np.random.default_rng(1)
    assert geometry._native is not None
    for _ in range(3):
        q = robot.neutral() if robot.constraints else robot.integrate(robot.neutral(), rng.normal(size=robot.nv))
        v = rng.normal(size=robot.nv)
        v = robot.project_velocity(q, v) if robot.constraints else v
        tau = rng.normal(size=robot.nv)
        found, parts = geometry.instant(q, v, tau), native_oracles.touching(geometry, q, v, tau)
        assert found is not None
        for one, other in zip(found, parts, strict=True):
            assert np.abs(one - other).max() < 1e-12 * max(1.0, np.abs(other).max())
    assert geometry.instant(q * np.nan, v, tau) is None


def test_robots_beyond_one_kernel_have_two() -> None:
    robot, rng = rc.robots.free_flyer(40), np.random.default_rng(1)
    geometry = Geometry(robot, (rc.Touch(robot.link_names[-1], at=(0.1, 0.0, 0.2), radius=0.05),))
    assert geometry._native is not None and geometry._inverse is not None
    q, v, tau = robot.integrate(robot.neutral(), rng.normal(size=robot.nv)), *rng.normal(size=(2, robot.nv))
    found, parts = geometry.instant(q, v, tau), native_oracles.touching(geometry, q, v, tau)
    assert found is not None
    for one, other in zip(found, parts, strict=True):
        assert np.abs(one - other).max() < 1e-9 * max(1.0, np.abs(other).max())


def test_tied_joints_have_an_instant_too() -> None:
    robot, rng = tied_gripper(), np.random.default_rng(3)
    touches = [rc.Touch(link, at=(0.1, 0.0, 0.2), radius=0.05, axis=(0, 1, 0)) for link in robot.link_names[2:]]
    geometry = Geometry(robot, tuple(touches))
    q, v, tau = robot.random_state(rng)[0], *rng.normal(size=(2, robot.nv))
    found = geometry.instant(q, v, tau)
    assert found is not None and len(robot.model.joints) > robot.nv
    for one, other in zip(found, native_oracles.touching(geometry, q, v, tau), strict=True):
        assert np.abs(one - other).max() < 1e-12 * max(1.0, np.abs(other).max())


def test_contacts_say_why_they_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Switch, "on", False)
    with pytest.raises(NativeCodeError, match="simulation with contacts runs in native code alone"):
        block().simulate(block().neutral(), duration=0.01, contacts=[rc.Touch("block")])


@pytest.mark.parametrize("touch", PLACES[1][1])
def test_gaps_change_as_rows_say_and_rows_as_the_bias_says(touch: rc.Touch) -> None:
    robot = rc.load(rc.robots.urdf("quadruped"), floating=True)
    geometry, rng = Geometry(robot, (touch,)), np.random.default_rng(2)
    q, v = robot.integrate(robot.neutral(), rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
    h, zero = 1e-5, np.zeros(robot.nv)
    before, here, after = (geometry.instant(robot.integrate(q, s * h * v), v, zero) for s in (-1.0, 0.0, 1.0))
    assert before is not None and here is not None and after is not None
    assert abs((after.gaps - before.gaps)[0] / (2 * h) - here.J[0] @ v) < 1e-8
    assert np.abs((after.J @ v - before.J @ v) / (2 * h) - here.gamma).max() < 1e-6


# ---- complementarity -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_forces_obey_all_conditions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 5))
    rows = rng.normal(size=(3 * count, int(rng.integers(4, 14))))
    b, friction = rng.normal(size=3 * count), rng.uniform(0.0, 0.6, count)
    D = rows @ rows.T
    f, mode = forces(Problem(D, b, friction, np.zeros((count, 2))))
    y = (b + D @ f.ravel()).reshape(-1, 3)
    scale = 1e-6 * np.abs(b).max()
    along = np.hypot(f[:, 1], f[:, 2])
    assert (f[:, 0] >= 0.0).all()
    assert (along <= friction * f[:, 0] + scale).all()
    assert (y[:, 0] >= -scale).all() or rows.shape[1] < 3 * count  # of dependent rows some may ask for the impossible
    assert (np.abs(y[mode != OPEN, 0]) < scale).all()
    assert (np.abs(y[mode == STICKS]) < scale).all()
    for k in np.flatnonzero((mode == SLIDES) & (along > 0.0)):
        assert y[k, 1:] @ f[k, 1:] <= scale
        assert abs(y[k, 1] * f[k, 2] - y[k, 2] * f[k, 1]) < scale * max(1.0, along[k])


def test_forces_do_not_depend_on_where_the_search_starts() -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(12, 18))
    problem = Problem(rows @ rows.T, rng.normal(size=12), np.full(4, 0.5), np.zeros((4, 2)))
    first = forces(problem)
    again = forces(problem, first.f + 0.3)
    assert np.abs(first.f - again.f).max() < 1e-9
    assert (first.mode == again.mode).all()


def test_loads_are_shared_where_more_bear_them_than_it_takes() -> None:
    """A plate on four corners: the shortest forces are equal."""
    normal = np.array([[1.0, x, y] for x in (-1, 1) for y in (-1, 1)])
    assert np.abs(shares(normal @ normal.T, np.full(4, 4.0)) - 1.0).max() < 1e-12
    assert np.abs(shares(normal @ normal.T, np.full(4, 4.0), np.array([2.0, 0, 0, 2.0])) - [2, 0, 0, 2]).max() < 1e-12


# ---- runs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "options"), [(0, {}), (5, {"rtol": 1e-5, "atol": 1e-7})])
def test_a_tumbling_block_comes_to_rest_and_never_gains_energy(seed: int, options: dict[str, float]) -> None:
    robot, rng = block(), np.random.default_rng(seed)
    q = robot.integrate(robot.neutral(), [*rng.normal(size=3), 0, 0, 0.9])
    v = rng.normal(size=6) * [5, 5, 5, 1, 1, 1]
    run = robot.simulate(q, v, duration=2.5, contacts=corners(friction=0.5, restitution=0.3), **options)
    assert np.abs(run.v[-1]).max() < 1e-9
    assert abs(min(abs(run.q[-1, 2] - side) for side in (0.1, 0.15, 0.2))) < 1e-6
    assert np.diff(run.energy).max() < 1e-8
    assert run.energy_drift < 1e-4 if options else run.energy_drift < 1e-7
    again = robot.simulate(q, v, duration=2.5, contacts=corners(friction=0.5, restitution=0.3), **options)
    assert (again.q == run.q).all()


@pytest.mark.parametrize(("integrator", "step"), [("semi-implicit", 1e-3), ("rk4", 5e-3), ("implicit-midpoint", 5e-3)])
def test_fixed_steps_feel_sliding_friction(integrator: str, step: float) -> None:
    robot, mu, speed = block(), 0.3, 1.2
    q = robot.neutral() + np.array([0, 0, 0.1, 0, 0, 0, 0])
    below = [one for one in corners(friction=mu) if one.at[2] < 0.0]
    run = robot.simulate(
        q, [0, 0, 0, speed, 0, 0], duration=0.6, contacts=below, integrator=integrator, step=step, save_every=10
    )
    gone = speed**2 / (2 * mu * 9.81)
    assert abs(run.q[-1, 0] - gone) < (1e-3 if integrator == "semi-implicit" else 1e-9)
    assert np.abs(run.v[-1]).max() < 1e-9


def test_bouncing_ends_without_a_rest_speed() -> None:
    b = rc.Builder("ball")
    b.link("ball", mass=1.0, inertia=(0.004, 0.004, 0.004))
    b.joint("height", "prismatic", parent="world", child="ball")
    ball = b.build(gravity=(0, 0, -9.81))
    run = ball.simulate([1.1], duration=3.0, contacts=rc.Touch("ball", radius=0.1, restitution=0.7, rest_speed=0.0))
    assert abs(run.q[-1, 0] - 0.1) < 1e-12
    assert run.v[-1, 0] == 0.0


@pytest.mark.parametrize("options", [{}, {"integrator": "radau", "rtol": 1e-6, "atol": 1e-8}, {"integrator": "rk4"}])
def test_a_run_with_contacts_goes_on_from_its_checkpoint_to_the_bit(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    robot, rng = block(), np.random.default_rng(1)
    q = robot.integrate(robot.neutral(), [*rng.normal(size=3), 0, 0, 0.6])
    given: dict[str, Any] = {"duration": 0.6, "contacts": corners(friction=0.5, restitution=0.3), **options}
    whole = robot.simulate(q, [2.0, 1.0, 0, 0.5, 0, 0], **given)
    kept, seen = checkpoint.Checkpoint.update, 0
    stop = 2 * len(whole.t) // 3

    def update(self: Any, simulation: Any) -> None:
        nonlocal seen
        kept(self, simulation)
        seen += 1
        if seen == stop:
            raise KeyboardInterrupt

    file = tmp_path / "run.part"
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.Checkpoint, "update", update)
        part = robot.simulate(q, [2.0, 1.0, 0, 0.5, 0, 0], checkpoint=file, checkpoint_every=0, **given)
    assert part.status == "interrupted"
    run = rc.resume(file)
    for name in ("t", "q", "v", "a", "tau", "work", "lost"):
        assert (getattr(run, name) == getattr(whole, name)).all()
    assert [(one.name, one.t) for one in run.events] == [(one.name, one.t) for one in whole.events]
