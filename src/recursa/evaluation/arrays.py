"""Arrays of other libraries that speak the array API standard: read as NumPy's, given back as what they were.

They are told by ``__dlpack__``, the standard's way to hand memory over. Native entries decline whatever is not NumPy's,
so that none of this is on the way of NumPy arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from recursa.errors import StateError
from recursa.sweeps.batching import carries_gradients

_Method = TypeVar("_Method", bound=Callable[..., Any])
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
