"""One state of a long free-flying chain on two lanes or two threads: what the independence of the directions buys.

``python benchmarks/two_directions.py`` prints the tables of docs/benchmarks.md, "Two directions side by side".

Two ways to share the work, both written by the kernel writer of the library:

- The two directions of the base-invariant algorithm (Jain & Rodriguez, Algorithm 3.3): messages inward on one thread,
  outward on the other, then half of the links each.
- Meeting in the middle: the chain re-rooted at its middle link has two equal branches. Each goes in by itself, the two
  messages are added at the middle, each goes out by itself: on two threads, or in the two lanes of one vector.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import recursa as rc
from recursa.dynamics import gathering
from recursa.dynamics.articulated import BIAS_ACCELERATION, BIAS_FORCE, forward_plan
from recursa.dynamics.free_flying import (
    HINGE_ACCELERATION,
    LINK_ACCELERATION,
    Message,
    base_invariant_plan,
    messages,
    outward,
)
from recursa.dynamics.kinematics import RELATIVE, VELOCITY
from recursa.kernels.classes import Class
from recursa.kernels.emit import Function, Shape, module
from recursa.kernels.graph import Node, operands_of
from recursa.kernels.kernel import SERIAL_ROWS, Kernel
from recursa.kernels.loop import LoopProgram, _Tables, aligned
from recursa.kernels.loop_emit import Here, Loops
from recursa.kernels.loop_layout import Block, Layout
from recursa.kernels.loop_writer import LoopWriter, turn_results
from recursa.kernels.native import Native
from recursa.model.canonical import CanonicalJoint, canonical
from recursa.model.model import WORLD, Joint, Model
from recursa.model.regroup import regrouped
from recursa.spatial.screws import Screw
from recursa.spatial.transform import Transform
from recursa.spatial.vectors6 import Motion
from recursa.sweeps import Plan, Step, base_to_tip, tip_to_base

LENGTHS = (10, 30, 100, 300, 1000)
PROCESSORS = sorted(os.sched_getaffinity(0))
LINE = 8  # doubles in a cache line


def moved(model: Model) -> Model:
    """The model that the library compiles forward dynamics of."""
    return regrouped(canonical(model), "inertia")


def gather(model: Model) -> Callable[[Any], Any]:
    """Accelerations from the values of a run."""
    return lambda values: gathering.joint_vector(model, values.lists["qdd"])


def sizes(model: Model) -> dict[str, int]:
    """Of the inputs of forward dynamics."""
    return {"q": model.nq, "v": model.nv, "tau": model.nv}


# ---- the chain as two trees ------------------------------------------------------------------------------------------


def halves(model: Model) -> Model:
    """A robot of two equal branches as two trees, each with the base: bodies 0..m and m+1..2m+1, alike in pairs."""
    second = [k for k, joint in enumerate(model.joints) if joint.parent == 0][1]
    size = model.nbodies - second
    assert second - 1 == size, "branches of different lengths"
    first = [(joint, inertia, joint.parent) for joint, inertia in zip(model.joints, model.inertias, strict=True)]
    trees = [first[:second], [first[0], *((j, i, max(p - size, 0)) for j, i, p in first[second:])]]
    joints, nq, nv = [], 0, 0
    for t, tree in enumerate(trees):
        for (joint, _, parent), (other, _, _) in zip(tree, trees[1 - t], strict=True):
            above = parent if parent == WORLD else parent + t * second
            joints.append(replace(alike(joint, other), parent=above, q_start=nq, v_start=nv))
            nq, nv = nq + joint.kind.nq, nv + joint.kind.nv
    inertias = tuple(inertia for tree in trees for _, inertia, _ in tree)
    return replace(model, joints=tuple(joints), inertias=inertias, links=(), nq=nq, nv=nv)


def alike(joint: Joint, other: Joint) -> Joint:
    """A joint with as many screws as another: the base has its frame on the axis of one joint only."""
    if not isinstance(joint, CanonicalJoint) or not isinstance(other, CanonicalJoint):
        return joint
    missing = other.before[: max(0, len(other.before) - len(joint.before))]
    return replace(joint, before=(*(Screw(screw.axis, 1.0, 0.0, 0.0) for screw in missing), *joint.before))


def split(rows: np.ndarray, base: int) -> np.ndarray:
    """Numbers of the robot (..., n) as those of its two trees (..., 2, .): those of the base in both."""
    one, two = np.split(rows[..., base:], 2, axis=-1)
    return np.stack([np.concatenate([rows[..., :base], half], axis=-1) for half in (one, two)], axis=-2)


def joined(rows: np.ndarray) -> np.ndarray:
    """The other way, for accelerations."""
    return np.concatenate([rows[..., 0, :], rows[..., 1, 6:]], axis=-1)


# ---- two lanes -------------------------------------------------------------------------------------------------------


class LaneHere(Here):
    """Every lane has its own constants; at the base the lanes' sums are added."""

    def leaf(self, number: int, node: Node) -> str:
        """As it is, with constants per lane."""
        writer = self.writer
        if number in self.block.restored:
            return super().leaf(number, node)
        if node.op == "param":
            base = self._base("numbers", lambda: self._start("numbers", self.loops.numbers[self.one.domain]))
            index = writer.add(base, self.loops.params[id(self.one)][node.operands[0]])
            place = writer.put(f"getelementptr {self.shape.vector}, ptr %numbers, i64 {index}")
            return writer.put(f"load {self.shape.vector}, ptr {place}, align 16")
        value = super().leaf(number, node)
        at_base = self.loops.layout.model.joints[self.one.members[0]].parent == WORLD
        if node.op == "load" and node.operands[1].area == "sum" and at_base:
            return writer.binary("fadd", value, writer.shuffle(value, "poison", [1, 0]))
        return value


