"""ROS packages: folders with a ``package.xml`` that names them."""

from __future__ import annotations

from pathlib import Path

from recursa.errors import ModelError
from recursa.formats.xml import parse

_PACKAGE_SIZE = 1024 * 1024


def package_name(folder: Path) -> str | None:
    """The name of the ROS package in a folder, by its ``package.xml``; None if there is none that can be read."""
    path = folder / "package.xml"
    try:
        if not path.is_file():  # a pipe, for one, could be waited for without end
            return None
        with path.open("rb") as file:
            content = file.read(_PACKAGE_SIZE + 1)
    except OSError:
        return None
    if len(content) > _PACKAGE_SIZE:
        return None
    try:
        name = parse(content, with_text=True).child("name")
    except ModelError:
        return None
    return None if name is None else name.text.strip()
