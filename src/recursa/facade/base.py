"""What every group of methods stands on: the model, plans made once, and one way to evaluate them."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterator, Mapping
from functools import lru_cache, partial, update_wrapper
from inspect import signature
from typing import Any, TypeVar

from numpy.typing import ArrayLike

from recursa.dynamics import mass_properties
from recursa.evaluation.evaluator import NO_OPTIONS, Evaluator, Options, Question
from recursa.kernels import native
from recursa.kernels.dispatch import Filler, KernelStore, Switch, evaluate
from recursa.kernels.inputs import Input, argument_input
from recursa.kernels.kernel import Method
from recursa.model.model import Model
from recursa.model.moving import MayMove
from recursa.quantities.quantity import Quantity
from recursa.spatial.scalars import Scalar
from recursa.sweeps.batching import Array
from recursa.sweeps.engine import Values
from recursa.sweeps.plan import Plan

_Method = TypeVar("_Method", bound=Callable[..., Any])
_Made = TypeVar("_Made")


Call = str | tuple[Any, ...]  # how a method is called: see ``spelling`` in ``_method.c``


def single_state_fast(method: _Method) -> _Method:
    """Decorator: calls for one state go straight into native code once it is there, whatever the options.

    A call is looked up as it is spelled, among ``_calls``. The first one in a spelling runs the method, which says by
    ``_evaluate(entry=...)`` what is asked; :func:`question` says the same of the spelling. The entry declines whatever
    is not plain (see ``_inputs.c``), and then the method itself runs.
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

    Flags appear by name if they are set, and so do optional inputs that are given; None is left out. The answer is None
    for inputs that are not in the order of the signature, which is the one that entries know.

    >>> def jacobian(self, q, link, *, frame="body", shift=None, out=None): ...
    >>> question(jacobian, ("jacobian", ..., ("frame", "link"), "world", "tip"))
    ('jacobian', 'tip', 'world')
    >>> question(jacobian, ("jacobian", ..., "tip", ("shift",), ...))
    ('jacobian', 'tip', 'body', 'shift')
    """
    form = signature(method)
    _, *parameters = form.parameters.values()
    if isinstance(call, str):  # the inputs, by position
        call = (call, *(... for one in parameters if one.default is one.empty))
    named = next((at for at, item in enumerate(call) if isinstance(item, tuple)), len(call))
    keywords = dict(zip(*call[named : named + 1], call[named + 1 :], strict=True)) if named < len(call) else {}
    bound = form.bind(None, *call[1:named], **keywords)
    inputs = [name for name, value in bound.arguments.items() if value is ... and name != "out"]
    if [name for name in keywords if name in inputs] != inputs[call[1:named].count(...) :]:
        return None
    bound.apply_defaults()
    required = {name for name, one in form.parameters.items() if one.default is one.empty}
    options = {name: value for name, value in bound.arguments.items() if name != "out" and value not in (None, False)}
    given = (
        name if value in (True, ...) else value
        for name, value in options.items()
        if not (value is ... and name in required)
    )
    return (method.__name__, *given)


def given(**options: Any) -> tuple[str, ...]:
    """Names of flags that are set and of inputs that are given, as in a :func:`question`."""
    return tuple(name for name, value in options.items() if value is not None and value is not False)


class Facade:
    """A model with a cache of plans, kernels and native entries."""

    __slots__ = ("_calls", "_entries", "_evaluator", "_model", "_plans")

    def __init__(self, model: Model) -> None:
        self._model = model
        self._evaluator = self._new_evaluator(model)
        self._entries: dict[Hashable, Any] = {}  # by question
        self._calls: dict[Call, Callable[..., Any]] = {}  # the same, by how they are asked
        self._plans: dict[tuple[Any, ...], Any] = {}

    @property
    def model(self) -> Model:
        """The data behind it."""
        return self._model

    def _new_evaluator(self, model: Model) -> Evaluator:
        return Evaluator(model)

    def _answer(
        self,
        quantity: Quantity,
        arguments: Mapping[str, Any],
        options: Options = NO_OPTIONS,
        out: Array | None = None,
        threads: int | None = None,
    ) -> Array:
        """A quantity for every state; see :meth:`Evaluator.evaluate`."""
        return self._evaluator.evaluate(quantity, arguments, options, out=out, threads=threads)

    def _native_entry(self, question: Question) -> Any:
        """The native way into the kernel that answers a question for one state, if there is one."""
        return self._evaluator.entry(question)

    @property
    def _stores(self) -> tuple[KernelStore, ...]:
        return self._evaluator.stores

    def _store(self, may_move: MayMove = MayMove.NOTHING, form: str | None = None) -> KernelStore:
        return self._evaluator.store(may_move, form)

    def _store_for(self, arguments: Container[str], may_move: MayMove, form: str | None = None) -> KernelStore:
        return self._evaluator.store_for(arguments, may_move, form)

    @property
    def _on_axes(self) -> KernelStore:
        return self._evaluator.on_axes

    def _require_inertia(self, plan: Plan, arguments: Mapping[str, Any]) -> None:
        self._evaluator.require_inertia(plan, arguments)

    def _require_mass(self, plan: Plan) -> None:
        """Raise where there is no mass for a plan to find the centre of."""
        self._evaluator.lacking.require(plan)
        mass_properties.require_mass(self.model)

    def _require_hinges(self, arguments: Mapping[str, Any]) -> None:
        self._evaluator.require_hinges(arguments)

    def _require_finite(self, result: Array, arguments: Mapping[str, Any], pivots: Array | None = None) -> None:
        self._evaluator.require_finite(result, arguments, pivots)

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
        may_move: MayMove = MayMove.NOTHING,
        form: str | None = None,
        store: KernelStore | None = None,
        compiled_plan: Plan | None = None,
        columns: Filler | None = None,
        entries: dict[Hashable, Any] | None = None,
    ) -> Array:
        """Run a plan; ``entry`` names the :func:`question` that may from now on go straight in for single states.

        ``entries`` is where that is kept, if not with the robot's own methods. The plan's arguments are in the order of
        the method's. ``may_move`` declares what the result does not depend on; ``form`` insists on one for kernels. A
        ``store`` is of another model, the same mechanism.
        """
        self._require_inertia(plan, arguments)
        kernels = self._store_for(arguments, may_move, form) if store is None else store
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
            own = {"wrench": self._evaluator._wrench_reader()} if "wrench" in arguments else {}
            native = kernels.entry(compiled_plan or plan, (key, shape), tuple(arguments), shape, own)
            if native is not None:
                known[entry] = native
        return result

    def _trusting_entry(
        self,
        plan: Plan,
        sizes: Mapping[str, int],
        gather: Callable[[Values], Iterator[Scalar] | Any],
        shape: tuple[int, ...],
        may_move: MayMove = MayMove.NOTHING,
    ) -> Callable[..., Any] | None:
        """A native function of single-state arrays that leaves the length of quaternions to its caller.

        It answers NotImplemented where the result is not finite. None where nothing is compiled.
        """
        self._require_inertia(plan, sizes)
        if not (Switch.on and native.available()) or self.model.nbodies == 0:
            return None
        kernel = self._store_for(sizes, may_move).kernel(plan, (None, shape), sizes, gather)
        if kernel is None or Input is None:
            return None
        return kernel.entry(
            shape, [argument_input(self.model, name, size, checked=False) for name, size in sizes.items()]
        )
