"""Disks that are full, slow, read-only, or lose their power, under everything that writes files.

What was there stays, or what is new is there as a whole; nothing is left over; there is one clear error.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recursa as rc
from comparing import equal_runs
from faulty_disks import Disk, Files, Write, content, writers
from recursa.kernels import native
from recursa.simulation.checkpoint import Kept

resource: Any = pytest.importorskip("resource", reason="no such limits here")
NAMES = list(writers())
OLD = b"what was there before"


@pytest.fixture(params=NAMES)
def writer(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Write, Files]:
    """Where to write, with older files of the same names there; what writes; and all that is there in the end."""
    write, expected, place = writers()[request.param], tmp_path / "expected", tmp_path / "place"
    expected.mkdir()
    place.mkdir()
    write(expected / request.param)
    new = content(expected)
    for name in new:
        (place / name).write_bytes(OLD)
    return place / request.param, write, new


def test_power_that_fails_leaves_old_files_or_new_ones(
    writer: tuple[Path, Write, Files], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, write, new = writer
    moments = []

    def at(disk: Disk) -> None:
        moments.append(1)
        for state in disk.left():
            for name in new:
                assert state[name] in (OLD, new[name]), f"{name} at call {len(moments)}"

    disk = Disk(file.parent, monkeypatch, at)
    write(file)
    assert len(moments) >= 3 * 2  # to the file, its name, its folder
    assert disk.left()[0] == new  # when it returns all is lasting


def test_interrupts_at_any_call_leave_old_files_or_new_ones(
    writer: tuple[Path, Write, Files], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, write, new = writer
    for count in range(100):
        left = [count]

        def at(disk: Disk, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == -1:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            Disk(file.parent, patch, at)
            try:
                write(file)
            except KeyboardInterrupt:
                pass
            else:
                break
        found = content(file.parent)
        assert found.keys() == new.keys()
        assert all(found[name] in (OLD, new[name]) for name in new)
    assert 5 < count < 99


@pytest.mark.parametrize("share", [0.0, 0.3, 0.999])
def test_files_that_may_not_grow_are_one_clear_error(writer: tuple[Path, Write, Files], share: float) -> None:
    """The system writes a part of them, and refuses the rest."""
    file, write, new = writer
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(share * min(map(len, new.values()))), before[1]))
    try:
        with pytest.raises(rc.RecursaError, match=rf"^cannot write '{file.parent}/[\w.]+': File too large$"):
            write(file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert content(file.parent) == dict.fromkeys(new, OLD)


def test_two_writers_on_a_slow_disk_leave_the_file_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arms = [rc.robots.planar(count) for count in (2, 9)]
    file = tmp_path / "arm.robot.json"
    whole = []
    for arm in arms:
        arm.save(file)
        whole.append(file.read_bytes())
    Disk(tmp_path, monkeypatch, lambda disk: time.sleep(0.003))
    wrong: list[bytes] = []

    def work(arm: rc.Robot) -> None:
        for _ in range(5):
            arm.save(file)
            found = file.read_bytes()
            wrong.extend([] if found in whole else [found])

    workers = [threading.Thread(target=work, args=(arm,)) for arm in arms]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    assert os.listdir(tmp_path) == [file.name]


# ---- checkpoints and the cache ---------------------------------------------------------------------------------------


def test_power_that_fails_leaves_the_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, other = tmp_path / "place", tmp_path / "other"
    place.mkdir()
    other.mkdir()
    file, again = place / "run.part", other / "run.part"
    arm, given = rc.robots.planar(2), {"duration": 0.05, "integrator": "rk4", "step": 0.01, "progress": False}
    whole = arm.simulate([0.1, 0.2], **given)  # type: ignore[arg-type]
    states: list[bytes] = []
    safe = [-1.0]

    def at(disk: Disk) -> None:
        first, *others = disk.left()
        if first.get(file.name):
            again.write_bytes(first[file.name])
            safe[0] = max(safe[0], Kept(again).t)
        for state in (first, *others):
            kept = state.get(file.name, b"")
            if safe[0] < 0.0 and not kept:
                continue  # nothing was promised so far
            if kept not in states:
                states.append(kept)
            again.write_bytes(kept)
            assert Kept(again).t >= safe[0]

    with monkeypatch.context() as patch:
        Disk(place, patch, at)
        arm.simulate([0.1, 0.2], **given, checkpoint=file, checkpoint_every=0)  # type: ignore[arg-type]
    assert safe[0] == whole.t[-1]
    assert len(states) > 2 * 5
    for kept in states:
        again.write_bytes(kept)
        equal_runs(rc.resume(again, progress=False), whole, seconds=False)


def test_power_that_fails_leaves_no_half_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, other = tmp_path / "place", tmp_path / "other"
    for folder in (place, other):
        folder.mkdir(mode=0o700)
    key, payload = native.entry_key("some", "kernel"), os.urandom(50_000)
    found: list[bytes | None] = []

    def at(disk: Disk) -> None:
        for state in disk.left():
            for name, data in state.items():
                (other / name).write_bytes(data)
                (other / name).chmod(0o600)
            with monkeypatch.context() as patch:
                patch.setenv("RECURSA_CACHE", str(other))
                found.append(native.fetch(key, native.CODE))
            for name in state:
                (other / name).unlink()

    with monkeypatch.context() as patch:
        patch.setenv("RECURSA_CACHE", str(place))
        Disk(place, patch, at)
        native.keep(key, native.CODE, payload)
    assert {one for one in found if one is not None} == {payload}
    assert None in found


# ---- real file systems, small ones -----------------------------------------------------------------------------------


def small_disk(folder: Path, script: str, *, options: str = "size=64k") -> subprocess.CompletedProcess[str]:
    """Run a script of the shell on a file system of its own, mounted in a name space of its own."""
    mounted = f'mount -t tmpfs -o {options} tmpfs "$0" && cd "$0" && {script}'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mounted, str(folder)]
    environment = os.environ | {"PYTHON": sys.executable, "MPLCONFIGDIR": str(folder.parent)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def _mountable() -> bool:
    if shutil.which("unshare") is None:
        return False
    command = ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


needs_mounts = pytest.mark.skipif(not _mountable(), reason="no file system can be mounted here")
SIMULATE = '"$PYTHON" -m recursa simulate planar --duration 0.4 --samples 500 --q0 joint1=0.3 -o run.npz'


@needs_mounts
@pytest.mark.parametrize(("size", "left"), [(4, ["filler", "run.npz.part"]), (48, ["filler"])])
def test_full_disk_costs_no_more_than_a_checkpoint(size: int, left: list[str], tmp_path: Path) -> None:
    """One line, exit code 2; once there is room the run is finished from what is left of it."""
    disk = tmp_path / "disk"
    disk.mkdir()
    done = small_disk(
        disk,
        f'dd if=/dev/zero of=filler bs=1024 count={size} 2>/dev/null; {SIMULATE}; echo "code $?"; ls -A; rm filler; '
        f'mount -o remount,size=2M . ; if test -e run.npz.part; then "$PYTHON" -m recursa simulate --resume run.npz; '
        f'else {SIMULATE}; fi >/dev/null; echo "code $?"; ls -A; cp run.npz ..',
        options="size=52k",
    )
    lines = done.stdout.splitlines()
    assert lines == ["code 2", *left, "code 0", "run.npz"], done.stdout + done.stderr
    *warned, error = done.stderr.splitlines()
    assert error.startswith("recursa: cannot write 'run.npz")
    assert all(line.startswith("warning: no checkpoint at t = ") for line in warned), done.stderr
    assert len(warned) <= 1
    assert all("No space left on device" in line for line in (*warned, error))
    expected = rc.robots.planar(3).simulate({"joint1": 0.3}, duration=0.4, samples=500, progress=False)
    np.testing.assert_array_equal(rc.read(tmp_path / "run.npz").q, expected.q)


@needs_mounts
def test_read_only_disk_is_one_line(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    done = small_disk(disk, f'mount -o remount,ro . ; {SIMULATE}; echo "code $?"; ls -A')
    assert done.stdout == "code 2\n", done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("recursa: cannot write 'run.npz.part': Read-only file system")
