"""The two passes of :mod:`recursa.paths.passes` as LLVM IR: rows of an interval are lanes, paths follow one another.

``void passes(i64 paths, ptr counts, ptr A, ptr B, ptr C, ptr doubled, ptr bounds, ptr sets, ptr x, ptr u, ptr stuck,
ptr scratch)``. ``counts`` are the vectors of rows per interval and then the intervals of every path; arrays of paths
lie one behind the other, ``bounds`` and ``sets`` as pairs (least, most) at every place. The scratch holds, for every
vector of rows, the lines that bound u from above and from below.
"""

from __future__ import annotations

import struct
import threading
from functools import cache

import numpy as np

from recursa.kernels.native import Native, simd_width
from recursa.paths.passes import BIG, CAP, EPSILON, NO_LINE, ROUNDING, STEPS, Passed, Rows
from recursa.sweeps.batching import Array


def _number(value: float) -> str:
    return f"0x{struct.unpack('Q', struct.pack('d', value))[0]:016X}"


def _text(width: int) -> str:
    """The module; every function stays one of its own, LLVM joins them."""
    vector, mask = f"<{width} x double>", f"<{width} x i1>"
    size = 8 * width
    parts = {
        "V": vector,
        "BOUNDS": "{double, double, double, double, double, double}",
        "M": mask,
        "W": str(width),
        "S": str(size),
        "SUFFIX": f"v{width}f64",
        "BIG": _number(BIG),
        "LOW": _number(-BIG),
        "CAP": _number(CAP),
        "NO_LINE": _number(NO_LINE),
        "ROUNDING": _number(-ROUNDING),
        "EPSILON": _number(-EPSILON),
        "PAST": _number(ROUNDING),
        "STEPS": str(STEPS),
        "ONE": _number(1.0),
        "MINUS": _number(-1.0),
        "ZERO": _number(0.0),
    }
    text = _BOUNDS + _LINES + _FARTHEST + _PASSES
    for name in sorted(parts, key=len, reverse=True):
        text = text.replace(f"${name}$", parts[name])
    return text


