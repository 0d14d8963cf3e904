"""Kernels do not depend on the processor: neither what is generated for a robot, nor the bits of its answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

import recursa as rc
from questions import QUESTIONS, arguments
from recursa.kernels import kernel
from recursa.kernels.dispatch import Switch
from recursa.kernels.native import Effort
from recursa.kernels.writer import Shape
from zoo import small_mixed_tree

ASKED = (
    "robot.inverse_dynamics()", "robot.mass_matrix()", "robot.forward_dynamics()",
    "robot.jacobian(link=last, frame=world)",
)  # fmt: skip
TESTS = Path(__file__).parents[1]
LEVELS = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]  # of this processor, lowest first
OLD = {  # no BLAS, NumPy or C library that knows of fused multiply-adds
    "OPENBLAS_CORETYPE": "Nehalem",
    "NPY_DISABLE_CPU_FEATURES": " ".join(LEVELS),
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F",
}
PROCESSORS = {
    "itself": {},
    "old": OLD,
    **{name: {"OPENBLAS_CORETYPE": name} for name in ("Haswell", "Zen") if __cpu_features__.get("AVX2")},
    **{name: {"OPENBLAS_CORETYPE": name} for name in ("SkylakeX",) if __cpu_features__.get("AVX512_SKX")},
}


def fingerprints(processor: str) -> dict[str, str]:
    """Of some robots, in a process that takes the processor for another."""
    environment = {**os.environ, **PROCESSORS[processor]}
    script = [sys.executable, str(TESTS / "fingerprints.py")]
    done = subprocess.run(script, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def at_home() -> dict[str, str]:
    return fingerprints("itself")


@pytest.mark.skipif(not __cpu_features__.get("SSE2"), reason="the names are those of processors of another family")
@pytest.mark.parametrize("processor", [name for name in PROCESSORS if name != "itself"])
def test_the_same_code_is_generated(processor, at_home):
    assert fingerprints(processor) == at_home


@pytest.mark.compiled
@pytest.mark.parametrize("form", ["straight", "loop"])
@pytest.mark.parametrize("make", [rc.robots.stanford, small_mixed_tree], ids=lambda make: make.__name__)
def test_registers_of_any_width_give_the_same_bits(make, form, monkeypatch):
    """A processor without them takes wide vectors apart."""
    monkeypatch.setattr(Switch, "form", form)
    found = {}
    for lanes in (1, 2, 4, 8):
        monkeypatch.setattr(kernel, "simd_shape", lambda single, lanes=lanes: Shape(lanes, single))
        robot = make()
        values = arguments(robot, 11)
        found[lanes] = {what: QUESTIONS[what].ask(robot, values)[""] for what in ASKED}
    for lanes, answers in found.items():
        for what, answer in answers.items():
            assert np.array_equal(answer, found[1][what]), (lanes, what)


@pytest.mark.parametrize("form", ["straight", "loop"])
@pytest.mark.parametrize("make", [rc.robots.stanford, small_mixed_tree], ids=lambda make: make.__name__)
def test_code_made_with_less_effort_gives_the_same_bits(make, form, monkeypatch):
    """Most other tests compile with little effort, which takes a third of the time."""
    monkeypatch.setattr(Switch, "form", form)
    found = []
    for level in (0, 2, 3):
        monkeypatch.setattr(Effort, "level", level)
        robot = make()
        values = arguments(robot, 11)
        found.append({what: QUESTIONS[what].ask(robot, values)[""] for what in ASKED})
    for answers in found[1:]:
        for what, answer in answers.items():
            assert np.array_equal(answer, found[0][what]), what
