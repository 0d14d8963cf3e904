"""Rotation about one coordinate axis and translation along it: transforms that touch only what they must."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Literal, NamedTuple, TypeVar

from recursa.spatial.inertia import ArticulatedInertia, RigidInertia
from recursa.spatial.mat3 import Mat3
from recursa.spatial.rotation import Rotation
from recursa.spatial.scalars import Scalar, cos, one_operand, sin
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import ZERO, SymMat3, Vec3
from recursa.spatial.vectors6 import Force, Motion


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