_BOUNDS = """
declare $V$ @llvm.fma.$SUFFIX$($V$, $V$, $V$)
declare $V$ @llvm.fabs.$SUFFIX$($V$)
declare $V$ @llvm.minnum.$SUFFIX$($V$, $V$)
declare $V$ @llvm.maxnum.$SUFFIX$($V$, $V$)
declare double @llvm.vector.reduce.fmin.$SUFFIX$($V$)
declare double @llvm.vector.reduce.fmax.$SUFFIX$($V$)
declare double @llvm.fabs.f64(double)
declare i$W$ @llvm.cttz.i$W$(i$W$, i1)

; the lines that bound u at x: the highest u and its slope, the lowest and its slope, both intercepts
define internal $BOUNDS$ @bounds(ptr %lines, i64 %vectors, double %x, double %low, double %high,
                                                         double %doubled) alwaysinline {
start:
  %slope = fdiv double $MINUS$, %doubled
  %to_high = fsub double %high, %x
  %most0 = fdiv double %to_high, %doubled
  %to_low = fsub double %low, %x
  %least0 = fdiv double %to_low, %doubled
  %x1 = insertelement $V$ poison, double %x, i32 0
  %xs = shufflevector $V$ %x1, $V$ poison, <$W$ x i32> zeroinitializer
  br label %head
head:
  %j = phi i64 [ 0, %start ], [ %next, %body ]
  %most = phi $V$ [ splat (double $BIG$), %start ], [ %most.new, %body ]
  %most.p = phi $V$ [ zeroinitializer, %start ], [ %most.p.new, %body ]
  %most.r = phi $V$ [ zeroinitializer, %start ], [ %most.r.new, %body ]
  %least.r = phi $V$ [ zeroinitializer, %start ], [ %least.r.new, %body ]
  %least = phi $V$ [ splat (double $LOW$), %start ], [ %least.new, %body ]
  %least.p = phi $V$ [ zeroinitializer, %start ], [ %least.p.new, %body ]
  %more = icmp slt i64 %j, %vectors
  br i1 %more, label %body, label %done
body:
  %k = mul i64 %j, 4
  %a = getelementptr $V$, ptr %lines, i64 %k
  %b = getelementptr $V$, ptr %a, i64 1
  %c = getelementptr $V$, ptr %a, i64 2
  %d = getelementptr $V$, ptr %a, i64 3
  %pu = load $V$, ptr %a, align 8
  %ru = load $V$, ptr %b, align 8
  %pl = load $V$, ptr %c, align 8
  %rl = load $V$, ptr %d, align 8
  %u = call $V$ @llvm.fma.$SUFFIX$($V$ %pu, $V$ %xs, $V$ %ru)
  %l = call $V$ @llvm.fma.$SUFFIX$($V$ %pl, $V$ %xs, $V$ %rl)
  %lower = fcmp olt $V$ %u, %most
  %higher = fcmp ogt $V$ %l, %least
  %most.new = select $M$ %lower, $V$ %u, $V$ %most
  %most.p.new = select $M$ %lower, $V$ %pu, $V$ %most.p
  %most.r.new = select $M$ %lower, $V$ %ru, $V$ %most.r
  %least.r.new = select $M$ %higher, $V$ %rl, $V$ %least.r
  %least.new = select $M$ %higher, $V$ %l, $V$ %least
  %least.p.new = select $M$ %higher, $V$ %pl, $V$ %least.p
  %next = add i64 %j, 1
  br label %head
done:
  %m = call double @llvm.vector.reduce.fmin.$SUFFIX$($V$ %most)
  %m1 = insertelement $V$ poison, double %m, i32 0
  %ms = shufflevector $V$ %m1, $V$ poison, <$W$ x i32> zeroinitializer
  %m.here = fcmp oeq $V$ %most, %ms
  %m.bits = bitcast $M$ %m.here to i$W$
  %m.first = call i$W$ @llvm.cttz.i$W$(i$W$ %m.bits, i1 true)
  %m.lane = zext i$W$ %m.first to i32
  %m.slope = extractelement $V$ %most.p, i32 %m.lane
  %m.r = extractelement $V$ %most.r, i32 %m.lane
  %n = call double @llvm.vector.reduce.fmax.$SUFFIX$($V$ %least)
  %n1 = insertelement $V$ poison, double %n, i32 0
  %ns = shufflevector $V$ %n1, $V$ poison, <$W$ x i32> zeroinitializer
  %n.here = fcmp oeq $V$ %least, %ns
  %n.bits = bitcast $M$ %n.here to i$W$
  %n.first = call i$W$ @llvm.cttz.i$W$(i$W$ %n.bits, i1 true)
  %n.lane = zext i$W$ %n.first to i32
  %n.slope = extractelement $V$ %least.p, i32 %n.lane
  %n.r = extractelement $V$ %least.r, i32 %n.lane
  %by.row = fcmp olt double %m, %most0
  %top = select i1 %by.row, double %m, double %most0
  %top.p = select i1 %by.row, double %m.slope, double %slope
  %by.row2 = fcmp ogt double %n, %least0
  %bottom = select i1 %by.row2, double %n, double %least0
  %bottom.p = select i1 %by.row2, double %n.slope, double %slope
  %high.r = fdiv double %high, %doubled
  %low.r = fdiv double %low, %doubled
  %top.r = select i1 %by.row, double %m.r, double %high.r
  %bottom.r = select i1 %by.row2, double %n.r, double %low.r
  %r0 = insertvalue $BOUNDS$ poison, double %top, 0
  %r1 = insertvalue $BOUNDS$ %r0, double %top.p, 1
  %r2 = insertvalue $BOUNDS$ %r1, double %bottom, 2
  %r3 = insertvalue $BOUNDS$ %r2, double %bottom.p, 3
  %r4 = insertvalue $BOUNDS$ %r3, double %top.r, 4
  %r5 = insertvalue $BOUNDS$ %r4, double %bottom.r, 5
  ret $BOUNDS$ %r5
}
"""

