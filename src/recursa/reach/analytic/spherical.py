"""Arms whose last three axes meet in a point c: three joints bring it there, the other three turn the hand about it.

With the motions E_k of the joints from zero and the displacement ``D = E1 ... E6`` of the hand that is wanted (Pieper,
The kinematics of manipulators under computer control, 1968):

    E1 E2 E3 c = D c = p            since the last three leave c where it is
    R4 R5 R6 = (R1 R2 R3)* R_D

For the first, let r1 and r2 be the feet of the common perpendicular of axes 1 and 2, ``r2 - r1 = a n``,
``h1 = cos(alpha) h2 + sin(alpha) m``, and ``u = R3 (c - r3) + r3 - r2``, ``z = h2 . u``, ``g = u . u / 2``. What E1
does not change is

    h1 . (p - r2) = cos(alpha) z + sin(alpha) w_m                                                             (1)
    (|p - r1|^2 - a^2) / 2 = g + a w_n                                                                        (2)

with the components (w_n, w_m) of R2 u along n and m, for which ``w_n^2 + w_m^2 = 2 g - z^2``. z and g are sums of a
cosine, a sine and a constant of the third angle, so that w_n and w_m eliminated leave a quartic; it falls apart into
square roots where axes 2 and 3 are parallel, or 1 and 2 meet or are parallel, as they do in all but a few arms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recursa.reach.analytic import angles
from recursa.reach.analytic.angles import angle_between, angles_of, cross, dot, harmonic, moved, turned
from recursa.reach.analytic.axes import Axes
from recursa.sweeps.batching import Array

_MEETING = 1e-4  # rad: roots of the quartic that are so near are about to be one


@dataclass(frozen=True)
class Shoulder:
    """Axes 1 and 2: the feet r1, r2 of their common perpendicular a n, and the angle alpha between them."""

    r1: Array
    r2: Array
    a: float
    n: Array
    m: Array
    cos: float
    sin: float

    @staticmethod
    def of(axes: Axes, tolerance: float) -> Shoulder:
        """Axes that miss being parallel, or meeting, by less than the tolerance are taken to do so."""
        (h1, h2), (r1, r2) = axes.directions[:2], axes.points[:2]
        normal, between = cross(h1, h2), r2 - r1
        sine, cosine = float(np.sqrt(dot(normal, normal))), float(dot(h1, h2))
        if sine <= tolerance:
            r2 = r2 - h2 * dot(h2, between)
            across = r2 - r1
            a = float(np.sqrt(dot(across, across)))
            n = across / a
            return Shoulder(r1, r2, a, n, cross(h2, n), float(np.sign(cosine)), 0.0)
        n = normal / sine
        r1 = r1 + h1 * (dot(cross(between, h2), normal) / sine**2)
        r2 = r2 + h2 * (dot(cross(between, h1), normal) / sine**2)
        a = float(dot(n, r2 - r1))
        if abs(a) <= tolerance * axes.size:
            r1 = r2 = 0.5 * (r1 + r2)
            a = 0.0
        return Shoulder(r1, r2, a, n, (h1 - cosine * h2) / sine, cosine, sine)


@dataclass(frozen=True)
class Third:
    """z and g of a third joint that turns, each as its cosine, sine and constant part of the angle."""

    z: tuple[Array, Array, Array]
    g: tuple[Array, Array, Array]

    @staticmethod
    def of(axes: Axes, shoulder: Shoulder, center: Array) -> Third:
        """Of axes 2 and 3 and the wrist."""
        h2, h3, r3 = axes.directions[1], axes.directions[2], axes.points[2]
        b, e = center - r3, r3 - shoulder.r2
        zc, zs, z0 = harmonic(h2, h3, b)
        gc, gs, g0 = harmonic(e, h3, b)
        return Third((zc, zs, z0 + dot(h2, e)), (gc, gs, g0 + 0.5 * (dot(b, b) + dot(e, e))))

    def at(self, angle: Array) -> tuple[Array, Array]:
        """z and g at angles."""
        c, s = np.cos(angle), np.sin(angle)
        z, g = (part[0] * c + part[1] * s + part[2] for part in (self.z, self.g))
        return z, g

    def where_z_is(self, value: Array) -> tuple[Array, Array]:
        """Both angles (..., 2), and where they are one."""
        return angles_of(self.z[0], self.z[1], value - self.z[2])

    def where_g_is(self, value: Array) -> tuple[Array, Array]:
        """Both angles (..., 2), and where they are one."""
        return angles_of(self.g[0], self.g[1], value - self.g[2])


@dataclass(frozen=True)
class Sliding:
    """The same of a third joint that slides by s: ``z = z1 s + z0`` and ``g = s^2/2 + g1 s + g0``."""

    z: tuple[Array, Array, Array]
    g: tuple[Array, Array]

    @staticmethod
    def of(axes: Axes, shoulder: Shoulder, center: Array) -> Sliding:
        """Of axes 2 and 3 and the wrist, which is at c - r2 + h3 s from the second axis."""
        h2, h3, u = axes.directions[1], axes.directions[2], center - shoulder.r2
        return Sliding((dot(h2, h3), np.zeros(()), dot(h2, u)), (dot(h3, u), 0.5 * dot(u, u)))

    def at(self, way: Array) -> tuple[Array, Array]:
        """z and g at ways s."""
        return self.z[0] * way + self.z[2], (0.5 * way + self.g[0]) * way + self.g[1]

    def where_z_is(self, value: Array) -> tuple[Array, Array]:
        """There is one such way; the other place is nan."""
        way = (value - self.z[2]) / self.z[0]
        return np.stack([way, np.full_like(way, np.nan)], axis=-1), np.zeros(way.shape, bool)

    def where_g_is(self, value: Array) -> tuple[Array, Array]:
        """Both ways (..., 2), and where they are one."""
        square = self.g[0] ** 2 - 2.0 * (self.g[1] - value)
        root = np.sqrt(np.maximum(square, 0.0))
        return np.stack([root - self.g[0], -root - self.g[0]], axis=-1), root <= angles.NEAR


def solve(axes: Axes, rotation: Array, translation: Array, reference: Array, tolerance: float) -> tuple[Array, Array]:
    """All angles (B, 2, 2, 2, 6) for displacements (B, 3, 3), (B, 3): by shoulder, elbow and wrist; and (..., 3) flags.

    The flags say where the shoulder, the elbow, the wrist are singular. ``reference`` (B, 6) are the angles that are
    taken for those that mean nothing. Branches that do not exist are nan, or miss the target.
    """
    center = axes.meeting_point((3, 4, 5))
    p = angles.times(rotation, center) + translation
    first, at_shoulder, at_elbow = _position(axes, center, p, reference, tolerance)
    last, at_wrist = _orientation(axes, first, rotation, reference)
    whole = np.concatenate([np.broadcast_to(first[..., None, :], last.shape), last], axis=-1)
    flags = np.stack(
        [
            np.broadcast_to(at_shoulder[..., None], at_wrist.shape),
            np.broadcast_to(at_elbow[..., None], at_wrist.shape),
            at_wrist,
        ],
        axis=-1,
    )
    return whole, flags


# ---- the first three -------------------------------------------------------------------------------------------------


def _position(axes: Axes, center: Array, p: Array, reference: Array, tolerance: float) -> tuple[Array, Array, Array]:
    """Angles (B, 2, 2, 3) that bring the wrist to points (B, 3), by shoulder and elbow; where either is singular."""
    shoulder = Shoulder.of(axes, tolerance)
    turns = bool(axes.turns[2])
    third = Third.of(axes, shoulder, center) if turns else Sliding.of(axes, shoulder, center)
    (h1, h2, h3), size = axes.directions[:3], axes.size
    k1 = dot(h1, p - shoulder.r2)  # the left sides of (1) and (2)
    from_r1 = p - shoulder.r1
    k2 = 0.5 * (dot(from_r1, from_r1) - shoulder.a**2)
    angle3, w_n, w_m, folded = _third_angles(axes, shoulder, third, k1, k2, tolerance)
    reached3 = moved(h3, axes.points[2], angle3, center) if turns else center + h3 * angle3[..., None]
    u = reached3 - shoulder.r2
    wanted = shoulder.n * w_n[..., None] + shoulder.m * w_m[..., None]
    angle2, on_axis2 = angle_between(h2, u / size, wanted / size, reference[:, None, None, 1])
    reached = turned(h2, angle2, u) + shoulder.r2
    angle1, on_axis1 = angle_between(
        h1, (reached - shoulder.r1) / size, from_r1[:, None, None] / size, reference[:, None, None, 0]
    )
    return np.stack([angle1, angle2, angle3], axis=-1), on_axis1, folded | on_axis2


def _third_angles(
    axes: Axes, shoulder: Shoulder, third: Third | Sliding, k1: Array, k2: Array, tolerance: float
) -> tuple[Array, Array, Array, Array]:
    """The third angle, w_n and w_m (B, 2, 2), by shoulder and elbow; and where two elbows are one."""
    if np.hypot(third.z[0], third.z[1]) <= tolerance * (axes.size if isinstance(third, Third) else 1.0):
        return _with_constant_z(shoulder, third, k1, k2)
    if shoulder.a == 0.0:
        return _with_meeting_1_2(shoulder, third, k1, k2)
    if shoulder.sin == 0.0:
        return _with_parallel_1_2(shoulder, third, k1, k2)
    if isinstance(third, Sliding):
        return _with_meeting_1_2(shoulder, third, k1, k2)  # they nearly do
    return _in_general(shoulder, third, k1, k2)


def _with_constant_z(
    shoulder: Shoulder, third: Third | Sliding, k1: Array, k2: Array
) -> tuple[Array, Array, Array, Array]:
    """Parallel axes 2 and 3: ``w_n = -a +- sqrt(|p - r1|^2 - w_m^2 - z^2)`` from (2) and the squares, g from (2)."""
    z = third.z[2]
    w_m = (k1 - shoulder.cos * z) / shoulder.sin
    square = 2.0 * k2 + shoulder.a**2 - w_m**2 - z**2
    root = np.sqrt(np.maximum(square, 0.0))
    w_n = np.stack([root - shoulder.a, -root - shoulder.a], axis=-1)  # (B, shoulder)
    angle3, folded = third.where_g_is(k2[:, None] - shoulder.a * w_n)
    both = np.broadcast_to(w_n[..., None], angle3.shape)
    return (
        angle3,
        both,
        np.broadcast_to(w_m[:, None, None], angle3.shape),
        np.broadcast_to(folded[..., None], angle3.shape),
    )


def _with_meeting_1_2(
    shoulder: Shoulder, third: Third | Sliding, k1: Array, k2: Array
) -> tuple[Array, Array, Array, Array]:
    """a = 0: g from (2), w_m from (1), and w_n is a root."""
    angle3, folded = third.where_g_is(k2)  # (B, elbow)
    z, g = third.at(angle3)
    w_m = (k1[:, None] - shoulder.cos * z) / shoulder.sin
    root = np.sqrt(np.maximum(2.0 * g - z**2 - w_m**2, 0.0))
    return _by_shoulder(angle3, np.stack([root, -root], axis=1), w_m[:, None], folded)


def _with_parallel_1_2(
    shoulder: Shoulder, third: Third | Sliding, k1: Array, k2: Array
) -> tuple[Array, Array, Array, Array]:
    """sin(alpha) = 0: z from (1), w_n from (2), and w_m is a root."""
    angle3, folded = third.where_z_is(shoulder.cos * k1)
    z, g = third.at(angle3)
    w_n = (k2[:, None] - g) / shoulder.a
    root = np.sqrt(np.maximum(2.0 * g - z**2 - w_n**2, 0.0))
    return _by_shoulder(angle3, w_n[:, None], np.stack([root, -root], axis=1), folded)


def _by_shoulder(angle3: Array, w_n: Array, w_m: Array, folded: Array) -> tuple[Array, Array, Array, Array]:
    """The same third angles with either sign of a root."""
    shape = (len(angle3), 2, 2)
    spread = (np.broadcast_to(x, shape) for x in (angle3[:, None], w_n, w_m, folded[:, None, None]))
    angle, n, m, flag = spread
    return angle, n, m, flag


def _in_general(shoulder: Shoulder, third: Third, k1: Array, k2: Array) -> tuple[Array, Array, Array, Array]:
    """The quartic ``sin^2 (K2 - g)^2 + a^2 (k1 - cos z)^2 = a^2 sin^2 (2 g - z^2)`` in the third angle.

    Of its roots, rising and falling ones take turns around the circle. There need be no more to tell them apart by:
    some such arms go from one to another without passing a singular configuration.
    """
    a, c, s = shoulder.a, shoulder.cos, shoulder.sin

    def squared(part: tuple[Array, ...]) -> tuple[Array, Array, Array]:
        x, y, constant = part
        return constant**2 + 0.5 * (x * x + y * y), 2.0 * constant * (x - 1j * y), 0.5 * (x - 1j * y) ** 2

    def minus(value: Array, part: tuple[Array, Array, Array], factor: float) -> tuple[Array, Array, Array]:
        return -factor * part[0], -factor * part[1], value - factor * part[2]

    parts = [squared(minus(k2, third.g, 1.0)), squared(minus(k1, third.z, c)), squared(third.z)]
    weights = (s * s, a * a, a * a * s * s)
    gc, gs, g0 = third.g
    less = (-2.0 * weights[2] * g0, -2.0 * weights[2] * (gc - 1j * gs), np.zeros(()))
    sums = [
        sum((w * part[k] for w, part in zip(weights, parts, strict=True)), start=np.asarray(less[k])) for k in range(3)
    ]
    constant, first, second = np.broadcast_arrays(*sums)
    roots, exist = angles.roots_on_circle(constant, first, second)
    rising = angles.rises_at(constant, first, second, roots)
    elbow = (np.arange(4) + np.where(rising[:, :1], 0, 1)) % 2  # they take turns
    slot = 2 * (np.arange(4) // 2) + elbow
    angle3, found = np.empty_like(roots), np.empty_like(exist)
    np.put_along_axis(angle3, slot, roots, axis=1)
    np.put_along_axis(found, slot, exist, axis=1)
    angle3 = np.where(found, angle3, np.nan)
    z, g = third.at(angle3)
    w_n, w_m = (k2[:, None] - g) / a, (k1[:, None] - c * z) / s
    apart = np.abs(angle3[:, :, None] - angle3[:, None, :]) + 4.0 * np.eye(4)
    meeting = (np.minimum(apart, np.abs(2.0 * np.pi - apart)) < _MEETING).any(axis=2)
    angle3, w_n, w_m, meeting = (x.reshape(-1, 2, 2) for x in (angle3, w_n, w_m, meeting))
    return angle3, w_n, w_m, meeting


# ---- the last three --------------------------------------------------------------------------------------------------


def _orientation(axes: Axes, first: Array, rotation: Array, reference: Array) -> tuple[Array, Array]:
    """Angles (B, 2, 2, 2, 3) that turn the hand, for the first three (B, 2, 2, 3); and where the wrist is singular."""
    h4, h5, h6 = axes.directions[3:]
    rotation = rotation[:, None, None]

    def inward(x: Array) -> Array:
        """``(R1 R2 R3)* x``."""
        for k in np.flatnonzero(axes.turns[:3]):
            x = turned(axes.directions[k], -first[..., k], x)
        return x

    def outward(x: Array) -> Array:
        for k in np.flatnonzero(axes.turns[:3])[::-1]:
            x = turned(axes.directions[k], first[..., k], x)
        return x

    shape = first.shape[:-1]
    hand = inward(angles.times(rotation, h6))  # (R1 R2 R3)* R_D h6 = R4 R5 h6
    root = angles.times(rotation.swapaxes(-1, -2), outward(np.broadcast_to(h4, (*shape, 3))))  # (R5 R6)* h4
    c, s, constant = harmonic(h4, h5, h6)
    angle5, _ = angles_of(c, s, dot(h4, hand) - constant)
    hand, root = hand[..., None, :], root[..., None, :]
    tip, bottom = (
        turned(h5, angle5, np.broadcast_to(h6, (*angle5.shape, 3))),
        turned(h5, -angle5, np.broadcast_to(h4, (*angle5.shape, 3))),
    )
    across = cross(np.broadcast_to(h4, tip.shape), tip)
    sine = np.sqrt(dot(across, across))
    singular = sine <= angles.SINGULAR
    angle4, _ = angle_between(h4, tip, hand, 0.0)
    angle4 = np.where(singular, reference[:, None, None, None, 3], angle4)
    angle6, _ = angle_between(h6, root, bottom, 0.0)
    aside = cross(h6, np.eye(3)[np.abs(h6).argmin()])  # any vector that joint 6 turns
    seen = inward(angles.times(rotation, aside))[..., None, :]  # R4 R5 R6 x
    together, _ = angle_between(
        h6, np.broadcast_to(aside, tip.shape), turned(h5, -angle5, turned(h4, -angle4, seen)), 0.0
    )
    return np.stack([angle4, angle5, np.where(singular, together, angle6)], axis=-1), sine <= angles.NEAR
