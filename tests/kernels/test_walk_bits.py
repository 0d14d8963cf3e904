"""Kernels with walks: a row has the same bits alone, anywhere in a batch, and with any number of threads."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import recursa as rc
from looped_results import ASKED, by_kernel, every_input, kernel_of
from numeric import same_bits, states
from recursa.kernels import kernel
from recursa.kernels.dispatch import Switch
from recursa.kernels.native import Effort

pytestmark = pytest.mark.compiled

COUNT = 67  # several blocks and what is left, whatever the number of lanes


@pytest.fixture(autouse=True)
def _quickly(monkeypatch):
    monkeypatch.setattr(Effort, "level", 0)  # test_every_machine.py: the bits do not depend on it


@cache
def robot() -> rc.Robot:
    return rc.robots.tree(40, branching=3, seed=3)


@cache
def state() -> dict[str, np.ndarray]:
    q, v, a = states(robot(), COUNT, seed=8)
    return every_input(q, v, a, np.random.default_rng(9).normal(size=v.shape))


@cache
def together(what: str) -> np.ndarray:
    return by_kernel(robot(), what, state())


def rows(which: Any) -> dict[str, np.ndarray]:
    return {name: x[which] for name, x in state().items()}


every_matrix = pytest.mark.parametrize("what", ASKED)


@every_matrix
def test_a_row_alone_has_the_bits_of_the_batch(what):
    for row in (0, 31, COUNT - 1):
        same_bits(by_kernel(robot(), what, rows(row)), together(what)[row], f"row {row}")
        same_bits(by_kernel(robot(), what, rows(slice(row, row + 1)))[0], together(what)[row], f"a batch of row {row}")
    assert kernel_of(robot(), what)


@every_matrix
def test_the_place_in_a_batch_does_not_matter(what):
    order = np.random.default_rng(10).permutation(COUNT)
    same_bits(by_kernel(robot(), what, rows(order)), together(what)[order])
    for count in (2, 5, 8, 33):
        same_bits(by_kernel(robot(), what, rows(slice(3, 3 + count))), together(what)[3 : 3 + count], f"{count} rows")


@every_matrix
@pytest.mark.parametrize("threads", [2, 3, 5])
def test_threads_do_not_matter(what, threads, monkeypatch):
    monkeypatch.setattr(kernel, "SERIAL_ROWS", 8)
    robot().evaluator.calls.clear()  # native entries know how many rows are worth a second thread
    asked: list[int] = []
    pool = kernel.worker_pool
    monkeypatch.setattr(kernel, "worker_pool", lambda workers: asked.append(workers) or pool(workers))
    same_bits(by_kernel(robot(), what, state(), threads=threads), together(what))
    assert asked == [threads]


@every_matrix
def test_bad_numbers_stay_in_their_row(what):
    bad = {name: x.copy() for name, x in state().items()}
    bad["q"][17, 5] = np.nan
    found = by_kernel(robot(), what, bad)
    assert np.isnan(found[17]).any()
    rest = np.arange(COUNT) != 17
    same_bits(found[rest], together(what)[rest])


METHODS = {
    "mass_matrix": lambda x: robot().mass_matrix(x["q"]),
    "mass_matrix_inverse": lambda x: robot().mass_matrix_inverse(x["q"]),
    "coriolis_matrix": lambda x: robot().coriolis_matrix(x["q"], x["v"]),
    "regressor": lambda x: robot().regressor(x["q"], x["v"], x["a"]),
    "inverse_derivatives": lambda x: np.stack(robot().inverse_dynamics_derivatives(x["q"], x["v"], x["a"])),
    "forward_derivatives": lambda x: np.stack(robot().forward_dynamics_derivatives(x["q"], x["v"], x["tau"])),
    "second_derivatives": lambda x: np.stack(
        robot().inverse_dynamics_second_derivatives(x["q"], x["v"], x["a"], contract=x["contract"])
    ),
    "factor": lambda x: robot().factorization(x["q"]).factor,
    "inverse_factor": lambda x: robot().factorization(x["q"]).inverse_factor,
    "freedom_by_freedom": lambda x: rc.denoc.udu(robot(), x["q"]).U,
    "mass_rate": lambda x: robot().diagonal.sensitivity(x["q"], along=x["along"]),
    "momentum_change": lambda x: robot().diagonal.sensitivity(x["q"], right=x["right"]),
}


@every_matrix
def test_native_entries_have_the_bits_of_the_batch(what, monkeypatch):
    """The second call of a method is the native entry's."""
    monkeypatch.setattr(Switch, "form", "loop")  # which a robot of that size has anyway, but for the mass matrix
    for _ in range(2):
        same_bits(METHODS[what](rows(3)), together(what)[3])
