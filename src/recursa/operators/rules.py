"""The identities of the papers, one function each: the two sides of an equation in the operators of a robot.

An identity is a function of a robot's :class:`Operators` that returns both sides, or None where it does not hold for
that robot (most often: because of armature). Leaves are constants of the robot, so there are no pattern variables: to
apply an identity is to find one side, or its transpose, and to put the other in its place. ``dense`` checks every one
over the zoo of robots.

Rodriguez & Kreutz-Delgado's ``Phi`` is ``phi E_phi`` and their ``Psi`` is ``psi E_phi``. With armature A,
``D = H P H* + A`` and mass means ``H phi M phi* H* + A``; an expression without the ``+ A`` is left as it stands,
because its value is another.
"""

from __future__ import annotations

from collections.abc import Iterator

from recursa.operators import articulated_rules, mass_rules, rigid_rules
from recursa.operators.arithmetic import transpose
from recursa.operators.expression import Expression, Filter, Freedom, Leaf
from recursa.operators.identity import ENTERED, JR, LINK_RULES, RK, Rule, Sides, factor, inverse_factor
from recursa.operators.leaves import Operators
from recursa.operators.rate_rules import RATE_RULES, TABLE
from recursa.operators.rigid_rules import newton_euler

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

RULES: list[Rule] = [
    rule
    for module in (rigid_rules, articulated_rules, mass_rules)
    for rule in ENTERED
    if rule.sides.__module__ == module.__name__
]
"""All identities but those about a link, in the papers' order: where two lead to the same cost, the first is taken."""

_OF_FACTORS = [rule for rule in RULES if rule.sides.__module__ != rigid_rules.__name__]


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
    for rule in RULES:
        yield from _with_transpose(rule, rule.sides(o))
    for filter in filters:
        for rule in _OF_FACTORS:
            yield from _with_transpose(rule, rule.sides(Operators(o.model, filter=filter)))
    for along in directions:
        for rule in RATE_RULES:
            yield from _with_transpose(rule, rule.sides(Operators(o.model, along)))
    for link in links:
        for one in (o, *(Operators(o.model, filter=filter) for filter in filters)):
            for rule in LINK_RULES:
                yield from _with_transpose(rule, rule.sides(one, link))


def row_of(rate: Leaf) -> tuple[Rule, Expression] | None:
    """What a derivative is, by Table 4; None for those that have a recursion of their own."""
    o = Operators(rate.robot, rate.along)
    for rule in TABLE:
        sides = rule.sides(o)
        if sides is not None and sides[0] == rate:
            return rule, sides[1]
    return None


def _with_transpose(rule: Rule, sides: Sides) -> Iterator[tuple[Rule, Expression, Expression]]:
    if sides is None:
        return
    left, right = sides
    yield rule, left, right
    if transpose(left) != left or transpose(right) != right:
        turned = Rule(f"{rule.name}, transposed", rule.equation, rule.sides, rule.both_ways)
        yield turned, transpose(left), transpose(right)