class LaneLoops(Loops):
    """Loops over the bodies of the first tree; the second is in the other lane."""

    at_body = LaneHere


class LaneTables(_Tables):
    """Those of the first tree, and numbers of both."""

    def _header(self, name: str) -> int:
        kind, _, rest = name.partition(".")
        half = self.program.model.nbodies // 2
        if kind in ("size", "count"):
            return super()._header(name) // 2
        if kind == "order":
            outward = range(half)
            return self._part(outward[::-1] if rest == "1" else outward)
        return super()._header(name)

    def _numbers(self, domain: str) -> Any:
        table = super()._numbers(domain)
        return np.stack(np.split(table, 2), axis=-1) if len(table) else table


class LaneProgram(LoopProgram):
    """Forward dynamics of two trees, a lane each."""

    def _loops(self, shape: Shape) -> Loops:
        return LaneLoops(self.layout, self.found, self.blocks, self.results, tuple(self.sizes), shape)

    def workspace(self, shape: Shape) -> tuple[np.ndarray, ...]:
        """Scratch, tables, numbers."""
        half = self.model.nbodies // 2
        for one in self.found:
            assert [k + half for k in one.members if k < half] == [k for k in one.members if k >= half], "unlike halves"
        tables = LaneTables(self, shape)
        numbers = aligned(tables.numbers.size, float)
        numbers[:] = tables.numbers
        return tables.scratch(), tables.integers, numbers


class OnLanes:
    """One state of a robot with two equal branches, a branch per lane; states one after the other."""

    def __init__(self, model: Model) -> None:
        self.program = LaneProgram(forward_plan(), two := halves(model), sizes(two), gather(two))
        shape = Shape(2)
        self.extra = self.program.workspace(shape)
        self.native = Native(self.program.ir(shape), "kernel", 7)

    def on(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, out: np.ndarray) -> Callable[[], None]:
        """A call for all states of arrays (states, 2, .), one after the other."""
        return bound(self.native, len(out), (q, v, tau, out, *self.extra))


def bound(native: Native, rounds: int, arrays: Sequence[np.ndarray]) -> Callable[[], None]:
    """A native call that keeps alive what it needs; finding the places of arrays takes longer than a short chain."""
    places = [x.ctypes.data for x in arrays]

    def call(keep: Any = (native, arrays)) -> None:
        native.function(rounds, *places)

    return call


# ---- two threads -----------------------------------------------------------------------------------------------------


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
        assert not self.made_results() and not self.layout.robot
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
        self.scratch, self.integers, self.numbers = tables.scratch(), tables.integers, tables.numbers
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

    @contextmanager
    def helped(self, inputs: Sequence[np.ndarray], out: np.ndarray, sleeps: bool) -> Iterator[None]:
        """With a second thread at hand, which spins until it is needed, or sleeps on a semaphore."""
        self.control[[_STOP, _MINE, _OTHERS]] = 0
        self.control[_SLEEPS] = sleeps
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


# ---- measuring -------------------------------------------------------------------------------------------------------


