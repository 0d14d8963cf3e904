"""Dry friction in joints: which degrees of freedom slide, which stick, and when that changes.

A sliding degree of freedom feels ``-friction sign(v)``. One at rest feels whatever torque keeps it at rest, as long as
that is at most ``friction``; otherwise it starts to slide. Friction may differ between positive speeds (f+) and
negative ones (f-). The torques at several degrees of freedom at rest depend on each other::

    a = a0 + W lambda,   -f+_i <= lambda_i <= f-_i,   a_i = 0 where it is between, else a_i lambda_i < 0

where W says what torques at them do to their accelerations: the inverse of the mass matrix, less what constraints keep
from moving. These are the optimality conditions of a convex quadratic program over a box. Its accelerations are unique,
and so are its torques in a tree, where W is positive definite.

In a closed loop, or between anchored feet, more joints rub than can move independently. W is then singular, and many
distributions of torque have the same effect. So of the joints that stick only as many are *locked* as are independent.
The others are *idle*: those that are locked determine them, and they help to hold with any torque within their bounds.
All of them stick as long as at least one distribution respects all bounds.
"""

from __future__ import annotations

from operator import mul
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linprog

from recursa.methods.matrices import MASS_MATRIX_INVERSE
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.simulation.equations import Equations

_SWEEPS = 4  # of projected Gauss-Seidel, to begin with
_REST = 1e-10  # s: a speed that friction alone would take away in this time counts as rest
_ROUNDING = 1e-13  # of the largest speed that a joint can have at the robot's kinetic energy
_DEAD = 1e-8  # compliance, relative to that in the tree, below which the others that stick determine a joint
_FAST = 3e-4  # of the largest speed at this energy: a joint that others determine and that is slower need not slide
_STARTS = 1e-12  # acceleration, relative to what enters it, above which a joint starts to slide
_TURNS = 1e-6  # the same for one that others determine
_RANK = 1e-11  # eigenvalue, relative to the largest, below which a compliance is zero
_OBEYED = 1e-14
SLACK = 1e-9
"""Excess over its friction, relative to it, at which a stuck joint is released; it then certainly starts to slide."""
MOST_SLACK = 1e-5


def holding_bounds(equations: Equations, freedoms: Array) -> tuple[Array, Array]:
    """The least and the largest torque with which friction holds joints; against positive speeds it is negative."""
    forward, backward = equations.friction[:, freedoms]
    return -forward, backward


def box_forces(W: Array, a0: Array, low: Array, high: Array) -> Array:
    """Minimise ``lambda.a0 + lambda.W lambda / 2`` between low and high, with W positive semidefinite.

    The acceleration ``a0 + W lambda`` is then zero where lambda is between its bounds, and opposes it at a bound. This
    is the primal active-set method: walk to the minimum over the entries that are free, stop at the first bound and
    keep the entry there, and free the entry that pulls away from its bound most. Along directions in which W is zero
    the walk ends at a bound.

    >>> box_forces(np.array([[2.0]]), np.array([3.0]), np.array([-1.0]), np.array([0.8]))
    array([-1.])
    >>> box_forces(np.array([[2.0]]), np.array([1.0]), np.array([-1.0]), np.array([0.8]))
    array([-0.5])
    """
    width = high - low  # in units of it all entries have the same dimension
    Q, g0, bottom, top = W * width[:, None] * width, a0 * width, low / width, high / width
    zero = _RANK * float(Q.diagonal().max(initial=0.0))
    loose = _OBEYED * (np.abs(g0) + np.abs(Q) @ np.maximum(-bottom, top))
    x = _swept(Q, g0, bottom, top)
    pinned = (x >= top).astype(int) - (x <= bottom)  # -1 at the lower bound, 1 at the upper one
    for _ in range(20 + 10 * len(a0)):
        free = np.flatnonzero(pinned == 0)
        gradient = g0 + Q @ x
        whole = not free.size
        if free.size:
            values, vectors = np.linalg.eigh(Q[np.ix_(free, free)])
            parts, curved = vectors.T @ gradient[free], values > zero
            flat = vectors[:, ~curved] @ parts[~curved]
            falling = bool((np.abs(flat) > loose[free]).any())
            way = -flat if falling else -(vectors[:, curved] @ (parts[curved] / values[curved]))
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(way > 0.0, (top - x)[free] / way, np.where(way < 0.0, (bottom - x)[free] / way, np.inf))
            first = int(np.argmin(room))
            whole = room[first] >= 1.0 and not falling
            x[free] += way * (1.0 if whole else room[first])
            if not whole:
                pinned[free[first]] = 1 if way[first] > 0.0 else -1
                x[free[first]] = (top if way[first] > 0.0 else bottom)[free[first]]
        if whole:
            pull = pinned * (g0 + Q @ x)  # above zero where the minimum is away from the bound
            worst = int(np.argmax(pull - loose))
            if not pull[worst] > loose[worst]:
                break
            pinned[worst] = 0
    return np.where(pinned < 0, low, np.where(pinned > 0, high, np.clip(x * width, low, high)))


