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
from recursa.kernels.dispatch import Switch

settings.register_profile("recursa", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("recursa")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so are a shell's background jobs, and all their children
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _interpreted(request: pytest.FixtureRequest) -> Iterator[None]:
    """Plans run interpreted unless a test is about compiled ones: compiling every method of every robot takes long."""
    before, Switch.on = Switch.on, request.node.get_closest_marker("compiled") is not None
    yield
    Switch.on = before


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
