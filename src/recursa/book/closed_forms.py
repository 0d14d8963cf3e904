"""Inverse dynamics without recursion over torques: Uicker & Kahn's equation, and the closed form of generalised links.

Sums over the links outward of a joint and over the joints inward of a link. A link's share in the torque of every joint
inward of it is worked out at the link; the shares then travel inward to where they belong. The steps need the numbers
of bodies, so that these methods make straight-line code only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from recursa.book.lagrange import homogeneous, pseudo_inertia, rate_matrix
from recursa.book.on_axes import BUFFERS, IN_BASE
from recursa.dynamics.inverse import at_joint
from recursa.dynamics.kinematics import RELATIVE
from recursa.dynamics.losses import Losses
from recursa.model.model import Joint
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.mat4 import Mat4, Vec4
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import Z_AXIS, Vec3
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, tip_to_base

Shares = tuple[tuple[int, Scalar], ...]  # (joint, part of its torque)


def collected(number: int, shares: Shares) -> tuple[tuple[Scalar, ...], Shares]:
    """The torque of this joint, and the shares of those inward of it, added up."""
    totals: dict[int, Scalar] = {}
    for joint, share in shares:
        totals[joint] = totals[joint] + share if joint in totals else share
    own = totals.pop(number)
    return (own,), tuple(totals.items())


COLLECT = Step(collected, ("number", "shares"), ("T", "shares@parent"), "tau_i = sum over j >= i")


# ---- (5.2.7): Uicker 1965, Kahn 1969 ("uicker-kahn") -----------------------------------------------------------------


class Partial(NamedTuple):
    """dW_j/dq_k of a link j, with the number, the speed and the acceleration of joint k."""

    joint: int
    speed: Scalar
    acceleration: Scalar
    slope: Mat4


Second = tuple[int, int, Mat4]  # k, l and d2W_j/dq_k dq_l with k inward of l, or k = l


def derivatives(
    number: int,
    joint: Joint,
    A: Mat4,
    W: Mat4,
    partials: tuple[Partial, ...],
    seconds: tuple[Second, ...],
    v: Sequence[Scalar],
    a: Sequence[Scalar],
) -> tuple[Mat4, tuple[Partial, ...], tuple[Second, ...]]:
    """W_j and all its first and second derivatives, from the parent's: A_j is the last factor of W_j."""
    Q = rate_matrix(joint)
    W = W @ A
    carried = tuple(partial._replace(slope=partial.slope @ A) for partial in partials)
    firsts = (*carried, Partial(number, v[0], a[0], W @ Q))
    mixed = tuple((partial.joint, number, partial.slope @ Q) for partial in firsts)
    return W, firsts, (*((k, m, slope @ A) for k, m, slope in seconds), *mixed)


def traces(inertia: RigidInertia, partials: tuple[Partial, ...], seconds: tuple[Second, ...], gravity: Vec3) -> Shares:
    """The link's share in the torque of every joint inward (5.2.7); the second factor there is dW_j/dq_k."""
    J, first, down = pseudo_inertia(inertia), Vec4(*inertia.first, inertia.mass), Vec4(*gravity, 0.0)
    speed = {partial.joint: partial.speed for partial in partials}
    shares = []
    for i, _, _, slope in partials:
        left = slope @ J
        share = -down.dot(slope @ first)
        for partial in partials:
            share = share + left.inner(partial.slope) * partial.acceleration
        for k, m, second in seconds:
            product = left.inner(second) * (speed[k] * speed[m])
            share = share + product if k == m else share + product + product  # k, l and l, k
        shares.append((i, share))
    return tuple(shares)


@cache
def uicker_kahn_plan(*, losses: Losses = False) -> Plan:
    """(5.2.7): all first and second derivatives of all W_j."""
    outward = (
        RELATIVE,
        Step(homogeneous, ("X",), ("A",), "A_j   (2.3.1)"),
        Step(
            derivatives,
            ("number", "joint", "A", "W4@parent", "dW@parent", "d2W@parent", "v", "a"),
            ("W4", "dW", "d2W"),
            "W_j, dW_j/dq_k, d2W_j/dq_k dq_l",
        ),
        Step(
            traces,
            ("inertia", "dW", "d2W", "gravity"),
            ("shares",),
            "tr[dW_j/dq_i J^ (dW_j/dq_k)^T] qdd_k + tr[dW_j/dq_i J^ (d2W_j/dq_k dq_l)^T] qd_k qd_l - m g dW_j/dq_i r^",
        ),
    )
    eye = Mat4.identity()
    buffers = (
        *BUFFERS, Buffer("A", eye), Buffer("W4", eye), Buffer("dW", ()), Buffer("d2W", ()), Buffer("shares", ())
    )  # fmt: skip
    return Plan("uicker-kahn", buffers, (base_to_tip(*outward), tip_to_base(COLLECT, *at_joint(losses=losses))))


