"""Simplifying expressions: the identities of the papers, applied as long as that makes an expression cheaper.

Derivatives that have no recursion of their own are first replaced by what they are (Jain & Rodriguez, Table 4). Then a
best-first search: from the cheapest expression seen so far, every single rewriting is tried: one side of an identity
(or of its transpose) put in place of the dearer other side, wherever it occurs; a common factor taken out of a sum, or
a product with a sum multiplied out; something met by its inverse. The search ends when a number of attempts in a row
found nothing cheaper, and on very long expressions when it has read enough of them: the best so far is then the answer.
It is deterministic, and no step changes the value.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple, overload

from recursa.operators.arithmetic import coefficient, diagonal, inverse, product, scaled, total, transpose
from recursa.operators.cost import Cost, cost
from recursa.operators.expression import (
    Diagonal,
    Expression,
    Filter,
    Freedom,
    Identity,
    Inverse,
    Leaf,
    Product,
    Scaled,
    Sum,
    Transpose,
    all_parts_of,
    known_shape,
    parts_of,
)
from recursa.operators.filters import filter_of, filters_in, inner_inverse, low_rank_update
from recursa.operators.inversion import has_inverse
from recursa.operators.leaves import Operators
from recursa.operators.rules import RK, Rule, accelerations, equations, row_of

_PATIENCE = 12  # expressions tried without finding a cheaper one
_LIMIT = 400  # expressions tried at all
_WORK = 100_000  # letters of all expressions priced: a search of some seconds, where the papers' take 10_000
_ARITHMETIC = "arithmetic"
_MULTIPLIED = "multiplied out"


class Rewriting(NamedTuple):
    """One step: the identity's name and number, the part it found and what it put there."""

    rule: str
    equation: str
    before: Expression
    after: Expression

    def __str__(self) -> str:
        return f"{self.before}  ->  {self.after}    {self.rule} [{self.equation}]"


@overload
def simplify(expression: Expression, *, trace: Literal[False] = False) -> Expression: ...
@overload
def simplify(expression: Expression, *, trace: Literal[True]) -> tuple[Expression, list[Rewriting]]: ...
def simplify(expression: Expression, *, trace: bool = False) -> Expression | tuple[Expression, list[Rewriting]]:
    """The cheapest equal expression that the identities lead to; with ``trace`` also the steps that were taken.

    Its value is exactly that of :func:`dense` before. Where the robot has armature the mass matrix is
    ``H phi M phi* H* + A``; an inverse without the A has factors of its own.

    >>> import recursa as rc
    >>> o = rc.robots.planar(3).operators
    >>> mass = o.H @ o.phi @ o.M @ o.phi.T @ o.H.T
    >>> print(simplify(mass.inverse()))
    (I - H ψ K)* D⁻¹ (I - H ψ K)
    >>> simple, steps = simplify(o.phi.T @ o.H.T @ mass.inverse() @ o.H @ o.phi, trace=True)
    >>> print(simple)
    ψ* H* D⁻¹ H ψ
    >>> for step in steps:
    ...     print(step.rule)
    operational compliance
    """
    model = expression.model
    if model is None:  # numbers: nothing is known of them
        return (expression, []) if trace else expression
    o = Operators(model)
    start = _opened(_by_table(_Node(expression, ())), o)
    expression = start.expression
    directions = tuple(sorted(_directions(expression), key=lambda x: x or ("", 0)))
    table = _table(o, tuple(sorted(_links(expression))), directions, tuple(dict.fromkeys(filters_in(expression, o))))
    prices = _Prices()
    best_cost, best = prices(expression), start
    queue: list[tuple[Cost, int, _Node]] = [(best_cost, 0, start)]
    seen = {expression}
    tried, patience = 0, _PATIENCE
    while queue and patience > 0 and tried < _LIMIT and not prices.spent:
        _, _, node = heapq.heappop(queue)
        tried, patience = tried + 1, patience - 1
        steps = sorted(rewritings(node.expression, table), key=lambda pair: pair[0].rule == _MULTIPLIED)
        for step, result in steps:
            if result in seen:
                continue
            if prices.spent:
                break
            seen.add(result)
            found = _Node(result, (*node.steps, step))
            if step.rule == _MULTIPLIED:  # dearer by itself: it pays by what it makes possible
                found = _descended(found, table, prices)
                seen.add(found.expression)
            price = prices(found.expression)
            heapq.heappush(queue, (price, len(seen), found))
            if price < best_cost:
                best_cost, best, patience = price, found, _PATIENCE
    if prices.spent or best_cost.dense:  # rather every inverse in factors than a shorter expression without sweeps
        best = min((_without_inverses(node, table) for node in (best, start)), key=lambda node: cost(node.expression))
    return (best.expression, list(best.steps)) if trace else best.expression


