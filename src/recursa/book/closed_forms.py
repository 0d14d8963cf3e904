"""Inverse dynamics without recursion over torques: Uicker & Kahn, Waters, the closed form of generalised links.

Sums over the links outward of a joint and over the joints inward of a link. A link's share in the torque of every joint
inward of it is worked out at the link; the shares then travel inward to where they belong. The steps need the numbers
of bodies, so that these methods make straight-line code only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from recursa.book.lagrange import (
    HOMOGENEOUS,
    STILL,
    TRANSFORMS,
    Homogeneous,
    pseudo_inertia,
    pseudo_reaction,
    rate_matrix,
)
from recursa.book.on_axes import IN_BASE, in_base_axes, two_sweeps
from recursa.model.model import Joint
from recursa.spatial.inertia import Force, RigidInertia
from recursa.spatial.mat4 import Mat4, Vec4
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import Z_AXIS, Vec3
from recursa.sweeps import Buffer, Step

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


def work_of_wrench(shares: Shares, partials: tuple[Partial, ...], W: Mat4, external: Force) -> Shares:
    """The shares of a wrench on the link, ``tr[dW_j/dq_i Q W_j^T]``, behind the others."""
    Q = pseudo_reaction(external)
    return (*shares, *((i, (slope @ Q).inner(W)) for i, _, _, slope in partials))


UICKER_KAHN = two_sweeps(
    "uicker-kahn",
    (
        Buffer("A", Mat4.identity()),
        Buffer("W4", Mat4.identity()),
        Buffer("dW", ()),
        Buffer("d2W", ()),
        Buffer("shares", ()),
    ),
    (
        HOMOGENEOUS,
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
        Step(work_of_wrench, ("shares", "dW", "W4", "E"), ("shares",), "tr[dW_j/dq_i Q W_j^T] of the wrench"),
    ),
    COLLECT,
)
"""(5.2.7): all first and second derivatives of all W_j."""


# ---- (5.2.9): Waters 1979 ("waters") ---------------------------------------------------------------------------------


def slopes(
    number: int, A: Mat4, here: Homogeneous, above: tuple[tuple[int, Mat4], ...]
) -> tuple[tuple[int, Mat4], ...]:
    """dW_j/dq_i for every joint i inward of link j, from the parent's: A_j is the last factor of W_j."""
    return (*((i, slope @ A) for i, slope in above), (number, here.slope))


def backward_sums(
    inertia: RigidInertia, here: Homogeneous, partials: tuple[tuple[int, Mat4], ...], gravity: Vec3
) -> Shares:
    """The link's share in the torque of every joint inward (5.2.9): ``J^ Wdd^T`` once, a trace for each."""
    moving, first = here.Wdd @ pseudo_inertia(inertia), Vec4(*inertia.first, inertia.mass)  # (J^ Wdd^T)^T
    down = Vec4(*gravity, 0.0)
    return tuple((i, slope.inner(moving) - down.dot(slope @ first)) for i, slope in partials)


def work_of_wrench_once(
    shares: Shares, partials: tuple[tuple[int, Mat4], ...], here: Homogeneous, external: Force
) -> Shares:
    """The same for a wrench on the link: ``Q W_j^T`` once, a trace for each."""
    acting = here.W @ pseudo_reaction(external).T
    return (*shares, *((i, slope.inner(acting)) for i, slope in partials))


WATERS = two_sweeps(
    "waters",
    (Buffer("A", Mat4.identity()), Buffer("W4", STILL), Buffer("dW", ()), Buffer("shares", ())),
    (
        HOMOGENEOUS,
        TRANSFORMS,
        Step(slopes, ("number", "A", "W4", "dW@parent"), ("dW",), "dW_j/dq_i = dW_(j-1)/dq_i A_j"),
        Step(
            backward_sums,
            ("inertia", "W4", "dW", "gravity"),
            ("shares",),
            "tr[dW_j/dq_i J^ Wdd_j^T] - m g dW_j/dq_i r^   (5.2.9)",
        ),
        Step(work_of_wrench_once, ("shares", "dW", "W4", "E"), ("shares",), "tr[dW_j/dq_i Q W_j^T]"),
    ),
    COLLECT,
)
"""(5.2.9) with the recurrences (5.2.10): O(n^2), where (5.2.7) is O(n^4) and Algorithm 5.1 O(n)."""


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


def moments_of_wrench(path: tuple[Axis, ...], pose: Transform, external: Force, below: Shares) -> Shares:
    """The shares of a wrench on the link, its moment about every axis inward, behind the others."""
    force, moment = in_base_axes(pose, external)
    about = ((j, moment + (pose.translation - j.origin).cross(force)) for j in path)
    return (*below, *((j.joint, -j.z.dot(total)) for j, total in about))


CLOSED_FORM = two_sweeps(
    "closed-form",
    (
        Buffer("path", ()),
        Buffer("s", Vec3.zero()),
        Buffer("generalized", RigidInertia.zero()),
        Buffer("shares", ()),
    ),
    (
        IN_BASE,
        Step(axes, ("number", "W", "path@parent", "v", "a"), ("path",), "z_i, o_i in base axes"),
        Step(moved_in, ("W", "W@parent"), ("s",), "s_(i-1,i) in base axes"),
    ),
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
    Step(moments_of_wrench, ("path", "W", "E", "shares"), ("shares",), "tau_i -= z_i.(n + s_ij x f)"),
    COLLECT,
)
"""(5.2.17) with the coefficients (5.2.19), corrected; for joints that turn."""
