"""Base velocities in other axes: matrices of the change of coordinates written out, differences in time, one motion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import recursa as rc
from calling import straight_in
from numeric import close
from recursa.loading import trusted
from recursa.quantities import Subject, quantity
from recursa.robots import random_description
from zoo import flyer, small_flyer

FORMS = ("mixed", "world")


def placed_flyer() -> rc.Robot:
    """Its base joint is neither at the world's origin nor upright, and has a rotor and losses on some freedoms."""
    description = random_description("placed", [-1, 0, 1, 0], 6, ["revolute"])
    (base,) = random_description("placed", [-1], 3, ["free"]).joints
    armature, damping = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), (0.3,) * 6
    return trusted(
        replace(description, joints=(replace(base, armature=armature, damping=damping), *description.joints[1:]))
    )


ROBOTS: dict[str, Callable[[], rc.Robot]] = {
    "small_flyer": small_flyer,
    "placed_flyer": placed_flyer,
    "fourteen_bodies": lambda: flyer("long", [-1, 0, 0, *range(1, 12)], 4, ["revolute", "prismatic"]),
}


@pytest.fixture(params=ROBOTS)
def robot(request: pytest.FixtureRequest) -> rc.Robot:
    return ROBOTS[request.param]()


def change(robot: rc.Robot, q: np.ndarray, form: str) -> np.ndarray:
    """T of ``v = T u``, (nv, nv), from the pose of the base link."""
    pose = robot.pose(q, robot.model.joints[0].child)
    R, p = pose[:3, :3], pose[:3, 3] * (form == "world")
    cross = np.array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])
    T = np.eye(robot.nv)
    T[:6, :6] = np.linalg.inv(np.block([[R, np.zeros((3, 3))], [cross @ R, R]]))
    return T


def rate_of_change(robot: rc.Robot, q: np.ndarray, v: np.ndarray, form: str, h: float = 1e-5) -> np.ndarray:
    there, back = (change(robot, robot.integrate(q, sign * h * v), form) for sign in (1.0, -1.0))
    return (there - back) / (2.0 * h)


@pytest.mark.parametrize("form", FORMS)
def test_matrices_and_forces_are_those_of_the_change_of_coordinates(robot: rc.Robot, form: str) -> None:
    (q, v), (_, a) = robot.random_state(3), robot.random_state(8)
    T = change(robot, q, form)
    u, link = np.linalg.solve(T, v), robot.link_names[-1]
    mass = robot.mass_matrix(q, base_velocity=form)
    close(mass, T.T @ robot.mass_matrix(q) @ T, 1e-12)
    assert (mass == mass.T).all()
    where = robot.sparsity("mass_matrix")
    close(where.dense(robot.mass_matrix(q, packed=True, base_velocity=form)), mass, 1e-15)
    close(robot.gravity_forces(q, base_velocity=form), T.T @ robot.gravity_forces(q), 1e-12)
    close(robot.momentum_matrix(q, base_velocity=form), robot.momentum_matrix(q) @ T, 1e-12)
    close(robot.center_of_mass_jacobian(q, base_velocity=form), robot.center_of_mass_jacobian(q) @ T, 1e-12)
    for frame in ("body", "mixed", "world"):
        close(robot.jacobian(q, link, frame=frame, base_velocity=form), robot.jacobian(q, link, frame=frame) @ T, 1e-12)
    own = T @ a + rate_of_change(robot, q, v, form) @ u
    tau = robot.inverse_dynamics(q, u, a, base_velocity=form, losses=True)
    close(tau, T.T @ robot.inverse_dynamics(q, v, own, losses=True), 1e-7)
    close(tau @ u, robot.inverse_dynamics(q, v, own, losses=True) @ v, 1e-7)  # power
    close(robot.forward_dynamics(q, u, tau, base_velocity=form, losses=True), a, 1e-10)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("frame", ["body", "mixed", "world"])
def test_derivatives_of_jacobians_match_differences(form: str, frame: str) -> None:
    robot, h = placed_flyer(), 1e-5
    q, v = robot.random_state(4)
    u, link = np.linalg.solve(change(robot, q, form), v), robot.link_names[-1]
    there, back = (
        robot.jacobian(robot.integrate(q, sign * h * v), link, frame=frame, base_velocity=form) for sign in (1, -1)
    )
    close(robot.jacobian_derivative(q, u, link, frame=frame, base_velocity=form), (there - back) / (2 * h), 1e-8)


