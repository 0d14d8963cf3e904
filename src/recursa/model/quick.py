"""Frozen dataclasses that are made fast: of the records of a robot there are hundreds, and loading makes all."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, TypeVar

try:
    from recursa._tuples import quick_record as _quick_record
except ImportError:  # no compiler when this was installed

    def _quick_record(cls: type, names: tuple[str, ...], defaults: tuple[object, ...]) -> None:
        """Leave it as it is."""


_Class = TypeVar("_Class", bound=type)


def quickly_made(cls: _Class) -> _Class:
    """Class decorator for a frozen dataclass with slots: the same ``__init__``, which writes where attributes are kept.

    The usual one looks up every slot by its name. Where ``_tuples.c`` was compiled, instances are made without it.
    """
    every = fields(cls)
    scope: dict[str, Any] = {"defaults": {one.name: one.default for one in every}}
    scope |= {f"set_{one.name}": getattr(cls, one.name).__set__ for one in every}
    parameters = (one.name if one.default is MISSING else f"{one.name}=defaults['{one.name}']" for one in every)
    body = (f"set_{one.name}(self, {one.name})" for one in every)
    exec("\n    ".join([f"def made(self, {', '.join(parameters)}):", *body]), scope)
    made = scope["made"]
    made.__annotations__ = vars(cls)["__init__"].__annotations__
    made.__name__, made.__qualname__ = "__init__", f"{cls.__qualname__}.__init__"
    setattr(cls, made.__name__, made)
    given = tuple(one.default for one in every if one.default is not MISSING)
    _quick_record(cls, tuple(one.name for one in every), given)
    return cls