def _swept(Q: Array, g0: Array, bottom: Array, top: Array) -> Array:
    """A few sweeps of projected Gauss-Seidel, which guess most of the bounds right."""
    rows, offsets = Q.tolist(), g0.tolist()  # on few numbers floats are faster than arrays
    bounds, x = list(zip(bottom.tolist(), top.tolist(), strict=True)), [0.0] * len(offsets)
    for _ in range(_SWEEPS):
        for i, (row, offset, (least, most)) in enumerate(zip(rows, offsets, bounds, strict=True)):
            if row[i] > 0.0:
                x[i] = min(max(x[i] - (offset + sum(map(mul, row, x))) / row[i], least), most)
    return np.array(x)


def _rest_speeds(equations: Equations, q: Array, v: Array, W: Array) -> tuple[Array, Array, Array]:
    """Per degree of freedom: compliance in the tree, speed below which it is at rest, the same where it may be idle.

    The latter two differ if others that stick determine a joint, not the constraints alone: at the kinetic energy of
    this state its friction then has no effect but to share their load.
    """
    tree = np.diagonal(equations.robot.evaluator.tree.evaluate(MASS_MATRIX_INVERSE, {"q": q}))
    energy = float(v @ equations.robot.mass_matrix(q) @ v)
    fastest = np.sqrt(np.maximum(tree * energy, 0.0))
    slow = _REST * tree * equations.friction.max(axis=0) + _ROUNDING * fastest
    return tree, slow, slow + np.where(W.diagonal() > _DEAD * tree, _FAST, 0.0) * fastest


def settle(equations: Equations, t: float, q: Array, v: Array, changed: int | None = None, stalls: int = 0) -> Array:
    """Set the modes for a state and return its speeds, with exact zeros for what friction holds.

    Joints that move slide; of those at rest some stick. ``changed`` is the degree of freedom whose margin has come to
    zero, if one has: if it slid it is at rest, whatever rounding says. After ``stalls`` changes at the same instant,
    rounding would decide; the excess of torque at which joints are released then grows a little with each.
    """
    stops = changed is not None and equations.slip[changed] != 0.0
    equations.slack, equations.at_rest = min(MOST_SLACK, SLACK * 10.0**stalls), False
    equations.slip, equations.locked = np.zeros(equations.nv), np.zeros(0, dtype=int)
    if not np.isfinite(v).all():
        return v
    W = equations.compliance(q)
    tree, slow, slower = _rest_speeds(equations, q, v, W)
    resting = equations.rubbing & (np.abs(v) <= slow)
    if stops:
        resting[changed] = True
    if resting.any():
        equations.locked, yielding = independent(W, tree, np.flatnonzero(resting))
        v = equations.obeying(q, v)
        resting |= equations.rubbing & (np.abs(v) <= np.where(yielding <= _DEAD, slower, slow))
        equations.locked = np.zeros(0, dtype=int)
    while True:
        equations.slip = np.where(equations.rubbing & ~resting, np.sign(v), 0.0)
        still = np.flatnonzero(resting)
        a0 = equations.rates(t, q, v).a[still] if still.size else np.zeros(0)
        if not np.isfinite(a0).all() or not still.size:
            return v
        W_still, (low, high) = W[np.ix_(still, still)], holding_bounds(equations, still)
        a = a0 + W_still @ box_forces(W_still, a0, low, high)
        scale = np.abs(a0) + np.abs(W_still) @ np.maximum(-low, high)
        locked, yielding = independent(W, tree, still[np.abs(a) <= _STARTS * scale])
        moving = resting & (np.abs(v) > slow) & (yielding > _DEAD)
        moving[locked] = False
        if not moving.any():
            break
        resting &= ~moving  # what determined them starts to slide, and so they do
    starts = np.abs(a) > np.where(yielding[still] <= _DEAD, _TURNS, _STARTS) * scale
    equations.locked = locked
    v = equations.obeying(q, v) if locked.size else v
    starts &= ~((np.abs(v) > slow) & (yielding <= _DEAD))[still] & ~np.isin(still, locked)
    equations.slip[still[starts]] = np.sign(a[starts])
    equations.at_rest = equations.told is None and not equations.slip.any() and bool((yielding <= _DEAD).all())
    return equations.obeying(q, v) if equations.at_rest else v