@pytest.mark.parametrize("form", FORMS)
def test_mass_matrix_and_bias_make_the_equation_of_motion(robot: rc.Robot, form: str) -> None:
    (q, u), (_, a) = robot.random_state(1), robot.random_state(2)
    tau = robot.inverse_dynamics(q, u, a, base_velocity=form)
    left = robot.mass_matrix(q, base_velocity=form) @ a + robot.bias_forces(q, u, base_velocity=form)
    close(left, tau, 1e-11)
    still = robot.bias_forces(q, np.zeros(robot.nv), base_velocity=form)
    close(still, robot.gravity_forces(q, base_velocity=form), 1e-12)


def test_the_plan_that_runs_shows_the_axes_of_the_base() -> None:
    recipe = quantity("forward_dynamics").recipe(Subject(small_flyer().model), frozenset(), base_velocity="world")
    text = str(recipe.plan)
    for step in (
        "base <- pose_of_base(joint, q)",
        "v' <- own_speeds(base, v)",
        "qdd <- accelerations_outside(base, qdd, ",
    ):
        assert step in text
    assert "velocity(joint, X, V@parent, v')" in text


@pytest.mark.parametrize("form", FORMS)
def test_accelerations_are_rates_of_the_speeds_along_a_motion(form: str) -> None:
    robot = small_flyer()
    q0, v0 = robot.random_state(6)
    h = 1e-3
    run = robot.simulate(q0, v0, duration=2.0 * h, samples=3, losses=False)
    u = np.array([np.linalg.solve(change(robot, q, form), v) for q, v in zip(run.q, run.v, strict=True)])
    rates = robot.forward_dynamics(run.q[1], u[1], np.zeros(robot.nv), base_velocity=form)
    close(rates, (u[2] - u[0]) / (2.0 * h), 1e-4)


def test_body_is_what_one_has_without_it() -> None:
    robot = small_flyer()
    q, v = robot.random_state(1)
    np.testing.assert_array_equal(robot.bias_forces(q, v, base_velocity="body"), robot.bias_forces(q, v))


def test_links_accelerate_the_same_whatever_the_base_velocity_is_called() -> None:
    robot = small_flyer()
    (q, v), tau = robot.random_state(1), robot.random_state(2)[1]
    T = change(robot, q, "mixed")
    theirs = robot.forward_dynamics(q, np.linalg.solve(T, v), T.T @ tau, links=True, base_velocity="mixed")[1]
    close(theirs, robot.forward_dynamics(q, v, tau, links=True)[1], 1e-11)


@pytest.mark.compiled
@pytest.mark.parametrize("form", FORMS)
def test_batches_and_single_calls_are_compiled(form: str) -> None:
    robot = small_flyer()
    states = [robot.random_state(k) for k in range(5)]
    q, v = (np.array([state[i] for state in states]) for i in (0, 1))
    rows = robot.bias_forces(q, v, base_velocity=form)
    for k in range(5):
        close(rows[k], robot.bias_forces(q[k], v[k], base_velocity=form), 1e-13)
    ask = (
        lambda k: robot.bias_forces(q[k], v[k], base_velocity=form),
        lambda k: robot.mass_matrix(q[k], base_velocity=form),
        lambda k: robot.jacobian(q[k], robot.link_names[-1], base_velocity=form),
    )
    for one in ask:
        one(0)
        with straight_in():
            one(1)


def test_robots_without_a_free_base_and_unknown_forms_are_refused() -> None:
    arm, flying = rc.robots.puma560(), small_flyer()
    q, _ = arm.random_state(0)
    with pytest.raises(rc.NoSweepError, match=r"robot 'puma560' has no free base.*floating=True"):
        arm.mass_matrix(q, base_velocity="mixed")
    np.testing.assert_array_equal(arm.mass_matrix(q, base_velocity="body"), arm.mass_matrix(q))
    with pytest.raises(rc.UnknownNameError, match="Did you mean 'mixed'"):
        flying.mass_matrix(flying.neutral(), base_velocity="mixd")
    with pytest.raises(rc.NoSweepError, match="put together of several"):
        q, v = flying.random_state(0)
        flying.forward_dynamics(q, v, v, method="composite", base_velocity="world")
