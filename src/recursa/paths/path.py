"""Path: where a robot goes, without when; q(s) with its first two derivatives along s."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import LimitWarning, StateError, unknown_name
from recursa.evaluation.hints import user_level
from recursa.sweeps.batching import Array
from recursa.trajectories import checks, csv_files, curves
from recursa.trajectories.coordinates import States
from recursa.trajectories.courses import Course, points_in, spline_of, through
from recursa.trajectories.trajectory import Trajectory, require_coordinates_of

if TYPE_CHECKING:
    from recursa.robot import Robot

Kind = Literal["spline", "lines"]
Ends = Literal["natural", "not-a-knot", "periodic"]
_KINDS: tuple[str, ...] = get_args(Kind)
_ENDS: tuple[str, ...] = get_args(Ends)
_SAME = 1e-9  # points nearer to each other than this part of the way are the same
_STILL = 1e-6  # of the way: a joint whose points differ by less stands still, but for rounding
_BEYOND = 0.1  # of the range of the points: a path that leaves it by more is worth a warning
_LOOKS = 16  # places between two points at which that is judged


class Path:
    """A way through configurations: :meth:`sample` gives q (..., nq), dq/ds and d2q/ds2 (..., nv) at places s.

    - ``points`` (m, nq): what it goes through. With ``robot=`` joints of any kind.
    - ``kind``: "spline" (default), a cubic spline with continuous curvature and centripetal parameters: between points
      s grows by the square root of their distance (Lee, Computer-Aided Design 21, 1989), which keeps the path close to
      its points where they are unevenly spaced. Or "lines", straight from point to point.
    - ``ends``: of splines, "natural" (default): no curvature at the ends; "not-a-knot": the first two pieces are one
      cubic, and so are the last two; "periodic": the path ends as it starts, in the same point.
    - ``blend``: of lines, how far before and after a point the path leaves them to go round the corner, in the unit of
      s and at most half of the way to the next point; curvature stays continuous. 0: through the point itself, where
      every motion has to stop.

    s runs from 0 to the sum of the distances of the points, ``|q(i + 1) - q(i)|`` in rad and m, all freedoms alike.
    Where a spline leaves the range of its points by more than a tenth of it, a :class:`recursa.LimitWarning` names the
    joint and the place: add points there, or use lines with a ``blend``.

    :func:`recursa.time_optimal` makes the fastest :class:`recursa.Trajectory` of it that a robot can do. Straight lines
    and arcs of a tool are :func:`recursa.tool_path`.

    >>> import recursa as rc
    >>> path = rc.Path([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], kind="lines", blend=0.2)
    >>> path.length
    2.0
    >>> path.sample(0.5)[0], path.sample(1.0)[0].round(3)
    (array([0.5, 0. ]), array([0.962, 0.038]))
    """

    def __init__(
        self,
        points: ArrayLike,
        *,
        kind: Kind = "spline",
        ends: Ends | None = None,
        blend: float = 0.0,
        robot: Robot | None = None,
    ) -> None:
        if kind not in _KINDS:
            raise unknown_name("kind of path", kind, _KINDS)
        if ends is not None and kind != "spline":
            raise StateError(f"ends='{ends}' is for kind='spline'; lines end in their last point")
        if ends is not None and ends not in _ENDS:
            raise unknown_name("kind of ends", ends, _ENDS)
        q = checks.coordinates("points", points, robot, rows=True)
        if len(q) < 2:
            raise StateError(f"a path needs at least two points, not {len(q)}")
        steps = _steps(q, robot)
        s = np.concatenate([[0.0], np.cumsum(steps)])
        near = np.flatnonzero(steps <= _SAME * s[-1])
        if len(near):
            raise StateError(f"points {near[0]} and {near[0] + 1} are the same; leave one of them out")
        if kind == "spline":
            s = s[-1] * np.concatenate([[0.0], np.cumsum(np.sqrt(steps))]) / np.sqrt(steps).sum()
        x, s = points_in(q, s, robot)
        distance = checks.number("blend", blend)
        if distance < 0.0 or (distance > 0.0 and kind != "lines"):
            raise StateError(f"blend = {distance:g}: a distance of at least 0, for kind='lines'")
        if kind == "spline":
            self._set(through(robot, spline_of(s, x, "cubic", ends or "natural")), robot, ())
            self._warn_of_detours(x)
            return
        corners = s[1:-1] if distance == 0.0 else ()
        self._set(through(robot, rounded(s, x, distance)), robot, corners)

    def _set(self, course: Course, robot: Robot | None, stops: Sequence[float] | Array) -> None:
        self._states = course.states
        self.breaks = np.array(course.breaks, dtype=float)
        self.breaks.flags.writeable = False
        self.robot = robot
        self.names = None if robot is None else csv_files.names_of(robot)[0]
        self.stops = tuple(float(s) for s in stops)
        self.nq = self.sample(self.breaks[:1])[0].shape[1]

    def _warn_of_detours(self, points: Array) -> None:
        """Where a coordinate leaves the range of its points. Quaternions have none."""
        steps = np.linspace(0.0, 1.0, _LOOKS, endpoint=False)
        s = np.append((self.breaks[:-1, None] + np.diff(self.breaks)[:, None] * steps).ravel(), self.breaks[-1])
        q = self.sample(s)[0]
        low, high = points.min(axis=0), points.max(axis=0)
        beyond = np.maximum(low - q, q - high) / np.maximum(high - low, _STILL * self.length)
        if self.robot is not None:
            for start in self.robot.model.quaternions:
                beyond[:, start : start + 4] = 0.0
        at, entry = np.unravel_index(np.argmax(beyond), beyond.shape)
        if beyond[at, entry] > _BEYOND:
            name = f"coordinate {entry}" if self.names is None else f"'{self.names[entry]}'"
            warnings.warn(
                f"the path takes {name} to {q[at, entry]:.4g} at s = {s[at]:.4g}; its points are from "
                f"{low[entry]:.4g} to {high[entry]:.4g}, and it leaves that range by {beyond[at, entry]:.0%} of it. "
                'Add points there, or use kind="lines" with blend=, which stays between the points',
                LimitWarning,
                stacklevel=user_level(),
            )

    @classmethod
    def of(cls, trajectory: Trajectory) -> Path:
        """The way of a trajectory, exactly: s is its time. Where it stands still, a new timing does, too.

        >>> import recursa as rc
        >>> motion = rc.Trajectory.cycloid([0.0], [1.0], T=2.0)
        >>> rc.Path.of(motion).sample(1.0)[:2]
        (array([0.5]), array([1.]))
        """
        path = cls._from(Course(trajectory._states, trajectory.knots), trajectory.robot)
        path.names = trajectory.names
        return path

    @classmethod
    def _from(cls, course: Course, robot: Robot | None) -> Path:
        path = cls.__new__(cls)
        path._set(course, robot, ())
        return path

    @property
    def start(self) -> float:
        """The first place."""
        return float(self.breaks[0])

    @property
    def end(self) -> float:
        """The last place."""
        return float(self.breaks[-1])

    @property
    def length(self) -> float:
        """From the first place to the last."""
        return self.end - self.start

    def places(self, n: int = 101) -> Array:
        """n places from start to end, evenly spread.

        >>> import recursa as rc
        >>> rc.Path([[0.0], [2.0]]).places(3)
        array([0., 1., 2.])
        """
        if not isinstance(n, int | np.integer) or n < 2:
            raise StateError(f"n = {n!r}: at least two places, start and end")
        return np.linspace(self.start, self.end, int(n))

    def sample(self, s: ArrayLike) -> States:
        """q (..., nq), and dq/ds, d2q/ds2 (..., nv) as speeds and accelerations at ds/dt = 1; s within the path.

        >>> import recursa as rc
        >>> rc.Path([[0.0, 0.0], [3.0, 4.0]]).sample(2.5)[:2]
        (array([1.5, 2. ]), array([0.6, 0.8]))
        """
        where = checks.times(s)
        flat = np.clip(where.reshape(-1), self.start, self.end)
        return tuple(part.reshape(*where.shape, part.shape[-1]) for part in self._states(flat))  # type: ignore[return-value]

    def for_robot(self, robot: Robot) -> Path:
        """The same, once it is certain that these are coordinates of the robot."""
        require_coordinates_of(robot, self.nq, self.names, self.robot)
        return self

    def __repr__(self) -> str:
        return f"<Path of {self.nq} coordinates, s from {self.start:g} to {self.end:g}>"


def _steps(q: Array, robot: Robot | None) -> Array:
    with np.errstate(over="ignore"):
        steps = np.diff(q, axis=0) if robot is None else robot.difference(q[:-1], q[1:])
        lengths = np.sqrt(np.square(steps).sum(axis=1))
    if not np.isfinite(lengths).all():
        raise StateError("the points are too far apart for floating-point numbers")
    return lengths


def rounded(s: Array, x: Array, blend: float) -> curves.Pieces:
    """Straight lines through points (m, n) at s (m,), and quintic pieces round the corners, if blend > 0."""
    slopes = np.diff(x, axis=0) / np.diff(s)[:, None]
    if blend == 0.0:
        return curves.Pieces(s, np.stack([x[:-1], np.diff(x, axis=0)]))
    room = np.minimum(blend, 0.5 * np.minimum(np.diff(s)[:-1], np.diff(s)[1:]))
    places, points, directions = [s[0]], [x[0]], [slopes[0]]
    for corner, (at, before) in enumerate(zip(s[1:-1], room, strict=True), 1):
        for side in (0, 1):  # where it leaves the line before, where it comes to the one after
            slope, offset = slopes[corner - 1 + side], (2 * side - 1) * before
            if side or at + offset > places[-1] + _SAME * s[-1]:
                places.append(at + offset)
                points.append(x[corner] + offset * slope)
                directions.append(slope)
    if s[-1] > places[-1] + _SAME * s[-1]:
        places, points, directions = [*places, s[-1]], [*points, x[-1]], [*directions, slopes[-1]]
    v = np.array(directions)
    return curves.hermite(np.array(places), np.array(points), v, np.zeros_like(v))