class Chain:
    """A free flyer with an arm of n links, seen from its bus and from its middle, and all ways to its accelerations."""

    def __init__(self, n: int) -> None:
        robot, middle = rc.robots.free_flyer(n), f"link{n // 2}"
        q, v = robot.random_state(seed=1)
        tau = np.random.default_rng(2).normal(size=robot.nv)
        self.n = n
        self.model, self.centred = moved(robot.model), moved(robot.with_base(middle).model)
        self.state = [q, v, tau]
        self.in_middle = [*robot.rebase_state(q, v, middle), robot.rebase_forces(q, tau, middle)]
        self.in_halves = [split(x, base)[None] for x, base in zip(self.in_middle, (7, 6, 6), strict=True)]
        self.want = robot.forward_dynamics(q, v, tau)
        self.want_in_middle = robot.rebase_acceleration(q, v, self.want, middle)
        self.rounds = max(2, 3000 // n)  # states of a turn
        self.worst = 0.0

    def compare(self, got: np.ndarray, want: np.ndarray) -> None:
        """All ways have to agree."""
        error = np.abs(got - want).max() / np.abs(want).max()
        assert error < 1e-6, error
        self.worst = max(self.worst, float(error))

    def kernel(self, plan: Plan, model: Model, state: Sequence[np.ndarray], want: np.ndarray) -> Callable[[], float]:
        """A kernel of the library, state by state."""
        made = Kernel(plan, model, sizes(model), gather(model), form="loop")
        rows = [np.repeat(x[None], self.rounds, axis=0) for x in state]
        out = np.empty((self.rounds, model.nv))
        call = bound(made._native(1), self.rounds, (*rows, out, *made._workspace(1)))
        call()
        self.compare(out[-1], want)
        return partial(timed, call, self.rounds)

    def batched(self, plan: Plan, threads: int) -> Callable[[], float]:
        """The same in a batch, a state per lane."""
        count = 2 * SERIAL_ROWS if threads > 1 else 400
        made = Kernel(plan, self.model, sizes(self.model), gather(self.model), form="loop")
        rows = {name: np.repeat(x[None], count, axis=0) for name, x in zip(made.inputs, self.state, strict=True)}
        out = np.empty((count, self.model.nv))
        made(rows, out, threads)
        self.compare(out[-1], self.want)
        return partial(timed, lambda: made(rows, out, threads), count)

    def lanes(self) -> Callable[[], float]:
        """Meeting in the middle, a branch per lane."""
        q, v, tau = (np.repeat(x, self.rounds, axis=0) for x in self.in_halves)
        out = np.empty((self.rounds, *v.shape[1:]))
        call = OnLanes(self.centred).on(q, v, tau, out)
        call()
        self.compare(joined(out[-1]), self.want_in_middle)
        return partial(timed, call, self.rounds)

    def threaded(self, middle: bool) -> dict[str, Callable[[], float]]:
        """Two threads, by how the second waits; and the same code on one; and its sweeps."""
        made = (middle_on_threads if middle else directions_on_threads)(self.centred if middle else self.model)
        self.nothing = OnThreads(made.program, lambda *_: [((), ())])  # the same meetings with nothing between them
        state = self.in_halves if middle else self.state
        out = np.zeros((2, self.model.nv // 2 + 3) if middle else self.model.nv)
        want = self.want_in_middle if middle else self.want

        def checked(took: Any) -> Any:
            self.compare(joined(out) if middle else out, want)
            out[:] = 0.0
            return took

        serial = made.role(SERIAL, self.rounds, state, out)
        ways = {"one thread": lambda: checked(timed(serial, self.rounds))}
        ways |= {name: lambda way=way: checked(way()) for name, way in with_second(made, state, out, self.n).items()}
        for s in range(len(made.program.plan.sweeps)):
            ways[f"sweep {s}"] = partial(timed, made.role(PART + s, self.rounds, state, out), self.rounds)
        return ways


def with_second(made: OnThreads, state: Sequence[np.ndarray], out: np.ndarray, n: int) -> dict[str, Any]:
    """A state on two threads, by how the second waits."""
    rounds = max(1, 300 // n)  # so few that nobody else may want one of the processors meanwhile
    first, rest = (made.role(MAIN, count, state, out) for count in (1, rounds))
    once = made.role(HELPER_ONCE, 1, state, out)

    def helped(sleeps: bool) -> list[float]:
        with made.helped(state, out, sleeps):
            first()  # by now the other one is there
            return [timed(rest, rounds) for _ in range(SPELLS)]

    def pooled() -> float:
        made.control[[_SLEEPS, _STOP, _MINE, _OTHERS]] = 0
        return timed(lambda: (waiting := POOL.submit(once), first(), waiting.result()), 1)

    return {"spins": partial(helped, False), "sleeps": partial(helped, True), "pool": pooled}


SPELLS = 20
POOL = ThreadPoolExecutor(1)


def timed(call: Callable[[], Any], rounds: int) -> float:
    """Microseconds a round."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) / rounds * 1e6


def measured(ways: dict[Any, Callable[[], Any]], turns: int) -> dict[Any, np.ndarray]:
    """All ways in turns: what the others on the machine do then hits all alike."""
    taken: dict[Any, list[float]] = {name: [] for name in ways}
    for _ in range(turns):
        for name, way in ways.items():
            taken[name].extend(np.atleast_1d(way()))
    return {name: np.array(times) for name, times in taken.items()}


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    """In Markdown."""
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for line in lines:
        print("| " + " | ".join(line) + " |")
    print()


def main() -> None:
    """All tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS, help="even numbers of links of the arm")
    parser.add_argument("--turns", type=int, default=80)
    given = parser.parse_args()
    one, two, parts, batches = [], [], [], []
    for n in given.lengths:
        chain = Chain(n)
        at_end, both_ways = forward_plan(), base_invariant_plan(branching=False)
        ways: dict[Any, Callable[[], float]] = {
            "articulated": chain.kernel(at_end, chain.model, chain.state, chain.want),
            "base-invariant": chain.kernel(both_ways, chain.model, chain.state, chain.want),
            "middle": chain.kernel(at_end, chain.centred, chain.in_middle, chain.want_in_middle),
            "lanes": chain.lanes(),
        }
        ways |= {("middle", name): way for name, way in chain.threaded(middle=True).items()}
        ways |= {("directions", name): way for name, way in chain.threaded(middle=False).items()}
        taken = measured(ways, given.turns)
        least = {name: float(times.min()) for name, times in taken.items()}
        usual = {name: float(np.median(times)) for name, times in taken.items()}

        def ratio(name: Any, least: Any = least, usual: Any = usual) -> str:
            by_least, by_median = (x["articulated"] / x[name] for x in (least, usual))
            return f"{least[name]:.2f} ({by_least:.2f}, {by_median:.2f})"

        compared = ("base-invariant", "middle", "lanes", ("middle", "spins"), ("directions", "spins"))
        one.append([str(n), f"{least['articulated']:.2f}", *map(ratio, compared)])
        if not two:
            none = measured(with_second(chain.nothing, chain.state, chain.want.copy(), n), given.turns)
            two.append(["nothing to do", "", *(f"{times.min():.2f}" for times in none.values()), *[""] * 4])
        two.append([str(n)])
        for which in ("middle", "directions"):
            two[-1] += [f"{least[which, name]:.2f}" for name in ("one thread", "spins", "sleeps", "pool")]
        parts.append([str(n), *(f"{least[name] * 1e3 / n:.0f}" for name in least if "sweep" in name[1])])
        threads = (1, 2) if n <= 100 else (1,)  # beyond, a batch that is long enough takes too much memory
        batch = measured({k: chain.batched(at_end, k) for k in threads}, max(8, 500 // n))
        batches.append([str(n), *(f"{x.min():.2f} ({least['lanes'] / x.min():.1f})" for x in batch.values())])
        print(f"n = {n}: all agree to {chain.worst:.1e}", flush=True)
    print("\nMicroseconds a state, least; in brackets times as fast as articulated, by least and by median:\n")
    head = ["n", "articulated", "base-invariant", "base in the middle", "its two branches in lanes"]
    table([*head, "on two threads", "two directions on two threads"], one)
    print("Microseconds a state, least, by how the second thread waits; middle, then directions:\n")
    table(["n", *["one thread", "spins", "sleeps", "pool"] * 2], two)
    print("Nanoseconds a link, least: sweeps of articulated on both halves, of the two directions:\n")
    table(["n", "out", "in", "out", "velocities", "inward", "outward", "links", "hinges"], parts)
    print("Microseconds a state in a batch, one and two threads; in brackets how many times as fast as one by lanes:\n")
    table(["n", "one thread", "two threads"], batches)


if __name__ == "__main__":
    main()
