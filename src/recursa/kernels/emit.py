"""From a graph to LLVM IR text: one function that runs over blocks of W states, one state per lane.

Products that feed one sum become explicit fused multiply-adds, so that the scalar and the SIMD form do the same
arithmetic and give the same bits. Rows are turned into lanes with shuffles: a row-major array is read W rows by W
columns at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from recursa.errors import UntraceableError
from recursa.kernels.function import Output
from recursa.kernels.graph import LEAVES, Graph, Node, operands_of
from recursa.kernels.sincos import atan2, sincos
from recursa.kernels.writer import Shape, Writer, transposed

_TURNS = ("sin", "cos")


PIECE = 512  # operations of straight-line code, or results, that LLVM looks at together


class Arithmetic:
    """Writes nodes of a graph, operands first; subclasses say where leaves come from."""

    def __init__(self, graph: Graph, order: Sequence[int], roots: Iterable[Output], writer: Writer) -> None:
        self.graph = graph
        self.order = order
        self.shape = writer.shape
        self.writer = writer
        self.values: dict[int, str] = {}
        self.uses: dict[int, int] = dict.fromkeys(order, 0)
        operands = [operand for number in order for operand in operands_of(graph.nodes[number])]
        for number in [*operands, *(x for x in roots if isinstance(x, int))]:
            self.uses[number] = self.uses.get(number, 0) + 1
        self.here = set(order)
        self.fused = self._choose_fused()

    def leaf(self, number: int, node: Node) -> str:
        """The name that holds a leaf other than a constant."""
        raise NotImplementedError

    def _choose_fused(self) -> dict[int, int]:
        """For sums: which operand, a product that nobody else needs, is fused into it."""
        chosen: dict[int, int] = {}
        for number in self.order:
            node = self.graph.nodes[number]
            if node.op in ("add", "sub"):
                for operand in node.operands:
                    if operand in self.here and self.graph.nodes[operand].op == "mul" and self.uses[operand] == 1:
                        chosen[number] = operand
                        break
        return chosen

    def compute(self) -> None:
        """Sines and cosines first (with a slow way round for huge angles), then everything else, in order."""
        nodes = self.graph.nodes
        for angles in self._angles():
            results = sincos(self.writer, [self._angle(angle) for angle in angles])
            for angle, (sine, cosine) in zip(angles, results, strict=True):
                self.values[self.graph.node("sin", angle)] = sine
                self.values[self.graph.node("cos", angle)] = cosine
        skipped = set(self.fused.values())
        written = [number for number in self.order if number not in skipped and nodes[number].op not in LEAVES]
        for done, number in enumerate(written):
            self.pause(done)
            self.value(number)

    def pause(self, done: int) -> None:
        """Called before every operation, with the number of those that are done."""

    def _angles(self) -> list[list[int]]:
        """The angles whose sines and cosines are needed; those that follow from sines and cosines come later."""
        nodes, found = self.graph.nodes, dict[int, set[int]]()
        depth: dict[int, int] = {}
        for number in self.order:
            operands = operands_of(nodes[number])
            depth[number] = max((depth.get(k, 0) for k in operands), default=0)
            if nodes[number].op in _TURNS:
                found.setdefault(depth[number], set()).add(operands[0])
                depth[number] += 1
        return [sorted(found[level]) for level in sorted(found)]

    def _angle(self, number: int) -> tuple[str, ...]:
        """An angle in two parts where it is a sum with a constant: a large one then keeps its digits."""
        node = self.graph.nodes[number]
        if node.op == "add" and any(self.graph.nodes[k].op in ("const", "param") for k in node.operands):
            return tuple(self.value(k) for k in node.operands)
        return (self.value(number),)

    def output(self, x: Output) -> str:
        """The name of a node, or a constant."""
        return self.value(x) if isinstance(x, int) else self.shape.constant(x)

    def value(self, number: int) -> str:
        """The name that holds a node, written if it is not there yet (constants and inputs on demand)."""
        name = self.values.get(number)
        if name is None:
            node = self.graph.nodes[number]
            if node.op == "const":
                name = self.shape.constant(node.operands[0])
            elif node.op in LEAVES or number not in self.here:
                name = self.leaf(number, node)
            else:
                name = self._operation(number, node)
            self.values[number] = name
        return name

    def _operation(self, number: int, node: Node) -> str:
        w, value = self.writer, self.value
        if node.op in ("add", "sub"):
            return self._sum(number, node)
        if node.op in ("mul", "div"):
            return w.binary(f"f{node.op}", *(value(k) for k in node.operands))
        if node.op == "neg":
            return w.put(f"fneg {self.shape.vector} {value(node.operands[0])}")
        if node.op == "atan2":
            return atan2(w, *(value(k) for k in node.operands))
        if node.op == "sqrt":
            return w.call("sqrt", value(node.operands[0]))
        if node.op == "lt":
            a, b = (value(k) for k in node.operands)
            return w.put(f"fcmp olt {self.shape.vector} {a}, {b}")
        if node.op == "select":
            condition, a, b = (value(k) for k in node.operands)
            vector = self.shape.vector
            return w.put(f"select {self.shape.lanes('i1')} {condition}, {vector} {a}, {vector} {b}")
        raise UntraceableError(f"a kernel has no {node.op!r} here")

    def _sum(self, number: int, node: Node) -> str:
        w, value = self.writer, self.value
        a, b = node.operands
        product = self.fused.get(number)
        if product is None:
            return w.binary("fadd" if node.op == "add" else "fsub", value(a), value(b))
        x, y = (value(k) for k in self.graph.nodes[product].operands)
        if node.op == "add":
            return w.call("fma", x, y, value(b if product == a else a))
        if product == a:  # x y - b
            return w.call("fma", x, y, w.put(f"fneg {self.shape.vector} {value(b)}"))
        return w.call("fma", w.put(f"fneg {self.shape.vector} {x}"), y, value(a))  # a - x y


class Emitter(Arithmetic):
    """Writes the body of a straight-line kernel for one block."""

    def __init__(self, graph: Graph, outputs: Sequence[Output], sizes: dict[str, int], writer: Writer) -> None:
        super().__init__(graph, graph.reachable(x for x in outputs if isinstance(x, int)), outputs, writer)
        self.outputs = outputs
        self.sizes = sizes
        self.columns: dict[tuple[str, int], str] = {}
        self.pieces = 0

    def leaf(self, number: int, node: Node) -> str:
        """An input."""
        return self.column(*node.operands)

    def column(self, name: str, index: int) -> str:
        """One entry of an input, for every lane; loaded W columns at a time."""
        key = (name, index)
        if key not in self.columns:
            width, size = self.shape.width, self.sizes[name]
            if self.shape.turned or width == 1:
                self.columns[key] = self._load(name, index * width, self.shape.vector)
            elif size < width:
                entries = [self._load(name, lane * size + index, self.shape.scalar) for lane in range(width)]
                self.columns[key] = self.writer.gathered(entries)
            else:
                first = min(index - index % width, size - width)
                rows = [self._load(name, lane * size + first, self.shape.vector) for lane in range(width)]
                for k, vector in enumerate(transposed(self.writer, rows)):
                    self.columns.setdefault((name, first + k), vector)
        return self.columns[key]

    def _load(self, name: str, offset: int, kind: str) -> str:
        align = 4 if self.shape.single else 8
        place = self.writer.put(f"getelementptr {self.shape.scalar}, ptr %{name}.here, i64 {offset}")
        return self.writer.put(f"load {kind}, ptr {place}, align {align}")

    def pause(self, done: int) -> None:
        """Begin another basic block now and then, by a branch that is always taken and that LLVM cannot see through:
        over one long block it broods far longer than over several short ones.
        """
        if done and done % PIECE == 0:
            self.pieces += 1
            self.writer.line(f"  br i1 %some, label %piece{self.pieces}, label %done")
            self.writer.start(f"piece{self.pieces}")

    def store_outputs(self) -> None:
        """Write the block's results, W columns at a time."""
        size, width = len(self.outputs), self.shape.width
        if self.shape.turned or width == 1:
            for index, x in enumerate(self.outputs):
                self.pause(index)
                self._store(self.shape.vector, self.output(x), index * width)
            return
        if size < width:
            for index, x in enumerate(self.outputs):
                vector = self.output(x)
                for lane in range(width):
                    self._store(self.shape.scalar, self.writer.lane(vector, lane), lane * size + index)
            return
        for group, start in enumerate(range(0, size, width)):
            self.pause(group * width)
            first = min(start, size - width)  # the last group overlaps the one before; it writes the same numbers
            names = [self.output(x) for x in self.outputs[first : first + width]]
            for lane, row in enumerate(transposed(self.writer, names)):
                self._store(self.shape.vector, row, lane * size + first)

    def _store(self, kind: str, name: str, offset: int) -> None:
        align = 4 if self.shape.single else 8
        place = self.writer.put(f"getelementptr {self.shape.scalar}, ptr %out.here, i64 {offset}")
        self.writer.line(f"  store {kind} {name}, ptr {place}, align {align}")