_LINES = """
; rows of an interval -> lines that bound u, and the least and most x that rows without u leave: (nan, nan) if none
define internal {double, double} @lines(ptr %A, ptr %B, ptr %C, ptr %lines, i64 %vectors, double %doubled, double %low,
                                        double %high) {
start:
  %small = fmul double %doubled, $NO_LINE$
  %small1 = insertelement $V$ poison, double %small, i32 0
  %smalls = shufflevector $V$ %small1, $V$ poison, <$W$ x i32> zeroinitializer
  br label %head
head:
  %j = phi i64 [ 0, %start ], [ %next, %body ]
  %most = phi $V$ [ splat (double $CAP$), %start ], [ %most.new, %body ]
  %least = phi $V$ [ zeroinitializer, %start ], [ %least.new, %body ]
  %more = icmp slt i64 %j, %vectors
  br i1 %more, label %body, label %done
body:
  %pa = getelementptr $V$, ptr %A, i64 %j
  %pb = getelementptr $V$, ptr %B, i64 %j
  %pc = getelementptr $V$, ptr %C, i64 %j
  %a = load $V$, ptr %pa, align 8
  %b = load $V$, ptr %pb, align 8
  %c = load $V$, ptr %pc, align 8
  %size.a = call $V$ @llvm.fabs.$SUFFIX$($V$ %a)
  %size.b = call $V$ @llvm.fabs.$SUFFIX$($V$ %b)
  %least.a = fmul $V$ %smalls, %size.b
  %bounding = fcmp ogt $V$ %size.a, %least.a
  %up = fcmp ogt $V$ %a, zeroinitializer
  %down = fcmp olt $V$ %a, zeroinitializer
  %upper = and $M$ %bounding, %up
  %lower = and $M$ %bounding, %down
  %by = select $M$ %bounding, $V$ %a, $V$ splat (double $ONE$)
  %minus.b = fneg $V$ %b
  %minus.c = fneg $V$ %c
  %p = fdiv $V$ %minus.b, %by
  %r = fdiv $V$ %minus.c, %by
  %pu = select $M$ %upper, $V$ %p, $V$ zeroinitializer
  %ru = select $M$ %upper, $V$ %r, $V$ splat (double $BIG$)
  %pl = select $M$ %lower, $V$ %p, $V$ zeroinitializer
  %rl = select $M$ %lower, $V$ %r, $V$ splat (double $LOW$)
  %k = mul i64 %j, 4
  %l0 = getelementptr $V$, ptr %lines, i64 %k
  %l1 = getelementptr $V$, ptr %l0, i64 1
  %l2 = getelementptr $V$, ptr %l0, i64 2
  %l3 = getelementptr $V$, ptr %l0, i64 3
  store $V$ %pu, ptr %l0, align 8
  store $V$ %ru, ptr %l1, align 8
  store $V$ %pl, ptr %l2, align 8
  store $V$ %rl, ptr %l3, align 8
  %more.x = fcmp ogt $V$ %b, zeroinitializer
  %less.x = fcmp olt $V$ %b, zeroinitializer
  %flat = xor $M$ %bounding, splat (i1 true)
  %is.most = and $M$ %flat, %more.x
  %is.least = and $M$ %flat, %less.x
  %by.b = select $M$ %flat, $V$ %b, $V$ splat (double $ONE$)
  %at = fdiv $V$ %minus.c, %by.b
  %most.one = select $M$ %is.most, $V$ %at, $V$ splat (double $CAP$)
  %least.one = select $M$ %is.least, $V$ %at, $V$ zeroinitializer
  %neither = or $M$ %more.x, %less.x
  %empty = xor $M$ %neither, splat (i1 true)
  %never = fcmp ogt $V$ %c, zeroinitializer
  %hopeless0 = and $M$ %empty, %flat
  %hopeless = and $M$ %hopeless0, %never
  %most.two = select $M$ %hopeless, $V$ splat (double $LOW$), $V$ %most.one
  %most.new = call $V$ @llvm.minnum.$SUFFIX$($V$ %most, $V$ %most.two)
  %least.new = call $V$ @llvm.maxnum.$SUFFIX$($V$ %least, $V$ %least.one)
  %next = add i64 %j, 1
  br label %head
done:
  %m = call double @llvm.vector.reduce.fmin.$SUFFIX$($V$ %most)
  %l = call double @llvm.vector.reduce.fmax.$SUFFIX$($V$ %least)
  %m.less = fcmp olt double %m, %high
  %m.all = select i1 %m.less, double %m, double %high
  %l.more = fcmp ogt double %l, %low
  %l.all = select i1 %l.more, double %l, double %low
  %r0 = insertvalue {double, double} poison, double %l.all, 0
  %r1 = insertvalue {double, double} %r0, double %m.all, 1
  ret {double, double} %r1
}
"""

