"""A file that only grows, block by block, each with its length and a checksum.

What was written is never touched again. A process that is killed in the middle of a write leaves an incomplete last
block, which the checksum tells; all before it is good.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from recursa import files
from recursa.errors import ResultFileError
from recursa.files import locked, remove_leftovers, sync_folder, synced

ZIP = b"PK"  # how .npz files begin
SUFFIX = ".part"  # behind the name of the result
MAGIC = b"recursa checkpoint "
FORMAT_VERSION = 1
_FIRST_LINE = MAGIC + b"%d\n" % FORMAT_VERSION
_HEAD = struct.Struct("<4sQ16s")
_MARK = b"BLOK"
_FLAGS = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


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
    _require_version(path, first_bytes(path))


def first_bytes(path: Path) -> bytes:
    """The start of a file, by which kinds of files are told apart."""
    try:
        with path.open("rb") as file:
            return file.read(512)
    except FileNotFoundError:
        part = path.with_name(path.name + SUFFIX)
        hint = f" There is an unfinished run in '{part}': go on with rc.resume('{path}')." if part.is_file() else ""
        raise ResultFileError(f"there is no file '{path}'.{hint}") from None
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
    """A journal open for appending, by one process at a time; as a path it is that of its file."""

    def __init__(self, path: Path, *, new: bool = False) -> None:
        """An existing one, or with ``new`` perhaps an empty file that is made; others are kept out until it is closed.

        ``end``, where its good blocks end, is set by who has read them since.
        """
        self.path = path
        self.end = -1
        self._file = _opened(path, new)

    def __fspath__(self) -> str:
        return str(self.path)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self, payloads: list[bytes]) -> None:
        """Put the first blocks of a new run in the place of all that is there, as a whole or not at all."""
        content = _FIRST_LINE + b"".join(map(block, payloads))
        try:
            if files.OPEN_FILES_CAN_BE_REPLACED:
                self._replace(content)
            else:
                os.ftruncate(self._file, 0)
                _write(self._file, 0, content)
        except OSError as error:
            raise ResultFileError(f"cannot write '{self.path}': {error.strerror or error}") from None
        self.end = len(content)

    def _replace(self, content: bytes) -> None:
        """The new file is locked before it has the name, so that nobody comes between."""
        remove_leftovers(self.path)
        beside = self.path.with_name(f".{self.path.name}.{secrets.token_hex(4)}")
        made = os.open(beside, _FLAGS | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            locked(made)
            _write(made, 0, content)
            os.replace(beside, self.path)
        except BaseException:
            os.close(made)
            with suppress(OSError):
                beside.unlink()
            raise
        os.close(self._file)
        self._file = made
        sync_folder(self.path.parent)

    def append(self, payload: bytes) -> None:
        """One more block; when this returns it is on the disk. OSError if it cannot be."""
        os.ftruncate(self._file, self.end)  # what an interrupted write may have left
        self.end += _write(self._file, self.end, block(payload))

    def discard(self) -> None:
        """Remove the file, if it is still this one; nobody else has been able to write to it."""
        if _is_at(self._file, self.path):
            if not files.OPEN_FILES_CAN_BE_REPLACED:  # nor removed
                os.close(self._file)
                self._file = -1
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Done; the file stays, unless nothing was written to it."""
        with suppress(OSError):
            if os.fstat(self._file).st_size == 0:
                self.discard()
            os.close(self._file)


def _opened(path: Path, new: bool) -> int:
    """The file, locked; one that was replaced or removed while it was being opened is left, and its successor taken."""
    while True:
        try:
            file = os.open(path, _FLAGS | (os.O_CREAT if new else 0), 0o666)
        except OSError as error:
            raise ResultFileError(f"cannot write '{path}': {error.strerror or error}") from None
        if not locked(file):
            os.close(file)
            raise ResultFileError(f"file '{path}' is being written by another process: is that run still under way?")
        if _is_at(file, path):
            return file
        os.close(file)


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except OSError:
        return False


def _write(file: int, start: int, content: bytes) -> int:
    """Write to the disk itself; how many bytes that were."""
    data = memoryview(content)
    os.lseek(file, start, os.SEEK_SET)
    written = 0
    while written < len(data):
        written += os.write(file, data[written:])
    synced(file)
    return written
