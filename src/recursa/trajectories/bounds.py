"""Numbers for every freedom as users give them; limits of velocities, accelerations, efforts and jerks of a motion."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.wrenches import Losses
from recursa.errors import LimitError, ShapeError, StateError, unknown_name
from recursa.model.columns import freedom_name
from recursa.model.model import Joint
from recursa.sweeps.batching import Array, as_numbers
from recursa.trajectories.coordinates import States
from recursa.trajectories.drives import Drive

if TYPE_CHECKING:
    from recursa.robot import Robot
    from recursa.trajectories.trajectory import Trajectory

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


# ---- whether a motion keeps within the robot's limits of position, velocity and effort -------------------------------


_ROUNDING = 1e-9  # of the limit: a motion planned to the limit is within it
_UNITS = {
    "position": ("rad", "m"),
    "velocity": ("rad/s", "m/s"),
    "effort": ("N m", "N"),
}

Limited = Literal["position", "velocity", "effort"]


@dataclass(frozen=True)
class Violation:
    """A joint beyond a limit: ``value`` is the worst, ``time`` its instant, ``first`` the first instant beyond."""

    joint: str
    quantity: Limited
    time: float
    value: float
    limit: float
    first: float
    unit: str

    def __str__(self) -> str:
        return (
            f"joint '{self.joint}': {self.quantity} {self.value:.6g} {self.unit} at t = {self.time:.6g} s is beyond "
            f"its limit {self.limit:.6g} {self.unit} (first beyond it at t = {self.first:.6g} s)"
        )

    def error(self) -> LimitError:
        """The same, to be raised."""
        return LimitError(str(self), self.joint, self.quantity, self.time, self.value, self.limit)


def far_beyond(robot: Robot, t: Array, q: Array, v: Array) -> str:
    """In words, which joint went farther out of its range than the range is wide; "" if none did."""
    far = [
        (one, joint)
        for one in violations(robot, t, q, v)
        for joint in robot.model.joints
        if one.quantity == "position" and joint.name == one.joint and joint.limits is not None
        if abs(one.value - one.limit) > abs(joint.limits[1] - joint.limits[0])
    ]
    if not far:
        return ""
    worst, joint = max(far, key=lambda pair: abs(pair[0].value - pair[0].limit))
    tie = ""
    if joint.mimic is not None and joint.independent:
        tie = f" It is meant to follow '{joint.mimic.joint}': rc.load(..., mimic='tie') ties it."
    return f"{worst}. Nothing holds joints at their limits unless stops=True.{tie}"


def violations(robot: Robot, t: Array, q: Array, v: Array, tau: Array | None = None) -> list[Violation]:
    """Every limit that sampled states (N, ...) leave, joint by joint."""
    found: list[Violation] = []
    for joint in robot.model.joints:
        if joint.kind.nv == 1:
            found += _of_joint(joint, t, q, v, tau)
    return found


def _of_joint(joint: Joint, t: Array, q: Array, v: Array, tau: Array | None) -> Iterator[Violation]:
    (position,) = joint.coordinates(list(q.T))
    (velocity,) = joint.rates(list(v.T))
    if joint.limits is not None:
        lower, upper = sorted(joint.limits)
        yield from _beyond(joint, "position", t, position, lower, upper)
    if joint.velocity is not None:
        yield from _beyond(joint, "velocity", t, velocity, -joint.velocity, joint.velocity)
    if tau is not None and joint.effort is not None and joint.independent:  # what a tied joint bears is not in tau
        yield from _beyond(joint, "effort", t, tau[:, joint.v_start], -joint.effort, joint.effort)


def _beyond(joint: Joint, quantity: Limited, t: Array, x: Array, lower: float, upper: float) -> Iterator[Violation]:
    unit = _UNITS[quantity][0 if joint.kind.angular[0] else 1]
    for limit, excess in ((lower, lower - x), (upper, x - upper)):
        out = excess > _ROUNDING * abs(limit) + 1e-12
        if out.any():
            worst = int(np.argmax(excess))
            first = float(t[int(np.argmax(out))])
            yield Violation(joint.name, quantity, float(t[worst]), float(x[worst]), float(limit), first, unit)


# ---- the same motion, faster or slower by one factor: as fast as limits allow, in closed form ------------------------
# A motion k times as fast has speeds k v, accelerations k^2 a, and torques ``k^2 i + k d + c``: what inertia takes (i),
# what damping takes (d), and what gravity, springs and Coulomb friction take (c), whatever the speed. So at every
# instant every limit is a quadratic inequality in k, and forbids one or two ranges of k. The result is the largest k
# that none forbids.


_ZOOMS = 6  # times that instants are laid ten times as densely about those that decide
_NEAR = 10


def factor(
    robot: Robot, motion: Trajectory, limits: Limits, actuated: Collection[str] | None, losses: Losses, samples: int
) -> float:
    """How many times as fast the motion may be."""
    drive = Drive(robot, actuated) if np.isfinite(limits.effort).any() else None
    t = np.union1d(motion.times(samples), motion.knots)
    k, where = _largest(drive, t, motion.sample(t), limits, losses)
    width = motion.duration / (samples - 1)
    for _ in range(_ZOOMS):
        near = np.clip(where + width * np.linspace(-1.0, 1.0, 2 * _NEAR + 1), motion.start, motion.end)
        found, place = _largest(drive, near, motion.sample(near), limits, losses)
        k, where = min((k, where), (found, place))
        width /= _NEAR
    if not np.isfinite(k):
        raise StateError("nothing limits this motion: the joints that move have no limits. Give velocity= or effort=")
    return k


def _largest(drive: Drive | None, t: Array, states: States, limits: Limits, losses: Losses) -> tuple[float, float]:
    """The largest factor that no limit forbids at any of the instants, and the instant that decides."""
    _, v, a = states
    starts, ends, rows = [], [], []
    for speed, limit in ((v, limits.velocity), (a, limits.acceleration)):
        with np.errstate(divide="ignore"):
            most = np.where(speed == 0.0, np.inf, limit / np.where(speed == 0.0, 1.0, np.abs(speed)))
        each = most.min(axis=1)
        starts.append(each if speed is v else np.sqrt(each))
        ends.append(np.full(len(t), np.inf))
        rows.append(np.arange(len(t)))
    if drive is not None:
        for first, last, row in _forbidden(drive, t, states, limits.effort, losses):
            starts.append(first)
            ends.append(last)
            rows.append(row)
    first, last, row = (np.concatenate(part) for part in (starts, ends, rows))
    k, at = np.inf, 0
    for n in np.lexsort((first, -last)):  # ranges by their upper ends, the highest first
        if last[n] >= k > first[n]:
            k, at = float(first[n]), int(row[n])
    return k, float(t[at])


def _forbidden(
    drive: Drive, t: Array, states: States, effort: Array, losses: Losses
) -> list[tuple[Array, Array, Array]]:
    """Ranges of k in which ``+-(k^2 i + k d + c)`` is beyond a limit: where they start and end, and their instants."""
    q, v, a = states
    rest = np.zeros_like(v)
    c = drive.torques(q, rest, rest)
    i = drive.torques(q, v, a) - c
    dry, damping = drive.friction(q, v, losses), drive.damping(q, v, losses)
    c = c if dry is None else c + dry
    d = rest if damping is None else damping
    robot = drive.robot
    over = np.abs(c) > effort * (1.0 + 1e-9)
    if over.any():
        row, joint = np.argwhere(over)[0]
        raise LimitError(
            f"joint '{robot.v_names[joint]}': {abs(c[row, joint]):.6g} merely to be held at t = {t[row]:.6g} s, beyond "
            f"its limit {effort[joint]:.6g}: no speed helps. A lighter load or another way is needed",
            robot.v_names[joint], "effort", float(t[row]), float(c[row, joint]), float(effort[joint]),
        )  # fmt: skip
    chosen = np.isfinite(effort)
    found = []
    for sign in (1.0, -1.0):
        A, B = (sign * part[:, chosen] for part in (i, d))
        C = np.minimum(sign * c[:, chosen] - effort[chosen], 0.0)  # <= 0: standing still is allowed
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(np.maximum(B * B - 4.0 * A * C, 0.0))
            real = B * B - 4.0 * A * C > 0.0
            half = -0.5 * (B + np.where(B >= 0.0, root, -root))
            one, two = half / A, C / half
        low, high = np.minimum(one, two), np.maximum(one, two)
        first, last = np.full(A.shape, np.inf), np.full(A.shape, np.inf)
        up, down, flat = A > 0.0, (A < 0.0) & real & (B > 0.0), (A == 0.0) & (B > 0.0)
        first[up] = high[up]  # beyond the positive root
        first[down], last[down] = low[down], high[down]  # between both
        first[flat] = (-C / np.where(B == 0.0, 1.0, B))[flat]
        row = np.broadcast_to(np.arange(len(t))[:, None], A.shape)
        taken = np.isfinite(first)
        found.append((first[taken], last[taken], row[taken]))
    return found
