"""The mass matrix in factors taken from its entries, as kernels do it, against the articulated recursion."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
import zoo
from recursa.dynamics import articulated_bodies, composite_factor, forward_derivatives, gathering
from recursa.sweeps import run

ROBOTS = {
    "panda_like": rc.robots.panda_like,
    "puma560": rc.robots.puma560,  # with rotors
    "stanford": rc.robots.stanford,
    "one_of_each": zoo.one_of_each,
    "mixed_tree": zoo.mixed_tree,
    "floating_tree_with_rotors": zoo.floating_tree_with_rotors,
}
every_robot = pytest.mark.parametrize("name", ROBOTS)


@every_robot
def test_inverse_by_factors_matches_the_articulated_one(name):
    robot = ROBOTS[name]()
    q, _ = robot.random_state(4)
    plans = articulated_bodies.MASS_MATRIX_INVERSE_PLAN, composite_factor.MASS_MATRIX_INVERSE_BY_FACTORS
    found = [run(plan, robot.model, {"q": q.tolist()})["rows"] for plan in plans]
    one, other = (np.array(list(gathering.joint_matrix(robot.model, rows, symmetric=True))) for rows in found)
    assert np.allclose(one, other, rtol=1e-10, atol=1e-12 * np.abs(one).max())


@every_robot
def test_pivots_and_rows_are_those_of_the_innovations_factorisation(name):
    robot = ROBOTS[name]()
    q, _ = robot.random_state(5)
    found = robot.factorization(q)
    values = run(composite_factor.MASS_MATRIX_INVERSE_BY_FACTORS, robot.model, {"q": q.tolist()})
    factor, inverse = np.eye(robot.nv), np.eye(robot.nv)
    pivots = np.zeros(robot.nv)
    place = {
        (k, i): joint.v_start + i for k, joint in enumerate(robot.model.joints) for i in range(joint.kind.nv)
    }  # fmt: skip
    for own in values["pivots"]:
        for key, pivot in own:
            pivots[place[key]] = 1.0 / pivot.inverse_d
            for other, value in pivot.factor:
                factor[place[key], place[other]] = value
            for other, value in pivot.inverse_factor:
                inverse[place[key], place[other]] = value
    assert np.allclose(factor @ inverse, np.eye(robot.nv), atol=1e-9)
    assert np.allclose(factor @ np.diag(pivots) @ factor.T, robot.mass_matrix(q))
    assert np.isclose(np.log(pivots).sum(), found.logdet())
    if all(joint.kind.nv == 1 for joint in robot.model.joints):  # D is diagonal, and the factors are unique
        assert np.allclose(factor, found.factor, atol=1e-11)
        assert np.allclose(pivots, np.diag(found.D))


@every_robot
def test_derivatives_by_factors_match_those_by_articulated_bodies(name):
    robot = ROBOTS[name]()
    (q, v), tau = robot.random_state(6), np.linspace(-1.0, 2.0, robot.nv)
    inputs = {"q": q.tolist(), "v": v.tolist(), "tau": tau.tolist()}
    plans = forward_derivatives.state_space_plan(), forward_derivatives.state_space_by_factors_plan()
    one, other = (
        np.array(list(forward_derivatives.state_space_entries(robot.model, run(plan, robot.model, inputs))))
        for plan in plans
    )
    assert np.allclose(one, other, rtol=1e-9, atol=1e-11 * np.abs(one).max())


@pytest.mark.compiled
def test_a_hinge_without_inertia_is_named_by_kernels_too():
    """Two axes in line and nothing on the body between: rounding must not pass for inertia."""
    b = rc.Builder("twice")
    b.link("between")
    b.link("rod", mass=1.7, com=(0.2, 0.1, 0.0), inertia=(0.013, 0.017, 0.019, 0.001, 0.002, -0.003))
    b.joint("lower", "revolute", parent="world", child="between", axis=(0.36, 0.48, 0.8), xyz=(0.1, 0.7, 0.3))
    b.joint("upper", "revolute", parent="between", child="rod", axis=(0.36, 0.48, 0.8))
    with pytest.warns(rc.ModelWarning):
        robot = b.build(strict=False)
    q, v = np.array([[0.3, 0.7]] * 3), np.zeros((3, 2))
    for call in (
        lambda: robot.mass_matrix_inverse(q),
        lambda: robot.forward_dynamics_derivatives(q, v, v),
        lambda: robot.state_space(q, v, v),
    ):
        with pytest.raises(rc.SingularHingeError, match="joint 'lower'"):
            call()
