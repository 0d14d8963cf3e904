"""Matrices column by column: what does not wait for the vector comes first, and columns are what unit vectors make."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import recursa as rc
from looped_results import looped_result
from numeric import close, same_bits, states, tied_gripper
from random_plans import REAL, assert_same, plans, real_mixing
from recursa.denoc.inertia_and_convection import CONVECTIVE_TIMES, INERTIA_TIMES
from recursa.dynamics.factorization import SOLVE
from recursa.dynamics.gathering import columns_of, vector_of
from recursa.errors import UntraceableError
from recursa.kernels.kernel import Kernel
from recursa.kernels.loop import Looped
from recursa.kernels.observe import numbers_of
from recursa.kernels.staging import Unit, staged
from recursa.loading import trusted
from recursa.model.model import Model
from recursa.robots import random_description
from recursa.spatial.vec3 import Vec3
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, run
from zoo import ALL_KINDS, floating_tree_with_rotors

pytestmark = pytest.mark.compiled

UNIT = "joint:w"
MODELS = [
    trusted(random_description("staged", parents, 6, ALL_KINDS)).model
    for parents in ([-1], [-1, 0, 0, 1, -1], [-1, 0, 1, 1, 2, 0, 5])
]
SETTINGS = settings(max_examples=60, suppress_health_check=list(HealthCheck), phases=(Phase.generate,))
every_model = st.integers(0, len(MODELS) - 1)


def sizes(model: Model) -> dict[str, int]:
    return {"q": model.nq, "v": model.nv, UNIT: model.nv, "wrench": 6 * len(model.links), "tip:f": 6}


def inputs_of(model: Model, seed: int = 1) -> dict[str, list[float]]:
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(-1.0, 1.0, size).tolist() for name, size in sizes(model).items()}


def written(plan: Plan) -> list[str]:
    return sorted({name.partition("@")[0] for s in plan.sweeps for step in s.steps for name in step.writes})


def numbers(values: Any, names: list[str]) -> list[Any]:
    items = [item for name in names for item in ([values.robot[name]] if name in values.robot else values[name])]
    return [x for item in items for x in numbers_of(item)]


# ---- splitting a plan ------------------------------------------------------------------------------------------------


@SETTINGS
@given(data=st.data(), number=every_model)
def test_any_plan_staged_matches_itself(data, number):
    model = MODELS[number]
    plan = data.draw(plans(model, numbers=REAL))
    later, _ = staged(plan, UNIT)
    assert_same(plan, run(later, model, inputs_of(model)), run(plan, model, inputs_of(model)))
    assert sum(len(s.steps) for s in later.sweeps) == sum(len(s.steps) for s in plan.sweeps)


@SETTINGS
@given(data=st.data(), number=every_model)
def test_what_comes_first_does_not_depend_on_the_vector(data, number):
    model = MODELS[number]
    plan = data.draw(plans(model, numbers=REAL))
    later, first = staged(plan, UNIT)
    early = Plan("early", plan.buffers, later.sweeps[:first], plan.target)
    assert UNIT not in early.inputs
    inputs = inputs_of(model)
    before = run(early, model, inputs)
    late = {name.partition("@")[0] for s in later.sweeps[first:] for step in s.steps for name in step.writes}
    kept = [name for name in written(early) if name not in late]
    for other in (inputs, inputs | {UNIT: inputs_of(model, 2)[UNIT]}):
        assert numbers(run(plan, model, other), kept) == numbers(before, kept)


def test_what_a_waiting_step_reads_is_not_changed_before_it():
    """The last sweep does not wait for the vector itself; but what it changes has been read by a step that does.

    So it comes after that one, for every column, and the first sweep again before it.
    """

    def step(reads: str, writes: str) -> Step:
        return Step(real_mixing(1, len(reads.split()), 1), tuple(reads.split()), (writes,))

    sweeps = (base_to_tip(step("q", "A")), base_to_tip(step(f"{UNIT} A", "B")), base_to_tip(step("v", "A")))
    plan = Plan("changing", (Buffer("A", Vec3.zero()), Buffer("B", Vec3.zero())), sweeps)
    later, first = staged(plan, UNIT)
    assert (later, first) == (plan, 0)


def test_a_vector_that_nobody_reads_waits_for_nothing():
    plan, first = staged(SOLVE, "joint:unknown")
    assert (plan, first) == (SOLVE, len(SOLVE.sweeps))


# ---- columns ---------------------------------------------------------------------------------------------------------


def by_columns(what: Looped, model: Model, rows: dict[str, np.ndarray]) -> np.ndarray:
    """The result of a kernel, (B, m, count)."""
    assert what.unit is not None
    own = {name: x.shape[1] for name, x in rows.items()}
    kernel = Kernel(what.plan, model, own, what.gather, form="loop", looped=what)
    one = {name: x[0].tolist() for name, x in rows.items()} | {what.unit.name: [0.0] * what.unit.count}
    shape = len(list(what.gather(run(what.plan, model, one)))), what.unit.count
    out = np.full((len(next(iter(rows.values()))), shape[0] * shape[1]), np.nan)
    kernel(rows, out)
    return out.reshape(len(out), *shape)


@settings(SETTINGS, max_examples=20)
@given(data=st.data(), number=every_model)
def test_columns_of_any_plan_are_what_unit_vectors_make(data, number):
    model = MODELS[number]
    plan = data.draw(plans(model, numbers=REAL))
    assume(UNIT in plan.inputs)
    what = Looped(plan, lambda values: numbers(values, written(plan)), Unit(UNIT, model.nv))
    inputs = {name: x for name, x in inputs_of(model).items() if name != UNIT}
    try:
        found = by_columns(what, model, {name: np.array([x]) for name, x in inputs.items()})
    except UntraceableError:  # as loops over bodies may say of any plan
        assume(False)
    close(found.ravel(), looped_result(what, model, inputs), 1e-12)


COLUMNS = {
    "inverse": (SOLVE, "qdd", "tau"),
    "masses": (INERTIA_TIMES, "T", "a"),
    "convective": (CONVECTIVE_TIMES, "T", "a"),
}
ROBOTS = {
    "chain14": lambda: rc.robots.chain(14, seed=2, joints="mixed"),
    "floating": floating_tree_with_rotors,
    "tree20": lambda: rc.robots.tree(20, seed=2),
    "tied_gripper": tied_gripper,
}


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("what", COLUMNS)
def test_columns_are_the_batch_of_unit_vectors(what, name):
    """To the bit: the same arithmetic, part of it done once."""
    model = ROBOTS[name]().model
    plan, result, unit = COLUMNS[what]
    looped = columns_of(model, plan, result, unit)
    q, v, _ = states(ROBOTS[name](), 5, seed=2)
    rows = {key: x for key, x in {"q": q, "v": v}.items() if key in plan.inputs}
    found = by_columns(looped, model, rows)
    every = {name: np.repeat(x, model.nv, axis=0) for name, x in rows.items()}
    every[unit] = np.tile(np.eye(model.nv), (5, 1))
    own = {key: x.shape[1] for key, x in every.items()}
    out = np.full((5 * model.nv, model.nv), np.nan)
    Kernel(plan, model, own, vector_of(model, result), form="loop")(every, out)
    same_bits(found, np.swapaxes(out.reshape(5, model.nv, model.nv), 1, 2))


def test_what_does_not_wait_is_counted_once():
    model = rc.robots.chain(20, seed=1).model
    once, columns = (
        Kernel(SOLVE, model, sizes, vector_of(model, "qdd"), form="loop", looped=looped).operations
        for sizes, looped in (({"q": 20, "tau": 20}, None), ({"q": 20}, columns_of(model, SOLVE, "qdd", "tau")))
    )
    assert columns.trig == once.trig == 38  # the first angle does not matter
    assert columns.div == once.div == 19  # at the tip it is a constant
    assert once.mul < columns.mul < 10 * once.mul  # of twenty columns
