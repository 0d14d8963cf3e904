"""What the goals of a robot want of a configuration, and the step towards them, as functions of rows of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from recursa.errors import UntraceableError
from recursa.kernels.emit import module, straight_function
from recursa.kernels.graph import Graph, Traced
from recursa.kernels.kernel import MAX_NODES, program
from recursa.kernels.native import Native, simd_shape
from recursa.kernels.switch import Switch, extension
from recursa.kernels.writer import Shape
from recursa.model.model import Model
from recursa.reach.frames import Frames, Read
from recursa.reach.levels import AT_A_LIMIT, LEAST_DAMPING, LOOKS, SMALLEST_ROW, Equation, all_levels, clipped, square
from recursa.reach.tasks import Row, Task
from recursa.spatial.scalars import Scalar, where
from recursa.spatial.small_systems import dot
from recursa.sweeps.batching import Array, Batch, interpret

Numbers = Sequence[Scalar]


@dataclass(frozen=True)
class Goals:
    """The tasks of a robot, with what they are given: rows of numbers, over any scalar."""

    frames: Frames

    @property
    def model(self) -> Model:
        """The robot's."""
        return self.frames.model

    @property
    def tasks(self) -> tuple[Task, ...]:
        """What is wanted."""
        return self.frames.tasks

    @cached_property
    def size(self) -> int:
        """Numbers that say what is wanted."""
        return sum(task.size for task in self.tasks)

    @cached_property
    def rows(self) -> int:
        """Numbers that have to become zero."""
        return sum(len(task.angles) for task in self.tasks)

    @property
    def levels(self) -> int:
        """Of priority."""
        return 1 + max(task.level for task in self.tasks)

    # ---- what is missing ---------------------------------------------------------------------------------------------

    def _missing(self, read: Read, wanted: Numbers) -> Iterator[tuple[Task, list[Row], Numbers]]:
        at, here = 0, read.configuration
        for task in self.tasks:
            numbers = wanted[at : at + task.size]
            yield task, task.rows(here, numbers), numbers[-2:]
            at += task.size

    def distance(self, frames: Numbers, wanted: Numbers, scale: Numbers) -> tuple[Scalar]:
        """How far a configuration is from the goals: squares of lengths times a scale, and half of those of angles."""
        total: Scalar = 0.0
        for task, rows, _ in self._missing(self.frames.read(frames), wanted):
            for row, angle in zip(rows, task.angles, strict=True):
                total = total + row.error * row.error * (0.5 if angle else scale[0])
        return (total,)

    def equations(self, frames: Numbers, wanted: Numbers, moving: Numbers) -> list[list[Equation]]:
        """Per task; freedoms that may not move have no part in the Jacobian."""
        read, found = self.frames.read(frames), []
        for task, rows, weights in self._missing(read, wanted):
            own = []
            for row, angle in zip(rows, task.angles, strict=True):
                weight = weights[0 if angle else 1]
                entries = [weight * x * share for x, share in zip(read.jacobian(row), moving, strict=True)]
                own.append(Equation(row.error, weight, entries))
            found.append(own)
        return found

    def downhill(self, frames: Numbers, wanted: Numbers, moving: Numbers) -> list[Scalar]:
        """``J* e`` (nv): the way along which the errors become smaller."""
        every = [one for task in self.equations(frames, wanted, moving) for one in task]
        return [dot([one.row[i] for one in every], [one.weighted for one in every]) for i in range(self.model.nv)]

    # ---- the step ----------------------------------------------------------------------------------------------------

    def step(
        self,
        q: Numbers,
        frames: Numbers,
        wanted: Numbers,
        low: Numbers,
        high: Numbers,
        moving: Numbers,
        posture: Numbers,
        control: Numbers,
    ) -> list[Scalar]:
        """Coordinates after a step (nq); the errors before it; per level 0 where it is met, else the square of its
        errors; the square of what the posture moved.

        ``low``, ``high`` and ``moving`` (nv): lowest and highest positions, and 1 for what may move, else 0.
        ``posture`` (nq) is empty where none is preferred. ``control``: tolerances in rad and m; how far to go to the
        posture at once, from 0 to 1; about how far lower levels may go at once, in rad and m.
        """
        tasks = self.equations(frames, wanted, moving)
        way = self.way(q, posture, moving, control) if len(posture) else []
        step, settled = all_levels(self._by_level(tasks), self._bounds(q, low, high), way, control[3])
        return [*self.after(q, step, _errors(tasks), wanted, low, high, control), settled]

    # The same in parts, for what is too large to be spelled out: rows and way, then the step itself, then after.

    def parts(self, frames: Numbers, wanted: Numbers, moving: Numbers) -> list[Scalar]:
        """Errors; then level by level weighted errors, and their rows of the Jacobian."""
        tasks = self.equations(frames, wanted, moving)
        ordered = [one for level in self._by_level(tasks) for one in level]
        return [*_errors(tasks), *(one.weighted for one in ordered), *(x for one in ordered for x in one.row)]

    def way(self, q: Numbers, posture: Numbers, moving: Numbers, control: Numbers) -> list[Scalar]:
        """The way to the posture (nv), or a part of it, of what may move."""
        way: list[Scalar] = [0.0] * self.model.nv
        for joint in self.model.joints:
            if joint.independent:
                at, v = slice(joint.q_start, joint.q_start + joint.kind.nq), joint.v_start
                way[v : v + joint.kind.nv] = joint.kind.difference(tuple(q[at]), tuple(posture[at]))
        return [x * m * control[2] for x, m in zip(way, moving, strict=True)]

    def after(
        self, q: Numbers, step: Numbers, errors: Numbers, wanted: Numbers, low: Numbers, high: Numbers, control: Numbers
    ) -> list[Scalar]:
        """Coordinates after a step; the errors before it; what is missed by level."""
        return [*self._moved(q, step, low, high), *errors, *self._misses(errors, wanted, control)]

    def _by_level(self, tasks: list[list[Equation]]) -> list[list[Equation]]:
        levels: list[list[Equation]] = [[] for _ in range(self.levels)]
        for task, equations in zip(self.tasks, tasks, strict=True):
            levels[task.level] += equations
        return levels

    @property
    def ends(self) -> tuple[int, ...]:
        """The number of rows up to the end of each level."""
        sizes = [sum(len(task.angles) for task in self.tasks if task.level <= level) for level in range(self.levels)]
        return tuple(sizes)

    def _bounds(self, q: Numbers, low: Numbers, high: Numbers) -> list[tuple[Scalar, Scalar] | None]:
        """Per freedom how far down and up it may go; None without limits: joints with several freedoms have none."""
        bounds: list[tuple[Scalar, Scalar] | None] = [None] * self.model.nv
        for joint in self.model.joints:
            if joint.independent and joint.kind.nq == 1:
                own, v = q[joint.q_start], joint.v_start
                bounds[v] = low[v] - own, high[v] - own
        return bounds

    def _moved(self, q: Numbers, step: Numbers, low: Numbers, high: Numbers) -> list[Scalar]:
        """``q exp(dq)``, within the limits to the last bit."""
        after: list[Scalar] = list(q)
        for joint in self.model.joints:
            if not joint.independent:
                continue
            at, v = slice(joint.q_start, joint.q_start + joint.kind.nq), joint.v_start
            after[at] = joint.kind.integrate(tuple(q[at]), tuple(step[v : v + joint.kind.nv]))
            if joint.kind.nq == 1:
                after[at] = [clipped(after[joint.q_start], low[v], high[v])]
        return after

    def _misses(self, errors: Numbers, wanted: Numbers, control: Numbers) -> list[Scalar]:
        """Per level 0 where all goals are met, else the square of their weighted errors."""
        totals: list[Scalar] = [0.0] * self.levels
        far: list[Scalar] = [0.0] * self.levels
        at, number = 0, 0
        for task in self.tasks:
            at, level, weights = at + task.size, task.level, wanted[at + task.size - 2 : at + task.size]
            own = list(zip(task.angles, errors[number : number + len(task.angles)], strict=True))
            number += len(own)
            totals[level] = totals[level] + square([error * weights[0 if angle else 1] for angle, error in own])
            for kind, tolerance in ((True, control[0]), (False, control[1])):
                some = [error for angle, error in own if angle is kind]
                if some:
                    far[level] = where(square(some) < tolerance * tolerance, far[level], 1.0)
        return [where(one > 0.5, total, 0.0) for one, total in zip(far, totals, strict=True)]


