"""A graph as the turns of a loop: the same values, done on NumPy, and not many more operations than the graph has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import recursa as rc
import zoo
from recursa.bridges.differentiable import Arguments, DifferentiableRobot
from recursa.bridges.functions import GraphFunction
from recursa.bridges.turns import Schedule, schedule
from recursa.kernels.graph import Graph

ROBOTS = {
    "arm": rc.robots.panda_like,
    "flyer": lambda: rc.robots.free_flyer(2),
    "one_of_each": zoo.one_of_each,
    "humanoid": zoo.large_flyer,
    "tree40": lambda: rc.robots.tree(40),
    "chain100": lambda: rc.robots.chain(100),
}
ON_NUMPY: dict[str, Any] = {
    "sum": lambda p, q, r, s: s * p * q + r,
    "div": lambda p, q, r, s: p / q,
    "sqrt": lambda p, q, r, s: np.sqrt(p),
    "sin": lambda p, q, r, s: np.sin(p),
    "cos": lambda p, q, r, s: np.cos(p),
    "atan2": lambda p, q, r, s: np.arctan2(p, q),
    "lt": lambda p, q, r, s: (p < q).astype(float),
    "select": lambda p, q, r, s: np.where(p != 0, q, r),
}


def done(plan: Schedule, rows: list[np.ndarray]) -> np.ndarray:
    """The turns, one after the other; what was never stored is not a number."""
    values = np.full(plan.rows, np.nan)
    known = np.concatenate([plan.constants, *(x[own] for x, own in zip(rows, plan.inputs, strict=True))])
    values[: len(known)] = known
    for which, operands, signs, start in zip(plan.which, plan.operands, plan.signs, plan.start, strict=True):
        values[start : start + plan.width] = ON_NUMPY[plan.kinds[which]](*values[operands], signs)
    return values[plan.results]


def function_of(robot: rc.Robot, name: str, arrays: tuple[np.ndarray, ...]) -> GraphFunction:
    return DifferentiableRobot(robot.evaluator).asked(Arguments.of(name, arrays, {})).function


def within_three(function: GraphFunction, plan: Schedule) -> bool:
    graph = function.graph.counts([x for x in function.outputs if isinstance(x, int)])
    return plan.operations <= 3 * graph.total


@pytest.mark.parametrize("name", ROBOTS)
def test_turns_give_what_the_robot_gives_with_at_most_three_times_the_operations(name: str) -> None:
    robot = ROBOTS[name]()
    q, v = robot.random_state(seed=1)
    tau = np.linspace(-1.0, 1.0, robot.nv)
    for what, arrays in {"forward_dynamics": (q, v, tau), "inverse_dynamics": (q, v, tau)}.items():
        function = function_of(robot, what, arrays)
        plan = schedule(function.graph, function.outputs, function.sizes)
        ours = getattr(robot, what)(*arrays)
        assert np.abs(done(plan, list(arrays)) - ours).max() < 1e-12 * max(1.0, np.abs(ours).max())
        assert within_three(function, plan)


def test_derivatives_too() -> None:
    robot = rc.robots.panda_like()
    q, v = robot.random_state(seed=1)
    function = function_of(robot, "forward_dynamics", (q, v, v))
    weights = np.linspace(0.0, 1.0, robot.nv)
    for derived, wanted in (
        (function.along(["tau"]), robot.mass_matrix_inverse(q) @ weights),
        (function.pulled(["tau"]), weights @ robot.mass_matrix_inverse(q)),
    ):
        plan = schedule(derived.graph, derived.outputs, derived.sizes)
        np.testing.assert_allclose(done(plan, [q, v, v, weights]), wanted, rtol=1e-10)
        assert within_three(derived, plan)


def test_places_are_used_again() -> None:
    """A long sum of one number after the other has few values at a time."""
    graph = Graph()
    (x,) = graph.inputs("x", 1)
    total = x
    for k in range(1, 500):
        total = total * x + float(k)
    plan = schedule(graph, [total.number], ["x"])
    assert plan.rows - len(plan.constants) - 1 <= 4 * plan.width
    assert np.isclose(done(plan, [np.array([0.5])])[0], 2 * (499 - 1) + 0.5**498)


def test_what_is_constant_or_handed_on_needs_no_turns() -> None:
    graph = Graph()
    (x,) = graph.inputs("x", 1)
    plan = schedule(graph, [x.number, 2.0, 0.0], ["x"])
    assert len(plan.which) == 0
    assert done(plan, [np.array([3.0])]).tolist() == [3.0, 2.0, 0.0]
