"""Files of runs as somebody else might make them: whole by their checksums, whatever is in them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np

from recursa.runs.npz_files import ABOUT


def repacked(data: bytes, change: Callable[[dict[str, bytes]], Any], compression: int = zipfile.ZIP_STORED) -> bytes:
    """A ZIP file with its members changed in place, by name, and right checksums."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    memory = BytesIO()
    with zipfile.ZipFile(memory, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return memory.getvalue()


def npy(values: Any, **options: Any) -> bytes:
    """The bytes of an array in a file of NumPy's."""
    memory = BytesIO()
    np.save(memory, values, **options)
    return memory.getvalue()


def with_about(data: bytes, change: Callable[[Any], Any]) -> bytes:
    """A file of a run with its JSON changed."""

    def changed(members: dict[str, bytes]) -> None:
        about = json.loads(members[ABOUT])
        change(about)
        members[ABOUT] = json.dumps(about).encode()

    return repacked(data, changed)
