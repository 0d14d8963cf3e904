"""Rigid transforms; they act on vectors, forces and inertias, and never form a 6x6 matrix.

A transform ``X`` is the pose of frame B in frame A: ``p_A = R p_B + r``. Without prefix its methods go from B to A
(from child to parent, tip to base), with ``inverse_`` from A to B. For forces B to A is the paper's phi; for motions
A to B is its transpose phi*.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Literal, NamedTuple, TypeVar, overload

from recursa.spatial.inertia import ArticulatedInertia, Force, Motion, RigidInertia
from recursa.spatial.mat3 import Mat3
from recursa.spatial.rotation import IDENTITY, Rotation, rotation_about
from recursa.spatial.scalars import Scalar, cos, cosc, half_cotangent, one_operand, scalar_of, sin, sinc3
from recursa.spatial.vec3 import ZERO, SymMat3, Vec3

Convention = Literal["standard", "modified"]
"""Which frames Denavit and Hartenberg's four numbers are between."""


@one_operand
class Transform(NamedTuple):
    """A general displacement: rotation, then translation (Balafoutis & Patel 2.2.4).

    >>> X = Transform(Rotation.identity(), Vec3(1.0, 0.0, 0.0))
    >>> X @ Vec3(0.0, 2.0, 0.0)
    Vec3(x=1.0, y=2.0, z=0.0)
    """

    rotation: Rotation
    translation: Vec3

    @staticmethod
    def identity() -> Transform:
        """No displacement."""
        return IDENTITY_TRANSFORM

    @staticmethod
    def from_matrix(matrix: Sequence[Sequence[Scalar]]) -> Transform:
        """From a 4x4 (or 3x4) homogeneous matrix."""
        rows = [list(row) for row in matrix][:3]
        return Transform(Rotation.from_rows([row[:3] for row in rows]), Vec3(*(row[3] for row in rows)))

    @staticmethod
    def from_xyz_rpy(xyz: Sequence[float], rpy: Sequence[float]) -> Transform:
        """From URDF's origin element, constants; right angles come out exact."""
        return Transform(Rotation.from_constant_rpy(*rpy), Vec3(*map(scalar_of, xyz)))

    @staticmethod
    def exp(motion: Motion) -> Transform:
        """The displacement reached by moving with the constant body velocity ``motion`` for unit time."""
        w, v = motion
        x2 = w.norm_squared()
        wv = w.cross(v)
        translation = v + wv * cosc(x2) + w.cross(wv) * sinc3(x2)  # left Jacobian of SO(3) times v
        return Transform(Rotation.exp(w), translation)

    def log(self) -> Motion:
        """The motion whose :meth:`exp` this is, with rotation at most pi."""
        return log_of(self.rotation.log(), self.translation)

    def general(self) -> Transform:
        """Itself: what structured transforms turn into."""
        return self

    def turn(self) -> Transform:
        """The rotation alone."""
        return Transform(self.rotation, ZERO)

    def origin(self) -> Vec3:
        """The origin of B in A."""
        return self.translation

    def rotate(self, v: Vec3) -> Vec3:
        """A free vector from B to A, 9 mul 6 add."""
        return self.rotation @ v

    def inverse_rotate(self, v: Vec3) -> Vec3:
        """A free vector from A to B, 9 mul 6 add."""
        return self.rotation.inverse_times(v)

    def rows(self) -> tuple[tuple[Scalar, ...], ...]:
        """The 4x4 homogeneous matrix."""
        r, t = self.rotation, self.translation
        return (
            (r.xx, r.xy, r.xz, t.x),
            (r.yx, r.yy, r.yz, t.y),
            (r.zx, r.zy, r.zz, t.z),
            (0.0, 0.0, 0.0, 1.0),
        )

    @property
    def inverse(self) -> Transform:
        """The pose of A in B."""
        back = self.rotation.T
        return Transform(back, -(back @ self.translation))

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...
    @overload
    def __matmul__(self, other: Transform) -> Transform: ...
    def __matmul__(self, other: Vec3 | Transform) -> Vec3 | Transform:
        """Carry a point from B to A, or compose: ``X_AB @ X_BC`` is ``X_AC``."""
        if isinstance(other, Vec3):
            return self.rotation @ other + self.translation
        return Transform(self.rotation @ other.rotation, self.rotation @ other.translation + self.translation)

    def inverse_point(self, point: Vec3) -> Vec3:
        """Carry a point from A to B."""
        return self.rotation.inverse_times(point - self.translation)

    def motion(self, m: Motion) -> Motion:
        """Motion at B in B's axes to the same motion at A in A's axes, 24 mul 18 add."""
        angular = self.rotation @ m.angular
        return Motion(angular, self.rotation @ m.linear + self.translation.cross(angular))

    def inverse_motion(self, m: Motion) -> Motion:
        """Motion from A to B: the paper's phi*, 24 mul 18 add."""
        return Motion(
            self.rotation.inverse_times(m.angular),
            self.rotation.inverse_times(m.linear - self.translation.cross(m.angular)),
        )

    def force(self, f: Force) -> Force:
        """Force from B to A: the paper's phi, 24 mul 18 add."""
        force = self.rotation @ f.force
        return Force(self.rotation @ f.moment + self.translation.cross(force), force)

    def inverse_force(self, f: Force) -> Force:
        """Force from A to B."""
        return Force(
            self.rotation.inverse_times(f.moment - self.translation.cross(f.force)),
            self.rotation.inverse_times(f.force),
        )

    def inertia(self, i: RigidInertia) -> RigidInertia:
        """Rigid inertia from B to A, ``phi M phi*``, 52 mul 52 add."""
        return i.rotated(self.rotation).shifted(self.translation)

    def articulated(self, p: ArticulatedInertia) -> ArticulatedInertia:
        """Articulated inertia from B to A, ``phi P phi*``."""
        return p.rotated(self.rotation).shifted(self.translation)


