"""Rigid and articulated spatial inertias by their 10 and 21 numbers; no 6x6 array is ever formed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from recursa.spatial.mat3 import Mat3
from recursa.spatial.rotation import Rotation
from recursa.spatial.scalars import Scalar, one_operand
from recursa.spatial.small_systems import solve_positive
from recursa.spatial.vec3 import SYM_ZERO, ZERO, SymMat3, Vec3

# ---- motions and forces: six-vectors, angular part first, and their cross products -----------------------------------


@one_operand
class Motion(NamedTuple):
    """A spatial velocity or acceleration: ``(angular, linear)``, linear of the frame's origin.

    >>> Motion(Vec3(0.0, 0.0, 1.0), Vec3(1.0, 0.0, 0.0)).dot(Force(Vec3(0.0, 0.0, 2.0), Vec3(3.0, 0.0, 0.0)))
    5.0
    """

    angular: Vec3
    linear: Vec3

    @staticmethod
    def zero() -> Motion:
        """No motion."""
        return Motion(ZERO, ZERO)

    @staticmethod
    def of(values: Iterable[Scalar]) -> Motion:
        """From six numbers, angular first."""
        a, b, c, x, y, z = values
        return Motion(Vec3(a, b, c), Vec3(x, y, z))

    def __add__(self, other: Motion) -> Motion:  # type: ignore[override]
        return Motion(self.angular + other.angular, self.linear + other.linear)

    def __sub__(self, other: Motion) -> Motion:
        return Motion(self.angular - other.angular, self.linear - other.linear)

    def __neg__(self) -> Motion:
        return Motion(-self.angular, -self.linear)

    def __mul__(self, factor: Scalar) -> Motion:
        return Motion(self.angular * factor, self.linear * factor)

    def __rmul__(self, factor: Scalar) -> Motion:
        return self * factor

    def dot(self, force: Force) -> Scalar:
        """Power of a force along this motion, ``w . n + v . f``."""
        return self.angular.dot(force.moment) + self.linear.dot(force.force)

    def cross_motion(self, other: Motion) -> Motion:
        """``crm(V) m = (w x mw, v x mw + w x mv)``: rate of change of a motion carried along by V."""
        return Motion(
            self.angular.cross(other.angular),
            self.linear.cross(other.angular) + self.angular.cross(other.linear),
        )

    def cross_force(self, force: Force) -> Force:
        """``crf(V) f = -crm(V)^T f = (w x n + v x f, w x f)``: rate of change of a force carried along by V."""
        return Force(
            self.angular.cross(force.moment) + self.linear.cross(force.force),
            self.angular.cross(force.force),
        )

    def components(self) -> tuple[Scalar, ...]:
        """The six numbers, angular first."""
        return (*self.angular, *self.linear)


@one_operand
class Force(NamedTuple):
    """A spatial force or momentum: ``(moment, force)``, moment about the frame's origin."""

    moment: Vec3
    force: Vec3

    @staticmethod
    def zero() -> Force:
        """No force."""
        return Force(ZERO, ZERO)

    @staticmethod
    def of(values: Iterable[Scalar]) -> Force:
        """From six numbers, moment first."""
        a, b, c, x, y, z = values
        return Force(Vec3(a, b, c), Vec3(x, y, z))

    def __add__(self, other: Force) -> Force:  # type: ignore[override]
        return Force(self.moment + other.moment, self.force + other.force)

    def __sub__(self, other: Force) -> Force:
        return Force(self.moment - other.moment, self.force - other.force)

    def __neg__(self) -> Force:
        return Force(-self.moment, -self.force)

    def __mul__(self, factor: Scalar) -> Force:
        return Force(self.moment * factor, self.force * factor)

    def __rmul__(self, factor: Scalar) -> Force:
        return self * factor

    def components(self) -> tuple[Scalar, ...]:
        """The six numbers, moment first."""
        return (*self.moment, *self.force)


