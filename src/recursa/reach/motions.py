"""The functions that a search is made of, for one robot and the tasks it has: compiled for lanes, or as they are.

Four of them: what the tasks need of a configuration, a step, how far a configuration is from the goals, and the way
along which errors become smaller. The first is a plan; the others are plain functions of numbers. Where a step would be
long, its algebra runs in loops (``_levels.c``) between three shorter functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from recursa.reach.frames import Frames
from recursa.reach.levels import AT_A_LIMIT, LEAST_DAMPING, LOOKS, SMALLEST_ROW
from recursa.reach.steps import Goals
from recursa.reach.tasks import Task
from recursa.spatial.scalars import Scalar
from recursa.sweeps.batching import Array, Batch, interpret

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
