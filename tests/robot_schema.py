"""The JSON schema of robot files, from the types of the records: ``python tests/robot_schema.py`` prints it.

The package carries its text, ``src/recursa/formats/robot.schema.json``.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, is_dataclass
from types import UnionType
from typing import Any, Literal, get_args, get_origin

from recursa.formats.plain_records import (
    NOT_FINITE,
    TAG,
    _by_name,
    _fields,
    _items,
    _optional,
    _tagged,
    _without_none,
)
from recursa.formats.recursa_json import NAME, VERSION
from recursa.model.description import Description


def robot_schema() -> dict[str, Any]:
    """The JSON schema of robot files, with the records that they are made of under ``$defs``."""
    definitions: dict[str, Any] = {}
    top = _object_schema(Description, definitions)
    head = {"format": {"const": NAME}, "version": {"const": VERSION}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Recursa robot file, version {VERSION}",
        **top,
        "properties": {**head, **top["properties"]},
        "required": [*head, *top["required"]],
        "$defs": dict(sorted(definitions.items())),
    }


_NUMBER = {"anyOf": [{"type": "number"}, {"enum": list(NOT_FINITE)}]}
_SIMPLE = {str: {"type": "string"}, bool: {"type": "boolean"}, int: {"type": "integer"}}


def _object_schema(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    return {
        "description": " ".join((kind.__doc__ or "").partition(">>>")[0].split()),  # without examples
        "type": "object",
        "properties": {field.name: _schema(hint, definitions) for field, hint in _fields(kind)},
        "required": [field.name for field, _ in _fields(kind) if field.default is MISSING],
        "additionalProperties": False,
    }


def _schema(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if _optional(kind):
        return {"anyOf": [_schema(_without_none(kind), definitions), {"type": "null"}]}
    if _tagged(kind):
        return {"anyOf": [_tagged_schema(one, definitions) for one in get_args(kind)]}
    if get_origin(kind) is UnionType:
        return {"anyOf": [_schema(one, definitions) for one in get_args(kind)]}
    if is_dataclass(kind):
        return _defined(str(getattr(kind, "__name__", "")), _object_schema, kind, definitions)
    if get_origin(kind) is Literal:
        return {"enum": list(get_args(kind))}
    if _by_name(kind):
        return {"type": "object", "additionalProperties": _schema(get_args(get_args(kind)[0])[1], definitions)}
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if kind is float or kind is Any:
        return _defined("number", lambda *_: _NUMBER, kind, definitions)
    if get_origin(kind) is tuple:
        return _list_schema(kind, definitions)
    return _defined(kind.__name__, _list_schema, kind, definitions)


def _tagged_schema(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    def tagged(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
        plain = _object_schema(kind, definitions)
        properties = {TAG: {"const": kind.__name__}, **plain["properties"]}
        return {**plain, "properties": properties, "required": [TAG, *plain["required"]]}

    return _defined(kind.__name__, tagged, kind, definitions)


def _list_schema(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    arguments = get_args(kind)
    if arguments and arguments[-1] is ...:
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    items = [_schema(item, definitions) for item in _items(kind, 0)]
    if all(item == items[0] for item in items):
        return {"type": "array", "items": items[0], "minItems": len(items), "maxItems": len(items)}
    return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}


def _defined(name: str, make: Any, kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if name not in definitions:
        definitions[name] = {}  # taken, also while it is made
        definitions[name] = make(kind, definitions)
    return {"$ref": f"#/$defs/{name}"}


if __name__ == "__main__":
    print(json.dumps(robot_schema(), indent=2))
