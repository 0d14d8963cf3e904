"""The methods that Balafoutis & Patel survey: columns, conjugate gradients, least squares, the direct linear model."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from numeric import close, states, tied_gripper
from recursa.book.column_recursion import MASS_TIMES, ROOT_TIMES
from recursa.book.direct import conjugate_gradients, least_squares
from zoo import ZOO, small_flyer

pytestmark = pytest.mark.interpreted(reason="several methods of every robot; kernels/test_forms.py compares the forms")

ROBOTS = {
    **{name: make for name, make in ZOO.items() if name not in ("floating_tree", "chain200")},
    "tied_gripper": tied_gripper,
}
every_robot = pytest.mark.parametrize("name", ROBOTS)


@every_robot
def test_mass_matrix_by_columns_and_by_its_root(name):
    """(6.2.4) and (6.2.15) against composite bodies: ``D = P* P``, rotors and ties included."""
    robot = ROBOTS[name]()
    q, _, _ = states(robot, 2)
    mass, units = robot.mass_matrix(q), np.eye(robot.nv)
    close(robot.mass_matrix(q, method="column"), mass, 1e-13)
    asked = {"q": q[:, None, :], "a": units}
    close(robot.evaluator.evaluate(MASS_TIMES, asked), mass, 1e-13)
    root = robot.evaluator.evaluate(ROOT_TIMES, asked)  # (2, nv, rows): P*
    close(root @ np.swapaxes(root, -1, -2), mass, 1e-13)


@every_robot
def test_forward_dynamics_without_the_mass_matrix(name):
    robot = ROBOTS[name]()
    q, v, tau = states(robot, 2)
    push = np.random.default_rng(3).normal(size=(2, robot.nlinks, 6))
    for options in ({}, {"wrenches": push, "losses": True}):
        expected = robot.forward_dynamics(q, v, tau, **options)
        for method in ("conjugate-gradients", "least-squares"):
            close(robot.forward_dynamics(q, v, tau, method=method, **options), expected, 1e-10, method)
    at_once = robot.forward_dynamics(q[0], v, tau, method="least-squares")
    close(at_once[0], robot.forward_dynamics(q[0], v[0], tau[0], method="least-squares"))


def test_least_squares_need_inertias_that_bodies_have():
    """A rotor's share is taken from the link that carries it, which may leave it less than nothing."""
    robot = rc.robots.puma560().with_joint("joint4", rotor=rc.Rotor(1e-3, 30.0))
    with pytest.raises(rc.NoSweepError, match="'joint3' is not positive; rotors"):
        robot.forward_dynamics(np.zeros(6), np.zeros(6), np.zeros(6), method="least-squares")


def test_conjugate_gradients_take_n_iterations_where_nothing_is_rounded():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(5, 5))
    mass, right, calls = root @ root.T + np.eye(5), rng.normal(size=5), []

    def times(x):
        calls.append(x)
        return mass @ x

    close(conjugate_gradients(times, right), np.linalg.solve(mass, right), 1e-11)
    assert len(calls) <= 3 * 6  # n, and what rounding takes: twice at most
    close(least_squares(np.linalg.cholesky(mass).T, right), np.linalg.solve(mass, right), 1e-11)


def test_conjugate_gradients_say_where_they_fail():
    squares = np.diag(10.0 ** -np.arange(0.0, 60.0, 2.0))
    turn, _ = np.linalg.qr(np.random.default_rng(2).normal(size=(30, 30)))
    with pytest.raises(rc.ConvergenceError, match=r"off by .* use method=\"articulated\""):
        conjugate_gradients(lambda x: (turn @ (squares @ (turn.T @ x[..., None])))[..., 0], np.ones(30))
    assert np.isnan(conjugate_gradients(lambda x: 2.0 * x, np.array([1.0, np.nan]))).any()  # nan in, nan out


SUITED = ("pendulum", "stanford", "puma560", "chain_mixed", "tree", "revolute", "prismatic", "tied_gripper")


@pytest.mark.parametrize("name", SUITED)
def test_direct_linear_model_matches_complex_steps(name):
    robot = ROBOTS[name]()
    (q,), (v,), (a,) = states(robot, 1)
    stiffness, damping, mass = robot.linearize(q, v, a, method="direct")
    steps = 1e-200j * np.eye(robot.nv)
    by_q = robot.inverse_dynamics(q + steps, v, a).imag.T / 1e-200
    by_v = robot.inverse_dynamics(q, v + steps, a).imag.T / 1e-200
    close(stiffness, by_q, 1e-11)
    close(damping, by_v, 1e-11)
    close(mass, robot.mass_matrix(q), 1e-13)


def test_direct_linear_model_refuses_other_joints():
    robot = ZOO["spherical"]()
    q, v = robot.random_state(1)
    with pytest.raises(rc.NoSweepError, match=r"\(7\.3\.2\)-\(7\.3\.4\) is for revolute and prismatic"):
        robot.linearize(q, v, v, method="direct")


# ---- discrete time ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["stanford", "flyer", "tied_gripper"])
def test_discrete_models_are_what_the_linear_ones_do(name):
    """Against SciPy's exponential, state by state, and single steps against two of half the length."""
    linalg = pytest.importorskip("scipy.linalg")
    robot = (ROBOTS | {"flyer": small_flyer})[name]()
    q, v, tau = states(robot, 3)
    A, B = robot.state_space(q, v, tau, losses=True)
    found = robot.state_space(q, v, tau, losses=True, dt=0.07)
    for k in range(3):
        whole = np.zeros((3 * robot.nv, 3 * robot.nv))
        whole[: 2 * robot.nv] = np.concatenate([A[k], B[k]], axis=1)
        expected = linalg.expm(0.07 * whole)[: 2 * robot.nv]
        close(found.A[k], expected[:, : 2 * robot.nv], 1e-12)
        close(found.B[k], expected[:, 2 * robot.nv :], 1e-12)
    half = robot.state_space(q, v, tau, losses=True, dt=0.035)
    close(half.A @ half.A, found.A, 1e-12)
    close(half.A @ half.B + half.B, found.B, 1e-12)


def test_discrete_models_say_what_a_step_is():
    robot = rc.robots.planar(1)
    for dt in (0.0, -1.0, np.nan, "soon"):
        with pytest.raises(rc.StateError, match="dt is the length of a step"):
            robot.state_space([0.1], [0.2], [0.3], dt=dt)
    assert np.isnan(robot.state_space([[0.1], [np.nan]], [0.2], [0.3], dt=0.1).A[1]).all()


def test_vectors_by_joint_name_in_methods_made_of_others():
    robot = rc.robots.planar(2)
    named = {"joint2": 0.2, "joint1": 0.1}
    push = {"tip": [0.0, 0.0, 0.1, 1.0, 2.0, 0.0]}
    expected = robot.forward_dynamics(*[[0.1, 0.2]] * 3, wrenches=push)
    for options in ({"method": "composite"}, {"method": "composite", "bias": "kane"}, {"method": "least-squares"}):
        close(robot.forward_dynamics(named, named, named, wrenches=push, **options), expected, 1e-12)
