"""Paths of a tool: straight lines and arcs of a link in space, with rounded corners, as paths of the joints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import PathError, ShapeError, SingularConfigurationError, StateError
from recursa.evaluation.hints import warn_of_millimetres
from recursa.paths.path import Path
from recursa.reach.goals import one_pose
from recursa.reach.inverse_kinematics import inverse_kinematics
from recursa.spatial.rotation import Rotation
from recursa.spatial.vec3 import Vec3
from recursa.sweeps.batching import Array
from recursa.trajectories import checks, curves
from recursa.trajectories.coordinates import aligned
from recursa.trajectories.courses import spline_of, through

if TYPE_CHECKING:
    from recursa.robot import Robot

_FIRST = 24  # intervals on each stretch to begin with
_FAR = 0.25  # rad or m that a joint may go from one solution to the next
_HALVINGS = 12
_ROUNDS = 8


class Arc(NamedTuple):
    """A circular arc through a point in space to a pose: ``via`` (3,), ``to`` (4, 4)."""

    via: ArrayLike
    to: ArrayLike


def tool_path(
    robot: Robot,
    link: str,
    q0: ArrayLike,
    poses: Sequence[ArrayLike | Arc] | Array,
    *,
    blend: float = 0.0,
    tolerance: float = 1e-5,
) -> Path:
    """The path on which a link goes from pose to pose in straight lines and arcs, as a path of the joints.

    It starts where the link is at ``q0``. Orientations turn about one axis on each line or arc, in step with the way.

    - ``poses``: where to, one after the other: (m, 4, 4) for straight lines, or a list of matrices (4, 4) and of
      ``rc.Arc(via, to)``: along the circle through the point ``via`` (3,) to the pose ``to``.
    - ``blend``: how far before and after a corner it is rounded, in m, at most half of the way between corners. 0
      (default): exactly through the corners, where every motion stops.
    - ``tolerance``: in m and rad, how far the link may be from the line.

    Solutions of :func:`recursa.inverse_kinematics` follow one another, each started from the one before, and are laid
    as densely as the tolerance needs. A line that leaves the workspace, a joint that would have to jump, or a singular
    configuration is an error with its place. s is the way of the link in m (in rad where it turns on the spot).

    >>> import numpy as np, recursa as rc
    >>> arm = rc.robots.panda_like()
    >>> q0 = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 2.1, 0.8])
    >>> start = arm.pose(q0, "flange")
    >>> right, up = start.copy(), start.copy()
    >>> right[1, 3] += 0.2
    >>> up[:3, 3] += [0.0, 0.2, 0.2]
    >>> path = rc.tool_path(arm, "flange", q0, [right, up], blend=0.05)
    >>> middle = arm.pose(path.sample(0.1)[0], "flange")[:3, 3] - start[:3, 3]
    >>> bool(abs(middle - [0.0, 0.1, 0.0]).max() < 1e-5)
    True
    """
    robot.model.link_index(link)
    start = checks.coordinates("q0", q0, robot)
    distance = checks.number("blend", blend)
    allowed = checks.number("tolerance", tolerance)
    if distance < 0.0 or allowed <= 0.0:
        raise StateError(f"blend = {distance:g}, tolerance = {allowed:g}: distances, the second above 0")
    here = robot.pose(start, link)
    way = _Way(here, list(poses), distance)
    farthest = max(float(np.linalg.norm(one.at(one.length)[0] - here[:3, 3])) for one in way.segments)
    warn_of_millimetres(robot.model, farthest, f"where link '{link}' is to go")
    follower = _Follower(robot, link, way)
    places: list[Array] = []
    points: list[Array] = []
    for low, high in zip(way.stops[:-1], way.stops[1:], strict=True):
        s, q = follower.stretch(low, high, start if not points else points[-1][-1], allowed)
        places.append(s)
        points.append(q)
    pieces = [spline_of(s, q, "cubic", "not-a-knot") for s, q in zip(places, points, strict=True)]
    breaks = np.concatenate([places[0], *(s[1:] for s in places[1:])])
    together = curves.Pieces(breaks, np.concatenate([_cubic(piece) for piece in pieces], axis=1))
    path = Path._from(through(robot, together), robot)
    path.stops = tuple(float(s) for s in way.stops[1:-1])
    return path


def _cubic(piece: curves.Pieces) -> Array:
    c = piece.coefficients
    return np.concatenate([c, np.zeros((4 - len(c), *c.shape[1:]))])


# ---- the way of the link ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Segment:
    """A line or an arc from s = 0 to ``length``, and on beyond both ends; turning about one axis on the way."""

    origin: Array
    direction: Array  # of a line; of an arc towards its start, from the centre
    across: Array | None  # of an arc, the way it starts in
    radius: float
    rotation: Array
    turn: Array  # rotation vector, in the axes of the start
    length: float

    def at(self, s: float) -> tuple[Array, Array]:
        if self.across is None:
            p = self.origin + s * self.direction
        else:
            angle = s / self.radius
            p = self.origin + self.radius * (np.cos(angle) * self.direction + np.sin(angle) * self.across)
        return p, self.rotation @ _exp(self.turn * (s / self.length))


class _Way:
    """The pose of the link at every place of its way."""

    def __init__(self, start: Array, poses: list[ArrayLike | Arc], blend: float) -> None:
        if not poses:
            raise StateError("poses is empty: say where the link is to go")
        self.segments: list[_Segment] = []
        here = start
        for number, one in enumerate(poses):
            via = _point(one.via, number) if isinstance(one, Arc) else None
            to = one_pose(f"poses[{number}]", one.to if isinstance(one, Arc) else one)
            self.segments.append(_segment(here, to, via, number))
            here = to
        self.ends = np.concatenate([[0.0], np.cumsum([segment.length for segment in self.segments])])
        lengths = np.diff(self.ends)
        self.room = np.minimum(blend, 0.5 * np.minimum(lengths[:-1], lengths[1:]))
        self.stops = self.ends if blend == 0.0 else self.ends[[0, -1]]

    def joins(self, low: float, high: float) -> Array:
        """Places between which the way is smooth, within a stretch."""
        inner = self.ends[1:-1]
        every = np.concatenate([[low, high], inner - self.room, inner + self.room])
        return np.unique(every[(every >= low) & (every <= high)])

    def pose(self, s: float) -> Array:
        """Of the link, (4, 4)."""
        k = int(np.clip(np.searchsorted(self.ends, s, side="right") - 1, 0, len(self.segments) - 1))
        p, R = self.segments[k].at(s - self.ends[k])
        for corner, other in ((k, k - 1), (k + 1, k + 1)):  # the one before, the one after
            if not 0 < corner < len(self.segments):
                continue
            room = self.room[corner - 1]
            x = (s - self.ends[corner] + room) / (2.0 * room) if room > 0.0 else -1.0
            if 0.0 < x < 1.0:
                first, second = (other, k) if corner == k else (k, other)
                p, R = self._round(self.segments[first], self.segments[second], float(room), x)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = R, p
        return pose

    @staticmethod
    def _round(first: _Segment, second: _Segment, room: float, x: float) -> tuple[Array, Array]:
        """Round a corner: the first segment is left ever more slowly while the second is entered ever faster.

        The speed on the second rises by the smooth step ``10 x^3 - 15 x^4 + 6 x^5``, that on the first falls by it, so
        that two derivatives are continuous; x from 0 to 1.
        """
        entered = x**4 * (2.5 - 3.0 * x + x * x)  # the integral of the step
        p1, R1 = first.at(first.length - room + 2.0 * room * (x - entered))
        p2, R2 = second.at(2.0 * room * entered)
        corner, turned = second.at(0.0)
        return p1 + p2 - corner, R1 @ turned.T @ R2


def _segment(start: Array, to: Array, via: Array | None, number: int) -> _Segment:
    turn = _log(start[:3, :3].T @ to[:3, :3])
    angle = float(np.linalg.norm(turn))
    p, step = start[:3, 3], to[:3, 3] - start[:3, 3]
    distance = float(np.linalg.norm(step))
    if via is not None:
        return _arc(start, to, via, turn, number)
    if distance < 1e-9 and angle < 1e-9:
        raise StateError(f"poses[{number}] is where the link already is; leave it out")
    length = distance if distance >= 1e-9 else angle
    return _Segment(p, step / length, None, 0.0, start[:3, :3], turn, length)


def _arc(start: Array, to: Array, via: Array, turn: Array, number: int) -> _Segment:
    """The circle through three points: its centre is where the perpendicular bisectors meet."""
    p, a, b = start[:3, 3], via - start[:3, 3], to[:3, 3] - start[:3, 3]
    normal = np.cross(a, b)
    size = float(normal @ normal)
    if size < 1e-12 * float(a @ a) * float(b @ b) or size == 0.0:
        raise StateError(
            f"poses[{number}]: start, via and end of the arc lie on one line, so no circle goes through them"
        )
    centre = p + np.cross(float(a @ a) * b - float(b @ b) * a, normal) / (2.0 * size)
    radius = float(np.linalg.norm(p - centre))
    out = (p - centre) / radius
    across = np.cross(normal / np.sqrt(size), out)
    end = to[:3, 3] - centre
    angle = float(np.arctan2(end @ across, end @ out)) % (2.0 * np.pi)
    return _Segment(centre, out, across, radius, start[:3, :3], turn, angle * radius)


def _exp(w: Array) -> Array:
    return np.array([tuple(row) for row in Rotation.exp(Vec3(*w.tolist())).rows()])


def _log(R: Array) -> Array:
    from scipy.spatial.transform import Rotation as Turned

    return Turned.from_matrix(R).as_rotvec()


def _point(value: ArrayLike, number: int) -> Array:
    point = np.asarray(value, dtype=float)
    if point.shape != (3,) or not np.isfinite(point).all():
        raise ShapeError(f"poses[{number}]: via has shape {point.shape}, expected a finite point (3,)")
    return point


# ---- the joints ------------------------------------------------------------------------------------------------------


class _Follower:
    """Solutions of inverse kinematics along a way, each next to the one before."""

    def __init__(self, robot: Robot, link: str, way: _Way) -> None:
        self.robot, self.link, self.way = robot, link, way
        self.turning = [
            joint.q_start + joint.kind.angle
            for joint in robot.model.joints
            if joint.independent and joint.kind.angle is not None and joint.limits is None
        ]

    def stretch(self, low: float, high: float, start: Array, tolerance: float) -> tuple[Array, Array]:
        """Places and solutions on a smooth stretch, dense enough that a spline through them is near the way."""
        joins = self.way.joins(low, high)
        parts = np.maximum(np.ceil(_FIRST * np.diff(joins) / (high - low)), 3).astype(int)
        s = np.concatenate(
            [np.linspace(a, b, n, endpoint=False) for a, b, n in zip(joins, joins[1:], parts, strict=False)]
        )
        places, points = [low], [start]
        for place in [*s[1:], high]:
            self._go(places, points, float(place), 0)
        for _ in range(_ROUNDS):
            between, missed = self._missed(np.array(places), np.array(points))
            wrong = between[missed > tolerance]
            if not len(wrong):
                return np.array(places), aligned(self.robot.model, np.array(points))
            for place in wrong:
                k = int(np.searchsorted(places, place))
                points.insert(k, self._solved(float(place), points[k - 1], points[k]))
                places.insert(k, float(place))
        raise PathError(
            f"{self._where(float(wrong[0]))}: no smooth motion of the joints keeps to the line to {tolerance:g} there",
            "", "position", float(wrong[0]), float(missed.max()), tolerance,
        )  # fmt: skip

    def _go(self, places: list[float], points: list[Array], place: float, depth: int) -> None:
        """On to a place, with places between if a joint goes far."""
        q = self._solved(place, points[-1], None)
        if np.abs(self.robot.difference(points[-1], q)).max() <= _FAR:
            places.append(place)
            points.append(q)
            return
        if depth == _HALVINGS:
            step = self.robot.difference(points[-1], q)
            joint = self.robot.v_names[int(np.argmax(np.abs(step)))]
            raise SingularConfigurationError(
                f"{self._where(place)}: joint '{joint}' would have to jump by {np.abs(step).max():.3g}; the line goes "
                f"through a singular configuration or to another branch of solutions. {self._singular(points[-1])}",
                float(np.linalg.cond(self.robot.jacobian(points[-1], self.link))),
            )
        self._go(places, points, 0.5 * (places[-1] + place), depth + 1)
        self._go(places, points, place, depth + 1)

    def _solved(self, place: float, near: Array, after: Array | None) -> Array:
        begin = near if after is None else self.robot.integrate(near, 0.5 * self.robot.difference(near, after))
        found = inverse_kinematics(self.robot, self.link, self.way.pose(place), begin, restarts=0, tolerance=1e-10)
        q = found.q
        for k in self.turning:
            q[k] += 2.0 * np.pi * np.round((near[k] - q[k]) / (2.0 * np.pi))
        if not found.solved and np.abs(found.error).max() > 1e-8:
            held = [name for name, one in zip(self.robot.v_names, found.held_by, strict=True) if one]
            limits = f" Joints at their limits: {', '.join(held)}." if held else ""
            angle, distance = (float(np.linalg.norm(part)) for part in (found.error[:3], found.error[3:]))
            raise PathError(
                f"{self._where(place)}: the link cannot get there from where it was; it misses by {distance:.3g} m and "
                f"{angle:.3g} rad.{limits} {self._singular(near)}",
                held[0] if held else "", "position", place, distance, 0.0,
            )  # fmt: skip
        return q

    def _missed(self, places: Array, points: Array) -> tuple[Array, Array]:
        """Half way between solutions: the places, and how far the spline is from the way there."""
        spline = through(self.robot, spline_of(places, points.copy(), "cubic", "not-a-knot")).states
        between = 0.5 * (places[1:] + places[:-1])
        poses = self.robot.pose(spline(between)[0], self.link)
        wanted = np.stack([self.way.pose(float(s)) for s in between])
        away = np.linalg.norm(poses[:, :3, 3] - wanted[:, :3, 3], axis=1)
        turned = np.abs(poses[:, :3, :3] - wanted[:, :3, :3]).max(axis=(1, 2))
        return between, np.maximum(away, turned)

    def _where(self, place: float) -> str:
        x, y, z = self.way.pose(place)[:3, 3]
        return f"link '{self.link}' at s = {place:.4g} of {self.way.ends[-1]:.4g}, ({x:.4g}, {y:.4g}, {z:.4g}) m"

    def _singular(self, q: Array) -> str:
        values = np.linalg.svd(self.robot.jacobian(q, self.link), compute_uv=False)
        return f"Before it the least singular value of the Jacobian is {values[min(5, len(values) - 1)]:.2g}"
