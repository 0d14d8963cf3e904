"""What may move, and how far: limits of joints and joints that are held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from recursa.errors import ModelError, StateError
from recursa.model.model import Model
from recursa.sweeps.batching import Array

AT_A_LIMIT = 1e-9  # rad, m


@dataclass(frozen=True)
class Ranges:
    """Lowest and highest positions (B, nv) for each of B targets; joints with several freedoms have no limits.

    Where something is held, both are the same: the position, or 0 for one of several freedoms of a joint. ``moving``
    (nq,) are the coordinates that may change. Those of joints with one freedom are at ``single_q`` in q and at
    ``single_v`` in v.
    """

    low: Array
    high: Array
    moving: Array
    single_q: Array
    single_v: Array

    @staticmethod
    def of(model: Model, link: int, home: Array, joints: Sequence[str] | None) -> Ranges:
        """For searches that start at home (B, nq), with all joints that move a link or only those of some names."""
        path = model.support(model.links[link].body)
        _require_independent(model, path)
        chosen = {model.joint_index(name) for name in joints} if joints is not None else set(path)
        low, high = np.full((len(home), model.nv), -np.inf), np.full((len(home), model.nv), np.inf)
        moving, single = np.zeros(model.nq, bool), list[tuple[int, int]]()
        for number, joint in enumerate(model.joints):
            q, v = slice(joint.q_start, joint.q_start + joint.kind.nq), slice(joint.v_start, joint.v_start + joint.kind.nv)
            free = number in chosen and number in path
            moving[q] = free
            if joint.kind.nq == 1 and joint.independent:
                single.append((joint.q_start, joint.v_start))
                limits = (-np.inf, np.inf) if joint.limits is None else sorted(joint.limits)
                low[:, v], high[:, v] = limits if free else (home[:, q], home[:, q])
            elif not free:
                low[:, v] = high[:, v] = 0.0
        places = np.array(single, int).reshape(-1, 2)
        return Ranges(low, high, moving, places[:, 0], places[:, 1])

    def clipped(self, rows: Array, q: Array) -> Array:
        """Positions (n, nq) of some targets, within the limits."""
        inside = q.copy()
        low, high = (bound[rows][:, self.single_v] for bound in (self.low, self.high))
        inside[:, self.single_q] = np.clip(q[:, self.single_q], low, high)
        return inside

    def holding(self, q: Array, wanted: Array) -> Array:
        """The freedoms (B, nv) that stand at a limit which a wanted motion (B, nv) would pass."""
        position = np.full(wanted.shape, np.nan)
        position[:, self.single_v] = q[:, self.single_q]
        at_low, at_high = position <= self.low + AT_A_LIMIT, position >= self.high - AT_A_LIMIT
        return (at_low & (wanted < 0.0)) | (at_high & (wanted > 0.0))


def _require_independent(model: Model, path: Sequence[int]) -> None:
    tied = [model.joints[k].name for k in path if not model.joints[k].independent]
    if tied:
        raise ModelError(
            f"joint '{tied[0]}' is tied to another one, and inverse kinematics moves each joint by itself. Load the robot "
            'with mimic="free", or hold the joint with robot.reduced(lock={...})'
        )


def require_finite(**arrays: Array) -> None:
    """Searches need numbers to start from."""
    for name, values in arrays.items():
        if not np.isfinite(values).all():
            raise StateError(f"{name} must be finite; entry {np.argwhere(~np.isfinite(values))[0].tolist()} is not")
