"""The joint kinds: what each does to frames, velocities and forces, over any scalar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from recursa.model.joint_kind import Hinge, JointKind, Trio
from recursa.spatial.inertia import Force, Motion
from recursa.spatial.rotation import IDENTITY, Quaternion, Rotation
from recursa.spatial.scalars import Scalar, atan2, cos, cosc, half_cotangent, sin, sinc, sqrt, where
from recursa.spatial.transform import Transform, log_of
from recursa.spatial.vec3 import X_AXIS, Y_AXIS, Z_AXIS, ZERO, Vec3


class Revolute(JointKind):
    """Rotation about the axis; q in radians. ``continuous`` differs only in having no limits."""

    angle = 0

    def __init__(self, name: str, *, has_limits: bool = False, unlimited: str | None = None) -> None:
        self.name = name  # type: ignore[misc]
        self.has_limits = has_limits  # type: ignore[misc]
        self.unlimited = unlimited  # type: ignore[misc]

    def transform(self, hinge: Hinge, q: Sequence[Scalar]) -> Transform:
        return Transform(Rotation.from_axis_angle(hinge.axis, q[0]), ZERO)

    def columns(self, hinge: Hinge) -> tuple[Motion, ...]:
        return (Motion(hinge.axis, ZERO),)

    def motion(self, hinge: Hinge, v: Sequence[Scalar]) -> Motion:
        return Motion(hinge.axis * v[0], ZERO)

    def coordinates(self, hinge: Hinge, pose: Transform) -> tuple[Scalar, ...]:
        c, s = _turn_about(hinge.axis, pose.rotation)
        return (atan2(s, c),)

    def nearest(self, hinge: Hinge, pose: Transform) -> Transform:
        return Transform(Rotation.from_axis_cos_sin(hinge.axis, *_turn_about(hinge.axis, pose.rotation)), ZERO)


class Prismatic(JointKind):
    """Translation along the axis; q in metres."""

    name = "prismatic"
    has_limits = True
    angular = (False,)
    q_units = ("m",)
    meaning = ("m", "m/s")
    spread = 1.0

    def transform(self, hinge: Hinge, q: Sequence[Scalar]) -> Transform:
        return Transform(IDENTITY, hinge.axis * q[0])

    def columns(self, hinge: Hinge) -> tuple[Motion, ...]:
        return (Motion(ZERO, hinge.axis),)

    def motion(self, hinge: Hinge, v: Sequence[Scalar]) -> Motion:
        return Motion(ZERO, hinge.axis * v[0])

    def coordinates(self, hinge: Hinge, pose: Transform) -> tuple[Scalar, ...]:
        return (hinge.axis.dot(pose.translation),)


class Helical(JointKind):
    """A screw: rotation by q and translation by ``pitch * q`` (metres per radian)."""

    name = "helical"
    has_pitch = True
    has_limits = True

    def transform(self, hinge: Hinge, q: Sequence[Scalar]) -> Transform:
        return Transform(Rotation.from_axis_angle(hinge.axis, q[0]), hinge.axis * (hinge.pitch * q[0]))

    def columns(self, hinge: Hinge) -> tuple[Motion, ...]:
        return (Motion(hinge.axis, hinge.axis * hinge.pitch),)

    def motion(self, hinge: Hinge, v: Sequence[Scalar]) -> Motion:
        turn = hinge.axis * v[0]
        return Motion(turn, turn * hinge.pitch)

    # The rotation tells the angle, the advance how many turns: the two differ by d, small where the joint is closed.

    def coordinates(self, hinge: Hinge, pose: Transform) -> tuple[Scalar, ...]:
        idle, turns, sine, cosine = self._beyond(hinge, pose)
        c, s = _turn_about(hinge.axis, pose.rotation)
        return (where(idle, atan2(s, c), turns - atan2(sine, cosine)),)

    def nearest(self, hinge: Hinge, pose: Transform) -> Transform:
        idle, _, sine, _ = self._beyond(hinge, pose)
        turn = Rotation.from_axis_cos_sin(hinge.axis, *_turn_about(hinge.axis, pose.rotation))
        advance = hinge.axis.dot(pose.translation) - hinge.pitch * sine  # p d, but for its third power
        return Transform(turn, hinge.axis * where(idle, 0.0, advance))

    def _beyond(self, hinge: Hinge, pose: Transform) -> tuple[Any, Scalar, Scalar, Scalar]:
        """Whether there is no pitch; the angle by the advance; sine and cosine of what it is beyond the rotation's."""
        idle = hinge.pitch * hinge.pitch < _NO_PITCH
        c, s = _turn_about(hinge.axis, pose.rotation)
        turns = hinge.axis.dot(pose.translation) / where(idle, 1.0, hinge.pitch)
        ct, st = cos(turns), sin(turns)
        return idle, turns, st * c - ct * s, ct * c + st * s

    def speeds(self, hinge: Hinge, motion: Motion) -> tuple[Scalar, ...]:
        return (hinge.axis.dot(motion.angular),)


