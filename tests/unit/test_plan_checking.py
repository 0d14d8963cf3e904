"""What a well-formed plan is: every rule broken once, and every plan of the library held to them."""

from __future__ import annotations

import operator
from functools import partial

import pytest

import recursa as rc
from every_plan import every_plan
from recursa.sweeps import (
    Buffer,
    Plan,
    PlanError,
    Step,
    Sweep,
    base_to_tip,
    check,
    each_link,
    each_two_apart,
    from_each_inward,
    run,
    tip_to_base,
)
from recursa.sweeps.plan import Kind, kind_of


def same(value: object) -> object:
    return value


def reading(name: str) -> Step:
    return Step(same, (name,), ("out",))


def writing(name: str) -> Step:
    return Step(same, ("number",), (name,))


def passing(read: str, written: str) -> Step:
    return Step(same, (read,), (written,))


OF_BODIES = ("q", "q1", "v", "a", "tau", "joint", "inertia", "joint:T", "body:x")
MAKE_X = writing("x")
PATH = (0, 1)
OUT, LINKS = base_to_tip(MAKE_X), each_link(MAKE_X)
MAKE_B = base_to_tip(writing("b"))  # walks of x begin with it
X_OF_B = passing("b@start", "x")
WALKS = from_each_inward(X_OF_B)
X_APART = passing("p@left", "x")
MAKE_P = (MAKE_B, from_each_inward(passing("b@start", "p")))  # p is per pair
PLACES_OF_WALKS = ("start", "here", "carried")
ELSEWHERE = {"going outward": base_to_tip, "going inward": tip_to_base, "at links": each_link}
GIVEN = (*OF_BODIES, "wrench", "offset", "tip:f", "number", "gravity")

