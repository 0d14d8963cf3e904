"""From the classes of a plan to C99 text: loops over bodies, one case of a switch per class and sweep, constant tables.

The code is as long for a hundred bodies as for ten. Numbers of bodies wait in an array on the stack, whose size the
text says; nothing is allocated, no state is kept. The tables say which bodies a sweep visits, whom they are like, where
their neighbours and their entries of inputs are, and their constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from recursa.errors import UntraceableError
from recursa.kernels.c_source import CFunction, c_constants, c_number, c_prototype, c_table, c_value
from recursa.kernels.classes import Output
from recursa.kernels.graph import Graph, Node
from recursa.kernels.loop import LoopProgram, LoopTables
from recursa.kernels.loop_body import Column, Place, Visit, begins
from recursa.kernels.products import Product
from recursa.kernels.writer import Shape
from recursa.spatial.counter import Counts
from recursa.sweeps.engine import count, visiting_order
from recursa.sweeps.plan import BODIES

MAX_STACK = 2**19  # numbers: half of what a thread commonly has


class LoopedCFunction:
    """A loop over bodies as ``void name(const double inputs[]..., double out[])``, with its tables before it."""

    def __init__(
        self,
        name: str,
        program: LoopProgram,
        arguments: Mapping[str, str] = MappingProxyType({}),
        constants: Mapping[str, Sequence[float]] = MappingProxyType({}),
    ) -> None:
        """``arguments``: other names for inputs; ``constants``: inputs that are always the same, no arguments then."""
        self.name, self.program, self.constants = name, program, constants
        self.called = {own: arguments.get(own, own) for own in program.sizes}
        self.sizes = {self.called[own]: size for own, size in program.sizes.items() if own not in constants}
        self.tables = LoopTables(program, Shape(1, single=False))
        self.loops = self.tables.loops
        self.columns: dict[str, dict[Any, int]] = {domain: {"class": 0} for domain in self.loops.layout.kept}
        self.places = self._places()
        if self.places["end"] > MAX_STACK:
            raise UntraceableError(f"its loops need {self.places['end']} numbers on the stack, over {MAX_STACK}")

    @property
    def operations(self) -> Counts:
        """Operations of one call."""
        return self.program.operations

    @property
    def size(self) -> int:
        """Numbers of the result."""
        return self.program.size

    @property
    def prototype(self) -> str:
        """The declaration, without the semicolon."""
        return c_prototype(self.name, self.sizes, self.size)

    def _places(self) -> dict[str, int]:
        """Where the parts of the array begin; "end" is its size."""
        inputs = [f"input.{name}" for name in self.program.sizes if self.program.unit is not None]
        records = [f"records.{domain}" for domain in self.program.plan.domains]
        parts = ("robot", "handed", "rows", "made", *inputs, *records)
        return begins({name: self.tables.sizes[name] for name in parts})

    # ---- the text ----------------------------------------------------------------------------------------------------

    def definition(self) -> str:
        """The tables and the function."""
        body = list(self._body())
        text = "\n".join(body)
        unused = [f"    (void){name};" for name in self.sizes if f"{name}[" not in text]
        start = [*([f"    double memory[{self.places['end']}];"] if "memory" in text else []), *unused]
        return "\n".join(
            [*c_constants(self.constants), *self._tables(text), self.prototype, "{", *start, *_indented(body), "}", ""]
        )

    def _body(self) -> Iterator[str]:
        program = self.program
        first = self.loops.first_repeated
        if program.unit is None:
            yield from self._sweeps(range(first))
            yield from self._results("{0}")
            return
        for name, size in program.sizes.items():  # the result may be the same array, and columns are written one by one
            place = self.places[f"input.{name}"]
            yield f"for (int i = 0; i < {size}; ++i) memory[{place} + i] = {self.called[name]}[i];"
        yield from self._sweeps(range(first))
        yield f"for (int unit = 0; unit < {self.program.columns}; ++unit) {{"
        yield from _indented(self._sweeps(range(first, len(program.plan.sweeps))))
        yield from _indented(self._results(f"{{0}} * {self.program.columns} + unit"))
        yield "}"

    def _sweeps(self, numbers: range) -> Iterator[str]:
        """Sums begun, then one loop for each sweep."""
        layout = self.loops.layout
        for slot, index in layout.robot.items():
            if self.loops.added_in(slot, numbers):
                yield f"memory[{self.places['robot'] + index}] = {c_number(self.loops.base_number(slot))};"
        totals = self.loops.totals(numbers)
        if totals:
            yield f"for (int k = 0; k < {self.program.model.nbodies}; ++k) {{"
            yield f"    double *own = {self.record(f'records.{BODIES}', 'k', self.loops.records[BODIES])};"
            yield from (f"    own[{index}] = 0.0;" for index in totals)
            yield "}"
        for number in numbers:
            yield from self._sweep(number)

    def _sweep(self, sweep: int) -> Iterator[str]:
        here = self.loops.classes_in(sweep)
        if not here:
            return
        plan, model = self.program.plan, self.program.model
        domain, order = plan.sweeps[sweep].domain, list(visiting_order(plan.sweeps[sweep], model))
        yield f"for (int i = 0; i < {len(order)}; ++i) {{  /* {plan.sweeps[sweep].direction.value} */"
        yield f"    const int k = {self._visited(sweep, order)};"
        if len({*self.tables.column(domain, "class", count(domain, model))}) == 1:
            ((_, one, block),) = here
            yield from _indented(_Case(self, Visit(self.loops, one, sweep, block)).lines())
        else:
            yield f"    switch ({self.name}_{domain}[k][0]) {{"
            for number, one, block in here:
                yield f"    case {number}: {{"
                yield from _indented(_Case(self, Visit(self.loops, one, sweep, block)).lines(), 2)
                yield "        break;"
                yield "    }"
            yield "    default:"
            yield "        break;"
            yield "    }"
        yield "}"

    def _visited(self, sweep: int, order: list[int]) -> str:
        """The body that is visited as the i-th."""
        n = len(order)
        if order == list(range(n)):
            return "i"
        return f"{n - 1} - i" if order == list(range(n))[::-1] else f"{self.name}_order{sweep}[i]"

    def _results(self, place: str) -> Iterator[str]:
        """What is made of stored numbers after the sweeps, and the result; ``place`` is that of entry {0}."""
        results, product = self.program.results, self.program.product
        if results.made:
            yield "{"
            yield from _indented(self._made())
            yield "}"
        entries = [self._entry(x) for x in results.outputs]
        if product is not None:
            yield from self._products(product)
            return
        at = f"{self.name}_entries[j]"
        if all(entry >= 0 for entry in entries):
            value = f"memory[{at}]"
        elif all(entry < 0 for entry in entries):
            value = self._constant(f"-1 - {at}")
        else:
            value = f"{at} < 0 ? {self._constant(f'-1 - {at}')} : memory[{at}]"
        yield f"for (int j = 0; j < {len(entries)}; ++j) out[{place.format('j')}] = {value};"

    def _products(self, product: Product) -> Iterator[str]:
        """``-A* B`` for every factor B, then the first rows of A, which comes first in what is stored."""
        n, factors, rows = product.size, product.factors, product.rows

        def entry(index: str) -> str:
            return f"{self.name}_value(memory, {index})"

        yield f"for (int f = 0; f < {factors}; ++f)"
        yield f"    for (int i = 0; i < {n}; ++i)"
        yield f"        for (int j = 0; j < {n}; ++j) {{"
        yield "            double sum = 0.0;"
        yield f"            for (int k = 0; k < {rows}; ++k) {{"
        yield f"                const double right = {entry(f'(f + 1) * {n * rows} + k * {n} + j')};"
        yield f"                if (right != 0.0) sum += {entry(f'k * {n} + i')} * right;"
        yield "            }"
        yield f"            out[f * {n * n} + i * {n} + j] = -sum;"
        yield "        }"
        yield f"for (int i = 0; i < {n * n}; ++i) out[{factors * n * n} + i] = {entry('i')};"

    def _constant(self, index: str) -> str:
        """A constant of the result: zero, mostly."""
        if len(self.tables.constants) == 1:
            return c_number(self.tables.constants[0])
        return f"{self.name}_constants[{index}]"

    def _entry(self, output: Output) -> int:
        """Where an entry of the result is stored; -1 - n for the n-th constant."""
        if isinstance(output, float):
            return -1 - self.tables.constants.index(output)
        node = self.program.results.graph.nodes[output]
        if node.op == "load":
            return self._stored(node)
        return self.places["made"] + self.program.results.made.index(output)

    def _stored(self, node: Node) -> int:
        return self.loops.stored(self.places, *node.operands)

    def _made(self) -> Iterator[str]:
        results = self.program.results
        order = results.graph.reachable(results.made)
        yield from _arithmetic(results.graph, order, lambda _, node: f"memory[{self._stored(node)}]")
        for index, number in enumerate(results.made):
            yield f"memory[{self.places['made'] + index}] = {c_value(results.graph.nodes, number)};"

    def record(self, part: str, item: str, stride: int) -> str:
        """The place of the numbers of a body, link or pair, or of a row."""
        start = self.places[part]
        return f"memory + {start} + {item} * {stride}" if start else f"memory + {item} * {stride}"

    # ---- tables ------------------------------------------------------------------------------------------------------

    def _tables(self, text: str) -> list[str]:
        """The tables that the text of the function reads."""
        name, program = self.name, self.program
        model = program.model
        lines: list[str] = []
        for number, sweep in enumerate(program.plan.sweeps):
            if f"{name}_order{number}[" in text:
                lines += c_table("int", f"{name}_order{number}", list(visiting_order(sweep, model)))
        for domain, columns in self.columns.items():
            if f"{name}_{domain}[" in text:
                size = count(domain, model)
                found = [self.tables.column(domain, column, size) for column in columns]
                rows = [list(row) for row in zip(*found, strict=True)]
                lines += c_table("int", f"{name}_{domain}", rows)
            if f"{name}_numbers_{domain}[" in text:
                rows = [[c_number(x) for x in row] for row in self.tables.numbers_of(domain).tolist()]
                lines += c_table("double", f"{name}_numbers_{domain}", rows)
        if len(self.tables.constants) > 1:
            lines += c_table("double", f"{name}_constants", [c_number(x) for x in self.tables.constants])
        if f"{name}_entries[" in text or program.product is not None:
            lines += c_table("int", f"{name}_entries", [self._entry(x) for x in program.results.outputs])
        if program.product is not None:
            constant = self._constant("-1 - at") if self.tables.constants else "0.0"
            lines += [
                f"static double {name}_value(const double *memory, int j)",
                "{",
                f"    const int at = {name}_entries[j];",
                f"    return at < 0 ? {constant} : memory[at];",
                "}",
                "",
            ]
        return lines


CText = CFunction | LoopedCFunction
"""A C function as text: every body spelled out, or loops over bodies."""


class _Case:
    """The code of one class in one sweep, at body, link or pair ``k``."""

    def __init__(self, function: LoopedCFunction, visit: Visit) -> None:
        self.function, self.visit = function, visit
        self.pointers: dict[str, str] = {}  # by name, what they point to

    def lines(self) -> Iterator[str]:
        """Pointers that are used, then arithmetic, then what is stored."""
        visit, block, graph = self.visit, self.visit.block, self.visit.one.graph
        restored = [f"const double t{k} = {self._at(visit.saved(k))};" for k in sorted(block.restored)]
        computed = list(_arithmetic(graph, [k for k in block.order if k not in block.restored], self._leaf))
        stores = [f"{self._at(visit.saved(k))} = {c_value(graph.nodes, k)};" for k in block.saves]
        for slot, x in block.stores:
            value = c_value(graph.nodes, x) if isinstance(x, int) else c_number(x)
            stores.append(f"{self._at(visit.target(slot))} {'+=' if visit.adds(slot) else '='} {value};")
        for name, place in self.pointers.items():
            kind = "const int" if name == "at" else "const double" if name == "c" else "double"
            yield f"{kind} *{name} = {place};"
        yield from (*restored, *computed, *stores)

    def _leaf(self, _: int, node: Node) -> str:
        """An input, a constant from the table, a stored number."""
        function, visit = self.function, self.visit
        if node.op == "param":
            table = self._pointer("c", f"{function.name}_numbers_{visit.one.domain}[k]")
            return f"{table}[{visit.param(node.operands[0])}]"
        if node.op == "input":
            name, index = node.operands
            start = self._column(("input", name))
            if name == visit.loops.unit:
                return f"{start} + {index} == unit ? 1.0 : 0.0"
            if function.program.unit is not None:
                return f"memory[{function.places[f'input.{name}'] + index} + {start}]"
            called = function.called[name]
            return f"{called}[{start} + {index}]" if index else f"{called}[{start}]"
        via, slot, _ = node.operands
        return self._at(visit.source(via, slot))

    def _at(self, place: Place) -> str:
        """A number of the robot, or in a row or record."""
        if not place.via:
            return f"memory[{self.function.places[place.part] + place.number}]"
        alone = place.part == "rows" or place.via == "own"
        name = place.via.replace(" ", "_") if alone else f"{place.via}_{place.part.removeprefix('records.')}"
        if place.column is not None:
            item = self._column(place.column)
        else:
            item = {"own": "k", "carried": "(k - 1)", "target": str(self.function.program.plan.target)}[place.via]
        return f"{self._pointer(name, self.function.record(place.part, item, place.stride))}[{place.number}]"

    def _column(self, column: Column) -> str:
        """An integer from this body's line of the table."""
        domain = self.visit.one.domain
        columns = self.function.columns[domain]
        index = columns.setdefault(column, len(columns))
        return f"{self._pointer('at', f'{self.function.name}_{domain}[k]')}[{index}]"

    def _pointer(self, name: str, place: str) -> str:
        self.pointers.setdefault(name, place)
        return name


def _arithmetic(graph: Graph, order: Sequence[int], leaf: Callable[[int, Node], str]) -> Iterator[str]:
    """One constant per node, operands first."""
    nodes = graph.nodes
    for number in order:
        node = nodes[number]
        if node.op == "const":
            continue
        loaded = node.op in ("input", "param", "load")
        kind = "int" if node.op == "lt" else "double"
        yield f"const {kind} t{number} = {leaf(number, node) if loaded else c_value(nodes, number, spelled=True)};"


def _indented(lines: Iterable[str], levels: int = 1) -> Iterator[str]:
    return ("    " * levels + line for line in lines)
