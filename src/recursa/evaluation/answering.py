"""Methods that answer a quantity: single states go straight into native code, however a call is spelled."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial, update_wrapper
from inspect import getattr_static, signature
from typing import Any, TypeVar

from recursa.evaluation.evaluator import Question
from recursa.kernels.kernel import Method
from recursa.quantities.quantity import Quantity

_Method = TypeVar("_Method", bound=Callable[..., Any])
Call = str | tuple[Any, ...]  # how a method is called: see ``spelling`` in ``_method.c``
_NO_OPTIONS = ("self", "out", "threads")


def answers(quantity: Quantity) -> Callable[[_Method], _Method]:
    """Decorator of a method that returns ``self._answer(quantity, its arrays, its options, out, threads)``.

    A call is looked up as it is spelled, among ``_calls``. The first one in a spelling runs the method; if a kernel
    answered it, the next one is answered by the kernel's native entry. The entry declines whatever is not plain (see
    ``_inputs.c``), and then the method itself runs.
    """

    def decorate(method: _Method) -> _Method:
        method.quantity = quantity  # type: ignore[attr-defined]
        if Method is None:
            return method
        asked = lru_cache(1024)(partial(question_of, quantity, method))

        def learn(self: Any, call: Call) -> None:
            question = asked(call)
            native = None if question is None else self._native_entry(question)
            if native is not None:
                self._calls[call] = native

        return update_wrapper(Method(method, method.__name__, learn), method)  # type: ignore[return-value]

    return decorate


def question_of(quantity: Quantity, method: Callable[..., Any], call: Call) -> Question | None:
    """What a valid call asks. None for arrays that are not in the order of the signature, which entries know.

    >>> from recursa.dynamics.kinematics import JACOBIAN
    >>> def jacobian(self, q, link, *, frame="body", out=None): ...
    >>> question_of(JACOBIAN, jacobian, ("jacobian", ..., ("frame", "link"), "world", "tip")).options
    (('frame', 'world'), ('link', 'tip'))
    """
    form = signature(method)
    if isinstance(call, str):  # the inputs, by position
        call = (call, *(... for _ in quantity.inputs))
    named = next((at for at, item in enumerate(call) if isinstance(item, tuple)), len(call))
    keywords = dict(zip(*call[named : named + 1], call[named + 1 :], strict=True)) if named < len(call) else {}
    bound = form.bind(None, *call[1:named], **keywords)
    arrays = [name for name, value in bound.arguments.items() if value is ... and name != "out"]
    if [name for name in keywords if name in arrays] != arrays[call[1:named].count(...) :]:
        return None
    bound.apply_defaults()
    known = (*quantity.inputs, *quantity.optional, *_NO_OPTIONS)
    options = {name: value for name, value in bound.arguments.items() if name not in known}
    return Question.of(quantity, arrays, options)


def methods_of(holder: Any) -> dict[Quantity, Callable[..., Any]]:
    """The methods of an object that answer a quantity, as one calls them.

    >>> import recursa as rc
    >>> from recursa.quantities import quantity
    >>> methods_of(rc.robots.planar(1))[quantity("gravity_forces")]([0.0]).round(6)
    array([0.73575])
    """
    found = ((name, getattr_static(type(holder), name)) for name in dir(type(holder)))
    return {item.quantity: getattr(holder, name) for name, item in found if hasattr(item, "quantity")}
