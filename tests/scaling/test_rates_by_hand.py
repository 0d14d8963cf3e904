"""Rates that are derived by hand, against differentiated plans: the same numbers, from fewer operations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import recursa as rc
from recursa.kernels.kernel import straight_program
from recursa.kernels.plan_derivatives import PlanFunction
from recursa.quantities import Recipe, Subject, quantity
from recursa.sweeps.engine import run

LINK = {"link": "link20"}
CASES: dict[str, tuple[str, dict[str, Any]]] = {  # by name: what is differentiated in time, and options of both
    "jacobian_derivative": ("jacobian", LINK),
    "jacobian_second_derivative": ("jacobian_derivative", LINK),
    "momentum_rate": ("momentum", {}),
    "center_of_mass_velocity": ("center_of_mass", {}),
    "center_of_mass_acceleration": ("center_of_mass_velocity", {}),
    "momentum_matrix_derivative": ("momentum_matrix", {}),
    "center_of_mass_jacobian_derivative": ("center_of_mass_jacobian", {}),
    "subtree_center_of_mass_velocities": ("subtree_centers_of_mass", {}),
}


def function_of(robot: rc.Robot, name: str, options: dict[str, Any]) -> PlanFunction:
    """What the robot answers a question with."""
    record = quantity(name)
    recipe = record.recipe(Subject(robot.model), frozenset(), **{**record.defaults, **options})
    assert isinstance(recipe, Recipe)
    sizes = {one: record.kind(one).size(robot.model) for one in record.inputs}
    return PlanFunction(recipe.plan, robot.model, sizes, recipe.gather, int(np.prod(recipe.shape)))


@pytest.mark.parametrize("name", CASES)
def test_rates_are_those_of_the_plan_and_take_fewer_operations(name: str) -> None:
    base, options = CASES[name]
    robot = rc.robots.chain(20)
    by_hand, function = function_of(robot, name, options), function_of(robot, base, options)
    derived = function.along(list(function.sizes))  # changes of q and v are v and a: joints of one freedom
    q, v = robot.random_state(1)
    state = {"q": q, "v": v, "a": np.random.default_rng(2).normal(size=robot.nv), "change:1.q": v}
    state["change:1.v"] = state["a"]
    rows = {one: list(map(float, numbers)) for one, numbers in state.items()}

    def numbers(of: PlanFunction) -> Any:
        values = run(of.plan, of.model, {one: rows[one] for one in of.sizes})
        return np.array(list(of.gather(values)), float)

    expected = numbers(by_hand)
    np.testing.assert_allclose(numbers(derived), expected, rtol=0, atol=1e-12 * abs(expected).max())
    own, other = (
        straight_program(one.plan, one.model, one.sizes, one.gather, 1_000_000).operations.total
        for one in (by_hand, derived)
    )
    assert other > 1.1 * own
