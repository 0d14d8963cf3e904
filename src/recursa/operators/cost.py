"""What it costs to apply an expression to a vector: sweeps over the bodies, and multiplications per body.

Sweeps alternate in direction. What gathers (phi, psi, their shifts, K) goes into a tip-to-base sweep, its transpose
into a base-to-tip sweep, what is block diagonal into any; each as early as its operands allow. P, D, G, K, tau_bar and
psi wait for the articulated-body recursion, which is part of the first tip-to-base sweep. Both starting directions are
tried. Multiplications are those of one-freedom joints; what occurs twice is computed once.
"""

from __future__ import annotations

from typing import NamedTuple

from recursa.operators.arithmetic import coefficient, factors_of, transpose
from recursa.operators.expression import (
    Constant,
    Diagonal,
    Expression,
    Functional,
    Inverse,
    Leaf,
    Product,
    Scaled,
    Sum,
    Transpose,
    known_shape,
    walk,
)
from recursa.operators.functionals import is_swept
from recursa.operators.inversion import has_inverse, is_of_robot, link_of_compliance
from recursa.operators.shapes import ONE
from recursa.operators.structure import structure
from recursa.operators.symbols import Kind, Structure, Symbol


class Cost(NamedTuple):
    """Compared in this order. ``dense`` counts inverses and full matrices that no sweep can apply."""

    dense: int
    sweeps: int
    multiplications: int
    letters: int


_SOLVE = 50  # the factors of a symmetric 6 x 6 block, beside applying them


def cost(expression: Expression) -> Cost:
    """The cost of an expression: of a matrix, the cost of applying it to a vector.

    >>> import recursa as rc
    >>> o = rc.robots.planar(3).operators
    >>> cost(o.phi.T @ o.H.T).sweeps, cost(o.mass).sweeps, cost(o.mass.inverse()).dense
    (1, 2, 1)
    """
    shape = expression.shape
    if shape is not None and shape.rows == ONE and shape.columns != ONE:
        return cost(transpose(expression))  # a row is computed as a column
    sweeps = min(_Schedule(inward_first).sweeps(expression) for inward_first in (True, False))
    count = _Count()
    count.apply(expression, 0)
    return Cost(count.dense, sweeps, count.multiplications, sum(1 for _ in walk(expression)))


class _Schedule:
    """Earliest sweeps, numbered from 0, for one starting direction."""

    def __init__(self, inward_first: bool) -> None:
        self.first_inward, self.first_outward = (0, 1) if inward_first else (1, 0)
        self.last = -1

    def sweeps(self, expression: Expression) -> int:
        self.apply(expression, 0)
        return self.last + 1

    def apply(self, expression: Expression, ready: int) -> int:
        """The sweep in which the result is known, given the one in which the operand is."""
        match expression:
            case Product(factors=factors):
                for factor in reversed(factors):
                    ready = self.apply(factor, ready)
                return ready
            case Sum(terms=terms):
                return max(self.apply(term, ready) for term in terms)
            case Scaled(of=inner):
                return self.apply(inner, ready)
            case Inverse(of=inner):
                known = max(ready, self.apply(inner, 0 if has_inverse(inner) else ready))
                return known + 1 if expression.shape is not None and is_of_robot(expression.shape) else known
            case Diagonal(of=inner):
                return max(ready, self.apply(inner, 0))
            case Functional(of=inner):
                return self._used(self.apply(inner, 0) + 1)
            case Leaf(kind=kind) | Transpose(of=Leaf(kind=kind)):
                return self._leaf(kind.value, ready, transposed=isinstance(expression, Transpose))
        return self._used(ready)

    def _leaf(self, letter: Symbol, ready: int, *, transposed: bool) -> int:
        if transposed and letter.factors:  # G* E_phi* and tau_bar* E_phi*: only the left one waits
            return self._used(max(self._next(ready, self.first_outward), self.first_inward))
        match tuple(dict.fromkeys(recursion.way for recursion in letter.needs)):
            case ("inward",):
                ready = max(ready, self.first_inward)
            case ("inward", "outward"):
                ready = self._next(max(ready, self.first_inward), self.first_outward)
            case ("outward",):
                ready = max(ready, self.first_outward)
            case ("outward", "inward"):
                ready = max(ready, self._next(self.first_outward, self.first_inward))
        if Structure.GATHERING in letter.structure:
            ready = self._next(ready, self.first_outward if transposed else self.first_inward)
        return self._used(ready)

    def _next(self, ready: int, first: int) -> int:
        """The first sweep from ``ready`` on in the direction of sweep ``first``."""
        ready = max(ready, first)
        return ready if (ready - first) % 2 == 0 else ready + 1

    def _used(self, ready: int) -> int:
        self.last = max(self.last, ready)
        return ready


