"""From how many joints on O(n) forward dynamics wins: ``python benchmarks/where_linear_wins.py``.

Saha (1999), introduction and Table 2: O(n) methods are more efficient than composite bodies with a linear solve from
n = 12 on. Counted by the rules of the table (without the bias torques, as in print), and timed: general chains of
revolute joints, all with bias torques, as straight-line code in one kernel each, in batches of 8192
states on one thread, measured in turns; the fastest turn of each counts. ``method="composite"`` of the library makes
the matrix in a kernel and leaves the solve to LAPACK, which takes longer for arms: it is not what is timed here.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from every_size import fastest
from recursa.counts.solving import solve_symmetric

import recursa as rc
from recursa.counts.polynomials import Polynomial
from recursa.dynamics.gathering import joint_matrix, joint_vector
from recursa.dynamics.mass_matrix import equations_of_motion_plan
from recursa.methods.inverse_and_forward import FORWARD_DYNAMICS
from recursa.model.may_move import MayMove
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip
from recursa.sweeps.fusing import fuse

SIZES = (2, 4, 6, 8, 9, 10, 11, 12, 13, 14, 16, 20, 24)
STATES = 8192
GIVEN = Step(lambda tau: tau, ("tau",), ("given",), "the torques")
PLAN = fuse(equations_of_motion_plan(), Plan("given", (Buffer("given", None),), (base_to_tip(GIVEN),)))


def _composite(of: Subject, given: Names) -> Recipe:
    """Mass matrix by composite bodies, bias, and the solve of Walker & Orin's third method, spelled out."""
    n = of.model.nv

    def gather(values: Values) -> list[Any]:
        flat, bias = list(joint_matrix(of.model, values["rows"], symmetric=True)), joint_vector(of.model, values["T"])
        right = [tau - c for (tau,), c in zip(values["given"], bias, strict=True)]
        return solve_symmetric([flat[n * i : n * i + n] for i in range(n)], right)

    return Recipe(PLAN, gather, (n,), MayMove.INERTIAS, form="straight")


COMPOSITE = Quantity("benchmarks.composite", ("q", "v", "tau"), _composite, "accelerations", exported=False)
METHODS: dict[str, tuple[Quantity, dict[str, str]]] = {
    "articulated": (FORWARD_DYNAMICS, {"method": "articulated"}),
    "denoc": (FORWARD_DYNAMICS, {"method": "denoc"}),
    "composite": (COMPOSITE, {}),
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


def _asked(robot: rc.Robot, quantity: Quantity, options: dict[str, str], given: dict[str, Any], out: Any) -> Any:
    return robot.evaluator.evaluate(quantity, given, options, out=out)


def timed() -> None:
    """Nanoseconds per state of a batch."""
    print(f"{'ns':<14}", *(f"{name:>12}" for name in METHODS))
    for n in SIZES:
        robot = rc.robots.chain(n, seed=3)
        q, v, tau = (np.random.default_rng(k).normal(size=(STATES, n)) for k in range(3))
        given, out = {"q": q, "v": v, "tau": tau}, np.empty_like(q)
        calls = [partial(_asked, robot, *method, given, out) for method in METHODS.values()]
        first, *others = (call().copy() for call in calls)
        assert all(np.allclose(first, other, rtol=1e-6) for other in others)
        times = np.array(fastest(*calls)) / STATES * 1e9
        print(f"{n:<14}", *(f"{time:12.0f}" for time in times), flush=True)


if __name__ == "__main__":
    counted()
    timed()
