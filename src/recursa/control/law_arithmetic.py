"""What control laws are written in, so that one text of a law runs on arrays and becomes part of a native loop.

A law asks for quantities of its robot, applies functions of scalars to arrays, and multiplies matrices with vectors.
:class:`OnArrays` does that at once, on any batch; :class:`OnSizes` only finds out which native functions it takes, and
:class:`OnLoop` writes calls of them into the loop over time steps of a rollout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, Protocol, TypeVar

import numpy as np

from recursa.errors import ShapeError, StateError, UntraceableError
from recursa.evaluation.resolved_quantity import NO_OPTIONS, Options, Question
from recursa.kernels.kernel import FunctionProgram
from recursa.kernels.programs import Program
from recursa.kernels.rollout_emit import Loop, Slot
from recursa.methods.constrained_motion import motor_torques
from recursa.quantities import Composed, Quantity
from recursa.robot import Robot
from recursa.spatial.scalars import Scalar
from recursa.sweeps.batching import Array

X = TypeVar("X")  # an array of some states: numbers, or a place in memory
Function = Callable[..., Iterable[Scalar]]  # of lists of scalars, one per array


class Arithmetic(Protocol[X]):
    """What a law may do. Arrays have one axis: matrices are lists of rows, one after the other."""

    robot: Robot

    def ask(self, quantity: Quantity, options: Options = NO_OPTIONS, **arrays: X) -> X:
        """A quantity of the law's robot."""

    def apply(self, function: Function, size: int, *arrays: X) -> X:
        """``size`` numbers made of some arrays by a function of lists of scalars."""

    def product(self, matrix: X, vector: X, size: int, *, transposed: bool = False) -> X:
        """``size`` numbers: a matrix, or its transpose, times a vector."""

    def part(self, array: X, start: int, size: int) -> X:
        """Some of an array's numbers."""

    def motors(self, actuated: tuple[str, ...], q: X, forces: X) -> X:
        """Torques of motors that do what forces at all joints would do."""


class OnArrays:
    """On numbers: arrays (..., n), whose batch axes broadcast."""

    def __init__(self, robot: Robot, threads: int | None = None) -> None:
        self.robot, self.threads = robot, threads

    def ask(self, quantity: Quantity, options: Options = NO_OPTIONS, **arrays: Array) -> Array:
        """By the robot's evaluator, compiled where that is possible."""
        found = self.robot.evaluator.evaluate(quantity, arrays, options, None, self.threads)
        axes = np.broadcast_shapes(*(x.shape[:-1] for x in arrays.values()))
        return found.reshape(*axes, prod(found.shape[len(axes) :]))

    def apply(self, function: Function, size: int, *arrays: Array) -> Array:
        """On floats for one state, on columns of a batch."""
        if all(x.ndim == 1 for x in arrays):
            return np.array([*function(*(x.tolist() for x in arrays))], dtype=np.result_type(*arrays))
        shape = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
        result = np.empty((*shape, size), np.result_type(*arrays))
        for k, found in enumerate(function(*(list(np.moveaxis(x, -1, 0)) for x in arrays))):
            result[..., k] = found
        return result

    def product(self, matrix: Array, vector: Array, size: int, *, transposed: bool = False) -> Array:
        """By NumPy."""
        inner = vector.shape[-1]
        rows = matrix.reshape(*matrix.shape[:-1], *((inner, size) if transposed else (size, inner)))
        turned = rows.swapaxes(-1, -2) if transposed else rows
        return (turned @ vector[..., None])[..., 0]

    def part(self, array: Array, start: int, size: int) -> Array:
        """A view."""
        return array[..., start : start + size]

    def motors(self, actuated: tuple[str, ...], q: Array, forces: Array) -> Array:
        """With a StateError where the motors cannot."""
        return motor_torques(self.robot.evaluator, q, forces, actuated)


class OnSizes:
    """On sizes alone: collects the native functions that a law calls, in the order of its calls.

    UntraceableError where there is none, as for quantities that are made of others.
    """

    def __init__(self, robot: Robot, form: str | None) -> None:
        self.robot, self.form = robot, form
        self.programs: list[Program] = []

    def ask(self, quantity: Quantity, options: Options = NO_OPTIONS, **arrays: int) -> int:
        """The function of a quantity, as kernels have it."""
        asked = self.robot.evaluator.required(quantity, arrays, options)
        if isinstance(asked, Composed):
            raise UntraceableError(f"{quantity.name} of this robot is made of other quantities")
        self.programs.append(asked.program(self.form))
        return prod(asked.recipe.shape)

    def apply(self, function: Function, size: int, *arrays: int) -> int:
        """The function spelled out."""
        try:
            made = FunctionProgram(function, arrays)
        except TypeError as error:
            raise StateError(
                f"a function of the law cannot be followed into native code: {error}.\n  It gets lists of numbers, may "
                "add, multiply and divide them, and takes sin, cos, sqrt, atan2 and where from recursa.spatial.scalars"
            ) from error
        if len(made.outputs) != size:
            raise ShapeError(f"a function of the law gives {len(made.outputs)} numbers, and {size} were announced")
        self.programs.append(made)
        return size

    def product(self, matrix: int, vector: int, size: int, *, transposed: bool = False) -> int:
        """No function: a loop of its own."""
        return size

    def part(self, array: int, start: int, size: int) -> int:
        """So many."""
        return size

    def motors(self, actuated: tuple[str, ...], q: int, forces: int) -> int:
        """Native code cannot say where motors are too few."""
        raise UntraceableError("the torques of motors are judged state by state")


class OnLoop:
    """Into a native loop, with the functions that :class:`OnSizes` has found."""

    def __init__(self, robot: Robot, loop: Loop, programs: Sequence[Program]) -> None:
        self.robot, self.loop, self.programs = robot, loop, programs
        self._next = 0

    def ask(self, quantity: Quantity, options: Options = NO_OPTIONS, **arrays: Slot) -> Slot:
        """A call; inputs in the order of the quantity."""
        asked: Any = self.robot.evaluator.resolve(Question.of(quantity, arrays, options))
        given = [arrays[name] for name in quantity.arrays if name in arrays]
        return self._called(given, prod(asked.recipe.shape))

    def apply(self, function: Function, size: int, *arrays: Slot) -> Slot:
        """A call."""
        return self._called(list(arrays), size)

    def _called(self, inputs: list[Slot], size: int) -> Slot:
        number, self._next = self._next, self._next + 1
        return self.loop.call(f"law{number}", self.programs[number], inputs, self.loop.slot(size))

    def product(self, matrix: Slot, vector: Slot, size: int, *, transposed: bool = False) -> Slot:
        """A loop over rows."""
        return self.loop.product(matrix, vector, size, transposed=transposed)

    def part(self, array: Slot, start: int, size: int) -> Slot:
        """A place within another."""
        return array.part(start, size)

    def motors(self, actuated: tuple[str, ...], q: Slot, forces: Slot) -> Slot:
        """:class:`OnSizes` has refused before."""
        raise UntraceableError("the torques of motors are judged state by state")


# ---- functions that many laws apply ----------------------------------------------------------------------------------


def added(*arrays: Sequence[Scalar]) -> list[Scalar]:
    """The sum of arrays."""
    first, *others = arrays
    total = list(first)
    for other in others:
        total = [a + b for a, b in zip(total, other, strict=True)]
    return total


def parts_of(on: Arithmetic[X], array: X, *sizes: int) -> list[X]:
    """An array cut into parts of these sizes."""
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    return [on.part(array, start, size) for start, size in zip(starts, sizes, strict=True)]
