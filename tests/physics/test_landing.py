"""Runs with constraints, impacts, contacts that are made and lost, bundled mechanisms, each against closed forms."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import recursa as rc
from recursa.kernels.dispatch import Switch
from recursa.mechanisms import FEET, STEWART_HEIGHT, stewart_points

G = 9.81
FREEDOMS = {
    "four_bar": 1, "slider_crank": 1, "five_bar": 2, "delta": 3, "stewart": 6, "gripper": 1, "two_arms": 6,
    "standing_quadruped": 6,
}  # fmt: skip


def closure(run: rc.Run) -> float:
    return float(np.abs(run.robot.constraint_error(run.q)).max())


# ---- mechanisms ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FREEDOMS)
def test_mechanisms_are_closed_at_zero_and_have_their_freedoms(name: str) -> None:
    robot = rc.robots.by_name(name)
    q = robot.neutral()
    assert np.abs(robot.constraint_error(q)).max() < 1e-15
    assert robot.mobility(q).freedoms == FREEDOMS[name]
    rough = robot.integrate(q, np.random.default_rng(1).uniform(-0.05, 0.05, robot.nv))
    near = robot.assemble(rough)
    assert np.abs(robot.constraint_error(near)).max() < 1e-12
    assert name == "standing_quadruped" or robot.mobility(near).freedoms == FREEDOMS[name]


def test_four_bar_and_slider_crank_close_as_their_closed_forms() -> None:
    for crank in np.linspace(-3.0, 3.0, 7):
        bar, theta = rc.robots.four_bar(), crank + np.pi / 3
        q = bar.neutral()
        for angle in np.linspace(0.0, crank, 20):  # follow the branch
            q = bar.assemble([angle, *q[1:]], fixed=["crank_joint"])
        end = np.array([0.2 * np.cos(theta), 0.2 * np.sin(theta)])
        tip = bar.pose(q, "rocker")[:2, :2] @ [0.5, 0.0] + [0.7, 0.0]
        reach = np.array([0.7, 0.0]) - end
        r = np.hypot(*reach)
        corner = np.arctan2(reach[1], reach[0]) + np.arccos((0.36 + r * r - 0.25) / (1.2 * r))
        assert np.abs(end + 0.6 * np.array([np.cos(corner), np.sin(corner)]) - tip).max() < 1e-10
        piston = rc.robots.slider_crank()
        q = piston.neutral()
        for angle in np.linspace(0.0, crank, 20):
            q = piston.assemble([angle, *q[1:]], fixed=["crank_joint"])
        x = piston.pose(q, "piston")[0, 3]
        assert abs(x - 0.2 * np.cos(theta) - np.sqrt(0.49 - 0.04 * np.sin(theta) ** 2)) < 1e-11


def test_stewart_legs_have_the_lengths_of_the_pose() -> None:
    robot = rc.robots.stewart()
    home = [
        np.linalg.norm([x - y for x, y in zip((*head[:2], STEWART_HEIGHT), foot, strict=True)])
        for foot, head in stewart_points()
    ]
    q = robot.integrate(robot.neutral(), [0.1, -0.15, 0.2, 0.03, 0.02, -0.04, *[0.0] * 18])
    q = robot.assemble(q, fixed=["platform_joint"])
    pose = robot.pose(q, "platform")
    for k, ((foot, head), length) in enumerate(zip(stewart_points(), home, strict=True), start=1):
        found = q[7 + 3 * (k - 1) + 2]
        assert abs(np.linalg.norm(pose[:3, 3] + pose[:3, :3] @ head - foot) - length - found) < 1e-11


def test_delta_arms_have_the_angles_of_the_position() -> None:
    robot = rc.robots.delta()
    moved = np.array([0.05, -0.08, -0.1])
    q = robot.assemble(robot.integrate(robot.neutral(), [0, 0, 0, *moved, 0.0, 0.0, 0.0]), fixed=["platform_joint"])
    place = robot.pose(q, "platform")[:3, 3]
    for k in range(3):
        turn = 2 * np.pi * k / 3
        c, s = np.cos(turn), np.sin(turn)
        x, y, z = c * place[0] + s * place[1] + 0.05 - 0.2, -s * place[0] + c * place[1], place[2]
        # (x - L cos)^2 + y^2 + (z + L sin)^2 = l^2:  -2 L x cos + 2 L z sin = l^2 - L^2 - x^2 - y^2 - z^2
        right = (0.55**2 - 0.25**2 - x * x - y * y - z * z) / (2 * 0.25)
        angles = np.arctan2(z, -x) + np.array([1.0, -1.0]) * np.arccos(right / np.hypot(x, z))
        assert np.abs(np.angle(np.exp(1j * (angles - q[7 + k])))).min() < 1e-10


# ---- runs with constraints -------------------------------------------------------------------------------------------

STEPS = [("dop853", None), ("rk4", 2e-3), ("implicit-midpoint", 2e-3), ("semi-implicit", 1e-3), ("radau", None)]


@pytest.mark.parametrize(("integrator", "step"), STEPS)
def test_loops_stay_closed_and_no_work_is_done(integrator: str, step: float | None) -> None:
    robot = rc.robots.four_bar()
    q = robot.neutral()
    v = robot.project_velocity(q, [3.0, 0.0, 0.0])
    run = robot.simulate(q, v, duration=0.5, integrator=integrator, step=step, rtol=1e-8, atol=1e-10)
    assert closure(run) < 1e-14
    assert np.abs(np.einsum("tij,tj->ti", robot.constraint_jacobian(run.q), run.v)).max() < 1e-13
    assert run.energy_drift < {"dop853": 1e-7, "rk4": 1e-6, "implicit-midpoint": 1e-3, "radau": 1e-6}.get(
        integrator, 3e-2
    )


def test_baumgarte_keeps_loops_nearly_closed() -> None:
    robot = rc.robots.five_bar()
    by_projection = robot.simulate(robot.neutral(), duration=0.5)
    run = robot.simulate(robot.neutral(), duration=0.5, baumgarte=rc.Baumgarte(rate=30.0))
    assert 0.0 < closure(run) < 1e-8
    assert np.abs(run.q[-1] - by_projection.q[-1]).max() < 1e-7


@pytest.mark.parametrize("name", ["delta", "stewart", "gripper", "two_arms"])
def test_mechanisms_fall_with_their_energy_kept(name: str) -> None:
    robot = rc.robots.by_name(name)
    q = robot.neutral()
    v = robot.project_velocity(q, np.random.default_rng(3).normal(size=robot.nv))
    run = robot.simulate(q, v, duration=0.05, events={"half": lambda t, q, v: t - 0.025})
    assert closure(run) < 1e-13
    assert run.energy_drift < 1e-8
    assert [round(one.t, 12) for one in run.events] == [0.025]


def test_friction_and_damping_in_loops_take_what_is_lost() -> None:
    bar = rc.robots.four_bar()
    rough = bar.with_joint("crank_joint", friction=0.4, damping=0.2).with_joint("rocker_joint", friction=0.1)
    run = rough.simulate(rough.neutral(), duration=1.0)
    assert run.lost[-1] > 0.0
    assert run.energy_drift < 1e-7


def test_starts_that_do_not_close_are_refused() -> None:
    robot = rc.robots.four_bar()
    with pytest.raises(rc.StateError, match=r"loop 'pin' by 0\.\d+ m\. q0 = robot\.assemble"):
        robot.simulate([0.5, 0.0, 0.0], duration=1.0)
    with pytest.raises(rc.StateError, match=r"loop 'pin' by .* m/s\. v0 = robot\.project_velocity"):
        robot.simulate(robot.neutral(), [1.0, 0.0, 0.0], duration=1.0)
    with pytest.raises(rc.StateError, match="diagonal"):
        robot.simulate(robot.neutral(), duration=1.0, coordinates="diagonal")
    with pytest.raises(rc.StateError, match="has none"):
        rc.robots.planar(2).simulate([0, 0], duration=1.0, baumgarte=True)
    with pytest.raises(rc.StateError, match="baumgarte takes"):
        robot.simulate(robot.neutral(), duration=1.0, baumgarte=3)
    with pytest.raises(rc.StateError, match="rate of Baumgarte"):
        rc.Baumgarte(rate=-1.0)


@pytest.mark.slow
def test_ten_to_the_five_steps() -> None:
    """Loops within 1e-12 m, and with the symmetric step an energy that stays where it was."""
    robot = rc.robots.four_bar()
    run = robot.simulate(robot.neutral(), duration=200.0, integrator="rk4", step=2e-3, save_every=20)
    assert closure(run) < 1e-12
    run = robot.simulate(robot.neutral(), duration=200.0, integrator="implicit-midpoint", step=2e-3, save_every=20)
    assert closure(run) < 1e-12
    early, late = (np.abs(part).max() for part in np.split(run.energy_error[:5000], [500]))
    assert late < 1.5 * early


def test_rollouts_keep_loops_closed_and_agree_with_simulations() -> None:
    robot = rc.robots.four_bar()
    q = robot.neutral()
    v = robot.project_velocity(q, [[1.0, 0, 0], [3.0, 0, 0]])
    qs, vs = rc.rollout(robot, q, v, None, step=1e-3, steps=100, save_every=50)
    assert np.abs(robot.constraint_error(qs)).max() < 1e-14
    run = robot.simulate(q, v[1], duration=0.1, integrator="rk4", step=1e-3)
    assert np.abs(qs[1, -1] - run.q[-1]).max() < 1e-12
    assert np.abs(vs[1, -1] - run.v[-1]).max() < 1e-11
    with pytest.raises(rc.StateError, match="q0 of row 0 does not obey"):
        rc.rollout(robot, [[0.5, 0, 0]], [[0.0, 0, 0]], None, step=1e-3, steps=10)
    with pytest.raises(rc.StateError, match="rollout does not know how the prescribed motion of 'joint1'"):
        told = rc.robots.planar(2).with_constraints(rc.Prescribed("joint1"))
        rc.rollout(told, [[0.5, 0]], [[0.0, 0]], None, step=1e-3, steps=10)


@pytest.mark.parametrize(
    ("name", "integrator"),
    [("slider_crank", "rk4"), ("gripper", "semi-implicit"), ("delta", "rk4"), ("standing_quadruped", "semi-implicit")],
)
def test_native_rollouts_with_constraints_are_those_from_python_and_simulations(
    name: str, integrator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = rc.robots.by_name(name)
    q = robot.neutral()
    v = robot.project_velocity(q, 0.5 * np.random.default_rng(1).normal(size=(3, robot.nv)))
    tau = 0.1 * np.random.default_rng(2).normal(size=(3, robot.nv))
    given = {"step": 2e-3, "steps": 10, "integrator": integrator, "save_every": 5, "losses": False}
    qs, vs = rc.rollout(robot, q, v, tau, **given)
    assert np.abs(robot.constraint_error(qs)).max() < 1e-14
    rates = np.einsum("bsij,bsj->bsi", robot.constraint_jacobian(qs), vs)
    assert np.abs(rates).max() < 1e-12
    with monkeypatch.context() as patch:
        patch.setattr(Switch, "on", False)
        again = rc.rollout(robot, q, v, tau, **given)
    assert np.abs(qs - again.q).max() < 1e-12
    assert np.abs(vs - again.v).max() < 1e-10
    run = robot.simulate(
        q, v[1], duration=0.02, torque=tau[1], integrator=integrator, step=2e-3, losses=False, progress=False
    )
    assert np.abs(qs[1, -1] - run.q[-1]).max() < 1e-12
    single = rc.rollout(robot, q.astype("f4"), v.astype("f4"), None, **given)
    assert single.q.dtype == np.float32
    assert np.isfinite(single.q).all()


# ---- impacts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_impact_obeys_its_law_and_makes_no_energy(e: float) -> None:
    robot = rc.robots.stewart()
    q, v = robot.neutral(), np.random.default_rng(2).normal(size=(5, robot.nv))
    after, impulses, lost = robot.impact(q, v, restitution=e)
    J, M = robot.constraint_jacobian(q), robot.mass_matrix(q)
    assert np.abs(after @ J.T + e * v @ J.T).max() < 1e-11
    before, left = (0.5 * np.einsum("bi,ij,bj->b", x, M, x) for x in (v, after))
    assert (left <= before * (1 + 1e-12)).all()
    assert np.abs(lost - (before - left)).max() < 1e-11 * before.max() and (lost >= 0.0).all()
    impulse = (after - v) @ M
    assert np.abs(impulses @ J - impulse).max() < 1e-10 * np.abs(impulse).max()
    free = np.linalg.svd(J)[2][np.linalg.matrix_rank(J) :]
    assert np.abs(impulse @ free.T).max() < 1e-10
    with pytest.raises(rc.StateError, match="restitution"):
        robot.impact(q, v, restitution=1.5)


# ---- contacts --------------------------------------------------------------------------------------------------------


def body(name: str, mass: float, inertia: tuple[float, float, float], kind: str = "free") -> rc.Robot:
    b = rc.Builder(name)
    b.link(name, mass=mass, inertia=inertia)
    b.joint("root", kind, parent="world", child=name)
    return b.build(gravity=(0, 0, -G))


@pytest.mark.parametrize("integrator", ["dop853", "rk4", "implicit-midpoint"])
def test_ball_bounces_at_the_times_and_heights_of_its_closed_form(integrator: str) -> None:
    e, ball = 0.7, body("ball", 1.0, (0.004, 0.004, 0.004), "prismatic")
    run = ball.simulate(
        [1.1], duration=3.0, integrator=integrator, contacts=rc.Touch("ball", radius=0.1, restitution=e)
    )
    first, flight = np.sqrt(2 / G), 2 * np.sqrt(2 / G)
    times = first + flight * np.cumsum([0.0, *(e**k for k in range(1, 11))])
    assert np.abs([one.t for one in run.events[:11]] - times).max() < 1e-9
    for k, (a, b) in enumerate(pairwise(times), start=1):
        inside = (run.t > a) & (run.t < b)
        assert run.q[inside, 0].max(initial=0.0) <= 0.1 + e ** (2 * k) + 1e-9
    assert np.abs(run.q[-1] - 0.1).max() < 1e-12
    assert np.abs(run.v[-1]).max() < 1e-12
    assert np.diff(run.energy).max() < 1e-12
    assert run.energy_drift < 1e-9


def test_block_stops_where_coulomb_says() -> None:
    mu, speed, block = 0.3, 1.2, body("block", 2.0, (0.01, 0.02, 0.025))
    corners = [rc.Touch("block", at=(x, y, -0.1), friction=mu) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]
    q = block.neutral() + np.array([0, 0, 0.1, 0, 0, 0, 0])
    run = block.simulate(q, [0, 0, 0, speed, 0, 0], duration=1.0, contacts=corners)
    assert np.abs(run.q[-1, :3] - [speed**2 / (2 * mu * G), 0, 0.1]).max() < 1e-9
    assert np.abs(run.v[-1]).max() < 1e-9
    assert abs(run.lost[-1] - speed**2) < 1e-9


def test_block_on_a_slope_stays_or_slides() -> None:
    block, angle = body("block", 2.0, (0.01, 0.02, 0.025)), 0.4
    normal = (-np.sin(angle), 0.0, np.cos(angle))
    turned = [0, -np.sin(angle / 2), 0, np.cos(angle / 2)]
    for mu in (0.5, 0.3):
        corners = [
            rc.Touch("block", at=(x, y, 0), normal=normal, friction=mu) for x in (-0.2, 0.2) for y in (-0.15, 0.15)
        ]
        run = block.simulate([0, 0, 0, *turned], duration=0.5, contacts=corners)
        gone = float(np.linalg.norm(run.q[-1, :3]))
        slides = max(0.0, np.sin(angle) - mu * np.cos(angle))
        assert abs(gone - 0.5 * G * slides * 0.25) < 1e-8


def test_wheel_slides_until_it_rolls() -> None:
    """A disc let go at 2 m/s without turning ends at two thirds of that."""
    wheel = body("wheel", 1.0, (0.01, 0.02, 0.01))
    q = wheel.neutral() + np.array([0, 0, 0.2, 0, 0, 0, 0])
    run = wheel.simulate(q, [0, 0, 0, 2.0, 0, 0], duration=1.5, contacts=rc.Touch("wheel", radius=0.2, axis=(0, 1, 0)))
    assert abs(np.hypot(run.v[-1, 3], run.v[-1, 5]) - 4 / 3) < 1e-8
    assert abs(run.v[-1, 1] - 4 / 3 / 0.2) < 1e-7
    assert abs(run.q[-1, 2] - 0.2) < 1e-12


def test_quadruped_lands_and_stands() -> None:
    robot = rc.load(rc.robots.urdf("quadruped"), floating=True)
    legs = np.tile([0.0, 0.8, -1.5], 4)
    q = robot.neutral()
    q[7:] = legs
    q[2] = 0.1 - min(robot.pose(q, foot)[2, 3] for foot in FEET)

    def hold(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros(6), 150 * (legs - q[7:]) - 6 * v[6:]])

    feet = [rc.Touch(foot, friction=0.7) for foot in FEET]
    run = robot.simulate(q, duration=1.5, torque=hold, losses="damping", rtol=1e-7, atol=1e-9, contacts=feet)
    assert {one.name for one in run.events} == set(FEET)
    heights = [robot.pose(run.q[-1], foot)[2, 3] for foot in FEET]
    assert np.abs(heights).max() < 1e-9
    assert np.abs(run.v[-1]).max() < 1e-2
    assert np.diff(run.energy - run.work).max() < 1e-6


def test_contacts_that_make_no_sense_are_refused() -> None:
    ball = body("ball", 1.0, (0.004, 0.004, 0.004), "prismatic")
    with pytest.raises(rc.StateError, match=r"starts 0\.05 m under its plane"):
        ball.simulate([0.05], duration=1.0, contacts=rc.Touch("ball", radius=0.1))
    with pytest.raises(rc.StateError, match="contacts takes"):
        ball.simulate([0.5], duration=1.0, contacts=["ball"])
    with pytest.raises(rc.RecursaError, match="bal"):
        ball.simulate([0.5], duration=1.0, contacts=rc.Touch("bal"))
    with pytest.raises(rc.StateError, match="baumgarte"):
        ball.simulate([0.5], duration=1.0, contacts=rc.Touch("ball"), baumgarte=True)
    for wrong in ({"restitution": 1.2}, {"friction": -1.0}, {"normal": (0, 0, 0)}, {"axis": (0, 1, 0)}):
        with pytest.raises(rc.ModelError, match="what touches with link 'ball'"):
            rc.Touch("ball", **wrong)