_FARTHEST = """
; Newton's method from x towards the far end; -1 if there is nothing before it
define internal double @farthest(ptr %lines, i64 %vectors, double %from, double %towards, double %low, double %high,
                                 double %doubled) {
start:
  %outward = fcmp ogt double %towards, %from
  %way = select i1 %outward, double $ONE$, double $MINUS$
  %far = call double @llvm.fabs.f64(double %towards)
  %past = fmul double %far, $PAST$
  br label %head
head:
  %k = phi i64 [ 0, %start ], [ %k.next, %step ]
  %x = phi double [ %from, %start ], [ %x.next, %step ]
  %b = call $BOUNDS$ @bounds(ptr %lines, i64 %vectors, double %x, double %low, double %high,
                                                     double %doubled)
  %most = extractvalue $BOUNDS$ %b, 0
  %p = extractvalue $BOUNDS$ %b, 1
  %least = extractvalue $BOUNDS$ %b, 2
  %r = extractvalue $BOUNDS$ %b, 3
  %gap = fsub double %most, %least
  %size.m = call double @llvm.fabs.f64(double %most)
  %size.l = call double @llvm.fabs.f64(double %least)
  %size = fadd double %size.m, %size.l
  %size.p = call double @llvm.fabs.f64(double %p)
  %size.r = call double @llvm.fabs.f64(double %r)
  %steep = fadd double %size.p, %size.r
  %size.x = call double @llvm.fabs.f64(double %x)
  %steep.x = fmul double %steep, %size.x
  %allowed.p = fmul double %steep.x, $EPSILON$
  %allowed.u = fmul double %size, $ROUNDING$
  %allowed = fadd double %allowed.u, %allowed.p
  %there = fcmp oge double %gap, %allowed
  %enough = icmp sge i64 %k, $STEPS$
  %end = or i1 %there, %enough
  br i1 %end, label %found, label %go
go:
  %slope = fsub double %p, %r
  %rising = fmul double %slope, %way
  %goes = fcmp ogt double %rising, $ZERO$
  br i1 %goes, label %step, label %none
step:
  %top.r = extractvalue $BOUNDS$ %b, 4
  %bottom.r = extractvalue $BOUNDS$ %b, 5
  %apart = fsub double %bottom.r, %top.r
  %x.next = fdiv double %apart, %slope
  %over = fsub double %x.next, %towards
  %over.way = fmul double %over, %way
  %within = fcmp ole double %over.way, %past
  %k.next = add i64 %k, 1
  br i1 %within, label %head, label %none
found:
  ret double %x
none:
  ret double $MINUS$
}
"""

