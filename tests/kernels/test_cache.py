"""The cache of object code: what is found again, what is refused, and what killed or racing writers leave behind."""

from __future__ import annotations

import json
import math
import os
import random
import signal
import struct
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import recursa as rc
from recursa.cli.commands import recursa
from recursa.kernels import native
from recursa.kernels.native import CacheWarning, Native, object_code

pytestmark = pytest.mark.compiled
posix = pytest.mark.skipif(os.name != "posix", reason="modes, links, forks and signals as on POSIX systems")

SETTING = {"cpu": "cpu", "features": "+f", "llvm_version": "1.2.3", "options": "opt=2"}
HEADER = 8 + 4 + 32 + 8


class Compiler:
    """Stands in for LLVM: the code of a text is the text, repeated; counts its calls."""

    def __init__(self, repeat: int = 10) -> None:
        self.calls: list[str] = []
        self.repeat = repeat

    def __call__(self, ir: str) -> bytes:
        self.calls.append(ir)
        return ir.encode() * self.repeat


@pytest.fixture
def compiler() -> Compiler:
    return Compiler()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    monkeypatch.setenv("RECURSA_CACHE", str(path))
    monkeypatch.delenv("RECURSA_CACHE_MB", raising=False)
    return path


@pytest.fixture(autouse=True)
def _new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_warned", set())
    monkeypatch.setattr(native, "_sizes", {})


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The IR of every module that LLVM really compiles."""
    seen: list[str] = []
    original = native.compiled

    def noted(ir: str) -> bytes:
        seen.append(ir)
        return original(ir)

    monkeypatch.setattr(native, "compiled", noted)
    return seen


def fetch(ir: str, compiler: Callable[[str], bytes], **changed: str) -> bytes:
    return object_code(ir, compiler, **{**SETTING, **changed})


def entry(folder: Path) -> Path:
    (found,) = folder.glob("*.o")
    return found


def torques(seed: int = 0) -> np.ndarray:
    """One state, a batch with a tail, and a huge angle, on a robot that has no kernels yet."""
    robot = rc.robots.puma560()
    rng = np.random.default_rng(seed)
    q, v, a = rng.standard_normal((3, 37, robot.nv))
    q[5, 2] = 1e22
    return np.concatenate([robot.inverse_dynamics(q[5], v[5], a[5])[None], robot.inverse_dynamics(q, v, a)])


# ---- hits and misses -------------------------------------------------------------------------------------------------


def test_second_request_matches_the_first_without_compiling(folder: Path, compiler: Compiler) -> None:
    assert fetch("text", compiler) == fetch("text", compiler) == b"text" * 10
    assert compiler.calls == ["text"]
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("part", ["ir", *SETTING])
def test_every_part_of_the_key_matters(part: str, folder: Path, compiler: Compiler) -> None:
    fetch("text", compiler)
    if part == "ir":
        fetch("text ", compiler)
    else:
        fetch("text", compiler, **{part: "other"})
    assert len(compiler.calls) == 2


def test_text_that_moves_between_parts_is_another_key(folder: Path, compiler: Compiler) -> None:
    fetch("text", compiler, cpu="ab", features="c")
    fetch("text", compiler, cpu="a", features="bc")
    assert len(compiler.calls) == 2


def test_format_is_part_of_the_key(folder: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch("text", compiler)
    monkeypatch.setattr(native, "FORMAT", native.FORMAT + 1)
    fetch("text", compiler)
    assert len(compiler.calls) == 2
    assert len(list(folder.iterdir())) == 2


def test_errors_of_the_compiler_come_through_and_leave_nothing(folder: Path) -> None:
    def broken(ir: str) -> bytes:
        raise RuntimeError(ir)

    with pytest.raises(RuntimeError, match="text"):
        fetch("text", broken)
    assert list(folder.iterdir()) == []


def test_second_robot_matches_the_first_without_compiling(folder: Path, compiled: list[str]) -> None:
    first = torques()
    assert len(compiled) == 2  # the scalar form and the SIMD form
    second = torques()
    assert len(compiled) == 2
    np.testing.assert_array_equal(first, second)


def test_results_match_bit_for_bit_with_and_without_the_cache(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    torques()
    cached = torques()
    monkeypatch.setenv("RECURSA_CACHE", "off")
    np.testing.assert_array_equal(torques().view(np.uint64), cached.view(np.uint64))
    assert len(compiled) == 4


def test_huge_angle_through_a_cached_kernel_matches_libm(folder: Path, compiled: list[str]) -> None:
    """Beyond the fast range a kernel calls libm, whose address is another one in every process."""

    def x_of_tip(angle: float) -> float:
        tip = rc.robots.planar(1).pose(np.array([angle]), "tip")
        return float(tip[0, 3]), float(tip[0, 0])

    x_of_tip(0.5)
    count = len(compiled)
    assert count
    length = x_of_tip(0.0)[0]
    for angle in (1e6, -1e22):
        x, cosine = x_of_tip(angle)
        assert cosine == pytest.approx(math.cos(angle), rel=1e-14)
        assert x == pytest.approx(length * math.cos(angle), rel=1e-14)
    assert len(compiled) == count


CHILD = """
import json, sys
import numpy as np
import recursa as rc
from recursa.kernels import native
calls, original = [], native.compiled
native.compiled = lambda ir: calls.append(ir) or original(ir)
robot = rc.robots.puma560()
q, v, a = np.random.default_rng(0).standard_normal((3, 37, robot.nv))
q[5, 2] = 1e22
tau = np.concatenate([robot.inverse_dynamics(q[5], v[5], a[5])[None], robot.inverse_dynamics(q, v, a)])
print(json.dumps([len(calls), tau.tobytes().hex()]))
"""


def test_second_process_matches_the_first_without_compiling(folder: Path) -> None:
    def process() -> list[object]:
        done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
        found: list[object] = json.loads(done.stdout)
        return found

    (cold, first), (warm, second) = process(), process()
    assert (cold, warm) == (2, 0)
    assert first == second == torques().tobytes().hex()


def test_kernels_outlive_others_from_the_same_entries(folder: Path) -> None:
    """Each engine owns its copy: dropping some leaves the rest sound."""
    robots = [rc.robots.puma560() for _ in range(20)]
    q, v = robots[0].random_state(1)
    expected = robots[0].inverse_dynamics(q, v, v)
    for robot in robots:
        robot.inverse_dynamics(q, v, v)
    survivor = robots[7]
    del robots, robot
    np.testing.assert_array_equal(survivor.inverse_dynamics(q, v, v), expected)


# ---- damaged and foreign entries -------------------------------------------------------------------------------------


def flip(place: int) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[place] ^= 0x10
        path.write_bytes(data)

    return damage


def cut(size: int) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(path.read_bytes()[:size])


def claim_less(path: Path) -> None:
    """A header that promises fewer bytes than there are."""
    data = bytearray(path.read_bytes())
    data[HEADER - 8 : HEADER] = struct.pack("<Q", len(data) - HEADER - 1)
    path.write_bytes(data)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "magic": flip(0),
    "format": flip(8),
    "checksum": flip(20),
    "length": flip(HEADER - 8),
    "huge length": flip(HEADER - 1),
    "first byte": flip(HEADER),
    "last byte": flip(-1),
    "empty": cut(0),
    "half a header": cut(HEADER // 2),
    "header only": cut(HEADER),
    "one byte short": cut(-1),
    "one byte more": lambda path: path.write_bytes(path.read_bytes() + b"\0"),
    "shorter by its own word": claim_less,
    "bare object code": lambda path: path.write_bytes(b"\x7fELF" + bytes(500)),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_entry_is_rebuilt_and_replaced(name: str, folder: Path, compiler: Compiler) -> None:
    fetch("text", compiler)
    sound = entry(folder).read_bytes()
    DAMAGES[name](entry(folder))
    assert entry(folder).read_bytes() != sound
    assert fetch("text", compiler) == b"text" * 10
    assert len(compiler.calls) == 2
    assert entry(folder).read_bytes() == sound
    fetch("text", compiler)
    assert len(compiler.calls) == 2


def test_sound_entry_under_another_name_is_foreign(folder: Path, compiler: Compiler) -> None:
    fetch("one", compiler)
    one = entry(folder)
    data = one.read_bytes()
    fetch("two", compiler)
    (two,) = set(folder.glob("*.o")) - {one}
    two.write_bytes(data)
    assert fetch("two", compiler) == b"two" * 10
    assert compiler.calls == ["one", "two", "two"]


@posix
def test_link_is_replaced_and_its_target_left_alone(folder: Path, compiler: Compiler, tmp_path: Path) -> None:
    fetch("text", compiler)
    target = tmp_path / "elsewhere"
    entry(folder).rename(target)
    before = target.read_bytes(), target.stat().st_mtime_ns
    path = folder / (native.entry_key("text", *SETTING.values()).hex() + ".o")
    path.symlink_to(target)
    fetch("text", compiler)
    assert len(compiler.calls) == 2
    assert not path.is_symlink()
    assert (target.read_bytes(), target.stat().st_mtime_ns) == before


@posix
def test_entry_that_others_may_write_is_rebuilt(folder: Path, compiler: Compiler) -> None:
    fetch("text", compiler)
    entry(folder).chmod(0o620)
    fetch("text", compiler)
    assert len(compiler.calls) == 2
    assert entry(folder).stat().st_mode & 0o777 == 0o600


@posix
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "directory"])
def test_what_is_no_file_is_never_read(make: Callable[[Path], None], folder: Path, compiler: Compiler) -> None:
    fetch("text", compiler)
    path = entry(folder)
    path.unlink()
    make(path)
    assert fetch("text", compiler) == b"text" * 10
    assert len(compiler.calls) == 2


def test_damaged_kernels_are_never_run(folder: Path, compiled: list[str]) -> None:
    expected = torques()
    for path in folder.glob("*.o"):
        flip(-100)(path)
    np.testing.assert_array_equal(torques(), expected)
    assert len(compiled) == 4
    torques()
    assert len(compiled) == 4


# ---- the directory ---------------------------------------------------------------------------------------------------


@posix
def test_directory_and_entries_are_private(folder: Path, compiler: Compiler) -> None:
    before = os.umask(0)
    try:
        fetch("text", compiler)
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert entry(folder).stat().st_mode & 0o777 == 0o600


@posix
@pytest.mark.parametrize("mode", [0o750, 0o701, 0o777, 0o1777])
def test_directory_open_to_others_is_refused_once(mode: int, folder: Path, compiler: Compiler) -> None:
    fetch("text", compiler)
    folder.chmod(mode)
    with pytest.warns(CacheWarning, match=f"mode is {mode:04o}") as caught:
        for _ in range(3):
            assert fetch("text", compiler) == b"text" * 10
        fetch("new", compiler)
    assert len(caught) == 1
    assert str(folder) in str(caught[0].message)
    assert len(compiler.calls) == 5
    assert len(list(folder.iterdir())) == 1


@posix
def test_directory_of_another_user_is_refused(
    folder: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir(mode=0o700)
    owner = folder.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.warns(CacheWarning, match="belongs to user"):
        fetch("text", compiler)
    assert list(folder.iterdir()) == []


def test_file_in_place_of_the_directory_is_refused(folder: Path, compiler: Compiler) -> None:
    folder.write_text("mine")
    with pytest.warns(CacheWarning, match="not a directory"):
        assert fetch("text", compiler) == b"text" * 10
    assert folder.read_text() == "mine"


@posix
def test_robots_work_with_a_refused_directory(folder: Path, compiled: list[str]) -> None:
    folder.mkdir()
    folder.chmod(0o755)
    with pytest.warns(CacheWarning) as caught:
        np.testing.assert_array_equal(torques(), torques())
    assert len(caught) == 1
    assert len(compiled) == 4


@pytest.mark.parametrize("word", ["off", "OFF", "0", "no"])
def test_switched_off_nothing_is_written(
    word: str, tmp_path: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("RECURSA_CACHE", word)
    fetch("text", compiler)
    fetch("text", compiler)
    assert len(compiler.calls) == 2
    assert list(tmp_path.iterdir()) == []


@posix
def test_directory_follows_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECURSA_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert native.directory() == tmp_path / "xdg" / "recursa"
    for ignored in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert native.directory() == tmp_path / "home" / ".cache" / "recursa"
    monkeypatch.setenv("HOME", "nowhere")
    assert native.directory() is None
    monkeypatch.setenv("RECURSA_CACHE", "here")
    assert native.directory() == Path.cwd() / "here"


def test_missing_parents_are_made(tmp_path: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECURSA_CACHE", str(tmp_path / "a" / "b" / "c"))
    fetch("text", compiler)
    fetch("text", compiler)
    assert len(compiler.calls) == 1


# ---- a file system in trouble ----------------------------------------------------------------------------------------


@pytest.fixture
def silent() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("place", ["a file/below", "/proc/recursa/cache", "/dev/null/cache", "x" * 300])
def test_directory_that_cannot_be_made_is_done_without(
    place: str, tmp_path: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a file").touch()
    monkeypatch.setenv("RECURSA_CACHE", str(tmp_path / place))
    assert fetch("text", compiler) == fetch("text", compiler) == b"text" * 10
    assert len(compiler.calls) == 2
    assert native.info().entries == native.clear() == 0


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("call", ["open", "replace", "scandir", "utime", "fstat"])
@pytest.mark.parametrize("kind", [PermissionError, FileNotFoundError, OSError])
def test_no_failing_call_of_the_system_gets_through(
    call: str, kind: type[OSError], folder: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise kind("in trouble")

    fetch("old", compiler)
    with monkeypatch.context() as patch:
        if call == "utime":  # looked up in os.supports_fd as well
            patch.setattr(os, "supports_fd", set())
        patch.setattr(os, call, failing)
        assert fetch("old", compiler) == b"old" * 10
        assert fetch("new", compiler) == b"new" * 10
    assert not list(folder.glob("*.part"))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_full_disk_leaves_no_entry(folder: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    original = os.open

    def full(path: Path, flags: int, *mode: int) -> int:
        return original("/dev/full", os.O_WRONLY) if flags & os.O_CREAT else original(path, flags, *mode)

    monkeypatch.setattr(os, "open", full)
    assert fetch("text", compiler) == b"text" * 10
    assert list(folder.iterdir()) == []


@posix
@pytest.mark.usefixtures("silent")
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_directory_is_still_read(folder: Path, compiler: Compiler) -> None:
    fetch("old", compiler)
    folder.chmod(0o500)
    fetch("old", compiler)
    fetch("new", compiler)
    fetch("new", compiler)
    folder.chmod(0o700)
    assert compiler.calls == ["old", "new", "new"]


# ---- the bound -------------------------------------------------------------------------------------------------------

ENTRY_BYTES = 1000 + HEADER


def fill(folder: Path, names: str, compiler: Compiler) -> None:
    """Entries of one size whose last uses lie minutes apart, the first one longest ago."""
    compiler.repeat = 1000
    for age, name in zip(range(len(names), 0, -1), names, strict=True):
        fetch(name, compiler)
        path = folder / (native.entry_key(name, *SETTING.values()).hex() + ".o")
        moment = time.time() - 60 * age
        os.utime(path, (moment, moment))


def present(folder: Path, names: str) -> str:
    return "".join(n for n in names if (folder / (native.entry_key(n, *SETTING.values()).hex() + ".o")).exists())


def test_least_recently_used_entries_go_first(
    folder: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECURSA_CACHE_MB", str(4.5 * ENTRY_BYTES / 2**20))
    fill(folder, "abcd", compiler)
    fetch("a", compiler)  # a hit: now b was used longest ago
    fetch("e", compiler)
    assert present(folder, "abcde") == "acde"
    fetch("f", compiler)
    assert present(folder, "abcdef") == "adef"
    assert native.info().size <= native.bound()


def test_lower_bound_takes_hold_with_the_next_entry(
    folder: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, "abcdefgh", compiler)
    monkeypatch.setenv("RECURSA_CACHE_MB", str(2.3 * ENTRY_BYTES / 2**20))
    fetch("z", compiler)
    assert present(folder, "abcdefghz") == "hz"


def test_entry_beyond_the_bound_pushes_nothing_out(
    folder: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, "abc", compiler)
    monkeypatch.setenv("RECURSA_CACHE_MB", str(3 * ENTRY_BYTES / 2**20))
    fetch("large" * 1000, compiler)
    assert present(folder, "abc") == "abc"
    assert len(list(folder.iterdir())) == 3


@pytest.mark.parametrize(
    ("text", "mib"), [("1.5", 1.5), ("0", 0), ("-1", 256), ("much", 256), ("nan", 256), ("inf", 256)]
)
def test_bound_is_read_in_mib(text: str, mib: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECURSA_CACHE_MB", text)
    assert native.bound() == mib * 2**20


def test_eviction_touches_only_entries_and_old_leftovers(
    folder: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, "ab", compiler)
    key = "0" * 64
    strange = [folder / name for name in ("notes.txt", "main.o", f"{key}.txt", f"{key}.1.ab.part")]
    for path in strange:
        path.write_bytes(bytes(5000))
    old = folder / f"{key}.2.cd.part"
    old.touch()
    os.utime(old, (0, 0))
    monkeypatch.setenv("RECURSA_CACHE_MB", str(ENTRY_BYTES / 2**20))
    fetch("c", compiler)
    assert present(folder, "abc") == "c"
    assert all(path.exists() for path in strange)
    assert not old.exists()


def test_entries_may_vanish_while_they_are_counted(
    folder: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECURSA_CACHE_MB", str(2.5 * ENTRY_BYTES / 2**20))
    fill(folder, "ab", compiler)
    original = native._files

    def late(place: Path) -> list[tuple[os.stat_result, str]]:
        found = original(place)
        for _, path in found:
            os.unlink(path)
        return found

    monkeypatch.setattr(native, "_files", late)
    assert fetch("c", compiler) == b"c" * 1000


def test_full_cache_makes_some_room_at_once(folder: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECURSA_CACHE_MB", str(20 * ENTRY_BYTES / 2**20))
    names = "abcdefghijklmnopqrst"
    fill(folder, names, compiler)
    assert present(folder, names) == names
    fetch("u", compiler)
    assert present(folder, names + "u") == names[3:] + "u"


def test_entries_of_other_processes_count(folder: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECURSA_CACHE_MB", str(3.5 * ENTRY_BYTES / 2**20))
    fill(folder, "abc", compiler)
    monkeypatch.setattr(native, "_sizes", {})
    fetch("d", compiler)
    assert present(folder, "abcd") == "bcd"


# ---- the command line ------------------------------------------------------------------------------------------------


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(recursa, ["cache", *arguments])


def test_info_matches_the_directory(folder: Path, compiler: Compiler) -> None:
    fill(folder, "abc", compiler)
    assert json.loads(invoke("info", "--json").output) == {
        "path": str(folder), "state": "in use", "entries": 3, "size": 3 * ENTRY_BYTES, "bound": 256 * 2**20,
        "unfinished": 0,
    }  # fmt: skip
    lines = dict(line.split(maxsplit=1) for line in invoke("info").output.splitlines())
    assert lines == {"path": str(folder), "state": "in use", "entries": "3", "size": "0.00 MiB", "bound": "256 MiB"}


def test_info_makes_no_directory(folder: Path) -> None:
    assert json.loads(invoke("info", "--json").output)["state"] == "empty"
    assert invoke("clear").output == "0 entries removed\n"
    assert not folder.exists()


def test_info_says_when_it_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECURSA_CACHE", "off")
    found = json.loads(invoke("info", "--json").output)
    assert (found["path"], found["state"], found["entries"]) == (None, "off", 0)


def test_clear_removes_entries_only(folder: Path, compiler: Compiler) -> None:
    fill(folder, "abc", compiler)
    (folder / "notes.txt").write_text("mine")
    (folder / ("0" * 64 + ".1.ab.part")).touch()
    assert invoke("clear").output == "3 entries removed\n"
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    fetch("a", compiler)
    assert invoke("clear").output == "1 entry removed\n"


@posix
def test_clear_leaves_a_refused_directory_alone(folder: Path, compiler: Compiler) -> None:
    fetch("text", compiler)
    folder.chmod(0o755)
    result = invoke("clear")
    assert isinstance(result.exception, rc.RecursaError)
    assert "left alone; refused: its mode is 0755" in str(result.exception)
    assert entry(folder).exists()
    assert "refused" in invoke("info").output


@pytest.mark.parametrize("verb", ["info", "clear"])
def test_help_of_each_verb_has_examples(verb: str) -> None:
    assert f"recursa cache {verb}" in invoke(verb, "--help").output.split("Examples:")[1]


# ---- several processes, threads, forks -------------------------------------------------------------------------------

WRITER = """
import random, sys
from recursa.kernels.native import object_code
setting = {"cpu": "cpu", "features": "+f", "llvm_version": "1.2.3", "options": "opt=2"}
seed, rounds, repeat = (int(x) for x in sys.argv[1:])
rng = random.Random(seed)
print("ready", flush=True)
for _ in range(rounds):
    name = rng.choice("abcdefgh")
    found = object_code(name, lambda ir: ir.encode() * repeat, **setting)
    if found != name.encode() * repeat:
        sys.exit(f"wrong code for {name}")
