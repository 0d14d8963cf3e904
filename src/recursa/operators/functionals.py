"""Traces and determinants of operators: what they are of simpler matrices, and how sweeps compute them.

``logdet(mass)`` is ``logdet(D)``, because the factor ``I + H phi K`` has determinant 1; that of a block-diagonal matrix
is a sum over bodies. The trace of what is block diagonal is such a sum, too. Others are read off column by column.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from recursa.errors import NoSweepError
from recursa.operators import inverse_steps
from recursa.operators.arithmetic import (
    factors_of,
    functional,
    inverse,
    product,
    scaled,
    square_parts,
    total,
    transpose,
)
from recursa.operators.expression import (
    Constant,
    Expression,
    Functional,
    Identity,
    Inverse,
    Leaf,
    Product,
    Scaled,
    Transpose,
    Zero,
    known_shape,
)
from recursa.operators.filters import filter_of, is_the_mass_matrix, low_rank_parts
from recursa.operators.inversion import has_inverse, is_of_robot
from recursa.operators.leaves import Operators
from recursa.operators.shapes import ONE, Shape, alike
from recursa.operators.structure import structure
from recursa.operators.symbols import Kind, Structure
from recursa.operators.values import Value
from recursa.spatial.scalars import log

if TYPE_CHECKING:
    from recursa.operators.lower import Lowering

_TRIANGLES = Structure.GATHERING | Structure.SPREADING
_MOST_COLUMNS = 96  # of a matrix whose trace is read off column by column


def logdet_by_parts(matrix: Expression, o: Operators) -> Expression | None:
    """``logdet`` of a matrix by those of simpler ones; None where there are none.

    >>> import recursa as rc
    >>> o = rc.robots.planar(3).operators
    >>> print(logdet_by_parts(o.mass, o), "|", logdet_by_parts(o.phi @ o.M, o), "|", logdet_by_parts(o.M, o))
    logdet(D) | logdet(φ) + logdet(M) | None
    """
    known, size = structure(matrix), known_shape(matrix).rows.size
    if Structure.UNIT in known:
        return Zero(Shape(ONE, ONE))
    match matrix:
        case Transpose(of=inner):
            return functional("logdet", inner)
        case Inverse(of=inner):
            return scaled(-1.0, functional("logdet", inner))
        case Scaled(factor=factor, of=inner):
            return total((functional("logdet", inner), scaled(size * math.log(abs(factor)), Identity(ONE))))
        case Product(factors=factors) if len(parts := square_parts(factors)) > 1:
            return total(functional("logdet", part) for part in parts)
        case Leaf(kind=Kind.W, filter=filter):
            return scaled(0.5, functional("logdet", Operators(o.model, filter=filter).D))
        case Leaf(kind=Kind.M_ROOT):
            return scaled(0.5, functional("logdet", o.M))
    found = filter_of(matrix, o)
    if found is not None:
        own = None if is_the_mass_matrix(found, o) else found
        return functional("logdet", Operators(o.model, filter=own).D)
    if has_inverse(matrix):
        return None
    update = low_rank_parts(matrix)
    if update is None:
        return None
    rest, U, weight, W = update
    small = total((product((W, inverse(rest), U)), weight))
    return total((functional("logdet", rest), functional("logdet", small), scaled(-1.0, functional("logdet", weight))))


def trace_by_parts(matrix: Expression, o: Operators) -> Expression | None:
    """``trace`` of a matrix by that of one that is block diagonal; None where it is not known.

    >>> import recursa as rc
    >>> o = rc.robots.planar(3).operators
    >>> print(trace_by_parts(o.H @ o.phi @ o.M @ o.phi.T @ o.H.T, o), "|", trace_by_parts(o.psi, o))
    trace(H R H*) | 18 I
    """
    known = structure(matrix)
    if known & _TRIANGLES and Structure.STRICT in known:
        return Zero(Shape(ONE, ONE))
    if known & _TRIANGLES and Structure.UNIT in known:
        return scaled(float(known_shape(matrix).rows.size), Identity(ONE))
    factors = factors_of(matrix)
    wanted = (o.phi, o.M, transpose(o.phi))
    for start in range(len(factors) - 2):
        around = (*factors[:start], *factors[start + 3 :])
        if factors[start : start + 3] == wanted and all(Structure.BLOCK_DIAGONAL in structure(x) for x in around):
            return functional("trace", product((*factors[:start], o.R, *factors[start + 3 :])))
    return None


# ---- sweeps ----------------------------------------------------------------------------------------------------------


def is_swept(expression: Functional) -> bool:
    """Whether sweeps compute it, given that they apply its matrix."""
    of = expression.of
    if expression.name == "trace":
        return Structure.BLOCK_DIAGONAL in structure(of) or known_shape(of).rows.size <= _MOST_COLUMNS
    return has_inverse(of) and Structure.SEMIDEFINITE in structure(of)


def lowered_functional(lowering: Lowering, expression: Functional) -> Value:
    """The number, from what the matrix makes of unit vectors."""
    of, space = expression.of, known_shape(expression.of).rows
    if not is_swept(expression):
        why = (
            f"the trace of {of} is read off column by column, for matrices of up to {_MOST_COLUMNS} columns that are "
            "not block diagonal"
            if expression.name == "trace"
            else f"the determinant of {of} is known where it is block diagonal and positive, at pick-offs, or like the "
            "mass matrix"
        )
        raise NoSweepError(f"cannot lower {lowering.expression}: {why}. Use dense(expression, q)", expression)
    in_blocks = Structure.BLOCK_DIAGONAL in structure(of) or is_of_robot(known_shape(of))
    if expression.name == "logdet" and space == ONE:
        return lowering.at_link(expression, log, (lowering.apply(of, None).read,), 0, ONE, None)
    if expression.name == "logdet":
        columns = tuple(lowering.apply(of, unit).read for unit in lowering.inverses.units(space))
        fn = inverse_steps.LogDeterminant(alike(space))
        if is_of_robot(known_shape(of)):
            return lowering.at_link(expression, fn, columns, 0, ONE, None)
        name = lowering.steps.summed(fn, columns, expression.text())
        return Value(name, ONE, expression)
    units = lowering.inverses.units(space) if in_blocks else _whole_units(lowering, expression)
    text = f"entries of {expression}"
    entries = tuple(lowering.dotted(unit, lowering.apply(of, unit), expression, text) for unit in units)
    return lowering.combined(expression, (1.0,) * len(entries), entries, None)


def _whole_units(lowering: Lowering, expression: Functional) -> list[Value]:
    """The unit vectors of a whole space, as numbers that are given."""
    space = known_shape(expression.of).rows
    rows = [tuple(float(i == k) for i in range(space.size)) for k in range(space.size)]
    return [lowering.apply(Constant(row, (space.size,), space.name), None) for row in rows]
