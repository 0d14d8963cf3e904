"""The content of files from strangers, bounded in size."""

from __future__ import annotations

from pathlib import Path

from recursa.errors import ModelError

MAX_SIZE = 32 * 1024 * 1024


def read_bytes(path: Path, limit: int = MAX_SIZE) -> bytes:
    """A file's content; bounded, whatever the file system says of its size."""
    with path.open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise ModelError(f"it has more than the {limit} bytes that are read", source=str(path))
    return content
