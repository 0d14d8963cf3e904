"""What other systems lack or do differently, pretended here: locks, syncing, bounds of processes, forks."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import recursa as rc
from recursa import files, processes, waits
from recursa.cli.versions import versions
from recursa.runs.journal import Journal, read_blocks


class ByteLocks:
    """As Windows has them: a byte at the current position, held by whoever opened the file."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self.held: dict[tuple[int, int], int] = {}

    def locking(self, file: int, mode: int, count: int) -> None:
        assert (mode, count) == (self.LK_NBLCK, 1)
        place = os.fstat(file).st_ino, os.lseek(file, 0, os.SEEK_CUR)
        if self.held.setdefault(place, file) != file:
            raise PermissionError(13, "Permission denied")


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> ByteLocks:
    locks = ByteLocks()
    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.setattr(files, "msvcrt", locks)
    monkeypatch.setattr(files, "OPEN_FILES_CAN_BE_REPLACED", False)
    return locks


def test_windows_locks_a_byte_that_holds_no_data(tmp_path: Path, windows: ByteLocks) -> None:
    path = tmp_path / "run.npz.part"
    with Journal(path, new=True) as journal:
        journal.begin([b"first"])
        journal.append(b"second")
        with pytest.raises(rc.ResultFileError, match="being written by another process"):
            Journal(path)
        assert read_blocks(path)[0] == [b"first", b"second"]
        ((_, at),) = windows.held
    assert at == 2**31 - 2 > path.stat().st_size


