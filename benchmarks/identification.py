"""Physically consistent parameters of a seven-link arm: our two ways beside cvxpy with Clarabel, in one run.

    python benchmarks/identification.py

The same reduced problem (R, r) of a Panda-like arm with friction, from a noisy log of 20 s at 500 Hz, goes to all; each
takes turns, the minimum of ten counts. cvxpy is timed with building its problem, as who writes it would, and again with
the solver alone.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import clarabel  # noqa: F401  (the solver of two of the ways)
import cvxpy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import recursa as rc
from identified import log, vaguely, with_friction
from recursa.identification import identify as identifying
from recursa.identification.consistent import BASIS, Problem, conic, entropic, pseudo_inertia

ROUNDS = 10


def problem() -> Problem:
    """What the arm's log comes to, caught on its way to the solver."""
    kept: list[Problem] = []
    true = with_friction(rc.robots.panda_like())
    before = identifying.entropic
    try:
        identifying.entropic = lambda one: (kept.append(one), before(one))[1]
        rc.identify(vaguely(rc.robots.panda_like()), log(true, 1, duration=20.0, rate=500.0))
    finally:
        identifying.entropic = before
    return kept[0]


def by_cvxpy(one: Problem) -> tuple[np.ndarray, float]:
    """The program of ``conic`` in cvxpy, squares of distances and pseudo-inertias in cones; and the solver's time."""
    change = cvxpy.Variable(one.R.shape[1])
    step = change - one.start
    cost = 0.5 * cvxpy.sum_squares(one.R @ change - one.r)
    limits = []
    for columns, known in zip(one.bodies, one.inertias, strict=True):
        P0 = pseudo_inertia(known)
        back = np.linalg.inv(np.linalg.cholesky(P0))
        white = back @ BASIS @ back.T
        flat = white.reshape(10, 16).T
        cost += 0.5 * one.weight * cvxpy.sum_squares(flat @ step[columns])
        P = sum(step[int(k)] * BASIS[n] for n, k in enumerate(columns)) + P0
        limits.append(P >> 1e-4 * P0)
    cost += 0.5 * one.weight * cvxpy.sum_squares(cvxpy.multiply(step[one.positive], 1.0 / one.sizes))
    limits.append(step[one.positive] >= -one.sizes)
    free = np.setdiff1d(np.arange(len(one.start)), [*one.bodies.ravel(), *one.positive])
    if len(free):
        cost += 0.5 * one.weight * cvxpy.sum_squares(cvxpy.multiply(step[free], 1.0 / one.scales[free]))
    whole = cvxpy.Problem(cvxpy.Minimize(cost), limits)
    whole.solve(solver=cvxpy.CLARABEL)
    return np.array(change.value), float(whole.solver_stats.solve_time)


def main() -> None:
    """Time all in turns and print a table."""
    one = problem()
    ways = {
        "entropic": lambda: entropic(one).change,
        "conic": lambda: conic(one).change,
        "cvxpy": lambda: by_cvxpy(one)[0],
    }
    best, found = dict.fromkeys(ways, np.inf), {}
    alone = np.inf
    for _ in range(ROUNDS):
        for name, way in ways.items():
            start = time.perf_counter()
            found[name] = way()
            best[name] = min(best[name], time.perf_counter() - start)
        alone = min(alone, by_cvxpy(one)[1])
    print(f"{len(one.bodies)} bodies, {one.R.shape[1]} unknowns")
    for name in ways:
        left = one.R @ found[name] - one.r
        bodies = one.inertias + (found[name] - one.start)[one.bodies]
        ratios = np.linalg.solve(pseudo_inertia(one.inertias), pseudo_inertia(bodies))
        least = np.linalg.eigvals(ratios).real.min()
        told = f"sum of squares {left @ left:9.3f}, least pseudo-inertia {least:.1e} of the known one"
        print(f"{name:<9} {1e3 * best[name]:8.2f} ms   {best['cvxpy'] / best[name]:6.1f}x   {told}")
    print(f"cvxpy, the solver alone: {1e3 * alone:.2f} ms")
    apart = np.abs(found["conic"] - found["cvxpy"]).max() / np.abs(found["cvxpy"]).max()
    print(f"conic and cvxpy agree to {apart:.1e}")


if __name__ == "__main__":
    main()