BUFFERS = (Buffer("x", 0, begins="b"), Buffer("b", 0), Buffer("p", 0), Buffer("out", 0))
MALFORMED: dict[str, tuple[tuple[Sweep, ...], str]] = {
    # names and places
    "unknown name": ((base_to_tip(reading("nonsense")),), "unknown name 'nonsense'"),
    "unknown place": ((base_to_tip(MAKE_X, reading("x@sibling")),), "unknown name 'x@sibling'"),
    "an input elsewhere": ((base_to_tip(reading("q@parent")),), "unknown name 'q@parent'"),
    "parent read going inward": ((OUT, tip_to_base(reading("x@parent"))), "known going base to tip"),
    "parent read at links": ((OUT, each_link(reading("x@parent"))), "known going base to tip"),
    "child read going outward": ((base_to_tip(MAKE_X, reading("x@child"), only=PATH),), "going in along a path"),
    "child read at links": ((OUT, each_link(reading("x@child"))), "going in along a path"),
    "child read without a path": ((OUT, tip_to_base(reading("x@child"))), "going in along a path"),
    "elder read going inward": ((OUT, tip_to_base(reading("x@elder"))), "'x@elder' is only known going base to tip"),
    "elder read at links": ((OUT, each_link(reading("x@elder"))), "'x@elder' is only known going base to tip"),
    "younger read going outward": ((base_to_tip(MAKE_X, reading("x@younger")),), "'x@younger' is only known going tip"),
    "younger read on walks": ((OUT, from_each_inward(reading("x@younger"))), "'x@younger' is only known going tip to"),
    "write to elder": ((base_to_tip(writing("x@elder")),), "cannot write 'x@elder'"),
    "target without target link": ((LINKS, base_to_tip(reading("x@target"))), "without a target link"),
    "body read outside link sweep": ((base_to_tip(MAKE_X, reading("x@body")),), "outside a sweep over links"),
    "write to parent going outward": ((base_to_tip(writing("x@parent")),), "'x@parent' going out"),
    "write to parent at links": ((each_link(writing("x@parent")),), "'x@parent' going out"),
    "write to child": ((tip_to_base(writing("x@child"), only=PATH),), "cannot write 'x@child'"),
    "write to target": ((each_link(writing("x@target")),), "cannot write 'x@target'"),
    "write to body": ((base_to_tip(writing("x@body")),), "outside a sweep over links"),
    "write to a name that is not declared": ((base_to_tip(writing("nonsense")),), "cannot write 'nonsense'"),
    "write to an input": ((base_to_tip(writing("q")),), "cannot write 'q'"),
    # in time
    "read before write": ((base_to_tip(reading("x"), MAKE_X),), "'x' is read before it is written"),
    "read in an earlier sweep": ((base_to_tip(reading("x")), tip_to_base(writing("x@parent"))), "before it is written"),
    "read of what is never written": ((base_to_tip(reading("x@parent")),), "'x@parent' is read before it is written"),
    "robot's sum never written": ((base_to_tip(reading("x@robot")),), "'x@robot' is read before it is written"),
    "robot's sum not complete": ((base_to_tip(writing("x@robot"), reading("x@robot")),), "in the sweep that writes it"),
    "robot's sum added to again": (
        (base_to_tip(writing("x@robot")), tip_to_base(reading("x@robot"), writing("x@robot"))),
        "depend on the order of the bodies",
    ),
    "body's sum not complete": ((each_link(writing("x@body"), reading("x@body")),), "in the sweep that writes it"),
    # kinds
    "per body, then per link": ((OUT, each_link(reading("x"))), "'x' is per link here, but written as 'x' it is per b"),
    "per link, then per body": ((LINKS, base_to_tip(reading("x"))), "'x' is per body here, but written as 'x' it is p"),
    "written per body and per link": ((OUT, LINKS), "'x' is per link here, but written as 'x' it is per body"),
    "summed at bodies, read at links": ((each_link(writing("x@body")), each_link(reading("x"))), "'x' is per link"),
    "a sum read as a body's": ((base_to_tip(writing("x@robot")), base_to_tip(reading("x"))), "it is one for the robot"),
    "a body's read as a sum": ((OUT, base_to_tip(reading("x@robot"))), "'x@robot' is one for the robot here"),
    "written per body and for the robot": ((base_to_tip(Step(divmod, ("number", "number"), ("x", "x@robot"))),),
                                           "'x@robot' is one for the robot here"),
    "a link's read at a body": ((LINKS, each_link(reading("x@body"))), "'x@body' is per body here"),
    # walks inward from every body, and bodies on different branches
    **{f"{place} read {where}": ((OUT, sweep(reading(f"x@{place}"))), f"'x@{place}' outside walks inward")
       for place in PLACES_OF_WALKS for where, sweep in {**ELSEWHERE, "of bodies apart": each_two_apart}.items()},
    **{f"{place} read {where}": ((*MAKE_P, sweep(reading(f"p@{place}"))), f"'p@{place}' outside a sweep over bodies on")
       for place in ("left", "right") for where, sweep in {**ELSEWHERE, "on walks": from_each_inward}.items()},
    **{f"{name} on walks": ((from_each_inward(reading(name)),), f"{name!r} is given for a body or a link, and this sw")
       for name in GIVEN},
    **{f"{name} of bodies apart": ((each_two_apart(reading(name)),), f"{name!r} is given for a body or a link, and th")
       for name in GIVEN},
    "parent read on walks": ((OUT, from_each_inward(reading("x@parent"))), "known going base to tip"),
    "child read on walks": ((OUT, from_each_inward(reading("x@child"))), "going in along a path"),
    "body read on walks": ((OUT, from_each_inward(reading("x@body"))), "outside a sweep over links"),
    "target read on walks": ((LINKS, from_each_inward(reading("x@target"))), "without a target link"),
    **{f"write to {place}": ((MAKE_B, from_each_inward(passing("b@start", f"x@{place}"))), f"write 'x@{place}")
       for place in (*PLACES_OF_WALKS, "left", "right")},
    "write to parent on walks": ((MAKE_B, from_each_inward(passing("b@start", "x@parent"))), "going out"),
    "write to body on walks": ((MAKE_B, from_each_inward(passing("b@start", "x@body"))), "outside a sweep ov"),
    "carried, but nothing to begin with": ((*MAKE_P, from_each_inward(reading("p@carried"))),
                                           "'p@carried', but the buffer does not say what it begins with"),
    "carried before there is a beginning": ((from_each_inward(passing("x@carried", "x")),),
                                            "'x@carried' begins with 'b', which is read before it is written"),
    "carried and never written": ((MAKE_B, from_each_inward(reading("x@carried"))), "'x@carried' is read before it is"),
    "a beginning that is a link's": ((each_link(writing("b")), from_each_inward(passing("x@carried", "x"))),
                                     "walks of 'x' begin with 'b', which written as 'b' is per link"),
    "a beginning that is the robot's": (
        (base_to_tip(writing("b@robot")), from_each_inward(passing("x@carried", "x"))),
        "walks of 'x' begin with 'b', which written as 'b@robot' is one for the robot",
    ),
    "a beginning that is a pair's": (
        (base_to_tip(writing("p")), from_each_inward(passing("p@start", "b"), passing("x@carried", "x"))),
        "walks of 'x' begin with 'b', which written as 'b' is per pair of bodies",
    ),
    "a pair's value read before write": ((MAKE_B, from_each_inward(reading("x"), X_OF_B)), "'x' is read before it is"),
    "left in a sweep without pairs": ((each_two_apart(X_APART),), "'p@left' is read before it is written"),
    "per body, then per pair": ((OUT, from_each_inward(reading("x"))), "'x' is per pair of bodies here, but written"),
    "per pair, then per body": ((MAKE_B, WALKS, base_to_tip(reading("x"))), "it is per pair of bodies"),
    "per pair, read at its outer body": ((MAKE_B, WALKS, from_each_inward(reading("x@start"))), "'x@start' is per bo"),
    "per link, read at an inner body": ((LINKS, from_each_inward(reading("x@here"))), "'x@here' is per body here, but"),
    "per pair, read of bodies apart": ((MAKE_B, WALKS, each_two_apart(reading("x"))), "per two bodies on different br"),
    "per body, read at the left": ((OUT, each_two_apart(reading("x@left"))), "'x@left' is per pair of bodies here"),
    "of bodies apart, read at the right": ((*MAKE_P, each_two_apart(X_APART, reading("x@right"))), "'x@right' is per "),
    "robot's sum over pairs not complete": (
        (MAKE_B, from_each_inward(passing("b@here", "x@robot"), reading("x@robot"))),
        "'x@robot' is read in the sweep that writes it",
    ),
    # steps
    "writes nothing": ((base_to_tip(Step(same, ("q",), ())),), "it writes nothing"),
    "writes twice": ((base_to_tip(Step(divmod, ("number", "number"), ("x", "x"))),), "it writes 'x' twice"),
    "too few arguments": ((base_to_tip(Step(same, (), ("x",))),), "does not take the 0 arguments"),
    "too many arguments": ((base_to_tip(Step(same, ("q", "v"), ("x",))),), "does not take the 2 arguments"),
    "too many arguments of a method": ((base_to_tip(Step("".join, ("q", "v"), ("x",))),), "does not take the 2 argu"),
    **{f"{name} at links": ((each_link(reading(name)),), f"{name!r} is given for bodies, and this is a sweep over lin")
       for name in OF_BODIES},
    **{f"{name} at bodies": ((sweep(reading(name)),), f"{name!r} is given for links, and this is a sweep over bodies")
       for name, sweep in zip(("wrench", "offset", "tip:f"), (base_to_tip, tip_to_base, base_to_tip), strict=True)},
}  # fmt: skip


