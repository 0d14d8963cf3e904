"""The C extensions and exported C code with the address and undefined behaviour sanitizers: ``make sanitize``.

A copy of the package in ``build/sanitized`` is built with gcc's sanitizers, and the tests that go through native
entries, load files or search for configurations are run on it; exported C is compiled in the same way. Those of kernels
inside JAX are run where that is installed. Python allocates each object by itself there, so that the use of what was
given back is seen. With ``--valgrind`` calls of every kind are made under valgrind instead, on the extensions as they
are built for use, if valgrind is installed.
"""

from __future__ import annotations

import argparse
import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import numpy
import setuptools

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "build" / "sanitized"
FLAGS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g", "-O1"]
TESTS = [
    "kernels/test_entries", "kernels/test_straight_in", "kernels/test_straight_in_batches",
    "kernels/test_forms_of_arguments", "kernels/test_meddling_callers", "kernels/test_calls", "kernels/test_hammer",
    "kernels/test_c_export", "kernels/test_memory",
    "physics/test_inverse_kinematics", "physics/test_goals",
]  # fmt: skip
NEED_JAX = ["bridges/test_jax"]
EXTENSIONS = ("_entry",)
CALLS = """
import numpy as np, recursa as rc
arm = rc.robots.panda_like()
q, v = arm.random_state(1)
push = rc.Wrench(at=arm.link_names[-1], force=(1, 2, 3))
for _ in range(3):
    for x in (q, q.tolist(), np.tile(q, (13, 1))):
        arm.mass_matrix(x)
    for acting in (push, [push], {push.at: push}, {push.at: [1.0] * 6}, np.ones((arm.nlinks, 6))):
        arm.inverse_dynamics(q, v, v, wrenches=acting)
    arm.operational_inertia(q, push.at)
    rc.robots.chain(19).forward_dynamics(np.zeros((9, 19)), np.ones((9, 19)), np.ones((9, 19)))
    again = rc.load(arm.to_urdf(), strict=False)
    rc.inverse_kinematics(again, push.at, again.pose(np.tile(q, (3, 1)) + 0.1, push.at))
print("done")
"""


def main() -> int:
    """The exit code of what was run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--valgrind", action="store_true")
    parser.add_argument("options", nargs="*", help="for pytest")
    given = parser.parse_args()
    return _valgrind() if given.valgrind else _sanitized(given.options)


def _sanitized(options: list[str]) -> int:
    compiler = shutil.which("gcc")
    if compiler is None:
        sys.exit("the sanitizers need gcc, which is not installed")
    shutil.rmtree(PLACE, ignore_errors=True)
    shutil.copytree(ROOT / "src", PLACE, ignore=shutil.ignore_patterns("*.so", "*.egg-info", "__pycache__"))
    folders = [sysconfig.get_paths()["include"], numpy.get_include()]
    common = [compiler, *FLAGS, "-Wall", "-Wextra", "-ffp-contract=off", "-fvisibility=hidden", "-shared", "-fPIC"]
    targets = []
    for name, sources in _sources().items():
        targets.append(str(PLACE / "recursa" / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"))
        subprocess.run(
            [*common, *(f"-I{one}" for one in folders), *map(str, sources), "-lm", "-o", targets[-1]], check=True
        )
    libraries = [_library(compiler, name) for name in ("libasan.so", "libstdc++.so.6")]
    environment = os.environ | {
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0,allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": os.pathsep.join([str(PLACE), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "CFLAGS": " ".join(FLAGS),
    }
    imports = ", ".join(f"recursa.{name}" for name in EXTENSIONS)
    found = f"import {imports}; print({', '.join(f'recursa.{name}.__file__' for name in EXTENSIONS)})"
    loaded = subprocess.run([sys.executable, "-c", found], env=environment, capture_output=True, text=True, check=False)
    if loaded.stdout.split() != targets:
        sys.exit(f"the extensions with sanitizers cannot be loaded: {loaded.stdout}{loaded.stderr}")
    names = [*TESTS, *(NEED_JAX if find_spec("jax") else ())]
    files = [str(ROOT / "tests" / f"{name}.py") for name in names]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-m", "not slow", *options, *files]
    return subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode


def _sources() -> dict[str, list[Path]]:
    """Those of the extensions, as setup.py has them."""
    setuptools.setup = lambda **_: None
    wanted = runpy.run_path(str(ROOT / "setup.py"))["extensions"]("required")
    found = {
        one.name.rpartition(".")[2]: [PLACE / Path(source).relative_to("src") for source in one.sources]
        for one in wanted
    }
    return {name: found[name] for name in EXTENSIONS}


def _library(compiler: str, name: str) -> str:
    return subprocess.run(
        [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
    ).stdout.strip()


def _valgrind() -> int:
    """Errors whose stack goes through an extension; Python and LLVM have their own."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        print("valgrind is not installed: nothing was looked at")
        return 0
    environment = os.environ | {"PYTHONMALLOC": "malloc", "RECURSA_EFFORT": "0"}
    command = [valgrind, "--error-limit=no", "--num-callers=30", sys.executable, "-c", CALLS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    errors = [one for one in done.stderr.split("==\n") if any(f"{name}." in one for name in EXTENSIONS)]
    print("\n".join(errors), f"{done.stdout.strip()}: {len(errors)} errors in the extensions", sep="\n")
    return int(bool(errors) or done.stdout.strip() != "done")


if __name__ == "__main__":
    sys.exit(main())