@one_operand
class RigidInertia(NamedTuple):
    """Spatial inertia of a rigid body about a frame's origin, in that frame's axes.

        M = [[ I,  ~h ], [ -~h, m 1 ]]        h = m c (first moment), I about the origin

    Rodriguez & Kreutz-Delgado, section II; ``c`` is the mass centre.

    >>> rod = RigidInertia.from_com(2.0, Vec3(0.5, 0.0, 0.0), SymMat3.diagonal(0.0, 0.1, 0.1))
    >>> rod.moment.zz                        # 0.1 + 2 * 0.5^2
    0.6
    """

    mass: Scalar
    first: Vec3
    moment: SymMat3

    @staticmethod
    def zero() -> RigidInertia:
        """No mass."""
        return RigidInertia(0.0, ZERO, SYM_ZERO)

    @staticmethod
    def from_com(mass: Scalar, com: Vec3, inertia: SymMat3) -> RigidInertia:
        """From the mass, the centre of mass and the inertia tensor about the centre of mass (4.3.8)."""
        x, y, z = com
        hx, hy, hz = x * mass, y * mass, z * mass
        sx, sy, sz = x * hx, y * hy, z * hz
        xx, yy, zz, xy, xz, yz = inertia
        moment = SymMat3(xx + (sy + sz), yy + (sx + sz), zz + (sx + sy), xy - x * hy, xz - x * hz, yz - y * hz)
        return RigidInertia(mass, Vec3(hx, hy, hz), moment)

    @staticmethod
    def from_components(numbers: Sequence[Scalar]) -> RigidInertia:
        """From the ten numbers of :meth:`components`."""
        m, hx, hy, hz, xx, xy, yy, xz, yz, zz = numbers
        return RigidInertia(m, Vec3(hx, hy, hz), SymMat3(xx, yy, zz, xy, xz, yz))

    def com(self) -> Vec3:
        """Centre of mass; undefined (division by zero) for a massless body."""
        return self.first * (1.0 / self.mass)

    def moment_about_com(self) -> SymMat3:
        """Inertia tensor about the centre of mass; for a massless body the tensor as it stands."""
        if isinstance(self.mass, float) and self.mass == 0.0:
            return self.moment
        return self.moment - _steiner(self.com(), self.first)

    def __add__(self, other: RigidInertia) -> RigidInertia:  # type: ignore[override]
        mass, first, moment = self
        other_mass, other_first, other_moment = other
        return RigidInertia(mass + other_mass, first + other_first, moment + other_moment)

    def __matmul__(self, motion: Motion) -> Force:
        """Momentum of a motion: ``(I w + h x v, m v - h x w)``, 24 mul 18 add."""
        w, v = motion
        return Force(self.moment @ w + self.first.cross(v), v * self.mass - self.first.cross(w))

    def rotated(self, rotation: Rotation) -> RigidInertia:
        """The same body in other axes through the same origin."""
        return RigidInertia(self.mass, rotation @ self.first, rotation.symmetric(self.moment))

    def shifted(self, offset: Vec3) -> RigidInertia:
        """The same body about an origin from which the present one lies at ``offset``, 12 mul 18 add.

        ``I' = I + 2 (h.r) 1 - h r^T - r h^T + m (r.r 1 - r r^T)``, arranged over ``h + h'`` with ``h' = h + m r``.
        """
        moved = self.first + offset * self.mass
        (hx, hy, hz), (rx, ry, rz), (mx, my, mz) = self.first, offset, moved
        sx, sy, sz = rx * (hx + mx), ry * (hy + my), rz * (hz + mz)
        xx, yy, zz, xy, xz, yz = self.moment
        return RigidInertia(
            self.mass,
            moved,
            SymMat3(
                xx + (sy + sz),
                yy + (sx + sz),
                zz + (sx + sy),
                xy - (mx * ry + rx * hy),
                xz - (mx * rz + rx * hz),
                yz - (my * rz + ry * hz),
            ),
        )

    def components(self) -> tuple[Scalar, ...]:
        """(m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz), the order of the regressor."""
        i = self.moment
        return (self.mass, *self.first, i.xx, i.xy, i.yy, i.xz, i.yz, i.zz)


def _steiner(com: Vec3, first: Vec3) -> SymMat3:
    """``m (c.c 1 - c c^T)`` from c and m c."""
    a, b, c = com
    u, v, w = first
    x, y, z = a * u, b * v, c * w
    return SymMat3(y + z, x + z, x + y, -(a * v), -(a * w), -(b * w))


