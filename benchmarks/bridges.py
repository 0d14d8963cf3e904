"""The robot inside JAX and PyTorch beside its own call, in turns, minima: ``python benchmarks/bridges.py [ROBOT ...]``.

Robots: arm, chain30, tree60 ..., and files of example-robot-data by name (talos, on a free base), where these are
installed. First how long the first value and the first gradient take, with nothing kept on disk.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import recursa as rc

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")  # one thread each
TURNS, SECONDS = 60, 20.0
FILES = {"talos": "talos_full_v2.urdf", "go1": "go1.urdf"}


def robot_of(name: str) -> tuple[rc.Robot, int]:
    """A robot by name, and the states of a batch."""
    if name == "arm":
        return rc.robots.panda_like(), 10_000
    if name in FILES:
        places = (place / "cmeel.prefix/share/example-robot-data" for place in map(Path, sys.path))
        return rc.load(next(p for place in places for p in place.rglob(FILES[name])), floating=True), 2_000
    made = rc.robots.chain if name.startswith("chain") else rc.robots.tree
    return made(int(name.lstrip("chaintre"))), 2_000


def minima(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Seconds of the fastest turn of each."""
    for call in calls.values():
        jax.block_until_ready(call())
    found, end = dict.fromkeys(calls, float("inf")), time.perf_counter() + SECONDS
    for turn in range(TURNS):
        for name, call in calls.items():
            start = time.perf_counter()
            jax.block_until_ready(call())
            found[name] = min(found[name], time.perf_counter() - start)
        if turn >= 5 and time.perf_counter() > end:
            break
    return found


def of_torch(robot: rc.Robot, state: list[Any]) -> dict[str, Callable[[], Any]]:
    try:
        import torch
    except ImportError:
        return {}
    torch.set_num_threads(1)
    rt, tensors = robot.torch(), [torch.from_numpy(x) for x in state]
    moving = [x.clone().requires_grad_() for x in tensors]

    def gradient() -> Any:
        return [x.numpy() for x in torch.autograd.grad(rt.forward_dynamics(*moving).square().sum(), moving)]

    return {"torch": lambda: rt.forward_dynamics(*tensors).numpy(), "gradient of a sum, torch": gradient}


def measured(name: str) -> None:
    robot, batch = robot_of(name)
    rng = np.random.default_rng(0)
    q = np.array([robot.random_state(rng)[0] for _ in range(100)])[rng.integers(100, size=batch)]
    state = [q, *rng.normal(size=(2, batch, robot.nv))]
    arrays, rj = [jnp.asarray(x) for x in state], robot.jax()
    forward = jax.jit(rj.forward_dynamics)
    gradient = jax.jit(jax.grad(lambda *x: jnp.sum(rj.forward_dynamics(*x) ** 2), argnums=(0, 1, 2)))
    firsts = []
    for call in (forward, gradient):
        start = time.perf_counter()
        jax.block_until_ready(call(*arrays))
        firsts.append(time.perf_counter() - start)
    print(f"{name}: {robot.nv} freedoms; first value {firsts[0]:.2f} s, first gradient {firsts[1]:.2f} s")
    calls = {
        "robot.forward_dynamics": lambda: robot.forward_dynamics(*state),
        "under jax.jit": lambda: forward(*arrays),
        "gradient of a sum, jax.jit": lambda: gradient(*arrays),
        **of_torch(robot, state),
    }
    found = minima(calls)
    for one, seconds in found.items():
        ratio = seconds / found["robot.forward_dynamics"]
        print(f"  {one:28} {seconds / batch * 1e9:8.1f} ns a state  {ratio:5.2f}")


def main() -> None:
    os.environ["RECURSA_CACHE"] = "off"
    jax.config.update("jax_enable_x64", True)
    for name in sys.argv[1:] or ["arm", "talos", "chain100"]:
        measured(name)


if __name__ == "__main__":
    main()
