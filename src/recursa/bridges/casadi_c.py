"""C text with the calling conventions of CasADi's external functions: a function of ours, and its derivatives.

CasADi finds derivatives by name: ``jac_f`` has a block for every argument, ``fwd1_f`` the change along a direction,
``adj1_f`` the gradient of a weighted sum, ``fwd1_adj1_f`` the change of that, which second derivatives are made of. An
argument may be missing (it is zero then), and so may a result (nobody wants it). CasADi stores matrices column by
column, our functions row by row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from recursa.kernels.c_loops import CText

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
