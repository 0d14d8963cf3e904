"""The diagonalised equations against the mass matrix alone: its Cholesky factor, and derivatives by complex steps.

Nothing here goes through the recursions under test: m is factored from ``robot.mass_matrix``, and its rate is the
complex-step derivative of that factor along the motion.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import recursa as rc
from numeric import close, complex_step, states
from zoo import ZOO, floating_tree_with_rotors, large_interpreted

ROBOTS = {
    **{name: make for name, make in ZOO.items() if name not in ("chain200", "floating_tree", "continuous")},
    "floating_tree_with_rotors": floating_tree_with_rotors,
}
robot_of = cache(lambda name: ROBOTS[name]())
every_robot = pytest.mark.parametrize("name", large_interpreted(ROBOTS))
TOLERANCE = 1e-10


def near(found, expected, what="") -> None:
    close(found, expected, TOLERANCE, what)


def tip_first(robot: rc.Robot) -> np.ndarray:
    """The freedoms, joints from the last to the first, those of one joint in their order."""
    return np.concatenate([
        np.arange(joint.v_start, joint.v_start + joint.kind.nv) for joint in reversed(robot.model.joints)
    ])  # fmt: skip


def cholesky(a: np.ndarray) -> np.ndarray:
    """Lower factor of a symmetric matrix, also a complex one: nothing is conjugated."""
    factor = np.zeros_like(a)
    for k in range(len(a)):
        factor[k, k] = np.sqrt(a[k, k] - factor[k, :k] @ factor[k, :k])
        factor[k + 1 :, k] = (a[k + 1 :, k] - factor[k + 1 :, :k] @ factor[k, :k]) / factor[k, k]
    return factor


def factor_of(robot: rc.Robot, q) -> np.ndarray:
    """m with ``mass = m m*``."""
    order = tip_first(robot)
    m = np.empty((robot.nv, robot.nv), np.asarray(q).dtype)
    m[np.ix_(order, order)] = cholesky(robot.mass_matrix(q)[np.ix_(order, order)])
    return m


def hinge_factor(robot: rc.Robot, m: np.ndarray) -> np.ndarray:
    """W: the blocks of m on the diagonal."""
    joint_of = np.repeat(np.arange(robot.nbodies), [joint.kind.nv for joint in robot.model.joints])
    return np.where(joint_of[:, None] == joint_of, m, 0.0)


def moved(robot: rc.Robot, q, v, t):
    return robot.integrate(q.astype(complex), t * v)


def state(robot: rc.Robot, seed: int = 1):
    q, v, tau = states(robot, 1, seed)
    return q[0], v[0], tau[0]


# ---- Tables 2 and 3 --------------------------------------------------------------------------------------------------


@every_robot
def test_rates_and_moments_match_the_cholesky_factor(name):
    robot = robot_of(name)
    q, v, tau = state(robot)
    m = factor_of(robot, q)
    w = hinge_factor(robot, m)
    d, u = robot.diagonal, robot.diagonal.unnormalized
    nu, xi = m.T @ v, np.linalg.solve(w.T, m.T @ v)
    near(d.total_rates(q, v), nu, "nu")
    near(u.total_rates(q, v), xi, "xi")
    near(d.joint_rates(q, tau), np.linalg.solve(m.T, tau), "v of nu")
    near(u.joint_rates(q, tau), np.linalg.solve(m.T, w.T @ tau), "v of xi")
    near(d.working_moments(q, tau), np.linalg.solve(m, tau), "eps")
    near(u.working_moments(q, tau), w @ np.linalg.solve(m, tau), "kappa")
    near(d.joint_moments(q, v), m @ v, "T of eps")
    near(u.joint_moments(q, v), m @ np.linalg.solve(w, v), "T of kappa")
    near(u.inertia(q), w @ w.T, "D")
    energy = robot.kinetic_energy(q, v)
    near([0.5 * nu @ nu, 0.5 * xi @ u.inertia(q) @ xi], [energy, energy], "kinetic energy")


# ---- equations of motion ---------------------------------------------------------------------------------------------


@every_robot
def test_equations_of_motion_match_the_moving_factor(name):
    """nu_dot and xi_dot with gravity, wrenches and losses: the derivative of m* v along the motion."""
    robot = robot_of(name)
    q, v, tau = state(robot)
    options = {"wrenches": np.random.default_rng(2).normal(size=(robot.nlinks, 6)), "losses": True}
    a = robot.forward_dynamics(q, v, tau, **options)
    m = factor_of(robot, q)

    def rates(t):
        m = factor_of(robot, moved(robot, q, v, t))
        nu = m.T @ (v + t * a)
        return np.stack([nu, np.linalg.solve(hinge_factor(robot, m).T, nu)])

    nu_dot, xi_dot = complex_step(rates)
    nu = m.T @ v
    speed, found = robot.diagonal.rates(q, nu, tau, **options)
    near(speed, v, "v")
    near(found, nu_dot, "nu_dot")
    xi = np.linalg.solve(hinge_factor(robot, m).T, nu)
    speed, found = robot.diagonal.unnormalized.rates(q, xi, tau, **options)
    near(speed, v, "v")
    near(found, xi_dot, "xi_dot")


@every_robot
def test_coriolis_terms_match_the_moving_factor(name):
    robot = robot_of(name).with_gravity((0, 0, 0))
    q, v, tau = state(robot, 4)
    d, u = robot.diagonal, robot.diagonal.unnormalized
    m, m_dot = factor_of(robot, q), complex_step(lambda t: factor_of(robot, moved(robot, q, v, t)))
    w, w_dot = hinge_factor(robot, m), hinge_factor(robot, m_dot)
    nu = m.T @ v
    xi = np.linalg.solve(w.T, nu)
    expected = np.linalg.solve(m, robot.bias_forces(q, v)) - m_dot.T @ v  # (3.2)
    methods = ("short", "7.1") if robot.nv == robot.nbodies else ("short",)
    for method in methods:
        term = d.coriolis(q, nu, method=method)
        near(term, expected, method)
        near(nu @ term, 0.0, "nu C = 0, (7.3)")
    d_dot = w_dot @ w.T + w @ w_dot.T
    near(u.inertia_rate(q, v), d_dot, "D_dot")
    turning = np.linalg.solve(w, w_dot)
    unnormalized = w @ (expected - 0.5 * (turning - turning.T) @ nu) + 0.5 * d_dot @ xi
    for method in ("short", "7.9", "7.10") if robot.nv == robot.nbodies else ("short", "7.9"):
        term = u.coriolis(q, xi, method=method)
        near(term, unnormalized, method)
        near(xi @ term, 0.5 * xi @ d_dot @ xi, "xi C = 1/2 xi* D_dot xi")
    speed, nu_dot = d.rates(q, nu, tau)
    near(nu_dot, d.working_moments(q, tau) - expected, "nu_dot = eps - C, (7.5)")
    near(nu @ nu_dot, nu @ d.working_moments(q, tau), "d/dt kinetic energy = nu eps, (7.6)")
    near(nu @ nu_dot, speed @ tau, "and the power of the torques")


@every_robot
def test_rates_of_articulated_inertias_match_a_complex_step(name):
    robot = robot_of(name)
    q, v, _ = state(robot)
    expected = complex_step(lambda t: robot.factorization(moved(robot, q, v, t)).P)
    near(robot.diagonal.articulated_rates(q, v), expected)


def test_coriolis_is_not_zero_because_nothing_turns():
    """nu C = 0 alone would pass for C = 0."""
    robot = robot_of("puma560")
    q, v, _ = state(robot)
    assert np.abs(robot.diagonal.coriolis(q, v)).max() > 0.05
    sliding = robot_of("prismatic")
    q, v, _ = state(sliding)
    near(sliding.diagonal.coriolis(q, v), np.zeros(3), "sliding joints have none")


# ---- sensitivities ---------------------------------------------------------------------------------------------------


@every_robot
def test_sensitivity_matches_a_complex_step(name):
    robot = robot_of(name)
    q, v, x = state(robot)
    y = np.random.default_rng(7).normal(size=robot.nv)
    d = robot.diagonal
    along = complex_step(lambda t: robot.mass_matrix(moved(robot, q, v, t)))
    near(d.sensitivity(q, along=v), along, "along")
    near(d.sensitivity(q, right=x, along=v), along @ x, "right, along")
    near(d.sensitivity(q, left=x, along=v), along @ x, "left, along")
    near(d.sensitivity(q, left=x, right=y, along=v), x @ along @ y, "all three")
    if robot.nv > 18:
        return
    whole = np.stack(
        [complex_step(lambda t, unit=unit: robot.mass_matrix(moved(robot, q, unit, t))) for unit in np.eye(robot.nv)],
        axis=-1,
    )
    near(d.sensitivity(q), whole, "whole")
    near(d.sensitivity(q, left=x, right=y), np.einsum("ijk,i,j->k", whole, x, y), "left, right")
    near(d.sensitivity(q, right=y), np.einsum("ijk,j->ik", whole, y), "right")
