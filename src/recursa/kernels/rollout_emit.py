"""The loop over time steps as LLVM IR: W states stay lanes from the first step to the last.

``void rollout(i64 blocks, ptr control, ptr step, ptr q, ptr v, ptr tau, ptr parameters, ptr saved_q, ptr saved_v,
ptr finite, ptr given, ptr scratch, ptr extra...)``: for so many blocks of W rows, the time steps that ``control``
names. The state is read from q, v and left there, so that a run in pieces is the same run. ``finite`` counts the steps
of each row up to the first whose result is not finite; ``given`` has room for the lanes of parameters.

Forward dynamics and the way along the manifold are functions of the same module; between them are sums of arrays, as
the integrator asks for them (``integrators/``). Lanes beyond the last row are that row once more: they write
the same numbers to the same place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from recursa.kernels.emit import Function, Shape, module
from recursa.kernels.kernel import Program
from recursa.kernels.loop_writer import LoopWriter, lanes_to_rows, rows_to_lanes

CONTROL = (
    "first",  # the first block of rows
    "rows",  # how many there are in all
    "start",  # the first step, counted from 0
    "stop",  # the last step + 1
    "every",  # steps from one saved state to the next
    "saved",  # states that are saved per row
    "torque_row",  # numbers from the torques of a row to those of the next, 0 if all are the same
    "torque_step",  # and from those of a step to those of the next
    "size_q",
    "size_v",
    "size_parameters",
    "slot",  # entries that an array in the scratch has room for
)
POINTERS = ("control", "step", "q", "v", "tau", "parameters", "saved_q", "saved_v", "finite", "given", "scratch")
Scheme = Callable[[Any, Any, Any], tuple[Any, Any]]  # (mechanics, q, v) -> q, v one step later


@dataclass(frozen=True)
class Motions:
    """The parts of a robot's motion: forward dynamics, ``q exp(u)``, and ``u'`` (None where it is v)."""

    acceleration: Program
    moved: Program
    local_rate: Program | None
    parameters: bool  # whether forward dynamics takes them

    def named(self) -> Mapping[str, Program]:
        """Those that there are."""
        every = {"acceleration": self.acceleration, "moved": self.moved, "local_rate": self.local_rate}
        return {name: one for name, one in every.items() if one is not None}


@dataclass(frozen=True)
class Slot:
    """An array in the scratch: the number of its place, and the name of its size."""

    number: int
    size: str


class Loop:
    """Writes one integrator's loop for one robot. An integrator sees it as its mechanics, and slots as its arrays."""

    def __init__(self, motions: Motions, scheme: Scheme, shape: Shape) -> None:
        self.motions = motions
        self.shape = shape
        self.writer = LoopWriter(shape)
        self.slots = 0  # in use
        self.calls = dict.fromkeys(motions.named(), 0)  # per step
        self.extra = {
            name: [f"%{name}_{k}" for k in range(len(one.workspace(shape)))] for name, one in motions.named().items()
        }
        self._factors: dict[float, str] = {}
        self._labels = 0
        self.writer.header = {name: index for index, name in enumerate(CONTROL)}
        self.q, self.v, self.torque = self._slot("size_q"), self._slot("size_v"), self._slot("size_v")
        self._write(scheme)

    def text(self) -> str:
        """The whole module."""
        functions = [one.function(self.shape, name) for name, one in self.motions.named().items()]
        pointers = [*(f"%{name}" for name in POINTERS), *(name for names in self.extra.values() for name in names)]
        lines = [
            f"define void @rollout(i64 %blocks, {', '.join(f'ptr noalias {name}' for name in pointers)}) #0 {{",
            "start:",
            *self._control(),
            *self._scaled_steps(),
            *self.writer.lines,
            "  ret void",
            "}",
        ]
        return module(self.shape, [*functions, Function(lines, frozenset(self.writer.intrinsics))])

    def _control(self) -> list[str]:
        lines = [f"  %count = alloca {self.shape.lanes('i64')}, align 64"]
        for name, index in self.writer.header.items():
            lines += [
                f"  %p.{name} = getelementptr i64, ptr %control, i64 {index}",
                f"  %h.{name} = load i64, ptr %p.{name}, align 8",
            ]
        return lines

    def _scaled_steps(self) -> list[str]:
        """The step's length times every coefficient that occurs, in all lanes."""
        scalar, one = self.shape.scalar, Shape(1, self.shape.single)
        lines = [f"  %h = load {scalar}, ptr %step, align {self.writer.number}"]
        for factor, name in self._factors.items():
            if self.shape.width == 1:
                lines.append(f"  {name} = fmul {scalar} %h, {one.constant(factor)}")
                continue
            vector, width = self.shape.vector, self.shape.width
            lines += [
                f"  {name}.one = fmul {scalar} %h, {one.constant(factor)}",
                f"  {name}.first = insertelement {vector} poison, {scalar} {name}.one, i32 0",
                f"  {name} = shufflevector {vector} {name}.first, {vector} poison, <{width} x i32> zeroinitializer",
            ]
        return lines

    # ---- arrays ------------------------------------------------------------------------------------------------------

    def _slot(self, size: str) -> Slot:
        self.slots += 1
        return Slot(self.slots - 1, size)

    def _label(self) -> str:
        """A name for a loop that no other has."""
        self._labels += 1
        return f"part{self._labels}"

    def _place(self, array: Slot) -> str:
        return self.writer.scratch(self.writer.put(f"mul i64 %h.slot, {array.number}"))

    def _entry(self, place: str, j: str) -> str:
        return self.writer.put(f"getelementptr {self.shape.vector}, ptr {place}, i64 {j}")

    def _to_lanes(self, rows: list[str], size: str, target: str) -> None:
        """The rows that begin at these places, as lanes."""
        rows_to_lanes(
            self.writer,
            self._label(),
            self.writer.size(size),
            lambda lane, j: self._number(rows[lane], j),
            lambda j: self._entry(target, j),
        )

    def _to_rows(self, array: Slot, rows: list[str]) -> None:
        source = self._place(array)
        lanes_to_rows(
            self.writer,
            self._label(),
            self.writer.size(array.size),
            lambda j: self.writer.load(self._entry(source, j)),
            lambda lane, j: self._number(rows[lane], j),
        )

    def _number(self, place: str, j: str) -> str:
        return self.writer.put(f"getelementptr {self.shape.scalar}, ptr {place}, i64 {j}")

    def _product(self, a: str, b: str) -> str:
        return self.writer.put(f"mul i64 {a}, {b}")

    # ---- the integrator's view ---------------------------------------------------------------------------------------

    def slope(self, q: Slot, v: Slot, at: float) -> tuple[Slot, Slot]:
        """The speeds, and forward dynamics; torques are held during a step, so that ``at`` does not matter."""
        given = ["%given"] if self.motions.parameters else []
        return v, self._call("acceleration", "size_v", [self._place(x) for x in (q, v, self.torque)] + given)

    def settled(self, q: Slot, v: Slot) -> tuple[Slot, Slot]:
        """Losses are part of forward dynamics here."""
        return v, v

    def moved(self, q: Slot, u: Slot) -> Slot:
        """``q exp(u)``."""
        return self._call("moved", "size_q", [self._place(q), self._place(u)])

    def local_rate(self, u: Slot, v: Slot) -> Slot:
        """``u'`` where ``q exp(u)`` moves with the speeds v."""
        if self.motions.local_rate is None:
            return v
        return self._call("local_rate", "size_v", [self._place(u), self._place(v)])

    def combined(self, start: Slot | None, *terms: tuple[float, Slot]) -> Slot:
        """``start + h (c1 x1 + c2 x2 + ...)``."""
        writer = self.writer
        result = self._slot("size_v")
        places = [self._place(x) for _, x in terms]
        scales = [self._factors.setdefault(c, f"%h{len(self._factors)}") for c, _ in terms]
        first = None if start is None else self._place(start)
        target = self._place(result)
        with writer.loop(self._label(), "0", writer.size("size_v")) as j:
            total = None if first is None else writer.load(self._entry(first, j))
            for scale, place in zip(scales, places, strict=True):
                x = writer.load(self._entry(place, j))
                total = writer.binary("fmul", scale, x) if total is None else writer.call("fma", scale, x, total)
            assert total is not None
            writer.store(total, self._entry(target, j))
        return result

    def _call(self, name: str, size: str, inputs: list[str]) -> Slot:
        self.calls[name] += 1
        result = self._slot(size)
        pointers = [*inputs, self._place(result), *self.extra[name]]
        self.writer.line(f"  call void @{name}(i64 1, {', '.join(f'ptr {p}' for p in pointers)})")
        return result

    # ---- the loop ----------------------------------------------------------------------------------------------------

    def _write(self, scheme: Scheme) -> None:
        writer = self.writer
        with writer.loop("block", "0", "%blocks") as block:
            rows = self._rows(block)
            state = {array: self._places(name, rows, array.size) for name, array in (("q", self.q), ("v", self.v))}
            for array, places in state.items():
                self._to_lanes(places, array.size, self._place(array))
            if self.motions.parameters:
                self._to_lanes(self._places("parameters", rows, "size_parameters"), "size_parameters", "%given")
            self._load_counts(rows)
            torques = self._places("tau", rows, "torque_row")
            with writer.loop("time", "%h.start", "%h.stop") as step:
                offset = self._product(step, "%h.torque_step")
                self._to_lanes([self._number(p, offset) for p in torques], "size_v", self._place(self.torque))
                after = scheme(self, self.q, self.v)
                self._count_finite(step, self._taken_over(after))
                self._save(step, rows)
            for array, places in state.items():
                self._to_rows(array, places)
            self._store_counts(rows)

    def _rows(self, block: str) -> list[str]:
        """The row of every lane."""
        writer, width = self.writer, self.shape.width
        first = self._product(writer.add("%h.first", block), str(width))
        last = writer.put("sub i64 %h.rows, 1")
        rows = []
        for lane in range(width):
            row = writer.add(first, lane)
            inside = writer.put(f"icmp slt i64 {row}, {last}")
            rows.append(writer.put(f"select i1 {inside}, i64 {row}, i64 {last}"))
        return rows

    def _places(self, name: str, rows: list[str], stride: str) -> list[str]:
        """Where rows of an array begin that has so many numbers from one to the next."""
        return [self._number(f"%{name}", self._product(row, f"%h.{stride}")) for row in rows]

    def _taken_over(self, after: tuple[Slot, Slot]) -> str:
        """The new state put in place of the old; zero in every lane, or nan where a number is not finite."""
        writer, zero = self.writer, self.shape.constant(0.0)
        total = zero
        for new, old in zip(after, (self.q, self.v), strict=True):
            source, target, label = self._place(new), self._place(old), self._label()
            with writer.loop(label, "0", writer.size(old.size), carried=[(self.shape.vector, total)]) as j:
                x = writer.load(self._entry(source, j))
                writer.store(x, self._entry(target, j))
                writer.carry(label, writer.call("fma", x, zero, f"%{label}.carried0"))
            total = f"%{label}.carried0"
        return total

    def _save(self, step: str, rows: list[str]) -> None:
        """The state into the results, after every so many steps."""
        writer = self.writer
        done = writer.add(step, 1)
        left = writer.put(f"urem i64 {done}, %h.every")
        due = writer.put(f"icmp eq i64 {left}, 0")
        writer.line(f"  br i1 {due}, label %save, label %saved")
        writer.start("save")
        number = writer.put(f"sub i64 {writer.put(f'udiv i64 {done}, %h.every')}, 1")
        for name, array in (("q", self.q), ("v", self.v)):
            entries = [writer.add(self._product(row, "%h.saved"), number) for row in rows]
            self._to_rows(array, self._places(f"saved_{name}", entries, array.size))
        writer.line("  br label %saved")
        writer.start("saved")

    # ---- steps whose results are finite ------------------------------------------------------------------------------

    def _load_counts(self, rows: list[str]) -> None:
        writer, lanes = self.writer, self.shape.lanes("i64")
        found = "poison"
        for lane, row in enumerate(rows):
            place = writer.put(f"getelementptr i64, ptr %finite, i64 {row}")
            one = writer.put(f"load i64, ptr {place}, align 8")
            if self.shape.width == 1:
                found = one
            else:
                found = writer.put(f"insertelement {lanes} {found}, i64 {one}, i32 {lane}")
        writer.line(f"  store {lanes} {found}, ptr %count, align 64")

    def _count_finite(self, step: str, total: str) -> None:
        """One more for rows that were finite in all steps so far and are now."""
        writer, lanes, flags = self.writer, self.shape.lanes("i64"), self.shape.lanes("i1")
        before = writer.put(f"load {lanes}, ptr %count, align 64")
        now = step
        if self.shape.width > 1:
            width = self.shape.width
            one = writer.put(f"insertelement {lanes} poison, i64 {step}, i32 0")
            now = writer.put(f"shufflevector {lanes} {one}, {lanes} poison, <{width} x i32> zeroinitializer")
        so_far = writer.put(f"icmp eq {lanes} {before}, {now}")
        finite = writer.put(f"fcmp ord {self.shape.vector} {total}, {self.shape.constant(0.0)}")
        both = writer.put(f"and {flags} {so_far}, {finite}")
        one = writer.put(f"zext {flags} {both} to {lanes}")
        writer.line(f"  store {lanes} {writer.put(f'add {lanes} {before}, {one}')}, ptr %count, align 64")

    def _store_counts(self, rows: list[str]) -> None:
        writer, lanes = self.writer, self.shape.lanes("i64")
        found = writer.put(f"load {lanes}, ptr %count, align 64")
        for lane, row in enumerate(rows):
            one = found if self.shape.width == 1 else writer.put(f"extractelement {lanes} {found}, i32 {lane}")
            place = writer.put(f"getelementptr i64, ptr %finite, i64 {row}")
            writer.line(f"  store i64 {one}, ptr {place}, align 8")
