"""Rigid transforms; they act on vectors, forces and inertias, and never form a 6x6 matrix.

A transform ``X`` is the pose of frame B in frame A: ``p_A = R p_B + r``. Without prefix its methods go from B to A
(from child to parent, tip to base), with ``inverse_`` from A to B. For forces B to A is the paper's phi; for motions
A to B is its transpose phi*.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, overload

from recursa.spatial.formulas import scalar_of
from recursa.spatial.inertia import ArticulatedInertia, RigidInertia
from recursa.spatial.rotation import IDENTITY, Rotation, rotation_about
from recursa.spatial.scalars import Scalar, cosc, half_cotangent, one_operand, sinc3
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.spatial.vectors6 import Force, Motion

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