class _Prices:
    """What expressions cost, and how much has been read to know it."""

    def __init__(self) -> None:
        self.letters = 0

    def __call__(self, expression: Expression) -> Cost:
        price = cost(expression)
        self.letters += price.letters
        return price

    @property
    def spent(self) -> bool:
        """Whether it is time to stop."""
        return self.letters > _WORK


class _Node(NamedTuple):
    """An expression with the steps that led to it."""

    expression: Expression
    steps: tuple[Rewriting, ...]


def _by_table(node: _Node) -> _Node:
    """Every derivative that has no recursion of its own replaced by its row of Table 4: nothing else can apply it."""
    expression, steps = node
    while (found := next(filter(None, map(_row, _leaves(expression))), None)) is not None:
        rate, (rule, meaning) = found
        expression = _replaced(_replaced(expression, rate, meaning), transpose(rate), transpose(meaning))
        steps = (*steps, Rewriting(rule.name, rule.equation, rate, meaning))
    return _Node(expression, steps)


def _row(leaf: Leaf) -> tuple[Leaf, tuple[Rule, Expression]] | None:
    row = row_of(leaf) if leaf.kind.value.by_table else None
    return None if row is None else (leaf, row)


def _opened(node: _Node, o: Operators) -> _Node:
    """Every inverse of a sum that has no factors as it stands, but can be written with one that has."""
    expression, steps = node
    while (step := next(filter(None, (_opening(part, o) for part in _inverses(expression))), None)) is not None:
        expression, steps = _replaced(expression, step.before, step.after), (*steps, step)
    return _Node(expression, steps)


def _opening(part: Expression, o: Operators) -> Rewriting | None:
    assert isinstance(part, Inverse)
    if has_inverse(part.of) or filter_of(part.of, o) is not None:
        return None
    for name, opened in (("inverse within an inverse", inner_inverse), ("low-rank update", low_rank_update)):
        after = opened(part.of)
        if after is not None:
            return Rewriting(name, _ARITHMETIC, part, after)
    return None


def _descended(node: _Node, table: _Table, prices: _Prices) -> _Node:
    """As far down as single steps go, each time the one that saves most."""
    price = prices(node.expression)
    while not prices.spent:
        steps = list(rewritings(node.expression, table, multiplying=False))
        found = [prices(result) for _, result in steps]
        if not found or min(found) >= price:
            break
        price = min(found)
        step, result = steps[found.index(price)]
        node = _Node(result, (*node.steps, step))
    return node


def _without_inverses(node: _Node, table: _Table) -> _Node:
    """Where a search was broken off: at least every inverse that has factors put into them, wherever it occurs.

    What no identity says at once is searched by itself: ``inv(H P H* + A)`` is short, whatever it stands in.
    """
    expression, steps = node
    for part in dict.fromkeys(_inverses(expression)):
        if cost(part).dense == 0:
            continue
        step = next((step for step in table.exact.get(part, ()) if cost(step.after).dense == 0), None)
        if step is not None:
            after, way = step.after, [step]
        elif cost(part).letters < cost(node.expression).letters:  # so that this comes to an end
            after, way = simplify(part, trace=True)
        else:
            continue
        if cost(after).dense == 0:
            expression, steps = _replaced(expression, part, after), (*steps, *way)
    return _Node(expression, steps)


def _inverses(expression: Expression) -> Iterator[Expression]:
    """All inverses in an expression, the inner ones first."""
    for part in _parts(expression):
        yield from _inverses(part)
    if isinstance(expression, Inverse):
        yield expression


def _replaced(expression: Expression, before: Expression, after: Expression) -> Expression:
    """With one part exchanged for another everywhere."""
    if expression == before:
        return after
    for number, part in enumerate(_parts(expression)):
        changed = _replaced(part, before, after)
        if changed is not part:
            return _replaced(_with_part(expression, number, changed), before, after)
    return expression


# ---- all single rewritings -----------------------------------------------------------------------------------------


def rewritings(
    expression: Expression, table: _Table, *, multiplying: bool = True
) -> Iterator[tuple[Rewriting, Expression]]:
    """Every step that can be taken from an expression, with the whole expression after it."""
    yield from _here(expression, table)
    if multiplying and isinstance(expression, Product):
        yield from _multiplied(expression)
    for number, part in enumerate(_parts(expression)):
        for step, after in rewritings(part, table, multiplying=multiplying):
            yield step, _with_part(expression, number, after)


def _here(expression: Expression, table: _Table) -> Iterator[tuple[Rewriting, Expression]]:
    """Steps that change the node itself."""
    for step in table.exact.get(expression, ()):
        yield step, step.after
    if isinstance(expression, Product):
        yield from _in_product(expression, table)
    elif isinstance(expression, Sum):
        yield from _in_sum(expression, table)


