"""Goals: what inverse kinematics is to achieve, as small records.

>>> import recursa as rc
>>> rc.reach.Position("flange", [0.4, 0.0, 0.5], priority=1)
Position('flange', priority=1)

Every goal says what is wanted in world axes, of one or of many targets: arrays may have leading axes, which broadcast
against each other. ``at`` is a point of the link, in its own axes; its origin unless told. ``weight`` says how much a
goal counts beside others of the same priority that it cannot be met with; a pair weighs angles (rad) and lengths (m).
``priority`` 0 comes first; what has a higher number may only use what the others leave free.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import ShapeError, StateError, unknown_name
from recursa.model.model import Model
from recursa.reach.tasks import MASS_CENTER
from recursa.sweeps.batching import Array, as_numbers

# ---- numbers that users hand in: poses that have to be some ----------------------------------------------------------


ROTATION_TOLERANCE = 1e-6  # by which the rotation of a wanted pose may miss being one


def poses(given: ArrayLike, name: str = "poses", instead: str = "", *, turned: bool = True) -> Array:
    """Homogeneous matrices (..., 4, 4), checked.

    ``instead``: what else would do, for the error; ``turned``: their rotations have to be some.
    """
    if type(given) is np.ndarray and given.shape == (4, 4) and given.dtype == float and _is_pose(given.tolist()):
        return given
    array = real(name, given, 4)
    if array.ndim < 2 or array.shape[-2:] != (4, 4):
        raise ShapeError(f"{name} has shape {array.shape}, expected homogeneous matrices (..., 4, 4){instead}")
    if turned:
        _require_rotations(name, array[..., :3, :3].reshape(-1, 3, 3))
    return array


def one_pose(name: str, given: ArrayLike) -> Array:
    """One homogeneous matrix (4, 4), checked."""
    pose = poses(given, name)
    if pose.shape != (4, 4):
        raise ShapeError(f"{name} has shape {pose.shape}, expected one homogeneous matrix (4, 4)")
    return pose


def real(name: str, given: ArrayLike, count: int) -> Array:
    """Finite numbers, ``count`` of them in the last axis of those that have one."""
    array = as_numbers(name, given, count)
    if array.dtype.kind == "c":
        raise StateError(f"{name} must be real")
    require_finite(**{name: array})
    return array.astype(float, copy=False)


def pair(name: str, given: Any) -> tuple[float, float]:
    """A positive number for angles and one for lengths; one alone stands for both."""
    if type(given) is float and 0.0 < given < math.inf:
        return given, given
    try:
        angle, length = (float(x) for x in (given if isinstance(given, tuple | list) else (given, given)))
    except (TypeError, ValueError):
        raise StateError(f"{name} must be a number or a pair for angles (rad) and lengths (m), not {given!r}") from None
    if not (0.0 < angle < math.inf and 0.0 < length < math.inf):
        raise StateError(f"{name} must be positive, not {given!r}")
    return angle, length


def require_finite(**arrays: Array) -> None:
    """What is computed with has to be numbers."""
    for name, values in arrays.items():
        if not np.isfinite(values).all():
            raise StateError(f"{name} must be finite; entry {np.argwhere(~np.isfinite(values))[0].tolist()} is not")


def _is_pose(rows: list[list[float]]) -> bool:
    """Whether a matrix is a pose beyond doubt: of one, numbers say it sooner than arrays."""
    (a, b, c, x), (d, e, f, y), (g, h, i, z), last = rows
    across = abs(a * d + b * e + c * f) + abs(a * g + b * h + c * i) + abs(d * g + e * h + f * i)
    along = abs(a * a + b * b + c * c - 1.0) + abs(d * d + e * e + f * f - 1.0) + abs(g * g + h * h + i * i - 1.0)
    turning = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    finite = math.isfinite(x + y + z + sum(last))
    return finite and across + along < 0.1 * ROTATION_TOLERANCE and turning > 0.0


def _require_rotations(name: str, matrices: Array) -> None:
    x, y, z = (matrices[:, :, k] for k in range(3))
    pairs = ((x, x, 1.0), (y, y, 1.0), (z, z, 1.0), (x, y, 0.0), (y, z, 0.0), (z, x, 0.0))
    products = [np.abs((one * other).sum(axis=1) - wanted) for one, other, wanted in pairs]
    off = np.maximum.reduce(products)
    mirrored = (np.cross(x, y) * z).sum(axis=1) < 0.0
    wrong = np.flatnonzero((off > ROTATION_TOLERANCE) | mirrored)
    if len(wrong):
        row = int(wrong[0])
        why = "it is a mirror image" if mirrored[row] else f"its columns miss being orthonormal by {off[row]:.3g}"
        raise StateError(
            f"{name}: the upper left 3 x 3 block of matrix {row} is no rotation: {why}. "
            "Poses are (R, p; 0 0 0 1) with R from link to world axes"
        )


Weight = float | tuple[float, float]
_SHORTEST = 1e-12  # below, a vector has no direction


@dataclass(frozen=True, eq=False, repr=False)
class Goal:
    """What all goals have: a link they are about, a weight and a priority."""

    kind: ClassVar[str] = ""

    def __repr__(self) -> str:
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        names = [repr(own[name]) for name in ("link", "to") if name in own]
        more = [f"{name}={own[name]!r}" for name, usual in (("weight", 1.0), ("priority", 0)) if own[name] != usual]
        return f"{type(self).__name__}({', '.join(names + more)})"

    def task(self, model: Model) -> tuple[str, tuple[int, ...]]:
        """The name of the task, and the links it is about, by number."""
        return self.kind, (model.link_index(self.link),)  # type: ignore[attr-defined]

    def numbers(self) -> Array:
        """What is wanted, (..., n)."""
        raise NotImplementedError

    @property
    def weights(self) -> tuple[float, float]:
        """Of angles and of lengths."""
        return pair("weight", self.weight)  # type: ignore[attr-defined]

    @property
    def level(self) -> int:
        """The priority, checked."""
        given = self.priority  # type: ignore[attr-defined]
        if isinstance(given, bool) or not isinstance(given, int | np.integer):
            raise StateError(f"{self!r}: priority must be a whole number, not {given!r}")
        return int(given)


@dataclass(frozen=True, eq=False, repr=False)
class Pose(Goal):
    """A link has a wanted pose: homogeneous matrices (..., 4, 4), link to world."""

    kind = "pose"
    link: str
    pose: ArrayLike
    weight: Weight = 1.0
    priority: int = 0

    def numbers(self) -> Array:
        """The upper three rows, row by row."""
        return upper_rows(poses(self.pose))


@dataclass(frozen=True, eq=False, repr=False)
class Orientation(Goal):
    """A link has wanted axes, wherever it is: rotations (..., 3, 3) or poses (..., 4, 4), link to world."""

    kind = "orientation"
    link: str
    rotation: ArrayLike
    weight: Weight = 1.0
    priority: int = 0

    def numbers(self) -> Array:
        """As of a pose."""
        given = as_numbers("rotation", self.rotation, 3)
        if given.ndim >= 2 and given.shape[-2:] == (3, 3):
            whole = np.zeros((*given.shape[:-2], 4, 4))
            whole[..., :3, :3], whole[..., 3, 3] = given, 1.0
            given = whole
        return upper_rows(poses(given, "rotation", " or rotations (..., 3, 3)"))


@dataclass(frozen=True, eq=False, repr=False)
class Position(Goal):
    """A point of a link is at a point (..., 3) of the world; the link's axes may point anywhere."""

    kind = "position"
    link: str
    point: ArrayLike
    at: ArrayLike = (0.0, 0.0, 0.0)
    weight: Weight = 1.0
    priority: int = 0

    def numbers(self) -> Array:
        """Wanted point, own point."""
        return _side_by_side(point=_vectors("point", self.point), at=_vectors("at", self.at))


