"""What is handed out: the source distribution is complete, the same bytes every time, and says what it consists of."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import dist
import matrix
import sbom

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="no git here")
def test_source_distribution_has_every_file() -> None:
    lists = pytest.importorskip("setuptools._distutils.filelist", reason="setuptools is not installed")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    tracked = [name for name in listed if name]
    found = lists.FileList()
    found.set_allfiles(tracked)
    for line in (ROOT / "MANIFEST.in").read_text().splitlines():
        found.process_template_line(line)
    by_itself = re.compile(
        r"src/recursa/.*\.(py|c|urdf|json|typed)|src/recursa/view/page\..*|pyproject\.toml|setup\.py|LICENSE|MANIFEST\.in"
    )
    assert [name for name in tracked if name not in found.files and not by_itself.fullmatch(name)] == []


def _archive(names: list[str], hour: int) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.uid, member.uname, member.mode = 3, hour, hour, f"user{hour}", 0o664
            archive.addfile(member, io.BytesIO(name.encode()))
    return made.getvalue()


def test_archives_carry_nothing_of_who_made_them() -> None:
    one, other = _archive(["a/1", "a/2"], 5), _archive(["a/2", "a/1"], 77)
    assert one != other
    assert dist.repacked(one, 1_700_000_000) == dist.repacked(other, 1_700_000_000)
    with tarfile.open(fileobj=io.BytesIO(dist.repacked(one, 1_700_000_000))) as archive:
        read = {one.name: (archive.extractfile(one).read(), one.mtime) for one in archive.getmembers()}  # type: ignore[union-attr]
    assert read == {name: (name.encode(), 1_700_000_000) for name in ("a/1", "a/2")}


def test_bill_of_materials_has_all_requirements_with_their_licences() -> None:
    (name, made), *_ = sbom.bill_of_materials(0).items()
    assert sbom.bill_of_materials(0) == {name: made}
    bill = json.loads(made)
    listed = {one["name"].lower(): one for one in bill["components"]}
    required = {re.split("[<>=]", one)[0] for one in PROJECT["dependencies"]}
    assert required | {"three"} <= listed.keys()
    assert [one for one in listed.values() if not one.get("licenses")] == []
    assert bill["metadata"]["component"]["licenses"] == [{"expression": PROJECT["license"]}]
    references = {one["bom-ref"] for one in bill["components"]}
    assert {one for item in bill["dependencies"] for one in item["dependsOn"]} <= references


def test_every_requirement_states_one_lowest_version() -> None:
    extras = PROJECT["optional-dependencies"]
    stated = [*PROJECT["dependencies"], *(one for extra in extras.values() for one in extra)]
    lowest = matrix.minima(stated)
    assert len({one.split("==")[0] for one in lowest}) == len(lowest), lowest