_PASSES = """
define void @passes(i64 %paths, ptr %counts, ptr %A, ptr %B, ptr %C, ptr %doubled, ptr %bounds, ptr %sets, ptr %x,
                    ptr %u, ptr %stuck, ptr %scratch) {
start:
  %vectors = load i64, ptr %counts, align 8
  br label %path
path:
  %path.i = phi i64 [ 0, %start ], [ %path.next, %path.end ]
  %first = phi i64 [ 0, %start ], [ %first.next, %path.end ]
  %path.more = icmp slt i64 %path.i, %paths
  br i1 %path.more, label %one, label %out
one:
  %path.next = add i64 %path.i, 1
  %count.at = getelementptr i64, ptr %counts, i64 %path.next
  %count = load i64, ptr %count.at, align 8
  %first.next = add i64 %first, %count
  ; places of this path come after as many as its intervals and the paths before it
  %place = add i64 %first, %path.i
  %stuck.at = getelementptr i64, ptr %stuck, i64 %path.i
  store i64 -1, ptr %stuck.at, align 8
  %last = add i64 %place, %count
  %last2 = mul i64 %last, 2
  %last.b = getelementptr double, ptr %bounds, i64 %last2
  %last.s = getelementptr double, ptr %sets, i64 %last2
  %ends = load <2 x double>, ptr %last.b, align 8
  store <2 x double> %ends, ptr %last.s, align 8
  br label %back
back:
  %left = phi i64 [ %count, %one ], [ %i, %kept ]
  %back.more = icmp sgt i64 %left, 0
  br i1 %back.more, label %set, label %forth
set:
  %i = sub i64 %left, 1
  %interval = add i64 %first, %i
  %row = mul i64 %interval, %vectors
  %A.i = getelementptr $V$, ptr %A, i64 %row
  %B.i = getelementptr $V$, ptr %B, i64 %row
  %C.i = getelementptr $V$, ptr %C, i64 %row
  %line = mul i64 %row, 4
  %lines.i = getelementptr $V$, ptr %scratch, i64 %line
  %d.at = getelementptr double, ptr %doubled, i64 %interval
  %d = load double, ptr %d.at, align 8
  %here = add i64 %place, %i
  %here2 = mul i64 %here, 2
  %b.low.at = getelementptr double, ptr %bounds, i64 %here2
  %b.high.at = getelementptr double, ptr %b.low.at, i64 1
  %b.low = load double, ptr %b.low.at, align 8
  %b.high = load double, ptr %b.high.at, align 8
  %s.low.at = getelementptr double, ptr %sets, i64 %here2
  %s.high.at = getelementptr double, ptr %s.low.at, i64 1
  %after.low.at = getelementptr double, ptr %s.low.at, i64 2
  %after.high.at = getelementptr double, ptr %s.low.at, i64 3
  %after.low = load double, ptr %after.low.at, align 8
  %after.high = load double, ptr %after.high.at, align 8
  %range = call {double, double} @lines(ptr %A.i, ptr %B.i, ptr %C.i, ptr %lines.i, i64 %vectors, double %d,
                                        double %b.low, double %b.high)
  %least = extractvalue {double, double} %range, 0
  %most = extractvalue {double, double} %range, 1
  %some = fcmp ole double %least, %most
  br i1 %some, label %high, label %empty
high:
  %top = call double @farthest(ptr %lines.i, i64 %vectors, double %most, double %least, double %after.low,
                               double %after.high, double %d)
  %has.top = fcmp oge double %top, $ZERO$
  br i1 %has.top, label %low, label %empty
low:
  %bottom = call double @farthest(ptr %lines.i, i64 %vectors, double %least, double %top, double %after.low,
                                  double %after.high, double %d)
  %has.bottom = fcmp oge double %bottom, $ZERO$
  br i1 %has.bottom, label %kept, label %empty
kept:
  store double %bottom, ptr %s.low.at, align 8
  store double %top, ptr %s.high.at, align 8
  br label %back
empty:
  store i64 %i, ptr %stuck.at, align 8
  br label %path.end
forth:
  %place2 = mul i64 %place, 2
  %first.low.at = getelementptr double, ptr %sets, i64 %place2
  %first.high.at = getelementptr double, ptr %first.low.at, i64 1
  %fastest = load double, ptr %first.high.at, align 8
  %x.first = getelementptr double, ptr %x, i64 %place
  store double %fastest, ptr %x.first, align 8
  br label %on
on:
  %f = phi i64 [ 0, %forth ], [ %f.next, %drive ]
  %x.here = phi double [ %fastest, %forth ], [ %x.new, %drive ]
  %on.more = icmp slt i64 %f, %count
  br i1 %on.more, label %drive, label %path.end
drive:
  %f.next = add i64 %f, 1
  %f.interval = add i64 %first, %f
  %f.row = mul i64 %f.interval, %vectors
  %f.line = mul i64 %f.row, 4
  %f.lines = getelementptr $V$, ptr %scratch, i64 %f.line
  %f.d.at = getelementptr double, ptr %doubled, i64 %f.interval
  %f.d = load double, ptr %f.d.at, align 8
  %f.place = add i64 %place, %f.next
  %f.place2 = mul i64 %f.place, 2
  %f.low.at = getelementptr double, ptr %sets, i64 %f.place2
  %f.high.at = getelementptr double, ptr %f.low.at, i64 1
  %f.low = load double, ptr %f.low.at, align 8
  %f.high = load double, ptr %f.high.at, align 8
  %f.b = call $BOUNDS$ @bounds(ptr %f.lines, i64 %vectors, double %x.here, double %f.low,
                                                       double %f.high, double %f.d)
  %f.most = extractvalue $BOUNDS$ %f.b, 0
  %f.most.p = extractvalue $BOUNDS$ %f.b, 1
  %f.least = extractvalue $BOUNDS$ %f.b, 2
  %f.least.p = extractvalue $BOUNDS$ %f.b, 3
  %f.crossed = fcmp olt double %f.most, %f.least
  %f.size = call double @llvm.fabs.f64(double %f.most.p)
  %f.size2 = call double @llvm.fabs.f64(double %f.least.p)
  %f.steeper = fcmp ogt double %f.size, %f.size2
  %f.other = and i1 %f.crossed, %f.steeper
  %f.u = select i1 %f.other, double %f.least, double %f.most
  %f.u.at = getelementptr double, ptr %u, i64 %f.interval
  store double %f.u, ptr %f.u.at, align 8
  %f.dx = fmul double %f.d, %f.u
  %x.then = fadd double %x.here, %f.dx
  %is.low = fcmp olt double %x.then, %f.low
  %x.low = select i1 %is.low, double %f.low, double %x.then
  %is.high = fcmp ogt double %x.low, %f.high
  %x.new = select i1 %is.high, double %f.high, double %x.low
  %x.at = getelementptr double, ptr %x, i64 %f.place
  store double %x.new, ptr %x.at, align 8
  br label %on
path.end:
  br label %path
out:
  ret void
}
"""

