"""Values of the rows of a study: points of grids, rows of tables, and random draws.

Random numbers are drawn by NumPy's Philox generator and SciPy's designs in pieces of ``PIECE`` rows, whose seed is made
of the study's seed, the variable's name and the number of the piece. So any rows can be drawn by themselves, to the
same bits, in the memory of the pieces that they lie in; the blocks in which a study is computed do not matter.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from recursa.errors import StudyError, unknown_name
from recursa.studies.variables import Variable

Array = NDArray[Any]
Design = Literal["random", "latin-hypercube", "sobol"]
DESIGNS: tuple[str, ...] = get_args(Design)
PIECE = 1 << 16  # rows; a Latin hypercube is one piece
SEQUENCE = 1 << 20  # rows of a Sobol sequence: SciPy skips to any of them within 15 ms
_SOBOL_BITS = 32  # the most with which SciPy can skip points
_MOST = 2**52  # rows that floats can tell apart
_LEAST, _LARGEST = 2.0**-54, 1.0 - 2.0**-53  # draws are neither 0 nor 1, where a normal distribution is infinite


def generator(*parts: object) -> np.random.Generator:
    """Return a Philox generator whose seed is a digest of anything that can be printed.

    >>> bool(generator(3, "q0").random() == generator(3, "v0").random())
    False
    """
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()
    return np.random.Generator(np.random.Philox(int.from_bytes(digest, "little")))


@dataclass(frozen=True)
class Sampling:
    """Rows of values: every point of the grids ``samples`` times, each time with draws of its own."""

    variables: tuple[Variable, ...]
    samples: int
    seed: int
    design: Design

    @staticmethod
    def of(variables: Sequence[Variable], samples: int | None, seed: int, design: Design) -> Sampling:
        """Return the sampling of a study; a StudyError says what is wrong with it."""
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
        sampling = Sampling(tuple(variables), int(samples), int(seed), design)
        if sampling.total > _MOST:
            raise StudyError(f"{sampling.total:.3g} rows are more than the {_MOST} that can be counted")
        return sampling

    @property
    def grids(self) -> tuple[Variable, ...]:
        """Variables that take on every one of their points."""
        return tuple(one for one in self.variables if one.distribution.kind == "grid")

    @cached_property
    def total(self) -> int:
        """Number of rows."""
        return self.samples * math.prod(len(one.distribution.numbers) for one in self.grids)

    def values(self, rows: range) -> dict[str, Array]:
        """Return the numbers of every variable in some rows, (rows, width)."""
        number = np.arange(rows.start, rows.stop)
        point, sample = number // self.samples, number % self.samples
        draws = self._draws(rows)
        values: dict[str, Array] = {}
        for one in self.variables:
            values[one.name] = self._numbers(one, point, sample, draws)
            if one.distribution.kind == "grid":
                point = point // len(one.distribution.numbers)
        return values

    @staticmethod
    def _numbers(one: Variable, point: Array, sample: Array, draws: Mapping[str, Array]) -> Array:
        """Return the numbers of a variable at points of the grids, in samples, or for draws."""
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
        """Return numbers between 0 and 1 for every random variable, (rows, width)."""
        first = rows.start // PIECE
        pieces = [self._piece(k) for k in range(first, max(rows.start, rows.stop - 1) // PIECE + 1)]
        part = slice(rows.start - first * PIECE, rows.stop - first * PIECE)
        return {name: np.concatenate([piece[name] for piece in pieces])[part] for name in pieces[0]}

    @cached_property
    def _piece(self) -> Callable[[int], dict[str, Array]]:
        """Return the function that draws a piece by its number; it keeps the last two, which small blocks share."""
        return lru_cache(maxsize=2)(self._drawn_piece)

    def _drawn_piece(self, number: int) -> dict[str, Array]:
        count = min(PIECE, self.total - number * PIECE)
        widths = {one.name: one.distribution.width for one in self.variables if one.distribution.random}
        if self.design == "sobol" and widths:
            together = self._sobol(number * PIECE, count, sum(widths.values()))
            parts = np.split(together, np.cumsum(list(widths.values()))[:-1], axis=1)
            return dict(zip(widths, parts, strict=True))
        drawn = {}
        for name, width in widths.items():
            source = generator(self.seed, name, number)
            if self.design == "latin-hypercube":
                from scipy.stats import qmc  # slow to import

                drawn[name] = qmc.LatinHypercube(width, seed=source).random(count)
            else:
                drawn[name] = source.random((count, width))
        return {name: np.clip(u, _LEAST, _LARGEST) for name, u in drawn.items()}

    def _sobol(self, first: int, count: int, width: int) -> Array:
        """Return rows of a scrambled Sobol sequence; after every ``SEQUENCE`` rows another scrambling begins."""
        from scipy.stats import qmc  # slow to import

        if width > qmc.Sobol.MAXDIM:
            raise StudyError(f"a Sobol sequence has at most {qmc.Sobol.MAXDIM} numbers a row, and {width} are varied")
        sequence, skipped = divmod(first, SEQUENCE)
        points = qmc.Sobol(width, bits=_SOBOL_BITS, seed=generator(self.seed, "sobol", sequence))
        if skipped:  # SciPy cannot skip no points
            points.fast_forward(skipped)
        drawn: Array = points.random(1 << (count - 1).bit_length())[:count]
        return np.clip(drawn, _LEAST, _LARGEST)
