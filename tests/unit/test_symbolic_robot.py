"""Robots whose numbers are symbols: their formulas with values put in, against the robot that has these values."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest
import sympy as sp

import recursa as rc
from recursa.dynamics.configuration import random_input
from recursa.evaluation.formulas import TEN, gathered
from recursa.facade.asking import exported, quantity_named

L, M, C, J, G = sp.symbols("l m c J g")
ROW = {"l": 0.4, "m": 1.5, "c": 0.25, "J": 0.02, "g": 9.81}


def table(a: Any, mass: Any, centre: Any, moment: Any) -> list[rc.DHLink]:
    """An arm that leaves the plane and has a slide."""
    return [
        rc.DHLink(a=a, alpha=np.pi / 2, d=0.3, mass=mass, com=(-a + centre, 0, 0.02), inertia=(moment, 0.03, 0.03)),
        rc.DHLink(
            joint="prismatic", alpha=0.3, theta=0.2, mass=2 * mass, com=(0, 0, centre), inertia=(0.1, 0.1, moment)
        ),
        rc.DHLink(
            a=a / 2, mass=mass, com=(0.1, a, 0), inertia=(0.1, moment + 0.1, 0.15, 0.01, 0, moment), armature=moment
        ),
    ]


def arm(a: Any, mass: Any, centre: Any, moment: Any, g: Any) -> rc.Robot:
    return rc.from_dh(table(a, mass, centre, moment), convention="standard", gravity=(1.0, -g, 0.0))


def tree(a: Any, mass: Any, centre: Any, moment: Any, g: Any) -> rc.Robot:
    """A ball joint with a screw, a slide and a turn on it, and a hand that is fixed to the last."""
    builder = rc.Builder("tree")
    for name in ("ball", "screw", "slide", "arm", "hand"):
        builder.link(name, mass=mass, com=(centre, 0.1, 0), inertia=(moment + 0.1, 0.12, 0.14, 0.01, 0.02, moment))
    builder.joint("s", "spherical", parent="world", child="ball", damping=moment)
    builder.joint("h", "helical", parent="ball", child="screw", axis=(1, 0, 0), xyz=(a, 0, 0), pitch=a)
    builder.joint(
        "p", "prismatic", parent="ball", child="slide", axis=(0, 0.6, 0.8), xyz=(0.1, a, 0), rpy=(0, centre, 0)
    )
    builder.joint("r", "revolute", parent="ball", child="arm", xyz=(0, 0.3, a), point=(a, 0, 0), armature=moment)
    builder.joint("f", "fixed", parent="arm", child="hand", xyz=(a, centre, 0), rpy=(0.3, 0, a))
    return builder.build(gravity=(0.5, 0.0, -g))


def planar(a: Any, mass: Any, centre: Any, moment: Any, g: Any) -> rc.Robot:
    rows = [rc.DHLink(a=a, mass=mass, com=(centre - a, 0, 0), inertia=(0, moment, moment)) for _ in range(2)]
    return rc.from_dh(rows, convention="standard", gravity=(0, -g, 0))


MADE = {"arm": arm, "tree": tree, "planar": planar}


def state(robot: rc.Robot, quantity: str, options: dict[str, Any]) -> dict[str, np.ndarray]:
    record, rng = quantity_named(quantity), np.random.default_rng(3)
    names = (*record.inputs, *(x for x in record.optional if options.get(x)))
    kinds = {name: record.kind(name) for name in names}
    flat = {name: np.array(random_input(robot.model, kind, rng)) for name, kind in kinds.items()}
    return {name: x.reshape(kinds[name].axes(robot.model, 0)) for name, x in flat.items()}


def difference(symbolic: rc.Robot, robot: rc.Robot, quantity: str, options: dict[str, Any]) -> float:
    """Of the formula, with values put in, from the number."""
    arrays, record = state(robot, quantity, options), quantity_named(quantity)
    formula = symbolic.symbolic(quantity, at={name: x.tolist() for name, x in arrays.items()}, **options)
    own = {key: value for key, value in options.items() if key in record.options}
    wanted = robot.evaluator.evaluate(record, arrays, own)
    entries = np.ravel(formula.tolist() if hasattr(formula, "tolist") else [formula])
    found = np.array([float(sp.sympify(x).subs(ROW).evalf(30)) for x in entries])
    return float(np.abs(found - wanted.ravel()).max() / max(1.0, np.abs(wanted).max()))


@pytest.mark.parametrize("name", MADE)
def test_values_put_in_make_the_robot_of_these_numbers(name: str) -> None:
    found, wanted = MADE[name](L, M, C, J, G).with_values(ROW), MADE[name](*ROW.values())
    q, v = wanted.random_state(seed=2)
    assert type(found) is rc.Robot
    assert np.abs(found.forward_dynamics(q, v, v) - wanted.forward_dynamics(q, v, v)).max() < 1e-12
    assert np.abs(found.parameters - wanted.parameters).max() < 1e-14
    assert found.gravity == wanted.gravity


SOME = [
    *((name, what, {}) for name in ("arm", "tree") for what in ("mass_matrix", "inverse_dynamics", "center_of_mass")),
    ("planar", "forward_dynamics", {}),
    ("arm", "pose", {"link": "link3"}),
    ("arm", "inverse_dynamics", {"losses": True, "wrenches": True}),
    ("tree", "jacobian", {"link": "hand"}),
    ("planar", "forward_dynamics_derivatives", {}),
]


@pytest.mark.parametrize(("name", "quantity", "options"), SOME)
def test_formulas_have_the_values_of_the_robot_with_numbers(name: str, quantity: str, options: dict[str, Any]) -> None:
    robot = MADE[name](*ROW.values())
    assert difference(MADE[name](L, M, C, J, G), robot, quantity, options) < 1e-11


@pytest.mark.slow
def test_every_quantity_is_a_formula_or_says_why_not() -> None:
    symbolic, robot, made = planar(L, M, C, J, G), planar(*ROW.values()), []
    for quantity in exported():
        options = {"link": "link2"} if "link" in quantity_named(quantity).options else {}
        try:
            gap = difference(symbolic, robot, quantity, options)
        except rc.RecursaError as error:
            if "give values first" not in str(error):  # then it is refused with numbers, too, in the same words
                with pytest.raises(type(error), match=re.escape(str(error).split(": ")[-1][:40])):
                    robot.symbolic(quantity, **options)
            continue
        assert gap < 1e-10, quantity
        made.append(quantity)
    assert len(made) > 60


def test_the_planar_arm_has_the_equations_of_textbooks() -> None:
    """M and the torques of gravity, from a table of symbols."""
    l1, l2, m1, m2, c1, c2, j1, j2 = sp.symbols("l_1 l_2 m_1 m_2 c_1 c_2 J_1 J_2")
    rows = [
        rc.DHLink(a=a, mass=m, com=(c - a, 0, 0), inertia=(0, j, j))
        for a, m, c, j in ((l1, m1, c1, j1), (l2, m2, c2, j2))
    ]
    two = rc.from_dh(rows, convention="standard", gravity=(0, -G, 0))
    q1, q2 = sp.symbols("q1 q2")
    coupling = m2 * c2**2 + j2 + m2 * l1 * c2 * sp.cos(q2)
    first = m1 * c1**2 + j1 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * sp.cos(q2)) + j2
    wanted = sp.Matrix([[first, coupling], [coupling, m2 * c2**2 + j2]])
    assert (two.symbolic("mass_matrix") - wanted).applyfunc(gathered) == sp.zeros(2, 2)
    held = two.symbolic("gravity_forces")[1]
    assert gathered(held - m2 * G * c2 * sp.cos(q1 + q2)) == 0


def test_torques_are_linear_in_the_parameters_with_letters_for_lengths() -> None:
    two = planar(L, M, C, J, G)
    torques = two.symbolic("inverse_dynamics", parameters=True)
    ten = sp.Matrix(sp.symbols([f"{name}{body}" for body in (1, 2) for name in TEN]))
    regressor = two.symbolic("regressor")
    assert regressor.free_symbols >= {L, G}
    assert (regressor * ten - torques).applyfunc(gathered) == sp.zeros(2, 1)


def test_gradients_by_gravity_and_parameters_are_sympys() -> None:
    two, robot = planar(L, M, C, J, G), planar(*ROW.values())
    torques = two.symbolic("gravity_forces", at={"q": [0.3, 0.4]})
    by_g = np.array(torques.diff(G).subs(ROW).evalf(), dtype=float).ravel()
    assert np.allclose(by_g, robot.gravity_forces([0.3, 0.4]) / ROW["g"])


def test_numbers_are_refused_with_the_names_of_the_symbols() -> None:
    two = planar(L, M, C, J, G)
    assert two.symbols == (J, C, G, L, M)
    assert (two.nq, two.joint_names, two.gravity) == (2, ("joint1", "joint2"), (0.0, -G, 0.0))
    assert "symbols J, c, g, l, m" in repr(two)
    assert "mass_matrix" not in dir(two)
    with pytest.raises(rc.NoValueError, match=r"mass_matrix needs numbers.*J, c, g, l, m.*symbolic\('mass_matrix'\)"):
        two.mass_matrix([0.0, 0.0])
    for ask in (lambda: two.simulate([0, 0], duration=1.0), lambda: rc.rollout(two, [0, 0], [0, 0], None, 0.1, 3)):
        with pytest.raises(rc.NoValueError, match="with_values"):
            ask()
    with pytest.raises(AttributeError, match="no attribute 'mass_matrx'"):
        two.mass_matrx  # noqa: B018
    with pytest.raises(rc.RecursaError, match="Choose another method, or give values first"):
        two.symbolic("inverse_dynamics", method="tensor")


def test_values_that_are_wrong_are_refused() -> None:
    two = planar(L, M, C, J, G)
    with pytest.raises(rc.UnknownNameError, match="no symbol 'mass'"):
        two.with_values({"mass": 1.0})
    for value in ("heavy", float("nan"), None, [1.0], sp.oo):
        with pytest.raises(rc.ModelError, match="the value of m must be a finite number"):
            two.with_values({M: value})
    with pytest.raises(rc.ModelError, match="mean nothing"):
        two.with_values({**ROW, "m": -1.0})
    assert two.with_values({"m": 2 * L}).symbols == (J, C, G, L)


def test_symbols_that_mean_two_things_are_refused() -> None:
    clashing = rc.from_dh([rc.DHLink(a=sp.Symbol("q1"), mass=M)], convention="standard")
    with pytest.raises(rc.RecursaError, match="q1 is an entry of q and also a symbol of the robot"):
        clashing.symbolic("mass_matrix")
    assert clashing.symbolic("mass_matrix", at={"q": ["theta"]})[0] == M * sp.Symbol("q1") ** 2
    with pytest.raises(rc.RecursaError, match="q2 is an entry of q"):
        rc.robots.planar(2).symbolic("mass_matrix", constants={"lx2": "q2"})


def test_arrays_that_are_given_are_checked() -> None:
    robot = rc.robots.planar(2)
    with pytest.raises(rc.UnknownNameError, match="no array of mass_matrix 'v'"):
        robot.symbolic("mass_matrix", at={"v": [0, 0]})
    with pytest.raises(rc.ShapeError, match=r"q must have the shape \(2,\)"):
        robot.symbolic("mass_matrix", at={"q": [0]})
    with pytest.raises(rc.StateError, match="expressions of SymPy"):
        robot.symbolic("mass_matrix", at={"q": ["(", 0]})


def test_a_robot_with_numbers_does_not_become_symbolic() -> None:
    with pytest.raises(rc.ModelError, match="g is a symbol"):
        rc.robots.planar(2).with_gravity((0, -G, 0))
    with pytest.raises(rc.ModelError, match="axis must be 3 numbers"):
        rc.Builder("b").link("x").joint("j", "revolute", parent="world", child="x", axis=(0, 0, L))
    with pytest.raises(rc.ModelError, match="symmetric"):
        rc.Builder("b").link("x", inertia=[[1, L, 0], [0, 1, 0], [0, 0, 1]])


def test_copies_are_equal() -> None:
    two = planar(L, M, C, J, G)
    again = pickle.loads(pickle.dumps(two))
    assert again == two and hash(again) == hash(two) and again != planar(L, M, J, C, G)