_POINTERS = 11


@cache
def _native(width: int) -> Native:
    return Native(_text(width), "passes", _POINTERS)


def padding() -> int:
    """Rows come in multiples of this many."""
    return simd_width(False)


class _Kept(threading.local):
    """Room for lines, kept by every thread: fresh memory costs more than what is written to it."""

    room: Array = np.empty(0)


_KEPT = _Kept()


def run(rows: Rows, counts: Array) -> Passed:
    """Both passes along paths with so many intervals each; the number of rows is a multiple of :func:`padding`."""
    (count, wide), paths = rows.A.shape, len(counts)
    if _KEPT.room.size < 4 * rows.A.size:
        _KEPT.room = np.empty(4 * rows.A.size)
    A, B, C, bounds = (np.ascontiguousarray(part) for part in (rows.A, rows.B, rows.C, rows.bounds.T))
    places = count + paths
    sets, x, u, stuck = np.empty((places, 2)), np.zeros(places), np.zeros(count), np.empty(paths, np.int64)
    sizes = np.empty(paths + 1, np.int64)
    sizes[0], sizes[1:] = wide // padding(), counts
    _native(padding()).on_arrays(paths, sizes, A, B, C, rows.doubled, bounds, sets, x, u, stuck, _KEPT.room)
    return Passed(sets.T, x, u, stuck)
