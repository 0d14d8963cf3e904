"""Inverses of a mass matrix with terms at several links: one update, whatever number of terms it is written with."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import recursa as rc
import zoo
from expressions import gap
from recursa.operators.expression import Expression
from recursa.operators.simplify import simplify

ROBOTS = {"puma560": rc.robots.puma560, "small_mixed_tree": zoo.small_mixed_tree}
robot_of = cache(lambda name: ROBOTS[name]())
WEIGHTS = [2.0, 1.0, 0.5, 3.0, 1.5, 2.5]
ONE_DIRECTION = [0.0, 0.0, 0.0, 0.0, 0.0, 4.0]


def jacobians(robot: rc.Robot, count: int) -> list[Expression]:
    o = robot.operators
    links = [joint.child for joint in robot.model.joints][-count:]
    return [o.B(link).T @ o.phi.T @ o.H.T for link in links]


@pytest.mark.parametrize("count", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_terms_at_links_cost_what_one_term_with_all_links_costs(count):
    robot = robot_of("puma560")
    o = robot.operators
    links = [joint.child for joint in robot.model.joints][-count:]
    together = o.B(*links).T @ o.phi.T @ o.H.T
    apart = o.mass
    for J in jacobians(robot, count):
        apart = apart + J.T @ J
    expected = rc.compile((o.mass + together.T @ together).inverse())
    found = rc.compile(apart.inverse())
    assert found.simplified == expected.simplified
    assert found.operations == expected.operations


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


def test_three_terms_are_one_update():
    robot = robot_of("puma560")
    o = robot.operators
    J1, J2, J3 = jacobians(robot, 3)
    simple = str(simplify((o.mass + J1.T @ J1 + 2.0 * J2.T @ J2 + 3.0 * J3.T @ J3).inverse()))
    assert simple.count("⁻¹") == 4 and "B(link4, link5, link6)" in simple  # of D three times, and of one small matrix
