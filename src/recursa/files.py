"""Files that are there as a whole or not at all, on the disk when that is said, and held by one process at a time.

What systems do differently is here: Windows locks bytes, moves nothing over a file that somebody has open, and knows no
syncing of folders; on macOS ``fsync`` returns before the disk has written.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from recursa.errors import RecursaError, did_you_mean

fcntl: Any
msvcrt: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
try:
    import msvcrt
except ImportError:
    msvcrt = None

OPEN_FILES_CAN_BE_REPLACED = os.name != "nt"
_STALE = 3600.0  # seconds without a change after which a file beside its place belongs to a writer that died
_TRIES = (0.0, 0.02, 0.05, 0.1, 0.3, 0.5)  # seconds before each try to move a file that something else may look at
_LOCKED_BYTE = 2**31 - 2  # as far as Windows locks: locked bytes cannot be read by others


def write_together(contents: Mapping[Path, str | bytes], *, tidy: bool = True) -> None:
    """Files written beside their places, then, when all are on the disk, moved there one after the other.

    Whoever looks finds of each file the old one or the new one, never half of it; after a loss of power, too. An error
    while they are written, such as a full disk, leaves all the old ones. No system moves several files at once: where
    the power, or the process, ends between two moves some files are new and some old, until they are written again.
    When this returns all are new, and stay so. Text is UTF-8 with plain line ends. ``tidy``: what earlier writers left
    when they were killed is looked for, which takes the longer the more files are in the folder.
    """
    mark = secrets.token_hex(4)
    temporary = {path: path.with_name(f".{path.name}.{mark}") for path in contents}
    writing = next(iter(contents))
    try:
        for writing, content in contents.items():
            if tidy:
                remove_leftovers(writing)
            _write_synced(temporary[writing], content.encode() if isinstance(content, str) else content)
        for writing, ready in temporary.items():
            moved(ready, writing)
    except OSError as error:
        raise RecursaError(f"cannot write '{writing}': {error.strerror or error}") from None
    finally:
        for ready in temporary.values():
            with suppress(OSError):
                ready.unlink()
    for folder in {path.parent for path in contents}:
        sync_folder(folder)


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        synced(file.fileno())


def moved(ready: Path, place: Path) -> None:
    """Moves a file to its place. Where open files cannot be replaced, whoever looks at it gets a moment to leave."""
    for pause in _TRIES:
        time.sleep(pause)
        try:
            os.replace(ready, place)
            return
        except PermissionError:
            if OPEN_FILES_CAN_BE_REPLACED or pause == _TRIES[-1]:
                raise


def synced(file: int) -> None:
    """What was written to an open file is on the disk then, as far as the system can be asked for it."""
    through = getattr(fcntl, "F_FULLFSYNC", None)  # macOS
    if through is not None:
        try:
            fcntl.fcntl(file, through)
            return
        except OSError:  # a file system that does not have it
            pass
    os.fsync(file)


def locked(file: int) -> bool:
    """Whether an open file is ours alone now, until it is closed; on a file system without locks it is taken to be."""
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            before = os.lseek(file, 0, os.SEEK_CUR)
            os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
            try:
                msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            finally:
                os.lseek(file, before, os.SEEK_SET)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True


def sync_folder(folder: Path) -> None:
    """Names that were made, moved or removed in a folder are on the disk then, where the system can be asked for it."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            synced(opened)
        finally:
            os.close(opened)


def remove_leftovers(path: Path) -> None:
    """What earlier writers of this file left beside it when they were killed."""
    remove_leftovers_of(path.parent, re.escape(path.name))


def remove_leftovers_of(folder: Path, name: str) -> None:
    """The same of all files of a folder whose names match a pattern."""
    ours = re.compile(rf"\.{name}\.[0-9a-f]{{8}}")
    expired = time.time() - _STALE
    with suppress(OSError), os.scandir(folder) as listing:
        for item in listing:
            if ours.fullmatch(item.name) and item.stat(follow_symlinks=False).st_mtime < expired:
                os.unlink(item.path)


def named_file(path: str | os.PathLike[str]) -> Path:
    """A path that names a file; what only names a folder, or nothing, is refused."""
    found = Path(path)
    if not found.name or found.is_dir():
        raise RecursaError(f"cannot write '{path}': it is a folder, not a file")
    return found


def known_suffix(path: Path, suffixes: tuple[str, ...]) -> Path:
    """The path, if its ending says a format that can be written."""
    if path.suffix.lower() not in suffixes:
        ending = f"'{path.suffix}'" if path.suffix else "no ending"
        raise RecursaError(
            f"cannot tell the format of '{path}' from {ending}: let it end in {' or '.join(suffixes)}. "
            f"{did_you_mean(path.suffix.lower(), suffixes) if path.suffix else ''}".rstrip()
        )
    return path
