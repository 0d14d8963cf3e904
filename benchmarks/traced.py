"""The traced form of JAX, without native code: ``python benchmarks/traced.py [ROBOT ...]``, names as in every_size.py.

Of forward dynamics: the operations that the loop does over those of our graph, seconds from the first call to the first
number (tracing, scheduling, XLA's compiling), then microseconds of one state and of a state in a batch of 1,000.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from every_size import robot_of

from recursa.bridges.differentiable import Arguments
from recursa.bridges.jax_tracing import scheduled


def fastest(call: Callable[[], Any], turns: int) -> float:
    """Seconds of the fastest turn."""
    found = []
    for _ in range(turns):
        start = time.perf_counter()
        jax.block_until_ready(call())
        found.append(time.perf_counter() - start)
    return min(found)


def main(names: list[str]) -> None:
    jax.config.update("jax_enable_x64", True)
    jax.jit(jnp.sin)(jnp.ones(3)).block_until_ready()  # JAX itself has started
    for name in names:
        robot = robot_of(name)
        rj, rng = robot.jax(implementation="traced"), np.random.default_rng(0)
        q, v = robot.random_state(seed=1)
        state = [jnp.asarray(x) for x in (q, v, rng.normal(size=robot.nv))]
        f = jax.jit(rj.forward_dynamics)
        start = time.perf_counter()
        f(*state).block_until_ready()
        first = time.perf_counter() - start
        function = rj._robot.asked(Arguments.of("forward_dynamics", tuple(state), {})).function
        own = function.graph.counts([x for x in function.outputs if isinstance(x, int)]).total
        plan = scheduled(function)
        one = fastest(lambda f=f, state=state: f(*state), 100)
        rows = [jnp.tile(x, (1000, 1)) for x in state]
        f(*rows).block_until_ready()
        batch = fastest(lambda f=f, rows=rows: f(*rows), 10) / 1000
        print(
            f"{name:14} {robot.nbodies:4} bodies  {own:6} operations, times {plan.operations / own:.2f}, "
            f"{len(plan.which):5} turns of {plan.width:3}  first number {first:.2f} s  "
            f"one state {one * 1e6:6.0f} us  in a batch {batch * 1e6:6.2f} us",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:] or ["arm", "talos", "tree40", "chain100"])
