"""The root of D, m, l, nu and epsilon as formulas: against matrices, and against the named answers of ``diagonal``."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import recursa as rc
from expressions import gap
from recursa.operators.singular import dense_values
from zoo import ZOO, floating_tree_with_rotors

ROBOTS = {name: make for name, make in ZOO.items() if name not in ("chain200", "floating_tree")}
ROBOTS["floating_tree_with_rotors"] = floating_tree_with_rotors
robot_of = cache(lambda name: ROBOTS[name]())


def tables(robot: rc.Robot, q, v, tau) -> dict[str, np.ndarray]:
    """Tables 2 and 3 of Jain & Rodriguez, and where they lead, by formula."""
    d = robot.diagonal
    return {
        "inv(m) T": d.working_moments(q, tau),
        "epsilon": d.working_moments(q, tau),
        "m T": d.joint_moments(q, tau),
        "inv(m)* T": d.joint_rates(q, tau),
        "nu": d.total_rates(q, v),
        "inv(m) (T - C)": d.working_moments(q, tau - robot.bias_forces(q, v)),
        "l* l T": robot.mass_matrix_inverse(q) @ tau,
        "m m* T": robot.mass_matrix(q) @ tau,
    }


def value(robot: rc.Robot, text: str, q, v, tau, form=None) -> np.ndarray:
    f = rc.compile(text, robot, form=form, notation="jain")
    return f(q, v, *([tau] if f.inputs else []))


@pytest.mark.parametrize("name", ROBOTS)
def test_formulas_with_roots_match_matrices_and_the_named_answers(name):
    robot = robot_of(name)
    q, v = robot.random_state(3)
    tau = np.random.default_rng(1).normal(size=robot.nv)
    wanted = tables(robot, q, v, tau)
    expressions = [rc.parse(text, robot, notation="jain") for text in wanted]
    for text, named, found in zip(wanted, wanted.values(), dense_values(expressions, q, v, T=tau), strict=True):
        assert gap(found, named, np.abs(named).max()) < 1e-10, text


@pytest.mark.compiled
@pytest.mark.parametrize("form", ["straight", "loop"])
@pytest.mark.parametrize("name", ["puma560", "spherical", "floating_tree_with_rotors"])
def test_compiled_formulas_with_roots_match_the_named_answers(name, form):
    robot = robot_of(name)
    q, v = robot.random_state(4)
    tau = np.random.default_rng(2).normal(size=robot.nv)
    for text, named in tables(robot, q, v, tau).items():
        assert gap(value(robot, text, q, v, tau, form), named, np.abs(named).max()) < 1e-10, text


@pytest.mark.parametrize("text", ["mass + 2 I", "mass + D", "H phi (M + R) phi* H*"])
@pytest.mark.parametrize("root", ["W", "W*", "inv(W)", "inv(W)*"])
def test_roots_of_other_matrices_match_matrices(root, text):
    robot = robot_of("one_of_each")
    q, _ = robot.random_state(2)
    expression = rc.parse(root.replace("W", f"W{{{text}}}"), robot)
    assert gap(rc.compile(expression).matrix(q), rc.dense(expression, q)) < 1e-10


def test_moments_and_rates_take_the_sweeps_of_the_tables():
    robot = robot_of("panda_like")
    ways = {"inv(m) T": 1, "m T": 1, "m* v": 2, "inv(m)* T": 2}
    for text, sweeps in ways.items():
        f = rc.compile(text, robot)
        assert len(f.plan.sweeps) == sweeps, text
    assert str(rc.compile("inv(m) T", robot).simplified) == "W⁻¹ (I - H ψ K) T"
    assert "W W* = D" in str(rc.explain("inv(m) (T - C)", robot))


def test_the_root_has_a_derivative_where_joints_have_one_freedom():
    robot = robot_of("panda_like")
    q, v = robot.random_state(2)
    rate = rc.parse("d/dt(m)", robot)
    step = 1e-6
    ends = [rc.dense(robot.operators.m, robot.integrate(q, h * v)) for h in (step, -step)]
    assert gap(rc.compile(rate).matrix(q, v), (ends[0] - ends[1]) / (2 * step)) < 1e-6
    with pytest.raises(rc.NoSweepError, match="Ẇ is a formula only where every joint has one freedom"):
        rc.compile("W_dot", robot_of("one_of_each"))
