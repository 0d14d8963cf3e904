"""Measured speeds of a free base that belong to another library's frame: a hint, for they are valid numbers here."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from recursa.dynamics.ordering import Layout
from recursa.errors import ConventionWarning
from recursa.evaluation.hints import user_level
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot

_OTHERS: dict[Layout, str] = {
    "pinocchio": "linear before angular, in link axes, as in Pinocchio",
    "mujoco": "linear before angular, the linear part in world axes, as in MuJoCo",
    "drake": "angular before linear, both in world axes, as in Drake",
}
_FAR, _NEAR = 0.3, 0.05  # of the speed: what does not fit the positions, and what does
_LEAST = 3  # steps between samples, from which something can be told


def warn_of_other_frames(robot: Robot, t: Array, q: Array, v: Array) -> None:
    """Where speeds (m, nv) of a free base do not fit its poses (m, nq), but would as another library means them.

    What the poses say is ``difference(q_k, q_k+1) / dt``, the mean speed between two samples in link axes.
    """
    if not robot.is_floating or len(t) <= _LEAST or not all(np.isfinite(x).all() for x in (t, q, v)):
        return
    moved = robot.difference(q[:-1], q[1:])[:, :6] / np.diff(t)[:, None]
    missed = {layout: _missed(robot, layout, q, v, moved) for layout in ("recursa", *_OTHERS)}
    best = min(_OTHERS, key=lambda layout: missed[layout])
    if missed["recursa"] > _FAR and missed[best] < _NEAR:
        warnings.warn(
            f"the speeds of the base do not fit its poses: they are {100.0 * missed['recursa']:.0f} % off as (angular, "
            f"linear) in link axes, which is meant here, and {100.0 * missed[best]:.1f} % off as {_OTHERS[best]}. "
            f'robot.reorder(v, names, layout="{best}", quantity="v", q=q) turns them into ours',
            ConventionWarning,
            stacklevel=user_level(),
        )


def _missed(robot: Robot, layout: Layout, q: Array, v: Array, moved: Array) -> float:
    """By how much of their size speeds miss what the poses say, if they are in a layout."""
    own = v[:, :6] if layout == "recursa" else _base_of(robot, layout, q, v)
    mean = 0.5 * (own[:-1] + own[1:])
    size = float(np.sqrt(np.square(moved).sum()))
    return float(np.sqrt(np.square(mean - moved).sum())) / size if size > 0.0 else 0.0


def _base_of(robot: Robot, layout: Layout, q: Array, v: Array) -> Array:
    return robot.reorder(v, robot.joint_names, layout=layout, quantity="v", q=q)[:, :6]
