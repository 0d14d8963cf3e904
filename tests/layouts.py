"""The same numbers, stored in every way in which callers store them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def strided(x: np.ndarray) -> np.ndarray:
    wide = np.full((2 * x.shape[0], 3 * x.shape[1]), np.nan)
    wide[::2, ::3] = x
    return wide[::2, ::3]


def backwards(x: np.ndarray) -> np.ndarray:
    return x[::-1, ::-1].copy()[::-1, ::-1]


def read_only(x: np.ndarray) -> np.ndarray:
    copy = x.copy()
    copy.flags.writeable = False
    return copy


def unaligned(x: np.ndarray) -> np.ndarray:
    """Numbers that start at an odd address, as a field of a packed record does."""
    moved = np.ndarray(x.shape, x.dtype, bytearray(x.nbytes + 16), offset=1)
    moved[...] = x
    assert not moved.flags.aligned
    return moved


LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "Fortran order": np.asfortranarray,
    "big-endian": lambda x: x.astype(">f8"),
    "read-only": read_only,
    "strided": strided,
    "negative strides": backwards,
    "unaligned": unaligned,
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(map(tuple, x.tolist())),
    "long double": lambda x: x.astype(np.longdouble),
}
