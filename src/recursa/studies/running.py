"""A study carried out: blocks that are not finished yet go to an engine, parts of reductions are joined as they
come."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recursa.errors import StudyError
from recursa.processes import total_memory
from recursa.studies.computing import labels
from recursa.studies.engines import opened
from recursa.studies.outcome import Joined, StudyResult, axes_of
from recursa.studies.stores import Column, Store
from recursa.studies.study import Pilot, Study
from recursa.studies.study_progress import Progress, told, unheard
from recursa.studies.workers import BlockWork, Done, Rows
from recursa.version import __version__

Array = NDArray[Any]

_SECONDS = 1.0  # a block's worth of work
_BYTES = 64_000_000  # and of results
_SENT = 8_000_000  # and of draws, which clusters are sent with the block
_MOST = 1 << 20  # rows


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
    if store is None:
        if compress is not None or keep_bits is not None:
            raise StudyError('compress= and keep_bits= are for a store: say store="out.zarr", too')
        size = _block_size(study.pilot, study, block)
        whole = Whole(study, _columns(study))
        _carried_out(study, None, size, range(-(-study.total // size)), whole, engine, address, workers, progress)
        return StudyResult(study, None, whole.results(_shapes(study)), whole.arrays, study.total)
    place = Store.at(store, compress, keep_bits)
    if place.about() is None:
        study.pilot  # noqa: B018  a study that cannot be computed leaves no folder
    with place.held():
        place, size = _prepared(study, place, block, resume)
        whole = Whole(study, ())
        left = [number for number in range(-(-study.total // size)) if not whole.takes(place, number)]
        if left:
            study.pilot  # noqa: B018  compiled here first: the workers of this machine find the kernels on the disk
            _carried_out(study, place, size, left, whole, engine, address, workers, progress)
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
    place.require_arrays(found)
    written = found["written"]
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
    heaviest = max(1, sum(x[0].nbytes for x in pilot.outputs.values()), study.computation.row_bytes)
    drawn = max(1, 8 * sum(one.width for one in study.sampling.variables))
    return int(np.clip(min(by_time, _BYTES / heaviest, _SENT / drawn, _MOST), 1, study.total))


# ---- blocks ----------------------------------------------------------------------------------------------------------


def _carried_out(
    study: Study,
    place: Store | None,
    size: int,
    numbers: Sequence[int],
    whole: Whole,
    engine: str | None,
    address: str | None,
    workers: int | None,
    progress: bool,
) -> None:
    rows = [range(k * size, min((k + 1) * size, study.total)) for k in numbers]
    before = study.total - sum(len(one) for one in rows)
    with opened(engine, address, workers, told if progress else unheard) as act:
        bar = Progress(study.total, before, act.workers) if progress else None

        def taken(done: Done) -> None:
            whole.add(done)
            if bar is not None:
                bar.add(len(done.rows))

        with bar or nullcontext():
            blocks = (Rows(one, study.values(one) if act.remote else None) for one in rows)
            act.run(BlockWork(study, place, size), blocks, taken)


class Whole(Joined):
    """What has come so far: parts of reductions joined, arrays filled."""

    def __init__(self, study: Study, columns: tuple[Column, ...]) -> None:
        super().__init__(study)
        size = study.total * sum(math.prod(one.shape) * np.dtype(one.dtype).itemsize for one in columns)
        if size > total_memory():
            raise StudyError(
                f"results of {study.estimate()} do not fit into the memory of {total_memory() / 1e9:.3g} GB: say "
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
