"""Runs as HDF5 files that explain themselves: arrays with names and units, the robot, options, status, statistics.

::

    /                 attributes: format, format_version, recursa, status, message, conventions, momentum_kept
    /t /q /v /a /tau /work /lost      attributes: units, columns, meaning
    /energy           kinetic and potential, for other readers
    /robot            attributes: name, digest, gravity, floating, mimic
    /robot/description, /robot/urdf   texts; the first makes the same robot again, the second is for other programs
    /options, /statistics             attributes
    /options/times    where samples were asked for
    /events/name /t /q /v
    /dense/...        the integrator's interpolants, if they were kept

The first 512 bytes, which HDF5 leaves to its user, say so in a line of text, with a checksum of all that follows. It is
looked at first: damaged HDF5 files can bring down the HDF5 library, and the process with it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.errors import ResultFileError
from recursa.files import replacing
from recursa.formats.robot_text import model_from_text, model_text
from recursa.model.columns import CONVENTIONS, angular, coordinate_names, coordinate_units, freedom_names
from recursa.model.model import Model
from recursa.runs import interpolants
from recursa.runs.options import Options
from recursa.runs.run import Happened, Run
from recursa.version import __version__

if TYPE_CHECKING:
    from recursa.robot import Robot

FORMAT = "recursa run"
FORMAT_VERSION = 1
SIGNATURE = b"\x89HDF\r\n\x1a\n"  # of any HDF5 file without a block for its user
OURS = b"recursa run "
_USER_BLOCK = 512  # bytes
_FIRST_LINE = re.compile(rb"recursa run (\d+), Recursa (\S+), sha256 ([0-9a-f]{64}), (\d+) bytes follow\n")
_ARRAYS = ("t", "q", "v", "a", "tau", "work", "lost")
_MEANINGS = {
    "t": "time of the samples",
    "q": "coordinates",
    "v": "speeds",
    "a": "accelerations",
    "tau": "torques and forces of the drives, without losses",
    "work": "what drives and wrenches put in since the start",
    "lost": "what losses and stops took since the start",
    "energy": "kinetic and potential energy",
}


# ---- writing ---------------------------------------------------------------------------------------------------------


def write_run(run: Run, path: Path) -> None:
    """The file is there as a whole or not at all; one that was there before survives what goes wrong."""
    import h5py  # slow to import

    with replacing(path) as beside:
        with h5py.File(beside, "w", userblock_size=_USER_BLOCK) as file:
            _fill(file, run)
        size, checksum = _after_user_block(beside)
        line = f"recursa run {FORMAT_VERSION}, Recursa {__version__}, sha256 {checksum}, {size} bytes follow\n"
        with beside.open("rb+") as raw:
            raw.write(line.encode().ljust(_USER_BLOCK, b"\0"))


def _after_user_block(path: Path) -> tuple[int, str]:
    """How many bytes HDF5 has written, and their SHA-256."""
    with path.open("rb") as raw:
        raw.seek(_USER_BLOCK)
        checksum = hashlib.file_digest(raw, "sha256").hexdigest()
        return raw.tell() - _USER_BLOCK, checksum


def _fill(file: Any, run: Run) -> None:
    file.attrs.update(
        {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "recursa": __version__,
            "status": run.status,
            "message": run.message,
            "conventions": CONVENTIONS,
            "momentum_kept": run.momentum_kept,
        }
    )
    for name, (columns, units) in _columns(run.robot.model).items():
        values = getattr(run, name)
        made = file.create_dataset(name, data=values)
        made.attrs["meaning"] = _MEANINGS[name]
        made.attrs["units"] = _texts(units) if values.ndim > 1 else units[0]
        if values.ndim > 1:
            made.attrs["columns"] = _texts(columns)
    _fill_robot(file.create_group("robot"), run)
    options = file.create_group("options")
    for item in fields(Options):
        value = getattr(run.options, item.name)
        if item.name == "times" and value is not None:
            options.create_dataset("times", data=value)  # too long for an attribute
        elif value is not None:
            options.attrs[item.name] = value
    file.create_group("statistics").attrs.update(run.statistics)
    _fill_events(file.create_group("events"), run)
    dense = interpolants.as_arrays(run.options.integrator, run.pieces)
    for name, values in dense.items():
        file.create_dataset(f"dense/{name}", data=values)


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


def _fill_robot(group: Any, run: Run) -> None:
    model = run.robot.model
    group.attrs.update(
        {
            "name": model.name,
            "digest": model.digest,
            "gravity": np.array(model.gravity),
            "floating": model.floating,
            "mimic": model.mimic,
        }
    )
    group["description"] = model_text(model)
    group["urdf"] = run.robot.to_urdf()


def _fill_events(group: Any, run: Run) -> None:
    rows = len(run.events)
    group["name"] = _texts([event.name for event in run.events])
    group["t"] = np.array([event.t for event in run.events], dtype=float)
    group["q"] = np.array([event.q for event in run.events], dtype=float).reshape(rows, run.robot.nq)
    group["v"] = np.array([event.v for event in run.events], dtype=float).reshape(rows, run.robot.nv)


def _texts(values: Any) -> Any:
    import h5py

    return np.array(list(values), dtype=h5py.string_dtype())


# ---- reading ---------------------------------------------------------------------------------------------------------


def read_run(path: Path, robot_of: Callable[[Model], Robot]) -> Run:
    """The run in a file, ``robot_of`` its model; what cannot be one is a :class:`ResultFileError` that says why."""
    import h5py  # slow to import

    try:
        _require_whole(path)
        with h5py.File(path, "r") as file:
            return _run(path, file, robot_of)
    except ResultFileError:
        raise
    except Exception as error:  # HDF5 has many ways to say that it cannot read
        raise _damaged(path, f"{type(error).__name__}: {' '.join(str(error).split())}") from None


def _require_whole(path: Path) -> None:
    """Ours, of a version that is known, and every byte as it was written."""
    with path.open("rb") as raw:
        start = raw.read(_USER_BLOCK)
    said = _FIRST_LINE.match(start)
    if said is None or len(start) < _USER_BLOCK:
        raise _damaged(
            path,
            f"it is cut off after {len(start)} bytes"
            if len(start) < _USER_BLOCK
            else "its first line is not as it was written",
        )
    number, writer, checksum, size = (group.decode() for group in said.groups())
    if int(number) != FORMAT_VERSION:
        raise ResultFileError(
            f"file '{path}' was written by Recursa {writer} in version {number} of the format; this is Recursa "
            f"{__version__}, which reads version {FORMAT_VERSION}. Read it with Recursa {writer} or newer."
        )
    found, now = _after_user_block(path)
    if found != int(size):
        raise _damaged(path, f"it has {found} bytes of the {size} that were written")
    if now != checksum:
        raise _damaged(path, "its checksum does not match its content")


def _damaged(path: Path, why: str) -> ResultFileError:
    return ResultFileError(
        f"file '{path}' is damaged: {why}.\n  Was it copied in part, or changed by another program? Take it from where "
        "it was written, or simulate again."
    )


def _run(path: Path, file: Any, robot_of: Callable[[Model], Robot]) -> Run:
    model = model_from_text(file["robot/description"].asstr()[()])
    if file.attrs["recursa"] == __version__ and model.digest != file["robot"].attrs["digest"]:
        raise _damaged(path, "the robot in it is not the one it names")
    arrays = {name: file[name][()] for name in _ARRAYS}
    stored = dict(file["options"].attrs)
    known = {item.name for item in fields(Options)}
    stored |= {"times": file["options/times"][()]} if "times" in file["options"] else {}
    options = Options(**{name: _python(value) for name, value in stored.items() if name in known})
    events = file["events"]
    happened = map(Happened, events["name"].asstr()[()], events["t"][()].tolist(), events["q"][()], events["v"][()])
    dense = {name: values[()] for name, values in file["dense"].items()} if "dense" in file else {}
    make = partial(Run, robot_of(model), **arrays, options=options)
    return make(
        events=tuple(happened),
        status=file.attrs["status"],
        message=file.attrs["message"],
        statistics={name: _python(value) for name, value in file["statistics"].attrs.items()},
        momentum_kept=bool(file.attrs["momentum_kept"]),
        pieces=interpolants.from_arrays(options.integrator, dense),
    )


def _python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
