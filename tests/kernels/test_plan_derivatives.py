"""Plans differentiated sweep by sweep: the derivatives of the graph with every body spelled out, in all forms."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import recursa as rc
import zoo
from recursa.dynamics.configuration import random_input
from recursa.errors import UntraceableError
from recursa.evaluation.resolved_quantity import Question, ResolvedQuantity
from recursa.kernels.adjoint import gradient, tangent
from recursa.kernels.graph import Graph, Traced, code_name
from recursa.kernels.kernel import Kernel
from recursa.kernels.plan_derivatives import PlanFunction
from recursa.model.assemble import assemble
from recursa.model.description import Mimic
from recursa.quantities import quantity
from recursa.robots import random_description
from recursa.sweeps.engine import run
from recursa.sweeps.input_kinds import kind_of_input


def tied() -> rc.Robot:
    """Fourteen bodies, three of which move with others, one the other way round."""
    found = random_description("tied", [k - 1 for k in range(14)], 3, ["revolute"] * 14)
    ties = {4: (1, -0.5), 7: (2, 2.0), 11: (9, 1.0)}
    joints = [
        replace(joint, mimic=Mimic(found.joints[ties[k][0]].name, ties[k][1], 0.1)) if k in ties else joint
        for k, joint in enumerate(found.joints)
    ]
    return rc.Robot(assemble(replace(found, joints=tuple(joints)), mimic="tie"))


def function_of(robot: rc.Robot, name: str, given: tuple[str, ...] = (), **options: Any) -> PlanFunction:
    """What the robot answers a question with."""
    record = quantity(name)
    asked = robot.evaluator.resolve(Question.of(record, given, options))
    assert isinstance(asked, ResolvedQuantity)
    model, recipe = asked.kernels.compiled_model, asked.recipe
    return PlanFunction(asked.compiled_plan, model, asked.sizes, recipe.gather, int(np.prod(recipe.shape)))


def rows_of(function: PlanFunction, sizes: dict[str, int], rng: np.random.Generator) -> dict[str, Any]:
    """Three states; directions and weights are any numbers."""

    def one(name: str) -> Any:
        if name.startswith(("change:", "weights:")):
            return rng.normal(size=sizes[name])
        return np.ravel(random_input(function.model, kind_of_input(name), rng))

    return {name: np.array([one(name) for _ in range(3)]) for name in sizes}


def compared(function: PlanFunction, how: str, forms: tuple[str, ...]) -> None:
    """A derivative by all inputs, against that of the graph."""
    graph, names = Graph(), list(function.sizes)
    inputs = {name: graph.inputs(code_name(name), size) for name, size in function.sizes.items()}
    outputs = list(function.gather(run(function.plan, function.model, inputs)))
    made = function.pulled(names) if how == "pulled" else function.along(names)
    extra = {
        name: graph.inputs(f"more{k}", size) for k, (name, size) in enumerate(list(made.sizes.items())[len(names) :])
    }
    every = [x for name in names for x in inputs[name]]
    if how == "pulled":
        total: Any = 0.0
        for weight, output in zip(*extra.values(), outputs, strict=True):
            total = total + weight * output
        expected = gradient(total, every)
    else:
        expected = tangent(outputs, dict(zip(every, (y for own in extra.values() for y in own), strict=True)))
    sizes = {code_name(name): size for name, size in function.sizes.items()}
    sizes |= {f"more{k}": len(own) for k, own in enumerate(extra.values())}
    nodes = [x.number if isinstance(x, Traced) else float(x) for x in expected]
    spelled_out = Kernel.of_graph("expected", graph, nodes, sizes)
    rows = rows_of(function, dict(made.sizes), np.random.default_rng(0))
    wanted = np.empty((3, len(nodes)))
    spelled_out(dict(zip(spelled_out.inputs, rows.values(), strict=True)), wanted)
    found = np.empty_like(wanted)
    for form in forms:
        if form == "interpreted":
            values = run(made.plan, made.model, {name: row[0].tolist() for name, row in rows.items()})
            np.testing.assert_allclose(
                np.array(made.gather(values), float), wanted[0], rtol=0, atol=1e-11 * abs(wanted).max()
            )
            continue
        Kernel(made.plan, made.model, dict(made.sizes), made.gather, form=form)(rows, found)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-11 * abs(wanted).max())


CASES = {
    "forward dynamics of a tree": (lambda: rc.robots.tree(13), "forward_dynamics", (), {}),
    "inverse dynamics, tied": (tied, "inverse_dynamics", (), {}),
    "poses, floating": (lambda: rc.robots.free_flyer(13), "poses", (), {}),
    "momentum, of the robot": (lambda: rc.robots.tree(13), "momentum", (), {}),
    "jacobian, target": (lambda: rc.robots.chain(13), "jacobian", (), {"link": "link13"}),
    "wrenches and parameters": (lambda: rc.robots.tree(13), "inverse_dynamics", ("wrenches", "parameters"), {}),
}
SLOW = {
    "forward dynamics, forty bodies": (zoo.large_flyer, "forward_dynamics", (), {}),
    "inverse dynamics, every kind": (zoo.one_of_each, "inverse_dynamics", (), {}),
    "integrate": (zoo.one_of_each, "integrate", (), {}),
    "pose error": (lambda: rc.robots.tree(13), "pose_error", (), {"link": "link13"}),
    "losses": (lambda: rc.robots.tree(13), "forward_dynamics", (), {"losses": True}),
    "diagonal": (lambda: rc.robots.tree(13), "diagonal.coriolis", (), {}),
    "centre of mass": (zoo.large_flyer, "center_of_mass", (), {}),
}


@pytest.mark.parametrize("how", ["pulled", "along"])
@pytest.mark.parametrize("case", [*CASES, *(pytest.param(one, marks=pytest.mark.slow) for one in SLOW)])
def test_derivatives_are_those_of_the_graph(case: str, how: str) -> None:
    make, name, given, options = {**CASES, **SLOW}[case]
    forms = ("loop",) if case in SLOW else ("loop", "interpreted")
    compared(function_of(make(), name, given, **options), how, forms)


def test_what_is_zero_now_changes_all_the_same() -> None:
    """The interpreter is given numbers, and a compiler unknowns; constants 0 and 1 simplify derivatives for both."""
    function = function_of(rc.robots.tree(3), "inverse_dynamics")
    made = function.along(list(function.sizes))
    rows = {name: ([1.0] if name.startswith("change:") else [0.0]) * size for name, size in made.sizes.items()}
    found = made.gather(run(made.plan, made.model, rows))
    robot, zeros, ones = rc.robots.tree(3), np.zeros(3), np.ones(3)
    expected = sum(matrix @ ones for matrix in robot.linearize(zeros, zeros, zeros))
    np.testing.assert_allclose(np.array(found, float), expected, rtol=1e-12)


@pytest.mark.parametrize("second", ["pulled", pytest.param("along", marks=pytest.mark.slow)])
@pytest.mark.parametrize("first", ["along", pytest.param("pulled", marks=pytest.mark.slow)])
def test_derivatives_of_derivatives(first: str, second: str) -> None:
    function = function_of(rc.robots.tree(5), "inverse_dynamics")
    once = function.pulled(list(function.sizes)) if first == "pulled" else function.along(list(function.sizes))
    compared(once, second, ("loop", "straight"))


def test_operations_are_those_of_the_graph() -> None:
    """Written with every body spelled out, a derivative sweep by sweep is no longer than that of the graph."""
    function = function_of(rc.robots.chain(6), "forward_dynamics")
    made = function.pulled(list(function.sizes))
    kernel = Kernel(made.plan, made.model, dict(made.sizes), made.gather, form="straight")
    own = Kernel(function.plan, function.model, dict(function.sizes), function.gather, form="straight")
    assert kernel.operations.total < 3.5 * own.operations.total


def test_code_does_not_grow_with_the_robot() -> None:
    sizes = []
    for n in (14, 60):
        function = function_of(rc.robots.chain(n), "forward_dynamics")
        made = function.pulled(list(function.sizes))
        sizes.append(len(Kernel(made.plan, made.model, dict(made.sizes), made.gather, form="loop").source(width=1)))
    assert sizes[1] < 1.05 * sizes[0]


def test_what_is_not_differentiated_sweep_by_sweep_says_so() -> None:
    with pytest.raises(UntraceableError, match="pairs of bodies"):
        function_of(rc.robots.chain(13), "jacobians").pulled(["q"])
    with pytest.raises(UntraceableError, match="do not lie alike"):
        function_of(rc.robots.tree(13), "mass_matrix").pulled(["q"])
