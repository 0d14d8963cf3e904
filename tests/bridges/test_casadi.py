"""Quantities as CasADi functions: values, derivatives, cost and refusals."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import recursa as rc
import zoo
from recursa.dynamics.configuration import random_input
from recursa.facade.asking import exported, quantity_named

casadi = pytest.importorskip("casadi")

ROBOTS = {
    "puma560": rc.robots.puma560,
    "small_mixed_tree": zoo.small_mixed_tree,
    "small_flyer": zoo.small_flyer,
    "one_of_each": zoo.one_of_each,
    "tree19": lambda: rc.robots.tree(19, seed=2),
    "large_flyer": zoo.large_flyer,
}
MANY = [(name, quantity, {}) for name in ROBOTS for quantity in ("forward_dynamics", "inverse_dynamics", "integrate")]
SOME: list[tuple[str, str, dict[str, Any]]] = [
    ("puma560", "jacobian", {"link": "link6", "frame": "world"}),
    ("puma560", "forward_dynamics", {"losses": True}),
    ("puma560", "forward_dynamics", {"method": "denoc"}),
    ("puma560", "diagonal.coriolis", {}),
    ("small_flyer", "forward_dynamics", {"wrenches": True, "parameters": True}),
    ("small_flyer", "inverse_dynamics", {"base_acceleration": True}),
    ("small_mixed_tree", "regressor", {}),
    ("small_mixed_tree", "difference", {}),
    ("small_mixed_tree", "mass_matrix", {}),
    ("small_mixed_tree", "forward_dynamics_derivatives", {}),
    ("one_of_each", "poses", {}),
    ("one_of_each", "potential_energy", {}),
    ("large_flyer", "mass_matrix", {}),
]


def numbers_for(robot: rc.Robot, quantity: str, options: dict[str, Any]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Arrays for a question, and our answer."""
    record, rng = quantity_named(quantity), np.random.default_rng(5)
    names = (*record.inputs, *(x for x in record.optional if options.get(x)))
    kinds = {name: record.kind(name) for name in names}
    arrays = {
        name: np.array(random_input(robot.model, kind, rng)).reshape(kind.axes(robot.model, 0))
        for name, kind in kinds.items()
    }
    plain = {key: value for key, value in options.items() if key in record.options}
    return arrays, robot.evaluator.evaluate(record, arrays, plain)


