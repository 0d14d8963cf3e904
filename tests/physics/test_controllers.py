"""Controllers in motion: what their equations promise happens in simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import recursa as rc
from numeric import central, close
from zoo import each_kind

WEIGHTS = [40.0] * 3 + [0.5] * 9  # N/m for the origin, N m for the axes: wrists are light
ARMS = {"planar": "tip", "stanford": "link6", "ur5_like": "link6"}


# ---- rate damping (8.1) ----------------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize("coordinates", ["joint", "diagonal"])
def test_rate_damping_decays_exponentially(coordinates: Any) -> None:
    """``|nu|^2 = |nu0|^2 exp(-2 c t)``, with gravity compensated."""
    arm = rc.robots.stanford()
    q, v = arm.random_state(2)
    stop = rc.control.RateDamping(arm, 1.5)
    run = arm.simulate(q, v, duration=1.5, torque=stop, samples=16, coordinates=coordinates, rtol=1e-9)
    expected = stop.lyapunov(q, v) * np.exp(-2 * 1.5 * run.t)
    assert np.abs(stop.lyapunov(run.q, run.v) / expected - 1.0).max() < 1e-6


@pytest.mark.compiled
def test_rate_damping_by_freedom_is_at_least_as_fast_as_the_slowest() -> None:
    arm = rc.robots.stanford()
    q, v = arm.random_state(4)
    stop = rc.control.RateDamping(arm, [1.0, 2.0, 3.0, 1.5, 2.5, 4.0])
    run = arm.simulate(q, v, duration=1.0, torque=stop, samples=11)
    energy = stop.lyapunov(run.q, run.v)
    assert (energy <= energy[0] * np.exp(-2 * run.t) * (1 + 1e-8)).all()
    rate = central(lambda h: stop.lyapunov(*run.at(0.5 + h)), 1e-3)
    close(rate, stop.lyapunov_rate(*run.at(0.5)), 1e-4)


def test_rate_damping_is_minus_c_times_momentum() -> None:
    """On every kind of joint, a free one that is driven among them."""
    for kind in ("spherical", "planar", "free"):
        robot = each_kind(kind)
        q, v = robot.random_state(1)
        tau = rc.control.RateDamping(robot, 0.7, drive_base=True).torque(0.0, q, v)
        close(tau, -0.7 * robot.mass_matrix(q) @ v + robot.gravity_forces(q), 1e-12, kind)


# ---- pose regulator (8.2 corrected) ----------------------------------------------------------------------------------


def regulator(arm: rc.Robot, link: str, rng: np.random.Generator, **options: Any) -> rc.control.PoseRegulator:
    goal = arm.pose(arm.random_state(rng)[0], link)
    return rc.control.PoseRegulator(arm, link, goal, **{"stiffness": WEIGHTS, "damping": 4.0} | options)


def falling(name: str, rng: np.random.Generator, duration: float, **options: Any) -> rc.control.PoseReport:
    """One random start: the Lyapunov function may not grow; where it ends."""
    arm = rc.robots.by_name(name)
    law = regulator(arm, ARMS[name], rng, **options)
    q, v = arm.random_state(rng)
    run = arm.simulate(q, v, duration=duration, torque=law, losses=False, rtol=1e-7, atol=1e-9, progress=False)
    value = law.lyapunov(run.q, run.v)
    assert np.diff(value).max() <= 1e-6 * value[0], name  # what the integrator's tolerance makes of zero
    return law.report(run.q[-1], run.v[-1])


@pytest.mark.compiled
@pytest.mark.parametrize("name", ARMS)
def test_lyapunov_function_never_grows(name: str) -> None:
    rng = np.random.default_rng(1)
    weights = rng.normal(size=(12, 12))
    falling(name, rng, 0.6)
    falling(name, rng, 0.6, stiffness=np.diag(WEIGHTS) + 0.02 * weights @ weights.T)  # a full weight matrix


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("name", ARMS)
def test_hundred_starts_end_where_nothing_pulls(name: str) -> None:
    """Every start comes to rest at H phi B Wt e = 0 or is on its way; many, not all, at the target."""
    rng = np.random.default_rng(7)
    ends = [falling(name, rng, 8.0) for _ in range(100)]
    arrived = [end.error < 1e-2 for end in ends]
    elsewhere = [end for end in ends if end.error > 0.05 and end.gradient < 1e-2 and end.rate < 1e-2]
    slow = len(ends) - sum(arrived) - len(elsewhere)
    print(f"{name}: {sum(arrived)} within 1e-2 of the target, {len(elsewhere)} at rest elsewhere, {slow} on their way")
    assert np.median([end.gradient for end in ends]) < 0.05
    assert sum(arrived) > 0


@pytest.mark.compiled
def test_start_near_the_target_reaches_it() -> None:
    arm = rc.robots.ur5_like()
    there = np.array([0.4, -1.1, 1.2, -0.3, 0.8, 0.2])
    law = rc.control.PoseRegulator(arm, "link6", arm.pose(there, "link6"), stiffness=WEIGHTS, damping=4.0)
    start = there + 0.1 * np.random.default_rng(0).normal(size=6)
    before = law.report(start)
    run = arm.simulate(start, duration=12.0, torque=law, rtol=1e-6, atol=1e-9)
    after = law.report(run.q[-1], run.v[-1])
    assert before.error > 0.1
    assert after.error < 2e-3
    assert after.gradient < 1e-3 * before.gradient
    assert after.curvature > 0.0


def test_pull_is_the_gradient_of_the_error() -> None:
    arm, rng = rc.robots.ur5_like(), np.random.default_rng(3)
    weights = rng.normal(size=(12, 12))
    law = regulator(arm, "link6", rng, stiffness=weights @ weights.T + np.eye(12))
    q, direction = arm.random_state(rng)

    def half(h: float) -> Any:
        e = law.error(q + h * direction)
        return 0.5 * e @ law.stiffness @ e

    close(law.pull(q) @ direction, -central(half), 1e-9)
    close(law.hessian(q) @ direction, -central(lambda h: law.pull(q + h * direction)), 1e-5)


def test_law_is_the_one_in_total_rates() -> None:
    """``eps = -c1 nu + inv(m) H phi B e + eps_grav``, against the dense factor."""
    arm, rng = rc.robots.stanford(), np.random.default_rng(5)
    law = regulator(arm, "link6", rng, damping=rng.uniform(1, 2, 6))
    q, v = arm.random_state(rng)
    d = arm.diagonal
    eps = -law.damping * d.total_rates(q, v) + d.working_moments(q, law.pull(q) + arm.gravity_forces(q))
    close(d.working_moments(q, law.torque(0.0, q, v)), eps, 1e-11)
    speed, nu_dot = d.rates(q, d.total_rates(q, v), law.torque(0.0, q, v))
    nu, e_dot = d.total_rates(q, v), central(lambda h: law.error(arm.integrate(q, h * speed)))
    close(2 * nu @ nu_dot + 2 * law.error(q) @ law.stiffness @ e_dot, law.lyapunov_rate(q, v), 1e-8)


def test_error_falls_from_rest() -> None:
    """The printed sign drives away: the acceleration at rest has to point down the error."""
    arm, rng = rc.robots.ur5_like(), np.random.default_rng(8)
    law = regulator(arm, "link6", rng)
    q, still = arm.random_state(rng)[0], np.zeros(6)
    a = arm.forward_dynamics(q, still, law.torque(0.0, q, still))
    assert a @ law.pull(q) > 0.0


def test_half_a_turn_pulls_nowhere_and_is_reported_so() -> None:
    arm = rc.robots.ur5_like()
    q, _ = arm.random_state(2)
    goal = arm.pose(q, "link6")
    goal[:3, :3] = goal[:3, :3] @ np.diag([1.0, -1.0, -1.0])
    report = rc.control.PoseRegulator(arm, "link6", goal).report(q)
    assert report.gradient < 1e-12
    assert report.error > 2.0
    close(report.angle, np.pi, 1e-7)
    assert "|H phi B e|" in str(report)
    assert "reached" not in str(report)


# ---- computed torque -------------------------------------------------------------------------------------------------


@pytest.mark.compiled
def test_computed_torque_has_linear_errors() -> None:
    """``x'' + d x' + k x = 0``, critically damped: ``x = (x0 + (x0' + w x0) t) exp(-w t)``."""
    arm = rc.robots.planar(3)
    motion = rc.Trajectory.cycloid([0.1, 0.5, -0.2], [1.0, -0.5, 0.4], T=0.7)
    law = rc.control.ComputedTorque(arm, motion, stiffness=81.0)
    x0 = np.array([0.2, -0.1, 0.15])
    run = arm.simulate(motion.sample(0.0)[0] + x0, duration=1.0, torque=law, samples=11)
    expected = (x0 + 9.0 * x0 * run.t[:, None]) * np.exp(-9.0 * run.t)[:, None]
    close(run.q - motion.sample(run.t)[0], expected, 1e-7)


@pytest.mark.parametrize("kind", ["spherical", "planar", "free"])
def test_computed_torque_on_other_joints_has_the_error_rate_it_asks_for(kind: str) -> None:
    """``e_v' = -damping e_v - stiffness x`` exactly, with x and e_v in moving axes."""
    from deviations import deviation

    robot = each_kind(kind)
    start, end = (robot.random_state(seed)[0] for seed in (1, 2))
    motion = rc.Trajectory.cycloid(start, robot.integrate(start, 0.3 * robot.difference(start, end)), 1.0, robot=robot)
    law = rc.control.ComputedTorque(robot, motion, stiffness=30.0, damping=7.0, drive_base=True)
    q = robot.integrate(motion.sample(0.4)[0], 0.2 * np.random.default_rng(0).normal(size=robot.nv))
    v = robot.random_state(3)[1]
    a = robot.forward_dynamics(q, v, law.torque(0.4, q, v))

    def error(h: float) -> Any:
        moved = robot.integrate(q, h * v + 0.5 * h * h * a)
        return deviation(robot, moved, v + h * a, motion.sample(0.4 + h)).velocity

    off = deviation(robot, q, v, motion.sample(0.4))
    close(central(error, 1e-3), -7.0 * off.velocity - 30.0 * off.x, 1e-5)


