"""What kept states have to look like: every class that keeps something says so beside the method that keeps it.

A checkpoint may be anyone's. What a run goes on from is held against its description before the first step, so that
whatever is raised later comes from the motion, or from a function that the user gave.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Described = Callable[[Any], bool] | dict[str, Any]
_MOST = 2**62  # a count beyond is none


def require_described(described: Described, kept: Any, name: str = "state") -> None:
    """A ValueError names the first part that is not as described. Names of a dict have to be all there, and no others.

    >>> require_described({"t": real(0.0, 1.0), "q": floats(2)}, {"t": 0.5, "q": np.zeros(3)})
    Traceback (most recent call last):
    ValueError: its 'q' is none of such a run (an array of float64 with shape (3,))
    """
    if isinstance(described, dict):
        if not isinstance(kept, dict) or described.keys() != kept.keys():
            raise ValueError(f"its '{name}' is none of such a run: what it has to hold is {', '.join(described)}")
        for key, inner in described.items():
            require_described(inner, kept[key], key)
    elif not described(kept):
        found = f"an array of {kept.dtype} with shape {kept.shape}" if isinstance(kept, np.ndarray) else f"{kept!a:.40}"
        raise ValueError(f"its '{name}' is none of such a run ({found})")


def real(low: float, high: float = math.inf) -> Callable[[Any], bool]:
    """A finite real number from ``low`` to ``high``."""
    return lambda kept: isinstance(kept, float) and low <= kept <= high and math.isfinite(kept)


def step_size(kept: Any) -> bool:
    """A finite number above zero."""
    return real(0.0)(kept) and kept != 0.0


def count(kept: Any) -> bool:
    """A whole number from 0 on."""
    return type(kept) is int and 0 <= kept <= _MOST


def one_of(*values: Any) -> Callable[[Any], bool]:
    """One of these texts or flags."""
    return lambda kept: isinstance(kept, str | bool | np.bool_) and kept in values


def array(kind: type, *shape: int) -> Callable[[Any], bool]:
    """Numbers of this kind and shape."""
    return lambda kept: isinstance(kept, np.ndarray) and kept.dtype == kind and kept.shape == shape


def floats(*shape: int, low: float = -math.inf) -> Callable[[Any], bool]:
    """Finite real numbers in this shape, of ``low`` or more."""
    shaped = array(float, *shape)
    return lambda kept: shaped(kept) and bool((np.isfinite(kept) & (kept >= low)).all())


def indices(below: int, length: int | None = None) -> Callable[[Any], bool]:
    """So many places among ``below``; without ``length`` any number of them, rising."""

    def holds(kept: Any) -> bool:
        if not isinstance(kept, np.ndarray) or kept.dtype.kind != "i" or kept.ndim != 1:
            return False
        sized = bool((np.diff(kept) > 0).all()) if length is None else len(kept) == length
        return sized and bool(((kept >= 0) & (kept < below)).all())

    return holds


def pair(*parts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Some things one after the other."""
    return lambda kept: (
        isinstance(kept, tuple)
        and len(kept) == len(parts)
        and all(part(one) for part, one in zip(parts, kept, strict=True))
    )


def perhaps(described: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """This, or None."""
    return lambda kept: kept is None or described(kept)
