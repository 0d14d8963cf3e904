"""Letters that the sources use for different things, and the formula that each source means by them.

Rodriguez & Kreutz-Delgado call nu and epsilon what the diagonalised equations of Jain & Rodriguez call otherwise, and
the same authors' paper on free flyers has a third meaning. ``rc.parse`` refuses such letters unless its ``notation=``
says whose they are. Within one source it is the bias acceleration ``a`` that tells two meanings apart: Algorithms 1 to
3 take it out of the torques first, so that formulas have at most ``phi* a``; Algorithm 4 and the free flyers carry it
through the articulated sweeps, so that it stands behind G*, tau_bar*, psi* or P.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from recursa.operators.expression import Expression, Leaf, Product, Transpose, all_parts_of
from recursa.operators.symbols import Kind

Notation = Literal["rodriguez", "jain"]
NOTATIONS: tuple[Notation, ...] = get_args(Notation)

BiasUse = Literal["absent", "rigid", "articulated", "mixed"]
"""How the bias acceleration ``a`` enters a formula."""
_ALWAYS: tuple[BiasUse, ...] = get_args(BiasUse)
_OUTSIDE: tuple[BiasUse, ...] = ("absent", "rigid")
_INSIDE: tuple[BiasUse, ...] = ("articulated",)

_RK = "Rodriguez & Kreutz-Delgado"
_JR = "Jain & Rodriguez, diagonalised equations"
_JR_FREE = "Jain & Rodriguez, free flyers"


class Reading(NamedTuple):
    """One meaning of a letter: whose notation, where it is printed, the formula, and how ``a`` enters beside it.

    A reading without a notation is never chosen; its formula is offered for typing. One with a ``number`` has a name of
    its own, ``nu_71``, that is read in every notation.
    """

    notation: Notation | None
    source: str
    formula: str
    bias: tuple[BiasUse, ...] = _ALWAYS
    number: str = ""


_EPSILON = (
    Reading("rodriguez", f"{_RK} (51), (61)", "(I - H psi K) (T - C)", _OUTSIDE, "51"),
    Reading("rodriguez", f"{_RK} (71)", "(I - H psi K) T - H psi (P a + b + M gravity) + H P a", _INSIDE, "71"),
    Reading("jain", f"{_JR}, Table 3", "l T", ("absent",)),
    Reading("jain", f"{_JR_FREE} (12)", "(I - H psi K) T - H psi (P a + b + M gravity)", _INSIDE, "12"),
)
READINGS: dict[str, tuple[Reading, ...]] = {
    "epsilon": _EPSILON,
    "nu": tuple(
        Reading("jain", f"{_JR}, Table 2", "m* v", ("absent",))
        if reading.formula == "l T"
        else reading._replace(formula=f"inv(D) ({reading.formula})", source=reading.source.replace(", (61)", ""))
        for reading in _EPSILON
    ),
    "lambda": (
        Reading("rodriguez", f"{_RK} (53)", "phi* H* inv(mass) (T - C)", _OUTSIDE, "53"),
        Reading("rodriguez", f"{_RK} (72)", "phi* (H* inv(mass) (T - C) + a)", _INSIDE, "72"),
        Reading(None, f"{_JR} (6.5), with a dot: the rate of P as the parent sees it", "P_dot + S P + P S*"),
    ),
    "Omega": (
        Reading("jain", f"{_JR_FREE} (31)", "psi* H* inv(D) H psi", number="31"),
        Reading(None, f"{_JR}, Table 4, with a tilde", "Omega_tilde"),
    ),
    "K": (
        Reading("rodriguez", f"{_RK}, section X, behind Phi", "G"),
        Reading(None, f"{_JR} (4.9)", "E_phi G"),
    ),
    "S": (
        Reading(None, f"{_JR_FREE} (16), (37)", "inv(Upsilon) - P"),
        Reading(None, f"Recursa's letter for the Omega_delta of {_JR}, without notation=", "S"),
    ),
    "W": (
        Reading(None, f"{_RK} (76), the speeds of all joints", "v"),
        Reading(None, "Recursa's letter for the root of D", "D^(1/2)"),
    ),
    "W_dot": (
        Reading(None, f"{_RK} (76), (79), the accelerations of all joints", "inv(mass) (T - C)"),
        Reading(None, "the rate of Recursa's root of D", "d/dt(D^(1/2))"),
    ),
}
"""Every letter that means different things in the sources."""

NUMBERED = {f"{letter}_{x.number}": x.formula for letter, readings in READINGS.items() for x in readings if x.number}
"""Formulas by letter and number of the equation, whatever the notation."""

TAKEN_BY: dict[str, tuple[Notation, ...]] = {
    "K": ("rodriguez",),
    "S": ("jain",),
    "W": ("rodriguez",),
    "W_dot": ("rodriguez",),
}
"""Letters of Recursa's own table, and the notations in which they mean something else."""