def _in_product(expression: Product, table: _Table) -> Iterator[tuple[Rewriting, Expression]]:
    """Identities between neighbours, and inverses that meet."""
    factors = expression.factors
    for start, first in enumerate(factors):
        for wanted, step in table.products.get(first, ()):
            end = start + len(wanted)
            if factors[start:end] == wanted and wanted != factors:
                yield step, product((*factors[:start], step.after, *factors[end:]))
        if isinstance(first, Inverse):
            yield from _cancelled(factors, start, first)
        if first == table.inverse_of_mass and start == len(factors) - 2:
            yield from _solved(factors, table)


def _multiplied(expression: Product) -> Iterator[tuple[Rewriting, Expression]]:
    """``x (y + z) w = x y w + x z w``, for every sum."""
    for place, factor in enumerate(expression.factors):
        if isinstance(factor, Sum):
            left, right = expression.factors[:place], expression.factors[place + 1 :]
            after = total(product((*left, term, *right)) for term in factor.terms)
            yield Rewriting(_MULTIPLIED, _ARITHMETIC, expression, after), after


def _solved(factors: tuple[Expression, ...], table: _Table) -> Iterator[tuple[Rewriting, Expression]]:
    """``inv(mass) (y - C)``: accelerations, without computing C."""
    bias = table.operators.C
    weights = {inner: number for number, inner in map(coefficient, _terms(factors[-1]))}
    weight = weights.pop(bias, 0.0)
    if weight != 0.0:
        y = total(scaled(number, inner) for inner, number in weights.items()) if weights else None
        before, after = product(factors[-2:]), accelerations(table.operators, y, weight)
        yield Rewriting("accelerations", f"{RK} (61)-(65)", before, after), product((*factors[:-2], after))


def _terms(expression: Expression) -> tuple[Expression, ...]:
    return expression.terms if isinstance(expression, Sum) else (expression,)


def _cancelled(factors: tuple[Expression, ...], place: int, found: Inverse) -> Iterator[tuple[Rewriting, Expression]]:
    """``inv(x) x = I`` and ``x inv(x) = I`` around the place of an inverse."""
    x = found.of
    own = x.factors if isinstance(x, Product) else (x,)
    for start, end in ((place + 1, place + 1 + len(own)), (place - len(own), place)):
        if start >= 0 and factors[start:end] == own:
            low, high = min(start, place), max(end, place + 1)
            one = Identity(known_shape(found).rows)
            before = product(factors[low:high])
            yield (
                Rewriting("inverse cancels", _ARITHMETIC, before, one),
                product((*factors[:low], one, *factors[high:])),
            )


def _in_sum(expression: Sum, table: _Table) -> Iterator[tuple[Rewriting, Expression]]:
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
            groups.setdefault(_factors(term)[end], []).append(term)
        for shared, terms in groups.items():
            if len(terms) < 2:
                continue
            rest = [term for term in expression.terms if term not in terms]
            sum_of_others = total(_without(term, end) for term in terms)
            taken = product((shared, sum_of_others) if end == 0 else (sum_of_others, shared))
            yield Rewriting("common factor", _ARITHMETIC, total(terms), taken), total((taken, *rest))


def _factors(term: Expression) -> tuple[Expression, ...]:
    inner = coefficient(term)[1]
    return inner.factors if isinstance(inner, Product) else (inner,)


def _without(term: Expression, end: int) -> Expression:
    """A term without its first or last factor; an identity is left of a term that is nothing else."""
    factors = _factors(term)
    number, _ = coefficient(term)
    rest = factors[1:] if end == 0 else factors[:-1]
    return scaled(number, product(rest))


# ---- walking -------------------------------------------------------------------------------------------------------


def _parts(expression: Expression) -> tuple[Expression, ...]:
    return () if isinstance(expression, Transpose) else parts_of(expression)


def _with_part(expression: Expression, number: int, part: Expression) -> Expression:
    """The expression with one of its parts exchanged."""
    parts = _parts(expression)
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
    return inverse(part)


def _leaves(expression: Expression) -> Iterator[Leaf]:
    """The operators that occur, transposed or not."""
    if isinstance(expression, Leaf):
        yield expression
    for part in all_parts_of(expression):
        yield from _leaves(part)


def _links(expression: Expression) -> set[str]:
    """The links whose pick-offs occur."""
    return {leaf.links[0] for leaf in _leaves(expression) if len(leaf.links) == 1}


def _directions(expression: Expression) -> set[Freedom | None]:
    """The velocities along which something is differentiated."""
    return {leaf.along for leaf in _leaves(expression) if leaf.kind.value.is_directed}


# ---- the identities of a robot, by what they start with ------------------------------------------------------------


class _Table:
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
def _table(
    o: Operators, links: tuple[str, ...], directions: tuple[Freedom | None, ...], filters: tuple[Filter, ...]
) -> _Table:
    return _Table(o, links, directions, filters)
