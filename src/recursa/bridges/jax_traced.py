"""A graph on JAX arrays, for any platform: a short loop that carries the values of all nodes.

Written out, thousands of small operations keep XLA's fusion busy for minutes, and it computes shared values again and
again. So the graph is data here: the loop's every turn takes a row of nodes of one kind, fetches their operands, and
stores their values. The program that XLA sees has the same few lines for every robot, and every value is computed once.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heappop, heappush
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from recursa.bridges.functions import GraphFunction
from recursa.kernels.graph import operands_of

WIDTH = 16  # nodes of a turn
_SUMS = ("add", "sub", "mul", "neg")  # all are p q + s r


@dataclass(frozen=True)
class Schedule:
    """Turns of the loop: what kind of node each takes, the places of operands and where values go."""

    kinds: tuple[str, ...]  # the branches of the loop
    which: np.ndarray[Any, Any]  # (turns,)
    operands: np.ndarray[Any, Any]  # (turns, 3, WIDTH)
    signs: np.ndarray[Any, Any]  # (turns, WIDTH): s
    start: np.ndarray[Any, Any]  # (turns,): where the values are stored
    inputs: tuple[np.ndarray[Any, Any], ...]  # which entries of each input are read
    constants: np.ndarray[Any, Any]
    rows: int  # of all values
    results: np.ndarray[Any, Any]  # where the results are


@lru_cache(maxsize=256)
def schedule(function: GraphFunction) -> Schedule:
    """The turns of a function: at every turn the kind of which most nodes are ready, the longest way to go first."""
    graph, outputs = function.graph, function.outputs
    order = graph.reachable(x for x in outputs if isinstance(x, int))
    nodes = {number: graph.nodes[number] for number in order}
    constants = {0.0: 0, 1.0: 1, -1.0: 2}
    for node in nodes.values():
        if node.op == "const":
            constants.setdefault(node.operands[0], len(constants))
    for x in outputs:
        if isinstance(x, float):
            constants.setdefault(x, len(constants))
    place: dict[int, int] = {}
    inputs, at = [], len(constants)
    for name in function.sizes:
        own = sorted(
            (node.operands[1], number)
            for number, node in nodes.items()
            if node.op == "input" and node.operands[0] == name
        )
        inputs.append(np.array([entry for entry, _ in own], np.int32))
        for _, number in own:
            place[number], at = at, at + 1
    for number, node in nodes.items():
        if node.op == "const":
            place[number] = constants[node.operands[0]]
    work = [number for number in order if number not in place]
    users, waiting = defaultdict[int, list[int]](list), dict[int, int]()
    for number in work:
        needed = {k for k in operands_of(nodes[number]) if k not in place}
        waiting[number] = len(needed)
        for k in needed:
            users[k].append(number)
    height: dict[int, int] = {}
    for number in reversed(work):
        height[number] = 1 + max((height[k] for k in users[number]), default=0)
    ready: dict[str, list[tuple[int, int]]] = defaultdict(list)

    def kind(number: int) -> str:
        return "sum" if nodes[number].op in _SUMS else nodes[number].op

    for number in work:
        if waiting[number] == 0:
            ready[kind(number)].append((-height[number], number))
    for one in ready.values():
        heapify(one)
    kinds: dict[str, int] = {}
    which, operands, signs, start = [], [], [], []
    left = len(work)
    while left:
        name = max(
            (one for one in ready if ready[one]), key=lambda one: (min(len(ready[one]), WIDTH), -ready[one][0][0])
        )
        chosen = [heappop(ready[name])[1] for _ in range(min(WIDTH, len(ready[name])))]
        left -= len(chosen)
        rows, sign = np.zeros((3, WIDTH), np.int32), np.zeros(WIDTH)
        rows[:2] = 1  # harmless numbers
        for lane, number in enumerate(chosen):
            rows[:, lane], sign[lane] = _operands(nodes[number], place)
        which.append(kinds.setdefault(name, len(kinds)))
        operands.append(rows)
        signs.append(sign)
        start.append(at)
        for number in chosen:
            place[number], at = at, at + 1
        for number in chosen:
            for user in users[number]:
                waiting[user] -= 1
                if waiting[user] == 0:
                    heappush(ready[kind(user)], (-height[user], user))
    results = [place[x] if isinstance(x, int) else constants[x] for x in outputs]
    return Schedule(
        tuple(kinds),
        np.array(which, np.int32),
        np.array(operands, np.int32).reshape(-1, 3, WIDTH),
        np.array(signs).reshape(-1, WIDTH),
        np.array(start, np.int32),
        tuple(inputs),
        np.array(list(constants)),
        at + WIDTH,
        np.array(results, np.int32),
    )


def _operands(node: Any, place: dict[int, int]) -> tuple[list[int], float]:
    """Places of p, q and r, and s."""
    zero, one, minus = 0, 1, 2
    at = [place[k] for k in node.operands]
    if node.op in ("add", "sub"):
        return [at[0], one, at[1]], 1.0 if node.op == "add" else -1.0
    if node.op == "neg":
        return [at[0], minus, zero], 0.0
    return [*at, *[zero] * (3 - len(at))], 0.0


_BRANCHES = {
    "sum": lambda p, q, r, s: p * q + s * r,
    "div": lambda p, q, r, s: p / q,
    "sqrt": lambda p, q, r, s: jnp.sqrt(p),
    "sin": lambda p, q, r, s: jnp.sin(p),
    "cos": lambda p, q, r, s: jnp.cos(p),
    "atan2": lambda p, q, r, s: jnp.arctan2(p, q),
    "lt": lambda p, q, r, s: (p < q).astype(p.dtype),
    "select": lambda p, q, r, s: jnp.where(p != 0, q, r),
}


def evaluated(function: GraphFunction, *arrays: Any) -> Any:
    """The function of arrays (..., n) that have the same batch axes and type."""
    plan, first = schedule(function), arrays[0]
    batch, dtype = first.shape[:-1], first.dtype
    rows = [x.reshape(-1, x.shape[-1]).T for x in arrays]
    count = rows[0].shape[1]
    constants = jnp.broadcast_to(jnp.asarray(plan.constants, dtype)[:, None], (len(plan.constants), count))
    known = [constants, *(x[own] for x, own in zip(rows, plan.inputs, strict=True))]
    values = jnp.concatenate([*known, jnp.zeros((plan.rows - sum(len(x) for x in known), count), dtype)])

    def turn(values: Any, step: Any) -> tuple[Any, None]:
        which, operands, signs, start = step
        p, q, r = (values[operands[k]] for k in range(3))
        branches = [_BRANCHES[kind] for kind in plan.kinds]
        new = (
            lax.switch(which, branches, p, q, r, signs[:, None])
            if len(branches) > 1
            else branches[0](p, q, r, signs[:, None])
        )
        return lax.dynamic_update_slice(values, new, (start, jnp.zeros((), start.dtype))), None

    if len(plan.which):
        steps = (
            jnp.asarray(plan.which),
            jnp.asarray(plan.operands),
            jnp.asarray(plan.signs, dtype),
            jnp.asarray(plan.start),
        )
        values, _ = lax.scan(turn, values, steps)
    return values[plan.results].T.reshape(*batch, function.size)
