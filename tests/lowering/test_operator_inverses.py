"""Inverses in formulas: operational inertia, mass matrices with more on their diagonal, blocks; and what has none."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import recursa as rc
from expressions import by_matrices, by_sweeps, gap
from recursa.errors import NoSweepError, NotationError, ShapeError, SingularMatrixError, StateError
from recursa.operators.expression import free_vectors
from recursa.operators.simplify import simplify
from zoo import ZOO, floating_tree_with_rotors

LEFT_OUT = {"chain200", "floating_tree"}  # too large for matrices; a massless floating base has no hinge inertia
ROBOTS = {name: cache(make) for name, make in ZOO.items() if name not in LEFT_OUT}
SIZES = {
    1: lambda: ZOO["pendulum"](),
    7: rc.robots.panda_like,
    13: rc.robots.space_robot,
    19: lambda: rc.robots.tree(19, seed=3),
    40: lambda: rc.robots.chain(40, seed=4),
    "floating": floating_tree_with_rotors,
    "free": rc.robots.free_flyer,
}
size_of = cache(lambda size: SIZES[size]())

ANYWHERE = [
    "inv(mass + I)", "inv(mass + 0.1 diag(d))", "inv(2 mass + 3 A + 1)", "inv(I + inv(mass))", "inv(mass D)",
    "inv(H phi (M + R) phi* H* + I)", "inv(H M H* + A)", "inv(M + R)", "inv(J(LINK) inv(mass) J(LINK)* + 0.1)",
    "inv(J(LINK, BODY) inv(mass) J(LINK, BODY)* + 0.1)", "inv(mass + 0.2 J(LINK)* J(LINK))",
    "J(LINK) inv(mass + I) J(LINK)*", "inv(J(LINK) inv(mass + I) J(LINK)* + 0.1)", "inv(B(LINK)* R B(LINK))",
    "T inv(T* mass T)",
]  # fmt: skip


def read(text: str, robot: rc.Robot):
    first = next(link.name for link in robot.model.links if link.body >= 0)
    text = text.replace("LINK", robot.link_names[-1]).replace("BODY", first)
    if robot.link_names[-1] == first:
        text = text.replace(f"{first}, {first}", first)
    return rc.parse(text, robot, vectors={"d": "joint", "f": "tip"})


def state(robot: rc.Robot, expression, seed: int = 2):
    """A state, and numbers for the free vectors: positive ones, for diagonals."""
    q, v = robot.random_state(seed)
    rng = np.random.default_rng(seed)
    operand = simplify(expression).shape.columns
    given = {x.name: rng.uniform(0.5, 2.0, x.space.size) for x in free_vectors(expression)}
    return q, v, given | {"x": rng.normal(size=operand.size)}


# ---- against matrices ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ANYWHERE)
@pytest.mark.parametrize("name", ["pendulum", "mixed_tree", "free_flyer"])
def test_inverses_in_sweeps_match_matrices(name, text):
    robot = ROBOTS[name]()
    expression = read(text, robot)
    q, v, given = state(robot, expression)
    simple = simplify(expression)
    wanted = by_matrices(expression, q, v, given)
    assert gap(by_sweeps(robot, simple, q, v, given), wanted, np.abs(wanted).max()) < 1e-9
    assert gap(by_matrices(simple, q, v, given), wanted, np.abs(wanted).max()) < 1e-9


@pytest.mark.parametrize("name", list(ROBOTS))
def test_more_on_the_diagonal_of_a_mass_matrix_is_armature_everywhere(name):
    robot = ROBOTS[name]()
    o = robot.operators
    damping = np.linspace(0.1, 1.0, robot.nv)
    expression = (o.mass + 0.01 * o.diag(damping)).inverse()
    q, _ = robot.random_state(3)
    matrix = rc.compile(expression).matrix(q)
    assert gap(matrix @ (robot.mass_matrix(q) + 0.01 * np.diag(damping)), np.eye(robot.nv)) < 1e-9


@pytest.mark.compiled
@pytest.mark.parametrize(("size", "form"), [
    (1, "loop"), (7, "straight"), (7, "loop"), (13, "straight"), (13, "loop"), (19, "loop"), (40, "loop"),
    ("floating", "loop"), ("free", "straight"),
])  # fmt: skip
def test_compiled_inverses_match_matrices(size, form):
    robot = size_of(size)
    regular = size not in (1, 19)  # links that move in every direction
    texts = ["inv(J(LINK) inv(mass) J(LINK)*)" if regular else "inv(J(LINK) inv(mass) J(LINK)* + 0.1)"]
    for text in (*texts, "inv(mass + 0.1 diag(d))"):
        expression = read(text, robot)
        f = rc.compile(expression, form=form)
        q, v, given = state(robot, expression)
        found = f(q, v, *(given[name] for name in f.inputs))
        wanted = by_matrices(expression, q, v, given)
        assert f.form == form
        assert gap(found, wanted, np.abs(wanted).max()) < 1e-8, text


@pytest.mark.compiled
@pytest.mark.parametrize("form", ["straight", "loop"])
@pytest.mark.parametrize(("robot", "links"), [
    (rc.robots.space_robot, ("left_hand", "right_hand")), (lambda: rc.robots.chain(8, seed=5), ("link4", "link8")),
])  # fmt: skip
def test_the_inertia_of_several_links_matches_the_named_answer(robot, links, form):
    robot = robot()
    o = robot.operators
    J = o.B(*links).T @ o.phi.T @ o.H.T
    inertia = rc.compile((J @ o.mass.inverse() @ J.T).inverse(), form=form)
    q = np.stack([robot.random_state(seed)[0] for seed in range(3)])
    full = robot.delassus(q, links)
    if np.linalg.matrix_rank(full[0]) == 12:
        assert gap(inertia.matrix(q), np.linalg.inv(full), np.abs(np.linalg.inv(full)).max()) < 1e-7
    else:
        with pytest.raises(SingularMatrixError, match="'link4' and 'link8' cannot accelerate"):
            inertia.matrix(q)
    damped = rc.compile((J @ o.mass.inverse() @ J.T + 0.1).inverse(), form=form)
    assert gap(damped.matrix(q[0]) @ (full[0] + 0.1 * np.eye(12)), np.eye(12)) < 1e-8
    assert inertia.form == damped.form == form


@pytest.mark.compiled
def test_operational_inertia_as_a_formula_is_the_named_one():
    robot = size_of(7)
    q = np.stack([robot.random_state(seed)[0] for seed in range(5)])
    f = rc.compile("inv(J(flange) inv(mass) J(flange)*)", robot)
    assert str(f.simplified) == "(B(flange)* Υ B(flange))⁻¹"
    wanted = robot.operational_inertia(q, "flange")
    assert gap(f.matrix(q), wanted, np.abs(wanted).max()) < 1e-10
    assert [sweep.direction.value for sweep in f.plan.sweeps] == ["tip to base", "base to tip", "each link"]


RELATIVES = {  # of J and Lambda = inv(J inv(mass) J*)
    "consistent inverse": "inv(mass) J* LAMBDA", "projector of forces": "I - J* LAMBDA J inv(mass)",
    "projector of motions": "I - inv(mass) J* LAMBDA J",
}  # fmt: skip


@pytest.mark.compiled
@pytest.mark.parametrize("form", ["straight", "loop"])
@pytest.mark.parametrize(("robot", "links"), [
    (rc.robots.panda_like, "flange"), (rc.robots.space_robot, "left_hand, right_hand"),
])  # fmt: skip
def test_operational_relatives_match_matrices(robot, links, form):
    robot = robot()
    q, _ = robot.random_state(4)
    J = rc.dense(rc.parse(f"J({links})", robot), q)
    mass = robot.mass_matrix(q)
    for what, text in RELATIVES.items():
        f = rc.compile(relative(text, links), robot, form=form)
        wanted = rc.dense(f.expression, q)
        assert gap(f.matrix(q), wanted, np.abs(wanted).max()) < 1e-10, what
        assert f.form == form
    assert rc.explain(relative(RELATIVES["consistent inverse"], links), robot).obstacle is None
    found = {what: rc.dense(rc.parse(relative(text, links), robot), q) for what, text in RELATIVES.items()}
    assert gap(J @ found["consistent inverse"], np.eye(len(J))) < 1e-9
    assert gap(J @ np.linalg.solve(mass, found["projector of forces"]), np.zeros(J.shape)) < 1e-8
    assert gap(J @ found["projector of motions"], np.zeros(J.shape)) < 1e-8


def relative(text: str, links: str) -> str:
    return text.replace("LAMBDA", "inv(J inv(mass) J*)").replace("J", f"J({links})")


@pytest.mark.compiled
def test_operations_of_a_projector_grow_linearly():
    counts = []
    for bodies in (20, 30, 40):
        robot = rc.robots.chain(bodies, seed=6)
        text = relative(RELATIVES["projector of forces"], f"{robot.link_names[-1]}, link5")
        counts.append(rc.compile(text, robot, form="loop").operations.total)
    assert counts[1] > counts[0]
    assert counts[2] - counts[1] == pytest.approx(counts[1] - counts[0], rel=0.05)


@pytest.mark.compiled
def test_operations_of_operational_inertia_as_a_formula_grow_linearly():
    counts = {}
    for bodies in (20, 30, 40):
        robot = rc.robots.chain(bodies, seed=6)
        tip = robot.link_names[-1]
        for text in (f"inv(J({tip}) inv(mass) J({tip})*)", f"inv(J({tip}, link5) inv(mass) J({tip}, link5)*)"):
            counts.setdefault(text.count("link5"), []).append(rc.compile(text, robot, form="loop").operations.total)
    for first, second, third in counts.values():
        assert second > first
        assert third - second == pytest.approx(second - first, rel=0.05)


# ---- diagonals and blocks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["panda_like", "one_of_each"])
def test_blocks_of_numbers_match_matrices(name):
    robot = ROBOTS[name]()
    o = robot.operators
    rng = np.random.default_rng(1)
    freedoms = [joint.kind.nv for joint in robot.model.joints]
    roots = [rng.normal(size=(6, 6)) for _ in range(robot.nbodies)]
    added = o.blocks([root @ root.T for root in roots])
    coupled = o.blocks([root[:n, :2] @ root[:n, :2].T for root, n in zip(roots, freedoms, strict=True)])
    stiff = o.blocks([np.diag(rng.uniform(1, 2, joint.kind.nv)) for joint in robot.model.joints])
    skew = o.blocks([rng.normal(size=(joint.kind.nv,) * 2) for joint in robot.model.joints])
    assert added.shape.rows.name == "link" and stiff.shape.rows.name == "joint"
    assert all(matrix == turned for matrix, turned in ((added, added.T), (skew, skew.T.T)))
    for expression in [
        (o.H @ o.phi @ (o.M + added) @ o.phi.T @ o.H.T + o.A).inverse(),
        (o.mass + stiff).inverse(), (o.mass + coupled).inverse(),
        skew.inverse() @ o.H, skew.T @ o.H, (o.M + added).inverse(),
    ]:  # fmt: skip
        q, v, given = state(robot, expression)
        wanted = by_matrices(expression, q, v, given)
        f = rc.compile(expression, robot)
        assert gap(f(q, v, *(given[x] for x in f.inputs)), wanted, np.abs(wanted).max()) < 1e-8, str(expression)


def test_full_matrices_that_are_block_diagonal_are_taken_as_such():
    robot = ROBOTS["one_of_each"]()
    o, nv = robot.operators, robot.nv
    assert o.mass + np.diag(np.arange(nv)) == o.mass + o.diag(np.arange(nv))
    assert o.H.T @ (2 * np.eye(nv)) @ o.H == o.H.T @ o.diag(np.full(nv, 2.0)) @ o.H
    start = next(joint.v_start for joint in robot.model.joints if joint.kind.nv == 3)
    coupled = np.eye(nv)
    coupled[start, start + 1] = coupled[start + 1, start] = 0.5
    q, _ = robot.random_state(1)
    found = rc.compile((o.mass + coupled).inverse()).matrix(q)
    assert gap(found @ (robot.mass_matrix(q) + coupled), np.eye(nv)) < 1e-9
    with pytest.raises(NoSweepError, match="no factors of"):
        rc.compile((o.mass + np.ones((nv, nv))).inverse())


def test_blocks_and_diagonals_that_do_not_fit_are_refused():
    o = rc.robots.planar(3).operators
    with pytest.raises(ShapeError, match="3 numbers, one for every freedom, or 18, six for every body; not 4"):
        o.diag(np.ones(4))
    with pytest.raises(ShapeError, match="one for every joint"):
        o.blocks([np.eye(2)] * 3)
    with pytest.raises(ShapeError, match="diag takes a vector"):
        o.diag(o.phi)
    with pytest.raises(StateError, match="different links"):
        o.B("tip", "tip")


def test_letters_of_another_matrix_are_read_as_they_are_printed():
    for name in ("panda_like", "puma560"):
        robot = ROBOTS[name]()
        for text in ("inv(mass + I)", "inv(mass + D)", "inv(mass - A)", "inv(H phi R phi* H*)", "inv(mass + 2 A)"):
            simple = simplify(rc.parse(text, robot))
            assert rc.parse(simple.text(ascii=True), robot) == simple
            assert rc.parse(simple.text(), robot) == simple
            assert simple.latex()
    with pytest.raises(NotationError, match="not of the form"):
        rc.parse("psi{mass mass}", robot)
    assert rc.parse("psi{mass}", robot) == robot.operators.psi


# ---- where there is none ---------------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize("form", ["straight", "loop"])
def test_a_singular_inverse_is_named_whatever_rounding_leaves_of_it(form):
    arm = ROBOTS["puma560"]()
    q, _ = arm.random_state(1)
    wrist = q.copy()
    wrist[4] = 0.0
    f = rc.compile("inv(J(link6) inv(mass) J(link6)*)", arm, form=form)
    assert np.isfinite(f(q, None, np.ones(6))).all()
    for dtype in (np.float64, np.float32):
        states = np.stack([q, wrist]).astype(dtype)
        with pytest.raises(SingularMatrixError, match=r"B\(link6\)\* Υ B\(link6\) .* state 1: its rank is 5 of 6"):
            f(states, None, np.ones(6, dtype))
    with pytest.raises(SingularMatrixError, match="rank is 5 of 6"):
        f(wrist, None, np.ones(6))
    with pytest.raises(SingularMatrixError, match="block of link 'link1' has rank 1 of 6"):
        rc.compile("inv(Upsilon)", arm, form=form)(q, None, np.ones(36))
    assert np.isnan(f(np.full(6, np.nan), None, np.ones(6))).all()  # what was given is passed on


def test_five_joints_never_move_a_link_in_every_direction():
    for seed in range(4):
        arm = rc.robots.chain(5, seed=seed)
        f = rc.compile(f"inv(J({arm.link_names[-1]}) inv(mass) J({arm.link_names[-1]})*)", arm)
        with pytest.raises(SingularMatrixError, match="rank is 5 of 6"):
            f(np.stack([arm.random_state(k)[0] for k in range(20)]), None, np.ones(6))


@pytest.mark.compiled
@pytest.mark.parametrize("form", ["straight", "loop"])
@pytest.mark.parametrize("text", ["inv(J(tip) inv(mass) J(tip)*) f", "logdet(J(tip) inv(mass) J(tip)*)"])
def test_planar_arms_never_move_a_link_in_every_direction(text, form):
    """Rotations leave some rounding in the rows of the directions in which nothing moves."""
    arm = rc.robots.planar(6)
    f = rc.compile(rc.parse(text, arm, vectors={"f": "tip"}), arm, form=form)
    numbers = [np.ones(6) for _ in f.inputs]
    for seed in range(80):
        for dtype in (np.float64, np.float32):
            q = arm.random_state(seed)[0].astype(dtype)
            with pytest.raises(SingularMatrixError, match=r"rank (is )?[123] of 6"):
                f(q, None, *(x.astype(dtype) for x in numbers))


@pytest.mark.parametrize("text", ["inv(M + phi)", "inv(mass + H phi H*)", "inv(mass + T T*)"])
def test_what_has_no_sweep_says_so(text):
    robot = ROBOTS["panda_like"]()
    with pytest.raises(NoSweepError, match="cannot lower"):
        rc.compile(text, robot)
    assert rc.explain(text, robot).obstacle is not None


@st.composite
def matrices(draw, depth: int = 2) -> str:
    """Square joint-space matrices with inverses in inverses."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(["mass", "D", "I", "A", "2 I", "H R H*", "diag(d)", "J(tip)* J(tip)"]))
    one, other = draw(matrices(depth - 1)), draw(matrices(depth - 1))
    way = draw(st.sampled_from(["({} + {})", "{} {}", "inv({} + {})", "inv({} {} + I)"]))
    return way.format(one, other)


