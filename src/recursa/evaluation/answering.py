"""Methods that answer a quantity: single states go straight into native code, however a call is spelled."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache, partial, update_wrapper, wraps
from inspect import Parameter, Signature, getattr_static, signature
from typing import Any, NamedTuple, TypeVar

import numpy as np

from recursa.errors import StateError
from recursa.evaluation.evaluator import Call, Evaluator
from recursa.evaluation.resolved_quantity import Question
from recursa.kernels.switch import native_module
from recursa.model.model import Model
from recursa.quantities.quantity import Quantity
from recursa.sweeps.batching import Array, carries_gradients

_PLAIN = frozenset({np.ndarray, list, tuple, float, int, str, bool, type(None)})


def as_given(method: _Method) -> _Method:
    """Decorator: what is given as arrays of another library, comes back as arrays of that library.

    >>> import recursa as rc, numpy as np
    >>> type(rc.robots.planar(2).mass_matrix(np.zeros(2))).__name__
    'ndarray'
    """

    @wraps(method)
    def answer(*arguments: Any, **named: Any) -> Any:
        found = foreign(arguments)
        if found is None and named:
            found = foreign(named.values())
        if found is None:
            return method(*arguments, **named)
        if isinstance(named.get("out"), np.ndarray):
            raise StateError(f"out= takes NumPy arrays, and the arguments are of {_home(found)}. Leave it out")
        library = _namespace(found)
        own = {name: _as_numpy(value, library) for name, value in named.items()}
        return _given_back(method(*(_as_numpy(value, library) for value in arguments), **own), found, library)

    return answer  # type: ignore[return-value]


def foreign(values: Iterable[Any]) -> Any:
    """The first array that is not NumPy's; None where there is none."""
    for value in values:
        kind = type(value)
        if kind in _PLAIN:
            continue
        if _is_foreign(value):
            return value
        if isinstance(value, Mapping):
            inner = foreign(value.values())
            if inner is not None:
                return inner
    return None


def _is_foreign(value: Any) -> bool:
    return hasattr(type(value), "__dlpack__") and not isinstance(value, np.ndarray | np.generic)


def _home(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _namespace(value: Any) -> Any:
    """The library that an array belongs to."""
    own = getattr(value, "__array_namespace__", None)
    library = sys.modules.get(_home(value)) if own is None else own()  # PyTorch has the functions, and not the method
    if not hasattr(library, "from_dlpack"):
        raise StateError(
            f"arrays of {type(value).__name__!r} from '{_home(value)}' cannot be given back: it has no from_dlpack. "
            "Hand over np.asarray(...)"
        )
    return library


def _as_numpy(value: Any, library: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _as_numpy(item, library) for key, item in value.items()}
    if type(value) in _PLAIN or not _is_foreign(value):
        return value
    if _namespace(value) is not library:
        raise StateError(
            f"arrays of '{_home(value)}' beside those of '{library.__name__}': give all in one library, or in NumPy"
        )
    if getattr(value, "requires_grad", False) is True:  # a tensor of PyTorch
        raise carries_gradients("an argument")
    reasons = []
    for read in (np.from_dlpack, _copied, np.asarray):
        try:
            return np.asarray(read(value))
        except (TypeError, ValueError, RuntimeError, BufferError, AttributeError) as error:
            reasons.append(str(error).partition("\n")[0])
    raise StateError(
        f"an array of '{_home(value)}' cannot be read ({reasons[0]}). If its library traces or differentiates it, hand "
        "over plain numbers: detach() in PyTorch, outside of jit and grad in JAX. robot.torch() and robot.jax() have "
        "functions that these go through"
    )


def _copied(value: Any) -> Any:
    """From the memory of another device."""
    return np.from_dlpack(value, device="cpu", copy=True)


def _given_back(result: Any, like: Any, library: Any) -> Any:
    """The same with arrays of the library, on the device of ``like``; also inside of tuples and records."""
    if isinstance(result, np.ndarray | np.generic) and result.dtype.kind in "biufc":
        array = np.ascontiguousarray(result).reshape(result.shape)
        made = library.from_dlpack(array if array.flags.writeable else array.copy())
        device = getattr(like, "device", None)
        return made if device in (None, getattr(made, "device", None)) else library.asarray(made, device=device)
    if isinstance(result, tuple):
        parts = [_given_back(part, like, library) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    if is_dataclass(result) and not isinstance(result, type):
        own = {item.name: getattr(result, item.name) for item in fields(result) if item.init}
        arrays = {name: value for name, value in own.items() if isinstance(value, np.ndarray | tuple)}
        return replace(result, **{name: _given_back(value, like, library) for name, value in arrays.items()})
    return result


# ---- -----------------------------------------------------------------------------------------------------------------
# Arrays of other libraries that speak the array API standard: read as NumPy's, given back as what they were. They are
# told by ``__dlpack__``, the standard's way to hand memory over. Native entries decline whatever is not NumPy's, so
# that none of this is on the way of NumPy arrays.


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


# ---- what every group of methods stands on: a model, and the evaluator that answers for it ---------------------------


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
