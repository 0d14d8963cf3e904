"""Forces between what touches: never pulling, and along the plane within Coulomb's cone.

Of speeds or accelerations ``y = b + D f`` of all that touches, per contact one across (n) and two along (t)::

    0 <= f_n,  0 <= y_n,  f_n y_n = 0        |f_t| <= mu f_n,   y_t = 0 inside the cone, against f_t on its surface

Gauss and Seidel's iteration with projection onto the cones, contact by contact in their order, finds out which stick,
slide and lift; a linear solve then gives the values, where it agrees.
"""

from __future__ import annotations

import numpy as np

from recursa.sweeps.batching import Array

OPEN, SLIDES, STICKS = 0, 1, 2
_SWEEPS = 4000
_CONVERGED = 1e-13
_RANK = 1e-10


def forces(D: Array, b: Array, friction: Array, sliding: Array) -> tuple[Array, Array]:
    """Forces (k, 3) and modes (k,) for D (3k, 3k) and b (k, 3).

    ``sliding`` (k, 2): the direction in which a contact slides already, or zero; its friction is then against that.

    >>> f, mode = forces(np.eye(3), np.array([[-2.0, 0.5, 0.0]]), np.array([0.6]), np.zeros((1, 2)))
    >>> f, int(mode[0]) == STICKS
    (array([[ 2. , -0.5,  0. ]]), True)
    """
    count = len(b)
    moving = np.abs(sliding).sum(axis=1) > 0.0
    f = np.zeros((count, 3))
    for _ in range(_SWEEPS):
        before = f.copy()
        for k in range(count):
            mine = slice(3 * k, 3 * k + 3)
            y = b[k] + D[mine] @ f.ravel()
            block = D[mine, mine]
            f[k, 0] = max(0.0, f[k, 0] - y[0] / block[0, 0]) if block[0, 0] > 0.0 else 0.0
            most = friction[k] * f[k, 0]
            if moving[k]:
                f[k, 1:] = -most * sliding[k]
                continue
            y = b[k] + D[mine] @ f.ravel()
            stiff = block[1, 1] + block[2, 2]
            tried = f[k, 1:] - y[1:] / stiff if stiff > 0.0 else np.zeros(2)
            size = float(np.sqrt(tried @ tried))
            f[k, 1:] = tried if size <= most else tried * (most / size)
        if np.abs(f - before).max(initial=0.0) <= _CONVERGED * np.abs(f).max(initial=0.0):
            break
    return _exact(D, b, friction, sliding, f)


def _exact(D: Array, b: Array, friction: Array, sliding: Array, f: Array) -> tuple[Array, Array]:
    """Modes, and the values that they mean; what was iterated where these would break the conditions."""
    scale = max(float(np.abs(f).max(initial=0.0)), 1e-300)
    along = np.sqrt((f[:, 1:] ** 2).sum(axis=1))
    closed = f[:, 0] > 1e-9 * scale
    sticks = closed & (along < friction * f[:, 0] * (1.0 - 1e-7)) & ~(np.abs(sliding).sum(axis=1) > 0.0)
    mode = np.where(sticks, STICKS, np.where(closed, SLIDES, OPEN))
    f = np.where(closed[:, None], f, 0.0)
    rows: list[int] = []
    columns: list[Array] = []
    for k in np.flatnonzero(closed).tolist():
        column = np.zeros((3 * len(b), 1 + 2 * sticks[k]))
        column[3 * k, 0] = 1.0
        if sticks[k]:
            column[3 * k + 1, 1] = column[3 * k + 2, 2] = 1.0
        else:
            column[3 * k + 1 : 3 * k + 3, 0] = f[k, 1:] / f[k, 0]
        columns.append(column)
        rows.extend(range(3 * k, 3 * k + (3 if sticks[k] else 1)))
    if not rows:
        return f, mode
    F = np.concatenate(columns, axis=1)
    change = np.linalg.lstsq((D @ F)[rows], -(b.ravel() + D @ f.ravel())[rows], rcond=_RANK)[0]
    better = f + (F @ change).reshape(-1, 3)
    along = np.sqrt((better[:, 1:] ** 2).sum(axis=1))
    fine = (better[:, 0] >= 0.0).all() and (along <= friction * better[:, 0] * (1.0 + 1e-9) + 1e-12 * scale).all()
    return (better if fine else f), mode
