"""Comparing scalars, vectors and tensors of any batch shape, and runs."""

from __future__ import annotations

import numpy as np

import recursa as rc
from numeric import close, gap
from recursa.spatial import Mat3, SymMat3, Vec3


def numbers(x) -> np.ndarray:
    """Components of a scalar, vector or tensor as one array with the batch axes first."""
    if isinstance(x, Mat3 | SymMat3):
        return Mat3.of(x).array()
    if isinstance(x, Vec3):
        return np.stack(np.broadcast_arrays(*x), axis=-1)
    return np.asarray(x)


def same(a, b, tolerance: float = 1e-12) -> None:
    """Equal to rounding."""
    close(*np.broadcast_arrays(numbers(a), numbers(b)), tolerance)


def different(a, b) -> None:
    """Plainly unequal."""
    assert gap(*np.broadcast_arrays(numbers(a), numbers(b))) > 1e-3


ARRAYS = ("t", "q", "v", "a", "tau", "work", "lost")
"""Of a run."""


def equal_runs(one: rc.Run, other: rc.Run, *, seconds: bool = True) -> None:
    """Two runs are the same to the bit; perhaps not in the time they took."""
    for name in ARRAYS:
        a, b = getattr(one, name), getattr(other, name)
        assert a.dtype == b.dtype, name
        assert np.array_equal(a, b), name
    assert one.robot == other.robot
    assert one.robot.model.digest == other.robot.model.digest
    assert (one.status, one.message, one.momentum_kept) == (other.status, other.message, other.momentum_kept)
    skipped = set() if seconds else {"seconds"}
    assert {k: x for k, x in one.statistics.items() if k not in skipped} == {
        k: x for k, x in other.statistics.items() if k not in skipped
    }
    assert [e.name for e in one.events] == [e.name for e in other.events]
    for mine, its in zip(one.events, other.events, strict=True):
        assert mine.t == its.t
        assert np.array_equal(mine.q, its.q)
        assert np.array_equal(mine.v, its.v)
