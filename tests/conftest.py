"""Shared by all tests: robots by name, and hypothesis settings that give the same cases in every run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
from hypothesis import settings

import recursa as rc
from recursa.kernels.dispatch import Switch

settings.register_profile("recursa", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("recursa")


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
