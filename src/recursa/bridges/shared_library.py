"""C text compiled by the system's compiler into a library that others load; kept with our compiled kernels."""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from recursa.errors import RecursaError
from recursa.kernels.cache import CODE, entry_key, fetch, keep
from recursa.waits import spoken

_FLAGS = ("-std=c99", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-math-errno", "-w")
_ENDING = {"darwin": ".dylib"}.get(sys.platform, ".so")


def library(text: str, name: str) -> Path:
    """The file of a library made from C text; it lasts as long as this process."""
    path = _folder() / f"{name}{_ENDING}"
    compiler = _compiler()
    key = entry_key("shared library", text, *compiler, *_FLAGS, _version(tuple(compiler)), sys.platform)
    found = fetch(key, CODE)
    path = path.with_name(f"{name}.{key.hex()[:16]}{_ENDING}")
    if not path.exists():
        if found is None:
            found = _compiled(compiler, text, path.with_suffix(".c"))
            keep(key, CODE, found)
        path.write_bytes(found)
    return path


def _compiler() -> list[str]:
    """The command; CC names another than the usual ones."""
    chosen = shlex.split(os.environ.get("CC", ""))
    for command in ([chosen] if chosen else []) + [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(command[0]) is not None:
            return command
    told = f"CC={chosen[0]!r} is not there, and " if chosen else ""
    raise RecursaError(
        f'form="compiled" needs a C compiler: {told}neither cc nor gcc nor clang is on the path. Install one (Debian: '
        'gcc, macOS: xcode-select --install), or leave form="compiled" out: CasADi then computes by itself'
    )


@cache
def _version(compiler: tuple[str, ...]) -> str:
    told = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=False)
    return told.stdout


@cache
def _folder() -> Path:
    folder = mkdtemp(prefix="recursa-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _compiled(compiler: list[str], text: str, source: Path) -> bytes:
    source.write_text(text, "utf-8")
    made = source.with_suffix(".made")
    command = [*compiler, *_FLAGS, str(source), "-o", str(made), "-lm"]
    with spoken(f"compiling {source.stem.partition('.')[0]}"):
        told = subprocess.run(command, capture_output=True, text=True, check=False)
    if told.returncode != 0 or not made.exists():
        first = next((line for line in told.stderr.splitlines() if "error" in line), told.stderr.strip()[:200])
        raise RecursaError(f"the C compiler ({shlex.join(compiler)}) failed on generated code: {first}")
    found = made.read_bytes()
    for file in (made, source):
        file.unlink()
    return found
