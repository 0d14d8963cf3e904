"""The generalised inertia matrix I and the convective matrix C of ``I qdd + C qd = tau``, Saha (22)-(29).

Entries for which no link is outward of the other are zero. Forces of one freedom travel inward with the sweep, as
everywhere in this library: ``B_ji^T (Mt_j p_j)`` is what joint i meets of freedom j.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa.book.on_axes import Centred
from recursa.denoc.inverse_dynamics import TORQUE, drift, link_wrench
from recursa.denoc.mass_centers import (
    BUFFERS,
    GEOMETRY,
    MOTION,
    TWIST,
    Hinge,
    Shift,
    carried,
    require_mass_centers,
    rigid,
)
from recursa.dynamics.coriolis import CoriolisInertia
from recursa.dynamics.gathering import Entries, Entry, columns_of, matrix_of
from recursa.dynamics.inverse import ROTORS
from recursa.dynamics.mass_matrix import Columns, own_columns, rows_along
from recursa.errors import RecursaError, ShapeError, SingularMatrixError
from recursa.model.may_move import MayMove
from recursa.model.model import Joint
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.inertia import Force, Motion, RigidInertia
from recursa.spatial.mat3 import Mat3
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, tip_to_base
from recursa.sweeps.batching import Array


def composite(children: RigidInertia, link: Centred, B: Shift) -> tuple[RigidInertia, RigidInertia]:
    """``Mt_i = M_i + B^T Mt_{i+1} B`` (23b) about C_i, and its share at the parent."""
    total = children + rigid(link)
    return total, B.rigid(total)


def inertia_rows(
    joint: Joint, number: int, p: Hinge, total: RigidInertia, below: Columns, B: Shift
) -> tuple[Entries, Columns]:
    """``I_ij = p_i^T Mt_i B_ij p_j`` (24): the joint's rows, and the forces of the subtree carried to the parent."""
    own = own_columns(number, total, p)
    entries = rows_along(p, joint.armature, number, own, below)
    return entries, tuple((key, B.wrench(force)) for key, force in (*own, *below))


COMPOSITE = Step(composite, ("Mt", "link", "B"), ("Mt", "Mt@parent"), "Mt = M + sum of B^T Mt B     (23b)")
_BUFFERS = (*BUFFERS, Buffer("Mt", RigidInertia.zero()), Buffer("F", ()), Buffer("rows", ()))

GENERALIZED_INERTIA = Plan(
    "generalized_inertia, denoc",
    _BUFFERS,
    (
        base_to_tip(*GEOMETRY),
        tip_to_base(
            COMPOSITE,
            Step(
                inertia_rows,
                ("joint", "number", "p", "Mt", "F", "B"),
                ("rows", "F@parent"),
                "I_ij = p_i^T Mt_i B_ij p_j   (24)",
            ),
        ),
    ),
)


def inertia_wrench(link: Centred, s: Motion) -> Force:
    """``M s``."""
    return rigid(link) @ s


NX = Step(TWIST.fn, ("p", "B", "s@parent", "a"), ("s",), "s = N x: s = B s(parent) + p x")
_TIMES_BUFFERS = (*BUFFERS, Buffer("s", Motion.zero()), Buffer("sd", Motion.zero()))

INERTIA_TIMES = Plan(
    "generalized_inertia times a vector, denoc",
    _TIMES_BUFFERS,
    (
        base_to_tip(*GEOMETRY, NX, Step(inertia_wrench, ("link", "s"), ("gam",), "M N x")),
        tip_to_base(TORQUE, ROTORS),
    ),
)
"""``I x = N^T M N x (+ A x)`` (20), in O(n); x comes as a."""


# ---- C: (25)-(29) ----------------------------------------------------------------------------------------------------
# Sums over the links outward of i, of B_ki^T M_k Bdot_ki and of Mdot_k, have a zero right half, and a lower left block
# that is skew: the form of CoriolisInertia. Here L_i is both sums together: Mdt_i + sum of B^T H over the children.


def link_rate(link: Centred, t: Motion) -> CoriolisInertia:
    """``Mdot_i = diag(~w I, O)`` (8); with the true dM/dt instead, ``dI/dt - 2 C`` would not be skew."""
    return CoriolisInertia(Mat3.of(link.moment).cross_columns(t.angular), ZERO)


