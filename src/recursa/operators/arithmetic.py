"""Arithmetic of operator expressions: sums, products, multiples, transposes and inverses in one normal form.

- transposes are pushed down to the leaves; symmetric leaves have none, nor have diagonals, and skew ones have a minus
  sign instead;
- a product has at least two factors, none a product, a scalar multiple, an identity or zero;
  a sum among them has its common number taken out;
- a sum has at least two terms that are not multiples of each other, in any order: ``x + y == y + x``;
- a scalar multiple is of neither a sum nor another multiple.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from recursa.errors import ShapeError, StateError
from recursa.model.model import Model
from recursa.operators.expression import (
    NUMBERS,
    Blocks,
    Constant,
    Diagonal,
    Expression,
    Functional,
    FunctionName,
    Identity,
    Inverse,
    Leaf,
    Product,
    Scaled,
    Sum,
    Transpose,
    Vector,
    Zero,
    common_model,
    known_shape,
)
from recursa.operators.shapes import FREE, ONE, Shape, Space
from recursa.operators.symbols import Structure


def as_expression(value: Any) -> Expression | None:
    """Expressions as they are, arrays of one or two axes as constants; None for anything else."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, np.ndarray | list | tuple):
        array = np.asarray(value)
        if array.ndim in (1, 2) and array.dtype.kind in "biuf":
            return Constant(tuple(float(x) for x in array.ravel()), array.shape)
        raise ShapeError(
            f"an array of shape {array.shape} and type {array.dtype} cannot be part of an expression: "
            "a vector or a matrix of real numbers can"
        )
    return None


def as_term(value: Any) -> Expression | None:
    """As :func:`as_expression`; a number is that multiple of the identity, as the papers write ``1 - H psi K``."""
    return scaled(float(value), Identity()) if isinstance(value, NUMBERS) else as_expression(value)


def scaled(factor: float, expression: Expression) -> Expression:
    """A number times an expression."""
    if not np.isfinite(factor):
        raise StateError(f"{expression} cannot be multiplied by {factor}: the factor must be finite")
    if factor == 0.0 or isinstance(expression, Zero):
        return Zero(expression.shape)
    if isinstance(expression, Sum):
        return Sum(tuple(scaled(factor, term) for term in expression.terms))
    number, inner = coefficient(expression)
    return inner if number * factor == 1.0 else Scaled(number * factor, inner)


def coefficient(expression: Expression) -> tuple[float, Expression]:
    """An expression as a number times another."""
    return (expression.factor, expression.of) if isinstance(expression, Scaled) else (1.0, expression)


def terms_of(expression: Expression) -> tuple[Expression, ...]:
    """The terms of a sum; anything else is a single one."""
    return expression.terms if isinstance(expression, Sum) else (expression,)


def factors_of(expression: Expression) -> tuple[Expression, ...]:
    """The factors of a product; anything else is a single one."""
    return expression.factors if isinstance(expression, Product) else (expression,)


def transpose(expression: Expression) -> Expression:
    """The transpose, pushed down to the leaves."""
    match expression:
        case Leaf(kind=kind) if Structure.SYMMETRIC in kind.value.structure:
            return expression
        case Leaf(kind=kind) if Structure.SKEW in kind.value.structure:
            return Scaled(-1.0, expression)
        case Leaf() | Vector() | Constant():
            return Transpose(expression)
        case Blocks(blocks=blocks, space=space):
            return Blocks(tuple(tuple(zip(*block, strict=True)) for block in blocks), space)
        case Transpose(of=inner):
            return inner
        case Inverse(of=inner):
            return inverse(transpose(inner))
        case Scaled(factor=factor, of=inner):
            return scaled(factor, transpose(inner))
        case Product(factors=factors):
            turned = tuple(transpose(factor) for factor in reversed(factors))
            skew = any(isinstance(factor, Scaled) for factor in turned)
            return product(turned) if skew else Product(turned)
        case Sum(terms=terms):
            return Sum(tuple(transpose(term) for term in terms))
        case Zero(size=size) if size is not None:
            return Zero(Shape(size.columns, size.rows))
    return expression


def inverse(expression: Expression) -> Expression:
    """The inverse; that of a product of square parts is the product of their inverses.

    >>> import recursa as rc
    >>> o = rc.robots.planar(3).operators
    >>> print(inverse(o.mass @ o.D))
    D⁻¹ (H φ M φ* H*)⁻¹
    """
    shape = expression.shape
    if shape is not None and not shape.rows.as_large_as(shape.columns):
        raise ShapeError(f"{expression} is {shape}: only something square has an inverse")
    match expression:
        case Identity():
            return expression
        case Inverse(of=inner):
            return inner
        case Scaled(factor=factor, of=inner):
            return scaled(1.0 / factor, inverse(inner))
        case Product(factors=factors) if len(parts := square_parts(factors)) > 1:
            return product(inverse(part) for part in reversed(parts))
        case Sum():
            number, inner = _scale_of(expression)
            return scaled(1.0 / number, Inverse(inner))
    return Inverse(expression)


