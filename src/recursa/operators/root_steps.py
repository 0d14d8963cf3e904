"""What the root W of the hinge inertia does at one joint: ``D = W W*``, W lower triangular with a positive diagonal.

Freedom by freedom, from the eliminations that made P: ``D = L d L*``, ``W = L sqrt(d)``. For joints with one freedom W
is ``D^(1/2)``.
"""

from __future__ import annotations

from recursa.operators.steps import Eliminations, Freedoms
from recursa.spatial.scalars import sqrt
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
    z, found = Force.zero(), []
    for (column, u, inverse_d), value in zip(done, x, strict=True):
        innovation = value - column.dot(z)
        z = z + u * (innovation * inverse_d)
        found.append(innovation * sqrt(inverse_d))
    return tuple(found)


def root_solve_transposed(done: Eliminations, x: Freedoms) -> Freedoms:
    """``inv(W*) x``."""
    carried, found = Motion.zero(), []
    for (column, u, inverse_d), value in zip(reversed(done), reversed(x), strict=True):
        found.append(value * sqrt(inverse_d) - carried.dot(u) * inverse_d)
        carried = carried + column * found[-1]
    return tuple(reversed(found))
