"""Frozen dataclasses that are made fast: of the records of a robot there are hundreds, and loading makes all."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)


def quickly_made(cls: _Class) -> _Class:
    """Class decorator for a frozen dataclass: the same ``__init__``, which writes where attributes are kept.

    The usual one calls ``object.__setattr__`` for every field, four times as slow.
    """
    every = fields(cls)
    scope: dict[str, Any] = {"defaults": {one.name: one.default for one in every}}
    parameters = (one.name if one.default is MISSING else f"{one.name}=defaults['{one.name}']" for one in every)
    body = (f"kept['{one.name}'] = {one.name}" for one in every)
    exec("\n    ".join([f"def made(self, {', '.join(parameters)}):", "kept = self.__dict__", *body]), scope)
    made = scope["made"]
    made.__annotations__ = vars(cls)["__init__"].__annotations__
    made.__name__, made.__qualname__ = "__init__", f"{cls.__qualname__}.__init__"
    setattr(cls, made.__name__, made)
    return cls
