"""The tables of models.md: every robot file of other people's packages, loaded and compared.

``python docs/make_models.py FOLDER ...`` goes through folders and ``example-robot-data``, if that is installed,
and prints the tables; ``pip install --no-deps --target FOLDER`` puts packages into one. Nothing is compiled: every file
would need code of its own.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

os.environ["RECURSA_COMPILE"] = "0"

import recursa as rc
from recursa.formats.source import Assets, Source
from recursa.formats.table import format_of
from recursa.interop.comparing import compare
from recursa.interop.mujoco import InMujoco
from recursa.interop.peer import Peer
from recursa.interop.pinocchio import InPinocchio

ENDINGS = {".urdf", ".xml", ".mjcf", ".sdf", ".xacro"}
ROOTS = (b"<robot", b"<mujoco", b"<sdf")
NOT_MODELLED = {"losses", "springs", "tendons", "gravity compensation", "fluid", "fixed mass"}
"""What MuJoCo's own reading has beside the tree; the doctor names it."""
FORMATS = {"urdf": "Pinocchio", "mjcf": "MuJoCo", "xacro": "", "sdf": ""}
STATES, TOLERANCE = 2, 1e-9


@dataclass
class Row:
    """What became of the files of one package in one format."""

    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, list[str]] = field(default_factory=dict)

    def note(self, outcome: str, file: str, reason: str = "") -> None:
        """Count a file, and keep the reason of what became of it."""
        self.outcomes[outcome] += 1
        if reason:
            self.reasons.setdefault(f"{outcome}: {reason}", []).append(file)


def packages(folders: list[str]) -> Iterator[tuple[str, Path]]:
    """Packages by name and place."""
    for place in map(Path, sys.path):
        data = place / "cmeel.prefix/share/example-robot-data/robots"
        if data.is_dir():
            yield "example-robot-data", data
    for folder in map(Path, folders):
        yield from ((one.name, one) for one in sorted(folder.iterdir()) if one.is_dir() and one.suffix != ".dist-info")


def robot_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Format and path of every robot file."""
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in ENDINGS and path.is_file():
            content = path.read_bytes()
            if any(root in content for root in ROOTS):
                name = format_of(Source(content, str(path), Assets()))
                if name in FORMATS and not (name == "urdf" and b"<robot" not in content):
                    yield name, path


def peer_of(robot: rc.Robot, name: str, path: Path, assets: Assets) -> Peer | None:
    """The peer's own reading of the same file."""
    if name == "urdf":
        return InPinocchio(robot, path.read_text(errors="replace"))
    if name == "mjcf":
        return InMujoco(robot, mjcf=Source(path.read_bytes(), str(path), assets)).repaired(NOT_MODELLED)
    return None


def examine(name: str, path: Path, folder: Path, row: Row) -> None:
    """Load a file, compare it where somebody else reads it too, and note what came out."""
    shown = str(path.relative_to(folder))
    assets = [one for one in path.parents if one == folder or folder in one.parents]
    try:
        robot = rc.load(path, format=name, assets=assets, strict=False)
    except rc.RecursaError as error:
        return row.note("refused", shown, reason_of(error))
    if robot.nv == 0:
        return row.note("no joints", shown)
    try:
        peer = peer_of(robot, name, path, Assets(assets))
    except (rc.RecursaError, ValueError, RuntimeError, AttributeError) as error:
        return row.note("peer refuses", shown, reason_of(error))
    if peer is None:
        return row.note("loads", shown)
    try:
        found = compare(robot, peer, states=STATES, tolerance=TOLERANCE)
    except rc.RecursaError as error:  # no masses, mostly
        return row.note("nothing to compare", shown, reason_of(error))
    apart = [one for one in found.differences if not one.agrees]
    if not apart:
        return row.note("agrees", shown)
    known = {reason for one in apart for reason in one.reasons or ("not explained",)}
    return row.note("differs", shown, ", ".join(sorted(known)))


def reason_of(error: Exception) -> str:
    """The kind of a refusal: names and numbers left out."""
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    text = re.sub(r"^.*?(line \d+|\.(xml|urdf|sdf|xacro)): ", "", text)
    text = re.sub(r"'[^']*'|\"[^\"]*\"|<[^>]*>", "…", text)
    return re.sub(r"[-+]?\d[\d.e+-]*", "N", text)[:90].replace("|", "/")


def main(folders: list[str]) -> None:
    """Print the tables in Markdown."""
    warnings.simplefilter("ignore")
    rows: dict[tuple[str, str], Row] = {}
    for package, folder in packages(folders):
        for name, path in robot_files(folder):
            examine(name, path, folder, rows.setdefault((package, name), Row()))
            print(".", end="", flush=True, file=sys.stderr)
    outcomes = ["agrees", "loads", "no joints", "nothing to compare", "peer refuses", "refused", "differs"]
    print("\n| package | format | compared with | files |", " | ".join(outcomes), "|")
    print("|---" * (4 + len(outcomes)) + "|")
    for (package, name), row in rows.items():
        counts = [str(row.outcomes[one] or "") for one in outcomes]
        print("|", " | ".join([package, name, FORMATS[name], str(sum(row.outcomes.values())), *counts]), "|")
    for (package, name), row in rows.items():
        for reason, files in sorted(row.reasons.items(), key=lambda item: -len(item[1])):
            print(f"- {package}, {name}, {len(files)} times {reason} (`{files[0]}`)")


if __name__ == "__main__":
    main(sys.argv[1:])
