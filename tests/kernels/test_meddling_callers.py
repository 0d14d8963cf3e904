"""Python code that runs while native code reads its arguments may do what it likes: nothing is read that is gone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import recursa as rc
from numeric import same_bits

native = pytest.importorskip("recursa._entry", reason="the extension was not built")
pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def arm() -> rc.Robot:
    return rc.robots.planar(3)


def states(arm: rc.Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    (q, v), (_, a) = arm.random_state(0), arm.random_state(1)
    return q, v, a


def pushes(arm: rc.Robot) -> list[rc.Wrench]:
    return [rc.Wrench(at=link, force=(1.0, 2.0, 0.5), frame="link") for link in arm.link_names[1:4]]


def meddle(monkeypatch: pytest.MonkeyPatch, once: Callable[[], Any]) -> None:
    """Does something when the force of a wrench is asked for, the first time."""
    kept = [once]

    def asked(self: rc.Wrench) -> Any:
        if kept:
            kept.pop()()
        return (1.0, 2.0, 0.5)

    monkeypatch.setattr(rc.Wrench, "force", property(asked))


def test_lists_and_mappings_may_change_while_they_are_read(arm: rc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    state, several = states(arm), pushes(arm)
    named = {push.at: push for push in several}
    unpushed = arm.inverse_dynamics(*state)
    for given in (several, named):
        for _ in range(2):  # the second time by the way that is learned
            arm.inverse_dynamics(*state, wrenches=given)
        meddle(monkeypatch, given.clear)
        found = arm.inverse_dynamics(*state, wrenches=given)
        monkeypatch.undo()
        same_bits(found, unpushed)  # the general way reads it anew, and nothing is left


def test_arrays_that_move_while_wrenches_are_read_are_read_anew(arm: rc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    (q, v, a), acting = states(arm), pushes(arm)
    for moved in ("q", "out"):
        arrays = {"q": q.copy(), "out": np.empty(3)}
        for _ in range(2):
            arm.inverse_dynamics(arrays["q"], v, a, wrenches=acting, out=arrays["out"])
        meddle(monkeypatch, lambda arrays=arrays, moved=moved: arrays[moved].resize(100_000, refcheck=False))
        with pytest.raises(rc.RecursaError):  # of another shape
            arm.inverse_dynamics(arrays["q"], v, a, wrenches=acting, out=arrays["out"])
        monkeypatch.undo()


def test_nothing_is_asked_after_an_interrupt(arm: rc.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    state, acting, asked = states(arm), pushes(arm)[0], []

    def interrupted(self: object) -> None:
        raise KeyboardInterrupt

    for _ in range(2):
        arm.inverse_dynamics(*state, wrenches=acting)
    monkeypatch.setattr(rc.Wrench, "at", property(interrupted), raising=False)
    monkeypatch.setattr(rc.Wrench, "frame", property(lambda self: asked.append(1) or "link"))
    with pytest.raises(KeyboardInterrupt):
        arm.inverse_dynamics(*state, wrenches=acting)
    assert not asked


def test_what_cannot_be_called_is_no_guard() -> None:
    def entry(size: int) -> Any:
        return native.Entry((native.Input((size,)),), (1,), None, (None,) * 4, True)

    with pytest.raises(ValueError, match="one guard"):
        entry(2).guarded(entry(2), (0,))


def test_a_result_of_nothing_is_no_division() -> None:
    code = (
        "import ctypes, recursa._entry as e\n"
        "f = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(lambda n, a, b: print(n))\n"
        "e.run((1, ctypes.cast(f, ctypes.c_void_p).value), ((0, 0),), 0, 0, 0, 3)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr


_ELSEWHERE = """
import recursa._entry as e
try:
    import _interpreters as several
    names = several.create("legacy"), e.__file__
except ImportError:
    import _xxsubinterpreters as several
    names = several.create(), e.__file__
code = '''
import importlib.machinery, importlib.util
try:
    loader = importlib.machinery.ExtensionFileLoader("recursa._entry", %r)
    loader.exec_module(importlib.util.module_from_spec(importlib.util.spec_from_loader("recursa._entry", loader)))
    print("loaded", flush=True)
except ImportError as error:
    print("refused", flush=True)
''' % names[1]
several.run_string(names[0], code)
"""


def test_other_interpreters_do_not_get_the_extension() -> None:
    """Its types and names are one interpreter's; others take the general way."""
    done = subprocess.run([sys.executable, "-c", _ELSEWHERE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr
