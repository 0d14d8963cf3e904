"""What is done for a block of a study, wherever that is: computed, reduced, and written if there is a store."""

from __future__ import annotations

from typing import NamedTuple

from recursa.studies.computing import Array, Outputs
from recursa.studies.reductions import Part
from recursa.studies.stores import Store
from recursa.studies.study import Study


class Done(NamedTuple):
    """A finished block: its rows, what its reductions left, and its arrays where no store has them."""

    rows: range
    parts: dict[str, Part]
    arrays: Outputs | None


class Rows(NamedTuple):
    """The rows of a block, and the values that are varied in them where another process has drawn them.

    Bits of draws can depend on the processor, so clusters get them from the client.
    """

    rows: range
    values: dict[str, Array] | None = None


class BlockWork:
    """The work of every block; ``size``: the rows of a block. It is sent as the study's text and what was said."""

    def __init__(self, study: Study, place: Store | None, size: int) -> None:
        self._study, self._place, self._size = study, place, size
        self._titles = {one.name: study.column(one.name) for one in study.sampling.variables}

    def warm(self) -> None:
        """A few rows, for which kernels are compiled or found."""
        self._study.pilot  # noqa: B018

    def __call__(self, block: Rows) -> Done:
        """Compute one block."""
        study, place, rows = self._study, self._place, block.rows
        values = study.values(rows) if block.values is None else block.values
        outputs = study.compute(rows, values)
        parts = {
            f"{name}/{k}": way.part(array, rows.start)
            for name, array in outputs.items()
            for k, way in enumerate(study.reductions(name))
        }
        arrays = {name: array for name, array in outputs.items() if study.in_full(name)}
        if arrays:
            for name, numbers in values.items():
                arrays[self._titles[name]] = numbers[:, 0] if numbers.shape[1] == 1 else numbers
        if place is None:
            return Done(rows, parts, arrays)
        place.write(rows.start // self._size, rows.start, arrays, parts)
        return Done(rows, parts, None)
