"""Shared by all tests: robots by name, and hypothesis settings that give the same cases in every run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
from hypothesis import settings

import recursa as rc

settings.register_profile("recursa", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("recursa")


@pytest.fixture(autouse=True)
def _quiet_models() -> Iterator[None]:
    """Doubtful data in real files are no news here; tests that are about the warning ask for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rc.ModelWarning)
        yield
