"""Formulas of a robot against its numbers, and against equations of motion that can be written down by hand."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import sympy as sp

import recursa as rc
from numeric import states
from recursa.evaluation.formulas import TEN, gathered

A, V, Q = (sp.symbols(f"{letter}1:4") for letter in "avq")


def numbers(formula: sp.Matrix, values: dict[str, np.ndarray], constants: dict[sp.Symbol, float] | None = None):
    """The value of formulas where the symbols of every array have its numbers."""
    known = {sp.Symbol(f"{name}{k}"): float(x) for name, row in values.items() for k, x in enumerate(row, 1)}
    known |= constants or {}
    return np.array(sp.lambdify(list(known), formula, "numpy")(*known.values()), dtype=float)


def tree() -> rc.Robot:
    """Two arms, one of them a slide, on a turning ball; armature, damping, gravity along no axis."""
    builder = rc.Builder("tree")
    for name, com in {"ball": (0.1, 0.02, 0.3), "slide": (0.3, 0, 0.1), "arm": (0.2, 0.1, 0)}.items():
        builder.link(name, mass=1.25, com=com, inertia=(0.1, 0.12, 0.14, 0.01, 0.02, -0.01))
    builder.joint("s", "spherical", parent="world", child="ball")
    builder.joint("p", "prismatic", parent="ball", child="slide", axis=(0, 0.6, 0.8), xyz=(0.1, 0.2, 0), armature=0.3)
    builder.joint("r", "revolute", parent="ball", child="arm", axis=(0, 0, 1), xyz=(0, 0.3, 0.1), damping=0.2)
    return builder.build().with_gravity((1.0, -2.0, -9.0))


@pytest.mark.parametrize("constants", [False, True])
@pytest.mark.parametrize(
    ("name", "inputs", "options"),
    [
        ("mass_matrix", "q", {}),
        ("inverse_dynamics", ("q", "v", "a"), {"method": "denoc"}),
        ("inverse_dynamics", ("q", "v", "a"), {"losses": True}),
        ("jacobian", "q", {"link": "arm", "frame": "world"}),
    ],
)
def test_formulas_have_the_values_of_the_methods(name, inputs, options, constants):
    robot = tree()
    q, v, a = (rows[0] for rows in states(robot, 1))
    values = {letter: {"q": q, "v": v, "a": a}[letter] for letter in inputs}
    formula = robot.symbolic(name, constants=constants, **options)
    found = numbers(formula, values, robot.symbolic_constants() if constants else None)
    expected = getattr(robot, name)(*values.values(), **options)
    assert np.abs(found.reshape(expected.shape) - expected).max() < 1e-11 * max(1.0, np.abs(expected).max())


def test_planar_arm_has_the_equations_of_textbooks():
    """Saha, section 6.1: with absolute angles they are sums over pairs of rods, here by Lagrange's equations."""
    arm = rc.robots.planar(3)
    formulas = {method: arm.symbolic("inverse_dynamics", constants=True, simplify=True, method=method)
                for method in ("newton-euler", "denoc")}  # fmt: skip
    assert formulas["denoc"] == formulas["newton-euler"]
    lengths, g = (0, *sp.symbols("lx2 lx3")), sp.Symbol("gy")
    t = sp.Symbol("t")
    angle = [sp.Function(f"theta{k}")(t) for k in range(3)]
    energy, joint = 0, sp.Matrix([0, 0])
    for k in range(3):
        m, mx, moment = sp.symbols(f"m{k + 1} mx{k + 1} Izz{k + 1}")
        total = sum(angle[: k + 1])
        if k:
            before = sum(angle[:k])
            joint = joint + lengths[k] * sp.Matrix([sp.cos(before), sp.sin(before)])
        speed, rate, axis = joint.diff(t), total.diff(t), sp.Matrix([-sp.sin(total), sp.cos(total)])
        energy += m * speed.dot(speed) / 2 + mx * rate * speed.dot(axis) + moment * rate**2 / 2
        energy += g * (m * joint[1] + mx * sp.sin(total))  # less the potential energy
    for k, found in enumerate(formulas["denoc"]):
        torque = energy.diff(angle[k].diff(t)).diff(t) - energy.diff(angle[k])
        for order, letters in ((2, A), (1, V), (0, Q)):
            torque = torque.subs({x.diff(t, order) if order else x: y for x, y in zip(angle, letters, strict=True)})
        assert gathered(found - torque) == 0


