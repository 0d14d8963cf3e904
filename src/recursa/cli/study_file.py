"""Studies as YAML files: a robot, what is varied, what is computed, where the results go."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import recursa as rc
from recursa.cli.root import open_robot
from recursa.errors import ModelError, StudyError, unknown_name
from recursa.formats.yaml_text import parse_yaml

_RUNNING = ("store", "block", "compress", "keep_bits")
_SAID = ("robot", "floating", "mimic", *_RUNNING)
_DESCRIBED = ("vary", "compute", "samples", "seed", "keep", "design", "payload_at")
_SECTIONS = (*_SAID, *_DESCRIBED, "options")


def read_file(path: Path) -> tuple[rc.Study, dict[str, Any]]:
    """The study of a file, and what it says about running it; a store is beside the file."""
    try:
        data = parse_yaml(path.read_text("utf-8"), typed=True)
    except OSError as error:
        raise StudyError(f"cannot read '{path}': {error.strerror or error}") from None
    except (ModelError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: {str(error).removeprefix('<text>, ')}") from None
    if not isinstance(data, Mapping):
        raise StudyError(f"{path}: a study has keys: {', '.join(_SECTIONS)}")
    for name in data:
        if name not in _SECTIONS:
            raise unknown_name(f"key of a study in {path}", name, _SECTIONS)
    for name in ("robot", "vary"):
        if name not in data:
            raise StudyError(f"{path}: the key '{name}' is missing")
    options = data.get("options") or {}
    if not isinstance(options, Mapping) or not isinstance(data["vary"], Mapping):
        raise StudyError(f"{path}: 'vary' and 'options' have keys of their own")
    beside = path.parent / str(data["robot"])
    robot = open_robot(
        str(beside if beside.is_file() else data["robot"]), floating=data.get("floating"), mimic=data.get("mimic")
    )
    vary = {name: _tuple(said) for name, said in data["vary"].items()}
    described = {name: data[name] for name in _DESCRIBED if name in data and name not in ("vary", "keep")}
    study = rc.study(robot, vary, keep=_ways(data.get("keep")), **described, **options)
    running = {name: data[name] for name in _RUNNING if name in data}
    running["store"] = path.parent / str(running.get("store", f"{path.stem}.zarr"))
    return study, running


def _tuple(said: Any) -> Any:
    """``[normal, 2, 0.3]`` as Python has it."""
    return tuple(said) if isinstance(said, list) and said and isinstance(said[0], str) else said


def _ways(keep: Any) -> Any:
    if not isinstance(keep, Mapping):
        return keep
    return {name: [_tuple(one) for one in said] if _several(said) else _tuple(said) for name, said in keep.items()}


def _several(said: Any) -> bool:
    """``[extrema, moments]`` are two ways to keep an output, ``[top, 3]`` is one."""
    return isinstance(said, list) and all(isinstance(one, str | list) for one in said)


def store_of(path: Path) -> Path:
    """The store that a study file, or the name of a store itself, means."""
    return path if path.is_dir() else Path(read_file(path)[1]["store"])
