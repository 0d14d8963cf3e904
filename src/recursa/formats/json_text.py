"""JSON read with care: no number too large for a float, no key twice, no nesting without end."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

from recursa.errors import ModelError

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