@pytest.mark.parametrize("rule", MALFORMED)
def test_malformed_plan_is_refused(rule):
    sweeps, complaint = MALFORMED[rule]
    with pytest.raises(PlanError, match=complaint) as refusal:
        Plan("wrong", BUFFERS, sweeps)
    assert "plan 'wrong', step " in str(refusal.value)


def test_target_of_a_body_is_refused():
    with pytest.raises(PlanError, match="'x@target' is per link here, but written as 'x' it is per body"):
        Plan("wrong", (Buffer("x", 0), Buffer("out", 0)), (OUT, base_to_tip(reading("x@target"))), target=0)


def test_target_in_the_sweep_that_writes_it_is_refused():
    with pytest.raises(PlanError, match="'x@target' is read in the sweep that writes it"):
        Plan("wrong", (Buffer("x", 0), Buffer("out", 0)), (each_link(MAKE_X, reading("x@target")),), target=0)


@pytest.mark.parametrize(
    ("buffers", "complaint"),
    [
        ((Buffer("x", 0), Buffer("x", 0)), "plan 'wrong': buffer 'x' is declared twice"),
        ((Buffer("x", 0), Buffer("joint", 0)), "no buffer can be called 'joint'"),
        ((Buffer("x", 0), Buffer("wrench", 0)), "no buffer can be called 'wrench'"),
        ((Buffer("x@parent", 0), Buffer("x", 0)), "no buffer can be called 'x@parent'"),
    ],
)
def test_buffers_have_names_of_their_own(buffers, complaint):
    with pytest.raises(PlanError, match=complaint):
        Plan("wrong", buffers, (OUT,))


@pytest.mark.parametrize("only", [(1, 0), (0, 0), (0, 2, 1)])
@pytest.mark.parametrize("sweep", [base_to_tip, tip_to_base, each_link, from_each_inward, each_two_apart])
def test_bodies_of_a_sweep_are_in_order(sweep, only):
    with pytest.raises(PlanError, match=r"plan 'wrong': a sweep goes through .* must increase"):
        Plan("wrong", (Buffer("x", 0),), (sweep(MAKE_X, only=only),))


