"""Dry friction: which freedoms slide, which stick, and when that changes.

A freedom that slides feels ``-friction sign(v)``. One at rest feels whatever torque keeps it at rest, as long as that
is at most ``friction``; else it starts to slide. For several freedoms at rest the torques depend on each other::

    a = a0 + W lambda,   |lambda_i| <= friction_i,   a_i = 0 where less than that, else a_i lambda_i < 0

with ``W = inv(mass matrix)`` restricted to them. It is what minimises a convex function (W is positive definite):
there is exactly one solution.
"""

from __future__ import annotations

import numpy as np

from recursa.simulation.equations import Equations
from recursa.sweeps.batching import Array

_SWEEPS = 200  # of Gauss and Seidel between two exact solves
_ROUNDS = 50
SLACK = 1e-9
"""By how much of its friction a torque may exceed it before a stuck freedom is let go; then it certainly moves."""


def box_forces(W: Array, a0: Array, bound: Array) -> Array:
    """The lambda within +-bound with ``a0 + W lambda`` zero where lambda is inside, and against lambda at the bound.

    Projected Gauss-Seidel finds which bounds hold, a linear solve then gives exact values; repeated until both agree.

    >>> box_forces(np.array([[2.0]]), np.array([3.0]), np.array([1.0]))
    array([-1.])
    >>> box_forces(np.array([[2.0]]), np.array([1.0]), np.array([1.0]))
    array([-0.5])
    """
    force = np.clip(-a0 / np.diagonal(W), -bound, bound)
    for _ in range(_ROUNDS):
        for _ in range(_SWEEPS):
            before = force.copy()
            for i in range(len(force)):
                force[i] = min(max(force[i] - (a0[i] + W[i] @ force) / W[i, i], -bound[i]), bound[i])
            if np.abs(force - before).max(initial=0.0) <= 1e-15 * bound.max(initial=0.0):
                break
        inside = np.abs(force) < bound
        exact = force.copy()
        if inside.any():
            rest = a0[inside] + W[np.ix_(inside, ~inside)] @ force[~inside]
            exact[inside] = -np.linalg.solve(W[np.ix_(inside, inside)], rest)
        a = a0 + W @ exact
        fits = (np.abs(exact[inside]) <= bound[inside]).all() and (a * np.sign(exact) <= 0.0)[~inside].all()
        if fits:
            return exact
        force = np.clip(exact, -bound, bound)
    return force


def settle(equations: Equations, t: float, q: Array, v: Array) -> None:
    """Set the modes for a state: freedoms that move slide, of those at rest some stick."""
    equations.slip, equations.locked = np.where(equations.friction > 0.0, np.sign(v), 0.0), np.zeros(0, dtype=int)
    resting = np.flatnonzero((equations.friction > 0.0) & (v == 0.0))
    if not resting.size:
        return
    a0 = equations.rates(t, q, v).a
    if not np.isfinite(a0).all():
        return
    W = equations.robot.mass_matrix_inverse(q)[np.ix_(resting, resting)]
    bound = equations.friction[resting]
    force = box_forces(W, a0[resting], bound)
    sliding = np.abs(force) >= bound
    equations.slip[resting[sliding]] = -np.sign(force[sliding])
    equations.locked = resting[~sliding]


def margins(equations: Equations, t: float, q: Array, v: Array) -> Array:
    """Per freedom how far it is from another mode: positive while it keeps its own, infinite without friction.

    A sliding freedom's is its speed, a stuck one's the torque that it could still take.
    """
    result = np.full(equations.nv, np.inf)
    sliding = equations.slip != 0.0
    result[sliding] = (equations.slip * v)[sliding]
    locked = equations.locked
    if locked.size:
        equations.locked = np.zeros(0, dtype=int)
        try:
            a = equations.rates(t, q, v).a
        finally:
            equations.locked = locked
        bound = equations.friction[locked]
        result[locked] = bound * (1.0 + SLACK) - np.abs(equations.holding(q, a)[0])
    return result
