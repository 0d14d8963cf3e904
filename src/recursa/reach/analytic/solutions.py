"""analytic_inverse_kinematics, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.requirements import refuse_constraints
from recursa.errors import StateError
from recursa.evaluation.hints import coordinates_of, warn_of_millimetres
from recursa.model.model import Model
from recursa.quantities import refusals
from recursa.reach.analytic import parallel, spherical
from recursa.reach.analytic.angles import times
from recursa.reach.analytic.axes import Arm
from recursa.reach.goals import pair, require_finite
from recursa.reach.goals import poses as checked_poses
from recursa.sweeps.batching import Array, as_array, fitting

if TYPE_CHECKING:
    from recursa.robot import Robot


# ---- -----------------------------------------------------------------------------------------------------------------
# From angles near a solution to the solution: steps of Newton's method, taken where they make the error smaller.


_STEPS = 12
_NEAR = 0.1  # rad and m: beyond it a branch does not exist, and steps would lead to another one
_EXACT = 1e-13  # rad and m: what rounding leaves of a zero
_DAMPING = 1e-14  # rad^2, m^2, as a part of the largest: what keeps a singular Jacobian from an infinite step


class Target(NamedTuple):
    """Where a link is to be: the upper three rows (B, 3, 4) of poses."""

    robot: Robot
    link: str
    rows: Array

    def error(self, q: Array, of: Array) -> Array:
        """What positions (n, nq) lack of the poses with numbers ``of``, (n, 6)."""
        poses = np.zeros((len(of), 4, 4))
        poses[:, :3], poses[:, 3, 3] = self.rows[of], 1.0
        return self.robot.pose_error(q, self.link, poses)


def polished(target: Target, q: Array, there: Array) -> tuple[Array, Array]:
    """Positions (B, 8, nq) after Newton's steps where that helps, and by how much they miss, (B, 8, 2) in rad and m."""
    count, nq = len(q), q.shape[-1]
    of = np.repeat(np.arange(count), 8)
    q = q.reshape(-1, nq).copy()
    error = target.error(q, of) if len(q) else np.zeros((0, 6))
    square = np.square(error).sum(axis=1)
    rows = np.flatnonzero(there.reshape(-1) & (square < _NEAR**2) & (square > _EXACT**2))
    for _ in range(_STEPS):
        if not len(rows):
            break
        after = target.robot.integrate(q[rows], _newton_step(target, q[rows], error[rows]))
        lacks = target.error(after, of[rows])
        left = np.square(lacks).sum(axis=1)
        better = left < square[rows]
        rows, after, lacks, left = rows[better], after[better], lacks[better], left[better]
        q[rows], error[rows], square[rows] = after, lacks, left
        rows = rows[left > _EXACT**2]
    return q.reshape(count, 8, nq), distances(error).reshape(count, 8, 2)


def _newton_step(target: Target, q: Array, error: Array) -> Array:
    """``dq = J* inv(J J* + lambda 1) e``."""
    jacobian = target.robot.jacobian(q, target.link)
    square = jacobian @ jacobian.swapaxes(-1, -2)
    damping = _DAMPING * np.trace(square, axis1=-2, axis2=-1) + 1e-30
    square += damping[:, None, None] * np.eye(6)
    return np.asarray((jacobian.swapaxes(-1, -2) @ np.linalg.solve(square, error[..., None]))[..., 0])


def distances(error: Array) -> Array:
    """The angle and the distance (..., 2) of errors (..., 6)."""
    return np.stack([np.sqrt(np.square(part).sum(axis=-1)) for part in (error[..., :3], error[..., 3:])], axis=-1)


SOLUTIONS = {"spherical": spherical.solve, "parallel": parallel.solve}
BRANCHES = tuple((shoulder, elbow, wrist) for shoulder in "+-" for elbow in "+-" for wrist in "+-")
SAME = 1e-6  # rad: branches that are nearer than this are one
_BLOCK = 8192  # targets at a time, so that a million of them need no more room
AT_LIMIT = 1e-9  # rad by which a limit may be passed, for angles that were at it