# ---- operational space -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coordinates", ["twist", "position", (0, 4, 5)])
def test_link_accelerates_as_commanded(coordinates: Any) -> None:
    arm = rc.robots.panda_like()
    q = np.array([0.3, -0.6, 0.2, -2.0, 0.1, 1.6, 0.4])
    v, rest = arm.random_state(2)[1], q + 0.3
    line = rc.control.PoseLine(arm.pose(q, "flange"), arm.pose(q + 0.1, "flange"), 0.8)
    law = rc.control.OperationalSpace(arm, "flange", line, 100.0, coordinates=coordinates, posture=rest, singular=1e-11)
    a = arm.forward_dynamics(q, v, law.torque(0.3, q, v))
    number = arm.link_names.index("flange")
    reached = arm.accelerations(q, v, a, "mixed", "classical")[number, list(law.rows)]
    velocity = arm.velocities(q, v, "mixed")[number]
    _, wanted, acceleration = line(0.3)
    command = acceleration + 20.0 * (wanted - velocity)
    close(reached, command[list(law.rows)] + 100.0 * law.error(0.3, q), 1e-8)


def test_posture_acts_in_the_null_space_alone() -> None:
    arm = rc.robots.panda_like()
    q, v = np.array([0.3, -0.6, 0.2, -2.0, 0.1, 1.6, 0.4]), np.zeros(7)
    given = {"target": arm.pose(q, "flange"), "stiffness": 100.0, "singular": 1e-11}
    laws = [rc.control.OperationalSpace(arm, "flange", posture=q + shift, **given) for shift in (0.0, 0.3)]
    still, moved = (arm.forward_dynamics(q, v, law.torque(0.0, q, v)) for law in laws)
    close(arm.jacobian(q, "flange") @ (moved - still), np.zeros(6), 1e-8)
    assert np.abs(moved - still).max() > 0.01


