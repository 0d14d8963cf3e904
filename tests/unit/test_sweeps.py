"""Plans and the engine on computations that can be checked by hand, and the cost of sweeps by counting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import recursa as rc
from numeric import states
from recursa.dynamics import kinematics, mass_properties
from recursa.loading import trusted
from recursa.robots import random_description
from recursa.spatial import Counter, Counts
from recursa.sweeps import (
    Buffer,
    Plan,
    Step,
    base_to_tip,
    each_link,
    each_two_apart,
    from_each_inward,
    run,
    tip_to_base,
)

# ---- a tree of four bodies, drawn ------------------------------------------------------------------------------------
#
#     world --- trunk (0) --- left (1) === leaf (welded) === bud (frame)
#       |           |
#       |           +--- right (2) --- twig (3)
#       +=== post (welded)


def tree() -> rc.Robot:
    b = rc.Builder("tree")
    for number, name in enumerate(("trunk", "left", "leaf", "right", "twig", "post")):
        b.link(name, mass=1.0 + number, com=(0.1, 0.2, 0.3), inertia=(0.1, 0.2, 0.25))
    b.joint("a", "revolute", parent="world", child="trunk")
    b.joint("b", "prismatic", parent="trunk", child="left", axis=(1, 0, 0))
    b.joint("weld", "fixed", parent="left", child="leaf", xyz=(0, 0, 1))
    b.joint("c", "spherical", parent="trunk", child="right", xyz=(0, 1, 0))
    b.joint("d", "revolute", parent="right", child="twig", xyz=(1, 0, 0))
    b.joint("foundation", "fixed", parent="world", child="post")
    b.frame("bud", parent="leaf", xyz=(0, 0, 0.5))
    return b.build()


BODY_OF_LINK = {"world": 0, "trunk": 1, "left": 2, "leaf": 2, "bud": 2, "right": 2, "twig": 3, "post": 0}  # as depths


def count_me(outward: int) -> tuple[int, int]:
    return outward + 1, outward + 1


def one_deeper(parent: int) -> int:
    return parent + 1


def same(value: object) -> object:
    return value


COUNT = Step(count_me, ("n",), ("n", "n@parent"), "n = 1 + sum over children")
DEPTH = Step(one_deeper, ("depth@parent",), ("depth",), "depth = 1 + depth(parent)")
N, LEVEL, SEEN, TOTAL = Buffer("n", 0), Buffer("depth", 0), Buffer("seen", None), Buffer("total", 0)


def test_tip_to_base_sum_matches_bodies_outward():
    values = run(Plan("sizes", (N,), (tip_to_base(COUNT),)), tree().model, {})
    assert values["n"] == [4, 1, 2, 1]


def test_base_to_tip_count_matches_depth():
    values = run(Plan("depths", (LEVEL,), (base_to_tip(DEPTH),)), tree().model, {})
    assert values["depth"] == [1, 2, 2, 3]


def test_links_read_the_body_they_are_welded_to():
    robot = tree()
    plan = Plan("links", (LEVEL, SEEN), (base_to_tip(DEPTH), each_link(Step(same, ("depth@body",), ("seen",)))))
    assert dict(zip(robot.link_names, run(plan, robot.model, {})["seen"], strict=True)) == BODY_OF_LINK


def test_sum_over_the_robot_matches_sum_of_the_list():
    add, tell = Step(same, ("depth",), ("total@robot",)), Step(same, ("total@robot",), ("seen",))
    plan = Plan("total", (LEVEL, TOTAL, SEEN), (base_to_tip(DEPTH, add), base_to_tip(tell)))
    values = run(plan, tree().model, {})
    assert values.robot["total"] == 8
    assert values["seen"] == [8, 8, 8, 8]  # the finished sum


def test_child_along_a_path_matches_distance_to_its_end():
    to_end = Step(one_deeper, ("n@child",), ("n",))
    robot = tree()
    path = robot.model.support(3)
    assert path == (0, 2, 3)
    values = run(Plan("distances", (Buffer("n", 10),), (tip_to_base(to_end, only=path),)), robot.model, {})
    assert [values["n"][k] for k in path] == [13, 12, 11]
    assert values["n"][1] == 10  # not on the path: left at its base value


def test_target_is_the_link_of_the_plan():
    robot = tree()
    target = robot.model.link_index("twig")
    at_links = each_link(Step(same, ("depth@body",), ("seen",)))
    asked = Buffer("asked", None)
    plan = Plan(
        "target",
        (LEVEL, SEEN, asked),
        (base_to_tip(DEPTH), at_links, base_to_tip(Step(same, ("seen@target",), ("asked",)))),
        target=target,
    )
    assert run(plan, robot.model, {})["asked"] == [3, 3, 3, 3]


def test_joints_get_their_own_coordinates_and_constants():
    robot = tree()
    steps = (
        Step(lambda q, v, a: (q, v, a), ("q", "v", "a"), ("seen",)),
        Step(lambda joint, inertia, g: (joint.name, inertia.mass, g.z), ("joint", "inertia", "gravity"), ("told",)),
    )
    plan = Plan("inputs", (SEEN, Buffer("told", None)), (base_to_tip(*steps),))
    assert plan.inputs == ("q", "v", "a")
    q, v, a = list(range(7)), list(range(10, 16)), list(range(20, 26))
    values = run(plan, robot.model, {"q": q, "v": v, "a": a})
    assert values["seen"] == [
        ((0,), (10,), (20,)),
        ((1,), (11,), (21,)),
        ((2, 3, 4, 5), (12, 13, 14), (22, 23, 24)),
        ((6,), (15,), (25,)),
    ]
    assert values["told"] == [("a", 1.0, -9.81), ("b", 5.0, -9.81), ("c", 4.0, -9.81), ("d", 5.0, -9.81)]


def test_steps_see_what_earlier_steps_wrote():
    double = Step(lambda x: 2 * x, ("depth",), ("n",))
    values = run(Plan("two", (LEVEL, N), (base_to_tip(DEPTH, double),)), tree().model, {})
    assert values["n"] == [2, 4, 4, 6]


def test_plans_can_run_twice():
    plan = Plan("sizes", (N, TOTAL), (tip_to_base(COUNT, Step(same, ("n",), ("total@robot",))),))
    model = tree().model
    assert run(plan, model, {}).robot["total"] == run(plan, model, {}).robot["total"] == 8


# ---- pairs of bodies -------------------------------------------------------------------------------------------------
# Bodies: trunk 0, left 1, right 2, twig 3. Walks: 1-0, 2-0, 3-2-0. Apart at the trunk: 1 and 2, 1 and 3.

NAME = Step(str, ("number",), ("name",))
NAMES, WALK, MET = Buffer("name", "world"), Buffer("walk", "", begins="name"), Buffer("met", "")


def joined(*words: str) -> str:
    return " ".join(words)


def walking(*steps: Step, **more: Any) -> Any:
    sweeps = (base_to_tip(NAME), from_each_inward(*steps, **more))
    return run(Plan("walks", (NAMES, WALK, MET), sweeps), tree().model, {})


def test_walks_meet_every_body_inward_the_parent_first():
    assert walking(Step(joined, ("name@start", "name@here"), ("met",)))["met"] == ["1 0", "2 0", "3 2", "3 0"]


def test_what_is_carried_comes_from_one_body_further_out_and_first_from_the_start():
    on = Step(joined, ("walk@carried", "name@here"), ("walk",))
    came = Step(same, ("walk@carried",), ("met",))
    values = walking(on, came)
    assert values["walk"] == ["1 0", "2 0", "3 2", "3 2 0"]
    assert values["met"] == walking(came, on)["met"] == ["1", "2", "3", "3 2"]


def test_walks_over_some_pairs_leave_the_others_as_they_were():
    values = walking(Step(joined, ("name@start", "name@here"), ("met",)), only=(1, 3))
    assert values["met"] == ["", "2 0", "", "3 0"]


def test_walks_over_some_pairs_carry_what_they_have_come_past():
    on = Step(joined, ("walk@carried", "name@here"), ("walk",))
    assert walking(on, only=(2, 3))["walk"] == ["", "", "3 2", "3 2 0"]
    assert walking(on, only=(0, 3))["walk"] == ["1 0", "", "", " 0"]  # nothing came from where it was not


def test_some_bodies_apart_leave_the_others_as_they_were():
    sweeps = (
        base_to_tip(NAME),
        from_each_inward(Step(joined, ("walk@carried", "name@here"), ("walk",))),
        each_two_apart(Step(joined, ("walk@left", "walk@right"), ("met",)), only=(1,)),
    )
    values = run(Plan("apart", (NAMES, WALK, MET), sweeps), tree().model, {})
    assert values["met"] == ["", "1 0 3 2 0"]


def test_bodies_apart_read_their_pairs_with_the_body_where_they_branch():
    sweeps = (
        base_to_tip(NAME),
        from_each_inward(Step(joined, ("walk@carried", "name@here"), ("walk",))),
        each_two_apart(Step(joined, ("walk@left", "walk@right"), ("met",))),
    )
    values = run(Plan("apart", (NAMES, WALK, MET), sweeps), tree().model, {})
    assert values["met"] == ["1 0 2 0", "1 0 3 2 0"]


def test_sum_over_pairs_matches_their_number():
    sweeps = (base_to_tip(NAME), from_each_inward(Step(lambda name: 1, ("name@here",), ("total@robot",))))
    assert run(Plan("count", (NAMES, TOTAL), sweeps), tree().model, {}).robot["total"] == 4


def test_without_pairs_walks_do_nothing():
    pendulum = rc.robots.planar(1).model
    assert (pendulum.pairs, pendulum.apart) == ((), ())
    sweeps = (base_to_tip(NAME), from_each_inward(Step(same, ("walk@carried",), ("walk",))))
    assert run(Plan("walks", (NAMES, WALK), sweeps), pendulum, {})["walk"] == []


@pytest.mark.parametrize("seed", range(4))
def test_pairs_and_bodies_apart_match_the_paths_of_a_random_forest(seed):
    rng = np.random.default_rng(seed)
    parents = [-1, *(int(rng.integers(-1, k)) for k in range(1, 15))]
    model = trusted(random_description("forest", parents, seed, ["revolute"])).model
    inward = [[k for k in model.support(body)[::-1] if k != body] for body in range(15)]
    assert model.pairs == tuple((body, k) for body, path in enumerate(inward) for k in path)
    met = {tuple(sorted((model.pairs[i][0], model.pairs[j][0]))): (i, j) for i, j in model.apart}
    assert len(met) == len(model.apart)
    for one in range(15):
        for other in range(one):
            common = [k for k in inward[one] if k in inward[other]]
            if common and other not in inward[one]:
                left, right = (model.pairs[k] for k in met.pop((other, one)))
                assert left[1] == right[1] == common[0]
    assert not met


# ---- text ------------------------------------------------------------------------------------------------------------


def test_plan_prints_what_it_does():
    plan = Plan(
        "sizes",
        (N, LEVEL, SEEN),
        (
            tip_to_base(COUNT),
            base_to_tip(DEPTH, only=(0, 2)),
            each_link(Step(same, ("depth@body",), ("seen",))),
        ),
    )
    assert str(plan) == (
        "plan sizes\n"
        "  tip to base:\n"
        "      n, n@parent <- count_me(n)    n = 1 + sum over children\n"
        "  base to tip (only 0, 2):\n"
        "      depth <- one_deeper(depth@parent)    depth = 1 + depth(parent)\n"
        "  each link:\n"
        "      seen <- same(depth@body)"
    )


def test_walks_print_what_they_do():
    plan = Plan(
        "walks",
        (NAMES, WALK, MET),
        (
            base_to_tip(NAME),
            from_each_inward(Step(joined, ("walk@carried", "name@here"), ("walk",), "walk = walk(outward) here")),
            from_each_inward(Step(same, ("walk",), ("walk",)), only=(0, 3)),
            each_two_apart(Step(joined, ("walk@left", "walk@right"), ("met",))),
        ),
    )
    assert str(plan).splitlines()[3:] == [
        "  from each body inward:",
        "      walk <- joined(walk@carried, name@here)    walk = walk(outward) here",
        "  from each body inward (only 0, 3):",
        "      walk <- same(walk)",
        "  each two bodies on different branches:",
        "      met <- joined(walk@left, walk@right)",
    ]


# ---- cost ------------------------------------------------------------------------------------------------------------

PLANS: dict[str, Callable[[], Plan]] = {
    "poses": kinematics.poses_plan,
    "velocities": lambda: kinematics.velocities_plan("body"),
    "velocities in the world": lambda: kinematics.velocities_plan("world"),
    "accelerations": lambda: kinematics.accelerations_plan("mixed", "classical"),
    "momentum": lambda: mass_properties.MOMENTUM_PLAN,
    "kinetic energy": lambda: mass_properties.KINETIC_ENERGY_PLAN,
    "potential energy": lambda: mass_properties.potential_energy_plan(),
}


def count(plan: Plan, robot: rc.Robot) -> np.ndarray:
    counter = Counter()
    q, v, a = (counter.numbers(x[0]) for x in states(robot, 1))
    run(plan, robot.model, {"q": q, "v": v, "a": a})
    total: Counts = counter.counts()
    return np.array([total.mul, total.add, total.trig])


@pytest.mark.parametrize("name", PLANS)
def test_operations_grow_linearly_with_bodies(name):
    """Exactly: every body beyond the first few costs the same."""
    sizes = np.array([5, 10, 20, 40])
    counts = np.array([count(PLANS[name](), rc.robots.chain(n, seed=3)) for n in sizes.tolist()])
    per_body = np.diff(counts, axis=0) / np.diff(sizes)[:, None]
    assert np.array_equal(per_body[0], per_body[1])
    assert np.array_equal(per_body[1], per_body[2])
    assert per_body[0, 2] == 2  # one sine, one cosine
    assert np.all(per_body[0, :2] > 24)


def test_jacobian_costs_only_the_path():
    """A link on a short branch of a large tree costs what it costs in a small one."""
    small, large = rc.robots.tree(3, branching=2, seed=5), rc.robots.tree(40, branching=2, seed=5)
    small_plan, large_plan = (
        kinematics.jacobian_plan(r.model, r.model.link_index("link2"), "body") for r in (small, large)
    )
    assert np.array_equal(count(small_plan, small), count(large_plan, large))
    assert count(small_plan, small)[2] == 4
