"""Everything that writes files, by name, and disks that fail while it does: interrupted, slow, lost with the power."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recursa as rc
from recursa.cli import linearize
from recursa.cli.state_file import State
from recursa.plotting import styles
from recursa.trajectories.csv_files import write_torques

Write = Callable[[Path], Any]
Files = dict[str, bytes]


@cache
def writers() -> dict[str, Write]:
    """By the name of a file: what writes it, the same bytes every time."""
    from matplotlib.figure import Figure

    arm, stanford = rc.robots.planar(2), rc.robots.stanford()
    run = arm.simulate([0.1, 0.2], duration=0.05, integrator="rk4", step=0.01, progress=False)
    figure = Figure(figsize=(1, 1))
    figure.add_subplot().plot(run.t, run.q)
    return {
        "run.npz": run.save,
        "run.h5": run.to_hdf5,
        "run.csv": run.save,
        "arm.robot.json": arm.save,
        "arm.dh.csv": stanford.to_dh().save,
        "arm.dh.json": stanford.to_dh().save,
        "torque.csv": lambda path: write_torques(path, arm, run.t, run.tau, losses=True),
        "mass.c": lambda path: arm.export_c("mass_matrix", path),
        "linear.npz": partial(_linearize, arm),
        "linear.json": partial(_linearize, arm),
        "figure.png": lambda path: styles.save(figure, path, 20),
        "run.gif": lambda path: run.animate(path, max_frames=2, size=0.4),
    }


def _linearize(arm: rc.Robot, path: Path) -> None:
    still = np.zeros(arm.nv)
    linearize.save(linearize.make_models(arm, State(arm.neutral(), still, still, still)), path)


def content(folder: Path) -> Files:
    """The files of a folder, whole."""
    return {one.name: one.read_bytes() for one in folder.iterdir()}


class Disk:
    """Watches a folder while something is written there, call by call.

    ``at`` is asked before and after every call that changes what is on the disk, or makes it lasting. What a loss of
    power at that moment could leave is in :meth:`left`.
    """

    CALLS = ("write", "fsync", "replace", "ftruncate", "unlink")

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, at: Callable[[Disk], None]) -> None:
        self._folder, self._at, self._looking = folder, at, False
        self._names = self._listed()  # by name the number of a file, as it is on the disk
        self._synced = {number: (folder / name).read_bytes() for name, number in self._names.items()}
        for name in self.CALLS:
            monkeypatch.setattr(os, name, self._watched(name, getattr(os, name)))

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **more: Any) -> Any:
            self._look()
            done = real(*given, **more)
            if name == "fsync":
                self._sync(given[0])
            self._look()
            return done

        return called

    def _look(self) -> None:
        there = {*self._listed().values(), *self._names.values()}  # numbers of files that are gone are given to others
        self._synced = {number: data for number, data in self._synced.items() if number in there}
        if not self._looking:
            self._looking = True
            try:
                self._at(self)
            finally:
                self._looking = False

    def _listed(self) -> dict[str, int]:
        return {one.name: one.stat().st_ino for one in self._folder.iterdir()}

    def _sync(self, descriptor: int) -> None:
        number, listed = os.fstat(descriptor).st_ino, self._listed()
        if number == self._folder.stat().st_ino:
            self._names = listed
        for name in listed:
            if listed[name] == number:
                self._synced[number] = (self._folder / name).read_bytes()

    def left(self) -> list[Files]:
        """What may be there after a loss of power now.

        Only what was made lasting; or all names, with the content that was made lasting, or half of what is more, or
        all of it.
        """
        listed, now = self._listed(), content(self._folder)
        found: list[Files] = [{name: self._synced.get(number, b"") for name, number in self._names.items()}]
        for share in (0.0, 0.5, 1.0):
            here = {}
            for name, number in listed.items():
                lasting = self._synced.get(number, b"")
                size = len(lasting) + int(share * (len(now[name]) - len(lasting)))
                here[name] = lasting if share == 0.0 else now[name][:size]
            found.append(here)
        return found
