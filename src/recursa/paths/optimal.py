"""Time-optimal timing of paths: the fastest motion along them that a robot's limits allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict, Unpack, overload

import numpy as np

from recursa.dynamics.losses import Losses, known_losses
from recursa.errors import ConvergenceError, StateError
from recursa.kernels.native import available
from recursa.kernels.switch import Switch
from recursa.paths import passes, passes_emit, rows_emit
from recursa.paths.diagnosis import require_positions, unreachable
from recursa.paths.grid import grid_of
from recursa.paths.passes import CAP, Passed
from recursa.paths.path import Path
from recursa.paths.profile import Profile
from recursa.paths.rows import Along, missed, rows_of
from recursa.paths.switches import switched
from recursa.paths.timed import TimedTrajectory, Timing
from recursa.sweeps.batching import Array
from recursa.trajectories import inputs
from recursa.trajectories.bounds import Bound, Limits
from recursa.trajectories.trajectory import Trajectory

if TYPE_CHECKING:
    from recursa.robot import Robot

_AT_REST = 1e-9  # |dq/ds| below this part of its largest: the path stands still there whatever ds/dt
_SETTLED = 1e-9  # of the largest x: damping was taken at the right speeds
_ROUNDS = 40
_SPARE = 1e-5  # of every limit, for what cubics miss between places; more where that is not enough
_SHARE = 0.7  # of it that they may miss at the middle of intervals
_COARSE = 1e-4  # of a limit: where they miss so much, the grid is made finer
_MOST = 6401  # places, beyond which it is not
_FULL = 4  # rounds after which only half of every change is taken over
Way = Path | Trajectory


class Options(TypedDict, total=False):
    """What :func:`time_optimal` takes by name."""

    velocity: Bound | None
    acceleration: Bound | None
    effort: Bound | None
    jerk: Bound | None
    losses: Losses
    start_speed: float
    end_speed: float
    points: int


@overload
def time_optimal(robot: Robot, path: Way, **options: Unpack[Options]) -> TimedTrajectory: ...
@overload
def time_optimal(robot: Robot, path: Sequence[Way], **options: Unpack[Options]) -> list[TimedTrajectory]: ...
def time_optimal(
    robot: Robot,
    path: Way | Sequence[Way],
    *,
    velocity: Bound | None = None,
    acceleration: Bound | None = None,
    effort: Bound | None = None,
    jerk: Bound | None = None,
    losses: Losses = False,
    start_speed: float = 0.0,
    end_speed: float = 0.0,
    points: int = 401,
) -> TimedTrajectory | list[TimedTrajectory]:
    """The fastest motion along a path within the robot's limits, as a trajectory that knows which limit holds it where.

    By reachability analysis (Pham & Pham 2018): backwards the speeds from which the end can be reached, forwards as
    fast as these allow. Between the places of its grid limits hold as well.

    - ``path``: a :class:`recursa.Path`, a :class:`recursa.Trajectory` (the way that it takes), or several of them; then
      a list of trajectories comes back.
    - ``velocity``, ``effort``: limits in rad/s or m/s, N m or N; default: the robot's own. ``acceleration``,
      ``jerk``: default none. Each one number, one per freedom (nv,), or some by the names of joints; inf for none.
    - ``losses``: whether damping and friction of the joints count: False (default), True, "damping", "friction".
      A load in the hand is ``robot.with_payload(...)``.
    - ``start_speed``, ``end_speed``: ds/dt at the ends; default: at rest.
    - ``points``: places of the grid. The duration comes from above and nears the shortest like 1/points; the
      grid is made finer where cubics between its places would miss more than a little of a limit.

    Without jerk limits the result is the fastest of all that hold d2s/dt2 within an interval of the grid. With them it
    is a local optimum among smooth ones that start and end without acceleration, and takes some seconds;
    :doc:`/time-optimal` says what that means.

    >>> import recursa as rc
    >>> arm = rc.robots.panda_like()
    >>> path = rc.Path([[0, 0, 0, -1.5, 0, 1.5, 0], [1, 0.5, 0, -1.0, 0, 2.0, 1], [1, 0, 0.5, -2.0, 0, 1.5, 0]])
    >>> motion = rc.time_optimal(arm, path)
    >>> round(motion.duration, 3)
    0.952
    >>> motion.check(arm)                                   # within all limits
    >>> [(held.joint, held.quantity) for held in motion.timing.active][:3]
    [('joint1', 'effort'), ('joint7', 'velocity'), ('joint1', 'velocity')]
    """
    given: Sequence[Way] = [path] if isinstance(path, Path | Trajectory) else path
    if not isinstance(given, Sequence):
        given = [given]
    ways = [_as_path(one, robot) for one in given]
    limits = Limits.of(robot, velocity, acceleration, effort, jerk)
    limits.require_some(robot)
    speeds = _speed("start_speed", start_speed), _speed("end_speed", end_speed)
    if isinstance(points, bool) or not isinstance(points, int | np.integer) or points < 3:
        raise StateError(f"points = {points!r}: a whole number, at least 3")
    chosen = known_losses(losses)
    if np.isfinite(limits.jerk).any():
        from recursa.paths.jerk import smoothed

        found = [smoothed(robot, way, limits, chosen, speeds) for way in ways]
    else:
        found = [TimedTrajectory(_solved(robot, way, limits, chosen, speeds, int(points))) for way in ways]
    return found[0] if isinstance(path, Path | Trajectory) else found


def _as_path(way: Way, robot: Robot) -> Path:
    if isinstance(way, Trajectory):
        way = Path.of(way)
    if not isinstance(way, Path):
        raise StateError(f"path must be a recursa.Path or a Trajectory, not {type(way).__name__}: rc.Path(points)")
    return way.for_robot(robot)


def _speed(name: str, value: float) -> float:
    speed = inputs.number(name, value)
    if speed < 0.0:
        raise StateError(f"{name} = {speed:g}: ds/dt is at least 0; a path is followed forwards")
    return speed


class _Job:
    """One path: its grid, its rows, and what the passes found."""

    def __init__(
        self, robot: Robot, path: Path, limits: Limits, losses: Losses, speeds: tuple[float, float], points: int
    ) -> None:
        self.robot, self.path, self.limits = robot, path, limits
        self.grid = grid_of(robot, path, points, losses)
        self.along = Along.of(robot, path, self.grid, losses, bool(np.isfinite(limits.effort).any()))
        require_positions(robot, self.along)
        self.bounds = self._bounds(speeds)
        if self.along.friction is not None:
            stops = np.flatnonzero(self.bounds[1] == 0.0)
            self.along = self.along.stopping(np.unique(np.clip([stops - 1, stops], 0, len(self.grid) - 2)))
        self.straight = self.along.straight()
        if not self.straight:
            self.along = replace(self.along, spare=_SPARE)
        self.taken = self.along  # with damping, at some speeds
        self._reference: Array | None = None
        self._rounds = 0
        self.passed: Passed

    def _bounds(self, speeds: tuple[float, float]) -> Array:
        """x at the ends as given, unless the path stands still there; at corners 0."""
        bounds = np.zeros((2, len(self.grid)))
        bounds[1] = CAP
        largest = np.abs(self.along.V).max()
        if largest == 0.0:
            raise StateError("nothing moves along this path")
        ends = np.abs(self.path._states(self.grid[[0, -1]])[1]).max(axis=1)
        for end, place in enumerate((0, -1)):
            if ends[end] > _AT_REST * largest:
                bounds[:, place] = speeds[end] ** 2
        for stop in self.path.stops:
            bounds[:, np.argmin(np.abs(self.grid - stop))] = 0.0
        return bounds

    def leave(self, spare: float) -> None:
        """More of every limit for what cubics miss."""
        self.along, self.taken = (replace(one, spare=spare) for one in (self.along, self.taken))

    def settle(self) -> bool:
        """Damping at the speeds that were found; whether these are the ones it was taken at."""
        if self.along.d is None:
            return True
        x, before = self.passed.x, self._reference
        if before is not None and np.abs(x - before).max() <= _SETTLED * x.max():
            return True
        self._rounds += 1
        self._reference = x if self._rounds < _FULL or before is None else 0.5 * (x + before)
        self.taken = self.along.damped(self._reference)
        return False

    def require_found(self) -> None:
        if self.passed.stuck >= 0:
            raise unreachable(self.robot, self.taken, self.limits, self.bounds, self.passed)
        x = self.passed.x
        if x.max() >= 0.5 * CAP:
            raise StateError(
                f"nothing limits the speed at s = {self.grid[int(x.argmax())]:.6g}: the joints that move there have "
                "no limit. Give velocity= or acceleration="
            )
        still = np.flatnonzero(x[:-1] + x[1:] <= 0.0)
        if len(still):
            raise unreachable(
                self.robot, self.taken, self.limits, self.bounds, self.passed._replace(stuck=int(still[0]))
            )

    def timing(self) -> Timing:
        places, x, interval = switched(self.taken, self.limits, self.bounds, self.passed)
        profile = Profile.of_squares(places, x)
        return Timing(self.robot, self.path, self.limits, self.taken, self.bounds, profile, x, interval)


def _solved(
    robot: Robot, path: Path, limits: Limits, losses: Losses, speeds: tuple[float, float], points: int
) -> Timing:
    """Passes for a path, again as long as damping was taken at other speeds, or the grid is too coarse for cubics."""
    job = _Job(robot, path, limits, losses, speeds, points)
    for _ in range(_ROUNDS):
        job.passed = run(job.taken, job.limits, job.bounds)
        job.require_found()
        if job.settle():
            off = missed(job.taken, limits, path, robot, job.passed.x)
            if off <= _SHARE * job.along.spare or job.straight:
                return job.timing()
            if off > _COARSE and points < _MOST:
                return _solved(robot, path, limits, losses, speeds, 2 * points - 1)
            job.leave(off / (0.5 * _SHARE))
    raise ConvergenceError(f"the speeds at which joints are damped still change after {_ROUNDS} rounds")


def run(along: Along, limits: Limits, bounds: Array) -> Passed:
    """Rows and both passes: native, or interpreted where plans are."""
    if Switch.on and available():
        padding = passes_emit.padding()
        if along.margin is None:
            return passes_emit.run(rows_emit.rows_of(along, limits, bounds, padding))
        return passes_emit.run(rows_of(along, limits, bounds, padding=padding))
    return passes.run(rows_of(along, limits, bounds))