_UNIT = (X_AXIS, Y_AXIS, Z_AXIS)


class Spherical(JointKind):
    """Ball joint: q a quaternion (x, y, z, w), v the angular velocity in child axes."""

    name = "spherical"
    nq, nv = 4, 3
    angular = (True, True, True)
    q_units = ("1",) * 4
    q_parts = ("qx", "qy", "qz", "qw")
    v_parts = ("rx", "ry", "rz")
    meaning = ("quaternion (x, y, z, w)", "angular velocity in child axes, rad/s")
    has_axis = False
    quaternion = 0

    def transform(self, hinge: Hinge, q: Sequence[Scalar]) -> Transform:
        return Transform(Rotation.from_quaternion(Quaternion(*q)), ZERO)

    def columns(self, hinge: Hinge) -> tuple[Motion, ...]:
        return tuple(Motion(e, ZERO) for e in _UNIT)

    def motion(self, hinge: Hinge, v: Sequence[Scalar]) -> Motion:
        return Motion(Vec3(*v), ZERO)

    def project(self, hinge: Hinge, force: Force) -> tuple[Scalar, ...]:
        return tuple(force.moment)

    def integrate(self, q: Sequence[Scalar], dv: Sequence[Scalar]) -> tuple[Scalar, ...]:
        return tuple((Quaternion(*q) @ Quaternion.exp(Vec3(*dv))).normalized())

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> tuple[Scalar, ...]:
        return tuple(_relative(Quaternion(*q0), Quaternion(*q1)).log())

    def opposite(self, q: Sequence[Scalar]) -> tuple[Scalar, ...]:
        return tuple(Quaternion(*q).conjugate())

    def coordinates(self, hinge: Hinge, pose: Transform) -> tuple[Scalar, ...]:
        return tuple(pose.rotation.quaternion())

    def nearest(self, hinge: Hinge, pose: Transform) -> Transform:
        return Transform(pose.rotation, ZERO)

    def rates(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
        return _quaternion_rates(q, v)

    def motion_of(self, p: Sequence[Scalar], dp: Sequence[Scalar], ddp: Sequence[Scalar]) -> Trio:
        return _turning(p, dp, ddp)

    def second_rates(self, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]) -> tuple[Scalar, ...]:
        return _quaternion_second_rates(q, v, a)

    def bracket(self, x: Sequence[Scalar], y: Sequence[Scalar]) -> tuple[Scalar, ...]:
        return tuple(Vec3(*x).cross(Vec3(*y)))


