"""trace, logdet and the root of the link inertia in formulas: compiled, differentiated, explained, or refused."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import recursa as rc
import zoo
from expressions import gap
from recursa.errors import NotationError, SingularMatrixError

ROBOTS = {
    "puma560": rc.robots.puma560,
    "small_mixed_tree": zoo.small_mixed_tree,
    "small_flyer": zoo.small_flyer,
}
robot_of = cache(lambda name: ROBOTS[name]())
NUMBERS = [
    "trace(M)", "trace(mass)", "trace(phi M phi*)", "trace(phi)", "trace(psi - I)", "trace(inv(mass))",
    "trace(tau_bar)", "trace(H phi (M + 0.1 I) phi* H*)", "trace(J(LINK) inv(mass) J(LINK)*)",
    "trace(D) - 2 trace(A) + 3", "logdet(mass)", "logdet(inv(mass))", "logdet(M)", "logdet(2 D)", "logdet(phi M phi*)",
    "logdet(mass + 0.1 I)", "logdet(J(LINK) inv(mass) J(LINK)* + I)", "logdet(mass + J(LINK)* J(LINK))",
    "logdet(D^(1/2)) - logdet(m)", "logdet(M^(1/2))", "1/2 logdet(mass) + V* M V", "trace(mass) logdet(mass)",
    "logdet(2 + V* M V)",
]  # fmt: skip
ROOTS = ["M^(1/2) x", "M^(1/2)* x", "inv(M^(1/2)) x", "inv(M^(1/2))* x", "H phi M^(1/2) x", "sqrt(M) sqrt(M)* x"]


def read(robot: rc.Robot, text: str):
    link = robot.model.joints[-1].child
    return rc.parse(text.replace("LINK", link), robot, vectors={"x": "link"})


@pytest.mark.parametrize(
    ("name", "form"), [("puma560", "straight"), ("small_mixed_tree", "loop"), ("small_flyer", "loop")]
)
def test_compiled_numbers_match_matrices(name, form):
    robot = robot_of(name)
    q, v = robot.random_state(4)
    states = np.stack([q, robot.random_state(5)[0]]), np.stack([v, v])
    for text in NUMBERS:
        f = rc.compile(read(robot, text), robot, form=form)
        expected = rc.dense(f.expression, *states)
        assert expected.shape == (2,)
        assert gap(f(*states), expected, max(1.0, np.abs(expected).max())) < 1e-10, f"{text}: {f.simplified}"


@pytest.mark.parametrize(("name", "form"), [("puma560", "straight"), ("small_mixed_tree", "loop")])
def test_compiled_roots_of_link_inertias_match_matrices(name, form):
    robot = robot_of(name)
    q, _ = robot.random_state(4)
    x = np.cos(np.arange(6.0 * robot.model.nbodies))
    for text in ROOTS:
        expression = read(robot, text)
        expected = rc.dense(expression, q, x=x)
        assert gap(rc.compile(expression, robot, form=form)(q, None, x), expected, np.abs(expected).max()) < 1e-10, text


def test_the_root_is_a_factor_of_the_mass_matrix():
    """Section X of Rodriguez & Kreutz-Delgado, after Angeles and Ma: H phi M^(1/2)."""
    robot = robot_of("puma560")
    q, _ = robot.random_state(4)
    factor = rc.dense(read(robot, "H phi M^(1/2)"), q)
    assert gap(factor @ factor.T, rc.dense(read(robot, "H phi M phi* H*"), q), 1.0) < 1e-12
    assert str(rc.compile(read(robot, "H phi M^{1/2} M^{1/2}* phi* H*"), robot).simplified) == "H φ M φ* H*"
    assert np.allclose(rc.dense(read(robot, "M^(-1/2)* M^(-1/2)"), q), rc.dense(read(robot, "inv(M)"), q))


def test_bodies_without_mass_have_a_root_of_zeros():
    b = rc.Builder("crank").link("crank").link("rod", mass=1.0, inertia=(0.1, 0.2, 0.3))
    b.joint("a", "revolute", parent="world", child="crank", axis=(0, 0, 1))
    robot = b.joint("b", "revolute", parent="crank", child="rod", axis=(0, 1, 0), xyz=(0.3, 0, 0)).build()
    x = np.arange(1.0, 13.0)
    for text in ("M^(1/2) x", "M^(1/2)* x"):
        found = rc.compile(read(robot, text), robot)([0.1, 0.2], None, x)
        assert not found[:6].any() and np.allclose(found, rc.dense(read(robot, text), [0.1, 0.2], x=x))
    with pytest.raises(SingularMatrixError, match="link 'crank' has no mass"):
        rc.compile(read(robot, "inv(M^(1/2)) x"), robot)


# ---- derivatives -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["logdet(mass)", "trace(mass)", "logdet(mass + 0.1 I)", "trace(inv(mass))"])
@pytest.mark.parametrize("name", ["puma560", "small_mixed_tree"])
def test_derivatives_match_differences(name, text):
    robot = robot_of(name)
    expression = read(robot, text)
    q, v = robot.random_state(4)
    step = 1e-6
    ahead, behind = (rc.dense(expression, robot.integrate(q, sign * step * v)) for sign in (1.0, -1.0))
    expected = (ahead - behind) / (2.0 * step)
    rate = expression.time_derivative()
    assert abs(rc.dense(rate, q, v) - expected) < 1e-7 * max(1.0, abs(expected))
    assert abs(rc.compile(rate, robot)(q, v) - expected) < 1e-7 * max(1.0, abs(expected))


def test_the_derivative_of_the_determinant_takes_one_recursion():
    """``d log det mass = trace(inv(D) dD)``: no matrix is inverted, and work grows linearly."""
    text = "d/d{joint2}(logdet(mass))"
    counts = [rc.compile(text, rc.robots.chain(n, seed=2), form="straight").operations.total for n in (6, 12, 24)]
    assert counts[2] - counts[1] < 2.2 * (counts[1] - counts[0])


# ---- text, frames, refusals ------------------------------------------------------------------------------------------


def test_they_are_read_printed_and_explained():
    robot = robot_of("puma560")
    o = robot.operators
    for text in (r"\operatorname{tr}(M)", r"\mathrm{tr}(M)", "tr(M)", "trace(M)"):
        assert rc.parse(text, robot) == o.trace(o.M)
    for text in (r"\log\det(\mathcal{M})", r"\log \det(\mathcal{M})", "logdet(mass)"):
        assert rc.parse(text, robot) == o.logdet(o.mass)
    for expression in (o.trace(o.M), o.logdet(o.mass) + 2 * o.trace(o.phi @ o.M), o.W_M.inverse() @ o.V):
        assert rc.parse(str(expression), robot) == rc.parse(expression.text(ascii=True), robot) == expression
        assert rc.parse(expression.latex(), robot) == expression
    told = rc.explain("logdet(mass)", robot)
    assert told.plan is not None and "Identity 3 (43)" in str(told)
    assert "W_M W_M* = M" in str(rc.explain("M^(1/2) x", robot, vectors={"x": "link"}))


def test_determinants_do_not_notice_link_frames_and_traces_of_inertias_do():
    robot = robot_of("puma560")
    for text, moved in (("logdet(M)", True), ("logdet(mass)", True), ("trace(M)", False), ("trace(tau_bar)", True)):
        assert rc.compile(text, robot).frame_free == moved, text


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("trace(H)", rc.ShapeError, "only something square has a trace"),
        ("logdet(C)", rc.ShapeError, "only something square has a logdet"),
        ("trace(2)", rc.ShapeError, "has no size"),
        ("trace M", NotationError, r"expected '\(' after trace"),
        ("P^(1/2)", NotationError, r"only D and M have roots"),
        ("mass^(1/2)", NotationError, r"the mass matrix has the factor m, mass = m m\*"),
    ],
)
def test_what_has_none_is_refused_by_name(text, error, words):
    with pytest.raises(error, match=words):
        rc.parse(text, robot_of("puma560"))


def test_what_no_sweep_computes_is_refused_by_name():
    robot = robot_of("puma560")
    with pytest.raises(rc.NoSweepError, match="the determinant of"):
        rc.compile("logdet(phi + phi*)", robot)
    with pytest.raises(rc.NoSweepError, match="up to 96 columns"):
        rc.compile("trace(inv(mass))", rc.robots.chain(100, seed=1))
    with pytest.raises(SingularMatrixError, match="has no inverse at this state"):
        rc.dense(rc.parse("logdet(H* H)", robot), robot.random_state(1)[0])
    short = rc.robots.planar(2)
    with pytest.raises(SingularMatrixError):
        rc.compile("logdet(J(tip) inv(mass) J(tip)*)", short)([0.3, 0.4], None)
