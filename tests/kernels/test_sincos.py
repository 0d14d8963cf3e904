"""Sine and cosine inside kernels: two units in the last place where robots live, correct everywhere."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from recursa.kernels.emit import emit
from recursa.kernels.graph import Graph
from recursa.kernels.native import Native, simd_width
from recursa.kernels.writer import Shape

pytestmark = pytest.mark.compiled


def evaluated(x: np.ndarray) -> np.ndarray:
    """(n, 2) sines and cosines of n angles by a kernel; n a multiple of the width."""
    single = x.dtype == np.float32
    graph = Graph()
    (angle,) = graph.inputs("x", 1)
    width = simd_width(single)
    outputs = [angle.sin().number, angle.cos().number]
    native = Native(emit(graph, outputs, {"x": 1}, Shape(width, single), "trig"), "trig", 2)
    result = np.empty((len(x), 2), x.dtype)
    assert len(x) % width == 0
    native.function(len(x) // width, x.ctypes.data, result.ctypes.data)
    return result


def exact(x: np.ndarray) -> list[tuple[mpmath.mpf, mpmath.mpf]]:
    with mpmath.workdps(60):
        return [(mpmath.sin(mpmath.mpf(float(v))), mpmath.cos(mpmath.mpf(float(v)))) for v in x]


def units_off(found: np.ndarray, wanted: list[tuple[mpmath.mpf, mpmath.mpf]]) -> float:
    """Largest error in units of the last place of the exact value."""
    worst = 0.0
    for row, pair in zip(found, wanted, strict=True):
        for value, right in zip(row, pair, strict=True):
            unit = float(np.spacing(np.abs(found.dtype.type(float(right)))))
            worst = max(worst, abs(float(mpmath.mpf(float(value)) - right)) / unit)
    return worst


def angles(largest: float, count: int, dtype: type = np.float64) -> np.ndarray:
    rng = np.random.default_rng(0)
    spread = rng.uniform(-largest, largest, count // 2)
    near = rng.integers(-int(largest), int(largest) + 1, count - count // 2) * (np.pi / 4)
    return np.concatenate([spread, near]).astype(dtype)


@pytest.mark.parametrize("largest", [1.0, 100.0, 1e4])
def test_within_two_units(largest):
    x = angles(largest, 1600)
    assert units_off(evaluated(x), exact(x)) <= 2.0


@pytest.mark.parametrize("largest", [1e6, 1e15, 1e300])
def test_huge_angles_are_right(largest):
    x = angles(largest, 160) if largest < 1e10 else np.random.default_rng(1).uniform(-largest, largest, 160)
    assert units_off(evaluated(x), exact(x)) <= 2.0


def test_float32_is_right_to_the_last_place():
    x = angles(1e4, 1600, np.float32)
    assert units_off(evaluated(x), exact(x)) <= 1.0


def test_bad_angles_give_nan_in_their_lane_only():
    x = np.tile([0.5, np.nan, np.inf, -0.25], 8)
    found = evaluated(x)
    assert np.isnan(found[1::4]).all()
    assert np.isnan(found[2::4]).all()
    assert np.allclose(found[0::4], [np.sin(0.5), np.cos(0.5)], rtol=1e-15)
    assert np.allclose(found[3::4], [np.sin(-0.25), np.cos(-0.25)], rtol=1e-15)


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 19])
def test_angles_that_share_a_vector_have_the_bits_of_lanes(count):
    """One state at a time: some angles are sums, one is huge, one minus zero, one no number."""
    graph = Graph()
    given = [x + 0.25 if k % 3 == 2 else x for k, x in enumerate(graph.inputs("x", count))]
    outputs = [y.number for x in given for y in (x.sin(), x.cos())]
    width = simd_width(False)
    states = np.random.default_rng(count).uniform(-9.0, 9.0, (3 * width, count))
    states[1, -1], states[2, count // 2], states[3, 0], states[4, 0] = 3e7, -0.0, np.nan, np.inf
    found = []
    for lanes in (1, width):
        native = Native(emit(graph, outputs, {"x": count}, Shape(lanes), "trig"), "trig", 2)
        found.append(np.empty((len(states), len(outputs))))
        native.function(len(states) // lanes, states.ctypes.data, found[-1].ctypes.data)
    assert found[0].tobytes() == found[1].tobytes()
    assert found[0][1, -2] == pytest.approx(np.sin(3e7 + (0.25 if count % 3 == 0 else 0.0)), rel=1e-15)