SPELLINGS: dict[str, str] = {
    **dict.fromkeys(("nu", "ν"), "nu"),
    **dict.fromkeys(("epsilon", "eps", "varepsilon", "ε"), "epsilon"),
    **dict.fromkeys(("lambda", "λ"), "lambda"),
    **dict.fromkeys(("Omega", "Ω"), "Omega"),
    **{name: name for name in TAKEN_BY},
    "Ẇ": "W_dot",
}
"""The letter of each way to type one."""


def ambiguity(letter: str, notation: Notation | None) -> str:
    """What to say of a letter that cannot be read: all its meanings, and how to choose one."""
    undecided = "" if notation is None else f', and notation="{notation}" does not decide here'
    lines = [f"{letter} means different things in the sources{undecided}:"]
    for reading in READINGS[letter]:
        chosen = f'notation="{reading.notation}"' if reading.notation else "type the formula"
        where = "" if reading.bias == _ALWAYS else f" {_WHERE[reading.bias]}"
        name = f"; or type {letter}_{reading.number}" if reading.number else ""
        lines.append(f"  {reading.formula}: {reading.source} ({chosen}{where}{name})")
    space = _SPACES.get(letter)
    if space is not None:
        lines.append(f"For a vector of your own declare it, vectors={{'{letter}': '{space}'}}")
    return "\n".join(lines)


_SPACES = {"nu": "joint", "epsilon": "joint", "lambda": "link"}
_WHERE = {
    _OUTSIDE: "where a stands behind phi* alone, or nowhere",
    _INSIDE: "where a stands behind G*, tau_bar*, psi* or P",
    ("absent",): "where a does not occur",
}


def bias_use(expression: Expression) -> BiasUse:
    """How the bias acceleration enters a formula.

    >>> import recursa as rc
    >>> o = rc.robots.planar(3).operators
    >>> bias_use(o.H.T @ o.v), bias_use(o.phi.T @ o.a), bias_use(o.G.T @ o.a), bias_use(o.G.T @ o.phi.T @ o.M @ o.a)
    ('absent', 'rigid', 'articulated', 'articulated')
    """
    uses = _uses(expression, False)
    return "absent" if not uses else "mixed" if len(uses) > 1 else next(iter(uses))


def _uses(expression: Expression, articulated: bool) -> set[BiasUse]:
    match expression:
        case Leaf(kind=Kind.BIAS_ACCELERATION | Kind.BIAS_ACCELERATION_DOT):
            return {"articulated" if articulated else "rigid"}
        case Product(factors=factors):
            between = [_is_articulated(factor) for factor in factors]
            return {
                use
                for at, factor in enumerate(factors)
                for use in _uses(factor, articulated or any(between[:at] if _is_column(factor) else between))
            }
    return {use for part in all_parts_of(expression) for use in _uses(part, articulated)}


def _is_column(factor: Expression) -> bool:
    """Whether what acts on a factor stands on its left; a row ``a*`` is acted on from its right."""
    return not isinstance(factor, Transpose)


def _is_articulated(expression: Expression) -> bool:
    if isinstance(expression, Leaf):
        return expression.kind.value.is_articulated
    return any(map(_is_articulated, all_parts_of(expression)))
