"""Single rewritings of an expression: an identity used at one place, a common factor, a sum multiplied out, an inverse
met by what it is the inverse of.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from recursa.operators.arithmetic import (
    coefficient,
    diagonal,
    factors_of,
    functional,
    inverse,
    product,
    scaled,
    terms_of,
    total,
    transpose,
)
from recursa.operators.cost import cost
from recursa.operators.expression import (
    Diagonal,
    Expression,
    Filter,
    Freedom,
    Functional,
    Identity,
    Inverse,
    Product,
    Scaled,
    Sum,
    Transpose,
    known_shape,
    parts_of,
)
from recursa.operators.leaves import Operators
from recursa.operators.rules import JR, RK, equations

ARITHMETIC = "arithmetic"
MULTIPLIED = "multiplied out"


class Rewriting(NamedTuple):
    """One step: the identity's name and number, the part it found and what it put there."""

    rule: str
    equation: str
    before: Expression
    after: Expression

    def __str__(self) -> str:
        return f"{self.before}  ->  {self.after}    {self.rule} [{self.equation}]"


# ---- all single rewritings -----------------------------------------------------------------------------------------


def rewritings(
    expression: Expression, table: Table, *, multiplying: bool = True
) -> Iterator[tuple[Rewriting, Expression]]:
    """Every step that can be taken from an expression, with the whole expression after it."""
    yield from _here(expression, table)
    if multiplying and isinstance(expression, Product):
        yield from _multiplied(expression)
    for number, part in enumerate(changeable_parts(expression)):
        for step, after in rewritings(part, table, multiplying=multiplying):
            yield step, _with_part(expression, number, after)


def _here(expression: Expression, table: Table) -> Iterator[tuple[Rewriting, Expression]]:
    """Steps that change the node itself."""
    for step in table.exact.get(expression, ()):
        yield step, step.after
    if isinstance(expression, Product):
        yield from _in_product(expression, table)
    elif isinstance(expression, Sum):
        yield from _in_sum(expression, table)


def _in_product(expression: Product, table: Table) -> Iterator[tuple[Rewriting, Expression]]:
    """Identities between neighbours, and inverses that meet."""
    factors = expression.factors
    for start, first in enumerate(factors):
        for wanted, step in table.products.get(first, ()):
            end = start + len(wanted)
            if factors[start:end] == wanted and wanted != factors:
                yield step, product((*factors[:start], step.after, *factors[end:]))
        if isinstance(first, Inverse):
            yield from _cancelled(factors, start, first)
        if start == len(factors) - 2:
            yield from _solved(factors, table)


def _multiplied(expression: Product) -> Iterator[tuple[Rewriting, Expression]]:
    """``x (y + z) w = x y w + x z w``, for every sum."""
    for place, factor in enumerate(expression.factors):
        if isinstance(factor, Sum):
            left, right = expression.factors[:place], expression.factors[place + 1 :]
            after = total(product((*left, term, *right)) for term in factor.terms)
            yield Rewriting(MULTIPLIED, ARITHMETIC, expression, after), after


def _solved(factors: tuple[Expression, ...], table: Table) -> Iterator[tuple[Rewriting, Expression]]:
    """``inv(mass) (y - C)`` and ``phi* (H* inv(mass) (y - C) + a)``: accelerations, without computing C."""
    o, before, after = table.operators, product(factors[-2:]), None
    rule, equation = "accelerations", f"{RK} (66)-(73)"
    if factors[-2] == table.inverse_of_mass:
        y, weight = _without_bias(factors[-1], o)
        after = joint_accelerations(o, y, weight) if weight != 0.0 else None
    elif factors[-2] == transpose(o.phi):
        rule, equation = "link accelerations", f"{JR} (21)"
        after = _of_links(factors[-1], table)
    if after is not None:
        yield Rewriting(rule, equation, before, after), product((*factors[:-2], after))


def joint_accelerations(o: Operators, y: Expression | None, weight: float) -> Expression:
    """``inv(mass) (y + weight C)``: Rodriguez & Kreutz-Delgado's Algorithm 4, (66)-(73).

    With ``u = inv(D) (y - H psi (K y + P a + b)) - G* gravity`` it is ``u - K* psi* (H* u + a)``, weight -1;
    gravity stands by itself since ``psi M gravity = P gravity``.
    """
    u = _smoothed_rates(o, y, weight)
    return u - o.K.T @ o.psi.T @ (o.H.T @ u + scaled(-weight, o.a))


def link_accelerations(o: Operators, y: Expression | None, weight: float) -> Expression:
    """``phi* (H* inv(mass) (y + weight C) - weight a)``: ``psi* (H* u + a)`` with weight -1, Jain & Rodriguez (21)."""
    return o.psi.T @ (o.H.T @ _smoothed_rates(o, y, weight) + scaled(-weight, o.a))


def _smoothed_rates(o: Operators, y: Expression | None, weight: float) -> Expression:
    """The u of both."""
    a, b, gravity = (scaled(-weight, x) for x in (o.a, o.b, o.gravity))
    bias = o.P @ a + b
    innovations = -(o.H @ o.psi @ bias) if y is None else y - o.H @ o.psi @ (o.K @ y + bias)
    return o.D.inverse() @ innovations - o.G.T @ gravity


def _without_bias(torques: Expression, o: Operators) -> tuple[Expression | None, float]:
    """``y`` and the number of ``y + number C``; None where y is nothing."""
    weights = {inner: number for number, inner in map(coefficient, terms_of(torques))}
    weight = weights.pop(o.C, 0.0)
    return (total(scaled(number, inner) for inner, number in weights.items()) if weights else None), weight


