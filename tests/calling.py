"""Watching which calls take the general way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from recursa.evaluation.evaluator import Evaluator
from recursa.facade.base import Facade


@contextmanager
def counted_evaluations() -> Iterator[list[str]]:
    """The names of what was evaluated in the general way, in a list that may be cleared."""
    counted: list[str] = []
    evaluate, answer = Facade._evaluate, Evaluator.evaluate

    def counting(self, plan, *args, **kwargs):
        counted.append(plan.name)
        return evaluate(self, plan, *args, **kwargs)

    def answering(self, quantity, *args, **kwargs):
        counted.append(quantity.name)
        return answer(self, quantity, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Facade, "_evaluate", counting)
        patch.setattr(Evaluator, "evaluate", answering)
        yield counted


@contextmanager
def straight_in() -> Iterator[None]:
    """What is called here has to go straight into native code."""
    with counted_evaluations() as counted:
        yield
    assert not counted, f"took the general way: {counted}"
