"""Steps differentiated: what changes of arguments make of results, and what weights of results are worth of arguments.

A step is a function over any scalar, so its derivatives are found by running it once on a small graph of its own
(``adjoint.py``) and doing that graph's operations again on whatever scalars come: numbers, unknowns, nodes of a larger
graph. Derivatives of values are :class:`Numbers`, one for every number of the value. Both derivatives are functions
that steps can have, so they can be differentiated again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

from recursa.errors import UntraceableError
from recursa.kernels.adjoint import gradient, tangent
from recursa.kernels.graph import Graph, Traced, operands_of
from recursa.kernels.observe import numbers_of, rebuilt, structure
from recursa.spatial.scalars import Scalar, atan2, cos, sin, sqrt, where

_FREE = (0.0, 1.0, -1.0)  # constants that a step's graph is made for; others are numbers like any


class Numbers(tuple[Any, ...]):
    """A number for every number of a value, added one by one; none at all stand for zeros.

    >>> Numbers((1.0, 2.0)) + Numbers((3.0, 4.0)) + Numbers()
    (4.0, 6.0)
    """

    __slots__ = ()

    @classmethod
    def _make(cls, numbers: Iterable[Any]) -> Numbers:
        return cls(numbers)

    @classmethod
    def zero(cls, like: Any) -> Numbers:
        """Zeros for a value."""
        return cls((0.0,) * len(numbers_of(like)))

    def __add__(self, other: Any) -> Numbers:
        if not self or not other:
            return Numbers(self or other)
        return Numbers(map(operator.add, self, other))


class Tape(NamedTuple):
    """Operations in order: for every node its name and the places of its operands, or what a leaf stands for."""

    nodes: tuple[tuple[str, tuple[Any, ...]], ...]
    outputs: tuple[Any, ...]  # a node's place in the list, or a constant

    @staticmethod
    def of(graph: Graph, outputs: Sequence[Scalar]) -> Tape:
        """What outputs need of a graph."""
        order = graph.reachable(x.number for x in outputs if isinstance(x, Traced))
        place = {number: k for k, number in enumerate(order)}
        nodes = [
            (node.op, node.operands if not operands_of(node) else tuple(place[k] for k in node.operands))
            for node in (graph.nodes[number] for number in order)
        ]
        return Tape(tuple(nodes), tuple(place[x.number] if isinstance(x, Traced) else float(x) for x in outputs))

    def again(self, leaf: Callable[..., Any]) -> list[Any]:
        """The outputs on other scalars; ``leaf(*operands)`` is the value of a leaf."""
        values: list[Any] = []
        for op, operands in self.nodes:
            done = _OPERATIONS.get(op)
            if done is not None:
                values.append(done(*[values[k] for k in operands]))
            else:
                values.append(operands[0] if op == "const" else leaf(*operands))
        return [values[x] if isinstance(x, int) else x for x in self.outputs]


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "neg": operator.neg,
    "lt": operator.lt, "sin": sin, "cos": cos, "sqrt": sqrt, "atan2": atan2, "select": where,
}  # fmt: skip


class _Differentiated:
    """A function of a step's arguments and of further :class:`Numbers`, made anew for every structure of these."""

    def __init__(self, fn: Callable[..., Any], reads: int, writes: int) -> None:
        self.fn, self.reads, self.writes = fn, reads, writes
        self._tapes: dict[Hashable, tuple[Tape, tuple[int, ...]]] = {}

    @property
    def __name__(self) -> str:
        return f"derivative of {getattr(self.fn, '__name__', type(self.fn).__name__)}"

    def _parts(self, args: tuple[Any, ...]) -> list[Numbers]:
        """What ``_graph`` makes of the arguments, on their own scalars."""
        apart = [list[Any]() for _ in args]
        shape = tuple(map(structure, args, apart))
        constants = [[x if isinstance(x, float) and x in _FREE else None for x in own] for own in apart]
        self._release(constants, apart)
        key = shape, tuple(chain.from_iterable(constants))
        found = self._tapes.get(key)
        if found is None:
            graph = Graph()
            known = iter([x if x is not None else Traced(graph, graph.node("input", k)) for k, x in enumerate(key[1])])
            parts = self._graph([rebuilt(value, known) for value in args])
            tape = Tape.of(graph, [x for part in parts for x in part])
            found = self._tapes[key] = tape, tuple(map(len, parts))
        numbers = list(chain.from_iterable(apart))
        values = iter(found[0].again(numbers.__getitem__))
        return [Numbers(next(values) for _ in range(size)) for size in found[1]]

    def _release(self, constants: list[list[float | None]], apart: list[list[Any]]) -> None:
        """Take out of the constants, argument by argument, what is none."""

    def _results(self, args: Sequence[Any]) -> tuple[Any, ...]:
        result = self.fn(*args)
        return (result,) if self.writes == 1 else tuple(result)

    def _graph(self, args: list[Any]) -> list[Numbers]:
        raise NotImplementedError


