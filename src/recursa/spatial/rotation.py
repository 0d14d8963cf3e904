"""Rotations: matrices, quaternions, roll-pitch-yaw, axis and angle.

The sense is the same everywhere: a rotation takes **body components to reference components**, ``v = R v'``
(Balafoutis & Patel 4.2.16). Quaternions are (x, y, z, w). Roll-pitch-yaw is URDF's: ``Rz(yaw) Ry(pitch) Rx(roll)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, overload

from recursa.spatial import constant_trig
from recursa.spatial.scalars import Formula, Scalar, atan2, cos, cosc, one_operand, scalar_of, sin, sinc, sqrt, where
from recursa.spatial.vec3 import SymMat3, Vec3


@one_operand
class Rotation(NamedTuple):
    """A 3x3 rotation matrix by its nine entries, row by row.

    >>> import math
    >>> Rotation.from_axis_angle(Vec3(0.0, 0.0, 1.0), math.pi / 2).snapped() @ Vec3(1.0, 0.0, 0.0)
    Vec3(x=0.0, y=1.0, z=0.0)
    """

    xx: Scalar
    xy: Scalar
    xz: Scalar
    yx: Scalar
    yy: Scalar
    yz: Scalar
    zx: Scalar
    zy: Scalar
    zz: Scalar

    # ---- making one ------------------------------------------------------------------------------------------------

    @staticmethod
    def identity() -> Rotation:
        """No rotation."""
        return IDENTITY

    @staticmethod
    def from_rows(rows: Sequence[Sequence[Scalar]]) -> Rotation:
        """From three rows of three entries."""
        (a, b, c), (d, e, f), (g, h, i) = rows
        return Rotation(a, b, c, d, e, f, g, h, i)

    @staticmethod
    def from_axis_angle(axis: Vec3, angle: Scalar) -> Rotation:
        """Rotation by ``angle`` about the unit vector ``axis`` (Rodrigues)."""
        return Rotation.from_axis_cos_sin(axis, cos(angle), sin(angle))

    @staticmethod
    def from_axis_cos_sin(axis: Vec3, c: Scalar, s: Scalar) -> Rotation:
        """As :meth:`from_axis_angle`, from the cosine and sine; about a coordinate axis it costs nothing."""
        index = _coordinate_axis(axis)
        if index is not None:
            return Rotation.about(index, c, s * axis[index])
        t = 1.0 - c
        x, y, z = axis
        tx, ty, tz = t * x, t * y, t * z
        sx, sy, sz = s * x, s * y, s * z
        txy, txz, tyz = tx * y, tx * z, ty * z
        return Rotation(c + tx * x, txy - sz, txz + sy, txy + sz, c + ty * y, tyz - sx, txz - sy, tyz + sx, c + tz * z)

    @staticmethod
    def about(index: int, c: Scalar, s: Scalar) -> Rotation:
        """Rotation about a coordinate axis, 0, 1, 2 for x, y, z, from the cosine and sine of the angle; costs nothing.

        >>> Rotation.about(0, 0.6, 0.8) @ Vec3(5.0, 5.0, 0.0)
        Vec3(x=5.0, y=3.0, z=4.0)
        """
        rows = [[0.0] * 3 for _ in range(3)]
        j, k = (index + 1) % 3, (index + 2) % 3
        rows[index][index] = 1.0
        rows[j][j], rows[j][k] = c, -s
        rows[k][j], rows[k][k] = s, c
        return Rotation.from_rows(rows)

    @staticmethod
    def exp(vector: Vec3) -> Rotation:
        """Rotation by the angle ``|vector|`` about its direction; smooth at zero."""
        x2 = vector.norm_squared()
        a, b = sinc(x2), cosc(x2)
        x, y, z = vector
        bxy, bxz, byz = b * x * y, b * x * z, b * y * z
        ax, ay, az = a * x, a * y, a * z
        return Rotation(
            1.0 - b * (y * y + z * z), bxy - az, bxz + ay,
            bxy + az, 1.0 - b * (x * x + z * z), byz - ax,
            bxz - ay, byz + ax, 1.0 - b * (x * x + y * y),
        )  # fmt: skip

    @staticmethod
    def from_rpy(roll: Scalar, pitch: Scalar, yaw: Scalar) -> Rotation:
        """``Rz(yaw) Ry(pitch) Rx(roll)``, as URDF defines it."""
        return Rotation._of_turns(*((cos(angle), sin(angle)) for angle in (roll, pitch, yaw)))

    @staticmethod
    def from_constant_rpy(roll: float, pitch: float, yaw: float) -> Rotation:
        """As :meth:`from_rpy` for constants of a robot: the same bits on every machine, right angles exact."""
        return _constant_turns(*map(scalar_of, (roll, pitch, yaw)))

    @staticmethod
    def _of_turns(roll: tuple[Scalar, Scalar], pitch: tuple[Scalar, Scalar], yaw: tuple[Scalar, Scalar]) -> Rotation:
        (cr, sr), (cp, sp), (cy, sy) = roll, pitch, yaw
        cysp, sysp = cy * sp, sy * sp
        return Rotation(
            cy * cp, cysp * sr - sy * cr, cysp * cr + sy * sr,
            sy * cp, sysp * sr + cy * cr, sysp * cr - cy * sr,
            -sp, cp * sr, cp * cr,
        )  # fmt: skip

    @staticmethod
    def from_quaternion(q: Quaternion) -> Rotation:
        """From a quaternion of any non-zero length: it is normalised on the way, without a square root."""
        x, y, z, w = q
        s = 2.0 / q.norm_squared()
        sx, sy, sz = s * x, s * y, s * z
        xx, yy, zz = sx * x, sy * y, sz * z
        xy, xz, yz = sx * y, sx * z, sy * z
        wx, wy, wz = sx * w, sy * w, sz * w
        return Rotation(
            1.0 - (yy + zz), xy - wz, xz + wy,
            xy + wz, 1.0 - (xx + zz), yz - wx,
            xz - wy, yz + wx, 1.0 - (xx + yy),
        )  # fmt: skip

    @staticmethod
    def z_to(axis: Vec3) -> Rotation:
        """The shortest rotation that takes the z axis to the unit vector ``axis`` (plain floats).

        For ``axis = -z`` every half turn is as short; the one about x is taken.
        """
        x, y, z = (float(c) for c in axis)
        sideways = x * x + y * y
        if z < 0.0 and sideways < 1e-30:
            return Rotation(1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0)
        k = 1.0 / (1.0 + z) if z > 0.0 else (1.0 - z) / sideways  # equal; near -z only the latter keeps its digits
        return Rotation(1.0 - k * x * x, -k * x * y, x, -k * x * y, 1.0 - k * y * y, y, -x, -y, z)

    # ---- taking it apart -------------------------------------------------------------------------------------------

    def log(self) -> Vec3:
        """The rotation vector, of length in [0, pi]; accurate near 0 and near pi. Inverse of :meth:`exp`."""
        return self.quaternion().log()

    def quaternion(self) -> Quaternion:
        """The unit quaternion with w >= 0."""
        # four candidates 4 q_i q; the one whose own component is largest is exact enough (Shepperd)
        tx = 1.0 + self.xx - self.yy - self.zz
        ty = 1.0 - self.xx + self.yy - self.zz
        tz = 1.0 - self.xx - self.yy + self.zz
        tw = 1.0 + self.xx + self.yy + self.zz
        a, b, c = self.zy - self.yz, self.xz - self.zx, self.yx - self.xy
        d, e, f = self.xy + self.yx, self.xz + self.zx, self.yz + self.zy
        best = Quaternion(a, b, c, tw)
        largest = tw
        for t, candidate in (
            (tx, Quaternion(tx, d, e, a)),
            (ty, Quaternion(d, ty, f, b)),
            (tz, Quaternion(e, f, tz, c)),
        ):
            better = t > largest
            best = Quaternion(*(where(better, new, old) for new, old in zip(candidate, best, strict=True)))
            largest = where(better, t, largest)
        return best.with_positive_w().normalized()

    def rpy(self) -> tuple[Scalar, Scalar, Scalar]:
        """Roll, pitch, yaw that give the matrix back to rounding everywhere.

        Near pitch = +-90 degrees yaw comes from small entries and means little; roll is therefore measured after yaw
        has been undone. At the lock itself yaw is 0.
        """
        return self._turns(atan2, lambda angle: (cos(angle), sin(angle)))

    def constant_rpy(self) -> tuple[float, float, float]:
        """As :meth:`rpy` for constants of a robot: the same bits on every machine."""
        return self._turns(constant_trig.atan2, constant_trig.cos_sin)

    def _turns(
        self, atan2: Callable[[Scalar, Scalar], Scalar], cos_sin: Callable[[Scalar], tuple[Scalar, Scalar]]
    ) -> tuple[Scalar, Scalar, Scalar]:
        yaw = atan2(self.yx, self.xx)
        c, s = cos_sin(yaw)
        pitch = atan2(-self.zx, sqrt(self.xx * self.xx + self.yx * self.yx))
        return atan2(s * self.xz - c * self.yz, c * self.yy - s * self.xy), pitch, yaw

    # ---- using it --------------------------------------------------------------------------------------------------

    @property
    def T(self) -> Rotation:
        """Transpose, which is the inverse."""
        return Rotation(self.xx, self.yx, self.zx, self.xy, self.yy, self.zy, self.xz, self.yz, self.zz)

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...
    @overload
    def __matmul__(self, other: Rotation) -> Rotation: ...
    def __matmul__(self, other: Vec3 | Rotation) -> Vec3 | Rotation:
        """Rotate a vector (9 mul 6 add) or compose two rotations (27 mul 18 add)."""
        xx, xy, xz, yx, yy, yz, zx, zy, zz = self
        if isinstance(other, Vec3):
            x, y, z = other
            return Vec3(xx * x + xy * y + xz * z, yx * x + yy * y + yz * z, zx * x + zy * y + zz * z)
        a, b, c, d, e, f, g, h, i = other
        return Rotation(
            xx * a + xy * d + xz * g, xx * b + xy * e + xz * h, xx * c + xy * f + xz * i,
            yx * a + yy * d + yz * g, yx * b + yy * e + yz * h, yx * c + yy * f + yz * i,
            zx * a + zy * d + zz * g, zx * b + zy * e + zz * h, zx * c + zy * f + zz * i,
        )  # fmt: skip

    def inverse_times(self, v: Vec3) -> Vec3:
        """``R^T v``: reference components to body components."""
        xx, xy, xz, yx, yy, yz, zx, zy, zz = self
        x, y, z = v
        return Vec3(xx * x + yx * y + zx * z, xy * x + yy * y + zy * z, xz * x + yz * y + zz * z)

    def symmetric(self, a: SymMat3) -> SymMat3:
        """``R A R^T`` of a symmetric matrix, 31 mul 28 add.

        ``A - A_zz 1`` has a zero corner, and the trace gives the last diagonal entry.
        """
        xx, xy, xz, yx, yy, yz, zx, zy, zz = self
        axx, ayy, azz, axy, axz, ayz = a
        axx, ayy = axx - azz, ayy - azz
        ux, uy, uz = xx * axx + xy * axy + xz * axz, xx * axy + xy * ayy + xz * ayz, xx * axz + xy * ayz
        vx, vy, vz = yx * axx + yy * axy + yz * axz, yx * axy + yy * ayy + yz * ayz, yx * axz + yy * ayz
        sxx, syy = ux * xx + uy * xy + uz * xz, vx * yx + vy * yy + vz * yz
        szz = axx + ayy - sxx - syy
        return SymMat3(
            sxx + azz, syy + azz, szz + azz,
            ux * yx + uy * yy + uz * yz, ux * zx + uy * zy + uz * zz, vx * zx + vy * zy + vz * zz,
        )  # fmt: skip

    def rows(self) -> tuple[Vec3, Vec3, Vec3]:
        """The rows of the matrix."""
        return Vec3(*self[0:3]), Vec3(*self[3:6]), Vec3(*self[6:9])

    def columns(self) -> tuple[Vec3, Vec3, Vec3]:
        """The columns: the body's axes in reference components."""
        return Vec3(*self[0::3]), Vec3(*self[1::3]), Vec3(*self[2::3])

    def snapped(self, tolerance: float = 1e-15) -> Rotation:
        """Plain floats with entries within ``tolerance`` of 0, 1 or -1 made exact, so that right angles cost nothing.

        cos(pi/2) in floating point is 6e-17; a specialised kernel would carry it along for ever.
        """
        return IDENTITY if self == IDENTITY else _snapped(self, tolerance)


