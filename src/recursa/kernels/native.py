"""IR text to machine code through llvmlite, and calls into it."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import math
import os
import re
import secrets
import stat
import struct
import sys
import threading
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from recursa.kernels.writer import Shape

# ---- object code kept on disk, so that a kernel is compiled once per machine and not once per process ----------------
# What else is known of a kernel (``records.py``) lies beside it, in entries of the same kind. An entry is named by a
# hash of everything that decides its content, written to a temporary file and renamed into place, and carries a
# checksum: what is damaged, truncated, foreign or a link is made again and replaced, never loaded. The directory has to
# be private to the user, because what lies in it is executed. Trouble with the file system is no error: the cache is
# then simply not used.
#
# ``RECURSA_CACHE`` moves the directory (``off`` does without), ``RECURSA_CACHE_MB`` bounds its size.


FORMAT = 1
DEFAULT_MIB = 256
_MAGIC = b"recursa\0"
_HEADER = struct.Struct("<8sI32sQ")  # magic, format, checksum, length of the object code that follows
CODE, RECORD, _UNFINISHED = ".o", ".record", ".part"
_ENTRIES = CODE, RECORD
_OURS = re.compile(r"[0-9a-f]{64}(\.o|\.record|\.\d+\.[0-9a-f]+\.part)")
_ROOM = 0.9  # a full cache is emptied to this part of its bound, so that it is not counted with every new entry
_STALE = 3600.0  # seconds after which an unfinished file belongs to a writer that died
_OFF = ("off", "0", "no")
_POSIX = os.name == "posix"
_READ_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK"))
_WRITE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | sum(getattr(os, name, 0) for name in ("O_BINARY", "O_CLOEXEC"))


class CacheWarning(UserWarning):
    """The cache directory is not private to the user, so it is not used; everything works, with slower starts."""


def object_code(
    ir: str, compile: Callable[[str], bytes], *, cpu: str, features: str, llvm_version: str, options: str
) -> bytes:
    """The object code of ``ir``: from the cache, or compiled and stored."""
    key = entry_key(ir, cpu, features, llvm_version, options)
    found = fetch(key, CODE)
    if found is not None:
        return found
    payload = compile(ir)
    keep(key, CODE, payload)
    return payload


def fetch(key: bytes, kind: str) -> bytes | None:
    """What an entry holds; None where there is none that can be trusted."""
    folder = _usable_folder()
    return None if folder is None else _load(folder / (key.hex() + kind), key)


def keep(key: bytes, kind: str, payload: bytes) -> None:
    """Make an entry, if there is a place for it."""
    folder = _usable_folder()
    if folder is not None:
        with contextlib.suppress(OSError):
            _store(folder / (key.hex() + kind), key, payload)


def entry_key(*parts: str) -> bytes:
    """The hash that names an entry; each part with its length, so that no two lists of parts look alike."""
    digest = hashlib.sha256(f"recursa object code {FORMAT}".encode())
    for part in parts:
        data = part.encode()
        digest.update(struct.pack("<Q", len(data)))
        digest.update(data)
    return digest.digest()


# ---- where --------------------------------------------------------------------------------------------------------


def directory() -> Path | None:
    """Where the cache is or would be; None if it is switched off or there is no place for it."""
    chosen = os.environ.get("RECURSA_CACHE", "")
    if chosen.lower() in _OFF:
        return None
    if chosen:
        return Path(os.path.abspath(os.path.expanduser(chosen)))
    above = os.environ.get("XDG_CACHE_HOME" if _POSIX else "LOCALAPPDATA", "")
    if not os.path.isabs(above):  # by the XDG rules a relative one does not count
        above = os.path.expanduser("~/.cache")
    return Path(above) / "recursa" if os.path.isabs(above) else None


def bound() -> int:
    """The largest size of the cache in bytes."""
    try:
        mib = float(os.environ.get("RECURSA_CACHE_MB", DEFAULT_MIB))
    except ValueError:
        mib = DEFAULT_MIB
    return int((mib if math.isfinite(mib) and mib >= 0 else DEFAULT_MIB) * 2**20)


def refusal(folder: Path) -> str:
    """Why an existing directory must not be used; empty if it may be. Raises OSError if there is none."""
    found = folder.stat()
    if not stat.S_ISDIR(found.st_mode):
        return "it is not a directory"
    if not _POSIX:
        return ""
    if found.st_uid != os.geteuid():
        return f"it belongs to user {found.st_uid}, not to you"
    if found.st_mode & 0o077:
        return f"its mode is {stat.S_IMODE(found.st_mode):04o}, which gives others access; it has to be 0700"
    return ""


def _usable_folder() -> Path | None:
    """The directory, made if it is not there; None where there is none to use."""
    folder = directory()
    if folder is None:
        return None
    try:
        if not folder.exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
        reason = refusal(folder)
    except OSError:
        return None
    if reason:
        _warn_once(folder, reason)
        return None
    return folder


_warned: set[Path] = set()


def _warn_once(folder: Path, reason: str) -> None:
    if folder not in _warned:
        _warned.add(folder)
        warnings.warn(
            f"the kernel cache {folder} is not used: {reason}. Kernels are compiled anew in every process; "
            "RECURSA_CACHE names another directory, RECURSA_CACHE=off does without",
            CacheWarning,
            stacklevel=2,
        )


# ---- entries ------------------------------------------------------------------------------------------------------


def _checksum(key: bytes, payload: bytes) -> bytes:
    """Over the key too: a sound entry under another's name is foreign."""
    return hashlib.sha256(key + payload).digest()


