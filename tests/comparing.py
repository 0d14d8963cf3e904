"""Comparing scalars, vectors and tensors of any batch shape."""

from __future__ import annotations

import numpy as np

from recursa.spatial import Mat3, SymMat3, Vec3


def numbers(x) -> np.ndarray:
    """Components of a scalar, vector or tensor as one array with the batch axes first."""
    if isinstance(x, Mat3 | SymMat3):
        return Mat3.of(x).array()
    if isinstance(x, Vec3):
        return np.stack(np.broadcast_arrays(*x), axis=-1)
    return np.asarray(x)


def gap(a, b) -> float:
    """Largest difference relative to the size of the numbers (entries of the random data are of size 1)."""
    a, b = np.broadcast_arrays(numbers(a), numbers(b))
    assert np.isfinite(a).all() and np.isfinite(b).all()
    return float(np.abs(a - b).max() / max(1.0, np.abs(a).max(), np.abs(b).max()))


def same(a, b, tolerance: float = 1e-12) -> None:
    """Equal to rounding."""
    assert gap(a, b) <= tolerance


def different(a, b) -> None:
    """Plainly unequal."""
    assert gap(a, b) > 1e-3
