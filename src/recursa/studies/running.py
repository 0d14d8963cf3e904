"""A study carried out: blocks that are not finished yet go to an engine, parts of reductions are joined as they
come."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from recursa.errors import StudyError
from recursa.studies.computing import Outputs, labels
from recursa.studies.engines import opened
from recursa.studies.outcome import Joined, StudyResult, axes_of
from recursa.studies.reductions import Part
from recursa.studies.stores import Column, Store
from recursa.studies.study import Pilot, Study
from recursa.version import __version__

Array = NDArray[Any]

_SECONDS = 1.0  # a block's worth of work
_BYTES = 64_000_000  # and of results
_MOST = 1 << 20  # rows


class Done(NamedTuple):
    """A finished block: its rows, what its reductions left, and its arrays where no store has them."""

    rows: range
    parts: dict[str, Part]
    arrays: Outputs | None


def run(
    study: Study,
    store: str | os.PathLike[str] | None,
    engine: str | None,
    address: str | None,
    block: int | None,
    resume: bool,
    workers: int | None,
    compress: Any,
    keep_bits: Any,
    progress: bool,
) -> StudyResult:
    """See :meth:`Study.run`."""
    if block is not None and (isinstance(block, bool) or not isinstance(block, int | np.integer) or block < 1):
        raise StudyError(f"block must be a positive whole number of rows, not {block!r}")
    tell = _tell if progress else _silent
    if store is None:
        if compress is not None or keep_bits is not None:
            raise StudyError('compress= and keep_bits= are for a store: say store="out.zarr", too')
        size = _block_size(study.pilot, study, block)
        whole = Whole(study, _columns(study))
        _carried_out(study, None, size, range(0), whole, engine, address, workers, progress, tell)
        return StudyResult(study, None, whole.results(_shapes(study)), whole.arrays, study.total)
    place = Store.at(store, compress, keep_bits)
    with place.held():
        place, size = _prepared(study, place, block, resume)
        whole = Whole(study, ())
        left = [number for number in range(-(-study.total // size)) if not whole.takes(place, number)]
        if left:
            study.pilot  # noqa: B018  compiled here first: the workers of this machine find the kernels on the disk
            _carried_out(study, place, size, left, whole, engine, address, workers, progress, tell)
    return StudyResult(study, Path(store), whole.results(_shapes(study)), None, study.total)


def _prepared(study: Study, place: Store, block: int | None, resume: bool) -> tuple[Store, int]:
    """The store and the rows of its blocks; it is made if it is new, and refused if it is another study's."""
    found = place.about()
    if found is None:
        size = _block_size(study.pilot, study, block)
        about = {
            "digest": study.digest,
            "study": study.as_data(),
            "total": study.total,
            "shapes": _shapes(study),
            "labels": labels(study.robot),
            "attributes": {"robot": study.robot.name, "compute": study.computation.name, "digest": study.digest},
        }
        place.make(about, _columns(study), study.total, size)
        return place, size
    if found["digest"] != study.digest:
        raise StudyError(
            f"store '{place.path}' holds another study ({_differences(found['study'], study.as_data())}). Take "
            "another name for this one"
        )
    if not resume:
        raise StudyError(f"store '{place.path}' has results already, and resume=False: remove it, or take another name")
    if found["recursa"] != __version__:
        raise StudyError(
            f"store '{place.path}' was begun with Recursa {found['recursa']}, and this is {__version__}: its rows "
            "would not be of one kind. Go on with that version, or begin a new store"
        )
    if block is not None and block != found["block"]:
        raise StudyError(
            f"store '{place.path}' was begun with blocks of {found['block']} rows, not {block}; leave block= away"
        )
    written = found.get("written", {})
    for name, given in (("compress", place.compress), ("keep_bits", place.keep_bits)):
        if given is not None and given != written.get(name):
            raise StudyError(
                f"store '{place.path}' was begun with {name}={written.get(name)!r}, not {given!r}; leave {name}= away"
            )
    return replace(place, **written), int(found["block"])


def _shapes(study: Study) -> dict[str, list[int]]:
    return {name: list(x.shape[1:]) for name, x in study.pilot.outputs.items()}


def _differences(one: Any, other: Any) -> str:
    names = [name for name in other if one.get(name) != other[name]]
    return "other " + ", ".join("robot" if name == "robot" else name for name in names) if names else "another format"


