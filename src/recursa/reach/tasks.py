"""What goals mean as numbers: the error of each kind of goal, and the wrenches that make its Jacobian.

A row of a goal is one number that has to become zero. How it changes as the robot moves is told by a *wrench* about
the world origin, in world axes: the power that this wrench exerts on a motion of the link is the rate at which the
error shrinks. With s(k) the motion of everything outward of joint k per unit speed (the column ``phi* H*`` of
Rodriguez & Kreutz-Delgado (20), carried to the world origin) a row of the Jacobian is therefore

    J(k) = wrench . s(k)                       for the joints k between the base and the link

Errors of directions and poses are logarithms; their Jacobians are those at the goal, where the last steps are made.
All of it is written over any scalar.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from recursa.spatial.inertia import Force
from recursa.spatial.rotation import Rotation
from recursa.spatial.scalars import Scalar, atan2, sqrt, where
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO, Vec3

Numbers = Sequence[Scalar]
MASS_CENTER = -1  # stands for the number of a link where the centre of mass is meant


@dataclass(frozen=True)
class Row:
    """One number that has to become zero: what is missing, and what makes it smaller.

    ``wrenches`` act on links, by number, about the world origin; on ``MASS_CENTER`` only the force counts, at the
    centre of mass. ``joints``, by number, are those of one freedom that it depends on by themselves, and how fast.
    """

    error: Scalar
    wrenches: Mapping[int, Force]
    joints: Mapping[int, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class Configuration:
    """What tasks look at: poses of links, by number, the centre of mass, and positions of joints, by number."""

    poses: Mapping[int, Transform]
    center: Vec3 | None = None
    positions: Mapping[int, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class TaskKind:
    """A kind of goal: which of its rows are angles (the others are lengths), how many numbers say what is wanted, and
    its rows from the poses of links.
    """

    angles: tuple[bool, ...]
    numbers: int
    rows: Callable[[tuple[int, ...], Sequence[Transform], Numbers], list[Row]]


@dataclass(frozen=True)
class Task:
    """A goal as far as it decides the code: kind, numbers of links, and the level of its priority, 0 first."""

    kind: str
    links: tuple[int, ...]
    level: int

    @property
    def angles(self) -> tuple[bool, ...]:
        """Per row, whether it is an angle."""
        return KINDS[self.kind].angles

    @property
    def size(self) -> int:
        """Numbers that say what is wanted; two weights, of angles and lengths, follow them."""
        return KINDS[self.kind].numbers + 2

    @property
    def joints(self) -> tuple[int, ...]:
        """Those whose positions it is about, by number."""
        return ()

    def rows(self, at: Configuration, numbers: Numbers) -> list[Row]:
        """What is missing."""
        own = [at.poses[n] if n != MASS_CENTER else Transform(_NOT_TURNED, at.center or ZERO) for n in self.links]
        return KINDS[self.kind].rows(self.links, own, numbers[: self.size - 2])


_NOT_TURNED = Rotation.identity()


def _vector(numbers: Numbers, start: int) -> Vec3:
    return Vec3(*numbers[start : start + 3])


def _transform(numbers: Numbers) -> Transform:
    return Transform.from_matrix([*(numbers[k : k + 4] for k in (0, 4, 8)), (0.0, 0.0, 0.0, 1.0)])


def _pushing(link: int, point: Vec3, direction: Vec3) -> dict[int, Force]:
    """The wrench of a unit force at a point: its power is the speed of the point in that direction."""
    return {link: Force(point.cross(direction), direction)}


def _turning(link: int, direction: Vec3) -> dict[int, Force]:
    """The wrench of a unit moment: its power is the rate at which the link turns about a direction."""
    return {link: Force(direction, ZERO)}


# ---- the kinds -------------------------------------------------------------------------------------------------------


def pose(links: tuple[int, ...], poses: Sequence[Transform], numbers: Numbers) -> list[Row]:
    """``e = log(L^-1 T)``: a small rotation and the way to go, both in link axes."""
    return [*orientation(links, poses, numbers), *_way_to(links[0], poses[0], _transform(numbers).translation)]


def orientation(links: tuple[int, ...], poses: Sequence[Transform], numbers: Numbers) -> list[Row]:
    """The rotation vector from the link's axes to the wanted ones, in link axes."""
    (link,), (own,) = links, poses
    missing = (own.rotation.T @ _transform(numbers).rotation).log()
    axes = own.rotation.columns()
    return [Row(e, _turning(link, axis)) for e, axis in zip(missing, axes, strict=True)]


def position(links: tuple[int, ...], poses: Sequence[Transform], numbers: Numbers) -> list[Row]:
    """The way from a point of the link to a point of the world, in link axes. Numbers: wanted point, own point."""
    (link,), (own,) = links, poses
    return _way_to(link, own, _vector(numbers, 0), own @ _vector(numbers, 3))


def _way_to(link: int, own: Transform, wanted: Vec3, point: Vec3 | None = None) -> list[Row]:
    point = own.translation if point is None else point
    way = wanted - point
    return [Row(axis.dot(way), _pushing(link, point, axis)) for axis in own.rotation.columns()]


