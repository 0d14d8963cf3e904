"""What the expressions of xacro files may do with values: operators, functions and methods, all of bounded size.

Values are numbers, text, booleans, None, lists and dictionaries. Everything that could grow without bound (powers, text
and lists that are repeated, ranges) is measured before it is made.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from recursa.errors import ModelError
from recursa.spatial import constant_trig

MAX_BITS = 4096
MAX_TEXT = 65_536
MAX_NESTING = 40  # of lists and dictionaries: Python compares and prints them by recursion
MAX_WEIGHT = 131_072  # of a list or dictionary with all that is in it, in characters
_NUMBER = 8  # the weight of a number


class Function:
    """A function that expressions may call."""

    def __init__(self, name: str, call: Callable[..., Any]) -> None:
        self.name, self.call = name, call

    def __str__(self) -> str:
        return f"the function {self.name}"


class Dotted:
    """What has names behind a dot, beside dictionaries: the properties of an included file."""

    def __getitem__(self, name: str) -> Any:
        """The value of a name; KeyError if there is none."""
        raise NotImplementedError


class Namespace(dict[str, Any]):
    """Names behind a dot, as in ``math.pi``."""


def weight(value: Any) -> int:
    """How many characters a value is about; too many are an error, and so are lists in too many lists.

    >>> weight([1, "ab"])
    18
    """
    total, level = 0, [value]
    for _ in range(MAX_NESTING):
        inside: list[Any] = []
        for one in level:
            if isinstance(one, str):
                total += len(one)
                continue
            total += _NUMBER
            if isinstance(one, dict):
                inside.extend(one.values())
                total += sum(len(key) if isinstance(key, str) else _NUMBER for key in one)
            elif isinstance(one, list | tuple):
                inside.extend(one)
            if total + len(inside) > MAX_WEIGHT:
                raise ModelError("a list or dictionary becomes too large")
        if not inside:
            return total
        level = inside
    raise ModelError(f"lists and dictionaries are nested deeper than {MAX_NESTING}")


def bounded(value: Any) -> Any:
    """The value, if it is of a kind and size that expressions may have."""
    if isinstance(value, float | bool) or value is None:
        return value
    if isinstance(value, int):
        if value.bit_length() > MAX_BITS:
            raise ModelError(f"a whole number has more than {MAX_BITS} bits")
    elif isinstance(value, str):
        _text_fits(len(value))
    elif isinstance(value, list | tuple | dict):
        weight(value)
    elif not isinstance(value, Function):
        raise ModelError(f"the result is {kind(value)}, which has no place in a robot description")
    return value


def _text_fits(length: int) -> None:
    if length > MAX_TEXT:
        raise ModelError(f"a text has {length} characters; at most {MAX_TEXT} are allowed")


def kind(value: Any) -> str:
    """What a value is, in words for a message."""
    if isinstance(value, Function):
        return str(value)
    words = {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "a list", type(None): "None"}
    return words.get(type(value), "a dictionary" if isinstance(value, dict) else f"of type {type(value).__name__}")


# ---- operators -------------------------------------------------------------------------------------------------------


def _times(a: Any, b: Any) -> Any:
    if isinstance(a, str | list) or isinstance(b, str | list):
        many, times = (a, b) if isinstance(a, str | list) else (b, a)
        if not isinstance(times, int):
            raise TypeError
        if weight(many) * times > MAX_TEXT:
            raise ModelError(f"repeating {kind(many)} {times} times makes it too large")
        return many * times
    return _numeric(operator.mul)(a, b)


def _plus(a: Any, b: Any) -> Any:
    if isinstance(a, str | list) and type(a) is type(b):
        return operator.add(a, b)
    return _numeric(operator.add)(a, b)


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and b > 0 and a.bit_length() * b > MAX_BITS:
        raise ModelError(f"a power has more than {MAX_BITS} bits")
    found = _numeric(operator.pow)(a, b)
    if isinstance(found, complex):
        raise ModelError("a power of a negative number is not real")
    return found


def _numeric(op: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def applied(a: Any, b: Any) -> Any:
        if not (isinstance(a, int | float) and isinstance(b, int | float)):
            raise TypeError
        return op(a, b)

    return applied


def cost(value: Any) -> int:
    """How much work it is to look through a value, in steps."""
    return weight(value) >> 4 if isinstance(value, str | list | dict) else 0


BINARY: dict[type[ast.AST], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", _plus),
    ast.Sub: ("-", _numeric(operator.sub)),
    ast.Mult: ("*", _times),
    ast.Div: ("/", _numeric(operator.truediv)),
    ast.FloorDiv: ("//", _numeric(operator.floordiv)),
    ast.Mod: ("%", _numeric(operator.mod)),
    ast.Pow: ("**", _power),
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
    ast.Eq: ("==", operator.eq),
    ast.NotEq: ("!=", operator.ne),
    ast.In: ("in", lambda a, b: a in b),
    ast.NotIn: ("not in", lambda a, b: a not in b),
    ast.Is: ("is", operator.is_),
    ast.IsNot: ("is not", operator.is_not),
}
"""Operators by the kind of their node: the symbol, and what it does."""


def apply(name: str, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """A function or operator applied, its mistakes turned into words."""
    try:
        return bounded(function(*given, **named))
    except ModelError:
        raise
    except TypeError:
        shown = " and ".join(kind(one) for one in given) or "nothing"
        raise ModelError(f"'{name}' cannot be applied to {shown}") from None
    except ZeroDivisionError:
        raise ModelError(f"'{name}' divides by zero") from None
    except (ValueError, OverflowError, LookupError, AttributeError) as error:
        raise ModelError(f"'{name}': {str(error)[:100] or type(error).__name__}") from None


def item_of(container: Any, index: Any) -> Any:
    """``container[index]``."""
    if not isinstance(container, str | list | tuple | dict):
        raise ModelError(f"{kind(container)} has no items")
    try:
        return container[index]
    except (LookupError, TypeError):
        shown = repr(index)[:60]
        raise ModelError(f"{kind(container)} of {len(container)} has no item {shown}") from None


# ---- functions -------------------------------------------------------------------------------------------------------


def _range(*given: int) -> list[int]:
    steps = range(*given)
    if len(steps) > MAX_TEXT // _NUMBER:
        raise ModelError(f"a range of {len(steps)} numbers is too long")
    return list(steps)


def _round(value: float, digits: int | None = None) -> float:
    if digits is not None and abs(digits) > 400:
        raise ModelError(f"round to {digits} digits")
    return round(value, digits)


def _map(function: Function, values: Any) -> list[Any]:
    if not isinstance(function, Function):
        raise TypeError
    return [apply(function.name, function.call, value) for value in values]


def _replace(text: str, old: str, new: str) -> str:
    _text_fits(len(text) + text.count(old) * len(new))
    return text.replace(old, new)


def _join(text: str, parts: Any) -> str:
    _text_fits(len(text) * len(parts) + weight(list(parts)))
    return text.join(parts)


def tokenize(text: str, sep: str = ",; ", skip_empty: bool = True) -> list[str]:
    """The pieces of a text between any of some characters."""
    for one in sep[1:]:
        text = text.replace(one, sep[0])
    return [piece for piece in text.split(sep[0]) if piece or not skip_empty]


_BUILTINS: dict[str, Callable[..., Any]] = {
    "list": list, "dict": dict, "map": _map, "len": len, "str": str, "float": float, "int": int,
    "min": min, "max": max, "round": _round, "sorted": sorted, "range": _range, "abs": abs, "all": all, "any": any,
    "divmod": divmod, "enumerate": lambda *a: [list(x) for x in enumerate(*a)], "bool": bool,
    "reversed": lambda x: list(reversed(x)), "sum": lambda x: sum(x), "tuple": list,
    "zip": lambda *a: [list(x) for x in zip(*a, strict=False)],
}  # fmt: skip
_DIRECT = ("list", "dict", "map", "len", "str", "float", "int", "min", "max", "round", "sorted", "range")
_MATH = (
    "acos", "asin", "atan", "acosh", "asinh", "atanh", "sinh", "cosh", "tanh", "exp", "expm1", "log", "log10", "log2",
    "log1p", "sqrt", "hypot", "pow", "fabs", "floor", "ceil", "trunc", "fmod", "copysign", "degrees", "radians",
    "isnan", "isinf", "isfinite", "isclose", "gcd", "fsum",
)  # fmt: skip
_CONSTANTS = {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan}


def _tan(angle: float) -> float:
    cosine, sine = constant_trig.cos_sin(float(angle))
    return sine / cosine


_math = Namespace(
    {name: Function(name, getattr(math, name)) for name in _MATH}
    | _CONSTANTS
    | {
        "sin": Function("sin", lambda x: constant_trig.cos_sin(float(x))[1]),
        "cos": Function("cos", lambda x: constant_trig.cos_sin(float(x))[0]),
        "tan": Function("tan", _tan),
        "atan2": Function("atan2", lambda y, x: constant_trig.atan2(float(y), float(x))),
    }
)
_python = Namespace({name: Function(name, call) for name, call in _BUILTINS.items()} | {"True": True, "False": False})

NAMES: dict[str, Any] = {
    **{name: _python[name] for name in _DIRECT},
    "abs": _python["abs"],
    **_math,
    "math": _math,
    "python": _python,
}
"""The names that every expression knows."""

METHODS: dict[type, dict[str, Callable[..., Any]]] = {
    str: {
        "split": str.split, "strip": str.strip, "lstrip": str.lstrip, "rstrip": str.rstrip, "lower": str.lower,
        "upper": str.upper, "startswith": str.startswith, "endswith": str.endswith, "replace": _replace, "join": _join,
        "find": str.find, "count": str.count, "isdigit": str.isdigit,
    },
    list: {"index": list.index, "count": list.count},
    dict: {
        "get": dict.get, "keys": lambda d: list(d.keys()), "values": lambda d: list(d.values()),
        "items": lambda d: [list(item) for item in d.items()],
    },
}  # fmt: skip


def member_of(owner: Any, name: str) -> Any:
    """``owner.name``: a method, a name in a namespace, or an item of a dictionary that came from YAML."""
    methods = next((found for base, found in METHODS.items() if isinstance(owner, base)), {})
    if name in methods and not isinstance(owner, Namespace):
        return Function(name, partial(methods[name], owner))
    if isinstance(owner, dict | Dotted):
        try:
            return owner[name]
        except KeyError:
            raise ModelError(f"there is no '{name[:60]}' behind the dot") from None
    raise ModelError(f"{kind(owner)} has no '{name[:60]}'")