def _columns(study: Study) -> tuple[Column, ...]:
    """What is kept in full: outputs, and beside them what is varied."""
    found = [
        Column(name, x.shape[1:], x.dtype.str, axes_of(study, name, x.shape[1:]))
        for name, x in study.pilot.outputs.items()
        if study.in_full(name)
    ]
    if found:
        widths = {one.name: one.width for one in study.sampling.variables}
        for name, width in widths.items():
            shape = () if width == 1 else (width,)
            found.append(Column(study.column(name), shape, "<f8", axes_of(study, name, shape)))
    return tuple(found)


def _block_size(pilot: Pilot, study: Study, block: int | None) -> int:
    if block is not None:
        return min(int(block), study.total)
    by_time = _SECONDS / max(pilot.seconds, 1e-9)
    heaviest = max(1, sum(x[0].nbytes for x in pilot.outputs.values()))
    return int(np.clip(min(by_time, _BYTES / heaviest, _MOST), 1, study.total))


# ---- blocks ----------------------------------------------------------------------------------------------------------


def _carried_out(
    study: Study,
    place: Store | None,
    size: int,
    left: Any,
    whole: Whole,
    engine: str | None,
    address: str | None,
    workers: int | None,
    progress: bool,
    tell: Any,
) -> None:
    numbers = left if place is not None else range(-(-study.total // size))
    blocks: Iterator[range] = (range(k * size, min((k + 1) * size, study.total)) for k in numbers)
    before = 0 if place is None else study.total - sum(min(size, study.total - k * size) for k in left)
    bar = Progress(progress, study.total, before)

    def taken(done: Done) -> None:
        whole.add(done)
        bar.add(len(done.rows))

    try:
        with opened(engine, address, workers, tell) as act:
            titles = {one.name: study.column(one.name) for one in study.sampling.variables}
            act(partial(work, study, place, size, titles), blocks, taken)
    finally:
        bar.close()


def work(study: Study, place: Store | None, size: int, titles: Mapping[str, str], rows: range) -> Done:
    """One block, wherever this runs: computed, reduced, and written if there is a store; ``titles`` of what is
    varied."""
    outputs = study.compute(rows)
    parts = {
        f"{name}/{k}": way.part(array, rows.start)
        for name, array in outputs.items()
        for k, way in enumerate(study.reductions(name))
    }
    arrays = {name: array for name, array in outputs.items() if study.in_full(name)}
    if arrays:
        for name, values in study.values(rows).items():
            numbers = values[:, 0] if values.shape[1] == 1 else values
            arrays[titles[name]] = numbers
    if place is None:
        return Done(rows, parts, arrays)
    place.write(rows.start // size, rows.start, arrays, parts)
    return Done(rows, parts, None)


class Whole(Joined):
    """What has come so far: parts of reductions joined, arrays filled."""

    def __init__(self, study: Study, columns: tuple[Column, ...]) -> None:
        super().__init__(study)
        size = study.total * sum(math.prod(one.shape) * np.dtype(one.dtype).itemsize for one in columns)
        if size > _memory():
            raise StudyError(
                f"results of {study.estimate()} do not fit into the memory of {_memory() / 1e9:.3g} GB: say "
                'store="out.zarr", or keep reductions, keep={...}'
            )
        self.arrays = {one.name: np.empty((study.total, *one.shape), one.dtype) for one in columns}

    def takes(self, place: Store, number: int) -> bool:
        """The parts of a block that was finished before, if it was and its data are whole."""
        found = place.parts(number)
        if found is None:
            return False
        self.join(found)
        return True

    def add(self, done: Done) -> None:
        """One more block."""
        self.join(done.parts)
        for name, array in (done.arrays or {}).items():
            self.arrays[name][done.rows.start : done.rows.stop] = array


# ---- what is told ----------------------------------------------------------------------------------------------------


def _memory() -> float:
    """Bytes of this machine, where it tells."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def _tell(text: str) -> None:
    if sys.stderr.isatty():
        print(text, file=sys.stderr, flush=True)


def _silent(text: str) -> None:
    pass


class Progress:
    """A bar on the terminal: rows, rate, time that is left."""

    def __init__(self, wanted: bool, total: int, before: int) -> None:
        self._bar: Any = None
        if wanted and sys.stderr.isatty():
            from rich.console import Console  # slow to import
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("rows", total=total, completed=before, rate="")
            self._bar.start()
        self._begin, self._rows = time.perf_counter(), 0

    def add(self, rows: int) -> None:
        """So many rows more are done."""
        self._rows += rows
        if self._bar is not None:
            rate = self._rows / max(time.perf_counter() - self._begin, 1e-9)
            self._bar.update(self._task, advance=rows, rate=f"{rate:,.0f} rows/s")

    def close(self) -> None:
        """It is over."""
        if self._bar is not None:
            self._bar.stop()
