"""What results declare that kernels may move for them: evaluated with and without, over every question there is."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import recursa as rc
from expressions import expressions, leaves, products
from looped_results import looped_result
from numeric import tied_gripper
from questions import QUESTIONS, arguments, each, interpreted
from recursa.errors import NoSweepError
from recursa.evaluation.resolved_quantity import ResolvedQuantity
from recursa.kernels.dispatch import KernelStore
from recursa.kernels.kernel import Gather
from recursa.kernels.loop import Looped
from recursa.model.may_move import MayMove
from recursa.model.model import Model
from recursa.operators.expression import Expression
from recursa.sweeps import Plan, run
from zoo import closed_tree, floating_tree_with_rotors, small_mixed_tree, with_soaks

pytestmark = pytest.mark.compiled

ROBOTS = {
    "stanford": rc.robots.stanford,
    "tree": lambda: rc.robots.tree(7, branching=2, seed=3),
    "small_mixed_tree": small_mixed_tree,
    "floating_tree_with_rotors": floating_tree_with_rotors,
    "tied_gripper": tied_gripper,
    "closed_tree": closed_tree,
}


class Wanted(NamedTuple):
    """A kernel that a question asked for: what it computes, and what the plain plan for that is."""

    plan: Plan
    plain: Plan
    store: KernelStore
    sizes: dict[str, int]
    gather: Gather
    looped: Looped | None

    def entries(self, model: Model, inputs: dict[str, list[float]], plan: Plan | None = None) -> np.ndarray:
        return np.array(list(self.gather(run(plan or self.plan, model, inputs))), float)


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch) -> list[Wanted]:
    """The kernels asked for so far. None is made, so that every other way to the answer is tried too."""
    found: list[Wanted] = []
    plain: dict[int, Plan] = {}

    def note(
        self: KernelStore,
        plan: Plan,
        key: Hashable,
        sizes: dict[str, int],
        gather: Gather,
        looped: Looped | None = None,
        *,
        single: bool = False,
    ) -> None:
        if self._kernels.setdefault(self._full(key, tuple(sizes), single), made := (plan, None)) is made:
            found.append(Wanted(plan, plain.get(id(plan), plan), self, dict(sizes), gather, looped))

    def answered(self: ResolvedQuantity, *args: Any) -> Any:
        plain[id(self.compiled_plan)] = self.recipe.plan
        return answer(self, *args)

    answer = ResolvedQuantity.answer
    monkeypatch.setattr(KernelStore, "kernel", note)
    monkeypatch.setattr(ResolvedQuantity, "answer", answered)
    return found


def asked(robot: rc.Robot, wanted: list[Wanted], only: Container[str] | None = None) -> Iterator[tuple[str, Wanted]]:
    """Every kernel that is asked for, and by which question first; of all questions or of some."""
    values = each(arguments(robot, 1), lambda rows: rows[0])
    for text, question in QUESTIONS.items():
        if only is not None and text not in only:
            continue
        wanted.clear()
        question.ask(robot, values)  # not every question is for every robot: some are refused
        yield from ((text, one) for one in tuple(wanted))
    simple = not robot.evaluator.subject.tied and not robot.constraints and only is None
    for coordinates in ("joint", "diagonal") if simple else ():
        wanted.clear()
        robot.simulate(*robot.random_state(0), duration=0.002, coordinates=coordinates, progress=False)
        yield from ((f"simulate(coordinates={coordinates!r})", one) for one in tuple(wanted))


def inputs_of(robot: rc.Robot, sizes: dict[str, int]) -> dict[str, list[float]]:
    """Random inputs of a kernel; inertial parameters near the robot's own."""
    rng = np.random.default_rng(3)
    own = np.concatenate([inertia.components() for inertia in robot.model.inertias])
    given = {"q": robot.random_state(rng)[0], "q1": robot.random_state(rng)[0], "parameters": own}
    return {name: list(map(float, given.get(name, rng.normal(size=size)))) for name, size in sizes.items()}


def differ(one: np.ndarray, other: np.ndarray) -> bool:
    """More than by rounding, relative to the largest entry."""
    return bool(one.size) and not np.abs(one - other).max() <= 1e-9 * max(1.0, np.abs(one).max())


