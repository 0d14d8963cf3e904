"""ROS packages: folders with a ``package.xml`` that names them, and where an installed ROS keeps them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from recursa.errors import ModelError
from recursa.formats.file_bytes import read_bytes
from recursa.formats.xml import parse

_PACKAGE_SIZE = 1024 * 1024


def ros_paths(environment: Mapping[str, str] | None = None) -> tuple[Path, ...]:
    """Return the folders that hold the packages of ROS, for ``rc.load(..., assets=rc.ros_paths())``.

    These are the folders in ``ROS_PACKAGE_PATH`` (ROS 1), and ``share`` in those of ``AMENT_PREFIX_PATH`` (ROS 2), as
    far as they exist; ``package://NAME/...`` is then ``NAME/...`` below one of them. ``environment`` defaults to the
    environment of this process, which nothing else reads for this purpose.

    >>> import recursa as rc
    >>> rc.ros_paths({"ROS_PACKAGE_PATH": "/no/such/folder"})
    ()
    """
    variables = os.environ if environment is None else environment
    return tuple(dict.fromkeys(folder for folder in _named(variables) if folder.is_dir()))


def _named(environment: Mapping[str, str]) -> Iterator[Path]:
    for variable, inside in (("ROS_PACKAGE_PATH", ""), ("AMENT_PREFIX_PATH", "share")):
        yield from (Path(entry, inside) for entry in environment.get(variable, "").split(os.pathsep) if entry)


def package_name(folder: Path) -> str | None:
    """The name of the ROS package in a folder, by its ``package.xml``; None if there is none that can be read."""
    path = folder / "package.xml"
    try:
        if not path.is_file():  # a pipe, for one, could be waited for without end
            return None
        name = parse(read_bytes(path, _PACKAGE_SIZE), with_text=True).child("name")
    except (OSError, ModelError):
        return None
    return None if name is None else name.text.strip()
