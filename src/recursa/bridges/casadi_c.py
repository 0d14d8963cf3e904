"""C text with the calling conventions of CasADi's external functions: a function of ours, and its derivatives.

CasADi finds derivatives by name: ``jac_f`` has a block for every argument, ``fwd1_f`` the change along a direction,
``adj1_f`` the gradient of a weighted sum, ``fwd1_adj1_f`` the change of that, which second derivatives are made of. An
argument may be missing (it is zero then), and so may a result (nobody wants it). CasADi stores matrices column by
column, our functions row by row.
"""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from tempfile import mkdtemp
from types import ModuleType
from typing import TYPE_CHECKING, Any

from recursa.bridges.differentiable import GRAVITY
from recursa.bridges.functions import GraphFunction
from recursa.dynamics.configuration import moves_by_adding
from recursa.errors import RecursaError, UntraceableError
from recursa.evaluation.evaluator import Evaluator
from recursa.facade.export_questions import Asked, ExportQuestion
from recursa.kernels.c_loops import CText
from recursa.kernels.c_source import CFunction
from recursa.kernels.function import Spelled
from recursa.kernels.graph import Traced
from recursa.kernels.native import CODE, entry_key, fetch, keep
from recursa.model.model import Model
from recursa.waits import spoken

if TYPE_CHECKING:
    import casadi


# ---- -----------------------------------------------------------------------------------------------------------------
# C text compiled by the system's compiler into a library that others load; kept with our compiled kernels.


_FLAGS = ("-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-math-errno", "-w")
_ENDING = {"darwin": ".dylib"}.get(sys.platform, ".so")


def library(text: str, name: str) -> Path:
    """The file of a library made from C text; it lasts as long as this process."""
    path = _folder() / f"{name}{_ENDING}"
    compiler = _compiler()
    key = entry_key("shared library", text, *compiler, *_FLAGS, _version(tuple(compiler)), sys.platform)
    found = fetch(key, CODE)
    path = path.with_name(f"{name}.{key.hex()[:16]}{_ENDING}")
    if not path.exists():
        if found is None:
            found = _compiled(compiler, text, path.with_suffix(".c"))
            keep(key, CODE, found)
        path.write_bytes(found)
    return path


def _compiler() -> list[str]:
    """The command; CC names another than the usual ones."""
    chosen = shlex.split(os.environ.get("CC", ""))
    for command in ([chosen] if chosen else []) + [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(command[0]) is not None:
            return command
    told = f"CC={chosen[0]!r} is not there, and " if chosen else ""
    raise RecursaError(
        f'form="compiled" needs a C compiler: {told}neither cc nor gcc nor clang is on the path. Install one (Debian: '
        'gcc, macOS: xcode-select --install), or leave form="compiled" out: CasADi then computes by itself'
    )


@cache
def _version(compiler: tuple[str, ...]) -> str:
    told = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=False)
    return told.stdout


