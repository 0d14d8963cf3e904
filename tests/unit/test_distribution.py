"""What is handed out: the source distribution is complete, the same bytes every time, and says what it consists of."""

from __future__ import annotations

import io
import json
import re
import runpy
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
WHOLE: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT: dict[str, Any] = WHOLE["project"]
BUILD: dict[str, Any] = WHOLE["build-system"]


@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="no git here")
def test_source_distribution_has_every_file() -> None:
    lists = pytest.importorskip("setuptools._distutils.filelist", reason="setuptools is not installed")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    tracked = [name for name in listed if name and not (ROOT / name).is_symlink()]  # examples: a folder of the package
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


# ---- how it is built -------------------------------------------------------------------------------------------------


def _setup(monkeypatch: pytest.MonkeyPatch, *, wanted: str = "", version: str = "80.0.1") -> list[Any]:
    """The extensions that setup.py asks for."""
    setuptools = pytest.importorskip("setuptools")
    asked: dict[str, Any] = {}
    monkeypatch.setattr(setuptools, "setup", lambda **given: asked.update(given))
    monkeypatch.setattr(setuptools, "__version__", version)
    monkeypatch.setenv("RECURSA_EXTENSIONS", wanted)
    runpy.run_path(str(ROOT / "setup.py"))
    return asked["ext_modules"]


def test_llvmlite_is_required_everywhere_but_on_emscripten() -> None:
    requirements = pytest.importorskip("packaging.requirements")
    (one,) = (one for one in map(requirements.Requirement, PROJECT["dependencies"]) if one.name == "llvmlite")
    for system, wanted in (("Linux", True), ("Windows", True), ("Darwin", True), ("Emscripten", False)):
        assert one.marker.evaluate({"platform_system": system}) == wanted


def test_extensions_are_optional_left_out_or_required(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = _setup(monkeypatch)
    assert [extension.name for extension in usual] == ["recursa._entry"] and usual[0].optional
    assert _setup(monkeypatch, wanted="none") == []
    assert not any(one.optional for one in _setup(monkeypatch, wanted="required"))
    with pytest.raises(SystemExit, match="'none', 'required' or not set"):
        _setup(monkeypatch, wanted="perhaps")


def test_every_c_source_is_built_and_every_header_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    built = _setup(monkeypatch)
    folder = ROOT / "src" / "recursa"
    assert sorted(name for one in built for name in one.sources) == sorted(
        f"src/recursa/{one.name}" for one in folder.glob("*.c")
    )
    assert {name for one in built for name in one.depends} == {f"src/recursa/{one.name}" for one in folder.glob("*.h")}


def test_an_old_setuptools_is_named_and_not_the_licence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match=r"needs setuptools 77 or later and found 65\.5\.0.*pip install"):
        _setup(monkeypatch, version="65.5.0")
    (required,) = (one for one in BUILD["requires"] if one.startswith("setuptools"))
    assert required == "setuptools>=77"


def test_the_version_stands_in_one_place() -> None:
    import recursa

    assert PROJECT["dynamic"] == ["version"] and "version" not in PROJECT
    assert WHOLE["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "recursa.version.__version__"}
    assert f'__version__ = "{recursa.__version__}"' in (ROOT / "src" / "recursa" / "version.py").read_text()


def test_licences_of_what_is_inside_are_handed_out() -> None:
    files = PROJECT["license-files"]
    assert "LICENSE" in files and all((ROOT / one).is_file() for one in files)
    inside = {str(one.relative_to(ROOT).as_posix()) for one in (ROOT / "src").rglob("*LICENSE*")}
    assert inside <= set(files)


def test_wheels_are_built_for_every_python_that_is_stated_and_have_their_extensions() -> None:
    wheels = WHOLE["tool"]["cibuildwheel"]
    stated = [one.rsplit(" ", 1)[1] for one in PROJECT["classifiers"] if ":: 3." in one]
    built = {one.removesuffix("-*") for one in wheels["build"].split()}
    assert {f"cp{one.replace('.', '')}" for one in stated} <= built
    for part in (wheels, wheels["windows"]):  # a table of its own replaces the common one
        assert part["environment"]["RECURSA_EXTENSIONS"] == "required"
