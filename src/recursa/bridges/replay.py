"""A traced graph done again on the numbers of another library, operation by operation, in the graph's own order."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from recursa.errors import UntraceableError
from recursa.kernels.function import Spelled

Operation = Callable[..., Any]

PLAIN: dict[str, Operation] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "lt": operator.lt,
}
"""What every library spells with Python's operators; sin, cos, sqrt, atan2 and select are its own."""


def replay(function: Spelled, inputs: Mapping[str, Sequence[Any]], operations: Mapping[str, Operation]) -> list[Any]:
    """The outputs for such inputs; every node is made once, so what the graph shares is shared."""
    known = {**PLAIN, **operations}
    nodes, values = function.graph.nodes, dict[int, Any]()
    tables = {**inputs, **function.constants}
    for number in function.graph.reachable(function.nodes):
        op, operands = nodes[number]
        if op == "const":
            values[number] = operands[0]
        elif op == "input":
            name, place = operands
            values[number] = tables[name][place]
        elif op in known:
            values[number] = known[op](*(values[k] for k in operands))
        else:
            raise UntraceableError(f"the operation {op!r} has no counterpart")
    return [values[x] if isinstance(x, int) else x for x in function.outputs]
