"""The six axes of an arm, and which of the geometries with a closed form they have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recursa.dynamics.manipulability import singular_value_decomposition
from recursa.errors import NoClosedFormError
from recursa.sweeps.batching import Array

if TYPE_CHECKING:
    from recursa.robot import Robot

_SAMPLES = 8  # configurations at which an arm that can do something is not singular every time
_RANK = 1e-9


@dataclass(frozen=True)
class Axes:
    """Axes of an arm with all joints at zero: unit vectors and points (6, 3) in world axes; which joints turn, (6,).

    A joint that does not turn slides along its direction.
    """

    directions: Array
    points: Array
    turns: Array

    @property
    def reversed(self) -> Axes:
        """The same arm from its hand to its base: ``D^-1 = E6^-1 ... E1^-1``."""
        return Axes(-self.directions[::-1], self.points[::-1], self.turns[::-1])

    @property
    def size(self) -> float:
        """The length of the way along the axes' nearest points: what distances are compared with."""
        steps = np.diff(self.points, axis=0)
        along = (steps * self.directions[1:]).sum(axis=1, keepdims=True) * self.directions[1:]
        return float(np.sqrt(np.square(steps - along).sum(axis=1)).sum()) or 1.0

    # ---- how far axes miss something ---------------------------------------------------------------------------------

    def meeting_point(self, which: tuple[int, ...]) -> Array:
        """The point with the least sum of squared distances from some axes."""
        off = [np.eye(3) - h[:, None] * h for h in self.directions[list(which)]]
        matrix = sum(off, start=np.zeros((3, 3)))
        right = sum(
            ((a * r).sum(axis=1) for a, r in zip(off, self.points[list(which)], strict=True)), start=np.zeros(3)
        )
        point = np.zeros(3)
        for _ in range(3):  # of parallel axes there are many such points, and any will do
            point = point + _solved(matrix + 1e-9 * np.eye(3), right - (matrix * point).sum(axis=1))
        return point

    def miss_of_meeting(self, which: tuple[int, ...]) -> float:
        """How far the farthest of some axes is from the point where they nearly meet, in m; inf where one slides."""
        if not self.turns[list(which)].all():
            return np.inf
        away = self.meeting_point(which) - self.points[list(which)]
        h = self.directions[list(which)]
        across = away - (away * h).sum(axis=1, keepdims=True) * h
        return float(np.sqrt(np.square(across).sum(axis=1)).max())

    def miss_of_parallel(self, which: tuple[int, ...]) -> float:
        """The largest angle between the first of some axes and the others, in rad; inf where one slides."""
        if not self.turns[list(which)].all():
            return np.inf
        first = self.directions[which[0]]
        return max(float(np.linalg.norm(np.cross(first, self.directions[k]))) for k in which[1:])


@dataclass(frozen=True)
class Condition:
    """Something that axes may fulfil: what it says, its miss, and whether that is a length (in m) or an angle."""

    words: str
    miss: Callable[[Axes], float]
    length: bool

    def holds(self, axes: Axes, tolerance: float) -> bool:
        """Whether the miss is within the tolerance: in rad, and of lengths as a part of the arm's."""
        return self.miss(axes) <= tolerance * (axes.size if self.length else 1.0)

    def said(self, axes: Axes) -> str:
        """What it says, and by how much it fails."""
        if not np.isfinite(self.miss(axes)):
            return f"{self.words}: another one slides"
        return f"{self.words}: missed by {self.miss(axes):.3g} {'m' if self.length else 'rad'}"


def _meet(*which: int) -> Condition:
    names = ", ".join(str(k) for k in which)
    return Condition(
        f"axes {names} meet in a point", lambda axes: axes.miss_of_meeting(tuple(k - 1 for k in which)), True
    )


def _parallel(*which: int) -> Condition:
    names = ", ".join(str(k) for k in which)
    return Condition(
        f"axes {names} are parallel", lambda axes: axes.miss_of_parallel(tuple(k - 1 for k in which)), False
    )


def _turn(which: int) -> Condition:
    return Condition(f"joint {which} turns", lambda axes: 0.0 if axes.turns[which - 1] else np.inf, False)


def _third_slides_at_best(*order: int) -> Condition:
    """What the closed form of a wrist asks of a joint that slides; ``order``: numbers of the first three joints."""
    first, second, third = (k - 1 for k in order)

    def miss(axes: Axes) -> float:
        if axes.turns.all():
            return 0.0
        if axes.turns[[k for k in range(6) if k != third]].all():
            upright = abs(float(axes.directions[second] @ axes.directions[third]))
            return min(upright, axes.miss_of_meeting((first, second)), axes.miss_of_parallel((first, second)))
        return np.inf

    one, two, three = order
    words = f"no joint slides, or {three} alone: normal to axis {two}, or with axes {one}, {two} that meet"
    return Condition(words, miss, False)


