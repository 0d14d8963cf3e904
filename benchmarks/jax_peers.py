"""Forward dynamics inside JAX beside other libraries for JAX: ``python benchmarks/jax_peers.py``.

Each peer answers on a robot that both have: frax its own Panda, adam the same arm on a free base (it knows no other),
brax our arm as an MJCF file. 10,000 states in one jitted call on the processor, double precision, in turns, minima; and
how far the answers are apart. Peers that are not installed are left out: pip install brax frax, and in another
environment, since it wants an older JAX, pip install adam-robotics[jax].
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import recursa as rc

BATCH, TURNS = 10_000, 10
Call = Callable[..., Any]


def frax() -> Iterator[tuple[str, rc.Robot, Call]]:
    from frax.assets import FRANKA_ASSETS_DIR
    from frax.robots.franka_panda import load_panda

    peer = load_panda()
    robot = rc.load(Path(FRANKA_ASSETS_DIR) / "panda.urdf").with_gravity((0.0, 0.0, -9.81))
    yield "frax, Panda", robot, jax.vmap(lambda q, v, tau: peer.forward_dynamics(q, v, tau, None))


def adam() -> Iterator[tuple[str, rc.Robot, Call]]:
    from adam.jax import KinDynComputations

    robot = rc.robots.panda_like()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arm.urdf"
        bare, inertia = '<link name="base"/>', '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        heavy = f'<origin xyz="0 0 0" rpy="0 0 0"/><mass value="3"/>{inertia}'
        text = robot.to_urdf()
        assert bare in text  # a base that flies needs a mass
        file.write_text(text.replace(bare, f'<link name="base"><inertial>{heavy}</inertial></link>'))
        flying = rc.load(file, floating=True)
        peer = KinDynComputations(str(file), list(robot.joint_names))

    def accelerations(q: Any, v: Any, tau: Any) -> Any:
        return peer.aba(jnp.eye(4), q[7:], v[:6], v[6:], tau[6:])

    yield "adam, 7 joints on a free base", flying, jax.vmap(accelerations)


def brax() -> Iterator[tuple[str, rc.Robot, Call]]:
    from brax.generalized import dynamics, pipeline
    from brax.io import mjcf

    robot = rc.robots.panda_like()
    floor = '<worldbody><geom type="plane" size="1 1 1" contype="0" conaffinity="0"/>'  # brax wants a shape
    system = mjcf.loads(robot.to_mjcf().replace("<worldbody>", floor))

    def accelerations(q: Any, v: Any, tau: Any) -> Any:
        state = pipeline.init(system, q, v)
        return state.mass_mx_inv @ dynamics.forward(system, state, tau)

    yield "brax, 7 joints", robot, jax.vmap(accelerations)


def minima(*calls: Call) -> list[float]:
    """Seconds of the fastest turn of each."""
    for call in calls:
        jax.block_until_ready(call())
    found = [float("inf")] * len(calls)
    for _ in range(TURNS):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            jax.block_until_ready(call())
            found[k] = min(found[k], time.perf_counter() - start)
    return found


def states(robot: rc.Robot) -> list[Any]:
    rng = np.random.default_rng(0)
    q = rng.normal(size=(BATCH, robot.nq))
    if robot.nq != robot.nv:  # a free base at rest at the origin, as peers write it
        q[:, :7] = robot.neutral()[:7]
    v, tau = rng.normal(size=(2, BATCH, robot.nv))
    if robot.nq != robot.nv:
        v[:, :6] = tau[:, :6] = 0.0
    return [jnp.asarray(x) for x in (q, v, tau)]


def row(name: str, robot: rc.Robot, peer: Call) -> str:
    """A line of the table."""
    arrays = states(robot)
    ours, theirs = jax.jit(robot.jax().forward_dynamics), jax.jit(peer)
    own = np.asarray(ours(*arrays))
    apart = abs(own - np.asarray(theirs(*arrays)))[:, -7:].max() / abs(own).max()  # of the joints
    a, b = minima(lambda: ours(*arrays), lambda: theirs(*arrays))
    times = f"ours {a / BATCH * 1e9:7.1f}  theirs {b / BATCH * 1e9:9.1f}  {b / a:6.1f}x"
    return f"{name:32} {times}  apart {apart:.1e}"


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    print(f"jax {jax.__version__}; ns a state")
    for offer in (frax, adam, brax):
        try:
            for one in offer():
                print(row(*one))
        except Exception as error:  # not installed, or for another version of JAX: peers pin theirs
            print(f"{offer.__name__}: left out, {type(error).__name__}: {str(error).splitlines()[0]}")


if __name__ == "__main__":
    main()