@dataclass(frozen=True, eq=False, repr=False)
class Plane(Goal):
    """A point of a link is on the plane through ``point`` across ``normal``."""

    kind = "plane"
    link: str
    point: ArrayLike
    normal: ArrayLike
    at: ArrayLike = (0.0, 0.0, 0.0)
    weight: Weight = 1.0
    priority: int = 0

    def numbers(self) -> Array:
        """A point of the plane, own point, unit normal."""
        point, at = _vectors("point", self.point), _vectors("at", self.at)
        return _side_by_side(point=point, at=at, normal=_directions("normal", self.normal))


@dataclass(frozen=True, eq=False, repr=False)
class Line(Goal):
    """A point of a link is on the line through ``point`` along ``direction``."""

    kind = "line"
    link: str
    point: ArrayLike
    direction: ArrayLike
    at: ArrayLike = (0.0, 0.0, 0.0)
    weight: Weight = 1.0
    priority: int = 0

    def numbers(self) -> Array:
        """A point of the line, own point, two unit vectors across."""
        point, at = _vectors("point", self.point), _vectors("at", self.at)
        return _side_by_side(point=point, at=at, direction=_across(_directions("direction", self.direction)))


@dataclass(frozen=True, eq=False, repr=False)
class LookAt(Goal):
    """An axis of a link points at a point (..., 3) of the world, as a camera does. ``axis`` is in link axes."""

    kind = "look_at"
    link: str
    point: ArrayLike
    axis: ArrayLike = (0.0, 0.0, 1.0)
    at: ArrayLike = (0.0, 0.0, 0.0)
    weight: Weight = 1.0
    priority: int = 0

    def numbers(self) -> Array:
        """The point, own point, axis, two unit vectors across it."""
        axis = _directions("axis", self.axis)
        whole = np.concatenate([axis, _across(axis)], axis=-1)
        return _side_by_side(point=_vectors("point", self.point), at=_vectors("at", self.at), axis=whole)


