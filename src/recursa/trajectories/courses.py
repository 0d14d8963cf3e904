"""Courses: curves of coordinates, or of steps from a configuration, as functions from instants to q, v and a."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.configuration import is_flat
from recursa.dynamics.ordering import Layout
from recursa.errors import ConventionWarning, ShapeError, StateError, unknown_name
from recursa.evaluation.hints import user_level
from recursa.model.model import Model
from recursa.sweeps.batching import Array
from recursa.trajectories import checks, coordinates, curves
from recursa.trajectories.checks import Posture
from recursa.trajectories.coordinates import States
from recursa.trajectories.curves import Curve, Pieces, trapezoid

if TYPE_CHECKING:
    from recursa.robot import Robot

SplineKind = Literal["cubic", "quintic", "pchip", "akima"]
Ends = Literal["clamped", "natural", "not-a-knot", "periodic"]
_KINDS: tuple[str, ...] = get_args(SplineKind)
_ENDS: tuple[str, ...] = get_args(Ends)
_ENOUGH = {"natural": 3, "not-a-knot": 6, "periodic": 3}  # points for a quintic
_SHORT = 0.2  # a quaternion that comes so near to zero between samples has lost its direction


class Course(NamedTuple):
    """``states`` of instants (N,) is q, v, a; ``breaks`` are start, joins and end."""

    states: Callable[[Array], States]
    breaks: Array


def from_to(q0: Posture, q1: Posture, robot: Robot | None) -> tuple[Array, Array]:
    """Where it starts, and the step (nv,) from there to the end."""
    start, end = checks.coordinates("q0", q0, robot), checks.coordinates("q1", q1, robot)
    if robot is not None:
        return start, robot.difference(start, end)
    if len(start) != len(end):
        raise ShapeError(f"q0 has {len(start)} entries, q1 has {len(end)}")
    with np.errstate(over="ignore"):  # what is not finite is refused when the motion is tried
        return start, end - start


def points_in(points: ArrayLike, times: ArrayLike, robot: Robot | None, name: str = "points") -> tuple[Array, Array]:
    """Points (m, nq), quaternions on the same side, and their times."""
    x = checks.coordinates(name, points, robot, rows=True)
    t = checks.instants(times, len(x), "points" if name == "points" else "samples")
    return (x if robot is None else coordinates.aligned(robot.model, x)), t


@dataclass(frozen=True)
class Moving:
    """``q = start exp(x(t))``, where x of each joint keeps one direction: then v = dx/dt and a = d2x/dt2."""

    robot: Robot | None  # none where steps are simply added
    start: Array
    curve: Curve

    def __call__(self, t: Array) -> States:
        """q, v, a at instants (N,)."""
        x, v, a = self.curve(t)
        return (self.start + x if self.robot is None else self.robot.integrate(self.start, x)), v, a


@dataclass(frozen=True)
class Through:
    """The coordinates are the curve; a quaternion is its direction."""

    model: Model
    curve: Curve

    def __call__(self, t: Array) -> States:
        """q, v, a at instants (N,)."""
        return coordinates.states(self.model, *self.curve(t))


def moving(robot: Robot | None, start: Array, curve: Curve) -> Course:
    """A curve of steps (nv,) from a configuration."""
    flat = robot is None or is_flat(robot.model)
    return Course(Moving(None if flat else robot, start, curve), curve.breaks)


def through(robot: Robot | None, curve: Curve) -> Course:
    """A curve of coordinates (nq,)."""
    if robot is None or is_flat(robot.model):
        return Course(curve, curve.breaks)
    model = robot.model
    between = curve.breaks[:-1, None] + np.diff(curve.breaks)[:, None] * np.linspace(0.0, 1.0, 9)
    length, joint = coordinates.shortest_quaternion(model, curve(between.ravel())[0])
    if length < _SHORT:
        raise StateError(
            f"joint '{joint}': the rotations are too far apart for a smooth curve. Give more of them in between"
        )
    return Course(Through(model, curve), curve.breaks)


def spline_of(t: Array, x: Array, kind: str, ends: str | None) -> Pieces:
    """A spline of SciPy's, its options checked."""
    if kind not in _KINDS:
        raise unknown_name("kind of spline", kind, _KINDS)
    if kind in ("pchip", "akima"):
        if ends is not None:
            raise StateError(f"a spline of kind '{kind}' has no choice of ends; leave out ends='{ends}'")
        return curves.interpolated(t, x, kind, None)
    ends = ends or "clamped"
    if ends not in _ENDS:
        raise unknown_name("way to end a spline", ends, _ENDS)
    if ends == "periodic" and not np.allclose(x[0], x[-1], rtol=0.0, atol=1e-12):
        entry = int(np.argmax(np.abs(x[-1] - x[0])))
        raise StateError(
            f"ends='periodic' needs the same first and last point; entry {entry} starts at {x[0, entry]:g} and "
            f"ends at {x[-1, entry]:g}. A quaternion has to return with the same sign: a full turn does not"
        )
    if ends == "periodic":
        x[-1] = x[0]
    if kind == "quintic" and len(t) < _ENOUGH.get(ends, 2):
        raise ShapeError(f"a quintic spline with ends='{ends}' needs {_ENOUGH[ends]} points, not {len(t)}")
    return curves.interpolated(t, x, kind, ends)


# ---- how all joints share one law of time, and when a joint of several freedoms keeps one axis -----------------------


_ROUNDING = 1e-12


