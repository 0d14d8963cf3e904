"""Any serial chain as a Denavit-Hartenberg table, in either convention.

From axis to axis along common normals every chain is ``B Z1 X1 Z2 X2 ... Zn T``: steps ``Z = Rz(theta) Tz(d)`` along
joint axes and ``X = Tx(a) Rx(alpha)`` along normals between them, with a base B that leads onto the first axis and a
tool T behind the last (Balafoutis & Patel 2.3.1). A modified table pairs each Z with the X before it, a standard one
with the X behind it; the X that is missing at one end is none.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from recursa.errors import ModelError
from recursa.model.dh import Convention, DHLink, require_convention
from recursa.model.inputs import finite
from recursa.model.model import WORLD, Joint, Model
from recursa.spatial.rotation import Rotation
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform, dh_transform
from recursa.spatial.vec3 import Vec3

_TIDY = 1e-12  # lengths (of the reach) and angles that are zero or quarter turns but for rounding become so
_CONFIGURATIONS = 8


class Screws(NamedTuple):
    """The numbers of one joint's row: along its axis, and along the normal to the next."""

    d: float
    theta: float
    a: float
    alpha: float


class DHChain(NamedTuple):
    """A table with what stands before and behind it; ``residual``: how far poses are off, in m and as sines."""

    rows: tuple[DHLink, ...]
    base: Transform
    tool: Transform
    residual: float


def dh_chain(model: Model, convention: Convention, link: str | None, tolerance: float) -> DHChain:
    """The table of a serial chain; ``link``: whose frame the tool is; ``tolerance``: angles that count as none, rad."""
    require_convention(convention)
    tolerance = finite(tolerance, "tolerance")
    joints = _serial(model)
    tool = _tool_link(model, link)
    poses, axes = _at_zero(joints)
    base, screws = _along_normals(axes, tolerance)
    steps = _steps(screws, convention)
    frames = _frames(base, steps, convention)
    inside = [frame.inverse @ pose for frame, pose in zip(frames, poses, strict=True)]  # the links' own frames
    rows = tuple(
        _row(joint, step, model, k, inside[k]) for k, (joint, step) in enumerate(zip(joints, steps, strict=True))
    )
    residual = _residual(joints, base, steps, convention, inside)
    return DHChain(rows, base, inside[-1] @ model.links[tool].offset, residual)


# ---- what can be a table ---------------------------------------------------------------------------------------------


def _serial(model: Model) -> Sequence[Joint]:
    if not model.joints:
        raise ModelError(f"robot '{model.name}' has no joints, and a Denavit-Hartenberg table has a row for each")
    for k, joint in enumerate(model.joints):
        if not (joint.kind.turns or joint.kind.slides):
            raise ModelError(
                f"joint '{joint.name}' ({joint.kind.name}) has no row in a Denavit-Hartenberg table: only revolute and "
                "prismatic joints have. Lock it, robot.reduced(lock=...), or take a part, robot.chain(base, tip)"
            )
        if joint.tie is not None:
            raise ModelError(f"joint '{joint.name}' is tied to another, which no table can say. {model.how_to_untie}")
        if joint.stiffness or joint.rotor is not None:
            what = "spring" if joint.stiffness else "rotor"
            raise ModelError(
                f"joint '{joint.name}' has a {what}, for which a Denavit-Hartenberg table has no column. Take it away, "
                f"robot.with_joint('{joint.name}', {'stiffness=0.0' if joint.stiffness else 'rotor=None'}), or write a "
                "robot file, robot.save(path)"
            )
        if joint.parent != k - 1:
            raise ModelError(
                f"robot '{model.name}' branches before joint '{joint.name}', and a Denavit-Hartenberg table is a "
                "chain. Take a part of it first: robot.chain(base, tip).to_dh()"
            )
    return model.joints


def _tool_link(model: Model, link: str | None) -> int:
    last = model.nbodies - 1
    if link is None:
        return max(k for k, other in enumerate(model.links) if other.body == last)
    number = model.link_index(link)
    if model.links[number].body != last:
        raise ModelError(f"link '{link}' is not fixed to the last body, that of joint '{model.joints[last].name}'")
    return number


# ---- geometry --------------------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """An axis in space."""

    point: Vec3
    direction: Vec3

    def foot(self, point: Vec3) -> Vec3:
        """The nearest point on it."""
        return self.point + self.direction * self.direction.dot(point - self.point)


def _at_zero(joints: Sequence[Joint]) -> tuple[list[Transform], list[Line]]:
    """Poses of bodies and axes of joints in the world, all joints at zero."""
    poses, axes = list[Transform](), list[Line]()
    for joint in joints:
        placed = (IDENTITY_TRANSFORM if joint.parent == WORLD else poses[joint.parent]) @ joint.placement
        axes.append(Line(placed.translation, placed.rotation @ joint.hinge.axis))
        poses.append(placed if joint.after is None else placed @ joint.after)
    return poses, axes