IDENTITY_TRANSFORM = Transform(IDENTITY, ZERO)


def composed(first: Transform, second: Transform) -> Transform:
    """``first @ second`` of constants; what an identity leaves as it is stays the same number for number."""
    if second == IDENTITY_TRANSFORM:
        return first
    return second if first == IDENTITY_TRANSFORM else first @ second


def log_of(rotation_vector: Vec3, translation: Vec3) -> Motion:
    """The motion of a displacement given as rotation vector and translation (inverse left Jacobian)."""
    w, t = rotation_vector, translation
    wt = w.cross(t)
    return Motion(w, t - wt * 0.5 + w.cross(wt) * half_cotangent(w.norm_squared()))


def dh_transform(convention: Convention, a: float, alpha: float, d: float, theta: float) -> Transform:
    """One Denavit-Hartenberg step of constants, right angles exact.

    standard: ``Rz(theta) Tz(d) Tx(a) Rx(alpha)``; modified: ``Rx(alpha) Tx(a) Rz(theta) Tz(d)`` (2.3.1).
    """
    along_x = Transform(rotation_about(0, alpha), Vec3(scalar_of(a), 0.0, 0.0))
    along_z = Transform(rotation_about(2, theta), Vec3(0.0, 0.0, scalar_of(d)))
    return along_x @ along_z if convention == "modified" else along_z @ along_x


# ---- -----------------------------------------------------------------------------------------------------------------
# Rotation about one coordinate axis and translation along it: transforms that touch only what they must.