def plane(links: tuple[int, ...], poses: Sequence[Transform], numbers: Numbers) -> list[Row]:
    """The distance to a plane. Numbers: a point of the plane, own point, unit normal."""
    return _across(links, poses, numbers, (6,))


def line(links: tuple[int, ...], poses: Sequence[Transform], numbers: Numbers) -> list[Row]:
    """The way to a line. Numbers: a point of the line, own point, two unit vectors across."""
    return _across(links, poses, numbers, (6, 9))


def _across(links: tuple[int, ...], poses: Sequence[Transform], numbers: Numbers, starts: tuple[int, ...]) -> list[Row]:
    (link,), (own,) = links, poses
    point = own @ _vector(numbers, 3)
    way, across = _vector(numbers, 0) - point, [_vector(numbers, k) for k in starts]
    return [Row(normal.dot(way), _pushing(link, point, normal)) for normal in across]


def look_at(links: tuple[int, ...], poses: Sequence[Transform], numbers: Numbers) -> list[Row]:
    """The turn that takes an axis of the link to the direction of a point. Numbers: the point, own point, axis, two
    unit vectors across it.

    The direction d turns as the own point moves: with r the distance, ``w_d = -d x v / r``.
    """
    (link,), (own,) = links, poses
    point = own @ _vector(numbers, 3)
    way = _vector(numbers, 0) - point
    square = way.dot(way)
    inverse = 1.0 / sqrt(where(square < _NEAR, _NEAR, square))
    direction = way * inverse
    rows = []
    for error, across in _turns(own, direction, numbers):
        force = across.cross(direction) * inverse
        rows.append(Row(error, {link: Force(across + point.cross(force), force)}))
    return rows


def along(links: tuple[int, ...], poses: Sequence[Transform], numbers: Numbers) -> list[Row]:
    """The turn that takes an axis of the link to a direction. Numbers: the direction, three of no meaning, axis, two
    unit vectors across it.
    """
    (link,), (own,) = links, poses
    return [Row(error, _turning(link, across)) for error, across in _turns(own, _vector(numbers, 0), numbers)]


_NEAR = 1e-24  # m^2: a point at the own point has no direction
_OPPOSITE = 1e-20  # where every turn by pi is as good


def _turns(own: Transform, direction: Vec3, numbers: Numbers) -> list[tuple[Scalar, Vec3]]:
    """``theta n`` along two axes across the link's, where n is the shortest turn's axis and theta its angle."""
    axis, *across = (own.rotation @ _vector(numbers, k) for k in (6, 9, 12))
    turn, along_it = axis.cross(direction), axis.dot(direction)
    square = turn.dot(turn)
    tiny = square < _OPPOSITE
    sine = sqrt(where(tiny, 1.0, square))
    factor = where(tiny, 1.0, atan2(sine, along_it) / sine)
    opposite = where(tiny, where(along_it < 0.0, _PI, 0.0), 0.0)  # then about the first axis across
    errors = [factor * turn.dot(across[0]) + opposite, factor * turn.dot(across[1])]
    return list(zip(errors, across, strict=True))


_PI = 3.141592653589793


def center_of_mass(links: tuple[int, ...], poses: Sequence[Transform], numbers: Numbers) -> list[Row]:
    """The way of the centre of mass to a point, along some unit vectors of the world."""
    way = _vector(numbers, 0) - poses[0].translation
    axes = [_vector(numbers, k) for k in range(3, len(numbers), 3)]
    return [Row(axis.dot(way), {MASS_CENTER: Force(ZERO, axis)}) for axis in axes]


def relative(links: tuple[int, ...], poses: Sequence[Transform], numbers: Numbers) -> list[Row]:
    """``e = log(L^-1 B T)`` with T the wanted pose in a second link B: as that of a pose which moves along with B."""
    (link, base), (own, other) = links, poses
    wanted = other @ _transform(numbers)
    matrix = [x for row in wanted.rows()[:3] for x in row]
    rows = pose((link,), (own,), matrix)
    return [Row(row.error, {link: row.wrenches[link], base: -row.wrenches[link]}) for row in rows]


_TURN, _WAY = (True,) * 3, (False,) * 3
KINDS: dict[str, TaskKind] = {
    "pose": TaskKind(_TURN + _WAY, 12, pose),
    "orientation": TaskKind(_TURN, 12, orientation),
    "position": TaskKind(_WAY, 6, position),
    "plane": TaskKind((False,), 9, plane),
    "line": TaskKind((False,) * 2, 12, line),
    "look_at": TaskKind((True,) * 2, 15, look_at),
    "along": TaskKind((True,) * 2, 15, along),
    "center_of_mass": TaskKind(_WAY, 12, center_of_mass),
    "center_of_mass_2": TaskKind((False,) * 2, 9, center_of_mass),
    "center_of_mass_1": TaskKind((False,), 6, center_of_mass),
    "relative": TaskKind(_TURN + _WAY, 12, relative),
}
