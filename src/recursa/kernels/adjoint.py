"""Derivatives of what was traced: reverse and forward differentiation of a straight-line graph, in the graph itself.

A node's derivative with respect to its operands is one or two further nodes, so both are a walk over the nodes: outputs
to inputs for the gradient of one number by many inputs, inputs to outputs for the change along one direction. What they
make is part of the same graph, shares its subexpressions, and can be differentiated again.

>>> from recursa.kernels.graph import Graph
>>> graph = Graph()
>>> x, y = graph.inputs("x", 2)
>>> by_x, by_y = gradient(x * x * y, [x, y])        # 2 x y, x^2
>>> along_x = tangent([by_x, by_y], {x: 1.0})       # 2 y, 2 x
>>> graph.counts([by_x.number, by_y.number]).mul, graph.counts([one.number for one in along_x]).mul
(2, 0)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

from recursa.errors import UntraceableError
from recursa.kernels.graph import LEAVES, Condition, Graph, Traced
from recursa.spatial.scalars import Scalar, cos, is_zero, sin

Share = Callable[[Scalar], Scalar]


def gradient(output: Scalar, inputs: Sequence[Traced]) -> list[Scalar]:
    """d output / d input for every input, by one walk from the output inward.

    At most a few times the operations of the output itself, however many inputs there are.
    """
    if not isinstance(output, Traced):
        return [0.0] * len(inputs)
    adjoints: dict[int, Scalar] = {output.number: 1.0}
    for number in reversed(output.graph.reachable([output.number])):
        adjoint = adjoints.get(number, 0.0)
        if not is_zero(adjoint):
            for operand, share in _shares(output.graph, number):
                _add(adjoints, operand, share(adjoint))
    return [adjoints.get(one.number, 0.0) for one in inputs]


def tangent(outputs: Sequence[Scalar], direction: Mapping[Traced, Scalar]) -> list[Scalar]:
    """What a change of some inputs makes of the outputs, by one walk from the inputs outward."""
    traced = [one for one in outputs if isinstance(one, Traced)]
    changes: dict[int, Scalar] = {one.number: change for one, change in direction.items()}
    for number in traced[0].graph.reachable([one.number for one in traced]) if traced else ():
        for operand, share in _shares(traced[0].graph, number):
            change = changes.get(operand, 0.0)
            if not is_zero(change):
                _add(changes, number, share(change))
    return [changes.get(one.number, 0.0) if isinstance(one, Traced) else 0.0 for one in outputs]


def _add(totals: dict[int, Scalar], number: int, share: Scalar) -> None:
    totals[number] = totals[number] + share if number in totals else share


def _shares(graph: Graph, number: int) -> list[tuple[int, Share]]:
    """For each operand of a node, the product with the node's derivative with respect to it."""
    op, operands = graph.nodes[number]
    if op in LEAVES or op == "lt":
        return []
    own, parts = Traced(graph, number), [_value(graph, operand) for operand in operands]
    first, second = parts[0], parts[-1]
    shares: tuple[Share, ...]
    match op:
        case "add":
            shares = (_same, _same)
        case "sub":
            shares = (_same, operator.neg)
        case "neg":
            shares = (operator.neg,)
        case "mul":
            shares = (lambda x: x * second, lambda x: x * first)
        case "div":
            shares = (lambda x: x / second, lambda x: -(x / second * own))
        case "sin":
            shares = (lambda x: x * cos(first),)
        case "cos":
            shares = (lambda x: -(x * sin(first)),)
        case "sqrt":
            shares = (lambda x: x * 0.5 / own,)
        case "atan2":
            squared = first * first + second * second
            shares = (lambda x: x * second / squared, lambda x: -(x * first / squared))
        case "select":
            choice, operands = Condition(graph, operands[0]), operands[1:]
            shares = (lambda x: choice.select(x, 0.0), lambda x: choice.select(0.0, x))
        case _:
            raise UntraceableError(f"no derivative is known of the operation {op!r}")
    return list(zip(operands, shares, strict=True))


def _same(x: Scalar) -> Scalar:
    return x


def _value(graph: Graph, number: int) -> Scalar:
    """A constant as a number, so that products with it fold; anything else as it is."""
    op, operands = graph.nodes[number]
    return float(operands[0]) if op == "const" else Traced(graph, number)