@dataclass(frozen=True, eq=False, repr=False)
class Along(Goal):
    """An axis of a link, in its own axes, is parallel to a direction (..., 3) of the world and points the same way."""

    kind = "along"
    link: str
    direction: ArrayLike
    axis: ArrayLike = (0.0, 0.0, 1.0)
    weight: Weight = 1.0
    priority: int = 0

    def numbers(self) -> Array:
        """The direction, nothing, axis, two unit vectors across it."""
        axis = _directions("axis", self.axis)
        whole = np.concatenate([np.zeros(axis.shape), axis, _across(axis)], axis=-1)
        return _side_by_side(direction=_directions("direction", self.direction), axis=whole)


@dataclass(frozen=True, eq=False, repr=False)
class CenterOfMass(Goal):
    """The centre of mass of all moving links is at a point (..., 3) of the world.

    ``axes`` says along which axes of the world: "xy" is above (or below) the point.
    """

    point: ArrayLike
    axes: str = "xyz"
    weight: Weight = 1.0
    priority: int = 0

    def task(self, model: Model) -> tuple[str, tuple[int, ...]]:
        """By the number of axes."""
        if self.axes not in _AXES:
            raise unknown_name("choice of axes", self.axes, _AXES)
        count = len(self.axes)
        return "center_of_mass" if count == 3 else f"center_of_mass_{count}", (MASS_CENTER,)

    def numbers(self) -> Array:
        """The point, and unit vectors."""
        units = [float(axis == name) for name in self.axes for axis in "xyz"]
        return _side_by_side(point=_vectors("point", self.point), axes=np.array(units))


_AXES = ("xyz", "xy", "xz", "yz", "x", "y", "z")


@dataclass(frozen=True, eq=False, repr=False)
class Relative(Goal):
    """A link has a wanted pose in the frame of a second link, wherever both are: (..., 4, 4), link to ``to``."""

    kind = "relative"
    link: str
    to: str
    pose: ArrayLike
    weight: Weight = 1.0
    priority: int = 0

    def task(self, model: Model) -> tuple[str, tuple[int, ...]]:
        """Both links."""
        if self.link == self.to:
            raise StateError(f"{self!r}: a link has no pose relative to itself; name two links")
        return self.kind, (model.link_index(self.link), model.link_index(self.to))

    def numbers(self) -> Array:
        """As of a pose."""
        return upper_rows(poses(self.pose))


# ---- numbers that users hand in --------------------------------------------------------------------------------------


def upper_rows(matrices: Array) -> Array:
    """The three rows of homogeneous matrices (..., 4, 4) that say something, (..., 12)."""
    return matrices[..., :3, :].reshape(*matrices.shape[:-2], 12)


def _vectors(name: str, given: ArrayLike) -> Array:
    array = real(name, given, 3)
    if array.ndim < 1 or array.shape[-1] != 3:
        raise ShapeError(f"{name} has shape {array.shape}, expected three numbers (..., 3)")
    return array


def _directions(name: str, given: ArrayLike) -> Array:
    """Unit vectors."""
    array = _vectors(name, given)
    length = np.sqrt(array[..., 0] ** 2 + array[..., 1] ** 2 + array[..., 2] ** 2)
    if not (length > _SHORTEST).all():
        raise StateError(f"{name} is a direction, and a vector of length 0 has none")
    return array / length[..., None]


def _across(units: Array) -> Array:
    """Two unit vectors across each unit vector, (..., 6): the first lies in the plane of two axes of the world."""
    flat = units.reshape(-1, 3)
    away = np.eye(3)[np.abs(flat).argmin(axis=1)]  # the axis that is least along it
    first = np.cross(flat, away)
    first /= np.sqrt(np.square(first).sum(axis=1))[:, None]
    return np.concatenate([first, np.cross(flat, first)], axis=1).reshape(*units.shape[:-1], 6)


def _side_by_side(**parts: Array) -> Array:
    """Rows of numbers next to each other; leading axes broadcast."""
    try:
        batch = np.broadcast_shapes(*(part.shape[:-1] for part in parts.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {part.shape}" for name, part in parts.items())
        raise ShapeError(f"the numbers of a goal do not fit together: {shapes}") from None
    return np.concatenate([np.broadcast_to(part, (*batch, part.shape[-1])) for part in parts.values()], axis=-1)
