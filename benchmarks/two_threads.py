"""Forward dynamics of one state on two threads that meet between phases: every sweep a function over a range."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from two_lanes import LINE, bound, gather, halves, sizes

from recursa.dynamics.articulated_bodies import BIAS_ACCELERATION, BIAS_FORCE, forward_plan
from recursa.dynamics.kinematics import RELATIVE, VELOCITY
from recursa.free.base_invariant import (
    HINGE_ACCELERATION,
    LINK_ACCELERATION,
    Message,
    messages,
    outward,
)
from recursa.kernels.classes import Class
from recursa.kernels.emit import Function, module
from recursa.kernels.graph import operands_of
from recursa.kernels.loop import LoopProgram
from recursa.kernels.loop import LoopTables as _Tables
from recursa.kernels.loop_emit import Loops
from recursa.kernels.loop_layout import Block, Layout
from recursa.kernels.loop_writer import LoopWriter, turn_results
from recursa.kernels.native import Native
from recursa.kernels.programs import aligned
from recursa.kernels.writer import Shape
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import Motion
from recursa.spatial.transform import Transform
from recursa.sweeps import Plan, Step, base_to_tip, tip_to_base

PROCESSORS = sorted(os.sched_getaffinity(0))


class Ranges(LoopWriter):
    """Loops over bodies and results go from ``%first`` to ``%last``."""

    def loop(self, name: str, start: str, count: str, step: int = 1, carried: Any = None) -> Any:
        """As it is, but for those."""
        if name.startswith(("sweep", "results")):
            start, count = "%first", "%last"
        return super().loop(name, start, count, step, carried)


class Parts(Loops):
    """Every sweep a function ``void partN(i64 first, i64 last, ptr...)``, the results another."""

    def function(self, name: str = "kernel") -> Function:
        """All functions."""
        assert not self.results.made and not self.layout.robot
        lines, declared, header = [], set(), {}
        count = len(self.layout.plan.sweeps)
        pointers = ", ".join(f"ptr %{p}" for p in (*self.inputs, "out", "scratch", "tables", "numbers"))
        for part in range(count + 1):
            writer = self.writer = Ranges(self.writer.shape)
            writer.header = header
            for one in (*self.inputs, "out"):
                writer.line(f"  %{one}.here = getelementptr double, ptr %{one}, i64 0")
            if part < count:
                self._sweep(part)
            else:
                turn_results(writer)
            loads = [
                line for entry, index in header.items() for line in (
                    f"  %p.{entry} = getelementptr i32, ptr %tables, i64 {index}",
                    f"  %n.{entry} = load i32, ptr %p.{entry}, align 4",
                    f"  %h.{entry} = sext i32 %n.{entry} to i64",
                )
            ]  # fmt: skip
            begin = f"define internal void @part{part}(i64 %first, i64 %last, {pointers}) noinline #0 {{"
            lines += [begin, "start:", *loads, *writer.lines, "  ret void", "}", ""]
            declared |= writer.intrinsics
        return Function(lines, frozenset(declared))


class Apart(Layout):
    """A layout in which what runs at the same time uses rows of its own, cache lines apart."""

    def __init__(self, layout: Layout, other: Callable[[int, int], bool]) -> None:
        self.__dict__.update(layout.__dict__)
        self.other = other

    def rows(self, sweep: int) -> tuple[list[int], list[int], int]:
        """As they are, those of the other side further on."""
        own, up, count = super().rows(sweep)
        further = count + 1 + 2 * LINE // max(self.row_size, 1)
        here = [k for k in range(len(own)) if self.other(sweep, k)]
        for k in here:
            own[k], up[k] = (row + further if row >= 0 else row for row in (own[k], up[k]))
        return own, up, further + count


@dataclass(frozen=True)
class Do:
    """A part over a range, or ("copy", "add") so many numbers of the scratch to or from another place."""

    what: int | str
    first: int
    last: int


Phase = tuple[Sequence[Do], Sequence[Do]]  # what each side does between two meetings

_SUPPORT = """
declare void @llvm.x86.sse2.pause()
declare i32 @sched_yield()
declare i32 @sem_post(ptr)
declare i32 @sem_wait(ptr)

