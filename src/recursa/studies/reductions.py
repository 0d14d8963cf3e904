"""Results of many rows in few numbers, the same to the bit however the rows were cut into blocks and in any order.

A reduction looks at one output, rows (n, ...), and leaves a *part*: arrays by name. Parts of neighbouring or distant
blocks are joined; sums are added up along a fixed tree over the row numbers (rows 0 and 1, 2 and 3, then these pairs,
and so on), so that it never matters which block a row was in. Counts, extremes and lists of worst rows need no such
care. Rows that are not finite (a motion that diverged) are counted and left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recursa.errors import StudyError, unknown_name

Array = NDArray[Any]
Part = dict[str, Array]

_BITS = 42  # of a float are left away in quantiles: what is left tells numbers apart that differ by 0.1 %


class Reduction:
    """What is kept of an output. ``part`` looks at a block, ``join`` puts parts together, ``result`` reads the
    whole."""

    name: str

    def part(self, rows: Array, first: int) -> Part:
        """Of the rows from number ``first`` on."""
        raise NotImplementedError

    def join(self, one: Part, other: Part) -> Part:
        """Of the rows of both."""
        raise NotImplementedError

    def result(self, whole: Part, shape: tuple[int, ...]) -> dict[str, Array]:
        """What users see, by the ends of names; ``shape`` of a row of the output."""
        raise NotImplementedError

    def as_data(self) -> Any:
        """The reduction as plain data."""
        return self.name


@dataclass(frozen=True)
class Extremes(Reduction):
    """The lowest and the highest value, and the rows in which they are."""

    name = "extrema"

    def part(self, rows: Array, first: int) -> Part:
        flat = rows.reshape(len(rows), -1)
        known = np.isfinite(flat)
        found: Part = {}
        for end, worst, pick in (("min", math.inf, np.argmin), ("max", -math.inf, np.argmax)):
            filled = np.where(known, flat, worst)
            at = pick(filled, axis=0)  # the first of equals
            found[end] = np.take_along_axis(filled, at[None], axis=0)[0]
            found[f"{end}_row"] = np.where(known.any(axis=0), first + at, -1).astype(np.int64)
        return found

    def join(self, one: Part, other: Part) -> Part:
        found: Part = {}
        for end, beats in (("min", np.less), ("max", np.greater)):
            a, b, row_a, row_b = one[end], other[end], one[f"{end}_row"], other[f"{end}_row"]
            earlier = (a == b) & (row_b >= 0) & ((row_b < row_a) | (row_a < 0))
            second = beats(b, a) | earlier
            found[end], found[f"{end}_row"] = np.where(second, b, a), np.where(second, row_b, row_a)
        return found

    def result(self, whole: Part, shape: tuple[int, ...]) -> dict[str, Array]:
        none = whole["min_row"] < 0
        values = {end: np.where(none, np.nan, whole[end]) for end in ("min", "max")}
        return {name: x.reshape(shape) for name, x in {**whole, **values}.items()}


@dataclass(frozen=True)
class Moments(Reduction):
    """Mean and standard deviation (Chan's formulas along the tree), and how many rows were finite.

    A part has the largest whole branches of the tree in its rows: their ``level`` and ``number``, which are the rows
    ``number * 2**level`` to ``(number + 1) * 2**level``, and for each the count, mean and sum of squares about it.
    """

    name = "moments"

    def part(self, rows: Array, first: int) -> Part:
        flat = rows.reshape(len(rows), -1)
        known = np.isfinite(flat)
        sums = np.stack([known.astype(float), np.where(known, flat, 0.0), np.zeros(flat.shape)], axis=1)
        number = np.arange(first, first + len(rows))
        return _branches({"level": np.zeros(len(rows), np.int64), "number": number, "sums": sums})

    def join(self, one: Part, other: Part) -> Part:
        return _branches({name: np.concatenate([one[name], other[name]]) for name in one})

    def result(self, whole: Part, shape: tuple[int, ...]) -> dict[str, Array]:
        branches = whole["sums"][np.argsort(whole["number"] << whole["level"])]
        count, mean, squares = reduce(lambda total, one: _joined(one, total), branches[::-1])  # the last are smallest
        with np.errstate(invalid="ignore", divide="ignore"):
            deviation = np.sqrt(squares / np.where(count > 1.0, count - 1.0, np.nan))
        found = {"count": count.astype(np.int64), "mean": np.where(count > 0.0, mean, np.nan), "std": deviation}
        return {name: x.reshape(shape) for name, x in found.items()}


def _joined(left: Array, right: Array) -> Array:
    """Return count, mean and sum of squares about it, (..., 3, m), of the rows of two branches."""
    (n, mean, squares), (other, mean_right, squares_right) = (np.moveaxis(one, -2, 0) for one in (left, right))
    total = n + other
    share = np.divide(other, total, out=np.zeros_like(total), where=total > 0.0)
    gap = mean_right - mean
    joined = [
        total,
        np.where(n > 0.0, mean + gap * share, mean_right),
        squares + squares_right + gap * gap * (n * share),
    ]
    return np.stack(joined, axis=-2)


def _branches(nodes: Part) -> Part:
    """Join siblings to their parent, level by level, as long as there are any; ``sums`` are (nodes, 3, m)."""
    kept: list[Part] = []
    level, number, sums = 0, nodes["number"][:0], nodes["sums"][:0]
    while len(number) or (nodes["level"] >= level).any():
        here = nodes["level"] == level
        number = np.concatenate([number, nodes["number"][here]])
        order = np.argsort(number)
        number, sums = number[order], np.concatenate([sums, nodes["sums"][here]])[order]
        left = np.flatnonzero((number[:-1] % 2 == 0) & (number[1:] == number[:-1] + 1))
        alone = np.ones(len(number), bool)
        alone[left] = alone[left + 1] = False
        kept.append({"level": np.full(alone.sum(), level), "number": number[alone], "sums": sums[alone]})
        number, sums, level = number[left] // 2, _joined(sums[left], sums[left + 1]), level + 1
    return {name: np.concatenate([one[name] for one in kept]) for name in nodes}


@dataclass(frozen=True)
class Histogram(Reduction):
    """How many values lie in each of ``bins`` equal parts of a range, how many below it, above it, and not finite."""

    bins: int
    low: float
    high: float
    name = "histogram"

    @property
    def edges(self) -> Array:
        """The ends of the parts, (bins + 1,)."""
        return self.low + (self.high - self.low) * (np.arange(self.bins + 1) / self.bins)

    def part(self, rows: Array, first: int) -> Part:
        flat = rows.reshape(len(rows), -1)
        bins = np.searchsorted(self.edges, flat, side="right")
        bins = np.where(flat == self.high, self.bins, bins)  # the last part has both its ends
        bins = np.where(np.isfinite(flat) | np.isinf(flat), bins, self.bins + 2)
        width = flat.shape[1]
        size = self.bins + 3
        counts = np.bincount((bins + size * np.arange(width)).ravel(), minlength=width * size)
        return {"counts": counts.reshape(width, size).astype(np.int64)}

    def join(self, one: Part, other: Part) -> Part:
        return {"counts": one["counts"] + other["counts"]}

    def result(self, whole: Part, shape: tuple[int, ...]) -> dict[str, Array]:
        counts = whole["counts"]
        within = counts[:, 1:-2].reshape(*shape, self.bins)
        outside = {"below": counts[:, 0], "above": counts[:, -2], "not_finite": counts[:, -1]}
        return {"counts": within, "edges": self.edges, **{name: x.reshape(shape) for name, x in outside.items()}}

    def as_data(self) -> Any:
        return [self.name, self.bins, self.low, self.high]


@dataclass(frozen=True)
class Quantiles(Reduction):
    """Values below which given shares of the rows lie, to 0.05 %: values are counted by their first eleven bits."""

    shares: tuple[float, ...]
    name = "quantiles"

    def part(self, rows: Array, first: int) -> Part:
        flat = rows.reshape(len(rows), -1)
        keys = np.arange(flat.shape[1]) * _BUCKETS + (_bucket(flat) + _BUCKETS // 2)  # a column and its bucket
        keys, count = np.unique(keys[np.isfinite(flat)], return_counts=True)
        return {"keys": keys, "count": count.astype(np.int64)}

    def join(self, one: Part, other: Part) -> Part:
        keys, at = np.unique(np.concatenate([one["keys"], other["keys"]]), return_inverse=True)
        count = np.zeros(len(keys), np.int64)
        np.add.at(count, at, np.concatenate([one["count"], other["count"]]))
        return {"keys": keys, "count": count}

    def result(self, whole: Part, shape: tuple[int, ...]) -> dict[str, Array]:
        columns, bucket = np.divmod(whole["keys"], _BUCKETS)
        found = np.full((math.prod(shape), len(self.shares)), np.nan)
        for column in np.unique(columns):
            own = columns == column
            upto = np.cumsum(whole["count"][own])
            ranks = np.ceil(np.array(self.shares) * upto[-1]).clip(1, upto[-1])
            found[column] = _value(bucket[own] - _BUCKETS // 2)[np.searchsorted(upto, ranks)]
        return {"quantiles": found.reshape(*shape, len(self.shares)), "shares": np.array(self.shares)}

    def as_data(self) -> Any:
        return [self.name, list(self.shares)]


_BUCKETS = 1 << (64 - _BITS)  # of both signs


def _bucket(values: Array) -> Array:
    """Whole numbers in the order of the values: sign, exponent and the first bits of the mantissa."""
    bits = np.ascontiguousarray(values + 0.0, dtype=float).view(np.int64)  # + 0.0: no negative zero
    size = (bits & np.int64(2**63 - 1)) >> np.int64(_BITS)
    return np.where(bits < 0, -size, size)


def _value(bucket: Array) -> Array:
    """The middle of a bucket; zero stands for itself."""
    size = np.abs(bucket).astype(np.int64)
    low = (size << np.int64(_BITS)).view(float)
    high = ((size + 1) << np.int64(_BITS)).view(float)
    return np.where(size == 0, 0.0, np.sign(bucket) * (0.5 * low + 0.5 * np.where(np.isfinite(high), high, low)))


@dataclass(frozen=True)
class Top(Reduction):
    """The ``count`` rows with the largest values (of several numbers: the largest of them), or the smallest."""

    count: int
    smallest: bool = False

    @property
    def name(self) -> str:  # type: ignore[override]
        """By which users ask for it."""
        return "bottom" if self.smallest else "top"

    def part(self, rows: Array, first: int) -> Part:
        flat = rows.reshape(len(rows), -1).astype(float)
        sign = -1.0 if self.smallest else 1.0
        values = np.where(np.isfinite(flat), sign * flat, -math.inf).max(axis=1)
        known = values > -math.inf
        return self._best(sign * values[known], first + np.flatnonzero(known))

    def _best(self, values: Array, rows: Array) -> Part:
        if len(values) > self.count:  # only those that can be among them are sorted
            at = self.count - 1 if self.smallest else len(values) - self.count
            bound = np.partition(values, at)[at]
            near = values <= bound if self.smallest else values >= bound
            values, rows = values[near], rows[near]
        order = np.lexsort((rows, values if self.smallest else -values))[: self.count]
        return {"values": values[order], "rows": rows[order].astype(np.int64)}

    def join(self, one: Part, other: Part) -> Part:
        return self._best(*(np.concatenate([one[name], other[name]]) for name in ("values", "rows")))

    def result(self, whole: Part, shape: tuple[int, ...]) -> dict[str, Array]:
        return dict(whole)

    def as_data(self) -> Any:
        return [self.name, self.count]


# ---- from what users say ---------------------------------------------------------------------------------------------

FULL = "full"
_PLAIN: dict[str, Callable[[], Reduction]] = {"extrema": Extremes, "moments": Moments}
_OTHERS = ("quantiles", "histogram", "top", "bottom")
NAMES = (FULL, *_PLAIN, *_OTHERS)
_EXAMPLES = (
    '"full", "extrema", "moments", ("quantiles", [0.05, 0.5, 0.95]), ("histogram", bins, low, high), ("top", count), '
    '("bottom", count)'
)


def reduction(output: str, said: Any) -> Reduction:
    """What is kept of an output, as users say it; all but "full"."""
    kind, given = (said, ()) if isinstance(said, str) else (said[0], tuple(said[1:])) if said else ("", ())
    if kind not in NAMES:
        raise unknown_name(f"way to keep '{output}'", kind, NAMES)
    try:
        if kind in _PLAIN and not given:
            return _PLAIN[kind]()
        if kind == "quantiles":
            shares = tuple(float(x) for x in np.ravel(given[0]))
            if len(given) == 1 and shares and all(0.0 <= x <= 1.0 for x in shares):
                return Quantiles(shares)
        if kind == "histogram":
            bins, low, high = given
            if int(bins) == bins and bins > 0 and math.isfinite(low) and math.isfinite(high) and low < high:
                return Histogram(int(bins), float(low), float(high))
        if kind in ("top", "bottom"):
            (count,) = given
            if int(count) == count and count > 0:
                return Top(int(count), kind == "bottom")
    except (TypeError, ValueError, IndexError):
        pass
    raise StudyError(f"cannot keep {said!r} of '{output}'. These can be kept: {_EXAMPLES}")


def several(output: str, said: Any) -> tuple[bool, tuple[Reduction, ...]]:
    """Whether the output is kept in full, and its reductions; ``said`` is one of them or a list of several."""
    a_way = isinstance(said, str) or not isinstance(said, Sequence) or not said or isinstance(said[0], str)
    many = [said] if a_way and not isinstance(said, list) else said
    ways = [one for one in many if one != FULL]
    return len(ways) < len(many), tuple(reduction(output, one) for one in ways)
