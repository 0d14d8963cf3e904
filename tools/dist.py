"""Wheels, source distribution and bill of materials in ``dist/``, the same bytes from every build: ``make dist``.

There are two wheels: with C extensions for this Python and system, and without for all. Everything is built twice, from
copies of what git has in different folders, and compared. SOURCE_DATE_EPOCH is the time that the files carry, that of
the last commit if it is not set. The source distribution has to hold every file that git has.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from sbom import bill_of_materials

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"


def main() -> int:
    """1 if two builds differ, or a file is missing."""
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or _git("log", "-1", "--format=%ct"))
    tracked = [name for name in _git("ls-files").splitlines() if not (ROOT / name).is_symlink()]  # examples is one
    with tempfile.TemporaryDirectory() as folder:
        first, second = (_built(Path(folder, name), tracked, epoch) for name in ("here", "in/another/place"))
    if first != second:
        differing = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
        print("two builds differ:", *differing)
        return 1
    missing = set(tracked) - _members(next(data for name, data in first.items() if name.endswith(".tar.gz")))
    if missing:
        print("the source distribution lacks", *sorted(missing), "- MANIFEST.in has to name them")
        return 1
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    first |= bill_of_materials(epoch)
    for name, data in first.items():
        (DIST / name).write_bytes(data)
        print(f"dist/{name}: {len(data)} bytes, the same twice" if name in second else f"dist/{name}")
    return 0


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def _built(folder: Path, tracked: list[str], epoch: int) -> dict[str, bytes]:
    """The files that are built from a copy, by name."""
    for name in tracked:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    # no notes for debuggers in the extension: they name folders
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(epoch), "CFLAGS": "-g0", "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-m", "build", "--outdir", str(folder / "dist"), str(folder)]
    for what, extensions in (((), "required"), (("--wheel",), "none")):
        wanted = environment | {"RECURSA_EXTENSIONS": extensions}
        done = subprocess.run([*command, *what], env=wanted, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stdout + done.stderr)
    built = {one.name: one.read_bytes() for one in (folder / "dist").iterdir()}
    return {name: repacked(data, epoch) if name.endswith(".tar.gz") else data for name, data in sorted(built.items())}


def repacked(archive: bytes, epoch: int) -> bytes:
    """The same archive with its members in order, and nothing of the machine and the hour that made it."""
    target = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(archive)) as old,
        tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda one: one.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = epoch, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    return gzip.compress(target.getvalue(), mtime=epoch)


def _members(archive: bytes) -> set[str]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as found:
        return {name.partition("/")[2] for name in found.getnames()}


if __name__ == "__main__":
    sys.exit(main())
