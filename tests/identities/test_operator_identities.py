"""The identities of Rodriguez & Kreutz-Delgado and of Jain & Rodriguez, and what follows from them, over the zoo.

Both sides of every rewrite rule are evaluated by ``dense``; ``dense`` itself is compared with the sweeps of the
library and with numbers computed elsewhere.
"""

from __future__ import annotations

import importlib
from functools import cache, reduce

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import recursa as rc
from expressions import expressions, gap, largest_part
from recursa.loading import trusted
from recursa.operators.arithmetic import product, total
from recursa.operators.cost import Cost, cost
from recursa.operators.expression import Expression, parts_of
from recursa.operators.filters import filter_of
from recursa.operators.rules import LINK_RULES, RULES, equations, factor, inverse_factor
from recursa.operators.simplify import simplify
from recursa.operators.singular import dense_values
from recursa.operators.symbols import OF_CONSTRAINTS, Kind
from recursa.robots import random_description
from zoo import ZOO, floating_tree_with_rotors, known_answer_arm

LEFT_OUT = {"chain200", "floating_tree"}  # too large for matrices; a massless floating base has no hinge inertia
ROBOTS = {name: make for name, make in ZOO.items() if name not in LEFT_OUT}
ROBOTS["floating_tree_with_rotors"] = floating_tree_with_rotors
robot_of = cache(lambda name: ROBOTS[name]())


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@pytest.mark.parametrize("name", ROBOTS)
def test_both_sides_of_an_identity_match(name, rule):
    robot = robot_of(name)
    sides = rule.sides(robot.operators)
    if sides is None:
        pytest.skip("the identity is not about this robot")
    left, right = sides
    q, v = robot.random_state(1)
    assert gap(rc.dense(left, q, v), rc.dense(right, q, v)) < 1e-10


@pytest.mark.parametrize("rule", LINK_RULES, ids=lambda rule: rule.name)
@pytest.mark.parametrize("name", ROBOTS)
def test_both_sides_of_an_identity_about_a_link_match(name, rule):
    robot = robot_of(name)
    q, v = robot.random_state(3)
    for link in (robot.link_names[0], robot.link_names[-1]):
        left, right = rule.sides(robot.operators, link)
        assert gap(rc.dense(left, q, v), rc.dense(right, q, v)) < 1e-10


@pytest.mark.parametrize("text", ["mass + 2 I", "H phi (M + R) phi* H*", "mass + D", "H phi M phi* H*"])
@pytest.mark.parametrize("name", ["pendulum", "mixed_tree", "one_of_each", "planar_arm", "floating_tree_with_rotors"])
def test_identities_of_the_factors_hold_for_other_matrices_of_their_form(name, text):
    robot = robot_of(name)
    o = robot.operators
    found = filter_of(rc.parse(text, robot), o)
    assert found is not None
    q, v = robot.random_state(1)
    pairs = [(left, right) for _, left, right in equations(o, robot.link_names[-1:], (), (found,)) if has_filter(left)]
    assert len(pairs) > 50
    values = dense_values([side for pair in pairs for side in pair], q, v)
    for (left, _), one, other in zip(pairs, values[::2], values[1::2], strict=True):
        assert gap(one, other) < 1e-10, str(left)


def has_filter(expression: Expression) -> bool:
    own = getattr(expression, "filter", None)
    return own is not None or any(map(has_filter, parts_of(expression)))


def test_every_rule_holds_somewhere_and_none_says_nothing():
    for rule in RULES:
        sides = [rule.sides(robot_of(name).operators) for name in ("planar_arm", "pendulum")]
        assert any(side is not None for side in sides), rule.name
        assert all(side is None or side[0] != side[1] for side in sides), rule.name
        assert rule.formula and rule.equation


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("(I + H psi K) D (I + H psi K)*", "a slip in print: psi for phi"),
        ("H phi M phi* H*", "without the armature"),
    ],
)
def test_wrong_forms_of_the_mass_matrix_are_wrong(text, why):
    robot = robot_of("one_of_each")
    q, _ = robot.random_state(1)
    assert gap(rc.dense(rc.parse(text, robot), q), robot.mass_matrix(q)) > 1e-4, why


def test_rules_that_need_no_branches_or_no_rotors_would_fail_with_them():
    tree = robot_of("tree")
    q, _ = tree.random_state(1)
    left, right = (rc.parse(t, tree) for t in ("psi* Upsilon + Upsilon psi - Upsilon", "psi* H* inv(D) H psi"))
    assert gap(rc.dense(left, q), rc.dense(right, q)) > 1e-3
    rotors = robot_of("pendulum")
    q, _ = rotors.random_state(1)
    assert np.abs(rc.dense(rc.parse("H tau_bar", rotors), q)).max() > 1e-3
    assert gap(rc.dense(rc.parse("tau_bar tau_bar", rotors), q), rc.dense(rotors.operators.tau_bar, q)) > 1e-3


