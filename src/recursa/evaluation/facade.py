"""What every group of methods stands on: a model, and the evaluator that answers for it."""

from __future__ import annotations

from collections.abc import Callable

from recursa.evaluation.evaluator import Evaluator
from recursa.model.model import Model
from recursa.sweeps.batching import Array


class Facade:
    """A model and what answers for it."""

    __slots__ = ("_calls", "_evaluator")

    def __init__(self, model: Model, evaluator: Evaluator | None = None) -> None:
        """``evaluator``: another than the usual one, for other numbers than floats."""
        self._evaluator = evaluator or Evaluator(model)
        self._calls = self._evaluator.calls  # where native code looks calls up

    @property
    def model(self) -> Model:
        """The data behind it."""
        return self._evaluator.model

    @property
    def evaluator(self) -> Evaluator:
        """What answers: it takes a :class:`recursa.quantities.Quantity`, one of your own too, and arrays."""
        return self._evaluator

    @property
    def _answer(self) -> Callable[..., Array]:
        """``_answer(quantity, arrays, options, out, threads)``: :meth:`Evaluator.evaluate`."""
        return self._evaluator.evaluate

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.model.nq

    @property
    def nv(self) -> int:
        """Number of speeds, the degrees of freedom."""
        return self.model.nv

    @property
    def nlinks(self) -> int:
        """Number of links and frames."""
        return len(self.model.links)
