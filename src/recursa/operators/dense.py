"""The matrices themselves: the obvious evaluation of an expression, and the oracle of every other.

Leading axes are the batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import NotationError, StateError
from recursa.model.model import Model
from recursa.operators.evaluation import Evaluation
from recursa.operators.expression import Expression, common_model, free_vectors, known_shape
from recursa.operators.open_tree import refuse_open_tree
from recursa.operators.shapes import ONE
from recursa.sweeps.batching import Array, Batch, prepare


def dense(expression: Expression, q: ArrayLike, v: ArrayLike | None = None, **vectors: ArrayLike) -> Array:
    """The matrix (..., rows, columns) of an operator expression, or the vector (..., n), at a state.

    Frames: blocks in link axes at the link origin, bodies base first (K in parent axes). ``v`` is needed where a, b, V,
    C or a time derivative occurs; free vectors are given by name. Cost: O(n^3), every block stored: for small robots
    and as the oracle. Text is read first: ``dense(parse(text, robot), q)``.

    >>> import recursa as rc
    >>> robot = rc.robots.planar(2)
    >>> o = robot.operators
    >>> q = [0.3, -0.5]
    >>> (dense(o.mass, q) - robot.mass_matrix(q)).round(12) + 0.0
    array([[0., 0.],
           [0., 0.]])
    """
    if not isinstance(expression, Expression):
        got = "text" if isinstance(expression, str) else type(expression).__name__
        raise NotationError(
            f"rc.dense takes an operator expression, not {got}: rc.dense(rc.parse(text, robot), q), "
            "or one written with robot.operators"
        )
    refuse_open_tree(expression, common_model((expression,)))
    return dense_values((expression,), q, v, **vectors)[0]


def dense_values(
    expressions: Sequence[Expression], q: ArrayLike, v: ArrayLike | None = None, **vectors: ArrayLike
) -> list[Array]:
    """As :func:`dense`, of several expressions at the same state: what they share is computed once."""
    shapes = [known_shape(expression) for expression in expressions]
    for vector in (vector for expression in expressions for vector in free_vectors(expression)):
        if vector.name in ("q", "v", "expression"):
            raise StateError(
                f"the vector '{vector.name}' is an argument of rc.dense: name it otherwise, or compile the formula"
            )
    model = common_model(expressions)
    evaluation = Evaluation(model, _batch(model, q, v), vectors)
    size, found = evaluation.batch.shape, []
    for expression, shape in zip(expressions, shapes, strict=True):
        matrix = evaluation.matrix(expression)
        wanted = tuple(space.size for space in shape if space != ONE)
        whole = np.broadcast_to(matrix, (evaluation.batch.size, *matrix.shape[-2:]))
        found.append(whole.reshape((*size, *wanted)).copy())
    return found


def _batch(model: Model | None, q: ArrayLike, v: ArrayLike | None) -> Batch:
    """The state, checked; of an expression that names no robot (the identity, numbers) only the batch axes count."""
    if model is None:
        return Batch({}, np.shape(q)[:-1], np.dtype(np.float64))
    return prepare(model, {"q": q} if v is None else {"q": q, "v": v}, {})
