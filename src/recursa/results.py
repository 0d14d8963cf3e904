"""Runs from files, with the robots that they are of: saved runs read, runs that were cut short gone on with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recursa.errors import ResultFileError
from recursa.robot import Robot
from recursa.runs.journal import MAGIC, ZIP, first_bytes
from recursa.runs.npz_files import read_run
from recursa.runs.run import Run
from recursa.simulation.checkpoint import Checkpoint, Kept, held_journal, interval
from recursa.simulation.influences import Influences

if TYPE_CHECKING:
    from recursa.studies.outcome import StudyResult


def read(path: str | os.PathLike[str]) -> Run | StudyResult:
    """Read a run that was saved with ``run.save("run.npz")``: the same arrays to the bit, and the same robot.

    A folder is read as the store of a study (``study.run(store="out.zarr")``), finished or not: a
    :class:`recursa.StudyResult`, whose arrays are read when they are asked for.

    A file that is cut off, damaged, of a newer version or not ours is a :class:`recursa.ResultFileError`. Files of
    strangers can be read, too: no other file is opened, and time and memory go with the size of the file.

    >>> import pathlib, tempfile, recursa as rc
    >>> file = pathlib.Path(tempfile.mkdtemp(), "run.npz")
    >>> run = rc.robots.planar(2).simulate([0.3, 0.4], duration=0.1)
    >>> _ = run.save(file)
    >>> again = rc.read(file)
    >>> bool((again.q == run.q).all()), again.robot == run.robot
    (True, True)
    """
    place = Path(path)
    if place.is_dir():
        from recursa.studies.outcome import read_study  # with what studies need

        return read_study(place)
    return saved_run(place)


def saved_run(path: str | os.PathLike[str]) -> Run:
    """The run in a file, and nothing else; see :func:`read`."""
    place = Path(path)
    start = first_bytes(place)
    if start.startswith(ZIP):
        return read_run(place, Robot)
    raise ResultFileError(_what_else(place, start))


def _what_else(path: Path, start: bytes) -> str:
    """Why a file is not a saved run."""
    if not start:
        return f"file '{path}' is empty."
    if start.startswith(MAGIC):
        return f"file '{path}' holds a run that is not finished: go on with rc.resume('{path}')."
    if ZIP.startswith(start):
        return f"file '{path}' is damaged: it is cut off after {len(start)} bytes."
    if start.startswith(b"\x89HDF\r\n\x1a\n"):
        return f"file '{path}' is an HDF5 file, perhaps an export of a run. rc.read reads what run.save wrote as .npz."
    if start.startswith((b"t,", b"# losses:")):
        return f"file '{path}' is a table. rc.Trajectory.from_csv reads it; rc.read reads .npz."
    return f"file '{path}' is not a run that Recursa saved: it is no .npz file."


def resume(
    path: str | os.PathLike[str],
    *,
    torque: Any = None,
    wrenches: Any = None,
    events: Any = None,
    base: Any = None,
    prescribed: Any = None,
    progress: bool = True,
    checkpoint_every: float | None = None,
) -> Run:
    """Go on with a run from its checkpoint: ``robot.simulate(..., checkpoint=path)`` was killed or interrupted.

    The result is the same to the bit as that of a run that was never interrupted, on the same machine. Robot, options,
    stops, and torques and wrenches that are numbers or an :class:`recursa.TorqueTable` come from the file. Functions,
    controllers, trajectories, motions of the base, prescribed ones and events cannot be kept there: give the same ones
    again. What a controller such as ``control.Adaptive`` had learned goes on from the file; one of your own that keeps
    something to itself starts with what you give it. ``path`` may also be the name of a result, whose checkpoint is
    ``<path>.part``. The run goes on with checkpoints; a file of a run that came to its end gives that run.

    >>> import pathlib, tempfile, recursa as rc
    >>> file = pathlib.Path(tempfile.mkdtemp(), "run.part")
    >>> run = rc.robots.planar(2).simulate([0.3, 0.4], duration=0.1, torque=[0.2, 0.1], checkpoint=file)
    >>> bool((rc.resume(file).q == run.q).all())
    True
    """
    every = None if checkpoint_every is None else interval(checkpoint_every)
    given = Influences(torque=torque, wrenches=wrenches, events=events, base=base, prescribed=prescribed)
    with held_journal(path) as journal:
        kept = Kept(journal.path)  # now that nobody else appends
        journal.end = kept.end
        simulation = kept.simulation(Robot(kept.model), given, progress)
        counts = len(simulation.samples), len(simulation.happened), len(simulation.pieces)
        keeper = None if kept.finished else Checkpoint(journal, kept.every if every is None else every, counts)
        return simulation.run(keeper)
