"""PoseLine: a pose that moves straight and turns about one axis."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.control.inputs import pose
from recursa.spatial.rotation import Rotation
from recursa.spatial.vec3 import Vec3
from recursa.sweeps.batching import Array
from recursa.trajectories import inputs
from recursa.trajectories.curves import Cycloid


class PoseLine:
    """From one pose to another in time T: the origin on a straight line, the axes turned about one axis, as a cycloid.

    ``line(t)`` is (pose (..., 4, 4), velocity (..., 6), acceleration (..., 6)): (omega, v) of the origin in world axes
    and its derivative. Before and after it stands still.

    >>> import numpy as np
    >>> end = np.array([[0.0, -1, 0, 0.3], [1, 0, 0, 0], [0, 0, 1, 0.1], [0, 0, 0, 1]])
    >>> line = PoseLine(np.eye(4), end, T=2.0)
    >>> here, velocity, acceleration = line(1.0)
    >>> here[:3, 3], velocity.round(6)
    (array([0.15, 0.  , 0.05]), array([0.      , 0.      , 1.570796, 0.3     , 0.      , 0.1     ]))
    """

    def __init__(self, start: ArrayLike, end: ArrayLike, T: float) -> None:
        self.start, self.end = pose("start", start), pose("end", end)
        self.duration = inputs.duration("T", T)
        turn = self.end[:3, :3] @ self.start[:3, :3].T
        self._turn = rotation_vector(turn)
        self._way = np.concatenate([self._turn, self.end[:3, 3] - self.start[:3, 3]])
        self._law = Cycloid(self.duration)

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """Pose, velocity and acceleration at instants t (...)."""
        when = inputs.times(t)
        inside = ((when >= 0.0) & (when <= self.duration))[..., None]
        progress = self._law(np.clip(when, 0.0, self.duration).ravel())
        s, ds, dds = (part.reshape(*when.shape, 1) for part in progress)
        here = np.zeros((*when.shape, 4, 4))
        here[..., :3, :3] = rotation_of(s * self._turn) @ self.start[:3, :3]
        here[..., :3, 3] = self.start[:3, 3] + s * self._way[3:]
        here[..., 3, 3] = 1.0
        return here, np.where(inside, ds * self._way, 0.0), np.where(inside, dds * self._way, 0.0)


def rotation_vector(rotation: Array) -> Array:
    """The axis times the angle (..., 3) of rotation matrices (..., 3, 3)."""
    return _stacked(Rotation(*_entries(rotation)).log(), rotation.shape[:-2])


def rotation_of(vector: Array) -> Array:
    """Rotation matrices (..., 3, 3) of rotation vectors (..., 3)."""
    turned = Rotation.exp(Vec3(*(vector.tolist() if vector.ndim == 1 else vector.T)))
    return _stacked(turned, vector.shape[:-1]).reshape(*vector.shape[:-1], 3, 3)


def _entries(rotation: Array) -> list[Any]:
    """Nine numbers, or columns of a batch; on few numbers floats are faster than arrays."""
    return rotation.ravel().tolist() if rotation.ndim == 2 else list(rotation.reshape(*rotation.shape[:-2], 9).T)


def _stacked(parts: Any, batch: tuple[int, ...]) -> Array:
    """Numbers (n,), or columns of a batch, axes reversed, as (..., n)."""
    if not batch:
        return np.array(parts, dtype=float)
    return np.stack([np.broadcast_to(part, batch[::-1]) for part in parts]).T