@dataclass(frozen=True)
class Function:
    """A function as lines of IR, and the declarations of what it calls."""

    lines: Sequence[str]
    declarations: frozenset[str]


def emit(graph: Graph, outputs: Sequence[Output], sizes: dict[str, int], shape: Shape, name: str) -> str:
    """The module of :func:`straight_function` alone."""
    return module(shape, [straight_function(graph, outputs, sizes, shape, name)])


def straight_function(
    graph: Graph, outputs: Sequence[Output], sizes: dict[str, int], shape: Shape, name: str
) -> Function:
    """The IR of ``void name(i64 blocks, ptr inputs..., ptr out)``; inputs in the order of ``sizes``."""
    writer = Writer(shape, "block.start")
    emitter = Emitter(graph, outputs, sizes, writer)
    emitter.compute()
    emitter.store_outputs()
    pointers = [*sizes, "out"]
    counts = {**sizes, "out": len(outputs)}
    parameters = ", ".join(f"ptr noalias %{p}" for p in pointers)
    places = []
    for p in pointers:
        places += [
            f"  %{p}.offset = mul i64 %block, {counts[p] * shape.width}",
            f"  %{p}.here = getelementptr {shape.scalar}, ptr %{p}, i64 %{p}.offset",
        ]
    lines = [
        f"define void @{name}(i64 %blocks, {parameters}) #0 {{",
        "entry:",
        "  %some = icmp sgt i64 %blocks, 0",
        "  br i1 %some, label %block.start, label %done",
        "block.start:",
        "  %block = phi i64 [ 0, %entry ], [ %next, %block.end ]",
        *places,
        *writer.lines,
        "  br label %block.end",
        "block.end:",
        "  %next = add i64 %block, 1",
        "  %more = icmp slt i64 %next, %blocks",
        "  br i1 %more, label %block.start, label %done",
        "done:",
        "  ret void",
        "}",
    ]
    return Function(lines, frozenset(writer.intrinsics))


def module(shape: Shape, functions: Sequence[Function]) -> str:
    """The text of a module with some functions and what they call."""
    bits = shape.width * (32 if shape.single else 64)
    # vectors that do not fit into registers wait on the stack: aligned, so that none lies across two cache lines
    attributes = (
        f'attributes #0 = {{ nounwind alignstack={max(bits // 8, 16)} "prefer-vector-width"="{max(bits, 128)}" }}'
    )
    declarations = sorted(frozenset().union(*(one.declarations for one in functions)))
    parts = [line for one in functions for line in (*one.lines, "")]
    return "\n".join([*declarations, "", *parts, attributes, "!0 = !{i32 1}", ""])
