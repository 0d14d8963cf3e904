"""Poses and velocities of many links as arrays; quaternions are (x, y, z, w)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recursa.dynamics.configuration import series_of_rates
from recursa.model.joints import Free
from recursa.spatial.rotation import Quaternion, Rotation
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import Vec3
from recursa.spatial.vectors6 import Motion
from recursa.sweeps.batching import Array, times


@dataclass(frozen=True)
class LinkPoses:
    """Origins (..., N, 3) and quaternions (..., N, 4) of all bodies."""

    origins: Array
    turns: Array

    @cached_property
    def frames(self) -> Array:
        """Rotation matrices (..., N, 3, 3), link to world axes."""
        return matrices(self.turns)

    def moved(self, displacements: Array) -> LinkPoses:
        """Every link displaced by ``exp`` of a motion (..., N, 6) in its own axes; quaternions have unit length."""
        motion = Motion.of(np.moveaxis(displacements, -1, 0))
        shift = np.stack(Transform.exp(motion).translation, axis=-1)
        turn = np.stack(Quaternion(*np.moveaxis(self.turns, -1, 0)) @ Quaternion.exp(motion.angular), axis=-1)
        turn /= np.linalg.norm(turn, axis=-1, keepdims=True)
        return LinkPoses(self.origins + times(self.frames, shift), turn)


def flat(values: Array) -> Array:
    """Values per body, one body after the other."""
    return values.reshape(*values.shape[:-2], -1)


def matrices(quaternions: Array) -> Array:
    """Rotation matrices (..., 3, 3) of quaternions of any length but zero."""
    return _stacked(Rotation.from_quaternion(Quaternion(*np.moveaxis(quaternions, -1, 0))), quaternions)


def rotation_matrices(vectors: Array) -> Array:
    """Rotation matrices (..., 3, 3) of rotation vectors (..., 3)."""
    return _stacked(Rotation.exp(Vec3(*np.moveaxis(vectors, -1, 0))), vectors)


def _stacked(rotation: Rotation, like: Array) -> Array:
    return np.stack(np.broadcast_arrays(*rotation), axis=-1).reshape(*like.shape[:-1], 3, 3)


def quaternions_of(matrices: Array) -> Array:
    """Quaternions (..., 4) of rotation matrices (..., 3, 3)."""
    entries = matrices.reshape(*matrices.shape[:-2], 9)
    return np.stack(Rotation(*np.moveaxis(entries, -1, 0)).quaternion(), axis=-1)


def chart_rates(displacements: Array, twists: Array) -> Array:
    """Rates (..., N, 6) of the displacements with which links move at such velocities."""
    x, v = (tuple(np.moveaxis(values, -1, 0)) for values in (displacements, twists))
    return np.stack(series_of_rates(Free().bracket, x, v), axis=-1)
