"""Gaussian elimination of a symmetric matrix from its last row up. Saha (40)-(45)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import RecursaError, ShapeError, SingularMatrixError
from recursa.sweeps.batching import Array


class EliminationStep(NamedTuple):
    """One step of the reverse Gaussian elimination: row ``row`` times ``multipliers`` is taken off the rows above."""

    row: int
    pivot: Array  # (...)
    multipliers: Array  # (..., row): alpha of each row above
    matrix: Array  # (..., n, n): what the matrix then is


class ReverseElimination(NamedTuple):
    """U, D with ``matrix = U D U^T``, and the steps that led there."""

    U: Array
    D: Array
    steps: tuple[EliminationStep, ...]


def reverse_gaussian_elimination(matrix: ArrayLike) -> ReverseElimination:
    """Gaussian elimination of a symmetric matrix (..., n, n) from its last row up, step by step (40)-(45).

    In step k, ``alpha_ik`` times row k is subtracted from each row i above it, ``alpha_ik = m_ik / m_kk``. What remains
    is lower triangular, ``D U^T``; the multipliers are the columns of U. No rows are exchanged: that is for matrices
    that are positive definite, and a pivot of 0 is a SingularMatrixError. O(n^3); :func:`udu` does the same in O(n).

    >>> import recursa as rc
    >>> U, D, steps = rc.denoc.reverse_gaussian_elimination([[3.0, 1.0], [1.0, 2.0]])
    >>> steps[0].row, steps[0].multipliers, steps[0].matrix
    (1, array([0.5]), array([[2.5, 0. ],
           [1. , 2. ]]))
    >>> U @ D @ U.T
    array([[3., 1.],
           [1., 2.]])
    """
    left = _symmetric(matrix)
    n = left.shape[-1]
    U, steps = np.broadcast_to(np.eye(n), left.shape).copy(), []
    for k in reversed(range(n)):
        pivot = left[..., k, k]
        if np.any(pivot == 0.0):
            raise SingularMatrixError(
                f"reverse Gaussian elimination: the pivot of row {k} is 0 (needs > 0). "
                "The matrix is not positive definite, and rows are not exchanged"
            )
        if k == 0:
            break
        alpha = left[..., :k, k] / pivot[..., None]
        left = left.copy()
        left[..., :k, :] -= alpha[..., None] * left[..., k, None, :]
        left[..., :k, k] = 0.0  # exactly
        U[..., :k, k] = alpha
        steps.append(EliminationStep(k, pivot, alpha, left))
    return ReverseElimination(U, left * np.eye(n), tuple(steps))


def _symmetric(matrix: ArrayLike) -> Array:
    """The matrix as floats, if it is square, finite and symmetric."""
    try:
        given = np.array(matrix, dtype=float)
    except (TypeError, ValueError):
        raise RecursaError("reverse Gaussian elimination: the matrix is not an array of numbers") from None
    if given.ndim < 2 or given.shape[-1] != given.shape[-2]:
        raise ShapeError(f"reverse Gaussian elimination: the matrix has shape {given.shape}, expected (..., n, n)")
    if given.size and not np.isfinite(given).all():
        raise RecursaError("reverse Gaussian elimination: the matrix has entries that are not finite")
    gap = np.abs(given - np.swapaxes(given, -1, -2)).max(initial=0.0)
    if gap > 1e-8 * np.abs(given).max(initial=0.0):
        raise RecursaError(f"reverse Gaussian elimination: the matrix is not symmetric, entries differ by {gap:.3g}")
    return given
