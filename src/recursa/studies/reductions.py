"""Results of many rows in few numbers, the same to the bit however the rows were cut into blocks and in any order.

A reduction looks at one output, rows (n, ...), and leaves a *part*: arrays by name. Parts of neighbouring or distant
blocks are joined; sums are added up along a fixed tree over the row numbers (rows 0 and 1, 2 and 3, then these pairs,
and so on), so that it never matters which block a row was in. Counts, extremes and lists of worst rows need no such
care. Rows that are not finite (a motion that diverged) are counted and left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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


def _finite(rows: Array) -> Array:
    return np.isfinite(rows)


@dataclass(frozen=True)
class Extremes(Reduction):
    """The lowest and the highest value, and the rows in which they are."""

    name = "extrema"

    def part(self, rows: Array, first: int) -> Part:
        """See :class:`Reduction`."""
        flat = rows.reshape(len(rows), -1)
        known = _finite(flat)
        found: Part = {}
        for end, worst, pick in (("min", math.inf, np.argmin), ("max", -math.inf, np.argmax)):
            filled = np.where(known, flat, worst)
            at = pick(filled, axis=0)  # the first of equals
            found[end] = np.take_along_axis(filled, at[None], axis=0)[0]
            found[f"{end}_row"] = np.where(known.any(axis=0), first + at, -1).astype(np.int64)
        return found

    def join(self, one: Part, other: Part) -> Part:
        """See :class:`Reduction`."""
        found: Part = {}
        for end, beats in (("min", np.less), ("max", np.greater)):
            a, b, row_a, row_b = one[end], other[end], one[f"{end}_row"], other[f"{end}_row"]
            earlier = (a == b) & (row_b >= 0) & ((row_b < row_a) | (row_a < 0))
            second = beats(b, a) | earlier
            found[end], found[f"{end}_row"] = np.where(second, b, a), np.where(second, row_b, row_a)
        return found

    def result(self, whole: Part, shape: tuple[int, ...]) -> dict[str, Array]:
        """See :class:`Reduction`."""
        none = whole["min_row"] < 0
        values = {end: np.where(none, np.nan, whole[end]) for end in ("min", "max")}
        return {name: x.reshape(shape) for name, x in {**whole, **values}.items()}


@dataclass(frozen=True)
class Moments(Reduction):
    """Mean and standard deviation (Chan's formulas along the tree), and how many rows were finite."""

    name = "moments"

    def part(self, rows: Array, first: int) -> Part:
        """See :class:`Reduction`."""
        flat = rows.reshape(len(rows), -1)
        known = _finite(flat)
        leaves = np.stack([known.astype(float), np.where(known, flat, 0.0), np.zeros(flat.shape)], axis=1)
        return _as_part(_nodes(leaves, first))

    def join(self, one: Part, other: Part) -> Part:
        """See :class:`Reduction`."""
        return _as_part(_merged({**_as_nodes(one), **_as_nodes(other)}))

    def result(self, whole: Part, shape: tuple[int, ...]) -> dict[str, Array]:
        """See :class:`Reduction`."""
        nodes = _as_nodes(whole)
        total = None  # what no sibling is left for is joined from the right, the smallest first
        for key in sorted(nodes, key=lambda key: key[1] << key[0], reverse=True):
            total = nodes[key] if total is None else _joined(nodes[key], total)
        assert total is not None
        count, mean, squares = total
        with np.errstate(invalid="ignore", divide="ignore"):
            deviation = np.sqrt(squares / np.where(count > 1.0, count - 1.0, np.nan))
        found = {"count": count.astype(np.int64), "mean": np.where(count > 0.0, mean, np.nan), "std": deviation}
        return {name: x.reshape(shape) for name, x in found.items()}


Node = tuple[int, int]  # level and number: rows number * 2**level to (number + 1) * 2**level


def _joined(left: Array, right: Array) -> Array:
    """Count, mean and sum of squares about it, (3, m), of two groups of rows."""
    n, other = left[0], right[0]
    total = n + other
    share = np.divide(other, total, out=np.zeros_like(total), where=total > 0.0)
    gap = right[1] - left[1]
    mean = left[1] + gap * share
    return np.stack([total, np.where(n > 0.0, mean, right[1]), left[2] + right[2] + gap * gap * (n * share)])


def _nodes(leaves: Array, first: int) -> dict[Node, Array]:
    """The largest whole branches of the tree within some rows; leaves (rows, 3, m)."""
    found: dict[Node, Array] = {}
    level, start, rest = 0, first, leaves
    while len(rest):
        if start % 2:
            found[level, start], rest, start = rest[0], rest[1:], start + 1
        if len(rest) % 2:
            found[level, start + len(rest) - 1], rest = rest[-1], rest[:-1]
        if len(rest):
            rest = np.stack(list(_joined_all(rest[0::2], rest[1::2])), axis=1)
        level, start = level + 1, start // 2
    return found


def _joined_all(left: Array, right: Array) -> Array:
    return _joined(np.moveaxis(left, 1, 0), np.moveaxis(right, 1, 0))


def _merged(nodes: dict[Node, Array]) -> dict[Node, Array]:
    """Siblings become their parent, as long as there are any."""
    waiting = sorted(nodes)
    while waiting:
        level, number = waiting.pop(0)
        sibling = level, number ^ 1
        if (level, number) in nodes and sibling in nodes:
            left, right = nodes.pop((level, number & ~1)), nodes.pop((level, number | 1))
            nodes[level + 1, number // 2] = _joined(left, right)
            waiting.append((level + 1, number // 2))
    return nodes


def _as_part(nodes: Mapping[Node, Array]) -> Part:
    keys = sorted(nodes)
    return {"nodes": np.array(keys, np.int64).reshape(-1, 2), "sums": np.array([nodes[key] for key in keys])}


def _as_nodes(part: Part) -> dict[Node, Array]:
    return {(int(a), int(b)): x for (a, b), x in zip(part["nodes"], part["sums"], strict=True)}


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
        """See :class:`Reduction`."""
        flat = rows.reshape(len(rows), -1)
        bins = np.searchsorted(self.edges, flat, side="right")
        bins = np.where(flat == self.high, self.bins, bins)  # the last part has both its ends
        bins = np.where(_finite(flat) | np.isinf(flat), bins, self.bins + 2)
        width = flat.shape[1]
        size = self.bins + 3
        counts = np.bincount((bins + size * np.arange(width)).ravel(), minlength=width * size)
        return {"counts": counts.reshape(width, size).astype(np.int64)}

    def join(self, one: Part, other: Part) -> Part:
        """See :class:`Reduction`."""
        return {"counts": one["counts"] + other["counts"]}

    def result(self, whole: Part, shape: tuple[int, ...]) -> dict[str, Array]:
        """See :class:`Reduction`."""
        counts = whole["counts"]
        within = counts[:, 1:-2].reshape(*shape, self.bins)
        outside = {"below": counts[:, 0], "above": counts[:, -2], "not_finite": counts[:, -1]}
        return {"counts": within, "edges": self.edges, **{name: x.reshape(shape) for name, x in outside.items()}}

    def as_data(self) -> Any:
        """See :class:`Reduction`."""
        return [self.name, self.bins, self.low, self.high]


@dataclass(frozen=True)
class Quantiles(Reduction):
    """Values below which given shares of the rows lie, to 0.05 %: values are counted by their first eleven bits."""

    shares: tuple[float, ...]
    name = "quantiles"

    def part(self, rows: Array, first: int) -> Part:
        """See :class:`Reduction`."""
        flat = rows.reshape(len(rows), -1)
        together = _keys(np.arange(flat.shape[1]), _bucket(flat))  # sorted as one number, which is quick
        return _counts(*np.unique(together[_finite(flat)], return_counts=True))

    def join(self, one: Part, other: Part) -> Part:
        """See :class:`Reduction`."""
        keys = np.concatenate([_keys(part["column"], part["bucket"]) for part in (one, other)])
        order = np.argsort(keys, kind="stable")  # both are sorted: they are only merged
        keys, count = keys[order], np.concatenate([one["count"], other["count"]])[order]
        new = np.ones(len(keys), bool)
        new[1:] = keys[1:] != keys[:-1]
        starts = np.flatnonzero(new)
        return _counts(keys[starts], np.add.reduceat(count, starts) if len(starts) else count)

    def result(self, whole: Part, shape: tuple[int, ...]) -> dict[str, Array]:
        """See :class:`Reduction`."""
        found = np.full((math.prod(shape), len(self.shares)), np.nan)
        for column in np.unique(whole["column"]):
            own = whole["column"] == column
            upto = np.cumsum(whole["count"][own])
            values = _value(whole["bucket"][own])
            ranks = np.ceil(np.array(self.shares) * upto[-1]).clip(1, upto[-1])
            found[column] = values[np.searchsorted(upto, ranks)]
        return {"quantiles": found.reshape(*shape, len(self.shares)), "shares": np.array(self.shares)}

    def as_data(self) -> Any:
        """See :class:`Reduction`."""
        return [self.name, list(self.shares)]


_BUCKETS = 1 << (64 - _BITS)  # of both signs


def _keys(column: Array, bucket: Array) -> Array:
    """A column and a bucket as one whole number, in their order."""
    return np.asarray(column, np.int64) * _BUCKETS + (np.asarray(bucket, np.int64) + _BUCKETS // 2)


def _counts(keys: Array, count: Array) -> Part:
    """How many values each bucket of a column has, in numbers that are as short as they can be: they are sent."""
    column, bucket = keys // _BUCKETS, keys % _BUCKETS - _BUCKETS // 2
    return {"column": column.astype(np.int32), "bucket": bucket.astype(np.int32), "count": count.astype(np.int64)}


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
        """See :class:`Reduction`."""
        flat = rows.reshape(len(rows), -1).astype(float)
        sign = -1.0 if self.smallest else 1.0
        values = np.where(_finite(flat), sign * flat, -math.inf).max(axis=1)
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
        """See :class:`Reduction`."""
        return self._best(*(np.concatenate([one[name], other[name]]) for name in ("values", "rows")))

    def result(self, whole: Part, shape: tuple[int, ...]) -> dict[str, Array]:
        """See :class:`Reduction`."""
        return dict(whole)

    def as_data(self) -> Any:
        """See :class:`Reduction`."""
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
    many = said if isinstance(said, list) or (_is_tuple_of_ways(said)) else [said]
    ways = [one for one in many if one != FULL]
    return len(ways) < len(many), tuple(reduction(output, one) for one in ways)


def _is_tuple_of_ways(said: Any) -> bool:
    return isinstance(said, Sequence) and not isinstance(said, str) and len(said) > 0 and not isinstance(said[0], str)