def shift_rate_share(mass: RigidInertia, cdot: Vec3) -> CoriolisInertia:
    """``Mt_i Bdot_{i,i-1} = [[~h ~cdot, 0], [m ~cdot, 0]]``."""
    return CoriolisInertia(Mat3.skew(cdot).cross_columns(mass.first), -(cdot * mass.mass))


def composite_rate(
    children: CoriolisInertia, link: Centred, t: Motion, total: RigidInertia, cdot: Vec3, B: Shift
) -> tuple[CoriolisInertia, CoriolisInertia]:
    """L_i, and the parent's share ``B^T (H_{i,i-1} + Mdt_i)``, ``H_{i,i-1} = Mt_i Bdot + sum of B^T H`` (28)."""
    own = children + link_rate(link, t)
    return own, (own + shift_rate_share(total, cdot)).carried(B.general())


class Convected(NamedTuple):
    """What joints inward meet of one freedom j of (29)."""

    column: Force  # (Mt_j Omega_j + L_j) p_j: c_ij for i inward
    row: Force  # Mt_j p_j: c_ji for i inward, times B_ji Omega_i p_i
    moment: Vec3  # what of c_ji the angular half of p_i meets

    def moved(self, B: Shift) -> Convected:
        """To the parent; the moment belongs to no point."""
        return Convected(B.wrench(self.column), B.wrench(self.row), B.turn.rotate(self.moment))


def convective_rows(
    number: int,
    p: Hinge,
    t: Motion,
    total: RigidInertia,
    rates: CoriolisInertia,
    below: tuple[tuple[Entry, Convected], ...],
    B: Shift,
) -> tuple[Entries, tuple[tuple[Entry, Convected], ...]]:
    """Entries of C (29) that pair this joint with itself and those outward."""
    own, entries = [], []
    turning = [carried(t.angular, column) for column in p]  # Omega p
    for i, (column, rate) in enumerate(zip(p, turning, strict=True)):
        row = total @ column
        # p_j^T Mt_j Bdot_ji p_i has cdot = v_i - v_j; what depends on j alone goes along
        moment = rates.transpose_times(column).moment + t.linear.cross(row.force)
        own.append(((number, i), Convected(total @ rate + rates @ column, row, moment)))
    for i, (column, rate) in enumerate(zip(p, turning, strict=True)):
        here = (number, i)
        for key, outer in (*own, *below):
            entries.append(((here, key), column.dot(outer.column)))  # i <= j
        for key, outer in below:
            moment = outer.moment + outer.row.force.cross(t.linear)
            entries.append(((key, here), rate.dot(outer.row) + column.angular.dot(moment)))  # i > j
    return tuple(entries), tuple((key, outer.moved(B)) for key, outer in (*own, *below))


CONVECTIVE_MATRIX_PLAN = Plan(
    "convective_matrix, denoc",
    (*_BUFFERS, Buffer("L", CoriolisInertia.zero())),
    (
        base_to_tip(*MOTION),
        tip_to_base(
            COMPOSITE,
            Step(
                composite_rate,
                ("L", "link", "t", "Mt", "cdot", "B"),
                ("L", "L@parent"),
                "Mdt = Mdot + sum of Mdt, H = Mt Bdot + sum of B^T H    (28)",
            ),
            Step(
                convective_rows,
                ("number", "p", "t", "Mt", "L", "F", "B"),
                ("rows", "F@parent"),
                "c_ij = p_i^T (B_ji^T Mt_j Omega_j + B_{j+1,i}^T H_{j+1,j} + Mdt_j) p_j and the like    (29)",
            ),
        ),
    ),
)


# ---- the same as a product with a vector, in O(n) --------------------------------------------------------------------


CONVECTIVE_TIMES = Plan(
    "convective_matrix times a vector, denoc",
    _TIMES_BUFFERS,
    (
        base_to_tip(
            *MOTION,
            NX,
            Step(
                drift,
                ("p", "B", "s@parent", "sd@parent", "cdot", "t", "a"),
                ("sd",),
                "sd = Ndot x: sd = Omega p x + B sd(parent) + Bdot s(parent)",
            ),
            Step(link_wrench, ("link", "t", "s", "sd"), ("gam",), "M Ndot x + Mdot N x"),
        ),
        tip_to_base(TORQUE),
    ),
)
"""``C x = N^T (M Ndot + Mdot N) x`` (20), in O(n); x comes as a."""


