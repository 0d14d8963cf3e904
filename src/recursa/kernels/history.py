"""Who has changed a buffer at a body or link by the time it is read: known beforehand, since plans are data.

A sweep may visit some bodies only, and add to bodies that it does not visit. So the value that one body reads of
another is what the last sweep *that visited the other one* left there, or the buffer's base value if none did; and what
was added to a body since its last visit waits with it until its next one. Nobody else can see what waits: a plan in
which somebody would is refused, and runs in another form.
"""

from __future__ import annotations

from functools import cache

from recursa.errors import UntraceableError
from recursa.model.model import WORLD, Model
from recursa.sweeps.engine import begins_walk, neighbours, visiting_order
from recursa.sweeps.plan import BODIES, LINKS, PAIRS, Plan, Sweep, domain_at, split


class History:
    """One plan on one robot. Bodies, links and pairs of bodies are called items where any may be meant."""

    def __init__(self, plan: Plan, model: Model) -> None:
        self.plan = plan
        self.model = model
        self.visited = [frozenset(visiting_order(sweep, model)) for sweep in plan.sweeps]
        self.added = [_written(sweep, "parent", "body") for sweep in plan.sweeps]  # buffers that others add to
        self.first_giver = [self._first_givers(number) for number in range(len(plan.sweeps))]
        self._changed = [_written(sweep, "", "parent") for sweep in plan.sweeps]
        self.left_by = cache(self._left_by)

    def _first_givers(self, number: int) -> dict[int, int]:
        """The bodies to which a sweep adds, and the item that does so first."""
        sweep = self.plan.sweeps[number]
        if not self.added[number]:
            return {}
        receiver = neighbours("parent" if sweep.domain == BODIES else "body", sweep, self.model)
        first: dict[int, int] = {}
        for k in visiting_order(sweep, self.model):
            first.setdefault(receiver(k), k)
        first.pop(WORLD, None)
        return first

    def visits(self, domain: str, k: int, number: int) -> bool:
        """Whether a sweep visits an item."""
        return self.plan.sweeps[number].domain == domain and k in self.visited[number]

    def waiting(self, body: int, number: int) -> list[tuple[str, int]]:
        """What has been added to a body since its last visit, before a sweep: buffers, and the sweeps that added."""
        found: list[tuple[str, int]] = []
        for earlier in reversed(range(number)):
            if self.visits(BODIES, body, earlier):
                break
            if body in self.first_giver[earlier]:
                found += [(buffer, earlier) for buffer in sorted(self.added[earlier])]
        return found[::-1]

    def gives(self, body: int, number: int) -> tuple[bool, bool]:
        """Of a body that adds to its parent: whether the sweep visits that too, and whether nobody adds before."""
        parent = self.model.joints[body].parent
        return self.visits(BODIES, parent, number), self.first_giver[number].get(parent) == body

    def _left_by(self, domain: str, k: int, buffer: str, number: int) -> int | None:
        """The sweep, up to this one, that left what is then in an item's buffer; None where that is the base value."""
        if domain == BODIES and any(name == buffer for name, _ in self.waiting(k, number + 1)):
            raise UntraceableError(f"a loop cannot read {buffer!r} of a body between a sum and the body's next visit")
        for earlier in range(number, -1, -1):
            if self.visits(domain, k, earlier) and (
                buffer in self._changed[earlier] or any(name == buffer for name, _ in self.waiting(k, earlier))
            ):
                return earlier
        return None

    def source(self, name: str, k: int, number: int) -> int | None:
        """The sweep that left what an item reads elsewhere, such as ``"V@parent"``; None where that is the base value.

        A neighbour in the same sweep has been visited before, so it is what this sweep leaves there that is read.
        """
        buffer, place = split(name)
        if place == "target":
            assert self.plan.target is not None
            return self.left_by(LINKS, self.plan.target, buffer, number)
        if place == "carried" and not begins_walk(k, self.model):
            return self.left_by(PAIRS, k - 1, buffer, number)
        if place == "carried":
            buffer, place = self.beginning(buffer), "start"
        there = neighbours(place, self.plan.sweeps[number], self.model)(k)
        domain = domain_at(place, self.plan.sweeps[number])
        return None if there == WORLD else self.left_by(domain, there, buffer, number)

    def beginning(self, buffer: str) -> str:
        """The buffer whose value a walk inward begins with."""
        begins = next(one.begins for one in self.plan.buffers if one.name == buffer)
        assert begins is not None
        return begins


def _written(sweep: Sweep, *places: str) -> frozenset[str]:
    """The buffers that the steps of a sweep write at certain places."""
    written = (split(name) for step in sweep.steps for name in step.writes)
    return frozenset(buffer for buffer, place in written if place in places)
