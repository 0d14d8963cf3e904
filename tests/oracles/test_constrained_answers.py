"""Robots with constraints: every public answer obeys them, is of the tree by definition, or is refused.

The table is ``tests/constrained_questions.py``. What obeys is compared with the dense equations of motion, solved by
NumPy with the rank of an SVD; what is of the tree with the tree itself; what is refused has to name the alternative.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recursa as rc
from constrained_questions import OBEYS, ON_CONSTRAINTS, TREE, Obeys, Refuses, verdict_of
from constrained_robots import MOTORS, ROBOTS, Dense, agrees, every_robot, robot_of, state_of, tip_of, tree_of
from questions import QUESTIONS, Question, arguments, each, parts, public_functions
from recursa.methods.matrices import MASS_MATRIX_INVERSE
from recursa.quantities import Refusal, quantities

TESTS = Path(__file__).parents[1]


def penrose(inertia: np.ndarray, compliance: np.ndarray, what: str) -> None:
    """The conditions of Moore and Penrose for a symmetric pseudo-inverse."""
    agrees(compliance @ inertia @ compliance, compliance, what, 1e-7)
    agrees(inertia @ compliance @ inertia, inertia, what, 1e-7)
    agrees(inertia, inertia.T, what)


# ---- every kind of answer --------------------------------------------------------------------------------------------


def test_the_table_has_every_public_function() -> None:
    laws = {f"control.{name}" for name, item in vars(rc.control).items() if _is_law(item)}
    classes = {"rc.MomentumObserver", "rc.DifferentialIK", *laws}
    classes |= {f"Trajectory.{name}" for name in ("check", "violations", "scaled_to_limits")}
    functions = {key for key in ON_CONSTRAINTS if "(" not in key}
    assert functions == public_functions().keys() | classes
    assert {key for key in ON_CONSTRAINTS if "(" in key} <= QUESTIONS.keys()
    for verdict in ON_CONSTRAINTS.values():
        assert not isinstance(verdict, Obeys) or (TESTS / verdict.test).is_file()
    asked = {question.public for question in QUESTIONS.values() if verdict_of(question.public, question.text) == OBEYS}
    assert asked == ORACLES.keys()


def _is_law(item: Any) -> bool:
    return inspect.isclass(item) and issubclass(item, rc.control.Law) and item is not rc.control.Law


def questions_that(verdict: Callable[[Any], bool]) -> list[Question]:
    return [one for one in QUESTIONS.values() if verdict(verdict_of(one.public, one.text))]


@pytest.mark.interpreted(reason="every question of every robot would compile code of its own")
@every_robot
def test_what_is_of_the_tree_is_the_answer_of_the_tree(kind: str) -> None:
    robot, tree = robot_of(kind), tree_of(kind)
    arrays = {name: _first(x) for name, x in arguments(robot, 1).items()}
    answered = 0
    for question in questions_that(lambda verdict: verdict == TREE):
        found, expected = question.ask(robot, arrays), question.ask(tree, arrays)
        if isinstance(expected, type):
            assert found is expected, question.text
            continue
        assert not isinstance(found, type), question.text
        assert found.keys() == expected.keys(), question.text
        for name, numbers in expected.items():
            agrees(found[name], numbers, f"{question.text}: {name}", 1e-12)
        answered += 1
    assert answered > 60


@every_robot
def test_what_would_be_of_the_open_tree_is_refused_by_name(kind: str) -> None:
    robot, tree = robot_of(kind), tree_of(kind)
    arrays = {name: _first(x) for name, x in arguments(robot, 1).items()}
    refused = set()
    for question in questions_that(lambda verdict: isinstance(verdict, Refuses)):
        verdict: Any = verdict_of(question.public, question.text)
        ask = question.method(robot)
        with pytest.raises(rc.RecursaError) as refusal:
            ask(*(arrays[name] for name in question.names))
        if "without_constraints()" in str(refusal.value):
            assert verdict.instead in str(refusal.value), question.text
            assert robot.constraints[0].name in str(refusal.value), question.text
            refused.add(question.public)
        else:  # whatever the constraints are, as of a robot that does not fly freely, or a method for other joints
            with pytest.raises(type(refusal.value)):
                question.method(tree)(*(arrays[name] for name in question.names))
    assert len(refused) > 30


def test_everything_that_is_refused_is_refused_for_its_constraints_on_some_robot() -> None:
    robots = [robot_of(kind) for kind in ("anchored", "relation", "loop")]
    for question in questions_that(lambda verdict: isinstance(verdict, Refuses)):
        messages = []
        for robot in robots:
            arrays = {name: _first(x) for name, x in arguments(robot, 1).items()}
            with pytest.raises(rc.RecursaError) as refusal:
                question.method(robot)(*(arrays[name] for name in question.names))
            messages.append(str(refusal.value))
        verdict: Any = verdict_of(question.public, question.text)
        assert any(verdict.instead in message for message in messages), question.text


def _first(x: Any) -> Any:
    return tuple(part[0] for part in x) if isinstance(x, tuple) else x[0]


def test_records_say_the_same_as_the_table() -> None:
    """A quantity by the name of a public method: the record decides, and the table says so."""
    for record in quantities():
        verdict = ON_CONSTRAINTS.get(f"robot.{record.name}")
        if isinstance(verdict, Refuses):
            assert isinstance(record.on_constraints, Refusal), record
        elif verdict is not None and record.name != "state_space":  # which the method makes of another quantity
            assert record.on_constraints == (TREE if verdict == TREE else "obeys"), record


# ---- what obeys ------------------------------------------------------------------------------------------------------


def _two(robot: rc.Robot) -> list[str]:
    return [robot.model.joints[robot.nbodies // 2].child, tip_of(robot)]


def _accelerations(kind: str, robot: rc.Robot, dense: Dense, q: Any, v: Any, tau: Any) -> None:
    expected = dense.accelerations(tau)
    agrees(robot.forward_dynamics(q, v, tau), expected, "forward_dynamics")
    agrees(robot.forward_dynamics(q, v, tau, method="projection"), expected, "projection")
    a, links = robot.forward_dynamics(q, v, tau, links=True)
    agrees(a, expected, "forward_dynamics(links=True)")
    agrees(links, robot.accelerations(q, v, expected, "body", "spatial"), "forward_dynamics(links=True)", 1e-8)


def _derivatives(kind: str, robot: rc.Robot, dense: Dense, q: Any, v: Any, tau: Any) -> None:
    by_q, by_v, by_tau = robot.forward_dynamics_derivatives(q, v, tau)
    agrees(by_tau, dense.K, "by tau")
    step, changes = 1e-6, np.concatenate([np.eye(robot.nv), -np.eye(robot.nv)])

    def differences(moved: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
        ahead, behind = np.split(np.array([Dense(robot, *moved(step * x)).accelerations(tau) for x in changes]), 2)
        return (ahead - behind).T / (2.0 * step)

    agrees(by_q, differences(lambda x: (robot.integrate(q, x), v)), "by q", 1e-6)
    agrees(by_v, differences(lambda x: (q, v + x)), "by v", 1e-6)


def _operational(kind: str, robot: rc.Robot, dense: Dense, q: Any, v: Any, tau: Any) -> None:
    for frame in ("body", "mixed", "world"):
        J = {name: robot.jacobian(q, name, frame=frame) for name in robot.link_names}
        every = robot.operational_compliance(q, frame=frame)
        for name, found in zip(robot.link_names, every, strict=True):
            agrees(found, J[name] @ dense.K @ J[name].T, f"{name}, {frame}")
            agrees(robot.operational_compliance(q, name, frame=frame), found, f"{name}, {frame}")
            penrose(np.asarray(robot.operational_inertia(q, name, frame=frame)), found, f"{name}, {frame}")
        one, other = _two(robot)
        between = robot.operational_compliance_between(q, one, other, frame=frame)
        agrees(between, J[one] @ dense.K @ J[other].T, frame)
        stacked = np.concatenate([J[one], J[other]])
        both = robot.delassus(q, [one, other], frame=frame)
        agrees(both, stacked @ dense.K @ stacked.T, frame)
        penrose(np.asarray(robot.delassus_inverse(q, [one, other], frame=frame)), both, frame)


def _task(kind: str, robot: rc.Robot, dense: Dense, q: Any, v: Any, tau: Any) -> None:
    """``Lambda x'' + mu + p = F`` for what F moves, with the accelerations of the dense equations."""
    links, force = _two(robot), np.cos(np.arange(12.0))
    task = rc.operational.model(robot, links, q, v)
    a = dense.accelerations(task.jacobian.T @ force)
    moved = task.jacobian @ a + task.jacobian_derivative @ v
    agrees(task.mass @ moved + task.coriolis + task.gravity, task.movable @ force, "task", 1e-7)
    inverse = rc.operational.consistent_inverse(robot, links, q)
    agrees(inverse, dense.K @ task.jacobian.T @ np.asarray(task.mass), "inverse", 1e-7)


def _motors(kind: str, robot: rc.Robot, dense: Dense, q: Any, v: Any, tau: Any) -> None:
    a = dense.accelerations(tau)
    names = MOTORS.get(kind, robot.joint_names[1::2])
    found, residual = robot.actuator_torques(q, v, a, actuated=names)
    free = np.zeros((robot.nv, 0))
    for name in names:
        joint = robot.model.joints[robot.model.joint_index(name)]
        free = np.hstack([free, np.eye(robot.nv)[:, joint.v_start : joint.v_start + joint.kind.nv]])
    P = dense.Z @ dense.Z.T
    needed = P @ (dense.M @ a + dense.h)
    expected = free @ np.linalg.pinv(P @ free, rcond=1e-9) @ needed
    agrees(found, expected, "torques of motors", 1e-8)
    left = needed - P @ expected
    assert np.abs(residual - left).max() < 1e-8 * max(1.0, np.abs(dense.M @ a + dense.h).max())


def _compliance(kind: str, robot: rc.Robot, dense: Dense, q: Any, v: Any, tau: Any) -> None:
    agrees(robot.constrained_compliance(q), dense.K, "constrained_compliance")


def _delassus(kind: str, robot: rc.Robot, dense: Dense, q: Any, v: Any, tau: Any) -> None:
    if kind == "massless":
        return  # without the inverse of its mass matrix
    agrees(robot.constraint_delassus(q), dense.G @ np.linalg.solve(dense.M, dense.G.T), "constraint_delassus")


def _forces(kind: str, robot: rc.Robot, dense: Dense, q: Any, v: Any, tau: Any) -> None:
    agrees(robot.constraint_forces(q, v, tau), dense.forces(tau), "constraint_forces", 1e-8)


def _speeds(kind: str, robot: rc.Robot, dense: Dense, q: Any, v: Any, tau: Any) -> None:
    agrees(robot.project_velocity(q, tau), dense.K @ dense.M @ tau, "project_velocity")


Check = Callable[[str, rc.Robot, Dense, Any, Any, Any], None]
ORACLES: dict[str, Check] = {
    "robot.forward_dynamics": _accelerations,
    "robot.forward_dynamics_derivatives": _derivatives,
    "robot.constrained_compliance": _compliance,
    "robot.constraint_delassus": _delassus,
    "robot.constraint_forces": _forces,
    "robot.project_velocity": _speeds,
    "robot.actuator_torques": _motors,
    **{
        f"robot.{name}": _operational
        for name in (
            "operational_compliance", "operational_compliance_between", "operational_inertia", "delassus",
            "delassus_inverse",
        )
    },
    "operational.model": _task,
    "operational.consistent_inverse": _task,
}  # fmt: skip


@every_robot
@pytest.mark.parametrize("check", dict.fromkeys(ORACLES.values()), ids=lambda check: check.__name__)
def test_what_obeys_solves_the_dense_equations(kind: str, check: Check) -> None:
    robot, (q, v, tau) = robot_of(kind), state_of(kind)
    check(kind, robot, Dense(robot, q, v), q, v, tau)


@pytest.mark.parametrize("kind", ["loop", "anchored", "relation"])
def test_batches_and_single_precision_obey_as_single_states_do(kind: str) -> None:
    robot, (q, _, _) = robot_of(kind), state_of(kind)
    link = tip_of(robot)
    rows = np.stack([q, robot.assemble(robot.integrate(q, np.full(robot.nv, 0.05)))])
    many = robot.operational_compliance(rows, link), np.asarray(robot.operational_inertia(rows, link))
    for k, one in enumerate(rows):
        agrees(many[0][k], robot.operational_compliance(one, link), "compliance")
        agrees(many[1][k], np.asarray(robot.operational_inertia(one, link)), "inertia")
    single = robot.operational_compliance(rows.astype(np.float32), link)
    assert single.dtype == np.float32
    agrees(single, many[0], "in single precision", 2e-3)


@pytest.mark.interpreted(reason="six legs take long to compile")
def test_single_precision_has_the_ranks_of_double_precision() -> None:
    """Rounding of a compliance in single precision is larger than the limit of its eigenvalues."""
    robot = rc.robots.stewart()
    q = robot.assemble(robot.neutral())
    for link, rank in (("ring6", 1), ("cylinder6", 2), ("piston6", 3), ("platform", 6)):
        inertia, single = (robot.operational_inertia(x, link) for x in (q, q.astype(np.float32)))
        assert inertia.rank == single.rank == rank and single.dtype == np.float32
        agrees(np.asarray(single), np.asarray(inertia), "in single precision", 1e-4)


INVERSES = {"operational_inertia", "delassus_inverse", "model", "consistent_inverse"}


@pytest.mark.interpreted(reason="every question of every robot would compile code of its own")
@every_robot
def test_single_precision_is_answered_in_single_precision(kind: str) -> None:
    robot, (q, v, tau) = ROBOTS[kind](), state_of(kind)
    double = {"q": q, "v": v, "a": tau, "tau": tau}
    double = {name: np.stack([x, x]) for name, x in double.items()}
    single = each(double, lambda x: x.astype(np.float32))
    asked, answered = [*questions_that(lambda verdict: verdict == OBEYS), QUESTIONS["robot.state_space()"]], 0
    for question in (one for one in asked if not one.given):
        expected, found = (question.ask(robot, arrays) for arrays in (double, single))
        if isinstance(expected, type) or isinstance(found, type):
            assert found is expected, question.text
            continue
        answered += 1
        for name, numbers in expected.items():
            text = f"{question.text}: {name}"
            assert found[name].dtype == (np.float32 if numbers.dtype == np.float64 else numbers.dtype), text
            size = max(1.0, *(float(np.abs(x).max()) for x in expected.values()))
            if question.name not in INVERSES:  # a direction that hardly yields may count in double precision alone
                np.testing.assert_allclose(found[name], numbers, rtol=0.0, atol=1e-3 * size, err_msg=text)
    assert answered > 15


@pytest.mark.interpreted(reason="compiling its code takes half a minute")
def test_the_rank_of_an_anchored_foot_is_the_same_in_single_precision() -> None:
    """Three ways to turn, and what rounding leaves of the others is no direction of motion."""
    robot = rc.robots.standing_quadruped()
    q, foot = robot.assemble(robot.integrate(robot.neutral(), np.linspace(-0.1, 0.1, robot.nv))), "rear_right_foot"
    expected, found = robot.operational_inertia(q, foot), robot.operational_inertia(q.astype(np.float32), foot)
    assert expected.rank == found.rank == 3 and found.dtype == np.float32
    agrees(found, expected, "inertia of a foot", 1e-3)


def test_a_link_that_constraints_hold_has_no_inertia_to_show() -> None:
    """What is left of its compliance is rounding, which is no direction of motion."""
    held = rc.robots.five_bar().with_constraints(rc.Contact("surface", "left_coupler"))
    q = held.assemble(held.neutral() + 0.1)
    for link in ("tool", "left_crank", "right_coupler"):
        inertia = held.operational_inertia(q, link)
        assert inertia.rank == 0 and not np.asarray(inertia).any()
    assert held.delassus_inverse(q, ["tool", "right_crank"]).rank == 0


def test_formulas_with_the_constraints_in_them_are_answered() -> None:
    robot, (q, v, tau) = robot_of("relation"), state_of("relation")
    closed = "(inv(mass) - inv(mass) G_c* inv(G_c inv(mass) G_c*) G_c inv(mass)) (T - C)"
    agrees(rc.compile(closed, robot)(q, v, tau), Dense(robot, q, v).accelerations(tau), "closed formula")
    with pytest.raises(rc.NoSweepError, match="G_c"):
        rc.compile("inv(mass) (T - C)", robot)
    agrees(rc.compile("mass v", robot)(q, v), robot.mass_matrix(q) @ v, "of the tree")


def test_the_tree_behind_a_robot_is_made_once_and_has_its_answers() -> None:
    robot, (q, _, _) = robot_of("loop"), state_of("loop")
    tree = robot.evaluator.tree
    assert tree is robot.evaluator.tree and tree.tree is tree
    expected = tree_of("loop").mass_matrix_inverse(q)
    agrees(tree.evaluate(MASS_MATRIX_INVERSE, {"q": q}), expected, "inv(mass)", 1e-14)
    assert rc.robots.planar(2).evaluator.tree.model.ncon == 0


def test_parts_of_named_results_are_compared() -> None:
    """The comparison above sees every array of an answer that has several."""
    robot, (q, v, tau) = robot_of("loop"), state_of("loop")
    names = parts(robot.actuator_torques(q, v, tau, actuated=MOTORS["loop"])).keys()
    assert names == {"tau", "residual"}
