"""Springs, elastic joints and rotors against energies, Lagrange's equations and trees written by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import recursa as rc
from questions import FORWARD, INVERSE
from recursa.loading import trusted
from recursa.model.description import LinkRecord
from recursa.quantities import Subject, quantity
from recursa.spatial import SymMat3
from zoo import elastic_arm


def stiffness_of(robot: rc.Robot) -> tuple[np.ndarray, np.ndarray]:
    joints = [joint for joint in robot.model.joints if joint.independent]
    return np.array([joint.stiffness for joint in joints]), np.array([joint.rest for joint in joints])


# ---- springs ---------------------------------------------------------------------------------------------------------


@pytest.mark.interpreted(reason="every method of a robot would compile code of its own")
def test_springs_are_torques_in_every_answer() -> None:
    """Against the same robot without springs, whose torques have theirs."""
    robot, bare = elastic_arm(), elastic_arm(springs=0.0)
    bare = bare.with_joint("joint2.spring", stiffness=0.0)
    q, v = robot.random_state(1)
    a, tau, dq = np.random.default_rng(2).normal(size=(3, robot.nv))
    k, rest = stiffness_of(robot)
    held = k * (q - rest)
    assert np.count_nonzero(k) == robot.nv
    for method in ("newton-euler", "denoc"):  # the book's are not for screws
        expected = bare.inverse_dynamics(q, v, a) + held
        assert_allclose(robot.inverse_dynamics(q, v, a, method=method), expected, rtol=1e-10, err_msg=method)
    assert_allclose(robot.bias_forces(q, v), bare.bias_forces(q, v) + held, rtol=1e-12)
    assert_allclose(robot.gravity_forces(q), bare.gravity_forces(q), rtol=1e-12)
    for method in (method for method in FORWARD if method != "base-invariant"):
        for losses in (False, True):
            expected = bare.forward_dynamics(q, v, tau - held, losses=losses)
            found = robot.forward_dynamics(q, v, tau, method=method, losses=losses)
            assert_allclose(found, expected, rtol=1e-8, err_msg=method)
    stored = 0.5 * float(held @ (q - rest))
    assert_allclose(robot.potential_energy(q), bare.potential_energy(q) + stored, rtol=1e-12)
    found, expected = robot.inverse_dynamics_derivatives(q, v, a), bare.inverse_dynamics_derivatives(q, v, a)
    assert_allclose(found[0], expected[0] + np.diag(k), rtol=1e-12)
    assert_allclose(robot.linearize(q, v, a, direction=(dq, 0 * dq, 0 * dq)), found[0] @ dq, rtol=1e-10)
    both = robot.hybrid_dynamics(q, v, a=a, tau=tau, prescribed=("joint1", "joint3"), losses=True)
    assert_allclose(robot.inverse_dynamics(q, v, both.a, losses=True), both.tau, rtol=1e-7, atol=1e-9)
    assert_allclose(robot.filtering(q, v, tau).a, robot.forward_dynamics(q, v, tau), rtol=1e-9)
    nu = robot.diagonal.total_rates(q, v)
    expected = bare.diagonal.rates(q, nu, tau - held)
    for one, other in zip(robot.diagonal.rates(q, nu, tau), expected, strict=True):
        assert_allclose(one, other, rtol=1e-8, atol=1e-9)


def test_plans_that_run_show_their_springs() -> None:
    expected = {
        "forward_dynamics": "drive <- less_spring(joint, tau, q)",
        "inverse_dynamics": "T <- with_spring(joint, T, q)",
        "inverse_dynamics_derivatives": "own <- stiffer_own(joint, own)",
        "potential_energy": "potential@robot <- spring_energy(joint, q)",
    }
    both = elastic_arm(), rc.robots.planar(2)
    for name, step in expected.items():
        plans = [quantity(name).recipe(Subject(robot.model), frozenset()).plan for robot in both]
        assert [step in str(plan) for plan in plans] == [True, False]


@pytest.mark.interpreted(reason="every method would compile code of its own")
def test_springs_in_the_books_methods() -> None:
    robot = bare = rc.robots.puma560()
    for k in (1, 3, 4):
        robot = robot.with_joint(f"joint{k}", stiffness=10.0 * k, rest=0.1)
    q, v = robot.random_state(1)
    k, rest = stiffness_of(robot)
    for method in INVERSE:
        with_springs, without = (one.inverse_dynamics(q, v, v, method=method) for one in (robot, bare))
        assert_allclose(with_springs, without + k * (q - rest), rtol=1e-10, atol=1e-10, err_msg=method)
    found = robot.linearize(q, v, v, method="balafoutis-patel")
    assert_allclose(found[0], bare.linearize(q, v, v)[0] + np.diag(k), rtol=1e-9, atol=1e-9)


def test_linear_models_by_complex_steps() -> None:
    """A and B of a robot with springs, rotors and an elastic joint."""
    robot = elastic_arm()
    q, v = robot.random_state(4)
    tau = np.random.default_rng(1).normal(size=robot.nv)
    model = robot.state_space(q, v, tau)
    step, eye = 1e-30, np.eye(robot.nv)
    n = robot.nv
    for column, unit in enumerate(eye):
        moved = robot.forward_dynamics(q + 1j * step * unit, v + 0j, tau + 0j).imag / step
        assert_allclose(model.A[n:, column], moved, rtol=1e-9, atol=1e-8)
    pushed = [robot.forward_dynamics(q + 0j, v + 0j, tau + 1j * step * unit).imag / step for unit in eye]
    assert_allclose(model.B[n:], np.transpose(pushed), rtol=1e-9, atol=1e-9)


# ---- motion ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coordinates", ["joint", "diagonal"])
def test_energy_of_elastic_joints(coordinates: str) -> None:
    """Without losses it stays; with them, what is lost is what dampers took."""
    robot = elastic_arm()
    q, v = robot.random_state(2)
    free = robot.simulate(0.3 * q, v, duration=0.3, losses=False, coordinates=coordinates, rtol=1e-9, atol=1e-10)
    assert np.ptp(free.energy) < 1e-6 * np.abs(free.energy).max()
    damped = robot.simulate(0.3 * q, v, duration=0.3, coordinates=coordinates, rtol=1e-9, atol=1e-10)
    assert damped.energy[0] - damped.energy[-1] > 1e-3
    assert damped.energy_drift < 1e-6


def test_many_motions_are_the_single_ones() -> None:
    robot = elastic_arm()
    q, v = robot.random_state(2)
    many, _ = rc.rollout(robot, np.stack([0.3 * q] * 3), np.stack([v] * 3), None, 1e-3, 100)
    one = robot.simulate(0.3 * q, v, duration=0.1, rtol=1e-10, atol=1e-11)
    assert_allclose(many[1, -1], one.q[-1], rtol=1e-5, atol=1e-6)


# ---- control and tasks -----------------------------------------------------------------------------------------------


@pytest.mark.interpreted(reason="one short run")
def test_laws_hold_springs_as_they_hold_weight() -> None:
    """Rate damping makes the kinetic energy fall as it says, and a regulator rests at its target."""
    robot = rc.robots.planar(2).with_joint("joint2", stiffness=30.0, rest=1.0)
    q, v = np.array([0.3, -0.4]), np.array([1.0, 2.0])
    run = robot.simulate(q, v, duration=0.2, torque=rc.control.RateDamping(robot, 3.0), rtol=1e-8, atol=1e-9)
    fallen = robot.kinetic_energy(run.q[-1], run.v[-1]) / robot.kinetic_energy(q, v)
    assert_allclose(fallen, np.exp(-2.0 * 3.0 * 0.2), rtol=1e-6)
    regulator = rc.control.PoseRegulator(robot, "tip", robot.pose(q, "tip"))
    assert_allclose(robot.forward_dynamics(q, 0 * v, regulator.torque(0.0, q, 0 * v)), 0.0, atol=1e-10)


@pytest.mark.interpreted(reason="one state")
def test_springs_in_tasks_are_no_coriolis_forces() -> None:
    robot = rc.robots.planar(2).with_joint("joint2", stiffness=30.0, rest=1.0)
    q = np.array([0.3, -0.4])
    for model in (
        rc.cartesian.model(robot, "tip", q, [0.0, 0.0], coordinates=(3, 4)),
        rc.operational.model(robot, "tip", q, [0.0, 0.0], coordinates=(3, 4)),
    ):
        assert_allclose(model.coriolis, 0.0, atol=1e-12)
        held = robot.forward_dynamics(q, [0.0, 0.0], model.jacobian.T @ model.gravity)
        assert_allclose(held, 0.0, atol=1e-10)


# ---- elastic joints --------------------------------------------------------------------------------------------------


def two_links(**options: object) -> rc.Robot:
    b = rc.Builder("two")
    b.link("upper", mass=2.0, com=(0.2, 0.0, 0.05), inertia=(0.02, 0.05, 0.06, 0.001, 0.002, 0.003))
    b.link("fore", mass=1.0, com=(0.1, 0.02, 0.0), inertia=(0.01, 0.02, 0.03))
    b.joint("shoulder", "revolute", parent="world", child="upper", axis=(0, 0.6, 0.8))
    b.joint(
        "elbow",
        "revolute",
        parent="upper",
        child="fore",
        axis=(1, 0, 0),
        xyz=(0.4, 0, 0),
        rpy=(0.1, 0.2, 0.3),
        **options,
    )
    return b.build()


@pytest.mark.interpreted(reason="one state")
def test_elastic_joint_is_a_rotor_beside_its_link() -> None:
    """In coordinates theta of the motor and q of the link, the rotor is a body and the spring couples both."""
    J, N, k = 3e-4, 40.0, 250.0
    elastic = two_links(rotor=rc.Rotor(J, N), elastic=(k, 0.0))
    assert elastic.joint_names == ("shoulder", "elbow", "elbow.spring")
    b = two_links().model.description
    (_, elbow) = b.joints
    wheel = LinkRecord("wheel", inertia=SymMat3(J, 0, 0, 0, 0, 0), inertial=True)
    less = replace(wheel, name="less", inertia=wheel.inertia * -1.0)  # the upper link's data have the wheel at rest
    spin = replace(elbow, name="motor", child="wheel", kind="continuous")
    weld = replace(elbow, name="weld", child="less", kind="fixed")
    apart = trusted(replace(b, links=(*b.links, wheel, less), joints=(*b.joints, spin, weld)))
    q, v, a, tau = np.random.default_rng(3).normal(size=(4, 3))
    change = np.array([[1.0, 0, 0], [0, 1, 1], [0, N, 0]])  # (shoulder, elbow, motor) from (shoulder, phi, delta)
    spring = np.array([0.0, 0.0, k * q[2]])
    expected = change.T @ apart.inverse_dynamics(change @ q, change @ v, change @ a) + spring
    assert_allclose(elastic.inverse_dynamics(q, v, a), expected, rtol=1e-11, atol=1e-11)
    moved = np.linalg.solve(
        change, apart.forward_dynamics(change @ q, change @ v, np.linalg.solve(change.T, tau - spring))
    )
    assert_allclose(elastic.forward_dynamics(q, v, tau), moved, rtol=1e-9)


def test_stiff_elastic_joints_are_rigid_ones() -> None:
    """A hard, damped spring lets a run end where a geared one without spring ends."""
    rotor = rc.Rotor(3e-4, 40.0)
    rigid, elastic = two_links(rotor=rotor), two_links(rotor=rotor, elastic=(2e5, 50.0))
    end = rigid.simulate([0.3, 0.4], [0.0, 0.0], duration=0.3, losses=False).q[-1]
    found = elastic.simulate([0.3, 0.4, 0.0], [0.0] * 3, duration=0.3, integrator="radau").q[-1]
    assert_allclose([found[0], found[1] + found[2]], end, atol=2e-4)


# ---- Lagrange --------------------------------------------------------------------------------------------------------


def test_rotor_by_lagranges_equations() -> None:
    """A planar arm whose second motor turns about x of the first link, by the kinetic energy of the rotor."""
    t = sympy.Symbol("t")
    one, two = (sympy.Function(name)(t) for name in ("one", "two"))
    J, N, m, length, moment = 0.002, 30.0, 1.5, 0.4, 0.05
    axis = sympy.Matrix([0.6, 0.0, 0.8])  # of the rotor, in the axes of the first link
    turn = sympy.Matrix([0, 0, one.diff(t)])  # both joints turn about z
    place = sympy.Matrix(
        [length * sympy.cos(one) + 0.2 * sympy.cos(one + two), length * sympy.sin(one) + 0.2 * sympy.sin(one + two)]
    )
    speed = place.diff(t)
    kinetic = m * speed.dot(speed) / 2 + moment * (one + two).diff(t) ** 2 / 2 + one.diff(t) ** 2 / 20
    kinetic += J * (axis.dot(turn) + N * two.diff(t)) ** 2 / 2 - J * axis.dot(turn) ** 2 / 2
    state = dict(zip((one, two), (0.3, -0.7), strict=True))
    rates = dict(zip((one.diff(t), two.diff(t)), (1.1, -0.4), strict=True))
    second = dict(zip((one.diff(t, 2), two.diff(t, 2)), (0.5, 2.0), strict=True))
    torques = [
        (kinetic.diff(q.diff(t)).diff(t) - kinetic.diff(q)).subs(second).subs(rates).subs(state) for q in (one, two)
    ]

    b = (
        rc.Builder("arm")
        .link("upper", inertia=(0.0, 0.0, 0.1))
        .link("fore", mass=m, com=(0.2, 0, 0), inertia=(0, 0, moment))
    )
    b.joint("a", "revolute", parent="world", child="upper")
    b.joint("b", "revolute", parent="upper", child="fore", xyz=(length, 0, 0), rotor=rc.Rotor(J, N, axis=(0.6, 0, 0.8)))
    robot = b.build().with_gravity((0, 0, 0))
    assert robot.joint_names == ("a", "b", "b.rotor")
    found = robot.inverse_dynamics([0.3, -0.7], [1.1, -0.4], [0.5, 2.0])
    assert_allclose(found, np.array(torques, float), rtol=1e-12)