# ---- quantities ------------------------------------------------------------------------------------------------------


def _convective_matrix(of: Subject, given: Names) -> Recipe:
    model = of.model
    return Recipe(
        CONVECTIVE_MATRIX_PLAN,
        matrix_of(model, symmetric=False),
        (model.nv, model.nv),
        MayMove.FRAMES,
        looped=columns_of(model, CONVECTIVE_TIMES, "T", "a"),
        require=require_mass_centers,
    )


CONVECTIVE_MATRIX = Quantity(
    "denoc.convective_matrix",
    ("q", "v"),
    _convective_matrix,
    "times v: N m for rotations, N for translations; rows and columns as in v",
)


# ---- gaussian elimination of a symmetric matrix from its last row up. Saha (40)-(45) ---------------------------------


class EliminationStep(NamedTuple):
    """One step of the reverse Gaussian elimination: row ``row`` times ``multipliers`` is taken off the rows above."""

    row: int
    pivot: Array  # (...)
    multipliers: Array  # (..., row): alpha of each row above
    matrix: Array  # (..., n, n): what the matrix then is


class ReverseElimination(NamedTuple):
    """U, D with ``matrix = U D U^T``, and the steps that led there."""

    U: Array
    D: Array
    steps: tuple[EliminationStep, ...]


def reverse_gaussian_elimination(matrix: ArrayLike) -> ReverseElimination:
    """Gaussian elimination of a symmetric matrix (..., n, n) from its last row up, step by step (40)-(45).

    In step k, ``alpha_ik`` times row k is subtracted from each row i above it, ``alpha_ik = m_ik / m_kk``. What remains
    is lower triangular, ``D U^T``; the multipliers are the columns of U. No rows are exchanged: that is for matrices
    that are positive definite, and a pivot of 0 is a SingularMatrixError. O(n^3); :func:`udu` does the same in O(n).

    >>> import recursa as rc
    >>> U, D, steps = rc.denoc.reverse_gaussian_elimination([[3.0, 1.0], [1.0, 2.0]])
    >>> steps[0].row, steps[0].multipliers, steps[0].matrix
    (1, array([0.5]), array([[2.5, 0. ],
           [1. , 2. ]]))
    >>> U @ D @ U.T
    array([[3., 1.],
           [1., 2.]])
    """
    left = _symmetric(matrix)
    n = left.shape[-1]
    U, steps = np.broadcast_to(np.eye(n), left.shape).copy(), []
    for k in reversed(range(n)):
        pivot = left[..., k, k]
        if np.any(pivot == 0.0):
            raise SingularMatrixError(
                f"reverse Gaussian elimination: the pivot of row {k} is 0 (needs > 0). "
                "The matrix is not positive definite, and rows are not exchanged"
            )
        if k == 0:
            break
        alpha = left[..., :k, k] / pivot[..., None]
        left = left.copy()
        left[..., :k, :] -= alpha[..., None] * left[..., k, None, :]
        left[..., :k, k] = 0.0  # exactly
        U[..., :k, k] = alpha
        steps.append(EliminationStep(k, pivot, alpha, left))
    return ReverseElimination(U, left * np.eye(n), tuple(steps))


def _symmetric(matrix: ArrayLike) -> Array:
    """The matrix as floats, if it is square, finite and symmetric."""
    try:
        given = np.array(matrix, dtype=float)
    except (TypeError, ValueError):
        raise RecursaError("reverse Gaussian elimination: the matrix is not an array of numbers") from None
    if given.ndim < 2 or given.shape[-1] != given.shape[-2]:
        raise ShapeError(f"reverse Gaussian elimination: the matrix has shape {given.shape}, expected (..., n, n)")
    if given.size and not np.isfinite(given).all():
        raise RecursaError("reverse Gaussian elimination: the matrix has entries that are not finite")
    gap = np.abs(given - np.swapaxes(given, -1, -2)).max(initial=0.0)
    if gap > 1e-8 * np.abs(given).max(initial=0.0):
        raise RecursaError(f"reverse Gaussian elimination: the matrix is not symmetric, entries differ by {gap:.3g}")
    return given
