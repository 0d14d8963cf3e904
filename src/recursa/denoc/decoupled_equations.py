"""The matrices and forces of ``I qdd + C qd = tau``, and I in factors. Saha (20)-(30), (46)-(55)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa.denoc import forward, in_base, inertia_and_convection, inverse_dynamics
from recursa.evaluation.evaluator import NO_OPTIONS
from recursa.sweeps.batching import Array, cut

if TYPE_CHECKING:
    from recursa.robot import Robot


def generalized_inertia(robot: Robot, q: ArrayLike, *, out: Array | None = None, threads: int | None = None) -> Array:
    """The generalised inertia matrix I (..., nv, nv): ``I_ij = p_i^T Mt_i B_ij p_j`` (24), and armature.

    With composite masses ``Mt_i = M_i + B^T Mt_{i+1} B`` (23b). As :meth:`Robot.mass_matrix` with ``method="denoc"``.

    >>> import recursa as rc
    >>> rc.denoc.generalized_inertia(rc.robots.stanford(), [0, np.pi / 2, 0, 0, 0, 0])[0].round(12) + 0.0
    array([1.4815, 0.    , 0.61  , 0.    , 0.    , 0.    ])
    """
    return robot.mass_matrix(q, method="denoc", out=out, threads=threads)


def convective_matrix(
    robot: Robot, q: ArrayLike, v: ArrayLike, *, out: Array | None = None, threads: int | None = None
) -> Array:
    """The matrix C (..., nv, nv) of convective inertia terms, element by element (28), (29).

    ``C = N^T (M Ndot + Mdot N)`` (20). ``C v`` is the bias without gravity and springs, and ``dI/dt - 2 C`` is skew,
    as with :meth:`Robot.coriolis_matrix`, but the two differ: C is not made of Christoffel symbols.

    >>> import recursa as rc
    >>> robot = rc.robots.stanford()
    >>> q, v = robot.random_state(1)
    >>> C = rc.denoc.convective_matrix(robot, q, v)
    >>> bool(np.allclose(C @ v, robot.bias_forces(q, v) - robot.gravity_forces(q)))
    True
    >>> bool(np.allclose(C, robot.coriolis_matrix(q, v)))
    False
    """
    return robot.evaluator.evaluate(
        inertia_and_convection.CONVECTIVE_MATRIX, {"q": q, "v": v}, NO_OPTIONS, out, threads
    )


def generalized_forces(
    robot: Robot, q: ArrayLike, wrenches: Any = None, *, out: Array | None = None, threads: int | None = None
) -> Array:
    """``N^T w^E`` (..., nv) of gravity and of wrenches on links: ``tau_i = p_i^T wt_i``, ``wt = w + B^T wt`` (30).

    O(n). ``wrenches`` as in :meth:`Robot.inverse_dynamics`. The torques of the motors are
    ``I qdd + C qd - generalized_forces``, and what springs of joints take.

    >>> import recursa as rc
    >>> robot = rc.robots.stanford()
    >>> q, v = robot.random_state(1)
    >>> push = [rc.Wrench(force=(1.0, 2.0, 3.0), at="link6")]
    >>> I, C = rc.denoc.generalized_inertia(robot, q), rc.denoc.convective_matrix(robot, q, v)
    >>> tau = I @ v + C @ v - rc.denoc.generalized_forces(robot, q, push)
    >>> bool(np.allclose(tau, robot.inverse_dynamics(q, v, v, wrenches=push)))
    True
    """
    return robot.evaluator.evaluate(
        inverse_dynamics.GENERALIZED_FORCES, {"q": q, "wrenches": wrenches}, NO_OPTIONS, out, threads
    )


# ---- I in factors ----------------------------------------------------------------------------------------------------


class Articulated(NamedTuple):
    """What the elimination leaves per link: Mh (..., n, 6, 6), mh (..., nv), psi (..., 6, nv)."""

    masses: Array
    pivots: Array
    psi: Array


def articulated(robot: Robot, q: ArrayLike, *, threads: int | None = None) -> Articulated:
    """Articulated-body masses Mh_i about C_i in world axes, pivots mh_i and multipliers psi_i (47)-(50), in O(n).

    ``Mh_i = M_i + B^T (Mh - psih psi^T) B``, ``psih = Mh p``, ``mh = p^T psih`` (with armature), ``psi = psih/mh``.
    mh_i is the inertia about axis i, or the mass along it, of the chain outward with its joints free.

    >>> import recursa as rc
    >>> rc.denoc.articulated(rc.robots.stanford(), [0, np.pi / 2, 0, 0, 0, 0]).pivots.round(12)
    array([1.4205e+00, 1.3465e+00, 6.1000e+00, 1.2000e-03, 1.5000e-03,
           2.0000e-03])
    """
    n, nv = robot.nbodies, robot.nv
    flat = robot.evaluator.evaluate(in_base.MASSES, {"q": q}, threads=threads)
    masses, pivots, psi = cut(flat, [36 * n, 36 * n + nv])
    batch = flat.shape[:-1]
    return Articulated(
        masses.reshape(*batch, n, 6, 6), pivots.copy(), np.swapaxes(psi.reshape(*batch, nv, 6), -1, -2).copy()
    )


class Factors(NamedTuple):
    """``I = U D U^T``, both (..., nv, nv): U unit upper triangular, D diagonal."""

    U: Array
    D: Array


def udu(robot: Robot, q: ArrayLike, *, threads: int | None = None) -> Factors:
    """The factors of ``I = U D U^T`` without forming I: ``U_ik = p_i^T B_ki^T psi_k`` (46), ``D = diag(mh)``.

    This is the innovations factorisation, ``U = I + H phi K``: :attr:`Factorization.factor` and its D, for joints of
    one freedom to the letter. Joints of several are eliminated freedom by freedom here, so that D is diagonal.

    >>> import recursa as rc
    >>> robot = rc.robots.puma560()
    >>> q, v = robot.random_state(1)
    >>> U, D = rc.denoc.udu(robot, q)
    >>> bool(np.allclose(U @ D @ U.T, robot.mass_matrix(q))), bool(np.allclose(U, robot.factorization(q).factor))
    (True, True)
    """
    pivots = articulated(robot, q, threads=threads).pivots
    U = robot.evaluator.evaluate(forward.FACTOR, {"q": q}, threads=threads)
    return Factors(U, pivots[..., None] * np.eye(robot.nv))
