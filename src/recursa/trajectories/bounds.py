"""Numbers for every freedom as users give them; limits of velocities, accelerations, efforts and jerks of a motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from recursa.errors import ShapeError, StateError, unknown_name
from recursa.model.columns import freedom_name
from recursa.sweeps.batching import Array, as_numbers

if TYPE_CHECKING:
    from recursa.robot import Robot

Bound = ArrayLike | Mapping[str, float]
"""One number, one per freedom, or some by the names of joints or freedoms; inf where there is no limit."""

_KEPT = "limits of motions"


@dataclass(frozen=True)
class Limits:
    """The largest magnitudes (nv,), inf where there is none; efforts are compared with the robot's torques."""

    velocity: Array
    acceleration: Array
    effort: Array
    jerk: Array

    @classmethod
    def of(
        cls,
        robot: Robot,
        velocity: Bound | None,
        acceleration: Bound | None,
        effort: Bound | None,
        jerk: Bound | None = None,
    ) -> Limits:
        """Those that are given, else the robot's own."""
        kept = robot.evaluator.kept
        if _KEPT not in kept:  # looked up once: a robot does not change
            rates = (_of_joints(robot, name) for name in ("velocity", "acceleration", "jerk"))
            speeds, accelerations, jerks = rates
            kept[_KEPT] = cls(speeds, accelerations, robot.effort_limits, jerks)
        own: Limits = kept[_KEPT]
        if velocity is acceleration is effort is jerk is None:
            return own
        return cls(
            bound("velocity", velocity, robot, own.velocity),
            bound("acceleration", acceleration, robot, own.acceleration),
            bound("effort", effort, robot, own.effort),
            bound("jerk", jerk, robot, own.jerk),
        )

    @cached_property
    def has_jerk(self) -> bool:
        """Whether jerks have limits."""
        return bool(np.isfinite(self.jerk).any())

    @cached_property
    def chosen(self) -> tuple[Array, Array, Array]:
        """The freedoms that have limits of effort, of acceleration, of velocity."""
        parts = self.effort, self.acceleration, self.velocity
        effort, acceleration, velocity = (np.flatnonzero(np.isfinite(part)) for part in parts)
        return effort, acceleration, velocity

    @cached_property
    def in_rows(self) -> tuple[Array, Array]:
        """The numbers of these freedoms, one after the other, and the inverses of their limits."""
        parts = self.effort, self.acceleration, self.velocity
        limits = [part[one] for part, one in zip(parts, self.chosen, strict=True)]
        return np.concatenate(self.chosen).astype(np.int64), 1.0 / np.concatenate(limits)

    @cached_property
    def table(self) -> Array:
        """Velocity, acceleration and effort as rows (3, nv)."""
        return np.stack([self.velocity, self.acceleration, self.effort]).astype(float)

    def require_some(self, robot: Robot) -> None:
        """At least one that keeps the robot from being infinitely fast."""
        if not any(np.isfinite(part).any() for part in (self.velocity, self.acceleration, self.effort, self.jerk)):
            raise StateError(
                f"robot '{robot.name}' has no limits of velocity or effort, so no motion is too fast. Give some: "
                "time_optimal(robot, path, velocity=2.0, acceleration=10.0), or effort=[...] in N m and N"
            )


def _of_joints(robot: Robot, rate: str) -> Array:
    """The robot's limits of a rate of its coordinates, with those of joints that are tied to others."""
    limits: Array = getattr(robot, f"{rate}_limits")
    for joint in robot.model.joints:
        largest = getattr(joint, rate)
        if joint.tie is not None and largest is not None and joint.tie.multiplier != 0.0:
            at = joint.v_start
            limits[at] = min(limits[at], largest / abs(joint.tie.multiplier))
    return limits


def bound(name: str, given: Bound | None, robot: Robot, otherwise: Array) -> Array:
    """One limit per freedom; where names are given, the others stay as they are otherwise."""
    return per_freedom(robot, name, given, otherwise, positive=True, endless=True)


def per_freedom(
    robot: Robot,
    name: str,
    given: Any,
    otherwise: Array | None = None,
    *,
    positive: bool = False,
    endless: bool = False,
) -> Array:
    """One number for each freedom (nv,), none negative: from one for all, as many, or some by names.

    Names are those of joints or freedoms; what has none stays as it is ``otherwise``, or is missing. ``endless``: a
    number may be infinite.
    """
    if given is None and otherwise is not None:
        return otherwise
    if isinstance(given, Mapping):
        array = np.full(robot.nv, np.nan) if otherwise is None else otherwise.copy()
        for key, value in given.items():
            places = _freedoms(robot, str(key))
            own = _real(f"{name} of '{key}'", value, len(places))
            if own.shape not in ((), (len(places),)):
                raise ShapeError(f"{name} of '{key}' has shape {own.shape}, expected one number")
            array[places] = own
        for freedom in np.flatnonzero(np.isnan(array))[:1]:
            raise StateError(
                f"{name} has no number for {freedom_name(robot.model, int(freedom))}; give one for every joint, or one "
                "for all"
            )
    else:
        array = _real(name, given, robot.nv)
        array = np.full(robot.nv, array) if array.ndim == 0 else array
    if array.shape != (robot.nv,):
        raise ShapeError(
            f"{name} has shape {array.shape}, expected one number, ({robot.nv},), or numbers by joint name"
        )
    fine = (array > 0.0 if positive else array >= 0.0) & (np.isfinite(array) | endless)
    if not fine.all():
        freedom = int(np.argmin(fine))
        what, least = f"{name} of {freedom_name(robot.model, freedom)}", "above 0" if positive else "at least 0"
        most = ", or inf where there is no limit" if endless else " and finite"
        raise StateError(f"{what} is {array[freedom]:g}; it must be {least}{most}")
    return array.astype(float)


def _real(name: str, value: Any, size: int) -> Array:
    array = as_numbers(name, value, size)
    if array.dtype.kind == "c":
        raise StateError(f"{name} must be real numbers, not complex ones")
    return array


def _freedoms(robot: Robot, key: str) -> list[int]:
    names = robot.v_names
    if key in names:
        return [names.index(key)]
    for joint in robot.model.joints:
        if joint.name == key and joint.independent:
            return list(range(joint.v_start, joint.v_start + joint.kind.nv))
    raise unknown_name("independent joint", key, names, owner=f"robot '{robot.name}'")