@one_operand
class Screw(NamedTuple):
    """Rotation about one coordinate axis and translation along it: half of a Denavit-Hartenberg step.

    ``c``, ``s`` are the cosine and sine of the angle, ``d`` the translation, ``axis`` 0, 1, 2 for x, y, z. It touches
    only what such a motion touches: a force costs 10 mul 6 add, a rigid inertia 16 mul 16 add.

    >>> Screw.turning(2, 0.3, 0.1).general().translation
    Vec3(x=0.0, y=0.0, z=0.1)
    """

    axis: Literal[0, 1, 2]
    c: Scalar
    s: Scalar
    d: Scalar

    @staticmethod
    def turning(axis: Literal[0, 1, 2], angle: Scalar, d: Scalar) -> Screw:
        """From the angle and the translation."""
        return Screw(axis, cos(angle), sin(angle), d)

    def general(self) -> Transform:
        """The same as a general transform."""
        along = Vec3(*(1.0 if i == self.axis else 0.0 for i in range(3)))
        return Transform(Rotation.about(self.axis, self.c, self.s), along * self.d)

    @property
    def inverse(self) -> Screw:
        """The pose of A in B."""
        return Screw(self.axis, self.c, -self.s, -self.d)

    # The formulas are written for the z axis; other axes are the same after a cyclic change of names.

    def _local(self, v: Vec3) -> Vec3:
        k = self.axis
        return Vec3(v[(k + 1) % 3], v[(k + 2) % 3], v[k])

    def _global(self, v: Vec3) -> Vec3:
        k = self.axis
        return Vec3(v[(2 - k) % 3], v[(3 - k) % 3], v[(4 - k) % 3])

    def _turn(self, v: Vec3) -> Vec3:
        return Vec3(self.c * v.x - self.s * v.y, self.s * v.x + self.c * v.y, v.z)

    def _turn_back(self, v: Vec3) -> Vec3:
        return Vec3(self.c * v.x + self.s * v.y, self.c * v.y - self.s * v.x, v.z)

    def rotate(self, v: Vec3) -> Vec3:
        """A free vector from B to A, 4 mul 2 add."""
        return self._global(self._turn(self._local(v)))

    def inverse_rotate(self, v: Vec3) -> Vec3:
        """A free vector from A to B, 4 mul 2 add."""
        return self._global(self._turn_back(self._local(v)))

    def symmetric(self, a: SymMat3) -> SymMat3:
        """A symmetric tensor from B to A, ``R A R^T``, 8 mul 8 add."""
        k = self.axis
        return _cycled_symmetric(_turned_symmetric(self.c, self.s, _cycled(Mat3(*a.rows()), k)), (1 - k) % 3)

    def tensor(self, a: Mat3) -> Mat3:
        """Any tensor from B to A, ``R A R^T``, 12 mul 11 add."""
        k = self.axis
        return _cycled(_turned(self.c, self.s, _cycled(a, k)), (1 - k) % 3)

    def point(self, p: Vec3) -> Vec3:
        """A point from B to A."""
        x, y, z = self._turn(self._local(p))
        return self._global(Vec3(x, y, z + self.d))

    def force(self, f: Force) -> Force:
        """Force from B to A, 10 mul 6 add."""
        n, g = self._turn(self._local(f.moment)), self._turn(self._local(f.force))
        n = Vec3(n.x - self.d * g.y, n.y + self.d * g.x, n.z)
        return Force(self._global(n), self._global(g))

    def motion(self, m: Motion) -> Motion:
        """Motion from B to A, 10 mul 6 add."""
        f = self.force(Force(m.linear, m.angular))  # the same map with the roles of the halves exchanged
        return Motion(f.force, f.moment)

    def inverse_motion(self, m: Motion) -> Motion:
        """Motion from A to B, 10 mul 6 add."""
        w, v = self._local(m.angular), self._local(m.linear)
        v = Vec3(v.x + self.d * w.y, v.y - self.d * w.x, v.z)
        return Motion(self._global(self._turn_back(w)), self._global(self._turn_back(v)))

    def inverse_force(self, f: Force) -> Force:
        """Force from A to B, 10 mul 6 add."""
        m = self.inverse_motion(Motion(f.force, f.moment))
        return Force(m.linear, m.angular)

    def inertia(self, i: RigidInertia) -> RigidInertia:
        """Rigid inertia from B to A, 16 mul 16 add.

        The turned 2x2 block needs four products: with ``u = s (Ixx - Iyy) + 2 c Ixy`` it is ``Ixx - s u``,
        ``Iyy + s u``, ``c u - Ixy``.
        """
        c, s, d = self.c, self.s, self.d
        h = self._turn(self._local(i.first))
        rows = [self._local(row) for row in i.moment.rows()]
        k = self.axis
        x, y, z = rows[(k + 1) % 3], rows[(k + 2) % 3], rows[k]  # now z is the screw's axis
        u = s * (x.x - y.y) + (c + c) * x.y
        su = s * u
        side = self._turn(Vec3(x.z, y.z, z.z))
        hz = h.z + d * i.mass
        grown = d * (h.z + hz)
        xx, yy, xy = x.x - su + grown, y.y + su + grown, c * u - x.y
        xz, yz = side.x - d * h.x, side.y - d * h.y
        full = Vec3(xx, yy, z.z)
        off = Vec3(yz, xz, xy)  # the entry opposite to each axis
        diagonal, opposite = self._global(full), self._global(off)
        return RigidInertia(
            i.mass,
            self._global(Vec3(h.x, h.y, hz)),
            SymMat3(*diagonal, opposite.z, opposite.y, opposite.x),
        )

    def articulated(self, p: ArticulatedInertia) -> ArticulatedInertia:
        """Articulated inertia from B to A, 39 mul 41 add: blocks turned with few products, shifted along the axis."""
        k, d = self.axis, self.d
        moment = _turned_symmetric(self.c, self.s, _cycled(Mat3(*p.moment.rows()), k))
        mass = _turned_symmetric(self.c, self.s, _cycled(Mat3(*p.mass.rows()), k))
        x, y, z = _turned(self.c, self.s, _cycled(p.coupling, k))
        qx, qy, _ = mass.rows()
        moved_x, moved_y = x - qy * d, y + qx * d  # C' = C + ~r Q
        moment = SymMat3(
            moment.xx - d * (x.y + moved_x.y),
            moment.yy + d * (y.x + moved_y.x),
            moment.zz,
            moment.xy + d * (moved_x.x - y.y),
            moment.xz - d * z.y,
            moment.yz + d * z.x,
        )
        back = (1 - k) % 3
        return ArticulatedInertia(
            _cycled_symmetric(moment, back),
            _cycled(Mat3(moved_x, moved_y, z), back),
            _cycled_symmetric(mass, back),
        )


