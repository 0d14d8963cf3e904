"""Records as plain data and back, by the types of their fields.

A record is an object with a key per field, fields at their default left out, those with the metadata ``saved=False``
always; one of several records has a word for which it is, ``TAG``. Vectors, inertias, rotations (row by row) and
transforms (rotation, translation) are lists, values by name objects. Numbers keep all their bits; those that JSON has
no word for are "inf", "-inf" and "nan".
"""

from __future__ import annotations

import math
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from recursa.errors import ModelError, did_you_mean

TAG = "type"  # what tells records apart where one of several may stand
NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_WORDS = {
    dict: "an object", list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number",
    NoneType: "null",
}  # fmt: skip


def plain(value: Any, kind: Any) -> Any:
    """A value of a type as data for JSON.

    >>> from recursa.model.description import LinkRecord
    >>> plain(LinkRecord("rod", mass=2.0, inertial=True), LinkRecord)
    {'name': 'rod', 'mass': 2.0, 'inertial': True}
    """
    if value is None:
        return None
    several, kind = _tagged(kind), _meant(_without_none(kind), value)
    if _is_record(kind):
        tag = {TAG: kind.__name__} if several else {}
        return tag | {
            field.name: plain(getattr(value, field.name), hint)
            for field, hint in _fields(kind)
            if field.default is MISSING
            or repr(getattr(value, field.name)) != repr(field.default)  # tells -0.0 from 0.0
        }
    if _by_name(kind):
        return {name: plain(item, get_args(get_args(kind)[0])[1]) for name, item in value}
    if isinstance(value, tuple):
        return [plain(item, hint) for item, hint in zip(value, _items(kind, len(value)), strict=True)]
    if isinstance(value, float) and not math.isfinite(value):
        return next(word for word, number in NOT_FINITE.items() if repr(number) == repr(float(value)))
    return value


def record(data: Any, kind: Any, place: str) -> Any:
    """The value of a type that data stand for; what does not fit is a ModelError that names the place.

    >>> from recursa.model.description import Description
    >>> record({"name": "arm", "links": [{"name": "base", "mass": "heavy"}], "joints": []}, Description, "")
    Traceback (most recent call last):
    recursa.errors.ModelError: links[0].mass must be a number, not text: 'heavy'
    """
    if _optional(kind):
        if data is None:
            return None
        kind = _without_none(kind)
    if _tagged(kind):
        kind, data = _told(data, kind, place)
    kind = _meant(kind, data)
    if _is_record(kind):
        return _dataclass(data, kind, place)
    if get_origin(kind) is Literal:
        return _one_of(data, get_args(kind), place)
    if _by_name(kind):
        return _named(data, get_args(get_args(kind)[0])[1], place)
    if kind in (str, bool, int):
        return _simple(data, kind, place)
    if kind is float or kind is Any:
        return _number(data, place)
    return _list(data, kind, place)


# ---- reading ---------------------------------------------------------------------------------------------------------


def _dataclass(data: Any, kind: Any, place: str) -> Any:
    known = {field.name: (field, hint) for field, hint in _fields(kind)}
    for key in _of_type(data, dict, place):
        if key not in known:
            raise ModelError(f"{_at(place)} has the unknown key {_shown(key)}. {did_you_mean(key[:60], known)}")
    for name, (field, _) in known.items():
        if field.default is MISSING and name not in data:
            raise ModelError(f"{_at(place)} lacks the key '{name}'")
    return kind(**{key: record(value, known[key][1], _below(place, key)) for key, value in data.items()})


def _told(data: Any, kind: Any, place: str) -> tuple[Any, dict[str, Any]]:
    """Which of several records data are, and the data without the word that says so."""
    known = {one.__name__: one for one in get_args(kind)}
    rest = dict(_of_type(data, dict, place))
    if TAG not in rest:
        raise ModelError(f"{_at(place)} lacks the key '{TAG}'")
    return known[_one_of(rest.pop(TAG), tuple(known), _below(place, TAG))], rest


def _named(data: Any, kind: Any, place: str) -> tuple[Any, ...]:
    items = _of_type(data, dict, place).items()
    return tuple((_text(name, place), record(value, kind, f"{place}[{_shown(name)}]")) for name, value in items)