def test_numbers_are_fractions_and_single_numbers_are_expressions():
    arm = rc.robots.planar(2)
    assert arm.symbolic("mass_matrix", simplify=True)[1, 1] == sp.Rational(1, 120)
    assert not arm.symbolic("kinetic_energy").atoms(sp.Float)
    assert arm.symbolic("kinetic_energy").free_symbols == set(sp.symbols("q2 v1 v2"))
    assert arm.symbolic("poses").shape == (arm.nlinks, 4, 4)


def test_book_methods_agree_and_have_no_letters():
    arm = rc.robots.planar(2)
    found = [arm.symbolic("inverse_dynamics", method=method, simplify=True) for method in ("tensor", "newton-euler")]
    assert found[0] == found[1]
    with pytest.raises(rc.RecursaError, match="constants=True"):
        arm.symbolic("inverse_dynamics", method="tensor", constants=True)


@pytest.mark.parametrize("method", ["composite", "articulated", "denoc"])
def test_accelerations_as_formulas_have_the_values_of_the_method(method):
    arm = rc.robots.planar(2)
    q, v = arm.random_state(1)
    found = numbers(arm.symbolic("forward_dynamics", method=method), {"q": q, "v": v, "tau": [1.0, 2.0]})
    assert np.allclose(found.ravel(), arm.forward_dynamics(q, v, [1.0, 2.0]), rtol=1e-12)


def test_what_is_wrong_is_said(monkeypatch):
    arm = rc.robots.planar(2)
    with pytest.raises(rc.UnknownNameError, match=r"had as formulas 'mass_matrx'\. Did you mean"):
        arm.symbolic("mass_matrx")
    with pytest.raises(rc.UnknownNameError, match="option of mass_matrix"):
        arm.symbolic("mass_matrix", losses=True)
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(rc.RecursaError, match=r"recursa\[symbolic\]"):
        arm.symbolic("mass_matrix")


def test_letters_of_textbooks_and_of_ones_own_have_the_values_of_the_methods():
    """Masses, centres and moments about them; or formulas by name, beside numbers."""
    robot = tree()
    q, v, a = (rows[0] for rows in states(robot, 1))
    values = {"q": q, "v": v, "a": a}
    expected = robot.inverse_dynamics(q, v, a)
    central = robot.symbolic("inverse_dynamics", constants="central")
    assert {"m1", "cx1", "Jxx3", "lx2", "gz"} <= {str(x) for x in central.free_symbols}
    assert not {"mx1", "Ixx1"} & {str(x) for x in central.free_symbols}
    found = numbers(central, values, robot.symbolic_constants(central=True))
    assert np.abs(found.ravel() - expected).max() < 1e-11 * np.abs(expected).max()
    g, m, c = sp.symbols("g m_1 c_1")
    own = robot.symbolic("inverse_dynamics", constants={"gz": -g, sp.Symbol("mx1"): m * c, "m1": "m_1"})
    found = numbers(own, values, {g: 9.0, m: 1.25, c: 0.1})
    assert np.abs(found.ravel() - expected).max() < 1e-11 * np.abs(expected).max()
    assert own.free_symbols == central.free_symbols & set(sp.symbols("q1:7 v1:7 a1:7")) | {g, m, c}


def test_slender_rods_have_no_moment_about_their_axis():
    arm = rc.robots.planar(2)
    assert {str(x) for x in arm.symbolic_constants(central=True)} == {
        "m1", "cx1", "Jyy1", "Jzz1", "lx2", "m2", "cx2", "Jyy2", "Jzz2", "gy"
    }  # fmt: skip
    torque = arm.symbolic("mass_matrix", constants="central", simplify=True)[1, 1]
    assert torque == sp.sympify("Jzz2 + m2*cx2**2")


def test_torques_are_linear_in_the_parameters():
    arm = rc.robots.planar(2)
    torques = arm.symbolic("inverse_dynamics", parameters=True)
    ten = sp.Matrix(sp.symbols([f"{x}{k}" for k in (1, 2) for x in TEN]))
    assert (arm.symbolic("regressor") * ten - torques).applyfunc(gathered) == sp.zeros(2, 1)


def test_constants_that_there_are_not_are_refused():
    arm = rc.robots.planar(2)
    with pytest.raises(rc.UnknownNameError, match="constant of the robot 'lx3'"):
        arm.symbolic("mass_matrix", constants={"lx3": "l"})
    with pytest.raises(rc.UnknownNameError, match="kind of constants 'centrl'"):
        arm.symbolic("mass_matrix", constants="centrl")
