"""YAML as plain data, if PyYAML is installed: objects, lists and text (or numbers), nothing that a tag would have made.

Aliases are refused, since a few of them can stand for more data than there is memory; so are tags of other programs.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from recursa.errors import ModelError

# ---- JSON read with care: no number too large for a float, no key twice, no nesting without end ----------------------


LONGEST = 400
"""Digits and letters of a number."""


def parse_json(text: str, source: str | None) -> Any:
    """The data in a JSON text; what is wrong with it is a ModelError with its line.

    >>> parse_json('{"mass": 1e999}', None)
    Traceback (most recent call last):
    recursa.errors.ModelError: the number 1e999 is too large for a float
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_float=_real, parse_int=_whole)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()):
            message = "the file seems cut off: the JSON text ends too early" if text.strip() else "the text is empty"
        else:
            message = f"this is not JSON: {error.msg} (column {error.colno})"
        raise ModelError(message, line=error.lineno, source=source) from None
    except RecursionError:
        raise ModelError("lists and objects nest too deeply for a robot", source=source) from None
    except ModelError as error:
        raise ModelError(error.reason, source=source) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ModelError(f"the key {twice[:60]!a} is twice in the same object")
    return found


def _real(text: str) -> float:
    number = float(text) if len(text) <= LONGEST else math.inf
    if math.isinf(number):
        raise ModelError(f"the number {text[:20]}{'...' if len(text) > 20 else ''} is too large for a float")
    return number


def _whole(text: str) -> int:
    _real(text)
    return int(text)


_CORE = "tag:yaml.org,2002:"
_KNOWN = {_CORE + name for name in ("str", "int", "float", "null", "bool", "seq", "map", "timestamp", "value", "merge")}

_TYPED = {"int": "construct_yaml_int", "float": "construct_yaml_float", "bool": "construct_yaml_bool"}


class LinedObject(dict[str, Any]):
    """An object that knows the line it stands on."""

    line: int | None = None


def parse_yaml(text: str, *, typed: bool = False, tags: Mapping[str, Callable[[str], Any]] | None = None) -> Any:
    """The data in a YAML text: scalars are text as it stands, or None; mistakes are ModelErrors with their line.

    ``typed`` makes numbers and booleans of those that are; ``tags`` are further ones, with what they make of a text.
    """
    try:
        import yaml
    except ImportError:
        what = "YAML needs the package 'PyYAML': pip install 'recursa[yaml]'; tables can also be JSON or CSV"
        raise ModelError(what) from None

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Composes nodes, and refuses aliases before they become any."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                line = self.peek_event().start_mark.line + 1
                raise ModelError("aliases (*name) are not accepted; write the values out", line=line)
            return super().compose_node(parent, index)

    try:
        node = yaml.compose(text, Loader=Loader)
        return None if node is None else _Reading(yaml, typed, tags or {}).plain(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "unreadable characters"
        raise ModelError(f"this is not YAML: {problem}", line=None if mark is None else mark.line + 1) from None
    except RecursionError:
        raise ModelError("lists and objects nest too deeply for a table") from None


class _Reading:
    """From nodes to data."""

    def __init__(self, yaml: Any, typed: bool, tags: Mapping[str, Callable[[str], Any]]) -> None:
        self.yaml, self.typed, self.tags = yaml, typed, tags

    def plain(self, node: Any) -> Any:
        line = node.start_mark.line + 1
        if isinstance(node, self.yaml.ScalarNode):
            return self.scalar(node, line)
        if node.tag not in _KNOWN:
            raise ModelError(f"the tag {node.tag[:60]!a} is not accepted", line=line)
        if isinstance(node, self.yaml.SequenceNode):
            return [self.plain(item) for item in node.value]
        found = LinedObject()
        found.line = line
        for key, value in node.value:
            name = key.value if isinstance(key, self.yaml.ScalarNode) else None
            if not isinstance(name, str):
                raise ModelError("a key must be a word", line=line)
            if name in found:
                raise ModelError(f"the key {name[:60]!a} is twice in the same object", line=key.start_mark.line + 1)
            found[name] = self.plain(value)
        return found

    def scalar(self, node: Any, line: int) -> Any:
        if node.tag in self.tags:
            try:
                return self.tags[node.tag](node.value)
            except (ModelError, ValueError, TypeError) as error:
                raise ModelError(f"{node.tag} {node.value[:60]!a} is no number: {error}", line=line) from None
        if node.tag not in _KNOWN:
            raise ModelError(f"the tag {node.tag[:60]!a} is not accepted", line=line)
        if node.tag == _CORE + "null":
            return None
        if not self.typed or node.tag.removeprefix(_CORE) not in _TYPED:
            return node.value
        if len(node.value) > LONGEST:  # numbers to the base of 60 take a time that grows with the square of it
            raise ModelError(f"the number {node.value[:20]!a}... has more than {LONGEST} digits", line=line)
        try:
            value = getattr(self.yaml.constructor.SafeConstructor(), _TYPED[node.tag.removeprefix(_CORE)])(node)
            float(value)
        except (ValueError, LookupError):
            raise ModelError(f"{node.value[:60]!a} is no number", line=line) from None
        except OverflowError:
            raise ModelError(f"the number {node.value[:20]!a}... is too large for a float", line=line) from None
        return value
