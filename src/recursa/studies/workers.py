"""What processes of a cluster do for a study beside computing blocks: say who they are, make the kernels ready."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import NamedTuple

from recursa.errors import StudyError
from recursa.kernels.records import package_mark
from recursa.studies.computing import Array, Outputs
from recursa.studies.reductions import Part
from recursa.studies.stores import Store
from recursa.studies.study import Study

# ---- -----------------------------------------------------------------------------------------------------------------
# What is done for a block of a study, wherever that is: computed, reduced, and written if there is a store.


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


AHEAD = 2  # blocks a worker, under way: one that is computed, one that waits

Who = tuple[str, tuple[str, str, str]]


def introduced() -> Who:
    """The machine that this process runs on, and the package that it has."""
    return platform.node(), package_mark()


def warmed(work: BlockWork) -> None:
    """The kernels of this machine are ready."""
    work.warm()


def require_same_package(found: Mapping[str, Who], what: str) -> None:
    """Bits are only equal where the code is; ``found`` by the names of workers, ``what`` they are workers of."""
    _, ours = introduced()
    for worker, (_, theirs) in found.items():
        differ = [
            f"{name} {one or 'unknown'}, here {other or 'unknown'}"
            for name, one, other in zip(("Recursa", "its sources", "NumPy"), theirs, ours, strict=True)
            if one != other and one and other
        ]
        if differ:
            raise StudyError(
                f"{what} worker '{worker}' has {'; '.join(differ)}. Results would not be equal to the bit: install "
                "the same versions on all machines"
            )


def elsewhere(found: Mapping[str, Who]) -> list[str]:
    """One worker of every machine but this one, whose kernels were made before anything was sent."""
    one_of = {machine: worker for worker, (machine, _) in found.items()}
    return [worker for machine, worker in one_of.items() if machine != introduced()[0]]
