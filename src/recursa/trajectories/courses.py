"""Courses: curves of coordinates, or of steps from a configuration, as functions from instants to q, v and a."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from recursa.dynamics.configuration import is_flat
from recursa.errors import ShapeError, StateError, unknown_name
from recursa.model.model import Model
from recursa.sweeps.batching import Array
from recursa.trajectories import coordinates, curves, inputs
from recursa.trajectories.coordinates import States
from recursa.trajectories.curves import Curve, Pieces
from recursa.trajectories.inputs import Posture

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
    start, end = inputs.coordinates("q0", q0, robot), inputs.coordinates("q1", q1, robot)
    if robot is not None:
        return start, robot.difference(start, end)
    if len(start) != len(end):
        raise ShapeError(f"q0 has {len(start)} entries, q1 has {len(end)}")
    with np.errstate(over="ignore"):  # what is not finite is refused when the motion is tried
        return start, end - start


def points_in(points: ArrayLike, times: ArrayLike, robot: Robot | None, name: str = "points") -> tuple[Array, Array]:
    """Points (m, nq), quaternions on the same side, and their times."""
    x = inputs.coordinates(name, points, robot, rows=True)
    t = inputs.instants(times, len(x), "points" if name == "points" else "samples")
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
