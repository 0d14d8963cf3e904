"""Runs in files: what is read equals what was saved to the bit; what is no whole file of ours is refused clearly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import recursa as rc
from comparing import ARRAYS, equal_runs
from files_of_strangers import npy, repacked, with_about
from recursa import files
from recursa.formats.recursa_json import model_from_text, model_text
from recursa.runs.npz_files import pack, unpack
from zoo import ZOO, floating_tree_with_rotors, one_of_each, small_mixed_tree


def tied() -> rc.Robot:
    """A gripper whose second finger follows the first, with rotors, under another gravity."""
    b = rc.Builder("gripper")
    b.link("left", mass=0.3, com=(0.1, 0.02, 0), inertia=(0.001, 0.002, 0.003))
    b.link("right", mass=0.2, com=(0.05, -0.02, 0.01), inertia=(0.001, 0.002, 0.0015))
    b.joint("one", "revolute", parent="world", child="left", axis=(0, 1, 0.1), armature=0.01, friction=0.02)
    b.joint("two", "revolute", parent="world", child="right", axis=(0, 1, 0), xyz=(0.1, 0.2, 0.3), rpy=(0.1, 0.2, 0.3),
            mimic=("one", -0.7, 0.1), damping=0.05, limits=(-3.0, np.inf))  # fmt: skip
    return b.build(gravity=(0.1, -0.3, -1.62), mimic="tie")


ROBOTS: dict[str, Callable[[], rc.Robot]] = {
    "stanford": rc.robots.stanford,
    "free_flyer": lambda: rc.robots.free_flyer(2),
    "tied": tied,
    "one_of_each": one_of_each,
    "floating": floating_tree_with_rotors,
    "unicode": lambda: rc.load('<robot name="Ärmchen 手"><link name="base"/></robot>'),
}


def short_run(robot: rc.Robot, **options: Any) -> rc.Run:
    q, v = robot.random_state(seed=3)
    return robot.simulate(q, v, **{"duration": 0.02, "integrator": "rk45", "rtol": 1e-4, "atol": 1e-5, **options})


# ---- there and back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ROBOTS)
def test_run_read_equals_run_saved(name: str, tmp_path: Path) -> None:
    robot = ROBOTS[name]()
    run = short_run(robot)
    file = tmp_path / "run.npz"
    assert run.save(str(file)) == file
    again = rc.read(file)
    equal_runs(again, run)
    assert again.options == run.options
    assert again.robot.model.links == robot.model.links
    assert (again.energy_drift, again.momentum_drift) == (run.energy_drift, run.momentum_drift)


@pytest.mark.parametrize("name", [name for name in ZOO if name != "chain200"])
def test_model_from_text_equals_the_model(name: str) -> None:
    model = ZOO[name]().model
    again = model_from_text(model_text(model))
    assert again == model
    for part in ("joints", "inertias", "links", "nq", "nv"):  # what comparing models leaves out
        assert repr(getattr(again, part)) == repr(getattr(model, part))


def test_events_times_and_interpolants_are_kept(tmp_path: Path) -> None:
    robot = rc.robots.planar(2)
    times = [0.0, 0.013, 0.3]
    for integrator in ("dop853", "rk45", "radau"):
        run = robot.simulate(
            [0.1, 0.2],
            duration=0.3,
            integrator=integrator,  # type: ignore[arg-type]
            rtol=1e-5,
            samples=times,
            dense=True,
            events={"elbow": lambda t, q, v: v[1] - 0.05, "Schulter ✓": rc.Event(lambda t, q, v: q[0], stop=True)},
        )
        assert run.events
        again = rc.read(run.save(tmp_path / "run.npz"))
        equal_runs(again, run)
        assert np.array_equal(again.options.times, run.options.times)
        assert len(again.pieces) == len(run.pieces)
        middle = 0.4 * run.t[-1]
        assert np.array_equal(again.at(middle)[0], run.at(middle)[0])


def test_runs_that_failed_or_hold_one_sample_are_kept(tmp_path: Path) -> None:
    with pytest.raises(rc.SimulationError) as caught:
        short_run(rc.robots.planar(1), torque=lambda t, q, v: [np.nan if t > 0.01 else 0.1])
    failed = caught.value.run
    equal_runs(rc.read(failed.save(tmp_path / "run.npz")), failed)
    instant = short_run(rc.robots.planar(1), duration=0.0)
    equal_runs(rc.read(instant.save(tmp_path / "run.npz")), instant)


def test_hdf5_tells_units_and_conventions_to_other_programs(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    robot = rc.robots.stanford()
    run = short_run(robot)
    with h5py.File(run.to_hdf5(tmp_path / "run.h5")) as file:
        assert file["q"].attrs["columns"].tolist() == list(robot.joint_names)
        assert file["q"].attrs["units"].tolist() == ["rad", "rad", "m", "rad", "rad", "rad"]
        assert file["tau"].attrs["units"].tolist() == ["N m", "N m", "N", "N m", "N m", "N m"]
        assert (file["t"].attrs["units"].tolist(), file["work"].attrs["units"].tolist()) == (["s"], ["J"])
        assert "angular first" in file.attrs["conventions"]
        assert (file.attrs["recursa"], file.attrs["status"]) == (rc.__version__, "finished")
        assert file["options"].attrs["integrator"] == "rk45"
        for name in ARRAYS:
            assert np.array_equal(file[name], getattr(run, name))
        other = rc.load(file["robot/urdf"].asstr()[()], gravity=file["robot"].attrs["gravity"])
    assert np.allclose(other.mass_matrix(run.q[-1]), robot.mass_matrix(run.q[-1]), rtol=1e-12)
    with pytest.raises(rc.ResultFileError, match="is an HDF5 file"):
        rc.read(tmp_path / "run.h5")
    with pytest.raises(rc.RecursaError, match=r"run.to_hdf5\('.*run.h5'\) exports HDF5"):
        run.save(tmp_path / "run.h5")


def test_hdf5_without_h5py_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(rc.RecursaError, match=r"pip install 'recursa\[hdf5\]'"):
        short_run(rc.robots.planar(1)).to_hdf5(tmp_path / "run.h5")
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("name", ["stanford", "free_flyer", "tied", "one_of_each"])
def test_csv_is_read_as_trajectory_and_as_torques(name: str, tmp_path: Path) -> None:
    robot = ROBOTS[name]()
    tau = np.linspace(-0.1, 0.2, robot.nv)
    run = short_run(robot, torque=tau, samples=5)
    motion = rc.Trajectory.from_csv(run.save(tmp_path / "run.csv"), robot)
    assert np.array_equal(motion.knots, run.t)
    q, v, a = motion.sample(run.t)
    for mine, its in ((q, run.q), (v, run.v), (a, run.a)):
        assert np.allclose(mine, its, rtol=1e-12, atol=1e-9)
    torques = rc.TorqueTable.from_csv(tmp_path / "run.csv", robot)
    assert np.array_equal(torques(0.0), run.tau[0])


def test_numpy_reads_the_arrays_and_json_the_rest(tmp_path: Path) -> None:
    run = short_run(rc.robots.free_flyer(1))
    with np.load(run.save(tmp_path / "run.npz"), allow_pickle=False) as file:
        for name in (*ARRAYS, "energy"):
            assert np.array_equal(file[name], getattr(run, name))
        about = json.loads(file["about.json"])
    assert model_from_text(about["robot"]) == run.robot.model
    assert about["columns"]["q"][3] == ["root.qx", "1"] and about["columns"]["v"][3][1] == "m/s"
    assert (about["format"], about["version"], about["status"]) == ("recursa run", 1, "finished")
    assert about["statistics"]["steps"] == run.statistics["steps"] and "angular first" in about["conventions"]


def test_equal_runs_are_equal_files(tmp_path: Path) -> None:
    first, second = (short_run(rc.robots.planar(2)) for _ in range(2))
    second = replace_statistics(second, first)
    assert first.save(tmp_path / "a.npz").read_bytes() == second.save(tmp_path / "b.npz").read_bytes()


def replace_statistics(run: rc.Run, other: rc.Run) -> rc.Run:
    """The run with the other one's statistics, among which are times."""
    return replace(run, statistics=other.statistics)


