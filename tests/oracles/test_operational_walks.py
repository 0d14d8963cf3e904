"""Blocks of the operational compliance between links of large robots by walks: against dense algebra, and counted."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import recursa as rc
from dense_robot import DenseRobot
from looped_results import looped_result
from numeric import close, same_bits, states
from questions import answered, interpreted, kernel_used
from recursa.evaluation.evaluator import Evaluator
from recursa.evaluation.resolved_quantity import Question
from recursa.kernels.loop import LoopProgram
from recursa.kernels.writer import Shape
from recursa.loading import trusted
from recursa.operational.operational_quantities import DELASSUS, OPERATIONAL_COMPLIANCE_BETWEEN, selected_links
from recursa.robots import random_description
from zoo import ALL_KINDS, flyer, one_of_each

FRAMES = ("body", "mixed", "world")
ROWS = {0: "twist", 1: "position", 2: (2, 4), 3: "orientation"}  # one after the other


def forked() -> rc.Robot:
    """Frames beside each other on some links."""
    robot = rc.robots.tree(20, branching=2, seed=4)
    for number, link in enumerate(("link9", "link9", "link14")):
        robot = robot.with_frame(f"tool{number}", link, xyz=(0.1 * number, 0.2, -0.1), rpy=(0.3, 0.1 * number, 0.0))
    return robot


ROBOTS: dict[str, Callable[[], rc.Robot]] = {
    "chain13": lambda: rc.robots.chain(13, seed=1, joints="mixed"),
    "forked": forked,
    "one_of_each": one_of_each,
    "flyer19": lambda: flyer("flyer19", [-1, 0, 0, 1, 1, 2, 3, 3, 5, 0, 9, 10, 11, 11, 4, 14, 15, 15, 7], 5, ALL_KINDS),
    "tree40": lambda: rc.robots.tree(40, branching=3, seed=3),
    "tree70": lambda: rc.robots.tree(70, branching=2, seed=3),
}


@cache
def robot_named(name: str) -> rc.Robot:
    return ROBOTS[name]()


@cache
def rows_of(name: str) -> tuple[dict[str, Any], np.ndarray]:
    """Links at the ends, in between, and of the base, with rows of all kinds; some states."""
    robot = robot_named(name)
    chosen = dict.fromkeys([*robot.link_names[-3:], *robot.link_names[:: max(1, len(robot.link_names) // 4)]])
    return {link: ROWS[k % len(ROWS)] for k, link in enumerate(chosen)}, states(robot, 3, seed=5)[0]


def expected(robot: rc.Robot, q: np.ndarray, rows: dict[str, Any], frame: str) -> np.ndarray:
    """``J inv(mass) J*`` with the dense mass matrix and Jacobians by the interpreter."""
    numbers, chosen = selected_links(robot.model, list(rows), rows)
    jacobians = [
        interpreted(lambda q, link=link: robot.jacobian(q, link, frame=frame), q)[list(chosen[number])]
        for number, link in zip(numbers, rows, strict=True)
    ]
    jacobian = np.concatenate(jacobians)
    return jacobian @ np.linalg.solve(DenseRobot(robot, q).mass_matrix(), jacobian.T)


def question(robot: rc.Robot, rows: dict[str, Any], frame: str) -> Question:
    numbers, chosen = selected_links(robot.model, list(rows), rows)
    options = {"links": numbers, "rows": tuple(chosen[k] for k in numbers), "frame": frame}
    return Question.of(DELASSUS, (), options)


def tolerance(robot: rc.Robot, q: np.ndarray) -> float:
    return max(1e-12, 1e-15 * float(np.linalg.cond(DenseRobot(robot, q).mass_matrix())))


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("name", ROBOTS)
def test_walks_match_dense_algebra(name, frame):
    robot, (rows, q) = robot_named(name), rows_of(name)
    with answered("loop"):
        found = robot.delassus(q, list(rows), coordinates=rows, frame=frame)
        same_bits(robot.delassus(q[1], list(rows), coordinates=rows, frame=frame), found[1])
    recipe = robot.evaluator.resolve(question(robot, rows, frame)).recipe
    by_plan = looped_result(recipe.looped, robot.model, {"q": q[1]}).reshape(recipe.shape)
    wanted, limit = expected(robot, q[1], rows, frame), tolerance(robot, q[1])
    close(found[1], wanted, limit, "as a kernel")
    close(by_plan, wanted, limit, "as a plan")
    same_bits(found, found.swapaxes(-1, -2), "symmetric")


def test_between_two_links_is_a_block_of_the_matrix():
    robot = robot_named("tree70")
    q, (one, other) = states(robot, 2, seed=1)[0], ("link70", "link41")
    both = robot.delassus(q, [one, other], frame="world")
    close(robot.operational_compliance_between(q, one, other, frame="world"), both[:, :6, 6:], 1e-13)
    assert kernel_used(robot, OPERATIONAL_COMPLIANCE_BETWEEN, link=one, other=other, frame="world").form == "loop"


def test_single_states_go_straight_in(monkeypatch):
    """The second call in a spelling is answered by a native entry, and works nothing out."""
    robot = robot_named("tree70")
    q, links = states(robot, 2, seed=2)[0], ["link70", "link41"]
    both = robot.delassus(q, links)
    same_bits(robot.delassus(q[0], links), both[0])
    monkeypatch.setattr(Evaluator, "_evaluated", None)
    same_bits(robot.delassus(q[1], links), both[1])
    same_bits(robot.delassus(q[1].tolist(), links), both[1])
    monkeypatch.undo()
    same_bits(robot.delassus(q, links), both)
    with pytest.raises(rc.ShapeError):
        robot.delassus(q[0, 1:], links)


def test_links_of_different_trees_and_of_the_world_do_not_feel_each_other():
    robot = trusted(random_description("forest", [-1, 0, 1, -1, 3, 4, 5, -1, 7, 8, 9, 10, 11], 4, ["revolute"]))
    q = states(robot, 1, seed=1)[0][0]
    with answered("loop"):
        found = robot.delassus(q, [robot.link_names[0], robot.link_names[1], robot.link_names[-1]])
    assert not found[:6].any()
    assert not found[6:12, 12:].any()
    assert found[6:12, 6:12].any()
    assert found[12:, 12:].any()


# ---- cost ------------------------------------------------------------------------------------------------------------


def program(robot: rc.Robot, *links: int) -> LoopProgram:
    """Positions of some links."""
    recipe = robot.evaluator.resolve(question(robot, {f"link{k}": "position" for k in links}, "body")).recipe
    return LoopProgram(recipe.looped, robot.model, {"q": robot.nq})


def test_each_hinge_on_the_way_costs_twelve_multiplications_for_every_column():
    chain = rc.robots.chain(60, seed=2)
    counted = [program(chain, 50, inner).operations.mul for inner in (10, 20, 30)]
    assert np.diff(counted).tolist() == [-10 * 3 * 12] * 2


def test_each_entry_across_branches_costs_six_multiplications():
    """Arms of five bodies on one body: what they cost is linear in their number, but for the blocks between them."""
    counted = []
    for arms in (2, 3, 4):
        parents = [-1, *(0 if k % 5 == 0 else k for k in range(5 * arms))]
        robot = trusted(random_description("arms", parents, 1, ["revolute"]))
        counted.append(program(robot, *range(6, 5 * arms + 2, 5)).operations.mul)
    assert np.diff(counted, 2).tolist() == [9 * 6]


def test_code_does_not_grow_with_the_robot():
    programs = [program(rc.robots.chain(n, seed=2), n - 1, 10) for n in (30, 60)]
    assert programs[0].ir(Shape(4)) == programs[1].ir(Shape(4))