def _errors(tasks: list[list[Equation]]) -> list[Scalar]:
    return [one.error for task in tasks for one in task]


# ---- -----------------------------------------------------------------------------------------------------------------
# The functions that a search is made of, for one robot and the tasks it has: compiled for lanes, or as they are. Four
# of them: what the tasks need of a configuration, a step, how far a configuration is from the goals, and the way along
# which errors become smaller. The first is a plan; the others are plain functions of numbers. Where a step would be
# long, its algebra runs in loops (``_levels.c``) between three shorter functions.


Function = Callable[..., Sequence[Scalar]]
Compiled = tuple[Native, tuple[Array, ...]]  # and what calls hand over beside inputs and result
CODES = ("frames", "step", "distance", "downhill", "parts", "after", "way")
LONGEST_STEP = 30_000  # nodes of a step that is spelled out, some seconds to compile; beyond, loops take over


@dataclass(frozen=True)
class Motions:
    """The functions for a model and tasks; ``posture``: whether one is preferred."""

    model: Model
    tasks: tuple[Task, ...]
    posture: bool

    @cached_property
    def goals(self) -> Goals:
        """What the tasks mean."""
        return Goals(Frames(self.model, self.tasks))

    @property
    def functions(self) -> dict[str, tuple[Function, dict[str, int]]]:
        """By name, with the sizes of their inputs."""
        nq, nv, frames, wanted = self.model.nq, self.model.nv, self.goals.frames.size, self.goals.size
        step = {
            "q": nq, "frames": frames, "wanted": wanted, "low": nv, "high": nv, "moving": nv,
            "posture": nq if self.posture else 0, "control": 4,
        }  # fmt: skip
        rows, q_and_step = self.goals.rows, {"q": nq, "step": nv}
        bounds = {"low": nv, "high": nv, "control": 4}
        return {
            "step": (self.goals.step, step),
            "parts": (self.goals.parts, {"frames": frames, "wanted": wanted, "moving": nv}),
            "way": (self.goals.way, {"q": nq, "posture": nq, "moving": nv, "control": 4}),
            "after": (self.goals.after, {**q_and_step, "errors": rows, "wanted": wanted, **bounds}),
            "distance": (self.goals.distance, {"frames": frames, "wanted": wanted, "scale": 1}),
            "downhill": (self.goals.downhill, {"frames": frames, "wanted": wanted, "moving": nv}),
        }

    def frames(self, q: Array) -> Array:
        """What the tasks need of configurations (n, nq): (n, numbers)."""
        found = np.empty((len(q), self.goals.frames.size))
        batch = Batch({"q": q}, (len(q),), q.dtype)
        interpret(self.model, self.goals.frames.plan, batch, self.goals.frames.gather, found)
        return found

    # ---- compiled ----------------------------------------------------------------------------------------------------

    def search(self, starts: Array, singles: tuple[Array, Array], angles: Array) -> Any:
        """The whole search in native code."""
        search = extension("inverse kinematics").Search
        shape = Shape(simd_shape(False).width, turned=True)
        codes = self._codes(shape)
        goals = self.goals
        sizes = (
            self.model.nq, self.model.nv, goals.frames.size, goals.size, self.model.nq if self.posture else 0,
            goals.rows, goals.levels,
        )  # fmt: skip
        ways = tuple(
            None if one is None else (shape.width, one[0].address, *(x.ctypes.data for x in one[1])) for one in codes
        )
        algebra = LEAST_DAMPING, SMALLEST_ROW, AT_A_LIMIT, LOOKS
        return search(codes, ways, sizes, starts, *singles, angles, np.array(goals.ends, np.int64), algebra)

    def _codes(self, shape: Shape) -> list[Compiled | None]:
        """Machine code by the order of CODES: the step in one, or in parts if that would be long."""
        frames = self.goals.frames
        made = program(frames.plan, self.model, {"q": self.model.nq}, frames.gather, Switch.form)
        extra = made.workspace(shape)
        first = Native(module(shape, [made.function(shape, "frames")]), "frames", 2 + len(extra)), extra
        found: dict[str, Compiled] = {name: self._straight(name, shape) for name in ("distance", "downhill")}
        try:
            found["step"] = self._straight("step", shape, LONGEST_STEP)
        except UntraceableError:
            parts = ("parts", "after", "way") if self.posture else ("parts", "after")
            found |= {name: self._straight(name, shape) for name in parts}
        return [first, *(found.get(name) for name in CODES[1:])]

    def _straight(self, name: str, shape: Shape, limit: int = MAX_NODES) -> Compiled:
        """One of the functions, spelled out."""
        function, sizes = self.functions[name]
        graph = Graph(limit)
        results = function(*(graph.inputs(given, size) for given, size in sizes.items()))
        outputs = [x.number if isinstance(x, Traced) else float(x) for x in results]
        text = module(shape, [straight_function(graph, outputs, dict(sizes), shape, name)])
        return Native(text, name, len(sizes) + 1), ()
