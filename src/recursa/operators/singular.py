"""Which inverse of an expression does not exist at a state: what to say where a result is not finite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import NotationError, RecursaError, SingularMatrixError, StateError
from recursa.model.model import Model
from recursa.operators.evaluation import Evaluation
from recursa.operators.expression import (
    Expression,
    Functional,
    Inverse,
    Leaf,
    Transpose,
    common_model,
    free_vectors,
    known_shape,
    walk,
)
from recursa.operators.matrix_arrays import RELATIVE_ZERO, rank_of
from recursa.operators.open_tree import refuse_open_tree
from recursa.operators.shapes import ONE
from recursa.operators.symbols import Kind, Structure
from recursa.sweeps.batching import Array, Batch, prepare

# ---- the matrices themselves: the obvious evaluation of an expression, and the oracle of every other -----------------
# Leading axes are the batch.


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


_NEARLY_ZERO = 1e-7  # of singular values, where nothing is surely singular


def has_inverses(expression: Expression) -> bool:
    """Whether it has inverses that may fail to exist at a state; D, M and A of the robot are looked after elsewhere."""
    return next(_inverses(expression), None) is not None


def require_inverses(expression: Expression, model: Model, result: Array, arguments: Mapping[str, Any]) -> None:
    """Raise :class:`SingularMatrixError` that names the matrix, where finite arguments gave what is not finite."""
    if np.isfinite(result).all():
        return
    batch = prepare(model, dict(arguments), {})
    sound = np.logical_and.reduce([np.isfinite(rows).all(axis=1) for rows in batch.rows.values()])
    lost = np.flatnonzero(sound & ~np.isfinite(result.reshape(batch.size, -1)).all(axis=1))
    for row in lost[:1].tolist():
        state = {name: rows[row] for name, rows in batch.rows.items()}
        at = "" if not batch.shape else f", state {', '.join(map(str, np.unravel_index(row, batch.shape)))}"
        for limit in (RELATIVE_ZERO, _NEARLY_ZERO):
            for part in _inverses(expression):
                complaint = _complaint(part.of, model, state, limit)
                if complaint:
                    raise SingularMatrixError(f"{part.of} has no inverse at this state{at}: {complaint}")


def _inverses(expression: Expression) -> Iterator[Inverse]:
    """The inner ones first."""
    for part in walk(expression):
        if isinstance(part, Functional) and part.name == "logdet":
            yield Inverse(part.of)
        if isinstance(part, Inverse) and not _is_hinge_or_constant(part.of):
            yield part


def _is_hinge_or_constant(of: Expression) -> bool:
    leaf = of.of if isinstance(of, Transpose) else of
    if not isinstance(leaf, Leaf):
        return False
    hinge = leaf.kind is Kind.W or Structure.DEFINITE in leaf.kind.value.structure
    return (hinge and leaf.filter is None) or leaf.kind.value.steady


def _complaint(matrix: Expression, model: Model, state: Mapping[str, Array], limit: float) -> str:
    """What is wrong with a matrix at a state, and what to do; empty if nothing is."""
    shape, space = known_shape(matrix), known_shape(matrix).rows
    given = {key.partition(":")[2]: value for key, value in state.items() if ":" in key}
    try:
        numbers = np.atleast_2d(dense(matrix, state["q"], state.get("v"), **given))
    except RecursaError as error:  # an inverse within it, which says so itself
        return str(error)
    if space.name in ("joint", "link"):
        return _of_blocks(numbers, model, space.name, limit)
    rank = rank_of(numbers, limit)
    if rank == space.size:
        return ""
    if space.name == "constraint":
        return (
            f"its rank is {rank} of {shape.rows.size}: some equations of the constraints say what others do.\n"
            "  robot.constraint_delassus_factors(q) tells which, and solves with those that are left; "
            "robot.constraint_forces(q, v, tau) are the shortest multipliers."
        )
    links = sorted({link for leaf in walk(matrix) if isinstance(leaf, Leaf) for link in leaf.links})
    cannot = f" {' and '.join(map(repr, links))} cannot accelerate in every direction" if links else ""
    advice = "robot.operational_inertia and robot.delassus_inverse give the pseudo-inverse with its rank"
    return (
        f"its rank is {rank} of {shape.rows.size}.\n "
        f"{cannot or ' its rows depend on each other'} there, for lack of joints or in a singular configuration.\n"
        f"  Ask for fewer links, add a multiple of I; {advice}."
    )


def _of_blocks(numbers: Array, model: Model, space: str, limit: float) -> str:
    start = 0
    for joint in model.joints:
        size = 6 if space == "link" else joint.kind.nv
        block = numbers[start : start + size, start : start + size]
        start += size
        rank = rank_of(block, limit)
        if rank < size:
            name = f"link '{joint.child}'" if space == "link" else f"joint '{joint.name}'"
            return f"the block of {name} has rank {rank} of {size}"
    return ""