# ---- files that cannot be used ---------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return short_run(rc.robots.planar(2)).save(tmp_path / "run.npz")


def test_file_cut_off_anywhere_is_refused(saved: Path, tmp_path: Path) -> None:
    data = saved.read_bytes()
    short = tmp_path / "short.npz"
    for length in [*range(0, 700, 23), *np.linspace(700, len(data) - 1, 60).astype(int)]:
        short.write_bytes(data[:length])
        with pytest.raises(rc.ResultFileError, match=r"empty|cut off"):
            rc.read(short)


def test_file_with_any_byte_changed_is_refused_or_the_same(saved: Path, tmp_path: Path) -> None:
    """Bytes that say nothing of the run, such as dates of the archive's members, have no checksum."""
    data, run, refusals = saved.read_bytes(), rc.read(saved), 0
    changed = tmp_path / "changed.npz"
    rng = np.random.default_rng(5)
    for place in [*range(60), *rng.integers(0, len(data), 200).tolist(), *range(len(data) - 80, len(data))]:
        changed.write_bytes(data[:place] + bytes([data[place] ^ int(rng.integers(1, 256))]) + data[place + 1 :])
        try:
            again = rc.read(changed)
        except rc.ResultFileError:
            refusals += 1
        else:
            equal_runs(again, run)
    assert refusals > 200


