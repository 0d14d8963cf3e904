"""What a joint kind must say: of frames, velocities and forces, and what its coordinates and speeds are called.

A kind is a stateless object; the constants of one joint (axis, pitch, plane) come with the call, so that a traced or
counted joint runs through the same code. Conventions of q and v are those of ``docs/conventions.md``. For every kind
the hinge map H* (columns: motions per unit speed) is constant in the moving frame, therefore the bias acceleration is
``a = crm(V) H* v`` throughout (body derivative; notes to Rodriguez & Kreutz-Delgado (6)-(9)). Where H* would change
with q, as in a universal joint, there are several joints with links without mass between them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from recursa.spatial.inertia import Force, Motion
from recursa.spatial.rotation import IDENTITY, Quaternion, Rotation
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import Vec3


class Hinge(NamedTuple):
    """The constants of one joint: unit axis, pitch (helical, m/rad), and the rotation from z to the axis (planar)."""

    axis: Vec3
    pitch: Scalar = 0.0
    plane: Rotation = IDENTITY


Trio = tuple[tuple[Scalar, ...], tuple[Scalar, ...], tuple[Scalar, ...]]
"""Coordinates, speeds and accelerations of one joint."""


class JointKind:
    """What a joint kind must say. ``nq`` coordinates, ``nv`` speeds.

    - ``angular``: per freedom whether it turns (rad) or slides (m).
    - ``q_units``: per coordinate "rad", "m", or "1" for components of a quaternion.
    - ``q_parts``, ``v_parts``: what several coordinates or speeds are called behind the joint's name, as in
      ``root.qx``; one alone has the joint's name.
    - ``meaning``: of q and of v, in words.
    - ``has_axis``: whether there is a direction to be given. ``has_pitch``: whether there is an advance per radian.
      ``has_plane``: whether there is a plane to slide in, normal to the axis.
    - ``has_limits``: whether its coordinate can be limited. ``unlimited``: the name of the kind that moves alike and
      has no limits, if there is one.
    - ``angle``: where in q an angle is to which whole turns may be added; ``quaternion``: where one starts.
    - ``spread``: random coordinates go this far either way where no limit tells.
    """

    name: ClassVar[str]
    nq: ClassVar[int] = 1
    nv: ClassVar[int] = 1
    angular: ClassVar[tuple[bool, ...]] = (True,)
    q_units: ClassVar[tuple[str, ...]] = ("rad",)
    q_parts: ClassVar[tuple[str, ...]] = ()
    v_parts: ClassVar[tuple[str, ...]] = ()
    meaning: ClassVar[tuple[str, str]] = ("rad", "rad/s")
    has_axis: ClassVar[bool] = True
    has_pitch: ClassVar[bool] = False
    has_plane: ClassVar[bool] = False
    has_limits: ClassVar[bool] = False
    unlimited: ClassVar[str | None] = None
    angle: ClassVar[int | None] = None
    quaternion: ClassVar[int | None] = None
    spread: ClassVar[float] = math.pi

    # ---- what others ask, instead of comparing names -----------------------------------------------------------------

    @property
    def slides(self) -> bool:
        """Whether its only freedom is a translation along the axis."""
        return self.nv == 1 and not self.angular[0]

    @property
    def turns_about_axis(self) -> bool:
        """Whether its only freedom is a rotation about the axis, with an advance along it or without."""
        return self.nv == 1 and self.angular[0]

    @property
    def turns(self) -> bool:
        """Whether its only freedom is a rotation about the axis, without an advance."""
        return self.turns_about_axis and not self.has_pitch

    @property
    def is_free(self) -> bool:
        """Whether it allows every motion."""
        return self.nv == 6

    @property
    def is_ball(self) -> bool:
        """Whether it allows every rotation and nothing else."""
        return self.nv == 3 and all(self.angular)

    @property
    def is_loose(self) -> bool:
        """Whether the body can leave the axis and the point at which it hangs: it slides in several directions."""
        return self.angular.count(False) > 1

    @property
    def has_endless_angle(self) -> bool:
        """Whether one of its coordinates is an angle without limits, so that whole turns mean nothing."""
        return self.angle is not None and not self.has_limits

    @property
    def linear_first(self) -> tuple[int, ...]:
        """Its speeds in the order of libraries that name translations before rotations.

        >>> from recursa.model.joints import KINDS
        >>> KINDS["planar"].linear_first
        (1, 2, 0)
        """
        return tuple(sorted(range(self.nv), key=lambda k: self.angular[k]))

    # ---- the joint itself --------------------------------------------------------------------------------------------

    def transform(self, hinge: Hinge, q: Sequence[Scalar]) -> Transform:
        """Pose of the moving frame in the joint's fixed frame."""
        raise NotImplementedError

    def columns(self, hinge: Hinge) -> tuple[Motion, ...]:
        """H*: the motion of the moving frame per unit of each speed, in moving axes."""
        raise NotImplementedError

    def motion(self, hinge: Hinge, v: Sequence[Scalar]) -> Motion:
        """``H* v``."""
        raise NotImplementedError

    def project(self, hinge: Hinge, force: Force) -> tuple[Scalar, ...]:
        """``H f``: the generalised force that a force at the moving frame means."""
        return tuple(column.dot(force) for column in self.columns(hinge))

    def neutral(self) -> tuple[float, ...]:
        """The coordinates at which moving and fixed frame coincide."""
        return tuple(float(self.quaternion is not None and k == self.quaternion + 3) for k in range(self.nq))

    def integrate(self, q: Sequence[Scalar], dv: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """``q`` composed with ``exp(dv)``."""
        return tuple(a + b for a, b in zip(q, dv, strict=True))

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """The dv with ``integrate(q0, dv) = q1``."""
        return tuple(b - a for a, b in zip(q0, q1, strict=True))

    def opposite(self, q: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """The coordinates of the inverse displacement, ``transform(opposite(q)) = transform(q)^-1``."""
        return tuple(-x for x in q)

    # ---- the other way: from a pose and a motion that the joint allows, or nearly ----------------------------------

    def coordinates(self, hinge: Hinge, pose: Transform) -> tuple[Scalar, ...]:
        """The coordinates whose :meth:`transform` comes nearest to a pose; angles in (-pi, pi]."""
        raise NotImplementedError

    def nearest(self, hinge: Hinge, pose: Transform) -> Transform:
        """The pose that the joint allows nearest to a pose: ``transform(coordinates(pose))``, without angles."""
        return self.transform(hinge, self.coordinates(hinge, pose))

    def speeds(self, hinge: Hinge, motion: Motion) -> tuple[Scalar, ...]:
        """The speeds whose :meth:`motion` comes nearest to a motion; columns of unit length at right angles."""
        return tuple(c.angular.dot(motion.angular) + c.linear.dot(motion.linear) for c in self.columns(hinge))

    def rates(self, q: Sequence[Scalar], v: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """dq/dt, as many numbers as coordinates. A quaternion counts as if it had unit length."""
        return tuple(v)

    def motion_of(self, p: Sequence[Scalar], dp: Sequence[Scalar], ddp: Sequence[Scalar]) -> Trio:
        """Coordinates, speeds and accelerations where coordinates go through p with these time derivatives.

        A quaternion's four numbers need not have unit length; their direction is what counts.
        """
        return tuple(p), tuple(dp), tuple(ddp)

    def second_rates(self, q: Sequence[Scalar], v: Sequence[Scalar], a: Sequence[Scalar]) -> tuple[Scalar, ...]:
        """The second time derivatives of the coordinates."""
        return tuple(a)

    def bracket(self, x: Sequence[Scalar], y: Sequence[Scalar]) -> tuple[Scalar, ...] | None:
        """``[x, y]`` of two speeds, the Lie bracket that belongs to ``integrate``; None where it is always zero."""
        return None

    @property
    def structure(self) -> tuple[tuple[int, int, int, float], ...]:
        """Structure constants of the speeds, (i, j, k, c) where c is not zero: ``[e_i, e_j] = sum of c_ijk e_k``.

        e_i is the field of unit speed i; derivatives along two of them commute only up to their bracket.

        >>> from recursa.model.joints import KINDS
        >>> KINDS["revolute"].structure, KINDS["planar"].structure[:2]
        ((), ((0, 1, 2, 1.0), (0, 2, 1, -1.0)))
        """
        unit = [tuple(float(i == j) for j in range(self.nv)) for i in range(self.nv)]
        brackets = [(i, j, self.bracket(unit[i], unit[j]) or ()) for i in range(self.nv) for j in range(self.nv)]
        return tuple((i, j, k, float(c)) for i, j, own in brackets for k, c in enumerate(own) if c)

    def random(self, rng: Any, limits: tuple[float, float] | None) -> tuple[float, ...]:
        """Coordinates within the limits, or anywhere sensible: one metre, half a turn, any rotation."""
        if self.nq > 1:
            reaches = (1.0 if unit == "m" else math.pi for unit in self.q_units if unit != "1")
            values = [float(rng.uniform(-reach, reach)) for reach in reaches]
            turn = () if self.quaternion is None else Quaternion(*rng.normal(size=4).tolist()).normalized()
            return (*values, *turn)
        low, high = sorted(limits or (-math.inf, math.inf))
        if not math.isfinite(high - low):
            low, high = _sensible(low, high, self.spread)
        return (float(rng.uniform(low, high)),)

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return (_kind_named, (self.name,))


def _kind_named(name: str) -> JointKind:
    """What a pickled kind comes back as: the one object there is."""
    from recursa.model.joints import KINDS  # which are made of this class

    return KINDS[name]


def _sensible(low: float, high: float, spread: float) -> tuple[float, float]:
    """A range on the right side of the finite limit, or about zero where there is none."""
    if math.isfinite(low) == math.isfinite(high):
        return -spread, spread
    return (low, low + 2.0 * spread) if math.isfinite(low) else (high - 2.0 * spread, high)