class Pulled(_Differentiated):
    """Reverse mode: arguments, weights of some results, and numbers to which some answers are added.

    ``wanted``: arguments for which there is an answer; ``weighted``: results that have weights; ``added``: places among
    those that are wanted, whose answers are added to what comes last. ``cleared`` of the weights come back as zeros,
    after the answers.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        reads: int,
        writes: int,
        wanted: tuple[int, ...],
        weighted: tuple[int, ...],
        added: tuple[int, ...],
        cleared: tuple[int, ...] = (),
    ) -> None:
        super().__init__(fn, reads, writes)
        self.wanted, self.weighted, self.added, self.cleared = wanted, weighted, added, cleared

    def __call__(self, *args: Any) -> Any:
        """The derivatives by what is wanted."""
        last = self.reads + len(self.weighted)
        found = self._parts(args[:last])
        for at, total in zip(self.added, args[last:], strict=True):
            found[at] = Numbers(total) + found[at]
        found += [Numbers((0.0,) * len(args[self.reads + k])) for k in self.cleared]
        return found[0] if len(found) == 1 else tuple(found)

    def _graph(self, args: list[Any]) -> list[Numbers]:
        results, total = self._results(args[: self.reads]), 0.0
        for which, weights in zip(self.weighted, args[self.reads :], strict=True):
            values = numbers_of(results[which]) if weights else []
            if len(values) != len(weights):
                raise UntraceableError("weights do not fit what they weigh")
            for value, weight in zip(values, weights, strict=True):
                total = total + value * weight
        own = [numbers_of(args[k]) for k in self.wanted]
        leaves = [x for one in own for x in one if isinstance(x, Traced)]
        slopes = iter(gradient(total, leaves))
        return [Numbers(next(slopes) if isinstance(x, Traced) else 0.0 for x in one) for one in own]


class Along(_Differentiated):
    """Forward mode: arguments, and changes of some of them; the changes of some results.

    ``moving``: arguments that change; ``wanted``: results whose changes are answers.
    """

    def __init__(
        self, fn: Callable[..., Any], reads: int, writes: int, moving: tuple[int, ...], wanted: tuple[int, ...]
    ) -> None:
        super().__init__(fn, reads, writes)
        self.moving, self.wanted = moving, wanted

    def __call__(self, *args: Any) -> Any:
        """The changes of what is wanted."""
        found = self._parts(args)
        return found[0] if len(found) == 1 else tuple(found)

    def _release(self, constants: list[list[float | None]], apart: list[list[Any]]) -> None:
        """What changes is no constant, though it may be 0 or 1 now."""
        for which, changes in zip(self.moving, apart[self.reads :], strict=True):
            for k, change in enumerate(changes):
                if not (isinstance(change, float) and change == 0.0):
                    constants[which][k] = None

    def _graph(self, args: list[Any]) -> list[Numbers]:
        results, direction = self._results(args[: self.reads]), dict[Traced, Scalar]()
        for which, given in zip(self.moving, args[self.reads :], strict=True):
            changes = numbers_of(given)  # of an input they come as what steps get of it
            values = numbers_of(args[which]) if changes else []
            if len(values) != len(changes):
                raise UntraceableError("changes do not fit what changes")
            direction |= {x: dx for x, dx in zip(values, changes, strict=True) if isinstance(x, Traced)}
        return [Numbers(tangent(numbers_of(results[which]), direction)) for which in self.wanted]


class Kept:
    """A step that also hands on what it was given, for its derivatives."""

    def __init__(self, fn: Callable[..., Any], writes: int, copied: tuple[int, ...]) -> None:
        self.fn, self.writes, self.copied = fn, writes, copied

    @property
    def __name__(self) -> str:
        return getattr(self.fn, "__name__", type(self.fn).__name__)

    def __call__(self, *args: Any) -> tuple[Any, ...]:
        """The step's results, and what it was given."""
        result = self.fn(*args)
        return (*((result,) if self.writes == 1 else result), *(args[k] for k in self.copied))
