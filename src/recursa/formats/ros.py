"""Where an installed ROS keeps its packages, for those who ask."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path


def ros_paths(environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """The folders in which the packages of ROS lie, for ``rc.load(..., assets=rc.ros_paths())``.

    Those of ``ROS_PACKAGE_PATH`` (ROS 1), and ``share`` of those of ``AMENT_PREFIX_PATH`` (ROS 2), as far as they are
    there. ``package://NAME/...`` is then ``NAME/...`` below one of them. Nothing reads these variables unasked.

    >>> import recursa as rc
    >>> rc.ros_paths({"ROS_PACKAGE_PATH": "/no/such/folder"})
    ()
    """
    return tuple(dict.fromkeys(folder for folder in _named(environment) if folder.is_dir()))


def _named(environment: Mapping[str, str]) -> Iterator[Path]:
    for variable, inside in (("ROS_PACKAGE_PATH", ""), ("AMENT_PREFIX_PATH", "share")):
        yield from (Path(entry, inside) for entry in environment.get(variable, "").split(os.pathsep) if entry)