def _of_links(joints_and_bias: Expression, table: Table) -> Expression | None:
    """``phi* (number H* inv(mass) (y + weight C) - number weight a + rest)``; None where it is something else."""
    o, terms = table.operators, terms_of(joints_and_bias)
    own = {inner: number for number, inner in map(coefficient, terms)}
    for inner, number in own.items():
        if isinstance(inner, Product) and inner.factors[:2] == (transpose(o.H), table.inverse_of_mass):
            y, weight = _without_bias(product(inner.factors[2:]), o)
            if weight != 0.0 and own.get(o.a) == -number * weight:
                rest = [scaled(x, other) for other, x in own.items() if other not in (inner, o.a)]
                found = scaled(number, link_accelerations(o, y, weight))
                return total((found, product((transpose(o.phi), total(rest))))) if rest else found
    return None


def _cancelled(factors: tuple[Expression, ...], place: int, found: Inverse) -> Iterator[tuple[Rewriting, Expression]]:
    """``inv(x) x = I`` and ``x inv(x) = I`` around the place of an inverse."""
    x = found.of
    own = factors_of(x)
    for start, end in ((place + 1, place + 1 + len(own)), (place - len(own), place)):
        if start >= 0 and factors[start:end] == own:
            low, high = min(start, place), max(end, place + 1)
            one = Identity(known_shape(found).rows)
            before = product(factors[low:high])
            yield (
                Rewriting("inverse cancels", ARITHMETIC, before, one),
                product((*factors[:low], one, *factors[high:])),
            )


def _in_sum(expression: Sum, table: Table) -> Iterator[tuple[Rewriting, Expression]]:
    """Identities between terms, and common factors to take out."""
    weights = {inner: number for number, inner in map(coefficient, expression.terms)}
    for wanted, step in table.sums:
        needed = [coefficient(term) for term in wanted.terms]
        number, first = needed[0]
        scale = weights.get(first, 0.0) / number
        if scale != 0.0 and wanted != expression and all(weights.get(x) == scale * own for own, x in needed):
            yield step, total((expression, scaled(-scale, wanted), scaled(scale, step.after)))
    yield from _common_factors(expression)


def _common_factors(expression: Sum) -> Iterator[tuple[Rewriting, Expression]]:
    """``x y + x z = x (y + z)`` and ``y x + z x = (y + z) x``, for as many terms as share the factor."""
    for end in (0, -1):
        groups: dict[Expression, list[Expression]] = {}
        for term in expression.terms:
            groups.setdefault(factors_of(coefficient(term)[1])[end], []).append(term)
        for shared, terms in groups.items():
            if len(terms) < 2:
                continue
            rest = [term for term in expression.terms if term not in terms]
            sum_of_others = total(_without(term, end) for term in terms)
            taken = product((shared, sum_of_others) if end == 0 else (sum_of_others, shared))
            yield Rewriting("common factor", ARITHMETIC, total(terms), taken), total((taken, *rest))


def _without(term: Expression, end: int) -> Expression:
    """A term without its first or last factor; an identity is left of a term that is nothing else."""
    number, inner = coefficient(term)
    rest = factors_of(inner)[1:] if end == 0 else factors_of(inner)[:-1]
    return scaled(number, product(rest))


# ---- walking -------------------------------------------------------------------------------------------------------


def changeable_parts(expression: Expression) -> tuple[Expression, ...]:
    """Those that a rewriting may change: a starred letter is one."""
    return () if isinstance(expression, Transpose) else parts_of(expression)


def _with_part(expression: Expression, number: int, part: Expression) -> Expression:
    """The expression with one of its parts exchanged."""
    parts = changeable_parts(expression)
    changed = (*parts[:number], part, *parts[number + 1 :])
    match expression:
        case Product():
            return product(changed)
        case Sum():
            return total(changed)
        case Scaled(factor=factor):
            return scaled(factor, part)
        case Diagonal():
            return diagonal(part)
        case Functional(name=name):
            return functional(name, part)
    return inverse(part)


def replaced(expression: Expression, before: Expression, after: Expression) -> Expression:
    """With one part exchanged for another everywhere."""
    if expression == before:
        return after
    for number, part in enumerate(changeable_parts(expression)):
        changed = replaced(part, before, after)
        if changed is not part:
            return replaced(_with_part(expression, number, changed), before, after)
    return expression


# ---- the identities of a robot, by what they start with ------------------------------------------------------------


class Table:
    """Identities as rewritings from the dearer side to the cheaper one (both ways where they cost the same, and where
    the use decides).
    """

    def __init__(
        self,
        o: Operators,
        links: tuple[str, ...],
        directions: tuple[Freedom | None, ...],
        filters: tuple[Filter, ...],
    ) -> None:
        self.operators = o
        self.inverse_of_mass = inverse(o.mass)
        self.exact: dict[Expression, list[Rewriting]] = {}
        self.products: dict[Expression, list[tuple[tuple[Expression, ...], Rewriting]]] = {}
        self.sums: list[tuple[Sum, Rewriting]] = []
        for rule, left, right in equations(o, links, directions, filters):
            for before, after in ((left, right), (right, left)):
                if rule.both_ways or cost(before) >= cost(after):
                    self._enter(Rewriting(rule.name, rule.equation, before, after))

    def _enter(self, step: Rewriting) -> None:
        before = step.before
        self.exact.setdefault(before, []).append(step)
        if isinstance(before, Product):
            self.products.setdefault(before.factors[0], []).append((before.factors, step))
        elif isinstance(before, Sum):
            self.sums.append((before, step))


@lru_cache(maxsize=32)
def table_of(
    o: Operators, links: tuple[str, ...], directions: tuple[Freedom | None, ...], filters: tuple[Filter, ...]
) -> Table:
    """The identities of a robot at these links, along these velocities and for these matrices."""
    return Table(o, links, directions, filters)
