"""How far two frames are from being joined as a kind of loop says, and how that changes as they move.

Of frame 1 seen frame 2 stands at (R, p). Each kind is a function of these that is zero when the loop is closed, and
smooth up to half a turn: rotations are measured as ``2 sin(angle/2)`` about the axis, lengths in metres.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from recursa.constraints.slopes import Sloped, chosen, slopes
from recursa.model.constraint_equations import Closing
from recursa.spatial.inertia import Force, Motion
from recursa.spatial.rotation import IDENTITY, Rotation
from recursa.spatial.scalars import Scalar, atan2, sqrt
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import X_AXIS, Y_AXIS, Z_AXIS, ZERO

Errors = tuple[Any, ...]

FLOOR = 1e-16  # of what a root is taken of and divided by: half turns away from closed no direction is the nearest


def root(x: Any) -> Any:
    """The square root of something that is not negative, kept away from zero."""
    return sqrt(x if isinstance(x, float) and x > FLOOR else chosen(x > FLOOR, x, FLOOR))


# ---- the kinds -------------------------------------------------------------------------------------------------------


def turned(R: Rotation) -> Errors:
    """The rotation vector, its length 2 sin(angle/2)."""
    xx, xy, xz, yx, yy, yz, zx, zy, zz = R
    scale = root(1.0 + (xx + yy + zz))  # 2 cos(angle/2)
    return (zy - yz) / scale, (xz - zx) / scale, (yx - xy) / scale


def tilted_z(R: Rotation) -> Errors:
    """The same of the shortest rotation that takes z of frame 1 to z of frame 2: about x and y."""
    scale = root(0.5 * (1.0 + R[8]))
    return -R[5] / scale, R[2] / scale


def tilted_x(R: Rotation) -> Errors:
    """The same of x: about y and z."""
    scale = root(0.5 * (1.0 + R[0]))
    return -R[6] / scale, R[3] / scale


def _weld(of: Closing, R: Rotation, p: Errors) -> Errors:
    return *turned(R), *p


def _revolute(of: Closing, R: Rotation, p: Errors) -> Errors:
    return *tilted_z(R), *p


def _prismatic(of: Closing, R: Rotation, p: Errors) -> Errors:
    return *turned(R), p[0], p[1]


def _helical(of: Closing, R: Rotation, p: Errors) -> Errors:
    along = p[2] - atan2(R[3] - R[1], R[0] + R[4]) * of.pitch
    return *tilted_z(R), p[0], p[1], along


def _cylindrical(of: Closing, R: Rotation, p: Errors) -> Errors:
    return *tilted_z(R), p[0], p[1]


def _point(of: Closing, R: Rotation, p: Errors) -> Errors:
    return p


def _universal(of: Closing, R: Rotation, p: Errors) -> Errors:
    """z of frame 1 stays across the axis that is held by frame 2."""
    x, y, z = of.second_axis
    return R[6] * x + R[7] * y + R[8] * z, *p


def _planar(of: Closing, R: Rotation, p: Errors) -> Errors:
    return *tilted_z(R), p[2]


def _translation(of: Closing, R: Rotation, p: Errors) -> Errors:
    return turned(R)


def _rod(of: Closing, R: Rotation, p: Errors) -> Errors:
    """``(p.p - l^2) / 2l``, which to first order is the length that is too much."""
    x, y, z = p
    return ((x * x + y * y + z * z - of.length * of.length) * (0.5 / of.length),)


def _on_plane(of: Closing, R: Rotation, p: Errors) -> Errors:
    return (p[2],)


def _line(of: Closing, R: Rotation, p: Errors) -> Errors:
    return *tilted_x(R), *p


ERRORS: dict[str, Callable[[Closing, Rotation, Errors], Errors]] = {
    "weld": _weld,
    "fixed": _weld,
    "revolute": _revolute,
    "continuous": _revolute,
    "prismatic": _prismatic,
    "helical": _helical,
    "cylindrical": _cylindrical,
    "spherical": _point,
    "point": _point,
    "universal": _universal,
    "planar": _planar,
    "translation": _translation,
    "rod": _rod,
    "point-on-plane": _on_plane,
    "line": _line,
}


# ---- two frames ------------------------------------------------------------------------------------------------------


class Seen(NamedTuple):
    """Frame 2 seen from frame 1, and how both stand on what carries them."""

    pose: Transform  # of frame 2 in frame 1
    first: Transform  # of a frame with the axes of frame 1 and the origin of frame 2, on the first link
    second: Transform  # of the same frame, on the second link


def seen(of: Closing, first: Transform, second: Transform) -> Seen:
    """From the poses of both links.

    Where the place of frame 1 is not given, it coincides with frame 2 at this instant, up to the axes of the result.
    """
    on_first, on_second = of.frames
    between = first.inverse @ (second @ on_second)  # of frame 2 in the first link
    if of.anchored:
        axes = on_first.rotation
        turn = axes.T @ between.rotation
        pose = Transform(turn, axes.inverse_times(between.translation - on_first.translation))
        back = on_second.rotation @ turn.T
    else:
        axes = _axes(of, between.rotation)
        pose = Transform(IDENTITY, ZERO)
        back = on_second.rotation @ (between.rotation.T @ axes)
    return Seen(pose, Transform(axes, between.translation), Transform(back, on_second.translation))


def _axes(of: Closing, turn: Rotation) -> Rotation:
    """Of an unanchored contact: z along the normal, x along the line if there is one."""
    axes = of.frames[0].rotation
    if of.kind != "line":
        return axes
    normal, along = axes @ Z_AXIS, turn @ of.second_axis
    along = along - normal * along.dot(normal)
    along = along * (1.0 / root(along.dot(along)))
    across = normal.cross(along)
    return Rotation.from_rows(tuple(zip(along, across, normal, strict=True)))


def errors(of: Closing, pose: Transform) -> Errors:
    """How far a loop is from closed."""
    return ERRORS[of.kind](of, pose.rotation, tuple(pose.translation))


_AXES = X_AXIS, Y_AXIS, Z_AXIS
_UNIT_MOTIONS = (*(Motion(axis, ZERO) for axis in _AXES), *(Motion(ZERO, axis) for axis in _AXES))


def wrenches(of: Closing, pose: Transform) -> tuple[Force, ...]:
    """Rows of the Jacobian: per equation the wrench on link 2, at the origin of frame 2 in axes of frame 1, whose power
    is the equation's rate. Its opposite acts on link 1 there."""
    return tuple(Force.of(rates) for rates in _rates(of, pose, _UNIT_MOTIONS))


