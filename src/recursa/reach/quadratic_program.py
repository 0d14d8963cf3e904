"""Small quadratic programs by DAQP, and the least violation where their constraints contradict each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from recursa.errors import ConvergenceError, not_installed
from recursa.sweeps.batching import Array

_SOLVED, _INFEASIBLE = (1, 2), -1
_MARGIN = 1e-9  # by which rows that cannot be kept are moved further than they must be, so that rounding is no obstacle


def solver() -> Any:
    """DAQP's function, an extra."""
    try:
        from daqp import solve
    except ImportError:
        raise not_installed("daqp", "qp", "differential inverse kinematics") from None
    return solve


def solve(solve_qp: Any, hessian: Array, gradient: Array, low: Array, high: Array) -> Array:
    """The x with the least ``x* H x / 2 + g* x`` between low and high."""
    return _answer(solve_qp, hessian, gradient, np.empty((0, len(gradient))), low, high)[0]


def solve_with_rows(
    solve_qp: Any, hessian: Array, gradient: Array, low: Array, high: Array, rows: tuple[Array, Array, Array]
) -> tuple[Array, Array]:
    """The same with ``rows = (A, least, most)``, ``least <= A x <= most``; and by how much each had to be passed, (m,).

    Where they cannot all hold between low and high, those x are considered that pass them least, by the sum of squares.
    """
    matrix, least, most = rows
    lower, upper = np.concatenate([low, least]), np.concatenate([high, most])
    x, flag = _answer(solve_qp, hessian, gradient, matrix, lower, upper, may_fail=True)
    if flag in _SOLVED:
        return x, np.zeros(len(matrix))
    count, n = matrix.shape
    wide = np.hstack([matrix, np.eye(count)])  # A x + s
    weights = np.concatenate([np.full(n, 1e-9), np.ones(count)])  # x itself hardly counts
    free = np.full(count, np.inf)
    bounds = [np.concatenate(part) for part in ((low, -free, least), (high, free, most))]
    both, _ = _answer(solve_qp, np.diag(weights), np.zeros(n + count), wide, *bounds)
    slack = both[n:]
    moved = np.where(slack > 0.0, slack + _MARGIN, np.where(slack < 0.0, slack - _MARGIN, 0.0))
    lower = np.concatenate([low, least - np.maximum(moved, 0.0)])
    upper = np.concatenate([high, most - np.minimum(moved, 0.0)])
    x, flag = _answer(solve_qp, hessian, gradient, matrix, lower, upper, may_fail=True)
    passed = x if flag in _SOLVED else both[:n]
    along = matrix @ passed
    return passed, np.maximum(np.maximum(least - along, along - most), 0.0)


def _answer(
    solve_qp: Any, hessian: Array, gradient: Array, matrix: Array, low: Array, high: Array, *, may_fail: bool = False
) -> tuple[Array, int]:
    x, _, flag, _ = solve_qp(hessian, gradient, matrix, high, low, np.zeros(len(low), np.int32))
    if flag in _SOLVED:
        return x, flag
    if may_fail:
        return x, _INFEASIBLE
    raise ConvergenceError(f"the quadratic program was not solved (DAQP's exit flag {flag}): are its numbers finite?")