# ---- dense against the sweeps and against numbers from elsewhere ---------------------------------------------------


@pytest.mark.parametrize("name", ROBOTS)
def test_operator_expressions_match_the_named_answers(name):
    robot = robot_of(name)
    o = robot.operators
    q, v = robot.random_state(5)
    a = np.random.default_rng(1).normal(size=robot.nv)
    link = robot.link_names[-1]
    assert gap(rc.dense(o.mass, q), robot.mass_matrix(q)) < 1e-12
    assert gap(rc.dense(o.mass.inverse(), q), robot.mass_matrix_inverse(q)) < 1e-8
    assert gap(rc.dense(simplify(o.mass.inverse()), q), robot.mass_matrix_inverse(q)) < 1e-10
    assert gap(rc.dense(o.C, q, v), robot.bias_forces(q, v)) < 1e-12
    assert gap(rc.dense(o.H @ o.phi @ o.M @ o.gravity, q), robot.gravity_forces(q)) < 1e-12
    assert gap(rc.dense(o.B(link).T @ o.phi.T @ o.H.T, q), robot.jacobian(q, link)) < 1e-12
    assert gap(rc.dense(o.B(link).T @ o.V, q, v), robot.velocities(q, v)[-1]) < 1e-12
    alpha = rc.dense(o.B(link).T @ o.phi.T @ (o.H.T @ a + o.a), q, v)
    assert gap(alpha, robot.accelerations(q, v, a)[-1]) < 1e-12
    torque = rc.dense(o.mass @ a + o.C, q, v)
    assert gap(torque, robot.inverse_dynamics(q, v, a)) < 1e-12
    assert gap(rc.dense(simplify(o.mass.inverse() @ (torque - o.C)), q, v), a) < 1e-9


def test_operators_match_numbers_of_fifty_digit_arithmetic():
    """Computed independently by the recursions and by dense matrices, in world components, with 50 digits."""
    robot = known_answer_arm()
    o = robot.operators
    q, v, T = [0.3, 0.25, -0.6], [0.7, -0.4, 1.1], [-1.0, 2.0, 0.5]
    assert np.allclose(np.diag(rc.dense(o.D, q)), [1.47612509967, 2.89244430046, 0.0334], rtol=1e-11)
    mass = [
        [1.53510750812, -0.42, -0.00596744534211],
        [-0.42, 3.0, 0.059936302562],
        [-0.00596744534211, 0.059936302562, 0.0334],
    ]
    assert np.allclose(rc.dense(o.mass, q), mass, rtol=1e-10)
    assert np.allclose(rc.dense(o.C, q, v), [-1.0144879056, -1.14575734795, -1.40621930937], rtol=1e-10)
    rotation = robot.pose(q, "tip")[:3, :3]
    turn = np.kron(np.eye(2), rotation)
    f0 = turn.T @ [0.1, -0.2, 0.3, 1.0, -2.0, 0.5]  # on the environment, at the tip
    assert np.allclose(rc.dense(o.H @ o.phi @ o.B("tip") @ f0, q), [-2.0619004766, 0.364296075803, -0.341009325784])
    forward = rc.parse("inv(mass) (T - C - H phi B(tip) f)", robot, vectors={"f": "tip"})
    for expression in (forward, simplify(forward)):
        found = rc.dense(expression, q, v, T=T, f=f0)
        assert np.allclose(found, [1.55870512029, -0.212009633383, 67.941233422], rtol=1e-10)
    turned = np.kron(np.eye(2), robot.pose(q, "l1")[:3, :3])
    compliance = turned @ rc.dense(o.B("l1").T @ o.Upsilon @ o.B("l1"), q) @ turned.T
    assert np.allclose(compliance[0, :3], [2.71230054054, -8.76813029176, 0.0150675061416], rtol=1e-10)
    assert np.allclose(compliance[3, 3:], [0.33797255407, 0.00775732741538, 0.0], rtol=1e-10, atol=1e-12)
    gain = np.kron(np.eye(2), robot.pose(q, "l2")[:3, :3]) @ rc.dense(o.G, q)[6:12, 1]
    expected = [-0.0215662546849, 0.0452961763478, 0.0584963524409, 0.955336489126, 0.295520206661, 0.0873162025814]
    assert np.allclose(gain, expected, rtol=1e-10)


