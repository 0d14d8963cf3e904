"""Derivatives in the operator algebra: Jain & Rodriguez, Table 4 and section 6, over the zoo.

The dense value of a dotted letter is a complex step of the letter's own definition; it knows none of the rules.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import recursa as rc
from expressions import gap
from numeric import complex_step
from recursa.loading import trusted
from recursa.operators.derivative import differentiated
from recursa.operators.expression import Expression
from recursa.operators.leaves import Operators
from recursa.operators.rules import RATE_RULES, TABLE
from recursa.operators.simplify import simplify
from recursa.operators.singular import dense_values
from recursa.operators.symbols import RATES, Kind
from recursa.robots import random_description
from zoo import ALL_KINDS, ZOO, floating_tree_with_rotors

LEFT_OUT = {"chain200", "floating_tree"}  # too large for matrices; a massless floating base has no hinge inertia
ROBOTS = {name: make for name, make in ZOO.items() if name not in LEFT_OUT}
ROBOTS["floating_tree_with_rotors"] = floating_tree_with_rotors
ROBOTS["every_kind"] = lambda: trusted(random_description("every_kind", [-1, 0, 1, 0, 3, 2, -1], 8, ALL_KINDS))
robot_of = cache(lambda name: ROBOTS[name]())
every_robot = pytest.mark.parametrize("name", ROBOTS)
FEW = ["pendulum", "every_kind", "free_flyer", "floating_tree_with_rotors"]
TOLERANCE = 1e-10


def middle(robot: rc.Robot) -> tuple[str, int]:
    """The last freedom of a joint halfway out."""
    joint = robot.model.joints[len(robot.model.joints) // 2]
    return joint.name, joint.kind.nv - 1


def mass_rate(o: Operators) -> Expression:
    """The derivative of the mass matrix, by Table 4."""
    half = o.H @ o.phi @ o.E_phi @ o.S @ o.phi @ o.M @ o.phi.T @ o.H.T
    return half + half.T


def unit(robot: rc.Robot, freedom: tuple[str, int]) -> np.ndarray:
    joint = next(joint for joint in robot.model.joints if joint.name == freedom[0])
    return np.eye(robot.nv)[joint.v_start + freedom[1]]


# ---- the rows of Table 4 and the identities of section 6 -------------------------------------------------------------


@every_robot
def test_both_sides_of_every_rule_match(name):
    """Along the motion, and along one freedom."""
    robot = robot_of(name)
    q, v = robot.random_state(1)
    chosen = [robot.operators, robot.operators.along(middle(robot))]
    rules = [(rule, o.direction, rule.sides(o)) for o in chosen for rule in (*TABLE, *RATE_RULES)]
    rules = [rule for rule in rules if rule[2] is not None]
    values = iter(dense_values([side for *_, sides in rules for side in sides], q, v))
    for rule, direction, _ in rules:
        assert gap(next(values), next(values)) < TOLERANCE, f"{rule.name} along {direction}"


def test_every_rule_holds_somewhere_and_every_rate_has_one():
    plain, single = rc.robots.planar(2).operators, rc.robots.planar(2).operators.along("joint2")
    for rule in (*TABLE, *RATE_RULES):
        assert any(rule.sides(o) is not None for o in (plain, single)), rule.name
        assert rule.formula and rule.equation
    said = {rule.sides(plain)[0].kind for rule in TABLE} | {Kind.P_DOT, Kind.R_DOT, Kind.UPSILON_DOT}
    assert said == set(RATES.values())


INERTIAL = {  # Table 4, right column: what is added to the left one
    "E_phi": "Omega_tilde E_phi - E_phi Omega_tilde",
    "phi": "phi (Omega_tilde E_phi - E_phi Omega_tilde) phi",
    "H": "-H Omega_tilde",
    "M": "Omega_tilde M - M Omega_tilde",
    "D": "0 D",
    "G": "Omega_tilde G",
    "tau_bar": "Omega_tilde tau_bar - tau_bar Omega_tilde",
    "E_psi": "Omega_tilde E_psi - E_psi Omega_tilde",
    "P": "Omega_tilde P - P Omega_tilde",
}


def rotations(robot: rc.Robot, q) -> np.ndarray:
    """``diag(R, R)`` of every body against the world."""
    result = np.zeros((6 * robot.nbodies, 6 * robot.nbodies), complex)
    for k, joint in enumerate(robot.model.joints):
        result[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = np.kron(np.eye(2), robot.pose(q, joint.child)[:3, :3])
    return result


@pytest.mark.parametrize("name", FEW)
def test_inertial_derivatives_match_world_axes_and_the_right_column(name):
    """The derivative of the components in world axes, by a complex step, turned back into body axes."""
    robot = robot_of(name)
    q, v = robot.random_state(2)
    turn = rotations(robot, q).real

    def world(x: Expression, q) -> np.ndarray:
        around = rotations(robot, q)
        rows, columns = (around if space.name == "link" else np.eye(space.size) for space in x.shape)
        return rows @ rc.dense(x, q, v) @ columns.T

    for code, added in INERTIAL.items():
        leaf = getattr(robot.operators, code)
        more = rc.parse(added, robot)
        found, local, more = dense_values([leaf.time_derivative("inertial"), leaf.time_derivative(), more], q, v)
        rows, columns = (turn if space.name == "link" else np.eye(space.size) for space in leaf.shape)
        there = complex_step(lambda t, leaf=leaf: world(leaf, robot.integrate(q.astype(complex), t * v)))
        assert gap(rows @ found @ columns.T, there) < TOLERANCE, code
        assert gap(found, local + more) < TOLERANCE, code
    gravity = robot.operators.gravity.time_derivative("inertial")
    assert np.abs(rc.dense(gravity, q, v)).max() < TOLERANCE


# ---- products, sums and inverses: against complex steps of the whole -------------------------------------------------

EXPRESSIONS = [
    "mass", "inv(mass)", "J(LINK)", "1 - H psi K", "(1 + H phi K)*", "psi* H* inv(D) H psi", "B(LINK)* Upsilon B(LINK)",
    "inv(D + 2)", "2 phi M psi* - R + P", "x* phi y", "V* M V", "C", "M (phi* a + gravity) + b", "inv(mass) (T - C)",
    "E_psi P K", "tau_bar G", "V", "v - K* V",
]  # fmt: skip


@pytest.mark.parametrize("name", ["pendulum", "planar_arm", "every_kind", "floating_tree_with_rotors"])
def test_derivatives_match_complex_steps(name):
    robot = robot_of(name)
    q, v = robot.random_state(3)
    rng = np.random.default_rng(4)
    vdot, freedom = rng.normal(size=robot.nv), middle(robot)
    given = {"T": rng.normal(size=robot.nv), "x": rng.normal(size=6 * robot.nbodies)}
    given["y"] = rng.normal(size=6 * robot.nbodies)
    ydot, direction, start = rng.normal(size=6 * robot.nbodies), unit(robot, freedom), q.astype(complex)
    vectors = {"x": "link", "y": "link"}
    read = [rc.parse(text.replace("LINK", robot.link_names[-1]), robot, vectors=vectors) for text in EXPRESSIONS]

    def flat(values: list[np.ndarray]) -> np.ndarray:
        return np.concatenate([x.ravel() for x in values])

    def moving(t) -> np.ndarray:
        now = {**given, "y": given["y"] + t * ydot}
        return flat(dense_values(read, robot.integrate(start, t * v), v + t * vdot, **now))

    def displaced(t) -> np.ndarray:
        return flat(dense_values(read, robot.integrate(start, t * direction), v, **given))

    derived = [
        e.time_derivative(rates={"y": "ydot"} if text == "x* phi y" else {})
        for e, text in zip(read, EXPRESSIONS, strict=True)
    ]
    for found, expected in (
        (dense_values(derived, q, v, vdot=vdot, ydot=ydot, **given), complex_step(moving)),
        (dense_values([e.sensitivity(freedom) for e in read], q, v, **given), complex_step(displaced)),
    ):
        ends = np.cumsum([x.size for x in found])
        for text, one, end in zip(EXPRESSIONS, found, ends, strict=True):
            assert gap(one.ravel(), expected[end - one.size : end]) < TOLERANCE, text


def test_what_is_constant_has_no_derivative():
    robot = robot_of("one_of_each")
    o = robot.operators
    for constant in (o.H, o.M, o.A, o.B(robot.link_names[-1]), o.I, o.vector("T"), o.H @ o.M @ o.H.T + o.A):
        found = constant.time_derivative()
        assert str(found) == "0" and found.shape == constant.shape
    assert str(o.v.sensitivity(middle(robot))) == "0" and str(o.S.sensitivity(middle(robot))) == "0"
    assert o.v.time_derivative() == o.vector("vdot")
    assert (o.M @ np.ones(6 * robot.nbodies)).time_derivative() == differentiated(o.M @ o.vector("x", "link"), None)


# ---- the mass matrix and the Coriolis forces -------------------------------------------------------------------------


@every_robot
def test_rate_of_the_mass_matrix_matches_the_coriolis_forces(name):
    """``v* M_dot v = 2 v* C v`` without gravity, and (2.1), (6.14), (6.16) of the paper."""
    robot = robot_of(name).with_gravity((0.0, 0.0, 0.0))
    o = robot.operators
    q, v = robot.random_state(5)
    rate, bias = rc.dense(o.mass.time_derivative(), q, v), robot.bias_forces(q, v)
    assert gap(rate, rc.dense(mass_rate(o), q, v)) < TOLERANCE
    assert abs(v @ rate @ v - 2.0 * v @ bias) < TOLERANCE * max(1.0, abs(v @ bias))
    gradient = -2.0 * rc.dense(o.H @ o.S_V @ o.phi @ o.M @ o.V, q, v)  # with the Lagrange-Hamel bracket
    assert gap(rate @ v - 0.5 * gradient, bias) < TOLERANCE
    freedom = middle(robot)
    slope = v @ rc.dense(o.mass.sensitivity(freedom), q) @ v
    # 2 H crm(V+)* phi M V
    carried = -2.0 * rc.dense(o.H @ o.S_V @ o.phi @ o.M @ o.V - o.H @ o.S @ o.phi @ o.M @ o.V, q, v)
    assert abs(slope - unit(robot, freedom) @ carried) < TOLERANCE * max(1.0, abs(slope))  # (6.16a), general
    if all(joint.kind.nv == 1 for joint in robot.model.joints):
        b = rc.dense(2.0 * o.H @ o.phi @ (o.S @ o.phi - o.S_V) @ o.M @ o.V, q, v)  # (6.16b)
        assert gap(gradient, b) < TOLERANCE
        if not o.has_armature:
            inner = o.S @ (o.I + o.phi @ o.K @ o.H) @ o.P - o.S_V @ o.M  # (6.16c)
            assert gap(gradient, rc.dense(2.0 * o.H @ o.phi @ inner @ o.V, q, v)) < TOLERANCE


@pytest.mark.parametrize("name", ["planar_arm", "tree", "every_kind", "free_flyer"])
def test_coriolis_term_of_total_rates_matches_the_diagonal_view(name):
    """(7.9): ``C(q, xi) = H psi (P_dot H* xi - E_phi S P+ V+ + S_V M V)``, all joints; and ``D_dot``."""
    robot = robot_of(name)
    o = robot.operators
    q, v = robot.random_state(6)
    xi = o.v + o.K.T @ o.V
    inner = o.P_dot @ o.H.T @ xi + o.S_V @ o.M @ o.V
    shifted = o.E_phi @ o.S @ o.tau_bar @ o.P @ o.E_phi.T @ o.V
    view = robot.diagonal.unnormalized
    rates = rc.dense(xi, q, v)
    assert gap(rates, view.total_rates(q, v)) < TOLERANCE
    assert gap(rc.dense(o.H @ o.psi @ (inner - shifted), q, v), view.coriolis(q, rates)) < TOLERANCE
    found = rc.dense(o.D.time_derivative(), q, v)
    assert gap(found, view.inertia_rate(q, v)) < TOLERANCE


# ---- forms and errors ------------------------------------------------------------------------------------------------


def test_derivatives_simplify_to_the_forms_of_the_paper():
    arm = rc.robots.planar(3)
    o = arm.operators
    simple, steps = simplify(o.mass.time_derivative(), trace=True)
    assert str(simple) == "H φ (S φ M + M φ* S*) φ* H*"
    assert [step.equation for step in steps] == [
        "Jain & Rodriguez Table 4, row 2 (6.7)",
        "Jain & Rodriguez Identity 6.3 (6.14)",
    ]
    assert simplify(o.mass.sensitivity("joint2")) == rc.parse(
        "H phi (S{joint2} phi M + M phi* S{joint2}*) phi* H*", arm
    )
    assert str(simplify(o.V.time_derivative())) == "φ* (a + H* vdot)"
    assert str(simplify(o.gravity.time_derivative("inertial"))) == "0"
    assert simplify(o.D.time_derivative("inertial")) == o.H @ o.P_dot @ o.H.T
    assert simplify(mass_rate(o) @ o.v + o.H @ o.S_V @ o.phi @ o.M @ o.V + o.H @ o.phi @ o.M @ o.gravity) == o.C
    assert str((o.V.T @ o.M @ o.V).time_derivative()).startswith("2 (")  # x* M y = y* M x: one term


def test_notation_of_derivatives():
    robot = robot_of("one_of_each")
    o = robot.operators
    assert rc.parse("d/dt(mass) + D/Dt(D)", robot) == o.mass.time_derivative() + o.D.time_derivative()
    assert rc.parse("D/Dt(phi)", robot) == o.phi.time_derivative("inertial")
    for joint in robot.model.joints:
        for freedom in range(joint.kind.nv):
            name = joint.name if joint.kind.nv == 1 else f"{joint.name},{freedom}"
            e = rc.parse(f"d/d{{{name}}}(psi)", robot)
            assert e == o.psi.sensitivity((joint.name, freedom))
            assert rc.parse(str(e), robot) == e == rc.parse(e.text(ascii=True), robot)
    assert o.along(middle(robot)).S != o.S and hash(o.along(middle(robot))) != hash(o)
    assert rc.robots.planar(2).operators.along("joint1").E_phi_dot.latex() == (
        r"{\dot{\mathcal{E}}_\phi}_{\mathrm{joint1}}"
    )
    for kind in RATES.values():
        assert rc.parse(kind.value.text, robot) == getattr(o, kind.value.code)


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda o: o.mass.time_derivative("world"), rc.UnknownNameError, "no kind of derivative 'world'"),
        (lambda o: o.mass.sensitivity("elbow"), rc.UnknownNameError, "no moving joint 'elbow'"),
        (lambda o: o.mass.sensitivity("root"), rc.StateError, "has freedoms 0 to 5, say which: ('root', 0)"),
        (lambda o: o.mass.sensitivity(("root", 6)), rc.StateError, "has freedoms 0 to 5, not 6"),
        (lambda o: o.P_dot.time_derivative(), rc.NoSweepError, "has no derivative among the operators"),
        (lambda o: o.psi.time_derivative().time_derivative(), rc.NoSweepError, "Ṗ has no derivative"),
        (lambda o: o.V.time_derivative().time_derivative(), rc.StateError, "name its own rate"),
        (lambda o: o.mass.time_derivative(rates={"T": "Tdot"}), rc.UnknownNameError, "no free vector 'T'"),
        (lambda o: rc.dense(o.phi_dot, [0, 0, 0, 0, 0, 0, 1]), rc.ShapeError, "v is missing"),
        (lambda o: rc.compile(o.P_dot.inverse()), rc.NoSweepError, "no factors of Ṗ are known"),
    ],
)
def test_what_has_no_derivative_says_why(ask, error, words):
    b = rc.Builder("rock").link("rock", mass=1.0, inertia=(1, 1, 1))
    o = b.joint("root", "free", parent="world", child="rock").build().operators
    with pytest.raises(error) as caught:
        ask(o)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("d/d{x}(mass)", "no moving joint 'x'"),
        ("d/d{joint1,4}(mass)", "has freedom 0, not 4"),
        ("M{joint1}", "knows no velocity"),
        ("d/dt mass", "expected '(' after d/dt"),
        ("d/d{joint1} mass", "expected '(' after d/d"),
        ("d/dt(mass", "expected ')'"),
        ("S{joint1", "has no meaning here"),
    ],
)
def test_mistakes_in_the_notation_of_derivatives_are_shown(text, message):
    with pytest.raises(rc.RecursaError) as caught:
        rc.parse(text, rc.robots.planar(2))
    assert message in str(caught.value) and "^" in str(caught.value)
