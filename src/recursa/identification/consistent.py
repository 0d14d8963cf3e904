"""Parameters that a real robot can have: every body's pseudo-inertia positive definite, friction and armature positive.

The pseudo-inertia of a body is ``P = [[S, m c], [m c*, m]]`` with ``S = tr(I)/2 - I``; some distribution of mass has
these ten parameters just where P is positive definite (Wensing, Kim and Slotine, 2018). Nearness to the robot as it is
known is measured by the divergence ``D(P, P0) = tr(P0^-1 P) - log det(P0^-1 P) - 4``, which does not depend on axes or
units (Lee, Wensing and Park, 2020), and for a positive number by the same in one dimension. Both ways below minimise

    |R x - r|^2 / 2  +  weight * (sum of nearness)

- :func:`entropic`: with the divergence itself. It is convex and grows beyond all bounds where a body ceases to be one,
  so Newton's method stays inside and finds the one minimum.
- :func:`conic`: with its second-order part, a square, and the constraints as a cone program for Clarabel.

Both work in coordinates in which the square of the distance from the known robot is a sum of squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from recursa.dynamics import reference
from recursa.errors import ConvergenceError, StateError
from recursa.sweeps.batching import Array

_ROUNDS = 200
_DECREMENT = 1e-12  # of what is minimised: half the square of Newton's decrement, below which it is at the minimum
_NEAR, _EASED = 0.1, 0.03  # the same on the way, of the weight there; from one weight to the next
_SHORTEST = 1e-10  # of a step
_LEAST = 1e-4  # of the known robot: so much pseudo-inertia every body keeps in a cone program
_THIN = 0.02  # of a usual length: the least radius of gyration that a known body is taken to have


BASIS: Array = np.moveaxis(np.array(reference.pseudo_inertia(list(np.eye(10)))), -1, 0)
"""The pseudo-inertias (10, 4, 4) of unit parameters, in the regressor's order."""


def pseudo_inertia(parameters: Array) -> Array:
    """P (..., 4, 4) of ten parameters (..., 10).

    >>> pseudo_inertia(np.array([2.0, 0, 0, 0, 0.3, 0, 0.3, 0, 0, 0.3])).diagonal().round(3).tolist()
    [0.15, 0.15, 0.15, 2.0]
    """
    return np.einsum("...k,kij->...ij", parameters, BASIS)


