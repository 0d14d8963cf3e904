"""Runs as ``.npz`` files: arrays by name for NumPy, and all else as JSON; nothing in them is ever executed.

::

    about.json        format, version, status, message, robot, options, statistics, names of events, columns and units
    t q v a tau work lost energy
    memory            what a controller had learned at these times, if it learns: a column a number
    options/times     where samples were requested
    events/t /q /v
    base/q /v /a      how the base was moved, if it was, as of a free joint
    dense/...         the integrator's interpolants, if they were kept

``numpy.load`` reads the arrays. :func:`read_run` also reads files that strangers wrote: members must be uncompressed
and of a run, so time and memory are proportional to the size of the file, and no other file is opened.
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy

from recursa.errors import ResultFileError
from recursa.files import write_together
from recursa.model.columns import CONVENTIONS, named_columns
from recursa.model.model import Model
from recursa.runs.packing import MALFORMED
from recursa.runs.plain_runs import ARRAYS, as_plain, from_plain
from recursa.runs.run import Run
from recursa.sweeps.batching import Array
from recursa.version import __version__

if TYPE_CHECKING:
    from recursa.robot import Robot

FORMAT = "recursa run"
FORMAT_VERSION = 1
ABOUT = "about.json"
_NUMBERS = np.dtype("<f8")
_ENERGY = "energy"  # follows from the rest; for other readers
_SUFFIX = ".npy"
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the time that a ZIP file gives its members, so that equal runs are equal files


def write_run(run: Run, path: Path) -> None:
    """Write a file that is there as a whole or not at all; one that was there before survives what goes wrong."""
    content = as_plain(run)
    arrays = content.pop("arrays") | {_ENERGY: run.energy}
    head = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "conventions": CONVENTIONS,
        "columns": columns(run.robot.model),
    }
    memory = BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(ABOUT, _EARLIEST), json.dumps(head | content, ensure_ascii=False))
        for name, values in arrays.items():
            member = BytesIO()
            npy.write_array(member, np.ascontiguousarray(values, dtype=_NUMBERS), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(name + _SUFFIX, _EARLIEST), member.getvalue())
    write_together({path: memory.getvalue()})


def columns(model: Model) -> dict[str, list[tuple[str, str]]]:
    """Name and unit of every column of the arrays."""
    vectors = {name: named_columns(model, name) for name in ("q", "v", "a", "tau")}
    return {"t": [("t", "s")], **vectors, **{name: [(name, "J")] for name in ("work", "lost", _ENERGY)}}


def read_run(path: Path, robot_of: Callable[[Model], Robot]) -> Run:
    """The run in a file; ``robot_of`` makes the robot of its model.

    What cannot be a run is a :class:`~recursa.errors.ResultFileError` that says why.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(archive, path.stat().st_size)
            about = json.loads(archive.read(members.pop(ABOUT)))
            _require_version(path, about)
            arrays = {name: _array(name, archive.read(member)) for name, member in members.items()}
        arrays.pop(_ENERGY, None)
        return from_plain(about | {"arrays": arrays}, robot_of)
    except ResultFileError as error:
        raise error if str(path) in str(error) else _damaged(path, str(error)) from None
    except zipfile.BadZipFile as error:
        raise _damaged(path, f"it is cut off or changed ({error})") from None
    except (*MALFORMED, OSError, EOFError, NotImplementedError) as error:
        raise _damaged(path, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}") from None


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The members by the names of their arrays, if they are those of a run and together no larger than the file."""
    members = {info.filename.removesuffix(_SUFFIX): info for info in archive.infolist()}
    if ABOUT not in members:
        raise ResultFileError(f"it has no '{ABOUT}', so it is not a run that Recursa saved")
    for name, info in members.items():
        if name not in (ABOUT, _ENERGY, *ARRAYS):
            raise ResultFileError(f"its member '{name[:40]}' is none of a run")
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise ResultFileError(f"its member '{name[:40]}' is compressed or encrypted")
    total = sum(info.file_size for info in archive.infolist())
    if total > size:
        raise ResultFileError(f"its members have {total} bytes, more than the file")
    return members


def _require_version(path: Path, about: Any) -> None:
    if type(about) is not dict or about.get("format") != FORMAT:
        raise ResultFileError(f"its '{ABOUT}' is not that of a run")
    version, writer = about.get("version"), about.get("recursa")
    if version != FORMAT_VERSION:
        raise ResultFileError(
            f"file '{path}' was written by Recursa {str(writer)[:40]!r} in version {str(version)[:9]} of the format; "
            f"this is Recursa {__version__}, which reads version {FORMAT_VERSION}."
        )


def _array(name: str, data: bytes) -> Array:
    stream = BytesIO(data)
    header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(npy.read_magic(stream))
    if header is None:
        raise ResultFileError(f"its array '{name}' is of an unknown kind")
    shape, by_columns, dtype = header(stream)
    start = stream.tell()
    if dtype != _NUMBERS or by_columns or len(shape) > 3 or math.prod(shape) * dtype.itemsize != len(data) - start:
        raise ResultFileError(f"its array '{name}' has shape {shape} of {dtype}, which does not fit its bytes")
    return np.frombuffer(data, dtype, offset=start).reshape(shape).astype(float)


def _damaged(path: Path, why: str) -> ResultFileError:
    return ResultFileError(
        f"file '{path}' is damaged: {why}.\n  Was it copied in part, or changed by another program? Take it from where "
        "it was written, or simulate again."
    )