@dataclass(frozen=True)
class Kind:
    """A geometry with a closed form: its name, what must hold, which solution it has, and from which end."""

    name: str
    conditions: tuple[Condition, ...]
    solution: str
    backwards: bool

    def lacks(self, axes: Axes, tolerance: float) -> str:
        """The conditions that fail, and by how much."""
        return "; ".join(one.said(axes) for one in self.conditions if not one.holds(axes, tolerance))


KINDS = (
    Kind("spherical wrist", (_meet(4, 5, 6), _third_slides_at_best(1, 2, 3)), "spherical", False),
    Kind("spherical shoulder", (_meet(1, 2, 3), _third_slides_at_best(6, 5, 4)), "spherical", True),
    Kind("three parallel axes before the wrist", (_parallel(2, 3, 4), _meet(5, 6), _turn(1)), "parallel", False),
    Kind("three parallel axes behind the shoulder", (_parallel(3, 4, 5), _meet(1, 2), _turn(6)), "parallel", True),
)


@dataclass(frozen=True)
class Arm:
    """What closed forms need of a robot and a link: its axes, the pose of the link at zero, where q has the joints."""

    axes: Axes
    home: Array
    q_places: Array
    kind: Kind

    @staticmethod
    def of(robot: Robot, link: str, tolerance: float) -> Arm:
        """Recognised from the model; an error says why not."""
        model = robot.model
        path = model.support(model.links[model.link_index(link)].body)
        joints = [model.joints[k] for k in path]
        hint = "rc.inverse_kinematics solves it by search"
        if len(joints) != 6:
            names = ", ".join(joint.name for joint in joints) or "none"
            more = (
                ". Hold some of them with robot.reduced(lock={...})" if len(joints) > 6 else ""
            )  # seven joints with one held are six
            raise NoClosedFormError(
                f"link '{link}' is moved by {len(joints)} joints ({names}), and closed forms are for six{more}; {hint}"
            )
        for joint in joints:
            if not (joint.kind.turns or joint.kind.slides) or not joint.independent:
                what = "is tied to another one" if not joint.independent else f"is of kind '{joint.kind.name}'"
                asked = "closed forms are for joints that turn or slide by themselves"
                raise NoClosedFormError(f"joint '{joint.name}' {what}, and {asked}; {hint}")
        q_places = np.array([joint.q_start for joint in joints])
        speeds = [joint.v_start for joint in joints]
        zero = robot.neutral()
        zero[q_places] = 0.0
        columns = robot.jacobian(zero, link, frame="world")[:, speeds].T
        turns = np.array([joint.kind.turns for joint in joints])
        directions = np.where(turns[:, None], columns[:, :3], columns[:, 3:])
        points = np.cross(directions, columns[:, 3:])
        for k in np.flatnonzero(~turns):
            points[k] = points[k - 1] if k else 0.0  # any point will do
        axes = Axes(directions, points, turns)
        _require_rank(robot, link, zero, q_places, speeds, hint)
        for kind in KINDS:
            if all(one.holds(axes, tolerance) for one in kind.conditions):
                return Arm(axes, robot.pose(zero, link), q_places, kind)
        raise NoClosedFormError(
            f"the arm to link '{link}' has none of the geometries with a closed form, to {tolerance:g} rad and "
            f"{tolerance * axes.size:.3g} m:\n"
            + "\n".join(f"  {kind.name}: {kind.lacks(axes, tolerance)}" for kind in KINDS)
            + f"\n{hint}; where a miss is small, geometry= allows for it, and steps then bring every branch there"
        )


def _solved(matrix: Array, right: Array) -> Array:
    """``inv(A) b`` by Cramer's rule, the same bits on every machine."""
    x, y, z = matrix.T
    cofactors = np.stack([np.cross(y, z), np.cross(z, x), np.cross(x, y)])
    return np.asarray((cofactors * right).sum(axis=1) / (x * cofactors[0]).sum())


def _require_rank(robot: Robot, link: str, zero: Array, places: Array, speeds: list[int], hint: str) -> None:
    """An arm that is singular wherever it stands has no finite number of solutions."""
    q = np.tile(zero, (_SAMPLES, 1))
    q[:, places] = np.random.default_rng(0).uniform(-3.0, 3.0, size=(_SAMPLES, 6))
    values = singular_value_decomposition(robot.jacobian(q, link)[..., speeds])[1]
    if (values[:, -1] <= _RANK * values[:, 0]).all():
        rank = int((values > _RANK * values[:, :1]).sum(axis=1).max())
        raise NoClosedFormError(
            f"the six joints move link '{link}' in {rank} directions only, wherever they stand, so that a pose has no "
            f"solution or infinitely many; {hint}"
        )
