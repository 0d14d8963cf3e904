"""Float64 arithmetic in every lane, whatever the kernel's number type: functions inside kernels are made of it."""

from __future__ import annotations

from collections.abc import Sequence

from recursa.kernels.writer import Shape, Writer


class Doubles:
    """Writes operations on float64 numbers, one for every lane.

    Lanes are states or, where the kernel has one state at a time, as many numbers of it that are done ``together``.
    """

    def __init__(self, writer: Writer, together: int = 1) -> None:
        self.writer = writer
        self.together = together
        self.width = together * writer.shape.width
        self.shape = Shape(self.width)
        self.vector, self.integer, self.mask = map(self.shape.lanes, ("double", "i64", "i1"))

    def taken(self, numbers: Sequence[str]) -> str:
        """As many numbers as are done together, as the kernel has them, in one vector."""
        kind, first = self.writer.shape, numbers[0]
        if self.together == 1:
            return self.writer.put(f"fpext {kind.vector} {first} to {self.vector}") if kind.single else first
        return self.writer.gathered(numbers, self.shape)

    def given(self, x: str) -> list[str]:
        """The way back."""
        kind = self.writer.shape
        if self.together == 1:
            return [self.writer.put(f"fptrunc {self.vector} {x} to {kind.vector}") if kind.single else x]
        return [self.writer.lane(x, lane, self.shape) for lane in range(self.together)]

    def number(self, value: float) -> str:
        """A constant in every lane."""
        return self.shape.constant(value)

    def whole(self, value: int) -> str:
        """An integer in every lane."""
        return str(value) if self.width == 1 else f"splat (i64 {value})"

    def call(self, name: str, *operands: str) -> str:
        """An intrinsic."""
        return self.writer.call(name, *operands, shape=self.shape)

    def binary(self, op: str, a: str, b: str) -> str:
        """An operation of two numbers."""
        return self.writer.binary(op, a, b, shape=self.shape)

    def integers(self, op: str, a: str, b: str) -> str:
        """An operation of two integers."""
        return self.writer.put(f"{op} {self.integer} {a}, {b}")

    def cast(self, x: str, source: str, target: str) -> str:
        """The same bits as another type."""
        return self.writer.put(f"bitcast {source} {x} to {target}")

    def where(self, mask: str, if_true: str, if_false: str) -> str:
        """One or the other, lane by lane."""
        return self.writer.put(f"select {self.mask} {mask}, {self.vector} {if_true}, {self.vector} {if_false}")

    def polynomial(self, coefficients: Sequence[float], z: str) -> str:
        """From lowest degree, by Horner's rule."""
        total = self.number(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = self.call("fma", total, z, self.number(c))
        return total
