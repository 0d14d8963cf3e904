"""Runs to files, by the ending of the name."""

from __future__ import annotations

import os
from pathlib import Path

from recursa.errors import RecursaError
from recursa.files import known_suffix, named_file
from recursa.runs import npz_files
from recursa.runs.run import Run
from recursa.trajectories import csv_files

HDF5 = (".h5", ".hdf5")
SUFFIXES = (".npz", ".csv")


def save(run: Run, path: str | os.PathLike[str]) -> Path:
    """Write a run; see :meth:`recursa.Run.save`."""
    place = run_file(path)
    if place.suffix.lower() == ".npz":
        npz_files.write_run(run, place)
    else:
        names = csv_files.names_of(run.robot)[0]
        csv_files.write(place, run.robot, names, run.t, (run.q, run.v, run.a), run.tau, run.options.losses)
    return place


def run_file(path: str | os.PathLike[str]) -> Path:
    """A path to which a run can be saved."""
    place = named_file(path)
    if place.suffix.lower() in HDF5:
        raise RecursaError(
            f"'{place}': runs are saved as .npz (everything) or .csv (a table); run.to_hdf5('{place}') exports HDF5"
        )
    return known_suffix(place, SUFFIXES)
