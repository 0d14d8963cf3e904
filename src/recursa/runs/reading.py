"""Runs from ``.h5`` files that anyone may have written.

Our own files are read by their index: JSON, and arrays by their places in the file, without the HDF5 library. Time and
memory go with the size of the file, and no other file is opened. Files of version 1 have no index; those the library
has to read, which is done in a process of its own (:mod:`recursa.runs.hdf5_version1`).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import subprocess
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.errors import ResultFileError
from recursa.model.model import Model
from recursa.processes import own_module
from recursa.runs.hdf5 import FORMAT_VERSION, NUMBERS, USER_BLOCK
from recursa.runs.packing import MALFORMED, unpack
from recursa.runs.plain_runs import from_plain
from recursa.runs.run import Run
from recursa.sweeps.batching import Array
from recursa.version import __version__

if TYPE_CHECKING:
    from recursa.robot import Robot

_FIRST_LINE = re.compile(
    rb"recursa run (\d{1,9}), Recursa (\S{1,40}), sha256 ([0-9a-f]{64}), (\d{1,18}) bytes follow\n"
    rb"(?:index of (\d{1,18}) bytes at the end\n)?"
)
_SECONDS = 60.0  # for the library to read a file of version 1


def read_run(path: Path, robot_of: Callable[[Model], Robot]) -> Run:
    """The run in a file, ``robot_of`` its model; what cannot be one is a :class:`ResultFileError` that says why."""
    with path.open("rb") as file:
        version, index = _require_whole(path, file)
        try:
            data = _by_index(file, index) if version == FORMAT_VERSION else _by_library(path)
            return from_plain(data, robot_of)
        except ResultFileError as error:
            raise _damaged(path, str(error)) from None
        except MALFORMED as error:
            raise _damaged(path, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}") from None


def _require_whole(path: Path, file: BufferedReader) -> tuple[int, int]:
    """The version, one that is known, and the length of the index; every byte is as it was written."""
    start = file.read(USER_BLOCK)
    said = _FIRST_LINE.match(start)
    if len(start) < USER_BLOCK:
        raise _damaged(path, f"it is cut off after {len(start)} bytes")
    if said is None:
        raise _damaged(path, "its first line is not as it was written")
    number, writer, checksum, size, index = (None if group is None else group.decode() for group in said.groups())
    version = int(number or 0)
    if version not in (1, FORMAT_VERSION):
        raise ResultFileError(
            f"file '{path}' was written by Recursa {writer} in version {number} of the format; this is Recursa "
            f"{__version__}, which reads versions up to {FORMAT_VERSION}. Read it with Recursa {writer} or newer."
        )
    found = os.fstat(file.fileno()).st_size - USER_BLOCK
    if found != int(size or 0):
        raise _damaged(path, f"it has {found} bytes of the {size} that were written")
    if hashlib.file_digest(file, "sha256").hexdigest() != checksum:
        raise _damaged(path, "its checksum does not match its content")
    if (index is None) is (version == FORMAT_VERSION) or int(index or 0) > found:
        raise _damaged(path, "its first lines are not as they were written")
    return version, int(index or 0)


def _damaged(path: Path, why: str) -> ResultFileError:
    return ResultFileError(
        f"file '{path}' is damaged: {why}.\n  Was it copied in part, or changed by another program? Take it from where "
        "it was written, or simulate again."
    )


def _by_index(file: BufferedReader, length: int) -> dict[str, Any]:
    end = file.seek(-length, os.SEEK_END)
    data = json.loads(file.read(length))
    sizes = [_size(end, name, *place) for name, place in data["arrays"].items()]
    if sum(sizes) > end:  # several of them in one place would take more memory than the file
        raise ResultFileError(f"its arrays have {sum(sizes)} bytes, more than the file")
    data["arrays"] = {name: _array(file, *place) for name, place in data["arrays"].items()}
    return data  # type: ignore[no-any-return]


def _size(end: int, name: str, start: int, shape: list[int]) -> int:
    """The bytes of an array that starts there, if it ends before the index does."""
    numbers = [start, *shape]
    if not all(type(number) is int and 0 <= number <= end for number in numbers) or len(shape) > 3:
        raise ResultFileError(f"its array '{name[:40]}' has no place in it")
    size = math.prod(shape) * NUMBERS.itemsize
    if start + size > end:
        raise ResultFileError(f"its array '{name[:40]}' has shape {tuple(shape)}, for which there is no room in it")
    return size


def _array(file: BufferedReader, start: int, shape: list[int]) -> Array:
    file.seek(start)
    return np.fromfile(file, NUMBERS, math.prod(shape)).reshape(shape).astype(float)


def _by_library(path: Path) -> dict[str, Any]:
    """What a process of its own makes of the file; should it crash, hang or grow, that is an error like others."""
    command, environment = own_module("recursa.runs.hdf5_version1")
    try:
        done = subprocess.run(
            [*command, str(path.absolute())], env=environment, capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise ResultFileError(f"the HDF5 library did not come to an end with it in {_SECONDS:g} s") from None
    except OSError as error:
        raise ResultFileError(f"the process that reads such files cannot be started: {error}") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise ResultFileError(said[-1] if done.returncode == 1 and said else "it brings the HDF5 library down")
    return unpack(done.stdout)  # type: ignore[no-any-return]
