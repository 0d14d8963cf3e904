"""A file that only grows, block by block, each with its length and a checksum.

What was written is never touched again. A process that is killed in the middle of a write leaves an incomplete last
block, which the checksum tells; all before it is good.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from recursa.errors import ResultFileError
from recursa.files import replacing

SUFFIX = ".part"  # behind the name of the result
MAGIC = b"recursa checkpoint "
FORMAT_VERSION = 1
_FIRST_LINE = MAGIC + b"%d\n" % FORMAT_VERSION
_HEAD = struct.Struct("<4sQ16s")
_MARK = b"BLOK"


def block(payload: bytes) -> bytes:
    """A payload with its length and checksum."""
    return _HEAD.pack(_MARK, len(payload), _digest(payload)) + payload


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=16).digest()


def read_blocks(path: Path) -> tuple[list[bytes], int]:
    """All good blocks, up to the first that is not, and where they end."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ResultFileError(f"cannot read '{path}': {error.strerror or error}") from None
    _require_version(path, data[:64])
    blocks, end = [], len(_FIRST_LINE)
    for start, stop in _extents(data):
        blocks.append(data[start:stop])
        end = stop
    return blocks, end


def require_checkpoint(path: Path) -> None:
    """Look at the start of a file; what is no checkpoint, or of another version, is an error."""
    try:
        with path.open("rb") as file:
            _require_version(path, file.read(64))
    except OSError as error:
        raise ResultFileError(f"cannot read '{path}': {error.strerror or error}") from None


def _extents(data: bytes) -> Iterator[tuple[int, int]]:
    at = len(_FIRST_LINE)
    while at + _HEAD.size <= len(data):
        mark, length, digest = _HEAD.unpack_from(data, at)
        start = at + _HEAD.size
        stop = start + length
        if mark != _MARK or stop > len(data) or _digest(data[start:stop]) != digest:
            return
        yield start, stop
        at = stop


def _require_version(path: Path, data: bytes) -> None:
    if data.startswith(_FIRST_LINE):
        return
    if not data.startswith(MAGIC):
        cut = bool(data) and MAGIC.startswith(data)
        why = "is cut off at its very start" if cut or not data else "is not a checkpoint of a run"
        raise ResultFileError(f"file '{path}' {why}.")
    number = data[len(MAGIC) : len(MAGIC) + 12].split(b"\n")[0].decode(errors="replace")
    if not number.isdigit() or int(number) < FORMAT_VERSION:
        raise ResultFileError(f"file '{path}' is damaged or cut off at its very start.")
    raise ResultFileError(
        f"file '{path}' is a checkpoint in version {number} of the format; this Recursa reads version "
        f"{FORMAT_VERSION}. Go on with the newer Recursa that wrote it."
    )


class Journal:
    """A journal open for appending, by one process at a time."""

    def __init__(self, path: Path) -> None:
        """An existing one. ``end``, where its good blocks end, is set by who has read them since."""
        self.path = path
        self.end = -1
        try:
            self._file = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        except OSError as error:
            raise ResultFileError(f"cannot write '{path}': {error.strerror or error}") from None
        if not _locked(self._file):
            os.close(self._file)
            raise ResultFileError(f"file '{path}' is being written by another process: is that run still under way?")

    @classmethod
    def create(cls, path: Path, payloads: list[bytes]) -> Journal:
        """A new one with its first blocks; it replaces a file of that name as a whole."""
        content = _FIRST_LINE + b"".join(map(block, payloads))
        with replacing(path) as beside:
            beside.write_bytes(content)
        made = cls(path)
        made.end = len(content)
        return made

    def append(self, payload: bytes) -> None:
        """One more block; when this returns it is on the disk. OSError if it cannot be."""
        data = memoryview(block(payload))
        os.ftruncate(self._file, self.end)  # what an interrupted write may have left
        os.lseek(self._file, self.end, os.SEEK_SET)
        written = 0
        while written < len(data):
            written += os.write(self._file, data[written:])
        os.fsync(self._file)
        self.end += written

    def close(self) -> None:
        """Done; the file stays."""
        with suppress(OSError):
            os.close(self._file)


def _locked(file: int) -> bool:
    """Whether the file is ours alone now; where there are no locks it is taken to be."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True
