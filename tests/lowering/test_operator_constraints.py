"""Formulas with the rows of constraints: read, simplified, lowered, explained, evaluated in every form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import recursa as rc
from recursa.errors import ModelError, NoSweepError, SingularMatrixError
from zoo import closed_tree, flyer, held_flyer, last_link


def long_chain() -> rc.Robot:
    return rc.robots.chain(40, seed=3).with_constraints(rc.Loop("universal", "link20", "link40", name="strut"))


def quadruped() -> rc.Robot:
    legs = flyer("quadruped", [-1, 0, 1, 2, 0, 4, 5, 0, 7, 8, 0, 10, 11], 5, ["revolute"])
    return legs.with_constraints(*(rc.Contact("point", last_link(legs, k)) for k in (3, 6, 9, 12)))


def told() -> rc.Robot:
    tree = rc.robots.tree(6, seed=2)
    names = [joint.name for joint in tree.model.joints]
    return tree.with_constraints(
        rc.Prescribed(names[1]), rc.JointRelation({names[0]: (1.0, 0.3), names[4]: -2.0}, offset=0.1)
    )


ROBOTS: dict[str, Callable[[], rc.Robot]] = {
    "closed_tree": closed_tree,
    "held_flyer": held_flyer,
    "quadruped": quadruped,
    "chain40": long_chain,
    "told": told,
}
robots = pytest.mark.parametrize("name", ROBOTS)


def state(robot: rc.Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, v = robot.random_state(4)
    return q, v, np.random.default_rng(1).normal(size=robot.nv)


def gap(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / max(1e-12, np.abs(expected).max()))


@robots
def test_rows_are_those_of_the_constraints(name: str) -> None:
    robot = ROBOTS[name]()
    o, (q, _, _) = robot.operators, state(robot)
    G = robot.constraint_jacobian(q)
    assert o.constraints == rc.parse("G_c", robot) == rc.parse("constraints", robot)
    assert rc.parse(o.constraints.text(ascii=True), robot) == o.constraints
    assert gap(rc.dense(o.constraints, q), G) < 1e-12
    f = rc.compile(o.constraints)
    assert gap(f.matrix(q), G) < 1e-12
    assert gap(rc.compile(o.constraints.T).matrix(q), G.T) < 1e-12
    batch = np.array([q, robot.random_state(5)[0]])
    assert gap(f.matrix(batch), robot.constraint_jacobian(batch)) < 1e-12


@pytest.mark.parametrize(
    ("name", "form"),
    [
        *((name, form) for name in ("closed_tree", "quadruped", "told") for form in ("straight", "loop")),
        ("chain40", "loop"),  # too long to be spelled out
        pytest.param("held_flyer", "loop", marks=pytest.mark.slow),
    ],
)
def test_multipliers_by_formula(name: str, form: str) -> None:
    robot = ROBOTS[name]()
    q, v, tau = state(robot)
    text = "-inv(G_c inv(mass) G_c*) (gamma + G_c inv(mass) (T - C))"
    expression = rc.parse(text, robot, vectors={"gamma": "constraint"})
    f = rc.compile(expression, form=form)
    assert f.inputs == ("gamma", "T") and f.form == form
    gamma = robot.constraint_bias(q, v)
    expected = rc.dense(expression, q, v, gamma=gamma, T=tau)
    condition = np.linalg.cond(robot.constraint_delassus(q))
    assert gap(f(q, v, gamma, tau), expected) < 1e-12 * max(10.0, condition)
    assert gap(expected, robot.constraint_forces(q, v, tau)) < 1e-12 * max(10.0, condition)


def test_the_formula_is_the_recursion_of_the_kernels() -> None:
    robot = quadruped()
    f = rc.compile("inv(G_c inv(mass) G_c*)", robot)
    assert f.simplified == rc.parse("inv(B_c* psi* H* inv(D) H psi B_c)", robot)
    q, _, _ = state(robot)
    A = robot.constraint_delassus(q)
    assert gap(f.matrix(q) @ A, np.eye(12)) < 1e-10
    text = rc.explain("inv(G_c inv(mass) G_c*)", robot).text()
    for words in ("pick-off of constraints", "small inverse", "statements at the links that are held"):
        assert words in text


def test_work_grows_with_the_bodies_and_not_with_their_square() -> None:
    def operations(n: int) -> int:
        chain = rc.robots.chain(n, seed=1).with_constraints(rc.Loop("point", "world", f"link{n}"))
        return rc.compile("inv(G_c inv(mass) G_c*)", chain, form="loop").operations.total

    ten, twenty, forty = map(operations, (10, 20, 40))
    assert abs((forty - twenty) - 2 * (twenty - ten)) < 0.02 * forty


def test_interpreted_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = closed_tree()
    q, _, _ = state(robot)
    compiled = rc.compile("inv(G_c inv(mass) G_c*)", robot).matrix(q)
    monkeypatch.setattr("recursa.kernels.dispatch.Switch.on", False)
    assert gap(rc.compile("inv(G_c inv(mass) G_c*)", robot).matrix(q), compiled) < 1e-12


def test_robots_without_constraints_have_no_such_letters() -> None:
    arm = rc.robots.planar(3)
    for ask in (lambda: arm.operators.constraints, lambda: arm.operators.B_c, lambda: arm.operators.T_c):
        with pytest.raises(ModelError, match=r"'planar3' has no constraints.*with_constraints"):
            ask()
    with pytest.raises(ModelError, match=r"has no constraints(.|\n)*\^"):
        rc.parse("inv(G_c inv(mass) G_c*)", arm)
    with pytest.raises(ModelError, match="the space of y"):
        arm.operators.vector("y", "constraint")
    assert "B_c" not in repr(arm.operators)
    with pytest.raises(AttributeError, match="no 'letter'"):
        _ = arm.operators.letter


def test_what_cannot_be_is_said() -> None:
    arm = rc.robots.planar(3).with_constraints(rc.Loop("revolute", "world", "tip", at=(0.5, 0, 0)))
    with pytest.raises(SingularMatrixError, match=r"rank is 2 of 5: some equations.*\n.*constraint_delassus_factors"):
        rc.compile("inv(G_c inv(mass) G_c*)", arm).matrix([0.3, 0.4, 0.5])
    with pytest.raises(NoSweepError, match="B_c has no derivative"):
        arm.operators.constraints.time_derivative()
