"""Matrices that have innovations factors as the mass matrix has them: ``H phi X phi* H* + Y``.

X is symmetric and block diagonal over the links, in place of M; Y is diagonal over the joints, in place of A, or has a
positive block where a joint has several freedoms. The
articulated-body recursion and all identities of its letters hold for any such pair (Jain & Rodriguez, (8): the Riccati
equation asks nothing else of them). ``mass + h B`` with damping B is one, so implicit damping is O(n), and so is
``mass + J* X J`` of any number of links: X is more inertia of a link.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from recursa.operators.arithmetic import (
    coefficient,
    diagonal,
    factors_of,
    inverse,
    product,
    scaled,
    terms_of,
    total,
    transpose,
)
from recursa.operators.expression import (
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
    walk,
)
from recursa.operators.leaves import Operators
from recursa.operators.structure import is_diagonal, structure
from recursa.operators.symbols import Kind, Structure

_SYMMETRIC_BLOCKS = Structure.BLOCK_DIAGONAL | Structure.SYMMETRIC
_FEW = ("tip", "constraint")  # spaces of pick-offs, of links and of constraints
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
    for term in terms_of(matrix):
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
    for part in walk(expression, all_parts_of):
        if isinstance(part, Leaf) and part.filter is not None:
            yield part.filter
        if isinstance(part, Inverse):
            found = filter_of(part.of, o)
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

    ``J* X J`` needs none beside the mass matrix: it is more inertia of the link, ``H phi B X B* phi* H*``.

    >>> import recursa as rc
    >>> o = rc.robots.planar(3).operators
    >>> B = o.B("tip")
    >>> print(low_rank_update(o.phi + 2 * B @ B.T))
    φ⁻¹ - φ⁻¹ B(tip) (B(tip)* φ⁻¹ B(tip) + 0.5 I)⁻¹ B(tip)* φ⁻¹
    >>> print(low_rank_update(o.mass + 2 * o.I))
    None
    """
    parts = low_rank_parts(matrix)
    if parts is None:
        return None
    rest, U, weight, W = parts
    there = inverse(rest)
    small = total((product((W, there, U)), weight))
    return total((there, scaled(-1.0, product((there, U, inverse(small), W, there)))))


def low_rank_parts(matrix: Expression) -> tuple[Expression, Expression, Expression, Expression] | None:
    """Z, U, X and W of ``Z + U inv(X) W`` where U and W meet at pick-offs; None where there is no such term.

    Terms that differ in their links and in a number alone, ``B1 B1* + 2 B2 B2*``, are one with all of these links.
    """
    terms = terms_of(matrix) if isinstance(matrix, Sum) else ()
    updates = {term: parts for term in terms if (parts := _parted(term)) is not None}
    if not updates:
        return None
    first, (number, left, right) = next(iter(updates.items()))
    weight = scaled(1.0 / number, Identity(known_shape(right[0]).rows))
    around = _around(left, right)
    alike = [term for term, (_, x, y) in updates.items() if around is not None and _around(x, y) == around]
    if len(alike) > 1:
        pick_offs = {updates[term][1][-1]: updates[term][0] for term in alike}
        links = tuple(link for one in pick_offs for link in cast(Leaf, one).links)
        pick_off = replace(cast(Leaf, left[-1]), links=links)
        left, right = (*left[:-1], pick_off), (transpose(pick_off), *right[1:])
        numbers = [1.0 / x for one, x in pick_offs.items() for _ in range(known_shape(one).columns.size)]
        space = known_shape(pick_off).columns
        weight = scaled(numbers[0], Identity(space)) if len(set(numbers)) == 1 else diagonal(numbers, space)
    rest = total(term for term in terms if term is not first and term not in alike)
    return rest, product(left), weight, product(right)


def _parted(term: Expression) -> tuple[float, tuple[Expression, ...], tuple[Expression, ...]] | None:
    """A number, the factors up to the first pick-off, and those behind it; None where there is none between two."""
    number, inner = coefficient(term)
    factors = factors_of(inner)
    cut = next((k for k, factor in enumerate(factors, 1) if known_shape(factor).columns.name in _FEW), len(factors))
    return (number, factors[:cut], factors[cut:]) if cut < len(factors) else None


def _around(left: tuple[Expression, ...], right: tuple[Expression, ...]) -> tuple[tuple[Expression, ...], ...] | None:
    """What stands around ``B B*`` of some links; None where the parts do not meet so."""
    pick_off = left[-1]
    meets = isinstance(pick_off, Leaf) and pick_off.kind is Kind.B and right[0] == transpose(pick_off)
    return (left[:-1], right[1:]) if meets else None
