"""Stores of studies that were killed, ran out of disk or were damaged: gone on with, computed again or refused."""

from __future__ import annotations

import errno
import os
import random
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import recursa as rc
from recursa.studies.stores import Store
from study_results import equal

KEEP = {"q": "full", "peak_speed": ["extrema", "moments", ("top", 2)]}
SUFFIXES = [".zarr", ".parquet"]


def rollouts(**more: Any) -> rc.Study:
    options = {"samples": 12, "seed": 4, "step": 1e-3, "steps": 4, "keep": KEEP}
    return rc.study(rc.robots.planar(2), {"q0": "uniform", "v0": ("normal", 0.0, 0.2)}, **{**options, **more})


def carried_out(store: Path, study: rc.Study | None = None) -> rc.StudyResult:
    pytest.importorskip({".zarr": "zarr", ".parquet": "pyarrow"}[store.suffix])
    return (study or rollouts()).run(store=store, block=4, workers=1, progress=False)


def compared(result: rc.StudyResult, expected: rc.StudyResult) -> None:
    equal(result, expected)
    if result.path is not None and result.path.suffix == ".parquet":
        assert result.to_pandas().equals(expected.to_pandas())


# ---- killed and out of disk while it is created ----------------------------------------------------------------------


class FullDisk:
    """Once on, it counts what is created in a folder, and from a certain count on there is no space."""

    def __init__(self) -> None:
        self.folder, self.space = "", 0
        sys.addaudithook(self._event)

    def _event(self, name: str, arguments: tuple[Any, ...]) -> None:
        if not self.folder or name not in ("open", "os.mkdir", "os.rename"):
            return
        writing = name != "open" or (isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR))
        if writing and str(arguments[0]).startswith(self.folder):
            self.space -= 1
            if self.space < 0:
                raise OSError(errno.ENOSPC, "No space left on device", str(arguments[0]))


@pytest.fixture(scope="module")
def disk() -> FullDisk:
    return FullDisk()  # for the whole process: hooks cannot be taken back


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_store_that_ran_out_of_disk_at_any_moment_is_gone_on_with(
    suffix: str, tmp_path: Path, disk: FullDisk
) -> None:
    study = rollouts(samples=4)
    expected = carried_out(tmp_path / f"expected{suffix}", study)
    failures = 0
    for space in range(200):
        place = tmp_path / f"{space}{suffix}"
        disk.folder, disk.space = str(place), space
        try:
            carried_out(place, study)
            break
        except rc.RecursaError as error:
            failures += 1
            assert "No space left" in str(error)
        finally:
            disk.folder = ""
        created = (place / ".recursa" / "study.json").exists()
        compared(carried_out(place, study), expected)
        if created:
            break
    assert 8 < failures < 199


@pytest.mark.parametrize(
    ("event", "moment"), [("open", "q/zarr.json"), ("open", ".study.json."), ("os.rename", "out.zarr/zarr.")]
)
def test_a_store_whose_creation_was_killed_is_gone_on_with(event: str, moment: str, tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    code = (
        "import os, sys\nfrom pathlib import Path\nsys.path[:0] = sys.argv[3].split(os.pathsep)\n"
        "from test_damaged_stores import carried_out\n"
        "def look(name, arguments):\n"
        "    where = str(arguments[0]) if name == sys.argv[4] else ''\n"
        "    if where.startswith(sys.argv[1]) and sys.argv[2] in where:\n"
        "        os._exit(9)\n"
        "sys.addaudithook(look)\ncarried_out(Path(sys.argv[1]))\n"
    )
    place, here = tmp_path / "out.zarr", Path(__file__).parent
    path = os.pathsep.join(str(one) for one in (here, here.parent))
    killed = subprocess.run([sys.executable, "-c", code, str(place), moment, path, event], check=False)
    assert killed.returncode == 9 and not (place / ".recursa" / "study.json").exists()
    compared(carried_out(place), rollouts().run(progress=False))


def test_a_killed_creation_does_not_open_a_folder_of_others(tmp_path: Path) -> None:
    place = tmp_path / "out.zarr"
    carried_out(place)
    (place / ".recursa" / "study.json").unlink()  # what is there now was made by somebody, and not begun by us
    with pytest.raises(rc.StudyError, match="is there already and holds no study"):
        carried_out(place)


# ---- damage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_flipped_bit_of_a_record_has_its_block_computed_again(suffix: str, tmp_path: Path) -> None:
    place = tmp_path / f"out{suffix}"
    study = rollouts(keep={"peak_speed": ["extrema"]} if suffix == ".zarr" else {"finite": "full"})
    expected = carried_out(place, study)
    store = Store(str(place))
    (record, *_) = sorted((place / ".recursa" / "blocks").iterdir())
    content = record.read_bytes()
    assert store.parts(0) is not None
    for bit in range(8 * len(content)):
        flipped = bytearray(content)
        flipped[bit // 8] ^= 1 << bit % 8
        record.write_bytes(flipped)
        assert store.parts(0) is None, bit
    compared(carried_out(place, study), expected)
    assert record.read_bytes() == content


def mutated(content: bytes, chance: random.Random) -> bytes:
    """Bytes changed, cut out, repeated or appended."""
    data = bytearray(content)
    start = chance.randrange(len(data) + 1)
    stop = min(len(data), start + chance.choice([1, 1, 2, 8, 100]))
    match chance.randrange(5):
        case 0:
            data[start:stop] = b""
        case 1:
            data[start:start] = data[start:stop]
        case 2:
            data = data[:start]
        case 3:
            data[start:stop] = bytes(chance.choice(b'0129-.{}[]",:eEnNtfa \x00\xff') for _ in range(stop - start))
        case _:
            data[start:stop] = chance.randbytes(stop - start)
    return bytes(data)


def every_way(place: Path, study: rc.Study, expected: rc.StudyResult) -> None:
    """Everything that reads a store gives what was computed, or an error of ours."""
    reached: Any = None
    try:
        reached = rc.read(place)
        names, found = reached.names, reached.found
    except rc.RecursaError:
        pass
    if reached is not None and reached.rows == expected.rows:
        assert set(names) <= set(expected.names) and set(found) == set(expected.found)
        for name in names:
            try:
                value = reached[name]
            except rc.RecursaError:
                continue
            assert (value == expected[name]).all(), name
        for convert in (reached.to_pandas, reached.to_xarray, lambda: str(reached)):
            try:
                convert()
            except rc.RecursaError:
                continue
    with suppress(rc.RecursaError):
        compared(carried_out(place, study), expected)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("rounds", [3, pytest.param(40, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore")
def test_mutated_stores_give_what_was_computed_or_an_error_of_ours(suffix: str, rounds: int, tmp_path: Path) -> None:
    sound, study = tmp_path / f"sound{suffix}", rollouts(samples=8)
    expected = carried_out(sound, study)
    files = sorted(path.relative_to(sound) for path in sound.rglob("*") if path.is_file() and path.name != "lock")
    chance, place = random.Random(rounds), tmp_path / f"mutated{suffix}"
    for number in range(rounds * len(files)):
        name = files[number % len(files)]
        shutil.copytree(sound, place)
        (place / name).write_bytes(mutated((sound / name).read_bytes(), chance))
        try:
            every_way(place, study, expected)
        except Exception as error:
            raise AssertionError(f"case {number}, {name}: {type(error).__name__}: {error}") from error
        shutil.rmtree(place)