def independent(W: Array, tree: Array, candidates: Array) -> tuple[Array, Array]:
    """Candidates that can move independently, rising, and how much all others still yield when these are locked.

    The latter is relative to the tree. This is a Cholesky factorisation that takes the largest pivot first.
    """
    size = np.sqrt(tree)
    C = W / size[:, None] / size
    chosen = list[int]()
    while candidates.size:
        best = int(candidates[np.argmax(C.diagonal()[candidates])])
        if C[best, best] <= _DEAD:
            break
        C = C - np.outer(C[:, best], C[best]) / C[best, best]
        chosen.append(best)
        candidates = candidates[candidates != best]
    return np.array(sorted(chosen), dtype=int), np.asarray(C.diagonal())


def margins(equations: Equations, t: float, q: Array, v: Array) -> Array:
    """Per degree of freedom the distance from another mode: positive while it keeps its own, infinite without friction.

    A sliding one's is its speed; a locked one's the share of its friction that it could still bear; an idle one's the
    speed that it could still gain.
    """
    result = np.full(equations.nv, np.inf)
    sliding, locked = equations.slip != 0.0, equations.locked
    result[sliding] = (equations.slip * v)[sliding]
    idle = equations.rubbing & ~sliding
    idle[locked] = False
    W = equations.compliance(q) if locked.size or idle.any() else np.zeros((0, 0))
    if idle.any():
        result[idle] = (2.0 * _rest_speeds(equations, q, v, W)[2] - np.abs(v))[idle]
    if locked.size:
        equations.locked = np.zeros(0, dtype=int)
        try:
            a = equations.rates(t, q, v).a[locked]
        finally:
            equations.locked = locked
        if not np.isfinite(a).all():
            result[locked] = np.nan
            return result
        bearing = np.concatenate([locked, np.flatnonzero(idle)])
        result[locked] = _reserves(W[np.ix_(locked, bearing)], a, *holding_bounds(equations, bearing), equations.slack)
    return result


def _reserves(W: Array, a: Array, low: Array, high: Array, slack: float) -> Array:
    """What locked joints (rows) could still bear, as a share of their friction; below zero if no torques hold them.

    The torques ``middle + half u`` at locked and idle joints (columns) hold them if ``W (middle + half u) = -a``. Where
    nothing is idle there is one such u. Otherwise, if the shortest leaves the box, a linear program looks for the one
    whose largest entry is least.
    """
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    Q, limit = W * half, 1.0 + slack * np.maximum(-low, high) / half
    u, *_ = np.linalg.lstsq(Q, -(a + W @ middle), rcond=None)
    reserves: Array = limit - np.abs(u)
    count = len(a)
    if len(u) > count and (reserves < 0.0).any():
        null = np.linalg.svd(Q)[2][count:].T
        rows = np.block([[null, -limit[:, None]], [-null, -limit[:, None]]])
        cost = np.append(np.zeros(len(u) - count), 1.0)
        options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        least = linprog(cost, rows, np.concatenate([-u, u]), bounds=(None, None), options=options)
        u = u if least.x is None else u + null @ least.x[:-1]
        reserves = np.full(count, np.inf)
        reserves[0] = 1.0 - float((np.abs(u) / limit).max())
    return reserves[:count]
