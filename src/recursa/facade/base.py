"""What every group of methods stands on: the model, plans made once, and one way to evaluate them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import wraps
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from recursa.kernels.dispatch import KernelStore, evaluate
from recursa.model.model import Model
from recursa.spatial.scalars import Scalar
from recursa.sweeps.batching import Array
from recursa.sweeps.engine import Values
from recursa.sweeps.plan import Plan

_Method = TypeVar("_Method", bound=Callable[..., Any])


def single_state_fast(method: _Method) -> _Method:
    """Decorator: calls with positional arrays of one state go straight into native code once it is there.

    The entry declines whatever is not plain (see ``_entry.c``), and then the method itself runs.
    """
    name = method.__name__

    @wraps(method)
    def call(self: Facade, *args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            entry = self._entries.get(name)
            if entry is not None:
                result = entry(*args)
                if result is not NotImplemented:
                    return result
        return method(self, *args, **kwargs)

    return call  # type: ignore[return-value]


def single_state_fast_at_link(method: _Method) -> _Method:
    """As :func:`single_state_fast`, for methods whose last positional argument is the name of a link."""
    name = method.__name__

    @wraps(method)
    def call(self: Facade, *args: Any, **kwargs: Any) -> Any:
        if not kwargs and args and isinstance(args[-1], str):
            entry = self._entries.get((name, args[-1]))
            if entry is not None:
                result = entry(*args[:-1])
                if result is not NotImplemented:
                    return result
        return method(self, *args, **kwargs)

    return call  # type: ignore[return-value]


class Facade:
    """A model with a cache of plans, kernels and native entries."""

    __slots__ = ("_entries", "_joint_space", "_kernels", "_model", "_plans")

    def __init__(self, model: Model) -> None:
        self._model = model
        self._kernels = KernelStore(model)
        self._joint_space = KernelStore(model, frame_pass=True)
        self._entries: dict[Hashable, Callable[..., Any]] = {}
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
        entry: Hashable = None,
        store: KernelStore | None = None,
        compiled_plan: Plan | None = None,
    ) -> Array:
        """Run a plan; ``entry`` names the method that may from now on go straight in for single states."""
        kernels = self._kernels if store is None else store
        result = evaluate(
            kernels,
            plan,
            arguments,
            gather,
            shape,
            compiled_plan=compiled_plan,
            key=key,
            out=out,
            threads=threads,
            labels=labels,
        )
        if entry is not None and result.ndim == len(shape) and entry not in self._entries:
            native = kernels.entry(compiled_plan or plan, (key, shape), tuple(arguments), shape)
            if native is not None:
                self._entries[entry] = native
        return result
