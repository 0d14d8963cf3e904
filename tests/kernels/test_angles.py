"""The angle of a point inside kernels: 2.5 units of the last place, signs and infinities as in C, in every width."""

from __future__ import annotations

import itertools

import mpmath
import numpy as np
import pytest

from numeric import same_bits
from recursa.kernels.emit import emit
from recursa.kernels.graph import Graph
from recursa.kernels.native import Native, simd_width
from recursa.kernels.writer import Shape

pytestmark = pytest.mark.compiled


def evaluated(y: np.ndarray, x: np.ndarray, width: int | None = None) -> np.ndarray:
    """Angles of n points by a kernel; n a multiple of the width."""
    single = x.dtype == np.float32
    graph = Graph()
    a, b = graph.inputs("p", 2)
    width = width or simd_width(single)
    native = Native(emit(graph, [a.atan2(a, b).number], {"p": 2}, Shape(width, single), "angle"), "angle", 2)
    points, result = np.stack([y, x], axis=-1), np.empty(len(x), x.dtype)
    assert len(x) % width == 0
    native.function(len(x) // width, points.ctypes.data, result.ctypes.data)
    return result


def units_off(found: np.ndarray, y: np.ndarray, x: np.ndarray) -> float:
    """Largest error in units of the last place of the exact value."""
    worst = 0.0
    with mpmath.workdps(60):
        for value, b, a in zip(found, y, x, strict=True):
            right = mpmath.atan2(mpmath.mpf(float(b)), mpmath.mpf(float(a)))
            unit = float(np.spacing(np.abs(found.dtype.type(float(right)))))
            worst = max(worst, abs(float(mpmath.mpf(float(value)) - right)) / unit)
    return worst


def points(count: int, dtype: type = np.float64) -> tuple[np.ndarray, np.ndarray]:
    """All around, near the axes and diagonals and where the point is turned, of very different sizes."""
    rng, half = np.random.default_rng(0), count // 2
    around = rng.uniform(-np.pi, np.pi, half)
    near = rng.integers(-8, 9, half) * (np.pi / 8) + rng.normal(size=half) * 10.0 ** rng.uniform(-17, -2, half)
    angles = np.concatenate([around, near])
    size = 10.0 ** rng.uniform(-20, 20, count)
    return (size * np.sin(angles)).astype(dtype), (size * np.cos(angles)).astype(dtype)


def test_within_two_and_a_half_units():
    y, x = points(4000)
    assert units_off(evaluated(y, x), y, x) <= 2.5


def test_float32_is_right_to_the_last_place():
    y, x = points(1600, np.float32)
    assert units_off(evaluated(y, x), y, x) <= 1.0


def test_sizes_from_the_smallest_to_the_largest():
    tiny, huge = np.finfo(float).smallest_subnormal, np.finfo(float).max
    pairs = itertools.product([tiny, 3 * tiny, 1e-310, 1e-160, 1.0, 1e160, 0.6 * huge, huge], repeat=2)
    y, x = (np.array(values) for values in zip(*pairs, strict=True))
    for signs in itertools.product([1.0, -1.0], repeat=2):
        assert units_off(evaluated(signs[0] * y, signs[1] * x), signs[0] * y, signs[1] * x) <= 2.5


def test_zeros_infinities_and_nan_are_as_in_c():
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e308]
    y, x = (np.array(values) for values in zip(*itertools.product(special, repeat=2), strict=True))
    found, expected = evaluated(y, x), np.arctan2(y, x)
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    known = ~np.isnan(expected)
    assert np.allclose(found[known], expected[known], rtol=4e-16, atol=0.0)
    assert np.array_equal(np.signbit(found[known]), np.signbit(expected[known]))


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_bits_are_the_same_in_every_width(width):
    y, x = points(800)
    same_bits(evaluated(y, x, width), evaluated(y, x))


def test_sines_of_angles_that_follow_from_sines():
    """Deeper than one level, in both forms of numbers, huge angles among them."""
    graph = Graph()
    (angle,) = graph.inputs("x", 1)
    back = angle.atan2(angle.sin(), angle.cos())
    outputs = [(back * 2.0).sin().number, (back + (back * 3.0).cos()).sin().number]
    x = np.concatenate([np.random.default_rng(1).uniform(-9.0, 9.0, 30), [1e7, -3e8]])
    wrapped = np.arctan2(np.sin(x), np.cos(x))
    expected = np.stack([np.sin(2.0 * wrapped), np.sin(wrapped + np.cos(3.0 * wrapped))], axis=-1)
    for width in (1, simd_width(False)):
        native = Native(emit(graph, outputs, {"x": 1}, Shape(width), "nested"), "nested", 2)
        result = np.empty((len(x), 2))
        native.function(len(x) // width, x.ctypes.data, result.ctypes.data)
        assert np.allclose(result, expected, rtol=0.0, atol=1e-14)