class Planar(JointKind):
    """Motion in the plane normal to the axis: q = (x, y, theta), v = (omega, vx, vy) in child axes.

    The plane's axes are those of ``Rotation.z_to(axis)``.
    """

    name = "planar"
    nq, nv = 3, 3
    angular = (True, False, False)
    q_units = ("m", "m", "rad")
    q_parts = ("x", "y", "theta")
    v_parts = ("rz", "tx", "ty")
    meaning = ("(x, y, theta) in m, m, rad", "(omega, vx, vy) in child axes, rad/s and m/s")
    has_plane = True
    angle = 2

    def transform(self, hinge: Hinge, q: Sequence[Scalar]) -> Transform:
        ex, ey, _ = hinge.plane.columns()
        return Transform(Rotation.from_axis_angle(hinge.axis, q[2]), ex * q[0] + ey * q[1])

    def columns(self, hinge: Hinge) -> tuple[Motion, ...]:
        ex, ey, _ = hinge.plane.columns()
        return Motion(hinge.axis, ZERO), Motion(ZERO, ex), Motion(ZERO, ey)

    def motion(self, hinge: Hinge, v: Sequence[Scalar]) -> Motion:
        ex, ey, _ = hinge.plane.columns()
        return Motion(hinge.axis * v[0], ex * v[1] + ey * v[2])

    def integrate(self, q: Sequence[Scalar], dv: Sequence[Scalar]) -> tuple[Scalar, ...]:
        x, y, theta = q
        w, vx, vy = dv
        a, b = sinc(w * w), w * cosc(w * w)  # sin(w)/w and (1 - cos w)/w
        dx, dy = a * vx - b * vy, b * vx + a * vy
        c, s = cos(theta), sin(theta)
        return x + c * dx - s * dy, y + s * dx + c * dy, theta + w

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> tuple[Scalar, ...]:
        # the turn is taken the short way round, in (-pi, pi]
        turn = q1[2] - q0[2]
        w = atan2(sin(turn), cos(turn))
        c, s = cos(q0[2]), sin(q0[2])
        x, y = q1[0] - q0[0], q1[1] - q0[1]
        dx, dy = c * x + s * y, c * y - s * x
        a, b = 1.0 - w * w * half_cotangent(w * w), 0.5 * w  # inverse of the matrix of integrate
        return w, a * dx + b * dy, a * dy - b * dx

    def opposite(self, q: Sequence[Scalar]) -> tuple[Scalar, ...]:
        x, y, theta = q
        c, s = cos(theta), sin(theta)
        return -(c * x + s * y), s * x - c * y, -theta

    def coordinates(self, hinge: Hinge, pose: Transform) -> tuple[Scalar, ...]:
        ex, ey, _ = hinge.plane.columns()
        c, s = _turn_about(hinge.axis, pose.rotation)
        return ex.dot(pose.translation), ey.dot(pose.translation), atan2(s, c)

    def nearest(self, hinge: Hinge, pose: Transform) -> Transform:
        turn = Rotation.from_axis_cos_sin(hinge.axis, *_turn_about(hinge.axis, pose.rotation))
        return Transform(turn, pose.translation - hinge.axis * hinge.axis.dot(pose.translation))

    def rates(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
        w, vx, vy = v
        c, s = cos(q[2]), sin(q[2])
        return c * vx - s * vy, s * vx + c * vy, w

    def motion_of(self, p: Sequence[Scalar], dp: Sequence[Scalar], ddp: Sequence[Scalar]) -> Trio:
        c, s = cos(p[2]), sin(p[2])
        x, y = c * dp[0] + s * dp[1], c * dp[1] - s * dp[0]
        dx, dy = c * ddp[0] + s * ddp[1], c * ddp[1] - s * ddp[0]
        w = dp[2]
        return tuple(p), (w, x, y), (ddp[2], dx + w * y, dy - w * x)

    def second_rates(self, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]) -> tuple[Scalar, ...]:
        c, s = cos(q[2]), sin(q[2])
        (w, x, y), (dw, dx, dy) = v, a
        dx, dy = dx - w * y, dy + w * x
        return c * dx - s * dy, s * dx + c * dy, dw

    def bracket(self, x: Sequence[Scalar], y: Sequence[Scalar]) -> tuple[Scalar, ...]:
        return 0.0, y[0] * x[2] - x[0] * y[2], x[0] * y[1] - y[0] * x[1]


