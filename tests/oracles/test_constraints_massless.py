"""Links without mass that constraints move: what the tree cannot do alone, against the dense equations and a limit."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from recursa.errors import SingularHingeError

STILL = np.zeros(3)
TAU = np.array([4.0, 0.0, 0.0])


def four_bar(coupler: float) -> rc.Robot:
    """A four-bar linkage whose coupler has that mass, at the end of a branch."""
    b = rc.Builder("four_bar")
    for name, length, mass in (("crank", 0.2, 1.0), ("coupler", 0.6, coupler), ("rocker", 0.5, 1.5)):
        if mass:
            b.link(name, mass=mass, com=(length / 2, 0, 0), inertia=(mass * 1e-4, mass * 1e-2, mass * length**2 / 12))
        else:
            b.link(name)
    b.joint("crank_joint", "revolute", parent="world", child="crank", axis=(0, 0, 1))
    b.joint("coupler_joint", "revolute", parent="crank", child="coupler", axis=(0, 0, 1), xyz=(0.2, 0, 0))
    b.joint("rocker_joint", "revolute", parent="world", child="rocker", axis=(0, 0, 1), xyz=(0.7, 0, 0))
    tree = b.build(gravity=(0, -9.81, 0), strict=False)
    pin = rc.Loop("revolute", "coupler", "rocker", axis=(0, 0, 1), at=(0.6, 0, 0), at_other=(0.5, 0, 0), name="pin")
    return tree.with_constraints(pin)


def posed(robot: rc.Robot) -> tuple[np.ndarray, np.ndarray]:
    q = robot.assemble([0.5, 0.3, 1.5], fixed=["crank_joint"])
    return q, robot.project_velocity(q, [2.0, 0.0, 0.0])


def test_accelerations_solve_the_dense_equations_and_forces_are_those_of_a_rod() -> None:
    robot = four_bar(0.0)
    q, v = posed(robot)
    M, G = robot.mass_matrix(q), robot.constraint_jacobian(q)
    matrix = np.block([[M, G.T], [G, np.zeros((5, 5))]])
    right = np.concatenate([TAU - robot.bias_forces(q, v), -robot.constraint_bias(q, v)])
    expected = np.linalg.pinv(matrix, rcond=1e-11) @ right
    a = robot.forward_dynamics(q, v, TAU)
    assert np.abs(a - expected[:3]).max() <= 1e-9 * np.abs(a).max()
    forces = robot.constraint_forces(q, v, TAU)
    assert np.abs(forces + expected[3:]).max() <= 1e-9 * np.abs(forces).max()  # the shortest, as of pinv
    assert np.abs(np.delete(forces, 2)).max() <= 1e-9 * abs(forces[2])  # along the rod alone
    again = robot.without_constraints()
    with pytest.raises(SingularHingeError, match="coupler_joint"):
        again.forward_dynamics(q, v, TAU)
    with pytest.raises(SingularHingeError, match="coupler_joint"):
        robot.forward_dynamics(q, v, TAU, method="augmentation")
    assert np.abs(robot.constraint_wrenches(q, v, TAU)).max() > 0.0


def test_it_is_the_limit_of_small_masses() -> None:
    light, none = four_bar(1e-7), four_bar(0.0)
    q, v = posed(none)
    assert np.allclose(light.project_velocity(q, [1.0, 2.0, 3.0]), none.project_velocity(q, [1.0, 2.0, 3.0]), rtol=1e-5)
    assert np.allclose(light.forward_dynamics(q, v, TAU), none.forward_dynamics(q, v, TAU), rtol=1e-5)
    for one, other in zip(
        light.forward_dynamics_derivatives(q, v, TAU), none.forward_dynamics_derivatives(q, v, TAU), strict=True
    ):
        assert np.abs(one - other).max() <= 1e-4 * np.abs(one).max()
    assert np.allclose(light.state_space(q, v, TAU).A, none.state_space(q, v, TAU).A, rtol=1e-4)
    assert np.isclose(none.free_directions(q).mass_matrix @ none.free_directions(q).compliance, 1.0)


def test_it_runs_and_keeps_its_energy() -> None:
    robot = four_bar(0.0)
    q, _ = posed(robot)
    run = robot.simulate(q, duration=0.1)
    assert np.abs(robot.constraint_error(run.q)).max() < 1e-9
    energy = robot.kinetic_energy(run.q, run.v) + robot.potential_energy(run.q)
    assert np.ptp(energy) < 1e-7 * np.abs(robot.kinetic_energy(run.q, run.v)).max()


def test_what_nothing_moves_is_named() -> None:
    b = rc.Builder("flag")
    b.link("pole", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    b.link("flag")
    b.joint("turn", "revolute", parent="world", child="pole", axis=(0, 0, 1))
    b.joint("flap", "revolute", parent="pole", child="flag", axis=(0, 0, 1), xyz=(0.3, 0, 0))
    robot = b.build(strict=False).with_constraints(rc.Prescribed("turn"))
    for _ in range(2):  # also once native code is known
        with pytest.raises(SingularHingeError, match="nothing moves joint 'flap'"):
            robot.forward_dynamics([0.1, 0.2], [0.0, 0.0], [1.0, 1.0])
    with pytest.raises(SingularHingeError, match="nothing moves joint 'flap'"):
        robot.project_velocity([0.1, 0.2], [0.0, 1.0])
    held = robot.with_constraints(rc.JointRelation({"flap": 1.0, "turn": -1.0}))
    assert np.allclose(held.forward_dynamics([0.1, 0.1], [0.0, 0.0], [1.0, 1.0], prescribed=[2.0]), 2.0)
