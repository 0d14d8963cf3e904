"""Files that commands write: there as a whole or not at all."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path

from recursa.errors import RecursaError, did_you_mean


def known_suffix(path: Path, suffixes: tuple[str, ...]) -> Path:
    """The path, if its ending says a format that can be written."""
    if path.suffix.lower() not in suffixes:
        ending = f"'{path.suffix}'" if path.suffix else "no ending"
        raise RecursaError(
            f"cannot tell the format of '{path}' from {ending}: let it end in {' or '.join(suffixes)}. "
            f"{did_you_mean(path.suffix.lower(), suffixes) if path.suffix else ''}".rstrip()
        )
    return path


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the place and move there: whoever looks finds the old file or the new one, never half of it."""
    ready = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        ready.write_bytes(content)
        os.replace(ready, path)
    except BaseException as error:
        with suppress(OSError):
            ready.unlink()
        if isinstance(error, OSError):
            raise RecursaError(f"cannot write '{path}': {error.strerror or error}") from None
        raise
