"""Linear models in discrete time: the exponential of a matrix, for batches."""

from __future__ import annotations

import math

import numpy as np

from recursa.errors import StateError
from recursa.sweeps.batching import Array

_ORDER = 8  # of the Pade approximant: 1e-17 where the norm is below one half


def discrete(A: Array, B: Array, dt: float) -> tuple[Array, Array]:
    """``x(t + dt) = Ad x + Bd u`` of ``dx/dt = A x + B u`` with u held: the upper rows of ``exp([[A, B], [0, 0]] dt)``.

    >>> Ad, Bd = discrete(np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]]), 0.5)  # a mass, pushed
    >>> Ad.tolist(), Bd.tolist()
    ([[1.0, 0.5], [0.0, 1.0]], [[0.125], [0.5]])
    """
    try:
        step = float(dt)
    except (TypeError, ValueError):
        raise StateError(f"dt is the length of a step in seconds, not {dt!r}") from None
    if not (step > 0.0 and math.isfinite(step)):
        raise StateError(f"dt is the length of a step in seconds, a positive number, not {dt!r}")
    n, m = B.shape[-2:]
    whole = np.zeros((*A.shape[:-2], n + m, n + m), A.dtype)
    whole[..., :n, :n], whole[..., :n, n:] = A * step, B * step
    made = exponential(whole)
    return made[..., :n, :n], made[..., :n, n:]


def exponential(matrix: Array) -> Array:
    """``exp(X)`` of matrices (..., n, n), each for itself: scaled until its norm is below one half, squared back.

    nan and infinity pass through as nan.

    >>> exponential(np.array([[0.0, -np.pi], [np.pi, 0.0]])).round(12) + 0.0
    array([[-1.,  0.],
           [ 0., -1.]])
    """
    norm = np.abs(matrix).sum(axis=-1).max(axis=-1, initial=0.0)
    sound = np.isfinite(norm)
    halvings = np.where(norm > 0.5, np.ceil(np.log2(np.where(sound & (norm > 0.5), norm, 0.5) / 0.5)), 0.0).astype(int)
    x = matrix * (0.5**halvings)[..., None, None].astype(np.abs(matrix).dtype)
    unit = np.eye(matrix.shape[-1], dtype=matrix.dtype)
    above, below, power, factor = unit, unit, unit, 1.0
    for k in range(1, _ORDER + 1):  # Pade: N(x) / N(-x)
        factor *= (_ORDER - k + 1) / (k * (2 * _ORDER - k + 1))
        power = power @ np.where(np.isfinite(x), x, 0.0)
        above, below = above + factor * power, below + (-1.0) ** k * factor * power
    result = np.linalg.solve(np.broadcast_to(below, x.shape), np.broadcast_to(above, x.shape))
    for k in range(int(halvings.max(initial=0))):
        with np.errstate(all="ignore"):
            result = np.where((halvings > k)[..., None, None], result @ result, result)
    return np.where(sound[..., None, None], result, np.nan)
