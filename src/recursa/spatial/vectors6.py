"""Motions and forces: six-vectors, angular part first, and their cross products."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from recursa.spatial.scalars import Scalar, one_operand
from recursa.spatial.vec3 import ZERO, Vec3


@one_operand
class Motion(NamedTuple):
    """A spatial velocity or acceleration: ``(angular, linear)``, linear of the frame's origin.

    >>> Motion(Vec3(0.0, 0.0, 1.0), Vec3(1.0, 0.0, 0.0)).dot(Force(Vec3(0.0, 0.0, 2.0), Vec3(3.0, 0.0, 0.0)))
    5.0
    """

    angular: Vec3
    linear: Vec3

    @staticmethod
    def zero() -> Motion:
        """No motion."""
        return Motion(ZERO, ZERO)

    @staticmethod
    def of(values: Iterable[Scalar]) -> Motion:
        """From six numbers, angular first."""
        a, b, c, x, y, z = values
        return Motion(Vec3(a, b, c), Vec3(x, y, z))

    def __add__(self, other: Motion) -> Motion:  # type: ignore[override]
        return Motion(self.angular + other.angular, self.linear + other.linear)

    def __sub__(self, other: Motion) -> Motion:
        return Motion(self.angular - other.angular, self.linear - other.linear)

    def __neg__(self) -> Motion:
        return Motion(-self.angular, -self.linear)

    def __mul__(self, factor: Scalar) -> Motion:
        return Motion(self.angular * factor, self.linear * factor)

    def __rmul__(self, factor: Scalar) -> Motion:
        return self * factor

    def dot(self, force: Force) -> Scalar:
        """Power of a force along this motion, ``w . n + v . f``."""
        return self.angular.dot(force.moment) + self.linear.dot(force.force)

    def cross_motion(self, other: Motion) -> Motion:
        """``crm(V) m = (w x mw, v x mw + w x mv)``: rate of change of a motion carried along by V."""
        return Motion(
            self.angular.cross(other.angular),
            self.linear.cross(other.angular) + self.angular.cross(other.linear),
        )

    def cross_force(self, force: Force) -> Force:
        """``crf(V) f = -crm(V)^T f = (w x n + v x f, w x f)``: rate of change of a force carried along by V."""
        return Force(
            self.angular.cross(force.moment) + self.linear.cross(force.force),
            self.angular.cross(force.force),
        )

    def components(self) -> tuple[Scalar, ...]:
        """The six numbers, angular first."""
        return (*self.angular, *self.linear)


@one_operand
class Force(NamedTuple):
    """A spatial force or momentum: ``(moment, force)``, moment about the frame's origin."""

    moment: Vec3
    force: Vec3

    @staticmethod
    def zero() -> Force:
        """No force."""
        return Force(ZERO, ZERO)

    @staticmethod
    def of(values: Iterable[Scalar]) -> Force:
        """From six numbers, moment first."""
        a, b, c, x, y, z = values
        return Force(Vec3(a, b, c), Vec3(x, y, z))

    def __add__(self, other: Force) -> Force:  # type: ignore[override]
        return Force(self.moment + other.moment, self.force + other.force)

    def __sub__(self, other: Force) -> Force:
        return Force(self.moment - other.moment, self.force - other.force)

    def __neg__(self) -> Force:
        return Force(-self.moment, -self.force)

    def __mul__(self, factor: Scalar) -> Force:
        return Force(self.moment * factor, self.force * factor)

    def __rmul__(self, factor: Scalar) -> Force:
        return self * factor

    def components(self) -> tuple[Scalar, ...]:
        """The six numbers, moment first."""
        return (*self.moment, *self.force)
