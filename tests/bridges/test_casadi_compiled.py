"""CasADi functions of compiled C against CasADi's own graphs: values, derivatives of both orders, refusals."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest

import recursa as rc
import zoo
from recursa.bridges import casadi_c
from recursa.dynamics.configuration import random_input
from recursa.facade.asking import quantity_named

casadi = pytest.importorskip("casadi")
pytestmark = pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler")

ROBOTS = {
    "planar": lambda: rc.robots.planar(2),
    "flyer": lambda: rc.robots.free_flyer(1),
    "puma560": rc.robots.puma560,
    "small_mixed_tree": zoo.small_mixed_tree,
    "tree19": lambda: rc.robots.tree(19, seed=2),
    "large_flyer": zoo.large_flyer,
}
CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("planar", "forward_dynamics", {}),
    ("planar", "inverse_dynamics", {"losses": True, "wrenches": True}),
    ("planar", "mass_matrix", {}),
    ("planar", "gravity_forces", {"gravity": True}),
    ("flyer", "inverse_dynamics", {}),
    ("flyer", "integrate", {}),
    ("flyer", "poses", {}),
]
SLOW: list[tuple[str, str, dict[str, Any]]] = [
    ("puma560", "forward_dynamics", {}),
    ("puma560", "inverse_dynamics", {"parameters": True}),
    ("small_mixed_tree", "forward_dynamics", {}),
    ("small_mixed_tree", "regressor", {}),
    ("tree19", "forward_dynamics", {}),
    ("large_flyer", "inverse_dynamics", {}),
]


def arguments(robot: rc.Robot, quantity: str, options: dict[str, Any]) -> list[np.ndarray]:
    record, rng = quantity_named(quantity), np.random.default_rng(4)
    names = (*record.inputs, *(x for x in record.optional if options.get(x)))
    flat = [(np.array(random_input(robot.model, record.kind(one), rng)), record.kind(one)) for one in names]
    arrays = [x.reshape(kind.axes(robot.model, 0)) for x, kind in flat]
    return [*arrays, np.array([0.5, -9.0, 1.0])] if options.get("gravity") else arrays


def gap(found: Any, wanted: Any) -> float:
    wanted = casadi.DM(wanted).full()
    return float(np.abs(casadi.DM(found).full() - wanted).max() / max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize(
    ("name", "quantity", "options"), [*CASES, *(pytest.param(*one, marks=pytest.mark.slow) for one in SLOW)]
)
def test_values_and_jacobians_are_those_of_the_graph(name: str, quantity: str, options: dict[str, Any]) -> None:
    robot = ROBOTS[name]()
    graph, compiled = (robot.casadi(quantity, form=form, **options) for form in ("graph", "compiled"))
    given = arguments(robot, quantity, options)
    assert compiled.name_in() == graph.name_in() and compiled.name_out() == graph.name_out()
    assert compiled.size_out(0) == graph.size_out(0)
    assert gap(compiled(*given), graph(*given)) < 1e-12
    own = compiled.jacobian()(*given, 0)
    wanted = graph.jacobian()(*given, 0)
    for one, other in zip(own, wanted, strict=True) if isinstance(own, tuple) else [(own, wanted)]:
        assert gap(one, other) < 1e-9


def test_gradients_and_directions_go_through_it() -> None:
    """Reverse and forward mode of CasADi, in a graph around it, also where an argument is fixed or left out."""
    robot = rc.robots.planar(2)
    x = casadi.MX.sym("x", 4)
    found = []
    for form in ("graph", "compiled"):
        f = robot.casadi("forward_dynamics", form=form)
        cost = casadi.sumsqr(f(x[:2], x[2:], [0.1, 0.2]))
        found.append(casadi.Function("g", [x], [casadi.gradient(cost, x), casadi.jtimes(f(x[:2], x[2:], 0), x, x)]))
    at = [0.3, 0.4, 0.5, 0.6]
    for one, other in zip(found[0](at), found[1](at), strict=True):
        assert gap(one, other) < 1e-12


def test_second_derivatives() -> None:
    robot = rc.robots.planar(2)
    x, found = casadi.MX.sym("x", 6), []
    for form in ("graph", "compiled"):
        f = robot.casadi("forward_dynamics", form=form, derivatives=2)
        found.append(casadi.Function("h", [x], casadi.hessian(casadi.sumsqr(f(x[:2], x[2:4], x[4:])), x)))
    at = np.linspace(0.1, 0.6, 6)
    for one, other in zip(found[0](at), found[1](at), strict=True):
        assert gap(one, other) < 1e-12


def test_formulas_are_compiled_too() -> None:
    robot = rc.robots.planar(2)
    q, v = robot.random_state(1)
    f = robot.casadi(rc.compile("inv(mass) (T - C)", robot), name="forward", form="compiled")
    assert f.name() == "forward"
    assert gap(f(q, v, [1.0, 2.0]), robot.forward_dynamics(q, v, [1.0, 2.0])) < 1e-12
    assert gap(f.jacobian()(q, v, [1.0, 2.0], 0)[2], robot.mass_matrix_inverse(q)) < 1e-11


def test_loops_over_bodies_and_derivatives_of_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What large robots have, here of a small one."""
    monkeypatch.setattr(casadi_c, "MOST", 10)
    monkeypatch.setattr(casadi_c, "LONGEST", 10)
    robot = zoo.small_mixed_tree()
    f = robot.casadi("inverse_dynamics", form="compiled")
    q, v = robot.random_state(2)
    assert gap(f(q, v, v), robot.inverse_dynamics(q, v, v)) < 1e-12
    wanted = robot.casadi("inverse_dynamics").jacobian()(q, v, v, 0)
    for one, other in zip(f.jacobian()(q, v, v, 0), wanted, strict=True):
        assert gap(one, other) < 1e-11


def test_what_is_wrong_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    robot = rc.robots.planar(2)
    with pytest.raises(rc.UnknownNameError, match="no form 'compild'"):
        robot.casadi("mass_matrix", form="compild")
    with pytest.raises(rc.RecursaError, match="derivatives must be 1 or 2"):
        robot.casadi("mass_matrix", form="compiled", derivatives=3)
    with pytest.raises(rc.RecursaError, match="too long for second derivatives"):
        rc.robots.tree(19).casadi("forward_dynamics", form="compiled", derivatives=2)
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\necho 'x.c:1: error: no room' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    with pytest.raises(rc.RecursaError, match=r"failed on generated code: x\.c:1: error: no room"):
        robot.casadi("mass_matrix", form="compiled")
    monkeypatch.delenv("CC")
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(rc.RecursaError, match="needs a C compiler: neither cc nor gcc nor clang"):
        robot.casadi("mass_matrix", form="compiled")