def test_windows_begins_in_the_open_file_and_discards_after_closing(
    tmp_path: Path, windows: ByteLocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.npz.part"
    monkeypatch.setattr(os, "replace", lambda *_: pytest.fail("an open file cannot be replaced there"))
    closed, close = [], os.close
    monkeypatch.setattr(os, "close", lambda file: (closed.append(file), close(file))[1])
    unlink = Path.unlink

    def only_closed(one: Path, missing_ok: bool = False) -> None:
        assert closed, "an open file cannot be removed there"
        unlink(one, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", only_closed)
    with Journal(path, new=True) as journal:
        journal.begin([b"first"])
        journal.discard()
        assert not path.exists()
    assert len(closed) == 1  # not again: somebody else may have that number by now


def test_windows_leaves_no_empty_checkpoint(tmp_path: Path, windows: ByteLocks) -> None:
    Journal(tmp_path / "run.npz.part", new=True).close()
    assert list(tmp_path.iterdir()) == []


def test_windows_runs_with_checkpoints(tmp_path: Path, windows: ByteLocks) -> None:
    arm = rc.robots.planar(2)
    given: dict[str, Any] = {"duration": 0.05, "integrator": "rk4", "step": 0.01, "progress": False}
    run = arm.simulate([0.3, 0.4], **given, checkpoint=tmp_path / "run.npz.part")
    assert (run.q == arm.simulate([0.3, 0.4], **given).q).all()
    assert windows.held


def test_stores_of_studies_are_locked_on_windows(tmp_path: Path, windows: ByteLocks) -> None:
    pytest.importorskip("zarr")
    from recursa.studies.stores import Store

    store = Store.at(tmp_path / "out.zarr", None, None)
    with (
        store.held(),
        pytest.raises(rc.StudyError, match="another process is writing"),
        store.held(),
    ):
        pass


def test_without_any_locks_files_are_taken_to_be_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    with (tmp_path / "some").open("wb") as file:
        monkeypatch.setattr(files, "fcntl", SimpleNamespace(flock=refuse, LOCK_EX=2, LOCK_NB=4))
        assert files.locked(file.fileno())
        monkeypatch.setattr(files, "fcntl", None)
        monkeypatch.setattr(files, "msvcrt", None)
        assert files.locked(file.fileno())


@pytest.mark.parametrize(("refusals", "works"), [(2, True), (100, False)])
def test_whoever_looks_at_a_file_gets_a_moment_to_leave(
    tmp_path: Path, windows: ByteLocks, monkeypatch: pytest.MonkeyPatch, refusals: int, works: bool
) -> None:
    replace, left = os.replace, iter(range(refusals))
    paused: list[float] = []
    monkeypatch.setattr(files.time, "sleep", paused.append)

    def looked_at(*given: Any) -> None:
        if next(left, None) is not None:
            raise PermissionError(13, "Permission denied")
        replace(*given)

    monkeypatch.setattr(os, "replace", looked_at)
    (tmp_path / "a").write_text("old")
    if works:
        files.write_together({tmp_path / "a": "new"})
    else:
        with pytest.raises(rc.RecursaError, match=r"cannot write '.*a': Permission denied"):
            files.write_together({tmp_path / "a": "new"})
    assert (tmp_path / "a").read_text() == ("new" if works else "old")
    assert os.listdir(tmp_path) == ["a"] and 0 < sum(paused) < 2


@pytest.mark.parametrize("has", [True, False])
def test_on_a_mac_the_disk_itself_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has: bool) -> None:
    asked, synced = [], []

    def control(file: int, what: int) -> None:
        asked.append(what)
        if not has:
            raise OSError(45, "Operation not supported")

    monkeypatch.setattr(files, "fcntl", SimpleNamespace(fcntl=control, F_FULLFSYNC=51))
    monkeypatch.setattr(os, "fsync", synced.append)
    files.write_together({tmp_path / "a": "new"})
    assert asked == [51, 51] and len(synced) == (0 if has else 2)  # the file, and its folder


def test_bounds_that_a_system_refuses_do_not_take_the_others_along(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {}

    def set_limit(which: int, limits: tuple[int, int]) -> None:
        if which == 5:
            raise ValueError("current limit exceeds maximum limit")
        kept[which] = limits

    fake = SimpleNamespace(setrlimit=set_limit, RLIMIT_AS=5, RLIMIT_CPU=0, RLIMIT_CORE=4)
    monkeypatch.setitem(sys.modules, "resource", fake)
    processes.bound(2**30, 7)
    assert kept == {0: (7, 7), 4: (0, 0)}
    monkeypatch.setitem(sys.modules, "resource", None)
    processes.bound(2**30, 7)


LACKING = """
import os, sys
for name in ("fcntl", "resource"):
    sys.modules[name] = None
lacking = "register_at_fork", "fork", "geteuid", "getuid", "sched_getaffinity", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"
for name in lacking:
    if hasattr(os, name):
        delattr(os, name)
import numpy as np, recursa as rc
from recursa.kernels import native
from recursa.studies.engines import cores
native._POSIX = False
os.environ["LOCALAPPDATA"] = os.environ["XDG_CACHE_HOME"]
arm = rc.robots.by_name("desk_arm")
q, v = arm.random_state(1)
assert np.allclose(arm.forward_dynamics(q, v, arm.inverse_dynamics(q, v, 0 * v)), 0, atol=1e-9)
arm.inverse_dynamics(np.tile(q, (70, 1)), np.tile(v, (70, 1)), np.tile(0 * v, (70, 1)))
assert cores() >= 1 and any(native.directory().iterdir())
arm.simulate(q, duration=0.02, progress=False).save("run.npz")
assert rc.read("run.npz").q.shape[1] == arm.nq
assert isinstance(rc.robots.planar(2).to_html("arm.html").read_text("utf-8"), str)
"""


def test_everything_works_without_what_windows_lacks(tmp_path: Path) -> None:
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache"), "RECURSA_CACHE": ""}
    command = [sys.executable, "-W", "error::RuntimeWarning", "-c", LACKING]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- what is told ----------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_parts_of_long_work_are_named_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("rich.status.Status.update", lambda _, text: said.append(text))
    monkeypatch.setattr(sys, "stderr", Terminal())
    with waits.told("counting"):
        rc.count(rc.robots.planar(2), "inverse_dynamics")
    rc.count(rc.robots.planar(2), "mass_matrix")
    assert said == ["counting: inverse dynamics, 'planar2' with 2 freedoms"]


def test_nothing_is_told_where_nobody_reads_along(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with waits.told("counting"):
        waits.now("one")
    assert stream.getvalue() == ""


def test_versions_of_what_matters(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import llvmlite
    import numpy as np

    monkeypatch.setenv("RECURSA_CACHE", str(tmp_path))
    told = versions()
    assert told["recursa"] == rc.__version__ and told["NumPy"] == np.__version__ and told["cache"] == str(tmp_path)
    assert told["llvmlite"].startswith(f"{llvmlite.__version__}, LLVM ") and "lanes" in told["processor"]
    monkeypatch.setitem(sys.modules, "recursa._entry", None)
    assert versions()["C extension"] == "no"
    monkeypatch.setenv("RECURSA_CACHE", "off")
    assert versions()["cache"] == "none"
