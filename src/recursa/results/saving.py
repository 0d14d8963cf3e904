"""Runs to files and back, by the ending of the name."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from recursa.errors import ResultFileError
from recursa.files import known_suffix, named_file, write_together
from recursa.results import hdf5
from recursa.results.journal import MAGIC
from recursa.results.robot_text import robot_text
from recursa.simulation.run import Run
from recursa.trajectories import csv_files
from recursa.trajectories.columns import CONVENTIONS
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
        robot: Any = run.robot
        names = csv_files.names_of(robot)[0]
        csv_files.write(place, robot, names, run.t, (run.q, run.v, run.a), run.tau, run.options.losses)
    return place


def run_file(path: str | os.PathLike[str]) -> Path:
    """A path to which a run can be saved."""
    return known_suffix(named_file(path), SUFFIXES)


def _npz(run: Run) -> bytes:
    """The arrays, and all else as JSON under ``about``."""
    robot: Any = run.robot
    coordinates, freedoms = csv_files.names_of(robot)
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
        "digest": robot.model.digest,
    }
    arrays = {name: getattr(run, name) for name in ("t", "q", "v", "a", "tau", "work", "lost", "energy")}
    texts = {"about": json.dumps(about), "robot": robot_text(robot), "urdf": robot.to_urdf()}
    content = BytesIO()
    np.savez(content, **arrays, q_columns=np.array(coordinates), v_columns=np.array(freedoms), **texts)  # type: ignore[arg-type]
    return content.getvalue()


def read(path: str | os.PathLike[str]) -> Run:
    """Read a run that was saved with ``run.save("run.h5")``: the same arrays to the bit, and the same robot.

    A file that is cut off, damaged, of a newer version or not ours is a :class:`recursa.ResultFileError`.

    >>> import pathlib, tempfile, recursa as rc
    >>> file = pathlib.Path(tempfile.mkdtemp(), "run.h5")
    >>> run = rc.robots.planar(2).simulate([0.3, 0.4], duration=0.1)
    >>> _ = run.save(file)
    >>> again = rc.read(file)
    >>> bool((again.q == run.q).all()), again.robot == run.robot
    (True, True)
    """
    place = Path(path)
    start = first_bytes(place)
    if start.startswith(hdf5.OURS):
        return hdf5.read_run(place)
    raise ResultFileError(_what_else(place, start))


def first_bytes(path: Path) -> bytes:
    """The start of a file, by which kinds of files are told apart."""
    try:
        with path.open("rb") as file:
            return file.read(512)
    except FileNotFoundError:
        part = path.with_name(path.name + ".part")
        hint = f" There is an unfinished run in '{part}': go on with rc.resume('{path}')." if part.is_file() else ""
        raise ResultFileError(f"there is no file '{path}'.{hint}") from None
    except OSError as error:
        raise ResultFileError(f"cannot read '{path}': {error.strerror or error}") from None


def _what_else(path: Path, start: bytes) -> str:
    """Why a file is no HDF5 file."""
    if not start:
        return f"file '{path}' is empty."
    if start.startswith(MAGIC):
        return f"file '{path}' holds a run that is not finished: go on with rc.resume('{path}')."
    if hdf5.OURS.startswith(start):
        return f"file '{path}' is damaged: it is cut off after {len(start)} bytes."
    if start.startswith(hdf5.SIGNATURE):
        return f"file '{path}' is an HDF5 file, but no run that Recursa saved, or another program wrote it anew."
    if start.startswith(b"PK"):
        return f"file '{path}' is no HDF5 file. Is it a run saved as .npz? numpy.load reads that; rc.read reads .h5."
    if start.startswith((b"t,", b"# losses:")):
        return f"file '{path}' is a table. rc.Trajectory.from_csv reads it; rc.read reads .h5."
    return f"file '{path}' is not a run that Recursa saved: it is no HDF5 file."
