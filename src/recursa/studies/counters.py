"""Random numbers by counting: the numbers of a row depend on seed, name and row alone, not on who draws them when.

Philox (Salmon and others, 2011) turns a key and a counter into random bits. The key is made of the study's seed and the
variable's name, the counter is the row; so any block of rows can be drawn by anybody, in any order, to the same bits.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recursa.errors import StudyError

Array = NDArray[Any]

_WORDS = 4  # numbers of 64 bits that Philox makes of one count
SOBOL_BITS = 52  # of a point, and of the number of points
_ROUNDS = 4  # of a Feistel network, from which on its permutations look random (Luby and Rackoff)


def key_of(*parts: object) -> NDArray[np.uint64]:
    """Two words made of anything that can be printed.

    >>> key_of(3, "q0").dtype, bool((key_of(3, "q0") == key_of(3, "v0")).any())
    (dtype('uint64'), False)
    """
    return np.frombuffer(hashlib.blake2b(repr(parts).encode(), digest_size=16).digest(), "<u8").astype(np.uint64)


def words(key: NDArray[np.uint64], first: int, count: int) -> NDArray[np.uint64]:
    """The words number ``first`` to ``first + count`` of a key."""
    start, skipped = divmod(first, _WORDS)
    counter = np.array([(start >> shift) & (2**64 - 1) for shift in (0, 64, 128, 192)], np.uint64)
    drawn: NDArray[np.uint64] = np.random.Philox(counter=counter, key=key).random_raw(skipped + count)
    return drawn[skipped:]


def uniforms(key: NDArray[np.uint64], rows: range, width: int) -> Array:
    """Numbers between 0 and 1, neither of which is among them, (rows, width).

    >>> whole = uniforms(key_of(1), range(10), 3)
    >>> bool((uniforms(key_of(1), range(4, 7), 3) == whole[4:7]).all())
    True
    """
    drawn = words(key, rows.start * width, len(rows) * width)
    return ((drawn >> np.uint64(11)).astype(float) + 0.5).reshape(len(rows), width) * 2.0**-53


def latin(key: NDArray[np.uint64], rows: range, width: int, total: int) -> Array:
    """The same as a Latin hypercube: of ``total`` rows one lies in each of ``total`` equal parts of every column.

    >>> parts = np.sort(np.floor(10 * latin(key_of(1), range(10), 2, 10)), axis=0)
    >>> bool((parts == np.arange(10)[:, None]).all())
    True
    """
    inside = uniforms(key, rows, width)
    where = np.stack([permuted(rows, total, key_of(*key.tolist(), column)) for column in range(width)], axis=1)
    return (where + inside) / total


def permuted(rows: range, total: int, key: NDArray[np.uint64]) -> Array:
    """Where a permutation of ``range(total)`` that a key decides takes some rows; nothing of that length is made.

    A Feistel network permutes the numbers of 2h bits; what falls beyond ``total`` goes through it again, until it
    does not.

    >>> sorted(permuted(range(7), 7, key_of(5)).tolist())
    [0, 1, 2, 3, 4, 5, 6]
    """
    half = np.uint64(max(1, ((total - 1).bit_length() + 1) // 2))
    mask = (np.uint64(1) << half) - np.uint64(1)
    found = np.arange(rows.start, rows.stop, dtype=np.uint64)
    beyond = np.arange(len(rows))
    keys = words(key, 0, _ROUNDS)
    while len(beyond):
        x = found[beyond]
        left, right = x >> half, x & mask
        for one in keys:
            left, right = right, left ^ (_mixed(right ^ one) & mask)
        found[beyond] = (left << half) | right
        beyond = beyond[found[beyond] >= np.uint64(total)]
    return found.astype(np.int64)


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Every bit of the result depends on every bit of x (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def sobol(key: NDArray[np.uint64], rows: range, width: int) -> Array:
    """The same as a scrambled Sobol sequence of ``width`` dimensions; any row is found at once.

    Point n is the exclusive or of the sequence's shift and of a direction number for every bit that is set in n's Gray
    code (Antonov and Saleev, 1979); so the next point differs from it by one of them.

    >>> whole = sobol(key_of(1), range(100), 3)
    >>> bool((sobol(key_of(1), range(40, 70), 3) == whole[40:70]).all())
    True
    """
    directions, shift = _directions(int(key[0] >> np.uint64(1)), width)
    gray = rows.start ^ rows.start >> 1
    points = np.empty((len(rows), width), np.uint64)
    points[0] = shift
    for bit in range(gray.bit_length()):
        if gray >> bit & 1:
            points[0] ^= directions[bit]
    number = np.arange(rows.start + 1, rows.stop, dtype=np.uint64)
    changed = np.log2((number & (~number + np.uint64(1))).astype(float)).astype(np.intp)  # the lowest bit that is set
    points[1:] = directions[changed]
    drawn: Array = np.bitwise_xor.accumulate(points, axis=0) * 2.0**-SOBOL_BITS
    return np.clip(drawn, 2.0**-54, 1.0 - 2.0**-53)


@lru_cache(maxsize=8)
def _directions(seed: int, width: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Direction numbers, (bits, width), and the shift of a scrambled sequence: as SciPy's has them."""
    from scipy.stats import qmc  # slow to import

    if width > qmc.Sobol.MAXDIM:
        raise StudyError(f"a Sobol sequence has at most {qmc.Sobol.MAXDIM} numbers a row, and {width} are varied")
    sequence = qmc.Sobol(width, scramble=True, bits=SOBOL_BITS, seed=seed)
    return sequence._sv.T.astype(np.uint64), sequence._shift.astype(np.uint64)
