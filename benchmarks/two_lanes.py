"""A chain with its base in the middle as two trees, and its forward dynamics with a tree per lane of a vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from recursa.dynamics import gathering
from recursa.dynamics.articulated_bodies import forward_plan
from recursa.kernels.graph import Node
from recursa.kernels.loop import LoopProgram
from recursa.kernels.loop import LoopTables as _Tables
from recursa.kernels.loop_emit import Here, Loops
from recursa.kernels.native import Native
from recursa.kernels.programs import Tables, aligned
from recursa.kernels.writer import Shape
from recursa.model.canonical import CanonicalJoint, canonical, regrouped
from recursa.model.model import WORLD, Joint, Model
from recursa.spatial.transform import Screw

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

    def tables(self, shape: Shape) -> Tables:
        """Those of both lanes; numbers are read as vectors."""
        half = self.model.nbodies // 2
        for one in self.found:
            assert [k + half for k in one.members if k < half] == [k for k in one.members if k >= half], "unlike halves"
        own = LaneTables(self, shape).all()
        numbers = aligned(own.numbers.size, float)
        numbers[:] = own.numbers
        return replace(own, numbers=numbers)


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
