"""Forces between what touches, and friction that holds joints: never pulling, within Coulomb's cones and bounds.

Of speeds or accelerations ``y = b + D f`` of all that touches, per contact one across (n) and two along (t), and behind
them one per joint that friction may hold::

    0 <= f_n,  0 <= y_n,  f_n y_n = 0        |f_t| <= mu f_n,   y_t = 0 inside the cone, against f_t on its surface
    low <= f_j <= high                       y_j = 0 between the bounds, against f_j on one of them

Gauss and Seidel's iteration with projection onto cones and bounds, in the order of the contacts and joints, finds out
which stick, slide and lift. Now and then a linear solve tries what it has found so far: as soon as that obeys all
conditions it is the answer. So few sweeps are needed, fewer still from forces that were right an instant ago.
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

    f: Array  # (3 k + m,)
    mode: Array  # (k,) OPEN, SLIDES, STICKS
    held: Array  # (m,) whether friction holds the joint

    @property
    def contacts(self) -> Array:
        """Forces (k, 3) of the contacts."""
        return self.f[: 3 * len(self.mode)].reshape(-1, 3)

    @property
    def joints(self) -> Array:
        """Torques (m,) of the joints."""
        return self.f[3 * len(self.mode) :]


class Problem(NamedTuple):
    """Contacts (k) and joints (m) at which forces are sought.

    - ``D`` (3k + m, 3k + m), ``b`` (3k + m,).
    - ``friction`` (k,): Coulomb's coefficients. ``sliding`` (k, 2): the direction in which a contact slides already, or
      zero; its friction is then against that.
    - ``low``, ``high`` (m,): the least and the largest torque at joints.
    """

    D: Array
    b: Array
    friction: Array
    sliding: Array
    low: Array = np.zeros(0)
    high: Array = np.zeros(0)


def forces(of: Problem, start: Array | None = None) -> Found:
    """Forces and modes; ``start`` are forces that may be near.

    >>> one = Problem(np.eye(3), np.array([-2.0, 0.5, 0.0]), np.array([0.6]), np.zeros((1, 2)))
    >>> found = forces(one)
    >>> found.contacts, int(found.mode[0]) == STICKS
    (array([[ 2. , -0.5,  0. ]]), True)
    """
    sweep = _Sweeping(of, start)
    done, more = 0, _FIRST
    while done < _SWEEPS:
        converged = sweep.go(more)
        f = np.array(sweep.f)
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
        self.f = [0.0] * len(of.b) if start is None else start.tolist()
        self._rows, self._b = of.D.tolist(), of.b.tolist()
        self._contacts = list(zip(range(0, 3 * len(of.friction), 3), of.friction.tolist(), of.sliding.tolist()))
        first = 3 * len(of.friction)
        self._joints = list(zip(range(first, len(of.b)), of.low.tolist(), of.high.tolist()))

    def go(self, sweeps: int) -> bool:
        """Some sweeps; whether they changed nothing any more."""
        for _ in range(sweeps):
            before = tuple(self.f)
            for contact in self._contacts:
                self._contact(*contact)
            for joint in self._joints:
                self._joint(*joint)
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

    def _joint(self, k: int, low: float, high: float) -> None:
        yields = self._rows[k][k]
        tried = self.f[k] - self._y(k) / yields if yields > 0.0 else self.f[k]
        self.f[k] = min(max(tried, low), high)


def _exact(of: Problem, f: Array) -> tuple[Found, bool]:
    """Modes, and the values that they mean; whether these obey all conditions."""
    count = len(of.friction)
    contacts, joints = f[: 3 * count].reshape(-1, 3), f[3 * count :]
    scale = max(float(np.abs(contacts).max(initial=0.0)), 1e-300)
    along = np.sqrt((contacts[:, 1:] ** 2).sum(axis=1))
    moving = of.sliding.any(axis=1)
    closed = contacts[:, 0] > 1e-9 * scale
    sticks = closed & (along < of.friction * contacts[:, 0] * (1.0 - 1e-7)) & ~moving
    held = (joints > of.low) & (joints < of.high)
    mode = np.where(sticks, STICKS, np.where(closed, SLIDES, OPEN))
    F, rows = _columns(contacts, mode, held)
    f = np.where(np.repeat(closed, 3).tolist() + [True] * len(joints), f, 0.0)
    if rows.size:
        A = of.D @ F
        change = shares(A[rows], -(of.b + of.D @ f)[rows])
        f = f + F @ change
    return Found(f, mode, held), _obeyed(of, f, mode, held, moving)


def _columns(contacts: Array, mode: Array, held: Array) -> tuple[Array, Array]:
    """What each unknown does to all forces, and the rows that it makes zero."""
    size = contacts.size + len(held)
    columns, rows = list[Array](), list[int]()
    unit = np.eye(size)
    for k in np.flatnonzero(mode).tolist():
        n = 3 * k
        if mode[k] == STICKS:
            columns += [unit[n], unit[n + 1], unit[n + 2]]
            rows += [n, n + 1, n + 2]
            continue
        one = unit[n].copy()
        one[n + 1 : n + 3] = contacts[k, 1:] / contacts[k, 0]
        columns.append(one)
        rows.append(n)
    for j in np.flatnonzero(held).tolist():
        columns.append(unit[contacts.size + j])
        rows.append(contacts.size + j)
    return np.array(columns).reshape(-1, size).T, np.array(rows, dtype=int)


def _obeyed(of: Problem, f: Array, mode: Array, held: Array, moving: Array) -> bool:
    count = len(mode)
    y = of.b + of.D @ f
    contacts, rates = f[: 3 * count].reshape(-1, 3), y[: 3 * count].reshape(-1, 3)
    slack, loose = _HOLDS * np.abs(f).max(initial=0.0), _HOLDS * np.abs(of.b).max(initial=0.0)
    along = np.sqrt((contacts[:, 1:] ** 2).sum(axis=1))
    if (contacts[:, 0] < 0.0).any() or (along > of.friction * contacts[:, 0] * (1.0 + _HOLDS) + 1e-3 * slack).any():
        return False
    if (rates[mode == OPEN, 0] < -loose).any():
        return False
    for k in np.flatnonzero((mode == SLIDES) & ~moving & (along > 0.0)).tolist():
        way, rate = contacts[k, 1:] / along[k], rates[k, 1:]
        if float(rate @ way) > loose or abs(float(way[0] * rate[1] - way[1] * rate[0])) > loose:
            return False
    torques, turning = f[3 * count :], y[3 * count :]
    if (torques < of.low - slack).any() or (torques > of.high + slack).any():
        return False
    return bool((turning * np.where(torques >= of.high, 1.0, -1.0) <= loose)[~held].all())


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
