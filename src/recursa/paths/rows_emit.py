"""Rows of :mod:`recursa.paths.rows` as LLVM IR: the four coefficients of a limit are the lanes.

``void assemble(i64 count, ptr sizes, ptr index, ptr scale, ptr lengths, ptr table, ptr held, ptr pushed, ptr moving,
ptr V, ptr W, ptr A, ptr B, ptr C)``: ``sizes`` are the numbers of efforts, accelerations and velocities that have
limits, of freedoms, and of rows per interval; ``index`` and ``scale`` the freedoms and the inverse limits, in that
order; ``lengths`` for every interval twice its length and what counts as 1 of a limit; ``table`` the columns of the
matrix from values to coefficients, and theta.
"""

from __future__ import annotations

import threading
from functools import cache

import numpy as np

from recursa.kernels.native import Native
from recursa.paths.passes import Rows
from recursa.paths.rows import NODES, THETA, TO_BERNSTEIN, Along
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import Limits

_POINTERS = 13
_V = f"<{NODES} x double>"
_TABLE = np.concatenate([TO_BERNSTEIN.T.ravel(), THETA])


class _Text:
    """Lines of IR with fresh names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def put(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def add(self, *lines: str) -> None:
        self.lines += lines

    def entry(self, array: str, index: str, kind: str = "double") -> str:
        return self.put(f"getelementptr {kind}, ptr {array}, i64 {index}")

    def load(self, array: str, index: str, kind: str = "double") -> str:
        return self.put(f"load {kind}, ptr {self.entry(array, index, kind)}, align 8")

    def op(self, name: str, a: str, b: str, kind: str = "double") -> str:
        return self.put(f"{name} {kind} {a}, {b}")

    def splat(self, x: str) -> str:
        one = self.put(f"insertelement {_V} poison, double {x}, i32 0")
        return self.put(f"shufflevector {_V} {one}, {_V} poison, <{NODES} x i32> zeroinitializer")

    def coefficients(self, values: list[str]) -> str:
        """The columns of the table times values at the four places."""
        total = "zeroinitializer"
        for k, value in enumerate(values):
            total = self.put(
                f"call {_V} @llvm.fma.v{NODES}f64({_V} %column{k}, {_V} {self.splat(value)}, {_V} {total})"
            )
        return total

    def store(self, array: str, row: str, value: str) -> None:
        place = self.put(f"getelementptr {_V}, ptr {array}, i64 {row}")
        self.add(f"  store {_V} {value}, ptr {place}, align 8")


def _section(text: _Text, name: str, first: str, count: str, target: str, mirrored: str | None) -> None:
    """A loop over the limits of one sort in an interval: rows from ``target`` on, with both signs if ``mirrored``."""
    before = {"effort": "interval", "acceleration": "effort.done", "velocity": "acceleration.done"}[name]
    text.add(f"  br label %{name}", f"{name}:")
    text.add(f"  %{name}.k = phi i64 [ 0, %{before} ], [ %{name}.next, %{name}.body ]")
    text.add(f"  %{name}.more = icmp slt i64 %{name}.k, {count}")
    text.add(f"  br i1 %{name}.more, label %{name}.body, label %{name}.done", f"{name}.body:")
    number = text.op("add", first, f"%{name}.k", "i64")
    freedom, scale = text.load("%index", number, "i64"), text.load("%scale", number)
    a, b, c = [], [], []
    for node in range(NODES):
        place = text.op("add", text.op("mul", f"%node{node}", "%nv", "i64"), freedom, "i64")
        if name == "effort":
            held, pushed, moving = (text.load(x, place) for x in ("%held", "%pushed", "%moving"))
            c.append(text.op("fmul", held, scale))
            push, move = (text.op("fmul", text.op("fsub", x, held), scale) for x in (pushed, moving))
        else:
            push = text.op("fmul", text.load("%V", place), scale)
            if name == "velocity":
                move, push = text.op("fmul", push, push), "0x0000000000000000"
            else:
                move = text.op("fmul", text.load("%W", place), scale)
        b.append(move)
        a.append(text.op("fadd", push, text.op("fmul", move, f"%later{node}")))
    row = text.op("add", "%row", text.op("add", target, f"%{name}.k", "i64"), "i64")
    one = "%room"
    A, B = text.coefficients(a), text.coefficients(b)
    C = text.coefficients(c) if c else "zeroinitializer"
    parts = {"%A": A, "%B": B, "%C": text.op("fsub", C, one, _V)}
    for array, value in parts.items():
        text.store(array, row, value)
    if mirrored is not None:
        other = text.op("add", row, mirrored, "i64")
        for array, value in {"%A": A, "%B": B, "%C": C}.items():
            negative = text.put(f"fneg {_V} {value}")
            text.store(array, other, text.op("fsub", negative, one, _V) if array == "%C" else negative)
    text.add(f"  %{name}.next = add i64 %{name}.k, 1", f"  br label %{name}", f"{name}.done:")


@cache
def _native() -> Native:
    text = _Text()
    pointers = ["sizes", "index", "scale", "lengths", "table", "held", "pushed", "moving", "V", "W", "A", "B", "C"]
    text.add(f"declare {_V} @llvm.fma.v{NODES}f64({_V}, {_V}, {_V})")
    text.add(
        f"define void @assemble(i64 %count, {', '.join(f'ptr noalias %{name}' for name in pointers)}) {{", "start:"
    )
    for k, name in enumerate(("efforts", "accelerations", "velocities", "nv", "rows")):
        text.add(
            f"  %p.{name} = getelementptr i64, ptr %sizes, i64 {k}", f"  %{name} = load i64, ptr %p.{name}, align 8"
        )
    for k in range(NODES):
        text.add(f"  %p.column{k} = getelementptr {_V}, ptr %table, i64 {k}")
        text.add(f"  %column{k} = load {_V}, ptr %p.column{k}, align 8")
        text.add(f"  %p.theta{k} = getelementptr double, ptr %table, i64 {NODES * NODES + k}")
        text.add(f"  %theta{k} = load double, ptr %p.theta{k}, align 8")
    text.add("  %both = add i64 %efforts, %accelerations", "  %twice = mul i64 %both, 2")
    text.add("  br label %head", "head:", "  %i = phi i64 [ 0, %start ], [ %i.next, %velocity.done ]")
    text.add("  %more = icmp slt i64 %i, %count", "  br i1 %more, label %interval, label %out", "interval:")
    text.add("  %i.next = add i64 %i, 1", "  %row = mul i64 %i, %rows")
    text.add("  %at.d = mul i64 %i, 2", "  %p.d = getelementptr double, ptr %lengths, i64 %at.d")
    text.add("  %d = load double, ptr %p.d, align 8", "  %p.room = getelementptr double, ptr %p.d, i64 1")
    room = text.splat(text.put("load double, ptr %p.room, align 8"))
    text.add(f"  %room = fadd {_V} {room}, zeroinitializer")
    for k in range(NODES):
        text.add(f"  %before{k} = mul i64 %count, {k}", f"  %node{k} = add i64 %before{k}, %i")
        text.add(f"  %later{k} = fmul double %d, %theta{k}")
    _section(text, "effort", "0", "%efforts", "0", "%both")
    _section(text, "acceleration", "%efforts", "%accelerations", "%efforts", "%both")
    _section(text, "velocity", "%both", "%velocities", "%twice", None)
    text.add("  br label %head", "out:", "  ret void", "}")
    return Native("\n".join(text.lines), "assemble", _POINTERS)


class _Kept(threading.local):
    """Room for rows, kept by every thread: fresh memory costs more than what is written to it."""

    room: Array = np.empty((3, 0, 0))


_KEPT = _Kept()


def _room(count: int, columns: int, wide: int) -> Array:
    kept = _KEPT.room
    if kept.shape[1] < count or kept.shape[2] != wide:
        kept = _KEPT.room = np.zeros((3, count, wide))
    kept[2, :count, columns * NODES :] = -1.0  # rows that are always kept
    kept[:2, :count, columns * NODES :] = 0.0
    return kept[:, :count]


def rows_of(along: Along, limits: Limits, bounds: Array, padding: int) -> Rows:
    """The same as :func:`recursa.paths.rows.rows_of`, until the next call in this thread."""
    lengths = np.empty((len(along.h), 2))
    np.multiply(along.h, 2.0, out=lengths[:, 0])
    np.subtract(1.0, along.spare, out=lengths[:, 1])
    numbers = [len(one) for one in limits.chosen]
    columns = 2 * (numbers[0] + numbers[1]) + numbers[2]
    room = _room(len(lengths), columns, -(-columns * NODES // padding) * padding)
    sizes = np.array([*numbers, along.V.shape[2], room.shape[2] // NODES], np.int64)
    states = (np.ascontiguousarray(x) for x in (along.held, along.pushed, along.moving, along.V, along.W))
    _native().on_arrays(len(lengths), sizes, *limits.in_rows, lengths, _TABLE, *states, *room)
    return Rows(room[0], room[1], room[2], np.ascontiguousarray(lengths[:, 0]), bounds)
