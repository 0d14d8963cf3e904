"""Which form of code a robot's quantity has by itself: the one that is estimated to cost less."""

from __future__ import annotations

import pytest

import recursa as rc
from recursa.evaluation.resolved_quantity import Question, ResolvedQuantity
from recursa.kernels import kernel
from recursa.kernels.graph import Graph
from recursa.quantities import quantity


def chosen(robot: rc.Robot, what: str, form: str | None = None) -> kernel.Program:
    question = Question.of(quantity(what), (), {})
    asked = robot.evaluator.resolve(question)
    assert isinstance(asked, ResolvedQuantity)
    return asked.program(form)


@pytest.mark.parametrize(
    ("robot", "what", "form"),
    [
        (rc.robots.chain(3), "regressor", "straight"),
        (rc.robots.chain(8), "coriolis_matrix", "straight"),
        (rc.robots.chain(8), "regressor", "loop"),  # fewer operations by walks, and the line would be very long
        (rc.robots.chain(13), "mass_matrix", "straight"),
        (rc.robots.chain(13), "coriolis_matrix", "loop"),
        (rc.robots.tree(40, seed=1), "gravity_forces", "straight"),
        (rc.robots.chain(30), "forward_dynamics", "loop"),
        (rc.robots.chain(65), "gravity_forces", "loop"),
    ],
)
def test_form_matches_the_measured_one(robot: rc.Robot, what: str, form: str) -> None:
    assert chosen(robot, what).form == form


@pytest.mark.parametrize("n", [8, 13, 20])
@pytest.mark.parametrize("what", ["mass_matrix", "forward_dynamics"])
def test_chosen_form_costs_no_more_than_the_other(n: int, what: str) -> None:
    robot = rc.robots.chain(n)
    least = min(kernel._cost(chosen(robot, what, form)) for form in kernel.FORMS)
    assert kernel._cost(chosen(robot, what)) == least


def test_line_that_cannot_win_is_not_traced_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []
    original = Graph.__init__

    def noted(self: Graph, limit: float = float("inf")) -> None:
        limits.append(limit)
        original(self, limit)

    monkeypatch.setattr(Graph, "__init__", noted)
    assert chosen(rc.robots.chain(20), "inverse_dynamics_derivatives").form == "loop"
    assert set(limits) == {float("inf")}  # those of classes and results; no straight line was begun
    chosen(rc.robots.chain(20), "mass_matrix")
    assert min(limits) < kernel.MAX_NODES
