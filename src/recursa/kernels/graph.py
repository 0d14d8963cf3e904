"""The tracing scalar: running a plan on it records the arithmetic as a graph, folded and shared.

Constants are folded (0, 1, -1, products of constants), signs are pulled out of products and sums so that ``a - b`` and
``b - a`` are one node, equal subexpressions are one node, and what no output needs is never emitted. Fused
multiply-adds are left to the code generator.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from recursa.errors import UntraceableError
from recursa.spatial.counter import Counts
from recursa.spatial.scalars import Subtraction


class Node(NamedTuple):
    """One operation: its name and its operands, numbers of earlier nodes (for leaves, what they stand for instead)."""

    op: str
    operands: tuple[Any, ...]


LEAVES = ("const", "input", "param", "load")  # a value; an entry of an input; a number from a table; a stored value
_COMMUTATIVE = ("add", "mul")
_COUNTED_AS = {
    "mul": "mul", "add": "add", "sub": "add", "div": "div", "sqrt": "sqrt",
    "sin": "trig", "cos": "trig", "atan2": "trig",
}  # fmt: skip


class Graph:
    """A growing list of distinct nodes.

    >>> graph = Graph()
    >>> x, y = graph.inputs("x", 2)
    >>> total = x * y - y * x + 0.0
    >>> total
    0.0
    """

    def __init__(self, limit: float = math.inf) -> None:
        """``limit`` nodes, and tracing gives up."""
        self.limit = limit
        self.nodes: list[Node] = []
        self._numbers: dict[tuple[str, tuple[Any, ...]], int] = {}
        self._under: dict[int, int] = {}  # of changes of sign: what is under them

    def inputs(self, name: str, count: int) -> list[Traced]:
        """Scalars that stand for the entries of an input array."""
        return [Traced(self, self.node("input", name, i)) for i in range(count)]

    def node(self, op: str, *operands: Any) -> int:
        """The number of a node, made if it is new."""
        if op in _COMMUTATIVE and operands[0] > operands[1]:
            operands = operands[::-1]
        key = op, operands
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.nodes)
            if number >= self.limit:
                raise UntraceableError(f"over {self.limit} operations are too many for straight-line code")
            self.nodes.append(Node(op, operands))
            if op == "neg":
                self._under[number] = operands[0]
        return number

    def constant(self, value: float) -> int:
        """The number of a constant."""
        return self.node("const", value)

    # ---- folding -----------------------------------------------------------------------------------------------------

    def negate(self, number: int) -> int:
        """``-a``."""
        under = self._under.get(number)
        return self.node("neg", number) if under is None else under

    def add(self, a: int, b: int) -> int | float:
        """``a + b``, signs pulled out."""
        under_a, under_b = self._under.get(a), self._under.get(b)
        if under_a is not None and under_b is not None:
            total = self.add(under_a, under_b)
            return self.negate(total) if isinstance(total, int) else -total
        if under_b is not None:
            return self.subtract(a, under_b)
        if under_a is not None:
            return self.subtract(b, under_a)
        return self.node("add", a, b)

    def subtract(self, a: int, b: int) -> int | float:
        """``a - b`` of operands without signs; the older operand comes first, so that both orders share a node."""
        if a == b:
            return 0.0
        return self.node("sub", a, b) if a < b else self.negate(self.node("sub", b, a))

    def multiply(self, a: int, b: int) -> int:
        """``a b``, signs pulled out, constants gathered."""
        under_a, under_b = self._under.get(a), self._under.get(b)
        if under_a is not None or under_b is not None:
            product = self.multiply(a if under_a is None else under_a, b if under_b is None else under_b)
            return product if under_a is not None and under_b is not None else self.negate(product)
        return self.node("mul", a, b)

    def scale(self, a: int, factor: float) -> int:
        """``factor a`` for a constant other than 0, 1, -1: one product however often it is scaled."""
        if factor < 0.0:
            return self.negate(self.scale(a, -factor)) if factor != -1.0 else self.negate(a)
        if factor == 1.0:
            return a
        under = self._under.get(a)
        if under is not None:
            return self.negate(self.scale(under, factor))
        node = self.nodes[a]
        if node.op == "mul":
            first, second = (self.nodes[k] for k in node.operands)
            for constant, other in ((first, node.operands[1]), (second, node.operands[0])):
                if constant.op == "const":
                    return self.scale(other, _one_if_reciprocals(constant.operands[0] * factor))
        return self.node("mul", self.constant(factor), a)

    # ---- reading -----------------------------------------------------------------------------------------------------

    def reachable(self, outputs: Iterable[int]) -> list[int]:
        """The nodes that outputs need, operands before users."""
        needed = set()
        pending = list(outputs)
        while pending:
            number = pending.pop()
            if number not in needed:
                needed.add(number)
                pending.extend(operands_of(self.nodes[number]))
        return sorted(needed)

    def counts(self, outputs: Sequence[int]) -> Counts:
        """Operations that the outputs need."""
        return self.tally(self.reachable(outputs))

    def tally(self, numbers: Iterable[int]) -> Counts:
        """Operations among some nodes; signs, comparisons and choices are not counted."""
        tally = {"mul": 0, "add": 0, "div": 0, "sqrt": 0, "trig": 0}
        for number in numbers:
            name = _COUNTED_AS.get(self.nodes[number].op)
            if name is not None:
                tally[name] += 1
        return Counts(**tally)


def code_name(name: str) -> str:
    """An input's name as an identifier, in LLVM and in C.

    >>> code_name("q"), code_name("joint:T"), code_name("tip:τ 1")
    ('q', 'joint_T', 'tip__3c4_201')
    """
    kind, _, own = name.partition(":")
    return f"{kind}_{re.sub(r'[^A-Za-z0-9_]', lambda c: f'_{ord(c.group()):x}', own)}" if own else name


def operands_of(node: Node) -> tuple[int, ...]:
    """The numbers of the nodes it uses."""
    return () if node.op in LEAVES else node.operands


class Traced(Subtraction):
    """A scalar that is a node of a graph."""

    __array_ufunc__ = None
    __slots__ = ("graph", "number")

    def __init__(self, graph: Graph, number: int) -> None:
        self.graph = graph
        self.number = number

    def _number(self, other: Any) -> int:
        return other.number if isinstance(other, Traced) else self.graph.constant(_finite(other))

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Traced):
            total = self.graph.add(self.number, other.number)
        elif other == 0:
            return self
        else:
            total = self.graph.add(self.number, self.graph.constant(_finite(other)))
        return total if isinstance(total, float) else Traced(self.graph, total)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if not isinstance(other, Traced):
            return self + -other
        total = self.graph.add(self.number, self.graph.negate(other.number))
        return total if isinstance(total, float) else Traced(self.graph, total)

    def __neg__(self) -> Traced:
        return Traced(self.graph, self.graph.negate(self.number))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Traced):
            return Traced(self.graph, self.graph.multiply(self.number, other.number))
        if isinstance(other, tuple):
            return NotImplemented
        factor = _finite(other)
        return 0.0 if factor == 0.0 else Traced(self.graph, self.graph.scale(self.number, factor))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, Traced):
            return Traced(self.graph, self.graph.node("div", self.number, other.number))
        return self * (1.0 / other)

    def __rtruediv__(self, other: Any) -> Any:
        if other == 0:
            return 0.0
        return Traced(self.graph, self.graph.node("div", self._number(other), self.number))

    def _function(self, name: str) -> Traced:
        return Traced(self.graph, self.graph.node(name, self.number))

    def sin(self) -> Traced:
        """Sine."""
        return self._function("sin")

    def cos(self) -> Traced:
        """Cosine."""
        return self._function("cos")

    def sqrt(self) -> Traced:
        """Square root."""
        return self._function("sqrt")

    def atan2(self, y: Any, x: Any) -> Traced:
        """The angle of the point (x, y)."""
        return Traced(self.graph, self.graph.node("atan2", self._number(y), self._number(x)))

    def __lt__(self, other: Any) -> Condition:
        return Condition(self.graph, self.graph.node("lt", self.number, self._number(other)))

    def __gt__(self, other: Any) -> Condition:
        return Condition(self.graph, self.graph.node("lt", self._number(other), self.number))

    def __bool__(self) -> bool:
        raise UntraceableError("a traced number has no truth value")

    def __float__(self) -> float:
        raise UntraceableError("a traced number has no value yet")

    def __repr__(self) -> str:
        return f"Traced({self.number})"


class Condition:
    """A comparison in a graph; ``scalars.where`` chooses with it."""

    __slots__ = ("graph", "number")

    def __init__(self, graph: Graph, number: int) -> None:
        self.graph = graph
        self.number = number

    def select(self, if_true: Any, if_false: Any) -> Traced:
        """One or the other, lane by lane."""
        chosen = [x.number if isinstance(x, Traced) else self.graph.constant(_finite(x)) for x in (if_true, if_false)]
        return Traced(self.graph, self.graph.node("select", self.number, *chosen))

    def __bool__(self) -> bool:
        raise UntraceableError("a traced comparison has no truth value")


def _one_if_reciprocals(product: float) -> float:
    """``(1/m) m`` is 1; rounded twice, it may miss it by the last bit."""
    return 1.0 if abs(product - 1.0) <= sys.float_info.epsilon else product


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise UntraceableError(f"the constant {number} cannot be part of a kernel")
    return number
