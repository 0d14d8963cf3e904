"""Positions, velocities, accelerations, momenta and energies agree with each other's derivatives, over the zoo.

Derivatives in time are taken along ``integrate`` by a complex step, exact to rounding for every kind of joint; a
central difference in plain floats watches over that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import recursa as rc
from numeric import FRAMES, central, close, complex_step, motion_matrix, rigid_matrix, skew, states, tied_gripper
from zoo import ZOO, each_kind, large_interpreted

pytestmark = pytest.mark.interpreted(
    reason="hundreds of cases, each with code of its own; kernels/test_forms.py compares the forms"
)

ROBOTS: dict[str, Callable[[], rc.Robot]] = {**ZOO, "tied_gripper": tied_gripper}
STATES = 3
LINKS = 4
TOLERANCE = 1e-11


@cache
def make(name: str) -> rc.Robot:
    return ROBOTS[name]()


@cache
def make_heavy(name: str) -> rc.Robot:
    """Under a gravity along no axis."""
    return make(name).with_gravity((1.3, -2.1, -9.0))


every_robot = pytest.mark.parametrize("name", large_interpreted(ROBOTS))
every_small_robot = pytest.mark.parametrize("name", large_interpreted(name for name in ROBOTS if name != "chain200"))
every_frame = pytest.mark.parametrize("frame", FRAMES)


def some_links(robot: rc.Robot) -> list[int]:
    """The last link and a few others."""
    others = np.random.default_rng(1).permutation(robot.nlinks - 1)[: LINKS - 1]
    return [robot.nlinks - 1, *others.tolist()]


def rate(robot: rc.Robot, q: np.ndarray, v: np.ndarray, fn: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """d/dt of a function of the configuration while moving with v."""
    return complex_step(lambda t: fn(robot.integrate(q, t * v)))


def vee(m: np.ndarray) -> np.ndarray:
    """The vector of a skew matrix, after checking that it is skew."""
    close(m, -np.swapaxes(m, -1, -2), TOLERANCE, "skew")
    return np.stack([m[..., 2, 1], m[..., 0, 2], m[..., 1, 0]], axis=-1)


def motions_from(poses: np.ndarray, rates: np.ndarray) -> dict[str, np.ndarray]:
    """Velocities in every frame from the 4x4 poses and their derivatives."""
    world = rates @ np.linalg.inv(poses)
    body = np.linalg.inv(poses) @ rates
    spin = vee(world[..., :3, :3])
    return {
        "body": np.concatenate([vee(body[..., :3, :3]), body[..., :3, 3]], axis=-1),
        "mixed": np.concatenate([spin, rates[..., :3, 3]], axis=-1),
        "world": np.concatenate([spin, world[..., :3, 3]], axis=-1),
    }


# ---- velocities ------------------------------------------------------------------------------------------------------


@every_robot
def test_velocities_match_derivative_of_poses(name):
    robot = make(name)
    q, v, _ = states(robot, STATES)
    expected = motions_from(robot.poses(q), rate(robot, q, v, robot.poses))
    for frame in FRAMES:
        close(robot.velocities(q, v, frame), expected[frame], TOLERANCE, frame)


@every_small_robot
def test_velocities_match_differences_of_poses_on_the_way(name):
    """In plain floats and well into a step of ``integrate``: its curve has the constant velocity v throughout."""
    robot = make(name)
    q, v, _ = states(robot, 1, seed=2)
    q, v = q[0], v[0]
    middle = robot.integrate(q, 0.7 * v)
    rates = central(lambda t: robot.poses(robot.integrate(q, (0.7 + t) * v)), 4e-3)
    expected = motions_from_roughly(robot.poses(middle), rates)
    close(robot.velocities(middle, v, "mixed"), expected, 1e-8)


def motions_from_roughly(poses: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Mixed velocities from inexact derivatives."""
    m = (rates @ np.linalg.inv(poses))[..., :3, :3]
    m = 0.5 * (m - np.swapaxes(m, -1, -2))
    return np.concatenate([vee(m), rates[..., :3, 3]], axis=-1)