def _load(path: Path, key: bytes) -> bytes | None:
    """The object code of an entry and a note that it was used; None for whatever is not exactly such an entry."""
    try:
        if path.is_symlink():  # where the flag below does not exist
            return None
        with open(os.open(path, _READ_FLAGS), "rb") as file:
            payload = _read(file.fileno(), file.read, key)
            if payload is not None:
                with contextlib.suppress(OSError):
                    os.utime(file.fileno() if os.utime in os.supports_fd else path)
        return payload
    except OSError:
        return None


def _read(descriptor: int, read: Callable[[int], bytes], key: bytes) -> bytes | None:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or (_POSIX and (found.st_uid != os.geteuid() or found.st_mode & 0o022)):
        return None
    head = read(_HEADER.size)
    if len(head) != _HEADER.size:
        return None
    magic, version, checksum, length = _HEADER.unpack(head)
    if (magic, version, length) != (_MAGIC, FORMAT, found.st_size - _HEADER.size):
        return None
    payload = read(length)
    return payload if _checksum(key, payload) == checksum else None


def _store(path: Path, key: bytes, payload: bytes) -> None:
    """Write an entry; it is there as a whole or not at all. Others make room for it."""
    limit = bound()
    size = _HEADER.size + len(payload)
    if size > limit:
        return
    unfinished = path.with_name(f"{path.stem}.{os.getpid()}.{secrets.token_hex(4)}{_UNFINISHED}")
    try:
        with open(os.open(unfinished, _WRITE_FLAGS, 0o600), "wb") as file:
            file.write(_HEADER.pack(_MAGIC, FORMAT, _checksum(key, payload), len(payload)))
            file.write(payload)
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise
    _sizes[path.parent] = _sizes.get(path.parent, limit) + size  # a directory that is new to this process is counted
    if _sizes[path.parent] > limit:
        _sizes[path.parent] = _evict(path.parent, limit)


_sizes: dict[Path, int] = {}  # of directories, as far as this process knows


# ---- all entries ----------------------------------------------------------------------------------------------------


