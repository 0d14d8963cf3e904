"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from recursa.errors import RecursaError, did_you_mean

_STALE = 3600.0  # seconds without a change after which a file beside its place belongs to a writer that died


def write_together(contents: Mapping[Path, str | bytes]) -> None:
    """Files written beside their places, then, when all are on the disk, moved there one after the other.

    Whoever looks finds of each file the old one or the new one, never half of it; after a loss of power, too. An error
    while they are written, such as a full disk, leaves all the old ones. No system moves several files at once: where
    the power, or the process, ends between two moves some files are new and some old, until they are written again.
    When this returns all are new, and stay so. Text is UTF-8 with plain line ends.
    """
    mark = secrets.token_hex(4)
    temporary = {path: path.with_name(f".{path.name}.{mark}") for path in contents}
    writing = next(iter(contents))
    try:
        for writing, content in contents.items():
            remove_leftovers(writing)
            _write_synced(temporary[writing], content.encode() if isinstance(content, str) else content)
        for writing, ready in temporary.items():
            os.replace(ready, writing)
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
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Names that were made, moved or removed in a folder are on the disk then, where the system can be asked for it."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def remove_leftovers(path: Path) -> None:
    """What earlier writers of this file left beside it when they were killed."""
    ours = re.compile(re.escape(f".{path.name}.") + "[0-9a-f]{8}")
    expired = time.time() - _STALE
    with suppress(OSError), os.scandir(path.parent) as listing:
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
