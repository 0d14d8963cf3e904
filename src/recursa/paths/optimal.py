"""Time-optimal timing of paths: the fastest motion along them that a robot's limits allow."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypedDict, Unpack, overload

import numpy as np

from recursa.dynamics.wrenches import Losses, known_losses
from recursa.errors import ConvergenceError, PathError, StateError
from recursa.paths import passes
from recursa.paths.diagnosis import require_positions, unreachable
from recursa.paths.grid import grid_of, switched
from recursa.paths.limit_rows import Along, missed, rows_of
from recursa.paths.passes import CAP, Passed, Rows
from recursa.paths.path import Path
from recursa.paths.room import Room, borrowed
from recursa.paths.timed_trajectory import TimedTrajectory, Timing
from recursa.sweeps.batching import Array, whole_number
from recursa.trajectories import checks
from recursa.trajectories.bounds import Bound, Limits
from recursa.trajectories.drives import Drive
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
_AT_ONCE = 1608  # places of several paths that are worked on together, as long as they stay in the processor's caches
_FULL = 4  # rounds after which only half of every change is taken over
Way = Path | Trajectory


class Options(TypedDict, total=False):
    """What :func:`time_optimal` takes by name."""

    velocity: Bound | None
    acceleration: Bound | None
    effort: Bound | None
    jerk: Bound | None
    losses: Losses
    actuated: Collection[str] | None
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
    actuated: Collection[str] | None = None,
    start_speed: float = 0.0,
    end_speed: float = 0.0,
    points: int = 401,
) -> TimedTrajectory | list[TimedTrajectory]:
    """The fastest motion along a path within the robot's limits, as a trajectory that knows which limit holds it where.

    By reachability analysis (Pham & Pham 2018): backwards the speeds from which the end can be reached, forwards as
    fast as these allow. Between the places of its grid limits hold as well.

    - ``path``: a :class:`recursa.Path`, a :class:`recursa.Trajectory` (the way that it takes), or several of them; then
      a list of trajectories comes back.
    - ``velocity``, ``acceleration``, ``jerk``, ``effort``: limits in rad/s or m/s, and so on, N m or N; default: the
      robot's own. Each one number, one per freedom (nv,), or some by the names of joints; inf for none.
    - ``losses``: whether damping and friction of the joints count: False (default), True, "damping", "friction".
      A load in the hand is ``robot.with_payload(...)``.
    - ``actuated``: names of the joints that have motors. A robot with constraints needs them where efforts are limited:
      its constraints carry what they can, as in :meth:`Robot.actuator_torques`, and the path has to obey them.
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
    0.944
    >>> motion.check(arm)                                   # within all limits
    >>> [(held.joint, held.quantity) for held in motion.timing.active][:3]
    [('joint1', 'effort'), ('joint1', 'velocity'), ('joint2', 'effort')]
    """
    given: Sequence[Way] = [path] if isinstance(path, Path | Trajectory) else path
    if not isinstance(given, Sequence):
        given = [given]
    ways = [_as_path(one, robot) for one in given]
    limits = Limits.of(robot, velocity, acceleration, effort, jerk)
    limits.require_some(robot)
    speeds = _speed("start_speed", start_speed), _speed("end_speed", end_speed)
    count = whole_number("points", points, 3)
    chosen = known_losses(losses)
    drive = Drive(robot, actuated) if np.isfinite(limits.effort).any() else None
    if limits.has_jerk:
        from recursa.paths.jerk import smoothed

        found = [smoothed(drive, robot, way, limits, chosen, speeds) for way in ways]
    else:
        task = _Task(robot, limits, chosen, speeds, drive)
        names = [""] if len(ways) == 1 else [f"path {k} of {len(ways)}: " for k in range(len(ways))]
        at_once = max(1, _AT_ONCE // count)
        found = [
            TimedTrajectory(timing)
            for first in range(0, len(ways), at_once)
            for timing in _solved(task, ways[first : first + at_once], names[first : first + at_once], count)
        ]
    return found[0] if isinstance(path, Path | Trajectory) else found


def _as_path(way: Way, robot: Robot) -> Path:
    if isinstance(way, Trajectory):
        way = Path.of(way)
    if not isinstance(way, Path):
        raise StateError(f"path must be a recursa.Path or a Trajectory, not {type(way).__name__}: rc.Path(points)")
    return way.for_robot(robot)


def _speed(name: str, value: float) -> float:
    speed = checks.number(name, value)
    if speed < 0.0:
        raise StateError(f"{name} = {speed:g}: ds/dt is at least 0; a path is followed forwards")
    return speed


class _Task(NamedTuple):
    """What all paths of a call have in common."""

    robot: Robot
    limits: Limits
    losses: Losses
    speeds: tuple[float, float]
    drive: Drive | None  # none where efforts are not limited

    def along(
        self,
        paths: Sequence[Path],
        grids: Sequence[Array],
        bounds: Array | None = None,
        room: Room | None = None,
    ) -> tuple[Along, Array]:
        """The robot along paths, friction at stops made safe; and bounds of x (2, N + P)."""
        along = Along.of(self.robot, paths, grids, self.losses, self.drive, room)
        if bounds is None:
            bounds = _bounds(along, paths, self.speeds)
        if along.friction is not None:
            stops = bounds[1] == 0.0
            beside = stops[along.starts] | stops[along.starts + 1]
            along = along.stopping(np.flatnonzero(beside))
        return along, bounds

    def again(self, path: Path, grid: Array, bounds: Array, reference: Array | None, spare: float) -> Along:
        """One path as it was when its timing was found."""
        along, _ = self.along([path], [grid], bounds)
        along = along.leaving(np.full(len(grid) - 1, spare))
        return along if reference is None else along.damped(reference)


def _bounds(along: Along, paths: Sequence[Path], speeds: tuple[float, float]) -> Array:
    """x at the ends as given, unless the path stands still there; at corners 0."""
    bounds = np.zeros((2, len(along.grid)))
    bounds[1] = CAP
    for number, path in enumerate(paths):
        largest = np.abs(along.V[0, along.intervals(number)]).max() or np.abs(along.V[:, along.intervals(number)]).max()
        if largest == 0.0:
            raise StateError("nothing moves along this path")
        places = along.places(number)
        for end, place in enumerate((places.start, places.stop - 1)):
            if np.abs(along.tips[number, end]).max() > _AT_REST * largest:
                bounds[:, place] = speeds[end] ** 2
        for stop in path.stops:
            bounds[:, places.start + np.argmin(np.abs(along.grid[places] - stop))] = 0.0
    return bounds


@dataclass
class _Batch:
    """Some paths: rows of all of them, and what the passes found. ``taken`` has damping in it, at some speeds."""

    task: _Task
    paths: list[Path]
    names: list[str]
    along: Along
    taken: Along
    bounds: Array
    straight: Array  # (P,)
    reference: Array | None = None  # x (N + P,) at which damping was taken, once it was
    rounds: Array | None = None  # (P,), of damping

    @classmethod
    def of(cls, task: _Task, paths: list[Path], names: list[str], points: int, room: Room | None = None) -> _Batch:
        """At the start, without damping."""
        grids = [grid_of(task.robot, path, points, task.losses) for path in paths]
        along, bounds = task.along(paths, grids, room=room)
        require_positions(task.robot, along, names)
        straight = np.array(along.straight())
        along = along.leaving(np.repeat(np.where(straight, 0.0, _SPARE), along.counts))
        return cls(task, paths, names, along, along, bounds, straight)

    def only(self, which: Array) -> _Batch:
        """Some of them."""
        if len(which) == len(self.paths):
            return self
        places = np.concatenate([np.arange(len(self.along.grid))[self.along.places(int(k))] for k in which])
        return _Batch(
            self.task, [self.paths[k] for k in which], [self.names[k] for k in which], self.along.only(which),
            self.taken.only(which), self.bounds[:, places], self.straight[which],
            None if self.reference is None else self.reference[places],
            None if self.rounds is None else self.rounds[which],
        )  # fmt: skip

    def leave(self, spare: Array) -> None:
        """So much (P,) of every limit for what cubics miss."""
        every = np.repeat(spare, self.along.counts)
        self.along, self.taken = self.along.leaving(every), self.taken.leaving(every)

    def settled(self, x: Array) -> Array:
        """Damping at the speeds that were found; whether these are the ones it was taken at, for each path (P,)."""
        count = len(self.paths)
        if self.along.d is None:
            return np.ones(count, bool)
        if self.reference is None or self.rounds is None:
            self.reference, self.rounds = x.copy(), np.ones(count, int)
            self.taken = self.along.damped(self.reference)
            return np.zeros(count, bool)
        found = np.zeros(count, bool)
        for path in range(count):
            own = self.along.places(path)
            here, before = x[own], self.reference[own]
            found[path] = np.abs(here - before).max() <= _SETTLED * here.max()
            if not found[path]:
                self.rounds[path] += 1
                self.reference[own] = here if self.rounds[path] < _FULL else 0.5 * (here + before)
        if not found.all():
            self.taken = self.along.damped(self.reference)
        return found

    def require_found(self, passed: Passed) -> None:
        """That there is a motion along every path, and a fastest one."""
        x, starts = passed.x, self.along.starts
        for path in np.flatnonzero(passed.stuck >= 0)[:1]:
            raise self._unreachable(int(path), int(passed.stuck[path]), passed)
        if x.max() >= 0.5 * CAP:
            raise StateError(
                f"nothing limits the speed at s = {self.along.grid[int(x.argmax())]:.6g}: the joints that move there "
                "have no limit. Give velocity= or acceleration="
            )
        for row in np.flatnonzero(x[starts] + x[starts + 1] <= 0.0)[:1]:
            path = int(starts[row] - row)
            raise self._unreachable(path, int(row) - self.along.intervals(path).start, passed)

    def _unreachable(self, path: int, interval: int, passed: Passed) -> PathError:
        own = self.along.places(path)
        return unreachable(
            self.task.robot, self.taken.only([path]), self.task.limits, self.bounds[:, own], passed.sets[:, own],
            interval, self.names[path],
        )  # fmt: skip

    def timings(self, rows: Rows, passed: Passed) -> list[Timing]:
        """Of all paths."""
        found = []
        for path, motion in enumerate(switched(self.taken, self.task.limits, rows, passed)):
            places = self.along.places(path)
            bounds, grid = self.bounds[:, places], self.along.grid[places]
            reference = None if self.reference is None else self.reference[places]
            spare = float(self.along.spare[self.along.intervals(path).start])
            again = partial(self.task.again, self.paths[path], grid, bounds, reference, spare)
            found.append(
                Timing(
                    self.task.robot, self.paths[path], self.task.limits, again, bounds, motion.profile, motion.interval
                )
            )
        return found


def _solved(task: _Task, paths: Sequence[Path], names: Sequence[str], points: int) -> list[Timing]:
    """Passes for paths, again as long as damping was taken at other speeds, or the grid is too coarse for cubics."""
    with borrowed() as room:
        batch = _Batch.of(task, list(paths), list(names), points, room)
        left = np.arange(len(paths))  # the numbers of those in the batch
        found: dict[int, Timing] = {}
        for _ in range(_ROUNDS):
            rows = rows_of(batch.taken, task.limits, batch.bounds)  # valid until the next call in this thread
            passed = passes.run(rows, batch.taken.counts)
            batch.require_found(passed)
            taken = batch if batch.along.d is None else replace(batch)  # as it was for these passes
            settled = batch.settled(passed.x)
            off = missed(batch.taken, task.limits, passed.x)
            spare = batch.along.spare[np.cumsum(batch.along.counts) - 1]
            done = settled & ((off <= _SHARE * spare) | batch.straight)
            if done.any():
                every = taken.timings(rows, passed)
                found |= {int(left[k]): every[k] for k in np.flatnonzero(done)}
            coarse = settled & ~done & (off > _COARSE) & (points < _MOST)
            if coarse.any():
                again = [int(k) for k in left[coarse]]
                finer = _solved(task, [paths[k] for k in again], [names[k] for k in again], 2 * points - 1)
                found |= dict(zip(again, finer, strict=True))
            rest = np.flatnonzero(~done & ~coarse)
            if not len(rest):
                return [found[k] for k in range(len(paths))]
            batch.leave(np.where(settled & ~done, off / (0.5 * _SHARE), spare))
            left, batch = left[rest], batch.only(rest)
        raise ConvergenceError(f"the speeds at which joints are damped still change after {_ROUNDS} rounds")