class Translation(JointKind):
    """Motion without rotation: q = (x, y, z) in metres along the axes of the joint's frame, v their rates."""

    name = "translation"
    nq, nv = 3, 3
    angular = (False, False, False)
    q_units = ("m",) * 3
    q_parts = ("x", "y", "z")
    v_parts = ("tx", "ty", "tz")
    meaning = ("(x, y, z) in m", "(vx, vy, vz) in m/s")
    has_axis = False

    def transform(self, hinge: Hinge, q: Sequence[Scalar]) -> Transform:
        return Transform(IDENTITY, Vec3(*q))

    def columns(self, hinge: Hinge) -> tuple[Motion, ...]:
        return tuple(Motion(ZERO, e) for e in _UNIT)

    def motion(self, hinge: Hinge, v: Sequence[Scalar]) -> Motion:
        return Motion(ZERO, Vec3(*v))

    def project(self, hinge: Hinge, force: Force) -> tuple[Scalar, ...]:
        return tuple(force.force)

    def coordinates(self, hinge: Hinge, pose: Transform) -> tuple[Scalar, ...]:
        return tuple(pose.translation)

    def nearest(self, hinge: Hinge, pose: Transform) -> Transform:
        return Transform(IDENTITY, pose.translation)


class Free(JointKind):
    """Six freedoms: q = (x, y, z, qx, qy, qz, qw), v = (omega, v) of the link origin in link axes."""

    name = "free"
    nq, nv = 7, 6
    angular = (True, True, True, False, False, False)
    q_units = ("m",) * 3 + ("1",) * 4
    q_parts = ("x", "y", "z", "qx", "qy", "qz", "qw")
    v_parts = ("rx", "ry", "rz", "tx", "ty", "tz")
    meaning = (
        "(x, y, z) in m, quaternion (x, y, z, w)",
        "(omega, v) of the link origin in link axes, rad/s and m/s",
    )
    has_axis = False
    quaternion = 3

    def transform(self, hinge: Hinge, q: Sequence[Scalar]) -> Transform:
        return Transform(Rotation.from_quaternion(Quaternion(*q[3:7])), Vec3(*q[0:3]))

    def columns(self, hinge: Hinge) -> tuple[Motion, ...]:
        return (*(Motion(e, ZERO) for e in _UNIT), *(Motion(ZERO, e) for e in _UNIT))

    def motion(self, hinge: Hinge, v: Sequence[Scalar]) -> Motion:
        return Motion(Vec3(*v[0:3]), Vec3(*v[3:6]))

    def project(self, hinge: Hinge, force: Force) -> tuple[Scalar, ...]:
        return force.components()

    def integrate(self, q: Sequence[Scalar], dv: Sequence[Scalar]) -> tuple[Scalar, ...]:
        pose = self.transform(_NO_HINGE, q)
        step = Transform.exp(Motion(Vec3(*dv[0:3]), Vec3(*dv[3:6])))
        turned = (Quaternion(*q[3:7]) @ Quaternion.exp(Vec3(*dv[0:3]))).normalized()
        return (*(pose @ step.translation), *turned)

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> tuple[Scalar, ...]:
        turn = _relative(Quaternion(*q0[3:7]), Quaternion(*q1[3:7])).log()
        start = self.transform(_NO_HINGE, q0)
        return log_of(turn, start.inverse_point(Vec3(*q1[0:3]))).components()

    def opposite(self, q: Sequence[Scalar]) -> tuple[Scalar, ...]:
        back = self.transform(_NO_HINGE, q).inverse
        return (*back.translation, *Quaternion(*q[3:7]).conjugate())

    def coordinates(self, hinge: Hinge, pose: Transform) -> tuple[Scalar, ...]:
        return (*pose.translation, *pose.rotation.quaternion())

    def nearest(self, hinge: Hinge, pose: Transform) -> Transform:
        return pose

    def rates(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
        rotation = Rotation.from_quaternion(Quaternion(*q[3:7]))
        return (*(rotation @ Vec3(*v[3:6])), *_quaternion_rates(q[3:7], v[0:3]))

    def motion_of(self, p: Sequence[Scalar], dp: Sequence[Scalar], ddp: Sequence[Scalar]) -> Trio:
        turned, w, dw = _turning(p[3:7], dp[3:7], ddp[3:7])
        back = Rotation.from_quaternion(Quaternion(*turned)).T
        u, du = back @ Vec3(*dp[0:3]), back @ Vec3(*ddp[0:3])
        du = du - Vec3(*w).cross(u)  # componentwise derivative in moving axes
        return (*p[0:3], *turned), (*w, *u), (*dw, *du)

    def second_rates(self, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]) -> tuple[Scalar, ...]:
        rotation = Rotation.from_quaternion(Quaternion(*q[3:7]))
        u = Vec3(*a[3:6]) + Vec3(*v[0:3]).cross(Vec3(*v[3:6]))
        return (*(rotation @ u), *_quaternion_second_rates(q[3:7], v[0:3], a[0:3]))

    def bracket(self, x: Sequence[Scalar], y: Sequence[Scalar]) -> tuple[Scalar, ...]:
        return Motion.of(x).cross_motion(Motion.of(y)).components()


