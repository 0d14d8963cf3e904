"""Nested numbers, texts and arrays as bytes and back, every bit the same: what checkpoints are made of.

JSON for the structure, then the arrays' own bytes. Nothing in such bytes is ever run, as it would be with pickle.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from recursa.errors import RecursaError

_LENGTH = struct.Struct("<Q")
_KINDS = "biufc"  # of numbers: what an array may hold
_TYPE = re.compile(rf"[<>|=]?[{_KINDS}]\d{{1,2}}")  # as NumPy writes them; it would read much more than these
MALFORMED = (
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, MemoryError, RecursaError,
)  # fmt: skip  # what data can lead to that were not packed by us, when they are unpacked and used


def pack(value: Any) -> bytes:
    """Dicts with text keys, lists, tuples, None, bool, int, float, str, NumPy numbers and arrays.

    Arrays keep their order in memory, since that of sums in linear algebra depends on it.

    >>> unpack(pack({"t": 0.1, "y": np.arange(3.0), "LU": (None, [1])}))
    {'t': 0.1, 'y': array([0., 1., 2.]), 'LU': (None, [1])}
    """
    arrays: list[bytes] = []
    text = json.dumps(_plain(value, arrays)).encode()
    return b"".join([_LENGTH.pack(len(text)), text, *arrays])


def unpack(data: bytes) -> Any:
    """What was packed; arrays are copies. Bytes that were not packed lead to one of ``MALFORMED``."""
    if len(data) < _LENGTH.size:
        raise ValueError("cut off")
    (length,) = _LENGTH.unpack_from(data)
    start = _LENGTH.size
    if length > len(data) - start:
        raise ValueError("cut off")
    return _rebuilt(json.loads(data[start : start + length]), memoryview(data), [start + length])


def _plain(value: Any, arrays: list[bytes]) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        if array.dtype.kind not in _KINDS:
            raise TypeError(f"cannot pack an array of {array.dtype}")
        order: Literal["C", "F"] = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        arrays.append(array.tobytes(order))
        kind = "array" if isinstance(value, np.ndarray) else "number"
        return {kind: [array.dtype.str, list(array.shape), order]}
    if isinstance(value, Mapping):
        return {"dict": {key: _plain(item, arrays) for key, item in value.items()}}
    if isinstance(value, list | tuple):
        return {type(value).__name__ if type(value) is list else "tuple": [_plain(item, arrays) for item in value]}
    raise TypeError(f"cannot pack {type(value).__name__}")


def _rebuilt(plain: Any, data: memoryview, at: list[int]) -> Any:
    """``at`` is where the next array starts; arrays come in the order of the text."""
    if not isinstance(plain, dict):
        return plain
    ((kind, content),) = plain.items()
    if kind == "dict":
        return {key: _rebuilt(item, data, at) for key, item in content.items()}
    if kind in ("list", "tuple"):
        items = [_rebuilt(item, data, at) for item in content]
        return items if kind == "list" else tuple(items)
    name, shape, order = content
    known = kind in ("array", "number") and _TYPE.fullmatch(str(name)) is not None
    if not known or any(type(n) is not int or n < 0 for n in shape):
        raise ValueError(f"no array: {str(content)[:80]}")
    dtype, count = np.dtype(str(name)), math.prod(shape)
    flat = np.frombuffer(data, dtype, count, at[0]) if count else np.empty(0, dtype)
    at[0] += count * dtype.itemsize
    array = flat.reshape(shape, order=order).copy(order=order)
    return array if kind == "array" else array[()]
