"""What every group of methods stands on: the model, plans made once, and one way to evaluate them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

from numpy.typing import ArrayLike

from recursa.kernels.dispatch import KernelStore, evaluate
from recursa.model.model import Model
from recursa.spatial.scalars import Scalar
from recursa.sweeps.batching import Array
from recursa.sweeps.engine import Values
from recursa.sweeps.plan import Plan


class Facade:
    """A model with a cache of plans."""

    __slots__ = ("_kernels", "_model", "_plans")

    def __init__(self, model: Model) -> None:
        self._model = model
        self._kernels = KernelStore(model)
        self._plans: dict[tuple[Any, ...], Plan] = {}

    @property
    def model(self) -> Model:
        """The data behind it."""
        return self._model

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

    def _plan(self, name: str, make: Callable[[], Plan], *key: Any) -> Plan:
        """Plans are made once per robot and question."""
        full = (name, *key)
        try:
            plan = self._plans.get(full)
        except TypeError:  # an option that cannot even be looked up; making the plan says what is wrong with it
            return make()
        if plan is None:
            plan = self._plans[full] = make()
        return plan

    def _evaluate(
        self,
        plan: Plan,
        arguments: dict[str, ArrayLike],
        gather: Callable[[Values], Iterator[Scalar] | Any],
        shape: tuple[int, ...],
        out: Array | None,
        threads: int | None,
        key: Hashable = None,
        labels: Mapping[str, str] | None = None,
    ) -> Array:
        return evaluate(self._kernels, plan, arguments, gather, shape, key=key, out=out, threads=threads, labels=labels)
