"""A quantity as a function that can be differentiated as often as wanted, in graphs and in native code.

A quantity is traced once. Its derivatives are further outputs of the same graph (``kernels/adjoint.py``), with further
inputs: ``along`` has a direction for some inputs, ``pulled`` has a weight for every number of the result. Both are
functions of the same kind and can be differentiated again. Reverse mode costs a small multiple of the function itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from threading import RLock
from typing import Any

import numpy as np

from recursa.errors import UntraceableError
from recursa.kernels.adjoint import gradient, tangent
from recursa.kernels.function import Output
from recursa.kernels.graph import Graph, Traced
from recursa.kernels.kernel import Kernel
from recursa.kernels.native import simd_shape
from recursa.kernels.plan_derivatives import PlanFunction
from recursa.spatial.scalars import Scalar
from recursa.waits import spoken

Own = Callable[[bool], Kernel | None]  # single precision or not -> a kernel that is there already
Trace = Callable[[], tuple[Graph, list[Scalar]]]
Sweeps = Callable[[], PlanFunction]  # the function as sweeps over bodies; UntraceableError where there are none

_MAGIC = 0x7265637572736131  # as in _xla.c
MAX_POINTERS = 24  # likewise: inputs, result, and three more of loops

_LOCK = RLock()  # graphs grow while they are differentiated


class GraphFunction:
    """Rows of numbers in, one row of numbers out.

    ``sizes`` are the numbers of every input, by name, in order; ``size`` those of the result. ``level`` counts how
    often it was differentiated. ``own`` are kernels for the function itself, where the robot has them anyway.
    ``sweeps`` are given for robots with many bodies, whose derivatives are then made sweep by sweep
    (``plan_derivatives.py``), in code that loops over bodies.
    """

    def __init__(
        self,
        name: str,
        sizes: Mapping[str, int],
        size: int,
        trace: Trace,
        level: int = 0,
        own: Own | None = None,
        sweeps: Sweeps | None = None,
    ) -> None:
        self.name, self.sizes, self.size, self.level = name, dict(sizes), size, level
        self._trace, self._own, self._sweeps = trace, own, sweeps
        self._traced: tuple[Graph, list[Scalar]] | None = None
        self._derived: dict[tuple[str, tuple[str, ...]], GraphFunction] = {}
        self._kernels: dict[bool, Kernel] = {}
        self._places: dict[tuple[bool, int], Any] = {}  # rows of numbers that XLA's calls are given; kept for good

    def __repr__(self) -> str:
        return f"<{self.name}({', '.join(self.sizes)})>"

    @property
    def traced(self) -> tuple[Graph, list[Scalar]]:
        """The graph, and every number of the result in it."""
        with _LOCK:
            if self._traced is None:
                self._traced = self._trace()
                assert len(self._traced[1]) == self.size
            return self._traced

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.traced[0]

    @property
    def outputs(self) -> list[Output]:
        """Per number of the result its node, or a constant."""
        return [x.number if isinstance(x, Traced) else float(x) for x in self.traced[1]]

    # ---- derivatives -------------------------------------------------------------------------------------------------

    def along(self, names: Sequence[str]) -> GraphFunction:
        """The change of the result along directions of these inputs: forward mode.

        Its inputs are those of the function, followed by a direction for each name.
        """
        return self._once("along", tuple(names), self._along)

    def pulled(self, names: Sequence[str]) -> GraphFunction:
        """``w . result`` differentiated by these inputs, one after the other in a row: reverse mode.

        Its inputs are those of the function, followed by the weights w.
        """
        return self._once("pulled", tuple(names), self._pulled)

    def _once(
        self, how: str, names: tuple[str, ...], make: Callable[[tuple[str, ...]], GraphFunction]
    ) -> GraphFunction:
        with _LOCK:
            key = how, names
            if key not in self._derived:
                self._derived[key] = make(names)
            return self._derived[key]

    def _along(self, names: tuple[str, ...]) -> GraphFunction:
        directions = {f"d{self.level + 1}_{name}": self.sizes[name] for name in names}

        def trace() -> tuple[Graph, list[Scalar]]:
            graph, outputs = self.traced
            moved = {
                x: y
                for name, direction in zip(names, directions, strict=True)
                for x, y in zip(self._inputs(name), graph.inputs(direction, self.sizes[name]), strict=True)
            }
            return graph, tangent(outputs, moved)

        title, sizes = f"{self.name} along {' '.join(names)}", {**self.sizes, **directions}
        sweeps = self._differentiated_sweeps(PlanFunction.along, names)
        return GraphFunction(title, sizes, self.size, trace, self.level + 1, sweeps=sweeps)

    def _pulled(self, names: tuple[str, ...]) -> GraphFunction:
        weights = f"w{self.level + 1}"

        def trace() -> tuple[Graph, list[Scalar]]:
            graph, outputs = self.traced
            total: Scalar = 0.0
            for weight, output in zip(graph.inputs(weights, self.size), outputs, strict=True):
                total = total + weight * output
            return graph, gradient(total, [x for name in names for x in self._inputs(name)])

        sizes, total = {**self.sizes, weights: self.size}, sum(self.sizes[name] for name in names)
        sweeps = self._differentiated_sweeps(PlanFunction.pulled, names)
        return GraphFunction(f"{self.name} by {' '.join(names)}", sizes, total, trace, self.level + 1, sweeps=sweeps)

    def _differentiated_sweeps(
        self, how: Callable[[PlanFunction, Sequence[str]], PlanFunction], names: tuple[str, ...]
    ) -> Sweeps | None:
        own = self._sweeps
        if own is None:
            return None

        @cache
        def made() -> PlanFunction:
            function = own()
            called = dict(zip(self.sizes, function.sizes, strict=True))  # as plans know them
            return how(function, [called[name] for name in names])

        return made

    def _inputs(self, name: str) -> list[Traced]:
        return self.graph.inputs(name, self.sizes[name])

    # ---- native code -------------------------------------------------------------------------------------------------

    def kernel(self, single: bool) -> Kernel:
        """Native code; UntraceableError where there is none."""
        with _LOCK:
            if single not in self._kernels:
                own = self._own(single) if self._own is not None else self._by_sweeps(single)
                self._kernels[single] = own or Kernel.of_graph(self.name, self.graph, self.outputs, self.sizes, single)
            return self._kernels[single]

    def _by_sweeps(self, single: bool) -> Kernel | None:
        """A derivative made sweep by sweep; None where every body has to be spelled out."""
        if self._sweeps is None:
            return None
        try:
            with spoken(f"differentiating {self.name}"):
                made = self._sweeps()
            return Kernel(made.plan, made.model, made.sizes, made.gather, single)
        except UntraceableError:
            return None

    def place(self, single: bool, count: int) -> int:
        """The address of what XLA's handler has to know to call the kernel for so many states."""
        if len(self.sizes) + 4 > MAX_POINTERS:
            raise UntraceableError(f"{self.name} has too many arrays for a native call")
        with _LOCK:
            width = 1 if count == 1 else simd_shape(single).width
            if (single, width) not in self._places:
                kernel = self.kernel(single)
                owner, address, extra = kernel.way_in(width)
                scratch, integers, numbers = extra if extra else (None, None, None)
                facts = [
                    _MAGIC, 4 if single else 8, len(self.sizes), self.size, width, address,
                    0 if scratch is None else scratch.nbytes,
                    *(0 if x is None else x.ctypes.data for x in (scratch, integers, numbers)),
                    *self.sizes.values(),
                ]  # fmt: skip
                self._places[single, width] = np.array(facts, np.int64), owner, extra
                _KEPT.append(self)
            return int(self._places[single, width][0].ctypes.data)

    def __call__(self, rows: Sequence[Any], out: Any) -> None:
        """Fill ``out`` (B, m) from rows (B, n), contiguous arrays of one type."""
        kernel = self.kernel(out.dtype == np.float32)
        kernel(dict(zip(kernel.inputs, rows, strict=True)), out)


_KEPT: list[GraphFunction] = []  # compiled computations have their addresses
