"""Expressions as sweeps: ``run(lower(e))`` against ``dense(e)``, and the plans that come out."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import recursa as rc
from numeric import close
from recursa.operators.expression import Expression
from recursa.operators.lower import lower
from recursa.operators.simplify import simplify
from recursa.operators.values import input_name, operand_of
from recursa.spatial.counter import Counter
from recursa.sweeps import run
from zoo import ZOO

LEFT_OUT = {"chain200", "floating_tree"}  # too large for matrices; a massless floating base has no hinge inertia
ROBOTS = {name: cache(make) for name, make in ZOO.items() if name not in LEFT_OUT}

OPERATORS = [
    "H", "H*", "phi", "phi*", "E_phi", "E_phi*", "M", "R", "P", "D", "inv(D)", "G", "G*", "K", "K*", "tau_bar",
    "tau_bar*", "psi", "psi*", "E_psi", "E_psi*", "A", "B(LINK)", "B(LINK)*", "I + 2 phi", "Upsilon", "inv(M)",
    "inv(R)", "inv(P)",
]  # fmt: skip
PRODUCTS = [
    "H phi M phi* H* + A", "inv(mass)", "J(LINK)", "J(LINK)*", "J(LINK) inv(mass) J(LINK)*", "Phi", "Psi", "Phi*",
    "Psi*", "psi K", "K* psi*", "1 + H phi K", "(1 + H phi K)*", "phi phi*", "H H*", "psi* psi", "phi E_psi",
    "E_psi* phi*", "2 H E_phi phi M phi* E_phi* H* - A", "2 J(LINK) - J(LINK) inv(mass)", "E_phi E_phi phi",
    "P phi* - phi M phi*", "inv(phi M phi*)", "inv(psi)", "inv(psi*)", "H + K*", "2 K - E_psi H*",
    "inv(2 E_phi - 2)", "B(LINK)* Upsilon B(LINK)", "T* inv(mass)",
    "x x* phi", "psi* x f* B(LINK)*",
]  # fmt: skip
VECTORS = [
    "C", "gravity", "E_phi* gravity", "M V", "inv(mass) (T - C)", "inv(mass) (T - H phi (M phi* a + b))",
    "H phi (B(LINK) f + B(LINK) J(LINK) T)", "2 (1 - H psi K) T - 3 C", "M (phi* a + gravity) + b + phi x",
    "V* M V", "T* C", "f* B(LINK)* V", "T* inv(mass) T - 2 f* f + 3", "T f* J(LINK) T", "J(LINK) T x* phi x", "T - T",
    "(H phi x - 2 C) V* M a",
]  # fmt: skip


def evaluated(robot: rc.Robot, expression: Expression, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """By sweeps and by matrices, for the same random vectors."""
    q, v = robot.random_state(seed)
    rng = np.random.default_rng(seed)
    lowered = lower(expression, robot.model)
    vectors = {x.name: rng.normal(size=x.space.size) for x in lowered.inputs}
    given = {input_name(x): vectors[x.name].tolist() for x in lowered.inputs} | dict(lowered.constants)
    values = run(lowered.plan, robot.model, {"q": q.tolist(), "v": v.tolist(), **given})
    full = expression
    if (operand := operand_of(expression)) is not None:
        full = expression @ operand
    found = np.array(list(lowered.entries(values)), float)
    return (found if lowered.space.name != "one" else found[0]), rc.dense(full, q, v, **vectors)


def read(text: str, robot: rc.Robot) -> Expression:
    link = robot.link_names[-1]
    return rc.parse(text.replace("LINK", link), robot, vectors={"f": "tip", "x": "link"})


@pytest.mark.parametrize("text", [*OPERATORS, *PRODUCTS, *VECTORS])
@pytest.mark.parametrize("name", ["pendulum", "one_of_each", "mixed_tree", "puma560", "free_flyer", "tree", "planar"])
def test_sweeps_match_matrices(name, text):
    robot = ROBOTS[name]()
    expression = read(text, robot)
    found, expected = evaluated(robot, simplify(expression), 3)
    close(found, expected, 1e-10)


@pytest.mark.parametrize("name", ROBOTS)
def test_sweeps_of_the_inverse_match_the_named_answer_everywhere(name):
    robot = ROBOTS[name]()
    q, v = robot.random_state(1)
    tau = np.random.default_rng(2).normal(size=robot.nv)
    lowered = lower(simplify(rc.parse("inv(mass) (T - C)", robot)))
    values = run(lowered.plan, robot.model, {"q": q.tolist(), "v": v.tolist(), "joint:T": tau.tolist()})
    expected = robot.forward_dynamics(q, v, tau)
    close(list(lowered.entries(values)), expected, 1e-9)


def test_unsimplified_products_match_matrices_too():
    robot = ROBOTS["mixed_tree"]()
    for text in ("phi E_phi E_phi", "E_phi phi - phi E_phi", "(1 - H psi K) H phi", "psi E_psi", "E_phi* psi*"):
        found, expected = evaluated(robot, read(text, robot), 4)
        close(found, expected, 1e-10, text)


def test_plans_run_on_columns_of_numbers():
    robot = ROBOTS["puma560"]()
    lowered = lower(simplify(rc.parse("inv(mass) (T - C)", robot)))
    rng = np.random.default_rng(0)
    q, v, tau = (rng.normal(size=(5, 6)) for _ in range(3))
    columns = {"q": list(q.T), "v": list(v.T), "joint:T": list(tau.T)}
    found = np.stack(list(lowered.entries(run(lowered.plan, robot.model, columns))), axis=-1)
    assert np.allclose(found, robot.forward_dynamics(q, v, tau), rtol=1e-9)


@pytest.mark.parametrize(
    ("text", "directions"),
    [
        ("phi* H*", ["base to tip"]),
        ("H phi M phi* H*", ["base to tip", "tip to base"]),
        ("inv(mass)", ["tip to base", "base to tip"]),
        ("C", ["base to tip", "tip to base"]),
        ("inv(mass) (T - C)", ["base to tip", "tip to base", "base to tip"]),
        ("(1 - H psi K)* inv(D) (T - H psi (K T + P x)) - K* psi* x", ["tip to base", "base to tip"]),
        ("J(link6) inv(mass) J(link6)*", ["each link", "tip to base", "base to tip", "each link"]),
    ],
)
def test_number_and_direction_of_sweeps_are_the_papers(text, directions):
    lowered = lower(simplify(read(text, ROBOTS["puma560"]())))
    assert [sweep.direction.value for sweep in lowered.plan.sweeps] == directions


def test_equal_parts_are_computed_once():
    robot = ROBOTS["puma560"]()
    steps = [str(s) for sweep in lower(read("phi M V + P phi M V", robot)).plan.sweeps for s in sweep.steps]
    assert sum("gather(" in step for step in steps) == 1
    assert sum("eliminate(" in step for step in steps) == 1


def test_work_grows_linearly_with_the_bodies():
    def operations(n: int) -> int:
        robot = rc.robots.chain(n, seed=1)
        counter = Counter()
        lowered = lower(simplify(robot.operators.mass.inverse()))
        q, x = ([counter.number(0.1 * k) for k in range(n)] for _ in range(2))
        run(lowered.plan, robot.model, {"q": q, "joint:x": x})
        return counter.counts().total

    small, large = operations(20) - operations(10), operations(40) - operations(20)
    assert abs(large - 2 * small) <= 0.02 * large


def test_free_vectors_are_listed_in_order_of_appearance():
    robot = ROBOTS["puma560"]()
    expression = rc.parse("y + H phi x + y", robot, vectors={"x": "link", "y": "joint"})
    lowered = lower(expression)
    assert [v.name for v in lowered.inputs] == ["y", "x"]
    assert lowered.plan.inputs == ("q", "joint:y", "body:x")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda o: o.H @ o.phi @ np.ones((36, 36)) @ o.phi.T @ o.H.T, ("is a full 36 x 36 matrix", "Use dense")),
        (lambda o: (o.mass - o.A).inverse(), ("no factors of H φ M φ* H* are known", "simplify()")),
        (lambda o: (o.M + o.phi).inverse(), ("no factors of M + φ are known",)),
        (lambda o: o.tau_bar.inverse(), ("no factors of τ̄ are known",)),
        (lambda o: o.M - o.M, ("no operator of a robot in it",)),
    ],
)
def test_what_has_no_sweep_says_why(make, words):
    with pytest.raises(rc.NoSweepError) as caught:
        lower(make(ROBOTS["puma560"]().operators))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.compiled
def test_inverse_of_the_bodies_alone_matches_matrices_for_a_robot_with_rotors():
    robot = ROBOTS["puma560"]()
    q, v = robot.random_state(2)
    tau = np.arange(6.0)
    for text in ("inv(H phi M phi* H*) (T - C)", "J(link6) inv(H phi M phi* H*) T", "inv(H phi M phi* H*) A T"):
        expression = rc.parse(text, robot)
        found, expected = rc.compile(expression, robot)(q, v, tau), rc.dense(expression, q, v, T=tau)
        assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()


@pytest.mark.compiled
def test_text_compiles_to_what_its_expression_does():
    robot = ROBOTS["stanford"]()
    q, v = robot.random_state(4)
    text = "inv(mass) (T - C)"
    assert np.array_equal(rc.compile(text, robot)(q, v, v), rc.compile(rc.parse(text, robot))(q, v, v))
    with pytest.raises(rc.StateError, match="text without a robot"):
        rc.compile(text)
