"""The same recipes on other numbers than floats: one state at a time, on arrays of any scalars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from recursa.errors import UntraceableError
from recursa.evaluation.evaluator import Evaluator
from recursa.evaluation.resolved import ResolvedQuantity
from recursa.kernels.graph import Traced
from recursa.spatial.scalars import Scalar
from recursa.sweeps.batching import Array
from recursa.sweeps.engine import run


class ScalarEvaluator(Evaluator):
    """Symbols go the way that kernels go, with what may move moved; numbers go the plain way."""

    __slots__ = ()

    def _filled(
        self, asked: ResolvedQuantity, arguments: dict[str, Any], out: Array | None, threads: int | None
    ) -> Array:
        self.require(asked.recipe, arguments)
        inputs = {name: list(np.asarray(value, dtype=object).ravel()) for name, value in arguments.items()}
        symbols = any(isinstance(x, Traced) for values in inputs.values() for x in values)
        return self._run(asked, inputs, symbols=symbols).reshape(asked.recipe.shape)

    def _run(self, asked: ResolvedQuantity, inputs: dict[str, list[Any]], *, symbols: bool) -> Array:
        recipe, kernels = asked.recipe, asked.kernels
        plan, model = (asked.compiled_plan, kernels.compiled_model) if symbols else (recipe.plan, kernels.model)
        return object_array(list(recipe.gather(run(plan, model, inputs))))

    def one_kernel(self, asked: ResolvedQuantity) -> bool:
        """All in one piece, however long."""
        return True

    def for_each_torque(self, arguments: Mapping[str, Any]) -> dict[str, Array]:
        """There are no batches."""
        raise UntraceableError("every torque has its own matrices. Export their sum, weighted: contract=True")

    def require_hinges(self, arguments: Mapping[str, Any]) -> None:
        """Parameters that are symbols cannot be judged."""
        if "parameters" not in arguments:
            super().require_hinges(arguments)

    def require_finite(self, result: Array, arguments: Mapping[str, Any], pivots: Array | None = None) -> None:
        """Symbols have no values; what is not finite is found when constants are printed."""

    def solve(self, mass: Array, columns: Array) -> Array:
        """There is no linear solve in straight-line code."""
        raise UntraceableError(
            "it solves with the mass matrix. Export mass_matrix and bias_forces and solve M a = tau - C"
        )

    def inverse(self, mass: Array) -> Array:
        """Nor an inverse."""
        raise UntraceableError("joints are tied, so it inverts the mass matrix. Export mass_matrix and invert that")


def solved_by_columns(mass: Array, columns: Array) -> Array:
    """``inv(mass) columns`` on any scalars, for a symmetric positive definite matrix, one column after the other."""
    matrix, each = mass.tolist(), np.atleast_2d(columns.T)
    entries = [x for column in each.tolist() for x in solve_symmetric(matrix, column)]
    return object_array(entries).reshape(columns.T.shape).T


def solve_symmetric(matrix: Sequence[Sequence[Scalar]], right: Sequence[Scalar]) -> list[Scalar]:
    """The solution for a symmetric positive definite matrix, of which the lower triangle is read.

    ``n^3/6 + 3 n^2/2 - 2 n/3`` products and divisions, ``n^3/6 + n^2 - 7 n/6`` sums, as Balafoutis & Patel count it.

    >>> solve_symmetric([[2.0, 1.0], [1.0, 3.0]], [4.0, 7.0])
    [1.0, 2.0]
    """
    n = len(right)
    rest = [list(row) for row in matrix]
    factor = [[0.0 for _ in row] for row in matrix]
    for k in range(n):
        for i in range(k + 1, n):
            factor[i][k] = rest[i][k] / rest[k][k]
            for j in range(k + 1, i + 1):
                rest[i][j] = rest[i][j] - factor[i][k] * rest[j][k]
    x = list(right)
    for i in range(n):
        for k in range(i):
            x[i] = x[i] - factor[i][k] * x[k]
    x = [value / rest[i][i] for i, value in enumerate(x)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - factor[k][i] * x[k]
    return x


def object_array(entries: list[Any]) -> Array:
    """Scalars of any kind in an array."""
    result = np.empty(len(entries), dtype=object)
    result[:] = entries
    return result
