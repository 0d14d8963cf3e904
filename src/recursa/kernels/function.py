"""A graph with its outputs and inputs named: what is written out in a programming language, every body spelled out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from recursa.errors import UntraceableError
from recursa.kernels.graph import Graph, Node
from recursa.spatial.counter import Counts

Output = int | float  # a node, or a constant

MAX_OPERATIONS = 60_000  # a C compiler needs minutes for longer functions
NODES_PER_OPERATION = 4  # signs, constants and what turns out not to be needed included
MAX_NODES = NODES_PER_OPERATION * MAX_OPERATIONS

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<"}
_FUNCTIONS = ("sin", "cos", "sqrt", "atan2")


@dataclass(frozen=True)
class Spelled:
    """A function of arrays that fills an array ``out``; inputs in the order of ``sizes``.

    ``constants`` are inputs that are always the same, which become tables. A language says its name, where its
    functions are, and how it writes numbers; node k is the constant ``tk``.
    """

    language: ClassVar[str]
    functions: ClassVar[str] = ""
    most_operations: ClassVar[int] = MAX_OPERATIONS

    name: str
    graph: Graph
    outputs: Sequence[Output]
    sizes: Mapping[str, int]
    constants: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Numbers of the result."""
        return len(self.outputs)

    @property
    def operations(self) -> Counts:
        """Operations of one call."""
        return self.graph.counts(self.nodes)

    @property
    def nodes(self) -> list[int]:
        """The outputs that are not constants."""
        return [x for x in self.outputs if isinstance(x, int)]

    @staticmethod
    def number(value: float) -> str:
        """A constant that reads back to the same bits."""
        raise NotImplementedError

    def operand(self, x: Output) -> str:
        """A node or a constant, where it is used."""
        return operand(self.graph.nodes, x, self.number) if isinstance(x, int) else self.number(x)

    def expression(self, node: Node) -> str:
        """What a node is."""
        return expression(self.graph.nodes, node, type(self))

    def definition(self) -> str:
        """The function's text in the language."""
        raise NotImplementedError


class GraphFunction(Spelled):
    """A graph that is not written out as text: libraries that have no compiler to wait for take longer ones."""

    language = "a graph"
    most_operations = 1_000_000


def operand(nodes: Sequence[Node], number: int, written: Callable[[float], str]) -> str:
    """A node by its name, a constant by its value."""
    return written(nodes[number].operands[0]) if nodes[number].op == "const" else f"t{number}"


def expression(nodes: Sequence[Node], node: Node, how: type[Spelled]) -> str:
    """What a node is, in a language."""
    if node.op == "input":
        return "{}[{}]".format(*node.operands)
    operands = [operand(nodes, k, how.number) for k in node.operands]
    if node.op in _INFIX:
        return f"{operands[0]} {_INFIX[node.op]} {operands[1]}"
    if node.op in _FUNCTIONS:
        return f"{how.functions}{node.op}({', '.join(operands)})"
    if node.op == "neg":
        return f"-{operands[0]}"
    if node.op == "select":
        return "{} ? {} : {}".format(*operands)
    raise UntraceableError(f"{how.language} has no {node.op!r} here")
