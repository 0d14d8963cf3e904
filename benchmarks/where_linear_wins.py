"""From how many joints on O(n) forward dynamics wins: ``python benchmarks/where_linear_wins.py``.

Saha (1999), introduction and Table 2: O(n) methods are more efficient than composite bodies with a linear solve from
n = 12 on. Counted by the rules of the table (without the bias torques, as in print), and timed: chains of revolute
joints in one call and in batches of 512 states on one thread, all with bias torques, measured in turns; the fastest
turn of each counts.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from every_size import fastest

import recursa as rc
from recursa.counts.polynomials import Polynomial

SIZES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 24)
STATES = 512
METHODS: dict[str, dict[str, str]] = {
    "articulated": {"method": "articulated"},
    "denoc": {"method": "denoc"},
    "composite": {"method": "composite"},
    "walker-orin": {"method": "composite", "mass": "walker-orin", "bias": "luh-walker-paul"},
}


def counted() -> None:
    """Multiplications and additions of Table 2, print's and ours, and where two of them cross."""
    rows = {row.method: row for row in rc.tables("saha-2") if row.geometry == "general"}
    sums = {
        f"{method}, {whose}": [Polynomial.read(getattr(row, f"{whose}_{kind}")) for kind in ("mul", "add")]
        for method, row in rows.items()
        for whose in ("printed", "ours")
        if getattr(row, f"{whose}_mul") is not None and "included" not in method
    }
    print(f"{'operations':<36}", *(f"{n:>6}" for n in SIZES))
    for name, parts in sums.items():
        print(f"{name:<36}", *(f"{int(sum(part(n) for part in parts)):>6}" for n in SIZES))


def timed() -> None:
    """Nanoseconds per state."""
    for batch in (False, True):
        print(f"{'ns, batch' if batch else 'ns, one call':<14}", *(f"{name:>12}" for name in METHODS))
        for n in SIZES:
            robot = rc.robots.chain(n, seed=3)
            q, v, tau = (np.random.default_rng(k).normal(size=(STATES, n) if batch else n) for k in range(3))
            out = {"out": np.empty((STATES, n))} if batch else {}
            calls = [partial(robot.forward_dynamics, q, v, tau, **options, **out) for options in METHODS.values()]
            times = np.array(fastest(*calls)) / (STATES if batch else 1) * 1e9
            print(f"{n:<14}", *(f"{time:12.0f}" for time in times), flush=True)


if __name__ == "__main__":
    counted()
    timed()