def first_rates(of: Closing, pose: Transform, moving: Motion) -> tuple[Scalar, ...]:
    """Time derivatives of the errors, see :func:`second_rates`."""
    return tuple(rate for (rate,) in _rates(of, pose, (moving,)))


def _rates(of: Closing, pose: Transform, motions: Sequence[Motion]) -> Iterator[tuple[Scalar, ...]]:
    """How every error changes along some motions of frame 2 seen from frame 1."""
    columns = []
    for column in pose.rotation.columns():
        turns = (motion.angular.cross(column) for motion in motions)
        columns.append([Sloped(x, dict(enumerate(by))) for x, *by in zip(column, *turns, strict=True)])
    shifts = zip(pose.translation, *(motion.linear for motion in motions), strict=True)
    p = tuple(Sloped(x, dict(enumerate(by))) for x, *by in shifts)
    return (slopes(error, 0, len(motions)) for error in _errors_of_columns(of, columns, p))


def second_rates(of: Closing, pose: Transform, moving: Motion, accelerating: Motion) -> tuple[Scalar, ...]:
    """Second time derivatives of the errors.

    ``moving``: angular velocity of frame 2 seen from frame 1, and velocity of its origin there; ``accelerating``: the
    rates of these, all in axes of frame 1.
    """
    w, columns = moving.angular, []
    for column in pose.rotation.columns():
        rate = w.cross(column)
        second = accelerating.angular.cross(column) + w.cross(rate)
        columns.append([_in_time(*one) for one in zip(column, rate, second, strict=True)])
    shifts = zip(pose.translation, moving.linear, accelerating.linear, strict=True)
    errors = _errors_of_columns(of, columns, tuple(_in_time(*one) for one in shifts))
    return tuple(_rate(_rate(error)) for error in errors)


def _in_time(x: Scalar, rate: Scalar, second: Scalar) -> Sloped:
    """A number with its rate, which has a rate again."""
    return Sloped(Sloped(x, {0: rate}), {0: Sloped(rate, {0: second})})


def _rate(x: Any) -> Any:
    return slopes(x, 0, 1)[0]


def _errors_of_columns(of: Closing, columns: Sequence[Sequence[Sloped]], p: Errors) -> Errors:
    return ERRORS[of.kind](of, Rotation.from_rows(tuple(zip(*columns, strict=True))), p)


def relative_acceleration(first: Motion, second: Motion, a_first: Motion, a_second: Motion) -> Motion:
    """The rates of ``second - first``, the motion of link 2 as link 1 sees it, the second one of a point of link 2.

    Spatial accelerations differ by ``a_second - a_first``; seen from link 1 that is less ``crm(V1) V2``, and the
    acceleration of the point that link 2 carries along is more by ``w x u``.
    """
    rates = a_second - a_first - first.cross_motion(second)
    moving = second - first
    return Motion(rates.angular, rates.linear + moving.angular.cross(moving.linear))
