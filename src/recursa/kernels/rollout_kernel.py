"""Many rows through many time steps by one native loop, in pieces that can be interrupted, on any number of threads."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, wait
from dataclasses import dataclass
from itertools import pairwise
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recursa.kernels.kernel import worker_pool
from recursa.kernels.native import Native, simd_shape
from recursa.kernels.programs import aligned
from recursa.kernels.rollout_emit import CONTROL, POINTERS, Loop, Motions, Scheme
from recursa.kernels.writer import Shape
from recursa.waits import spoken

Array = NDArray[Any]

PIECE = 10**8  # operations in all lanes between two looks at the world: some hundredths of a second


@dataclass
class RolloutRun:
    """What a rollout works on; contiguous arrays of one number type, but for the torques.

    ``q`` (B, nq) and ``v`` (B, nv) are the state, which moves on; ``tau`` holds the torques of row b and step s at
    ``b torque_row + s torque_step``, and ``wrenches`` in the same way what acts on links; ``saved_q`` (B, saved, nq),
    ``saved_v`` (B, saved, nv) take the results and
    ``finite`` (B,) the number of steps before the first whose result is not finite.

    Where a law drives the robot, what it remembers stands behind the speeds in v and is saved in ``saved_memory``;
    ``gains`` (B, n), or (1, n) for all rows, and ``reference`` (motions, steps, stages, m) are what it is given;
    ``followed`` (B,) has the number in ``reference`` at which the motion of each row begins, or nothing where there is
    but one.
    """

    step: float
    steps: int
    every: int
    q: Array
    v: Array
    tau: Array
    torque_row: int
    torque_step: int
    wrenches: Array
    wrench_row: int
    wrench_step: int
    parameters: Array | None
    saved_q: Array
    saved_v: Array
    finite: NDArray[np.int64]
    stop_early: bool  # as soon as a row is not finite any more
    gains: Array
    reference: Array
    followed: NDArray[np.int64]
    saved_memory: Array

    @property
    def rows(self) -> int:
        """Number of states."""
        return len(self.q)


class RolloutKernel:
    """One integrator's loop for one robot and number type; compiled when first called."""

    def __init__(self, motions: Motions, scheme: Scheme, single: bool) -> None:
        self.motions = motions
        self.scheme = scheme
        self.single = single
        self._compiled: dict[int, _Native] = {}  # by width

    def __call__(self, run: RolloutRun, threads: int = 1) -> None:
        """Carry out all steps of all rows."""
        native = self._native(1 if run.rows == 1 else simd_shape(self.single).width)
        blocks = -(-run.rows // native.shape.width)
        workers = min(threads, blocks)
        stop = Event()
        if workers <= 1:
            native.work(run, 0, blocks, stop)
            return
        cuts = [blocks * k // workers for k in range(workers + 1)]
        pool = worker_pool(workers)
        started: list[Future[None]] = []
        try:
            for cut in pairwise(cuts):
                started.append(pool.submit(native.work, run, *cut, stop))
            for one in started:
                one.result()
        finally:  # an interruption reaches this thread only, and the others write into the same arrays
            if any(not one.done() for one in started):
                stop.set()
            wait(started)

    def _native(self, width: int) -> _Native:
        found = self._compiled.get(width)
        if found is None:  # two threads may both compile it; one is kept
            with spoken("compiling a loop over time steps"):
                made = _Native(self, Shape(width, self.single, turned=True))
            found = self._compiled.setdefault(width, made)
        return found


class _Native:
    """The machine code for so many lanes."""

    def __init__(self, kernel: RolloutKernel, shape: Shape) -> None:
        self.shape = shape
        loop = Loop(kernel.motions, kernel.scheme, shape)
        self.room = loop.room
        self.programs = tuple(loop.programs.values())
        pointers = len(POINTERS) + sum(len(one.workspace(shape)) for one in self.programs)
        self.code = Native(loop.text(), "rollout", pointers)
        self.operations = loop.products + sum(
            loop.calls[name] * one.operations.total for name, one in loop.programs.items()
        )

    def work(self, run: RolloutRun, first: int, last: int, stop: Event) -> None:
        """Some blocks of rows, in the calling thread, until ``stop`` is set."""
        kind = np.float32 if self.shape.single else np.float64
        width = self.shape.width
        control = np.zeros(len(CONTROL), np.int64)
        fixed = {
            "rows": run.rows, "every": run.every, "saved": run.saved_q.shape[1], "torque_row": run.torque_row,
            "torque_step": run.torque_step, "wrench_row": run.wrench_row, "wrench_step": run.wrench_step,
            "gains_row": 0 if len(run.gains) == 1 else run.gains.shape[1],
        }  # fmt: skip
        for name, value in fixed.items():
            control[CONTROL.index(name)] = value
        named = {
            "control": control,
            "step": np.array([run.step], kind),
            "q": run.q, "v": run.v, "tau": run.tau, "wrenches": run.wrenches, "gains": run.gains,
            "reference": run.reference, "followed": run.followed,
            "parameters": np.empty(0, kind) if run.parameters is None else run.parameters,
            "saved_q": run.saved_q, "saved_v": run.saved_v, "saved_memory": run.saved_memory, "finite": run.finite,
            "scratch": aligned(self.room * width, kind),
        }  # fmt: skip
        spaces = [x for one in self.programs for x in one.workspace(self.shape)]
        places = [x.ctypes.data for x in (*(named[name] for name in POINTERS), *spaces)]
        piece = [CONTROL.index(name) for name in ("first", "start", "stop")]
        for block, blocks, start, end in self._pieces(first, last, run.steps):
            if stop.is_set():
                return
            control[piece] = block, start, end
            self.code.function(blocks, *places)
            if run.stop_early and run.finite[block * width : (block + blocks) * width].min() < end:
                stop.set()

    def _pieces(self, first: int, last: int, steps: int) -> Iterator[tuple[int, int, int, int]]:
        """(block, blocks, start, stop): several blocks through all steps, or one through some at a time."""
        at_once = max(1, PIECE // max(1, self.operations))  # steps of a block
        if at_once >= steps:
            blocks = max(1, at_once // max(1, steps))
            for block in range(first, last, blocks):
                yield block, min(blocks, last - block), 0, steps
            return
        for block in range(first, last):
            for start in range(0, steps, at_once):
                yield block, 1, start, min(start + at_once, steps)
