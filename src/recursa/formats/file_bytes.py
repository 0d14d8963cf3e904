"""The content of files from strangers, bounded in size."""

from __future__ import annotations

from pathlib import Path

from recursa.errors import ModelError

MAX_SIZE = 32 * 1024 * 1024


def read_bytes(path: Path) -> bytes:
    """A file's content; bounded, whatever the file system says of its size."""
    with path.open("rb") as file:
        content = file.read(MAX_SIZE + 1)
    if len(content) > MAX_SIZE:
        raise ModelError(f"it has more than the {MAX_SIZE} bytes that are read", source=str(path))
    return content
