"""How well a motion tells parameters apart: condition number, determinant, and what stays unknown, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recursa.errors import shortened
from recursa.sweeps.batching import Array

_RANK = 1e-9  # of the largest singular value: below, columns depend on each other
_PART = 0.3  # of the largest entry of a direction that is not excited: what it is mainly made of


@dataclass(frozen=True, eq=False)
class Score:
    """How well rows of a regression tell its columns apart.

    - ``condition``: the condition number, columns in usual sizes of their parameters; 1 is best, below 100 is good.
    - ``log_determinant``: the logarithm of the determinant of the information matrix, per parameter; larger is better.
    - ``unknown``: for every direction that is not known even to the usual size of its parameters, their names.
    """

    condition: float
    log_determinant: float
    unknown: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        lines = [f"condition number {self.condition:.4g}, log determinant {self.log_determinant:.3g} per parameter"]
        lines += [f"  not told apart: {shortened(names)}" for names in self.unknown]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Solved:
    """Least squares by singular values: ``values``, their covariance, and the score of the rows.

    Directions that are not excited stay at zero.
    """

    values: Array
    covariance: Array
    score: Score


def solved(R: Array, r: Array, scales: Array, names: Sequence[str]) -> Solved:
    """``|R x - r|`` least, R (k, columns) in standard deviations; columns in the sizes ``scales``.

    >>> found = solved(np.array([[2.0, 2.0], [0.0, 1e-12]]), np.array([2.0, 0.0]), np.ones(2), ["a", "b"])
    >>> found.score.unknown, found.values.round(6)
    ((('a', 'b'),), array([0.5, 0.5]))
    """
    U, s, V = np.linalg.svd(R * scales, full_matrices=False)
    s = np.concatenate([s, np.zeros(R.shape[1] - len(s))])
    U = np.pad(U, ((0, 0), (0, len(s) - U.shape[1])))
    V = np.linalg.svd(R * scales, full_matrices=True)[2] if len(V) < len(s) else V
    largest = float(s.max(initial=0.0))
    told = (s >= 1.0) & (s > _RANK * largest)
    back = np.where(told, 1.0 / np.where(told, s, 1.0), 0.0)
    values = scales * (V.T @ (back * (U.T @ r)))
    covariance = (scales[:, None] * V.T * np.where(told, back**2, 1.0)) @ (V * scales)
    unknown = tuple(
        tuple(name for name, x in zip(names, np.abs(row), strict=True) if x > _PART * np.abs(row).max())
        for row in V[~told]
    )
    least = float(s.min(initial=np.inf))
    condition = largest / least if least > 0.0 else np.inf
    with np.errstate(divide="ignore"):
        determinant = float(2.0 * np.log(s).mean()) if len(s) else 0.0
    return Solved(values, covariance, Score(condition, determinant, unknown))
