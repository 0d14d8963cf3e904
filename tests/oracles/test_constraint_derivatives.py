"""Derivatives of constrained forward dynamics, against differences of its accelerations: every kind of constraint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_constraints_dense import ROBOTS, state

import recursa as rc

QUICK = ("closed_tree", "springs", "tied")  # the others take seconds to compile
robots = pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in ROBOTS]
)


def differences(robot: rc.Robot, accelerations) -> np.ndarray:
    """d/dx at zero, by differences of order four."""
    h, columns = 1e-4, []
    for unit in np.eye(robot.nv):
        at = [accelerations(k * h * unit) for k in (-2, -1, 1, 2)]
        columns.append((at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h))
    return np.array(columns).T


@robots
def test_derivatives_are_those_of_the_accelerations(name: str) -> None:
    robot = ROBOTS[name]()
    q, v, tau = state(robot)
    ways = (
        lambda d: robot.forward_dynamics(robot.integrate(q, d), v, tau),
        lambda d: robot.forward_dynamics(q, v + d, tau),
        lambda d: robot.forward_dynamics(q, v, tau + d),
    )
    for found, way in zip(robot.forward_dynamics_derivatives(q, v, tau), ways, strict=True):
        expected = differences(robot, way)
        assert np.abs(found - expected).max() <= 1e-8 * max(1.0, np.abs(expected).max())


def test_pushed_links_and_many_states() -> None:
    robot = ROBOTS["closed_tree"]()
    q, v, tau = (np.array(x) for x in zip(*(state(robot, k) for k in range(3)), strict=True))
    wrenches = np.random.default_rng(3).normal(size=(len(robot.link_names), 6))
    found = robot.forward_dynamics_derivatives(q, v, tau, wrenches=wrenches)[0]
    one = q[1], v[1], tau[1]
    expected = differences(
        robot, lambda d: robot.forward_dynamics(robot.integrate(one[0], d), *one[1:], wrenches=wrenches)
    )
    assert np.abs(found[1] - expected).max() <= 1e-8 * max(1.0, np.abs(expected).max())
    many = [np.tile(x[1], (300, 1)) for x in (q, v, tau)]  # more than a block
    assert np.allclose(robot.forward_dynamics_derivatives(*many, wrenches=wrenches)[0][-1], found[1], rtol=1e-12)
    standing = rc.Wrench(at=robot.link_names[-1], force=(1.0, 2.0, 3.0), point=(0.1, 0.0, 0.2))
    turned = robot.forward_dynamics_derivatives(*one, wrenches=[standing])[0]
    expected = differences(
        robot, lambda d: robot.forward_dynamics(robot.integrate(one[0], d), *one[1:], wrenches=[standing])
    )
    assert np.abs(turned - expected).max() <= 1e-8 * max(1.0, np.abs(expected).max())


def test_redundant_equations_change_no_derivative() -> None:
    once = ROBOTS["closed_tree"]()
    twice = once.with_constraints(*(replace(one, name="") for one in once.constraints))
    at = state(once)
    expected = np.array(once.forward_dynamics_derivatives(*at))
    found = np.array(twice.forward_dynamics_derivatives(*at))
    assert np.abs(found - expected).max() <= 1e-8 * np.abs(expected).max()


def on_manifold(robot: rc.Robot) -> tuple[rc.Robot, np.ndarray, np.ndarray, np.ndarray]:
    q, v, tau = state(robot)
    robot = robot.with_contacts_at(q)
    q = robot.assemble(q)
    return robot, q, robot.project_velocity(q, v), tau


@pytest.mark.parametrize("name", ["closed_tree", "springs", pytest.param("held_flyer", marks=pytest.mark.slow)])
def test_free_directions_are_those_of_the_compliance(name: str) -> None:
    robot, q, v, _ = on_manifold(ROBOTS[name]())
    free = robot.free_directions(q)
    assert free.independent == robot.mobility(q).independent
    assert np.allclose(robot.constraint_jacobian(q) @ free.basis, 0.0, atol=1e-9)
    assert np.allclose(free.basis @ v[list(free.places)], v, atol=1e-9 * max(1.0, np.abs(v).max()))
    assert np.allclose(free.mass_matrix @ free.compliance, np.eye(len(free.places)), atol=1e-9)
    K = free.basis @ np.linalg.solve(free.mass_matrix, free.basis.T)
    assert np.allclose(robot.constrained_compliance(q), K, atol=1e-9 * np.abs(K).max())


@pytest.mark.parametrize("name", ["closed_tree", "tied"])
def test_delassus_factors_solve(name: str) -> None:
    robot = ROBOTS[name]()
    q, _, _ = state(robot)
    A, factors = robot.constraint_delassus(q), robot.constraint_delassus_factors(q)
    assert np.allclose((factors.L * factors.D) @ factors.L.T, A, atol=1e-11 * np.abs(A).max())
    b = np.arange(1.0, robot.ncon + 1.0)
    assert np.allclose(A @ factors.solve(b), b, atol=1e-9 * np.abs(b).max())
    with pytest.raises(rc.ShapeError, match="one for every equation"):
        factors.solve(b[:-1])
    again = robot.with_constraints(*(replace(one, name="") for one in robot.constraints))
    doubled = again.constraint_delassus_factors(np.array([q, q]))
    assert doubled.rank.tolist() == [robot.ncon, robot.ncon]
    twice = np.concatenate([b, b])
    assert np.allclose(again.constraint_delassus(q) @ doubled.solve(twice)[1], twice, atol=1e-8 * np.abs(b).max())


class Near:
    """States near one that obeys the constraints, by the independent entries of dq and dv; and what they do next."""

    def __init__(self, robot: rc.Robot, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> None:
        self.robot, self.q, self.v, self.tau = robot, q, v, tau
        free = robot.free_directions(q)
        self.places, self.Z = list(free.places), free.basis
        self.others = [k for k in range(robot.nv) if k not in self.places]

    def closed(self, G: np.ndarray, error: np.ndarray) -> np.ndarray:
        change = np.zeros(self.robot.nv)
        change[self.others] = np.linalg.lstsq(G[:, self.others], -error, rcond=1e-10)[0]
        return change

    def state(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        f, robot = len(self.places), self.robot
        dq = self.Z @ x[:f]
        for _ in range(8):
            at = robot.integrate(self.q, dq)
            dq = dq + self.closed(robot.constraint_jacobian(at), robot.constraint_error(at))
        at = robot.integrate(self.q, dq)
        v, G = self.v + self.Z @ x[f:], robot.constraint_jacobian(at)
        return at, v + self.closed(G, G @ v)

    def moved(self, at: tuple[np.ndarray, np.ndarray], h: float) -> tuple[np.ndarray, np.ndarray]:
        q, v = at
        half = v + h / 2 * self.robot.forward_dynamics(q, v, self.tau)
        middle = self.robot.forward_dynamics(self.robot.integrate(q, h / 2 * v), half, self.tau)
        return self.robot.integrate(q, h * half), v + h * middle

    def rate(self, x: np.ndarray, h: float = 1e-3) -> np.ndarray:
        """d/dt of the deviation that is x now."""
        apart = []
        for step in (h, -h):
            (q, v), (q0, v0) = self.moved(self.state(x), step), self.moved((self.q, self.v), step)
            apart.append(np.concatenate([self.robot.difference(q0, q)[self.places], (v - v0)[self.places]]))
        return (apart[0] - apart[1]) / (2 * h)


@pytest.mark.parametrize("name", ["closed_tree", pytest.param("held_flyer", marks=pytest.mark.slow)])
def test_state_space_is_how_deviations_on_the_manifold_move(name: str) -> None:
    robot, q, v, tau = on_manifold(ROBOTS[name]())
    near, space = Near(robot, q, v, tau), robot.state_space(q, v, tau)
    f, e = len(near.places), 1e-4
    columns = [(near.rate(e * x) - near.rate(-e * x)) / (2 * e) for x in np.eye(2 * f)]
    assert np.abs(space.A - np.array(columns).T).max() <= 1e-4 * np.abs(space.A).max()
    assert np.allclose(space.B[f:], robot.constrained_compliance(q)[near.places], atol=1e-12)
    assert robot.state_space(q, v, tau, dt=0.01, losses=True).A.shape == (2 * f, 2 * f)


def test_a_state_off_the_manifold_has_no_state_space() -> None:
    robot, q, v, tau = on_manifold(ROBOTS["springs"]())
    with pytest.raises(rc.StateError, match=r"does not obey the relation .* robot.assemble"):
        robot.state_space(q + 0.1, v, tau)
    with pytest.raises(rc.StateError, match=r"does not obey the relation .* robot.project_velocity"):
        robot.state_space(q, v + 0.1, tau)
    with pytest.raises(rc.StateError, match=r"state 1 does not obey the relation"):
        robot.state_space(np.array([q, q + 0.1]), np.array([v, v]), np.array([tau, tau]))
    with pytest.raises(rc.ShapeError, match="of one configuration"):
        robot.free_directions(np.array([q, q]))


def test_state_space_of_many_states() -> None:
    robot, q, v, tau = on_manifold(ROBOTS["closed_tree"]())
    rng = np.random.default_rng(8)
    near = robot.assemble(robot.integrate(np.tile(q, (4, 1)), 0.05 * rng.normal(size=(4, robot.nv))))
    speeds = robot.project_velocity(near, v + 0.3 * rng.normal(size=(4, robot.nv)))
    many = robot.state_space(near.reshape(2, 2, -1), speeds.reshape(2, 2, -1), tau, losses=True)
    f = len(robot.free_directions(near[0]).places)
    assert many.A.shape == (2, 2, 2 * f, 2 * f) and many.B.shape == (2, 2, 2 * f, robot.nv)
    for k in range(4):
        assert robot.mobility(near[k]).independent == robot.mobility(near[0]).independent
        one = robot.state_space(near[k], speeds[k], tau, losses=True)
        assert np.allclose(many.A.reshape(4, 2 * f, 2 * f)[k], one.A, rtol=1e-9, atol=1e-9)
        assert np.allclose(many.B.reshape(4, 2 * f, -1)[k], one.B, rtol=1e-9, atol=1e-9)
    steps = robot.state_space(near, speeds, tau, dt=0.01)
    assert np.allclose(steps.A[3], robot.state_space(near[3], speeds[3], tau, dt=0.01).A, rtol=1e-9, atol=1e-9)


def test_states_of_a_batch_share_their_independent_speeds() -> None:
    slider = rc.robots.planar(2).with_constraints(rc.Loop("point-on-plane", "world", "tip", axis=(0, 1, 0)))
    q = slider.assemble([[0.6, -1.2], [0.3, -0.6]])
    v = slider.project_velocity(q, [1.0, 0.0])
    assert slider.state_space(q, v, [0.0, 0.0]).A.shape == (2, 2, 2)
    q[1] = np.arcsin(0.25 / 0.3), -np.pi / 2 - np.arcsin(0.25 / 0.3)  # the second link stands on the plane
    v = slider.project_velocity(q, [1.0, 0.0])
    assert slider.mobility(q[0]).independent != slider.mobility(q[1]).independent
    with pytest.raises(rc.StateError, match=r"first state \('joint1'\) do not determine the others at state 1"):
        slider.state_space(q, v, [0.0, 0.0])
