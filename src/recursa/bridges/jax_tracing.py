"""A graph on JAX arrays, for any platform: a short loop that carries the values of all nodes.

Written out, thousands of small operations keep XLA's fusion busy for minutes, and it computes shared values again and
again. So the graph is data here (``turns.py``): the loop's every turn takes a row of nodes of one kind, fetches their
operands, and stores their values. The program that XLA sees has the same few lines for every robot, and every value is
computed once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax.numpy as jnp
from jax import lax

from recursa.bridges.functions import GraphFunction
from recursa.bridges.turns import SUM, Schedule, schedule

_BRANCHES = {
    SUM: lambda p, q, r, s: s * p * q + r,
    "div": lambda p, q, r, s: p / q,
    "sqrt": lambda p, q, r, s: jnp.sqrt(p),
    "sin": lambda p, q, r, s: jnp.sin(p),
    "cos": lambda p, q, r, s: jnp.cos(p),
    "atan2": lambda p, q, r, s: jnp.arctan2(p, q),
    "lt": lambda p, q, r, s: (p < q).astype(p.dtype),
    "select": lambda p, q, r, s: jnp.where(p != 0, q, r),
}


@lru_cache(maxsize=256)
def scheduled(function: GraphFunction) -> Schedule:
    """The turns of a function."""
    return schedule(function.graph, function.outputs, function.sizes)


def evaluated(function: GraphFunction, *arrays: Any) -> Any:
    """The function of arrays (..., n) that have the same batch axes and type."""
    plan, first = scheduled(function), arrays[0]
    batch, dtype = first.shape[:-1], first.dtype
    rows = [x.reshape(-1, x.shape[-1]).T for x in arrays]
    count = rows[0].shape[1]
    constants = jnp.broadcast_to(jnp.asarray(plan.constants, dtype)[:, None], (len(plan.constants), count))
    known = [constants, *(x[own] for x, own in zip(rows, plan.inputs, strict=True))]
    values = jnp.concatenate([*known, jnp.zeros((plan.rows - sum(len(x) for x in known), count), dtype)])
    branches = [_BRANCHES[kind] for kind in plan.kinds]

    def turn(values: Any, step: Any) -> tuple[Any, None]:
        which, operands, signs, start = step
        given = *(values[operands[k]] for k in range(3)), signs[:, None]
        new = lax.switch(which, branches, *given) if len(branches) > 1 else branches[0](*given)
        return lax.dynamic_update_slice(values, new, (start, jnp.zeros((), start.dtype))), None

    if branches:
        steps = plan.which, plan.operands, plan.signs.astype(dtype), plan.start
        values, _ = lax.scan(turn, values, tuple(map(jnp.asarray, steps)))
    return values[plan.results].T.reshape(*batch, function.size)