def gap(found: Any, wanted: np.ndarray) -> float:
    """The largest difference, relative to the largest number."""
    return float(np.abs(np.ravel(found) - np.ravel(wanted)).max() / max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize(("name", "quantity", "options"), [*MANY, *SOME])
def test_values_are_those_of_the_method(name: str, quantity: str, options: dict[str, Any]) -> None:
    robot = ROBOTS[name]()
    arrays, wanted = numbers_for(robot, quantity, options)
    f = robot.casadi(quantity, **options)
    assert f.name_in() == list(arrays)
    found = f(**{key: casadi.DM(np.atleast_1d(value)) for key, value in arrays.items()})
    assert list(found) == [quantity.replace(".", "_")]
    (found,) = found.values()
    assert gap(found.full(), wanted) < 1e-12
    if wanted.ndim == 2:
        assert found.shape == wanted.shape


@pytest.mark.slow
@pytest.mark.parametrize("name", ["puma560", "small_mixed_tree", "small_flyer"])
def test_every_exported_quantity_is_a_function_or_is_refused_by_name(name: str) -> None:
    robot, made = ROBOTS[name](), 0
    for quantity in exported():
        record = quantity_named(quantity)
        options = {key: robot.link_names[-1] for key in record.options if key == "link"}
        try:
            f = robot.casadi(quantity, **options)
        except rc.RecursaError:
            continue
        arrays, wanted = numbers_for(robot, quantity, options)
        assert gap(f(*arrays.values()).full(), wanted) < 1e-12, quantity
        made += 1
    assert made > 70


@pytest.mark.parametrize("name", ["puma560", "small_mixed_tree", "small_flyer", "one_of_each", "tree19", "large_flyer"])
def test_derivatives_are_those_of_the_derivative_methods(name: str) -> None:
    """By q through integrate, whose second argument is in the tangent, as our derivatives are."""
    robot = ROBOTS[name]()
    arrays, _ = numbers_for(robot, "forward_dynamics", {})
    f, integrate = robot.casadi("forward_dynamics"), robot.casadi("integrate")
    q, v, tau, change = (
        casadi.SX.sym(x, n) for x, n in zip(["q", "v", "tau", "d"], [robot.nq, *[robot.nv] * 3], strict=True)
    )
    moved = f(integrate(q, change), v, tau)
    slopes = casadi.Function("slopes", [q, v, tau, change], [casadi.jacobian(moved, x) for x in (change, v, tau)])
    found = slopes(*arrays.values(), np.zeros(robot.nv))
    wanted = robot.forward_dynamics_derivatives(*arrays.values())
    for one, ours in zip(found, wanted, strict=True):
        assert gap(one.full(), ours) < 1e-9


def test_derivatives_by_parameters_and_gravity() -> None:
    """By parameters against complex steps; gravity moves joints linearly, so that differences are exact."""
    robot = zoo.small_flyer().with_gravity((0.5, -1.0, -9.0))
    arrays, wanted = numbers_for(robot, "forward_dynamics", {"parameters": True})
    f = robot.casadi("forward_dynamics", parameters=True, gravity=True)
    assert f.name_in() == ["q", "v", "tau", "parameters", "gravity"]
    given = [*arrays.values(), robot.gravity]
    assert gap(f(*given).full(), wanted) < 1e-12
    slope = f.factory("slope", f.name_in(), [f"jac:{f.name_out()[0]}:{x}" for x in ("parameters", "gravity")])
    by_parameters, by_gravity = (one.full() for one in slope(*given))
    q, v, tau, parameters = arrays.values()
    for k in range(0, parameters.size, 7):
        step = parameters.astype(complex)
        step[k] += 1e-30j
        ours = robot.forward_dynamics(q, v, tau, parameters=step).imag / 1e-30
        assert gap(by_parameters[:, k], ours) < 1e-9
    for k in range(3):
        moved = np.array(robot.gravity) + 10.0 * np.eye(3)[k]
        other = robot.with_gravity(tuple(moved)).forward_dynamics(q, v, tau, parameters=parameters)
        assert gap(by_gravity[:, k], (other - wanted) / 10.0) < 1e-9


def test_the_function_costs_what_our_graph_costs(tmp_path: Any) -> None:
    robot = rc.robots.puma560()
    f, ours = robot.casadi("forward_dynamics"), robot.export_c("forward_dynamics", tmp_path / "f.c").operations
    ids = [f.instruction_id(k) for k in range(f.n_instructions())]
    arithmetic = {casadi.OP_ADD, casadi.OP_SUB, casadi.OP_MUL, casadi.OP_DIV, casadi.OP_SQRT, casadi.OP_SIN}
    arithmetic |= {casadi.OP_COS, casadi.OP_SQ, casadi.OP_TWICE, casadi.OP_INV}
    assert 0.9 * ours.total < sum(one in arithmetic for one in ids) <= ours.total


def test_structural_zeros_are_left_out_of_matrices() -> None:
    """Two bodies on branches of their own do not feel each other."""
    builder = rc.Builder("two")
    for name in ("a", "b"):
        builder.link(name, mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
        builder.joint(f"j{name}", "revolute", parent="world", child=name, axis=(0, 0, 1))
    assert builder.build().casadi("mass_matrix").nnz_out(0) == 2


def test_formulas_are_functions_too() -> None:
    robot = rc.robots.puma560()
    q, v = robot.random_state(1)
    f = robot.casadi(rc.compile("inv(mass) (T - C)", robot), name="forward")
    assert f.name() == "forward"
    assert gap(f(q, v, np.arange(6.0)).full(), robot.forward_dynamics(q, v, np.arange(6.0))) < 1e-11
    with pytest.raises(rc.RecursaError, match="gravity=True is for quantities"):
        robot.casadi(rc.compile("mass T", robot), gravity=True)


def test_what_is_wrong_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = rc.robots.puma560()
    with pytest.raises(rc.UnknownNameError, match="Did you mean 'forward_dynamics'"):
        robot.casadi("forward_dynamic")
    with pytest.raises(rc.UnknownNameError, match="option of mass_matrix"):
        robot.casadi("mass_matrix", losses=True)
    with pytest.raises(rc.RecursaError, match="inverse_dynamics_second_derivatives cannot be exported"):
        robot.casadi("inverse_dynamics_second_derivatives")
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(rc.RecursaError, match=r"recursa\[casadi\]"):
        robot.casadi("mass_matrix")
