"""Fused plans: what they say, that they compute the same to the bit, and that they do it in fewer sweeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import recursa as rc
from every_plan import every_plan, robot
from numeric import states
from random_plans import assert_same
from recursa.book import augmented_recursion
from recursa.dynamics import articulated_bodies, coriolis, inverse, kinematics, mass_matrix, mass_properties
from recursa.model.canonical import canonical
from recursa.model.model import Model
from recursa.spatial import Counter
from recursa.sweeps import (
    Buffer,
    Plan,
    PlanError,
    Step,
    base_to_tip,
    check,
    each_link,
    from_each_inward,
    fuse,
    renamed,
    run,
    tip_to_base,
)
from recursa.sweeps.plan import PAIRS
from recursa.walks.coriolis_pairs import CORIOLIS_MATRIX_PAIRS
from recursa.walks.derivative_pairs import inverse_derivatives_pairs
from recursa.walks.jacobians import COMPOSITE, PLACE
from recursa.walks.mass_matrix_inverse import mass_matrix_inverse_pairs
from recursa.walks.mass_matrix_rate import MASS_MATRIX_PAIRS
from zoo import ZOO, floating_tree_with_rotors

MASS_AND_BIAS = fuse(mass_matrix.MASS_MATRIX_PLAN, inverse.bias_plan())
UNIT_NU = renamed(articulated_bodies.MASS_MATRIX_INVERSE_PLAN, {"nu": "unit_nu"})
FORWARD_AND_INVERSE = fuse(articulated_bodies.forward_plan(), UNIT_NU, name="both")


def outline(plan: Plan) -> list[tuple[str, list[str]]]:
    return [(sweep.direction.value, [step.fn.__name__ for step in sweep.steps]) for sweep in plan.sweeps]


def inputs_of(robot: rc.Robot) -> dict[str, Any]:
    q, v, a = (x[0].tolist() for x in states(robot, 1))
    wrench = np.random.default_rng(5).normal(size=6 * len(robot.model.links)).tolist()
    q1 = states(robot, 2)[0][1].tolist()
    pose = robot.pose(q1, robot.model.links[-1].name).ravel().tolist()
    return {"q": q, "v": v, "a": a, "tau": a[::-1], "wrench": wrench, "q1": q1, "frame:pose": pose}


def link_values(model: Model, vector: str) -> list[float]:
    """Values per body that mean something: axes that are axes."""
    rng = np.random.default_rng(sum(map(ord, vector)))
    if vector != "body:axes":
        return rng.normal(size=6 * model.nbodies).tolist()
    return [x for _ in range(model.nbodies) for x in np.linalg.qr(rng.normal(size=(3, 3)))[0][:2].ravel()]


# ---- as text ---------------------------------------------------------------------------------------------------------


def test_mass_matrix_and_bias_share_the_way_out_and_the_way_in():
    assert str(MASS_AND_BIAS) == (
        "plan mass_matrix + bias_forces\n"
        "  base to tip:\n"
        "      X <- relative(joint, q)    X = placement J(q)\n"
        "      V <- velocity(joint, X, V@parent, v)    V(k) = phi* V(parent) + H* v                (7)\n"
        "      alpha <- drift(joint, X, alpha@parent, V, v)"
        "    alpha(k) = phi* alpha(parent) + crm(V) H* v  (8), a = 0\n"
        "      f <- moving_force(inertia, alpha, V)    f = M alpha + crf(V) M V             (10)\n"
        "  tip to base:\n"
        "      R, R@parent <- composite(R, inertia, X)    R = M + sum of phi R phi*             (29)\n"
        "      rows, F@parent <- mass_rows(joint, number, R, F, X)"
        "    F = R H*, m(i,k) = H(i) phi(i,k) F(k) + A        (31)-(33)\n"
        "      T, f@parent <- joint_torque(joint, X, f)    T = H f, f(parent) += phi f           (11), (12)"
    )


def test_forward_dynamics_and_inverse_mass_matrix_share_P_D_G():
    assert FORWARD_AND_INVERSE.name == "both"
    assert outline(FORWARD_AND_INVERSE) == [
        ("base to tip", ["relative", "velocity", "bias_acceleration", "bias_force"]),
        ("tip to base", ["eliminate", "innovations", "unit_innovations"]),
        ("base to tip", ["joint_accelerations", "unit_responses"]),
    ]


def test_a_plan_can_lose_sweeps_of_its_own():
    """Poses in the parent need no direction; masses and rates do not wait for each other."""
    assert outline(fuse(mass_matrix.MASS_MATRIX_PLAN)) == [("tip to base", ["relative", "composite", "mass_rows"])]
    assert outline(fuse(augmented_recursion.augmented_plan())) == [
        ("base to tip", ["relative", "rates"]),
        ("tip to base", ["augmented_link", "torques", "with_rotors"]),
    ]


def test_wrenches_stay_before_the_way_out():
    both = fuse(inverse.inverse_plan(wrenches=True), mass_matrix.MASS_MATRIX_PLAN)
    assert [way for way, _ in outline(both)] == ["each link", "base to tip", "tip to base"]


def test_sweeps_over_paths_stay_apart():
    model = robot().model
    link = model.link_index("link11")
    both = fuse(kinematics.jacobian_plan(model, link, "body"), renamed(kinematics.velocities_plan("body"), {
        name: f"{name}_all" for name in ("X", "W", "L")
    }))  # fmt: skip
    path = model.support(model.links[link].body)
    assert [sweep.only for sweep in both.sweeps].count(path) == 2
    assert [sweep.only for sweep in both.sweeps].count(None) == 2
    assert both.target == link


# ---- the same values -------------------------------------------------------------------------------------------------

ROBOTS = ("pendulum", "puma560", "tree", "mixed_tree", "one_of_each", "floating_tree")
JOINED: dict[str, tuple[Plan, ...]] = {
    "mass matrix and bias": (mass_matrix.MASS_MATRIX_PLAN, inverse.bias_plan(wrenches=True)),
    "forward and inverse mass matrix": (articulated_bodies.forward_plan(wrenches=True), UNIT_NU),
    "mass, Coriolis and momentum matrix": (
        renamed(mass_matrix.MASS_MATRIX_PLAN, {"rows": "mass", "F": "mass_F"}),
        coriolis.CORIOLIS_MATRIX_PLAN, mass_matrix.MOMENTUM_MATRIX_PLAN,
    ),
    "energies and momentum": (
        mass_properties.KINETIC_ENERGY_PLAN, mass_properties.potential_energy_plan(), mass_properties.MOMENTUM_PLAN,
    ),
    "velocities and accelerations": (
        kinematics.velocities_plan("mixed"),
        kinematics.accelerations_plan("mixed", "classical"), kinematics.poses_plan(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("robot_name", ROBOTS)
@pytest.mark.parametrize("names", JOINED)
def test_joined_plan_matches_its_parts(robot_name, names):
    model, inputs = ZOO[robot_name]().model, inputs_of(ZOO[robot_name]())
    both = fuse(*JOINED[names])
    values = run(both, model, inputs)
    for plan in JOINED[names]:
        assert_same(plan, values, run(plan, model, inputs))


@pytest.mark.parametrize("name", every_plan())
def test_every_plan_fused_matches_itself(name):
    plan, inputs, model = every_plan()[name], inputs_of(robot()), robot().model
    if "augmented" in name or "algorithm_7_1" in name:  # for frames on joint axes only
        inputs, model = inputs_of(rc.robots.stanford()), canonical(rc.robots.stanford().model)
    if name.startswith("free."):
        flyer = rc.robots.free_flyer(4) if "branching=False" in name else floating_tree_with_rotors()
        inputs, model = inputs_of(flyer), flyer.model
    inputs |= {vector: inputs["a"] for vector in plan.inputs if vector.startswith("joint:")}
    inputs |= {vector: link_values(model, vector) for vector in plan.inputs if vector.startswith("body:")}
    fused = fuse(plan)
    check(fused)
    assert_same(plan, run(fused, model, inputs), run(plan, model, inputs))
    assert len(fused.sweeps) <= len(plan.sweeps)
    assert str(fuse(plan, plan)) == str(fuse(fused)) == str(fused)


def test_shared_steps_cost_nothing_the_second_time():
    model, inputs = rc.robots.puma560().model, inputs_of(rc.robots.puma560())

    def count(plan: Plan) -> np.ndarray:
        counter = Counter()
        run(plan, model, {name: counter.numbers(inputs[name]) for name in plan.inputs})
        counts = counter.counts()
        return np.array([counts.mul, counts.add, counts.trig])

    forward, unit, shared = articulated_bodies.forward_plan(), UNIT_NU, fuse(UNIT_NU, keep=("P", "elimination"))
    assert np.array_equal(count(FORWARD_AND_INVERSE), count(forward) + count(unit) - count(shared))
    assert count(FORWARD_AND_INVERSE)[2] == 12


# ---- only what is needed ---------------------------------------------------------------------------------------------


def test_keep_drops_what_it_does_not_need():
    plan = fuse(mass_properties.MOMENTUM_PLAN, mass_properties.KINETIC_ENERGY_PLAN, keep=["kinetic"])
    assert outline(plan) == [("base to tip", ["relative", "velocity", "kinetic_energy"])]
    assert [buffer.name for buffer in plan.buffers] == ["X", "V", "kinetic"]


def test_keep_needs_every_step_that_adds_or_changes():
    plan = fuse(articulated_bodies.forward_plan(wrenches=True), UNIT_NU, keep=["qdd"])
    assert outline(plan) == outline(articulated_bodies.forward_plan(wrenches=True))
    inputs = inputs_of(robot())
    full = run(articulated_bodies.forward_plan(wrenches=True), robot().model, inputs)
    assert run(plan, robot().model, inputs)["qdd"] == full["qdd"]


def test_keep_of_the_unknown_is_refused():
    with pytest.raises(PlanError, match="no plan computes 'torque', which is to be kept"):
        fuse(mass_matrix.MASS_MATRIX_PLAN, keep=["torque"])


# ---- what cannot be joined -------------------------------------------------------------------------------------------


def test_buffers_computed_differently_are_refused():
    with pytest.raises(
        PlanError,
        match=r"'forward_dynamics' and 'mass_matrix_inverse' compute buffer 'nu' differently: "
        r"only one of them has the step nu, f@parent <- innovations.*renamed\(plan, {'nu': \.\.\.}\)",
    ):
        fuse(articulated_bodies.forward_plan(), articulated_bodies.MASS_MATRIX_INVERSE_PLAN)  # fmt: skip


def test_buffers_declared_differently_are_refused():
    with pytest.raises(PlanError, match="'kinetic_energy' and 'gravity_forces' declare buffer 'T' differently"):
        fuse(renamed(mass_properties.KINETIC_ENERGY_PLAN, {"kinetic": "T"}), inverse.gravity_plan())


def test_one_more_writer_is_a_different_computation():
    with pytest.raises(PlanError, match=r"compute buffer 'E' differently|compute buffer 'f' differently"):
        fuse(inverse.bias_plan(wrenches=True), inverse.bias_plan())


def test_different_targets_are_refused():
    plans = [kinematics.jacobian_plan(robot().model, link, "body") for link in (2, 3)]
    with pytest.raises(PlanError, match="plan 'jacobian' has target link 3, another one 2"):
        fuse(*plans)


def test_nothing_cannot_be_fused():
    with pytest.raises(PlanError, match="at least one plan"):
        fuse()


def same(value: Any) -> Any:
    return value


X, Y, Z = Buffer("x", 0), Buffer("y", 0), Buffer("z", 0)
COUNT, COPY = Step(same, ("number",), ("x",)), Step(same, ("x",), ("y",))
SHIFT = Step(same, ("y",), ("x",))


def test_the_same_step_at_another_point_is_refused():
    """Both have the same steps; y holds x before or after x changed."""
    one = Plan(
        "one", (X, Y, Z), (base_to_tip(COUNT, Step(same, ("gravity",), ("z",)), Step(same, ("z",), ("x",)), COPY),)
    )
    two = Plan(
        "two", (X, Y, Z), (base_to_tip(COUNT, COPY, Step(same, ("gravity",), ("z",)), Step(same, ("z",), ("x",))),)
    )
    with pytest.raises(PlanError, match=r"plans 'one' and 'two' do the step y <- same\(x\) at different points"):
        fuse(one, two)


# ---- rules of order, by hand -----------------------------------------------------------------------------------------


def test_repeated_steps_are_done_once():
    plan = Plan("twice", (X, Y), (base_to_tip(COUNT), tip_to_base(COUNT, COPY), base_to_tip(COUNT, COPY)))
    assert str(fuse(plan)) == "plan twice\n  base to tip:\n      x <- same(number)\n      y <- same(x)"


def test_repeated_recursion_is_done_once():
    deeper = Step(same, ("x@parent",), ("x",))
    plan = Plan("twice", (X,), (base_to_tip(deeper), base_to_tip(deeper)))
    assert str(fuse(plan)) == "plan twice\n  base to tip:\n      x <- same(x@parent)"


def test_step_that_changes_what_it_reads_is_done_twice():
    plan = Plan("twice", (X, Y), (base_to_tip(COUNT, COPY, SHIFT), base_to_tip(COPY, SHIFT)))
    assert len(fuse(plan).sweeps) == 1
    add = Step(lambda x: x + 1, ("x",), ("x",))
    plan = Plan("twice", (X,), (base_to_tip(COUNT, add), base_to_tip(add)))
    assert [len(sweep.steps) for sweep in fuse(plan).sweeps] == [3]


@pytest.mark.parametrize(
    ("sweeps", "expected"),
    [
        # written, then added to by children: the sum starts from what was written
        ((base_to_tip(COUNT), tip_to_base(Step(same, ("number",), ("x@parent",)))), 2),
        # children add, then replaced: one sweep does both
        ((tip_to_base(Step(same, ("number",), ("x@parent",))), base_to_tip(COUNT)), 1),
        # sums of two sweeps: the order of adding stays
        ((tip_to_base(Step(same, ("number",), ("x@parent",))), tip_to_base(Step(abs, ("number",), ("x@parent",)))), 2),
        # a total is complete only after its sweep
        ((base_to_tip(Step(same, ("number",), ("x@robot",))), base_to_tip(Step(same, ("x@robot",), ("y",)))), 2),
        # a parent's value read, then changed: the children would see the change
        ((base_to_tip(COUNT), base_to_tip(Step(same, ("x@parent",), ("y",))), base_to_tip(SHIFT)), 2),
        # a parent's value written, then read
        ((base_to_tip(COUNT), base_to_tip(Step(same, ("x@parent",), ("y",)))), 1),
        # link sweeps wait for bodies
        ((base_to_tip(COUNT), each_link(Step(same, ("x@body",), ("y",)))), 2),
        # sweeps over links are one where they can be
        ((each_link(COUNT), each_link(COPY), each_link(SHIFT)), 1),
    ],
)  # fmt: skip
def test_sweeps_are_merged_where_values_allow(sweeps, expected):
    plan = Plan("small", (X, Y), sweeps)
    fused = fuse(plan)
    assert len(fused.sweeps) == expected
    model = robot().model
    assert_same(plan, run(fused, model, {}), run(plan, model, {}))


def test_a_reader_comes_between_the_writers_it_came_between():
    double = Step(lambda x: 2 * x, ("x",), ("x",))
    one = Plan("one", (X,), (base_to_tip(COUNT, double),))
    two = Plan("two", (X, Y), (base_to_tip(COUNT, COPY, double),))
    assert outline(fuse(one, two)) == outline(fuse(two, one)) == [("base to tip", ["same", "same", "<lambda>"])]


def test_renaming_keeps_places_and_other_names():
    plan = Plan("p", (X, Y), (base_to_tip(COUNT, Step(same, ("x@parent",), ("y",))),))
    assert "y <- same(count@parent)" in str(renamed(plan, {"x": "count"}))
    assert str(renamed(plan, {"x": "count"}, name="other")).startswith("plan other\n")
    assert renamed(renamed(plan, {"x": "count"}), {"count": "x"}) == plan
    with pytest.raises(PlanError, match="plan 'p' has no buffer 'z' to rename"):
        renamed(plan, {"z": "w"})
    with pytest.raises(PlanError, match="buffer 'y' is declared twice"):
        renamed(plan, {"x": "y"})


# ---- walks -----------------------------------------------------------------------------------------------------------


def of_walks(model: Model) -> tuple[Plan, ...]:
    """Four matrices; what their plans call by one name and mean differently is renamed."""
    return (
        renamed(MASS_MATRIX_PAIRS, {"F": "forces", "own": "own_masses", "entries": "masses"}),
        renamed(CORIOLIS_MATRIX_PAIRS, {"own": "own_coriolis", "reach": "coriolis"}),
        inverse_derivatives_pairs(),
        mass_matrix_inverse_pairs(model),
    )


@pytest.mark.parametrize("name", ["pendulum", "puma560", "tree", "mixed_tree", "one_of_each"])
def test_walks_joined_match_each_alone_in_one_sweep_over_pairs(name):
    robot = ZOO[name]()
    model, inputs = robot.model, inputs_of(robot)
    both = fuse(*of_walks(model))
    values = run(both, model, inputs)
    for plan in of_walks(model):
        assert_same(plan, values, run(plan, model, inputs))
    walks = [sweep.only for sweep in both.sweeps if sweep.domain == PAIRS]
    assert walks.count(None) == 1
    steps = [step for sweep in both.sweeps for step in sweep.steps]
    assert steps.count(PLACE) == steps.count(COMPOSITE) == 1


def test_keep_follows_what_walks_begin_with():
    """Of the inverse inward nothing but its own walks is left; what these carry begins with K, which is needed."""
    model, inputs = ZOO["mixed_tree"]().model, inputs_of(ZOO["mixed_tree"]())
    whole = mass_matrix_inverse_pairs(model)
    kept = fuse(whole, keep=["inverse"])
    assert [sweep.domain for sweep in kept.sweeps] == ["bodies", "bodies", "bodies", "pairs"]
    assert "K" in {name for sweep in kept.sweeps for step in sweep.steps for name in step.writes}
    assert run(kept, model, inputs)["inverse"] == run(whole, model, inputs)["inverse"]


def test_renaming_follows_what_walks_begin_with():
    model, inputs = ZOO["tree"]().model, inputs_of(ZOO["tree"]())
    plan = mass_matrix_inverse_pairs(model)
    other = renamed(plan, {"K": "sent", "c": "coming"})
    assert [(buffer.name, buffer.begins) for buffer in other.buffers if buffer.begins] == [("coming", "sent")]
    assert run(other, model, inputs)["inverse"] == run(plan, model, inputs)["inverse"]


def test_walks_that_begin_differently_are_refused():
    def walks(begins: str) -> Plan:
        sweeps = (
            base_to_tip(COUNT, COPY),
            from_each_inward(Step(same, ("z@carried",), ("z",))),
        )
        return Plan(f"from {begins}", (X, Y, Buffer("z", 0, begins=begins)), sweeps)

    with pytest.raises(PlanError, match="'from x' and 'from y' declare buffer 'z' differently"):
        fuse(walks("x"), walks("y"))
    assert len(fuse(walks("x"), walks("x")).sweeps) == 2


def test_many_separate_paths_are_joined_quickly():
    model = rc.robots.tree(30, branching=2, seed=1).model
    poses = [
        renamed(kinematics.poses_plan(link, model), {name: f"{name}{link}" for name in ("X", "W", "L")})
        for link in range(1, len(model.links))
    ]
    assert len(fuse(*poses).sweeps) == len({(s.direction, s.only) for plan in poses for s in plan.sweeps})
