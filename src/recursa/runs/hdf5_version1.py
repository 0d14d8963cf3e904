"""Files of runs in version 1 of the format, read by the HDF5 library in a process with little to lose.

``python -m recursa.runs.hdf5_version1 FILE`` writes what is in the file to standard output, packed. Memory and time
are bounded. Only what such files consist of is read: arrays of floats and texts that are stored in the file itself, in
one piece; nothing that is linked, external, virtual, filtered or never written.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import h5py
import numpy as np

from recursa.errors import ResultFileError
from recursa.formats.robot_text import model_from_text
from recursa.processes import bound
from recursa.runs.packing import pack
from recursa.runs.plain_runs import ARRAYS, SAMPLES
from recursa.version import __version__

_MEMORY = 4 * 2**30  # bytes beside what the file itself takes
_COPIES = 8  # of the file in memory, at the most: in the library, as arrays, packed
_CPU = 50  # seconds


def main(path: str) -> int:
    """The exit code; 1 with a line on standard error for what is no such file."""
    bound(_MEMORY + _COPIES * os.path.getsize(path), _CPU)
    try:
        packed = pack(read_plain(path))
    except Exception as error:  # HDF5 has many ways to say that it cannot read
        own = isinstance(error, ResultFileError)
        print(str(error) if own else f"{type(error).__name__}: {' '.join(str(error).split())[:200]}", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(packed)
    return 0


def read_plain(path: str) -> dict[str, Any]:
    """What is in the file, as :mod:`recursa.runs.plain_runs` has it."""
    with h5py.File(path, "r") as file:
        return _plain(file, os.path.getsize(path))


def _plain(file: Any, size: int) -> dict[str, Any]:
    there = {name: _dataset(file, name, size) for name in ARRAYS}
    for name in (*SAMPLES, "events/t", "events/q", "events/v"):
        if there[name] is None:
            raise ResultFileError(f"its array '{name}' is missing")
    robot = _text(_dataset(file, "robot/description", size))
    digest = file["robot"].attrs["digest"]
    if file.attrs["recursa"] != __version__:
        digest = model_from_text(robot).digest  # what it is computed from may have changed since
    names = _dataset(file, "events/name", size)
    return {
        "robot": robot,
        "digest": str(digest),
        "status": str(file.attrs["status"]),
        "message": str(file.attrs["message"]),
        "momentum_kept": bool(file.attrs["momentum_kept"]),
        "options": {name: _python(value) for name, value in _group(file, "options").attrs.items()},
        "statistics": {name: _python(value) for name, value in _group(file, "statistics").attrs.items()},
        "events": [str(name) for name in names.asstr()[()]],
        "arrays": {name: one[()] for name, one in there.items() if one is not None},
    }


def _group(file: Any, name: str) -> Any:
    _require_own(file, name)
    return file[name]


def _dataset(file: Any, name: str, size: int) -> Any:
    """A dataset that is all in this file, as we wrote them; None where there is none."""
    if not _require_own(file, name):
        return None
    found = file[name]
    how = found.id.get_create_plist()
    if (
        how.get_layout() not in (h5py.h5d.CONTIGUOUS, h5py.h5d.COMPACT)
        or how.get_nfilters()
        or how.get_external_count()
    ):
        raise ResultFileError(f"its array '{name}' is external, virtual, linked or packed, as Recursa writes none")
    stored = found.nbytes if found.dtype.kind == "f" else found.id.get_storage_size()  # texts are stored by reference
    if max(found.nbytes, stored) > size or found.id.get_storage_size() != stored:
        raise ResultFileError(f"its array '{name}' says to have {found.nbytes} bytes, which are not there")
    return found


def _require_own(file: Any, name: str) -> bool:
    """Whether something of that name is there; that it is reached through links to other places is an error."""
    parts = name.split("/")
    for count in range(1, len(parts) + 1):
        link = file.get("/".join(parts[:count]), getlink=True)
        if link is None:
            return False
        if not isinstance(link, h5py.HardLink):
            raise ResultFileError(f"'{name}' in it is a link to another place, as Recursa writes none")
    return True


def _text(found: Any) -> str:
    return str(found.asstr()[()])


def _python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
