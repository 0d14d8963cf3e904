"""Constraints of a robot as tasks: loops that have to stay closed, relations of joints that have to hold.

They come before all goals, so that what is found obeys them even where a goal cannot be met. What is missing of an
equation ``phi(q) = 0`` is ``-phi``, and its wrenches are those of the constraint's own rows, carried to the world
origin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from recursa.constraints import closing
from recursa.model.equations import NO_LINK, Closing, Relating
from recursa.model.model import Model
from recursa.reach.tasks import Configuration, Numbers, Row, Task
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import IDENTITY_TRANSFORM


@dataclass(frozen=True)
class Closure(Task):
    """A loop; ``number`` is its own among the equations of the robot, and tells it from others."""

    number: int
    of: Closing = field(compare=False)

    @property
    def angles(self) -> tuple[bool, ...]:
        """Per row, whether it is an angle."""
        return tuple(unit == "r" for unit in self.of.units)

    @property
    def size(self) -> int:
        """Nothing says what is wanted; two weights."""
        return 2

    def rows(self, at: Configuration, numbers: Numbers) -> list[Row]:
        """How far it is from closed; the wrench on its second link, and the opposite on its first."""
        of = self.of
        first, second = (IDENTITY_TRANSFORM if link == NO_LINK else at.poses[link] for link in of.links)
        seen = closing.seen(of, first, second)
        place = first @ seen.first
        found = []
        for error, wrench in zip(closing.errors(of, seen.pose), closing.wrenches(of, seen.pose), strict=True):
            own = place.force(wrench)
            ends = zip(of.links, (-own, own), strict=True)
            found.append(Row(-error, {link: one for link, one in ends if link != NO_LINK}))
        return found


@dataclass(frozen=True)
class Relation(Task):
    """A sum of powers of joint positions that is zero."""

    number: int
    of: Relating = field(compare=False)

    @property
    def angles(self) -> tuple[bool, ...]:
        """Of one row."""
        return (self.of.units == "r",)

    @property
    def size(self) -> int:
        """Two weights."""
        return 2

    @property
    def joints(self) -> tuple[int, ...]:
        """Whose positions it is about."""
        return tuple(joint for joint, _ in self.of.terms)

    def rows(self, at: Configuration, numbers: Numbers) -> list[Row]:
        """``sum of c q^k + offset``, and how it changes with each joint."""
        error: Scalar = self.of.offset
        slopes: dict[int, Scalar] = {}
        for joint, powers in self.of.terms:
            q, value, slope = at.positions[joint], 0.0, 0.0
            for c in (*reversed(powers), 0.0):  # Horner's rule: the first power has the first number, 1 has none
                slope, value = slope * q + value, value * q + c
            error = error + value
            slopes[joint] = slopes.get(joint, 0.0) + slope
        return [Row(-error, {}, slopes)]


def closures(model: Model, level: int) -> Iterator[Task]:
    """What has to hold of positions; contacts that are not anchored and prescribed motions say nothing of them."""
    for number, one in enumerate(model.equations):
        if isinstance(one, Relating):
            yield Relation("relation", (), level, number, one)
        elif isinstance(one, Closing) and one.anchored:
            yield Closure("closure", tuple(link for link in one.links if link != NO_LINK), level, number, one)
