"""Methods that answer a quantity: single states go straight into native code, however a call is spelled."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial, update_wrapper
from inspect import getattr_static, signature
from typing import Any, NamedTuple, TypeVar

from recursa.evaluation.arrays import as_given
from recursa.evaluation.evaluator import Call, Evaluator
from recursa.evaluation.resolved import Question
from recursa.kernels.switch import native_module
from recursa.quantities.quantity import Quantity

_Method = TypeVar("_Method", bound=Callable[..., Any])
_NO_OPTIONS = ("self", "out", "threads")


def answers(
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
    known = (*quantity.inputs, *quantity.optional, *_NO_OPTIONS)
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