def test_files_of_others_are_told_apart(saved: Path, tmp_path: Path) -> None:
    def refused(name: str) -> str:
        with pytest.raises(rc.ResultFileError) as caught:
            rc.read(tmp_path / name)
        return str(caught.value)

    assert "there is no file" in refused("nothing.npz")
    assert "cannot read" in refused(".")
    (tmp_path / "text.npz").write_text("hello")
    assert "not a run that Recursa saved" in refused("text.npz")
    (tmp_path / "other.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + b"x" * 600)
    assert "is an HDF5 file" in refused("other.h5")
    np.savez(tmp_path / "arrays.npz", q=np.zeros(3))
    assert "not a run that Recursa saved" in refused("arrays.npz")
    run = rc.read(saved)
    run.save(tmp_path / "run.csv")
    assert "from_csv" in refused("run.csv")
    newer = with_about(saved.read_bytes(), lambda about: about.update(version=3, recursa="9.1.0"))
    (tmp_path / "newer.npz").write_bytes(newer)
    assert "written by Recursa '9.1.0' in version 3 of the format; this is Recursa 0.1.0" in refused("newer.npz")


def test_failed_save_leaves_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()
    run = rc.read(saved)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(rc.RecursaError, match=r"cannot write '.*run\.npz': No space left"):
        run.save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == ["run.npz"]


def test_endings_and_places_that_cannot_be_written(saved: Path, tmp_path: Path) -> None:
    run = rc.read(saved)
    with pytest.raises(rc.RecursaError, match=r"let it end in \.npz"):
        run.save(tmp_path / "run.txt")
    with pytest.raises(rc.RecursaError, match="cannot write"):
        run.save(tmp_path / "nowhere" / "run.npz")
    with pytest.raises(rc.RecursaError, match="a folder"):
        run.save(tmp_path)


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_disk_that_is_full_is_one_clear_error(suffix: str, tmp_path: Path) -> None:
    """In a process whose files may not grow beyond a few bytes."""
    code = (
        "import resource, signal, sys, recursa as rc\n"
        "run = rc.robots.planar(2).simulate([0.1, 0.2], duration=0.1)\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700))\n"
        "try:\n    run.save(sys.argv[1])\nexcept rc.RecursaError as error:\n    print(error)"
    )
    file = tmp_path / f"run{suffix}"
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"cannot write '{file}': File too large\n"), done.stderr
    assert not os.listdir(tmp_path)


