"""The loop over time steps as LLVM IR: W states stay lanes from the first step to the last.

``void rollout(i64 blocks, ptr control, ptr step, ptr q, ptr v, ptr tau, ptr wrenches, ptr parameters, ptr gains,
ptr reference, ptr followed, ptr saved_q, ptr saved_v, ptr saved_memory, ptr finite, ptr scratch, ptr extra...)``: for
so many blocks of W rows, the time steps that ``control`` names. The state is read from q, v and left there, so that a
run in pieces is the same run. ``finite`` counts the steps of each row up to the first whose result is not finite.

Forward dynamics and the way along the manifold are functions of the same module; between them are sums of arrays, as
the integrator asks for them (``integrators/``). A control law is followed in the same way: it names the functions it
calls, and the sums and products between them. What it remembers stands behind the speeds in v, and is integrated with
them. Lanes beyond the last row are that row once more: they write the same numbers to the same place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from recursa.kernels.emit import Function, module
from recursa.kernels.loop_writer import LoopWriter, lanes_to_rows, rows_to_lanes
from recursa.kernels.programs import Program
from recursa.kernels.writer import Shape

CONTROL = (
    "first",  # the first block of rows
    "rows",  # how many there are in all
    "start",  # the first step, counted from 0
    "stop",  # the last step + 1
    "every",  # steps from one saved state to the next
    "saved",  # states that are saved per row
    "torque_row",  # numbers from the torques of a row to those of the next, 0 if all are the same
    "torque_step",  # and from those of a step to those of the next
    "wrench_row",  # the same of wrenches
    "wrench_step",
    "gains_row",  # numbers from the gains of a row to those of the next, 0 if all are the same
)
POINTERS = (
    "control", "step", "q", "v", "tau", "wrenches", "parameters", "gains", "reference", "followed", "saved_q",
    "saved_v", "saved_memory", "finite", "scratch",
)  # fmt: skip
CLOSING = 2  # steps of Newton's method after each time step: the first is at rounding level for steps that are worth it
Scheme = Callable[[Any, Any, Any], tuple[Any, Any]]  # (mechanics, q, v) -> q, v one step later


@dataclass(frozen=True)
class Slot:
    """An array in the scratch: where it begins, and how many numbers per lane it has."""

    start: int
    size: int

    def part(self, start: int, size: int) -> Slot:
        """Some of its numbers."""
        return Slot(self.start + start, size)


class FollowedLaw(Protocol):
    """A control law as the loop knows it.

    - ``gains``, ``samples``, ``memory``: how many numbers it takes per row, per instant, and remembers.
    - ``stages``: the fractions of a step at which the integrator asks for torques, in the order of the samples.
    - ``several``: whether rows follow different samples; then ``followed`` has where those of each row begin.
    """

    gains: int
    samples: int
    memory: int
    stages: tuple[float, ...]
    several: bool

    def write(self, loop: Loop, q: Slot, v: Slot, gains: Slot, sample: Slot, memory: Slot) -> tuple[Slot, Slot | None]:
        """Torques, and the rates of what it remembers, by calls of :meth:`Loop.call` and :meth:`Loop.product`."""


class Placing(NamedTuple):
    """How wrenches are made what forward dynamics takes: a function of q, and one of its numbers and the wrenches'."""

    axes: Program
    numbers: int
    placed: Program
    wrenches: int


@dataclass(frozen=True)
class Motions:
    """The parts of a robot's motion: forward dynamics, ``q exp(u)``, ``u'`` (None where it is v), a law that drives it.

    ``nq``, ``nv``: sizes of a state; ``parameters``: how many of them forward dynamics takes, 0 where none;
    ``wrenches``: how many numbers say what acts on links, 0 where nothing does. ``placing``: where these are not yet
    what forward dynamics takes, how they become that. Where there are constraints, ``closing`` finds the u that
    closes loops, up to terms of second order, and ``allowed`` the nearest speeds that obey.
    """

    acceleration: Program
    moved: Program
    local_rate: Program | None
    nq: int
    nv: int
    parameters: int
    law: FollowedLaw | None = None
    wrenches: int = 0
    placing: Placing | None = None
    closing: Program | None = None
    allowed: Program | None = None