_NO_OPERAND = -1  # of vectors; unit vectors have the numbers below


class _Count:
    """Multiplications per body, each operator applied to each operand once."""

    def __init__(self) -> None:
        self.dense = 0
        self.multiplications = 0
        self.seen: dict[object, int] = {}  # what was computed, by number

    def apply(self, expression: Expression, operand: int) -> int:
        """Count one application; the result stands for what was computed."""
        key = expression, operand
        if key in self.seen:
            return self.seen[key]
        result = self.seen[key] = len(self.seen) + 1
        match expression:
            case Product(factors=factors):
                for right, factor in zip((None, *reversed(factors)), reversed(factors), strict=False):
                    before = len(self.seen)
                    operand = self.apply(factor, operand)
                    if len(self.seen) > before and _one_recursion(factor, right):
                        self.multiplications -= Kind.E_PHI.value.multiplications
                return operand
            case Sum(terms=terms):
                for term in terms:
                    self.apply(term, operand)
            case Scaled(factor=factor, of=inner):
                self.multiplications += 0 if abs(factor) == 1.0 else 1
                self.apply(inner, operand)
            case Inverse(of=inner):
                self._inverse(inner, operand)
            case Diagonal(of=inner):
                self.multiplications += 1
                self.apply(inner, _NO_OPERAND)
            case Functional(of=inner):
                self.dense += 0 if is_swept(expression) else 1
                self._columns(inner)
            case (Leaf() as leaf) | Transpose(of=Leaf() as leaf):
                self._leaf(leaf)
            case Constant(size=(_, _)) | Transpose(of=Constant(size=(_, _))):
                self.dense += 1
        return result

    def _inverse(self, inner: Expression, operand: int) -> None:
        """At the body or the link itself, or from what the matrix makes of unit vectors."""
        if not has_inverse(inner):
            self.dense += 1
            self.apply(inner, operand)
            return
        shape = known_shape(inner)
        one_step = isinstance(inner, Leaf | Transpose) or link_of_compliance(inner) is not None
        if one_step:  # without reading off columns
            self.multiplications += _SOLVE if shape.rows.name != "joint" else 0
            self.apply(inner, operand)
            return
        self.multiplications += _SOLVE if shape.rows.name != "joint" else 1
        self._columns(inner)

    def _columns(self, inner: Expression) -> None:
        """Applied to every unit vector; of a block-diagonal matrix to one for each column of a block."""
        shape = known_shape(inner)
        blocks = 6 if shape.rows.name == "link" else 1
        size = blocks if Structure.BLOCK_DIAGONAL in structure(inner) and not is_of_robot(shape) else shape.rows.size
        self.apply(inner, _NO_OPERAND - 1)
        before = self.multiplications
        if size > 1:  # of the second one what is computed once for all is no longer part
            self.apply(inner, _NO_OPERAND - 2)
            self.multiplications += (self.multiplications - before) * (size - 2)

    def _leaf(self, leaf: Leaf) -> None:
        letter = leaf.kind.value
        self.dense += 1 if letter.by_table else 0
        self.multiplications += letter.multiplications
        for recursion in letter.needs:
            if (recursion, leaf.filter) not in self.seen:
                self.seen[recursion, leaf.filter] = 0
                self.multiplications += recursion.multiplications


def _one_recursion(left: Expression, right: Expression | None) -> bool:
    """Whether two neighbours are one recursion: ``y = phi E_phi x`` is ``y(k) = sum of phi(k, c) (y(c) + x(c))``.

    So is ``phi (x + E_phi y)``.
    """
    match left, right:
        case Leaf(kind=a), Sum(terms=terms):
            firsts = [factors_of(coefficient(term)[1])[0] for term in terms]
            return _propagates(a.value) and any(isinstance(f, Leaf) and _shifts(f.kind.value) for f in firsts)
        case Leaf(kind=a), Leaf(kind=b):
            return _propagates(a.value) and _shifts(b.value)
        case Transpose(of=Leaf(kind=a)), Transpose(of=Leaf(kind=b)):
            return _shifts(a.value) and _propagates(b.value)
    return False


def _propagates(letter: Symbol) -> bool:
    """Of phi and psi."""
    return letter.structure == Structure.GATHERING | Structure.UNIT


def _shifts(letter: Symbol) -> bool:
    """Of E_phi, and of K and E_psi, which begin with it."""
    return Kind.E_PHI.value.code in (letter.code, *letter.factors[:1])
