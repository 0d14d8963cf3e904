"""Classic arms against printed numbers and closed forms: mass matrices, gravity loads, energies."""

from __future__ import annotations

import math

import numpy as np
import pytest

import recursa as rc
from numeric import close, complex_step


def mass_matrix(robot: rc.Robot, q: np.ndarray) -> np.ndarray:
    """By polarisation of the kinetic energy: M_ij = T(e_i + e_j) - T(e_i) - T(e_j)."""
    unit = np.eye(robot.nv)
    pairs = robot.kinetic_energy(q, unit[:, None] + unit[None, :])
    alone = robot.kinetic_energy(q, unit)
    return pairs - alone[:, None] - alone[None, :]


def gravity_load(robot: rc.Robot, q: np.ndarray) -> np.ndarray:
    """The gradient of the potential energy by complex steps; for joints of one freedom."""
    return np.array([complex_step(lambda t, e=e: robot.potential_energy(q + t * e)) for e in np.eye(robot.nq)])


# ---- Saha's Stanford arm, Table 3 ------------------------------------------------------------------------------------

STANFORD_START = np.array([0.0, math.pi / 2, 0.0, 0.0, 0.0, 0.0])


def test_stanford_mass_matrix_matches_its_decimals_at_the_start_pose() -> None:
    expected = np.diag([1.4815, 1.348, 6.1, 0.0032, 0.0015, 0.002])
    for i, j, entry in ((1, 3, 0.61), (2, 5, 0.0015), (4, 6, 0.002)):
        expected[i - 1, j - 1] = expected[j - 1, i - 1] = entry
    matrix = mass_matrix(rc.robots.stanford(), STANFORD_START)
    assert np.abs(matrix - expected).max() < 1e-14
    assert np.linalg.det(matrix) == pytest.approx(4.200296337e-8, rel=1e-9)
    assert np.linalg.cond(matrix) == pytest.approx(1.207e4, rel=5e-4)


def test_stanford_gravity_load_matches_the_masses_times_their_arms() -> None:
    """tau_2(0) = 9.81 (1 * 0.7 + 1.1 * 0.6), and nothing on the other joints."""
    load = gravity_load(rc.robots.stanford(), STANFORD_START)
    assert np.abs(load - [0.0, 13.3416, 0.0, 0.0, 0.0, 0.0]).max() < 1e-13


def test_stanford_gravity_load_at_the_end_matches_the_printed_torques() -> None:
    """After the motion: joint 2 at 60 degrees, boom out by 0.1 m, at rest; all other joints at 60 degrees."""
    turn = math.pi / 3
    load = gravity_load(rc.robots.stanford(), np.array([turn, turn, 0.1, turn, turn, turn]))
    assert np.abs(load - [0.0, 16.73654715, -29.9205, 0.0, 0.0, 0.0]).max() < 5e-9


# ---- Puma 560, consensus data ----------------------------------------------------------------------------------------

PUMA_NOMINAL = np.array([0.0, math.pi / 4, math.pi, 0.0, math.pi / 4, 0.0])


def test_puma_gravity_load_matches_the_published_one() -> None:
    load = gravity_load(rc.robots.puma560(), PUMA_NOMINAL)
    assert np.abs(load - [0.0, 31.6399, 6.0351, 0.0, 0.0283, 0.0]).max() < 5.1e-5


def test_puma_torque_for_unit_accelerations_matches_the_published_one() -> None:
    """Inverse dynamics from rest: M(q) a + gravity load, rotors included."""
    robot = rc.robots.puma560()
    torque = mass_matrix(robot, PUMA_NOMINAL) @ np.ones(6) + gravity_load(robot, PUMA_NOMINAL)
    assert np.abs(torque - [3.3531, 36.0025, 7.4260, 0.1900, 0.2034, 0.1941]).max() < 5.1e-5


# ---- planar arms -----------------------------------------------------------------------------------------------------


def rods(n: int) -> tuple[np.ndarray, np.ndarray]:
    lengths = np.array([0.3, 0.25, 0.22] + [0.2] * 4)[:n]
    masses = np.array([0.5, 0.4, 0.3] + [0.25] * 4)[:n]
    return lengths, masses


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_planar_arm_matches_the_closed_form(n: int) -> None:
    """In absolute angles: T = sum h_ij cos(phi_i - phi_j) w_i w_j / 2 + sum Izz w^2 / 2, U = g sum m_k y_k."""
    lengths, masses = rods(n)
    arms = np.tril(np.tile(lengths, (n, 1)), -1) + np.diag(lengths / 2)  # A_kj = a_j (j < k), a_k / 2
    h = arms.T @ np.diag(masses) @ arms
    robot = rc.robots.planar(n)
    for seed in range(3):
        q, v = robot.random_state(seed)
        phi, w = np.cumsum(q), np.cumsum(v)
        kinetic = (
            0.5 * np.sum(h * np.cos(phi[:, None] - phi) * np.outer(w, w)) + np.sum(masses * (lengths * w) ** 2) / 24
        )
        close(robot.kinetic_energy(q, v), kinetic)
        close(robot.potential_energy(q), 9.81 * masses @ (arms @ np.sin(phi)))
        tip = [lengths @ np.cos(phi), lengths @ np.sin(phi), 0.0]
        close(robot.pose(q, "tip")[:3, 3], tip)


def test_planar_gravity_load_matches_the_printed_torques() -> None:
    """Stretched out and at rest: the entries for t = 0 of the three-link example."""
    load = gravity_load(rc.robots.planar(3), np.zeros(3))
    assert np.abs(load - [4.34583, 1.54998, 0.32373]).max() < 1e-14


def test_two_link_arm_matches_the_textbook_mass_matrix() -> None:
    m1, m2, l1, c1, c2, i1, i2, rotor = 1.7, 0.9, 0.6, 0.25, 0.35, 0.04, 0.03, 0.02
    b = rc.Builder("two_links")
    b.link("upper", mass=m1, com=(c1, 0, 0.1), inertia=(0.02, 0.03, i1))
    b.link("lower", mass=m2, com=(c2, 0, -0.2), inertia=(0.01, 0.025, i2))
    b.joint("shoulder", "revolute", parent="world", child="upper", rpy=(0.3, 0.7, -0.2), xyz=(1, 2, 3))
    b.joint("elbow", "revolute", parent="upper", child="lower", xyz=(l1, 0, 0), armature=rotor)
    robot = b.build()
    for q in np.random.default_rng(4).normal(size=(4, 2)):
        far = i2 + m2 * c2**2 + m2 * l1 * c2 * math.cos(q[1])
        near = i1 + m1 * c1**2 + i2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * math.cos(q[1]))
        close(mass_matrix(robot, q), np.array([[near, far], [far, i2 + m2 * c2**2 + rotor]]))
