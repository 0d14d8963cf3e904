"""Modules that somebody left in the working directory do not run in the processes that Recursa starts."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import recursa as rc
from files_of_strangers import with_about

_INSTALLED = ("h5py", "numpy", "llvmlite", "click", "rich", "recursa", "dask", "distributed", "zarr", "pyarrow", "ray")
_PLANTED = "open(__file__ + '.ran', 'w').close()\nraise ImportError('planted')\n"


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A folder with a module for every name that a program may import; each notes that it ran."""
    folder = tmp_path / "planted"
    folder.mkdir()
    for name in (*sys.stdlib_module_names, *_INSTALLED):
        (folder / f"{name}.py").write_text(_PLANTED)
    return folder


def run_in(folder: Path, script: Path, code: str, *arguments: str) -> str:
    """What a script prints that lies elsewhere, as an installed command does, and is run in a folder."""
    script.write_text(code)
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    elsewhere = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if Path(entry).is_absolute()]
    completed = subprocess.run(
        [sys.executable, str(script), *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=240,
        env=environment | {"PYTHONPATH": os.pathsep.join(elsewhere)},
    )  # fmt: skip
    assert completed.returncode == 0, completed.stderr
    assert not [path.name for path in folder.glob("*.ran")]
    return completed.stdout


def test_formulas_of_served_pages_import_nothing_from_the_working_directory(planted: Path, tmp_path: Path) -> None:
    code = (
        "import recursa as rc\nfrom recursa.view.formula_desk import FormulaDesk\n"
        "desk = FormulaDesk(rc.robots.planar(2))\n"
        "print(list(desk.answer({'formula': 'inv(mass) T'})))\ndesk.close()\n"
    )
    assert run_in(planted, tmp_path / "page.py", code) == "['formula']\n"


@pytest.mark.parametrize(("engine", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_workers_of_local_clusters_import_nothing_from_the_working_directory(
    engine: str, package: str, planted: Path, tmp_path: Path
) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    code = (
        "import recursa as rc\nif __name__ == '__main__':\n"
        "    study = rc.study(rc.robots.planar(2), {'q': 'uniform'}, 'mass_matrix', samples=8)\n"
        f"    print(study.run(engine='{engine}', workers=1, block=4, progress=False)['mass_matrix'].shape)\n"
    )
    assert run_in(planted, tmp_path / "study.py", code) == "(8, 2, 2)\n"


def test_reading_mjcf_imports_nothing_from_the_working_directory(planted: Path, tmp_path: Path) -> None:
    """MuJoCo imports glfw, which asks a Python process of its own for the version of a library."""
    if find_spec("mujoco") is None:
        pytest.skip("mujoco is not installed")
    (planted / "rod.xml").write_text(rc.robots.planar(2).to_mjcf())
    code = "import recursa as rc\nprint(rc.load('rod.xml').nv)\n"
    assert run_in(planted, tmp_path / "load.py", code) == "2\n"


def test_comparing_with_mujoco_imports_nothing_from_the_working_directory(planted: Path, tmp_path: Path) -> None:
    if find_spec("mujoco") is None:
        pytest.skip("mujoco is not installed")
    code = (
        "import recursa as rc\nfrom recursa.interop.mujoco import InMujoco, quiet\nquiet()\n"
        "print(InMujoco(rc.robots.planar(2)).model.nv)\n"
    )
    assert run_in(planted, tmp_path / "compare.py", code) == "2\n"


def test_reading_runs_imports_nothing_from_the_working_directory(planted: Path, tmp_path: Path) -> None:
    path = rc.robots.planar(2).simulate([0.3, 0.4], duration=0.1).save(tmp_path / "run.npz")
    path.write_bytes(with_about(path.read_bytes(), lambda about: about.update(version=9)))
    code = (
        "import sys, recursa as rc\ntry:\n    rc.read(sys.argv[1])\n"
        "except rc.ResultFileError as error:\n    print('in version 9 of the format' in str(error))\n"
    )
    assert run_in(planted, tmp_path / "read.py", code, str(path)) == "True\n"