@every_robot
@every_frame
def test_jacobian_times_speeds_matches_velocities(name, frame):
    robot = make(name)
    q, v, _ = states(robot, STATES)
    velocities = robot.velocities(q, v, frame)
    for link in some_links(robot):
        product = robot.jacobian(q, robot.link_names[link], frame=frame) @ v[..., None]
        close(product[..., 0], velocities[:, link], TOLERANCE, robot.link_names[link])


@every_robot
def test_one_pose_matches_all_poses(name):
    robot = make(name)
    q, _, _ = states(robot, STATES)
    poses = robot.poses(q)
    for link in some_links(robot):
        close(robot.pose(q, robot.link_names[link]), poses[:, link], 1e-14, robot.link_names[link])


@every_robot
@pytest.mark.interpreted(reason="kernels round differently, as they share other parts")
def test_one_pose_is_the_same_arithmetic_as_all_poses(name):
    robot = make(name)
    q, _, _ = states(robot, STATES)
    poses = robot.poses(q)
    for link in some_links(robot):
        assert np.array_equal(robot.pose(q, robot.link_names[link]), poses[:, link])


@every_robot
def test_frames_match_changes_of_coordinates(name):
    """Body, mixed and world velocities of the last link, carried by dense matrices."""
    robot = make(name)
    q, v, a = states(robot, 1)
    pose = robot.poses(q)[0, -1]
    turn = np.kron(np.eye(2), pose[:3, :3])
    for function in (lambda f: robot.velocities(q, v, f)[0, -1], lambda f: robot.accelerations(q, v, a, f)[0, -1]):
        close(function("mixed"), turn @ function("body"), TOLERANCE)
        close(function("world"), motion_matrix(pose) @ function("body"), TOLERANCE)


# ---- accelerations ---------------------------------------------------------------------------------------------------


@every_robot
@every_frame
def test_jacobian_derivative_matches_derivative_of_jacobian(name, frame):
    robot = make(name)
    q, v, _ = states(robot, STATES)
    for link in some_links(robot):
        label = robot.link_names[link]
        expected = rate(robot, q, v, lambda x, label=label: robot.jacobian(x, label, frame=frame))
        close(robot.jacobian_derivative(q, v, label, frame=frame), expected, TOLERANCE, label)


def rate_of_velocities(robot: rc.Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray, frame: str) -> np.ndarray:
    """d/dt of the components of all velocities, the configuration moving with v and v growing with a."""
    return complex_step(lambda t: robot.velocities(robot.integrate(q, t * v), v + t * a, frame))


@every_robot
@pytest.mark.parametrize(
    ("frame", "kind"), [("body", "spatial"), ("world", "spatial"), ("mixed", "classical")], ids=lambda x: x
)
def test_accelerations_match_derivative_of_velocities(name, frame, kind):
    """Componentwise: spatial in body and world frame; the classical one of the link's origin in world axes."""
    robot = make(name)
    q, v, a = states(robot, STATES)
    expected = rate_of_velocities(robot, q, v, a, frame)
    found = robot.accelerations(q, v, a, frame, kind)
    close(found, expected, TOLERANCE)
    for link in some_links(robot):
        label = robot.link_names[link]
        jacobian = robot.jacobian(q, label, frame=frame)
        derivative = robot.jacobian_derivative(q, v, label, frame=frame)
        product = jacobian @ a[..., None] + derivative @ v[..., None]
        close(product[..., 0], found[:, link], TOLERANCE, label)


@every_robot
@every_frame
def test_classical_acceleration_is_spatial_plus_spin_times_velocity(name, frame):
    robot = make(name)
    q, v, a = states(robot, STATES)
    velocity = robot.velocities(q, v, frame)
    spatial, classical = (robot.accelerations(q, v, a, frame, kind) for kind in ("spatial", "classical"))
    assert np.array_equal(classical[..., :3], spatial[..., :3])
    close(classical[..., 3:] - spatial[..., 3:], np.cross(velocity[..., :3], velocity[..., 3:]), TOLERANCE)


