"""Which values the rows of a study have: points of grids, rows of tables, and draws that depend on the row alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from recursa.errors import StudyError, unknown_name
from recursa.studies.counters import SOBOL_BITS, key_of, latin, sobol, uniforms
from recursa.studies.variables import Variable

Array = NDArray[Any]
Design = Literal["random", "latin-hypercube", "sobol"]
DESIGNS: tuple[str, ...] = get_args(Design)
_MOST = 2**SOBOL_BITS  # rows: what Sobol sequences and numbers of rows as floats can tell apart


@dataclass(frozen=True)
class Sampling:
    """Rows of values: every point of the grids ``samples`` times, with draws of its own for each."""

    variables: tuple[Variable, ...]
    samples: int
    seed: int
    design: Design

    @staticmethod
    def of(variables: Sequence[Variable], samples: int | None, seed: int, design: Design) -> Sampling:
        """Checked."""
        if design not in DESIGNS:
            raise unknown_name("design", design, DESIGNS)
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise StudyError(f"seed must be a whole number, not {seed!r}")
        tables = {one.name: len(one.distribution.numbers) for one in variables if one.distribution.kind == "table"}
        if samples is None:
            samples = min(tables.values(), default=1)
        if isinstance(samples, bool) or not isinstance(samples, int | np.integer) or samples < 1:
            raise StudyError(f"samples must be a whole number of at least 1, not {samples!r}")
        for name, rows in tables.items():
            if rows != samples:
                raise StudyError(f"vary '{name}': it has {rows} rows, and samples is {samples}: they must agree")
        found = Sampling(tuple(variables), int(samples), int(seed), design)
        if found.total > _MOST:
            raise StudyError(f"{found.total:.3g} rows are more than the {_MOST} that can be counted")
        return found

    @property
    def grids(self) -> tuple[Variable, ...]:
        """Those that take on every one of their points."""
        return tuple(one for one in self.variables if one.distribution.kind == "grid")

    @cached_property
    def total(self) -> int:
        """Rows in all."""
        return self.samples * math.prod(len(one.distribution.numbers) for one in self.grids)

    def values(self, rows: range) -> dict[str, Array]:
        """Of every variable its numbers in some rows, (rows, width)."""
        number = np.arange(rows.start, rows.stop)
        point, sample = number // self.samples, number % self.samples
        draws = self._draws(rows)
        found: dict[str, Array] = {}
        for one in self.variables:
            found[one.name] = self._numbers(one, point, sample, draws)
            if one.distribution.kind == "grid":
                point = point // len(one.distribution.numbers)
        return found

    @staticmethod
    def _numbers(one: Variable, point: Array, sample: Array, draws: Mapping[str, Array]) -> Array:
        """What a variable is at points of the grids, or in samples, or for draws."""
        table = one.distribution.numbers
        match one.distribution.kind:
            case "grid":
                numbers = table[point % len(table)]
            case "table":
                numbers = table[sample]
            case "constant":
                numbers = np.tile(table[0], (len(sample), 1))
            case _:
                numbers = one.distribution.of(draws[one.name])
        return numbers if one.chart is None else one.chart(numbers)

    def _draws(self, rows: range) -> dict[str, Array]:
        """Numbers between 0 and 1 for everything with chance in it."""
        drawn = [one for one in self.variables if one.distribution.random]
        if self.design == "sobol" and drawn:
            widths = [one.distribution.width for one in drawn]
            together = sobol(key_of(self.seed, "sobol"), rows, sum(widths))
            parts = np.split(together, np.cumsum(widths)[:-1], axis=1)
            return {one.name: part for one, part in zip(drawn, parts, strict=True)}
        keys = {one.name: key_of(self.seed, one.name) for one in drawn}
        if self.design == "latin-hypercube":
            return {one.name: latin(keys[one.name], rows, one.distribution.width, self.total) for one in drawn}
        return {one.name: uniforms(keys[one.name], rows, one.distribution.width) for one in drawn}
