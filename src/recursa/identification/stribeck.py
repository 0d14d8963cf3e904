"""Stribeck's curve: friction that is larger at low speed, ``f sign(v) + s sign(v) exp(-(v/v_s)^2)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from recursa.identification.log_filters import Filtered
from recursa.identification.regression import rows_of, weighted
from recursa.identification.unknowns import Unknowns
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot

SHARES = np.geomspace(0.01, 0.5, 12)
"""Of a joint's largest speed: where its curve may fall off."""


def stribeck_speeds(unknowns: Unknowns, motions: Sequence[Filtered], loaded: Sequence[Robot], *, robust: bool) -> Array:
    """The speed v_s of each freedom, (nv,), with which its friction fits best what all other terms leave.

    The only unknown that torques do not depend on linearly, so a few are tried, of each joint by itself.
    """
    fastest = np.maximum(np.max([np.abs(motion.v).max(axis=0) for motion in motions], axis=0), 1e-9)
    without = replace(unknowns, terms=tuple(term for term in unknowns.terms if term != "stribeck"))
    rows = rows_of(motions, without, loaded)
    chosen = list(without.structure.independent)
    weights = weighted(rows, chosen, robust=robust)
    change = np.zeros(len(without.columns))
    change[chosen] = np.linalg.lstsq(weights.matrix[:, chosen], weights.torque, rcond=1e-9)[0]
    left = rows.residual(change)
    friction = replace(unknowns, terms=("viscous", "coulomb", "stribeck"))
    best, speeds = np.full(unknowns.robot.nv, np.inf), 0.1 * fastest
    for share in SHARES:
        tried = rows_of(motions, friction.with_speeds(share * fastest), loaded)
        for k in unknowns.freedoms:
            columns = [n for n, column in enumerate(friction.columns) if column.freedom == k]
            trust = np.sqrt(weights.trust[:, k])
            matrix, wanted = tried.matrix[:, k, columns] * trust[:, None], left[:, k] * trust
            rest = wanted - matrix @ np.linalg.lstsq(matrix, wanted, rcond=1e-9)[0]
            if rest @ rest < best[k]:
                best[k], speeds[k] = rest @ rest, share * fastest[k]
    return speeds
