"""Trajectories in CSV files: what is written reads back, in any order of columns, and every mistake has its place."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recursa as rc
import zoo
from recursa.model.columns import angular, coordinate_names, coordinate_units, freedom_names
from recursa.trajectories.csv_files import read_table, write_table

ARM = rc.robots.planar(2)
ROBOTS = {"arm": rc.robots.stanford, "flyer": rc.robots.free_flyer, "mixed": zoo.mixed_tree}


def motion(robot: rc.Robot) -> rc.Trajectory:
    return rc.Trajectory.cycloid(robot.random_state(1)[0], robot.random_state(2)[0], 1.3, robot=robot)


@pytest.mark.parametrize("name", ROBOTS)
def test_written_motion_reads_back_bit_for_bit_at_its_samples(name: str, tmp_path: Path) -> None:
    robot, file = ROBOTS[name](), tmp_path / "m.csv"
    motion(robot).to_csv(file)
    again = rc.Trajectory.from_csv(file, robot)
    t = motion(robot).times()
    assert np.array_equal(again.knots, t)
    for one, other in zip(again.sample(t), motion(robot).sample(t), strict=True):
        assert np.allclose(one, other, atol=1e-9) or np.allclose(np.abs(one), np.abs(other), atol=1e-9)
    between = t[:-1] + 0.4 * np.diff(t)
    q, v, _ = again.sample(between)
    assert np.allclose(robot.difference(motion(robot).sample(between)[0], q), 0.0, atol=1e-6)
    assert np.allclose(v, motion(robot).sample(between)[1], atol=1e-4)


def test_numbers_keep_all_their_bits(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(5, 3)) * [1e-300, 1.0, 1e300]
    write_table(tmp_path / "t.csv", ["a,b", 'c "d"', "e"], rows)
    table = read_table(tmp_path / "t.csv")
    assert table.names == ("a,b", 'c "d"', "e")
    assert np.array_equal(table.rows, rows)


def test_columns_come_in_any_order_with_or_without_rates(tmp_path: Path) -> None:
    file = tmp_path / "m.csv"
    file.write_text(
        "\ufeff# moved by hand\n\njoint2:v, joint1, t ,joint1:v,joint2\n0,1,0,4,2\n-1e-3,+1.5,.5,4,3\n\n0,2,1.0,4,2\n",
        encoding="utf-8",
    )
    read = rc.Trajectory.from_csv(file, ARM)
    q, v, _ = read.sample([0.0, 0.5, 1.0])
    assert q == pytest.approx(np.array([[1, 2], [1.5, 3], [2, 2]]))
    assert v == pytest.approx(np.array([[4, 0], [4, -1e-3], [4, 0]]))
    bare = rc.Trajectory.from_csv(file)
    assert bare.names == ("joint1", "joint2")
    assert bare.sample(0.5)[0] == pytest.approx([1.5, 3])
    bare.to_csv(tmp_path / "again.csv", times=[0, 1])
    assert (tmp_path / "again.csv").read_text().startswith("t,joint1,joint2,joint1:v,joint2:v,joint1:a,joint2:a\n0.0,1")


def test_every_coordinate_and_freedom_has_a_name_and_a_unit() -> None:
    for make in zoo.ZOO.values():
        model = make().model
        assert len(set(coordinate_names(model))) == len(coordinate_units(model)) == model.nq
        assert len(set(freedom_names(model))) == len(angular(model)) == model.nv
    planar = zoo.each_kind("planar").model
    assert coordinate_names(planar)[:3] == ("joint1.x", "joint1.y", "joint1.theta")
    assert coordinate_units(planar)[:3] == ("m", "m", "rad")
    assert freedom_names(planar)[:3] == ("joint1.rz", "joint1.tx", "joint1.ty")
    assert angular(planar)[:3] == (True, False, False)


GOOD = "t,joint1,joint2\n0,1,2\n1,3,4\n"
WRONG: dict[str, tuple[str, str, int | None, str | None]] = {
    "empty": ("", "is empty; the first line names the columns", None, None),
    "blank": ("\n \n# only a remark\n", "is empty", None, None),
    "header only": ("t,joint1,joint2\n", "has 0 rows of numbers", None, None),
    "one row": ("t,joint1,joint2\n0,1,2\n", "has 1 row of numbers; a motion needs at least two", None, None),
    "no header": ("0,1,2\n1,3,4\n", "starts with numbers", 1, None),
    "no time": ("joint1,joint2\n1,2\n2,3\n", "has no column 't' for the time", None, None),
    "semicolons": ("t;joint1;joint2\n0;1;2\n", "separated by commas", 1, None),
    "nameless": ("t,,joint2\n0,1,2\n", "column 2 has no name", 1, None),
    "twice": ("t,joint1,joint1\n0,1,2\n", "two columns are called 'joint1'", 1, "joint1"),
    "unknown": (GOOD.replace("joint2", "jiont2"), "belongs to no joint of robot 'planar2'. Did you mean 'joint2'", None,
                "jiont2"),
    "missing": ("t,joint1\n0,1\n1,3\n", "lacks columns for coordinates of robot .*: joint2", None, None),
    "some speeds": ("t,joint1,joint2,joint2:v\n0,1,2,3\n1,3,4,5\n",
                    "lacks columns for speeds .*joint1:v", None, None),
    "a alone": ("t,joint1,joint2,joint1:a,joint2:a\n0,1,2,0,0\n1,3,4,0,0\n", "accelerations but no speeds", None, None),
    "ragged": (GOOD + "2,5\n", "line 4: has 2 cells, the header has 3", 4, None),
    "long row": (GOOD + "2,5,6,7\n", "line 4: has 4 cells, the header has 3", 4, None),
    "text": (GOOD.replace("3", "abc"), "line 3, column 'joint1': 'abc' is not a number", 3, "joint1"),
    "group": (GOOD.replace("3", "1_0"), "'1_0' is not a number", 3, "joint1"),
    "hole": (GOOD.replace("4", ""), "line 3, column 'joint2': the cell is empty", 3, "joint2"),
    "nan": (GOOD.replace("4", "nan"), "'nan' is not a finite number", 3, "joint2"),
    "infinite": (GOOD.replace(",2\n", ",-inf\n"), "line 2, column 'joint2': '-inf' is not a finite", 2, "joint2"),
    "overflow": (GOOD.replace("4", "1e999"), "'1e999' is not a finite", 3, "joint2"),
    "back": (GOOD + "0.5,1,2\n", "line 4, column 't': the time 0.5 does not come after 1", 4, "t"),
    "same time": (GOOD + "1,1,2\n", "it must increase", 4, "t"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_mistake_in_a_file_is_named_with_its_place(case: str, tmp_path: Path) -> None:
    text, message, line, column = WRONG[case]
    file = tmp_path / "m.csv"
    file.write_text(text)
    with pytest.raises(rc.TableError, match=message) as caught:
        rc.Trajectory.from_csv(file, ARM)
    assert str(caught.value).startswith(f"file '{file}'")
    assert (caught.value.line, caught.value.column) == (line, column)


def test_files_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "m.csv"
    file.write_bytes(b"\xff\xfe\x00t\x00,")
    with pytest.raises(rc.TableError, match="is not text in UTF-8"):
        rc.Trajectory.from_csv(file)
    with pytest.raises(rc.TableError, match="cannot be read: No such file"):
        rc.Trajectory.from_csv(tmp_path / "none.csv")
    with pytest.raises(rc.TableError, match="cannot be read: Is a directory"):
        rc.Trajectory.from_csv(tmp_path)
    file.write_bytes(b"t,a\n0,1\x00\n1,2\n")
    with pytest.raises(rc.TableError):
        rc.Trajectory.from_csv(file)
    file.write_text('t,a\n0,"' + "1" * 200_000)  # longer than a cell may be
    with pytest.raises(rc.TableError, match="line 2: is not a table"):
        rc.Trajectory.from_csv(file)
    file.write_text("t\n0\n1\n")
    with pytest.raises(rc.TableError, match="no column but the time"):
        rc.Trajectory.from_csv(file)
    file.write_text("t,a,b:v\n0,1,2\n1,1,2\n")
    with pytest.raises(rc.TableError, match="column 'b:v': belongs to no joint of the file's other columns"):
        rc.Trajectory.from_csv(file)


@settings(max_examples=150)
@given(
    st.one_of(st.binary(max_size=60), st.text(alphabet='t,joint12:va.0-e+"\n\r\\#;x\x00 ', max_size=80).map(str.encode))
)
def test_any_file_is_a_motion_or_a_named_error(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "m.csv")
        for start in (b"", b"t,joint1,joint2\n0,1,2\n1,1,2\n"):
            file.write_bytes(start + content)
            with suppress(rc.RecursaError):
                q, v, a = rc.Trajectory.from_csv(file, ARM).sample(0.5)
                assert np.isfinite(q).all() and np.isfinite(v).all() and np.isfinite(a).all()


def test_joint_that_is_called_like_the_time_is_refused(tmp_path: Path) -> None:
    b = rc.Builder("odd").link("a", mass=1.0, inertia=(1, 1, 1))
    robot = b.joint("t", "revolute", parent="world", child="a", axis=(0, 0, 1)).build()
    file = tmp_path / "m.csv"
    file.write_text("t,t:v\n0,1\n1,2\n")
    for call in (
        lambda: rc.Trajectory.from_csv(file, robot),
        lambda: rc.Trajectory.constant([0.0], robot=robot).to_csv(tmp_path / "n.csv"),
    ):
        with pytest.raises(rc.TableError, match="two columns would be called 't'; rename that joint"):
            call()


def test_quaternion_in_a_file_is_checked(tmp_path: Path) -> None:
    robot, file = rc.robots.free_flyer(1), tmp_path / "m.csv"
    motion(robot).to_csv(file)
    header, *rows = file.read_text().splitlines()
    cells = rows[3].split(",")
    cells[header.split(",").index("root.qw")] = "7.0"
    file.write_text("\n".join([header, *rows[:3], ",".join(cells), *rows[4:]]))
    with pytest.raises(rc.StateError, match=r"q in row \(3,\): the quaternion of joint 'root'"):
        rc.Trajectory.from_csv(file, robot)


def test_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "m.csv"
    file.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(rc.RecursaError, match=r"cannot write .*m.csv': No space left"):
        motion(ARM).to_csv(file)
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]
    with pytest.raises(rc.RecursaError, match="it is a folder"):
        motion(ARM).to_csv(tmp_path)
    with pytest.raises(rc.RecursaError, match=r"cannot write .*No such file"):
        motion(ARM).to_csv(tmp_path / "none" / "m.csv")
    with pytest.raises(rc.ShapeError, match="times has shape"):
        motion(ARM).to_csv(file, times=[[0.0]])


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no file without an end")
def test_files_without_an_end_are_refused() -> None:
    with pytest.raises(rc.TableError, match=r"line 1: has a line of more than 16,777,216 characters"):
        rc.Trajectory.from_csv("/dev/zero")


def test_files_that_would_fill_the_memory_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "long.csv"
    file.write_text("t,joint1\n" + "".join(f"{k},0\n" for k in range(1000)))
    assert rc.Trajectory.from_csv(file).duration == 999.0
    monkeypatch.setattr("recursa.trajectories.csv_files.LARGEST", 1000)
    with pytest.raises(rc.TableError, match=r"line \d+: has more than 1,000 characters\. Split it, or .* pass arrays"):
        rc.Trajectory.from_csv(file)


def test_numbers_without_end_are_not_repeated_in_full(tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    file.write_text(f"t,joint1\n0,{'9' * 5000}\n1,0\n")
    with pytest.raises(rc.TableError, match=r"line 2, column 'joint1': '9{37}\.\.\.' is not a finite number"):
        rc.Trajectory.from_csv(file)
