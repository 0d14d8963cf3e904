"""The two forms of CasADi functions: ``python benchmarks/casadi_forms.py [ROBOT ...]``, names as in every_size.py.

Of forward dynamics, its Jacobian and the Hessian of a sum of squares: seconds to make them, and microseconds of a call
inside CasADi (a map over states, so that no Python is measured), in turns, the fastest of each.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import casadi
import numpy as np
from every_size import robot_of

STATES, TURNS = 100, 15


def functions(robot: Any, form: str, order: int) -> dict[str, Any]:
    f = robot.casadi("forward_dynamics", form=form, derivatives=order)
    x = casadi.MX.sym("x", robot.nq + 2 * robot.nv)
    parts = casadi.vertsplit(x, [0, robot.nq, robot.nq + robot.nv, robot.nq + 2 * robot.nv])
    value = f(*parts)
    made = {"value": value, "Jacobian": casadi.jacobian(value, x)}
    if order == 2:
        made["Hessian"] = casadi.hessian(casadi.sumsqr(value), x)[0]
    return {name: casadi.Function("g", [x], [one]).map(STATES) for name, one in made.items()}


def main(names: list[str]) -> None:
    for name in names:
        robot = robot_of(name)
        order = 2 if robot.nbodies <= 12 else 1
        made, seconds = {}, {}
        for form in ("graph", "compiled"):
            start = time.perf_counter()
            made[form] = functions(robot, form, order)
            seconds[form] = time.perf_counter() - start
        q, v = robot.random_state(seed=1)
        states = casadi.DM(np.tile(np.concatenate([q, v, v])[:, None], (1, STATES)))
        for what in made["graph"]:
            best = dict.fromkeys(made, float("inf"))
            for _ in range(TURNS):
                for form, own in made.items():
                    start = time.process_time()
                    own[what](states)
                    best[form] = min(best[form], (time.process_time() - start) / STATES)
            told = ", ".join(f"{form} {best[form] * 1e6:.2f} us" for form in best)
            print(f"{name}: {what}: {told}: {best['graph'] / best['compiled']:.1f} times", flush=True)
        print(f"{name}: made in " + ", ".join(f"{form} {seconds[form]:.1f} s" for form in seconds), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["arm", "tree19", "talos"])
