"""Sensitivity: how a motion changes with parameters of the robot, and what uncertain ones make of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import ShapeError, unknown_name
from recursa.sweeps.batching import Array, as_numbers


class Band(NamedTuple):
    """Standard deviations of a motion at the times t (n,): of q and v, (n, nv) each; q as ``integrate`` moves it."""

    t: Array
    q: Array
    v: Array


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Derivatives of a motion with respect to parameters, made by :meth:`recursa.Robot.trajectory_sensitivity`.

    - ``names`` (k): what was varied.
    - ``t`` (n,): the times of the run's samples.
    - ``q``, ``v`` (n, nv, k): d q(t)/d p and d v(t)/d p; q is moved as by ``integrate(q, dq)``.
    """

    names: tuple[str, ...]
    t: Array
    q: Array
    v: Array

    def change(self, changes: ArrayLike | Mapping[str, float]) -> tuple[Array, Array]:
        """(dq, dv), (n, nv) each, to first order, for changes of the parameters: (k,), or some of them by name."""
        own = self._vector(changes, "changes")
        return self.q @ own, self.v @ own

    def band(self, uncertain: ArrayLike | Mapping[str, float]) -> Band:
        """Standard deviations of the motion, to first order: ``sqrt(diag(S C S*))``.

        ``uncertain``: standard deviations of the parameters, (k,) or by name, the others being certain; or their
        covariance C (k, k).
        """
        count = len(self.names)
        covariance = np.asarray(uncertain, float) if not isinstance(uncertain, Mapping) else None
        if covariance is None or covariance.ndim != 2:
            covariance = np.diag(self._vector(uncertain, "uncertain") ** 2)
        if covariance.shape != (count, count):
            raise ShapeError(f"the covariance has shape {covariance.shape}, expected ({count}, {count})")
        variances = (np.einsum("nik,kl,nil->ni", s, covariance, s) for s in (self.q, self.v))
        q, v = (np.sqrt(np.maximum(x, 0.0)) for x in variances)
        return Band(self.t, q, v)

    def _vector(self, given: ArrayLike | Mapping[str, float], what: str) -> Array:
        if isinstance(given, Mapping):
            values = np.zeros(len(self.names))
            for name, value in given.items():
                if name not in self.names:
                    raise unknown_name("parameter", name, self.names)
                values[self.names.index(name)] = value
            return values
        numbers = as_numbers(what, given, len(self.names))
        if numbers.shape != (len(self.names),):
            raise ShapeError(
                f"{what} have shape {numbers.shape}, expected ({len(self.names)},): one for each parameter"
            )
        return numbers
