"""The table of letters: every entry has what its shape and structure demand, and nothing contradicts the sweeps."""

from __future__ import annotations

import inspect

import pytest

from recursa.dynamics.kinematics import RELATIVE
from recursa.operators.assembly import PREPARED
from recursa.operators.assembly import RATES as FILLED_BY_VELOCITY
from recursa.operators.evaluation import Evaluation
from recursa.operators.leaves import Operators
from recursa.operators.symbols import OF_CONSTRAINTS, RATES, SYMBOLS, Kind, Structure, Symbol

GIVEN = {"joint", "inertia", "v", "{v}"}  # inputs of sweeps, which nothing has to fill
RECURSIONS = {  # by the names of the steps that are theirs
    "eliminate": "articulated", "composite": "composite", "compliance": "compliance", "velocity": "velocity",
    "static_acceleration": "gravity", "bias_acceleration": "a", "bias_force": "b", "inertia_rate": "rate of P",
    "composite_rate": "rate of R", "compliance_rate": "rate of Upsilon",
}  # fmt: skip

every_letter = pytest.mark.parametrize("letter", [kind.value for kind in Kind], ids=[kind.name for kind in Kind])


def steps_that_fill(name: str) -> list[str]:
    """The functions of the steps that fill a buffer, poses aside."""
    filled = FILLED_BY_VELOCITY[name[1:-1]] if name.startswith("{") else PREPARED[name]
    return [step.fn.__name__ for step in filled if step is not RELATIVE]


@every_letter
def test_shape_demands_these_fields(letter: Symbol) -> None:
    known = letter.structure
    whole = known & (Structure.SYMMETRIC | Structure.SKEW)  # its transpose is it, or minus it
    steps = (letter.applied, letter.transposed, letter.inverted)
    if letter.by_table:
        assert steps == (None, None, None) and not letter.multiplications and not letter.takes
    elif letter.is_vector:
        assert letter.buffer is not None or letter is Kind.BIAS.value  # which is lowered by its definition
        assert steps[1:] == (None, None) and not letter.multiplications
    elif letter in (Kind.B.value, *(kind.value for kind in OF_CONSTRAINTS)):  # steps at links, or at some joints
        assert steps == (None, None, None) and letter.multiplications
    elif Structure.BLOCK_DIAGONAL in known:
        assert letter.applied and letter.multiplications
        assert (letter.transposed is None) == bool(whole)
        is_root = letter in (Kind.W.value, Kind.M_ROOT.value)  # which have inverses without being symmetric
        assert (letter.inverted is None) == (Structure.SEMIDEFINITE not in known and not is_root)
        assert bool(letter.inverted_transposed) == is_root
    else:
        assert Structure.GATHERING in known and letter.multiplications
        assert letter.inverted is None
        assert bool(letter.applied) == bool(letter.transposed) == (not letter.factors)


@every_letter
def test_sides_match_the_shape(letter: Symbol) -> None:
    if letter in (Kind.OMEGA.value, Kind.M_ROOT.value):  # of the link origin or its axes: they depend on these
        assert letter.sides is None
        return
    spaces = {
        "motion": "link",
        "force": "link",
        "joint": "joint",
        "tip": "tip",
        None: "one",
        "constraint": "constraint",
    }
    assert letter.sides is not None
    assert [spaces[side] for side in letter.sides] == [letter.rows, letter.columns]


@every_letter
def test_steps_take_what_they_read_and_the_operand(letter: Symbol) -> None:
    from_neighbours = {letter.applied: 1, letter.transposed: Structure.STRICT not in letter.structure}
    for local in (letter.applied, letter.transposed, letter.inverted, letter.inverted_transposed):
        if local is not None:
            operands = 0 if letter.is_vector else 1
            operands += 0 if letter.is_vector or letter.is_block_diagonal else from_neighbours[local]
            assert len(inspect.signature(local.fn).parameters) == len(local.reads) + operands


@every_letter
def test_needs_are_what_fills_the_buffers_that_steps_read(letter: Symbol) -> None:
    locals_ = [local for local in (letter.applied, letter.transposed, letter.inverted) if local is not None]
    read = {name for local in locals_ for name in local.reads if name not in GIVEN}
    names = {need.name for need in letter.needs}
    if locals_:
        assert names == {RECURSIONS[fn] for name in read for fn in steps_that_fill(name)}
    for code in letter.factors:
        assert {need.name for need in SYMBOLS[code].value.needs} <= names


@every_letter
def test_changes_are_known(letter: Symbol) -> None:
    """A letter is steady, has a derivative, is one, or is of those that are of a velocity by themselves.

    Of what constraints do there is none: ``d/dt(G_c)`` is refused.
    """
    of_velocity = {Kind.SPEED, Kind.S, Kind.S_V, Kind.OMEGA, Kind.N}
    ways = [
        letter.steady,
        SYMBOLS[letter.code] in OF_CONSTRAINTS,
        SYMBOLS[letter.code] in RATES,
        letter.is_rate,
        SYMBOLS[letter.code] in of_velocity,
    ]
    assert sum(ways) == 1
    assert letter.is_directed == letter.is_rate or SYMBOLS[letter.code] in of_velocity


@every_letter
def test_definition_and_name_exist(letter: Symbol) -> None:
    assert letter.code in Operators.__annotations__ or letter is Kind.B.value
    if not letter.is_directed and letter is not Kind.B.value:
        assert inspect.getdoc(getattr(Evaluation, letter.code))


def test_names_are_unique_and_products_cost_what_their_factors_do() -> None:
    names = [name for kind in Kind for name in {kind.value.code, kind.value.text, *kind.value.also}]
    assert len(names) == len(set(names)) and len(SYMBOLS) == len(Kind)
    assert {*Operators.__annotations__} <= {*SYMBOLS}
    products = [kind.value for kind in Kind if kind.value.factors]
    assert [letter.code for letter in products] == ["K", "E_psi"]
    for letter in products:
        assert letter.multiplications == sum(SYMBOLS[code].value.multiplications for code in letter.factors)


def test_groups_of_letters_follow_from_their_fields() -> None:
    def those(condition: str) -> str:
        return " ".join(kind.value.code for kind in Kind if getattr(kind.value, condition))

    assert those("steady") == "H M W_M A B"
    assert those("is_articulated") == "P D W G K tau_bar E_psi psi Upsilon"
    assert those("mass_alone") == "H E_phi phi D W A B B_c T_c a V gravity C"
    swept = [kind.value.code for kind in Kind if kind.value.is_rate and not kind.value.by_table]
    assert swept == ["P_dot", "R_dot", "Upsilon_dot"]
    assert [kind.value.code for kind in Kind if kind.value.is_directed and not kind.value.is_rate] == [
        "S", "S_V", "Omega_tilde",
    ]  # fmt: skip