def _cycled(a: Mat3, k: int) -> Mat3:
    """Rows and columns renamed cyclically so that index k becomes the last (k = 2: as it is)."""
    shift = (k + 1) % 3
    rows = [Vec3(*(row[(shift + j) % 3] for j in range(3))) for row in a]
    return Mat3(*(rows[(shift + i) % 3] for i in range(3)))


def _cycled_symmetric(a: SymMat3, k: int) -> SymMat3:
    x, y, z = _cycled(Mat3(*a.rows()), k)
    return SymMat3(x.x, y.y, z.z, x.y, x.z, y.z)


def _turned(c: Scalar, s: Scalar, a: Mat3) -> Mat3:
    """``R A R^T`` for a rotation about z, 12 mul 11 add; the skew part of the 2x2 block does not turn."""
    x, y, z = a
    u = s * (x.x - y.y) + c * (x.y + y.x)
    su, cu = s * u, c * u
    return Mat3(
        Vec3(x.x - su, cu - y.x, c * x.z - s * y.z),
        Vec3(cu - x.y, y.y + su, s * x.z + c * y.z),
        Vec3(c * z.x - s * z.y, s * z.x + c * z.y, z.z),
    )


def _turned_symmetric(c: Scalar, s: Scalar, a: Mat3) -> SymMat3:
    """``R A R^T`` of a symmetric matrix, 8 mul 8 add."""
    x, y, z = a
    u = s * (x.x - y.y) + (c + c) * x.y
    su = s * u
    return SymMat3(x.x - su, y.y + su, z.z, c * u - x.y, c * x.z - s * y.z, s * x.z + c * y.z)


_Carried = TypeVar("_Carried", Vec3, SymMat3, Mat3, Force, Motion, RigidInertia, ArticulatedInertia)


def _inward(carry: Callable[[Screw, _Carried], _Carried]) -> Callable[[ScrewChain, _Carried], _Carried]:
    """What one screw does from B to A, done by a chain: the last screw comes first."""

    @wraps(carry)
    def carried(self: ScrewChain, value: _Carried) -> _Carried:
        for screw in reversed(self.screws):
            value = carry(screw, value)
        return value

    return carried


def _outward(carry: Callable[[Screw, _Carried], _Carried]) -> Callable[[ScrewChain, _Carried], _Carried]:
    """What one screw does from A to B, done by a chain."""

    @wraps(carry)
    def carried(self: ScrewChain, value: _Carried) -> _Carried:
        for screw in self.screws:
            value = carry(screw, value)
        return value

    return carried


class _Screws(NamedTuple):
    screws: tuple[Screw, ...]


@one_operand
class ScrewChain(_Screws):
    """Screws one after the other, ``first @ ... @ last``: a step between frames that sit on joint axes.

    Two of them are one Denavit-Hartenberg step, at 20 mul 12 add a force and 32 mul 32 add a rigid inertia: modified
    first about x (alpha, a), then about z (theta, d); standard the other way round. None at all change nothing.
    """

    __slots__ = ()

    def general(self) -> Transform:
        """The same as a general transform."""
        total = IDENTITY_TRANSFORM
        for screw in self.screws:
            total = total @ screw.general()
        return total

    @property
    def inverse(self) -> ScrewChain:
        """The pose of A in B: the screws turned back, the last one first."""
        return ScrewChain(tuple(screw.inverse for screw in reversed(self.screws)))

    def turn(self) -> ScrewChain:
        """The rotation alone."""
        return ScrewChain(tuple(screw._replace(d=0.0) for screw in self.screws))

    def origin(self) -> Vec3:
        """The origin of B in A; it does not depend on the last screw's angle."""
        return _inward(Screw.point)(self, ZERO)

    rotate, inverse_rotate = _inward(Screw.rotate), _outward(Screw.inverse_rotate)
    force, inverse_force = _inward(Screw.force), _outward(Screw.inverse_force)
    motion, inverse_motion = _inward(Screw.motion), _outward(Screw.inverse_motion)
    symmetric, tensor = _inward(Screw.symmetric), _inward(Screw.tensor)
    inertia, articulated = _inward(Screw.inertia), _inward(Screw.articulated)
