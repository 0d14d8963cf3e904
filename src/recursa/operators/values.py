"""What lowering computes with: inputs and values by name, and the plan with the place of its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from recursa.operators.expression import Expression, Vector, free_vectors, known_shape
from recursa.operators.shapes import OF_ROBOT, ONE, Space
from recursa.operators.steps import entries_of
from recursa.spatial.inertia import Force, Motion
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Plan, Values
from recursa.sweeps.input_kinds import has_own_name

OPERAND = "x"
"""The name of the vector that a matrix is applied to, unless one of its own is called so."""


@dataclass(frozen=True)
class Lowered:
    """A plan, and where its result is: ``inputs`` are the free vectors in order of first appearance."""

    plan: Plan
    inputs: tuple[Vector, ...]
    constants: Mapping[str, tuple[float, ...]]  # vectors of numbers in the expression, by name of input
    space: Space
    buffer: str

    def entries(self, values: Values) -> Iterator[Scalar]:
        """The result as numbers, base first, from the values of a run."""
        if self.space == ONE:
            yield values.robot[self.buffer]
        elif self.space.name in OF_ROBOT:
            yield from entries_of(values.robot[self.buffer])
        else:
            for part in values.lists.get(self.buffer, []):
                yield from (part.components() if isinstance(part, Motion | Force) else part)


def input_name(vector: Vector) -> str:
    """What a free vector is called among the inputs of a plan."""
    return {"link": "body"}.get(vector.space.name, vector.space.name) + ":" + vector.name


def operand_of(expression: Expression) -> Vector | None:
    """The vector that a matrix is applied to; None for what is a vector or a number already."""
    columns = known_shape(expression).columns
    if columns == ONE:
        return None
    taken = {vector.name for vector in free_vectors(expression)}
    further = (f"{OPERAND}{number}" for number in range(1, len(taken) + 1))
    return Vector(next(name for name in (OPERAND, *further) if name not in taken), columns)


@dataclass(frozen=True)
class Value:
    """Something computed: its buffer (or input), its space, the part of the expression it is."""

    name: str
    space: Space
    meaning: Expression
    gathered: str | None = None  # where E_phi of it is, if its own step found that too
    carried: str | None = None  # where E_phi* of it is, likewise

    @property
    def of_robot(self) -> bool:
        """Whether the robot has it once: the numbers at pick-offs, of constraints, or one number."""
        return self.space.name in OF_ROBOT

    @property
    def read(self) -> str:
        """The name by which steps read it."""
        return f"{self.name}@robot" if self.of_robot and not has_own_name(self.name) else self.name
