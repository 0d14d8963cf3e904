"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from recursa.errors import RecursaError, did_you_mean


def write_together(contents: Mapping[Path, str | bytes]) -> None:
    """All files or none: written beside their places, then moved there. Text is UTF-8 with plain line ends.

    Whoever looks finds the old file or the new one, never half of it.
    """
    mark = secrets.token_hex(4)
    temporary = {path: path.with_name(f".{path.name}.{mark}") for path in contents}
    writing = next(iter(contents))
    try:
        for writing, content in contents.items():
            temporary[writing].write_bytes(content.encode() if isinstance(content, str) else content)
        for writing, ready in temporary.items():
            os.replace(ready, writing)
    except OSError as error:
        raise RecursaError(f"cannot write '{writing}': {error.strerror or error}") from None
    finally:
        for ready in temporary.values():
            with suppress(OSError):
                ready.unlink()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A name beside the file, for writers that want a name; when all went well what is there takes the file's place.

    It is on the disk before: after a loss of power, too, there is the old file or the new one.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        yield beside
        with beside.open("rb+") as written:
            os.fsync(written.fileno())
        os.replace(beside, path)
    except OSError as error:
        raise RecursaError(f"cannot write '{path}': {os.strerror(error.errno) if error.errno else error}") from None
    finally:
        with suppress(OSError):
            beside.unlink()


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
