"""Compiled expressions: against dense matrices, the interpreter and the named answers; their code and what it costs."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache

import numpy as np
import pytest

import numeric
import recursa as rc
from expressions import by_matrices, by_sweeps, gap, leaves, numbers_for, products
from recursa.errors import SingularMatrixError, UntraceableError
from recursa.kernels import function as functions
from recursa.loading import trusted
from recursa.operators.expression import Expression, free_vectors
from recursa.operators.lower import lower
from recursa.operators.simplify import simplify
from recursa.operators.values import input_name
from recursa.robots import random_description
from recursa.sweeps import run
from zoo import ZOO, floating_tree_with_rotors

pytestmark = pytest.mark.compiled

ROBOTS = {
    **ZOO,
    "floating_tree_with_rotors": floating_tree_with_rotors,
    "small_tree": lambda: trusted(
        random_description("small_tree", [-1, 0, 0, -1], 17, ["revolute", "spherical", "prismatic"])
    ),
    "small_flyer": lambda: trusted(random_description("small_flyer", [-1, 0, 1], 9, ["free", "revolute", "planar"])),
}
robot_of = cache(lambda name: ROBOTS[name]())
SMALL = ["pendulum", "small_tree", "small_flyer"]
LARGE = ["puma560", "chain_mixed", "tree", "mixed_tree", "one_of_each", "free_flyer", "floating_tree_with_rotors"]
FORMS = ["straight", "loop"]


def called(f, q: np.ndarray, v: np.ndarray | None, given: dict[str, np.ndarray]) -> np.ndarray:
    return f(q, v, *(given[name] for name in f.inputs))


# ---- against matrices and the interpreter ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "form"),
    [("pendulum", "loop"), ("small_tree", "loop"), ("small_flyer", "straight")],
)
def test_kernels_of_every_operator_match_matrices_and_the_interpreter(name, form):
    robot = robot_of(name)
    q, v = robot.random_state(3)
    for text, expression in {**leaves(robot), **products(robot)}.items():
        f = rc.compile(expression, robot, form=form)
        given = numbers_for(robot, f.simplified) | numbers_for(
            robot, expression if "inv(" not in text else f.simplified
        )
        found = called(f, q, v, given)
        assert f.form == form
        assert gap(found, by_matrices(expression, q, v, given)) < 1e-10, text
        assert gap(found, by_sweeps(robot, f.simplified, q, v, given)) < 1e-10, text


@pytest.mark.parametrize(("name", "form"), [*zip(LARGE, FORMS * 4, strict=False)])
def test_kernels_of_the_papers_match_matrices_in_larger_robots(name, form):
    robot = robot_of(name)
    q, v = robot.random_state(4)
    link = robot.link_names[-1]
    for text in ("inv(mass) (T - C)", "J(LINK) inv(mass) J(LINK)*", "Upsilon", "V* M V", "M (phi* a + gravity) + b"):
        expression = rc.parse(text.replace("LINK", link), robot)
        f = rc.compile(expression, form=form)
        given = {x.name: np.cos(np.arange(x.space.size)) for x in f._vectors.values()}
        assert gap(called(f, q, v, given), by_matrices(expression, q, v, given)) < 1e-10, text


@pytest.mark.parametrize("name", ["pendulum", "small_flyer", *LARGE])
def test_power_is_the_same_from_either_side(name):
    """``<y, A x> = <A* y, x>``: A compiled, A* compiled, each in one of the forms."""
    robot = robot_of(name)
    q, v = robot.random_state(5)
    rng = np.random.default_rng(6)
    papers = products(robot)
    chosen = {**leaves(robot), **papers} if name in SMALL else {t: papers[t] for t in ("1 - H psi K", "Psi")}
    for text, expression in chosen.items():
        there, back = rc.compile(expression, robot, form="straight"), rc.compile(expression.T, robot, form="loop")
        own = {x.name: rng.normal(size=x.space.size) for x in free_vectors(expression)}
        y, x = (rng.normal(size=space.size) for space in expression.shape)
        left = y @ called(there, q, v, {**own, there._operand.name: x})
        right = called(back, q, v, {**own, back._operand.name: y}) @ x
        assert abs(left - right) <= 1e-10 * max(1.0, abs(left)), text


@pytest.mark.parametrize("name", ["pendulum", "small_flyer"])
def test_a_product_matches_its_factors_applied_one_after_the_other(name):
    """``(A B) x`` and ``A (B x)``, for some of the pairs that fit; all pairs are in test_operator_groupings.py."""
    robot = robot_of(name)
    q, _ = robot.random_state(7)
    compiled = cache(lambda e: rc.compile(e, robot))
    pairs = [(a, b) for a in leaves(robot).values() for b in leaves(robot).values() if a.shape.columns == b.shape.rows]
    for left, right in pairs[::13]:
        x = np.sin(1.0 + np.arange(right.shape.columns.size))
        both = rc.compile(left @ right, robot)(q, None, x)
        assert gap(both, compiled(left)(q, None, compiled(right)(q, None, x))) < 1e-9, f"{left} {right}"


# ---- calls -----------------------------------------------------------------------------------------------------------


def accelerations() -> tuple[rc.Robot, Expression]:
    robot = robot_of("puma560")
    o = robot.operators
    return robot, o.mass.inverse() @ (o.vector("T") - o.C - o.H @ o.phi @ o.B("link6") @ o.vector("f", "tip"))


@pytest.mark.parametrize("form", FORMS)
def test_batch_axes_broadcast_and_rows_do_not_depend_on_their_place(form):
    _, expression = accelerations()
    f = rc.compile(expression, form=form)
    assert f.inputs == ("T", "f")
    rng = np.random.default_rng(1)
    q, v, tau, wrench = (rng.normal(size=s) for s in ((4, 1, 6), (3, 6), (6,), (4, 1, 6)))
    found = f(q, v, tau, wrench)
    assert found.shape == (4, 3, 6)
    assert gap(found, rc.dense(expression, np.broadcast_to(q, (4, 3, 6)), v, T=tau, f=wrench)) < 1e-10
    for _ in range(2):  # the second time through the native entry
        assert np.array_equal(f(q[2, 0], v[1], tau, wrench[2, 0]), found[2, 1])
    assert f(np.empty((0, 6)), v[0], tau, wrench[0, 0]).shape == (0, 6)
    assert f(q.tolist(), v.tolist(), tau.tolist(), wrench.tolist()).shape == (4, 3, 6)


@pytest.mark.parametrize("form", FORMS)
def test_single_precision_out_and_threads(form):
    _, expression = accelerations()
    f = rc.compile(expression, form=form)
    rng = np.random.default_rng(2)
    arguments = [rng.normal(size=(9000, 6)) for _ in range(4)]
    exact = f(*arguments)
    assert np.array_equal(f(*arguments, threads=2), exact)
    out = np.empty_like(exact)
    assert f(*arguments, out=out) is out
    assert np.array_equal(out, exact)
    assert f(*arguments, out=arguments[2]) is arguments[2]  # in place of an argument
    assert np.array_equal(arguments[2], exact)
    single = [x[:5].astype(np.float32) for x in (arguments[0], arguments[1], out, arguments[3])]
    found = f(*single)
    assert found.dtype == np.float32
    assert gap(found, f(*(x.astype(float) for x in single))) < 1e-3
    with pytest.raises(rc.ShapeError, match=r"out has shape \(3, 6\)"):
        f(*(x[:5] for x in arguments), out=np.empty((3, 6)))


def test_constants_stay_in_the_precision_of_the_call():
    robot = robot_of("puma560")
    o = robot.operators
    f = rc.compile(o.H.T @ np.arange(6.0) + o.V)
    q, v = (x.astype(np.float32) for x in robot.random_state(1))
    assert f(q, v).dtype == np.float32
    assert f(q.astype(float), v).dtype == np.float64


@pytest.mark.parametrize("form", FORMS)
def test_arrays_in_expressions(form):
    robot = robot_of("small_tree")
    o = robot.operators
    q, v = robot.random_state(2)
    rng = np.random.default_rng(3)
    joint, link, tip = (rng.normal(size=n) for n in (robot.nv, 6 * robot.nbodies, 6))
    B = o.B(robot.link_names[-1])
    for expression in (
        o.mass.inverse() @ joint,
        o.mass @ joint + joint,
        joint - o.C,
        o.phi @ (o.M @ link + 2.0 * o.b + o.E_phi @ link),
        o.H @ o.phi @ B @ tip,
        B.T @ o.V - tip,
        joint @ o.mass,  # a row
        joint @ o.mass.inverse() @ joint,
        o.vector("constant0") + joint,  # a name that might be taken
    ):
        f = rc.compile(expression, robot, form=form)
        given = {x.name: rng.normal(size=x.space.size) for x in f._vectors.values()}
        for state in ((q, v), (np.stack([q, q]), v)):
            assert gap(called(f, *state, given), by_matrices(expression, *state, given)) < 1e-10, str(expression)


@pytest.mark.parametrize("form", FORMS)
def test_numbers_and_zeros(form):
    robot = robot_of("mixed_tree")
    o = robot.operators
    q, v = robot.random_state(2)
    states = np.stack([q, q, q])
    energy = rc.compile(0.5 * o.V.T @ o.M @ o.V, form=form)
    assert energy(q, v).shape == () and energy(states, v).shape == (3,)
    assert np.allclose(energy(q, v), robot.kinetic_energy(q, v), rtol=1e-12)
    assert np.array_equal(energy(states, v), [energy(q, v)] * 3)
    nothing = rc.compile(o.mass - o.mass, robot, form=form)
    assert np.array_equal(nothing(states, None, np.ones(robot.nv)), np.zeros((3, robot.nv)))
    row = rc.compile(o.vector("T").T @ o.mass, form=form)
    assert row.inputs == ("T", "x")
    assert np.allclose(row.matrix(q, None, np.ones(robot.nv)), robot.mass_matrix(q).sum(axis=0))


def test_free_vectors_are_given_in_the_order_in_which_they_were_written():
    """Whatever simplification makes of them: here it takes ``H phi`` out, and finds that ``w`` does not matter."""
    robot = robot_of("small_tree")
    o = robot.operators
    y, (x, z, w) = o.vector("y"), (o.vector(name, "link") for name in "xzw")
    f = rc.compile(o.mass.inverse() @ (y + o.H @ o.phi @ x + o.H @ o.phi @ z + o.H @ o.tau_bar @ w))
    assert f.inputs == ("y", "x", "z", "w")
    assert "w" not in str(f.simplified)
    rng = np.random.default_rng(1)
    given = {"y": rng.normal(size=robot.nv)} | {name: rng.normal(size=6 * robot.nbodies) for name in "xzw"}
    q, _ = robot.random_state(1)
    for _ in range(2):
        assert gap(f(q, None, *given.values()), rc.dense(f.expression, q, **given)) < 1e-10
    other = rc.compile(o.vector("x", "link") @ (o.vector("x", "link").T @ o.phi))  # the operand needs another name
    assert other.inputs == ("x", "x1")


def test_the_matrix_itself():
    for name in ("small_tree", "free_flyer"):
        robot = robot_of(name)
        o = robot.operators
        q = np.stack([robot.random_state(seed)[0] for seed in range(3)])
        for expression in (o.mass, o.mass.inverse(), o.B(robot.link_names[-1]).T @ o.phi.T @ o.H.T, o.Upsilon):
            assert gap(rc.compile(expression).matrix(q), rc.dense(expression, q)) < 1e-9
    with pytest.raises(rc.ShapeError, match="is no matrix: call it"):
        rc.compile(o.C).matrix(q, q)


def test_wrong_calls_say_what_is_wrong():
    robot, expression = accelerations()
    f, (q, v) = rc.compile(expression), robot.random_state(0)
    x = np.ones(6)
    for _ in range(2):  # before and after there is a native entry
        with pytest.raises(rc.ShapeError, match="takes q, v and T, f: 1 vectors were given"):
            f(q, v, x)
        with pytest.raises(rc.ShapeError, match="takes q, v and T, f: 3 vectors were given"):
            f(q, v, x, x, x)
        with pytest.raises(rc.ShapeError, match=r"T has shape \(5,\), expected \(..., 6\)"):
            f(q, v, np.ones(5), x)
        with pytest.raises(rc.ShapeError, match=r"f has shape \(7,\), expected \(..., 6\): six numbers"):
            f(q, v, x, np.ones(7))
        with pytest.raises(rc.ShapeError, match=r"q has shape \(5,\)"):
            f(q[:5], v, x, x)
        with pytest.raises(rc.StateError, match="depends on the speeds: give v"):
            f(q, None, x, x)
        with pytest.raises(rc.ShapeError, match="batch axes do not fit"):
            f(np.stack([q, q]), np.stack([v, v, v]), x, x)
        f(q, v, x, x)
    with pytest.raises(rc.StateError, match="takes an operator expression"):
        rc.compile(3.0)
    with pytest.raises(rc.RecursaError, match="straight"):
        rc.compile(expression, form="strait")
    with pytest.raises(rc.ShapeError, match="is of robot"):
        rc.compile(expression, robot_of("tree"))
    with pytest.raises(rc.NoSweepError, match="no operator of a robot in it"):
        rc.compile(robot.operators.vector("T"))
    assert np.array_equal(rc.compile(robot.operators.vector("T"), robot)(q, None, x), x)


# ---- the code --------------------------------------------------------------------------------------------------------

CC = shutil.which("cc")


@pytest.mark.skipif(CC is None, reason="no C compiler")
@pytest.mark.parametrize("text", ["inv(mass) (T - C)", "Upsilon", "M", "V* M V", "H tau_bar", "J(link6) inv(mass)"])
def test_c_compiles_without_a_warning(text, tmp_path):
    f = rc.compile(rc.parse(text, robot_of("stanford")), form="straight")
    (tmp_path / "f.c").write_text(f"#include <math.h>\nvoid kernel();\n{f.source('c')}\n")
    flags = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
    done = subprocess.run([CC, *flags, "-c", "f.c"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_a_compiled_expression_says_of_itself():
    robot, expression = accelerations()
    f = rc.compile(expression)
    assert repr(f) == f"<{expression} of robot 'puma560': f(q, v, T, f)>"
    assert repr(rc.compile(robot.operators.mass)).endswith("f(q, None, x)>")
    assert f.operations.mul > 500 and f.operations.div <= 6
    assert "define void @kernel" in f.source()
    assert [step.rule for step in f.rewritings]
    assert f.form == "straight" and rc.compile(robot_of("chain200").operators.mass).form == "loop"
    assert "for (int i = 0;" in rc.compile(expression, form="loop").source("c") and "for (" not in f.source("c")
    assert rc.compile(expression, form="loop").operations.mul >= f.operations.mul


def test_javascript_of_a_kernel_that_loops_spells_its_bodies_out(monkeypatch):
    f = rc.compile(rc.robots.chain(70, seed=2).operators.mass)
    assert f.form == "loop" and f.source("js").count("out[") == 70
    monkeypatch.setattr(functions, "MAX_NODES", 2000)
    with pytest.raises(
        UntraceableError, match=r'every body spelled out, and over 2000 .* source\("llvm"\) has the loop'
    ):
        rc.compile(rc.robots.chain(70, seed=2).operators.mass).source("js")


def arithmetic(llvm: str) -> int:
    """Multiplications and additions in LLVM text; one fused is one of each."""
    return len(re.findall(r"= (?:fmul|fadd|fsub) ", llvm)) + 2 * len(re.findall(r"call .*@llvm\.fma", llvm))


TEXTS = ["inv(mass)", "mass", "inv(mass) (T - C)", "B(tool)* phi* H* inv(mass) H phi B(tool)", "Upsilon"]


def chain(n: int) -> rc.Robot:
    """Equal links on revolute joints, everything off axis."""
    b = rc.Builder("equal_links")
    for k in range(n):
        b.link(f"l{k}", mass=1.5, com=(0.1, -0.05, 0.2), inertia=(0.03, 0.04, 0.02, 0.001, -0.002, 0.003))
        place = {"xyz": (0.3, 0.1, -0.2), "rpy": (0.4, 0.2, -0.3)}
        b.joint(f"j{k}", "revolute", parent=f"l{k - 1}" if k else "world", child=f"l{k}", axis=(0.6, 0.0, 0.8), **place)
    b.frame("tool", parent=f"l{n - 1}", xyz=(0.1, 0.0, 0.3))
    return b.build()


@pytest.mark.parametrize("text", TEXTS)
def test_straight_code_grows_by_the_same_with_every_body(text):
    def count(n: int) -> int:
        f = rc.compile(rc.parse(text, chain(n)), form="straight")
        return arithmetic(f._kernel.source("llvm", width=1))

    small, middle, large = count(4), count(5), count(6)
    assert large - middle == middle - small > 0


@pytest.mark.parametrize("text", TEXTS)
def test_loop_code_does_not_grow_with_the_bodies(text):
    def source(n: int) -> str:
        return rc.compile(rc.parse(text, chain(n)), form="loop").source("llvm")

    small, large = source(10), source(80)
    assert arithmetic(small) == arithmetic(large)
    assert abs(len(large.splitlines()) - len(small.splitlines())) <= 0.02 * len(small.splitlines())


@pytest.mark.parametrize("text", [*TEXTS, "phi M phi*", "psi* H* inv(D) H psi", "K* psi* P", "V* M V"])
def test_what_is_stored_per_body_does_not_grow_with_the_bodies(text):
    """No matrix of the robot: the numbers in all buffers of a run, body by body."""

    def stored(n: int) -> tuple[int, int]:
        robot = chain(n)
        lowered = lower(simplify(rc.parse(text, robot)))
        q, v = (x.tolist() for x in robot.random_state(1))
        given = {input_name(x): [0.5] * x.space.size for x in lowered.inputs}
        values = run(lowered.plan, robot.model, {"q": q, "v": v, **given})
        lists = [items for items in values.lists.values() if len(items) == n]
        bodies = [sum(len(list(numeric.leaves(items[k]))) for items in lists) for k in range(n)]
        return max(bodies), sum(len(list(numeric.leaves(value))) for value in values.robot.values())

    assert stored(5) == stored(10) == stored(20)
    assert stored(5)[0] < 200 and stored(5)[1] <= 12


# ---- two hundred bodies ----------------------------------------------------------------------------------------------


def test_two_hundred_bodies_match_the_named_answers():
    robot = robot_of("chain200")
    o = robot.operators
    q, v = robot.random_state(3)
    tau = np.random.default_rng(4).normal(size=robot.nv)
    mass = robot.mass_matrix(q)
    tolerance = 1e-10 * np.linalg.cond(mass)
    link = robot.link_names[-1]
    jacobian = robot.jacobian(q, link)
    T = o.vector("T")
    for expression, expected in (
        (o.mass.inverse() @ T, np.linalg.solve(mass, tau)),
        (o.mass.inverse() @ (T - o.C), robot.forward_dynamics(q, v, tau)),
        (o.mass @ T, mass @ tau),
        (o.mass @ T + o.C, robot.inverse_dynamics(q, v, tau)),
        (o.C, robot.bias_forces(q, v)),
        (o.B(link).T @ o.phi.T @ o.H.T @ T, jacobian @ tau),
        (o.B(link).T @ o.V, robot.velocities(q, v)[-1]),
        (T.T @ o.mass @ T, tau @ mass @ tau),
    ):
        f = rc.compile(expression)
        found = f(q, v, *([tau] if f.inputs else []))
        assert f.form == "loop"
        assert gap(found, expected) < min(1e-6, tolerance), str(expression)
        if "⁻¹" not in str(expression):
            assert gap(found, expected) < 1e-10, str(expression)


# ---- operational space -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("puma560", "straight"),
        ("tree", "loop"),
        ("mixed_tree", "loop"),
        ("free_flyer", "straight"),
        ("free_flyer", "loop"),
        ("floating_tree_with_rotors", "straight"),
    ],
)
def test_operational_compliance_written_by_hand_matches_jacobians(name, form):
    """Of a link, and between two links; P, D and G are made once."""
    robot = robot_of(name)
    o = robot.operators
    q = np.stack([robot.random_state(seed)[0] for seed in (1, 2)])
    mass = o.H @ o.phi @ o.M @ o.phi.T @ o.H.T + o.A
    last, middle = robot.link_names[-1], robot.link_names[len(robot.link_names) // 2]
    for tool, other in ((last, last), (last, middle), (middle, last)):
        compliance = o.B(tool).T @ o.phi.T @ o.H.T @ mass.inverse() @ o.H @ o.phi @ o.B(other)
        f = rc.compile(compliance, form=form)
        left, right = robot.jacobian(q, tool), robot.jacobian(q, other)
        expected = left @ np.linalg.solve(robot.mass_matrix(q), np.swapaxes(right, -1, -2))
        assert gap(f.matrix(q), expected) < 1e-9
        assert str(f.plan).count("eliminate(") == 1
        assert [s.direction.value for s in f.plan.sweeps if s.direction.value != "each link"] == [
            "tip to base",
            "base to tip",
        ]


# ---- what cannot be --------------------------------------------------------------------------------------------------


def test_tied_robots_have_no_operators():
    with pytest.raises(rc.NoSweepError, match=r'tied joints .* Load it with mimic="free"'):
        _ = numeric.tied_gripper().operators


def test_inverses_with_and_without_the_armature():
    robot = robot_of("pendulum")
    o = robot.operators
    bodies = o.H @ o.phi @ o.M @ o.phi.T @ o.H.T
    q, _ = robot.random_state(1)
    tau = np.ones(robot.nv)
    both = bodies.inverse() @ o.A  # where armature enters otherwise
    assert gap(rc.compile(both)(q, None, tau), rc.dense(both, q) @ tau) < 1e-9
    f = rc.compile((bodies + o.A).inverse())
    assert gap(f(q, None, tau), np.linalg.solve(robot.mass_matrix(q), tau)) < 1e-9
    without = robot.mass_matrix(q) - np.diag([x for joint in robot.model.joints for x in joint.armature])
    assert gap(rc.compile(bodies.inverse())(q, None, tau), np.linalg.solve(without, tau)) < 1e-9
    assert gap(rc.compile((-2.0 * (bodies + o.A)).inverse())(q, None, tau), -0.5 * f(q, None, tau)) < 1e-12


def test_singular_blocks_that_never_have_an_inverse_are_refused():
    with pytest.raises(SingularMatrixError, match=r"A has no inverse: joint '.*' has a freedom without armature"):
        rc.compile(robot_of("tree").operators.A.inverse())
    with pytest.raises(SingularMatrixError, match=r"M has no inverse: link '.*' has no mass"):
        rc.compile(robot_of("floating_tree").operators.M.inverse())
    for text in ("inv(M)", "inv(phi M phi*)"):  # links that are thin rods do not resist turning about themselves
        with pytest.raises(SingularMatrixError, match=r"link 'link1' has .* no rotational inertia about some axis"):
            rc.compile(text, rc.robots.planar(2))
    robot = robot_of("pendulum")
    o = robot.operators
    q, v = robot.random_state(1)
    assert gap(rc.compile(o.A.inverse() @ o.C)(q, v), robot.bias_forces(q, v) / 0.05) < 1e-12


@pytest.mark.parametrize("name", ["puma560", "mixed_tree", "one_of_each"])
def test_link_accelerations_are_smoothed_without_a_second_propagation(name):
    """Jain & Rodriguez (21), with any torques, multiples and further terms."""
    robot = ZOO[name]()
    q, v = robot.random_state(2)
    tau = np.random.default_rng(3).normal(size=robot.nv)
    texts = ["phi* (H* inv(mass) (T - C) + a)", "phi* (2 H* inv(mass) (C - T) - 2 a + gravity)"]
    texts.append(f"J({robot.link_names[-1]}) inv(mass) (T - C) + B({robot.link_names[-1]})* phi* a")
    for text in texts:
        f = rc.compile(text, robot)
        wanted = rc.dense(f.expression, q, v, T=tau)
        assert gap(f(q, v, tau), wanted, np.abs(wanted).max()) < 1e-10, text
        assert "ψ* (H* (D⁻¹" in str(f.simplified), text
