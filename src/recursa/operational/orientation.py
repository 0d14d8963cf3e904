"""Coordinates of an orientation: angles, quaternions, and how their rates make angular velocities.

``omega = E(phi) phi'`` in world axes (Balafoutis & Patel, section 7.4.1: chi = h(q), J = dh/dq). E and its first and
second derivatives are all that the Cartesian model needs; ``T``, with ``E T = 1``, gives rates from velocities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recursa.dynamics.wrenches import skew
from recursa.errors import SingularConfigurationError, unknown_name
from recursa.spatial.rotation import Rotation
from recursa.spatial.scalars import atan2
from recursa.sweeps.batching import Array

Orientation = Literal["rpy", "zyz", "quaternion"]

_NEAR = 1e-6  # of the sine or cosine by which angles become singular


@dataclass(frozen=True)
class Angles:
    """Three angles about axes that move along, ``R = R(e1) R(e2) R(e3)``; ``places`` has them among the coordinates.

    The columns of E are the axes as they stand: ``c_k = R_1 ... R_(k-1) e_k``, so that ``dc_k/dphi_j = c_j x c_k`` for
    j < k and 0 else.
    """

    name: str
    axes: tuple[int, int, int]
    places: tuple[int, int, int]

    size = 3

    def of(self, rotation: Array) -> Array:
        """phi (..., 3) from matrices (..., 3, 3)."""
        r = np.moveaxis(rotation, (-2, -1), (0, 1))
        if self.name == "rpy":
            level = np.sqrt(r[2, 1] * r[2, 1] + r[2, 2] * r[2, 2])
            angles = atan2(r[2, 1], r[2, 2]), atan2(-r[2, 0], level), atan2(r[1, 0], r[0, 0])
        else:
            level = np.sqrt(r[0, 2] * r[0, 2] + r[1, 2] * r[1, 2])
            angles = atan2(r[1, 2], r[0, 2]), atan2(level, r[2, 2]), atan2(r[2, 1], -r[2, 0])
        self._require(level)
        return np.stack(angles, axis=-1)

    def _require(self, level: Array) -> None:
        near = np.abs(level).min(initial=1.0)
        if near < _NEAR:
            where = "pitch is 90 degrees up or down" if self.name == "rpy" else "the second angle is 0 or 180 degrees"
            raise SingularConfigurationError(
                f"orientation='{self.name}': {where}, where these angles are singular: two turn about one axis. "
                'Use orientation="quaternion", or none',
                float(1.0 / near) if near else float("inf"),
            )

    def matrix(self, phi: Array) -> Array:
        """E (..., 3, 3)."""
        columns = []
        turned = np.broadcast_to(np.eye(3, dtype=phi.dtype), (*phi.shape[:-1], 3, 3))
        for axis, place in zip(self.axes, self.places, strict=True):
            columns.append(turned[..., :, axis])
            turned = turned @ _about(axis, phi[..., place])
        return np.stack([columns[self.places.index(place)] for place in range(3)], axis=-1)

    def slope(self, phi: Array, along: Array) -> Array:
        """dE/dphi along a change, (..., 3, 3)."""
        c = self.matrix(phi)
        return np.stack([np.cross(self._carried(c, place, along), c[..., :, place]) for place in range(3)], axis=-1)

    def bend(self, phi: Array, along: Array, then: Array) -> Array:
        """d2E/dphi2 along two changes, (..., 3, 3)."""
        c, changed = self.matrix(phi), self.slope(phi, then)
        columns = []
        for place in range(3):
            carried, moved = self._carried(c, place, along), self._carried(changed, place, along)
            columns.append(np.cross(moved, c[..., :, place]) + np.cross(carried, changed[..., :, place]))
        return np.stack(columns, axis=-1)

    def _carried(self, c: Array, place: int, along: Array) -> Array:
        """Sum of the columns of E before one, times a change: the turn of its axis."""
        before = [other for other in range(3) if self.places.index(other) < self.places.index(place)]
        return sum((c[..., :, k] * along[..., k, None] for k in before), np.zeros_like(c[..., :, 0]))

    def inverse(self, phi: Array) -> Array:
        """T (..., 3, 3)."""
        return np.linalg.inv(self.matrix(phi))

    def inverse_rate(self, phi: Array, rate: Array) -> Array:
        """dT/dt: ``-T E' T``."""
        T = self.inverse(phi)
        return -T @ self.slope(phi, rate) @ T


def _about(axis: int, angle: Array) -> Array:
    """Rotations about a coordinate axis, (..., 3, 3)."""
    i, j = (axis + 1) % 3, (axis + 2) % 3
    made = np.zeros((*angle.shape, 3, 3), angle.dtype)
    made[..., axis, axis] = 1.0
    made[..., i, i] = made[..., j, j] = np.cos(angle)
    made[..., j, i] = np.sin(angle)
    made[..., i, j] = -made[..., j, i]
    return made


@dataclass(frozen=True)
class UnitQuaternion:
    """(x, y, z, w) of unit length with w >= 0: ``omega = 2 (w q' - w' q + q x q')``, linear in q and in q'."""

    name: str = "quaternion"

    size = 4

    def of(self, rotation: Array) -> Array:
        """phi (..., 4) from matrices (..., 3, 3)."""
        entries = np.moveaxis(rotation.reshape(*rotation.shape[:-2], 9), -1, 0)
        return np.stack(Rotation(*entries).quaternion(), axis=-1)

    def matrix(self, phi: Array) -> Array:
        """E (..., 3, 4)."""
        vector, w = phi[..., :3], phi[..., 3, None, None]
        unit = np.eye(3, dtype=phi.dtype)
        return 2.0 * np.concatenate([w * unit + skew(vector), -vector[..., None]], axis=-1)

    def slope(self, phi: Array, along: Array) -> Array:
        """dE/dphi along a change, (..., 3, 4)."""
        return self.matrix(along)

    def bend(self, phi: Array, along: Array, then: Array) -> Array:
        """Nothing: E is linear."""
        return np.zeros((*phi.shape[:-1], 3, 4), phi.dtype)

    def inverse(self, phi: Array) -> Array:
        """T (..., 4, 3), E* / 4."""
        return 0.25 * np.swapaxes(self.matrix(phi), -1, -2)

    def inverse_rate(self, phi: Array, rate: Array) -> Array:
        """dT/dt."""
        return self.inverse(rate)


KINDS: dict[str, Angles | UnitQuaternion] = {
    "rpy": Angles("rpy", (2, 1, 0), (2, 1, 0)),  # R = Rz(yaw) Ry(pitch) Rx(roll), coordinates (roll, pitch, yaw)
    "zyz": Angles("zyz", (2, 1, 2), (0, 1, 2)),
    "quaternion": UnitQuaternion(),
}


def known(orientation: str) -> Angles | UnitQuaternion:
    """The coordinates of that name."""
    if orientation not in KINDS:
        raise unknown_name("kind of orientation coordinates", orientation, KINDS)
    return KINDS[orientation]
