"""The tracing scalar: what it folds, shares and counts."""

from __future__ import annotations

import numpy as np
import pytest

import recursa as rc
from recursa.book import augmented_recursion
from recursa.dynamics import articulated_bodies, gathering, mass_matrix
from recursa.errors import UntraceableError
from recursa.kernels.emit import emit
from recursa.kernels.graph import Graph, Traced
from recursa.kernels.kernel import trace
from recursa.kernels.writer import Shape
from recursa.model.canonical import canonical
from recursa.spatial.scalars import where
from recursa.sweeps import run


@pytest.fixture
def xy():
    graph = Graph()
    x, y = graph.inputs("x", 2)
    return graph, x, y


def test_constants_fold(xy):
    _, x, _ = xy
    assert x * 0 == 0.0
    assert 0.0 * x == 0.0
    assert (x * 1).number == x.number
    assert (x + 0).number == x.number
    assert (0.0 - x).number == (-x).number
    assert (-x).__neg__().number == x.number
    assert x - x == 0.0
    assert (2.0 * (x * 3.0)).number == (6.0 * x).number
    assert (-2.0 * x).number == (-(x * 2.0)).number
    assert (x / 4.0).number == (x * 0.25).number
    assert 0.0 / x == 0.0


def test_equal_expressions_are_one_node(xy):
    graph, x, y = xy
    assert (x * y).number == (y * x).number
    assert (x + y).number == (y + x).number
    assert (x - y).number == (-(y - x)).number
    assert ((-x) * y).number == (-(x * y)).number
    assert ((-x) * (-y)).number == (x * y).number
    assert ((-x) + (-y)).number == (-(x + y)).number
    count = len(graph.nodes)
    _ = x * y + (y - x)
    assert len(graph.nodes) <= count + 1


def test_only_what_outputs_need_is_counted(xy):
    graph, x, y = xy
    wanted = x * y + x.sin()
    _ = (x / y).sqrt()
    assert graph.counts([wanted.number]) == rc.spatial.Counts(mul=1, add=1, trig=1)


def test_decisions_by_value_are_refused(xy):
    _, x, y = xy
    with pytest.raises(UntraceableError):
        bool(x < y)
    with pytest.raises(UntraceableError):
        float(x)
    with pytest.raises(UntraceableError):
        _ = x * float("nan")
    assert isinstance(where(x < y, x, y), Traced)


def test_products_of_one_use_are_fused(xy):
    graph, x, y = xy
    text = emit(graph, [(x * y + 1.0).number, (1.0 - x * x).number], {"x": 2}, Shape(4), "k")
    assert text.count("call <4 x double> @llvm.fma") == 2
    assert "fmul" not in text


def counted(robot: rc.Robot, plan, inputs, gather) -> rc.spatial.Counts:
    model = canonical(robot.model)
    sizes = {name: robot.nq if name == "q" else robot.nv for name in inputs}
    graph, outputs = trace(plan, model, sizes, lambda values: gather(model, values))
    return graph.counts([x for x in outputs if isinstance(x, int)])


def vector(name):
    return lambda model, values: gathering.joint_vector(model, values[name])


def matrix(model, values):
    return gathering.joint_matrix(model, values["rows"], symmetric=True)


@pytest.mark.parametrize("seed", [0, 3])
def test_counts_for_a_general_six_joint_arm(seed):
    """No special geometry; sines and cosines apart. The bounds are what the kernels reach."""
    robot = rc.robots.chain(6, seed=seed)
    mass = counted(robot, mass_matrix.MASS_MATRIX_PLAN, "q", matrix)
    assert (mass.mul, mass.add) <= (350, 296)
    assert mass.add <= 296
    torques = counted(robot, augmented_recursion.augmented_plan(), "qva", vector("T"))
    assert torques.mul <= 439
    assert torques.add <= 379
    forward = counted(robot, articulated_bodies.forward_plan(), ("q", "v", "tau"), vector("qdd"))
    assert forward.mul <= 1040
    assert forward.add <= 950


def test_operations_grow_linearly():
    """Ten bodies more cost the same, wherever the chain stands: exactly, counted as the steps do them."""
    models = [canonical(rc.robots.chain(n, seed=1).model) for n in (10, 20, 30, 40)]
    for plan, inputs in (
        (augmented_recursion.augmented_plan(), "qva"),
        (articulated_bodies.forward_plan(), ("q", "v", "tau")),
    ):
        totals = []
        for model in models:
            counter = rc.spatial.Counter()
            run(plan, model, {name: counter.numbers(np.linspace(0.1, 1.0, model.nv)) for name in inputs})
            totals.append(counter.counts().total)
        assert (np.diff(totals, 2) == 0).all(), totals
