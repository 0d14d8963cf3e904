"""What derivatives along one direction cost beside the Newton-Euler recursion itself, counted."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import recursa as rc

ROBOTS = {
    "arm": rc.robots.puma560,
    "arm of seven joints": rc.robots.panda_like,
    "legs": lambda: rc.robots.standing_quadruped().without_constraints(),
    "free flyer": lambda: rc.robots.free_flyer(13),
    "forty bodies": lambda: rc.robots.chain(40),
}


@pytest.mark.parametrize("make", ROBOTS.values(), ids=ROBOTS)
def test_a_direction_costs_a_small_multiple_of_the_recursion(make: Callable[[], rc.Robot]) -> None:
    robot = make()
    recursion, first, second = (
        rc.count(robot, name).total
        for name in ("reaction_wrenches", "linearize.along", "inverse_dynamics_second_derivatives.along")
    )
    assert first <= 2.75 * recursion and second <= 7 * recursion
