"""Shared by all tests: robots by name, and hypothesis settings that give the same cases in every run."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator

import pytest
from hypothesis import settings

import recursa as rc
from recursa.cli import main
from recursa.kernels import switch
from recursa.kernels.native import Effort
from recursa.kernels.switch import Switch
from thinning import thin

settings.register_profile("recursa", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("recursa")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so are a shell's background jobs, and all their children
    signal.signal(signal.SIGINT, signal.default_int_handler)


USUAL_EFFORT, LITTLE_EFFORT = 2, 0  # of LLVM: the bits are the same, the tests take a third of the time
ABOUT_CODE = (
    "kernels",
    "sincos",
    "adjoint",
    "every_machine",
    "walk_bits",
    "hammer",
    "rollout_kernels",
    "products",
    "calls",
)
"""Tests in kernels/ that run what users run; the others compare forms of code with each other."""


@pytest.fixture(autouse=True)
def _as_users_run_it(request: pytest.FixtureRequest) -> Iterator[None]:
    """Plans are compiled, whatever the environment says.

    Tests marked ``interpreted`` are those about the interpreter, and those where every case would compile code that
    no other case needs; the marker's reason says which. In such a file, ``compiled`` marks those that are not.
    """
    before = Switch.on, Switch.form, Effort.level
    marks = {mark.name for mark in request.node.own_markers}
    Switch.on = "compiled" in marks or request.node.get_closest_marker("interpreted") is None
    about_code = request.path.parent.name == "kernels" and request.path.stem.removeprefix("test_") in ABOUT_CODE
    Effort.level = USUAL_EFFORT if about_code else LITTLE_EFFORT
    yield
    Switch.on, Switch.form, Effort.level = before
    if "matplotlib.pyplot" in sys.modules:  # some library has imported it, and it keeps figures until they are closed
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.hookimpl(tryfirst=True)  # before what is slow is left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Two of three cases of the large products are slow. An exception without a reason is a mistake."""
    thin(items)
    for item in items:
        for marker in item.iter_markers("interpreted"):
            if not marker.kwargs.get("reason"):
                raise pytest.UsageError(f"{item.nodeid}: give the marker interpreted a reason=")


@pytest.fixture(autouse=True, scope="session")
def _no_word_of_interpreting() -> None:
    """Which test is the first to be interpreted is no news either."""
    switch._warned.append(True)


@pytest.fixture(autouse=True)
def _quiet_models() -> Iterator[None]:
    """Doubtful data in real files are no news here; tests that are about the warning ask for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ModelWarning)
        yield


@pytest.fixture(scope="session", autouse=True)
def _private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Kernels compiled by tests go to a cache of their own, one for the whole run."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # each worker has a folder of its own below the run's
        base = base.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RECURSA_CACHE", str(base / "kernel-cache"))
        patch.setenv("RECURSA_EFFORT", str(LITTLE_EFFORT))  # of programs that tests start
        yield


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What stands on stderr when the entry point, given these arguments, gives up with exit code 2."""

    def invoke(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["recursa", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 2
        out, err = capsys.readouterr()
        assert out == ""
        return err

    return invoke