def _along_normals(axes: Sequence[Line], tolerance: float) -> tuple[Transform, list[Screws]]:
    """The base, and the steps along axes and normals; the last joint has no normal."""
    reach = 1.0 + sum((one.point - other.point).norm() for one, other in pairwise(axes))
    first, zero = axes[0], Vec3(0.0, 0.0, 0.0)
    origin = zero if (first.foot(zero) - zero).norm() <= _TIDY * reach else first.point
    base = Transform(Rotation.z_to(first.direction).snapped(), origin)
    x, steps = base.rotation.columns()[0], []
    for axis, following in pairwise(axes):
        start, end, normal = _normal(axis, following, origin, x, tolerance, reach)
        steps.append(
            Screws(
                d=_tidy_length(axis.direction.dot(start - origin), reach),
                theta=_tidy_angle(_angle(x, normal, axis.direction)),
                a=_tidy_length(normal.dot(end - start), reach),
                alpha=_tidy_angle(_angle(axis.direction, following.direction, normal), tolerance),
            )
        )
        origin, x = end, normal
    return base, [*steps, Screws(0.0, 0.0, 0.0, 0.0)]


def _normal(
    axis: Line, following: Line, origin: Vec3, x: Vec3, tolerance: float, reach: float
) -> tuple[Vec3, Vec3, Vec3]:
    """The common normal of two axes: its ends and direction; of parallel axes the one through the origin."""
    cross = axis.direction.cross(following.direction)
    sine = cross.norm()
    if sine <= tolerance:
        end = following.foot(origin)
        apart = end - origin
        apart = apart - axis.direction * axis.direction.dot(apart)
        distance = apart.norm()
        return origin, end, apart * (1.0 / distance) if distance > _TIDY * reach else x
    normal = cross * (1.0 / sine)
    between = following.point - axis.point
    along = between.cross(following.direction).dot(cross) / (sine * sine)
    beyond = between.cross(axis.direction).dot(cross) / (sine * sine)
    start = axis.point + axis.direction * along
    end = following.point + following.direction * beyond
    distance = normal.dot(end - start)
    meet = abs(distance) <= _TIDY * reach
    backward = normal.dot(x) < -_TIDY if meet else distance < 0.0
    return start, end, -normal if backward else normal


def _angle(one: Vec3, other: Vec3, axis: Vec3) -> float:
    """The angle that turns one vector into another about an axis at right angles to both."""
    return math.atan2(axis.dot(one.cross(other)), one.dot(other))


def _tidy_angle(angle: float, tolerance: float = _TIDY) -> float:
    """The angle, or a quarter turn that it is but for rounding; half turns and none also to a tolerance."""
    quarters = round(angle / (0.5 * math.pi))
    allowed = max(_TIDY, tolerance) if quarters % 2 == 0 else _TIDY
    return quarters * (0.5 * math.pi) if abs(angle - quarters * (0.5 * math.pi)) <= allowed else angle


def _tidy_length(length: float, reach: float) -> float:
    return 0.0 if abs(length) <= _TIDY * reach else length


# ---- rows ------------------------------------------------------------------------------------------------------------


def _steps(screws: Sequence[Screws], convention: Convention) -> list[Screws]:
    """The numbers of each row: those of its axis, and those of the normal before (modified) or behind it (standard)."""
    if convention == "standard":
        return list(screws)
    before = [Screws(0.0, 0.0, 0.0, 0.0), *screws]
    return [own._replace(a=inner.a, alpha=inner.alpha) for own, inner in zip(screws, before, strict=False)]


def _frames(
    base: Transform, steps: Sequence[Screws], convention: Convention, moved: Sequence[Screws] = ()
) -> list[Transform]:
    """The frames of the links; ``moved`` are the joints' displacements along and about their axes, if any."""
    frames, frame = [], base
    for k, step in enumerate(steps):
        d, theta = (step.d + moved[k].d, step.theta + moved[k].theta) if moved else (step.d, step.theta)
        frame = frame @ dh_transform(convention, step.a, step.alpha, d, theta)
        frames.append(frame)
    return frames


def _row(joint: Joint, step: Screws, model: Model, k: int, inside: Transform) -> DHLink:
    """A row with the body's mass in the frame of the table, in which the link's own frame is ``inside``."""
    inertia = inside.inertia(model.inertias[k])
    massless = inertia.mass == 0.0
    return DHLink(
        joint="prismatic" if joint.kind.slides else "revolute",
        a=step.a,
        alpha=step.alpha,
        d=step.d,
        theta=step.theta,
        mass=inertia.mass,
        com=(0.0, 0.0, 0.0) if massless else tuple(inertia.com()),
        inertia=tuple(inertia.moment_about_com()),
        armature=joint.armature[0],
        damping=joint.damping[0],
        friction=joint.friction[0],
        limits=joint.limits,
        effort=joint.effort,
        velocity=joint.velocity,
    )


def _residual(
    joints: Sequence[Joint],
    base: Transform,
    steps: Sequence[Screws],
    convention: Convention,
    inside: Sequence[Transform],
) -> float:
    """The largest difference of entries of poses, over all bodies and some configurations."""
    chance, worst = random.Random(0), 0.0
    for _ in range(_CONFIGURATIONS):
        q = [chance.uniform(-math.pi, math.pi) for _ in joints]
        moved = [
            Screws(x, 0.0, 0.0, 0.0) if joint.kind.slides else Screws(0.0, x, 0.0, 0.0)
            for joint, x in zip(joints, q, strict=True)
        ]
        pose = IDENTITY_TRANSFORM
        for joint, x, frame, own in zip(joints, q, _frames(base, steps, convention, moved), inside, strict=True):
            pose = pose @ joint.transform((x,))
            for row, other in zip(pose.rows(), (frame @ own).rows(), strict=True):
                worst = max(worst, *(abs(u - v) for u, v in zip(row, other, strict=True)))
    return worst
