"""A graph with its outputs and inputs named: what is written out in a programming language, every body spelled out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from recursa.kernels.graph import Graph
from recursa.spatial.counting import Counts

Output = int | float  # a node, or a constant

MAX_OPERATIONS = 60_000  # a C compiler needs minutes for longer functions
MAX_NODES = 4 * MAX_OPERATIONS  # signs, constants and what turns out not to be needed included


@dataclass(frozen=True)
class Spelled:
    """A function of arrays that fills an array ``out``; inputs in the order of ``sizes``."""

    name: str
    graph: Graph
    outputs: Sequence[Output]
    sizes: Mapping[str, int]

    @property
    def operations(self) -> Counts:
        """Operations of one call."""
        return self.graph.counts(self.nodes)

    @property
    def nodes(self) -> list[int]:
        """The outputs that are not constants."""
        return [x for x in self.outputs if isinstance(x, int)]

    def definition(self) -> str:
        """The function's text in the language."""
        raise NotImplementedError
