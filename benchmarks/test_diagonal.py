"""The diagonalised right-hand side (v, nu_dot) beside articulated forward dynamics. Run with ``make bench``.

A group holds one robot; the figures in brackets are the ratios to its fastest, which is forward dynamics.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from states import sample

import recursa as rc

ROBOTS: dict[str, tuple[Callable[[], rc.Robot], int]] = {
    "panda_like": (rc.robots.panda_like, 10_000),
    "free_flyer": (lambda: rc.robots.free_flyer(6), 10_000),
    "chain of 30": (lambda: rc.robots.chain(30), 1_000),
    "chain of 100": (lambda: rc.robots.chain(100), 400),
}
brief = pytest.mark.benchmark(max_time=1.0, min_rounds=30, warmup=True, warmup_iterations=2)


@cache
def calls(name: str) -> dict[str, Callable[..., Any]]:
    """Each right-hand side for a whole batch, into arrays of the caller."""
    make, count = ROBOTS[name]
    robot = make()
    q, v, tau = sample(robot, count)
    view, nu, both = robot.diagonal, robot.diagonal.total_rates(q, v), np.empty((count, 2, robot.nv))
    one = np.empty((count, robot.nv))
    return {
        "articulated": partial(robot.forward_dynamics, q, v, tau, out=one, threads=1),
        "diagonal": partial(view.rates, q, nu, tau, out=both, threads=1),
        "diagonal, unnormalised": partial(view.unnormalized.rates, q, nu, tau, out=both, threads=1),
        "accelerations by total rates": partial(
            robot.forward_dynamics, q, v, tau, method="diagonal", out=one, threads=1
        ),
    }


@brief
@pytest.mark.parametrize("which", ["articulated", "diagonal", "diagonal, unnormalised", "accelerations by total rates"])
@pytest.mark.parametrize("name", ROBOTS)
def test_right_hand_side(benchmark, name, which):
    benchmark.group = f"right-hand side, {name}, {ROBOTS[name][1]} states"
    benchmark(calls(name)[which])