@every_small_robot
def test_classical_acceleration_matches_second_difference_of_places(name):
    """Along a path of constant speeds every link's origin accelerates as the classical acceleration says."""
    robot = make(name)
    q, v, _ = states(robot, 1, seed=3)
    q, v, h = q[0], v[0], 4e-3

    def place(t: float) -> np.ndarray:
        return robot.poses(robot.integrate(q, t * v))[:, :3, 3]

    second = (-place(2 * h) + 16 * place(h) - 30 * place(0.0) + 16 * place(-h) - place(-2 * h)) / (12 * h * h)
    found = robot.accelerations(q, v, np.zeros(robot.nv), "mixed", "classical")[:, 3:]
    close(found, second, 3e-6)


# ---- configurations --------------------------------------------------------------------------------------------------


@every_robot
@pytest.mark.parametrize("size", [0.4, 1e-3, 1e-9])
def test_difference_is_inverse_of_integrate(name, size):
    robot = make(name)
    q, v, _ = states(robot, STATES)
    step = size * v
    found = robot.difference(q, robot.integrate(q, step))
    assert np.abs(found - step).max() < 2e-14 * max(1.0, np.abs(q).max())


@every_robot
def test_integrate_is_inverse_of_difference(name):
    robot = make(name)
    start, end = states(robot, STATES)[0], states(robot, STATES, seed=9)[0]
    reached = robot.integrate(start, robot.difference(start, end))
    close(robot.poses(reached), robot.poses(end), TOLERANCE)


@every_robot
def test_steps_along_one_velocity_add_up(name):
    robot = make(name)
    q, v, _ = states(robot, STATES)
    in_two = robot.integrate(robot.integrate(q, 0.3 * v), 1.1 * v)
    close(in_two, robot.integrate(q, 1.4 * v), TOLERANCE)
    close(robot.integrate(robot.integrate(q, v), -v), q, TOLERANCE)
    close(robot.integrate(q, 0.0 * v), q, 1e-15)


@pytest.mark.parametrize("kind", ["spherical", "planar", "free"])
def test_difference_turns_the_short_way_round(kind):
    robot = each_kind(kind)
    start, end = states(robot, 40)[0], states(robot, 40, seed=9)[0]
    turns = robot.difference(start, end).reshape(40, robot.nbodies, -1)[..., : 1 if kind == "planar" else 3]
    lengths = np.linalg.norm(turns, axis=-1)
    assert lengths.max() <= np.pi
    assert lengths.max() > 2.5


@pytest.mark.parametrize("kind", ["spherical", "free"])
def test_difference_over_exact_half_turns_has_length_pi(kind):
    """There the quaternion's w is exactly zero; one state and a batch take different ways through the code."""
    robot = each_kind(kind)
    start = robot.neutral()
    for k in range(3):
        end = start.copy()
        for joint in robot.model.joints:
            at = joint.q_start + joint.kind.quaternion
            end[at : at + 4] = np.eye(4)[k]
        for copies in ((), (9, 1)):
            step = robot.difference(np.tile(start, copies), np.tile(end, copies))
            close(robot.poses(robot.integrate(start, step)), robot.poses(np.tile(end, copies)), TOLERANCE)
            turns = step.reshape(*copies[:1], robot.nbodies, -1)[..., :3]
            close(np.linalg.norm(turns, axis=-1), np.full(turns.shape[:-1], np.pi), 1e-15)