@dataclass(frozen=True)
class AnalyticInverseKinematics:
    """What :func:`recursa.analytic_inverse_kinematics` found, branch by branch.

    - ``q`` (..., 8, nq): positions of all branches. Where a branch does not exist, those that come near the target.
    - ``valid`` (..., 8): whether the branch exists: the pose was computed, and is the wanted one to the tolerance.
      Where two branches meet, only the first of them is valid.
    - ``in_limits`` (..., 8): whether it exists and all its angles are within the limits of the joints.
    - ``error`` (..., 8, 2): by how much the pose is missed, in rad and m.
    - ``singular`` (..., 8, 3): whether the shoulder, the elbow, the wrist are singular there, to about 1e-5. At a
      singular shoulder or wrist there are infinitely many solutions; the angle that is free is that of ``q0``.
    - ``branches``: the labels ("+" or "-") of shoulder, elbow and wrist of each of the eight.
    - ``kind``: the geometry that was recognised; ``robot``: whose they are.
    """

    q: Array
    valid: Array
    in_limits: Array
    error: Array
    singular: Array
    branches: tuple[tuple[str, str, str], ...]
    kind: str
    robot: Robot

    @property
    def count(self) -> Array:
        """How many branches there are for each target, (...)."""
        return np.asarray(np.count_nonzero(self.valid, axis=-1))

    def nearest(self, q: ArrayLike, *, within_limits: bool = True) -> tuple[Array, Array]:
        """Positions (..., nq) of the branch nearest to q (..., nq), and its number (...); -1, with q itself, if none.

        Nearest by the sum of squared differences of the angles. ``within_limits``: only branches that are.
        """
        start = as_array(self.robot.model, "q", q, coordinates=True)
        batch = fitting(q=start, branches=self.valid)
        usable: Array = np.broadcast_to(self.in_limits if within_limits else self.valid, (*batch, 8))
        own = np.broadcast_to(self.q, (*batch, 8, self.robot.nq))
        start = np.broadcast_to(start, (*batch, self.robot.nq))
        far = np.where(usable, np.square(own - start[..., None, :]).sum(axis=-1), np.inf)
        which = far.argmin(axis=-1)
        chosen = np.take_along_axis(own, which[..., None, None], axis=-2)[..., 0, :]
        some = np.asarray(usable.any(axis=-1))
        return np.where(some[..., None], chosen, start), np.where(some, which, -1)

    def __str__(self) -> str:
        count, targets = self.count.reshape(-1), self.count.size
        lines = [
            f"{self.kind}: {count.sum()} branches for {_targets_as_text(targets)}",
            f"{np.count_nonzero(self.in_limits)} of them within the limits of the joints",
        ]
        without = count == 0
        if without.any():
            angle, distance = self.error.reshape(-1, 8, 2)[without].min(axis=1).max(axis=0)
            lines.append(f"{np.count_nonzero(without)} out of reach, by about {distance:.3g} m and {angle:.3g} rad")
        at: Array = np.any((self.singular & self.valid[..., None]).reshape(-1, 8, 3), axis=1)
        for name, some in zip(("shoulder", "elbow", "wrist"), at.T, strict=True):
            if some.any():
                lines.append(f"singular {name} at {_targets_as_text(int(some.sum()))}")
        return "; ".join(lines)


def _targets_as_text(count: int) -> str:
    return "1 target" if count == 1 else f"{count} targets"


def analytic_inverse_kinematics(
    robot: Robot,
    link: str,
    poses: ArrayLike,
    q0: ArrayLike | None = None,
    *,
    tolerance: float | tuple[float, float] = 1e-8,
    geometry: float = 1e-5,
) -> AnalyticInverseKinematics:
    """All joint positions that give a link a wanted pose, in closed form, for six-joint arms of certain geometries.

    Recognised from the axes of any model, wherever its frames are: three axes that meet at the wrist (or at the
    shoulder), and three parallel ones followed by two that meet, as of Universal Robots. Pieper's solutions: up to
    eight branches by shoulder, elbow and wrist. Every branch is verified by the forward kinematics. An arm without such
    a geometry is a :class:`NoClosedFormError` which says what it lacks by how much; :func:`inverse_kinematics` takes
    any.

    - ``poses``: homogeneous matrices (..., 4, 4), link to world.
    - ``q0``: (..., nq): positions of joints that do not move the link, angles that are free where the arm is singular,
      and the turn that is chosen where limits allow several. None: neutral.
    - ``tolerance``: of the pose, in rad and m, or a pair (rad, m).
    - ``geometry``: by how much axes may miss being parallel (rad) or meeting (as a part of the arm's length). The
      closed form is then near the solution, and Newton's steps bring it there. Calibrated arms take 1e-3 to 1e-2.

    Angles of joints without limits are in [-pi, pi]; others are within the limits where a whole number of turns brings
    them there.

    >>> import recursa as rc
    >>> robot = rc.robots.puma560()
    >>> wanted = robot.pose([0.1, -0.6, 0.2, 0.4, 0.8, -0.5], "link6")
    >>> found = rc.analytic_inverse_kinematics(robot, "link6", wanted)
    >>> print(found.kind, found.count)
    spherical wrist 8
    >>> bool(abs(robot.pose(found.q, "link6") - wanted).max() < 1e-12)
    True
    """
    refuse_constraints(robot.model, "rc.analytic_inverse_kinematics", refusals.REACH)
    model = robot.model
    arm = _arm(robot, link, geometry)
    targets = checked_poses(poses)[..., :3, :]
    targets = targets.reshape(*targets.shape[:-2], 12)
    limits = pair("tolerance", tolerance)
    start = robot.neutral() if q0 is None else coordinates_of(model, "q0", q0, robot.evaluator.kept)
    batch = fitting(poses=targets, q0=start)
    home = np.broadcast_to(start, (*batch, model.nq)).reshape(-1, model.nq).astype(float)
    require_finite(q0=home)
    rows = np.broadcast_to(targets, (*batch, 12)).reshape(-1, 3, 4)
    blocks = [slice(k, k + _BLOCK) for k in range(0, max(1, len(rows)), _BLOCK)]
    parts = [_closed_form(arm, rows[some], home[some][:, arm.q_places], geometry) for some in blocks]
    found, singular = (np.concatenate(part) for part in zip(*parts, strict=True))
    there = np.asarray(~np.isnan(found).any(axis=-1))
    q = np.repeat(home[:, None], 8, axis=1)
    q[..., arm.q_places] = np.where(there[..., None], found, home[:, None, arm.q_places])
    q, error = polished(Target(robot, link, rows), q, there)
    fits = there & (error[..., 0] <= limits[0]) & (error[..., 1] <= limits[1])
    q, within = _within_limits(model, arm.q_places, q, home)
    if not fits.any(axis=1).all():
        missed = rows[~fits.any(axis=1)][:, :, 3]
        warn_of_millimetres(model, float(np.linalg.norm(missed, axis=1).max()), f"where link '{link}' is wanted")
    valid = fits & ~_repeated(q[..., arm.q_places], fits, np.where(arm.axes.turns, 2.0 * np.pi, np.inf))
    return AnalyticInverseKinematics(
        q.reshape(*batch, 8, model.nq),
        valid.reshape(*batch, 8),
        (valid & within).reshape(*batch, 8),
        error.reshape(*batch, 8, 2),
        singular.reshape(*batch, 8, 3),
        BRANCHES,
        arm.kind.name,
        robot,
    )