@cache
def _folder() -> Path:
    folder = mkdtemp(prefix="recursa-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _compiled(compiler: list[str], text: str, source: Path) -> bytes:
    source.write_text(text, "utf-8")
    made = source.with_suffix(".made")
    command = [*compiler, *_FLAGS, str(source), "-o", str(made), "-lm"]
    with spoken(f"compiling {source.stem.partition('.')[0]}"):
        told = subprocess.run(command, capture_output=True, text=True, check=False)
    if told.returncode != 0 or not made.exists():
        first = next((line for line in told.stderr.splitlines() if "error" in line), told.stderr.strip()[:200])
        raise RecursaError(f"the C compiler ({shlex.join(compiler)}) failed on generated code: {first}")
    found = made.read_bytes()
    for file in (made, source):
        file.unlink()
    return found


HEAD = """#include <math.h>

#if defined(_WIN32)
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

static void take(const double *from, double *to, int rows, int columns)
{
    int i, j;
    for (i = 0; i < rows; ++i)
        for (j = 0; j < columns; ++j) to[i * columns + j] = from ? from[i + j * rows] : 0.0;
}

static void give(const double *from, double *to, int rows, int columns)
{
    int i, j;
    if (!to) return;
    for (i = 0; i < rows; ++i)
        for (j = 0; j < columns; ++j) to[i + j * rows] = from[i * columns + j];
}

/* A block of a Jacobian, a row for every number of the result. */
static void give_block(const double *from, double *to, int rows, int columns, int by_rows, int by_columns)
{
    int i, j, k, l;
    if (!to) return;
    for (i = 0; i < rows; ++i)
        for (j = 0; j < columns; ++j)
            for (k = 0; k < by_rows; ++k)
                for (l = 0; l < by_columns; ++l)
                    to[(i + j * rows) + (k + l * by_rows) * rows * columns] =
                        from[((i * columns + j) * by_rows + k) * by_columns + l];
}
"""


@dataclass(frozen=True)
class Signature:
    """The name of a function in CasADi, its arguments and its result with their rows and columns."""

    name: str
    arguments: dict[str, tuple[int, int]]
    result: str
    shape: tuple[int, int]

    @property
    def sizes(self) -> list[int]:
        """Numbers of the arguments."""
        return [prod(shape) for shape in self.arguments.values()]

    @property
    def size(self) -> int:
        """Numbers of the result."""
        return prod(self.shape)


@dataclass(frozen=True)
class Kernels:
    """Our functions, as far as there are any: of the arguments, then of directions or weights."""

    value: CText
    along: CText | None = None  # directions of all arguments
    pulled: CText | None = None  # weights of the result
    pulled_along: CText | None = None  # weights, directions of all arguments, a direction of the weights
    blocks: CText | None = None  # derivatives by all arguments, one matrix after the other
    chart: CText | None = None  # small motions of changed coordinates, where blocks[0] is by these: of q, q, dq

    @property
    def all(self) -> list[CText]:
        """Those that there are."""
        own = (self.value, self.along, self.pulled, self.pulled_along, self.blocks, self.chart)
        return [one for one in own if one is not None]


def c_unit_for_casadi(of: Signature, kernels: Kernels) -> str:
    """The whole text."""
    parts = [HEAD, *(one.definition() for one in kernels.all), *_value(of, kernels.value)]
    if kernels.along is not None:
        parts += _forward(of, kernels.along)
    if kernels.blocks is not None or kernels.along is not None:
        parts += _jacobian(of, kernels)
    if kernels.pulled is not None:
        parts += _reverse(of, kernels.pulled)
    if kernels.pulled_along is not None:
        parts += _reverse_forward(of, kernels.pulled_along)
    return "\n".join(parts)


# ---- the functions ---------------------------------------------------------------------------------------------------


def _value(of: Signature, kernel: CText) -> Iterator[str]:
    own = _Body(of)
    own.result(kernel, own.arguments())
    yield from own.text(of.name, own.shapes, [of.shape], (list(of.arguments), [of.result]))


def _forward(of: Signature, kernel: CText) -> Iterator[str]:
    own = _Body(of)
    own.result(kernel, [*own.arguments(), *own.arguments("d", len(own.shapes) + 1)])
    yield from own.text(f"fwd1_{of.name}", [*own.shapes, of.shape, *own.shapes], [of.shape])


def _reverse(of: Signature, kernel: CText) -> Iterator[str]:
    own = _Body(of)
    own.gradients(kernel, [*own.arguments(), own.taken("weights", len(own.shapes) + 1, of.shape)])
    yield from own.text(f"adj1_{of.name}", [*own.shapes, of.shape, of.shape], own.shapes)


def _reverse_forward(of: Signature, kernel: CText) -> Iterator[str]:
    own, n = _Body(of), len(of.sizes)
    arguments = [*own.arguments(), own.taken("weights", n + 1, of.shape)]
    arguments += [*own.arguments("d", 2 * n + 2), own.taken("dweights", 3 * n + 3, of.shape)]
    own.gradients(kernel, arguments)
    inputs = [*own.shapes, of.shape, of.shape]
    yield from own.text(f"fwd1_adj1_{of.name}", [*inputs, *own.shapes, *inputs], own.shapes)


def _jacobian(of: Signature, kernels: Kernels) -> Iterator[str]:
    own = _Body(of)
    arguments = own.arguments()
    if kernels.blocks is not None:
        sizes = [of.sizes[0] if kernels.chart is None else kernels.chart.size, *of.sizes[1:]]
        out = own.room("out", of.size * sum(sizes))
        own.lines.append(f"{kernels.blocks.name}({', '.join([*arguments, out])});")
        for k in range(len(sizes)):
            start = f"{out} + {of.size * sum(sizes[:k])}"
            own.lines += own.by_coordinates(start, kernels.chart) if k == 0 and kernels.chart else [own.block(start, k)]
    else:
        assert kernels.along is not None
        own.by_directions(kernels.along, arguments)
    found = [(of.size, size) for size in of.sizes]
    yield from own.text(f"jac_{of.name}", [*own.shapes, of.shape], found)


class _Body:
    """What is between the braces: places in CasADi's work array, then lines."""

    def __init__(self, of: Signature) -> None:
        self.of, self.shapes = of, list(of.arguments.values())
        self.used = 0
        self.lines: list[str] = []

    def room(self, name: str, size: int) -> str:
        """A place for so many numbers."""
        self.lines.append(f"double *{name} = w + {self.used};")
        self.used += size
        return name

    def taken(self, name: str, place: int, shape: tuple[int, int]) -> str:
        """An argument, row by row."""
        self.room(name, prod(shape))
        self.lines.append(f"take(arg[{place}], {name}, {shape[0]}, {shape[1]});")
        return name

    def arguments(self, start: str = "x", first: int = 0) -> list[str]:
        """The arguments of the function itself, or directions of them, of which the first is in that place."""
        return [self.taken(f"{start}{k}", first + k, shape) for k, shape in enumerate(self.shapes)]

    def result(self, kernel: CText, arguments: Sequence[str]) -> None:
        """The result of the function itself, or its change."""
        out = self.room("out", self.of.size)
        self.lines += [f"{kernel.name}({', '.join([*arguments, out])});", self.given(out, 0, self.of.shape)]

    @staticmethod
    def given(name: str, place: int, shape: tuple[int, int]) -> str:
        """A result handed over."""
        return f"give({name}, res[{place}], {shape[0]}, {shape[1]});"

    def block(self, name: str, k: int) -> str:
        """A block of the Jacobian handed over."""
        shapes = (*self.of.shape, *self.shapes[k])
        return f"give_block({name}, res[{k}], {', '.join(map(str, shapes))});"

    def by_directions(self, along: CText, arguments: Sequence[str]) -> None:
        """All blocks of the Jacobian, column by column."""
        of = self.of
        directions = [self.room(f"d{k}", size) for k, size in enumerate(of.sizes)]  # they follow each other
        column, block = self.room("column", of.size), self.room("block", of.size * max(of.sizes))
        self.lines.append(f"for (i = 0; i < {sum(of.sizes)}; ++i) d0[i] = 0.0;")
        for k, size in enumerate(of.sizes):
            self.lines += [
                f"if (res[{k}]) {{",
                f"    for (i = 0; i < {size}; ++i) {{",
                f"        d{k}[i] = 1.0;",
                f"        {along.name}({', '.join([*arguments, *directions, column])});",
                f"        for (j = 0; j < {of.size}; ++j) {block}[j * {size} + i] = {column}[j];",
                f"        d{k}[i] = 0.0;",
                "    }",
                "}",
                self.block(block, k),
            ]

    def by_coordinates(self, small: str, chart: CText) -> list[str]:
        """The block by coordinates from the one by small motions, which changes of coordinates are turned into."""
        of, n, nv = self.of, self.of.sizes[0], chart.size
        change, motion, block = self.room("change", n), self.room("motion", nv), self.room("block", of.size * n)
        return [
            "if (res[0]) {",
            "    int k;",
            f"    for (i = 0; i < {n}; ++i) {change}[i] = 0.0;",
            f"    for (i = 0; i < {n}; ++i) {{",
            f"        {change}[i] = 1.0;",
            f"        {chart.name}(x0, x0, {change}, {motion});",
            f"        {change}[i] = 0.0;",
            f"        for (j = 0; j < {of.size}; ++j) {{",
            "            double sum = 0.0;",
            f"            for (k = 0; k < {nv}; ++k) sum += ({small})[j * {nv} + k] * {motion}[k];",
            f"            {block}[j * {n} + i] = sum;",
            "        }",
            "    }",
            "}",
            self.block(block, 0),
        ]

    def gradients(self, kernel: CText, arguments: Sequence[str]) -> None:
        """One row with the gradients by all arguments, handed over in parts."""
        out = self.room("out", sum(self.of.sizes))
        self.lines.append(f"{kernel.name}({', '.join([*arguments, out])});")
        for k, shape in enumerate(self.shapes):
            self.lines.append(self.given(f"{out} + {sum(self.of.sizes[:k])}", k, shape))

    def text(
        self,
        name: str,
        inputs: Sequence[tuple[int, int]],
        outputs: Sequence[tuple[int, int]],
        names: tuple[Sequence[str], Sequence[str]] | None = None,
    ) -> Iterator[str]:
        """The function and what CasADi asks about it."""
        counters = ["int i, j;"] if any(" (i = 0" in line for line in self.lines) else []
        declared = [line for line in self.lines if line.startswith("double")]
        rest = [line for line in self.lines if not line.startswith("double")]
        yield f"EXPORTED int {name}(const double **arg, double **res, long long *iw, double *w, int mem)\n{{"
        yield from (f"    {line}" for line in (*counters, *declared, "(void)iw;", "(void)mem;", *rest, "return 0;"))
        yield "}\n"
        yield f"EXPORTED long long {name}_n_in(void) {{ return {len(inputs)}; }}"
        yield f"EXPORTED long long {name}_n_out(void) {{ return {len(outputs)}; }}"
        for which, shapes in (("in", inputs), ("out", outputs)):
            rows = ", ".join(f"{{{rows}, {columns}, 1}}" for rows, columns in shapes)  # 1: all entries are there
            yield f"static const long long {name}_{which}[{len(shapes)}][3] = {{{rows}}};"
            yield f"EXPORTED const long long *{name}_sparsity_{which}(long long i) {{ return {name}_{which}[i]; }}"
        for which, own in zip(("in", "out"), names or (), strict=False):
            words = ", ".join(f'"{word}"' for word in own)
            yield f"static const char *const {name}_names_{which}[] = {{{words}}};"
            yield f"EXPORTED const char *{name}_name_{which}(long long i) {{ return {name}_names_{which}[i]; }}"
        sizes = f"*sz_arg = {len(inputs)}; *sz_res = {len(outputs)}; *sz_iw = 0; *sz_w = {self.used};"
        arguments = ", ".join(f"long long *sz_{what}" for what in ("arg", "res", "iw", "w"))
        yield f"EXPORTED int {name}_work({arguments})\n{{\n    {sizes}\n    return 0;\n}}\n"


# ---- CasADi functions of compiled C: our kernels with their derivatives, loaded as an external function --------------


MOST = 3_000  # operations of a function that is spelled out with its derivatives; compilers take seconds for those
LONGEST = 10_000  # operations of one function that is

DERIVATIVES = {
    "forward_dynamics": "forward_dynamics_derivatives",
    "inverse_dynamics": "inverse_dynamics_derivatives",
}
"""Quantities whose derivatives by all their arrays are quantities, too."""


def compiled(
    casadi_library: ModuleType,
    of: Signature,
    question: Asked,
    spelled: Spelled | None,
    evaluator: Evaluator,
    order: int,
) -> casadi.Function:
    """The function with derivatives up to an order; ``spelled`` is its graph, if it is not too long for one."""
    kernels = _kernels(of, question, spelled, evaluator, order)
    path = library(c_unit_for_casadi(of, kernels), of.name)
    function: casadi.Function = casadi_library.external(of.name, str(path))
    return function


def _kernels(of: Signature, question: Asked, spelled: Spelled | None, evaluator: Evaluator, order: int) -> Kernels:
    name = f"{of.name}_value"
    blocks = _blocks(f"{of.name}_blocks", question, evaluator)
    chart = None if blocks is None or moves_by_adding(question.model) else _chart(f"{of.name}_chart", question.model)
    if spelled is None or spelled.operations.total > MOST:
        if order > 1:
            raise RecursaError(
                f"{of.name} is too long for second derivatives in compiled code: every body would be spelled out in "
                'them. derivatives=1 has first ones; leave form="compiled" out for all orders'
            )
        return Kernels(question.c_function(name, evaluator, most=LONGEST), blocks=blocks, chart=chart)
    graph = _graph_function(of.name, spelled)
    arguments = tuple(spelled.sizes)
    along, pulled = graph.along(arguments), graph.pulled(arguments)
    further = pulled.along(tuple(pulled.sizes)) if order > 1 else None
    return Kernels(
        _c_function(name, graph, spelled),
        _c_function(f"{of.name}_along", along, spelled),
        _c_function(f"{of.name}_pulled", pulled, spelled),
        None if further is None else _c_function(f"{of.name}_pulled_along", further, spelled),
        blocks,
        chart,
    )


def _graph_function(name: str, spelled: Spelled) -> GraphFunction:
    """The graph of a function, which can be differentiated."""
    outputs = [Traced(spelled.graph, x) if isinstance(x, int) else x for x in spelled.outputs]
    return GraphFunction(name, spelled.sizes, spelled.size, lambda: (spelled.graph, outputs))


def _c_function(name: str, function: GraphFunction, spelled: Spelled) -> CFunction:
    return CFunction(name, function.graph, function.outputs, function.sizes, spelled.constants)


def _blocks(name: str, question: Asked, evaluator: Evaluator) -> CText | None:
    """Our own derivatives, by small motions, which are shorter than those of the graph."""
    if not isinstance(question, ExportQuestion) or GRAVITY in question.sizes():
        return None
    record = question.quantity
    plain = not question.options and question.inputs == record.inputs and not question.model.equations
    if record.name not in DERIVATIVES or not plain or any(joint.tie for joint in question.model.joints):
        return None
    try:
        return ExportQuestion.of(question.model, DERIVATIVES[record.name], {}).c_function(name, evaluator, most=LONGEST)
    except (RecursaError, UntraceableError):
        return None


def _chart(name: str, model: Model) -> CFunction:
    """How a small motion changes with coordinates: ``difference(q, q + dq)`` along dq."""
    spelled = ExportQuestion.of(model, "difference", {}).traced(name, "graph")
    graph = _graph_function(name, spelled)
    return _c_function(name, graph.along(tuple(spelled.sizes)[1:]), spelled)


def require_order(order: Any) -> None:
    """First derivatives, or second ones, too."""
    if order not in (1, 2) or isinstance(order, bool):
        raise RecursaError(f"derivatives must be 1 or 2, the highest order in compiled code, not {order!r}")
