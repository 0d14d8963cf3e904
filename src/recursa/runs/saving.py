"""Runs to files, by the ending of the name; what kind of file there is already."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from io import BytesIO
from pathlib import Path

import numpy as np

from recursa.errors import ResultFileError
from recursa.files import known_suffix, named_file, write_together
from recursa.formats.robot_text import model_text
from recursa.model.columns import CONVENTIONS
from recursa.runs import hdf5
from recursa.runs.journal import SUFFIX
from recursa.runs.run import Run
from recursa.trajectories import csv_files
from recursa.version import __version__

HDF5 = (".h5", ".hdf5")
SUFFIXES = (*HDF5, ".npz", ".csv")


def save(run: Run, path: str | os.PathLike[str]) -> Path:
    """Write a run; see :meth:`recursa.Run.save`."""
    place = run_file(path)
    suffix = place.suffix.lower()
    if suffix in HDF5:
        hdf5.write_run(run, place)
    elif suffix == ".npz":
        write_together({place: _npz(run)})
    else:
        names = csv_files.names_of(run.robot)[0]
        csv_files.write(place, run.robot, names, run.t, (run.q, run.v, run.a), run.tau, run.options.losses)
    return place


def run_file(path: str | os.PathLike[str]) -> Path:
    """A path to which a run can be saved."""
    place = known_suffix(named_file(path), SUFFIXES)
    if place.suffix.lower() in HDF5:
        hdf5.require_h5py()
    return place


def _npz(run: Run) -> bytes:
    """The arrays, and all else as JSON under ``about``."""
    model = run.robot.model
    coordinates, freedoms = csv_files.names_of(run.robot)
    options = asdict(run.options)
    options["times"] = None if run.options.times is None else run.options.times.tolist()
    about = {
        "recursa": __version__,
        "conventions": CONVENTIONS,
        "status": run.status,
        "message": run.message,
        "options": options,
        "statistics": run.statistics,
        "events": [{"name": e.name, "t": e.t, "q": e.q.tolist(), "v": e.v.tolist()} for e in run.events],
        "digest": model.digest,
    }
    arrays = {name: getattr(run, name) for name in ("t", "q", "v", "a", "tau", "work", "lost", "energy")}
    arrays |= {} if run.memory is None else {"memory": run.memory}
    arrays |= {} if run.base is None else {f"base_{name}": values for name, values in run.base._asdict().items()}
    texts = {"about": json.dumps(about), "robot": model_text(model), "urdf": run.robot.to_urdf()}
    content = BytesIO()
    np.savez(content, **arrays, q_columns=np.array(coordinates), v_columns=np.array(freedoms), **texts)  # type: ignore[arg-type]
    return content.getvalue()


def first_bytes(path: Path) -> bytes:
    """The start of a file, by which kinds of files are told apart."""
    try:
        with path.open("rb") as file:
            return file.read(512)
    except FileNotFoundError:
        part = path.with_name(path.name + SUFFIX)
        hint = f" There is an unfinished run in '{part}': go on with rc.resume('{path}')." if part.is_file() else ""
        raise ResultFileError(f"there is no file '{path}'.{hint}") from None
    except OSError as error:
        raise ResultFileError(f"cannot read '{path}': {error.strerror or error}") from None
