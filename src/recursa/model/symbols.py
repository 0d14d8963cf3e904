"""Symbols that stand for numbers of a robot: which there are, and values put in their place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from recursa.model.model import Model
from recursa.spatial.formulas import Formula, scalar_of

_Record = TypeVar("_Record")


def symbols_of(model: Model) -> frozenset[Any]:
    """SymPy's symbols in the numbers of a model."""
    return frozenset(x for one in _formulas((model.description, model.gravity)) for x in one.of.free_symbols)


def _formulas(value: Any) -> Iterator[Formula]:
    if isinstance(value, Formula):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _formulas(part)
    elif is_dataclass(value):
        for item in fields(value):
            yield from _formulas(getattr(value, item.name))


def with_values(value: _Record, values: Mapping[Any, Any]) -> _Record:
    """A record with values for some symbols; a formula without any symbols left is a float."""
    made: Any = value
    if isinstance(value, Formula):
        made = scalar_of(value.of.subs(values, simultaneous=True))
    elif isinstance(value, tuple):
        parts = [with_values(part, values) for part in value]
        made = type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    elif is_dataclass(value) and not isinstance(value, type) and any(_formulas(value)):
        made = replace(value, **{item.name: with_values(getattr(value, item.name), values) for item in fields(value)})
    return made  # type: ignore[no-any-return]
