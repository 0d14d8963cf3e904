"""Spaces and shapes: what an operator takes and what it gives."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from recursa.model.model import Model


class Space(NamedTuple):
    """What a vector lives in: "joint" (nv), "link" (6 nbodies), "tip" (6), "constraint" (ncon), "one"; "" fits any of
    the same size.

    ``links`` are those in whose axes, and about whose origins, the numbers of a tip space are; none of them fits any.
    """

    name: str
    size: int
    links: tuple[str, ...] = ()

    def fits(self, other: Space) -> bool:
        """Whether vectors of one may stand where those of the other are expected."""
        return self.as_large_as(other) and (self.links == other.links or () in (self.links, other.links))

    def as_large_as(self, other: Space) -> bool:
        """Whether they are of the same kind and size, in whichever axes."""
        return self.size == other.size and (self.name == other.name or "" in (self.name, other.name))

    def axes(self) -> str:
        """In words, of a tip space."""
        return f"axes of {', '.join(self.links)}"

    def __repr__(self) -> str:
        return f"{self.name} {self.size}".strip()


ONE = Space("one", 1)


def space_of(model: Model, name: str) -> Space:
    """The space of that name of a robot."""
    sizes = {"joint": model.nv, "link": 6 * model.nbodies, "tip": 6, "constraint": model.ncon, "one": 1}
    return Space(name, sizes[name])


OF_ROBOT = ("tip", "constraint", "one")
"""Spaces of what a robot has once: numbers at pick-offs, of the equations of its constraints, a single number."""

FreeSpace = Literal["joint", "link", "tip", "constraint"]
FREE: tuple[str, ...] = get_args(FreeSpace)
"""Spaces that free vectors may be in."""


def alike(space: Space) -> int:
    """How many numbers in a row have a unit in common: wrenches and motions are three angular and three linear ones."""
    return 3 if space.name in ("tip", "link") else 1


class Shape(NamedTuple):
    """Rows and columns of an operator; a vector has one column."""

    rows: Space
    columns: Space

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns}" if self.columns != ONE else f"{self.rows}"