def square_parts(factors: tuple[Expression, ...]) -> list[Expression]:
    """A square product cut wherever it comes back to the space it started from: if it has an inverse, so have they."""
    parts: list[Expression] = []
    start, space = 0, known_shape(factors[0]).rows
    for end, factor in enumerate(factors, 1):
        if known_shape(factor).columns.fits(space):
            parts.append(product(factors[start:end]))
            start = end
    return parts


def diagonal(vector: Any, space: Space | None = None) -> Expression:
    """The diagonal matrix of a vector; numbers are in the ``space`` given."""
    of = as_expression(vector)
    if of is None:
        raise ShapeError(f"diag takes a vector, not {vector!r}")
    if isinstance(of, Constant) and space is not None:
        of = replace(of, space=space.name)
    shape = known_shape(of)
    if shape.columns != ONE or shape.rows.name not in FREE:
        raise ShapeError(f"diag takes a vector of joints, links, a pick-off or constraints, and {of} is {shape}")
    number, inner = coefficient(of)
    match inner:
        case Zero():
            return Zero(Shape(shape.rows, shape.rows))
        case Sum(terms=terms):
            return total(diagonal(term) for term in terms)
    return scaled(number, Diagonal(inner))


def functional(name: FunctionName, of: Expression) -> Expression:
    """The trace, or the logarithm of the determinant, of a square matrix; traces are linear.

    >>> import recursa as rc
    >>> o = rc.robots.planar(3).operators
    >>> print(functional("trace", 2 * o.M - o.P))
    2 trace(M) - trace(P)
    """
    shape = known_shape(of)
    if not shape.rows.fits(shape.columns):
        raise ShapeError(f"{of} is {shape}: only something square has a {name}")
    if name == "trace":
        match of:
            case Zero():
                return Zero(Shape(ONE, ONE))
            case Identity():
                return scaled(float(shape.rows.size), Identity(ONE))
            case Scaled(factor=factor, of=inner):
                return scaled(factor, functional(name, inner))
            case Sum(terms=terms):
                return total(functional(name, term) for term in terms)
    return of if name == "trace" and shape == Shape(ONE, ONE) else Functional(name, of)


def product(factors: Iterable[Expression]) -> Expression:
    """The product of some factors, flat; ill-shaped neighbours are an error that shows both."""
    number = 1.0
    flat: list[Expression] = []
    for factor in factors:
        own, inner = _scale_of(factor) if isinstance(factor, Sum) else coefficient(factor)
        number *= own
        flat.extend(factors_of(inner))
    shaped = [factor for factor in flat if factor.shape is not None]
    for left, right in itertools.pairwise(shaped):
        _check_neighbours(left, right)
    if any(isinstance(factor, Zero) for factor in flat):
        return Zero(Shape(known_shape(shaped[0]).rows, known_shape(shaped[-1]).columns) if shaped else None)
    rest = [factor for factor in _in_their_spaces(flat) if not isinstance(factor, Identity)]
    if not rest:
        return scaled(number, shaped[0] if shaped else Identity())
    common_model(rest)
    return scaled(number, rest[0] if len(rest) == 1 else Product(tuple(rest)))


def _as_blocks(matrix: Constant, space: Space, model: Model | None) -> Expression:
    """A full matrix of numbers, or what it is if it is diagonal or has numbers in blocks of joints or bodies only."""
    if model is None or matrix.size != (space.size, space.size) or space.name not in ("joint", "link", "tip"):
        return matrix
    array = matrix.array
    if np.count_nonzero(np.diag(array)) == np.count_nonzero(array):
        return Diagonal(Constant(tuple(map(float, np.diag(array))), (space.size,), space.name))
    if space.name == "tip":
        return matrix
    sizes = [joint.kind.nv if space.name == "joint" else 6 for joint in model.joints]
    starts = np.cumsum([0, *sizes])
    blocks = [array[start : start + size, start : start + size] for start, size in zip(starts, sizes, strict=False)]
    if sum(map(np.count_nonzero, blocks)) < np.count_nonzero(array):
        return matrix
    return Blocks(tuple(tuple(tuple(map(float, row)) for row in block) for block in blocks), space)