define internal void @meet(ptr %mine, ptr %other) noinline {
start:
  %old = load i64, ptr %mine, align 8
  %now = add i64 %old, 1
  store atomic i64 %now, ptr %mine release, align 8
  br label %look
look:
  %spun = phi i64 [ 0, %start ], [ %more, %wait ], [ 0, %tired ]
  %seen = load atomic i64, ptr %other acquire, align 8
  %there = icmp sge i64 %seen, %now
  br i1 %there, label %done, label %wait
wait:
  call void @llvm.x86.sse2.pause()
  %more = add i64 %spun, 1
  %long = icmp sgt i64 %more, 2000
  br i1 %long, label %tired, label %look
tired:
  %ignored = call i32 @sched_yield()
  br label %look
done:
  ret void
}

define internal void @copy(ptr %to, ptr %from, i64 %count, i1 %adds) noinline {
start:
  br label %head
head:
  %i = phi i64 [ 0, %start ], [ %next, %body ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %done
body:
  %p = getelementptr double, ptr %from, i64 %i
  %t = getelementptr double, ptr %to, i64 %i
  %x = load double, ptr %p, align 8
  %y = load double, ptr %t, align 8
  %sum = fadd double %x, %y
  %new = select i1 %adds, double %sum, double %x
  store double %new, ptr %t, align 8
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}
"""
MAIN, HELPER, SERIAL, STOP, HELPER_ONCE, PART = 0, 1, 2, 3, 4, 10
_ROLE, _SLEEPS, _STOP, _MINE, _OTHERS, _GO, _SIZE = (k * LINE for k in range(7))  # places in the control block


class OnThreads:
    """One state on two threads that meet between phases."""

    def __init__(self, program: LoopProgram, phases: Callable[[LoopProgram, _Tables], Sequence[Phase]]) -> None:
        self.program = program
        shape = Shape(1)
        tables = _Tables(program, shape)
        self.scratch, self.integers, self.numbers = tables.all().workspace()
        self.published = aligned(64 * LINE, float)
        self.control = aligned(_SIZE, np.int64)
        self.control[:] = 0
        parts = program._loops(shape).function()
        driver = self._driver(phases(program, tables), [program.model.nbodies] * len(program.plan.sweeps))
        text = module(shape, [parts]) + _SUPPORT + driver
        self.native = Native(text, "kernel", len(program.sizes) + 7)
        libc = ctypes.CDLL(None)
        libc.sem_init(ctypes.c_void_p(self.control[_GO:].ctypes.data), 0, 0)

    def _driver(self, phases: Sequence[Phase], bodies: Sequence[int]) -> str:
        names = [*self.program.sizes, "out", "scratch", "tables", "numbers"]
        every = ", ".join(f"ptr %{p}" for p in (*names, "published", "control", "role"))
        own = ", ".join(f"ptr %{p}" for p in names)

        def work(side: int, ops: Sequence[Do], tag: str) -> list[str]:
            lines = []
            for i, op in enumerate(ops):
                if isinstance(op.what, int):
                    lines.append(f"  call void @part{op.what}(i64 {op.first}, i64 {op.last}, {own})")
                    continue
                row, area = f"%{tag}.{i}.row", f"%{tag}.{i}.area"
                ours = side if op.what == "copy" else 1 - side
                lines += [
                    f"  {row} = getelementptr double, ptr %scratch, i64 {op.first}",
                    f"  {area} = getelementptr double, ptr %published, i64 {ours * 32 * LINE}",
                    f"  call void @copy(ptr {area}, ptr {row}, i64 {op.last}, i1 0)"
                    if op.what == "copy"
                    else f"  call void @copy(ptr {row}, ptr {area}, i64 {op.last}, i1 1)",
                ]
            return lines

        def meeting(side: int) -> str:
            cells = ("%mine", "%others") if side == 0 else ("%others", "%mine")
            return "  call void @meet(ptr {}, ptr {})".format(*cells)

        def looped(name: str, before: Sequence[str], body: Sequence[str]) -> list[str]:
            return [
                f"{name}:", f"  br label %{name}.head", f"{name}.head:",
                f"  %{name}.i = phi i64 [ 0, %{name} ], [ %{name}.next, %{name}.end ]",
                f"  %{name}.more = icmp slt i64 %{name}.i, %rounds",
                f"  br i1 %{name}.more, label %{name}.go, label %done",
                f"{name}.go:", *before, *body, f"  br label %{name}.end",
                f"{name}.end:", f"  %{name}.next = add i64 %{name}.i, 1", f"  br label %{name}.head",
            ]  # fmt: skip

        def side(number: int, tag: str) -> list[str]:
            lines = [meeting(number)]
            for p, phase in enumerate(phases):
                lines += [*work(number, phase[number], f"{tag}{p}"), meeting(number)]
            return lines

        serial = [line for p, phase in enumerate(phases) for s in (0, 1) for line in work(s, phase[s], f"serial{p}{s}")]

        def asleep(name: str, call: str) -> list[str]:
            return [
                f"  br i1 %sleeping, label %{name}.sem, label %{name}.on", f"{name}.sem:",
                f"  %{name}.ignored = call i32 @{call}(ptr %go)", f"  br label %{name}.on", f"{name}.on:",
            ]  # fmt: skip

        switch = " ".join(
            f"i64 {number}, label %{name}"
            for name, number in (
                ("main", MAIN),
                ("serial", SERIAL),
                ("helper", HELPER),
                ("stop", STOP),
                ("once", HELPER_ONCE),
            )
        ) + " ".join(f" i64 {PART + s}, label %alone{s}" for s in range(len(bodies)))
        cells = {"sleeps": _SLEEPS, "stopping": _STOP, "mine": _MINE, "others": _OTHERS, "go": _GO}
        lines = [
            f"define void @kernel(i64 %rounds, {every}) #0 {{",
            "start:",
            *(f"  %{name} = getelementptr i64, ptr %control, i64 {place}" for name, place in cells.items()),
            "  %which = load i64, ptr %role, align 8",
            "  %asleep = load i64, ptr %sleeps, align 8",
            "  %sleeping = icmp ne i64 %asleep, 0",
            f"  switch i64 %which, label %done [ {switch} ]",
            *looped("main", asleep("main", "sem_post"), side(0, "main")),
            *looped("serial", [], serial),
            *looped("once", [], side(1, "once")),
            "helper:",
            "  br label %again",
            "again:",
            *asleep("helper", "sem_wait"),
            meeting(1),
            "  %over = load atomic i64, ptr %stopping acquire, align 8",
            "  %ends = icmp ne i64 %over, 0",
            "  br i1 %ends, label %done, label %works",
            "works:",
            *side(1, "helper")[1:],
            "  br label %again",
            "stop:",
            "  store atomic i64 1, ptr %stopping release, align 8",
            *asleep("stop", "sem_post"),
            meeting(0),
            "  br label %done",
        ]
        for s, count in enumerate(bodies):
            lines += looped(f"alone{s}", [], [f"  call void @part{s}(i64 0, i64 {count}, {own})"])
        return "\n".join([*lines, "done:", "  ret void", "}", ""])

    def role(self, role: int, rounds: int, inputs: Sequence[np.ndarray], out: np.ndarray) -> Callable[[], None]:
        """A call in a role, for so many states."""
        which = np.array([role], np.int64)
        shared = (self.scratch, self.integers, self.numbers, self.published, self.control)
        return bound(self.native, rounds, (*inputs, out, *shared, which))

    def at_the_start(self, sleeps: bool = False) -> None:
        """Nobody has met anybody yet."""
        self.control[[_STOP, _MINE, _OTHERS]] = 0
        self.control[_SLEEPS] = sleeps

    @contextmanager
    def helped(self, inputs: Sequence[np.ndarray], out: np.ndarray, sleeps: bool) -> Iterator[None]:
        """With a second thread at hand, which spins until it is needed, or sleeps on a semaphore."""
        self.at_the_start(sleeps)
        wait, stop = self.role(HELPER, 1, inputs, out), self.role(STOP, 1, inputs, out)
        thread = threading.Thread(target=lambda: (on_processor(-1), wait()))
        everywhere = on_processor(0)
        thread.start()
        try:
            yield
        finally:
            stop()
            thread.join()
            os.sched_setaffinity(0, everywhere)


def on_processor(which: int) -> set[int]:
    """Keep the calling thread on one processor: on a busy machine both would often share one. Where it was allowed."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {PROCESSORS[which]})
    return before


class PartProgram(LoopProgram):
    """A program in parts; ``other(sweep, body)`` says what the second thread does at the same time as the first."""

    def __init__(self, plan: Plan, model: Model, other: Callable[[int, int], bool]) -> None:
        super().__init__(plan, model, sizes(model), gather(model))
        self.layout = Apart(self.layout, other)

    def _loops(self, shape: Shape) -> Loops:
        return Parts(self.layout, self.found, self.blocks, self.results, tuple(self.sizes), shape)


def middle_on_threads(model: Model) -> OnThreads:
    """Meeting in the middle; inputs and results are those of the two trees."""
    two = halves(model)
    half = two.nbodies // 2

    def phases(program: LoopProgram, tables: _Tables) -> list[Phase]:
        layout, own = program.layout, program.layout.rows(1)[0]
        last, results, nv = two.nbodies, len(program.plan.sweeps), two.nv // 2
        rows = [tables.places["rows"] + own[root] * layout.row_size for root in (0, half)]
        there = ([Do(0, 0, half), Do(1, half, last - 1)], [Do(0, half, last), Do(1, 0, half - 1)])
        back = (
            [Do(1, last - 1, last), Do(2, 0, half), Do(results, 0, nv)],
            [Do(1, half - 1, half), Do(2, half, last), Do(results, nv, 2 * nv)],
        )
        sends = [[*ops, Do("copy", row, layout.row_size)] for ops, row in zip(there, rows, strict=True)]
        takes = [[Do("add", row, layout.row_size), *ops] for ops, row in zip(back, rows, strict=True)]
        return [(sends[0], sends[1]), (takes[0], takes[1])]

    return OnThreads(PartProgram(forward_plan(), two, lambda _, k: k >= half), phases)


def outward_in_space(joint: Joint, above: Message | None, bias: Motion, torque: Any, step: Transform) -> Message:
    """The outward message without gravity, where the world does not rise."""
    return outward(joint, above, bias, torque, Motion.zero(), step)


def directions_plan() -> Plan:
    """The base-invariant algorithm with what can be done side by side in sweeps of its own."""
    buffers, send_in, _, tell = messages("tau", branching=False)
    send_out = Step(outward_in_space, ("joint", "around@parent", "c", "tau", "X"), ("rest",))
    return Plan(
        "forward_dynamics, directions apart",
        buffers,
        (
            base_to_tip(RELATIVE, VELOCITY, BIAS_ACCELERATION, BIAS_FORCE),
            tip_to_base(send_in),
            base_to_tip(send_out, tell),
            base_to_tip(LINK_ACCELERATION),
            base_to_tip(HINGE_ACCELERATION),
        ),
    )


def without(one: Class, own: dict[int, Block], sweep: int, earlier: int) -> None:
    """Make a sweep compute for itself what it would take over from an earlier one, which runs at the same time."""
    nodes, block = one.graph.nodes, own[sweep]
    needed, restored, pending = set(block.order), set(), list(block.restored)
    while pending:
        number = pending.pop()
        anew = one.level(number) in (-1, earlier) or nodes[number].op == "neg"  # signs are never saved
        if anew and number not in needed:
            assert nodes[number].op != "load", "outward needs what has come inward"
            needed.add(number)
            pending.extend(operands_of(nodes[number]))
        elif number not in needed:
            restored.add(number)
    for number in restored:
        before = own[one.level(number)]
        assert number in before.order
        if number not in before.saves:
            before.saves.append(number)
    own[sweep] = replace(block, order=sorted(needed), restored=restored)


def directions_on_threads(model: Model) -> OnThreads:
    """Messages inward beside messages outward, then half of the links each."""
    count = model.nbodies

    def phases(program: LoopProgram, _: _Tables) -> list[Phase]:
        half, v_half = count // 2, model.joints[count // 2].v_start
        return [
            ([Do(0, 0, count)], []),
            ([Do(1, 0, count)], [Do(2, 0, count)]),
            (
                [Do(3, 0, half), Do(4, 0, half), Do(5, 0, v_half)],
                [Do(3, half - 1, count), Do(4, half, count), Do(5, v_half, model.nv)],  # the parent's once more
            ),
        ]

    program = PartProgram(directions_plan(), model, lambda sweep, _: sweep == 2)
    for one, own in zip(program.found, program.blocks, strict=True):
        without(one, own, 2, 1)
    return OnThreads(program, phases)
