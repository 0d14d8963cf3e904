"""What is known of an expression without its numbers: block diagonal, triangular, symmetric, positive."""

from __future__ import annotations

from functools import reduce

import numpy as np

from recursa.operators.arithmetic import transpose
from recursa.operators.expression import (
    Blocks,
    Constant,
    Diagonal,
    Expression,
    Filter,
    Identity,
    Inverse,
    Leaf,
    Product,
    Scaled,
    Sum,
    Transpose,
    Zero,
)
from recursa.operators.leaves import Operators
from recursa.operators.symbols import Kind, Structure

_S = Structure
_TRIANGLES = _S.GATHERING | _S.SPREADING
_POSITIVE = _S.SEMIDEFINITE | _S.DEFINITE
_DIAGONAL = _S.BLOCK_DIAGONAL | _S.SYMMETRIC | _S.DIAGONAL
_ROUNDING = 1e-12  # relative, of an eigenvalue that counts as positive
_IDENTITY = _DIAGONAL | _S.UNIT | _POSITIVE


def structure(expression: Expression) -> Structure:
    """The structure that follows from the leaves'.

    >>> import recursa as rc
    >>> o = rc.robots.planar(3).operators
    >>> Structure.SYMMETRIC in structure(o.mass), Structure.SEMIDEFINITE in structure(o.mass)
    (True, True)
    >>> structure(o.I - o.E_phi)
    <Structure.GATHERING|UNIT: 18>
    """
    match expression:
        case Leaf(kind=kind, filter=None):
            return kind.value.structure
        case Leaf(kind=kind, filter=Filter(inertia=inertia, rotors=rotors)):
            both = structure(inertia) & structure(rotors)
            return kind.value.structure if _S.SEMIDEFINITE in both else kind.value.structure & ~_POSITIVE
        case Diagonal(of=Constant(values=values)):
            return _DIAGONAL | (_S.SEMIDEFINITE if min(values) >= 0.0 else _S.GENERAL)
        case Diagonal():
            return _DIAGONAL
        case Blocks(blocks=blocks):
            return _of_blocks(blocks)
        case Identity():
            return _IDENTITY
        case Zero():
            return _DIAGONAL | _S.STRICT | _S.SEMIDEFINITE
        case Transpose(of=inner):
            return _turned(structure(inner))
        case Scaled(factor=factor, of=inner):
            lost = _S.UNIT if factor > 0.0 else _S.UNIT | _POSITIVE
            return structure(inner) & ~lost
        case Inverse(of=inner):
            return _of_inverse(structure(inner))
        case Product(factors=factors):
            return _of_product(factors)
        case Sum(terms=terms):
            return _of_sum(terms)
    return _S.GENERAL


def is_diagonal(expression: Expression, o: Operators) -> bool:
    """Whether a joint-space matrix is diagonal: as such, or as blocks of joints that have one freedom each."""
    known = structure(expression)
    if Structure.DIAGONAL in known:
        return True
    return Structure.BLOCK_DIAGONAL in known and all(joint.kind.nv == 1 for joint in o.model.joints)


def _turned(known: Structure) -> Structure:
    turned = known & ~_TRIANGLES
    if _S.GATHERING in known:
        turned |= _S.SPREADING
    if _S.SPREADING in known:
        turned |= _S.GATHERING
    return turned


def _of_inverse(known: Structure) -> Structure:
    kept = known & (_S.BLOCK_DIAGONAL | _S.DIAGONAL | _TRIANGLES | _S.UNIT | _S.SYMMETRIC)
    return kept | (_POSITIVE if _S.SEMIDEFINITE in known else _S.GENERAL)  # what has an inverse is not singular


def _of_product(factors: tuple[Expression, ...]) -> Structure:
    parts = [structure(factor) for factor in factors]
    known = _placement(parts)
    if _at_links_apart(factors, parts):
        known |= _S.BLOCK_DIAGONAL
    if known & (_S.BLOCK_DIAGONAL | _TRIANGLES):
        if any(_S.STRICT in part for part in parts):
            known |= _S.STRICT
        if all(_S.UNIT in part for part in parts):
            known |= _S.UNIT
    if all(left == transpose(right) for left, right in zip(factors, reversed(factors), strict=True)):
        known |= _S.SYMMETRIC
        middle = parts[len(parts) // 2] if len(parts) % 2 else _S.SEMIDEFINITE  # X X* needs no middle
        known |= middle & _S.SEMIDEFINITE
    return known


def _at_links_apart(factors: tuple[Expression, ...], parts: list[Structure]) -> bool:
    """Whether a product is ``B X B*`` that couples no two links: more inertia of the bodies that these are on."""
    pick_off, between = factors[0], parts[1:-1]
    if not isinstance(pick_off, Leaf) or pick_off.kind is not Kind.B or factors[-1] != transpose(pick_off):
        return False
    return len(pick_off.links) == 1 or all(_S.DIAGONAL in part for part in between)


def _of_blocks(blocks: tuple[tuple[tuple[float, ...], ...], ...]) -> Structure:
    known, matrices = _S.BLOCK_DIAGONAL, [np.array(block) for block in blocks]
    if all((x == x.T).all() for x in matrices):
        known |= _S.SYMMETRIC
        lowest = [np.linalg.eigvalsh(x).min() / max(np.abs(x).max(), 1e-300) for x in matrices if x.size]
        known |= _S.SEMIDEFINITE if min(lowest, default=1.0) > -_ROUNDING else _S.GENERAL
        known |= _S.DEFINITE if min(lowest, default=1.0) > _ROUNDING else _S.GENERAL
    if all(not (x - np.diag(np.diag(x))).any() for x in matrices):
        known |= _S.DIAGONAL
    return known


def _placement(parts: list[Structure]) -> Structure:
    """Diagonal, block diagonal or triangular, if all parts are so in the same sense."""
    if all(_S.DIAGONAL in part for part in parts):
        return _DIAGONAL
    if all(_S.BLOCK_DIAGONAL in part for part in parts):
        return _S.BLOCK_DIAGONAL
    for triangle in (_S.GATHERING, _S.SPREADING):
        if all(part & (_S.BLOCK_DIAGONAL | triangle) for part in parts):
            return triangle
    return _S.GENERAL


def _of_sum(terms: tuple[Expression, ...]) -> Structure:
    parts = [structure(term) for term in terms]
    known = _placement(parts)
    if known:
        diagonal = [part for part in parts if _S.STRICT not in part]
        if not diagonal:
            known |= _S.STRICT
        elif len(diagonal) == 1:
            known |= diagonal[0] & _S.UNIT
    if set(terms) == {transpose(term) for term in terms}:
        known |= _S.SYMMETRIC
    if all(_S.SEMIDEFINITE in part for part in parts):
        known |= _S.SEMIDEFINITE | (reduce(lambda x, y: x | y, parts) & _S.DEFINITE)
    return known
