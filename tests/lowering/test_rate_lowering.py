"""Derivatives of expressions as sweeps: against dense matrices, interpreted and compiled; what they cost."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import numeric
import recursa as rc
from expressions import by_matrices, by_sweeps, gap
from recursa.loading import trusted
from recursa.operators.expression import Expression, free_vectors, known_shape
from recursa.operators.lower import lower
from recursa.operators.simplify import simplify
from recursa.operators.singular import dense_values
from recursa.operators.symbols import Kind
from recursa.operators.values import input_name, operand_of
from recursa.robots import random_description
from recursa.spatial.counter import Counter
from recursa.sweeps import run
from zoo import ALL_KINDS, ZOO, floating_tree_with_rotors, small_flyer

ROBOTS = {
    **ZOO,
    "floating_tree_with_rotors": floating_tree_with_rotors,
    "every_kind": lambda: trusted(random_description("every_kind", [-1, 0, 1, 0, 3, 2, -1], 8, ALL_KINDS)),
    "small_flyer": lambda: trusted(random_description("small_flyer", [-1, 0, 1], 9, ["free", "revolute", "planar"])),
}
robot_of = cache(lambda name: ROBOTS[name]())


def numbers(expression: Expression, seed: int = 0) -> dict[str, np.ndarray]:
    """For the free vectors of an expression, and for what it is applied to."""
    rng = np.random.default_rng(seed)
    own = [] if (operand := operand_of(expression)) is None else [operand]
    return {x.name: rng.normal(size=x.space.size) for x in (*free_vectors(expression), *own)}


def matches(robot: rc.Robot, *given: Expression) -> None:
    """Simplified and swept, as by matrices."""
    q, v = robot.random_state(1)
    values = {name: x for e in given for name, x in numbers(e).items() if name != "x"}
    sizes = {e: known_shape(e).columns.size for e in given}
    operands = {e: np.random.default_rng(1).normal(size=size) for e, size in sizes.items()}
    applied = [e if operand_of(e) is None else e @ operands[e] for e in given]
    for e, expected in zip(given, dense_values(applied, q, v, **values), strict=True):
        simple = simplify(e)
        found = by_sweeps(robot, simple, q, v, {**values, "x": operands[e]})
        assert gap(found, expected) < 1e-10, f"{e}  ->  {simple}"


def last(robot: rc.Robot) -> tuple[str, int]:
    """The last freedom of a joint halfway out."""
    joint = robot.model.joints[len(robot.model.joints) // 2]
    return joint.name, joint.kind.nv - 1


@pytest.mark.parametrize("name", ["pendulum", "every_kind", "small_flyer"])
def test_sweeps_of_every_letter_match_matrices(name):
    robot = robot_of(name)
    letters = []
    for o in (robot.operators, robot.operators.along(last(robot))):
        kinds = [kind for kind in Kind if kind.value.is_directed or kind in (Kind.N, Kind.SPEED)]
        if robot.nv > robot.nbodies:
            kinds.remove(Kind.W_DOT)  # the root of a block has no derivative as a formula
        found = [getattr(o, kind.value.code) for kind in kinds]
        letters += found + [x.T for x in found if x != x.T and not x.kind.value.is_vector]
    matches(robot, *letters)


EXPRESSIONS = [
    "mass", "J(LINK)", "1 - H psi K", "inv(D)", "B(LINK)* Upsilon B(LINK)", "V* M V", "M (phi* a + gravity) + b",
]  # fmt: skip


@pytest.mark.parametrize("name", ["pendulum", "every_kind"])
def test_sweeps_of_derivatives_match_matrices(name):
    robot = robot_of(name)
    o = robot.operators
    read = [rc.parse(text.replace("LINK", robot.link_names[-1]), robot) for text in EXPRESSIONS]
    matches(
        robot,
        *(e.time_derivative() for e in read),
        *(e.sensitivity(last(robot)) for e in read),
        *(e.time_derivative("inertial") for e in (o.phi, o.E_psi, o.V)),
    )


def test_derivatives_of_the_inverse_and_of_accelerations_match_matrices():
    robot = robot_of("small_flyer")
    for text in ("d/dt(inv(mass))", "d/dt(inv(mass) (T - C))"):
        matches(robot, rc.parse(text, robot))
    arm = rc.robots.planar(2)
    matches(arm, rc.parse("d/d{joint2}(inv(mass) (T - C))", arm))


@pytest.mark.parametrize(
    "text",
    [
        "2 inv(I + H phi K) inv(H P H* + A) mass H phi M phi* H*",
        "inv(H P H* + A) inv(I + H phi K) H phi M phi* H* inv(D) (I - H psi K) (D + A)",
    ],
)
def test_inverses_in_long_derivatives_have_sweeps(text):
    """The search ends before it has come to every inv(H P H* + A)."""
    robot = robot_of("small_flyer")
    matches(robot, rc.parse(f"d/dt({text})", robot))


def test_several_directions_in_one_expression():
    robot = robot_of("every_kind")
    o, (first, second) = robot.operators, [(joint.name, 0) for joint in robot.model.joints[2:4]]
    matches(
        robot, o.P.time_derivative() + o.P.sensitivity(first) @ o.P.sensitivity(second) + o.Upsilon.sensitivity(first)
    )
    matches(robot, o.S_V @ o.along(first).S_V.T + o.along(second).Omega)
    q, v = robot.random_state(2)
    along = sum(
        v[joint.v_start + k] * rc.dense(o.mass.sensitivity((joint.name, k)), q)
        for joint in robot.model.joints
        for k in range(joint.kind.nv)
    )
    assert gap(along, rc.dense(o.mass.time_derivative(), q, v)) < 1e-10


def test_the_recursion_is_there_once():
    robot = robot_of("puma560")
    steps = [str(s) for sweep in lower(simplify(rc.parse("d/dt(P psi)", robot))).plan.sweeps for s in sweep.steps]
    for function, count in (("articulate(", 1), ("eliminate(", 0), ("inertia_rate(", 1), ("relative(", 1)):
        assert sum(function in step for step in steps) == count, function


@pytest.mark.parametrize(
    ("text", "directions"),
    [
        ("d/dt(mass)", ["base to tip", "tip to base"]),
        ("d/dt(phi)", ["tip to base"]),
        ("d/dt(psi)", ["tip to base"]),
        ("d/dt(Upsilon)", ["tip to base", "base to tip"]),
        ("d/dt(J(link6)) v", ["base to tip", "each link"]),
    ],
)
def test_number_and_direction_of_sweeps(text, directions):
    lowered = lower(simplify(rc.parse(text, robot_of("puma560"))))
    assert [sweep.direction.value for sweep in lowered.plan.sweeps] == directions


TEXTS = ["d/dt(mass)", "d/dt(inv(mass))", "d/dt(psi)", "d/dt(Upsilon)", "d/d{joint4}(mass)", "d/d{joint4}(Upsilon)"]


@pytest.mark.parametrize("text", TEXTS)
def test_work_and_storage_grow_linearly_with_the_bodies(text):
    def measured(n: int) -> tuple[int, int]:
        robot = rc.robots.chain(n, seed=1)
        counter = Counter()
        text_here = text.replace("joint4", robot.model.joints[3].name)
        lowered = lower(simplify(rc.parse(text_here, robot)))
        given = {input_name(x): [counter.number(0.3)] * x.space.size for x in lowered.inputs} | dict(lowered.constants)
        q, v = ([counter.number(0.1 * k) for k in range(n)] for _ in range(2))
        values = run(lowered.plan, robot.model, {"q": q, "v": v, **given})
        lists = [items for items in values.lists.values() if len(items) == n]
        return counter.counts().total, max(sum(len(list(numeric.leaves(x[k]))) for x in lists) for k in range(n))

    (small, stored), (middle, _), (large, stored_later) = measured(5), measured(10), measured(15)
    assert large - middle == middle - small > 0
    assert stored == stored_later < 400


# ---- native code -----------------------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize("form", ["straight", "loop"])
def test_kernels_match_matrices(form):
    robot = robot_of("small_flyer")
    q, v = robot.random_state(3)
    name = robot.model.joints[0].name
    texts = {"straight": ("d/dt(mass)", "d/dt(Upsilon)", "d/dt(V* M V)"), "loop": (f"d/d{{{name},4}}(Upsilon)",)}
    for text in texts[form]:
        e = rc.parse(text, robot)
        f = rc.compile(e, robot, form=form)
        values = numbers(e)
        expected = by_matrices(e, q, v, values)
        assert gap(f(q, v, *(values[x] for x in f.inputs)), expected) < 1e-10, text
        both = f(np.stack([q, q]), v, *(values[x] for x in f.inputs))
        assert gap(both[1], expected) < 1e-10, text


@pytest.mark.compiled
def test_two_hundred_bodies_match_the_sensitivity_by_name():
    robot = robot_of("chain200")
    q, v = robot.random_state(3)
    f = rc.compile("d/dt(mass) v", robot)
    assert f.form == "loop"
    assert gap(f(q, v), robot.diagonal.sensitivity(q, right=v, along=v)) < 1e-9
    joint = robot.model.joints[120].name
    x = np.cos(np.arange(robot.nv))
    slope = rc.compile(robot.operators.mass.sensitivity(joint), robot)
    assert gap(slope(q, None, x), robot.diagonal.sensitivity(q, right=x, along=np.eye(robot.nv)[120])) < 1e-9


def test_explanations_show_the_rows_of_the_table():
    told = rc.explain("d/dt(psi) + d/d{joint2}(Upsilon)", rc.robots.planar(3))
    rules = {(step.rule, step.equation) for step in told.rewritings}
    assert ("rate of articulated propagation", "Jain & Rodriguez Table 4, row 8") in rules
    text = str(told)
    assert "Ṗ takes Algorithm 6.1" in text and "Ṗ(k) = Σ φ(k,c)" in text and "crf(H*(k) v(k))" in text
    assert "Ṗ_unit1(k)" in text and "Υ̇_unit1(k)" in text
    plain = told.text(ascii=True)
    assert "?" not in plain and "psi_dot" in plain and "P_dot(k)" in plain


@pytest.mark.parametrize(
    "make",
    [
        small_flyer,
        pytest.param(rc.robots.panda_like, marks=pytest.mark.slow),
        pytest.param(lambda: rc.robots.tree(13, seed=2), marks=pytest.mark.slow),
    ],
)
def test_second_derivatives_match_complex_steps_of_first_ones(make):
    """Twice in time, and along two joints: what is made of H, phi, M, V, a and gravity, and inverses of it."""
    robot = make()
    o, tiny = robot.operators, 1e-20
    q, v = robot.random_state(2)
    a, jerk = np.cos(np.arange(robot.nv)), np.sin(np.arange(robot.nv))
    moved = robot.integrate(q.astype(complex), 1j * tiny * v)
    single = [joint for joint in robot.model.joints if joint.kind.nv == 1]
    unit = np.eye(robot.nv)[single[-1].v_start]
    turned = robot.integrate(q.astype(complex), 1j * tiny * unit)
    jacobian = o.B(robot.link_names[-1]).T @ o.phi.T @ o.H.T
    costly = () if make is small_flyer else (jacobian @ o.mass.inverse(), 0.5 * o.V.T @ o.M @ o.V)
    for x in (jacobian, o.mass, o.H @ o.phi @ o.M @ (o.gravity + o.a), *costly):
        first = x.time_derivative()
        vdot = "vdot" in [vector.name for vector in free_vectors(first)]
        second = first.time_derivative(rates={"vdot": "jerk"} if vdot else None)

        def value(expression, q, v, t):
            f, known = rc.compile(expression), {"vdot": a + t * jerk, "jerk": jerk}
            given = [known[name] for name in f.inputs if name in known]
            return f(q, v, *given) if f._operand is None else f.matrix(q, v, *given)

        expected = value(first, moved, v + 1j * tiny * a, 1j * tiny).imag / tiny
        numeric.close(value(second, q, v, 0.0), expected, 1e-12)
        numbers = {"vdot": a, "jerk": jerk}
        numeric.close(
            rc.dense(second, q, v, **{n.name: numbers[n.name] for n in free_vectors(second)}), expected, 1e-11
        )
        along = x.sensitivity(single[1].name)
        expected = value(along, turned, v.astype(complex), 0.0).imag / tiny
        numeric.close(value(along.sensitivity(single[-1].name), q, v, 0.0), expected, 1e-12)
