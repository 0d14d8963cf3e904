"""Operator expressions: shapes, comparison, printing, structure, dense values, simplification."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

import recursa as rc
from recursa.operators.cost import cost
from recursa.operators.expression import (
    Constant,
    Filter,
    Inverse,
    Leaf,
    Product,
    Scaled,
    Sum,
    Transpose,
    Zero,
    parts_of,
)
from recursa.operators.shapes import ONE
from recursa.operators.simplify import simplify
from recursa.operators.structure import structure
from recursa.operators.symbols import OF_CONSTRAINTS, SYMBOLS, Kind, Structure
from zoo import ZOO

ARM = rc.robots.puma560()  # with armature
OPS = ARM.operators
PLAIN = rc.robots.planar(3).operators  # without
MASS = OPS.H @ OPS.phi @ OPS.M @ OPS.phi.T @ OPS.H.T
FACTOR = OPS.I + OPS.H @ OPS.phi @ OPS.K
INVERSE_FACTOR = OPS.I - OPS.H @ OPS.psi @ OPS.K


# ---- shapes --------------------------------------------------------------------------------------------------------


def test_shapes_match_the_table_and_the_arrays():
    q, v = ARM.random_state(1)
    held = ARM.with_constraints(rc.Contact("point", "link6"), rc.JointRelation({"joint1": 1.0, "joint2": -2.0}))
    for code, kind in SYMBOLS.items():
        of = held.operators if kind in OF_CONSTRAINTS else OPS
        leaf = OPS.B("link6") if kind is Kind.B else getattr(of, code)
        wanted = tuple(space.size for space in leaf.shape if space != ONE)
        assert rc.dense(leaf, q, v).shape == wanted
        assert [space.name for space in leaf.shape] == [kind.value.rows, kind.value.columns]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: OPS.H @ OPS.D, ("H is joint 6 x link 36", "D is joint 6 x joint 6", "With H* they would fit")),
        (lambda: OPS.phi @ OPS.B("link6") @ OPS.H, ("B(link6)", "link 36 x tip 6", "tip 6 is not joint 6")),
        (lambda: OPS.K.T @ OPS.psi.T @ OPS.H.T @ OPS.a, ("H* is link 36 x joint 6", "a is link 36")),  # a slip in print
        (lambda: OPS.H + OPS.D, ("cannot add H and D",)),
        (lambda: OPS.H + OPS.I, ("cannot add H and I",)),
        (lambda: OPS.H.inverse(), ("only something square",)),
        (lambda: OPS.H @ np.ones(5), ("joint 6 x link 36", "5")),
        (lambda: OPS.H @ PLAIN.phi, ("link 36 is not link 18",)),
        (lambda: OPS.M @ ARM.with_gravity((0, 0, 0)).operators.phi, ("an expression is about one robot",)),
        (lambda: OPS.H @ np.ones((2, 36, 2)), ("shape (2, 36, 2)", "a vector or a matrix")),
        (lambda: OPS.I.shape or rc.dense(OPS.I, ARM.neutral()), ("I alone has no size",)),
    ],
)
def test_ill_shaped_expression_shows_both_sides(make, words):
    with pytest.raises(rc.ShapeError) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


def test_spaces_of_equal_size_are_still_different():
    b = rc.Builder("rock").link("rock", mass=1.0, inertia=(1, 1, 1))
    flyer = b.joint("root", "free", parent="world", child="rock").build().operators  # nv = 6 nbodies = 6
    with pytest.raises(rc.ShapeError, match="link 6 is not joint 6"):
        flyer.H @ flyer.D
    assert (flyer.H @ np.eye(6) @ flyer.D).shape == flyer.D.shape  # numbers fit either


def test_star_between_operators_is_explained():
    with pytest.raises(TypeError, match="multiplied with @"):
        OPS.H * OPS.phi
    with pytest.raises(TypeError):
        OPS.H + "phi"
    with pytest.raises(rc.StateError, match="must be finite"):
        float("nan") * OPS.H


# ---- one normal form -----------------------------------------------------------------------------------------------


def test_products_are_flat_whatever_the_brackets():
    left = ((OPS.H @ OPS.phi) @ OPS.M) @ (OPS.phi.T @ OPS.H.T)
    right = OPS.H @ (OPS.phi @ (OPS.M @ OPS.phi.T)) @ OPS.H.T
    assert left == right == MASS
    assert hash(left) == hash(right)
    assert isinstance(left, Product) and len(left.factors) == 5
    assert all(isinstance(f, Leaf | Transpose) for f in left.factors)


def test_normal_form_of_sums_transposes_and_inverses():
    assert OPS.P + OPS.M == OPS.M + OPS.P
    assert OPS.M + OPS.M == 2 * OPS.M
    assert Zero(OPS.M.shape) == OPS.M - OPS.M
    assert OPS.M.T is OPS.M and OPS.phi == OPS.phi.T.T
    assert (FACTOR @ OPS.D).T == OPS.D @ FACTOR.T
    assert FACTOR.T.T == FACTOR != FACTOR.T
    assert OPS.D.inverse().inverse() == OPS.D
    assert (FACTOR @ OPS.D @ FACTOR.T).inverse() == FACTOR.T.inverse() @ OPS.D.inverse() @ FACTOR.inverse()
    assert isinstance(MASS.inverse(), Inverse)  # its factors are not square
    assert -(OPS.M - OPS.P) @ OPS.phi == (OPS.P - OPS.M) @ OPS.phi
    assert (2 * OPS.H) @ (3 * OPS.phi) == 6 * (OPS.H @ OPS.phi) == Scaled(6.0, Product((OPS.H, OPS.phi)))
    assert OPS.I @ OPS.H @ OPS.I == OPS.H
    assert 1 - OPS.H @ OPS.psi @ OPS.K == INVERSE_FACTOR
    assert Zero(OPS.H.shape) == 0 * OPS.H
    assert OPS.M + 0 == 0 + OPS.M == OPS.M + (OPS.I - OPS.I) == OPS.M and OPS.C - 0.0 == OPS.C
    assert sum([OPS.M, OPS.P]) == OPS.M + OPS.P  # which Python begins with 0
    assert (OPS.H @ OPS.phi) / 2 == 0.5 * (OPS.H @ OPS.phi)
    assert isinstance(FACTOR, Sum)


def test_equality_is_by_structure_and_robot():
    again = rc.robots.puma560().operators
    assert again.H == OPS.H and hash(again.H @ again.phi) == hash(OPS.H @ OPS.phi)
    assert ARM.with_gravity((0, 0, -1)).operators.H != OPS.H
    assert OPS.B("link6") != OPS.B("link5")
    assert OPS == again != PLAIN
    assert OPS.vector("x") != OPS.vector("y")
    assert OPS.H @ np.ones(36) == OPS.H @ np.ones(36) != OPS.H @ np.zeros(36)


def test_expressions_are_frozen_and_survive_a_pickle():
    with pytest.raises(AttributeError):
        OPS.H.kind = Kind.M
    expression = MASS.inverse() @ (OPS.vector("T") - OPS.C) + np.arange(6.0)
    assert len({expression}) == 1  # hashed, and the hash must not travel
    code = "import pickle, sys; e = pickle.load(sys.stdin.buffer); print(e == pickle.loads(pickle.dumps(e)), e in {e})"
    sent = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(expression), capture_output=True, check=True)
    assert sent.stdout.split() == [b"True", b"True"]
    assert pickle.loads(pickle.dumps(expression)) == expression


# ---- numbers in expressions ----------------------------------------------------------------------------------------


def test_arrays_on_either_side_match_numpy():
    q, _ = ARM.random_state(2)
    x, y = np.arange(6.0) + 1, np.arange(36.0)
    full = np.outer(y, y) + np.eye(36)
    H, phi = rc.dense(OPS.H, q), rc.dense(OPS.phi, q)
    assert np.allclose(rc.dense(OPS.H @ OPS.phi @ y, q), H @ phi @ y)
    assert np.allclose(rc.dense(x @ OPS.H @ OPS.phi, q), x @ H @ phi)
    assert np.allclose(rc.dense(x @ OPS.H @ y, q), x @ H @ y)
    assert rc.dense(x @ OPS.H @ y, q).shape == ()
    assert np.allclose(rc.dense(OPS.H @ full @ OPS.phi, q), H @ full @ phi)
    assert np.allclose(rc.dense(full @ OPS.phi, q), full @ phi)
    assert np.allclose(rc.dense(full[:6] @ OPS.phi, q), full[:6] @ phi)
    assert np.allclose(rc.dense(x + OPS.H @ y, q), x + H @ y)
    assert np.allclose(rc.dense(x - OPS.H @ y, q), x - H @ y)
    assert np.allclose(rc.dense(np.float64(2.0) * OPS.H, q), 2 * H)
    assert isinstance((OPS.H @ y).factors[1], Constant)


# ---- printing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "printed", "typed", "latex"),
    [
        (MASS, "H φ M φ* H*", "H phi M phi* H*", r"H \phi M \phi^{*} H^{*}"),
        (MASS.inverse(), "(H φ M φ* H*)⁻¹", "inv(H phi M phi* H*)", r"\left(H \phi M \phi^{*} H^{*}\right)^{-1}"),
        (
            INVERSE_FACTOR.T @ OPS.D.inverse() @ INVERSE_FACTOR,
            "(I - H ψ K)* D⁻¹ (I - H ψ K)",
            "(I - H psi K)* inv(D) (I - H psi K)",
            r"\left(I - H \psi K\right)^{*} D^{-1} \left(I - H \psi K\right)",
        ),
        (-OPS.E_phi @ OPS.tau_bar, "-E_φ τ̄", "-E_phi tau_bar", r"-\mathcal{E}_\phi \bar{\tau}"),
        (OPS.vector("T") - 0.5 * OPS.C, "T - 0.5 C", "T - 0.5 C", "T - 0.5 C"),
        (OPS.B("link6").T @ OPS.V, "B(link6)* V", "B(link6)* V", r"B_{\mathrm{link6}}^{*} V"),
        (OPS.M - OPS.M, "0", "0", "0"),
        (OPS.phi.T.inverse(), "φ*⁻¹", "inv(phi*)", r"\left(\phi^{*}\right)^{-1}"),
    ],
)
def test_printing_is_the_papers(expression, printed, typed, latex):
    assert str(expression) == printed
    assert expression.text(ascii=True) == typed
    assert expression.latex() == latex
    assert expression._repr_latex_() == f"${latex}$"


def test_printing_falls_back_where_greek_cannot_be_shown():
    code = "import recursa as rc; o = rc.robots.planar(2).operators; print(o.H @ o.phi @ o.tau_bar)"
    run = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-c", code],
        env={"PYTHONIOENCODING": "latin-1", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        check=True,
    )
    assert run.stdout.strip() == b"H phi tau_bar"


def test_repr_says_what_it_is():
    assert repr(OPS.H @ OPS.phi) == "<joint 6 x link 36: H φ>"
    assert repr(OPS.I) == "<fits its neighbour: I>"
    assert "H, E_φ, φ" in repr(OPS)


def test_symbols_are_told_apart():
    written = [name for kind in Kind for name in {kind.value.code, kind.value.text, *kind.value.also}]
    assert len(written) == len(set(written))
    assert all(kind.value.words and kind.value.meaning for kind in Kind)


# ---- structure -----------------------------------------------------------------------------------------------------


def blocks(robot: rc.Robot, space: str) -> list[slice]:
    joints = robot.model.joints
    if space == "joint":
        return [slice(j.v_start, j.v_start + j.kind.nv) for j in joints]
    return [slice(6 * k, 6 * k + 6) for k in range(len(joints))]


def outward(robot: rc.Robot, i: int, j: int) -> bool:
    """Whether body j is body i or lies outward of it."""
    return i in robot.model.support(j)


def check_structure(robot: rc.Robot, expression, q, v) -> None:
    known, matrix = structure(expression), rc.dense(expression, q, v)
    scale = max(1.0, np.abs(matrix).max())
    if known & (Structure.BLOCK_DIAGONAL | Structure.GATHERING | Structure.SPREADING):
        rows, columns = (blocks(robot, space.name) for space in expression.shape)
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                block = matrix[row, column]
                hears = i == j
                hears |= Structure.GATHERING in known and outward(robot, i, j)
                hears |= Structure.SPREADING in known and outward(robot, j, i)
                if not hears or (i == j and Structure.STRICT in known):
                    assert np.abs(block).max() <= 1e-10 * scale, (str(expression), i, j)
                if i == j and Structure.UNIT in known:
                    assert np.allclose(block, np.eye(*block.shape), atol=1e-10 * scale), (str(expression), i)
    if Structure.SYMMETRIC in known:
        assert np.allclose(matrix, matrix.T, atol=1e-10 * scale)
    if Structure.SKEW in known:
        assert np.allclose(matrix, -matrix.T, atol=1e-10 * scale)
    if Structure.SEMIDEFINITE in known:
        assert np.linalg.eigvalsh((matrix + matrix.T) / 2).min() >= -1e-10 * scale
    if Structure.DEFINITE in known:
        assert np.linalg.eigvalsh((matrix + matrix.T) / 2).min() > 0.0


@pytest.mark.parametrize("name", ["pendulum", "one_of_each", "mixed_tree", "tree"])
def test_claimed_structure_matches_the_matrices(name):
    robot = ZOO[name]()
    o, (q, v) = robot.operators, robot.random_state(4)
    leaves = [getattr(o, k.value.code) for k in Kind if k not in (Kind.B, *OF_CONSTRAINTS) and not k.value.is_vector]
    factor = o.I + o.H @ o.phi @ o.K
    made = [
        o.mass, o.I - o.E_phi, o.H @ o.phi @ o.K, factor, factor.T, factor.inverse(), o.D.inverse(), o.G @ o.H,
        o.tau_bar @ o.P, o.E_phi @ o.R @ o.E_phi.T, o.M + o.P, o.phi @ o.E_phi, o.psi @ o.M, -o.M, 2 * o.phi,
        factor @ o.D @ factor.T, o.H.T @ o.H, o.A + o.D, o.phi.T @ o.phi, o.E_phi + o.E_psi, o.I + o.phi,
    ]  # fmt: skip
    for expression in (*leaves, *(leaf.T for leaf in leaves), *made):
        check_structure(robot, expression, q, v)


def test_structure_finds_what_matters():
    assert Structure.SYMMETRIC | Structure.SEMIDEFINITE in structure(OPS.mass)
    assert structure(FACTOR) == Structure.GATHERING | Structure.UNIT
    assert structure(FACTOR.T) == Structure.SPREADING | Structure.UNIT
    assert Structure.BLOCK_DIAGONAL in structure(OPS.H @ OPS.P @ OPS.H.T + OPS.A)
    assert Structure.DEFINITE in structure(OPS.D.inverse())
    assert not structure(-OPS.M) & (Structure.SEMIDEFINITE | Structure.DEFINITE)


# ---- dense ---------------------------------------------------------------------------------------------------------


def test_dense_takes_batches():
    q = np.stack([[ARM.random_state(s)[0] for s in range(3)] for _ in range(2)])
    v = ARM.random_state(9)[1]
    T = np.arange(6.0)
    expression = OPS.vector("T") - OPS.C
    batch = rc.dense(expression, q, v, T=T)
    assert batch.shape == (2, 3, 6)
    assert np.allclose(batch[1, 2], rc.dense(expression, q[1, 2], v, T=T))
    assert rc.dense(OPS.H @ OPS.phi, q).shape == (2, 3, 6, 36)
    assert rc.dense(OPS.M - OPS.M, q).shape == (2, 3, 36, 36)
    assert rc.dense(simplify(INVERSE_FACTOR @ FACTOR), q[0]).shape == (3, 6, 6)
    assert rc.dense(OPS.H, np.empty((0, 6))).shape == (0, 6, 36)


def test_dense_says_what_is_missing():
    q, v = ARM.random_state(1)
    with pytest.raises(rc.ShapeError, match="v is missing"):
        rc.dense(OPS.C, q)
    with pytest.raises(rc.UnknownNameError, match="no value 'T'"):
        rc.dense(OPS.vector("T") - OPS.C, q, v)
    with pytest.raises(rc.ShapeError, match=r"T has shape \(5,\), expected \(..., 6\)"):
        rc.dense(OPS.vector("T") - OPS.C, q, v, T=np.ones(5))
    with pytest.raises(rc.ShapeError, match="does not broadcast"):
        rc.dense(OPS.vector("T") - OPS.C, q, v, T=np.ones((2, 6)))


def test_gravity_is_minus_gravity_in_link_axes():
    q, _ = ARM.random_state(3)
    stacked = rc.dense(OPS.gravity, q).reshape(-1, 6)
    for k, joint in enumerate(ARM.model.joints):
        rotation = ARM.pose(q, joint.child)[:3, :3]
        assert np.allclose(stacked[k], [0, 0, 0, *(rotation.T @ [0, 0, 9.81])])


def test_pick_off_of_a_world_link_is_zero():
    q, _ = ARM.random_state(3)
    assert not rc.dense(OPS.B(ARM.link_names[0]), q).any()


# ---- simplification ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("inv(mass)", "(I - H ψ K)* D⁻¹ (I - H ψ K)"),
        ("(I + H phi K) D (I + H phi K)*", "H φ M φ* H*"),
        ("(I + H Phi G) D (I + H Phi G)*", "H φ M φ* H*"),
        ("inv((I + H phi K) D (I + H phi K)*)", "(I - H ψ K)* D⁻¹ (I - H ψ K)"),
        ("phi* H* inv(mass) H phi", "ψ* H* D⁻¹ H ψ"),
        ("J(tip) inv(mass) J(tip)*", "B(tip)* ψ* H* D⁻¹ H ψ B(tip)"),
        ("(I - H psi K) mass (I - H psi K)*", "D"),
        ("inv(mass) mass", "I"),
        ("inv(phi) - inv(psi) + K H", "0"),
        ("R + Phi R + R Phi*", "φ M φ*"),
        ("P + Phi P + P Phi* + Phi P H* inv(D) H P Phi*", "φ M φ*"),
        ("M + E_psi P E_phi*", "P"),
        ("3 R + 3 Phi R + 3 R Phi* - tau_bar", "3 φ M φ* - τ̄"),
        ("H phi - H psi K H phi", "H ψ"),
        ("A", "0"),
        ("2 (H phi (M (phi* a + gravity) + b)) - C", "C"),
    ],
)
def test_simplified_form_is_the_papers(text, wanted):
    assert str(simplify(rc.parse(text, rc.robots.planar(3)))) == wanted


def test_forward_dynamics_takes_three_sweeps():
    assert cost(simplify(rc.parse("inv(mass) (T - C)", ARM)))[:2] == (0, 3)
    known_bias = rc.parse("(1 - H psi K)* inv(D) H psi M phi* x", ARM, vectors={"x": "link"})
    assert (cost(known_bias).sweeps, cost(simplify(known_bias)).sweeps) == (3, 2)  # (67)


def test_mass_without_armature_is_another_matrix_with_factors_of_its_own():
    assert OPS.has_armature
    assert {leaf.filter for leaf in _letters(simplify(MASS.inverse()))} == {None, Filter(OPS.M, Zero(OPS.A.shape))}
    assert {leaf.filter for leaf in _letters(simplify((MASS + OPS.A).inverse()))} == {None}
    assert simplify((MASS + OPS.A).inverse()) != (MASS + OPS.A).inverse()
    assert simplify(FACTOR @ OPS.D @ FACTOR.T) == MASS + OPS.A
    assert simplify(OPS.H @ OPS.tau_bar) == OPS.H @ OPS.tau_bar
    assert simplify(PLAIN.H @ PLAIN.tau_bar) == Zero((PLAIN.H @ PLAIN.tau_bar).shape)


def _letters(expression):
    if isinstance(expression, Leaf):
        yield expression
    for part in parts_of(expression):
        yield from _letters(part)


def test_branches_keep_the_chain_identities_away():
    text = "psi* Upsilon + Upsilon psi - Upsilon"
    chain, tree = rc.robots.planar(3), rc.robots.tree(5, branching=2)
    assert str(simplify(rc.parse(text, chain))) == "ψ* H* D⁻¹ H ψ"
    assert simplify(rc.parse(text, tree)) == rc.parse(text, tree)


def test_trace_names_identities_and_adds_up():
    start = rc.parse("inv((I + H phi K) D (I + H phi K)*)", ARM)
    simple, steps = simplify(start, trace=True)
    assert simple == simplify(start)
    assert {step.rule.split(",")[0] for step in steps} == {"inverse of the factor"}
    assert all("(45)" in step.equation for step in steps)
    assert [str(step.before) for step in steps][-1] == "(I + H φ K)⁻¹"
    assert "->" in str(steps[0])
    q, v = ARM.random_state(5)
    for step in steps:
        assert np.allclose(rc.dense(step.before, q, v), rc.dense(step.after, q, v))
    assert simplify(OPS.H, trace=True) == (OPS.H, [])


def test_simplify_is_deterministic_across_processes():
    code = (
        "import recursa as rc; from recursa.operators.simplify import simplify; r = rc.robots.puma560();"
        "s, t = simplify(rc.parse('inv(mass) (T - H phi (M phi* a + b)) + H phi K (1 - H psi K) T', r), trace=True);"
        "print(s.text(ascii=True), *(x.rule for x in t), sep='; ')"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(found) == 1 and b";" in found.pop()


def test_cost_counts_sweeps_of_the_known_algorithms():
    def sweeps(text: str) -> int:
        return cost(rc.parse(text, ARM)).sweeps

    assert sweeps("phi* H* T") == 1
    assert sweeps("H phi M phi* H* T") == 2
    assert sweeps("C") == 2
    assert sweeps("(1 - H psi K)* inv(D) (1 - H psi K) T") == 2
    assert sweeps("(1 - H psi K)* inv(D) (1 - H psi K) (T - C)") == 3
    assert sweeps("M V") == 1
    once, twice = (cost(rc.parse(t, ARM)).multiplications for t in ("phi M V", "phi M V + P phi M V"))
    assert twice - once < 200  # phi M V is computed once


def test_tied_robots_have_no_operators():
    text = """<robot name="hand"><link name="palm"/>
      <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
      </link>
      <link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
      </link>
      <joint name="j" type="continuous"><parent link="palm"/><child link="a"/></joint>
      <joint name="k" type="continuous"><parent link="a"/><child link="b"/><mimic joint="j"/></joint></robot>"""
    with pytest.raises(rc.NoSweepError, match="'k' follows another"):
        rc.load(text, mimic="tie").operators  # noqa: B018
    assert rc.load(text).operators.H.shape.rows.size == 2


def test_axes_of_different_links_are_not_mixed():
    """J(a) - J(b) would subtract numbers in the axes of a and of b; a compliance between links is one thing."""
    robot = rc.robots.panda_like()
    for text, words in (
        ("J(link3) - J(link5)", "axes of link3, the other in axes of link5, each about its own origin"),
        ("J(link3, link5) + J(link5, link3)", "axes of link3, link5, the other in axes of link5, link3"),
        ("B(link3) B(link5)* V", "cannot multiply .* axes of link3, the other in axes of link5"),
        ("J(link3) inv(mass) J(link5)* + 1", "cannot add .* and I: .* axes of link3, the other in axes of link5"),
    ):
        with pytest.raises(rc.ShapeError, match=words):
            rc.parse(text, robot)
    q, _ = robot.random_state(1)
    between = rc.compile("inv(J(link7) inv(mass) J(flange)*)", robot)
    compliance = robot.operational_compliance_between(q, "link7", "flange")
    assert np.allclose(between.matrix(q) @ compliance, np.eye(6), atol=1e-8)
    same = rc.parse("J(link5) inv(mass) J(link5)* + 1", robot)
    assert np.allclose(rc.dense(same, q), robot.operational_compliance(q, "link5") + np.eye(6))


@pytest.mark.parametrize("name", [name for name in ZOO if name not in ("chain200", "free", "floating_tree")])
@pytest.mark.parametrize("text", ["inv(phi* H* D H phi + phi* H* H phi)", "inv(psi* H* H psi - 2 psi* H* D H psi)"])
def test_matrices_of_singular_inverses_are_refused_whatever_rounding_leaves_of_them(name, text):
    """There are fewer joint freedoms than numbers at links, so that no such matrix has an inverse at any state."""
    robot = ZOO[name]()
    q, _ = robot.random_state(3)
    for states in (q, np.stack([q, q])):
        with pytest.raises(rc.errors.SingularMatrixError, match=f"of rank \\d+ instead of {6 * robot.model.nbodies}"):
            rc.dense(rc.parse(text, robot), states)


@pytest.mark.parametrize("name", ["planar_arm", "stanford", "puma560", "panda_like", "chain_mixed", "tree"])
def test_matrices_of_inverses_at_links_with_few_joints_are_refused(name):
    robot = ZOO[name]()
    link = robot.model.joints[0].child
    with pytest.raises(rc.errors.SingularMatrixError, match="of rank 1 instead of 6"):
        rc.dense(rc.parse(f"inv(J({link}) inv(mass) J({link})*)", robot), robot.random_state(3)[0])


def test_inverses_that_are_not_finite_are_not_called_singular():
    robot = rc.robots.planar(2)
    assert np.isnan(rc.dense(robot.operators.mass.inverse(), [0.1, np.nan])).any()
