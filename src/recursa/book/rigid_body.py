"""One rigid body in the language of tensors: rates, mass distribution, angular momentum, torque.

Chapter 4 of Balafoutis & Patel (1991); numbers such as (4.3.44) are that book's. ``_vector`` or ``_tensor`` in a name
says which formulation it follows, ``_inertia`` or ``_euler`` which of the two tensors below it takes. Everything in one
call is in the same axes, inertial or body: the relations hold in either.

Two symmetric tensors describe the mass distribution about a point, both as a ``SymMat3`` of matrix entries:

    inertia tensor  I = Int (r.r 1 - r (x) r) dm = -Int ~r ~r dm    (4.3.3), (4.3.5)    I_12 = -Int x y dm
    Euler tensor    J = Int r (x) r dm                              (4.3.4)             J_12 = +Int x y dm

Data sets that list "products of inertia" as ``+Int x y dm`` need a change of sign before they are an I.

Throughout: w angular velocity, wd its derivative, ``Omega = ~wd + ~w ~w``, c the mass centre, o any point of the body,
``com`` the vector from o to c.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recursa.book.tensors import dual, skew_part, wedge
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.mat3 import Mat3, array_of
from recursa.spatial.rotation import Rotation
from recursa.spatial.scalars import Scalar, one_operand
from recursa.spatial.vec3 import SymMat3, Vec3

# ---- rates of rotation -----------------------------------------------------------------------------------------------


def angular_velocity_tensor(rotation: Rotation, rotation_dot: Mat3) -> Mat3:
    """``~w = Rdot R^T`` in reference axes (4.2.6); its dual is w. (``R^T Rdot`` would be that of the body components.)

    >>> angular_velocity_tensor(Rotation.identity(), Mat3.skew(Vec3(1.0, 2.0, 3.0))).x
    Vec3(x=0.0, y=-3.0, z=2.0)
    """
    return rotation_dot @ rotation.T


def angular_acceleration_tensor(w: Vec3, wd: Vec3) -> Mat3:
    """``Omega = ~wd + ~w ~w`` (4.2.12), 6 mul 9 add: the upper products serve the lower triangle.

    Skew part ``~wd``, symmetric part ``~w ~w``, so ``vect(Omega) = wd`` (4.2.14).

    >>> angular_acceleration_tensor(Vec3(1.0, 2.0, 3.0), Vec3(4.0, 5.0, 6.0))[0]
    Vec3(x=-13.0, y=-4.0, z=8.0)
    """
    xx, yy, zz = w.x * w.x, w.y * w.y, w.z * w.z
    xy, xz, yz = w.x * w.y, w.x * w.z, w.y * w.z
    return Mat3(
        Vec3(-(yy + zz), xy - wd.z, xz + wd.y),
        Vec3(xy + wd.z, -(xx + zz), yz - wd.x),
        Vec3(xz - wd.y, yz + wd.x, -(xx + yy)),
    )


def angular_acceleration_tensor_from_rotation(rotation: Rotation, rotation_ddot: Mat3) -> Mat3:
    """``Omega = Rddot R^T`` in reference axes (4.2.13).

    >>> angular_acceleration_tensor_from_rotation(Rotation.identity(), Mat3.skew(Vec3(1.0, 2.0, 3.0))).x
    Vec3(x=0.0, y=-3.0, z=2.0)
    """
    return rotation_ddot @ rotation.T


def rate_tensor(q: np.ndarray, q_dot: np.ndarray) -> np.ndarray:
    """``Phi = Qdot Q^T`` of an orthogonal Q(t) in any dimension, skew, ``Qdot = Phi Q`` (Theorem 4.1). NumPy arrays.

    >>> rate_tensor(np.eye(2), np.array([[0.0, -3.0], [3.0, 0.0]])).tolist()
    [[0.0, -3.0], [3.0, 0.0]]
    """
    return np.asarray(q_dot) @ np.swapaxes(q, -1, -2)


def second_rate_tensor(phi: np.ndarray, phi_dot: np.ndarray) -> np.ndarray:
    """``Psi = Phidot + Phi^2`` in any dimension, with ``Qddot = Psi Q`` (Theorem 4.2). NumPy arrays.

    >>> second_rate_tensor(np.array([[0.0, -3.0], [3.0, 0.0]]), np.zeros((2, 2))).tolist()
    [[-9.0, 0.0], [0.0, -9.0]]
    """
    return np.asarray(phi_dot) + np.asarray(phi) @ phi


# ---- points of the body: r is the vector from o to the point, constant in the body -----------------------------------


def point_velocity_vector(velocity: Vec3, w: Vec3, r: Vec3) -> Vec3:
    """Velocity at r from that of o: ``sdot + w x r`` (4.2.23).

    >>> point_velocity_vector(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 0.0, 2.0), Vec3(3.0, 0.0, 0.0))
    Vec3(x=1.0, y=6.0, z=0.0)
    """
    return velocity + w.cross(r)


def point_velocity_tensor(velocity: Vec3, w_tensor: Mat3, r: Vec3) -> Vec3:
    """Velocity at r from that of o: ``sdot + ~w r`` (4.2.19).

    >>> point_velocity_tensor(Vec3(1.0, 0.0, 0.0), dual(Vec3(0.0, 0.0, 2.0)), Vec3(3.0, 0.0, 0.0))
    Vec3(x=1.0, y=6.0, z=0.0)
    """
    return velocity + w_tensor @ r


def point_acceleration_vector(acceleration: Vec3, w: Vec3, wd: Vec3, r: Vec3) -> Vec3:
    """Acceleration at r from that of o: ``sddot + wd x r + w x (w x r)`` (4.2.24), 18 mul 15 add.

    >>> point_acceleration_vector(Vec3(0.0, 0.0, 9.0), Vec3(0.0, 0.0, 2.0), Vec3(0.0, 0.0, 1.0), Vec3(3.0, 0.0, 0.0))
    Vec3(x=-12.0, y=3.0, z=9.0)
    """
    return acceleration + (wd.cross(r) + w.cross(w.cross(r)))


def point_acceleration_tensor(acceleration: Vec3, omega: Mat3, r: Vec3) -> Vec3:
    """Acceleration at r from that of o: ``sddot + Omega r`` (4.2.20), 9 mul 9 add once Omega is known.

    >>> omega = angular_acceleration_tensor(Vec3(0.0, 0.0, 2.0), Vec3(0.0, 0.0, 1.0))
    >>> point_acceleration_tensor(Vec3(0.0, 0.0, 9.0), omega, Vec3(3.0, 0.0, 0.0))
    Vec3(x=-12.0, y=3.0, z=9.0)
    """
    return acceleration + omega @ r


# ---- mass distribution -----------------------------------------------------------------------------------------------


def euler_from_inertia(inertia: SymMat3) -> SymMat3:
    """Euler tensor about the same point: ``J = (1/2) tr(I) 1 - I`` (4.3.6), (4.3.12), (4.3.13).

    A real body has J positive semidefinite, which is the triangle inequality of the principal moments.

    >>> euler_from_inertia(SymMat3(3.0, 4.0, 5.0, 0.1, 0.2, 0.3))
    SymMat3(xx=3.0, yy=2.0, zz=1.0, xy=-0.1, xz=-0.2, yz=-0.3)
    """
    return (-inertia).plus_diagonal(0.5 * inertia.trace())


def inertia_from_euler(euler: SymMat3) -> SymMat3:
    """Inertia tensor about the same point: ``I = tr(J) 1 - J`` (4.3.7), by components (4.3.14), 3 add.

    >>> inertia_from_euler(SymMat3(3.0, 2.0, 1.0, -0.1, -0.2, -0.3))
    SymMat3(xx=3.0, yy=4.0, zz=5.0, xy=0.1, xz=0.2, yz=0.3)
    """
    j = euler
    return SymMat3(j.yy + j.zz, j.xx + j.zz, j.xx + j.yy, -j.xy, -j.xz, -j.yz)


def inertia_about(inertia_c: SymMat3, mass: Scalar, com: Vec3) -> SymMat3:
    """Parallel axes: ``I_o = I_c + m (r.r 1 - r (x) r) = I_c - m ~r ~r`` with r = com from o (4.3.8), (4.3.9).

    >>> inertia_about(SymMat3.diagonal(1.0, 1.0, 1.0), 2.0, Vec3(3.0, 0.0, 0.0)).zz
    19.0
    """
    return RigidInertia.from_com(mass, com, inertia_c).moment


def euler_about(euler_c: SymMat3, mass: Scalar, com: Vec3) -> SymMat3:
    """Parallel axes: ``J_o = J_c + m r (x) r`` with r = com from o (Theorem 4.3: 4.3.10).

    >>> euler_about(SymMat3.diagonal(1.0, 1.0, 1.0), 2.0, Vec3(3.0, 0.0, 0.0)).xx
    19.0
    """
    return euler_c + SymMat3.dyad(com, mass)


def body_tensor_rotated(tensor: SymMat3, rotation: Rotation) -> SymMat3:
    """I or J from body to reference axes: ``R T' R^T`` (4.3.15).

    >>> body_tensor_rotated(SymMat3.diagonal(1.0, 2.0, 3.0), Rotation(0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0)).xx
    2.0
    """
    return rotation.symmetric(tensor)


def body_tensor_rate(tensor: SymMat3, w: Vec3) -> SymMat3:
    """Time derivative of I or J in inertial axes, about any point of the body: ``~w T - T ~w`` (4.3.16)-(4.3.19).

    >>> body_tensor_rate(SymMat3.diagonal(1.0, 2.0, 3.0), Vec3(0.0, 0.0, 1.0)).xy
    -1.0
    """
    a = Mat3.of(tensor).cross_columns(w)  # ~w T; the other half is its transpose, as T is symmetric and ~w skew
    return SymMat3(2.0 * a.x.x, 2.0 * a.y.y, 2.0 * a.z.z, a.x.y + a.y.x, a.x.z + a.z.x, a.y.z + a.z.y)


@one_operand
class PseudoInertia(NamedTuple):
    """The 4x4 matrix ``[[J_o, m r], [m r^T, m]]`` of homogeneous coordinates, by its ten numbers (5.2.3).

    Not the Euler tensor: that is the 3x3 block J_o alone. (The word "pseudo-inertia" is used for both in print; here it
    means the 4x4 matrix only.) It is no Cartesian tensor: a displacement W acts on it as ``W P W^T``.

    >>> body = RigidInertia.from_com(2.0, Vec3(0.5, 0.0, 0.0), SymMat3.diagonal(0.1, 0.2, 0.3))
    >>> PseudoInertia.from_rigid(body).array().shape
    (4, 4)
    >>> PseudoInertia.from_rigid(body).first
    Vec3(x=1.0, y=0.0, z=0.0)
    """

    euler: SymMat3
    first: Vec3
    mass: Scalar

    @staticmethod
    def from_rigid(rigid: RigidInertia) -> PseudoInertia:
        """From the spatial inertia about the same origin, in the same axes."""
        return PseudoInertia(euler_from_inertia(rigid.moment), rigid.first, rigid.mass)

    def rigid(self) -> RigidInertia:
        """The spatial inertia about the same origin, in the same axes."""
        return RigidInertia(self.mass, self.first, inertia_from_euler(self.euler))

    def array(self) -> np.ndarray:
        """A NumPy array of shape (..., 4, 4)."""
        rows = [(*row, h) for row, h in zip(self.euler.rows(), self.first, strict=True)]
        return array_of([*rows, (*self.first, self.mass)])


# ---- angular momentum ------------------------------------------------------------------------------------------------
# The four short forms hold about the mass centre (I_c, J_c) and about a point o of the body at rest (I_o, J_o).


def angular_momentum_general(
    mass: Scalar, inertia: SymMat3, w: Vec3, position: Vec3, velocity: Vec3, com: Vec3
) -> Vec3:
    """About a fixed origin, of a body in any motion (4.3.20); ``inertia`` about a point o of the body.

        L = m s x (sdot + w x r_c) + m r_c x sdot + I_o w       s, sdot: position and velocity of o; r_c = com from o

    >>> zero, up = Vec3.zero(), Vec3(0.0, 0.0, 1.0)
    >>> angular_momentum_general(2.0, SymMat3.zero(), up, Vec3(3.0, 0.0, 0.0), Vec3(0.0, 5.0, 0.0), zero).z
    30.0
    """
    linear = (velocity + w.cross(com)) * mass
    return position.cross(linear) + (com.cross(velocity) * mass + inertia @ w)


def angular_momentum_vector_inertia(inertia: SymMat3, w: Vec3) -> Vec3:
    """``L = I w`` about c or a point at rest (4.3.22), (4.3.23).

    >>> angular_momentum_vector_inertia(SymMat3.diagonal(1.0, 2.0, 3.0), Vec3(1.0, 1.0, 1.0))
    Vec3(x=1.0, y=2.0, z=3.0)
    """
    return inertia @ w


def angular_momentum_vector_euler(euler: SymMat3, w: Vec3) -> Vec3:
    """``L = tr(J) w - J w`` about c or a point at rest (4.3.26).

    >>> angular_momentum_vector_euler(SymMat3.diagonal(1.0, 2.0, 3.0), Vec3(1.0, 1.0, 1.0))
    Vec3(x=5.0, y=4.0, z=3.0)
    """
    return w * euler.trace() - euler @ w


def angular_momentum_tensor_inertia(inertia: SymMat3, w: Vec3) -> Mat3:
    """``~L = [~w I]^T - ~w I + tr(I) ~w`` about c or a point at rest (Theorem 4.4: 4.3.28, 4.3.31).

    >>> angular_momentum_tensor_inertia(SymMat3.diagonal(1.0, 2.0, 3.0), Vec3(1.0, 1.0, 1.0)).x
    Vec3(x=0.0, y=-3.0, z=2.0)
    """
    p = dual(w) @ inertia
    return p.T - p + dual(w) * inertia.trace()


def angular_momentum_tensor_euler(euler: SymMat3, w: Vec3) -> Mat3:
    """``~L = J ~w - [J ~w]^T`` about c or a point at rest (4.3.30), (4.3.32).

    >>> angular_momentum_tensor_euler(SymMat3.diagonal(1.0, 2.0, 3.0), Vec3(1.0, 1.0, 1.0)).x
    Vec3(x=0.0, y=-3.0, z=4.0)
    """
    p = Mat3.of(euler) @ dual(w)
    return p - p.T


def angular_momentum_transfer(momentum_c: Vec3, mass: Scalar, com: Vec3, com_velocity: Vec3) -> Vec3:
    """From the mass centre to a fixed point: ``L_o = L_c + m r_c x r_cdot`` (4.3.24), (4.3.25).

    >>> angular_momentum_transfer(Vec3.zero(), 2.0, Vec3(3.0, 0.0, 0.0), Vec3(0.0, 5.0, 0.0)).z
    30.0
    """
    return momentum_c + com.cross(com_velocity) * mass


# ---- torque ----------------------------------------------------------------------------------------------------------
# VALID about the mass centre (I_c, J_c) or about a point fixed in inertial space (I_o, J_o), only there. For any other
# point of the body add the term of ``torque_about_moving_point``: the plain forms are wrong there by m r_c x sddot.


def torque_vector_inertia(inertia: SymMat3, w: Vec3, wd: Vec3) -> Vec3:
    """``M = I wd + w x (I w)`` about c or a fixed point only (4.3.2), (4.3.35), 24 mul 18 add.

    >>> torque_vector_inertia(SymMat3.diagonal(1.0, 2.0, 3.0), Vec3(1.0, 1.0, 1.0), Vec3(1.0, 0.0, 0.0))
    Vec3(x=2.0, y=-2.0, z=1.0)
    """
    return inertia @ wd + w.cross(inertia @ w)


def torque_vector_euler(euler: SymMat3, w: Vec3, wd: Vec3) -> Vec3:
    """``M = tr(J) wd - [J wd + w x (J w)]`` about c or a fixed point only (4.3.38), (4.3.39).

    >>> torque_vector_euler(SymMat3.diagonal(2.0, 1.0, 0.0), Vec3(1.0, 1.0, 1.0), Vec3(1.0, 0.0, 0.0))
    Vec3(x=2.0, y=-2.0, z=1.0)
    """
    return wd * euler.trace() - (euler @ wd + w.cross(euler @ w))


def torque_tensor_inertia(inertia: SymMat3, omega: Mat3) -> Mat3:
    """``~M = [Omega I]^T - Omega I + tr(I) ~wd`` about c or a fixed point only (Theorem 4.5: 4.3.41, 4.3.43).

    >>> omega = angular_acceleration_tensor(Vec3(1.0, 1.0, 1.0), Vec3(1.0, 0.0, 0.0))
    >>> dual(torque_tensor_inertia(SymMat3.diagonal(1.0, 2.0, 3.0), omega))
    Vec3(x=2.0, y=-2.0, z=1.0)
    """
    p = omega @ inertia
    return p.T - p + skew_part(omega) * inertia.trace()  # ~wd is the skew part of Omega (4.2.12)


def torque_tensor_euler(euler: SymMat3, omega: Mat3) -> Mat3:
    """``~M = Omega J - [Omega J]^T`` about c or a fixed point only (4.3.42), (4.3.44).

    >>> omega = angular_acceleration_tensor(Vec3(1.0, 1.0, 1.0), Vec3(1.0, 0.0, 0.0))
    >>> dual(torque_tensor_euler(SymMat3.diagonal(2.0, 1.0, 0.0), omega))
    Vec3(x=2.0, y=-2.0, z=1.0)
    """
    p = omega @ euler
    return p - p.T


def torque_from_euler(euler: SymMat3 | Mat3, omega: Mat3) -> Vec3:
    """The vector of (4.3.44), ``M = 2 vect(Omega J)``, by the cheapest route; about c or a fixed point only.

    15 mul 15 add for a ``SymMat3``, which uses the symmetry of J; 18 mul 15 add for a general ``Mat3``.

    >>> omega = angular_acceleration_tensor(Vec3(1.0, 1.0, 1.0), Vec3(1.0, 0.0, 0.0))
    >>> torque_from_euler(SymMat3.diagonal(2.0, 1.0, 0.0), omega)
    Vec3(x=2.0, y=-2.0, z=1.0)
    """
    (o11, o12, o13), (o21, o22, o23), (o31, o32, o33) = omega
    if isinstance(euler, Mat3):
        a, b, c = euler.T  # only the six entries of Omega J off the diagonal are needed
        x, y, z = omega
        return Vec3(z.dot(b) - y.dot(c), x.dot(c) - z.dot(a), y.dot(a) - x.dot(b))
    j = euler
    return Vec3(
        o32 * j.yy - o23 * j.zz + j.yz * (o33 - o22) + o31 * j.xy - o21 * j.xz,
        o13 * j.zz - o31 * j.xx + j.xz * (o11 - o33) + o12 * j.yz - o32 * j.xy,
        o21 * j.xx - o12 * j.yy + j.xy * (o22 - o11) + o23 * j.xz - o13 * j.yz,
    )


def torque_transfer(torque_c: Vec3, com: Vec3, force: Vec3) -> Vec3:
    """From the mass centre to the point o: ``M_o = M_c + r_c x F_c`` (4.3.36), F_c the whole force on the body.

    About a fixed point F_c is ``m Omega r_c``, which turns (4.3.2) into (4.3.35).

    >>> torque_transfer(Vec3.zero(), Vec3(2.0, 0.0, 0.0), Vec3(0.0, 3.0, 0.0)).z
    6.0
    """
    return torque_c + com.cross(force)


def torque_about_moving_point(torque: Vec3, mass: Scalar, com: Vec3, acceleration: Vec3) -> Vec3:
    """A torque form with I_o or J_o corrected for a point o that accelerates: ``M + m r_c x sddot``.

    ``m r_c`` is the first moment about o. The result is the moment about o of the mass times acceleration of all
    particles. Not in the book's chapter 4, whose forms it guards.

    >>> torque_about_moving_point(Vec3.zero(), 2.0, Vec3(3.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0)).z
    6.0
    """
    return torque + (com * mass).cross(acceleration)


def torque_tensor_about_moving_point(torque: Mat3, mass: Scalar, com: Vec3, acceleration: Vec3) -> Mat3:
    """The same for the tensor forms: ``~M + m (sddot (x) r_c - r_c (x) sddot)``.

    >>> dual(torque_tensor_about_moving_point(Mat3.zero(), 2.0, Vec3(3.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0))).z
    6.0
    """
    return torque + wedge(acceleration, com * mass)  # dual of m r_c x sddot (3.4.26d)


# ---- Newton and Euler together ---------------------------------------------------------------------------------------


def newton_euler_vector(
    mass: Scalar, inertia_c: SymMat3, w: Vec3, wd: Vec3, acceleration: Vec3, com: Vec3
) -> tuple[Vec3, Vec3]:
    """Force and torque (F_c, M_c) on a body, vector form: (4.2.24), (4.3.1), (4.3.2); 45 mul 33 add.

    ``acceleration`` is that of the body's point o, ``com`` the vector from o to c.

    >>> w, wd, rest = Vec3(1.0, 1.0, 1.0), Vec3(1.0, 0.0, 0.0), Vec3.zero()
    >>> newton_euler_vector(2.0, SymMat3.diagonal(1.0, 2.0, 3.0), w, wd, rest, Vec3(1.0, 0.0, 0.0))
    (Vec3(x=-4.0, y=2.0, z=2.0), Vec3(x=2.0, y=-2.0, z=1.0))
    """
    force = point_acceleration_vector(acceleration, w, wd, com) * mass
    return force, torque_vector_inertia(inertia_c, w, wd)


def newton_euler_tensor(
    mass: Scalar, euler_c: SymMat3 | Mat3, omega: Mat3, acceleration: Vec3, com: Vec3
) -> tuple[Vec3, Vec3]:
    """Force and torque (F_c, M_c) on a body, tensor form: (4.2.20), (4.3.1), (4.3.44).

    27 mul 24 add with a ``SymMat3``, 30 mul 24 add with a ``Mat3``; Omega (6 mul 9 add) is taken as known, since every
    point of the link shares it.

    >>> omega = angular_acceleration_tensor(Vec3(1.0, 1.0, 1.0), Vec3(1.0, 0.0, 0.0))
    >>> newton_euler_tensor(2.0, SymMat3.diagonal(2.0, 1.0, 0.0), omega, Vec3.zero(), Vec3(1.0, 0.0, 0.0))
    (Vec3(x=-4.0, y=2.0, z=2.0), Vec3(x=2.0, y=-2.0, z=1.0))
    """
    return point_acceleration_tensor(acceleration, omega, com) * mass, torque_from_euler(euler_c, omega)
