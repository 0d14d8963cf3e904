"""Runs that are cut short and go on: the result equals that of a run that was never interrupted, to the bit."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import recursa as rc
from comparing import equal_runs
from recursa import files
from recursa.cli.commands import recursa
from recursa.integrators import INTEGRATORS, names
from recursa.runs import journal
from recursa.runs.npz_files import pack, unpack
from recursa.simulation.checkpoint import Kept
from recursa.trajectories.csv_files import write_table


def rubbing() -> rc.Robot:
    """A ball joint and two that rub, one with a limit: quaternions, friction that sticks, stops."""
    b = rc.Builder("rubbing")
    for k in (1, 2, 3):
        b.link(f"l{k}", mass=1.0 + 0.1 * k, com=(0.02, 0.1, -0.3), inertia=(0.02, 0.03, 0.04, 0.001, -0.002, 0.003))
    b.joint("ball", "spherical", parent="world", child="l1")
    b.joint(
        "two", "revolute", parent="l1", child="l2", axis=(0, 1, 0), xyz=(0, 0, -0.4), friction=0.3, limits=(-0.2, 0.2)
    )
    b.joint("three", "revolute", parent="l2", child="l3", axis=(1, 0, 0), xyz=(0, 0, -0.4), damping=0.1, friction=2.0)
    return b.build()


def arguments(integrator: str, **more: Any) -> dict[str, Any]:
    t = np.linspace(0.0, 0.4, 9)
    tau = np.random.default_rng(2).normal(size=(9, 5)) * 0.3
    adaptive = INTEGRATORS[integrator].adaptive
    return {
        "duration": 0.25, "integrator": integrator, "rtol": 1e-5, "atol": 1e-6, "step": None if adaptive else 0.015,
        "torque": rc.TorqueTable(t, tau), "stops": True, "dense": adaptive, "progress": False, **more,
    }  # fmt: skip


START = ([0.1, -0.2, 0.3, np.sqrt(0.86), 0.15, 0.3], [0.5, -1.0, 0.2, 1.5, 0.0])


def turn(t: float, q: np.ndarray, v: np.ndarray) -> float:
    return float(v[0])


# ---- cut off anywhere ------------------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.parametrize("integrator", names("simulate"))
def test_run_resumed_from_a_file_cut_anywhere_equals_the_whole_run(integrator: str, tmp_path: Path) -> None:
    robot, file = rubbing(), tmp_path / "run.part"
    given = arguments(integrator, events={"turn": turn})
    whole = robot.simulate(*START, **given)
    assert whole.events
    kept = robot.simulate(*START, **given, checkpoint=file, checkpoint_every=0)
    equal_runs(kept, whole, seconds=False)
    data = file.read_bytes()
    first = Kept(file)
    assert first.finished
    rng = np.random.default_rng(7)
    least = _end_of_block(data, 2)
    for length in [least, *rng.integers(least, len(data), 5).tolist()]:
        file.write_bytes(data[:length])
        resumed = rc.resume(file, events={"turn": turn}, progress=False, checkpoint_every=1e9)
        equal_runs(resumed, whole, seconds=False)
        if given["dense"]:
            assert np.array_equal(resumed.at(0.123)[0], whole.at(0.123)[0])
        equal_runs(rc.resume(file, events={"turn": turn}), whole, seconds=False)  # it is finished now
    for length in [*range(0, 40, 3), *rng.integers(40, least, 20).tolist()]:  # before the first checkpoint was whole
        file.write_bytes(data[:length])
        with pytest.raises(rc.ResultFileError, match="cut off"):
            rc.resume(file, events={"turn": turn})


def _end_of_block(data: bytes, number: int) -> int:
    return [stop for _, stop in journal._extents(data)][number - 1]


def test_wrong_byte_in_a_block_goes_back_to_the_one_before(tmp_path: Path) -> None:
    robot, file = rubbing(), tmp_path / "run.part"
    whole = robot.simulate(*START, **arguments("rk4"), checkpoint=file, checkpoint_every=0)
    data = bytearray(file.read_bytes())
    data[_end_of_block(bytes(data), 9) - 5] ^= 64
    file.write_bytes(data)
    assert Kept(file).t == whole.t[6]  # blocks 1 and 2 are the start
    equal_runs(rc.resume(file, progress=False), whole, seconds=False)


def test_times_asked_for_and_wrenches_are_kept(tmp_path: Path) -> None:
    robot, file = rc.robots.free_flyer(2), tmp_path / "run.part"
    q, v = robot.random_state(seed=1)
    for wrenches in ([rc.Wrench(at="link2", force=(0, 1.0, 3.0), point=(0.1, 0, 0))], np.ones((robot.nlinks, 6))):
        given = {"duration": 0.2, "rtol": 1e-5, "samples": 7, "wrenches": wrenches, "torque": np.arange(8.0)}
        whole = robot.simulate(q, v, **given)
        robot.simulate(q, v, **given, checkpoint=file, checkpoint_every=0)
        data = file.read_bytes()
        file.write_bytes(data[: _end_of_block(data, 4)])
        equal_runs(rc.resume(file), whole, seconds=False)


# ---- interrupted -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no such signals here")
def test_keyboard_interrupt_keeps_the_last_step(tmp_path: Path) -> None:
    robot, file = rc.robots.planar(2), tmp_path / "run.part"
    given: dict[str, Any] = {"duration": 0.5, "integrator": "rk4", "step": 5e-3}
    whole = robot.simulate([0.1, 0.2], **given)
    main = threading.main_thread().ident or 0
    calls = []

    def torque(t: float, q: np.ndarray, v: np.ndarray) -> list[float]:
        calls.append(t)
        if len(calls) == 200:
            signal.pthread_kill(main, signal.SIGINT)
        return [0.0, 0.0]

    run = robot.simulate([0.1, 0.2], **given, torque=torque, checkpoint=file, checkpoint_every=1e9)
    assert run.interrupted
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert Kept(file).t == run.t[-1] > 0.1
    with pytest.raises(rc.StateError, match=r"came from '.*torque', and functions cannot be kept"):
        rc.resume(file)
    resumed = rc.resume(file, torque=torque)
    for name in ("t", "q", "v", "a"):
        assert np.array_equal(getattr(resumed, name), getattr(whole, name)), name


def test_failed_run_goes_on_when_its_torque_is_mended(tmp_path: Path) -> None:
    robot, file = rc.robots.planar(1), tmp_path / "run.part"
    given: dict[str, Any] = {"duration": 0.3, "integrator": "rk4", "step": 0.01}

    class BrokenError(Exception):
        pass

    def torque(t: float, q: np.ndarray, v: np.ndarray) -> list[float]:
        if t > 0.2:
            raise BrokenError
        return [0.1]

    with pytest.raises(BrokenError):
        robot.simulate([0.1], **given, torque=torque, checkpoint=file, checkpoint_every=0)
    resumed = rc.resume(file, torque=lambda t, q, v: [0.1])
    whole = robot.simulate([0.1], **given, torque=[0.1])
    equal_runs(resumed, whole, seconds=False)


def test_full_disk_does_not_end_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    robot, file = rc.robots.planar(1), tmp_path / "run.part"
    given: dict[str, Any] = {"duration": 0.1, "integrator": "rk4", "step": 0.01}
    whole = robot.simulate([0.1], **given)
    write, count = os.write, [0]

    def sometimes(file: int, data: Any) -> int:
        count[0] += 1
        if count[0] == 3:
            write(file, data[: len(data) // 2])
            raise OSError(28, "No space left on device")
        return write(file, data)

    monkeypatch.setattr(os, "write", sometimes)
    with pytest.warns(UserWarning, match=r"no checkpoint at t = .* s: cannot write '.*': No space left"):
        run = robot.simulate([0.1], **given, checkpoint=file, checkpoint_every=0)
    monkeypatch.undo()
    equal_runs(run, whole, seconds=False)
    equal_runs(rc.resume(file), whole, seconds=False)


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_checkpoint_that_could_go_on_is_not_overwritten(tmp_path: Path) -> None:
    robot, file = rc.robots.planar(1), tmp_path / "run.part"
    run = robot.simulate([0.1], duration=0.1, checkpoint=file, checkpoint_every=0)
    robot.simulate([0.1], duration=0.1, checkpoint=file, checkpoint_every=0)  # of a finished one nothing is lost
    data = file.read_bytes()
    file.write_bytes(data[: _end_of_block(data, 3)])
    with pytest.raises(rc.ResultFileError, match=r"not finished \(at t = .* of 0\.1 s\): go on with rc\.resume"):
        robot.simulate([0.1], duration=0.1, checkpoint=file)
    file.write_text("precious")
    with pytest.raises(rc.ResultFileError, match="exists and is no checkpoint"):
        robot.simulate([0.1], duration=0.1, checkpoint=file)
    assert file.read_text() == "precious"
    with pytest.raises(rc.ResultFileError, match="is not a checkpoint"):
        rc.resume(file)
    for every in (-1.0, "often", np.nan):
        with pytest.raises(rc.StateError, match="checkpoint_every"):
            robot.simulate([0.1], duration=0.1, checkpoint=tmp_path / "other", checkpoint_every=every)  # type: ignore[arg-type]
    saved = run.save(tmp_path / "run.npz")
    with pytest.raises(rc.ResultFileError, match=r"is a saved run, and there is no '.*run\.npz\.part'"):
        rc.resume(saved)
    with pytest.raises(rc.ResultFileError, match="there is no file"):
        rc.resume(tmp_path / "nothing")


def test_other_versions_and_other_arguments_are_refused(tmp_path: Path) -> None:
    robot, file = rc.robots.planar(1), tmp_path / "run.part"
    robot.simulate([0.1], duration=0.1, torque=[0.1], events={"turn": turn}, checkpoint=file, checkpoint_every=0)
    with pytest.raises(rc.StateError, match="torque are in the file: leave it out"):
        rc.resume(file, torque=[0.2], events={"turn": turn})
    with pytest.raises(rc.StateError, match="wrenches had none"):
        rc.resume(file, wrenches=lambda t, q, v: [], events={"turn": turn})
    with pytest.raises(rc.StateError, match="began with the events 'turn'; given are none"):
        rc.resume(file)
    with pytest.raises(rc.StateError, match="stop= or direction= differ"):
        rc.resume(file, events={"turn": rc.Event(turn, stop=True)})
    with pytest.raises(rc.ResultFileError, match=r"not finished: go on with rc\.resume"):
        rc.read(file)
    data = file.read_bytes()
    file.write_bytes(data.replace(b"checkpoint 1\n", b"checkpoint 7\n", 1))
    with pytest.raises(rc.ResultFileError, match="in version 7 of the format; this Recursa reads version 1"):
        rc.resume(file, events={"turn": turn})


@pytest.mark.skipif(sys.platform == "win32", reason="no such locks here")
def test_run_that_is_still_under_way_is_not_resumed(tmp_path: Path) -> None:
    file = tmp_path / "run.part"

    def torque(t: float, q: np.ndarray, v: np.ndarray) -> list[float]:
        with pytest.raises(rc.ResultFileError, match="being written by another process"):
            rc.resume(file, torque=torque)
        return [0.1]

    run = rc.robots.planar(1).simulate(
        [0.1], duration=0.02, integrator="rk4", step=0.01, torque=lambda t, q, v: torque(t, q, v) if t > 0 else [0.1],
        checkpoint=file,
    )  # fmt: skip
    assert run.status == "finished"


@pytest.mark.skipif(sys.platform == "win32", reason="no such locks here")
def test_of_two_runs_on_one_checkpoint_one_goes_on(tmp_path: Path) -> None:
    robot, file = rc.robots.planar(1), tmp_path / "run.part"
    for _ in range(20):
        start, ends = threading.Barrier(2), []

        def one(start: threading.Barrier = start, ends: list[str] = ends) -> None:
            start.wait()
            try:
                run = robot.simulate([0.1], duration=0.03, integrator="rk4", step=0.001, checkpoint=file,
                                     checkpoint_every=0)  # fmt: skip
                ends.append(run.status)
            except rc.ResultFileError as error:
                ends.append("refused" if "another process" in str(error) else str(error))

        threads = [threading.Thread(target=one) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(ends) in (["finished", "refused"], ["finished", "finished"])  # or one after the other
        assert Kept(file).finished
        assert os.listdir(tmp_path) == ["run.part"]


@pytest.mark.skipif(sys.platform == "win32", reason="no such locks here")
def test_restart_leaves_a_run_under_way_alone(tmp_path: Path) -> None:
    file = tmp_path / "run.npz.part"
    rc.robots.planar(3).simulate([0.1, 0, 0], duration=0.1, checkpoint=file)
    with journal.Journal(file) as held:
        before = file.read_bytes()
        result = CliRunner().invoke(
            recursa, ["simulate", "planar", "--duration", "0.1", "-o", str(tmp_path / "run.npz"), "--restart"]
        )
        assert isinstance(result.exception, rc.ResultFileError)
        assert "being written by another process" in str(result.exception)
        assert file.read_bytes() == before
        file.unlink()
        file.write_bytes(b"of another run")
        held.discard()
    assert file.read_bytes() == b"of another run"


def test_checkpoint_that_cannot_begin_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "run.part"

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(rc.ResultFileError, match=r"cannot write '.*run\.part': No space left"):
        rc.robots.planar(1).simulate([0.1], duration=0.1, checkpoint=file)
    assert not os.listdir(tmp_path)


def test_what_killed_runs_left_beside_a_checkpoint_is_removed_by_the_next(tmp_path: Path) -> None:
    old, young = tmp_path / ".run.part.0123abcd", tmp_path / ".run.part.4567abcd"
    for left in (old, young):
        left.write_bytes(b"half")
    past = time.time() - 2 * files._STALE
    os.utime(old, (past, past))
    rc.robots.planar(1).simulate([0.1], duration=0.01, checkpoint=tmp_path / "run.part")
    assert sorted(os.listdir(tmp_path)) == [young.name, "run.part"]


def test_full_disk_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal.Journal, "append", full)
    with pytest.warns(UserWarning, match="no checkpoint") as said:
        rc.robots.planar(1).simulate(
            [0.1], duration=0.1, integrator="rk4", step=0.01, checkpoint=tmp_path / "run.part", checkpoint_every=0
        )
    assert len(said) == 1


# ---- made by strangers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda header, last: header["options"].update(duration=float("nan")),
        lambda header, last: header["options"].update(duration="long"),
        lambda header, last: header["options"].update(integrator=[]),
        lambda header, last: header.update(robot="[" * 100_000),
        lambda header, last: header.update(robot=3),
        lambda header, last: header.update(digest="0"),
        lambda header, last: header.update(digest="0", recursa="9.9"),
        lambda header, last: header.update(every=float("nan")),
        lambda header, last: header.pop("acting"),
        lambda header, last: header.update(acting={"torque": {"kind": "table"}, "wrenches": None, "events": []}),
        lambda header, last: last["state"].pop("stepper"),
        lambda header, last: last["state"].update(stepper=[]),
        lambda header, last: last["state"]["stepper"]["solver"].update(h_abs=float("nan")),
        lambda header, last: last["state"].update(accepted=(float("nan"), last["state"]["accepted"][1])),
        lambda header, last: last["state"].update(accepted=(0.0, (np.zeros(3), np.zeros(1), np.zeros(2)))),
        lambda header, last: last["state"].update(stopped_by="\x1b]0;title\x07"),
        lambda header, last: last.update(samples=[np.zeros(3)] * 6),
        lambda header, last: last.update(happened=[("e", 0.0, np.zeros(1), np.zeros(7))]),
        lambda header, last: last.update(happened=[("e", "\x1b[2J", np.zeros(1), np.zeros(1))]),
        lambda header, last: last.update(happened=[("e", float("nan"), np.zeros(1), np.zeros(1))]),
        lambda header, last: last["state"].update(accepted=(0.0, (np.zeros(1), ["x"], np.zeros(2)))),
        lambda header, last: last.update(samples=[np.zeros(1), *[np.zeros((1, 1)) * 1j] * 4, np.zeros((1, 2))]),
        lambda header, last: header.pop("digest"),
        lambda header, last: last["state"].update(seconds="long"),
        lambda header, last: last["state"].update(evaluations=[]),
        lambda header, last: last["state"]["stepper"].update(steps={}),
        lambda header, last: header.update(every=10**400),
        lambda header, last: header.update(q0=np.zeros(4)),
        lambda header, last: header["options"].update(step=1e-300),
        lambda header, last: header["options"].update(times=np.array([0.0, 0.5])),
        lambda header, last: header["options"].update(times=[10**400]),
        lambda header, last: header["acting"].update(torque={"kind": "constant", "values": np.array([np.nan])}),
        lambda header, last: header["acting"].update(
            torque={"kind": "table", "t": np.zeros(2), "tau": np.zeros((2, 1)), "between": "linear"}
        ),
        lambda header, last: last.update(samples=[np.array([0.2]), *[np.zeros((1, 1))] * 4, np.zeros((1, 2))]),
        lambda header, last: last.update(pieces=_pieces(header, 0.05) | {"start": np.zeros((1, 5))}),
        lambda header, last: last.update(pieces=_pieces(header, 0.3)),
        lambda header, last: last["state"].update(accepted=(0.05, last["state"]["accepted"][1])),
        lambda header, last: last["state"]["stepper"]["solver"].update(y=np.array([0.1, 1e9])),
    ],
)
def test_checkpoint_with_a_right_checksum_and_wrong_content_is_refused(change: Any, tmp_path: Path) -> None:
    file = tmp_path / "run.part"
    rc.robots.planar(1).simulate([0.1], duration=0.1, checkpoint=file, checkpoint_every=0)
    _require_refused(file, change)


def _require_refused(file: Path, change: Any) -> None:
    """Changed so, with right checksums, and in a run that would go on."""
    header, *checkpoints = map(unpack, journal.read_blocks(file)[0])
    checkpoints[-1]["finished"] = False
    change(header, checkpoints[-1])
    file.write_bytes(journal._FIRST_LINE + b"".join(journal.block(pack(one)) for one in (header, *checkpoints)))
    with pytest.raises(rc.ResultFileError, match=f"'{re.escape(str(file))}' is damaged"):
        rc.resume(file)


def _pieces(header: dict[str, Any], end: float) -> dict[str, np.ndarray]:
    header["options"]["dense"] = True
    span = np.array([[0.0, end, 0.0, end]])
    return {"span": span, "start": np.zeros((1, 2)), "coefficients": np.zeros((1, 7, 2))}


WRONG = [10**400, float("nan"), "x", None, {}, np.zeros(7), np.full(9, 1e9)]


@pytest.mark.parametrize("integrator", ["dop853", "radau", "rk4"])
def test_nothing_that_is_kept_can_be_anything(integrator: str, tmp_path: Path) -> None:
    """Every number and array of a state exchanged for what is none of it: never an exception of another kind."""
    file = tmp_path / "run.part"
    given = arguments(integrator, checkpoint=file, checkpoint_every=0, dense=False, duration=0.03, samples=3)
    rubbing().simulate(*START, **given)
    blocks = journal.read_blocks(file)[0][:-1]
    refused = 0
    for path in _leaves(unpack(blocks[-1])["state"]):
        for wrong in WRONG:
            last = unpack(blocks[-1])
            holder = last["state"]
            for key in path[:-1]:
                holder = holder[key]
            if wrong is None and holder[path[-1]] is None:
                continue
            holder[path[-1]] = wrong
            changed = [*blocks[:-1], pack(last)]
            file.write_bytes(journal._FIRST_LINE + b"".join(map(journal.block, changed)))
            try:
                rc.resume(file, progress=False)  # Radau can do without some of what it keeps
            except rc.ResultFileError as error:
                refused += "is damaged" in str(error)
            else:
                assert wrong is None, path
    assert refused > 10 * len(WRONG)


def _leaves(kept: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    for name, value in kept.items():
        if isinstance(value, dict):
            yield from ((name, *more) for more in _leaves(value))
        yield (name,)


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.update(next_time=0),
        lambda state: state["stepper"].update(count=state["stepper"]["count"] - 3),
        lambda state: state["stepper"].update(count=10**15),
        lambda state: state["stepper"].update(origin=0.09),
    ],
)
def test_run_does_not_go_back_in_time(change: Any, tmp_path: Path) -> None:
    file = tmp_path / "run.part"
    rc.robots.planar(1).simulate(
        [0.1], duration=0.1, integrator="rk4", step=0.01, samples=5, checkpoint=file, checkpoint_every=0
    )
    _require_refused(file, lambda header, last: change(last["state"]))


@pytest.mark.parametrize(
    "change",
    [
        lambda solver: solver.update(fun=3),
        lambda solver: solver.update(J=np.full(solver["J"].shape, np.nan)),
        lambda solver: solver.update(LU_real=(solver["J"], np.full(len(solver["y"]), 2**30))),
        lambda solver: solver.update(LU_complex=(solver["J"], np.arange(len(solver["y"])))),
        lambda solver: solver.update(Z=solver["Z"], t_old=None),
        lambda solver: solver.update(h_abs_old=0.0),
        lambda solver: solver.update(jac_factor=np.zeros(len(solver["y"]))),
    ],
)
def test_wrong_factors_are_not_given_to_lapack(change: Any, tmp_path: Path) -> None:
    file = tmp_path / "run.part"
    rc.robots.planar(2).simulate([0.1, 0.2], duration=0.1, integrator="radau", checkpoint=file, checkpoint_every=0)
    _require_refused(file, lambda header, last: change(last["state"]["stepper"]["solver"]))


def test_exceptions_of_functions_stay_what_they_are_when_a_run_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "run.part"
    rc.robots.planar(1).simulate([0.1], duration=0.1, torque=lambda t, q, v: [0.0], checkpoint=file)

    def wrong(t: float, q: Any, v: Any) -> Any:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine") as raised:
        rc.resume(file, torque=wrong)
    assert not isinstance(raised.value, rc.RecursaError)


@pytest.mark.parametrize("option", ["duration", "step", "rtol", "checkpoint_every", "samples"])
def test_numbers_beyond_floats_are_refused(option: str, tmp_path: Path) -> None:
    value = [10**400] if option == "samples" else 10**400
    with pytest.raises(rc.StateError, match=option):
        rc.robots.planar(1).simulate([0.1], **{"duration": 0.1, "checkpoint": tmp_path / "run.part", option: value})


@pytest.mark.parametrize(
    "payload",
    [
        b"", b"\x01", b"\xff" * 8, b"\x02" + b"\0" * 7 + b"{}", b"\x64" + b"\0" * 7 + b"[" * 100,
        *(
            len(text).to_bytes(8, "little") + text
            for text in (b"[" * 100_000, b'{"array": ["O", [1], "C"]}', b'{"array": ["<f8", [99], "C"]}', b"7" * 5000,
                         b'{"array": ["<f8", [-1], "C"]}', b'{"array": ["<f8", [4611686018427387904, 4], "C"]}',
                         b'{"other": 1}', b'{"dict": []}')
        ),
    ],
)  # fmt: skip
def test_block_that_was_not_packed_is_refused(payload: bytes, tmp_path: Path) -> None:
    file = tmp_path / "run.part"
    file.write_bytes(journal._FIRST_LINE + journal.block(payload) * 2)
    with pytest.raises(rc.ResultFileError, match="is damaged"):
        rc.resume(file)


# ---- killed ----------------------------------------------------------------------------------------------------------


def _command(*words: str) -> list[str]:
    return [sys.executable, "-m", "recursa", "simulate", *words]


def _killed_after(command: list[str], part: Path, seconds: float) -> bool:
    """Start it, let it work for a while once it keeps checkpoints, and kill it; False if it was faster."""
    before = part.stat().st_size if part.exists() else 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60.0
    while process.poll() is None and time.monotonic() < deadline:
        if part.exists() and part.stat().st_size > before + 1:
            time.sleep(seconds)
            break
        time.sleep(0.002)
    process.kill()
    _, said = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), said.decode()
    return process.returncode != 0


def _kill_and_resume(tmp_path: Path, integrator: str, duration: float, kills: int, seed: int) -> int:
    robot = rc.robots.planar(2)
    torque = tmp_path / "torque.csv"
    t = np.linspace(0.0, duration, 40)
    rows = np.column_stack([t, 0.1 * np.sin(9 * t), 0.05 * np.cos(7 * t)])
    write_table(torque, ["t", "joint1", "joint2"], rows)
    out, part = tmp_path / "run.npz", tmp_path / "run.npz.part"
    step = [] if INTEGRATORS[integrator].adaptive else ["--step", "0.002"]
    begun = _command("planar2.urdf", "--duration", repr(duration), "--torque", str(torque), "--q0", "joint1=0.4",
                     "--integrator", integrator, *step, "-o", str(out), "--checkpoint-every", "0")  # fmt: skip
    begun[4] = str(tmp_path / "planar2.urdf")
    Path(begun[4]).write_text(robot.to_urdf())
    rng = np.random.default_rng(seed)
    killed = 0
    command = begun
    for _ in range(kills):
        if not _killed_after(command, part, float(rng.uniform(0.0, 0.25))):
            break
        killed += 1
        assert part.exists()
        assert not out.exists()
        command = _command("--resume", str(out))
    torque.unlink()  # what is needed of it is in the checkpoint
    if part.exists():
        subprocess.run(_command("--resume", str(out), "--checkpoint-every", "100"), check=True, capture_output=True)
    assert not part.exists()
    resumed = rc.read(out)
    whole = resumed.robot.simulate(  # type: ignore[attr-defined]
        {"joint1": 0.4}, duration=duration, integrator=integrator, step=0.002 if step else None,
        torque=rc.TorqueTable(rows[:, 0], rows[:, 1:]),
    )  # fmt: skip
    equal_runs(resumed, whole, seconds=False)
    return killed


@pytest.mark.skipif(sys.platform == "win32", reason="no such kill here")
def test_polite_kill_ends_a_run_cleanly_where_ctrl_c_is_ignored(tmp_path: Path) -> None:
    out, part = tmp_path / "run.npz", tmp_path / "run.npz.part"
    command = _command("planar", "--duration", "1000", "--q0", "joint1=0.4", "-o", str(out), "--checkpoint-every", "0")
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    try:
        while process.poll() is None and not (part.exists() and part.stat().st_size > 20_000):
            time.sleep(0.01)
        process.terminate()
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130, said.decode()
    assert rc.read(out).interrupted
    assert Kept(part).t == rc.read(out).t[-1]


@pytest.mark.interpreted(reason="slow enough to be killed under way")
@pytest.mark.skipif(sys.platform == "win32", reason="no such kill here")
def test_killed_command_goes_on_to_the_same_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECURSA_COMPILE", "0")  # as in this process
    assert _kill_and_resume(tmp_path, "rk4", 0.8, kills=2, seed=3) == 2


@pytest.mark.interpreted(reason="slow enough to be killed under way")
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no such kill here")
@pytest.mark.parametrize("integrator", ["dop853", "rk4", "implicit-midpoint"])
def test_command_killed_ten_times_goes_on_to_the_same_result(
    integrator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECURSA_COMPILE", "0")
    assert _kill_and_resume(tmp_path, integrator, 20.0 if integrator == "dop853" else 4.0, kills=10, seed=8) == 10


def test_runs_in_diagonal_coordinates_are_kept_and_resumed(tmp_path: Path) -> None:
    robot, file = rc.robots.planar(2), tmp_path / "run.part"
    given: dict[str, Any] = {"duration": 0.3, "coordinates": "diagonal", "dense": True}
    calls = []

    def torque(t: float, q: np.ndarray, v: np.ndarray) -> list[float]:
        calls.append(t)
        if len(calls) == 150:
            raise KeyboardInterrupt
        return [0.1, 0.0]

    cut = robot.simulate([0.1, 0.2], **given, torque=torque, checkpoint=file, checkpoint_every=0)
    assert cut.interrupted
    whole = robot.simulate([0.1, 0.2], **given, torque=lambda t, q, v: [0.1, 0.0])
    resumed = rc.resume(file, torque=lambda t, q, v: [0.1, 0.0])
    whole.save(tmp_path / "run.npz")
    for run in (resumed, rc.read(tmp_path / "run.npz")):
        assert np.array_equal(run.v, whole.v)
        assert np.array_equal(run.at(0.217)[1], whole.at(0.217)[1])
