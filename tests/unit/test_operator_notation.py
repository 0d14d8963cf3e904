"""Letters that the sources use for different things: refused, or read in the notation that is named."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

import recursa as rc
import zoo
from recursa.cli.commands import recursa
from recursa.errors import NotationError
from recursa.operators.notation import NOTATIONS, READINGS, SPELLINGS, TAKEN_BY
from recursa.operators.vocabulary import names_of

ARM = rc.robots.puma560()
ROBOTS = [ARM, zoo.small_mixed_tree(), zoo.small_flyer()]  # with and without rotors, all kinds of joints
ids = [robot.name for robot in ROBOTS]
AMBIGUOUS = ["nu", "ν", r"\nu", "epsilon", "eps", "ε", r"\epsilon", r"\varepsilon", "lambda", "λ", r"\lambda", "Ω"]


def numbers(robot: rc.Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return *robot.random_state(4), np.random.default_rng(1).normal(size=robot.nv)


def value(robot: rc.Robot, text: str, notation: str | None = None) -> np.ndarray:
    q, v, tau = numbers(robot)
    return rc.dense(rc.parse(text, robot, notation=notation), q, v, T=tau)


def close(found: np.ndarray, expected: np.ndarray) -> bool:
    return bool(np.abs(found - expected).max() < 1e-10 * max(1.0, np.abs(expected).max()))


# ---- equations as they are printed -----------------------------------------------------------------------------------

PRINTED = {
    "(48)": (r"(\mathcal{I} - H\Psi G)^* \nu", "a"),
    "(54)": (r"\nu - G^* E_\phi^* \lambda", "a"),
    "(56)": (r"(\mathcal{I} - GH)^* \Psi^* H^* \nu + H^* \nu + \phi^* a", "alpha"),
    "(59)": (r"\lambda + \phi^* a", "alpha"),
    "(62)": (r"(\mathcal{I} - H\Psi G)^* D^{-1} \epsilon", "a"),
    "(68)": (r"(\mathcal{I} - H\Psi G)^* \nu - G^* \Psi^* (\mathcal{I} - GH)^* a - G^* a", "a"),
    "(72)": (r"\psi^* (H^* \nu + (\mathcal{I} - GH)^* a)", "alpha"),
    "(73)": (r"\nu - G^* E_\phi^* \lambda - G^* a", "a"),
}
"""Formulas of Rodriguez & Kreutz-Delgado for accelerations of joints and of bodies."""

FREE_FLYERS = {
    "(11)": (r"(1 - H \psi K)^* \nu - K^* \psi^* a", "a"),
    "(21)": (r"\psi^* (H^* \nu + a)", "alpha"),
    "(23)": (r"\phi (G \epsilon + P a + b + M gravity)", "z_plus"),
}
"""Formulas of Jain & Rodriguez on free flyers."""


@pytest.mark.parametrize("robot", ROBOTS, ids=ids)
@pytest.mark.parametrize("equation", PRINTED)
def test_equations_of_rodriguez_give_accelerations(equation, robot):
    text, field = PRINTED[equation]
    q, v, tau = numbers(robot)
    expected = getattr(robot.filtering(q, v, tau), field)
    assert close(value(robot, text, "rodriguez"), np.ravel(expected))


@pytest.mark.parametrize("robot", ROBOTS, ids=ids)
@pytest.mark.parametrize("equation", FREE_FLYERS)
def test_equations_of_jain_on_free_flyers_give_filter_and_smoother(equation, robot):
    text, field = FREE_FLYERS[equation]
    q, v, tau = numbers(robot)
    assert close(value(robot, text, "jain"), np.ravel(getattr(robot.filtering(q, v, tau), field)))


def test_equations_compile_in_their_notation():
    q, v, tau = numbers(ARM)
    f = rc.compile(PRINTED["(68)"][0], ARM, notation="rodriguez")
    assert close(f(q, v, tau), ARM.forward_dynamics(q, v, tau))
    assert rc.explain(PRINTED["(68)"][0], ARM, notation="rodriguez").plan is not None


@pytest.mark.parametrize("robot", ROBOTS, ids=ids)
def test_letters_of_the_diagonalised_equations(robot):
    q, v, tau = numbers(robot)
    assert close(value(robot, "nu", "jain"), robot.diagonal.total_rates(q, v))
    assert close(value(robot, "ε", "jain"), robot.diagonal.working_moments(q, tau))
    assert close(value(robot, "1/2 nu* nu", "jain"), robot.kinetic_energy(q, v))


def test_omega_of_free_flyers_is_the_compliance_of_all_links():
    assert rc.parse("Ω", ARM, notation="jain") == rc.parse("psi* H* inv(D) H psi", ARM)
    assert rc.parse(r"\tilde{\Omega}", ARM) == rc.parse("Omega_tilde", ARM) == ARM.operators.Omega


def test_gain_behind_capital_letters():
    assert rc.parse("1 + H Phi K", ARM, notation="rodriguez") == rc.parse("1 + H Phi G", ARM)
    for text in ("1 + H Phi K", "H Ψ K", "K* Phi* H*", "H @ Phi @ K"):
        with pytest.raises(NotationError, match="K means different things"):
            rc.parse(text, ARM)
    with pytest.raises(NotationError, match="does not decide here"):
        rc.parse("H phi K", ARM, notation="rodriguez")
    assert rc.parse("K* phi* H* - (H phi K)*", ARM) == rc.parse("0 D", ARM)


@pytest.mark.parametrize("robot", ROBOTS, ids=ids)
def test_letters_with_the_number_of_their_equation(robot):
    q, v, tau = numbers(robot)
    found = robot.filtering(q, v, tau)
    phi = value(robot, "phi")
    accelerations = phi.T @ value(robot, "H").T @ robot.forward_dynamics(q, v, tau)
    assert close(value(robot, "nu_12"), found.nu) and close(value(robot, "epsilon_12"), found.epsilon)
    assert close(value(robot, "nu_71 - G* a"), found.nu) and close(value(robot, "D nu_71 - epsilon_71"), 0.0 * v)
    assert close(value(robot, "lambda_53"), accelerations) and close(value(robot, "lambda_72"), np.ravel(found.alpha))
    assert close(value(robot, "lambda", "rodriguez"), accelerations)
    assert close(value(robot, "(I - H psi K)* nu_51"), found.a)


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", AMBIGUOUS)
def test_ambiguous_letters_are_refused_with_all_their_meanings(text):
    with pytest.raises(NotationError, match="means different things in the sources") as caught:
        rc.parse(f"D {text}", ARM)
    message = str(caught.value)
    assert message.endswith(f"\n  D {text}\n    ^")
    letter = message.split()[0]
    assert all(reading.formula in message and reading.source in message for reading in READINGS[letter])


@pytest.mark.parametrize(
    ("text", "notation"),
    [
        ("H* nu + phi* a", "jain"),  # neither a rate nor carried through the articulated sweeps
        ("H* nu + phi* a - H* G* a", "rodriguez"),  # of Algorithm 2 or of Algorithm 4
        ("Omega", "rodriguez"),
        ("W", "rodriguez"),
        (r"\dot{W}", "rodriguez"),
        ("S", "jain"),
    ],
)
def test_a_notation_that_does_not_decide_is_refused(text, notation):
    with pytest.raises(NotationError, match="does not decide here"):
        rc.parse(text, ARM, notation=notation)


def test_the_dual_inertia_of_free_flyers_is_not_the_cross_operator():
    with pytest.raises(NotationError, match=r"inv\(Upsilon\) - P: Jain & Rodriguez, free flyers"):
        rc.parse("inv(P + S)", ARM)
    flyer = ROBOTS[2]
    q, v, tau = numbers(flyer)
    S = value(flyer, "inv(Upsilon) - P")
    expected = rc.free.dual_quantities(flyer, q, v, tau).S
    assert close(np.stack([S[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] for k in range(len(expected))]), expected)


def test_notations_are_names():
    with pytest.raises(rc.UnknownNameError, match=r"no notation 'jains'\. Did you mean 'jain'"):
        rc.parse("nu", ARM, notation="jains")


def test_the_table_of_readings_is_consistent():
    own = names_of(ARM.operators)
    assert {*SPELLINGS.values()} == {*READINGS}
    for letter, readings in READINGS.items():
        assert (letter in own) == (letter in TAKEN_BY)
        for notation in NOTATIONS:
            uses = [use for reading in readings if reading.notation == notation for use in reading.bias]
            assert len(uses) == len(set(uses))  # at most one reading applies
        for reading in readings:
            assert rc.parse(reading.formula, ARM).shape is not None


# ---- declared vectors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["nu", "epsilon", "lambda", "phi", "φ", "a", "mass", "m", "J", "B", "P_dot", "Omega"])
@pytest.mark.parametrize("notation", [None, "rodriguez", "jain"])
def test_a_declared_vector_takes_precedence_over_a_letter(name, notation):
    expression = rc.parse(f"H {name}", ARM, vectors={name: "link"}, notation=notation)
    x = np.arange(36.0)
    q, _, _ = numbers(ARM)
    assert close(rc.dense(expression, q, **{name: x}), value(ARM, "H") @ x)
    f = rc.compile(expression)
    assert f.inputs == (name,) and close(f(q, None, x), value(ARM, "H") @ x)


def test_every_spelling_of_a_declared_vector_is_that_vector():
    expected = rc.parse("2 D nu", ARM, vectors={"nu": "joint"})
    assert rc.parse(r"D \nu + D ν", ARM, vectors={"nu": "joint"}) == expected
    assert str(rc.parse("T - C", ARM, vectors={"C": "joint"})) == "T - C"
    assert len(rc.compile(rc.parse("T - C", ARM, vectors={"C": "joint"}), ARM).inputs) == 2


def test_functions_are_no_names_for_vectors():
    with pytest.raises(rc.StateError, match="'inv', a function in formulas"):
        rc.parse("H x", ARM, vectors={"inv": "link"})


def test_dense_says_which_names_it_cannot_be_given():
    with pytest.raises(rc.StateError, match=r"vector 'v' is an argument of rc\.dense"):
        rc.dense(rc.parse("D v", ARM, vectors={"v": "joint"}), *numbers(ARM)[:2])


# ---- the command line ------------------------------------------------------------------------------------------------


def test_the_command_line_takes_the_notation():
    run = CliRunner().invoke(recursa, ["explain", "1/2 nu* nu", "--robot", "planar", "--notation", "jain", "--json"])
    assert run.exit_code == 0, run.output
    refused = CliRunner().invoke(recursa, ["explain", "1/2 nu* nu", "--robot", "planar"])
    assert isinstance(refused.exception, NotationError)