@settings(max_examples=25, deadline=None)
@given(matrices())
def test_any_inverse_ends_in_an_answer_or_in_words(text):
    robot = ROBOTS["planar_arm"]()
    expression = rc.parse(f"inv({text})", robot, vectors={"d": "joint"})
    assume(expression.shape is not None)
    q, v, given = state(robot, expression)
    try:
        f = rc.compile(expression, robot)
        found = f(q, v, *(given[name] for name in f.inputs))
    except (NoSweepError, SingularMatrixError):
        return
    wanted = by_matrices(expression, q, v, given)
    assert gap(found, wanted, np.abs(wanted).max()) < 1e-6


def test_a_joint_with_nothing_to_move_does_not_hinder_another_matrix():
    """Only the mass matrix itself has no inverse then."""
    b = rc.Builder("light").link("rod", mass=1.0, com=(0.2, 0, 0), inertia=(1, 2, 3)).link("tip")
    b.joint("root", "revolute", parent="world", child="rod", axis=(0, 0, 1))
    b.joint("wrist", "revolute", parent="rod", child="tip", axis=(0, 1, 0), xyz=(1, 0, 0))
    robot = b.build(strict=False)
    q = np.array([0.3, -0.4])
    expression = rc.parse("inv(mass + I)", robot)
    matrix = rc.dense(expression, q)
    assert gap(matrix, np.linalg.inv(robot.mass_matrix(q) + np.eye(2))) < 1e-14
    assert gap(rc.compile(expression).matrix(q), matrix) < 1e-14
    with pytest.raises(rc.SingularHingeError, match="joint 'wrist'"):
        rc.compile(rc.parse("inv(mass)", robot)).matrix(q)