@lru_cache(maxsize=4096)
def _constant_turns(*angles: Any) -> Rotation:
    """Of roll, pitch, yaw; a robot has few different ones, and each of them often."""
    return Rotation._of_turns(*map(_constant_cos_sin, angles)).snapped()


def _constant_cos_sin(angle: Any) -> tuple[Any, Any]:
    return (angle.cos(), angle.sin()) if isinstance(angle, Formula) else constant_trig.cos_sin(angle)


def _coordinate_axis(axis: Vec3) -> int | None:
    """The number of the coordinate axis that a constant one lies along, if any."""
    if not all(isinstance(x, float) for x in axis):
        return None
    return next((i for i in range(3) if axis[i - 1] == axis[i - 2] == 0.0), None)


_BELOW_ONE = 0.999  # an entry far from all exact ones, if it is not near zero


@lru_cache(maxsize=4096)
def _snapped(rotation: Rotation, tolerance: float) -> Rotation:
    """As :func:`_constant_turns`, of few different ones; those that are equal (0.0 and -0.0) give the same bits."""
    return Rotation(*[_snap(e, tolerance) for e in map(scalar_of, rotation)])


def _snap(entry: Any, tolerance: float) -> Any:
    if isinstance(entry, Formula) or tolerance < abs(entry) < _BELOW_ONE:
        return entry
    size = abs(entry)
    if size <= tolerance:
        return 0.0
    if abs(size - 1.0) <= tolerance:
        return 1.0 if entry > 0.0 else -1.0
    return entry