WELL_FORMED: dict[str, tuple[Sweep, ...]] = {
    "parent read going outward": (base_to_tip(MAKE_X, reading("x@parent")),),
    "parent read of a step further down": (base_to_tip(reading("x@parent"), MAKE_X),),
    "elder read going outward": (base_to_tip(reading("x@elder"), MAKE_X),),
    "younger read going inward": (tip_to_base(reading("x@younger"), MAKE_X),),
    "child read along a path": (base_to_tip(MAKE_X), tip_to_base(reading("x@child"), only=PATH)),
    "own value to which children add": (tip_to_base(reading("x"), writing("x@parent")),),
    "children's sum replaced by one's own": (tip_to_base(reading("x"), MAKE_X, writing("x@parent")),),
    "body read at links": (base_to_tip(MAKE_X), each_link(reading("x@body"))),
    "body's sum read at links later": (each_link(writing("x@body")), each_link(reading("x@body"))),
    "robot's sum read later": (base_to_tip(writing("x@robot")), base_to_tip(reading("x@robot"))),
    "robot's sum read at links": (tip_to_base(writing("x@robot")), each_link(reading("x@robot"))),
    "inputs and constants": (base_to_tip(reading("q"), reading("joint"), reading("gravity")),),
    "constants of links": (each_link(reading("offset"), reading("number"), reading("gravity")),),
    "both ends of a walk": (MAKE_B, from_each_inward(reading("b@start"), reading("b@here"))),
    "carried on a walk": (MAKE_B, from_each_inward(passing("x@carried", "x"), reading("x"))),
    "carried of a step further down": (MAKE_B, from_each_inward(reading("x@carried"), X_OF_B)),
    "some pairs": (MAKE_B, from_each_inward(X_OF_B, reading("x"), only=PATH)),
    "sum over pairs": (
        MAKE_B,
        from_each_inward(passing("b@here", "x@robot")),
        base_to_tip(reading("x@robot")),
    ),
    "carried along some walks": (MAKE_B, from_each_inward(passing("x@carried", "x"), reading("x"), only=PATH)),
    "some bodies apart": (*MAKE_P, each_two_apart(X_APART, reading("x"), only=PATH)),
    "both sides of a branching": (*MAKE_P, each_two_apart(X_APART, reading("x"), reading("p@right"))),
    "a lambda": (base_to_tip(Step(lambda *numbers: numbers, ("number", "number"), ("out",))),),
    "a built-in function": (base_to_tip(Step(max, ("number", "number"), ("out",))),),
    "an argument with a default": (base_to_tip(Step(lambda number, more=1: number + more, ("number",), ("out",))),),
}


@pytest.mark.parametrize("rule", WELL_FORMED)
def test_well_formed_plan_is_accepted_and_runs(rule):
    plan = Plan("right", BUFFERS, WELL_FORMED[rule])
    model = rc.robots.tree(4, branching=2).model
    values = run(plan, model, {"q": [0.1] * 4})
    assert len(values["out"]) >= 2


def test_functions_without_a_name_are_steps_too():
    add_one = Step(partial(operator.add, 1), ("number",), ("out",))
    plan = Plan("right", (Buffer("out", 0),), (base_to_tip(add_one),))
    assert run(plan, rc.robots.planar(2).model, {})["out"] == [1, 2]
    assert "out <- partial(number)" in str(plan)


@pytest.mark.parametrize(
    ("name", "sweep", "kind"),
    [
        ("x", OUT, Kind.BODY), ("x", LINKS, Kind.LINK), ("x@body", LINKS, Kind.BODY), ("x@parent", OUT, Kind.BODY),
        ("x@target", OUT, Kind.LINK), ("x@robot", OUT, Kind.ROBOT), ("x@robot", LINKS, Kind.ROBOT),
        ("x", WALKS, Kind.PAIR), ("x@carried", WALKS, Kind.PAIR), ("x@start", WALKS, Kind.BODY),
        ("x@here", WALKS, Kind.BODY), ("x@target", WALKS, Kind.LINK), ("x@robot", WALKS, Kind.ROBOT),
        ("x", each_two_apart(X_APART), Kind.APART), ("x@left", each_two_apart(X_APART), Kind.PAIR),
        ("x@right", each_two_apart(X_APART), Kind.PAIR),
    ],
)  # fmt: skip
def test_name_and_sweep_tell_the_kind(name, sweep, kind):
    assert kind_of(name, sweep) is kind


# ---- the library's own plans -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", every_plan())
def test_every_plan_of_the_library_is_well_formed(name):
    check(every_plan()[name])


def test_every_plan_is_found():
    """Those that are constants, those that functions make with every option, and those about one link."""
    names = " ".join(every_plan())
    for known in (
        "mass_matrix.MASS_MATRIX_PLAN",
        "articulated_bodies.forward_plan(wrenches=True, links=False, losses=False, springs=True)",
        "augmented_recursion.augmented_plan(wrenches=False, losses=False, springs=False)", "hinges.HINGES",
        "kinematics.jacobian_plan(link, world)", "kinematics.poses_plan()", "kinematics.poses_plan(link)",
        "walks.mass_matrix_rate.MASS_MATRIX_PAIRS", "walks.mass_matrix_inverse.mass_matrix_inverse_pairs(link)",
    ):  # fmt: skip
        assert known in names
    assert len(every_plan()) >= 35
