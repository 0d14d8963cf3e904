"""Methods that answer a quantity: single states go straight into native code, however a call is spelled."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial, update_wrapper, wraps
from inspect import Parameter, Signature, getattr_static, signature
from typing import Any, NamedTuple, TypeVar

from recursa.evaluation.arrays import as_given
from recursa.evaluation.evaluator import Call, Evaluator
from recursa.evaluation.resolved import Question
from recursa.kernels.switch import native_module
from recursa.quantities.quantity import Quantity
from recursa.sweeps.batching import Array

_Method = TypeVar("_Method", bound=Callable[..., Any])
_NOT_OPTIONS = ("self", "out", "threads")


def answers(quantity: Quantity, *, parts: Callable[[Array], Any] | None = None) -> Callable[[_Method], _Method]:
    """Decorator of a method that is a signature and its documentation: the method answers a quantity.

    Arguments that the quantity knows as arrays are its arrays; ``out`` and ``threads`` are those of
    :meth:`Evaluator.evaluate`; all others are options of the quantity. ``parts(result)`` makes what the method
    returns, where that is not the array itself.
    """

    def decorate(method: _Method) -> _Method:
        whole = learns(quantity)(_evaluating(quantity, method))
        if parts is None:
            return whole

        def in_parts(self: Any, *arguments: Any, **named: Any) -> Any:
            return parts(whole(self, *arguments, **named))

        return update_wrapper(in_parts, whole)  # type: ignore[return-value]

    return decorate


def two_vectors(both: Array) -> tuple[Array, Array]:
    """Vectors (..., n) of (..., 2, n)."""
    return both[..., 0, :], both[..., 1, :]


def two_matrices(both: Array) -> tuple[Array, Array]:
    """Matrices (..., n, m) of (..., 2, n, m)."""
    return both[..., 0, :, :], both[..., 1, :, :]


def three_matrices(three: Array) -> tuple[Array, Array, Array]:
    """Matrices (..., n, m) of (..., 3, n, m)."""
    return three[..., 0, :, :], three[..., 1, :, :], three[..., 2, :, :]


def asks(quantity: Quantity, *given: str) -> Callable[..., Array]:
    """A method that answers a quantity and is called by other methods: its signature is that of the record.

    Arrays that must be given come first; by keyword the others, ``given`` among them without a default, then options,
    ``out`` and ``threads``.

    >>> from recursa.dynamics.kinematics import VELOCITIES
    >>> print(signature(asks(VELOCITIES)))
    (self, q, v, *, base_twist=None, frame='body', out=None, threads=None)
    """
    known = {name: None for name in quantity.optional if name not in given} | quantity.defaults
    known |= {"out": None, "threads": None}
    names = dict.fromkeys((*quantity.optional, *quantity.options, "out", "threads"))
    form = Signature(
        [
            *(Parameter(name, Parameter.POSITIONAL_OR_KEYWORD) for name in ("self", *quantity.inputs)),
            *(Parameter(name, Parameter.KEYWORD_ONLY, default=known.get(name, Parameter.empty)) for name in names),
        ]
    )

    def method(*arguments: Any, **named: Any) -> Any:
        form.bind(*arguments, **named)

    method.__signature__ = form  # type: ignore[attr-defined]
    return learns(quantity)(_evaluating(quantity, method))


def _evaluating(quantity: Quantity, method: _Method) -> _Method:
    """A method with this signature that evaluates a quantity."""
    parameters = {name: item for name, item in signature(method).parameters.items() if name != "self"}
    defaults = {name: item.default for name, item in parameters.items() if item.default is not item.empty}
    arrays = [name for name in parameters if name in quantity.arrays]
    options = [name for name in parameters if name not in (*quantity.arrays, *_NOT_OPTIONS)]

    @wraps(method)
    def evaluated(self: Any, *arguments: Any, **named: Any) -> Any:
        method(self, *arguments, **named)  # an error, if the call does not fit the signature
        given = {**defaults, **dict(zip(parameters, arguments, strict=False)), **named}
        asked, chosen = {name: given[name] for name in arrays}, {name: given[name] for name in options}
        return self._answer(quantity, asked, chosen, given.get("out"), given.get("threads"))

    return evaluated  # type: ignore[return-value]


def learns(
    quantity: Quantity, learn: Callable[[Evaluator, Call, Asked], None] | None = None
) -> Callable[[_Method], _Method]:
    """Decorator of a method that returns ``self._answer(quantity, its arrays, its options, out, threads)``.

    A call is looked up as it is spelled, among ``_calls``. The first one in a spelling runs the method; if a kernel
    answered it, the next one is answered by the kernel's native entry. The entry declines whatever is not plain (see
    ``_inputs.c``), and then the method itself runs. ``learn(robot's evaluator, call, what it asks)`` has the entry
    looked up where the method's answer is not that of the quantity; see :meth:`Evaluator.learn`.
    """

    def decorate(method: _Method) -> _Method:
        method.quantity = quantity  # type: ignore[attr-defined]
        general = as_given(method)
        if native_module is None:
            return general
        asked = lru_cache(1024)(partial(question_of, quantity, method))

        def called(self: Any, call: Call) -> None:
            found = asked(call)
            if found is not None and learn is not None:
                learn(self._evaluator, call, found)
            elif found is not None:
                self._evaluator.learn(call, *found)

        return update_wrapper(native_module.Method(general, quantity.name, called), method)  # type: ignore[return-value]

    return decorate


class Asked(NamedTuple):
    """What a call asks: the question, and which of the arrays of the call is which input of its kernel."""

    question: Question
    order: tuple[int, ...]


def question_of(quantity: Quantity, method: Callable[..., Any], call: Call) -> Asked | None:
    """What a valid call asks. None for calls with arrays that no kernel reads.

    >>> from recursa.dynamics.kinematics import JACOBIAN, VELOCITIES
    >>> def jacobian(self, q, link, *, frame="body", out=None): ...
    >>> question_of(JACOBIAN, jacobian, ("jacobian", ..., ("frame", "link"), "world", "tip")).question.options
    (('base_velocity', 'body'), ('frame', 'world'), ('link', 'tip'))
    >>> def velocities(self, q, v, frame="body"): ...
    >>> question_of(VELOCITIES, velocities, ("velocities", ("v", "frame", "q"), ..., "world", ...)).order
    (1, 0)
    """
    form = signature(method)
    if isinstance(call, str):  # the inputs, by position
        call = (call, *(... for _ in quantity.inputs))
    named = next((at for at, item in enumerate(call) if isinstance(item, tuple)), len(call))
    keywords = dict(zip(*call[named : named + 1], call[named + 1 :], strict=True)) if named < len(call) else {}
    by_position = form.bind_partial(None, *call[1:named]).arguments
    arrays = [name for name, value in {**by_position, **keywords}.items() if value is ... and name != "out"]
    bound = form.bind(None, *call[1:named], **keywords)
    bound.apply_defaults()
    known = (*quantity.inputs, *quantity.optional, *_NOT_OPTIONS)
    options = {name: value for name, value in bound.arguments.items() if name not in known}
    question = Question.of(quantity, arrays, options)
    inputs = (*quantity.inputs, *question.given)
    return Asked(question, tuple(map(arrays.index, inputs))) if set(arrays) == set(inputs) else None


def methods_of(holder: Any) -> dict[Quantity, Callable[..., Any]]:
    """The methods of an object that answer a quantity, as one calls them.

    >>> import recursa as rc
    >>> from recursa.quantities import quantity
    >>> methods_of(rc.robots.planar(1))[quantity("gravity_forces")]([0.0]).round(6)
    array([0.73575])
    """
    found = ((name, getattr_static(type(holder), name)) for name in dir(type(holder)))
    return {item.quantity: getattr(holder, name) for name, item in found if hasattr(item, "quantity")}
