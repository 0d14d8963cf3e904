"""Matrices that have innovations factors as the mass matrix has them: ``H phi X phi* H* + Y``.

X is symmetric and block diagonal over the links, in place of M; Y is diagonal over the joints, in place of A, or has a
positive block where a joint has several freedoms. The
articulated-body recursion and all identities of its letters hold for any such pair (Jain & Rodriguez, (8): the Riccati
equation asks nothing else of them). ``mass + h B`` with damping B is one, so implicit damping is O(n).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from recursa.operators.arithmetic import coefficient, inverse, product, scaled, total, transpose
from recursa.operators.expression import (
    Constant,
    Diagonal,
    Expression,
    Filter,
    Identity,
    Inverse,
    Leaf,
    Product,
    Sum,
    Zero,
    all_parts_of,
    known_shape,
)
from recursa.operators.leaves import Operators
from recursa.operators.structure import is_diagonal, structure
from recursa.operators.symbols import Kind, Structure

_SYMMETRIC_BLOCKS = Structure.BLOCK_DIAGONAL | Structure.SYMMETRIC
_POSITIVE_BLOCKS = _SYMMETRIC_BLOCKS | Structure.SEMIDEFINITE


def filter_of(matrix: Expression, o: Operators) -> Filter | None:
    """The pair X, Y of a joint-space matrix ``H phi X phi* H* + Y``; None if it is no such matrix.

    >>> import recursa as rc
    >>> o = rc.robots.planar(3).operators
    >>> found = filter_of(o.mass + 2.0 * o.I, o)
    >>> print(found.inertia, found.rotors)
    M 2 I
    >>> filter_of(o.mass @ o.mass, o) is None
    True
    """
    if matrix.shape is None or matrix.shape != o.A.shape:
        return None
    inertias: list[Expression] = []
    rotors: list[Expression] = []
    for term in matrix.terms if isinstance(matrix, Sum) else (matrix,):
        if not o.has_armature and coefficient(term)[1] == o.A:
            continue
        inner = _between_propagations(term, o)
        if inner is not None and structure(inner) & _SYMMETRIC_BLOCKS == _SYMMETRIC_BLOCKS:
            inertias.append(inner)
        else:
            rotors.append(term)
    if not inertias or not _can_be_rotors(total(rotors) if rotors else Zero(o.A.shape), o):
        return None
    return Filter(total(inertias), total(rotors) if rotors else Zero(o.A.shape))


def _between_propagations(term: Expression, o: Operators) -> Expression | None:
    """X of ``number H phi X phi* H*``, the number with it."""
    number, inner = coefficient(term)
    if not isinstance(inner, Product) or len(inner.factors) < 4:
        return None
    first, last = inner.factors[:2], inner.factors[-2:]
    if first != (o.H, o.phi) or last != (transpose(o.phi), transpose(o.H)):
        return None
    middle = inner.factors[2:-2]
    return scaled(number, product(middle) if middle else Identity(o.phi.shape.rows))


def _can_be_rotors(matrix: Expression, o: Operators) -> bool:
    """Whether a joint-space matrix is diagonal, or has positive blocks where joints have several freedoms."""
    return is_diagonal(matrix, o) or structure(matrix) & _POSITIVE_BLOCKS == _POSITIVE_BLOCKS


def is_the_mass_matrix(found: Filter, o: Operators) -> bool:
    """Whether it is the mass matrix itself, whose letters carry no filter."""
    return found == Filter(o.M, o.A if o.has_armature else Zero(o.A.shape))


def filters_in(expression: Expression, o: Operators) -> Iterator[Filter]:
    """Those that an expression has the inverse of, or letters of, other than the mass matrix; the inner ones first."""
    for part in all_parts_of(expression):
        yield from filters_in(part, o)
    if isinstance(expression, Leaf) and expression.filter is not None:
        yield expression.filter
    if isinstance(expression, Inverse):
        found = filter_of(expression.of, o)
        if found is not None and not is_the_mass_matrix(found, o):
            yield found


def inner_inverse(matrix: Expression) -> Expression | None:
    """``inv(X + c inv(Z)) = Z inv(Z + c inv(X)) inv(X)`` for diagonal X: the left side's matrix is given; else None.

    >>> import recursa as rc
    >>> o = rc.robots.planar(3).operators
    >>> print(inner_inverse(o.I + o.mass.inverse()))
    H φ M φ* H* (H φ M φ* H* + I)⁻¹
    """
    if not isinstance(matrix, Sum):
        return None
    for term in matrix.terms:
        number, inner = coefficient(term)
        rest = total(other for other in matrix.terms if other is not term)
        if isinstance(inner, Inverse) and Structure.DIAGONAL in structure(rest) and not isinstance(rest, Zero):
            of = inner.of
            return product((of, inverse(total((of, scaled(number, inverse(rest))))), inverse(rest)))
    return None


def low_rank_update(matrix: Expression) -> Expression | None:
    """``inv(Z + c U W)`` where U and W meet at pick-offs, as ``inv(Z) - inv(Z) U inv(I/c + W inv(Z) U) W inv(Z)``.

    Several terms that differ in their links and weights alone, ``J1* J1 + J2* diag(k) J2``, are one update with the
    pick-off of all these links. None where the matrix has no such term.

    >>> import recursa as rc
    >>> o = rc.robots.planar(3).operators
    >>> J = o.B("tip").T @ o.phi.T @ o.H.T
    >>> print(low_rank_update(o.D + J.T @ J))
    D⁻¹ - D⁻¹ H φ B(tip) (B(tip)* φ* H* D⁻¹ H φ B(tip) + I)⁻¹ B(tip)* φ* H* D⁻¹
    >>> J1 = o.B("link1").T @ o.phi.T @ o.H.T
    >>> print(low_rank_update(o.D + J.T @ J + J1.T @ J1))  # doctest: +ELLIPSIS
    D⁻¹ - D⁻¹ H φ B(tip, link1) (B(tip, link1)* φ* H* D⁻¹ H φ B(tip, link1) + I)⁻¹ ...
    """
    parts = low_rank_parts(matrix)
    if parts is None:
        return None
    rest, U, weight, W = parts
    there = inverse(rest)
    small = total((product((W, there, U)), weight))
    return total((there, scaled(-1.0, product((there, U, inverse(small), W, there)))))


def low_rank_parts(matrix: Expression) -> tuple[Expression, Expression, Expression, Expression] | None:
    """Z, U, X and W of ``Z + U inv(X) W`` where U and W meet at pick-offs; None where there is no such term."""
    terms = matrix.terms if isinstance(matrix, Sum) else ()
    updates = [term for term in terms if _cut(term) is not None]
    if not updates:
        return None
    at_links = _at_links(updates[0])
    if at_links is not None:
        updates = [term for term in updates if (other := _at_links(term)) is not None and other[:2] == at_links[:2]]
        U, weight, W = _combined(updates)
    else:
        updates = updates[:1]
        number, inner = coefficient(updates[0])
        assert isinstance(inner, Product)
        cut = _cut(inner)
        U, W = product(inner.factors[:cut]), product(inner.factors[cut:])
        weight = scaled(1.0 / number, Identity(known_shape(W).rows))
    rest = [other for other in terms if other not in updates]
    return (total(rest), U, weight, W) if rest else None


def _cut(term: Expression) -> int | None:
    """How many factors of a product come before what has few rows: those up to its first pick-off."""
    inner = coefficient(term)[1]
    factors = inner.factors if isinstance(inner, Product) else ()
    cut = next((k for k, factor in enumerate(factors, 1) if _is_pick_off(factor)), len(factors))
    return cut if cut < len(factors) else None


class _AtLinks(NamedTuple):
    """A term ``left B(links) diag(weights) B(links)* right``."""

    left: tuple[Expression, ...]
    right: tuple[Expression, ...]
    pick_off: Leaf
    weights: tuple[float, ...]


def _at_links(term: Expression) -> _AtLinks | None:
    """The parts of such a term, with numbers as weights; None if it is something else."""
    number, inner = coefficient(term)
    cut = _cut(term)
    if cut is None or not isinstance(inner, Product):
        return None
    pick_off, rest = inner.factors[cut - 1], inner.factors[cut:]
    assert isinstance(pick_off, Leaf)
    weights = (1.0,) * known_shape(pick_off).columns.size
    match rest[0]:
        case Diagonal(of=Constant(values=values)):
            weights, rest = values, rest[1:]
    if not rest or rest[0] != transpose(pick_off):
        return None
    return _AtLinks(inner.factors[: cut - 1], rest[1:], pick_off, tuple(number * x for x in weights))


def _combined(terms: list[Expression]) -> tuple[Expression, Expression, Expression]:
    """Terms at links as one, ``U inv(weight) W``; where a weight is zero it is part of W instead."""
    weights: dict[str, list[float]] = {}
    parts = [part for part in map(_at_links, terms) if part is not None]
    for part in parts:
        for at, link in enumerate(part.pick_off.links):
            own = weights.setdefault(link, [0.0] * 6)
            weights[link] = [x + y for x, y in zip(own, part.weights[6 * at : 6 * at + 6], strict=True)]
    pick_off = replace(parts[0].pick_off, links=tuple(weights))
    U, W = product((*parts[0].left, pick_off)), product((transpose(pick_off), *parts[0].right))
    numbers, one = [x for entries in weights.values() for x in entries], Identity(known_shape(W).rows)
    if len(set(numbers)) == 1 and numbers[0] != 0.0:
        return U, scaled(1.0 / numbers[0], one), W
    if 0.0 in numbers:
        return U, one, product((_diagonal(numbers), W))
    return U, _diagonal([1.0 / x for x in numbers]), W


def _diagonal(numbers: list[float]) -> Expression:
    return Diagonal(Constant(tuple(numbers), (len(numbers),), "tip"))


def _is_pick_off(factor: Expression) -> bool:
    return isinstance(factor, Leaf) and factor.kind is Kind.B
