"""A plan of one robot, ready to be written as code: what all forms have, and what code reads beside its inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recursa.kernels.emit import Function, module
from recursa.kernels.native import machine_code
from recursa.kernels.writer import Shape
from recursa.spatial.counter import Counts

Array = NDArray[Any]
Workspace = tuple[Array, ...]


@dataclass(frozen=True)
class Tables:
    """What the code of one shape reads beside its inputs, and its scratch."""

    integers: NDArray[np.int32]
    numbers: Array
    constants: Array  # results that are constants, per lane
    first: int  # where these stand in the scratch
    size: int  # of the scratch

    def workspace(self) -> Workspace:
        """A new scratch for one thread, results that are constants already in it, and what all threads share."""
        scratch = aligned(self.size, self.numbers.dtype)
        scratch[self.first : self.first + len(self.constants)] = self.constants
        return scratch, self.integers, self.numbers


class Program:
    """A plan of one robot, in one of two forms: "straight", every body spelled out, or "loop"."""

    form: str

    @property
    def operations(self) -> Counts:
        """Operations of one evaluation."""
        raise NotImplementedError

    def function(self, shape: Shape, name: str) -> Function:
        """The code for so many lanes, as a function of any name, to be put into a module with others."""
        raise NotImplementedError

    def ir(self, shape: Shape) -> str:
        """LLVM IR of a function ``kernel`` for so many lanes."""
        return module(shape, [self.function(shape, "kernel")])

    def code(self, shape: Shape) -> bytes:
        """The object code of ``ir(shape)``."""
        return machine_code(self.ir(shape))

    def tables(self, shape: Shape) -> Tables | None:
        """What the code reads beside its inputs, if anything."""
        return None

    def workspace(self, shape: Shape) -> Workspace:
        """What calls hand over beside inputs and result; one per thread."""
        tables = self.tables(shape)
        return () if tables is None else tables.workspace()


def aligned(size: int, kind: Any) -> Array:
    """Uninitialised numbers that begin at a multiple of 64 bytes."""
    itemsize = np.dtype(kind).itemsize
    memory = np.empty(size + 64 // itemsize, kind)
    skip = -memory.ctypes.data % 64 // itemsize
    return memory[skip : skip + size]
