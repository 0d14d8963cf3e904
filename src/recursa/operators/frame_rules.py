"""Whether an expression has the same value wherever the link frames sit, and wherever inertias are counted.

A frame moved on its body changes motions and forces at that body each in its own way. An expression in which motions
and forces keep apart, and that takes and gives only what belongs to joints and pick-offs, does not notice. ``H H*``
does: it takes the motion of H* for a force. So does ``H (M + I) H*``, although M alone turns motions into forces: an
identity keeps motions and forces apart only in a sum whose other terms give what they take, as in ``I - G H``.
"""

from __future__ import annotations

from recursa.errors import ShapeError
from recursa.operators.arithmetic import coefficient, transpose
from recursa.operators.expression import (
    Blocks,
    Constant,
    Diagonal,
    Expression,
    Filter,
    Functional,
    Identity,
    Inverse,
    Leaf,
    Product,
    Scaled,
    Sum,
    Transpose,
    Vector,
    Zero,
    known_shape,
)
from recursa.operators.symbols import FORCE_OF_MOTION, Kind, Sides

_DUAL = {"motion": "force", "force": "motion"}


def frame_free(expression: Expression) -> bool:
    """Whether moving link frames leaves its value as it is.

    >>> import recursa as rc
    >>> o = rc.robots.planar(2).operators
    >>> frame_free(o.mass.inverse() @ (o.vector("T") - o.C)), frame_free(o.H @ o.H.T), frame_free(o.phi)
    (True, False, False)
    """
    try:
        gives, takes = _sides(expression)
    except ShapeError:
        return False
    return gives not in _DUAL and takes not in _DUAL


def mass_alone(expression: Expression) -> bool:
    """Whether inertias enter only through the mass matrix and C, so that moving them inward changes nothing.

    >>> import recursa as rc
    >>> o = rc.robots.planar(2).operators
    >>> mass_alone(o.mass.inverse() @ (o.vector("T") - o.C)), mass_alone(o.H @ o.M @ o.H.T)
    (True, False)
    """
    match expression:
        case Leaf(kind=kind, filter=None) | Transpose(of=Leaf(kind=kind, filter=None)):
            return kind.value.mass_alone
        case Leaf(filter=Filter()) | Transpose(of=Leaf(filter=Filter())) | Blocks():
            return False
        case Diagonal(of=inner) | Inverse(of=inner) | Scaled(of=inner) | Functional(of=inner):
            return mass_alone(inner)
        case Sum(terms=terms):
            return all(map(mass_alone, terms))
        case Product(factors=factors):
            return all(map(mass_alone, _without_mass(factors)))
    return True


def _without_mass(factors: tuple[Expression, ...]) -> list[Expression]:
    """The factors that are not part of ``H phi M phi* H*``."""
    kinds = [factor.kind if isinstance(factor, Leaf) else None for factor in factors]
    middles = [
        at for at in range(2, len(factors) - 2)
        if kinds[at - 2 : at + 1] == [Kind.H, Kind.PHI, Kind.M]
        and (transpose(factors[at + 1]), transpose(factors[at + 2])) == (factors[at - 1], factors[at - 2])
    ]  # fmt: skip
    taken = {at + shift for at in middles for shift in range(-2, 3)}
    return [factor for at, factor in enumerate(factors) if at not in taken]


def _sides(expression: Expression) -> Sides:
    match expression:
        case Leaf(kind=kind, filter=filter) if kind.value.sides is not None:
            if filter is not None:
                _require_inertia(filter)
            return kind.value.sides
        case Diagonal(of=inner):
            if _sides(inner)[0] != "joint":
                raise ShapeError(f"{expression} is in axes of its own")
            return "joint", "joint"
        case Blocks(space=space) if space.name == "joint":
            return "joint", "joint"
        case Transpose(of=inner):
            gives, takes = _sides(inner)
            return _dual(takes), _dual(gives)
        case Inverse(of=inner):
            gives, takes = _sides(inner)
            return takes, gives
        case Scaled(of=inner):
            return _sides(inner)
        case Product(factors=factors):
            total = _sides(factors[0])
            for factor in factors[1:]:
                total = _chained(total, _sides(factor))
            return total
        case Sum(terms=terms):
            gives, takes = None, None
            for term in terms:
                sides = _sides(term)
                gives, takes = _same(gives, sides[0]), _same(takes, sides[1])
            if gives != takes and any(isinstance(coefficient(term)[1], Identity) for term in terms):
                raise ShapeError(f"the identity in {expression} takes {takes} for {gives}")
            return gives, takes
        case Functional(name=functional, of=inner):  # a determinant does not notice moved frames, whose own is 1
            gives, takes = _sides(inner)
            if functional == "trace" and gives != takes:
                raise ShapeError(f"the trace in {expression} takes {takes} for {gives}")
            return None, None
        case Identity():
            return None, None
        case Vector() | Constant():
            name = known_shape(expression).rows.name
            if name in ("joint", "tip", "constraint"):
                return name, None
    raise ShapeError(f"{expression} is in link axes")


def _require_inertia(filter: Filter) -> None:
    if not isinstance(filter.rotors, Zero):
        _same(_sides(filter.rotors)[0], "joint")
    if _sides(filter.inertia) != FORCE_OF_MOTION:
        raise ShapeError(f"{filter.inertia} takes motions for forces")


def _dual(side: str | None) -> str | None:
    return None if side is None else _DUAL.get(side, side)


def _chained(left: Sides, right: Sides) -> Sides:
    if left == (None, None) or right == (None, None):  # an identity
        return right if left == (None, None) else left
    _same(left[1], right[0])
    return left[0], right[1]


def _same(one: str | None, other: str | None) -> str | None:
    if None not in (one, other) and one != other:
        raise ShapeError(f"{one} meets {other}")
    return other if one is None else one
