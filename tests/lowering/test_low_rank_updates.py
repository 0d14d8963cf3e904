"""Inverses of a mass matrix with terms at links, which are more inertia of these, and low-rank updates of others."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import recursa as rc
import zoo
from expressions import gap
from recursa.operators.expression import Expression

ROBOTS = {"puma560": rc.robots.puma560, "small_mixed_tree": zoo.small_mixed_tree}
robot_of = cache(lambda name: ROBOTS[name]())
WEIGHTS = [2.0, 1.0, 0.5, 3.0, 1.5, 2.5]
ONE_DIRECTION = [0.0, 0.0, 0.0, 0.0, 0.0, 4.0]


def jacobians(robot: rc.Robot, count: int) -> list[Expression]:
    o = robot.operators
    links = [joint.child for joint in robot.model.joints][-count:]
    return [o.B(link).T @ o.phi.T @ o.H.T for link in links]


@pytest.mark.parametrize("name", ROBOTS)
def test_terms_at_links_are_more_inertia_of_these_and_cost_next_to_nothing(name):
    """However many there are, together or apart, and whatever weighs them."""
    robot = robot_of(name)
    o = robot.operators
    links = [joint.child for joint in robot.model.joints][-3:]
    together = o.B(*links).T @ o.phi.T @ o.H.T
    apart, weighed = o.mass, o.mass
    for number, J in enumerate(jacobians(robot, 3)):
        apart = apart + J.T @ J
        weighed = weighed + J.T @ o.diag(o.vector(f"k{number}", "tip")) @ J
    bare, one, three, by_vectors = (
        rc.compile(matrix.inverse(), robot, form="straight").operations.total
        for matrix in (o.mass, o.mass + together.T @ together, apart, weighed)
    )
    assert one == three < 1.15 * bare and by_vectors < 2.0 * bare


@pytest.mark.parametrize(("name", "form"), [("puma560", "straight"), ("small_mixed_tree", "loop")])
def test_compiled_updates_match_matrices(name, form):
    """Weights that differ, that are zero in some directions, that are negative, and links that occur twice."""
    robot = robot_of(name)
    o, (J1, J2, J3) = robot.operators, jacobians(robot, 3)
    both = o.B(*(joint.child for joint in robot.model.joints[-2:])).T @ o.phi.T @ o.H.T
    q, _ = robot.random_state(6)
    x = np.cos(np.arange(robot.nv))
    for terms in (
        J1.T @ J1 + 0.5 * J2.T @ J2 + J3.T @ J3,
        J1.T @ np.diag(WEIGHTS) @ J1 + 2.0 * J2.T @ np.diag(WEIGHTS) @ J2,
        J1.T @ np.diag(ONE_DIRECTION) @ J1 + J2.T @ np.diag(WEIGHTS) @ J2,
        J2.T @ J2 + both.T @ both,
        J1.T @ J1 - 0.01 * J2.T @ J2,
    ):
        f = rc.compile((o.mass + terms).inverse(), form=form)
        expected = np.linalg.solve(rc.dense(o.mass + terms, q), x)
        assert gap(f(q, None, x), expected, np.abs(expected).max()) < 1e-9, str(terms)


def test_weights_that_are_formulas_match_matrices():
    """Vectors given with the call, sums of terms at one link, and the inertia that the link itself shows."""
    robot = robot_of("small_mixed_tree")
    first, last = (joint.child for joint in robot.model.joints[-2:])
    q, _ = robot.random_state(6)
    x, k = np.cos(np.arange(robot.nv)), np.array(WEIGHTS)
    for text in (
        f"inv(mass + J({first})* diag(k) J({first}) + 2 J({last})* diag(k) J({last})) y",
        f"inv(mass + J({last})* diag(k) J({last}) + J({last})* J({last})) y",
        f"inv(mass + J({last})* inv(J({last}) inv(mass) J({last})* + diag(k)) J({last})) y",
    ):
        expression = rc.parse(text, robot, vectors={"k": "tip", "y": "joint"})
        f = rc.compile(expression)
        given = {"k": k, "y": x}
        expected = rc.dense(expression, q, **given)
        assert gap(f(q, None, *(given[name] for name in f.inputs)), expected, np.abs(expected).max()) < 1e-9, text


def test_several_terms_that_are_no_inertia_are_one_update():
    robot = robot_of("puma560")
    o = robot.operators
    B1, B2 = (o.B(joint.child) for joint in robot.model.joints[-2:])
    for number in (1.0, 2.0):
        matrix = o.phi @ o.M @ o.phi.T + B1 @ B1.T + number * B2 @ B2.T
        f = rc.compile(matrix.inverse())
        assert str(f.simplified).count("⁻¹") == 4 and "B(link5, link6)" in str(f.simplified)  # of M thrice
        q, _ = robot.random_state(6)
        expected = np.linalg.inv(rc.dense(matrix, q))
        assert gap(f.matrix(q), expected, np.abs(expected).max()) < 1e-9


def test_updates_with_rows_of_constraints_match_matrices():
    robot = zoo.closed_tree()
    expression = rc.parse("inv(mass + 10 G_c* G_c)", robot)
    q, _ = robot.random_state(6)
    assert gap(rc.compile(expression).matrix(q), rc.dense(expression, q), 1.0) < 1e-9


def test_what_is_taken_from_a_mass_matrix_may_leave_a_singular_one():
    arm = rc.robots.planar(1)
    mass = float(arm.mass_matrix([0.3])[0, 0])
    f = rc.compile(f"inv(mass - {mass!r} I)", arm)
    with pytest.raises(rc.errors.SingularMatrixError, match="subtract less"):
        f([0.3], None, [1.0])
