"""Our expansion of xacro files against that of the tool called xacro."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from recursa.errors import ModelError
from xacro_reference import differences, ours, real_files, reference
from xacro_texts import CASES

pytest.importorskip("xacro")

REAL = real_files()
OTHER_NAMES = {"abb_irb140_description": "abb_irb140"}
"""Folders that files call otherwise than their packages were called when they were packed."""


@pytest.mark.parametrize("name", CASES)
def test_made_up_files(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path = case.write(tmp_path / "robots")
    assert not list(differences(ours(path, tmp_path, case.arguments), reference(path, tmp_path, case.arguments)))


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real files again, in folders with the names that the files themselves give their packages."""
    made = tmp_path_factory.mktemp("packages")
    for path, folder in REAL:
        package, *inside = path.relative_to(folder).parts
        names = {package, OTHER_NAMES.get(package, package)}
        if package == "kuka_description":
            package, *inside = inside
            names = {package, f"{package}_support"}
        for name in names:
            copy = made.joinpath(name, *inside)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    return made


@pytest.mark.skipif(len(REAL) < 20, reason="rtb-data is not installed")
def test_real_files(packages: Path) -> None:
    agreed, refused = [], []
    for path in sorted(packages.rglob("*.xacro")):
        try:
            theirs = reference(path, packages, {})
        except Exception:  # its own and those of whatever it stumbles over
            with pytest.raises(ModelError):
                ours(path, packages, {})
            refused.append(path.name)
            continue
        found = list(differences(ours(path, packages, {}), theirs))
        assert not found, (path, found[:5])
        agreed.append(path.name)
    assert len(agreed) > 10 * len(refused), refused
