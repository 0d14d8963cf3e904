"""Runs in files: what is read equals what was saved to the bit; what is no whole file of ours is refused clearly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import recursa as rc
from comparing import ARRAYS, equal_runs
from files_of_strangers import sealed, version_1
from recursa import files
from recursa.formats.robot_text import model_from_text, model_text
from recursa.runs import hdf5_version1, reading
from recursa.runs.packing import pack, unpack
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
    file = tmp_path / "run.h5"
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


@pytest.mark.parametrize("name", ["pendulum", "free_flyer", "mixed_tree"])
def test_texts_of_earlier_versions_are_read(name: str) -> None:
    """They had the options beside the description, and no records but links and joints."""
    model = ZOO[name]().model
    later = ("closures", "relations", "actuators", "states", "gravity", "floating", "mimic")
    description = {key: value for key, value in asdict(model.description).items() if key not in later}
    for link in description["links"]:
        del link["about_origin"]
    options = {"gravity": model.gravity, "floating": model.floating, "mimic": model.mimic}
    assert model_from_text(json.dumps({"description": description, **options})) == model


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
        again = rc.read(run.save(tmp_path / "run.hdf5"))
        equal_runs(again, run)
        assert np.array_equal(again.options.times, run.options.times)
        assert len(again.pieces) == len(run.pieces)
        middle = 0.4 * run.t[-1]
        assert np.array_equal(again.at(middle)[0], run.at(middle)[0])


def test_runs_that_failed_or_hold_one_sample_are_kept(tmp_path: Path) -> None:
    with pytest.raises(rc.SimulationError) as caught:
        short_run(rc.robots.planar(1), torque=lambda t, q, v: [np.nan if t > 0.01 else 0.1])
    failed = caught.value.run
    equal_runs(rc.read(failed.save(tmp_path / "run.h5")), failed)
    instant = short_run(rc.robots.planar(1), duration=0.0)
    equal_runs(rc.read(instant.save(tmp_path / "run.h5")), instant)


def test_file_tells_units_and_conventions_to_other_programs(tmp_path: Path) -> None:
    robot = rc.robots.stanford()
    run = short_run(robot)
    with h5py.File(run.save(tmp_path / "run.h5")) as file:
        assert file["q"].attrs["columns"].tolist() == list(robot.joint_names)
        assert file["q"].attrs["units"].tolist() == ["rad", "rad", "m", "rad", "rad", "rad"]
        assert file["tau"].attrs["units"].tolist() == ["N m", "N m", "N", "N m", "N m", "N m"]
        assert (file["t"].attrs["units"], file["work"].attrs["units"]) == ("s", "J")
        assert "angular first" in file.attrs["conventions"]
        assert (file.attrs["recursa"], file.attrs["status"]) == (rc.__version__, "finished")
        assert file["options"].attrs["integrator"] == "rk45"
        assert file["robot"].attrs["digest"] == robot.model.digest
        assert np.array_equal(file["energy"], run.energy)
        other = rc.load(file["robot/urdf"].asstr()[()], gravity=file["robot"].attrs["gravity"])
    assert np.allclose(other.mass_matrix(run.q[-1]), robot.mass_matrix(run.q[-1]), rtol=1e-12)


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


def test_npz_holds_the_arrays_and_the_robot(tmp_path: Path) -> None:
    run = short_run(rc.robots.free_flyer(1))
    with np.load(run.save(tmp_path / "run.npz")) as file:
        for name in ARRAYS:
            assert np.array_equal(file[name], getattr(run, name))
        about = json.loads(str(file["about"]))
        assert model_from_text(str(file["robot"])) == run.robot.model
        assert file["q_columns"][3] == "root.qx"
    assert (about["status"], about["statistics"]["steps"]) == ("finished", run.statistics["steps"])


# ---- files that cannot be used ---------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return short_run(rc.robots.planar(2)).save(tmp_path / "run.h5")


def test_file_cut_off_anywhere_is_refused(saved: Path, tmp_path: Path) -> None:
    data = saved.read_bytes()
    short = tmp_path / "short.h5"
    for length in [*range(0, 700, 23), *np.linspace(700, len(data) - 1, 60).astype(int)]:
        short.write_bytes(data[:length])
        with pytest.raises(rc.ResultFileError, match=r"empty|cut off|bytes of the"):
            rc.read(short)


def test_file_with_any_byte_changed_is_refused(saved: Path, tmp_path: Path) -> None:
    data = saved.read_bytes()
    changed = tmp_path / "changed.h5"
    rng = np.random.default_rng(5)
    told = data.index(b", Recursa"), data.index(b", sha256")  # the version of who wrote it is told, nothing more
    for place in [*range(told[0]), *range(told[1], data.index(b"\n")), *rng.integers(512, len(data), 100).tolist()]:
        changed.write_bytes(data[:place] + bytes([data[place] ^ int(rng.integers(1, 256))]) + data[place + 1 :])
        with pytest.raises(rc.ResultFileError):
            rc.read(changed)


def test_files_of_others_are_told_apart(saved: Path, tmp_path: Path) -> None:
    def refused(name: str) -> str:
        with pytest.raises(rc.ResultFileError) as caught:
            rc.read(tmp_path / name)
        return str(caught.value)

    assert "there is no file" in refused("nothing.h5")
    assert "cannot read" in refused(".")
    (tmp_path / "text.h5").write_text("hello")
    assert "not a run that Recursa saved" in refused("text.h5")
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["data"] = [1.0]
    assert "is an HDF5 file, but no run" in refused("other.h5")
    run = rc.read(saved)
    run.save(tmp_path / "run.npz")
    assert "numpy.load" in refused("run.npz")
    run.save(tmp_path / "run.csv")
    assert "from_csv" in refused("run.csv")
    data = saved.read_bytes()
    (tmp_path / "newer.h5").write_bytes(
        data.replace(b"recursa run 2, Recursa 0.1.0", b"recursa run 3, Recursa 9.1.0", 1)
    )
    assert "written by Recursa 9.1.0 in version 3 of the format; this is Recursa 0.1.0" in refused("newer.h5")


def test_failed_save_leaves_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()
    run = rc.read(saved)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(rc.RecursaError, match=r"cannot write '.*run\.h5': No space left"):
        run.save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == ["run.h5"]


def test_endings_and_places_that_cannot_be_written(saved: Path, tmp_path: Path) -> None:
    run = rc.read(saved)
    with pytest.raises(rc.RecursaError, match=r"let it end in \.h5"):
        run.save(tmp_path / "run.txt")
    with pytest.raises(rc.RecursaError, match="cannot write"):
        run.save(tmp_path / "nowhere" / "run.h5")
    with pytest.raises(rc.RecursaError, match="a folder"):
        run.save(tmp_path)


@pytest.mark.parametrize("suffix", [".h5", ".npz", ".csv"])
def test_disk_that_is_full_is_one_clear_error(suffix: str, tmp_path: Path) -> None:
    """In a process whose files may not grow beyond a few bytes; the HDF5 library used to bring it down at its end."""
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
    old, young, other = (saved.with_name(name) for name in (".run.h5.0123abcd", ".run.h5.4567abcd", ".run.h5.mine"))
    for left in (old, young, other):
        left.write_bytes(b"half")
    past = time.time() - 2 * files._STALE
    os.utime(old, (past, past))
    os.utime(other, (past, past))
    run.save(saved)
    assert not old.exists()
    assert young.exists()  # somebody may be writing it
    assert other.exists()


@pytest.mark.parametrize("suffix", [".h5", ".npz", ".csv"])
def test_content_and_name_are_on_the_disk_when_save_returns(
    suffix: str, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, synced, sync, replace = rc.read(saved), [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(os.fstat(file).st_ino), sync(file)))
    monkeypatch.setattr(os, "replace", lambda a, b: (synced.append("moved"), replace(a, b)))
    file = run.save(saved.with_suffix(suffix))
    assert synced == [file.stat().st_ino, "moved", file.parent.stat().st_ino]


# ---- files of strangers ----------------------------------------------------------------------------------------------


def test_run_of_the_first_version_is_read(saved: Path, tmp_path: Path) -> None:
    run = rc.read(saved)
    equal_runs(rc.read(version_1(run, tmp_path / "old.h5")), run)


def test_file_that_leads_elsewhere_is_refused(saved: Path, tmp_path: Path) -> None:
    """The checksum has no key: who makes such a file can make that, too."""
    run, secret = rc.read(saved), tmp_path / "secret"
    secret.write_bytes(np.arange(100.0).tobytes())
    rows, other = len(run), tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file["t"] = np.arange(float(rows))
    virtual = h5py.VirtualLayout((rows,), float)
    virtual[:] = h5py.VirtualSource(other, "t", (rows,))
    makers: dict[str, Callable[[Any], Any]] = {
        "external": lambda f: f.create_dataset("t", (rows,), float, external=[(str(secret), 0, 8 * rows)]),
        "virtual": lambda f: f.create_virtual_dataset("t", virtual),
        "linked": lambda f: f.__setitem__("t", h5py.ExternalLink(other, "t")),
        "soft": lambda f: f.__setitem__("t", h5py.SoftLink("/work")),
        "packed": lambda f: f.create_dataset("t", data=np.zeros(rows), chunks=(rows,), compression="gzip"),
        "never written": lambda f: f.create_dataset("t", (10**9,), float),
    }
    for name, make in makers.items():

        def replaced(file: Any, make: Callable[[Any], Any] = make) -> None:
            del file["t"]
            make(file)

        crafted = version_1(run, tmp_path / f"{name}.h5", replaced)
        with pytest.raises(rc.ResultFileError, match=r"as Recursa writes none|which are not there"):
            hdf5_version1.read_plain(str(crafted))  # as a process of its own does for rc.read
    with pytest.raises(rc.ResultFileError, match=r"is damaged: its array 't' .* as Recursa writes none"):
        rc.read(tmp_path / "external.h5")


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals here")
def test_library_that_crashes_or_hangs_takes_nobody_along(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = version_1(rc.read(saved), tmp_path / "old.h5")
    (tmp_path / "h5py").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(str(tmp_path))
    library = tmp_path / "h5py" / "__init__.py"
    library.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    with pytest.raises(rc.ResultFileError, match="brings the HDF5 library down"):
        rc.read(old)
    monkeypatch.setattr(reading, "_SECONDS", 0.2)
    library.write_text("import time\ntime.sleep(60)\n")
    with pytest.raises(rc.ResultFileError, match=r"did not come to an end with it in 0\.2 s"):
        rc.read(old)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["arrays"].update(q=[0, [10**9, 2]]),
        lambda data: data["arrays"].update(q=[-8, [2, 2]]),
        lambda data: data["arrays"].update(q=[2**70, [2, 2]]),
        lambda data: data["arrays"].update(q=data["arrays"]["t"]),
        lambda data: data["arrays"].update(q=[0, [[[]]]]),
        lambda data: data["arrays"].update(other=[0, [2]]),
        lambda data: data["arrays"].pop("tau"),
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
def test_index_that_does_not_fit_is_refused(change: Callable[[Any], Any], saved: Path) -> None:
    sealed(saved, change)
    with pytest.raises(rc.ResultFileError, match="is damaged"):
        rc.read(saved)


def test_arrays_in_one_place_take_no_more_memory_than_the_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def many(data: Any) -> None:
        size = saved.stat().st_size // 16
        data["arrays"].update({f"a{k}": [0, [size]] for k in range(1000)})

    read: list[int] = []
    sealed(saved, many)
    monkeypatch.setattr(np, "fromfile", lambda file, kind, count: read.append(count) or np.zeros(count))
    with pytest.raises(rc.ResultFileError, match="more than the file"):
        rc.read(saved)
    assert not read


def test_reading_opens_no_other_file_and_no_library(saved: Path) -> None:
    code = (
        "import sys, recursa as rc\nrc.robots.planar(2)\nimport recursa.runs.reading\nopened = []\n"
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
    equal_runs(rc.read(run.save(tmp_path / "run.h5")), run)


def test_folder_that_is_missing_is_told_in_plain_words(tmp_path: Path) -> None:
    """And not with the flags that the HDF5 library opens files with."""
    run = rc.robots.planar(1).simulate([0.0], duration=0.1)
    with pytest.raises(rc.RecursaError) as caught:
        run.save(tmp_path / "no" / "run.h5")
    assert str(caught.value) == f"cannot write '{tmp_path / 'no' / 'run.h5'}': No such file or directory"
