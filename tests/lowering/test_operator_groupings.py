"""``(A B) x`` and ``A (B x)``: every pair of operators, and random expressions, by sweeps and by matrices."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings

import recursa as rc
from expressions import by_matrices, by_sweeps, expressions, gap, largest_part, leaves, numbers_for
from recursa.kernels.dispatch import Switch
from recursa.loading import trusted
from recursa.operators.arithmetic import product
from recursa.operators.expression import Constant, Expression, Product
from recursa.operators.simplify import simplify
from recursa.robots import random_description
from zoo import pendulum

pytestmark = pytest.mark.interpreted(reason="hundreds of random expressions; those marked compiled compare the forms")

ROBOTS = {
    "pendulum": pendulum,
    "small_tree": lambda: trusted(
        random_description("small_tree", [-1, 0, 0, 1], 17, ["revolute", "spherical", "prismatic"])
    ),
    "small_flyer": lambda: trusted(random_description("small_flyer", [-1, 0, 1], 9, ["free", "revolute", "planar"])),
    "planar": lambda: rc.robots.planar(3),
}
robot_of = cache(lambda name: ROBOTS[name]())


@pytest.mark.parametrize("name", ["pendulum", pytest.param("small_tree", marks=pytest.mark.slow), "small_flyer"])
def test_every_pair_of_operators_matches_in_both_groupings(name):
    robot = robot_of(name)
    q, v = robot.random_state(1)
    every = leaves(robot)
    seen = 0
    for left in every.values():
        for right in every.values():
            if left.shape.columns != right.shape.rows:
                with pytest.raises(rc.ShapeError, match="cannot multiply"):
                    _ = left @ right
                continue
            seen += 1
            x = np.cos(np.arange(right.shape.columns.size))
            inner = by_sweeps(robot, right, q, v, {"x": x})
            assert (left @ right) @ x == left @ (right @ x)  # products are flat
            expected = by_matrices(left @ right, q, v, {"x": x})
            scale = largest_part(left, q, v) * max(1.0, np.abs(inner).max())
            assert gap(by_sweeps(robot, left @ right, q, v, {"x": x}), expected, scale) < 1e-10, f"({left} {right}) x"
            assert gap(by_sweeps(robot, left, q, v, {"x": inner}), expected, scale) < 1e-10, f"{left} ({right} x)"
            assert gap(by_sweeps(robot, left @ inner, q, v, {}), expected, scale) < 1e-10, f"{left} @ array"
    assert seen > 250


def cuts(expression: Expression) -> list[tuple[Expression, Expression]]:
    """The ways to cut a product in two."""
    if not isinstance(expression, Product):
        return []
    factors = expression.factors
    return [(product(factors[:k]), product(factors[k:])) for k in range(1, len(factors))]


@pytest.mark.parametrize(
    ("name", "examples"),
    [(name, 60) for name in ROBOTS] + [pytest.param(name, 150, marks=pytest.mark.slow) for name in ROBOTS],
)
def test_random_expressions_match_in_every_grouping(name, examples):
    """Simplified and swept, applied in two stages, and by matrices."""
    robot = robot_of(name)
    q, v = robot.random_state(2)
    swept = []

    @settings(max_examples=examples, deadline=None, derandomize=True, database=None)
    @given(expression=expressions(robot.operators))
    def check(expression: Expression) -> None:
        if expression.shape is None:
            return
        simple = simplify(expression)
        numbers = numbers_for(robot, simple)
        scale = largest_part(expression, q, v) * max(1.0, *(np.abs(x).max() for x in numbers.values()), 1.0)
        expected = by_matrices(expression, q, v, numbers)
        assert gap(by_sweeps(robot, simple, q, v, numbers), expected, scale) < 1e-9, str(simple)
        for left, right in cuts(simple)[:2]:
            inner = by_sweeps(robot, right, q, v, numbers)
            found = by_sweeps(robot, left @ Constant(tuple(inner.tolist()), inner.shape), q, v, {})
            assert gap(found, expected, scale) < 1e-9, f"({left}) ({right})"
        swept.append(expression)

    check()
    assert len(swept) >= 0.8 * examples


@pytest.mark.compiled
@pytest.mark.parametrize("form", ["straight", "loop"])
def test_compiled_random_expressions_match_matrices(form):
    robot = robot_of("small_tree")
    states = [np.stack(x) for x in zip(*(robot.random_state(seed) for seed in (3, 4)), strict=True)]
    assert Switch.on

    @settings(max_examples=15, deadline=None, derandomize=True, database=None)
    @given(expression=expressions(robot.operators, 3))
    def check(expression: Expression) -> None:
        if expression.shape is None:
            return
        f = rc.compile(expression, robot, form=form)
        numbers = {x.name: np.cos(np.arange(x.space.size)) for x in f._vectors.values()}
        q, v = (x[0] for x in states)
        scale = largest_part(expression, q, v)
        expected = by_matrices(expression, *states, numbers)
        found = f(*states, *numbers.values())
        assert gap(found, expected, scale) < 1e-9, str(expression)
        assert np.array_equal(f(q, v, *numbers.values()), found[0])

    check()
