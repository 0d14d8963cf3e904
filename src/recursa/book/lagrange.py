"""Inverse dynamics by Lagrange's equations in Hollerbach's recursions: Algorithms 5.1 (4x4) and 5.2 (3x3 matrices).

``A_i' = dA_i/dq_i = A_i Q`` and ``A_i'' = A_i Q Q``: the joint's screw about z stands rightmost in A_i and commutes
with Q. The accelerations Wdd are in base axes, D_i half in link and half in base axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recursa.book.newton_euler import LinkRates, behind_joint, resting
from recursa.book.on_axes import CENTRED, IN_BASE, Centred, in_base_axes, two_sweeps
from recursa.book.rigid_body import PseudoInertia, euler_from_inertia
from recursa.model.model import Joint
from recursa.spatial.inertia import Force, RigidInertia
from recursa.spatial.mat3 import Mat3
from recursa.spatial.mat4 import Mat4, Vec4
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import ScrewChain, Transform
from recursa.spatial.vec3 import Z_AXIS, ZERO, Vec3
from recursa.sweeps import Buffer, Step

# ---- Algorithm 5.1: 4x4 matrices ("hollerbach-4x4") ------------------------------------------------------------------

_TURN_4 = Mat4.from_rows([[0.0, -1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0] * 4, [0.0] * 4])
_SLIDE_4 = Mat4.from_rows([[0.0] * 4, [0.0] * 4, [0.0, 0.0, 0.0, 1.0], [0.0] * 4])


def rate_matrix(joint: Joint) -> Mat4:
    """Q: ``dA_i/dq_i = A_i Q``."""
    return _SLIDE_4 if joint.kind.slides else _TURN_4


def pseudo_inertia(inertia: RigidInertia) -> Mat4:
    """``[[J_o, m r], [m r^T, m]]`` (5.2.3b)."""
    p = PseudoInertia.from_rigid(inertia)
    rows = [(*row, h) for row, h in zip(p.euler.rows(), p.first, strict=True)]
    return Mat4.from_rows([*rows, (*p.first, p.mass)])


def pseudo_reaction(external: Force) -> Mat4:
    """``Q = -[[-~n/2, 0], [f^T, 0]]`` of a wrench (n, f) on a link: ``tr[dW Q W^T]`` is minus its work in a motion dW.

    For ``dW = ~e W`` the trace of ``~e W ~n W^T / 2`` is minus ``e.(W n)``, since ``tr[~a ~b] = -2 a.b`` (3.4.16).
    """
    turning = Mat3.skew(external.moment * 0.5)
    return Mat4.from_rows([*((*row, 0.0) for row in turning), (*-external.force, 0.0)])


class Homogeneous(NamedTuple):
    """W_i, its first and second time derivative, and dW_i/dq_i."""

    W: Mat4
    Wd: Mat4
    Wdd: Mat4
    slope: Mat4


STILL = Homogeneous(Mat4.identity(), Mat4.zero(), Mat4.zero(), Mat4.zero())


def transforms(joint: Joint, A: Mat4, parent: Homogeneous, v: Sequence[Scalar], a: Sequence[Scalar]) -> Homogeneous:
    """Forward recursion (5.2.12a-c)."""
    above, above_d, above_dd, _ = parent
    A1 = A @ rate_matrix(joint)
    A2 = A1 @ rate_matrix(joint)
    slope = above @ A1
    return Homogeneous(
        above @ A,  # (5.2.12a)
        above_d @ A + slope * v[0],  # (5.2.12b)
        above_dd @ A + (above_d @ A1) * (2.0 * v[0]) + (above @ A2) * (v[0] * v[0]) + slope * a[0],  # (5.2.12c)
        slope,
    )


def homogeneous(step: ScrewChain) -> Mat4:
    """``A_i`` (2.3.1)."""
    return Mat4.from_rows(step.general().rows())


def own_terms(inertia: RigidInertia, here: Homogeneous) -> tuple[Mat4, Vec4]:
    """The link's own part of D_i and c_i."""
    return pseudo_inertia(inertia) @ here.Wdd.T, Vec4(*inertia.first, inertia.mass)


def reacting(D: Mat4, here: Homogeneous, external: Force) -> Mat4:
    """D_i with a wrench on the link: its part ``Q W^T`` beside ``J^ Wdd^T``."""
    return D + pseudo_reaction(external) @ here.W.T


def lagrange(A: Mat4, here: Homogeneous, D: Mat4, c: Vec4, gravity: Vec3) -> tuple[tuple[Scalar, ...], Mat4, Vec4]:
    """Backward recursion: tau_i, and the parent's sums."""
    down = Vec4(*gravity, 0.0)
    torque = here.slope.inner(D.T) - down.dot(here.slope @ c)  # (5.2.13c)
    return (torque,), A @ D, A @ c  # (5.2.13a, b)