@one_operand
class ArticulatedInertia(NamedTuple):
    """Articulated-body inertia: the symmetric 6x6 matrix ``[[I, C], [C^T, Q]]`` by its 21 numbers.

    The P of Rodriguez & Kreutz-Delgado (34)-(36). ``I`` moment block, ``C`` coupling (``~h`` for a rigid body), ``Q``
    mass block.
    """

    moment: SymMat3
    coupling: Mat3
    mass: SymMat3

    @staticmethod
    def zero() -> ArticulatedInertia:
        """No inertia."""
        return ArticulatedInertia(SYM_ZERO, Mat3.zero(), SYM_ZERO)

    @staticmethod
    def from_rigid(rigid: RigidInertia) -> ArticulatedInertia:
        """A rigid body as an articulated one."""
        m = rigid.mass
        return ArticulatedInertia(rigid.moment, Mat3.skew(rigid.first), SymMat3.diagonal(m, m, m))

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:  # type: ignore[override]
        return ArticulatedInertia(self.moment + other.moment, self.coupling + other.coupling, self.mass + other.mass)

    def __mul__(self, factor: Scalar) -> ArticulatedInertia:  # type: ignore[override]
        return ArticulatedInertia(self.moment * factor, self.coupling * factor, self.mass * factor)

    def __matmul__(self, motion: Motion) -> Force:
        """``P m``: 36 mul 30 add."""
        w, v = motion
        return Force(
            self.moment @ w + self.coupling @ v,
            self.coupling.transpose_times(w) + self.mass @ v,
        )

    def solve(self, force: Force) -> Motion:
        """The motion m with ``P m = force``, by L D L* factors; not finite where P is singular, 86 mul 65 add 6 div.

        >>> body = RigidInertia.from_com(2.0, Vec3(0.5, 0.0, 0.0), SymMat3.diagonal(0.1, 0.1, 0.1))
        >>> m = Motion.of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        >>> [round(x, 12) for x in ArticulatedInertia.from_rigid(body).solve(body @ m).components()]
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
        """
        top = zip(self.moment.rows(), self.coupling, strict=True)
        bottom = zip(self.coupling.T, self.mass.rows(), strict=True)
        rows = [[*left, *right] for left, right in (*top, *bottom)]
        return Motion.of(solve_positive(rows, force.components(), judged=False))

    def minus_dyad(self, u: Force, weighted: Force) -> ArticulatedInertia:
        """``P - u g^T`` where ``g`` is a multiple of ``u``, so that it stays symmetric: P+ = P - U D^-1 U^T."""
        return ArticulatedInertia(
            self.moment - _symmetric_dyad(u.moment, weighted.moment),
            self.coupling - Mat3.dyad(u.moment, weighted.force),
            self.mass - _symmetric_dyad(u.force, weighted.force),
        )

    def minus_pair(self, u: Force, w: Force) -> ArticulatedInertia:
        """``P - u w^T - w u^T``, 42 mul 36 add."""
        return ArticulatedInertia(
            self.moment - SymMat3.dyad_pair(u.moment, w.moment),
            self.coupling - (Mat3.dyad(u.moment, w.force) + Mat3.dyad(w.moment, u.force)),
            self.mass - SymMat3.dyad_pair(u.force, w.force),
        )

    def carried_along(self, motion: Motion) -> ArticulatedInertia:
        """``S P + P S^T`` with S = crf(V): rate of change of an inertia carried along by V.

        >>> body = RigidInertia.from_com(2.0, Vec3(0.5, 0.0, 0.0), SymMat3.diagonal(0.0, 0.1, 0.1))
        >>> turning = Motion(Vec3(0.0, 0.0, 1.0), ZERO)
        >>> ArticulatedInertia.from_rigid(body).carried_along(turning).moment.xy   # Ixx - Iyy, a unit of speed
        -0.6
        """
        w, v = motion
        turned, mass = Mat3.of(self.moment).cross_columns(w), Mat3.of(self.mass)
        moment = turned + self.coupling.T.cross_columns(v)  # S = [[~w, ~v], [0, ~w]]
        coupling = self.coupling.cross_columns(w) + mass.cross_columns(v) + self.coupling.T.cross_columns(w).T
        return ArticulatedInertia(_plus_transpose(moment), coupling, _plus_transpose(mass.cross_columns(w)))

    def without_z(self, *, turning: bool, sliding: bool) -> ArticulatedInertia:
        """The same with the row and column of turning about (sliding along) z set to exact zeros."""
        i, c, q = self
        if turning:
            i, c = SymMat3(i.xx, i.yy, 0.0, i.xy, 0.0, 0.0), Mat3(c.x, c.y, ZERO)
        if sliding:
            c = Mat3(*(Vec3(row.x, row.y, 0.0) for row in c))
            q = SymMat3(q.xx, q.yy, 0.0, q.xy, 0.0, 0.0)
        return ArticulatedInertia(i, c, q)

    def rotated(self, rotation: Rotation) -> ArticulatedInertia:
        """The same inertia in other axes through the same origin."""
        return ArticulatedInertia(
            rotation.symmetric(self.moment), self.coupling.rotated(rotation), rotation.symmetric(self.mass)
        )

    def shifted(self, offset: Vec3) -> ArticulatedInertia:
        """About an origin from which the present one lies at ``offset`` r: ``phi P phi^T``, phi = [[1, ~r], [0, 1]].

        ``C' = C + ~r Q`` and ``I' = I + ~r C^T + (~r C^T)^T + ~r Q ~r^T = I + ~r C^T + (~r C'^T)^T``.
        """
        r = offset
        coupling = self.coupling + Mat3(*self.mass.rows()).cross_columns(r)
        a, b = self.coupling.T.cross_columns(r), coupling.T.cross_columns(r)
        i = self.moment
        moment = SymMat3(
            i.xx + (a.x.x + b.x.x),
            i.yy + (a.y.y + b.y.y),
            i.zz + (a.z.z + b.z.z),
            i.xy + (a.x.y + b.y.x),
            i.xz + (a.x.z + b.z.x),
            i.yz + (a.y.z + b.z.y),
        )
        return ArticulatedInertia(moment, coupling, self.mass)


def _symmetric_dyad(u: Vec3, v: Vec3) -> SymMat3:
    """``u v^T`` for parallel u and v."""
    return SymMat3(u.x * v.x, u.y * v.y, u.z * v.z, u.x * v.y, u.x * v.z, u.y * v.z)


def _plus_transpose(a: Mat3) -> SymMat3:
    """``A + A^T``."""
    x, y, z = a
    return SymMat3(x.x + x.x, y.y + y.y, z.z + z.z, x.y + y.x, x.z + z.x, y.z + z.y)
