"""Poses and velocities of many links as arrays; quaternions are (x, y, z, w)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from recursa.spatial.rotation import Quaternion, Rotation
from recursa.spatial.transform import Transform
from recursa.spatial.vectors6 import Motion
from recursa.sweeps.batching import Array


@dataclass(frozen=True)
class LinkStates:
    """Origins (..., N, 3), quaternions (..., N, 4) and body velocities (..., N, 6) of all bodies."""

    origins: Array
    turns: Array
    twists: Array

    @cached_property
    def frames(self) -> Array:
        """Rotation matrices (..., N, 3, 3), link to world axes."""
        return matrices(self.turns)

    def along(self, rate: LinkStates, time: float) -> LinkStates:
        """The state after moving with a rate; quaternions leave their sphere by as much as that is wrong."""
        return LinkStates(
            self.origins + time * rate.origins, self.turns + time * rate.turns, self.twists + time * rate.twists
        )

    def normalized(self) -> LinkStates:
        """The same with quaternions of unit length."""
        return LinkStates(self.origins, self.turns / np.linalg.norm(self.turns, axis=-1, keepdims=True), self.twists)


def flat(values: Array) -> Array:
    """Values per body, one body after the other."""
    return values.reshape(*values.shape[:-2], -1)


def matrices(quaternions: Array) -> Array:
    """Rotation matrices (..., 3, 3) of quaternions of any length but zero."""
    rotation = Rotation.from_quaternion(Quaternion(*np.moveaxis(quaternions, -1, 0)))
    return np.stack(rotation, axis=-1).reshape(*quaternions.shape[:-1], 3, 3)


def quaternions_of(matrices: Array) -> Array:
    """Quaternions (..., 4) of rotation matrices (..., 3, 3)."""
    entries = matrices.reshape(*matrices.shape[:-2], 9)
    return np.stack(Rotation(*np.moveaxis(entries, -1, 0)).quaternion(), axis=-1)


def rate_of(quaternions: Array, vectors: Array) -> Array:
    """Rates of change ``q (w, 0) / 2`` for angular velocities w in link axes."""
    x, y, z = np.moveaxis(vectors, -1, 0)
    w = Quaternion(x, y, z, np.zeros(vectors.shape[:-1]))
    return 0.5 * np.stack(Quaternion(*np.moveaxis(quaternions, -1, 0)) @ w, axis=-1)


def rotated(frames: Array, vectors: Array) -> Array:
    """Vectors turned from link to world axes."""
    return (frames @ vectors[..., None])[..., 0]


def moved(state: LinkStates, displacements: Array) -> LinkStates:
    """Every link displaced by ``exp`` of a motion in its own axes."""
    motion = Motion.of(np.moveaxis(displacements, -1, 0))
    shift = np.stack(Transform.exp(motion).translation, axis=-1)
    turn = Quaternion(*np.moveaxis(state.turns, -1, 0)) @ Quaternion.exp(motion.angular)
    return LinkStates(state.origins + rotated(state.frames, shift), np.stack(turn, axis=-1), state.twists).normalized()
