"""From the classes of a plan to C99 text: loops over bodies, one case of a switch per class and sweep, constant tables.

The code is as long for a hundred bodies as for ten. Numbers of bodies wait in an array on the stack, whose size the
text says; nothing is allocated, no state is kept. The tables say which bodies a sweep visits, whom they are like, where
their neighbours and their entries of inputs are, and their constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from recursa.errors import UntraceableError
from recursa.kernels.c_source import c_constants, c_number, c_prototype, c_table, c_value
from recursa.kernels.classes import ADDED, Class, Output, Slot
from recursa.kernels.emit import Shape
from recursa.kernels.graph import Graph, Node
from recursa.kernels.loop import LoopProgram, LoopTables
from recursa.kernels.loop_layout import Block
from recursa.kernels.products import Product
from recursa.spatial.counting import Counts
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
        product = self.program.product
        return len(self.program.results.outputs) * self._columns if product is None else product.results

    @property
    def _columns(self) -> int:
        return 1 if self.program.unit is None else self.program.unit.count

    @property
    def prototype(self) -> str:
        """The declaration, without the semicolon."""
        return c_prototype(self.name, self.sizes, self.size)

    def _places(self) -> dict[str, int]:
        """Where the parts of the array begin; "end" is its size."""
        layout, model = self.loops.layout, self.program.model
        rows = [layout.rows(s)[2] for s in {slot.sweep for slot in layout.in_row}]
        sizes = {
            "robot": len(layout.robot),
            "handed": len(layout.handed),
            "rows": layout.row_size * max(rows, default=0),
            "made": len(self.program.results.made),
            **{f"input.{name}": size for name, size in self.program.sizes.items() if self.program.unit is not None},
            **{domain: size * count(domain, model) for domain, size in self.loops.records.items()},
        }
        places, end = {}, 0
        for name, size in sizes.items():
            places[name] = end
            end += size
        return places | {"end": end}

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
        yield f"for (int unit = 0; unit < {self._columns}; ++unit) {{"
        yield from _indented(self._sweeps(range(first, len(program.plan.sweeps))))
        yield from _indented(self._results(f"{{0}} * {self._columns} + unit"))
        yield "}"

    def _sweeps(self, numbers: range) -> Iterator[str]:
        """Sums begun, then one loop for each sweep."""
        layout = self.loops.layout
        for slot, index in layout.robot.items():
            if self.loops.added_in(slot, numbers):
                yield f"memory[{self.places['robot'] + index}] = {c_number(self.loops.base_number(slot))};"
        totals = [
            index for slot, index in layout.kept[BODIES].items() if slot.area == "total" and slot.sweep in numbers
        ]
        if totals:
            yield f"for (int k = 0; k < {self.program.model.nbodies}; ++k) {{"
            yield f"    double *own = {self._record(BODIES, 'k')};"
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
            yield from _indented(_Case(self, one, sweep, block).lines())
        else:
            yield f"    switch ({self.name}_{domain}[k][0]) {{"
            for number, one, block in here:
                yield f"    case {number}: {{"
                yield from _indented(_Case(self, one, sweep, block).lines(), 2)
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

    @cached_property
    def _constants(self) -> list[float]:
        return sorted({x for x in self.program.results.outputs if isinstance(x, float)})

    def _constant(self, index: str) -> str:
        """A constant of the result: zero, mostly."""
        if len(self._constants) == 1:
            return c_number(self._constants[0])
        return f"{self.name}_constants[{index}]"

    def _entry(self, output: Output) -> int:
        """Where an entry of the result is stored; -1 - n for the n-th constant."""
        if isinstance(output, float):
            return -1 - self._constants.index(output)
        node = self.program.results.graph.nodes[output]
        if node.op == "load":
            return self.stored(*node.operands)
        return self.places["made"] + self.program.results.made.index(output)

    def stored(self, area: str, k: int, slot: Slot) -> int:
        """Where a number of a body, a link, a pair or the robot is."""
        layout = self.loops.layout
        if area == "robot":
            return self.places["robot"] + layout.robot[slot]
        return self.places[area] + k * self.loops.records[area] + layout.kept[area][slot]

    def _made(self) -> Iterator[str]:
        results = self.program.results
        order = results.graph.reachable(results.made)
        yield from _arithmetic(results.graph, order, lambda _, node: f"memory[{self.stored(*node.operands)}]")
        for index, number in enumerate(results.made):
            yield f"memory[{self.places['made'] + index}] = {c_value(results.graph.nodes, number)};"

    def _record(self, domain: str, k: str) -> str:
        """The place of the numbers of a body, link or pair."""
        start, stride = self.places[domain], self.loops.records[domain]
        return f"memory + {start} + {k} * {stride}" if start else f"memory + {k} * {stride}"

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
        if len(self._constants) > 1:
            lines += c_table("double", f"{name}_constants", [c_number(x) for x in self._constants])
        if f"{name}_entries[" in text or program.product is not None:
            lines += c_table("int", f"{name}_entries", [self._entry(x) for x in program.results.outputs])
        if program.product is not None:
            constant = self._constant("-1 - at") if self._constants else "0.0"
            lines += [
                f"static double {name}_value(const double *memory, int j)",
                "{",
                f"    const int at = {name}_entries[j];",
                f"    return at < 0 ? {constant} : memory[at];",
                "}",
                "",
            ]
        return lines


class _Case:
    """The code of one class in one sweep, at body, link or pair ``k``."""

    def __init__(self, function: LoopedCFunction, one: Class, sweep: int, block: Block) -> None:
        self.function, self.one, self.sweep, self.block = function, one, sweep, block
        self.loops = function.loops
        self.pointers: dict[str, str] = {}  # by name, what they point to

    def lines(self) -> Iterator[str]:
        """Pointers that are used, then arithmetic, then what is stored."""
        saved, block, nodes = self.loops.saved[id(self.one)], self.block, self.one.graph.nodes
        restored = [f"const double t{k} = {self._own(saved[k])};" for k in sorted(block.restored)]
        computed = list(_arithmetic(self.one.graph, [k for k in block.order if k not in block.restored], self._leaf))
        stores = [f"{self._own(saved[k])} = {c_value(nodes, k)};" for k in block.saves]
        for slot, x in block.stores:
            value = c_value(nodes, x) if isinstance(x, int) else c_number(x)
            adds = slot.area in ADDED and not (slot.area == "sum" and self.sweep in self.one.gives_first)
            stores.append(f"{self._target(slot)} {'+=' if adds else '='} {value};")
        for name, place in self.pointers.items():
            kind = "const int" if name == "at" else "const double" if name == "c" else "double"
            yield f"{kind} *{name} = {place};"
        yield from (*restored, *computed, *stores)

    def _leaf(self, _: int, node: Node) -> str:
        """An input, a constant from the table, a stored number."""
        function = self.function
        if node.op == "param":
            column = self.loops.params[id(self.one)][node.operands[0]]
            return f"{self._pointer('c', f'{function.name}_numbers_{self.one.domain}[k]')}[{column}]"
        if node.op == "input":
            name, index = node.operands
            start = self._column(("input", name))
            if name == self.loops.unit:
                return f"{start} + {index} == unit ? 1.0 : 0.0"
            if function.program.unit is not None:
                return f"memory[{function.places[f'input.{name}'] + index} + {start}]"
            called = function.called[name]
            return f"{called}[{start} + {index}]" if index else f"{called}[{start}]"
        via, slot, _ = node.operands
        return self._source(via, slot)

    def _source(self, via: str, slot: Slot) -> str:
        layout = self.loops.layout
        if slot in layout.handed:
            return self._handed(slot)
        if slot.area in ("row", "sum"):
            return self._row("own row" if via == "own" else "other row", slot)
        if via == "robot":
            return f"memory[{self.function.places['robot'] + layout.robot[slot]}]"
        if via == "own":
            return self._own(layout.kept[BODIES][slot])
        if via == "target":
            item = str(self.function.program.plan.target)
        elif via == "carried":
            item = "(k - 1)"
        else:
            item = self._column((via, self.sweep if via == "child" else 0))
        return self._at(slot.area, via, item, layout.kept[slot.area][slot])

    def _target(self, slot: Slot) -> str:
        """Where a number is stored for others."""
        layout = self.loops.layout
        if slot in layout.handed:
            return self._handed(slot)
        if slot.area in ("row", "sum"):
            return self._row("own row" if slot.area == "row" else "other row", slot)
        if slot.area == "robot":
            return f"memory[{self.function.places['robot'] + layout.robot[slot]}]"
        if slot.area == "total":
            via = "parent" if self.one.domain == BODIES else "body"
            return self._at(BODIES, via, self._column((via, 0)), layout.kept[BODIES][slot])
        return self._own(layout.kept[slot.area][slot])

    def _handed(self, slot: Slot) -> str:
        """The one place of what is only handed on along a walk."""
        return f"memory[{self.function.places['handed'] + self.loops.layout.handed[slot]}]"

    def _own(self, index: int) -> str:
        return self._at(self.one.domain, "own", "k", index)

    def _at(self, domain: str, via: str, item: str, index: int) -> str:
        """A number of a body, link or pair that is reached ``via``."""
        name = via if via == "own" else f"{via}_{domain}"
        return f"{self._pointer(name, self.function._record(domain, item))}[{index}]"

    def _row(self, which: str, slot: Slot) -> str:
        layout, start = self.loops.layout, self.function.places["rows"]
        place = f"memory + {start} + {self._column((which, self.sweep))} * {layout.row_size}"
        return f"{self._pointer(which.replace(' ', '_'), place)}[{layout.in_row[slot]}]"

    def _column(self, column: Any) -> str:
        """An integer from this body's line of the table."""
        columns = self.function.columns[self.one.domain]
        index = columns.setdefault(column, len(columns))
        return f"{self._pointer('at', f'{self.function.name}_{self.one.domain}[k]')}[{index}]"

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