def _arm(robot: Robot, link: str, geometry: float) -> Arm:
    """Recognised once for a robot, a link and a tolerance."""
    if isinstance(geometry, bool) or not isinstance(geometry, int | float) or not 0.0 < geometry <= 0.1:
        raise StateError(f"geometry must be a number above 0 and up to 0.1, not {geometry!r}")
    kept, key = robot.evaluator.kept, (Arm, link, geometry)
    return kept.get(key) or kept.setdefault(key, Arm.of(robot, link, geometry))


def _closed_form(arm: Arm, rows: Array, reference: Array, tolerance: float) -> tuple[Array, Array]:
    """Angles (B, 8, 6) and flags (B, 8, 3) of all branches for poses (B, 3, 4)."""
    back = arm.home[:3, :3].T  # D = T T0^-1
    rotation = np.stack([times(rows[..., :3], back[:, column]) for column in range(3)], axis=-1)
    translation = rows[..., 3] - times(rotation, arm.home[:3, 3])
    axes = arm.axes
    if arm.kind.backwards:
        axes, reference = axes.reversed, reference[:, ::-1]
        rotation = rotation.swapaxes(-1, -2)
        translation = -times(rotation, translation)
    found, singular = SOLUTIONS[arm.kind.solution](axes, rotation, translation, reference, tolerance)
    found, singular = found.reshape(-1, 8, 6), singular.reshape(-1, 8, 3)
    if arm.kind.backwards:  # what was the wrist of the reversed arm is the shoulder
        return found[:, :, ::-1], singular[:, :, ::-1]
    return found, singular


def _within_limits(model: Model, places: Array, q: Array, home: Array) -> tuple[Array, Array]:
    """Angles a whole number of turns on, so that they are within limits and near home; and where that can be done."""
    within = np.ones(q.shape[:-1], bool)
    turn = 2.0 * np.pi
    for joint in model.joints:
        if joint.q_start not in places:
            continue
        angle = q[..., joint.q_start]
        if joint.kind.angle is None:  # it slides
            low, high = sorted(joint.limits or (-np.inf, np.inf))
            within &= (angle >= low - AT_LIMIT) & (angle <= high + AT_LIMIT)
            continue
        if joint.limits is None:
            q[..., joint.q_start] = angle - turn * np.round(angle / turn)
            continue
        low, high = sorted(joint.limits)
        nearest = angle + turn * np.round((home[:, None, joint.q_start] - angle) / turn)
        nearest = nearest + turn * np.ceil((low - AT_LIMIT - nearest) / turn).clip(min=0.0)
        nearest = nearest - turn * np.ceil((nearest - high - AT_LIMIT) / turn).clip(min=0.0)
        inside = (nearest >= low - AT_LIMIT) & (nearest <= high + AT_LIMIT)
        q[..., joint.q_start] = np.where(inside, np.clip(nearest, low, high), angle - turn * np.round(angle / turn))
        within &= inside
    return q, within


def _repeated(angles: Array, fits: Array, turn: Array) -> Array:
    """Branches (B, 8) that an earlier one is, too, but for whole turns (6,), which are infinite for sliding joints."""
    again = np.zeros(fits.shape, bool)
    for later in range(1, 8):
        apart = angles[:, :later] - angles[:, later : later + 1]
        whole = np.where(np.isfinite(turn), turn, 0.0)
        apart = np.abs(apart - whole * np.round(apart / turn)).max(axis=-1)
        again[:, later] = ((apart < SAME) & fits[:, :later] & ~again[:, :later]).any(axis=1)
    return again
