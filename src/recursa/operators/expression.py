"""Operator expressions: frozen trees that compare by structure and know their shapes.

Seven kinds of node: :class:`Leaf` (an operator or vector of a robot), :class:`Vector` (a free one), :class:`Constant`
(numbers), :class:`Identity`, :class:`Zero`; :class:`Transpose` (of such a leaf only), :class:`Inverse`,
:class:`Product` (flat), :class:`Sum` (flat) and :class:`Scaled`. The functions :func:`product`, :func:`total`,
:func:`scaled`, :func:`transpose` and :func:`inverse` make them, and keep one normal form:

- transposes are pushed down to the leaves, and symmetric leaves have none;
- a product has at least two factors, none a product, a scalar multiple, an identity or zero;
  a sum among them has its common number taken out;
- a sum has at least two terms that are not multiples of each other, in any order: ``x + y == y + x``;
- a scalar multiple is of neither a sum nor another multiple.

>>> import recursa as rc
>>> o = rc.robots.planar(3).operators
>>> mass = o.H @ o.phi @ o.M @ o.phi.T @ o.H.T
>>> mass.factors[1] == o.phi, mass.T == mass, mass.shape
(True, True, Shape(rows=joint 3, columns=joint 3))
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from recursa.errors import ShapeError, StateError
from recursa.model.model import Model
from recursa.operators.shapes import ONE, Shape, Space, space_of
from recursa.operators.symbols import Kind, Structure

NUMBERS = (int, float, np.integer, np.floating)


class Expression:
    """What all nodes share: arithmetic, comparison by structure, printing."""

    __array_ufunc__ = None  # so that ndarray @ expression comes here

    @property
    def shape(self) -> Shape | None:
        """Rows and columns; None for an identity that has no neighbour yet."""
        raise NotImplementedError

    @property
    def model(self) -> Model | None:
        """The robot it belongs to; None for constants."""
        return None

    def _key(self) -> Hashable:
        """What two equal nodes have in common."""
        return tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    @cached_property
    def _hash(self) -> int:
        return hash((type(self).__name__, self._key()))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(self) is type(other) and hash(self) == hash(other) and self._key() == other._key()  # type: ignore[attr-defined]

    def __getstate__(self) -> dict[str, object]:
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        return {name: self.__dict__[name] for name in names}  # without cached values: hashes differ between processes

    @property
    def T(self) -> Expression:
        """The transpose, which the papers write ``*``."""
        return transpose(self)

    def inverse(self) -> Expression:
        """The inverse, as it stands: :func:`recursa.operators.simplify` finds its factors."""
        return inverse(self)

    def __matmul__(self, other: Any) -> Expression:
        right = as_expression(other)
        return NotImplemented if right is None else product((self, right))

    def __rmatmul__(self, other: Any) -> Expression:
        left = as_expression(other)
        if left is None:
            return NotImplemented
        is_row = np.ndim(other) == 1  # as in NumPy: a vector on the left is a row
        return product((transpose(left) if is_row else left, self))

    def __add__(self, other: Any) -> Expression:
        right = _as_term(other)
        return NotImplemented if right is None else total((self, right))

    def __radd__(self, other: Any) -> Expression:
        left = _as_term(other)
        return NotImplemented if left is None else total((left, self))

    def __sub__(self, other: Any) -> Expression:
        right = _as_term(other)
        return NotImplemented if right is None else total((self, scaled(-1.0, right)))

    def __rsub__(self, other: Any) -> Expression:
        left = _as_term(other)
        return NotImplemented if left is None else total((left, scaled(-1.0, self)))

    def __neg__(self) -> Expression:
        return scaled(-1.0, self)

    def __mul__(self, factor: Any) -> Expression:
        if isinstance(factor, Expression):
            raise TypeError(f"{self} * {factor}: operators are multiplied with @; * is for numbers")
        return scaled(float(factor), self) if isinstance(factor, NUMBERS) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Expression:
        return scaled(1.0 / float(divisor), self) if isinstance(divisor, NUMBERS) else NotImplemented

    def text(self, *, ascii: bool = False) -> str:
        """As the papers print it; with ``ascii`` as it is typed, which :func:`recursa.parse` reads back."""
        from recursa.operators.printing import to_text  # printing stands on the nodes

        return to_text(self, ascii=ascii)

    def latex(self) -> str:
        """As LaTeX."""
        from recursa.operators.printing import to_latex

        return to_latex(self)

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    def __str__(self) -> str:
        from recursa.operators.printing import printable

        return printable(self)

    def __repr__(self) -> str:
        return f"<{self.shape or 'fits its neighbour'}: {self}>"


# ---- leaves --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Leaf(Expression):
    """An operator or vector of a robot; ``link`` is the link of a pick-off B."""

    kind: Kind
    robot: Model
    link: str | None = None

    def _key(self) -> Hashable:
        return self.kind, self.robot.digest, self.link

    @cached_property
    def shape(self) -> Shape:
        """By the table of symbols."""
        symbol = self.kind.value
        return Shape(space_of(self.robot, symbol.rows), space_of(self.robot, symbol.columns))

    @property
    def model(self) -> Model:
        """The robot."""
        return self.robot


@dataclass(frozen=True, eq=False, repr=False)
class Vector(Expression):
    """A free vector: a name for numbers that come later."""

    name: str
    space: Space

    @property
    def shape(self) -> Shape:
        """A column."""
        return Shape(self.space, ONE)


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Expression):
    """Numbers: a vector, or a full matrix (which no sweep can apply). A vector's neighbour says in which ``space``."""

    values: tuple[float, ...]
    size: tuple[int, ...]
    space: str = ""

    @property
    def array(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The numbers as an array of one or two axes."""
        return np.array(self.values).reshape(self.size)

    @property
    def shape(self) -> Shape:
        """In its space; without one, in any of the right size."""
        return Shape(Space(self.space, self.size[0]), Space("", self.size[1]) if len(self.size) == 2 else ONE)


@dataclass(frozen=True, eq=False, repr=False)
class Identity(Expression):
    """The identity of a space, or one that fits its neighbour."""

    space: Space | None = None

    @property
    def shape(self) -> Shape | None:
        """Square, as soon as there is a space."""
        return None if self.space is None else Shape(self.space, self.space)


@dataclass(frozen=True, eq=False, repr=False)
class Zero(Expression):
    """Nothing, of some shape (None where no neighbour said which)."""

    size: Shape | None

    @property
    def shape(self) -> Shape | None:
        """As it was made."""
        return self.size


# ---- nodes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Transpose(Expression):
    """The transpose of a leaf that is not symmetric."""

    of: Expression

    @cached_property
    def shape(self) -> Shape:
        """Rows and columns changed over."""
        rows, columns = known_shape(self.of)
        return Shape(columns, rows)

    @property
    def model(self) -> Model | None:
        """Its leaf's."""
        return self.of.model


@dataclass(frozen=True, eq=False, repr=False)
class Inverse(Expression):
    """The inverse of something square."""

    of: Expression

    @property
    def shape(self) -> Shape | None:
        """That of what is inverted, changed over."""
        shape = self.of.shape
        return None if shape is None else Shape(shape.columns, shape.rows)

    @property
    def model(self) -> Model | None:
        """Its operand's."""
        return self.of.model


@dataclass(frozen=True, eq=False, repr=False)
class Scaled(Expression):
    """A number times something."""

    factor: float
    of: Expression

    @property
    def shape(self) -> Shape | None:
        """That of what is multiplied."""
        return self.of.shape

    @property
    def model(self) -> Model | None:
        """Its operand's."""
        return self.of.model


@dataclass(frozen=True, eq=False, repr=False)
class Product(Expression):
    """Factors, applied from the right."""

    factors: tuple[Expression, ...]

    @cached_property
    def shape(self) -> Shape:
        """Rows of the first, columns of the last."""
        return Shape(known_shape(self.factors[0]).rows, known_shape(self.factors[-1]).columns)

    @cached_property
    def model(self) -> Model | None:
        """The first factor's that has one."""
        return _common_model(self.factors)


@dataclass(frozen=True, eq=False, repr=False)
class Sum(Expression):
    """Terms; their order is kept for printing and does not count."""

    terms: tuple[Expression, ...]

    def _key(self) -> Hashable:
        return frozenset(self.terms)  # no two terms are equal: they would have been added up

    @cached_property
    def shape(self) -> Shape | None:
        """That of every term."""
        return self.terms[0].shape

    @cached_property
    def model(self) -> Model | None:
        """The first term's that has one."""
        return _common_model(self.terms)


def known_shape(expression: Expression) -> Shape:
    """The shape of something that cannot be without one."""
    shape = expression.shape
    if shape is None:
        raise ShapeError(f"{expression} alone has no size: it needs a neighbour that has one")
    return shape


def parts_of(expression: Expression) -> tuple[Expression, ...]:
    """The parts of a node, as they are written; none for a leaf."""
    match expression:
        case Product(factors=parts) | Sum(terms=parts):
            return parts
        case Scaled(of=inner) | Inverse(of=inner) | Transpose(of=inner):
            return (inner,)
    return ()


def free_vectors(expression: Expression) -> tuple[Vector, ...]:
    """The free vectors in an expression, in order of first appearance.

    >>> import recursa as rc
    >>> o = rc.robots.planar(2).operators
    >>> [x.name for x in free_vectors(o.vector("T") - o.H @ o.vector("f", "link") - 2 * o.vector("T"))]
    ['T', 'f']
    """
    if isinstance(expression, Vector):
        return (expression,)
    return tuple(dict.fromkeys(vector for part in parts_of(expression) for vector in free_vectors(part)))


def _common_model(parts: Iterable[Expression]) -> Model | None:
    """The robot of several parts; two different ones are an error."""
    found: tuple[Expression, Model] | None = None
    for part in parts:
        model = part.model
        if model is None:
            continue
        if found is None:
            found = part, model
        elif model is not found[1] and model.digest != found[1].digest:
            raise ShapeError(
                f"{found[0]} is of robot '{found[1].name}' and {part} of robot '{model.name}': "
                "an expression is about one robot"
            )
    return None if found is None else found[1]


# ---- making them ---------------------------------------------------------------------------------------------------


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


def _as_term(value: Any) -> Expression | None:
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


def transpose(expression: Expression) -> Expression:
    """The transpose, pushed down to the leaves."""
    match expression:
        case Leaf(kind=kind):
            return expression if Structure.SYMMETRIC in kind.value.structure else Transpose(expression)
        case Vector() | Constant():
            return Transpose(expression)
        case Transpose(of=inner):
            return inner
        case Inverse(of=inner):
            return Inverse(transpose(inner))
        case Scaled(factor=factor, of=inner):
            return scaled(factor, transpose(inner))
        case Product(factors=factors):
            return Product(tuple(transpose(factor) for factor in reversed(factors)))
        case Sum(terms=terms):
            return Sum(tuple(transpose(term) for term in terms))
        case Zero(size=size) if size is not None:
            return Zero(Shape(size.columns, size.rows))
    return expression


def inverse(expression: Expression) -> Expression:
    """The inverse; that of a product of square factors is the product of their inverses."""
    shape = expression.shape
    if shape is not None and not shape.rows.fits(shape.columns):
        raise ShapeError(f"{expression} is {shape}: only something square has an inverse")
    match expression:
        case Identity():
            return expression
        case Inverse(of=inner):
            return inner
        case Scaled(factor=factor, of=inner):
            return scaled(1.0 / factor, inverse(inner))
        case Product(factors=factors) if all(f.rows.fits(f.columns) for f in map(known_shape, factors)):
            return product(inverse(factor) for factor in reversed(factors))
        case Sum():
            number, inner = _scale_of(expression)
            return scaled(1.0 / number, Inverse(inner))
    return Inverse(expression)


def product(factors: Iterable[Expression]) -> Expression:
    """The product of some factors, flat; ill-shaped neighbours are an error that shows both."""
    number = 1.0
    flat: list[Expression] = []
    for factor in factors:
        own, inner = _scale_of(factor) if isinstance(factor, Sum) else coefficient(factor)
        number *= own
        flat.extend(inner.factors if isinstance(inner, Product) else (inner,))
    shaped = [factor for factor in flat if factor.shape is not None]
    for left, right in itertools.pairwise(shaped):
        _check_neighbours(left, right)
    if any(isinstance(factor, Zero) for factor in flat):
        return Zero(Shape(known_shape(shaped[0]).rows, known_shape(shaped[-1]).columns) if shaped else None)
    rest = [factor for factor in _in_their_spaces(flat) if not isinstance(factor, Identity)]
    if not rest:
        return scaled(number, shaped[0] if shaped else Identity())
    _common_model(rest)
    return scaled(number, rest[0] if len(rest) == 1 else Product(tuple(rest)))


def _in_their_spaces(factors: Sequence[Expression]) -> Iterator[Expression]:
    """Vectors of numbers in the space that the factor beside them says."""
    for at, factor in enumerate(factors):
        match factor:
            case Constant(size=(_,), space="") if at > 0 and (before := factors[at - 1].shape) is not None:
                yield replace(factor, space=before.columns.name)
            case Transpose(of=Constant(size=(_,), space="") as row) if at + 1 < len(factors):
                after = factors[at + 1].shape
                yield factor if after is None else Transpose(replace(row, space=after.rows.name))
            case _:
                yield factor


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
    turned = [transpose(x) for x, fits in ((left, a.rows.fits(b.rows)), (right, a.columns.fits(b.columns))) if fits]
    hint = f" With {' or '.join(map(str, turned))} they would fit." if turned else ""
    raise ShapeError(
        f"cannot multiply {left} by {right}: {left} is {a} and {right} is {b}, but {a.columns} is not {b.rows}.{hint}"
    )


def total(terms: Iterable[Expression]) -> Expression:
    """The sum of some terms, flat, like terms added up; different shapes are an error that shows both."""
    flat = [part for term in terms for part in (term.terms if isinstance(term, Sum) else (term,))]
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
    _common_model(rest)
    return rest[0] if len(rest) == 1 else Sum(tuple(rest))


def _fitted(term: Expression, leader: Expression) -> Expression:
    """The term in the shape of another: an identity takes its size, anything else must have it."""
    shape = known_shape(leader)
    number, inner = coefficient(term)
    if inner.shape is None and shape.rows.fits(shape.columns):
        return scaled(number, Identity(shape.rows))
    if inner.shape is not None and inner.shape.rows.fits(shape.rows) and inner.shape.columns.fits(shape.columns):
        if isinstance(inner, Constant) and inner.size == (shape.rows.size,) and not inner.space:
            return scaled(number, replace(inner, space=shape.rows.name))
        return term
    raise ShapeError(f"cannot add {leader} and {term}: {leader} is {shape}, {term} is {term.shape or 'square'}")
