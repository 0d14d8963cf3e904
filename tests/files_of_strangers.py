"""Files of runs as somebody else might make them: whole by their checksum, whatever is in them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import recursa as rc
from recursa.runs.hdf5 import USER_BLOCK
from recursa.runs.plain_runs import as_plain


def sealed(path: Path, change: Callable[[Any], Any]) -> None:
    """The file with its index changed, and the right checksum."""
    data = path.read_bytes()
    length = int(data[:USER_BLOCK].split(b"index of ")[1].split()[0])
    index = json.loads(data[-length:])
    change(index)
    text = json.dumps(index).encode()
    _write(path, 2, data[USER_BLOCK:-length] + text, f"index of {len(text)} bytes at the end\n")


def version_1(run: rc.Run, path: Path, change: Callable[[Any], Any] | None = None) -> Path:
    """The run as the first version of the format had it, changed, and the right checksum."""
    content = as_plain(run)
    with h5py.File(path, "w", userblock_size=USER_BLOCK) as file:
        for name, values in content["arrays"].items():
            file[name] = values
        file["robot/description"] = content["robot"]
        file["robot"].attrs["digest"] = content["digest"]
        file["events/name"] = np.array(content["events"], dtype=h5py.string_dtype())
        file.attrs.update({name: content[name] for name in ("recursa", "status", "message", "momentum_kept")})
        for name in ("options", "statistics"):
            file.require_group(name).attrs.update(content[name])
        if change is not None:
            change(file)
    _write(path, 1, path.read_bytes()[USER_BLOCK:], "")
    return path


def _write(path: Path, version: int, body: bytes, more: str) -> None:
    checksum = hashlib.sha256(body).hexdigest()
    head = f"recursa run {version}, Recursa {rc.__version__}, sha256 {checksum}, {len(body)} bytes follow\n{more}"
    path.write_bytes(head.encode().ljust(USER_BLOCK, b"\0") + body)
