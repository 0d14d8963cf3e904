"""A plan as loops over bodies: code whose size does not grow with the robot, with its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recursa.errors import UntraceableError
from recursa.kernels.classes import Output, classes
from recursa.kernels.emit import Function, module
from recursa.kernels.graph import code_name
from recursa.kernels.history import History
from recursa.kernels.loop_body import begins
from recursa.kernels.loop_emit import Loops
from recursa.kernels.loop_layout import Layout, demanded, handed_on, results
from recursa.kernels.loop_results import room
from recursa.kernels.loop_runs import runs
from recursa.kernels.observe import observe
from recursa.kernels.products import Product, multiplications, rows_of_columns
from recursa.kernels.programs import Program, Tables
from recursa.kernels.staging import Unit, staged
from recursa.kernels.writer import Shape
from recursa.model.model import Model
from recursa.spatial.counter import Counts
from recursa.spatial.scalars import Scalar
from recursa.sweeps.engine import Values, count, neighbours, visiting_order
from recursa.sweeps.input_kinds import kind_of_input
from recursa.sweeps.plan import BODIES, Plan


@dataclass(frozen=True)
class Looped:
    """What a loop makes a result of, where another plan does it better than the one that is spelled out.

    ``unit``: the result is the matrix whose columns the plan makes of the unit vectors of that input. ``product``: it
    is made of products of the matrices that ``gather`` lists.
    """

    plan: Plan
    gather: Callable[[Values], Iterable[Scalar]]
    unit: Unit | None = None
    product: Product | None = None


MAX_FINAL = 4000  # results that need arithmetic of their own; beyond, code would grow with the robot


class LoopProgram(Program):
    """One plan of one robot as loops, perhaps with columns or products."""

    form = "loop"

    def __init__(self, what: Looped, model: Model, sizes: Mapping[str, int]) -> None:
        plan, unit = what.plan, what.unit
        self.product = what.product
        if any("number" in step.reads for sweep in plan.sweeps for step in sweep.steps):
            raise UntraceableError("steps that depend on the body's number cannot share code")
        self.unit = unit
        self.repeated = len(plan.sweeps)  # the first sweep that is done for every column
        self.sizes = {code_name(name): size for name, size in sizes.items()}
        if unit is not None:
            plan, self.repeated = staged(plan, unit.name)
            sizes = {**sizes, unit.name: unit.count}
        self.plan = plan
        self.model = model
        self.names = {code_name(name): name for name in sizes}
        history, seen = History(plan, model), observe(plan, model, sizes)
        self.results = results(history, seen, what.gather)
        self.found = classes(history, sizes, seen)
        wanted = {slot for _, _, slot in self.results.loads()}
        self.blocks = demanded(self.found, wanted, self.repeated)
        self.layout = Layout(plan, model, wanted, handed_on(self.found, self.blocks, self.results))
        self._tables: dict[Shape, Tables] = {}
        self._written: dict[Shape, Function] = {}  # written with the tables, until it is asked for
        if len(self.results.made) > MAX_FINAL:
            raise UntraceableError("too many results need arithmetic of their own")

    def _loops(self, shape: Shape) -> Loops:
        repeated = None if self.unit is None else (code_name(self.unit.name), self.repeated)
        return Loops(
            self.layout, self.found, self.blocks, self.results, tuple(self.sizes), shape, repeated, self.product
        )

    @property
    def columns(self) -> int:
        """How often the sweeps from ``repeated`` on are done."""
        return 1 if self.unit is None else self.unit.count

    @property
    def size(self) -> int:
        """Numbers of the result."""
        return len(self.results.outputs) * self.columns if self.product is None else self.product.results

    @property
    def operations(self) -> Counts:
        """Operations of one evaluation."""
        total = self.results.graph.counts([x for x in self.results.outputs if isinstance(x, int)]) * self.columns
        if self.product is not None:
            done = multiplications(self.results.outputs, self.product)
            total = total + Counts(mul=done, add=done)
        for one, own in zip(self.found, self.blocks, strict=True):
            for sweep, block in own.items():
                nodes = [k for k in block.order if k not in block.restored]
                times = len(one.members) * (self.columns if sweep >= self.repeated else 1)
                total = total + one.graph.tally(nodes) * times
        return total

    @property
    def visits(self) -> int:
        """How many bodies, links and pairs all sweeps of one evaluation visit."""
        each = [len(visiting_order(sweep, self.model)) for sweep in self.plan.sweeps]
        return sum(each[: self.repeated]) + self.columns * sum(each[self.repeated :])

    def ir(self, shape: Shape) -> str:
        """The code for so many lanes."""
        self.tables(shape)
        written: Function | None = self._written.pop(shape, None)  # another thread may ask at the same time
        return module(shape, [written or self.function(shape, "kernel")])

    def function(self, shape: Shape, name: str) -> Function:
        """The same as a function of any name."""
        return self._loops(shape).function(name)

    def tables(self, shape: Shape) -> Tables:
        """What the code reads beside its inputs."""
        found = self._tables.get(shape)
        if found is None:
            found = self._tables[shape] = LoopTables(self, shape).all()
        return found


class LoopTables:
    """Works out what the code reads beside its inputs."""

    def __init__(self, program: LoopProgram, shape: Shape) -> None:
        loops = program._loops(shape)
        program._written[shape] = loops.function()  # says which columns and sizes it reads
        self.program = program
        self.loops = loops
        self.shape = shape
        self.made = {number: i for i, number in enumerate(loops.results.made)}
        self.sizes = self._parts()
        self.places = begins(self.sizes)
        self.parts: list[NDArray[np.int64]] = []
        self.used = len(loops.writer.header)
        header = {name: self._header(name) for name in loops.writer.header}
        self.integers = np.concatenate([np.array(list(header.values()), np.int64), *self.parts]).astype(np.int32)
        kind = np.float32 if shape.single else np.float64
        self.numbers = np.concatenate([self.numbers_of(domain).ravel() for domain in program.plan.domains]).astype(kind)

    # ---- scratch -----------------------------------------------------------------------------------------------------

    def _parts(self) -> dict[str, int]:
        """The sizes of the parts of the scratch."""
        program, loops, layout = self.program, self.loops, self.loops.layout
        rows = [layout.rows(s)[2] for s in {slot.sweep for slot in layout.in_row}]
        self.constants = sorted({x for x in program.results.outputs if isinstance(x, float)})
        return {
            "judged": 1,
            **{f"input.{name}": size for name, size in program.sizes.items()},
            "robot": len(layout.robot),
            "handed": len(layout.handed),
            "rows": layout.row_size * max(rows, default=0),
            "made": len(loops.results.made),
            "products": 0 if program.product is None else program.product.results - program.product.size**2,
            "matrix": self._matrix(),
            "constants": len(self.constants),
            **{
                f"records.{domain}": loops.records[domain] * count(domain, program.model)
                for domain in program.plan.domains
            },
            "room": room(self.shape.width) if self.shape.wide else 0,
        }

    def _matrix(self) -> int:
        """Numbers of the matrices that are put together before they become the result."""
        if self.program.unit is not None:
            return self.program.unit.count * len(self.program.results.outputs)
        return 0 if self.program.product is None else len(self.program.results.outputs)

    def all(self) -> Tables:
        """What calls need of it."""
        width = self.shape.width
        constants = np.repeat(self.constants, width).astype(self.numbers.dtype)
        return Tables(
            self.integers, self.numbers, constants, self.places["constants"] * width, self.places["end"] * width
        )

    # ---- integers ----------------------------------------------------------------------------------------------------

    def _part(self, values: Iterable[int]) -> int:
        """Append integers to the tables; where they begin."""
        part = np.array(list(values), np.int64)
        start, self.used = self.used, self.used + len(part)
        self.parts.append(part)
        return start

    def _header(self, name: str) -> int:
        model, plan = self.program.model, self.program.plan
        kind, _, rest = name.partition(".")
        if name in self.places:
            return self.places[name]
        if kind == "size":
            return self._sizes(rest)
        if kind == "product":
            return self._product(rest)
        if kind == "count":
            return model.nbodies if rest == BODIES else len(visiting_order(plan.sweeps[int(rest)], model))
        if kind == "order":
            return self._part(visiting_order(plan.sweeps[int(rest)], model))
        if name == "filled":
            return self._part(self.program.results.filled(self.shape.width))
        if kind in ("direct", "step"):
            return self._direct(kind, rest)
        if kind == "runs":
            found = self._runs(int(rest.removeprefix("count.")))
            return len(found) if rest.startswith("count.") else self._part(x for one in found for x in one)
        if kind == "columns":
            return len(self.loops.columns[rest])
        if kind == "table":
            return self._part(self._table(rest).ravel())
        if kind == "numbers":
            domains = self.program.plan.domains
            before = domains[: domains.index(rest)]
            return sum(self.numbers_of(domain).size for domain in before)
        if name == "entries":
            return self._part(map(self._place_of, self.program.results.outputs))
        if name == "loads":
            return self._part(self._place_of_load(number) for number in self.loops.loads_of_results)
        assert name == "target" and plan.target is not None
        return plan.target

    def _runs(self, number: int) -> list[tuple[int, int, int]]:
        """The runs of a sweep over pairs."""
        sweep, model = self.program.plan.sweeps[number], self.program.model
        kinds = self.column(sweep.domain, "class", count(sweep.domain, model))
        return runs(model, sweep.domain, visiting_order(sweep, model), kinds)

    def _sizes(self, name: str) -> int:
        program = self.program
        whole = {"out": program.size, "column": len(program.results.outputs), "columns": program.columns}
        return program.sizes[name] if name in program.sizes else whole[name]

    def _direct(self, kind: str, rest: str) -> int:
        direct = self.loops.direct
        assert direct is not None
        if kind == "step":
            return direct.steps[int(rest)]
        if rest == "count":
            return len(direct.rest)
        return self._part(x for at, output in direct.rest for x in (at, self._place_of(output)))

    def _product(self, name: str) -> int:
        product = self.program.product
        assert product is not None
        if name in ("size", "height"):
            return product.size if name == "size" else product.rows
        rows = rows_of_columns(self.program.results.outputs, product)
        if name == "rows":
            return self._part(row for own in rows for row in own)
        return self._part(np.cumsum([0, *map(len, rows)]).tolist())

    def _table(self, domain: str) -> NDArray[np.int64]:
        """One line per body or link."""
        size = count(domain, self.program.model)
        table = np.zeros((size, len(self.loops.columns[domain])), np.int64)
        for column, index in self.loops.columns[domain].items():
            table[:, index] = self.column(domain, column, size)
        return table

    def column(self, domain: str, column: Any, size: int) -> list[int]:
        """A column of the table of integers."""
        model, plan = self.program.model, self.program.plan
        if column == "class":
            numbers = [-1] * size
            for number, one in enumerate(self.program.found):
                for k in one.members if one.domain == domain else ():
                    numbers[k] = number
            return numbers
        what, which = column
        if what == "direct":
            assert self.loops.direct is not None
            places = self.loops.direct.columns[domain][which]
            return [places.get(k, 0) for k in range(size)]
        if what == "input":
            kind = kind_of_input(self.program.names[which])
            return [kind.part(model, k).start for k in range(size)]
        if what in ("own row", "other row"):
            own, other, _ = self.loops.layout.rows(which)
            return [max(row, 0) for row in (own if what == "own row" else other)]
        if what == "child":
            sweep = plan.sweeps[which]
            path = set(sweep.only or ())
            find = neighbours("child", sweep, model)
            return [max(find(k), 0) if k in path else 0 for k in range(size)]
        find = neighbours(what, plan.sweeps[0], model)
        return [max(find(k), 0) for k in range(size)]  # where there is none, the code does not ask

    def _place_of(self, output: Output) -> int:
        if isinstance(output, float):
            return self.places["constants"] + self.constants.index(output)
        if self.program.results.graph.nodes[output].op == "load":
            return self._place_of_load(output)
        return self.places["made"] + self.made[output]

    def _place_of_load(self, number: int) -> int:
        return self.loops.stored(self.places, *self.program.results.graph.nodes[number].operands)

    # ---- numbers -----------------------------------------------------------------------------------------------------

    def numbers_of(self, domain: str) -> NDArray[np.float64]:
        """One line of constants per body, link or pair."""
        size = count(domain, self.program.model)
        table = np.zeros((size, self.loops.numbers[domain]))
        for one in self.program.found:
            if one.domain == domain:
                for column, index in self.loops.params[id(one)].items():
                    table[one.members, index] = one.graph.columns[column]
        return table