IDENTITY = Rotation(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@one_operand
class Quaternion(NamedTuple):
    """A quaternion (x, y, z, w); unit length where it stands for a rotation.

    >>> import math
    >>> Quaternion.exp(Vec3(0.0, 0.0, math.pi)).scaled(1.0).w < 1e-15
    True
    """

    x: Scalar
    y: Scalar
    z: Scalar
    w: Scalar

    @staticmethod
    def identity() -> Quaternion:
        """No rotation."""
        return Quaternion(0.0, 0.0, 0.0, 1.0)

    @staticmethod
    def exp(vector: Vec3) -> Quaternion:
        """The rotation by ``|vector|`` about its direction."""
        x2 = 0.25 * vector.norm_squared()
        half = 0.5 * sinc(x2)
        return Quaternion(half * vector.x, half * vector.y, half * vector.z, 1.0 - x2 * cosc(x2))

    def log(self) -> Vec3:
        """The rotation vector of length at most pi; the quaternion is taken as of unit length."""
        x, y, z, w = self.with_positive_w()
        s2 = x * x + y * y + z * z
        small = s2 < 1e-30  # there atan2(s, w)/s is 1/w to rounding
        s = sqrt(where(small, 1.0, s2))
        factor = where(small, 2.0 / where(small, w, 1.0), 2.0 * atan2(s, w) / s)
        return Vec3(x, y, z) * factor

    def with_positive_w(self) -> Quaternion:
        """The same rotation with w >= 0: of the two quaternions the one nearer to the identity."""
        negative = self.w < 0.0
        return Quaternion(*(where(negative, -c, c) for c in self))

    def __matmul__(self, other: Quaternion) -> Quaternion:
        """The rotation ``self`` after ``other``, as matrices multiply."""
        a, b, c, w = self
        x, y, z, v = other
        return Quaternion(
            w * x + a * v + b * z - c * y,
            w * y - a * z + b * v + c * x,
            w * z + a * y - b * x + c * v,
            w * v - a * x - b * y - c * z,
        )

    def conjugate(self) -> Quaternion:
        """The inverse of a unit quaternion."""
        return Quaternion(-self.x, -self.y, -self.z, self.w)

    def norm_squared(self) -> Scalar:
        """Sum of the squares."""
        return self.x * self.x + self.y * self.y + self.z * self.z + self.w * self.w

    def scaled(self, factor: Scalar) -> Quaternion:
        """Every component times ``factor``."""
        return Quaternion(self.x * factor, self.y * factor, self.z * factor, self.w * factor)

    def normalized(self) -> Quaternion:
        """The quaternion of unit length in the same direction."""
        return self.scaled(1.0 / sqrt(self.norm_squared()))


def rotation_about(index: int, angle: Any) -> Rotation:
    """Rotation by a constant about a coordinate axis, right angles exact. ``index`` 0, 1, 2 is x, y, z."""
    return Rotation.about(index, *_constant_cos_sin(scalar_of(angle))).snapped()
