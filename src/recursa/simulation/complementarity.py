"""Forces between what touches: never pulling, and along the plane within Coulomb's cone.

Of speeds or accelerations ``y = b + D f`` of all that touches, per contact one across (n) and two along (t)::

    0 <= f_n,  0 <= y_n,  f_n y_n = 0        |f_t| <= mu f_n,   y_t = 0 inside the cone, against f_t on its surface

Gauss and Seidel's iteration with projection onto the cones, contact by contact in their order, finds out which stick,
slide and lift. Now and then a linear solve tries what it has found so far: as soon as that obeys all conditions it is
the answer. So few sweeps are needed, fewer still from forces that were right an instant ago.
"""

from __future__ import annotations

from operator import mul
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from recursa.sweeps.batching import Array

OPEN, SLIDES, STICKS = 0, 1, 2
_SWEEPS = 4000
_FIRST = 4  # sweeps before the first trial; then as many more as there were
_CONVERGED = 1e-13
_HOLDS = 1e-9  # by how much conditions may be broken, of what they are about
_RANK = 1e-10
_PIVOT = 1e-9  # of a diagonal entry, under which what is left of it could be rounding


class Found(NamedTuple):
    """What the conditions ask for."""

    f: Array  # (k, 3)
    mode: Array  # (k,) OPEN, SLIDES, STICKS


class Problem(NamedTuple):
    """Contacts (k) at which forces are sought.

    - ``D`` (3k, 3k), ``b`` (3k,).
    - ``friction`` (k,): Coulomb's coefficients. ``sliding`` (k, 2): the direction in which a contact slides already, or
      zero; its friction is then against that.
    """

    D: Array
    b: Array
    friction: Array
    sliding: Array


def forces(of: Problem, start: Array | None = None) -> Found:
    """Forces and modes; ``start`` (k, 3) are forces that may be near.

    >>> one = Problem(np.eye(3), np.array([-2.0, 0.5, 0.0]), np.array([0.6]), np.zeros((1, 2)))
    >>> f, mode = forces(one)
    >>> f, int(mode[0]) == STICKS
    (array([[ 2. , -0.5,  0. ]]), True)
    """
    everything, fine = _exact(
        of, np.stack([np.ones(len(of.friction)), *-(of.friction[:, None] * of.sliding).T], axis=1)
    )
    if fine:  # nothing lifts, and nothing starts to slide
        return everything
    sweep = _Sweeping(of, start)
    done, more = 0, _FIRST
    while done < _SWEEPS:
        converged = sweep.go(more)
        f = np.array(sweep.f).reshape(-1, 3)
        if not np.isfinite(f).all():
            break
        found, fine = _exact(of, f)
        if fine or converged:
            return found if fine else found._replace(f=f)
        done, more = done + more, max(_FIRST, done)
    return _exact(of, f)[0]._replace(f=f)


class _Sweeping:
    """Gauss and Seidel's sweeps; on few numbers floats are faster than arrays."""

    def __init__(self, of: Problem, start: Array | None) -> None:
        self.f = [0.0] * len(of.b) if start is None else start.ravel().tolist()
        self._rows, self._b = of.D.tolist(), of.b.tolist()
        self._contacts = list(zip(range(0, len(of.b), 3), of.friction.tolist(), of.sliding.tolist(), strict=True))

    def go(self, sweeps: int) -> bool:
        """Some sweeps; whether they changed nothing any more."""
        for _ in range(sweeps):
            before = tuple(self.f)
            for contact in self._contacts:
                self._contact(*contact)
            largest = max(map(abs, self.f), default=0.0)
            if max(map(abs, map(float.__sub__, self.f, before)), default=0.0) <= _CONVERGED * largest:
                return True
        return False

    def _y(self, k: int) -> float:
        return self._b[k] + sum(map(mul, self._rows[k], self.f))

    def _contact(self, n: int, friction: float, sliding: list[float]) -> None:
        f, rows = self.f, self._rows
        yields = rows[n][n]
        f[n] = max(0.0, f[n] - self._y(n) / yields) if yields > 0.0 else 0.0
        most = friction * f[n]
        if sliding[0] or sliding[1]:
            f[n + 1], f[n + 2] = -most * sliding[0], -most * sliding[1]
            return
        yields = rows[n + 1][n + 1] + rows[n + 2][n + 2]
        first, second = self._y(n + 1), self._y(n + 2)
        tried = (f[n + 1] - first / yields, f[n + 2] - second / yields) if yields > 0.0 else (0.0, 0.0)
        size = (tried[0] * tried[0] + tried[1] * tried[1]) ** 0.5
        shorter = 1.0 if size <= most else most / size
        f[n + 1], f[n + 2] = tried[0] * shorter, tried[1] * shorter