"""


def writer(seed: int, rounds: int, repeat: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", WRITER, str(seed), str(rounds), str(repeat)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def hammer(folder: Path, processes: int, rounds: int) -> None:
    """Writers that push each other's entries out, while entries are damaged and removed under them."""
    running = [writer(seed, rounds, 50_000) for seed in range(processes)]
    rng = random.Random(0)
    while any(process.poll() is None for process in running):
        for path in list(folder.glob("*.o")):
            try:
                if rng.random() < 0.5:
                    path.unlink()
                else:
                    os.truncate(path, rng.randrange(1000))
            except OSError:
                pass
        time.sleep(0.005)
    for process in running:
        _, errors = process.communicate()
        assert (process.returncode, errors) == (0, "")
    assert not list(folder.glob("*.part"))


def kill_writers(folder: Path, kills: int) -> None:
    """Writers die at random moments; every entry that is there afterwards is sound."""
    rng = random.Random(0)
    repeat = 4_000_000
    for seed in range(kills):
        native.clear()  # so that there is something to write
        process = writer(seed, 10_000, repeat)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(rng.uniform(0.0, 0.08))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        for name in "abcdefgh":
            key = native.entry_key(name, *SETTING.values())
            path = folder / (key.hex() + ".o")
            assert not path.exists() or native._load(path, key) == name.encode() * repeat
    compiler = Compiler(repeat)
    for _ in range(2):
        for name in "abcdefgh":
            assert fetch(name, compiler) == name.encode() * repeat
    assert len(compiler.calls) <= 8


