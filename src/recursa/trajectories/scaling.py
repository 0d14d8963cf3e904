"""The same motion, faster or slower by one factor: as fast as limits allow, in closed form.

A motion k times as fast has speeds k v, accelerations k^2 a, and torques ``k^2 i + k d + c``: what inertia takes (i),
what damping takes (d), and what gravity, springs and Coulomb friction take (c), whatever the speed. So at every instant
every limit is a quadratic inequality in k, and forbids one or two ranges of k. The result is the largest k that none
forbids.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from recursa.dynamics.losses import Losses
from recursa.errors import LimitError, StateError
from recursa.sweeps.batching import Array
from recursa.trajectories.bounds import Limits
from recursa.trajectories.coordinates import States
from recursa.trajectories.drives import Drive

if TYPE_CHECKING:
    from recursa.robot import Robot
    from recursa.trajectories.trajectory import Trajectory

_ZOOMS = 6  # times that instants are laid ten times as densely about those that decide
_NEAR = 10


def factor(
    robot: Robot, motion: Trajectory, limits: Limits, actuated: Collection[str] | None, losses: Losses, samples: int
) -> float:
    """How many times as fast the motion may be."""
    drive = Drive(robot, actuated) if np.isfinite(limits.effort).any() else None
    t = np.union1d(motion.times(samples), motion.knots)
    k, where = _largest(drive, t, motion.sample(t), limits, losses)
    width = motion.duration / (samples - 1)
    for _ in range(_ZOOMS):
        near = np.clip(where + width * np.linspace(-1.0, 1.0, 2 * _NEAR + 1), motion.start, motion.end)
        found, place = _largest(drive, near, motion.sample(near), limits, losses)
        k, where = min((k, where), (found, place))
        width /= _NEAR
    if not np.isfinite(k):
        raise StateError("nothing limits this motion: the joints that move have no limits. Give velocity= or effort=")
    return k


def _largest(drive: Drive | None, t: Array, states: States, limits: Limits, losses: Losses) -> tuple[float, float]:
    """The largest factor that no limit forbids at any of the instants, and the instant that decides."""
    _, v, a = states
    starts, ends, rows = [], [], []
    for speed, limit in ((v, limits.velocity), (a, limits.acceleration)):
        with np.errstate(divide="ignore"):
            most = np.where(speed == 0.0, np.inf, limit / np.where(speed == 0.0, 1.0, np.abs(speed)))
        each = most.min(axis=1)
        starts.append(each if speed is v else np.sqrt(each))
        ends.append(np.full(len(t), np.inf))
        rows.append(np.arange(len(t)))
    if drive is not None:
        for first, last, row in _forbidden(drive, t, states, limits.effort, losses):
            starts.append(first)
            ends.append(last)
            rows.append(row)
    first, last, row = (np.concatenate(part) for part in (starts, ends, rows))
    k, at = np.inf, 0
    for n in np.lexsort((first, -last)):  # ranges by their upper ends, the highest first
        if last[n] >= k > first[n]:
            k, at = float(first[n]), int(row[n])
    return k, float(t[at])


def _forbidden(
    drive: Drive, t: Array, states: States, effort: Array, losses: Losses
) -> list[tuple[Array, Array, Array]]:
    """Ranges of k in which ``+-(k^2 i + k d + c)`` is beyond a limit: where they start and end, and their instants."""
    q, v, a = states
    rest = np.zeros_like(v)
    c = drive.torques(q, rest, rest)
    i = drive.torques(q, v, a) - c
    dry, damping = drive.friction(q, v, losses), drive.damping(q, v, losses)
    c = c if dry is None else c + dry
    d = rest if damping is None else damping
    robot = drive.robot
    over = np.abs(c) > effort * (1.0 + 1e-9)
    if over.any():
        row, joint = np.argwhere(over)[0]
        raise LimitError(
            f"joint '{robot.v_names[joint]}': {abs(c[row, joint]):.6g} merely to be held at t = {t[row]:.6g} s, beyond "
            f"its limit {effort[joint]:.6g}: no speed helps. A lighter load or another way is needed",
            robot.v_names[joint], "effort", float(t[row]), float(c[row, joint]), float(effort[joint]),
        )  # fmt: skip
    chosen = np.isfinite(effort)
    found = []
    for sign in (1.0, -1.0):
        A, B = (sign * part[:, chosen] for part in (i, d))
        C = np.minimum(sign * c[:, chosen] - effort[chosen], 0.0)  # <= 0: standing still is allowed
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(np.maximum(B * B - 4.0 * A * C, 0.0))
            real = B * B - 4.0 * A * C > 0.0
            half = -0.5 * (B + np.where(B >= 0.0, root, -root))
            one, two = half / A, C / half
        low, high = np.minimum(one, two), np.maximum(one, two)
        first, last = np.full(A.shape, np.inf), np.full(A.shape, np.inf)
        up, down, flat = A > 0.0, (A < 0.0) & real & (B > 0.0), (A == 0.0) & (B > 0.0)
        first[up] = high[up]  # beyond the positive root
        first[down], last[down] = low[down], high[down]  # between both
        first[flat] = (-C / np.where(B == 0.0, 1.0, B))[flat]
        row = np.broadcast_to(np.arange(len(t))[:, None], A.shape)
        taken = np.isfinite(first)
        found.append((first[taken], last[taken], row[taken]))
    return found
