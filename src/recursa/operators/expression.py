"""Operator expressions: frozen trees that compare by structure and know their shapes.

Leaves: :class:`Leaf` (an operator or vector of a robot), :class:`Vector` (a free one), :class:`Constant` (numbers),
:class:`Blocks` (numbers on the diagonal), :class:`Identity`, :class:`Zero`. Nodes: :class:`Transpose` (of such a leaf
only), :class:`Diagonal` (of a vector), :class:`Inverse`, :class:`Product` (flat), :class:`Sum` (flat),
:class:`Scaled` and :class:`Functional` (trace, logdet). The functions of ``arithmetic.py`` make them, in one normal
form.

>>> import recursa as rc
>>> o = rc.robots.planar(3).operators
>>> mass = o.H @ o.phi @ o.M @ o.phi.T @ o.H.T
>>> mass.factors[1] == o.phi, mass.T == mass, mass.shape
(True, True, Shape(rows=joint 3, columns=joint 3))
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np

from recursa.errors import ShapeError
from recursa.model.model import Model
from recursa.operators.shapes import ONE, Shape, Space, space_of
from recursa.operators.symbols import Kind

NUMBERS = (int, float, np.integer, np.floating)

DerivativeKind = Literal["local", "inertial"]
"""The observer of a time derivative: one that moves with the bodies, or one at rest."""

FunctionName = Literal["trace", "logdet"]
"""Functions of a matrix whose value is a number."""

Freedom = tuple[str, int]
"""A joint by name and one of its freedoms: the direction of a derivative, if it is not the motion itself."""

ANY = -1
"""In the place of a freedom's number: all joints move, as the free vector of that name says."""


def _arithmetic() -> Any:
    """The functions that make nodes; they stand on the nodes."""
    from recursa.operators import arithmetic

    return arithmetic


class Expression:
    """What all nodes share: arithmetic, comparison by structure, printing."""

    __array_ufunc__ = None  # so that ndarray @ expression comes here

    @property
    def shape(self) -> Shape | None:
        """Rows and columns; None for an identity that has no neighbour yet."""
        raise NotImplementedError

    @cached_property
    def model(self) -> Model | None:
        """The robot it belongs to; None for constants."""
        return common_model(parts_of(self))

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
        return _arithmetic().transpose(self)

    def inverse(self) -> Expression:
        """The inverse, as it stands: :func:`recursa.operators.simplify` finds its factors."""
        return _arithmetic().inverse(self)

    def __matmul__(self, other: Any) -> Expression:
        right = _arithmetic().as_expression(other)
        return NotImplemented if right is None else _arithmetic().product((self, right))

    def __rmatmul__(self, other: Any) -> Expression:
        left = _arithmetic().as_expression(other)
        if left is None:
            return NotImplemented
        is_row = np.ndim(other) == 1  # as in NumPy: a vector on the left is a row
        return _arithmetic().product((_arithmetic().transpose(left) if is_row else left, self))

    def __add__(self, other: Any) -> Expression:
        right = _arithmetic().as_term(other)
        return NotImplemented if right is None else _arithmetic().total((self, right))

    def __radd__(self, other: Any) -> Expression:
        left = _arithmetic().as_term(other)
        return NotImplemented if left is None else _arithmetic().total((left, self))

    def __sub__(self, other: Any) -> Expression:
        right = _arithmetic().as_term(other)
        return NotImplemented if right is None else _arithmetic().total((self, _arithmetic().scaled(-1.0, right)))

    def __rsub__(self, other: Any) -> Expression:
        left = _arithmetic().as_term(other)
        return NotImplemented if left is None else _arithmetic().total((left, _arithmetic().scaled(-1.0, self)))

    def __neg__(self) -> Expression:
        return _arithmetic().scaled(-1.0, self)

    def __mul__(self, factor: Any) -> Expression:
        if isinstance(factor, Expression):
            raise TypeError(f"{self} * {factor}: operators are multiplied with @; * is for numbers")
        return _arithmetic().scaled(float(factor), self) if isinstance(factor, NUMBERS) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Expression:
        return _arithmetic().scaled(1.0 / float(divisor), self) if isinstance(divisor, NUMBERS) else NotImplemented

    def time_derivative(self, kind: DerivativeKind = "local", *, rates: Mapping[str, str] | None = None) -> Expression:
        """The time derivative along the motion, as an expression: Jain & Rodriguez, Table 4.

        "local" is the derivative of the components in body axes, "inertial" that in world axes: link rows gain
        ``Omega x``, link columns ``-x Omega``. Free vectors are constant but for those that ``rates`` names the rate
        of; V, a, b, C and v bring in the free joint vector ``vdot``.

        >>> import recursa as rc
        >>> o = rc.robots.planar(3).operators
        >>> print(o.mass.time_derivative())
        H φ̇ M φ* H* + H φ M φ̇* H*
        >>> print((o.mass @ o.vector("y")).time_derivative(rates={"y": "ydot"}))
        H φ̇ M φ* H* y + H φ M φ̇* H* y + H φ M φ* H* ydot
        """
        from recursa.operators.derivative import time_derivative

        return time_derivative(self, kind, rates=rates)

    def sensitivity(self, joint: str | Freedom) -> Expression:
        """The derivative along unit velocity of one joint, v itself held: Jain & Rodriguez, Identity 6.3 for any x.

        ``joint`` is a name, or a name and a freedom where it has several.

        >>> import recursa as rc
        >>> o = rc.robots.planar(3).operators
        >>> print(o.mass.sensitivity("joint2"))
        H φ̇{joint2} M φ* H* + H φ M φ̇{joint2}* H*
        """
        from recursa.operators.derivative import sensitivity

        return sensitivity(self, joint)

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


