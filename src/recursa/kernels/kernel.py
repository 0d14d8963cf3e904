"""A plan of one robot as native code: traced once, compiled when first called, run over any batch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from recursa.errors import UntraceableError, unknown_name
from recursa.kernels import function as functions
from recursa.kernels.c_loops import CText, LoopedCFunction
from recursa.kernels.c_source import CFunction
from recursa.kernels.emit import Function, straight_function
from recursa.kernels.function import GraphFunction, Output, Spelled
from recursa.kernels.graph import Graph, Traced, code_name
from recursa.kernels.js_source import JsFunction
from recursa.kernels.loop import Looped, LoopProgram
from recursa.kernels.native import Native, simd_shape
from recursa.kernels.programs import Program, Workspace
from recursa.kernels.records import Recorded
from recursa.kernels.switch import native_module
from recursa.kernels.writer import Shape
from recursa.model.model import Model
from recursa.spatial.counter import Counts
from recursa.spatial.scalars import Scalar
from recursa.sweeps.engine import Values, run
from recursa.sweeps.plan import Plan
from recursa.waits import spoken

Array = NDArray[Any]
Gather = Callable[[Values], Iterable[Scalar]]

FEW_BODIES, MANY_BODIES = 12, 64  # up to, and beyond, which the form of code is mostly clear
LOOP_STEP = 20  # operations' worth of time that a loop spends at each body, link or pair beside its arithmetic
LONG_CODE = 13_000  # operations in a straight line, each of which counts twice: over a second to compile, slow to fetch
MAX_NODES = 40_000  # an output counts as four; longer straight-line code takes long to compile
SERIAL_ROWS = 4096  # fewer states are not worth a second thread


class StraightProgram(Program):
    """All bodies one after the other, every constant part of the code; of what was traced already."""

    form = "straight"

    def __init__(self, graph: Graph, outputs: list[Output], sizes: Mapping[str, int]) -> None:
        self.graph, self.outputs = graph, outputs
        self.sizes = {code_name(name): size for name, size in sizes.items()}

    @property
    def operations(self) -> Counts:
        """Operations of one evaluation."""
        return self.graph.counts([x for x in self.outputs if isinstance(x, int)])

    def function(self, shape: Shape, name: str) -> Function:
        """The code for so many lanes."""
        return straight_function(self.graph, self.outputs, self.sizes, shape, name)


class FunctionProgram(StraightProgram):
    """A function of some arrays, ``function(x0, x1, ...)`` from lists of scalars to one, spelled out."""

    def __init__(self, function: Callable[..., Iterable[Scalar]], sizes: Sequence[int]) -> None:
        graph, named = Graph(MAX_NODES), {f"x{k}": size for k, size in enumerate(sizes)}
        found = function(*(graph.inputs(name, size) for name, size in named.items()))
        super().__init__(graph, [x.number if isinstance(x, Traced) else float(x) for x in found], named)


def program(
    plan: Plan,
    model: Model,
    sizes: Mapping[str, int],
    gather: Gather,
    form: str | None = None,
    looped: Looped | None = None,
) -> Program:
    """The form that is likely the faster one, or the one asked for; UntraceableError where there is none.

    ``looped`` is what loops are made of, where that is another plan.
    """
    if form not in (None, *FORMS):
        raise unknown_name("form of code", str(form), FORMS)

    straight = partial(straight_program, plan, model, sizes, gather)
    loop = partial(LoopProgram, looped or Looped(plan, gather), model, sizes)
    if form is not None:
        return straight() if form == "straight" else loop()
    if model.nbodies > MANY_BODIES:
        return loop()
    few = model.nbodies <= FEW_BODIES
    try:
        made: Program = straight() if few else loop()
    except UntraceableError:
        return loop() if few else straight()
    if _length(made) < LONG_CODE / 2 if isinstance(made, StraightProgram) else _cost(made) > 2 * LONG_CODE:
        return made  # the other one is certainly not better
    try:
        return min(made, loop() if few else straight(_nodes_worth_tracing(made)), key=_cost)
    except UntraceableError:
        return made


def _cost(one: Program) -> float:
    """Estimated operations' worth of time for one state (docs/notes/measurements.md, "Straight or loop")."""
    operations = one.operations.total
    if isinstance(one, StraightProgram):
        return operations * (1.0 + (_length(one) / LONG_CODE) ** 4)
    assert isinstance(one, LoopProgram)
    return operations + LOOP_STEP * one.visits


def _length(one: StraightProgram) -> int:
    """Operations' worth of code; a result takes the room of two."""
    return one.operations.total + 2 * len(one.outputs)


def _nodes_worth_tracing(loop: Program) -> int:
    """The size of a graph beyond which a straight line cannot be the better form.

    Two or three nodes come to an operation, with inputs, constants, signs and what nobody needs.
    """
    return int(2.5 * min(_cost(loop), LONG_CODE))