def _exact(of: Problem, f: Array) -> tuple[Found, bool]:
    """Modes, and the values that they mean; whether these obey all conditions."""
    scale = max(float(np.abs(f).max(initial=0.0)), 1e-300)
    along = np.sqrt((f[:, 1:] ** 2).sum(axis=1))
    moving = np.asarray(of.sliding.any(axis=1))
    closed = f[:, 0] > 1e-9 * scale
    sticks = closed & (along < of.friction * f[:, 0] * (1.0 - 1e-7)) & ~moving
    mode = np.where(sticks, STICKS, np.where(closed, SLIDES, OPEN))
    f = np.where(closed[:, None], f, 0.0)
    F, rows = _columns(f, mode)
    if not rows.size:
        return Found(f, mode), _obeyed(of, f, mode, moving)
    A = (of.D @ F)[rows]
    shortest = (F @ shares(A, -of.b[rows])).reshape(-1, 3)  # where several fit, the one that squeezes least
    if _obeyed(of, shortest, mode, moving):
        return Found(shortest, mode), True
    f = f + (F @ shares(A, -(of.b + of.D @ f.ravel())[rows])).reshape(-1, 3)
    return Found(f, mode), _obeyed(of, f, mode, moving)


def _columns(f: Array, mode: Array) -> tuple[Array, Array]:
    """What each unknown does to all forces, and the rows that it makes zero."""
    columns, rows = list[Array](), list[int]()
    unit = np.eye(f.size)
    for k in np.flatnonzero(mode).tolist():
        n = 3 * k
        if mode[k] == STICKS:
            columns += [unit[n], unit[n + 1], unit[n + 2]]
            rows += [n, n + 1, n + 2]
            continue
        one = unit[n].copy()
        one[n + 1 : n + 3] = f[k, 1:] / f[k, 0]
        columns.append(one)
        rows.append(n)
    return np.array(columns).reshape(-1, f.size).T, np.array(rows, dtype=int)


def _obeyed(of: Problem, f: Array, mode: Array, moving: Array) -> bool:
    rates = (of.b + of.D @ f.ravel()).reshape(-1, 3)
    slack, loose = _HOLDS * np.abs(f).max(initial=0.0), _HOLDS * np.abs(of.b).max(initial=0.0)
    along = np.sqrt((f[:, 1:] ** 2).sum(axis=1))
    if (f[:, 0] < 0.0).any() or (along > of.friction * f[:, 0] * (1.0 + _HOLDS) + 1e-3 * slack).any():
        return False
    if (rates[mode == OPEN, 0] < -loose).any():
        return False
    for k in np.flatnonzero((mode == SLIDES) & ~moving & (along > 0.0)).tolist():
        way, rate = f[k, 1:] / along[k], rates[k, 1:]
        if float(rate @ way) > loose or abs(float(way[0] * rate[1] - way[1] * rate[0])) > loose:
            return False
    return True


def shares(A: Array, b: Array, near: Array | None = None) -> Array:
    """The solution of ``A x = b``; where there are several the one nearest to ``near``, or to zero.

    >>> shares(np.ones((2, 2)), np.ones(2)).round(12)
    array([0.5, 0.5])
    """
    diagonal = A.diagonal()
    if (A == A.T).all():
        factor, x, failed = lapack.dposv(A, b)
        fine = not failed and (factor.diagonal() ** 2 > _PIVOT * diagonal).all()
    else:
        factor, _, x, failed = lapack.dgesv(A, b)
        fine = not failed and (np.abs(factor.diagonal()) > _PIVOT * np.abs(A).max(initial=0.0)).all()
    if fine:
        return np.asarray(x)
    if near is None:
        return np.asarray(np.linalg.lstsq(A, b, rcond=_RANK)[0])
    return np.asarray(near + np.linalg.lstsq(A, b - A @ near, rcond=_RANK)[0])


def along(W: Array, R: Array, values: Array) -> Array:
    """Return the shortest x along ``W R*`` with ``R x = values``, where W is the inverse of a mass matrix.

    >>> along(np.diag([1.0, 2.0]), np.array([[1.0, 1.0]]), np.array([3.0]))
    array([1., 2.])
    """
    if not len(R):
        return np.zeros(len(W))
    WR = W @ R.T
    A = R @ WR
    return np.asarray(WR @ shares(0.5 * (A + A.T), values))


def obeying(W: Array, R: Array, u: Array) -> Array:
    """Return the nearest speeds with ``R u = 0``; repeats where rows nearly depend on each other and digits were lost.

    >>> obeying(np.diag([1.0, 2.0]), np.array([[1.0, 1.0]]), np.array([3.0, 0.0]))
    array([ 2., -2.])
    """
    for _ in range(3):
        remaining = R @ u
        if not np.abs(remaining).max(initial=0.0) > 1e-14 * np.abs(u).max(initial=0.0):
            break
        u = u - along(W, R, remaining)
    return u