def synchronised(step: Array, velocity: Any, acceleration: Any, T: Any) -> Pieces:
    """The trapezoidal law from 0 to 1 under which no freedom of ``step`` (nv,) exceeds its bounds.

    With s the part of the way, ``ds/dt <= V = min velocity/|step|`` and ``|d2s/dt2| <= A = min acceleration/|step|``.
    """
    moved = np.abs(step)
    V = _bound("velocity", velocity, moved)
    A = _bound("acceleration", acceleration, moved)
    if T is None:
        if velocity is None or acceleration is None:
            raise StateError("give velocity and acceleration, or T: they say how fast the motion is to be")
        if not moved.any():
            raise StateError("q0 and q1 are the same, so the shortest motion takes no time; give T")
        # ramps of V/A and a cruise at V, or a triangle where V is not reached
        T = 2.0 / math.sqrt(A) if V * V >= A else 1.0 / V + V / A
        return trapezoid(checks.duration("the shortest T", T), min(V / A, 0.5 * T))
    T = checks.duration("T", T)
    if velocity is None and acceleration is None:
        return trapezoid(T, T / 3.0)
    if acceleration is None:  # the gentlest ramps that keep to V: as long as they can be
        _require_time(T, 1.0 / V, "at the given velocity, even without ramps,", exclusive=True)
        return trapezoid(T, min(T - 1.0 / V, 0.5 * T))
    _require_time(T, 2.0 / math.sqrt(A), "at the given acceleration")
    # A ramp (T - ramp) = 1, the shorter root, written without cancellation
    ramp = 2.0 / A / (T + math.sqrt(max(T * T - 4.0 / A, 0.0))) if math.isfinite(A) else T / 3.0
    if 1.0 / (T - ramp) > V * (1.0 + _ROUNDING):
        _require_time(T, 1.0 / V + V / A, "within both bounds")
    return trapezoid(T, min(ramp, 0.5 * T))


def _bound(name: str, value: Any, moved: Array) -> float:
    """Of the law itself: the freedom that has most to do decides."""
    if value is None:
        return math.inf
    bounds = checks.positive(name, value, len(moved))
    active = moved > 0.0
    return float(np.min(bounds[active] / moved[active])) if active.any() else math.inf


def _require_time(T: float, least: float, why: str, *, exclusive: bool = False) -> None:
    spare = T - least
    if spare < -_ROUNDING * least or (exclusive and spare <= 0.0):
        than = "more than" if exclusive else "at least"
        raise StateError(f"T = {T:.6g} s is too short: {why} the motion takes {than} {least:.6g} s")


def require_one_axis(robot: Robot | None, step: Array, ends: list[Array]) -> None:
    """Joints of several freedoms move ``exp(x(t))`` with x along one line, else dx/dt would not be the speed."""
    if robot is None:
        return
    for joint in robot.model.joints:
        own = np.stack([row[joint.v_start : joint.v_start + joint.kind.nv] for row in (step, *ends)])
        if joint.kind.nv > 1 and np.linalg.matrix_rank(own, tol=1e-9 * max(1.0, float(np.abs(own).max()))) > 1:
            raise StateError(
                f"joint '{joint.name}': speeds and accelerations at the ends do not lie along its step from q0 to q1, "
                f"so it cannot keep one axis. Trajectory.along([0, T], [q0, q1], [v0, v1], [a0, a1], robot=robot) can"
            )


# ---- -----------------------------------------------------------------------------------------------------------------
# Measured speeds of a free base that belong to another library's frame: a hint, for they are valid numbers here.


_OTHERS: dict[Layout, str] = {
    "pinocchio": "linear before angular, in link axes, as in Pinocchio",
    "mujoco": "linear before angular, the linear part in world axes, as in MuJoCo",
    "drake": "angular before linear, both in world axes, as in Drake",
}
_FAR, _NEAR = 0.3, 0.05  # of the speed: what does not fit the positions, and what does
_LEAST = 3  # steps between samples, from which something can be told


def warn_of_other_frames(robot: Robot, t: Array, q: Array, v: Array) -> None:
    """Where speeds (m, nv) of a free base do not fit its poses (m, nq), but would as another library means them.

    What the poses say is ``difference(q_k, q_k+1) / dt``, the mean speed between two samples in link axes.
    """
    if not robot.is_floating or len(t) <= _LEAST or not all(np.isfinite(x).all() for x in (t, q, v)):
        return
    moved = robot.difference(q[:-1], q[1:])[:, :6] / np.diff(t)[:, None]
    missed = {layout: _missed(robot, layout, q, v, moved) for layout in ("recursa", *_OTHERS)}
    best = min(_OTHERS, key=lambda layout: missed[layout])
    if missed["recursa"] > _FAR and missed[best] < _NEAR:
        warnings.warn(
            f"the speeds of the base do not fit its poses: they are {100.0 * missed['recursa']:.0f} % off as (angular, "
            f"linear) in link axes, which is meant here, and {100.0 * missed[best]:.1f} % off as {_OTHERS[best]}. "
            f'robot.reorder(v, names, layout="{best}", quantity="v", q=q) turns them into ours',
            ConventionWarning,
            stacklevel=user_level(),
        )


def _missed(robot: Robot, layout: Layout, q: Array, v: Array, moved: Array) -> float:
    """By how much of their size speeds miss what the poses say, if they are in a layout."""
    own = v[:, :6] if layout == "recursa" else _base_of(robot, layout, q, v)
    mean = 0.5 * (own[:-1] + own[1:])
    size = float(np.sqrt(np.square(moved).sum()))
    return float(np.sqrt(np.square(mean - moved).sum())) / size if size > 0.0 else 0.0


def _base_of(robot: Robot, layout: Layout, q: Array, v: Array) -> Array:
    return robot.reorder(v, robot.joint_names, layout=layout, quantity="v", q=q)[:, :6]
