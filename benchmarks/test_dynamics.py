"""Dynamics beside Pinocchio and MuJoCo, called from Python in the same run. Run with ``make bench``.

A group holds one quantity of one robot; the figures in brackets are the ratios to its fastest. In a batch the peers are
called state by state: from Python they have no other way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from time import thread_time
from typing import Any

import numpy as np
import pytest
from states import sample

import recursa as rc
from recursa.cli.bench import QUANTITIES
from recursa.interop.timing import STATES, Asked, installed_peers
from recursa.quantities import quantity as record_of
from robot_data import urdf_files

BATCH = 10_000
HUMANOID = [path for path in urdf_files() if path.name == "simple_humanoid.urdf"]
ROBOTS: dict[str, Callable[[], rc.Robot]] = {
    "panda_like": rc.robots.panda_like,
    "floating humanoid": lambda: rc.load(HUMANOID[0], floating=True),
    "chain of 3": lambda: rc.robots.chain(3),
    "chain of 30": lambda: rc.robots.chain(30),
}
PEERS = ("pinocchio", "mujoco")
brief = pytest.mark.benchmark(max_time=0.3, min_rounds=5, warmup=True, warmup_iterations=1)
every_robot = pytest.mark.parametrize("name", ROBOTS)
every_quantity = pytest.mark.parametrize("quantity", QUANTITIES)


@cache
def subject(name: str) -> tuple[rc.Robot, tuple[Any, Any, Any]]:
    if "humanoid" in name and not HUMANOID:
        pytest.skip("example-robot-data is not installed")
    robot = ROBOTS[name]()
    return robot, sample(robot, BATCH)


@cache
def peer(library: str, name: str, quantity: str) -> tuple[Callable[..., Any], list[tuple[Any, ...]]]:
    """A call with one state, and states."""
    pytest.importorskip(library)
    robot, _ = subject(name)
    found = Asked(robot, record_of(quantity), STATES).of_peer(installed_peers(robot)[0][library])
    assert found is not None
    return found


def own(name: str, quantity: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    robot, (q, v, x) = subject(name)
    return getattr(robot, quantity), (q,) if quantity.startswith("mass_matrix") else (q, v, x)


@brief
@pytest.mark.parametrize("library", ["recursa", *PEERS])
@every_quantity
@every_robot
def test_one_state(benchmark, name, quantity, library):
    benchmark.group = f"{quantity}, {name}, one state"
    if library == "recursa":
        method, rows = own(name, quantity)
        one = tuple(x[0] for x in rows)
        method(*one)  # compiled and its native entry made
        benchmark(method, *one)
    else:
        call, states = peer(library, name, quantity)
        benchmark(call, *states[0])


@brief
@pytest.mark.parametrize("library", ["recursa", "recursa, 2 threads", *PEERS])
@every_quantity
@every_robot
def test_batch(benchmark, name, quantity, library):
    benchmark.group = f"{quantity}, {name}, {BATCH} states"
    if library in PEERS:
        call, states = peer(library, name, quantity)

        def loop() -> None:
            for _ in range(BATCH // STATES):
                for state in states:
                    call(*state)

        benchmark(loop)
        return
    method, rows = own(name, quantity)
    out = np.empty_like(method(*rows))
    benchmark(partial(method, *rows, out=out, threads=2 if "2" in library else 1))


MATRICES = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives", "mass_matrix_inverse")


@pytest.mark.parametrize("quantity", MATRICES)
def test_matrices_in_a_batch(quantity, capsys):
    """Times Pinocchio's call, in turns and in processor time, so that both meet the same noise; printed are medians."""
    robot, _ = subject("panda_like")
    call, states = peer("pinocchio", "panda_like", quantity)
    method, rows = own("panda_like", quantity)
    out = np.empty((BATCH, *(() if quantity.startswith("mass") else (3,)), robot.nv, robot.nv))
    pairs = []
    for _ in range(31):
        start = thread_time()
        method(*rows, out=out)
        middle = thread_time()
        for _ in range(5):
            for state in states:
                call(*state)
        pairs.append(((middle - start) / BATCH, (thread_time() - middle) / (5 * STATES)))
    ours, theirs = (1e9 * np.median(times) for times in zip(*pairs[1:], strict=True))  # the first one compiles
    ratio = np.median([there / here for here, there in pairs[1:]])
    with capsys.disabled():
        print(f"\n{quantity}: {ours:.0f} ns a state, Pinocchio {theirs:.0f} ns a call, {ratio:.1f} times")
