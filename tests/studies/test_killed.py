"""Workers, schedulers and clients that are killed lose nothing that was finished: what is resumed is the same."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import recursa as rc
import study_under_fire

pytest.importorskip("distributed")
pytest.importorskip("zarr")

PROGRAM = Path(study_under_fire.__file__)
_PATHS = filter(None, (str(PROGRAM.parent), os.environ.get("PYTHONPATH")))
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(_PATHS), "OMP_NUM_THREADS": "1"}
WAIT = 120.0


class Cluster:
    """A scheduler and two workers, each a process of its own that can be killed and is started again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.made = folder, 0
        self.scheduler = self.workers = None
        self.start()

    def start(self) -> None:
        """What is missing of it."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            self.made += 1
            self.file = self.folder / f"scheduler{self.made}.json"
            self.scheduler = self._process("scheduler", "--port", "0", "--dashboard-address", ":0", "--scheduler-file")
            self._stop_workers()
            until(self._is_there)
        alive = [one for one in self.workers or [] if one.poll() is None]
        more = [
            self._process("worker", "--nthreads", "1", "--no-dashboard", "--no-nanny", "--scheduler-file")
            for _ in range(2 - len(alive))
        ]
        self.workers = alive + more

    def _process(self, what: str, *options: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "dask", what, *options, str(self.file)]
        return subprocess.Popen(
            command, env=ENVIRONMENT, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def _is_there(self) -> bool:
        """Its file is made before it is written."""
        return self.file.is_file() and self.file.read_text().rstrip().endswith("}")

    @property
    def address(self) -> str:
        return json.loads(self.file.read_text())["address"]

    def _stop_workers(self) -> None:
        for one in self.workers or []:
            one.kill()
            one.wait()
        self.workers = []

    def close(self) -> None:
        self._stop_workers()
        self.scheduler.kill()
        self.scheduler.wait()


def until(true) -> None:
    end = time.monotonic() + WAIT
    while not true():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def blocks(store: Path) -> int:
    return len(list((store / ".recursa" / "blocks").glob("*.npz")))


def at_work(store: Path, cluster: Cluster) -> subprocess.Popen:
    """A client that goes on with the study; it is started again until workers are there."""
    before, end = blocks(store), time.monotonic() + WAIT
    while time.monotonic() < end:
        client = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(store), cluster.address],
            env=ENVIRONMENT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(lambda client=client: blocks(store) > before or client.poll() is not None)
        if blocks(store) > before:
            return client
    raise AssertionError("nothing is computed")


def struck(store: Path, cluster: Cluster, victim: str, dice: random.Random) -> None:
    """Go on with the study, kill somebody once some blocks more are done, and start what was killed again."""
    cluster.start()
    client = at_work(store, cluster)
    time.sleep(dice.uniform(0.0, 0.3))
    hit = {"client": client, "scheduler": cluster.scheduler, "worker": cluster.workers[dice.randrange(2)]}[victim]
    hit.send_signal(signal.SIGKILL)
    hit.wait()
    if victim == "scheduler":  # the client says so, or waits for it without end
        try:
            client.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            client.kill()
    elif victim == "worker":
        cluster.start()
        client.wait(timeout=WAIT)
    client.kill()
    client.wait()


def compare(store: Path) -> None:
    """The store, gone on with, against an undisturbed run in memory."""
    study = study_under_fire.described()
    done = {path.name: path.stat().st_mtime_ns for path in (store / ".recursa" / "blocks").glob("*.npz")}
    resumed = study.run(store=store, progress=False)
    after = {path.name: path.stat().st_mtime_ns for path in (store / ".recursa" / "blocks").glob("*.npz")}
    assert len(after) == study.total // study_under_fire.BLOCK
    assert all(after[name] == at for name, at in done.items())  # nothing was computed again
    undisturbed = study.run(progress=False)
    for name in undisturbed.names:
        assert np.array_equal(resumed[name], undisturbed[name], equal_nan=True), name
        assert np.array_equal(rc.read(store)[name], undisturbed[name], equal_nan=True), name


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize("strikes", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_resumed_study_equals_an_undisturbed_one(tmp_path, strikes) -> None:
    dice = random.Random(strikes)
    victims = (
        ["scheduler", "client", "worker"]  # after the last one the study is finished
        if strikes == 3
        else dice.choices(["worker", "scheduler", "client"], k=strikes)
    )
    cluster, store = Cluster(tmp_path), tmp_path / "out.zarr"
    try:
        for number, victim in enumerate(victims):
            if number and blocks(store) == 40:  # finished: from the beginning
                compare(store)
                store = tmp_path / f"out{number}.zarr"
            struck(store, cluster, victim, dice)
    finally:
        cluster.close()
    compare(store)