FORMS = StraightProgram.form, LoopProgram.form
Code = Literal["llvm", "c", "js"]
CODES: tuple[str, ...] = get_args(Code)


SPELLED_OUT: dict[str, type[Spelled]] = {"c": CFunction, "js": JsFunction, "graph": GraphFunction}
"""Languages in which a function is written from a graph, by the names of CODES; and the graph itself."""


class Kernel:
    """Native code for one plan, one robot, one number type.

    One state goes through a scalar form, batches through a SIMD form, W states at a time; the last, incomplete block is
    the same code on a padded block. Both forms do the same arithmetic, so a row never depends on its place.

    Beside the result a call takes one scratch per thread, which does not depend on the number of states (loops over
    bodies keep W of them there), and a copy of the last, incomplete block.
    """

    def __init__(
        self,
        plan: Plan,
        model: Model,
        sizes: Mapping[str, int],
        gather: Gather,
        single: bool = False,
        form: str | None = None,
        looped: Looped | None = None,
        name: str | None = None,
    ) -> None:
        """``name``: by which it is found again in another process (``records.py``)."""
        self.plan = plan
        self.inputs = tuple(sizes)
        self.single = single
        self.sizes = dict(sizes)
        trace = partial(program, plan, model, dict(sizes), gather, form, looped)
        self._waited_for = f"compiling {plan.name} of '{model.name}'"
        with spoken(self._waited_for):
            self._program = trace() if name is None else Recorded(name, trace)
        self._spelled_out = partial(straight_program, plan, model, dict(sizes), gather, functions.MAX_NODES)
        self._compiled: dict[int, Native] = {}  # by width

    @staticmethod
    def of_graph(
        name: str, graph: Graph, outputs: list[Output], sizes: Mapping[str, int], single: bool = False
    ) -> Kernel:
        """Of what was traced already, whatever it is."""
        made = Kernel.__new__(Kernel)
        made.plan, made.inputs, made.single, made.sizes = Plan(name, (), ()), tuple(sizes), single, dict(sizes)
        made._program, made._compiled = StraightProgram(graph, outputs, sizes), {}
        made._waited_for = f"compiling {name}"
        return made

    @property
    def form(self) -> str:
        """ "straight", every body spelled out, or "loop", over bodies that share code."""
        return self._program.form

    @property
    def operations(self) -> Counts:
        """Operations of one evaluation."""
        return self._program.operations

    def source(self, kind: str = "llvm", *, width: int | None = None) -> str:
        """The generated code: LLVM IR text or "c", a C99 function, in the kernel's form; "js", a JavaScript function.

        JavaScript is written with every body spelled out. Functions of both languages take one state in doubles.
        """
        if kind not in CODES:
            raise unknown_name("kind of source", kind, CODES)
        if kind == "llvm":
            return self._program.ir(simd_shape(self.single) if width is None else Shape(width, self.single))
        written = self.c_function("kernel") if kind == "c" else self.spelled_out("kernel", kind)
        return written.definition()

    def c_function(self, name: str, constants: Mapping[str, Sequence[float]] = MappingProxyType({})) -> CText:
        """The same as a C function, for files; ``constants`` are inputs that are always the same."""
        made = self._traced
        if isinstance(made, LoopProgram):
            return LoopedCFunction(name, made, constants=_by_code_name(constants))
        found = self.spelled_out(name, "c", constants)
        assert isinstance(found, CFunction)
        return found

    def spelled_out(
        self, name: str, kind: str, constants: Mapping[str, Sequence[float]] = MappingProxyType({})
    ) -> Spelled:
        """The same as a function of a language, every body spelled out."""
        straight, own = self._straight(kind), _by_code_name(constants)
        sizes = {input: size for input, size in straight.sizes.items() if input not in own}
        return SPELLED_OUT[kind](name, straight.graph, straight.outputs, sizes, own)

    @property
    def _traced(self) -> Program:
        return self._program.traced if isinstance(self._program, Recorded) else self._program

    def _straight(self, kind: str) -> StraightProgram:
        """For languages without loops."""
        made = self._traced
        if isinstance(made, StraightProgram):
            return made
        try:
            return self._spelled_out()
        except UntraceableError as error:
            raise UntraceableError(
                f"no {kind} code for {self.plan.name}: it is written with every body spelled out, and {error}. "
                'source("llvm") has the loop over bodies'
            ) from None

    def _native(self, width: int) -> Native:
        """The machine code for so many lanes, compiled when first needed."""
        found = self._compiled.get(width)
        if found is None:  # two threads may both compile it; one is kept
            extra = len(self._workspace(width))
            with spoken(self._waited_for):
                made = Native(self._program.code(Shape(width, self.single)), "kernel", len(self.inputs) + 1 + extra)
            found = self._compiled.setdefault(width, made)
        return found

    def _workspace(self, width: int) -> Workspace:
        return self._program.workspace(Shape(width, self.single))

    @property
    def widths(self) -> tuple[int, ...]:
        """The numbers of lanes for which there is machine code already."""
        return tuple(self._compiled)

    def way_in(self, width: int) -> tuple[Any, int, Workspace]:
        """Code for so many lanes, compiled if it is new: what keeps it alive, its address, a workspace of its own."""
        native = self._native(width)
        return native, native.address, self._workspace(width)

    def _way_in(self, width: int) -> tuple[Any, tuple[int, ...] | None]:
        """What native calls need of the code for so many lanes: what keeps it alive, and addresses."""
        native = self._compiled.get(width)
        if native is None:
            return None, None
        extra = self._workspace(width)
        return (native, extra), (width, native.address, *(x.ctypes.data for x in extra))

    def __call__(self, rows: Mapping[str, Array], out: Array, threads: int = 1) -> None:
        """Fill ``out`` (B, m) from rows (B, n) by input name; all contiguous, of the kernel's number type."""
        inputs = [rows[name] for name in self.inputs]
        count = len(out)
        if count == 1:
            self._blocks(1, inputs, out, 0, 1)
            return
        width = simd_shape(self.single).width
        blocks = count // width
        workers = min(threads, max(1, count // SERIAL_ROWS))
        if workers <= 1:
            self._blocks(width, inputs, out, 0, blocks)
        else:
            cuts = [blocks * k // workers for k in range(workers + 1)]
            work = partial(self._blocks, width, inputs, out)
            list(worker_pool(workers).map(work, cuts[:-1], cuts[1:]))
        rest = count - blocks * width
        if rest:
            padded = [np.concatenate([x[-rest:], np.repeat(x[-1:], width - rest, axis=0)]) for x in inputs]
            block = np.empty((width, out.shape[1]), out.dtype)
            self._blocks(width, padded, block, 0, 1)
            out[-rest:] = block[:rest]

    def _blocks(self, width: int, inputs: list[Array], out: Array, start: int, stop: int) -> None:
        """Some blocks of states, in the calling thread."""
        places = [x.ctypes.data + start * width * x.strides[0] for x in (*inputs, out)]
        native, extra = self._native(width), self._workspace(width)
        if self.single or len(inputs) > native_module.MAX_INPUTS:
            native.function(stop - start, *places, *[x.ctypes.data for x in extra])
            return
        code = width, native.address, *(x.ctypes.data for x in extra)
        sizes = [x.shape[1] for x in inputs]
        native_module.run(
            code, tuple(zip(places, sizes, strict=False)), places[-1], out.shape[1], out.size, stop - start
        )


def native_entry(
    kernels: Sequence[Kernel | None], shape: tuple[int, ...], inputs: Sequence[Any], *, judged: bool
) -> Any:
    """A native function of arguments that returns an array of ``shape``; None if it has none.

    ``kernels`` are those in double and in single precision, if there are such; single states and batches are taken as
    far as code for them was compiled already. ``inputs`` say how the arguments are read:
    ``argument_input`` in ``dispatch.py``. ``judged``: a batch with a result that is not finite is declined, as a single
    state always is.
    """
    if len(inputs) > native_module.MAX_INPUTS or len(shape) > 3:
        return None
    ways = [
        (None, None) if kernel is None else kernel._way_in(width)
        for kernel, single in zip(kernels, (False, True), strict=True)
        for width in (1, simd_shape(single).width)
    ]
    owners, codes = zip(*ways, strict=True)
    return native_module.Entry(tuple(inputs), shape, owners, codes, judged)


@cache
def worker_pool(workers: int) -> ThreadPoolExecutor:
    """Threads that wait for work; making them anew would cost more than a batch."""
    return ThreadPoolExecutor(workers, thread_name_prefix="recursa")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=worker_pool.cache_clear)  # threads do not survive a fork


def _by_code_name(constants: Mapping[str, Sequence[float]]) -> dict[str, Sequence[float]]:
    return {code_name(name): values for name, values in constants.items()}


def straight_program(
    plan: Plan, model: Model, sizes: Mapping[str, int], gather: Gather, limit: int = MAX_NODES
) -> StraightProgram:
    """A plan with every body spelled out."""
    return StraightProgram(*trace(plan, model, sizes, gather, limit), sizes)


def trace(
    plan: Plan, model: Model, sizes: Mapping[str, int], gather: Gather, limit: int = MAX_NODES
) -> tuple[Graph, list[Output]]:
    """Run a plan on tracing scalars: the graph, and per result its node or constant."""
    graph = Graph(limit)
    inputs = {name: graph.inputs(code_name(name), size) for name, size in sizes.items()}
    outputs: list[Output] = [x.number if isinstance(x, Traced) else float(x) for x in gather(run(plan, model, inputs))]
    if len(graph.nodes) + 4 * len(outputs) > max(limit, MAX_NODES):
        raise UntraceableError(f"{len(graph.nodes)} operations are too many for straight-line code")
    return graph, outputs
