"""The papers' notation as text: what is read, and what is said where it cannot be."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recursa as rc
from recursa.errors import NotationError
from recursa.operators.symbols import ELSEWHERE, OF_CONSTRAINTS, TAKEN, Kind

ARM = rc.robots.puma560()
HELD = ARM.with_constraints(rc.Contact("point", "link6"))
OPS = ARM.operators
MASS = OPS.H @ OPS.phi @ OPS.M @ OPS.phi.T @ OPS.H.T
INVERSE_FACTOR = OPS.I - OPS.H @ OPS.psi @ OPS.K


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("H phi M phi* H*", MASS),
        ("H φ M φ* H*", MASS),
        ("H ϕ M ϕ' H'", MASS),
        ("H@phi@M@phi^T@H^T", MASS),
        ("H @ phi @ M @ phi^* @ H^*", MASS),
        ("H phi M phiᵀ Hᵀ", MASS),
        ("(H phi) (M (phi* H*))", MASS),
        ("((H phi)) M [H phi]*", MASS),
        ("H phi\n  M phi*\n  H*", MASS),
        ("mass", MASS + OPS.A),
        ("inv(H phi M phi* H*) (T - C)", MASS.inverse() @ (OPS.vector("T") - OPS.C)),
        ("(H phi M phi* H*)^-1 (T - C)", MASS.inverse() @ (OPS.vector("T") - OPS.C)),
        ("(H φ M φ* H*)⁻¹ (T − C)", MASS.inverse() @ (OPS.vector("T") - OPS.C)),
        ("D^{-1} G^{T}", OPS.D.inverse() @ OPS.G.T),
        ("inv(D)", OPS.D.inverse()),
        ("φ*⁻¹", OPS.phi.T.inverse()),
        ("φ⁻¹*", OPS.phi.T.inverse()),
        ("1 - H psi K", INVERSE_FACTOR),
        ("(I - H ψ K)* D⁻¹ (I - H ψ K)", INVERSE_FACTOR.T @ OPS.D.inverse() @ INVERSE_FACTOR),
        ("(1 - H Psi G)", OPS.I - OPS.H @ OPS.psi @ OPS.E_phi @ OPS.G),
        ("Φ", OPS.phi @ OPS.E_phi),
        ("Phi", OPS.Phi),
        ("Ψ", OPS.Psi),
        (r"\mathcal{I} - H \psi K", INVERSE_FACTOR),
        (r"\mathbf{H} \boldsymbol{\phi} \mathbf M \boldsymbol\phi^{\mathrm{T}} \mathrm{H}^\top", MASS),
        (r"\mathcal{M}", MASS + OPS.A),
        (r"\mathcal{E}_{\phi} - E_{\phi} + E_{\psi}", OPS.E_psi),
        (r"\mathbf{B}(link6)^* \mathbf{V}", OPS.B("link6").T @ OPS.V),
        ("phi * + M *", OPS.phi.T + OPS.M),
        ("2 H", 2 * OPS.H),
        ("2*H", 2 * OPS.H),
        ("2 * H phi* - .5e1 H", 2 * OPS.H @ OPS.phi.T - 5 * OPS.H),
        ("(1 + 2) H", 3 * OPS.H),
        ("H 2 phi", 2 * OPS.H @ OPS.phi),
        ("(4)^-1 H", 0.25 * OPS.H),
        ("-H - 1 H", -2 * OPS.H),
        ("+H", OPS.H),
        ("τ̄ - tau_bar + taubar", OPS.tau_bar),
        ("E_φ R E_phi* + E_ψ - E_psi", OPS.E_phi @ OPS.R @ OPS.E_phi.T),
        ("B(link6)* V", OPS.B("link6").T @ OPS.V),
        ("J( link6 )", OPS.B("link6").T @ OPS.phi.T @ OPS.H.T),
        ("M (phi* a + gravity) + b", OPS.M @ (OPS.phi.T @ OPS.a + OPS.gravity) + OPS.b),
        ("Υ - Upsilon + Ups", OPS.Upsilon),
        ("1/2 H", 0.5 * OPS.H),
        ("H/4 phi/2", 0.125 * OPS.H @ OPS.phi),
        ("(1/(1 + 3)) H", 0.25 * OPS.H),
        ("phi^2", OPS.phi @ OPS.phi),
        ("φ² M φ*³", OPS.phi @ OPS.phi @ OPS.M @ OPS.phi.T @ OPS.phi.T @ OPS.phi.T),
        ("psi^{-2}", OPS.psi.inverse() @ OPS.psi.inverse()),
        ("M phi^0", OPS.M),
        ("2^3 H", 8 * OPS.H),
        ("2^0 H", OPS.H),
        (r"H \phi M \phi^* H^{*}", MASS),
        (r"\left(H \phi\right) M \phi^T H^T", MASS),
        (r"\mathcal{E}_\phi \bar{\tau} - E_\psi + \dot{\phi}", OPS.E_phi @ OPS.tau_bar - OPS.E_psi + OPS.phi_dot),
        ("H 𝜙 M 𝛗* H*", MASS),
        ("HφMφ*H*", MASS),
        ("[I − HψK]* D⁻¹ [I − HψK]", INVERSE_FACTOR.T @ OPS.D.inverse() @ INVERSE_FACTOR),
        ("KT + Pa + b", OPS.K @ OPS.vector("T") + OPS.P @ OPS.a + OPS.b),
        ("HφB(link6)", OPS.H @ OPS.phi @ OPS.B("link6")),
        (r"\mathcal{M} - ℳ + 𝓜", OPS.mass),
        ("D^(1/2)", OPS.W),
        ("D^{1/2}* D^½", OPS.W.T @ OPS.W),
        ("D^(-1/2)", OPS.W.inverse()),
        ("sqrt(D)", OPS.W),
        ("m", (OPS.I + OPS.H @ OPS.phi @ OPS.K) @ OPS.W),
        ("l T", OPS.epsilon),
        ("m* v", OPS.nu),
        (r"\frac{1}{2} V^* M V", 0.5 * OPS.V.T @ OPS.M @ OPS.V),
        (r"\tfrac12 M + \dfrac{ 1 }{ 4 } M", 0.75 * OPS.M),
        ("½ M", 0.5 * OPS.M),
        (r"H \cdot \phi \cdot M", OPS.H @ OPS.phi @ OPS.M),
        ("H · phi ⋅ M", OPS.H @ OPS.phi @ OPS.M),
        ("H d/dt(phi) M", OPS.H @ OPS.phi_dot @ OPS.M),
        (r"H \frac{d}{dt}(\phi) M", OPS.H @ OPS.phi_dot @ OPS.M),
        ("2 d/d{joint2}(phi) D/Dt(M)", 2 * OPS.phi.sensitivity("joint2") @ OPS.M.time_derivative("inertial")),
        (r"\phi^* H^* \dot{\theta}", OPS.phi.T @ OPS.H.T @ OPS.v),
        (r"\dot\theta - theta_dot + θ̇", OPS.v),
        (r"\dot\phi M - \dot{\psi} M", OPS.phi_dot @ OPS.M - OPS.psi_dot @ OPS.M),
        (r"H \frac{\mathrm{d}}{\mathrm{d}t}\left(\phi\right)", OPS.H @ OPS.phi_dot),
        (r"\frac{D}{D t}(M)", OPS.M.time_derivative("inertial")),
        (
            r"\mathbf{D}^{\frac{1}{2}} [\mathbf{I} + \mathbf{H}\phi\mathbf{K}]^* \dot{\boldsymbol{\theta}}",
            OPS.W @ (OPS.I + OPS.H @ OPS.phi @ OPS.K).T @ OPS.v,
        ),
        (r"\mathbf{D}^{-\frac{1}{2}}[\mathbf{I} - \mathbf{H}\boldsymbol{\psi}\mathbf{K}]\mathbf{T}", OPS.epsilon),
        (r"M^\frac12 \boldsymbol{\bar{\tau}} - M^{½} \bar{\boldsymbol{\tau}} + \dot{\mathbf{P}}", OPS.P_dot),
        (r"\boldsymbol{\mathcal{E}}_\phi + \mathcal{E}_{\boldsymbol{\psi}}", OPS.E_phi + OPS.E_psi),
        (r"\boldsymbol{J}(link6)^\mathrm{T}", rc.parse("J(link6)*", ARM)),
        ("0 + M", OPS.M),
        (r"M - \mathbf{0}", OPS.M),
    ],
)
def test_notation_is_read(text, expected):
    assert rc.parse(text, ARM) == expected


def test_every_symbol_is_read_in_every_spelling():
    for kind in Kind:
        symbol = kind.value
        for name in {symbol.code, symbol.text, *symbol.also}:
            robot = HELD if kind in OF_CONSTRAINTS else ARM
            found = rc.parse(f"{name}(link6)" if kind is Kind.B else name, robot)
            assert found.kind is kind


def test_free_vectors_have_names_and_spaces():
    expression = rc.parse("H x + y", ARM, vectors={"x": "link", "y": "joint"})
    assert expression == OPS.H @ OPS.vector("x", "link") + OPS.vector("y")
    with pytest.raises(rc.UnknownNameError, match=r"no space 'jont'\. Did you mean 'joint'"):
        rc.parse("x", ARM, vectors={"x": "jont"})


@pytest.mark.parametrize("name", ["phi", "φ", "a", "mass", "m", "J", "inv", "P_dot"])
def test_a_free_vector_of_the_operators_cannot_hide_a_letter(name):
    """An expression that is printed would be read as another one."""
    with pytest.raises(rc.StateError, match=f"a vector cannot be called '{name}', which has a meaning in formulas"):
        OPS.vector(name)


def test_link_names_may_contain_anything():
    b = rc.Builder("odd").link("tool-0/tip #1 (left)", mass=1.0, inertia=(1, 1, 1))
    robot = b.joint("j", "revolute", parent="world", child="tool-0/tip #1 (left)").build()
    expression = rc.parse("B(tool-0/tip #1 (left))* V", robot)
    assert expression == robot.operators.B("tool-0/tip #1 (left)").T @ robot.operators.V
    assert rc.parse(str(expression), robot) == expression


@pytest.mark.parametrize(
    ("text", "error", "message", "caret"),
    [
        ("H phi )", NotationError, "expected an operator, '+', '-' or the end, not ')'", 6),
        ("H phi +", NotationError, "expected a name, a number or '(', but the text ends after '+'", 7),
        ("H (phi M", NotationError, "expected ')', but the text ends after 'M'", 8),
        ("[H phi)", NotationError, "expected ']', not ')'", 6),
        ("", NotationError, "but the text is empty", 0),
        ("  ", NotationError, "but the text is empty", 0),
        ("H $ phi", NotationError, "'$' has no meaning here", 2),
        ("H phi^x", NotationError, "'^' has no meaning here", 5),
        ("M H^2", rc.ShapeError, "H is joint 6 x link 36: only something square has powers", 2),
        ("phi^99", NotationError, "expected a power from -20 to 20", 0),
        ("phi^" + 5000 * "9", NotationError, "expected a power from -20 to 20", 0),
        ("(phi^20 M)^20^20", NotationError, "a power of more than 1000 letters", 0),
        ("phi^(1/0)", NotationError, "expected a power from -20 to 20", 0),
        ("M phi^(1/2)", NotationError, "only D and M have roots", 2),
        ("M/phi", NotationError, "only numbers divide: write inv(...)", 2),
        ("M/0", NotationError, "0 does not divide anything", 2),
        (r"M \frac{1}{0}", NotationError, "0 does not divide anything", 2),
        (r"M \frac{1.2.3}{4}", NotationError, "expected a number", 2),
        (r"H \cdot", NotationError, "expected a name, a number or '('", 7),
        ("M inv(phi - φ)", NotationError, "0 has no inverse: it is singular", 2),
        ("* H", NotationError, "expected a name, a number or '(', not '*'", 0),
        ("inv phi", NotationError, "expected '(' after inv, not 'phi'", 4),
        ("B link6", NotationError, "expected '(' and the name of a link after B, not 'link6'", 2),
        ("H phi B(link6", NotationError, "expected ')' behind the name of a link", 13),
        ("0^-1 H", NotationError, "0 has no inverse", 0),
        ("H phj M", rc.UnknownNameError, "no operator 'phj' in robot 'puma560'. Did you mean 'phi'?", 2),
        ("phi* B(lnk6)", rc.UnknownNameError, "no link 'lnk6' in robot 'puma560'. Did you mean 'link6'", 7),
        ("H D", rc.ShapeError, "H is joint 6 x link 36 and D is joint 6 x joint 6", 2),
        ("phi M + H", rc.ShapeError, "cannot add φ M and H", 6),
        ("phi inv(H)", rc.ShapeError, "only something square has an inverse", 4),
    ],
)
def test_mistakes_are_shown_in_their_place(text, error, message, caret):
    with pytest.raises(error) as caught:
        rc.parse(text, ARM)
    first, line, mark = str(caught.value).split("\n")
    assert message in first
    assert line == "  " + text
    assert mark == "  " + " " * caret + "^"


def test_mistakes_on_a_later_line_show_that_line():
    with pytest.raises(NotationError) as caught:
        rc.parse("H phi\n  M ) H", ARM)
    assert str(caught.value).endswith("\n    M ) H\n      ^")
    assert caught.value.position == 10
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.position, again.text) == (str(caught.value), 10, "H phi\n  M ) H")


def test_deep_brackets_and_other_types_are_refused():
    with pytest.raises(NotationError, match="more than 100 brackets"):
        rc.parse("(" * 5000, ARM)
    assert rc.parse("(" * 90 + "H" + ")" * 90, ARM) == OPS.H
    with pytest.raises(NotationError, match="expected text, not int"):
        rc.parse(5, ARM)


EXPRESSIONS = [
    MASS, MASS.inverse(), (MASS + OPS.A).inverse() @ (OPS.vector("T") - OPS.C), INVERSE_FACTOR.T @ OPS.D.inverse(),
    -OPS.phi.T.inverse(),
    0.1 * OPS.M - 3 * OPS.P, OPS.B("link6").T @ OPS.phi.T @ OPS.H.T, (OPS.M + OPS.P) @ (OPS.phi - OPS.psi).T,
    (OPS.I - OPS.E_psi).inverse(), (OPS.H @ OPS.phi - OPS.H @ OPS.psi) @ OPS.V, (OPS.phi.T @ OPS.M).inverse(),
]  # fmt: skip


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_what_is_printed_is_read_back(expression):
    assert rc.parse(str(expression), ARM) == expression
    assert rc.parse(expression.text(ascii=True), ARM) == expression


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="HφMKIDTB phi*'^-1()[]+@.2e/²\\\n$#", max_size=40))
def test_any_text_is_read_or_refused_with_a_place(text):
    try:
        expression = rc.parse(text, ARM)
    except rc.RecursaError as error:
        assert type(error) in (NotationError, rc.UnknownNameError, rc.ShapeError, rc.StateError)
    else:
        assert rc.parse(expression.text(ascii=True), ARM) == expression or str(expression) == "0"


@pytest.mark.parametrize(
    ("text", "place"),
    [("H phi * M * phi* H*", 6), ("phi** H*", 3), ("H *phi", 2), ("(H phi) * (M)", 8), ("phi * inv(M)", 4)],
)
def test_a_star_meant_as_a_product_is_refused(text, place):
    """H phi * M would be read as H phi* M, which fits and is another matrix."""
    with pytest.raises(NotationError, match="products are written side by side") as caught:
        rc.parse(text, ARM)
    assert str(caught.value).splitlines()[-1] == " " * (place + 2) + "^"


def test_an_equation_is_refused_with_advice():
    with pytest.raises(NotationError, match="give one"):
        rc.parse("T = mass v", ARM)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("theta", "come with the call"), ("H* q_dot", "joint speeds are v"), ("q̇", "joint speeds are v"),
        (r"\frac{M}{2}", "numbers above and below"), (r"\frac{d}{Dt}(M)", "numbers above and below"),
        (r"\ddot{\theta}", "joint speeds are v"),
        (r"inv(mass) \tau", "joint torques are T"),
        (r"\hat{T}", "(T - C)"), ("H r H*", "is R"),
    ],
)  # fmt: skip
def test_letters_of_the_papers_that_are_others_here_have_a_hint(text, hint):
    with pytest.raises(rc.errors.UnknownNameError) as caught:
        rc.parse(text, ARM)
    assert hint in str(caught.value)


def test_a_letter_with_a_hint_may_name_a_free_vector():
    assert str(rc.parse("H lambda", ARM, vectors={"lambda": "link"})) == "H lambda"


def test_hints_are_for_letters_without_a_meaning():
    assert not set(ELSEWHERE) & TAKEN


@pytest.mark.parametrize("wrong", ["H phi M phi* H*", 3.0])
def test_the_matrix_of_text_is_refused_with_advice(wrong):
    with pytest.raises(NotationError, match=r"rc\.parse\(text, robot\)"):
        rc.dense(wrong, [0.0] * 6)