_NO_HINGE = Hinge(ZERO)
_NO_PITCH = 1e-18  # (m/rad)^2; below, the advance of a screw says nothing about its angle


def _turn_about(axis: Vec3, rotation: Rotation) -> tuple[Scalar, Scalar]:
    """Cosine and sine of the turn about an axis nearest to a rotation: ``tr(R) - a.R a`` and ``a.(R - R^T)`` scaled."""
    r = rotation
    c = r.xx + r.yy + r.zz - axis.dot(r @ axis)
    s = axis.dot(Vec3(r.zy - r.yz, r.xz - r.zx, r.yx - r.xy))
    scale = 1.0 / sqrt(c * c + s * s)
    return c * scale, s * scale


def _quaternion_rates(q: Sequence[Scalar], w: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """Half the product of the quaternion, made unit, with the angular velocity in moving axes."""
    half = Vec3(*w) * 0.5
    return tuple(Quaternion(*q).normalized() @ Quaternion(half.x, half.y, half.z, 0.0))


def _quaternion_second_rates(q: Sequence[Scalar], w: Sequence[Scalar], dw: Sequence[Scalar]) -> tuple[Scalar, ...]:
    """The time derivative of ``dq/dt = q w / 2``, of a quaternion of unit length."""
    spin, bend = (Quaternion(rate[0], rate[1], rate[2], 0.0) for rate in (w, dw))
    rate = (Quaternion(*q) @ spin).scaled(0.5)
    return tuple(0.5 * (x + y) for x, y in zip(Quaternion(*q) @ bend, rate @ spin, strict=True))


def _turning(p: Sequence[Scalar], dp: Sequence[Scalar], ddp: Sequence[Scalar]) -> Trio:
    """Unit quaternion, angular velocity and acceleration in child axes."""
    quaternion = Quaternion(*p)
    length = quaternion.norm_squared()
    turn, bend = (quaternion.conjugate() @ Quaternion(*rate) for rate in (dp, ddp))
    w = Vec3(turn.x, turn.y, turn.z) * (2.0 / length)
    dw = Vec3(bend.x, bend.y, bend.z) * (2.0 / length) - w * (2.0 * turn.w / length)
    return tuple(quaternion.normalized()), tuple(w), tuple(dw)


def _relative(q0: Quaternion, q1: Quaternion) -> Quaternion:
    product = q0.conjugate() @ q1
    return product.scaled(1.0 / sqrt(product.norm_squared()))


KINDS: dict[str, JointKind] = {
    kind.name: kind
    for kind in (
        Revolute("revolute", has_limits=True, unlimited="continuous"), Revolute("continuous"), Prismatic(), Helical(),
        Spherical(), Planar(), Translation(), Free(),
    )
}  # fmt: skip


def has_axis(kind: str) -> bool:
    """Whether joints of a type, which may be "fixed", have an axis.

    >>> [kind for kind in (*KINDS, "fixed") if not has_axis(kind)]
    ['spherical', 'translation', 'free', 'fixed']
    """
    return kind in KINDS and KINDS[kind].has_axis
