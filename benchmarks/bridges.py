"""The robot inside JAX beside its own call: batches of 10,000, in turns, minima. ``python benchmarks/bridges.py``"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import recursa as rc

BATCH, TURNS = 10_000, 60


def minima(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Seconds of the fastest turn of each."""
    for call in calls.values():
        jax.block_until_ready(call())
    found = dict.fromkeys(calls, float("inf"))
    for _ in range(TURNS):
        for name, call in calls.items():
            start = time.perf_counter()
            jax.block_until_ready(call())
            found[name] = min(found[name], time.perf_counter() - start)
    return found


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    robot = rc.robots.panda_like()
    rj, state = robot.jax(), np.random.default_rng(0).normal(size=(3, BATCH, robot.nv))
    arrays = [jnp.asarray(x) for x in state]
    forward = jax.jit(rj.forward_dynamics)
    gradient = jax.jit(jax.grad(lambda *x: jnp.sum(rj.forward_dynamics(*x) ** 2), argnums=(0, 1, 2)))
    calls = {
        "robot.forward_dynamics": lambda: robot.forward_dynamics(*state),
        "under jax.jit": lambda: forward(*arrays),
        "gradient of a sum, jax.jit": lambda: gradient(*arrays),
    }
    try:
        import torch
    except ImportError:
        pass
    else:
        rt, tensors = robot.torch(), [torch.from_numpy(x) for x in state]
        calls["torch"] = lambda: rt.forward_dynamics(*tensors).numpy()
    found = minima(calls)
    own = found["robot.forward_dynamics"]
    for name, seconds in found.items():
        print(f"{name:28} {seconds / BATCH * 1e9:8.1f} ns a state  {seconds / own:5.2f}")


if __name__ == "__main__":
    main()
