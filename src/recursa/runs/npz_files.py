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
import os
import re
import struct
import zipfile
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.lib import format as npy

from recursa.errors import RecursaError, ResultFileError
from recursa.files import known_suffix, named_file, write_together
from recursa.model.columns import CONVENTIONS, named_columns
from recursa.model.model import Model
from recursa.runs import npz_files
from recursa.runs.plain_runs import ARRAYS, as_plain, from_plain
from recursa.runs.run import Run
from recursa.sweeps.batching import Array
from recursa.trajectories import csv_files
from recursa.version import __version__

if TYPE_CHECKING:
    from recursa.robot import Robot


# ---- nested numbers, texts and arrays as bytes and back, every bit the same: what checkpoints are made of ------------
# JSON for the structure, then the arrays' own bytes. Nothing in such bytes is ever run, as it would be with pickle.


_LENGTH = struct.Struct("<Q")
_KINDS = "biufc"  # of numbers: what an array may hold
_TYPE = re.compile(rf"[<>|=]?[{_KINDS}]\d{{1,2}}")  # as NumPy writes them; it would read much more than these
MALFORMED = (
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, MemoryError, RecursaError,
)  # fmt: skip  # what data can lead to that were not packed by us, when they are unpacked and used


def pack(value: Any) -> bytes:
    """Dicts with text keys, lists, tuples, None, bool, int, float, str, NumPy numbers and arrays.

    Arrays keep their order in memory, since that of sums in linear algebra depends on it.

    >>> unpack(pack({"t": 0.1, "y": np.arange(3.0), "LU": (None, [1])}))
    {'t': 0.1, 'y': array([0., 1., 2.]), 'LU': (None, [1])}
    """
    arrays: list[bytes] = []
    text = json.dumps(_plain(value, arrays)).encode()
    return b"".join([_LENGTH.pack(len(text)), text, *arrays])


def unpack(data: bytes) -> Any:
    """What was packed; arrays are copies. Bytes that were not packed lead to one of ``MALFORMED``."""
    if len(data) < _LENGTH.size:
        raise ValueError("cut off")
    (length,) = _LENGTH.unpack_from(data)
    start = _LENGTH.size
    if length > len(data) - start:
        raise ValueError("cut off")
    return _rebuilt(json.loads(data[start : start + length]), memoryview(data), [start + length])


def _plain(value: Any, arrays: list[bytes]) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        if array.dtype.kind not in _KINDS:
            raise TypeError(f"cannot pack an array of {array.dtype}")
        order: Literal["C", "F"] = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        arrays.append(array.tobytes(order))
        kind = "array" if isinstance(value, np.ndarray) else "number"
        return {kind: [array.dtype.str, list(array.shape), order]}
    if isinstance(value, Mapping):
        return {"dict": {key: _plain(item, arrays) for key, item in value.items()}}
    if isinstance(value, list | tuple):
        return {type(value).__name__ if type(value) is list else "tuple": [_plain(item, arrays) for item in value]}
    raise TypeError(f"cannot pack {type(value).__name__}")


def _rebuilt(plain: Any, data: memoryview, at: list[int]) -> Any:
    """``at`` is where the next array starts; arrays come in the order of the text."""
    if not isinstance(plain, dict):
        return plain
    ((kind, content),) = plain.items()
    if kind == "dict":
        return {key: _rebuilt(item, data, at) for key, item in content.items()}
    if kind in ("list", "tuple"):
        items = [_rebuilt(item, data, at) for item in content]
        return items if kind == "list" else tuple(items)
    name, shape, order = content
    known = kind in ("array", "number") and _TYPE.fullmatch(str(name)) is not None
    if not known or any(type(n) is not int or n < 0 for n in shape):
        raise ValueError(f"no array: {str(content)[:80]}")
    dtype, count = np.dtype(str(name)), math.prod(shape)
    flat = np.frombuffer(data, dtype, count, at[0]) if count else np.empty(0, dtype)
    at[0] += count * dtype.itemsize
    array = flat.reshape(shape, order=order).copy(order=order)
    return array if kind == "array" else array[()]


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


# ---- runs to files, by the ending of the name ------------------------------------------------------------------------


HDF5 = (".h5", ".hdf5")
SUFFIXES = (".npz", ".csv")


def save(run: Run, path: str | os.PathLike[str]) -> Path:
    """Write a run; see :meth:`recursa.Run.save`."""
    place = run_file(path)
    if place.suffix.lower() == ".npz":
        npz_files.write_run(run, place)
    else:
        names = csv_files.names_of(run.robot)[0]
        csv_files.write(place, run.robot, names, run.t, (run.q, run.v, run.a), run.tau, run.options.losses)
    return place


def run_file(path: str | os.PathLike[str]) -> Path:
    """A path to which a run can be saved."""
    place = named_file(path)
    if place.suffix.lower() in HDF5:
        raise RecursaError(
            f"'{place}': runs are saved as .npz (everything) or .csv (a table); run.to_hdf5('{place}') exports HDF5"
        )
    return known_suffix(place, SUFFIXES)