@dataclass(frozen=True)
class Filter:
    """A matrix ``H phi inertia phi* H* + rotors`` that has innovations factors, as the mass matrix has.

    ``inertia`` is block diagonal over the links, in place of M; ``rotors``, in place of A, is diagonal over the joints
    or has positive blocks there.
    """

    inertia: Expression
    rotors: Expression


@dataclass(frozen=True, eq=False, repr=False)
class Leaf(Expression):
    """An operator or vector of a robot.

    ``links`` are those of a pick-off B; ``along`` is the freedom whose unit velocity is meant instead of v, in what
    knows a velocity of the robot: S, S_V, Omega, and derivatives; with the number :data:`ANY` it is the name of a free
    joint vector instead. ``filter`` is the matrix of which P, D, G, K,
    tau_bar, psi, E_psi and Upsilon are, where it is not the mass matrix.
    """

    kind: Kind
    robot: Model
    links: tuple[str, ...] = ()
    along: Freedom | None = None
    filter: Filter | None = None

    def _key(self) -> Hashable:
        return self.kind, self.robot.digest, self.links, self.along, self.filter

    @property
    def direction(self) -> Vector | None:
        """The free vector along which it is meant, if it is one."""
        if self.along is None or self.along[1] != ANY:
            return None
        return Vector(self.along[0], space_of(self.robot, "joint"))

    @cached_property
    def shape(self) -> Shape:
        """By the table of symbols; a pick-off of several links has six columns for each."""
        symbol = self.kind.value
        rows, columns = space_of(self.robot, symbol.rows), space_of(self.robot, symbol.columns)
        at_links = columns._replace(size=6 * len(self.links), links=self.links)
        return Shape(rows, at_links if columns.name == "tip" else columns)

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
class Blocks(Expression):
    """Numbers on the diagonal: a square block (rows of numbers) for every joint, or a 6 x 6 one for every body."""

    blocks: tuple[tuple[tuple[float, ...], ...], ...]
    space: Space

    @property
    def shape(self) -> Shape:
        """Square."""
        return Shape(self.space, self.space)

    def columns(self) -> tuple[Constant, ...]:
        """As vectors: the first columns of all blocks under each other, the second ones, ...; short blocks have 0."""
        widest = max(map(len, self.blocks), default=0)
        entries = [[row[j] if j < len(block) else 0.0 for block in self.blocks for row in block] for j in range(widest)]
        return tuple(Constant(tuple(column), (len(column),), self.space.name) for column in entries)


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


@dataclass(frozen=True, eq=False, repr=False)
class Diagonal(Expression):
    """The diagonal matrix of a vector."""

    of: Expression

    @property
    def shape(self) -> Shape:
        """Square, of the vector's space."""
        space = known_shape(self.of).rows
        return Shape(space, space)


@dataclass(frozen=True, eq=False, repr=False)
class Inverse(Expression):
    """The inverse of something square."""

    of: Expression

    @property
    def shape(self) -> Shape | None:
        """That of what is inverted, changed over."""
        shape = self.of.shape
        return None if shape is None else Shape(shape.columns, shape.rows)


@dataclass(frozen=True, eq=False, repr=False)
class Functional(Expression):
    """A number that belongs to a square matrix: its "trace", or the logarithm of its determinant, "logdet"."""

    name: FunctionName
    of: Expression

    @property
    def shape(self) -> Shape:
        """One number."""
        return Shape(ONE, ONE)


@dataclass(frozen=True, eq=False, repr=False)
class Scaled(Expression):
    """A number times something."""

    factor: float
    of: Expression

    @property
    def shape(self) -> Shape | None:
        """That of what is multiplied."""
        return self.of.shape


@dataclass(frozen=True, eq=False, repr=False)
class Product(Expression):
    """Factors, applied from the right."""

    factors: tuple[Expression, ...]

    @cached_property
    def shape(self) -> Shape:
        """Rows of the first, columns of the last."""
        return Shape(known_shape(self.factors[0]).rows, known_shape(self.factors[-1]).columns)


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
        case Scaled(of=inner) | Inverse(of=inner) | Transpose(of=inner) | Diagonal(of=inner) | Functional(of=inner):
            return (inner,)
    return ()


def walk(
    expression: Expression, parts: Callable[[Expression], tuple[Expression, ...]] = parts_of
) -> Iterator[Expression]:
    """An expression and the parts of its parts, the inner ones first.

    >>> import recursa as rc
    >>> o = rc.robots.planar(2).operators
    >>> [str(part) for part in walk(o.H @ o.phi.T)]
    ['H', 'φ', 'φ*', 'H φ*']
    """
    for part in parts(expression):
        yield from walk(part, parts)
    yield expression


def free_vectors(expression: Expression) -> tuple[Vector, ...]:
    """The free vectors in an expression, in order of first appearance.

    >>> import recursa as rc
    >>> o = rc.robots.planar(2).operators
    >>> [x.name for x in free_vectors(o.vector("T") - o.H @ o.vector("f", "link") - 2 * o.vector("T"))]
    ['T', 'f']
    """
    if isinstance(expression, Vector):
        return (expression,)
    if isinstance(expression, Leaf) and expression.direction is not None:
        return (expression.direction,)
    return tuple(dict.fromkeys(vector for part in all_parts_of(expression) for vector in free_vectors(part)))


def all_parts_of(expression: Expression) -> tuple[Expression, ...]:
    """As :func:`parts_of`, and of a letter that belongs to another matrix than the mass matrix what that is made of."""
    if isinstance(expression, Leaf) and expression.filter is not None:
        return expression.filter.inertia, expression.filter.rotors
    return parts_of(expression)


def common_model(parts: Iterable[Expression]) -> Model | None:
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