def _list(data: Any, kind: Any, place: str) -> Any:
    items = _of_type(data, list, place)
    hints = _items(kind, len(items))
    if len(hints) != len(items):
        raise ModelError(f"{_at(place)} must be a list of {len(hints)}, not of {len(items)}")
    values = (record(item, hint, f"{place}[{k}]") for k, (item, hint) in enumerate(zip(items, hints, strict=True)))
    return tuple(values) if get_origin(kind) is tuple else kind(*values)


def _one_of(data: Any, words: tuple[str, ...], place: str) -> str:
    if data not in words:
        hint = did_you_mean(data[:60], words) if isinstance(data, str) else f"It is one of {', '.join(words)}."
        raise ModelError(f"{_at(place)} cannot be {_shown(data)}. {hint}")
    return str(data)


def _simple(data: Any, kind: Any, place: str) -> Any:
    if kind is str:
        return _text(data, place)
    if type(data) is not kind:
        raise _wrong(data, {bool: "true or false", int: "a whole number"}[kind], place)
    return data


def _text(data: Any, place: str) -> str:
    text = _of_type(data, str, place)
    if any(0xD800 <= ord(character) < 0xE000 for character in text):
        raise ModelError(f"{_at(place)} has half of a surrogate pair, which is no character")
    return str(text)


def _number(data: Any, place: str) -> float:
    if isinstance(data, str) and data in NOT_FINITE:
        return NOT_FINITE[data]
    if isinstance(data, bool) or not isinstance(data, int | float):
        raise _wrong(data, "a number", place)
    try:
        return float(data)
    except OverflowError:
        raise ModelError(f"{_at(place)} is a number too large for a float") from None


def _of_type(data: Any, kind: type, place: str) -> Any:
    if not isinstance(data, kind):
        raise _wrong(data, _WORDS[kind], place)
    return data


def _wrong(data: Any, wanted: str, place: str) -> ModelError:
    return ModelError(f"{_at(place)} must be {wanted}, not {_WORDS.get(type(data), 'that')}: {_shown(data)}")


def _shown(data: Any) -> str:
    text = ascii(data) if isinstance(data, str) else repr(data)[:200]
    return text if len(text) <= 60 else text[:57] + "..."


def _at(place: str) -> str:
    return place or "the robot"


def _below(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


# ---- types -----------------------------------------------------------------------------------------------------------


@cache
def _fields(kind: Any) -> tuple[tuple[Field[Any], Any], ...]:
    hints = get_type_hints(kind)
    return tuple((field, hints[field.name]) for field in fields(kind) if field.metadata.get("saved", True))


@cache
def _items(kind: Any, count: int) -> tuple[Any, ...]:
    """The types of a tuple's entries."""
    if get_origin(kind) is not tuple:
        return tuple(get_type_hints(kind).values())  # a named tuple
    arguments = get_args(kind)
    return arguments[:1] * count if arguments[-1] is ... else arguments


def _is_record(kind: Any) -> bool:
    return is_dataclass(kind)


def _by_name(kind: Any) -> bool:
    """Whether a type is pairs of a name and something."""
    arguments = get_args(kind)
    if get_origin(kind) is not tuple or arguments[-1] is not ...:
        return False
    return get_origin(arguments[0]) is tuple and get_args(arguments[0])[0] is str


def _optional(kind: Any) -> bool:
    return get_origin(kind) in (UnionType, Union) and NoneType in get_args(kind)


def _without_none(kind: Any) -> Any:
    return next(one for one in get_args(kind) if one is not NoneType) if _optional(kind) else kind


def _tagged(kind: Any) -> bool:
    """Whether it is one of several records, told apart by a word."""
    return get_origin(kind) is UnionType and all(map(_is_record, get_args(kind)))


def _meant(kind: Any, value: Any) -> Any:
    """Of a number or several, which a value is."""
    if get_origin(kind) is not UnionType:
        return kind
    if _tagged(kind):
        return type(value)
    return next(one for one in get_args(kind) if (get_origin(one) is tuple) is isinstance(value, list | tuple))
