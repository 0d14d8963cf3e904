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
from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple, overload

from recursa.operators.arithmetic import transpose
from recursa.operators.cost import Cost, cost
from recursa.operators.expression import Expression, Functional, Inverse, Leaf, all_parts_of, walk
from recursa.operators.filters import filter_of, filters_in, inner_inverse, low_rank_update
from recursa.operators.functionals import logdet_by_parts, trace_by_parts
from recursa.operators.inversion import has_inverse
from recursa.operators.leaves import Operators
from recursa.operators.rewriting import (
    ARITHMETIC,
    MULTIPLIED,
    Rewriting,
    Table,
    changeable_parts,
    replaced,
    rewritings,
    table_of,
)
from recursa.operators.rules import RK, row_of

_PATIENCE = 12  # expressions tried without finding a cheaper one
_LIMIT = 400  # expressions tried at all
_WORK = 100_000  # letters of all expressions priced: a search of some seconds, where the papers' take 10_000


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
    start = _replaced(_Node(expression, ()), _by_table, all_parts_of)
    for step_of in (_by_parts, _opened):
        start = _replaced(start, partial(step_of, o=o))
    expression = start.expression
    leaves = [leaf for leaf in walk(expression, all_parts_of) if isinstance(leaf, Leaf)]
    along = {leaf.along for leaf in leaves if leaf.kind.value.is_directed}  # what something is differentiated along
    directions = tuple(sorted(along, key=lambda x: x or ("", 0)))
    links = tuple(sorted({leaf.links[0] for leaf in leaves if len(leaf.links) == 1}))  # whose pick-offs occur
    table = table_of(o, links, directions, tuple(dict.fromkeys(filters_in(expression, o))))
    prices = _Prices()
    best_cost, best = prices(expression), start
    queue: list[tuple[Cost, int, _Node]] = [(best_cost, 0, start)]
    seen = {expression}
    tried, patience = 0, _PATIENCE
    while queue and patience > 0 and tried < _LIMIT and not prices.spent:
        _, _, node = heapq.heappop(queue)
        tried, patience = tried + 1, patience - 1
        steps = sorted(rewritings(node.expression, table), key=lambda pair: pair[0].rule == MULTIPLIED)
        for step, result in steps:
            if result in seen:
                continue
            if prices.spent:
                break
            seen.add(result)
            found = _Node(result, (*node.steps, step))
            if step.rule == MULTIPLIED:  # dearer by itself: it pays by what it makes possible
                found = _descended(found, table, prices)
                seen.add(found.expression)
            price = prices(found.expression)
            heapq.heappush(queue, (price, len(seen), found))
            if price < best_cost:
                best_cost, best, patience = price, found, _PATIENCE
    if prices.spent or best_cost.dense:  # rather every inverse in factors than a shorter expression without sweeps
        filters = dict.fromkeys(x for node in (best, start) for x in filters_in(node.expression, o))
        table = table_of(o, links, directions, tuple(filters))
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


def _replaced(
    node: _Node,
    step_of: Callable[[Expression], Rewriting | None],
    parts: Callable[[Expression], tuple[Expression, ...]] = changeable_parts,
) -> _Node:
    """Every part that has such a step replaced, as far as that goes."""
    expression, steps = node
    while (step := next(filter(None, map(step_of, walk(expression, parts))), None)) is not None:
        expression, steps = replaced(expression, step.before, step.after), (*steps, step)
        if isinstance(step.before, Leaf):
            expression = replaced(expression, transpose(step.before), transpose(step.after))
    return _Node(expression, steps)


def _by_table(part: Expression) -> Rewriting | None:
    """A derivative that has no recursion of its own by its row of Table 4: nothing else can apply it."""
    row = row_of(part) if isinstance(part, Leaf) and part.kind.value.by_table else None
    return None if row is None else Rewriting(row[0].name, row[0].equation, part, row[1])


def _by_parts(part: Expression, o: Operators) -> Rewriting | None:
    """A trace or determinant by those of simpler matrices."""
    if not isinstance(part, Functional):
        return None
    by_parts, name, equation = (
        (trace_by_parts, "trace of the diagonal blocks", f"{RK} Identity 1 (28)")
        if part.name == "trace"
        else (logdet_by_parts, "determinant by factors", f"{RK} Identity 3 (43)")
    )
    after = by_parts(part.of, o)
    return None if after is None or after == part else Rewriting(name, equation, part, after)


def _opened(part: Expression, o: Operators) -> Rewriting | None:
    """The inverse of a sum that has no factors as it stands, but can be written with one that has."""
    if not isinstance(part, Inverse) or has_inverse(part.of) or filter_of(part.of, o) is not None:
        return None
    for name, opened in (("inverse within an inverse", inner_inverse), ("low-rank update", low_rank_update)):
        after = opened(part.of)
        if after is not None:
            return Rewriting(name, ARITHMETIC, part, after)
    return None


def _descended(node: _Node, table: Table, prices: _Prices) -> _Node:
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


def _without_inverses(node: _Node, table: Table) -> _Node:
    """Where a search was broken off: at least every inverse that has factors put into them, wherever it occurs.

    What no identity says at once is searched by itself: ``inv(H P H* + A)`` is short, whatever it stands in.
    """
    expression, steps = node
    for part in dict.fromkeys(walk(expression, changeable_parts)):
        if not isinstance(part, Inverse) or cost(part).dense == 0:
            continue
        step = next((step for step in table.exact.get(part, ()) if cost(step.after).dense == 0), None)
        if step is not None:
            after, way = step.after, [step]
        elif cost(part).letters < cost(node.expression).letters:  # so that this comes to an end
            after, way = simplify(part, trace=True)
        else:
            continue
        if cost(after).dense == 0:
            expression, steps = replaced(expression, part, after), (*steps, *way)
    return _Node(expression, steps)
