"""Runs that survive: what there is of a run is appended to a file now and then, and a run goes on from there.

One journal (:mod:`recursa.runs.journal`): first the robot, the options, what acts; then, with every checkpoint, the
samples and events since the last one and all that the integrator needs to go on. A checkpoint costs what is new, not
what there is already, and never touches what is safe on the disk.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recursa.errors import RecursaError, ResultFileError, StateError, printable_or_refused
from recursa.files import named_file
from recursa.formats.recursa_json import model_from_text, model_text
from recursa.integrators.mechanics import from_outside
from recursa.runs import interpolants
from recursa.runs.journal import MAGIC, SUFFIX, ZIP, Journal, first_bytes, read_blocks, require_checkpoint
from recursa.runs.npz_files import MALFORMED, pack, unpack
from recursa.runs.options import Options
from recursa.runs.run import Happened, Run
from recursa.simulation.adaptive_steps import RunState
from recursa.simulation.driver import Sample, Simulation
from recursa.simulation.influences import Influences
from recursa.simulation.state_checks import array, floats, pair, real, require_described
from recursa.sweeps.batching import Array
from recursa.version import __version__

if TYPE_CHECKING:
    from recursa.robot import Robot


# ---- keeping ---------------------------------------------------------------------------------------------------------


class Checkpoint:
    """Keeps the state of a run under way between two steps, now and then and where it ends."""

    def __init__(self, journal: Journal, every: float, counts: tuple[int, int, int]) -> None:
        self._journal, self._every = journal, every
        self._counts = counts  # of samples, events, interpolants that are on the disk
        self._next = time.perf_counter() + every
        self._failing = False

    def update(self, simulation: Simulation) -> None:
        """Keep it if it is time to."""
        if time.perf_counter() >= self._next:
            self._keep(simulation)
            self._next = time.perf_counter() + self._every

    def finish(self, simulation: Simulation) -> None:
        """Keep where it ends."""
        self._keep(simulation)

    def _keep(self, simulation: Simulation) -> None:
        """A full disk is no reason to lose a run: it goes on, and the next checkpoint holds what this one lacks."""
        payload, counts = _packed(simulation, self._counts)
        try:
            self._journal.append(payload)
        except OSError as error:
            if not self._failing:  # said once, until it works again
                warnings.warn(
                    f"no checkpoint at t = {simulation.stepper.t:.6g} s: cannot write '{self._journal.path}': "
                    f"{error.strerror or error}. The run goes on",
                    stacklevel=2,
                )
            self._failing = True
        else:
            self._counts, self._failing = counts, False


def simulated_with_checkpoints(
    robot: Robot,
    options: Options,
    influences: Influences,
    q0: Array,
    v0: Array,
    path: str | os.PathLike[str],
    every: Any,
) -> Run:
    """Run from the start, with a journal at a path that is free for it."""
    seconds, model = interval(every), robot.model
    with _free_journal(path) as journal:
        simulation = influences.simulation(robot, options, q0, v0)
        header = {
            "recursa": __version__,
            "robot": model_text(model),
            "digest": model.digest,
            "options": {item.name: getattr(options, item.name) for item in fields(Options)},
            "every": seconds,
            "q0": q0,
            "v0": v0,
            "acting": influences.record(simulation),
        }
        payload, counts = _packed(simulation, (0, 0, 0))
        journal.begin([pack(header), payload])
        return simulation.run(Checkpoint(journal, seconds, counts))


def _packed(simulation: Simulation, done: tuple[int, int, int]) -> tuple[bytes, tuple[int, int, int]]:
    """One checkpoint: the state, and what came after the first ``done`` samples, events and interpolants."""
    state = simulation.state()
    lists = [state.pop(name) for name in ("samples", "happened", "pieces")]
    samples, happened, pieces = (items[count:] for items, count in zip(lists, done, strict=True))
    content = {
        "state": state,
        "finished": simulation.finished,
        "samples": [np.array(column) for column in zip(*samples, strict=True)],
        "happened": [tuple(one) for one in happened],
        "pieces": interpolants.as_arrays(simulation.options.integrator, pieces),
    }
    return pack(content), (len(lists[0]), len(lists[1]), len(lists[2]))


def interval(every: Any) -> float:
    """Seconds between checkpoints, checked."""
    try:
        seconds = float(every)
    except (TypeError, ValueError, OverflowError):
        seconds = np.nan
    if not seconds >= 0.0:
        raise StateError(f"checkpoint_every must be seconds, at least 0 (after every step), not {every!r}")
    return seconds


def _free_journal(path: str | os.PathLike[str]) -> AbstractContextManager[Journal]:
    """A journal for a new run: nothing there, or one of a run that came to its end; or one that is held already."""
    return nullcontext(path) if isinstance(path, Journal) else claimed(path, _require_finished)


def claimed(path: str | os.PathLike[str], require_replaceable: Callable[[Kept], None]) -> Journal:
    """The journal at a path, locked first and looked at then: it is empty, or what it holds may be replaced."""
    place = named_file(path)
    journal = Journal(place, new=True)
    try:
        start = first_bytes(place)
        if start and not start.startswith(MAGIC):
            raise ResultFileError(f"file '{place}' exists and is no checkpoint: it is left alone. Give another name")
        if start:
            require_replaceable(Kept(place))
    except BaseException:
        journal.close()
        raise
    return journal


def _require_finished(kept: Kept) -> None:
    if not kept.finished:
        raise ResultFileError(
            f"file '{kept.path}' holds a run that is not finished (at t = {kept.t:.6g} of {kept.options.duration:g} s):"
            f" go on with rc.resume('{kept.path}'), or delete it to start again"
        )


# ---- going on --------------------------------------------------------------------------------------------------------


class Kept:
    """What a checkpoint file holds."""

    def __init__(self, path: Path) -> None:
        self.path = path
        blocks, self.end = read_blocks(path)
        if len(blocks) < 2:
            raise ResultFileError(f"file '{path}' is cut off before its first checkpoint: nothing of the run is left.")
        try:
            self._header = unpack(blocks[0])
            self._checkpoints = [unpack(one) for one in blocks[1:]]
            self.model = model_from_text(self._header["robot"])
            stored = self._header["options"]
            self.options = Options.from_file(self.model, stored, stored["times"])
            self.every = interval(self._header["every"])
            self.finished = bool(self._checkpoints[-1]["finished"])
            self.t = float(self._checkpoints[-1]["state"]["accepted"][0])
            self._require_sound()
            same = bool(self.model.digest == self._header["digest"])
        except MALFORMED as error:
            raise _unusable(path, error) from None
        if not same:
            raise ResultFileError(f"file '{path}' is damaged: the robot in it is not the one it names")

    def _require_sound(self) -> None:
        """Times and arrays as a run of this robot has them: what the file says may be anyone's."""
        nq, nv, time = self.model.nq, self.model.nv, real(0.0, self.options.duration)
        for name, n in (("q0", nq), ("v0", nv)):
            require_described(floats(n), self._header[name], name)
        sums = len(self._checkpoints[0]["state"]["accepted"][1][2])  # two of work, then what a controller remembers
        if sums < 2:
            raise ValueError("it has no work")
        where = pair(floats(nq), floats(nv), floats(sums))
        done = 0.0
        for one in self._checkpoints:
            require_described(pair(time, where), one["state"]["accepted"], "accepted")
            if one["samples"]:
                rows = len(one["samples"][0])
                for column, width in zip(one["samples"], ((), (nq,), (nv,), (nv,), (nv,), (sums,)), strict=True):
                    require_described(array(float, rows, *width), column, "samples")
                times = np.concatenate([[done], one["samples"][0], [self.options.duration]])
                if not (np.diff(times) >= 0.0).all():
                    raise ValueError("the times of its samples do not rise, or are none of the run")
                done = times[-2]
            for name, *event in one["happened"]:
                printable_or_refused(name)
                require_described(pair(time, floats(nq), floats(nv)), tuple(event), "happened")
            printable_or_refused(one["state"]["stopped_by"])

    @property
    def samples(self) -> int:
        """How many there are so far."""
        return sum(len(one["samples"][0]) for one in self._checkpoints if one["samples"])

    def simulation(self, robot: Robot, given: Influences, progress: bool) -> Simulation:
        """The run as it was at the last checkpoint; ``robot`` is made from ``model``, ``given`` are functions."""
        try:
            return self._simulation(robot, given, progress)
        except MALFORMED as error:
            if isinstance(error, RecursaError) or from_outside(error):  # of the caller's functions
                raise
            raise _unusable(self.path, error) from None

    def _simulation(self, robot: Robot, given: Influences, progress: bool) -> Simulation:
        influences = given.recorded(self._header["acting"])
        options = replace(self.options, progress=progress)
        simulation = influences.simulation(robot, options, self._header["q0"], self._header["v0"])
        for one in self._checkpoints:
            self._require_pieces(one["pieces"], simulation.equations.size)
        simulation.restore(self._state())
        return simulation

    def _require_pieces(self, arrays: dict[str, Array], n: int) -> None:
        if not arrays:
            return
        shapes = interpolants.shapes(self.options.integrator, len(arrays["span"]), n)
        require_described({name: floats(*shape) for name, shape in shapes.items()}, arrays, "pieces")
        spans = arrays["span"]
        if not ((spans >= 0.0) & (spans <= self.options.duration)).all() or not (spans[:, 3] > spans[:, 2]).all():
            raise ValueError("its interpolants hold at times that are none of the run")

    def _state(self) -> dict[str, Any]:
        checkpoints = self._checkpoints
        state: dict[str, Any] = dict(checkpoints[-1]["state"])
        t, where = state["accepted"]
        state["accepted"] = t, RunState(*where)
        state["samples"] = [
            Sample(float(row[0]), *row[1:]) for one in checkpoints for row in zip(*one["samples"], strict=True)
        ]
        state["happened"] = [Happened(*row) for one in checkpoints for row in one["happened"]]
        integrator = self.options.integrator
        state["pieces"] = [
            piece for one in checkpoints for piece in interpolants.from_arrays(integrator, one["pieces"])
        ]
        return state


def _unusable(path: Path, error: BaseException) -> ResultFileError:
    told = " ".join(str(error).split())[:200]
    why = told if type(error) is ValueError else f"{type(error).__name__}: {told}"
    return ResultFileError(
        f"file '{path}' is damaged, or was written by another version of Recursa: {why}.\n"
        "  Go on with the version that wrote it, or with a copy of the file from before; else start the run again."
    )


def held_journal(path: str | os.PathLike[str]) -> AbstractContextManager[Journal]:
    """The journal of a run to go on with; one that is held already stays so."""
    if isinstance(path, Journal):
        return nullcontext(path)
    place = checkpoint_of(path)
    require_checkpoint(place)
    return Journal(place)


def checkpoint_of(path: str | os.PathLike[str]) -> Path:
    """The checkpoint that is meant: the file itself, or ``<name>.part`` beside it."""
    place = Path(path)
    part = place.with_name(place.name + SUFFIX) if place.name else place
    if part.is_file() and not (place.is_file() and first_bytes(place).startswith(MAGIC)):
        return part
    if first_bytes(place).startswith(ZIP):
        raise ResultFileError(
            f"file '{place}' is a saved run, and there is no '{part}' from which it could go on. rc.read reads it"
        )
    return place
