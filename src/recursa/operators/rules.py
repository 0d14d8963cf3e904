"""The identities as the search for cheaper expressions takes them: both sides for a robot, with their transposes.

Letters are constants of the robot, so there are no pattern variables: to apply an identity is to find one side, or its
transpose, and to put the other in its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from recursa.operators.arithmetic import transpose
from recursa.operators.expression import Expression, Filter, Freedom, Leaf
from recursa.operators.identities import (
    ARTICULATED_RULES,
    JR,
    LINK_RULES,
    MASS_RULES,
    RATE_RULES,
    RIGID_RULES,
    RK,
    TABLE,
    Rule,
)
from recursa.operators.leaves import Operators

__all__ = [
    "JR",
    "LINK_RULES",
    "RATE_RULES",
    "RK",
    "RULES",
    "TABLE",
    "Rule",
    "equations",
    "factor",
    "inverse_factor",
    "newton_euler",
    "row_of",
]

RULES = [*RIGID_RULES, *ARTICULATED_RULES, *MASS_RULES]
"""All identities but those about a link and of derivatives."""


def factor(o: Operators) -> Expression:
    """``I + H phi K``: the unit triangular factor of the mass matrix."""
    return o.I + o.H @ o.phi @ o.K


def inverse_factor(o: Operators) -> Expression:
    """``I - H psi K``: its inverse."""
    return o.I - o.H @ o.psi @ o.K


def newton_euler(o: Operators) -> tuple[Expression, Expression]:
    """``H phi (M (phi* a + gravity) + b) = C``."""
    sides = next(rule for rule in RULES if rule.name == "newton euler").sides(o)
    assert sides is not None
    return sides


def equations(
    o: Operators,
    links: tuple[str, ...] = (),
    directions: tuple[Freedom | None, ...] = (),
    filters: tuple[Filter, ...] = (),
) -> Iterator[tuple[Rule, Expression, Expression]]:
    """Every identity that holds for a robot with its two sides, and its transpose.

    Those of derivatives are about a direction: v (None) or one freedom. Those of the factors of the mass matrix also
    hold for other matrices of its form.
    """
    others = [Operators(o.model, filter=filter) for filter in filters]
    yield from _with_transposes(RULES, o)
    for other in others:
        yield from _with_transposes([*ARTICULATED_RULES, *MASS_RULES], other)
    for along in directions:
        yield from _with_transposes(RATE_RULES, Operators(o.model, along))
    for link in links:
        for one in (o, *others):
            yield from _with_transposes(LINK_RULES, one, link)


def row_of(rate: Leaf) -> tuple[Rule, Expression] | None:
    """What a derivative is, by Table 4; None for those that have a recursion of their own."""
    o = Operators(rate.robot, rate.along)
    for rule in TABLE:
        sides = rule.sides(o)
        if sides is not None and sides[0] == rate:
            return rule, sides[1]
    return None


def _with_transposes(
    rules: list[Rule], o: Operators, link: str | None = None
) -> Iterator[tuple[Rule, Expression, Expression]]:
    for rule in rules:
        sides = rule.sides(o, link)
        if sides is None:
            continue
        left, right = sides
        yield rule, left, right
        if transpose(left) != left or transpose(right) != right:
            yield replace(rule, name=f"{rule.name}, transposed"), transpose(left), transpose(right)