HOMOGENEOUS = Step(homogeneous, ("X",), ("A",), "A_i   (2.3.1)")
TRANSFORMS = Step(transforms, ("joint", "A", "W4@parent", "v", "a"), ("W4",), "W, Wd, Wdd   (5.2.10), (5.2.12)")
HOLLERBACH_4X4 = two_sweeps(
    "hollerbach-4x4",
    (
        Buffer("A", Mat4.identity()),
        Buffer("W4", STILL),
        Buffer("D", Mat4.zero()),
        Buffer("c", Vec4(0.0, 0.0, 0.0, 0.0)),
    ),
    (
        HOMOGENEOUS,
        TRANSFORMS,
        Step(own_terms, ("inertia", "W4"), ("D", "c"), "J^ Wdd^T, m r^"),
        Step(reacting, ("D", "W4", "E"), ("D",), "D += Q W^T, Q of the wrench"),
    ),
    Step(
        lagrange,
        ("A", "W4", "D", "c", "gravity"),
        ("T", "D@parent", "c@parent"),
        "D = J^ Wdd^T + A D, c = m r^ + A c, tau = tr[W A' D] - g^T W A' c   (5.2.13)",
    ),
)


# ---- Algorithm 5.2: 3x3 matrices ("hollerbach-3x3"), with the prismatic joints that the book leaves out --------------

_TURN_3 = Mat3.from_rows([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0] * 3])


class Rotating(NamedTuple):
    """W_i, its derivatives, dW_i/dq_i, and the origin's acceleration (without gravity), base axes."""

    W: Mat3
    Wd: Mat3
    Wdd: Mat3
    slope: Mat3
    sdd: Vec3


def rotations(
    joint: Joint, step: ScrewChain, A: Mat3, parent: Rotating, v: Sequence[Scalar], a: Sequence[Scalar]
) -> Rotating:
    """Forward recursion (5.2.15a-d); a rotation does not change where the joint slides, ``A' = A'' = 0``."""
    above, above_d, above_dd, _, sdd = parent
    sdd = sdd + above_dd @ step.origin()  # (5.2.15d)
    W, Wd, Wdd = above @ A, above_d @ A, above_dd @ A  # (5.2.15a-c)
    if joint.kind.slides:
        z = A @ Z_AXIS
        sdd = sdd + (above_d @ z) * (2.0 * v[0]) + (above @ z) * a[0]  # added to (5.2.15d)
        return Rotating(W, Wd, Wdd, Mat3.zero(), sdd)
    A1 = A @ _TURN_3
    slope = above @ A1
    Wdd = Wdd + (above_d @ A1) * (2.0 * v[0]) + (slope @ _TURN_3) * (v[0] * v[0]) + slope * a[0]
    return Rotating(W, Wd + slope * v[0], Wdd, slope, sdd)


def rotation_of(step: ScrewChain) -> Mat3:
    """``A_i``, 3x3."""
    return Mat3.of(step.general().rotation)


def own_terms_3(inertia: RigidInertia, here: Rotating) -> tuple[Vec3, Mat3, Vec3, Scalar]:
    """The link's own part of e_i, D_i, c_i, mbar_i."""
    m, n = inertia.mass, inertia.first  # n_i = m_i r_i
    e = here.sdd * m + here.Wdd @ n
    D = Mat3.dyad(n, here.sdd) + Mat3.of(euler_from_inertia(inertia.moment)) @ here.Wdd.T
    return e, D, n, m


def reacting_3(e: Vec3, D: Mat3, here: Rotating, external: Force) -> tuple[Vec3, Mat3]:
    """e_i and D_i with a wrench on the link."""
    return e - here.W @ external.force, D + Mat3.skew(external.moment * 0.5) @ here.W.T


def lagrange_3(
    joint: Joint, step: ScrewChain, A: Mat3, here: Rotating, e: Vec3, D: Mat3, c: Vec3, mass: Scalar, gravity: Vec3
) -> tuple[tuple[Scalar, ...], Vec3, Mat3, Vec3, Scalar]:
    """Backward recursion: tau_i, and the parent's sums."""
    if joint.kind.slides:
        torque = (here.W @ Z_AXIS).dot(e - gravity * mass)  # added: the printed form gives 0
    else:
        x, y, z = here.slope @ D
        torque = (x.x + y.y + z.z) - gravity.dot(here.slope @ c)  # (5.2.16d)
    s = step.origin()
    return (
        (torque,),
        e,  # (5.2.16a)
        A @ D + Mat3.dyad(s, e),  # (5.2.16b)
        s * mass + A @ c,  # (5.2.16c)
        mass,
    )


