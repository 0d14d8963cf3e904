"""Pseudo-inverses of compliances from their factors, and an array that says its rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from recursa.errors import StateError
from recursa.kernels.switch import native_module
from recursa.sweeps.batching import Array

RANK_LIMITS = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-12}
"""Eigenvalues that count as zero, relative to the largest: there four digits of an inverse are left, and ten."""


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


def pseudo_inverse(
    factors: Array, scale: Array, tolerance: float | None = None, reference: Array | None = None
) -> tuple[Array, Array]:
    """The Moore-Penrose inverses of ``B B*`` for factors B (..., m, n), and their ranks (...).

    B B* is never formed: the inverse keeps twice as many digits, with errors of rounding times the condition number of
    B. Rank is judged with row i of B multiplied by ``scale[i]``, so that it does not depend on units: eigenvalues of
    ``B B*`` count that are larger than ``tolerance`` times the largest, by default 1e-12, or 1e-6 in single precision.
    ``reference`` (...) takes the place of the largest eigenvalue where the matrices are differences of larger ones,
    whose rounding may be all that is left. Where a factor is not finite the inverse is nan, with rank 0.
    """
    limit = rank_limit(factors.dtype, tolerance)
    (size, width), batch = factors.shape[-2:], factors.shape[:-2]
    finite = np.asarray(np.isfinite(factors).all(axis=(-2, -1)))
    sound = np.array(np.where(finite[..., None, None], factors, 0.0), np.float64, order="C")
    flat = sound.reshape(finite.size, size, width)
    if native_module is not None and size <= native_module.MAX_SMALL and reference is None:
        result, rank = _native(flat, scale, limit)
    else:
        result, rank = _by_numpy(flat, scale, limit, None if reference is None else np.broadcast_to(reference, batch))
    result, rank = result.reshape(*batch, size, size), rank.reshape(batch)
    result[~finite] = np.nan
    return result.astype(factors.dtype, copy=False), rank


def rank_limit(dtype: Any, tolerance: float | None) -> float:
    """The part of the largest eigenvalue below which eigenvalues count as zero."""
    limit = RANK_LIMITS[np.dtype(dtype)] if tolerance is None else tolerance
    if not (isinstance(limit, float | int) and 0.0 <= limit < 1.0):
        raise StateError(f"tolerance is a fraction of the largest eigenvalue, from 0 to less than 1, not {tolerance!r}")
    return limit


def _native(factors: Array, scale: Array, limit: float) -> tuple[Array, Array]:
    """From a triangular factor where it is certain that nothing vanishes, else from singular values; one by one."""
    result, rank = np.empty((len(factors), *factors.shape[1:2] * 2)), np.empty(len(factors), np.int64)
    native_module.pseudo_inverses(factors, scale, limit, result, rank)
    return result, rank


def _by_numpy(factors: Array, scale: Array, limit: float, reference: Array | None = None) -> tuple[Array, Array]:
    """From singular values and the vectors on the left."""
    size = factors.shape[-2]
    vectors, values, _ = np.linalg.svd(factors * scale[:, None], full_matrices=False)
    largest = values.max(axis=-1, initial=0.0) if reference is None else np.sqrt(reference).reshape(-1)
    kept = values > np.sqrt(limit) * largest[:, None]
    rank = np.asarray(kept.sum(axis=-1))
    result = _inverted(values, vectors, kept) * scale[:, None] * scale
    lacking = rank < size
    if lacking.any():  # scaling commutes with inverses, not with pseudo-inverses
        vectors, values, _ = np.linalg.svd(factors[lacking], full_matrices=False)
        result[lacking] = _inverted(values, vectors, np.arange(values.shape[-1]) < rank[lacking][..., None])
    return result, rank


def _inverted(values: Array, vectors: Array, kept: Array) -> Array:
    """``U S^-2 U*`` over what is kept."""
    columns = vectors * np.where(kept, 1.0 / np.where(kept, values, 1.0), 0.0)[..., None, :]
    result: Array = columns @ np.swapaxes(columns, -1, -2)
    return result
