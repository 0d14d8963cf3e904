"""Linearised dynamics without recursion over pairs of joints: (7.3.2)-(7.3.4) as they stand, in base axes.

Every entry comes from what joint i has at its own link and from s_{j,i} and its rate, which two origins and their
speeds give; Algorithm 7.1 (``linearized.py``) carries the same vectors from link to link instead. For joints that
turn, ``d_ij = z_i.[E_i - ~U_i ~s_ji].z_j`` and so on; with the vectors ``B = z_i.E_i - (z_i x U_i) x s_ji`` (7.3.11)
that is ``B.z_j``. Steps need the joints inward of a link as a list, so that this makes straight-line code only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from recursa.book.linear_model import Axis, Outward, Row, about_parent, entries, own_share, start_of_row
from recursa.book.on_axes import BUFFERS, IN_BASE
from recursa.book.six_vectors import CoState, InBase, LinkState, base_state, costate, in_base, state
from recursa.dynamics.gathering import Entries
from recursa.dynamics.kinematics import RELATIVE
from recursa.dynamics.wrenches import DAMPED_ROWS, STIFFER_ROWS
from recursa.errors import ConvergenceError
from recursa.model.model import Joint
from recursa.spatial.inertia import Force, RigidInertia
from recursa.spatial.mat3 import Mat3
from recursa.spatial.scalars import sqrt
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, tip_to_base
from recursa.sweeps.batching import Array


class OnPath(NamedTuple):
    """A joint as those outward of it meet it, base axes: its axis in motion, its origin and the speed of that."""

    joint: Joint
    number: int
    axis: Axis
    origin: Vec3
    speed: Vec3


def path(
    joint: Joint, number: int, pose: Transform, here: InBase, x: LinkState, above: tuple[OnPath, ...]
) -> tuple[OnPath, ...]:
    """The joints from the base to this one."""
    zdot = x.w.cross(here.z)
    axis = Axis(here.z, zdot, x.wd.cross(here.z) + x.w.cross(zdot), x.sdd)
    return (*above, OnPath(joint, number, axis, pose.translation, x.v))


def offset_rate(x: LinkState, parent: LinkState) -> Vec3:
    """sdot_{i-1,i}."""
    return x.v - parent.v


def generalized(
    below: RigidInertia, more: Outward, force: CoState, here: InBase, x: LinkState, sdot: Vec3
) -> tuple[RigidInertia, Outward, RigidInertia, Outward, CoState]:
    """mbar, U, E and Udot, L of everything outward (6.3.3), (6.3.4), (C.15), and their shares at the parent."""
    total, s = below + here.inertia, here.s
    moving = more + own_share(here.inertia, x.w)
    handed = CoState(force.moment + s.cross(force.force), force.force)
    return total, moving, total.shifted(s), about_parent(moving, total.mass, total.first, s, sdot), handed


def rows_of_last(
    inward: tuple[OnPath, ...], total: RigidInertia, more: Outward, force: CoState
) -> tuple[Entries, Entries, Entries]:
    """Rows and columns of the last joint on the path, the outer one of every pair, in P, V and D (7.3.2)-(7.3.4)."""
    outer = inward[-1]
    row: Row = start_of_row(outer.joint, outer.axis, total, more, Force(*force))
    return entries(
        (
            one.joint,
            (one.number, 0),
            one.axis,
            (outer.number, 0),
            row if one is outer else row.about(outer.origin - one.origin, outer.speed - one.speed),
        )
        for one in inward
    )


_STILL = LinkState(ZERO, ZERO, ZERO, ZERO)


@cache
def direct_plan(*, losses: bool = False, springs: bool = False) -> Plan:
    """The closed form (7.3.2)-(7.3.4)."""
    return Plan(
        "linearize, direct",
        (
            *BUFFERS,
            Buffer("base", InBase(ZERO, ZERO, RigidInertia.zero())),
            Buffer("x", _STILL, base_state),
            Buffer("sdot", ZERO),
            Buffer("path", ()),
            Buffer("f^", CoState(ZERO, ZERO)),
            Buffer("R", RigidInertia.zero()),
            Buffer("UL", Outward(ZERO, Mat3.zero())),
            Buffer("by_q", ()),
            Buffer("by_v", ()),
            Buffer("by_a", ()),
        ),
        (
            base_to_tip(
                RELATIVE,
                IN_BASE,
                Step(in_base, ("W", "W@parent", "X", "inertia"), ("base",), "z, s, I in base axes"),
                Step(state, ("joint", "base", "x@parent", "v", "a"), ("x",), "w, sdot, wdot, sddot"),
                Step(costate, ("base", "x"), ("f^",), "force and moment of a link"),
                Step(offset_rate, ("x", "x@parent"), ("sdot",), "sdot = difference of the origins' speeds"),
                Step(path, ("joint", "number", "W", "base", "x", "path@parent"), ("path",), "z, zdot, zddot, sddot"),
            ),
            tip_to_base(
                Step(
                    generalized,
                    ("R", "UL", "f^", "base", "x", "sdot"),
                    ("R", "UL", "R@parent", "UL@parent", "f^@parent"),
                    "U, E, Udot, L, F, eta    (6.3.3), (6.3.4), (C.15)",
                ),
                Step(rows_of_last, ("path", "R", "UL", "f^"), ("by_q", "by_v", "by_a"), "D, V, P    (7.3.2)-(7.3.4)"),
                *((DAMPED_ROWS,) if losses else ()),
                *((STIFFER_ROWS,) if springs else ()),
            ),
        ),
    )


# ---- -----------------------------------------------------------------------------------------------------------------
# Forward dynamics without the mass matrix: ``D qdd = tau - b`` by conjugate gradients, and by least squares (6.2.17).
# Both work on arrays of any numbers with batch axes in front: floats, and the scalars that count their arithmetic.


_ROUNDS = 20  # of n iterations each; without rounding one does
_ENOUGH = 1e-8  # of the right-hand side may be left, 1e-2 in single precision


def conjugate_gradients(times: Callable[[Array], Array], right: Array) -> Array:
    """``D x = right`` (..., n) where only ``times(x) = D x`` is known: Walker & Orin's fourth method.

    Without rounding n iterations are exact, and on symbols n are done. On floats the residual is then worked out anew
    and n more are done with it, as long as that makes it smaller; what is left at the end must be 1e-8 of the
    right-hand side or less.

    >>> D = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> conjugate_gradients(lambda x: D @ x, np.array([4.0, 7.0])).round(12)
    array([1., 2.])
    """
    n = right.shape[-1]
    if right.dtype == object:
        return _iterations(times, right, n)
    size = np.abs(_dot(right, np.conj(right)))
    before, going = np.full_like(size, np.inf), np.ones(size.shape, bool)
    x = _iterations(times, right, n)
    for _ in range(_ROUNDS):
        residual = right - times(x)
        left = np.abs(_dot(residual, np.conj(residual)))
        going = going & (left > 0.0) & (left < 0.25 * before)  # each row for itself, whatever others in a batch need
        if not going.any():
            break
        x, before = np.where(going, x + _iterations(times, residual, n), x), left
    if (left > (_ENOUGH if right.dtype.itemsize >= 8 else 1e-2) ** 2 * size).any():  # not so for nan, which passes
        worst = float(np.sqrt(np.nanmax(left / np.where(size > 0.0, size, 1.0))))
        raise ConvergenceError(
            f"conjugate gradients did not converge: the torques are off by {worst:.1e} of their size, and further "
            'iterations do not help. The mass matrix is too ill-conditioned for them: use method="articulated"'
        )
    return x


def _iterations(times: Callable[[Array], Array], right: Array, count: int) -> Array:
    """So many iterations from x = 0. A row that is done stays as it is."""
    x, residual, along = right * 0.0, right, right
    square = _dot(residual, residual)
    for _ in range(count):
        pushed = times(along)
        step = _ratio(square, _dot(along, pushed))
        x, residual = x + step * along, residual - step * pushed
        square, before = _dot(residual, residual), square
        along = residual + _ratio(square, before) * along
    return x


def least_squares(root: Array, right: Array) -> Array:
    """``P^T x = right`` with the smallest x (6.2.17a), ``P qdd = x`` as near as can be (6.2.17b); P (..., m, n).

    With ``P = Q R``, Q's columns orthonormal, made by Gram & Schmidt's modified process: ``x = Q inv(R^T) right``, and
    ``qdd = inv(R) Q^T x = inv(R) inv(R^T) right``. The squares of ``D = P^T P`` are never formed.

    >>> P = np.array([[3.0, 1.0], [0.0, 2.0], [0.0, 0.0], [4.0, 0.0]])
    >>> qdd = least_squares(P, np.array([1.0, 2.0]))
    >>> (P.T @ P @ qdd).round(12)
    array([1., 2.])
    """
    n = right.shape[-1]
    rest, triangle = root.copy(), np.zeros((*root.shape[:-2], n, n), root.dtype)
    for k in range(n):
        length = _root(_dot(rest[..., :, k], rest[..., :, k]))
        unit = rest[..., :, k] / length
        triangle[..., k, k : k + 1] = length
        triangle[..., k, k + 1 :] = row = (unit[..., :, None] * rest[..., :, k + 1 :]).sum(axis=-2)
        rest[..., :, k + 1 :] -= unit[..., :, None] * row[..., None, :]
    y = np.zeros(np.broadcast_shapes(right.shape, triangle.shape[:-1]), np.result_type(right, triangle))
    found = y.copy()
    for k in range(n):  # R^T y = right: y are the components of x along the columns of Q
        left = right[..., k : k + 1] - _dot(triangle[..., :k, k], y[..., :k])
        y[..., k : k + 1] = left / triangle[..., k, k : k + 1]
    for k in reversed(range(n)):  # R qdd = y
        left = y[..., k : k + 1] - _dot(triangle[..., k, k + 1 :], found[..., k + 1 :])
        found[..., k : k + 1] = left / triangle[..., k, k : k + 1]
    return found


def _root(square: Array) -> Array:
    """(..., 1)."""
    if square.dtype != object:
        return np.sqrt(square)
    return np.array([sqrt(x) for x in square.ravel()], object).reshape(square.shape)


def _dot(a: Array, b: Array) -> Array:
    """(..., 1)."""
    return (a * b).sum(axis=-1, keepdims=True)


def _ratio(above: Array, below: Array) -> Array:
    """Of (..., 1); 0 where there is nothing left to divide."""
    if below.dtype == object:
        return above / below
    left = below != 0.0
    return np.where(left, above / np.where(left, below, 1.0), 0.0)