HOLLERBACH_3X3 = two_sweeps(
    "hollerbach-3x3",
    (
        Buffer("A", Mat3.identity()),
        Buffer("W3", Rotating(Mat3.identity(), Mat3.zero(), Mat3.zero(), Mat3.zero(), ZERO)),
        Buffer("e", ZERO),
        Buffer("D", Mat3.zero()),
        Buffer("c", ZERO),
        Buffer("mass", 0.0),
    ),
    (
        Step(rotation_of, ("X",), ("A",), "A_i   (2.3.3)"),
        Step(rotations, ("joint", "X", "A", "W3@parent", "v", "a"), ("W3",), "W, Wd, Wdd, sdd   (5.2.15)"),
        Step(own_terms_3, ("inertia", "W3"), ("e", "D", "c", "mass"), "m sdd + Wdd n, n sdd^T + J Wdd^T, n, m"),
        Step(reacting_3, ("e", "D", "W3", "E"), ("e", "D"), "e -= W f, D += ~n/2 W^T of the wrench"),
    ),
    Step(
        lagrange_3,
        ("joint", "X", "A", "W3", "e", "D", "c", "mass", "gravity"),
        ("T", "e@parent", "D@parent", "c@parent", "mass@parent"),
        "e, D, c, mbar, tau = tr[W A' D] - g^T W A' c or z.(e - mbar g)   (5.2.16)",
    ),
)
"""Algorithm 5.2, with prismatic joints."""


# ---- -----------------------------------------------------------------------------------------------------------------
# Inverse dynamics by Kane's equations: partial velocities times inertia forces, (5.2.36) and (5.2.37), base axes.
# ``tau_i = sum over links j outward of i of (dw_j/dqd_i . M_cj + drd_j/dqd_i . F_j)``. The partial velocities of a
# joint that turns are z_i and ``z_i x r_{i,j}``, those of one that slides 0 and z_i, so that two sums over the links
# outward do: of the forces, and of the moments about the base's origin.


def rates_in_base(
    joint: Joint, pose: Transform, above: Transform, parent: LinkRates, v: Sequence[Scalar], a: Sequence[Scalar]
) -> LinkRates:
    """(5.2.23a-c) in base axes."""
    (w, wd, sdd), z = parent, pose.rotation @ Z_AXIS
    s = pose.translation - above.translation
    sdd = sdd + wd.cross(s) + w.cross(w.cross(s))
    return behind_joint(joint, LinkRates(w, wd, sdd), z, v, a)


def inertia_forces(link: Centred, pose: Transform, here: LinkRates) -> tuple[Vec3, Vec3]:
    """``F_j = m rdd`` and ``M_cj + r_{0,j} x F_j``."""
    w, wd, sdd = here
    r, moment = pose.rotation @ link.r, pose.rotation.symmetric(link.moment)
    force = (sdd + wd.cross(r) + w.cross(w.cross(r))) * link.mass
    return force, moment @ wd + w.cross(moment @ w) + (pose.translation + r).cross(force)


def active_forces(force: Vec3, moment: Vec3, pose: Transform, external: Force) -> tuple[Vec3, Vec3]:
    """The same less a wrench on the link, its moment about the base's origin: Kane's active forces."""
    f, n = in_base_axes(pose, external)
    return force - f, moment - n - pose.translation.cross(f)


def partial_velocities(
    joint: Joint, pose: Transform, force: Vec3, moment: Vec3
) -> tuple[tuple[Scalar, ...], Vec3, Vec3]:
    """tau_i, and the sums as they are for the parent."""
    z = pose.rotation @ Z_AXIS
    if joint.kind.slides:
        return (z.dot(force),), force, moment  # (5.2.37)
    return (z.dot(moment - pose.translation.cross(force)),), force, moment  # (5.2.36)


KANE = two_sweeps(
    "kane",
    (Buffer("rates", LinkRates(ZERO, ZERO, ZERO), resting), Buffer("F", ZERO), Buffer("N", ZERO)),
    (
        IN_BASE,
        CENTRED,
        Step(rates_in_base, ("joint", "W", "W@parent", "rates@parent", "v", "a"), ("rates",), "omega, omegad, sdd"),
        Step(inertia_forces, ("link", "W", "rates"), ("F", "N"), "F_j = m rdd_j, M_cj + r_0j x F_j"),
        Step(active_forces, ("F", "N", "W", "E"), ("F", "N"), "F_j -= external force, N_j -= its moment about o_0"),
    ),
    Step(
        partial_velocities,
        ("joint", "W", "F", "N"),
        ("T", "F@parent", "N@parent"),
        "tau_i = z_i.sum(M_cj + r_ij x F_j) or z_i.sum F_j   (5.2.36), (5.2.37)",
    ),
)
