"""Memory of large results: kept when they are freed, within bounds, and never that of a result somebody has."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import recursa as rc
from numeric import same_bits, states

native = pytest.importorskip("recursa._entry", reason="the extension was not built")
pytestmark = pytest.mark.compiled

ROWS, MOST = 4000, 256 << 20  # 4000 mass matrices of six joints are 1.1 MB


def address(array: np.ndarray) -> int:
    return array.ctypes.data


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_next_result_has_the_memory_of_the_one_before(dtype: type) -> None:
    robot = rc.robots.puma560()
    q = states(robot, ROWS, seed=1)[0].astype(dtype)
    first = robot.mass_matrix(q)
    expected, place = first.copy(), address(first)
    del first
    for _ in range(3):
        again = robot.mass_matrix(q)
        assert address(again) == place
        same_bits(again, expected)
        del again


def test_results_that_somebody_has_keep_their_memory() -> None:
    robot = rc.robots.puma560()
    q = states(robot, ROWS, seed=2)[0]
    results = [robot.mass_matrix(q) for _ in range(5)]
    part = results[0][7:9]  # a view keeps all of it
    expected = results[1].copy()
    del results[0]
    others = [robot.mass_matrix(np.zeros_like(q)) for _ in range(5)]
    assert len({address(x) for x in (*results, *others)}) == 9
    same_bits(part, expected[7:9])
    for one in results:
        same_bits(one, expected)


def test_arrays_that_are_resized_or_reshaped_are_given_back_whole() -> None:
    one = native.empty((1 << 16,), np.float64)
    one[:] = np.arange(1 << 16)
    one.resize(1 << 17, refcheck=False)
    assert np.array_equal(one[: 1 << 16], np.arange(1 << 16))
    one.resize(10, refcheck=False)
    one.shape = (2, 5)
    assert np.array_equal(one.ravel(), np.arange(10))
    del one
    assert native.empty((1 << 17,), np.float64).shape == (1 << 17,)


def test_what_is_kept_is_bounded() -> None:
    """Nothing is written, so that no pages are taken."""
    for megabytes in (300, 100, 90, 80, 70, 60):
        native.empty((megabytes << 17,), np.float64)
        assert native.kept_bytes() <= MOST
    assert native.kept_bytes() >= 60 << 20
    for number in range(100):  # of many sizes only the last ones
        native.empty(((1 << 15) + (number << 14),), np.float64)
    assert native.kept_bytes() <= MOST


def test_small_results_and_other_arrays_have_no_part_in_it() -> None:
    before = native.kept_bytes()
    native.empty((1000,), np.float64)
    np.empty(1 << 20)
    assert native.kept_bytes() == before


def test_the_environment_turns_it_off() -> None:
    code = "from recursa import _entry; _entry.empty((1 << 20,), float); print(_entry.kept_bytes())"
    for setting, kept in (("0", 0), ("1", 8 << 20)):
        run = [sys.executable, "-c", f"import os; os.environ['RECURSA_MEMORY_POOL'] = {setting!r}; {code}"]
        assert int(subprocess.run(run, capture_output=True, text=True, check=True).stdout) == kept
