"""What holds of every plan that is fused: random plans of whole numbers on random trees."""

from __future__ import annotations

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import recursa as rc
from every_plan import robot
from random_plans import assert_same, plans
from recursa.sweeps import Plan, PlanError, fuse, renamed, run

MODELS = [rc.robots.tree(n, branching=b, seed=s).model for n, b, s in ((1, 1, 0), (5, 2, 1), (7, 3, 2))] + [
    robot().model
]
SETTINGS = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SETTINGS
@given(data=st.data(), number=st.integers(0, len(MODELS) - 1))
def test_any_plan_fused_matches_itself(data, number):
    model = MODELS[number]
    plan = data.draw(plans(model))
    fused = fuse(plan)
    assert_same(plan, run(fused, model, {}), run(plan, model, {}))
    assert len(fused.sweeps) <= len(plan.sweeps)
    assert str(fuse(fused)) == str(fused)


@SETTINGS
@given(data=st.data(), number=st.integers(0, len(MODELS) - 1))
def test_any_plan_matches_what_is_kept_of_it(data, number):
    model = MODELS[number]
    plan = data.draw(plans(model))
    written = sorted({name.partition("@")[0] for sweep in plan.sweeps for step in sweep.steps for name in step.writes})
    assume(written)
    kept = data.draw(st.sampled_from(written))
    values, expected = run(fuse(plan, keep=[kept]), model, {}), run(plan, model, {})
    assert values.lists.get(kept) == expected.lists.get(kept)
    assert values.robot.get(kept) == expected.robot.get(kept)


@SETTINGS
@given(data=st.data(), number=st.integers(0, len(MODELS) - 1))
def test_any_plan_and_a_longer_one_share_what_is_common(data, number):
    """The second plan is the first with sweeps of its own in between: nothing common is done twice."""
    model = MODELS[number]
    one = data.draw(plans(model, "one"))
    at = data.draw(st.integers(0, len(one.sweeps)))
    start, rest = one.sweeps[:at], one.sweeps[at:]
    more = data.draw(plans(model, "two", start, one.target, results=("b1", "b2", "b3")))
    two = Plan("two", more.buffers, more.sweeps + rest, one.target)
    both = fuse(one, two)
    values = run(both, model, {})
    for plan in (one, two):
        assert_same(plan, values, run(plan, model, {}))
    assert len(both.sweeps) == len(fuse(two).sweeps) <= len(two.sweeps)
    assert sum(len(s.steps) for s in both.sweeps) <= sum(len(s.steps) for s in two.sweeps)


@SETTINGS
@given(data=st.data(), number=st.integers(0, len(MODELS) - 1))
def test_any_two_plans_joined_match_each_alone(data, number):
    """With the same beginning and then the same names for other things: refused, or done right; never done wrong."""
    model = MODELS[number]
    one = data.draw(plans(model, "one"))
    start = one.sweeps[: data.draw(st.integers(0, len(one.sweeps)))]
    two = data.draw(plans(model, "two", start, one.target))
    try:
        both = fuse(one, two)
    except PlanError:
        two = renamed(two, {buffer.name: f"{buffer.name}_two" for buffer in two.buffers})
        both = fuse(one, two)
    values = run(both, model, {})
    for plan in (one, two):
        assert_same(plan, values, run(plan, model, {}))
    assert len(both.sweeps) <= len(one.sweeps) + len(two.sweeps)
