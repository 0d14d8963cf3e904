"""Runs as HDF5 files that explain themselves: arrays with names and units, the robot, options, status, statistics.

::

    /                 attributes: format, format_version, recursa, status, message, conventions, momentum_kept
    /t /q /v /a /tau /work /lost      attributes: units, columns, meaning
    /memory           what a controller had learned at these times, if it learns: a column a number
    /energy           kinetic and potential, for other readers
    /robot            attributes: name, digest, gravity, floating, mimic
    /robot/description, /robot/urdf   texts; the first makes the same robot again, the second is for other programs
    /options, /statistics             attributes
    /options/times    where samples were asked for
    /events/name /t /q /v
    /base/q /v /a     how the base was moved, if it was, as of a free joint
    /dense/...        the integrator's interpolants, if they were kept

The first 512 bytes, which HDF5 leaves to its user, say so in a line of text, with a checksum of all that follows.
Behind what is HDF5's stands an index, JSON with all that is not an array and the places of those that are: by it
:mod:`recursa.runs.reading` reads a run without the HDF5 library, which files made to do harm can bring down, or lead to
other files.
"""

from __future__ import annotations

import hashlib
import json
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from recursa.errors import RecursaError
from recursa.files import write_together
from recursa.model.columns import CONVENTIONS, angular, coordinate_names, coordinate_units, freedom_names
from recursa.model.model import Model
from recursa.runs.plain_runs import as_plain
from recursa.runs.run import Run
from recursa.sweeps.batching import Array
from recursa.version import __version__

FORMAT = "recursa run"
FORMAT_VERSION = 2
SIGNATURE = b"\x89HDF\r\n\x1a\n"  # of any HDF5 file without a block for its user
OURS = b"recursa run "
USER_BLOCK = 512  # bytes
NUMBERS = np.dtype("<f8")
_MEANINGS = {
    "t": "time of the samples",
    "q": "coordinates",
    "v": "speeds",
    "a": "accelerations",
    "tau": "torques and forces of the drives, without losses",
    "work": "what drives, wrenches and what moves the base put in since the start",
    "lost": "what losses and stops took since the start",
    "energy": "kinetic and potential energy",
}


def require_h5py() -> None:
    """Without h5py no such file can be written; better said before a run than after it."""
    if find_spec("h5py") is None:
        raise RecursaError(
            "writing .h5 needs h5py, which is not installed: 'pip install h5py', or save as .npz or .csv instead"
        )


def write_run(run: Run, path: Path) -> None:
    """The file is there as a whole or not at all; one that was there before survives what goes wrong.

    It is made in memory: where a disk is full the HDF5 library would bring the process down.
    """
    require_h5py()
    content = as_plain(run)
    arrays = content.pop("arrays")
    image, places = _image(run, content, arrays)
    index = json.dumps(content | {"arrays": places}, ensure_ascii=False).encode()
    body = memoryview(image)[USER_BLOCK:]
    checksum = hashlib.sha256(body)
    checksum.update(index)
    size = len(body) + len(index)
    head = (
        f"recursa run {FORMAT_VERSION}, Recursa {__version__}, sha256 {checksum.hexdigest()}, {size} bytes follow\n"
        f"index of {len(index)} bytes at the end\n"
    )
    write_together({path: b"".join([head.encode().ljust(USER_BLOCK, b"\0"), body, index])})


def _image(run: Run, content: dict[str, Any], arrays: dict[str, Array]) -> tuple[bytes, dict[str, Any]]:
    """The bytes of the HDF5 file, and by name where arrays are in it: where they start, and their shape."""
    import h5py  # slow to import

    memory = BytesIO()
    with h5py.File(memory, "w", userblock_size=USER_BLOCK) as file:
        for name, values in arrays.items():
            file.create_dataset(name, data=values, dtype=NUMBERS)
        _explain(file, run, content)
        file.flush()
        offsets = {name: file[name].id.get_offset() for name in arrays}
    image = memory.getvalue()
    places = {}
    for name, values in arrays.items():
        start = offsets[name] if values.size else 0
        raw = np.asarray(values, dtype=NUMBERS).tobytes()
        if image[start : start + len(raw)] != raw:
            raise RecursaError(f"cannot write a run: the HDF5 library did not store '{name}' in one piece")
        places[name] = [start, list(values.shape)]
    return image, places


def _explain(file: Any, run: Run, content: dict[str, Any]) -> None:
    """All that is not an array of the run, for other readers."""
    told = ("recursa", "status", "message", "momentum_kept")
    file.attrs.update({"format": FORMAT, "format_version": FORMAT_VERSION, "conventions": CONVENTIONS})
    file.attrs.update({name: content[name] for name in told})
    file.create_dataset("energy", data=run.energy)
    for name, (columns, units) in _columns(run.robot.model).items():
        one = file[name]
        one.attrs["meaning"] = _MEANINGS[name]
        one.attrs["units"] = _texts(units) if one.ndim > 1 else units[0]
        if one.ndim > 1:
            one.attrs["columns"] = _texts(columns)
    _fill_robot(file.create_group("robot"), run, content)
    file.require_group("options").attrs.update(content["options"])
    file.create_group("statistics").attrs.update(content["statistics"])
    file["events/name"] = _texts(content["events"])


def _columns(model: Model) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Names and units of the columns of every array."""
    freedoms, turning = freedom_names(model), angular(model)
    return {
        "t": (("t",), ("s",)),
        "q": (coordinate_names(model), coordinate_units(model)),
        "v": (freedoms, tuple("rad/s" if turns else "m/s" for turns in turning)),
        "a": (freedoms, tuple("rad/s^2" if turns else "m/s^2" for turns in turning)),
        "tau": (freedoms, tuple("N m" if turns else "N" for turns in turning)),
        "work": (("work",), ("J",)),
        "lost": (("lost",), ("J",)),
        "energy": (("energy",), ("J",)),
    }


def _fill_robot(group: Any, run: Run, content: dict[str, Any]) -> None:
    model = run.robot.model
    group.attrs.update(
        {
            "name": model.name,
            "digest": content["digest"],
            "gravity": np.array(model.gravity),
            "floating": model.floating,
            "mimic": model.mimic,
        }
    )
    group["description"] = content["robot"]
    group["urdf"] = run.robot.to_urdf()


def _texts(values: Any) -> Any:
    import h5py

    return np.array(list(values), dtype=h5py.string_dtype())
