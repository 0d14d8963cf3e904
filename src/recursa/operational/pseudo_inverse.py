"""Inverses of compliances that need not have one: the pseudo-inverse, and an array that says its rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from recursa.errors import StateError
from recursa.sweeps.batching import Array

try:
    from recursa._entry import MAX_SMALL, pseudo_inverses
except ImportError:  # the optional extension was not built
    MAX_SMALL = -1

ROUNDINGS = 4096  # units of rounding, relative to the largest eigenvalue, that count as zero: 1e-12 in double precision


class RankedArray(np.ndarray[Any, Any]):
    """Matrices (..., m, m) with their ``rank``: a number, or an array of numbers of the batch shape.

    What is computed from it is a plain array; picking states of a batch keeps their ranks.

    >>> import recursa as rc
    >>> arm = rc.robots.planar(3)
    >>> inertia = arm.operational_inertia([[0.1, 0.2, 0.3], [0.1, 0.0, 0.0]], "tip")
    >>> inertia.rank, inertia[1].rank, type(2 * inertia).__name__
    (array([3, 2]), 2, 'ndarray')
    """

    rank: int | Array = None  # type: ignore[assignment]  # of views in another shape, which have none

    @staticmethod
    def of(matrices: Array, rank: Array) -> RankedArray:
        """Matrices with their ranks; a batch without axes has one number."""
        result = matrices.view(RankedArray)
        result.rank = int(rank) if rank.ndim == 0 else rank
        return result

    def __array_finalize__(self, source: Any) -> None:
        if isinstance(source, RankedArray) and source.shape == self.shape:
            self.rank = source.rank

    def __array_wrap__(self, array: Array, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else np.asarray(array)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        def plain(x: Any) -> Any:
            return x.view(np.ndarray) if isinstance(x, RankedArray) else x

        if out is not None:
            options["out"] = tuple(plain(x) for x in out)
        result = getattr(ufunc, method)(*(plain(x) for x in inputs), **options)
        return result if out is None or len(out) > 1 else out[0]

    def __getitem__(self, index: Any) -> Any:
        part = super().__getitem__(index)
        if not isinstance(part, RankedArray):
            return part
        try:
            ranks = np.asarray(np.asarray(self.rank)[index])
        except IndexError:
            return part.view(np.ndarray)
        fits = ranks.dtype.kind == "i" and part.shape == (*ranks.shape, *self.shape[-2:])
        return RankedArray.of(part, ranks) if fits else part.view(np.ndarray)

    def __reduce__(self) -> Any:
        return _rebuilt, (np.asarray(self), self.rank)


def _rebuilt(matrices: Array, rank: Any) -> RankedArray:
    result = matrices.view(RankedArray)
    result.rank = rank
    return result


def pseudo_inverse(matrices: Array, scale: Array, tolerance: float | None = None) -> tuple[Array, Array]:
    """The Moore-Penrose inverses of symmetric positive semidefinite matrices (..., m, m), and their ranks (...).

    Rank is judged with row and column i multiplied by ``scale[i]``, so that it does not depend on units: eigenvalues
    count that are larger than ``tolerance`` times the largest. By default that is what rounding leaves of a zero, 4096
    times the distance of 1 from the next number. Where a matrix is not finite its inverse is nan, with rank 0.
    """
    limit = rank_limit(matrices.dtype, tolerance)
    size = matrices.shape[-1]
    finite = np.asarray(np.isfinite(matrices).all(axis=(-2, -1)))
    sound = np.where(finite[..., None, None], matrices, 0.0).astype(np.float64)
    result, rank = _native(sound, scale, limit) if size <= MAX_SMALL else _by_numpy(sound, scale, limit)
    result[~finite] = np.nan
    return result.astype(matrices.dtype, copy=False), rank


def rank_limit(dtype: Any, tolerance: float | None) -> float:
    """The part of the largest eigenvalue below which eigenvalues count as zero."""
    limit = float(np.finfo(dtype).eps) * ROUNDINGS if tolerance is None else tolerance
    if not (isinstance(limit, float | int) and 0.0 <= limit < 1.0):
        raise StateError(f"tolerance is a fraction of the largest eigenvalue, from 0 to less than 1, not {tolerance!r}")
    return limit


def _native(matrices: Array, scale: Array, limit: float) -> tuple[Array, Array]:
    """By Cholesky's method where it is certain that nothing vanishes, else by Jacobi's; one by one."""
    result, rank = np.empty(matrices.shape), np.empty(matrices.shape[:-2], np.int64)
    pseudo_inverses(np.ascontiguousarray(matrices), scale, limit, result, rank)
    return result, rank


def _by_numpy(matrices: Array, scale: Array, limit: float) -> tuple[Array, Array]:
    """From the eigenvectors."""
    size = matrices.shape[-1]
    values, vectors = np.linalg.eigh(matrices * scale[:, None] * scale)
    kept = values > limit * values[..., -1:] if size else values > 0.0
    rank = np.asarray(kept.sum(axis=-1))
    result = _inverted(values, vectors, kept) * scale[:, None] * scale
    lacking = rank < size
    if lacking.any():  # scaling commutes with inverses, not with pseudo-inverses
        values, vectors = np.linalg.eigh(matrices[lacking])
        result[lacking] = _inverted(values, vectors, np.arange(size) >= size - rank[lacking][..., None])
    return result, rank


def _inverted(values: Array, vectors: Array, kept: Array) -> Array:
    """``V inv(w) V*`` over what is kept."""
    inverse = np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)
    result: Array = (vectors * inverse[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return 0.5 * (result + np.swapaxes(result, -1, -2))