@every_small_robot
def test_complex_step_of_difference_matches_its_difference_quotient(name):
    robot = make(name)
    (q, far, _), (v, _, _), _ = states(robot, 3)

    def change(t: complex) -> np.ndarray:
        return robot.difference(far, robot.integrate(q, t * v))

    close(complex_step(change), central(change), 1e-7)
    rows = robot.difference(np.tile(far, (9, 1)), robot.integrate(np.tile(q, (9, 1)), np.tile(1e-30j * v, (9, 1))))
    close(rows.imag / 1e-30, np.tile(complex_step(change), (9, 1)), 1e-11)


# ---- momentum and energy ---------------------------------------------------------------------------------------------


def body_links(robot: rc.Robot) -> list[int]:
    """Number of the link whose frame is that of body k, for every k."""
    return [robot.model.link_index(joint.child) for joint in robot.model.joints]


def dense_inertias(robot: rc.Robot, poses: np.ndarray) -> np.ndarray:
    """6x6 inertias of the bodies about the world origin in world axes."""
    back = [np.linalg.inv(motion_matrix(pose)) for pose in poses[body_links(robot)]]
    return np.array([x.T @ rigid_matrix(i) @ x for x, i in zip(back, robot.model.inertias, strict=True)])


@every_robot
def test_momentum_matches_sum_over_bodies(name):
    robot = make(name)
    q, v, _ = states(robot, STATES)
    velocities = robot.velocities(q, v, "world")[:, body_links(robot)]
    inertias = np.array([dense_inertias(robot, poses) for poses in robot.poses(q)])
    total = np.einsum("skij,skj->si", inertias, velocities)
    close(robot.momentum(q, v, about="world"), total, TOLERANCE)


@every_robot
def test_momentum_about_com_matches_momentum_about_world(name):
    robot = make(name)
    q, v, _ = states(robot, STATES)
    world, central_momentum, com = robot.momentum(q, v, "world"), robot.momentum(q, v), robot.center_of_mass(q)
    assert np.array_equal(central_momentum[:, 3:], world[:, 3:])
    close(central_momentum[:, :3], world[:, :3] - np.cross(com, world[:, 3:]), TOLERANCE)


@every_robot
def test_center_of_mass_matches_mass_points(name):
    robot = make(name)
    q, _, _ = states(robot, STATES)
    poses = robot.poses(q)[:, body_links(robot)]
    masses = np.array([i.mass for i in robot.model.inertias])
    firsts = np.array([i.first for i in robot.model.inertias])
    moments = np.einsum("skij,kj->si", poses[..., :3, :3], firsts) + np.einsum("ski,k->si", poses[..., :3, 3], masses)
    assert robot.mass == pytest.approx(masses.sum(), rel=1e-14)
    close(robot.center_of_mass(q), moments / masses.sum(), TOLERANCE)


@every_robot
def test_linear_momentum_matches_motion_of_center_of_mass(name):
    robot = make(name)
    q, v, _ = states(robot, STATES)
    close(robot.momentum(q, v)[:, 3:], robot.mass * rate(robot, q, v, robot.center_of_mass), TOLERANCE)


@every_robot
def test_potential_energy_matches_height_of_center_of_mass(name):
    robot = make_heavy(name)
    q, v, _ = states(robot, STATES)
    gravity = np.array(robot.gravity)
    close(robot.potential_energy(q), -robot.mass * robot.center_of_mass(q) @ gravity, TOLERANCE)
    power = rate(robot, q, v, robot.potential_energy)  # what gravity takes: -g . p
    close(power, -robot.momentum(q, v)[:, 3:] @ gravity, TOLERANCE)


@every_robot
def test_potential_energy_gradient_matches_weights_on_jacobians(name):
    """dU/dq = -sum of m J_c^T g: one column of ``integrate`` at a time, against the Jacobians of the bodies."""
    robot = make_heavy(name)
    q = states(robot, 1)[0][0]
    some = np.random.default_rng(4).permutation(robot.nv)[:6]
    gradient = np.array([rate(robot, q, np.eye(robot.nv)[k], robot.potential_energy) for k in some])
    expected = np.zeros(robot.nv)
    poses = robot.poses(q)
    for link, inertia in zip(body_links(robot), robot.model.inertias, strict=True):
        jacobian = robot.jacobian(q, robot.link_names[link], frame="mixed")
        lever = poses[link, :3, :3] @ np.array(inertia.first)
        weighted = inertia.mass * jacobian[3:] - skew(lever) @ jacobian[:3]  # m J of the mass centre
        expected -= weighted.T @ np.array(robot.gravity)
    close(gradient, expected[some], TOLERANCE)


