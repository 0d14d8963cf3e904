"""What may move, and how far: limits of joints and joints that are held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

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
    def of(model: Model, link: int, chosen: frozenset[int] | None) -> Ranges:
        """Those of one target, with all joints that move a link, or only chosen ones; positions that hold are nan."""
        path = model.support(model.links[link].body)
        _require_independent(model, path)
        low, high = np.full((1, model.nv), -np.inf), np.full((1, model.nv), np.inf)
        moving, single = np.zeros(model.nq, bool), list[tuple[int, int]]()
        for number, joint in enumerate(model.joints):
            v = slice(joint.v_start, joint.v_start + joint.kind.nv)
            free = number in path and (chosen is None or number in chosen)
            moving[joint.q_start : joint.q_start + joint.kind.nq] = free
            if joint.kind.nq == 1 and joint.independent:
                single.append((joint.q_start, joint.v_start))
                limits = (-np.inf, np.inf) if joint.limits is None else sorted(joint.limits)
                low[:, v], high[:, v] = limits if free else (np.nan, np.nan)
            elif not free:
                low[:, v] = high[:, v] = 0.0
        places = np.array(single, int).reshape(-1, 2)
        return Ranges(low, high, moving, places[:, 0], places[:, 1])

    def holding_at(self, home: Array) -> Ranges:
        """The same for searches that start at home (B, nq), where what is held stays."""
        own = np.zeros((len(home), self.low.shape[1]))
        own[:, self.single_v] = home[:, self.single_q]
        held = np.isnan(self.low)
        return replace(self, low=np.where(held, own, self.low), high=np.where(held, own, self.high))

    def clipped(self, rows: Array, q: Array) -> Array:
        """Positions (n, m, nq) of some targets, within the limits."""
        low, high = (bound[rows[:, None], self.single_v][:, None] for bound in (self.low, self.high))
        q[..., self.single_q] = np.clip(q[..., self.single_q], low, high)
        return q

    def holding(self, rows: Array, q: Array, wanted: Array) -> Array:
        """The freedoms (n, nv) of some targets that stand at a limit which a wanted motion (n, nv) would pass."""
        position = np.full(wanted.shape, np.nan)
        position[:, self.single_v] = q[:, self.single_q]
        at_low, at_high = position <= self.low[rows] + AT_A_LIMIT, position >= self.high[rows] - AT_A_LIMIT
        return (at_low & (wanted < 0.0)) | (at_high & (wanted > 0.0))


def _require_independent(model: Model, path: Sequence[int]) -> None:
    tied = [model.joints[k].name for k in path if not model.joints[k].independent]
    if tied:
        raise ModelError(
            f"joint '{tied[0]}' is tied to another one, and inverse kinematics moves each joint by itself. Load the "
            'robot with mimic="free", or hold the joint with robot.reduced(lock={...})'
        )


def require_finite(**arrays: Array) -> None:
    """Searches need numbers to start from."""
    for name, values in arrays.items():
        if not np.isfinite(values).all():
            raise StateError(f"{name} must be finite; entry {np.argwhere(~np.isfinite(values))[0].tolist()} is not")
