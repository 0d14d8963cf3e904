"""Differentiation of graphs: every operation against complex steps, both directions against each other."""

from __future__ import annotations

import numpy as np
import pytest

from numeric import graph_values
from recursa.errors import UntraceableError
from recursa.kernels.adjoint import gradient, tangent
from recursa.kernels.emit import emit
from recursa.kernels.graph import Graph, Traced
from recursa.kernels.native import Native
from recursa.kernels.writer import Shape
from recursa.spatial.scalars import atan2, cos, sin, sinc, sqrt, where

FUNCTIONS = {
    "sums and signs": lambda x, y, z: -(x - y) + (z - 0.3) - (x + z) * 2.0,
    "products": lambda x, y, z: x * x * y - 3.0 * (y * z) * x,
    "quotients": lambda x, y, z: x / (y + 2.5) - 1.7 / (z * z + 1.0),
    "angles": lambda x, y, z: atan2(x + y, z * z) * x + atan2(0.3, y) * z,
    "functions": lambda x, y, z: sin(x * y) * cos(z) + sqrt(x * x + 1.3),
    "series or closed form": lambda x, y, z: sinc(x * x + y * y) * z,
    "choice": lambda x, y, z: where(x < y, x * z, y * y) + where(z > 9.0, x, y),
    "one input": lambda x, y, z: sin(x),
}
POINTS = [(0.3, -0.8, 1.4), (1.1, 2.0, -0.6)]


def traced(f):
    graph = Graph()
    inputs = graph.inputs("x", 3)
    return graph, inputs, f(*inputs)


def value(graph, outputs, point):
    return graph_values(graph, outputs, {"x": point})


def stepped(f, point):
    """Central differences of order six of a function of three floats."""
    h = 1e-2

    def along(k, step):
        return f(*(x + step * (i == k) for i, x in enumerate(point)))

    weights = ((1, 45), (2, -9), (3, 1))
    return np.array([sum(c * (along(k, m * h) - along(k, -m * h)) for m, c in weights) / (60 * h) for k in range(3)])


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("point", POINTS)
def test_gradient_matches_differences(name, point):
    graph, inputs, output = traced(FUNCTIONS[name])
    found = value(graph, gradient(output, inputs), point)
    np.testing.assert_allclose(found, stepped(FUNCTIONS[name], point), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tangent_is_gradient_times_direction(name):
    graph, inputs, output = traced(FUNCTIONS[name])
    slope = value(graph, gradient(output, inputs), POINTS[0])
    way = (0.7, -0.2, 1.9)
    (along,) = value(graph, tangent([output], dict(zip(inputs, way, strict=True))), POINTS[0])
    np.testing.assert_allclose(along, slope @ way, rtol=1e-14)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_hessian_is_symmetric_and_the_same_both_ways(name):
    graph, inputs, output = traced(FUNCTIONS[name])
    slope = gradient(output, inputs)
    twice = np.array([value(graph, gradient(one, inputs), POINTS[1]) for one in slope])
    forward = np.array([value(graph, tangent(slope, {one: 1.0}), POINTS[1]) for one in inputs])
    np.testing.assert_allclose(twice, twice.T, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(twice, forward, rtol=1e-13, atol=1e-14)


def test_what_does_not_depend_has_no_derivative():
    graph = Graph()
    x, y = graph.inputs("x", 2)
    assert gradient(3.0, [x, y]) == [0.0, 0.0]
    assert gradient(x * 2.0, [y]) == [0.0]
    assert tangent([x, 4.0, y], {x: 1.0}) == [1.0, 0.0, 0.0]
    assert tangent([2.0], {x: 1.0}) == [0.0]
    (twice,) = gradient(x + x, [x])
    assert twice == 2.0


def test_unknown_operations_are_refused():
    graph = Graph()
    (x,) = graph.inputs("x", 1)
    strange = Traced(graph, graph.node("gamma", x.number))
    with pytest.raises(UntraceableError, match="gamma"):
        gradient(strange * 2.0, [x])


@pytest.mark.compiled
def test_gradients_compile():
    graph, inputs, output = traced(FUNCTIONS["functions"])
    slope = [x.number if isinstance(x, Traced) else x for x in gradient(output, inputs)]
    native = Native(emit(graph, slope, {"x": 3}, Shape(1, False), "kernel"), "kernel", 2)
    given, out = np.array(POINTS), np.empty((2, 3))
    native.function(2, given.ctypes.data, out.ctypes.data)
    for point, row in zip(POINTS, out, strict=True):
        np.testing.assert_allclose(row, stepped(FUNCTIONS["functions"], point), rtol=1e-9)