def _files(folder: Path) -> list[tuple[os.stat_result, str]]:
    """Files that are named like ours; others may remove them at any moment."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as listing:
        for item in listing:
            if _OURS.fullmatch(item.name):
                with contextlib.suppress(OSError):
                    found.append((item.stat(follow_symlinks=False), item.path))
    return [(status, path) for status, path in found if not stat.S_ISDIR(status.st_mode)]


def _entries(files: list[tuple[os.stat_result, str]]) -> list[tuple[os.stat_result, str]]:
    return [(status, path) for status, path in files if path.endswith(_ENTRIES)]


def _evict(folder: Path, limit: int) -> int:
    """Remove what dead writers left, and entries, least recently used first, until there is some room; what remains.

    The newest entry stays in any case.
    """
    files = _files(folder)
    expired = time.time() - _STALE
    unfinished = 0
    for status, path in files:
        if path.endswith(_UNFINISHED) and not (status.st_mtime < expired and _remove(path)):
            unfinished += status.st_size
    entries = sorted(_entries(files), key=lambda entry: entry[0].st_mtime_ns)
    total = unfinished + sum(status.st_size for status, _ in entries)
    if total > limit:
        for status, path in entries[:-1]:
            if total <= _ROOM * limit:
                break
            _remove(path)
            total -= status.st_size
    return total


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


@dataclass(frozen=True)
class Info:
    """What ``recursa cache info`` tells: ``state`` is "in use", "empty", "off", or why it is refused.

    ``unfinished`` are files of writers that are at work or died; they are part of ``size``.
    """

    path: str | None
    state: str
    entries: int
    size: int
    bound: int
    unfinished: int = 0


def info() -> Info:
    """Where the cache is, whether it is used, and how full it is."""
    folder = directory()
    if folder is None:
        return Info(None, "off", 0, 0, bound())
    try:
        reason = refusal(folder)
    except OSError:
        return Info(str(folder), "empty", 0, 0, bound())
    if reason:
        return Info(str(folder), f"refused: {reason}", 0, 0, bound())
    files = _files(folder)
    entries, size = len(_entries(files)), sum(status.st_size for status, _ in files)
    return Info(str(folder), "in use" if entries else "empty", entries, size, bound(), len(files) - entries)


def clear() -> int:
    """Remove all entries, and nothing else, and say how many there were; a directory that is refused is left alone."""
    folder = directory()
    try:
        if folder is None or refusal(folder):
            return 0
    except OSError:
        return 0
    return sum([_remove(path) and path.endswith(_ENTRIES) for _, path in _files(folder)])


_COMPILE_LOCK = threading.RLock()


class Effort:
    """How hard LLVM tries when it chooses instructions and registers, 0 to 3. Less compiles sooner, runs more slowly;
    arithmetic and bits are the same. RECURSA_EFFORT sets it.
    """

    level = {"0": 0, "1": 1, "3": 3}.get(os.environ.get("RECURSA_EFFORT", ""), 2)


# A fork waits for a compilation that is under way: the child then finds this lock, llvmlite's own, and LLVM free.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_COMPILE_LOCK.acquire, after_in_parent=_COMPILE_LOCK.release, after_in_child=_COMPILE_LOCK.release
    )


@cache
def _setting(effort: int) -> dict[str, str]:
    """What decides the object code beside the IR; the cache's key."""
    import llvmlite
    import llvmlite.binding as llvm

    return {
        "cpu": llvm.get_host_cpu_name(),
        "features": llvm.get_host_cpu_features().flatten(),
        "llvm_version": f"{'.'.join(map(str, llvm.llvm_version_info))}, llvmlite {llvmlite.__version__}",
        "options": f"{llvm.get_default_triple()} opt={effort} jit",
    }


def _host() -> Any:
    """A target machine for this processor, with everything it has; each execution engine owns one."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    setting = _setting(Effort.level)
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=setting["cpu"], features=setting["features"], opt=Effort.level, jit=True)


def setting_text() -> str:
    """What decides the object code beside the IR, as text."""
    with _COMPILE_LOCK:
        return repr(_setting(Effort.level))


def code_key(ir: str) -> bytes:
    """The name of a module's object code in the cache."""
    with _COMPILE_LOCK:
        return entry_key(ir, *_setting(Effort.level).values())


def machine_code(ir: str) -> bytes:
    """The object code of a module, from the cache or from LLVM."""
    with _COMPILE_LOCK:
        return object_code(ir, compiled, **_setting(Effort.level))


def compiled(ir: str) -> bytes:
    """The object code of a module."""
    import llvmlite.binding as llvm

    machine = _host()
    module = llvm.parse_assembly(ir)
    module.verify()
    return machine.emit_object(module)


def _loaded(code: bytes) -> Any:
    """An execution engine that holds object code, linked and ready to run; it keeps its own copy."""
    import llvmlite.binding as llvm

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _host())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


@cache
def simd_width(single: bool) -> int:
    """States that fit into one register of this processor."""
    import llvmlite.binding as llvm

    with _COMPILE_LOCK:
        features = llvm.get_host_cpu_features()
    doubles = 8 if features.get("avx512f") else 4 if features.get("avx2") else 2
    return 2 * doubles if single else doubles


def simd_shape(single: bool) -> Shape:
    """The widest shape of this processor."""
    return Shape(simd_width(single), single)


class Native:
    """A compiled function ``void f(i64 blocks, ptr...)``. The machine code lives as long as this object."""

    def __init__(self, module: str | bytes, name: str, pointers: int) -> None:
        """Of a module's IR, or of its object code."""
        code = machine_code(module) if isinstance(module, str) else module
        with _COMPILE_LOCK:
            self._engine = _loaded(code)
            self.address = self._engine.get_function_address(name)
        self.function = ctypes.CFUNCTYPE(None, ctypes.c_int64, *([ctypes.c_void_p] * pointers))(self.address)

    def __del__(
        self, lock: AbstractContextManager[Any] = _COMPILE_LOCK, ending: Callable[[], bool] = sys.is_finalizing
    ) -> None:
        """Free the code under the lock too, so that no fork falls into it; names of the module may be gone already."""
        if hasattr(self, "_engine") and not ending():
            with lock:
                self._engine.close()