def test_racing_writers_agree(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECURSA_CACHE_MB", "0.2")  # four of the eight entries
    hammer(folder, 3, 1000)


@posix
def test_killed_writers_leave_a_usable_cache(folder: Path) -> None:
    kill_writers(folder, 5)


@pytest.mark.slow
def test_racing_writers_agree_for_long(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECURSA_CACHE_MB", "0.2")
    hammer(folder, 6, 20_000)


@posix
@pytest.mark.slow
def test_many_killed_writers_leave_a_usable_cache(folder: Path) -> None:
    kill_writers(folder, 60)


@posix
@pytest.mark.slow
def test_processes_killed_while_they_compile_change_no_result(folder: Path) -> None:
    expected = torques()
    rng = random.Random(1)
    for _ in range(40):
        for path in folder.glob("*.o"):
            path.unlink(missing_ok=True)
        process = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.2, 0.8))
        process.kill()
        process.wait()
        np.testing.assert_array_equal(torques(), expected)


def test_threads_share_the_cache(folder: Path) -> None:
    expected = torques()
    results: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: results.append(torques())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    for result in results:
        np.testing.assert_array_equal(result, expected)


IR = "define void @kernel(i64 %n, ptr %x) {\n  store i64 VALUE, ptr %x\n  ret void\n}\n"


