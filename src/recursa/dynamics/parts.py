"""Matrices whose code would be too long in one piece, in parts: each pairs some joints with those inward of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from recursa.dynamics.gathering import joint_matrix
from recursa.model.model import Model
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Plan, Values, base_to_tip, run, tip_to_base


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