@pytest.mark.compiled
def test_link_follows_a_line() -> None:
    arm = rc.robots.ur5_like()
    q = np.array([0.4, -1.1, 1.2, -0.3, 0.8, 0.2])
    start, end = arm.pose(q, "link6"), arm.pose(q + 0.2, "link6")
    law = rc.control.OperationalSpace(arm, "link6", rc.control.PoseLine(start, end, 0.5), 400.0, singular=1e-9)
    run = arm.simulate(q, duration=0.6, torque=law, samples=13, rtol=1e-7)
    assert np.abs(law.error(run.t, run.q)).max() < 1e-5
    close(arm.pose(run.q[-1], "link6"), end, 1e-5)


def test_singular_direction_is_given_up() -> None:
    """A stretched planar arm cannot move along itself: the torques stay finite and small."""
    arm = rc.robots.planar(2)
    q, v = np.zeros(2), np.zeros(2)
    goal = arm.pose(q, "tip")
    goal[0, 3] += 0.1
    law = rc.control.OperationalSpace(arm, "tip", goal, 100.0, coordinates=(3, 4))
    close(law.torque(0.0, q, v), arm.gravity_forces(q), 1e-6)


# ---- linear quadratic ------------------------------------------------------------------------------------------------


def swing() -> tuple[rc.Robot, rc.Trajectory]:
    return rc.robots.planar(2), rc.Trajectory.cycloid([0.2, 0.5], [1.5, -0.9], T=0.8)