def parameters_of(P: Array) -> Array:
    """Ten parameters of a pseudo-inertia (4, 4)."""
    S = P[:3, :3]
    moment = np.trace(S) * np.eye(3) - S
    entries = [moment[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
    return np.array([P[3, 3], *P[:3, 3], *entries])


def sound(parameters: Array, length: float) -> Array:
    """The nearest parameters about the same centre of mass of a body with some thickness; its own, if it has."""
    P = pseudo_inertia(parameters)
    mass, center = P[3, 3], P[:3, 3] / P[3, 3]
    sizes, axes = np.linalg.eigh(P[:3, :3] - mass * np.outer(center, center))
    least = mass * max((_THIN * length) ** 2, 0.01 * max(sizes[-1], 0.0) / mass)
    if sizes[0] >= least:
        return parameters
    P[:3, :3] = (axes * np.maximum(sizes, least)) @ axes.T + mass * np.outer(center, center)
    return parameters_of(P)


@dataclass(frozen=True, eq=False)
class Problem:
    """Least squares ``|R x - r|^2 / 2`` over changes x (columns,), with what is known and has to hold.

    ``start`` (columns,) is the change that leads to the centre of what is known; ``bodies`` (nbodies, 10) are numbers
    of columns, with their known parameters ``inertias`` (nbodies, 10); ``positive`` numbers of columns with their usual
    ``sizes``; all others are free, with usual sizes ``scales`` (columns,). ``weight``: of what is known, against data
    in standard deviations.
    """

    R: Array
    r: Array
    start: Array
    bodies: Array
    inertias: Array
    positive: Array
    sizes: Array
    scales: Array
    weight: float


class Solution(NamedTuple):
    """The change x (columns,), its covariance, and how many steps were needed."""

    change: Array
    covariance: Array
    steps: int


class _Coordinates:
    """``x = start + T z``: z = 0 is what is known, and |z|^2/2 the nearness to second order."""

    def __init__(self, problem: Problem) -> None:
        count = problem.R.shape[1]
        self.problem = problem
        self.T = np.diag(problem.scales)
        self.blocks = np.zeros((len(problem.bodies), 10, 4, 4))
        for k, (columns, known) in enumerate(zip(problem.bodies, problem.inertias, strict=True)):
            back = np.linalg.inv(np.linalg.cholesky(pseudo_inertia(known)))
            white = back @ BASIS @ back.T
            metric = np.einsum("kij,lji->kl", white, white)  # the second derivatives of -log det at the known body
            turn = np.linalg.inv(np.linalg.cholesky(metric)).T
            self.T[np.ix_(columns, columns)] = turn
            self.blocks[k] = np.einsum("lij,lk->kij", white, turn)
        self.T[problem.positive, problem.positive] = problem.sizes
        self.matrix = problem.R @ self.T
        self.left = problem.r - problem.R @ problem.start
        self.free = np.setdiff1d(np.arange(count), [*problem.bodies.ravel(), *problem.positive]).astype(int)

    def inside(self, z: Array) -> Array:
        """The pseudo-inertias relative to the known ones, (nbodies, 4, 4)."""
        return np.eye(4) + np.einsum("bkij,bk->bij", self.blocks, z[self.problem.bodies])

    def solution(self, z: Array, hessian: Array, steps: int) -> Solution:
        """Back in the columns of the problem."""
        covariance = self.T @ np.linalg.inv(hessian) @ self.T.T
        return Solution(self.problem.start + self.T @ z, 0.5 * (covariance + covariance.T), steps)


def entropic(problem: Problem) -> Solution:
    """The minimum with the divergence: from what is known towards the data, with less and less weight on the former."""
    on = _Coordinates(problem)
    z = np.zeros(problem.R.shape[1])
    gram, steps = on.matrix.T @ on.matrix, 0
    weight = max(problem.weight, 0.5 * float(on.left @ on.left) / max(1, len(z)))
    while True:
        last = weight <= problem.weight
        z, hessian, more = _newton(on, z, gram, weight, exact=last)
        steps += more
        if last:
            return on.solution(z, hessian, steps)
        weight = max(problem.weight, _EASED * weight)


def _newton(on: _Coordinates, z: Array, gram: Array, weight: float, *, exact: bool) -> tuple[Array, Array, int]:
    """Newton's method for one weight, with steps that are halved until they lead down; Hessian and number of steps."""
    value = _value(on, z, weight)
    for step in range(_ROUNDS):
        gradient, hessian = _derivatives(on, z, gram, weight)
        direction = -np.linalg.solve(hessian, gradient)
        slope = float(gradient @ direction)
        if -0.5 * slope <= (_DECREMENT * (1.0 + abs(value)) if exact else _NEAR * weight):
            return z, hessian, step
        length, before = 1.0, value
        while True:
            value = _value(on, z + length * direction, weight)
            if value <= before + 0.25 * length * slope:
                break
            length *= 0.5
            if length < _SHORTEST:  # rounding: there is no way down any more
                return z, hessian, step
        z = z + length * direction
    raise ConvergenceError(f"no consistent parameters were found in {_ROUNDS} steps; the log may not fit the robot")


def _value(on: _Coordinates, z: Array, weight: float) -> float:
    """What is minimised; infinite where a body is none."""
    problem = on.problem
    ratio = 1.0 + z[problem.positive]
    if (ratio <= 0.0).any():
        return np.inf
    inside = on.inside(z)
    try:
        roots = np.linalg.cholesky(inside)
    except np.linalg.LinAlgError:
        return np.inf
    logs = 2.0 * np.log(np.diagonal(roots, axis1=1, axis2=2)).sum()
    near = np.trace(inside, axis1=1, axis2=2).sum() - logs + (ratio - np.log(ratio)).sum()
    near += 0.5 * np.square(z[on.free]).sum()
    left = on.left - on.matrix @ z
    return float(0.5 * left @ left + weight * near)


def _derivatives(on: _Coordinates, z: Array, gram: Array, weight: float) -> tuple[Array, Array]:
    problem = on.problem
    gradient, hessian = on.matrix.T @ (on.matrix @ z - on.left), gram.copy()
    ratio = 1.0 + z[problem.positive]
    gradient[problem.positive] += weight * (1.0 - 1.0 / ratio)
    hessian[problem.positive, problem.positive] += weight / np.square(ratio)
    gradient[on.free] += weight * z[on.free]
    hessian[on.free, on.free] += weight
    turned = np.linalg.inv(on.inside(z))[:, None] @ on.blocks  # Q^-1 B_k
    slopes = np.trace(on.blocks, axis1=2, axis2=3) - np.trace(turned, axis1=2, axis2=3)
    curved = np.einsum("bkij,blji->bkl", turned, turned)
    for columns, slope, curve in zip(problem.bodies, slopes, curved, strict=True):
        gradient[columns] += weight * slope
        hessian[np.ix_(columns, columns)] += weight * curve
    return gradient, hessian


def nearest(problem: Problem, matrix: Array, values: Array, covariance: Array) -> Solution:
    """The smallest change, to second order of the divergence, with ``matrix @ change = values``; physical or not.

    Directions that torques do not tell are as uncertain as they were before.
    """
    T = _Coordinates(problem).T
    seen = matrix @ T
    inverse = np.linalg.pinv(seen)
    back, hidden = T @ inverse, T @ (np.eye(len(T)) - inverse @ seen)
    return Solution(back @ values, back @ covariance @ back.T + hidden @ hidden.T / problem.weight, 0)


def conic(problem: Problem) -> Solution:
    """The minimum with the square of the distance, pseudo-inertias within the cone: by Clarabel, an extra.

    Over z and ``y = M z - left``, which enter squares with ones and weights on the diagonal: squaring M instead would
    cost half the digits.
    """
    clarabel, sparse = _clarabel()
    on = _Coordinates(problem)
    rows, count = on.matrix.shape
    matrix, bound, cones = [np.hstack([-on.matrix, np.eye(rows)])], [-on.left], [clarabel.ZeroConeT(rows)]
    upper = [(i, j) for j in range(4) for i in range(j + 1)]  # the upper triangle, column by column
    for columns, block in zip(problem.bodies, on.blocks, strict=True):
        part = np.zeros((10, count + rows))
        for row, (i, j) in enumerate(upper):
            part[row, columns] = -block[:, i, j] * (1.0 if i == j else np.sqrt(2.0))
        matrix.append(part)
        bound.append(np.array([(1.0 - _LEAST) * (i == j) for i, j in upper]))
        cones.append(clarabel.PSDTriangleConeT(4))
    if len(problem.positive):
        part = np.zeros((len(problem.positive), count + rows))
        part[np.arange(len(part)), problem.positive] = -1.0
        matrix.append(part)
        bound.append(np.ones(len(part)))
        cones.append(clarabel.NonnegativeConeT(len(part)))
    squares = sparse.diags(np.r_[np.full(count, problem.weight), np.ones(rows)], format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    whole = sparse.csc_matrix(np.concatenate(matrix)), np.concatenate(bound)
    found = clarabel.DefaultSolver(squares, np.zeros(count + rows), *whole, cones, settings).solve()
    z = np.array(found.x)[:count]
    if str(found.status) not in ("Solved", "AlmostSolved") or not np.isfinite(z).all():
        raise ConvergenceError(f"the cone program was not solved: Clarabel says {found.status}")
    hessian = on.matrix.T @ on.matrix + problem.weight * np.eye(count)
    return on.solution(_drawn_in(on, z), hessian, int(found.iterations))


def _drawn_in(on: _Coordinates, z: Array) -> Array:
    """The same, drawn towards what is known by so little that rounding of the solver leaves no body outside."""
    for share in (0.0, 1e-9, 1e-7, 1e-5, 1e-3):
        near = (1.0 - share) * z
        if np.isfinite(_value(on, near, 1.0)):
            return near
    raise ConvergenceError("the cone program ended outside its cone")


def _clarabel() -> tuple[Any, Any]:
    try:
        import clarabel
    except ImportError:
        raise StateError(
            'method="conic" needs Clarabel: pip install "recursa[identification]". method="entropic" needs nothing'
        ) from None
    from scipy import sparse

    return clarabel, sparse