def test_what_killed_writers_left_is_removed_by_the_next(saved: Path) -> None:
    run = rc.read(saved)
    old, young, other = (saved.with_name(name) for name in (".run.npz.0123abcd", ".run.npz.4567abcd", ".run.npz.mine"))
    for left in (old, young, other):
        left.write_bytes(b"half")
    past = time.time() - 2 * files._STALE
    os.utime(old, (past, past))
    os.utime(other, (past, past))
    run.save(saved)
    assert not old.exists()
    assert young.exists()  # somebody may be writing it
    assert other.exists()


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_content_and_name_are_on_the_disk_when_save_returns(
    suffix: str, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, synced, sync, replace = rc.read(saved), [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(os.fstat(file).st_ino), sync(file)))
    monkeypatch.setattr(os, "replace", lambda a, b: (synced.append("moved"), replace(a, b)))
    file = run.save(saved.with_suffix(suffix))
    assert synced == [file.stat().st_ino, "moved", file.parent.stat().st_ino]


# ---- files of strangers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.update(robot="{}"),
        lambda data: data.update(robot="[" * 100_000),
        lambda data: data.update(digest="0"),
        lambda data: data.update(status="\x1b[2J"),
        lambda data: data.update(events=["one"]),
        lambda data: data.update(statistics={"steps": "many"}),
        lambda data: data.update(statistics={"steps": 10**400}),
        lambda data: data.update(statistics={"\x1b[2J": 1}),
        lambda data: data["options"].update(duration=float("nan")),
        lambda data: data["options"].update(integrator="__class__"),
        lambda data: data.clear(),
    ],
)
def test_json_that_does_not_fit_is_refused(change: Callable[[Any], Any], saved: Path) -> None:
    saved.write_bytes(with_about(saved.read_bytes(), change))
    with pytest.raises(rc.ResultFileError, match="is damaged"):
        rc.read(saved)


HUGE = npy(np.zeros((2, 2))).replace(b"(2, 2)", b"(2,99)")


@pytest.mark.parametrize(
    "change",
    [
        lambda members: members.pop("tau.npy"),
        lambda members: members.pop("about.json"),
        lambda members: members.update({"about.json": b"[" * 100_000}),
        lambda members: members.update({"q.npy": members["t.npy"]}),
        lambda members: members.update({"q.npy": HUGE}),
        lambda members: members.update({"q.npy": npy(np.zeros((2, 2), int))}),
        lambda members: members.update({"q.npy": npy(np.asfortranarray(np.ones((2, 3))))}),
        lambda members: members.update({"q.npy": npy(np.array([{}], object), allow_pickle=True)}),
        lambda members: members.update({"q.npy": b"\x93NUMPY\x07\x00" + bytes(200)}),
        lambda members: members.update({"q.npy": b""}),
        lambda members: members.update({"other.npy": npy(np.zeros(2))}),
        lambda members: members.update({"../q.npy": npy(np.zeros(2))}),
    ],
)
def test_members_that_do_not_fit_are_refused(change: Callable[[Any], Any], saved: Path) -> None:
    saved.write_bytes(repacked(saved.read_bytes(), change))
    with pytest.raises(rc.ResultFileError, match="is damaged"):
        rc.read(saved)


def test_compressed_and_overlapping_members_are_refused_before_they_are_read(saved: Path) -> None:
    data = saved.read_bytes()
    saved.write_bytes(repacked(data, lambda members: None, zipfile.ZIP_DEFLATED))
    with pytest.raises(rc.ResultFileError, match="compressed"):
        rc.read(saved)
    with zipfile.ZipFile(saved, "w") as archive:
        archive.writestr("about.json", b"{}")
        archive.writestr("q.npy", bytes(10_000))
        archive.filelist += [archive.getinfo("q.npy")] * 50  # all of them in one place
    with pytest.raises(rc.ResultFileError, match="more than the file"):
        rc.read(saved)


def test_reading_opens_no_other_file_and_no_library(saved: Path) -> None:
    code = (
        "import sys, recursa as rc\nrc.robots.planar(2)\nimport recursa.runs.npz_files\nopened = []\n"
        "sys.addaudithook(lambda name, given: opened.append(given[0]) if name == 'open' else None)\n"
        "rc.read(sys.argv[1])\nassert 'h5py' not in sys.modules\n"
        "print({str(one) for one in opened if not str(one).endswith(('.py', '.pyc', '.so'))})"
    )
    done = subprocess.run([sys.executable, "-c", code, str(saved)], capture_output=True, text=True, check=True)
    assert done.stdout == f"{ {str(saved)} }\n"


