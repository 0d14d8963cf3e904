"""A plan of one robot as native code: traced once, compiled when first called, run over any batch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recursa.errors import UntraceableError, unknown_name
from recursa.kernels.c_source import CFunction
from recursa.kernels.emit import Output, Shape, emit
from recursa.kernels.graph import Graph, Traced
from recursa.kernels.native import Native, simd_shape
from recursa.model.model import Model
from recursa.spatial.counting import Counts
from recursa.spatial.scalars import Scalar
from recursa.sweeps.engine import Values, run
from recursa.sweeps.plan import Plan

try:
    from recursa._entry import Entry
except ImportError:  # the optional extension was not built
    Entry = None

Array = NDArray[Any]
Gather = Callable[[Values], Iterable[Scalar]]

MAX_BODIES = 64  # beyond these, straight-line code takes long to compile; such robots run on NumPy columns
MAX_NODES = 40_000  # an output counts as four
_SERIAL_ROWS = 4096  # fewer states are not worth a second thread


class Kernel:
    """Straight-line code for one plan, one robot, one number type.

    One state goes through a scalar form, batches through a SIMD form, W states at a time; the last, incomplete block is
    the same code on a padded block. Both forms do the same arithmetic, so a row never depends on its place.
    """

    form = "straight"

    def __init__(
        self, plan: Plan, model: Model, sizes: Mapping[str, int], gather: Gather, single: bool = False
    ) -> None:
        self.plan = plan
        self.inputs = tuple(sizes)
        self.single = single
        self._sizes = dict(sizes)
        self._graph, self._outputs = trace(plan, model, sizes, gather)
        self._compiled: dict[int, Native] = {}  # by width

    @property
    def operations(self) -> Counts:
        """Operations of one evaluation."""
        return self._graph.counts([x for x in self._outputs if isinstance(x, int)])

    def source(self, kind: str = "llvm", *, width: int | None = None) -> str:
        """The generated code: LLVM IR text, or a C99 function for one state in double precision."""
        if kind == "c":
            return CFunction("kernel", self._graph, self._outputs, self._sizes).definition()
        if kind != "llvm":
            raise unknown_name("kind of source", kind, ("llvm", "c"))
        shape = simd_shape(self.single) if width is None else Shape(width, self.single)
        return emit(self._graph, self._outputs, self._sizes, shape, "kernel")

    def _native(self, width: int) -> Native:
        """The machine code for so many lanes, compiled when first needed."""
        found = self._compiled.get(width)
        if found is None:  # two threads may both compile it; one is kept
            made = Native(self.source(width=width), "kernel", len(self.inputs) + 1)
            found = self._compiled.setdefault(width, made)
        return found

    def entry(self, shape: tuple[int, ...], quaternions: tuple[int, ...]) -> Callable[..., Any] | None:
        """A native function of single-state arrays that returns a new array of ``shape``; None if it was not built.

        ``quaternions`` are their places in q, whose lengths it checks.
        """
        unsuited = self.single or len(self.inputs) > 4 or len(shape) > 3 or len(quaternions) > 16
        if Entry is None or unsuited or (quaternions and self.inputs[0] != "q"):
            return None
        native = self._native(1)
        return Entry(native.address, tuple(self._sizes.values()), shape, quaternions, native)

    def __call__(self, rows: Mapping[str, Array], out: Array, threads: int = 1) -> None:
        """Fill ``out`` (B, m) from rows (B, n) by input name; all contiguous, of the kernel's number type."""
        inputs = [rows[name] for name in self.inputs]
        count = len(out)
        if count == 1:
            self._native(1).function(1, *[x.ctypes.data for x in inputs], out.ctypes.data)
            return
        width = simd_shape(self.single).width
        native = self._native(width)
        blocks = count // width
        workers = min(threads, max(1, count // _SERIAL_ROWS))
        if workers <= 1:
            _blocks(native, inputs, out, width, 0, blocks)
        else:
            cuts = [blocks * k // workers for k in range(workers + 1)]
            work = partial(_blocks, native, inputs, out, width)
            list(_pool(workers).map(work, cuts[:-1], cuts[1:]))
        rest = count - blocks * width
        if rest:
            padded = [np.concatenate([x[-rest:], np.repeat(x[-1:], width - rest, axis=0)]) for x in inputs]
            block = np.empty((width, out.shape[1]), out.dtype)
            _blocks(native, padded, block, width, 0, 1)
            out[-rest:] = block[:rest]


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    """Threads that wait for work; making them anew would cost more than a batch."""
    return ThreadPoolExecutor(workers, thread_name_prefix="recursa")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # threads do not survive a fork


def _blocks(native: Native, inputs: list[Array], out: Array, width: int, start: int, stop: int) -> None:
    places = [x.ctypes.data + start * width * x.strides[0] for x in (*inputs, out)]
    native.function(stop - start, *places)


def trace(plan: Plan, model: Model, sizes: Mapping[str, int], gather: Gather) -> tuple[Graph, list[Output]]:
    """Run a plan on tracing scalars: the graph, and per result its node or constant."""
    graph = Graph()
    inputs = {name: graph.inputs(name, size) for name, size in sizes.items()}
    outputs: list[Output] = [x.number if isinstance(x, Traced) else float(x) for x in gather(run(plan, model, inputs))]
    if len(graph.nodes) + 4 * len(outputs) > MAX_NODES:
        raise UntraceableError(f"{len(graph.nodes)} operations are too many for straight-line code")
    return graph, outputs