class Loop:
    """Writes one integrator's loop for one robot. An integrator sees it as its mechanics, and slots as its arrays."""

    def __init__(self, motions: Motions, scheme: Scheme, shape: Shape) -> None:
        self.motions = motions
        self.shape = shape
        self.writer = LoopWriter(shape)
        self.room = 0  # numbers per lane in the scratch
        self._taken = 0  # of these, by arrays that are still needed
        self.programs: dict[str, Program] = {}  # functions of the module, in the order of their first calls
        self.calls: dict[str, int] = {}  # per step
        self.products = 0  # multiplications beside them
        self._factors: dict[float, str] = {}
        self._labels = 0
        self._step = ""
        self._followed: list[str] = []  # where the samples of every lane begin, if they differ
        self.writer.header = {name: index for index, name in enumerate(CONTROL)}
        law = motions.law
        memory, gains, samples = (0, 0, 0) if law is None else (law.memory, law.gains, law.samples)
        self.q, self.v = self.slot(motions.nq), self.slot(motions.nv + memory)
        self.torque, self.given = self.slot(motions.nv), self.slot(motions.parameters)
        self.gains, self.sample = self.slot(gains), self.slot(samples)
        self.pushes = self.slot(motions.wrenches)
        self._write(scheme)

    def text(self) -> str:
        """The whole module."""
        functions = [one.function(self.shape, name) for name, one in self.programs.items()]
        pointers = [*(f"%{name}" for name in POINTERS), *(x for name in self.programs for x in self._extra(name))]
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

    def slot(self, size: int) -> Slot:
        """Room for a new array."""
        self._taken += size
        self.room = max(self.room, self._taken)
        return Slot(self._taken - size, size)

    def _label(self) -> str:
        """A name for a loop that no other has."""
        self._labels += 1
        return f"part{self._labels}"

    def _place(self, array: Slot) -> str:
        return self.writer.scratch(str(array.start))

    def _entry(self, place: str, j: str) -> str:
        return self.writer.put(f"getelementptr {self.shape.vector}, ptr {place}, i64 {j}")

    def _to_lanes(self, rows: list[str], target: Slot) -> None:
        """The rows that begin at these places, as lanes."""
        place = self._place(target)
        rows_to_lanes(
            self.writer,
            self._label(),
            str(target.size),
            lambda lane, j: self._number(rows[lane], j),
            lambda j: self._entry(place, j),
        )

    def _to_rows(self, array: Slot, rows: list[str]) -> None:
        source = self._place(array)
        lanes_to_rows(
            self.writer,
            self._label(),
            str(array.size),
            lambda j: self.writer.load(self._entry(source, j)),
            lambda lane, j: self._number(rows[lane], j),
        )

    def _number(self, place: str, j: str) -> str:
        return self.writer.put(f"getelementptr {self.shape.scalar}, ptr {place}, i64 {j}")

    def _product(self, a: str, b: str) -> str:
        return self.writer.put(f"mul i64 {a}, {b}")

    # ---- the integrator's view ---------------------------------------------------------------------------------------

    def slope(self, q: Slot, v: Slot, at: float) -> tuple[Slot, Slot]:
        """The speeds, and forward dynamics with what is remembered behind it; given torques are held during a step."""
        nv, law = self.motions.nv, self.motions.law
        speeds, given = v.part(0, nv), [self.given] if self.motions.parameters else []
        rate = self.slot(v.size)
        torque, taken = self.torque, self._taken
        if law is not None:
            self._take_sample(law.stages.index(at), len(law.stages))
            torque, learned = law.write(self, q, speeds, self.gains, self.sample, v.part(nv, law.memory))
            if learned is not None:
                self._copied(learned, rate.part(nv, law.memory))
        pushed = [self._placed(q)] if self.motions.wrenches else []
        self.call("acceleration", self.motions.acceleration, [q, speeds, torque, *pushed, *given], rate.part(0, nv))
        self._taken = taken  # what the law found on its way is not needed any more
        return speeds, rate

    def _placed(self, q: Slot) -> Slot:
        """Wrenches in link axes at link origins."""
        if self.motions.placing is None:
            return self.pushes
        axes, numbers, placed, wrenches = self.motions.placing
        at = self.call("axes_of_links", axes, [q], self.slot(numbers))
        return self.call("wrenches_on_links", placed, [at, self.pushes], self.slot(wrenches))

    def settled(self, q: Slot, v: Slot) -> tuple[Slot, Slot]:
        """Losses are part of forward dynamics here."""
        return v.part(0, self.motions.nv), v

    def moved(self, q: Slot, u: Slot) -> Slot:
        """``q exp(u)``."""
        return self.call("moved", self.motions.moved, [q, u], self.slot(q.size))

    def local_rate(self, u: Slot, v: Slot) -> Slot:
        """``u'`` where ``q exp(u)`` moves with the speeds v."""
        if self.motions.local_rate is None:
            return v
        return self.call("local_rate", self.motions.local_rate, [u, v], self.slot(v.size))

    def combined(self, start: Slot | None, *terms: tuple[float, Slot]) -> Slot:
        """``start + h (c1 x1 + c2 x2 + ...)``."""
        writer = self.writer
        result = self.slot(terms[0][1].size)
        places = [self._place(x) for _, x in terms]
        scales = [self._factors.setdefault(c, f"%h{len(self._factors)}") for c, _ in terms]
        first = None if start is None else self._place(start)
        target = self._place(result)
        with writer.loop(self._label(), "0", str(result.size)) as j:
            total = None if first is None else writer.load(self._entry(first, j))
            for scale, place in zip(scales, places, strict=True):
                x = writer.load(self._entry(place, j))
                total = writer.binary("fmul", scale, x) if total is None else writer.call("fma", scale, x, total)
            assert total is not None
            writer.store(total, self._entry(target, j))
        return result

    # ---- what laws are made of ---------------------------------------------------------------------------------------

    def call(self, name: str, program: Program, inputs: list[Slot], result: Slot) -> Slot:
        """A function of arrays; whoever calls one of this name again means the same."""
        self.programs.setdefault(name, program)
        self.calls[name] = self.calls.get(name, 0) + 1
        places = [*(self._place(x) for x in (*inputs, result)), *self._extra(name)]
        self.writer.line(f"  call void @{name}(i64 1, {', '.join(f'ptr {p}' for p in places)})")
        return result

    def product(self, matrix: Slot, vector: Slot, size: int, *, transposed: bool = False) -> Slot:
        """A matrix, row by row, times a vector; ``transposed`` first. ``size`` numbers come out."""
        writer, inner, result = self.writer, vector.size, self.slot(size)
        down, along = (1, size) if transposed else (inner, 1)
        self.products += size * inner
        left, right, target = (self._place(x) for x in (matrix, vector, result))
        zero = self.shape.constant(0.0)
        with writer.loop(self._label(), "0", str(size)) as i:
            first, label = writer.scaled(i, down), self._label()
            with writer.loop(label, "0", str(inner), carried=[(self.shape.vector, zero)]) as j:
                a = writer.load(self._entry(left, writer.put(f"add i64 {first}, {writer.scaled(j, along)}")))
                x = writer.load(self._entry(right, j))
                writer.carry(label, writer.call("fma", a, x, f"%{label}.carried0"))
            writer.store(f"%{label}.carried0", self._entry(target, i))
        return result

    def _extra(self, name: str) -> list[str]:
        """What a function is handed beside inputs and result."""
        return [f"%{name}_{k}" for k in range(len(self.programs[name].workspace(self.shape)))]

    def _copied(self, source: Slot, target: Slot) -> None:
        here, there = self._place(source), self._place(target)
        with self.writer.loop(self._label(), "0", str(source.size)) as j:
            self.writer.store(self.writer.load(self._entry(here, j)), self._entry(there, j))

    def _take_sample(self, stage: int, stages: int) -> None:
        """What a law is to follow at this stage of the step: the same in every lane, or that of its row."""
        if not self.sample.size:
            return
        writer, size = self.writer, self.sample.size
        first = writer.add(writer.scaled(self._step, stages * size), stage * size)
        if self._followed:
            self._to_lanes([self._number(place, first) for place in self._followed], self.sample)
            return
        place, target = self._number("%reference", first), self._place(self.sample)
        with writer.loop(self._label(), "0", str(size)) as j:
            one = writer.put(f"load {self.shape.scalar}, ptr {self._number(place, j)}, align {writer.number}")
            writer.store(writer.splat(one), self._entry(target, j))

    # ---- the loop ----------------------------------------------------------------------------------------------------

    def _write(self, scheme: Scheme) -> None:
        writer, law = self.writer, self.motions.law
        with writer.loop("block", "0", "%blocks") as block:
            rows = self._rows(block)
            state = {array: self._places(name, rows, str(array.size)) for name, array in (("q", self.q), ("v", self.v))}
            for array, places in state.items():
                self._to_lanes(places, array)
            if self.given.size:
                self._to_lanes(self._places("parameters", rows, str(self.given.size)), self.given)
            if self.gains.size:
                self._to_lanes(self._places("gains", rows, "%h.gains_row"), self.gains)
            if law is not None and law.several:
                self._followed = self._beginnings(rows)
            self._load_counts(rows)
            torques = self._places("tau", rows, "%h.torque_row")
            pushes = self._places("wrenches", rows, "%h.wrench_row") if self.pushes.size else []
            with writer.loop("time", "%h.start", "%h.stop") as step:
                self._step = step
                if law is None:
                    offset = self._product(step, "%h.torque_step")
                    self._to_lanes([self._number(p, offset) for p in torques], self.torque)
                if pushes:
                    offset = self._product(step, "%h.wrench_step")
                    self._to_lanes([self._number(p, offset) for p in pushes], self.pushes)
                after = self._on_constraints(*scheme(self, self.q, self.v))
                self._count_finite(step, self._taken_over(after))
                self._save(step, rows)
            for array, places in state.items():
                self._to_rows(array, places)
            self._store_counts(rows)

    def _on_constraints(self, q: Slot, v: Slot) -> tuple[Slot, Slot]:
        """The state with loops closed, and speeds that obey them."""
        motions, given = self.motions, [self.given] if self.motions.parameters else []
        for _ in range(CLOSING if motions.closing is not None else 0):
            u = self.call("closing", motions.closing, [q, *given], self.slot(motions.nv))  # type: ignore[arg-type]
            q = self.moved(q, u)
        if motions.allowed is not None:
            speeds = v.part(0, motions.nv)
            obeying = self.call("allowed", motions.allowed, [q, speeds, *given], self.slot(motions.nv))
            self._copied(obeying, speeds)
        return q, v

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
        return [self._number(f"%{name}", self._product(row, stride)) for row in rows]

    def _beginnings(self, rows: list[str]) -> list[str]:
        """Where the samples that a row follows begin."""
        writer, found = self.writer, []
        for row in rows:
            place = writer.put(f"getelementptr i64, ptr %followed, i64 {row}")
            found.append(self._number("%reference", writer.put(f"load i64, ptr {place}, align 8")))
        return found

    def _taken_over(self, after: tuple[Slot, Slot]) -> str:
        """The new state put in place of the old; zero in every lane, or nan where a number is not finite."""
        writer, zero = self.writer, self.shape.constant(0.0)
        total = zero
        for new, old in zip(after, (self.q, self.v), strict=True):
            source, target, label = self._place(new), self._place(old), self._label()
            with writer.loop(label, "0", str(old.size), carried=[(self.shape.vector, total)]) as j:
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
        nv = self.motions.nv
        parts = {"q": self.q, "v": self.v.part(0, nv), "memory": self.v.part(nv, self.v.size - nv)}
        for name, array in parts.items():
            if array.size:
                entries = [writer.add(self._product(row, "%h.saved"), number) for row in rows]
                self._to_rows(array, self._places(f"saved_{name}", entries, str(array.size)))
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