@pytest.mark.parametrize(
    "kind", [k for k in Kind if not k.value.is_vector and k not in OF_CONSTRAINTS], ids=lambda k: k.value.code
)
@pytest.mark.parametrize("name", ["one_of_each", "floating_tree_with_rotors"])
def test_power_is_the_same_from_either_side(name, kind):
    """``x . (A y) = (A* x) . y``, the left side by columns and the right side through the transposed leaf."""
    robot = robot_of(name)
    o = robot.operators
    leaf = o.B(robot.link_names[-1]) if kind is Kind.B else getattr(o, kind.value.code)
    q, v = robot.random_state(2)
    rng = np.random.default_rng(7)
    x, y = (rng.normal(size=space.size) for space in leaf.shape)
    left, right = x @ rc.dense(leaf @ y, q, v), rc.dense(leaf.T @ x, q, v) @ y
    assert abs(left - right) < 1e-10 * max(1.0, abs(left))


# ---- simplification never changes the value ------------------------------------------------------------------------

SEARCHED = ["pendulum", "planar_arm", "mixed_small", "free_flyer"]
ROBOTS["mixed_small"] = lambda: trusted(
    random_description("mixed_small", [-1, 0, 0, 1], 17, ["revolute", "spherical", "prismatic"])
)


@pytest.mark.parametrize("name", SEARCHED)
def test_simplify_keeps_the_value_of_random_expressions(name):
    robot = robot_of(name)
    q, v = robot.random_state(1)

    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @given(expression=expressions(robot.operators))
    def check(expression: Expression) -> None:
        if expression.shape is None:
            return
        simple, steps = simplify(expression, trace=True)
        before, after = rc.dense(expression, q, v), rc.dense(simple, q, v)
        scale = max(1.0, np.abs(before).max(initial=0.0), largest_part(expression, q, v))
        assert np.abs(before - after).max(initial=0.0) < 1e-9 * scale, f"{expression}  ->  {simple}"
        assert cost(simple) <= cost(expression)
        for step in steps:
            x, y = rc.dense(step.before, q, v), rc.dense(step.after, q, v)
            size = max(1.0, np.abs(x).max(initial=0.0), largest_part(step.before, q, v))
            assert np.abs(x - y).max(initial=0.0) < 1e-9 * size, str(step)

    check()


# ---- and it ends ---------------------------------------------------------------------------------------------------


@pytest.fixture
def attempts(monkeypatch) -> list[int]:
    """Letters of every expression whose cost was asked for, in the order of asking."""
    asked: list[int] = []

    def counting(expression: Expression) -> Cost:
        price = cost(expression)
        asked.append(price.letters)
        return price

    monkeypatch.setattr(importlib.import_module("recursa.operators.simplify"), "cost", counting)
    return asked


def repeated(*factors: Expression, times: int) -> Expression:
    return product(factors * times)


LONG = {
    "inverses": lambda o: repeated(o.mass.inverse(), o.mass, o.D, times=6),
    "mass": lambda o: repeated(o.mass, times=12),
    "factors": lambda o: repeated(factor(o), inverse_factor(o).T, times=8),
    "sums": lambda o: product(o.I + (k + 1) * o.phi @ o.M @ o.psi.T for k in range(10)),
    "terms": lambda o: total(repeated(o.phi, o.M, o.phi.T, times=k) @ o.V for k in range(1, 7)),
    "nested": lambda o: reduce(lambda inner, _: o.phi @ (inner + o.M) @ o.psi.T, range(12), o.M),
}
WORK = 130_000  # letters: what a search may read, with the last descent


@pytest.mark.parametrize("what", LONG)
def test_simplifying_something_long_ends_and_keeps_the_value(what, attempts):
    robot = robot_of("mixed_small")
    expression = LONG[what](robot.operators)
    simple, steps = simplify(expression, trace=True)
    assert sum(attempts) < WORK
    assert cost(simple) <= cost(expression)
    assert cost(simple).dense == 0
    q, v = robot.random_state(2)
    for step in steps:
        x, y = rc.dense(step.before, q, v), rc.dense(step.after, q, v)
        assert gap(x, y, largest_part(step.before, q, v)) < 1e-9, str(step)


def test_simplifying_random_large_expressions_ends_and_keeps_the_value(attempts):
    robot = robot_of("mixed_small")
    q, v = robot.random_state(4)

    @settings(max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(expression=expressions(robot.operators, 6))
    def check(expression: Expression) -> None:
        attempts.clear()
        simple = simplify(expression)
        assert sum(attempts) < WORK
        if expression.shape is not None:
            before, after = rc.dense(expression, q, v), rc.dense(simple, q, v)
            assert gap(before, after, largest_part(expression, q, v)) < 1e-9, f"{expression}  ->  {simple}"

    check()
