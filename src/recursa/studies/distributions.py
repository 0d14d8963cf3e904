"""What a varied number is drawn from: uniform, normal (whole or cut off), a grid, rows of a table, always the same."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from recursa.errors import StudyError, unknown_name

Array = NDArray[Any]
Kind = Literal["uniform", "normal", "grid", "table", "constant"]
KINDS: tuple[str, ...] = get_args(Kind)


@dataclass(frozen=True, eq=False)
class Distribution:
    """Of numbers of one variable, ``width`` at a time.

    ``numbers`` are, by kind: low and high (2, width); mean, deviation, low and high (4, width); the points of a grid or
    the rows of a table (m, width); what it always is (1, width).
    """

    kind: str
    numbers: Array

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return int(self.numbers.shape[1])

    @property
    def random(self) -> bool:
        """Whether chance is in it."""
        return self.kind in ("uniform", "normal")

    def of(self, u: Array) -> Array:
        """What numbers between 0 and 1, (rows, width), stand for: the inverse of the distribution function."""
        if self.kind == "uniform":
            low, high = self.numbers
            return low + (high - low) * u
        from scipy.stats import norm, truncnorm  # slow to import

        mean, deviation, low, high = self.numbers
        scale = np.where(deviation > 0.0, deviation, 1.0)
        if np.isfinite(self.numbers[2:]).any():
            drawn = truncnorm.ppf(u, (low - mean) / scale, (high - mean) / scale, mean, scale)
        else:
            drawn = norm.ppf(u, mean, scale)  # a fifth of the time
        return np.clip(np.where((deviation > 0.0) & (low < high), drawn, mean), low, high)

    def least(self) -> Array:
        """The lowest numbers that can come out, (width,); of a normal one without ends -inf."""
        if self.kind == "normal":
            return np.where(self.numbers[1] > 0.0, self.numbers[2], self.numbers[0])
        return self.numbers.min(axis=0)

    def expected_below(self, limit: float, rows: int) -> float:
        """How many of so many rows are likely to be below a limit."""
        if self.kind != "normal":
            return float(rows) if bool((self.least() < limit).any()) else 0.0
        from scipy.stats import norm

        mean, deviation = self.numbers[:2]
        chance = norm.cdf(limit, mean, np.maximum(deviation, 1e-300))
        return float(rows * np.max(np.where(self.least() < limit, chance, 0.0), initial=0.0))

    def as_data(self) -> list[Any]:
        """The same as plain data, to be written and hashed."""
        return [self.kind, self.numbers.tolist()]

    def __str__(self) -> str:
        width = f", {self.width} numbers" if self.width > 1 else ""
        match self.kind:
            case "grid" | "table":
                return f"{self.kind} of {len(self.numbers)}{width}"
            case "constant":
                return f"always {_short(self.numbers[0])}"
            case "uniform":
                return f"uniform, {_short(self.numbers[0])} to {_short(self.numbers[1])}"
        mean, deviation, low, high = self.numbers
        cut = "" if np.isinf(low).all() and np.isinf(high).all() else f", within {_short(low)} and {_short(high)}"
        return f"normal, {_short(mean)} +- {_short(deviation)}{cut}"


def _short(values: Array) -> str:
    if len(values) == 1 or bool((values == values[0]).all()):
        return f"{values[0]:.4g}"
    return f"[{', '.join(f'{x:.3g}' for x in values[:3])}{', ...' if len(values) > 3 else ''}]"


def distribution(name: str, said: Any, width: int, usual: tuple[Array, Array] | None = None) -> Distribution:
    """What a user says of a variable with so many numbers; ``usual`` are the ends that plain "uniform" has.

    >>> print(distribution("v0", ("normal", 0.0, 0.1), 7))
    normal, 0 +- 0.1
    """
    if isinstance(said, Distribution):
        return said
    if isinstance(said, str):
        if said != "uniform":
            raise StudyError(f"vary '{name}': it is said to be {said!r}: alone it can be \"uniform\", else {_FORMS}")
        if usual is None:
            raise StudyError(f"vary '{name}': it has no usual range: give one, (\"uniform\", low, high)")
        return Distribution("uniform", np.array(usual))
    if isinstance(said, Mapping):
        raise StudyError(
            f"vary '{name}': it is said to be {said!r}: expected {_FORMS}. Vary one entry by name: '{name}.elbow'"
        )
    if isinstance(said, Sequence) and said and isinstance(said[0], str):
        return _named(name, said[0], said[1:], width)
    numbers = _numbers(name, "the rows", said)
    if numbers.ndim == 0 or (numbers.ndim == 1 and width > 1):
        return Distribution("constant", _wide(name, "a constant", numbers, width)[None])
    rows = numbers[:, None] if numbers.ndim == 1 else numbers
    if rows.ndim != 2 or rows.shape[1] != width or len(rows) == 0:
        raise StudyError(f"vary '{name}': it has rows of shape {numbers.shape}, expected (samples, {width})")
    return Distribution("table", rows)


_FORMS = (
    '("uniform", low, high), ("normal", mean, deviation[, low, high]), ("grid", values), '
    "or an array with a row per sample"
)


def _named(name: str, kind: str, given: Sequence[Any], width: int) -> Distribution:
    if kind not in KINDS[:3]:
        raise unknown_name(f"distribution of '{name}'", kind, KINDS[:3])
    if kind == "grid":
        if len(given) != 1:
            raise StudyError(f"vary '{name}': a grid is (\"grid\", values), with {len(given)} values after the word")
        points = _numbers(name, "the points of its grid", given[0])
        points = points[:, None] if points.ndim == 1 else points
        if points.ndim != 2 or points.shape[1] != width or len(points) == 0:
            raise StudyError(f"vary '{name}': the points of its grid have shape {points.shape}, expected (m, {width})")
        return Distribution("grid", points)
    if len(given) not in ((2,) if kind == "uniform" else (2, 4)):
        raise StudyError(f"vary '{name}': expected {_FORMS}, not {kind} with {len(given)} numbers")
    what = ("low", "high") if kind == "uniform" else ("mean", "deviation", "low", "high")
    parts = [
        _wide(name, word, _numbers(name, word, x, finite=kind == "uniform" or k < 2), width)
        for k, (word, x) in enumerate(zip(what, given, strict=False))
    ]
    if kind == "normal":
        parts += [np.full(width, -math.inf), np.full(width, math.inf)][len(parts) - 2 :]
        if bool((parts[1] < 0.0).any()):
            raise StudyError(f"vary '{name}': its standard deviation is negative, {_short(parts[1])}")
    low, high = parts[-2:]
    if bool((low > high).any()):
        raise StudyError(f"vary '{name}': its range ends before it begins, from {_short(low)} to {_short(high)}")
    return Distribution(kind, np.array(parts))


def _numbers(name: str, what: str, said: Any, *, finite: bool = True) -> Array:
    try:
        found = np.asarray(said, dtype=float)
    except (TypeError, ValueError):
        raise StudyError(f"vary '{name}': {what} must be numbers, not {said!r}. It can be {_FORMS}") from None
    if bool(np.isnan(found).any()) or (finite and not bool(np.isfinite(found).all())):
        raise StudyError(f"vary '{name}': {what} must be finite")
    return found


def _wide(name: str, what: str, values: Array, width: int) -> Array:
    if values.ndim > 1 or values.size not in (1, width):
        raise StudyError(f"vary '{name}': {what} has shape {values.shape}, expected one number or {width}")
    return np.broadcast_to(values.reshape(-1), (width,)).astype(float)


def from_data(data: Any) -> Distribution:
    """The distribution that :meth:`Distribution.as_data` told."""
    kind, numbers = data
    return Distribution(kind, np.array(numbers, dtype=float).reshape(len(numbers), -1))
