"""What the root W of the hinge inertia does at one joint: ``D = W W*``, W lower triangular with a positive diagonal.

And what that of the link inertia does at one body, ``M = W_M W_M*``.

Freedom by freedom, from the eliminations that made P: ``D = L d L*``, ``W = L sqrt(d)``. For joints with one freedom W
is ``D^(1/2)``.
"""

from __future__ import annotations

from recursa.dynamics.articulated import innovated, smoothed
from recursa.dynamics.factorization import six_by_six
from recursa.operators.steps import Eliminations, Freedoms, Six, rows_of, whole
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.scalars import Scalar, sqrt, where
from recursa.spatial.vectors6 import Force, Motion


def root_times(done: Eliminations, x: Freedoms) -> Freedoms:
    """``W x``."""
    z, found = Force.zero(), []
    for (column, u, inverse_d), value in zip(done, x, strict=True):
        root = sqrt(inverse_d)
        found.append(column.dot(z) + value / root)
        z = z + u * (value * root)
    return tuple(found)


def root_transposed(done: Eliminations, x: Freedoms) -> Freedoms:
    """``W* x``."""
    carried, found = Motion.zero(), []
    for (column, u, inverse_d), value in zip(reversed(done), reversed(x), strict=True):
        found.append((value + carried.dot(u) * inverse_d) / sqrt(inverse_d))
        carried = carried + column * value
    return tuple(reversed(found))


def root_solve(done: Eliminations, x: Freedoms) -> Freedoms:
    """``inv(W) x``."""
    innovations, _, _ = innovated(done, x, Force.zero())
    return tuple(value * sqrt(inverse_d) for value, (_, _, inverse_d) in zip(innovations, done, strict=True))


def root_solve_transposed(done: Eliminations, x: Freedoms) -> Freedoms:
    """``inv(W*) x``."""
    normalized = [value * sqrt(inverse_d) for value, (_, _, inverse_d) in zip(x, done, strict=True)]
    return smoothed(done, normalized, Motion.zero())[0]


# ---- the root of the link inertia ------------------------------------------------------------------------------------


def _inertia_root(inertia: RigidInertia) -> list[list[Scalar]]:
    """The rows of the lower Cholesky factor of a link inertia; a pivot of zero has a column of zeros."""
    rows = rows_of(six_by_six(whole(inertia)))
    root: list[list[Scalar]] = [[0.0] * 6 for _ in range(6)]
    for k in range(6):
        left = [rows[i][k] - sum((root[i][j] * root[k][j] for j in range(k)), start=0.0) for i in range(k, 6)]
        positive = left[0] > 0.0
        pivot = sqrt(where(positive, left[0], 1.0))
        for i in range(k, 6):
            root[i][k] = where(positive, left[i - k] / pivot, 0.0)
    return root


def inertia_root_times(inertia: RigidInertia, x: Six) -> Six:
    """``W_M x``."""
    root, entries = _inertia_root(inertia), x.components()
    return Motion.of([sum((root[i][j] * entries[j] for j in range(i + 1)), start=0.0) for i in range(6)])


def inertia_root_transposed(inertia: RigidInertia, x: Six) -> Six:
    """``W_M* x``."""
    root, entries = _inertia_root(inertia), x.components()
    return Motion.of([sum((root[i][j] * entries[i] for i in range(j, 6)), start=0.0) for j in range(6)])


def inertia_root_solve(inertia: RigidInertia, x: Six) -> Six:
    """``inv(W_M) x``."""
    root, found = _inertia_root(inertia), list[Scalar]()
    for i, entry in enumerate(x.components()):
        found.append((entry - sum((root[i][j] * y for j, y in enumerate(found)), start=0.0)) / root[i][i])
    return Motion.of(found)


def inertia_root_solve_transposed(inertia: RigidInertia, x: Six) -> Six:
    """``inv(W_M*) x``."""
    root, found = _inertia_root(inertia), list(x.components())
    for i in reversed(range(6)):
        found[i] = (found[i] - sum((root[j][i] * found[j] for j in range(i + 1, 6)), start=0.0)) / root[i][i]
    return Motion.of(found)