def stored(value: int) -> int:
    """Compile a function that stores a number, and call it."""
    place = np.zeros(1, np.int64)
    kernel = Native(IR.replace("VALUE", str(value)), "kernel", 1)  # the name keeps the code alive during the call
    kernel.function(1, place.ctypes.data)
    return int(place[0])


def forked(work: Callable[[], bool]) -> int:
    """The exit code of a child that works; -SIGALRM if it hangs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12 on: forks beside threads
        child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            os._exit(0 if work() else 1)
        except BaseException:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@posix
def test_forks_while_another_thread_compiles_do_not_hang(folder: Path) -> None:
    """Neither our lock nor llvmlite's is left locked in the child, which compiles, and finds what the parent stored."""
    stop = threading.Event()
    started = threading.Event()

    def busy() -> None:
        value = 0
        while not stop.is_set():
            value += 1
            assert stored(value) == value
            started.set()

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        assert started.wait(20)
        for k in range(15):
            fresh = 1_000_000 + k
            assert forked(lambda fresh=fresh: stored(fresh) == fresh and stored(1) == 1) == 0
    finally:
        stop.set()
        thread.join()
    assert stored(7) == 7


@posix
def test_kernels_made_before_a_fork_work_in_the_child(folder: Path) -> None:
    robot = rc.robots.puma560()
    q, v = robot.random_state(3)
    expected = robot.inverse_dynamics(q, v, v)
    assert forked(lambda: bool((robot.inverse_dynamics(q, v, v) == expected).all())) == 0
    assert forked(lambda: bool((rc.robots.puma560().inverse_dynamics(q, v, v) == expected).all())) == 0


def test_what_dead_writers_left_is_counted_and_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECURSA_CACHE", str(tmp_path / "kernels"))
    native.keep(b"a" * 32, native.CODE, b"code")
    before = native.info()
    left = tmp_path / "kernels" / f"{'b' * 64}.77.abcd.part"
    left.write_bytes(b"x" * 1000)
    found = native.info()
    assert (found.entries, found.unfinished, found.size) == (before.entries, 1, before.size + 1000)
    os.utime(left, (1.0, 1.0))
    native._sizes.clear()  # as in a new process
    native.keep(b"c" * 32, native.CODE, b"code")
    assert native.info().unfinished == 0