# ---- parts -----------------------------------------------------------------------------------------------------------


def test_packed_values_come_back_with_type_and_memory_order() -> None:
    value = {
        "float": np.float64(0.1), "flag": np.bool_(True), "none": None, "inf": [np.inf, -0.0, "ü"],
        "LU": (np.asfortranarray(np.arange(6.0).reshape(2, 3)), np.arange(3, dtype=np.int32)),
        "complex": np.ones((2, 0)) * 1j, "strided": np.arange(8.0)[::2],
    }  # fmt: skip
    again = unpack(pack(value))
    assert type(again["float"]) is np.float64
    assert type(again["flag"]) is np.bool_
    assert again["inf"] == value["inf"]
    assert np.signbit(again["inf"][1])
    assert isinstance(again["LU"], tuple)
    assert again["LU"][0].flags.f_contiguous
    for one, other in ((again["LU"][0], value["LU"][0]), (again["LU"][1], value["LU"][1])):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)
    assert again["complex"].shape == (2, 0)
    assert np.array_equal(again["strided"], value["strided"])
    assert again["strided"].flags.writeable
    with pytest.raises(TypeError, match="cannot pack"):
        pack({"f": len})


def test_torque_table_between_rows() -> None:
    t, tau = [0.0, 1.0, 3.0, 4.0], [[0.0], [1.0], [9.0], [16.0]]
    assert rc.TorqueTable(t, tau)(2.0)[0] == 5.0
    assert rc.TorqueTable(t, tau, "hold")(2.9)[0] == 1.0
    assert abs(rc.TorqueTable(t, tau, "cubic")(2.0)[0] - 4.0) < 1e-12  # t^2
    for between in ("linear", "hold", "cubic"):
        table = rc.TorqueTable(t, tau, between)  # type: ignore[arg-type]
        assert (table(-1.0)[0], table(9.0)[0]) == (0.0, 16.0)
    with pytest.raises(rc.UnknownNameError, match="linear"):
        rc.TorqueTable(t, tau, "linaer")  # type: ignore[arg-type]
    with pytest.raises(rc.ShapeError, match=r"\(4,\) and \(1, 1\)"):
        rc.TorqueTable(t, [[1.0]])
    with pytest.raises(rc.StateError, match="rise"):
        rc.TorqueTable([0.0, 0.0], [[1.0], [2.0]])


def test_torque_files_with_mistakes_name_them(tmp_path: Path) -> None:
    robot, file = rc.robots.planar(2), tmp_path / "torque.csv"

    def refused(text: str) -> str:
        file.write_text(text)
        with pytest.raises(rc.TableError) as caught:
            rc.TorqueTable.from_csv(file, robot)
        return str(caught.value)

    assert "has no column 't'" in refused("joint1,joint2\n1,2\n")
    assert "Did you mean 'joint2' or" in refused("t,joint1,joint3\n0,1,2\n1,1,2\n")
    assert "lacks columns for torques of robot 'planar2': joint2" in refused("t,joint1\n0,1\n1,2\n")
    assert "must increase" in refused("t,joint1,joint2\n0,1,1\n0,2,2\n")
    assert "at least two" in refused("t,joint1,joint2\n0,1,1\n")


def test_mixed_robot_with_wrenches_and_stops_is_read(tmp_path: Path) -> None:
    robot = small_mixed_tree()
    run = short_run(robot, wrenches=[rc.Wrench(at=robot.link_names[-1], force=(0, 0, 3.0))], stops=True)
    equal_runs(rc.read(run.save(tmp_path / "run.npz")), run)


def test_folder_that_is_missing_is_told_in_plain_words(tmp_path: Path) -> None:
    run = rc.robots.planar(1).simulate([0.0], duration=0.1)
    with pytest.raises(rc.RecursaError) as caught:
        run.save(tmp_path / "no" / "run.npz")
    assert str(caught.value) == f"cannot write '{tmp_path / 'no' / 'run.npz'}': No such file or directory"