@pytest.mark.parametrize("name", with_soaks(ROBOTS, set(ROBOTS) - {"small_mixed_tree", "tree"}))
def test_results_do_not_depend_on_what_may_move(name, wanted):
    robot = ROBOTS[name]()
    moved: set[MayMove] = set()
    looped: set[str] = set()
    for question, one in asked(robot, wanted):
        inputs = inputs_of(robot, one.sizes)
        expected = one.entries(one.store.model, inputs, one.plain)
        says = f"says that {one.store.may_move.value} may move"
        found = one.entries(one.store.compiled_model, inputs)
        assert not differ(expected, found), f"{question}: {one.plan.name!r} {says}"
        if one.looped is not None:
            found = looped_result(one.looped, one.store.compiled_model, inputs)
            assert not differ(expected, found), f"{question}: {one.looped.plan.name!r} {says}"
            looped.add(one.looped.plan.name)
        moved.add(one.store.may_move)
    assert moved >= {MayMove.NOTHING, MayMove.INERTIAS}
    assert {"mass_matrix by walks", "regressor by walks"} <= looped
    assert ("inverse_dynamics_second_derivatives by walks" in looped) != bool(robot.constraints)  # where it is refused


HELD_BACK = {  # what would change if more were moved for it, and what it declares
    "unnormalized.coriolis_causes()": MayMove.FRAMES,
    "denoc.convective_matrix()": MayMove.FRAMES,
    "robot.reaction_wrenches()": MayMove.NOTHING,
    "robot.regressor()": MayMove.NOTHING,
    "robot.factorization()": MayMove.NOTHING,
    "diagonal.articulated_rates()": MayMove.NOTHING,
}


@pytest.mark.parametrize("name", ["stanford", "tree"])
def test_results_that_would_change_say_so(name, wanted):
    """The comparison above notices a result that declares too much."""
    robot = ROBOTS[name]()
    first = dict(reversed(list(asked(robot, wanted, HELD_BACK))))
    assert {question: one.store.may_move for question, one in first.items()} == HELD_BACK
    for question, one in first.items():
        inputs = inputs_of(robot, one.sizes)
        expected = one.entries(robot.model, inputs)
        assert differ(expected, one.entries(MayMove.INERTIAS.moved(robot.model), inputs)), question


def test_arguments_in_frames_keep_everything_in_place(wanted):
    """Inertial parameters and the base's acceleration are given in frames that must then stay where they are."""
    robot = rc.robots.stanford()
    state = robot.random_state(0)
    own = np.concatenate([inertia.components() for inertia in robot.model.inertias])
    for options in ({"parameters": own}, {"base_acceleration": np.ones(6)}):
        for method in ("newton-euler", "denoc"):
            robot.inverse_dynamics(*state, state[1], method=method, **options)
    robot.forward_dynamics(*state, state[1], parameters=own)
    assert len(wanted) == 6  # with the hinge inertias of such parameters
    assert {one.store.may_move for one in wanted} == {MayMove.NOTHING}


def assert_free_of_what_may_move(robot: rc.Robot, expression: Expression) -> MayMove | None:
    """Of an operator expression; what it declares, or None if there is no code for it."""
    try:
        f = rc.compile(expression)
    except NoSweepError:
        return None
    sizes = {"q": robot.nq, "v": robot.nv} | {key: x.space.size for key, x in f._vectors.items()}
    inputs = inputs_of(robot, sizes) | {key: list(map(float, x)) for key, x in f.lowered.constants.items()}
    plain, moved = (
        np.array(list(f.lowered.entries(run(f.plan, model, inputs))), float) for model in (robot.model, f.kernel_model)
    )
    assert not differ(plain, moved), expression
    return f._resolved.kernels.may_move


@pytest.mark.parametrize("name", ["stanford", "small_mixed_tree"])
def test_expressions_do_not_depend_on_what_may_move(name):
    robot = ROBOTS[name]()
    found = {**leaves(robot), **products(robot)}.values()
    declared = {assert_free_of_what_may_move(robot, expression) for expression in found}
    assert declared >= {MayMove.NOTHING, MayMove.FRAMES, MayMove.INERTIAS}


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_expressions_do_not_depend_on_what_may_move(data):
    robot = rc.robots.tree(4, branching=2, seed=2)
    assert_free_of_what_may_move(robot, data.draw(expressions(robot.operators)))


@pytest.mark.parametrize("name", ["stanford", "small_mixed_tree"])
def test_causes_of_coriolis_forces_match_the_interpreter(name):
    robot = ROBOTS[name]()
    q, xi = robot.random_state(0)
    expected = interpreted(robot.diagonal.unnormalized.coriolis_causes, q, xi)
    found = robot.diagonal.unnormalized.coriolis_causes(q, xi)
    for cause, term, plain in zip(found._fields, found, expected, strict=True):
        assert np.abs(term - plain).max() <= 1e-12 * np.abs(plain).max(), cause