def rotor_matrix(robot: rc.Robot) -> np.ndarray:
    """Armature as a matrix over the speeds; that of a tied joint acts on its source."""
    total = np.zeros((robot.nv, robot.nv))
    for joint in robot.model.joints:
        rates = np.array([joint.rates(unit) for unit in np.eye(robot.nv)])
        total += rates @ np.diag(joint.armature) @ rates.T
    return total


def mass_matrix_by_polarisation(robot: rc.Robot, q: np.ndarray) -> np.ndarray:
    """``M_ij = T(e_i + e_j) - T(e_i) - T(e_j)`` and ``M_ii = 2 T(e_i)``."""
    units = np.eye(robot.nv)
    single = robot.kinetic_energy(q, units)
    pairs = robot.kinetic_energy(q, units[:, None] + units[None, :])
    return pairs - single[:, None] - single[None, :]


@every_small_robot
def test_kinetic_energy_matches_mass_matrix(name):
    """The polarised energy is a quadratic form, positive but for a massless base, and its matrix J^T M J + rotors."""
    robot = make(name)
    q, v, _ = states(robot, 1)
    q, v = q[0], v[0]
    matrix = mass_matrix_by_polarisation(robot, q)
    inertias = np.linalg.eigvalsh(matrix) / np.linalg.norm(matrix)
    idle = 1 if name == "floating_tree" else 0  # see the next test
    assert np.abs(inertias[:idle]).max(initial=0.0) < 1e-14
    assert inertias[idle:].min() > 1e-6
    close(robot.kinetic_energy(q, v), 0.5 * v @ matrix @ v, TOLERANCE, "quadratic")
    expected = rotor_matrix(robot)
    for link, inertia in zip(body_links(robot), robot.model.inertias, strict=True):
        jacobian = robot.jacobian(q, robot.link_names[link])
        expected += jacobian.T @ rigid_matrix(inertia) @ jacobian
    close(matrix, expected, TOLERANCE, "J^T M J + A")


def test_a_massless_base_turns_about_its_only_joint_for_free():
    """While the joint turns back: the one motion of the floating tree that has no energy, at any configuration."""
    robot = make("floating_tree")
    base, first = robot.model.joints[:2]
    assert robot.model.inertias[0].mass == 0.0
    assert (base.kind.name, first.kind.name, first.parent) == ("free", "continuous", 0)
    q, v, _ = states(robot, STATES)
    axis, point = first.placement.rotation @ first.hinge.axis, first.placement.translation
    turning = np.array([*axis, *point.cross(axis)])
    idle = np.zeros_like(v)
    idle[:, :6], idle[:, 6] = turning, -1.0
    assert np.abs(robot.kinetic_energy(q, idle)).max() < 1e-28
    close(robot.kinetic_energy(q, v + idle), robot.kinetic_energy(q, v), TOLERANCE)


@every_robot
def test_kinetic_energy_matches_half_momentum_times_velocity(name):
    robot = make(name)
    q, v, _ = states(robot, STATES)
    velocities = robot.velocities(q, v, "world")[:, body_links(robot)]
    inertias = np.array([dense_inertias(robot, poses) for poses in robot.poses(q)])
    of_bodies = 0.5 * np.einsum("ski,skij,skj->s", velocities, inertias, velocities)
    of_rotors = 0.5 * np.einsum("si,ij,sj->s", v, rotor_matrix(robot), v)
    close(robot.kinetic_energy(q, v), of_bodies + of_rotors, TOLERANCE)
