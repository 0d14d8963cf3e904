"""Dry friction: which freedoms slide, which stick, and when that changes.

A freedom that slides feels ``-friction sign(v)``. One at rest feels whatever torque keeps it at rest, as long as that
is at most ``friction``; else it starts to slide. Friction may be f+ against positive speeds and f- against negative
ones. For several freedoms at rest the torques depend on each other::

    a = a0 + W lambda,   -f+_i <= lambda_i <= f-_i,   a_i = 0 where it is between, else a_i lambda_i < 0

with ``W = inv(mass matrix)`` restricted to them. It is what minimises a convex function (W is positive definite):
there is exactly one solution.
"""

from __future__ import annotations

from operator import mul

import numpy as np

from recursa.simulation.equations import Equations
from recursa.sweeps.batching import Array

_SWEEPS = 3  # of Gauss and Seidel between two exact solves
_ROUNDS = 1000
_DEAD = 1e-9  # of what a freedom would yield in the tree
SLACK = 1e-9
"""By how much of its friction a torque may exceed it before a stuck freedom is let go; then it certainly moves."""


def holding_bounds(equations: Equations, freedoms: Array) -> tuple[Array, Array]:
    """The least and the largest torque with which friction holds freedoms; against positive speeds it is negative."""
    forward, backward = equations.friction[:, freedoms]
    return -forward, backward


def box_forces(W: Array, a0: Array, low: Array, high: Array) -> Array:
    """The lambda between low and high with ``a0 + W lambda`` zero where it is between, and against it at a bound.

    Projected Gauss-Seidel, which converges from anywhere, finds which bounds hold; as soon as it has, a linear solve
    gives exact values.

    >>> box_forces(np.array([[2.0]]), np.array([3.0]), np.array([-1.0]), np.array([0.8]))
    array([-1.])
    >>> box_forces(np.array([[2.0]]), np.array([1.0]), np.array([-1.0]), np.array([0.8]))
    array([-0.5])
    """
    rows, offsets = W.tolist(), a0.tolist()  # on few numbers floats are faster than arrays
    bounds = list(zip(low.tolist(), high.tolist(), strict=True))
    force = np.clip(-a0 / np.diagonal(W), low, high).tolist()
    exact = np.array(force)
    for _ in range(_ROUNDS):
        for _ in range(_SWEEPS):
            for i, (row, offset, (least, most)) in enumerate(zip(rows, offsets, bounds, strict=True)):
                a = offset + sum(map(mul, row, force))
                force[i] = min(max(force[i] - a / row[i], least), most)
        exact = np.array(force)
        inside = (exact > low) & (exact < high)
        if inside.any():
            rest = a0[inside] + W[np.ix_(inside, ~inside)] @ exact[~inside]
            exact[inside] = _shares(W[np.ix_(inside, inside)], -rest)
        accelerations = a0 + W @ exact
        held = ((exact >= low) & (exact <= high))[inside].all()
        if held and (accelerations * np.where(exact >= high, 1.0, -1.0))[~inside].max(initial=0.0) <= 0.0:
            return exact
    return np.clip(exact, low, high)


def _shares(W: Array, right: Array) -> Array:
    """The solution of ``W x = right``; where loops let some freedoms hold others the shortest one."""
    try:
        x = np.linalg.solve(W, right)
    except np.linalg.LinAlgError:
        x = np.full(len(right), np.inf)
    small = np.abs(x).max(initial=0.0) * np.abs(W).max(initial=0.0) <= 1e9 * max(np.abs(right).max(initial=0.0), 1e-300)
    return x if small else np.linalg.lstsq(W, right, rcond=1e-10)[0]


def settle(equations: Equations, t: float, q: Array, v: Array) -> None:
    """Set the modes for a state: freedoms that move slide, of those at rest some stick."""
    equations.slip, equations.locked = np.where(equations.rubbing, np.sign(v), 0.0), np.zeros(0, dtype=int)
    resting = np.flatnonzero(equations.rubbing & (v == 0.0))
    if not resting.size:
        return
    a0 = equations.rates(t, q, v).a
    if not np.isfinite(a0).all():
        return
    yields = np.diagonal(equations.compliance(q))
    stiff = resting[yields[resting] <= _DEAD * np.diagonal(equations.robot.mass_matrix_inverse(q))[resting]]
    equations.slip[stiff] = np.sign(a0[stiff])  # a dead point of a loop: friction cannot hold it, it only turns round
    resting = np.setdiff1d(resting, stiff)
    if not resting.size:
        return
    W = equations.compliance(q)[np.ix_(resting, resting)]
    low, high = holding_bounds(equations, resting)
    force = box_forces(W, a0[resting], low, high)
    sliding = (force <= low) | (force >= high)
    equations.slip[resting[sliding]] = np.where(force <= low, 1.0, -1.0)[sliding]
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
        (low, high), force = holding_bounds(equations, locked), equations.holding(q, a)[0]
        result[locked] = np.minimum(high * (1.0 + SLACK) - force, force - low * (1.0 + SLACK))
    return result
