"""Inverse kinematics: joint positions at which a link has a wanted pose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import ShapeError, StateError, unknown_name
from recursa.model.model import Model
from recursa.reach.ranges import Ranges, require_finite
from recursa.reach.search import Found, Search
from recursa.reach.starts import SPREAD, Starts, StartsInTurn, upper_rows
from recursa.reach.steps import TASKS
from recursa.sweeps.batching import Array, as_array, as_numbers, fitting

if TYPE_CHECKING:
    from recursa.robot import Robot

Task = Literal["pose", "position", "orientation"]
ROTATION_TOLERANCE = 1e-6  # by which the rotation of a wanted pose may miss being one


@dataclass(frozen=True)
class InverseKinematics:
    """What :func:`recursa.inverse_kinematics` found.

    - ``q`` (..., nq): positions within the limits; where there is no solution, the nearest that were found.
    - ``solved`` (...,): whether the link is where it should be, to the tolerance.
    - ``error`` (..., 6): what is missing, (angular, linear) in rad and m, link axes.
    - ``held_by`` (..., nv): the freedoms that stand at a limit and would have to go on; all False where it is solved.
    - ``attempts`` (...,): starts that were tried up to the one that counts.
    - ``robot``: whose they are.
    """

    q: Array
    solved: Array
    error: Array
    held_by: Array
    attempts: Array
    robot: Robot

    def __str__(self) -> str:
        found, all_of_them = int(np.count_nonzero(self.solved)), self.solved.size
        lines = [f"{found} of {all_of_them} targets reached"]
        if found < all_of_them:
            missing = np.where(self.solved[..., None], 0.0, self.error).reshape(-1, 6)
            angle, distance = (np.sqrt(np.square(part).sum(axis=1)).max() for part in (missing[:, :3], missing[:, 3:]))
            lines.append(f"missed by at most {distance:.3g} m and {angle:.3g} rad")
            held = self.held_by.reshape(-1, self.robot.nv)
            holding = [name for name, one in zip(self.robot.v_names, held.T, strict=True) if one.any()]
            if holding:
                lines.append(f"held back by limits of {', '.join(holding)}")
        return "; ".join(lines)


def inverse_kinematics(
    robot: Robot,
    link: str,
    poses: ArrayLike,
    q0: ArrayLike | None = None,
    *,
    task: Task = "pose",
    joints: Sequence[str] | None = None,
    restarts: int = 47,
    tolerance: float | tuple[float, float] = 1e-8,
) -> InverseKinematics:
    """Joint positions that give a link a wanted pose, for one target or thousands.

    Damped least squares from several starts, ``dq = J* inv(J J* + lambda I) e`` with ``e = log(L^-1 T)``; joints stay
    within their limits throughout. A target has the same answer alone and in a batch.

    - ``poses``: homogeneous matrices (..., 4, 4), link to world. For ``task="position"`` points (..., 3) will do.
    - ``q0``: where to start, (..., nq). Without it, and where it does not lead there, the search starts from
      configurations spread over the range, the nearest first. Joints that do not move the link keep these positions.
    - ``task``: "pose", "position" (its axes may point anywhere) or "orientation" (it may be anywhere).
    - ``joints``: the names of those that may move; the others stay as in ``q0``. None: all that move the link.
    - ``restarts``: how many further starts to try, at most; 0: that one alone.
    - ``tolerance``: in rad and m, or a pair (rad, m).

    >>> import recursa as rc
    >>> robot = rc.robots.panda_like()
    >>> wanted = robot.pose(robot.random_state(3)[0], "flange")
    >>> found = rc.inverse_kinematics(robot, "flange", wanted)
    >>> print(found)
    1 of 1 targets reached
    >>> bool(abs(robot.pose(found.q, "flange") - wanted).max() < 1e-7)
    True
    """
    model = robot.model
    model.link_index(link)
    if task not in TASKS:
        raise unknown_name("task", task, TASKS)
    if joints is not None and q0 is None:
        raise StateError("joints= says which joints may move; q0= must say where the others are")
    targets = _targets(poses, task)
    start = robot.neutral() if q0 is None else as_array(model, "q0", q0, coordinates=True)
    batch = fitting(poses=targets, q0=start)
    rows, home = (_rows(x, batch) for x in (targets, start))
    require_finite(q0=home)
    ranges = _ranges(robot, link, joints).holding_at(home)
    spread = Starts.of(robot, link)
    starts = StartsInTurn(home, ranges, spread, spread.distances(rows, TASKS[task]), from_home=q0 is not None)
    options = {"link": link, "task": task}
    found = Search(robot.evaluator, options, rows, _tolerances(tolerance), ranges).run(starts, _attempts(restarts))
    return InverseKinematics(
        _within_a_turn(model, found.q).reshape(*batch, model.nq),
        found.solved.reshape(batch),
        found.error.reshape(*batch, 6),
        _held(robot, link, found, ranges).reshape(*batch, model.nv),
        (found.attempt + 1).reshape(batch),
        robot,
    )


def _ranges(robot: Robot, link: str, joints: Sequence[str] | None) -> Ranges:
    """Made once for a robot, a link and joints."""
    model, kept = robot.model, robot.evaluator.kept
    chosen = None if joints is None else frozenset(map(model.joint_index, joints))
    key = (Ranges, link, chosen)
    return kept.get(key) or kept.setdefault(key, Ranges.of(model, model.link_index(link), chosen))


def _held(robot: Robot, link: str, found: Found, ranges: Ranges) -> Array:
    """The freedoms at a limit that would have to go on along ``J* e``, where the error becomes smaller."""
    held = np.zeros((len(found.q), robot.nv), bool)
    missed = np.flatnonzero(~found.solved)
    if len(missed):
        downhill = (robot.jacobian(found.q[missed], link) * found.error[missed, :, None]).sum(axis=1)
        held[missed] = ranges.holding(missed, found.q[missed], downhill)
    return held


def _rows(array: Array, batch: tuple[int, ...]) -> Array:
    size = array.shape[-1]
    return np.ascontiguousarray(np.broadcast_to(array, (*batch, size)).reshape(-1, size), dtype=float)


def _targets(poses: ArrayLike, task: str) -> Array:
    """Wanted poses as rows of twelve numbers."""
    array = as_numbers("poses", poses, 4)
    if array.dtype.kind == "c":
        raise StateError("poses must be real")
    require_finite(poses=array)
    if task == "position" and array.ndim >= 1 and array.shape[-1] == 3 and array.shape[-2:] != (3, 3):
        whole = np.zeros((*array.shape[:-1], 3, 4))
        whole[..., :3], whole[..., 3] = np.eye(3), array
        return whole.reshape(*array.shape[:-1], 12)
    if array.ndim < 2 or array.shape[-2:] != (4, 4):
        points = " or points (..., 3)" if task == "position" else ""
        raise ShapeError(f"poses has shape {array.shape}, expected homogeneous matrices (..., 4, 4){points}")
    if task != "position":
        _require_rotations(array[..., :3, :3])
    return upper_rows(array)


def _require_rotations(rotations: Array) -> None:
    flat = rotations.reshape(-1, 3, 3)
    off = np.abs(flat.swapaxes(1, 2) @ flat - np.eye(3)).max(axis=(1, 2), initial=0.0)
    mirrored = np.linalg.det(flat) < 0.0
    wrong = np.flatnonzero((off > ROTATION_TOLERANCE) | mirrored)
    if len(wrong):
        row = int(wrong[0])
        why = "it is a mirror image" if mirrored[row] else f"its columns miss being orthonormal by {off[row]:.3g}"
        raise StateError(
            f"poses: the upper left 3 x 3 block of matrix {row} is no rotation: {why}. "
            "Poses are (R, p; 0 0 0 1) with R from link to world axes"
        )


def _tolerances(tolerance: float | tuple[float, float]) -> tuple[float, float]:
    try:
        angle, distance = tolerance if isinstance(tolerance, tuple | list) else (tolerance, tolerance)
        pair = float(angle), float(distance)
    except (TypeError, ValueError):
        raise StateError(f"tolerance must be a number or a pair (rad, m), not {tolerance!r}") from None
    if not all(math.isfinite(x) and x > 0.0 for x in pair):
        raise StateError(f"tolerance must be positive, not {tolerance!r}")
    return pair


def _attempts(restarts: int) -> int:
    if isinstance(restarts, bool) or not isinstance(restarts, int | np.integer) or not 0 <= restarts < SPREAD:
        raise StateError(f"restarts must be a whole number from 0 to {SPREAD - 1}, not {restarts!r}")
    return 1 + int(restarts)


def _within_a_turn(model: Model, q: Array) -> Array:
    """Angles of joints without limits in [-pi, pi]."""
    for joint in model.joints:
        if joint.independent and joint.kind.angle is not None and joint.limits is None:
            at = joint.q_start + joint.kind.angle
            q[:, at] -= 2.0 * np.pi * np.round(q[:, at] / (2.0 * np.pi))
    return q