def _in_their_spaces(factors: Sequence[Expression]) -> Iterator[Expression]:
    """Vectors of numbers in the space that the factor beside them says; matrices too, if they are block diagonal."""
    for at, factor in enumerate(factors):
        match factor:
            case Constant(size=(_,), space="") if at > 0 and (before := factors[at - 1].shape) is not None:
                yield replace(factor, space=before.columns.name)
            case Constant(size=(_, _)):
                beside = (_columns(factors, at - 1), _rows(factors, at + 1))
                space = next((x for x in beside if x is not None and x.name), Space("", 0))
                model = common_model(factors)
                either = model is not None and model.nv == 6 * model.nbodies  # numbers fit joints and links then
                yield factor if either else _as_blocks(factor, space, model)
            case Transpose(of=Constant(size=(_,), space="") as row) if at + 1 < len(factors):
                after = factors[at + 1].shape
                yield factor if after is None else Transpose(replace(row, space=after.rows.name))
            case _:
                yield factor


def _columns(factors: Sequence[Expression], at: int) -> Space | None:
    shape = factors[at].shape if at >= 0 else None
    return None if shape is None else shape.columns


def _rows(factors: Sequence[Expression], at: int) -> Space | None:
    shape = factors[at].shape if at < len(factors) else None
    return None if shape is None else shape.rows


def _scale_of(factor: Sum) -> tuple[float, Expression]:
    """A sum as a number times another, so that ``-(x - y)`` and ``(y - x)`` become the same factor of a product."""
    numbers = {inner: number for number, inner in map(coefficient, factor.terms)}
    sizes = {abs(number) for number in numbers.values()}
    scale = sizes.pop() if len(sizes) == 1 else 1.0
    excess = sum(1 if number > 0.0 else -1 for number in numbers.values())
    sign_of_one = next((number for inner, number in numbers.items() if isinstance(inner, Identity)), 1.0)
    if excess < 0 or (excess == 0 and sign_of_one < 0.0):
        scale = -scale
    return scale, scaled(1.0 / scale, factor)


def _check_neighbours(left: Expression, right: Expression) -> None:
    a, b = known_shape(left), known_shape(right)
    if a.columns.fits(b.rows):
        return
    if a.columns.as_large_as(b.rows):
        raise ShapeError(f"cannot multiply {left} by {right}: {_other_axes(a.columns, b.rows)}")
    turned = [transpose(x) for x, fits in ((left, a.rows.fits(b.rows)), (right, a.columns.fits(b.columns))) if fits]
    hint = f" With {' or '.join(map(str, turned))} they would fit." if turned else ""
    raise ShapeError(
        f"cannot multiply {left} by {right}: {left} is {a} and {right} is {b}, but {a.columns} is not {b.rows}.{hint}"
    )


def _other_axes(one: Space, other: Space) -> str:
    return (
        f"one has its numbers in {one.axes()}, the other in {other.axes()}, each about its own origin. Formulas do not "
        'turn one into the other; robot.jacobian(q, link, frame="mixed") has the Jacobians of all links in world axes'
    )


def total(terms: Iterable[Expression]) -> Expression:
    """The sum of some terms, flat, like terms added up; different shapes are an error that shows both."""
    flat = [part for term in terms for part in terms_of(term)]
    shaped = [term for term in flat if term.shape is not None]
    leader = next((term for term in shaped if known_shape(term).rows.name), shaped[0] if shaped else None)
    weights: dict[Expression, float] = {}
    for term in flat:
        number, inner = coefficient(term if leader is None else _fitted(term, leader))
        if not isinstance(inner, Zero):
            weights[inner] = weights.get(inner, 0.0) + number
    rest = [scaled(number, inner) for inner, number in weights.items() if number != 0.0]
    if not rest:
        return Zero(None if leader is None else leader.shape)
    common_model(rest)
    return rest[0] if len(rest) == 1 else Sum(tuple(rest))


def _fitted(term: Expression, leader: Expression) -> Expression:
    """The term in the shape of another: an identity takes its size, anything else must have it."""
    shape = known_shape(leader)
    number, inner = coefficient(term)
    if isinstance(inner, Zero) and inner.shape is None:
        return Zero(shape)
    if inner.shape is None and shape.rows.fits(shape.columns):
        return scaled(number, Identity(shape.rows))
    if inner.shape is not None and inner.shape.rows.fits(shape.rows) and inner.shape.columns.fits(shape.columns):
        if isinstance(inner, Constant) and inner.size == (shape.rows.size,) and not inner.space:
            return scaled(number, replace(inner, space=shape.rows.name))
        if isinstance(inner, Constant):
            return scaled(number, _as_blocks(inner, shape.rows, leader.model))
        return term
    own = inner.shape or Shape(shape.columns, shape.columns)  # an identity keeps the axes of its columns
    for one, other in ((shape.rows, own.rows), (shape.columns, own.columns)):
        if one.as_large_as(other) and not one.fits(other):
            raise ShapeError(f"cannot add {leader} and {term}: {_other_axes(one, other)}")
    raise ShapeError(f"cannot add {leader} and {term}: {leader} is {shape}, {term} is {term.shape or 'square'}")
