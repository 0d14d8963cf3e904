"""LLVM IR line by line: lanes and number type of a kernel, names, operations in every lane."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """Lanes and number type of a kernel: ``width`` states at once, float64 or float32.

    ``turned`` inputs and results are not rows but lie as lanes already: W numbers for every entry, one per state.
    """

    width: int
    single: bool = False
    turned: bool = False

    @property
    def scalar(self) -> str:
        """LLVM's name of the number type."""
        return "float" if self.single else "double"

    @property
    def wide(self) -> bool:
        """Whether rows of several states are turned into lanes and back."""
        return self.width > 1 and not self.turned

    @property
    def vector(self) -> str:
        """LLVM's name of the lane type."""
        return self.lanes(self.scalar)

    def lanes(self, scalar: str) -> str:
        """A type for every lane."""
        return scalar if self.width == 1 else f"<{self.width} x {scalar}>"

    def constant(self, value: float) -> str:
        """A constant in every lane, exact in the number type."""
        if self.single:
            value = struct.unpack("f", struct.pack("f", value))[0]
        bits = f"0x{struct.unpack('Q', struct.pack('d', value))[0]:016X}"
        return bits if self.width == 1 else f"splat ({self.scalar} {bits})"

    @property
    def suffix(self) -> str:
        """How intrinsics of this type end."""
        base = "f32" if self.single else "f64"
        return base if self.width == 1 else f"v{self.width}{base}"


class Writer:
    """Lines of IR with fresh names; ``label`` is the basic block that is being written."""

    def __init__(self, shape: Shape, label: str) -> None:
        self.shape = shape
        self.label = label
        self.lines: list[str] = []
        self.intrinsics: set[str] = set()
        self._count = 0

    def put(self, text: str) -> str:
        """Add ``%name = text`` and return the name."""
        self._count += 1
        name = f"%t{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def line(self, text: str) -> None:
        """Add a line as it is."""
        self.lines.append(text)

    def start(self, label: str) -> None:
        """Start a basic block."""
        self.line(f"{label}:")
        self.label = label

    def binary(self, op: str, a: str, b: str, *, shape: Shape | None = None) -> str:
        """A floating-point operation of two operands, in other lanes where a ``shape`` says so."""
        return self.put(f"{op} {(shape or self.shape).vector} {a}, {b}")

    def call(self, name: str, *operands: str, shape: Shape | None = None) -> str:
        """A floating-point intrinsic."""
        lanes = shape or self.shape
        vector, full = lanes.vector, f"@llvm.{name}.{lanes.suffix}"
        self.intrinsics.add(f"declare {vector} {full}({', '.join([vector] * len(operands))})")
        return self.put(f"call {vector} {full}({', '.join(f'{vector} {x}' for x in operands)})")

    def gathered(self, entries: Sequence[str], shape: Shape | None = None) -> str:
        """A vector of scalars, one for every lane."""
        lanes = shape or self.shape
        if lanes.width == 1:
            return entries[0]
        vector = "poison"
        for lane, entry in enumerate(entries):
            vector = self.put(f"insertelement {lanes.vector} {vector}, {lanes.scalar} {entry}, i32 {lane}")
        return vector

    def lane(self, vector: str, lane: int, shape: Shape | None = None) -> str:
        """The scalar in one lane."""
        lanes = shape or self.shape
        return vector if lanes.width == 1 else self.put(f"extractelement {lanes.vector} {vector}, i32 {lane}")

    def shuffle(self, a: str, b: str, lanes: Iterable[int]) -> str:
        """Lanes picked from two vectors."""
        mask = ", ".join(f"i32 {lane}" for lane in lanes)
        vector = self.shape.vector
        return self.put(f"shufflevector {vector} {a}, {vector} {b}, <{self.shape.width} x i32> <{mask}>")


def transposed(writer: Writer, rows: Sequence[str]) -> list[str]:
    """W vectors of W lanes, turned: a butterfly of shuffles."""
    current, width = list(rows), writer.shape.width
    step = 1
    while step < width:
        turned = list(current)
        for i in range(width):
            if i & step:
                continue
            a, b = current[i], current[i + step]
            low = [lane if not lane & step else width + lane - step for lane in range(width)]
            high = [lane + step if not lane & step else width + lane for lane in range(width)]
            turned[i], turned[i + step] = writer.shuffle(a, b, low), writer.shuffle(a, b, high)
        current = turned
        step *= 2
    return current
