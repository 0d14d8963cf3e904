"""Robots with constraints, and with tied joints, inside CasADi and as traced JAX: values and derivatives."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest

import recursa as rc

casadi = pytest.importorskip("casadi")

MECHANISMS = ["four_bar", "slider_crank", "delta", "stewart", "two_arms", "standing_quadruped"]
FORMS = ("graph", "compiled") if any(map(shutil.which, ("cc", "gcc", "clang"))) else ("graph",)
QUICK = ("four_bar", "slider_crank")


def tied() -> rc.Robot:
    builder = rc.Builder("finger")
    for name in ("a", "b", "c"):
        builder.link(name, mass=1.0, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))
    builder.joint("one", "revolute", parent="world", child="a")
    builder.joint("two", "revolute", parent="a", child="b", xyz=(0.4, 0, 0), axis=(0, 1, 0), mimic=("one", 0.5, 0.1))
    builder.joint("three", "revolute", parent="b", child="c", xyz=(0.4, 0, 0))
    return builder.build(mimic="tie")


def state(robot: rc.Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One that obeys the constraints, with speeds that do."""
    q = robot.assemble(robot.neutral())
    return q, robot.project_velocity(q, np.linspace(0.5, 1.0, robot.nv)), np.linspace(-1.0, 2.0, robot.nv)


def gap(found: Any, wanted: np.ndarray) -> float:
    return float(np.abs(np.ravel(found) - np.ravel(wanted)).max() / max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("name", [x if x in QUICK else pytest.param(x, marks=pytest.mark.slow) for x in MECHANISMS])
def test_motion_under_constraints_in_casadi(name: str) -> None:
    robot = rc.robots.by_name(name)
    q, v, tau = state(robot)
    f = robot.casadi("forward_dynamics")
    assert gap(f(q, v, tau).full(), robot.forward_dynamics(q, v, tau)) < 1e-11
    forces = robot.casadi("constraint_forces")
    assert gap(forces(q, v, tau).full(), robot.constraint_forces(q, v, tau)) < 1e-9
    by_tau = f.factory("d", f.name_in(), [f"jac:{f.name_out()[0]}:tau"])(q, v, tau)
    assert gap(by_tau.full(), robot.forward_dynamics_derivatives(q, v, tau)[2]) < 1e-9


def test_derivatives_under_constraints_in_every_form() -> None:
    robot = rc.robots.four_bar()
    given = state(robot)
    wanted = robot.forward_dynamics_derivatives(*given)
    for form in FORMS:
        found = robot.casadi("forward_dynamics", form=form).jacobian()(*given, 0)
        assert max(gap(one.full(), other) for one, other in zip(found, wanted, strict=True)) < 1e-10


def test_tied_joints_in_casadi() -> None:
    robot = tied()
    q, v = robot.random_state(seed=1)
    tau = np.array([0.3, 0.4])
    for form in FORMS:
        f = robot.casadi("forward_dynamics", form=form)
        assert gap(f(q, v, tau).full(), robot.forward_dynamics(q, v, tau)) < 1e-12
        assert gap(f.jacobian()(q, v, tau, 0)[2].full(), robot.mass_matrix_inverse(q)) < 1e-11
        for k in range(2):  # by q, by complex steps of the interpreted method
            moved = q.astype(complex)
            moved[k] += 1e-30j
            ours = robot.forward_dynamics(moved, v, tau).imag / 1e-30
            assert gap(f.jacobian()(q, v, tau, 0)[0].full()[:, k], ours) < 1e-9


@pytest.mark.parametrize("robot", [rc.robots.four_bar, tied])
def test_traced_jax(robot: Any) -> None:
    jax = pytest.importorskip("jax")
    made = robot()
    given = state(made) if made.model.ncon else (*made.random_state(seed=1), np.array([0.3, 0.4]))
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        f = made.jax(implementation="traced").forward_dynamics
        assert gap(f(*given), made.forward_dynamics(*given)) < 1e-12
        by_tau = jax.jacrev(f, argnums=2)(*given)
    finally:
        jax.config.update("jax_enable_x64", before)
    wanted = made.forward_dynamics_derivatives(*given)[2] if made.model.ncon else made.mass_matrix_inverse(given[0])
    assert gap(by_tau, wanted) < 1e-10