# ---- (5.2.17)-(5.2.20): Renaud; Vukobratovic, Li & Kircanski ("closed-form"), revolute joints ------------------------


class Axis(NamedTuple):
    """A joint in base axes: number, direction, origin, speed, acceleration."""

    joint: int
    z: Vec3
    origin: Vec3
    speed: Scalar
    acceleration: Scalar


def axes(
    number: int, pose: Transform, above: tuple[Axis, ...], v: Sequence[Scalar], a: Sequence[Scalar]
) -> tuple[Axis, ...]:
    """The joints from the base to this one."""
    return (*above, Axis(number, pose.rotation @ Z_AXIS, pose.translation, v[0], a[0]))


def moved_in(pose: Transform, above: Transform) -> Vec3:
    """``s_{i-1,i}`` in base axes."""
    return pose.translation - above.translation


def generalized(
    below: RigidInertia, inertia: RigidInertia, pose: Transform, s: Vec3
) -> tuple[RigidInertia, RigidInertia]:
    """mbar, U_i and E_i of the generalised link, and the same about the parent's origin (5.2.20a, b)."""
    total = below + inertia.rotated(pose.rotation)
    return total, total.shifted(s)


def christoffel(path: tuple[Axis, ...], link: RigidInertia, gravity: Vec3, below: Shares) -> Shares:
    """What generalised link i, the last on the path, gives to the torques of the joints up to it.

    (5.2.19b) holds where i is the outermost of the three indices, which the book does not say; by symmetry
    ``c_{i,k}(j) = c_{k,i}(j)``, and ``c_{j,k}(i) = -c_{i,k}(j)`` for k <= j < i.
    """
    *_, here = path
    U, E, z = link.first, link.moment, here.z
    half = E.plus_diagonal(-0.5 * E.trace())
    shares = [*below, (here.joint, -z.dot(U.cross(gravity)))]  # corrected: U, and the sign    (5.2.19c)
    for j in path:
        d = z.dot(E @ j.z) + z.dot(U.cross(j.z.cross(here.origin - j.origin)))  # (5.2.19a)
        shares.append((here.joint, d * j.acceleration))
        if j is not here:
            shares.append((j.joint, d * here.acceleration))
    for at_k, k in enumerate(path):
        turning, swinging = z.cross(half @ k.z), k.z.cross(z.cross(U))
        for at_j, j in enumerate(path):
            c = j.z.dot(turning) + j.z.dot((here.origin - j.origin).cross(swinging))  # (5.2.19b)
            felt = c * (here.speed * k.speed)
            shares.append((j.joint, felt if k is here else felt + felt))
            if at_k <= at_j and j is not here:
                back = c * (j.speed * k.speed)
                shares.append((here.joint, -back if k is j else -(back + back)))
    return tuple(shares)


@cache
def closed_form_plan(*, losses: Losses = False) -> Plan:
    """(5.2.17) with the coefficients (5.2.19), corrected."""
    outward = (
        RELATIVE,
        IN_BASE,
        Step(axes, ("number", "W", "path@parent", "v", "a"), ("path",), "z_i, o_i in base axes"),
        Step(moved_in, ("W", "W@parent"), ("s",), "s_(i-1,i) in base axes"),
    )
    inward = (
        Step(
            generalized,
            ("generalized", "inertia", "W", "s"),
            ("generalized", "generalized@parent"),
            "mbar_i, U_i, E_i   (5.2.20)",
        ),
        Step(
            christoffel,
            ("path", "generalized", "gravity", "shares"),
            ("shares",),
            "tau_i = sum d_ij qdd_j + sum c_jk(i) qd_j qd_k + G_i   (5.2.17), (5.2.19)",
        ),
        COLLECT,
    )
    buffers = (
        *BUFFERS, Buffer("path", ()), Buffer("s", Vec3.zero()), Buffer("generalized", RigidInertia.zero()),
        Buffer("shares", ()),
    )  # fmt: skip
    return Plan("closed-form", buffers, (base_to_tip(*outward), tip_to_base(*inward, *at_joint(losses=losses))))
