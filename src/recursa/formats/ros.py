"""Where an installed ROS keeps its packages, for those who ask."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path


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
