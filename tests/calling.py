"""Watching which calls take the general way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from recursa.facade.base import Facade


@contextmanager
def counted_evaluations() -> Iterator[list[str]]:
    """The names of the plans that were evaluated in the general way, in a list that may be cleared."""
    counted: list[str] = []
    evaluate = Facade._evaluate

    def counting(self, plan, *args, **kwargs):
        counted.append(plan.name)
        return evaluate(self, plan, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Facade, "_evaluate", counting)
        yield counted


@contextmanager
def straight_in() -> Iterator[None]:
    """What is called here has to go straight into native code."""
    with counted_evaluations() as counted:
        yield
    assert not counted, f"took the general way: {counted}"