@pytest.mark.compiled
def test_time_varying_cost_solves_riccatis_equation() -> None:
    """To second order in the distance of the knots, as are the differences that say so."""
    arm, motion = swing()
    worst = []
    for knots in (101, 201):
        law = rc.control.LinearQuadratic(arm, motion, Q=[10.0, 20.0, 0.1, 0.2], R=20.0, knots=knots)
        k = (knots - 1) // 2
        q, v, a = motion.sample(law.knots[k])
        A, B = arm.state_space(q, v, arm.inverse_dynamics(q, v, a))
        S = law.cost[k]
        rate = (law.cost[k + 1] - law.cost[k - 1]) / (law.knots[k + 1] - law.knots[k - 1])
        residual = rate + A.T @ S + S @ A - S @ B @ np.linalg.solve(law.R, B.T) @ S + law.Q
        worst.append(np.abs(residual).max())
    assert worst[1] < 0.005 * np.abs(law.Q).max()
    assert 3.5 < worst[0] / worst[1] < 4.5


def test_both_methods_agree_where_nothing_changes() -> None:
    arm = rc.robots.planar(2)
    still = rc.Trajectory.constant([0.3, 0.8], 1.0)
    one, two = (
        rc.control.LinearQuadratic(arm, still, Q=[1e3, 1e3, 1.0, 1.0], R=1.0, knots=11, method=method)
        for method in ("time-varying", "scheduled")
    )
    close(one.gains, two.gains, 1e-8)


@pytest.mark.compiled
def test_cost_of_a_small_deviation_is_the_one_foreseen() -> None:
    """``integral of x* Q x + u* R u = x0* S(0) x0``, the meaning of S; with the final cost of the end."""
    arm, motion = swing()
    law = rc.control.LinearQuadratic(arm, motion, Q=[10.0, 20.0, 0.1, 0.2], R=[20.0, 15.0], knots=101, losses=False)
    x0 = 1e-4 * np.array([1.0, -2.0, 3.0, 1.0])
    run = arm.simulate(motion.sample(0.0)[0] + x0[:2], x0[2:], duration=0.8, torque=law, samples=401)
    q, v, a = motion.sample(run.t)
    x = np.hstack([run.q - q, run.v - v])
    u = run.tau - arm.inverse_dynamics(q, v, a)
    running = np.einsum("ti,ij,tj->t", x, law.Q, x) + np.einsum("ti,ij,tj->t", u, law.R, u)
    total = np.trapezoid(running, run.t) + x[-1] @ law.cost[-1] @ x[-1]
    close(total / (x0 @ law.cost[0] @ x0), 1.0, 2e-3)


@pytest.mark.compiled
def test_linear_quadratic_keeps_a_loaded_arm_near_the_motion() -> None:
    arm, motion = swing()
    loaded = arm.with_payload("tip", mass=0.2, inertia=(1e-4, 1e-4, 1e-4))
    law = rc.control.LinearQuadratic(arm, motion, Q=[100.0, 100.0, 0.1, 0.1], R=0.1, knots=41)
    off = {}
    blind: Any = lambda t, q, v: arm.inverse_dynamics(*motion.sample(t))  # noqa: E731
    for name, torque in {"feed-forward": blind, "feedback": law}.items():
        run = loaded.simulate(motion.sample(0.0)[0], duration=0.8, torque=torque, samples=41, rtol=1e-6, atol=1e-8)
        off[name] = np.abs(run.q - motion.sample(run.t)[0]).max()
    assert off["feedback"] < 0.05 * off["feed-forward"]
