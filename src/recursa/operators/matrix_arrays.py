"""Arrays of matrices, a batch of them on the leading axes: transposes, inverses that exist, ranks, blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import SingularMatrixError
from recursa.operators.expression import Expression
from recursa.sweeps.batching import Array

RELATIVE_ZERO = 1e-12
"""Singular values that are smaller than the largest one by this factor count as zero."""


def transposed(matrix: Array) -> Array:
    """The transpose of each matrix."""
    return np.swapaxes(matrix, -1, -2)


def block_diag(blocks: Sequence[ArrayLike]) -> Array:
    """Square blocks on the diagonal."""
    sizes = [len(np.asarray(block)) for block in blocks]
    result, start = np.zeros((sum(sizes), sum(sizes))), 0
    for block, size in zip(blocks, sizes, strict=True):
        result[start : start + size, start : start + size] = block
        start += size
    return result


def skew(vector: Array) -> Array:
    """``~v``: the matrix of ``v x``, of a vector (B, 3)."""
    x, y, z = vector.T
    o: Any = np.zeros_like(x)
    return np.moveaxis(np.array([[o, -z, y], [z, o, -x], [-y, x, o]]), -1, 0)


def inverse_of(expression: Expression, matrix: Array) -> Array:
    """The inverse of a batch of matrices; one of which rounding alone makes regular is singular, too.

    Raises :class:`SingularMatrixError` that names the expression. A matrix that is not finite has an inverse that is
    not.
    """
    require_regular(expression, matrix)
    return np.linalg.inv(matrix)


def require_regular(expression: Expression, matrix: Array) -> None:
    """Raise :class:`SingularMatrixError` that names the expression where one of its matrices is finite and singular."""
    size = matrix.shape[-1]
    for rank in (rank_of(part.real) for part in matrix.reshape(-1, size, size) if np.isfinite(part).all()):
        if rank < size:
            raise SingularMatrixError(
                f"{expression} has no inverse at this state: its matrix is singular, of rank {rank} instead of {size}"
            )


def log_determinant(expression: Expression, matrix: Array) -> Array:
    """``log |det|`` of a batch of matrices; raises :class:`SingularMatrixError` where one of them is singular.

    Of complex numbers to first order in their imaginary parts, for complex steps.
    """
    require_regular(expression, matrix)
    if not np.iscomplexobj(matrix):
        return np.linalg.slogdet(matrix)[1]
    real = np.linalg.slogdet(matrix.real)[1]
    turn = np.trace(np.linalg.solve(matrix.real, matrix.imag), axis1=-2, axis2=-1)
    return real + 1j * turn


def lower_roots(matrix: Array, blocks: Sequence[slice]) -> Array:
    """The lower Cholesky factor of every block of a symmetric matrix; without a pivot a column is zero.

    Nothing is conjugated, for complex steps.
    """
    result = np.zeros_like(matrix)
    for block in blocks:
        for k in range(block.start, block.stop):
            before, rows = slice(block.start, k), slice(k, block.stop)
            left = matrix[:, rows, k] - (result[:, rows, before] @ result[:, k, before, None])[..., 0]
            positive = left[:, :1].real > 0.0
            result[:, rows, k] = np.where(positive, left / np.sqrt(np.where(positive, left[:, :1], 1.0)), 0.0)
    return result


def rank_of(matrix: Array, limit: float = RELATIVE_ZERO) -> int:
    """The rank of a matrix, with rows and columns in units of their own; 0 where it is not finite."""
    if not np.isfinite(matrix).all():
        return 0
    rows, columns = (np.sqrt(np.square(matrix).sum(axis=axis)) for axis in (1, 0))
    scale = np.sqrt(np.outer(np.where(rows > 0.0, rows, 1.0), np.where(columns > 0.0, columns, 1.0)))
    values = np.linalg.svd(matrix / scale, compute_uv=False)
    return int((values > limit * values.max(initial=0.0)).sum())
