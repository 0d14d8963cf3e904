"""Matrices whose code would be too long in one piece, in parts: each pairs some joints with those inward of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

import numpy as np

from recursa.dynamics.gathering import joint_matrix
from recursa.kernels.dispatch import Filler, KernelStore
from recursa.kernels.kernel import MANY_BODIES, SERIAL_ROWS, Gather, Kernel
from recursa.model.model import Model
from recursa.quantities import Subject
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Plan, Values, base_to_tip, run, tip_to_base
from recursa.sweeps.batching import Array, Batch


@dataclass(frozen=True)
class Cut:
    """How a plan of one outward and one inward sweep is cut.

    The last step of the inward sweep takes ``only``, joints by number, and lists entries for each of ``blocks``;
    ``own`` are the buffers that the outward sweep fills for it alone. What code costs, in nodes of a graph: motion and
    sums at a body; a carry of one freedom to the parent; a pair of freedoms.
    """

    plan: Plan
    blocks: tuple[str, ...]
    symmetric: tuple[str, ...]
    own: tuple[str, ...]
    bodies: int  # up to so many it is not even tried
    most: int  # parts; each takes seconds to compile, once
    longest: tuple[int, ...]  # the length of a part's code, by estimate; what turns out too long is tried shorter
    per_body: int
    per_step: int
    per_pair: int

    def part(self, model: Model, only: tuple[int, ...]) -> Plan:
        """The entries that pair some joints with themselves and the joints inward of them."""
        outward, inward = self.plan.sweeps
        *sums, last = inward.steps
        rows = replace(last, fn=partial(last.fn, only=frozenset(only)))
        before = [step for step in outward.steps if step.writes[0] in self.own]
        moving, pairing = tuple(sorted(_needed(model, only))), tuple(sorted(_inward(model, only)))
        sweeps = (
            base_to_tip(*(step for step in outward.steps if step not in before), only=moving),
            base_to_tip(*before, only=pairing),
            tip_to_base(*sums, only=moving),
            tip_to_base(rows, only=pairing),
        )
        return replace(self.plan, name=f"{self.plan.name} of {len(only)} joints", sweeps=sweeps)

    def groups(self, model: Model, longest: int) -> tuple[tuple[int, ...], ...]:
        """Joints in groups whose code is, by estimate, no longer than so many nodes; none if that cannot be."""
        found: list[tuple[int, ...]] = []
        group: tuple[int, ...] = ()
        for number in range(model.nbodies):
            if self._length(model, (*group, number)) <= longest:
                group = (*group, number)
                continue
            if not group or self._length(model, (number,)) > longest:
                return ()
            found.append(group)
            group = (number,)
        return (*found, group)

    def _length(self, model: Model, group: tuple[int, ...]) -> int:
        """About how many nodes the graph of a part has."""
        total = self.per_body * len(_needed(model, group))
        for number in group:
            inward = [model.joints[body].kind.nv for body in model.support(number)]
            total += model.joints[number].kind.nv * sum(self.per_step + self.per_pair * nv for nv in inward)
        return total

    def matrices(self, model: Model, values: Values) -> Iterator[Scalar]:
        """All blocks of the whole plan, (blocks, nv, nv) row by row."""
        for name in self.blocks:
            yield from joint_matrix(model, values.lists.get(name, []), symmetric=name in self.symmetric)

    def entries(self, values: Values) -> Iterator[Scalar]:
        """The entries of a part, in the order of :meth:`places`."""
        return (value for name in self.blocks for entries in values.lists.get(name, []) for _, value in entries)

    def places(self, model: Model, plan: Plan) -> list[set[int]]:
        """For each entry of a part its places in (blocks, nv, nv), flat: one, or two in a symmetric block."""
        nv = model.nv
        inputs = {name: [0.0] * nv for name in plan.inputs}
        inputs["q"] = [x for joint in model.joints for x in joint.kind.neutral()]
        values = run(plan, model, inputs)
        places = []
        for block, name in enumerate(self.blocks):
            for (left, right), _ in (entry for entries in values.lists.get(name, []) for entry in entries):
                row, column = (model.joints[joint].v_start + freedom for joint, freedom in (left, right))
                both = {(row, column), (column, row)} if name in self.symmetric else {(row, column)}
                places.append({(block * nv + i) * nv + j for i, j in both})
        return places


def _inward(model: Model, only: Iterable[int]) -> set[int]:
    return {body for number in only for body in model.support(number)}


def _needed(model: Model, only: Iterable[int]) -> set[int]:
    """The bodies that have to do with some joints: inward, and outward."""
    chosen = set(only)
    return _inward(model, chosen) | {body for body in range(model.nbodies) if chosen & set(model.support(body))}


# ---- evaluation ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Parts:
    """Plans whose entries make up the matrices, by their joints: how many each has, and for every place its entry."""

    plans: Mapping[tuple[int, ...], tuple[Plan, int]]
    source: Array
    gather: Gather

    @staticmethod
    def of(cut: Cut, model: Model, groups: tuple[tuple[int, ...], ...]) -> Parts:
        """One part for every group of joints."""
        plans = [cut.part(model, group) for group in groups]
        places = [cut.places(model, plan) for plan in plans]
        counts = [len(own) for own in places]
        source = np.full(len(cut.blocks) * model.nv * model.nv, sum(counts))
        for number, targets in enumerate(chain.from_iterable(places)):
            source[list(targets)] = number
        own = zip(plans, counts, strict=True)
        return Parts(dict(zip(groups, own, strict=True)), source, cut.entries)

    def fill(self, store: KernelStore, key: Hashable, batch: Batch, flat: Array, workers: int) -> bool:
        """Fill rows (B, places), some states at a time so that the entries stay in the cache; what has none is zero."""
        kernels = self.kernels(store, key, _sizes(batch), single=batch.dtype == np.float32)
        if None in kernels:
            return False
        counts = [count for _, count in self.plans.values()]
        at_once = _STATES_AT_ONCE if workers == 1 else max(_STATES_AT_ONCE, SERIAL_ROWS * workers)
        for start in range(0, batch.size, at_once):
            some = slice(start, min(start + at_once, batch.size))
            rows = {name: values[some] for name, values in batch.rows.items()}
            found = [np.empty((some.stop - start, count), batch.dtype) for count in counts]
            for kernel, entries in zip(kernels, found, strict=True):
                assert kernel is not None
                kernel(rows, entries, workers)
            nothing = np.zeros((some.stop - start, 1), batch.dtype)
            np.take(np.concatenate([*found, nothing], axis=1), self.source, axis=1, mode="clip", out=flat[some])
        return True

    def kernels(
        self, store: KernelStore, key: Hashable, sizes: Mapping[str, int], *, single: bool = False
    ) -> list[Kernel | None]:
        """One per plan, up to the first that is too long."""
        made: list[Kernel | None] = []
        for joints, (plan, _) in self.plans.items():
            made.append(store.kernel(plan, (key, "part", joints), sizes, self.gather, single=single))
            if made[-1] is None:
                break
        return made


_STATES_AT_ONCE = 256


def _sizes(batch: Batch) -> dict[str, int]:
    return {name: rows.shape[1] for name, rows in batch.rows.items()}


@dataclass(frozen=True, eq=False)
class InParts:
    """The matrices of a cut plan in a few kernels, made when one turns out too long; ``otherwise`` if these do too."""

    cut: Cut
    model: Model
    otherwise: Filler
    chosen: list[Filler] = field(default_factory=list)  # the parts or the other way, once it is known

    def fill(self, store: KernelStore, key: Hashable, batch: Batch, flat: Array, workers: int) -> bool:
        """Fill rows (B, blocks nv nv)."""
        if not self.chosen:
            self.chosen.append(self._parts(store, key, batch) or self.otherwise)
        return self.chosen[0].fill(store, key, batch, flat, workers)

    def _parts(self, store: KernelStore, key: Hashable, batch: Batch) -> Parts | None:
        for longest in self.cut.longest:
            groups = self.cut.groups(self.model, longest)
            if not 0 < len(groups) <= self.cut.most:
                return None
            parts = Parts.of(self.cut, self.model, groups)
            if None not in parts.kernels(store, key, _sizes(batch), single=batch.dtype == np.float32):
                return parts
        return None


def in_parts(cut: Cut, of: Subject, otherwise: Filler) -> Filler:
    """What fills the matrices of a cut plan where one kernel would be too long: parts if the robot's size suits."""
    suits = cut.bodies < of.model.nbodies <= MANY_BODIES and not of.tied
    return InParts(cut, of.model, otherwise) if suits else otherwise
