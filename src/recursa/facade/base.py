"""What every group of methods stands on: the model, plans made once, and one way to evaluate them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import lru_cache, partial, update_wrapper
from inspect import Parameter, signature
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics import mass_properties
from recursa.dynamics.hinges import all_turn_something, pivots_of, singular_freedom
from recursa.dynamics.lacking import Lacking, singular_hinge
from recursa.dynamics.needs import needs_hinges
from recursa.kernels import native
from recursa.kernels.dispatch import Filler, KernelStore, Switch, evaluate
from recursa.kernels.kernel import Method
from recursa.model.canonical import canonical
from recursa.model.model import Model
from recursa.spatial.scalars import Scalar
from recursa.sweeps.batching import Array, as_array, as_numbers
from recursa.sweeps.engine import Values
from recursa.sweeps.plan import Plan

_Method = TypeVar("_Method", bound=Callable[..., Any])
_Made = TypeVar("_Made")


Call = str | tuple[Any, ...]  # how a method is called: see ``spelling`` in ``_entry.c``


def single_state_fast(method: _Method) -> _Method:
    """Decorator: calls with arrays of one state go straight into native code once it is there, whatever the options.

    A call is looked up as it is spelled, among ``_calls``. The first one in a spelling runs the method, which says by
    ``_evaluate(entry=...)`` what is asked; :func:`question` says the same of the spelling. The entry declines whatever
    is not plain (see ``_entry.c``), and then the method itself runs.
    """
    if Method is None:
        return method
    asked = lru_cache(1024)(partial(question, method))

    def learn(self: Facade, call: Call) -> None:
        native = self._entries.get(asked(call))
        if native is not None:
            self._calls[call] = native

    return update_wrapper(Method(method, method.__name__, learn), method)  # type: ignore[return-value]


def question(method: Callable[..., Any], call: Call) -> tuple[str, ...] | None:
    """What a valid call asks: the method's name and its options, defaults included, in the order of its signature.

    Flags appear by name if they are set; None is left out. The answer is None for arguments that no entry knows.

    >>> def jacobian(self, q, link, *, frame="body", out=None): ...
    >>> question(jacobian, ("jacobian", ..., ("frame", "link"), "world", "tip"))
    ('jacobian', 'tip', 'world')
    """
    form = signature(method)
    _, *parameters = form.parameters.values()
    if isinstance(call, str):  # the inputs, by position
        call = (call, *(... for one in parameters if one.default is one.empty))
    named = next((at for at, item in enumerate(call) if isinstance(item, tuple)), len(call))
    keywords = dict(zip(*call[named : named + 1], call[named + 1 :], strict=True)) if named < len(call) else {}
    bound = form.bind(None, *call[1:named], **keywords)
    arrays = [name for name, value in bound.arguments.items() if value is ... and name != "out"]
    in_order = [name for name in keywords if name in arrays] == arrays[call[1:named].count(...) :]
    if not in_order or any(form.parameters[name].default is not Parameter.empty for name in arrays):
        return None
    bound.apply_defaults()
    options = {name: value for name, value in bound.arguments.items() if name not in ("self", "out", *arrays)}
    given = (name if value is True else value for name, value in options.items() if value not in (None, False))
    return (method.__name__, *given)


class Facade:
    """A model with a cache of plans, kernels and native entries."""

    __slots__ = (
        "_axes", "_calls", "_center_space", "_entries", "_euler_space", "_joint_space", "_kernels", "_known_lacking",
        "_link_loops", "_model", "_plans",
    )  # fmt: skip

    def __init__(self, model: Model) -> None:
        self._model = model
        self._kernels = KernelStore(model)
        self._joint_space = KernelStore(model, frame_pass=True, regroup="inertia")
        self._euler_space = KernelStore(model, frame_pass=True, regroup="euler")  # for recursions in Euler tensors
        self._center_space = KernelStore(model, frame_pass=True)  # at mass centres, where inertias have to stay
        self._link_loops = {  # for much about every link: straight-line code with so many results compiles slowly
            "body": KernelStore(model, frame_pass=True, regroup="inertia", form="loop"),
            "world": KernelStore(model, form="loop"),
        }
        self._axes: KernelStore | None = None
        self._known_lacking: Lacking | None = None
        self._entries: dict[Hashable, Callable[..., Any]] = {}  # by question
        self._calls: dict[Call, Callable[..., Any]] = {}  # the same, by how they are asked
        self._plans: dict[tuple[Any, ...], Any] = {}

    @property
    def model(self) -> Model:
        """The data behind it."""
        return self._model

    @property
    def _stores(self) -> tuple[KernelStore, ...]:
        return (
            self._kernels,
            self._joint_space,
            self._euler_space,
            self._center_space,
            *self._link_loops.values(),
            *((self._axes,) if self._axes else ()),
        )

    @property
    def _on_axes(self) -> KernelStore:
        """Kernels for the same mechanism with its frames on the joint axes, whether compiled or not."""
        if self._axes is None:
            self._axes = KernelStore(canonical(self._model))
        return self._axes

    @property
    def _lacking(self) -> Lacking:
        """What the model lacks for its dynamics, found out when it is first asked for any."""
        if self._known_lacking is None:
            self._known_lacking = Lacking.of(self._model)
        return self._known_lacking

    def _require_inertia(self, plan: Plan, arguments: Mapping[str, Any]) -> None:
        """Raise, before anything is evaluated, where the robot has not what a plan needs."""
        if "parameters" not in arguments:
            self._lacking.require(plan)
        elif needs_hinges(plan):
            self._require_hinges(arguments)

    def _require_mass(self, plan: Plan) -> None:
        """Raise where there is no mass for a plan to find the centre of."""
        self._lacking.require(plan)
        mass_properties.require_mass(self.model)

    def _require_hinges(self, arguments: Mapping[str, Any]) -> None:
        """Raise where a joint has nothing to move: in the model, or with the parameters given at one of the states."""
        if "parameters" not in arguments:
            self._lacking.require_hinges()
            return
        q = as_array(self.model, "q", arguments["q"], coordinates=True)
        own = as_numbers("parameters", arguments["parameters"], 10 * self.model.nbodies)
        given = {name: np.real(x) for name, x in {"q": q, "parameters": own}.items()}  # a complex step is no place
        double = {name: x.astype(np.float64, copy=False) for name, x in given.items()}

        def ask(plan: Plan, gather: Callable[[Values], Any], numbers: int) -> Array:
            return evaluate(self._kernels, plan, double, gather, (numbers,)).reshape(-1, numbers)

        if all_turn_something(self.model, ask):
            return
        pivots, singular = pivots_of(self.model, ask)
        for row, at in np.argwhere(singular)[:1].tolist():
            raise singular_hinge(self.model, singular_freedom(self.model, at, pivots[row, at]), " in parameters=")

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

    def _plan(self, name: str, make: Callable[[], _Made], *key: Any) -> _Made:
        """Plans, and what goes with them, are made once per robot and question."""
        full = (name, *key)
        try:
            plan: _Made | None = self._plans.get(full)
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
        entry: tuple[str, ...] | None = None,
        store: KernelStore | None = None,
        compiled_plan: Plan | None = None,
        columns: Filler | None = None,
        entries: dict[Hashable, Callable[..., Any]] | None = None,
    ) -> Array:
        """Run a plan; ``entry`` names the :func:`question` that may from now on go straight in for single states.

        ``entries`` is where that is kept, if not with the robot's own methods.
        """
        self._require_inertia(plan, arguments)
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
            columns=columns,
        )
        known = self._entries if entries is None else entries
        if entry is not None and result.ndim == len(shape) and entry not in known:
            native = kernels.entry(compiled_plan or plan, (key, shape), tuple(arguments), shape)
            if native is not None:
                known[entry] = native
        return result

    def _trusting_entry(
        self,
        plan: Plan,
        sizes: Mapping[str, int],
        gather: Callable[[Values], Iterator[Scalar] | Any],
        shape: tuple[int, ...],
        store: KernelStore | None = None,
    ) -> Callable[..., Any] | None:
        """A native function of single-state arrays that leaves the length of quaternions to its caller.

        It answers NotImplemented where the result is not finite. None where nothing is compiled.
        """
        self._require_inertia(plan, sizes)
        if not (Switch.on and native.available()) or self.model.nbodies == 0:
            return None
        kernels = self._kernels if store is None else store
        kernel = kernels.kernel(plan, (None, shape), sizes, gather)
        return None if kernel is None else kernel.entry(shape, ())
