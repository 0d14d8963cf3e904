"""Random plans, with sweeps over some bodies and links only: interpreted, in straight lines and as loops they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from numeric import close
from random_plans import REAL, plans, real_mixing
from recursa.errors import UntraceableError
from recursa.kernels import programs
from recursa.kernels.kernel import Kernel
from recursa.kernels.observe import numbers_of
from recursa.loading import trusted
from recursa.model.model import Model
from recursa.robots import random_description
from recursa.spatial.vec3 import Vec3
from recursa.sweeps import (
    Buffer,
    Plan,
    Step,
    Sweep,
    base_to_tip,
    each_link,
    each_two_apart,
    from_each_inward,
    run,
    tip_to_base,
)
from zoo import ALL_KINDS, with_soaks

pytestmark = pytest.mark.compiled


def mixed_tree(count: int, seed: int, *, floating: bool = False) -> Model:
    """A tree with several branches at the world, or on a free base, and joints of all kinds."""
    rng = np.random.default_rng(seed)
    parents = [-1, *(int(rng.integers(0 if floating else -1, k)) for k in range(1, count))]
    found = random_description("tree", parents, seed, ALL_KINDS)
    base = random_description("tree", [-1], seed, ["free"] if floating else [found.joints[0].kind])
    return trusted(replace(found, joints=(base.joints[0], *found.joints[1:]))).model


MODELS = {
    "13 bodies": mixed_tree(13, 8),
    "19 bodies, floating": mixed_tree(19, 5, floating=True),
    "40 bodies": mixed_tree(40, 3),
}


LONG = 800  # operations in a straight line that take long to compile


@pytest.fixture(autouse=True, scope="module")
def _poisoned():
    """What is read before it is stored is not a number, so that it cannot be right by chance."""
    with pytest.MonkeyPatch.context() as patch:

        def poisoned(size, kind, empty=programs.aligned):
            scratch = empty(size, kind)
            scratch[:] = np.nan
            return scratch

        patch.setattr(programs, "aligned", poisoned)
        yield


def sizes(model: Model) -> dict[str, int]:
    links = len(model.links)
    return {"q": model.nq, "v": model.nv, "joint:w": model.nv, "wrench": 6 * links, "tip:f": 6, "base_acceleration": 6}


def assert_forms_agree(
    plan: Plan, model: Model, kept: Sequence[str], *, states: int = 1, refusing: bool = False
) -> None:
    """The numbers of some buffers, in every form; loops may refuse a plan only where a test says so."""
    rng = np.random.default_rng(1)
    rows = {name: rng.uniform(-1.0, 1.0, (states, size)) for name, size in sizes(model).items()}

    def gather(values):
        for name in kept:
            items = [values.robot[name]] if name in values.robot else values.lists.get(name, [])
            for item in items:
                yield from numbers_of(item)

    inputs = [{name: [float(x) for x in row[k]] for name, row in rows.items()} for k in range(states)]
    expected = np.array([list(gather(run(plan, model, one))) for one in inputs])
    for form in ("straight", "loop"):
        try:
            kernel = Kernel(plan, model, sizes(model), gather, form=form)
        except UntraceableError as error:
            assert refusing and form == "loop", error
            continue
        if form == "straight" and kernel.operations.total > LONG:
            continue
        found = np.full_like(expected, np.nan)
        kernel(rows, found)
        close(found, expected, 1e-12, form)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=20, suppress_health_check=list(HealthCheck), phases=(Phase.generate,))  # shrinking takes long
@given(data=st.data())
def test_any_plan_agrees_in_every_form(name, data):
    model = MODELS[name]
    plan = data.draw(plans(model, numbers=REAL))
    written = sorted({buffer.partition("@")[0] for sweep in plan.sweeps for s in sweep.steps for buffer in s.writes})
    kept = [data.draw(st.sampled_from(written))] if written and data.draw(st.booleans()) else written
    if kept:
        assert_forms_agree(plan, model, kept, refusing=True)


# ---- what loops once got wrong, case by case ---------------------------------------------------------------------


def step(reads: str, writes: str, seed: int = 1) -> Step:
    read, written = tuple(reads.split()), tuple(writes.split())
    return Step(real_mixing(seed, len(read), len(written)), read, written)


def about(model: Model) -> dict[str, tuple[Sweep, ...]]:
    """Sweeps by what they are an example of; the buffers are A, B, C and D. Walks of B begin with A."""
    path = model.support(max(range(model.nbodies), key=lambda k: len(model.support(k))))
    beside = tuple(k for k in range(model.nbodies) if k not in path)
    some = tuple(range(0, model.nbodies, 2))
    pairs = tuple(k for k in range(len(model.pairs)) if k % 5 != 2)  # some walks begin late, some have a gap
    apart = tuple(range(0, len(model.apart), 3))
    links = tuple(range(0, len(model.links), 3))
    own, inward = base_to_tip(step("q", "A")), tip_to_base(step("A", "A@parent"))
    return {
        "sums into bodies that the sweep does not visit": (
            own,
            tip_to_base(step("A", "A@parent"), only=beside),
            base_to_tip(step("A", "B")),
        ),
        "sums from some children only": (
            own,
            tip_to_base(step("A q", "A@parent"), only=some),
            base_to_tip(step("A", "B")),
        ),
        "sums along a path that ends before the tips": (
            own,
            tip_to_base(step("A", "A@parent"), only=path[:-1]),
            base_to_tip(step("A", "B"), only=path),
        ),
        "sums of two sweeps": (
            own,
            inward,
            tip_to_base(step("v", "A@parent"), only=beside),
            base_to_tip(step("A", "B")),
        ),
        "two steps that add to the same": (
            own,
            tip_to_base(step("A", "B@parent"), step("v", "B@parent", 2)),
            base_to_tip(step("B", "A")),
        ),
        "two steps that add to the robot": (base_to_tip(step("q", "A@robot"), step("v", "A@robot", 2)),),
        "a parent that only an earlier sweep changed": (
            own,
            base_to_tip(step("v", "A", 2), only=some),
            base_to_tip(step("A@parent", "B")),
        ),
        "a parent that nobody changed": (
            base_to_tip(step("q", "A"), only=beside),
            base_to_tip(step("A@parent v", "B")),
        ),
        "a child that only an earlier sweep changed": (
            own,
            base_to_tip(step("v", "A", 2), only=some),
            tip_to_base(step("A@child q", "B"), only=path),
        ),
        "links of bodies that only some sweeps changed": (
            own,
            tip_to_base(step("v", "A", 2), only=path),
            each_link(step("A@body", "B")),
        ),
        "links of bodies without children to add to them": (
            tip_to_base(step("q", "A@parent")),
            each_link(step("A@body", "B")),
        ),
        "sums of some links": (own, each_link(step("wrench", "A@body"), only=links), base_to_tip(step("A", "B"))),
        "sums over links twice": (
            own,
            each_link(step("wrench", "A@body")),
            each_link(step("offset", "A@body"), only=links),
            base_to_tip(step("A", "B")),
        ),
        "two steps that add to a link's body": (
            own,
            each_link(step("wrench", "A@body"), step("offset", "A@body", 2)),
            base_to_tip(step("A", "B")),
        ),
        "a parent to which links have added": (
            own,
            each_link(step("wrench", "A@body")),
            base_to_tip(step("A@parent", "B")),
        ),
        "walks that carry what they began with": (
            own,
            from_each_inward(step("B@carried A@here", "B")),
        ),
        "what is carried before the step that changes it": (
            own,
            from_each_inward(step("B@carried A@start", "B C"), step("B", "B", 2)),
        ),
        "what an earlier walk carried": (
            own,
            from_each_inward(step("B@carried A@here", "B")),
            from_each_inward(step("B@carried A@here", "C")),
        ),
        "what several walks carried": (
            own,
            from_each_inward(step("B@carried A@here", "B")),
            from_each_inward(step("B@carried A@start", "B", 2)),
            from_each_inward(step("B@carried", "C")),
        ),
        "walks that begin with what a later sweep changed": (
            own,
            base_to_tip(step("v", "A", 2), only=some),
            from_each_inward(step("B@carried A@here", "B")),
        ),
        "walks again, over some pairs": (
            own,
            from_each_inward(step("B@carried", "B")),
            from_each_inward(step("B A@start", "B", 2), only=some),
            from_each_inward(step("B A@here", "C")),
        ),
        "walks over some pairs that carry what came past": (
            own,
            from_each_inward(step("B@carried A@here", "B"), only=pairs),
        ),
        "some bodies on different branches": (
            own,
            from_each_inward(step("B@carried A@here", "B")),
            each_two_apart(step("B@left B@right", "C"), only=apart),
        ),
        "walks at bodies to which children have added": (
            own,
            inward,
            from_each_inward(step("A@start A@here", "B")),
        ),
        "sums over pairs": (own, from_each_inward(step("A@start A@here", "B@robot"))),
        "sums over pairs that bodies read": (
            own,
            from_each_inward(step("A@start A@here", "B@robot")),
            base_to_tip(step("A B@robot", "C")),
        ),
        "bodies on different branches": (
            own,
            from_each_inward(step("B@carried A@here", "B")),
            each_two_apart(step("B@left B@right", "C")),
        ),
        "bodies on different branches, with pairs that only some sweeps visit": (
            own,
            from_each_inward(step("B@carried A@here", "B")),
            from_each_inward(step("B", "B", 2), only=some),
            each_two_apart(step("B@left B@right", "C"), step("C", "D@robot")),
        ),
        "links that only some sweeps visit": (
            each_link(step("wrench", "A")),
            each_link(step("offset", "A", 2), only=links),
            each_link(step("A", "B")),
        ),
    }


@pytest.mark.parametrize("what", about(MODELS["13 bodies"]))
@pytest.mark.parametrize("name", with_soaks(MODELS, ["13 bodies", "19 bodies, floating"]))
def test_loops_agree_about(name, what):
    model = MODELS[name]
    begins = {"B": "A"}
    buffers = [Buffer(name, Vec3(0.1 * k, 0.0, 1.0 - k), begins=begins.get(name)) for k, name in enumerate("ABCD", 1)]
    plan = Plan(what, tuple(buffers), about(model)[what])
    kept = {one.partition("@")[0] for sweep in plan.sweeps for s in sweep.steps for one in s.writes}
    for names in (sorted(kept), [max(kept)]):  # what is no result need not be stored
        assert_forms_agree(plan, model, names, states=19)  # several blocks: sums begin anew in each
        assert_forms_agree(plan, model, names)  # one state, which pairs write into the result themselves


def test_what_waits_for_a_visit_is_refused_to_others():
    """A body's links ask for a sum while the body itself has not been visited since."""
    model = MODELS["13 bodies"]
    sweeps = (base_to_tip(step("q", "A")), each_link(step("wrench", "A@body")), each_link(step("A@body", "B")))
    plan = Plan("waiting", (Buffer("A", Vec3.zero()), Buffer("B", Vec3.zero())), sweeps)
    with pytest.raises(UntraceableError, match="cannot read 'A' of a body between a sum and the body's next visit"):
        Kernel(plan, model, sizes(model), lambda values: [x for v in values["B"] for x in v], form="loop")
    assert_forms_agree(plan, model, ["B"], refusing=True)
