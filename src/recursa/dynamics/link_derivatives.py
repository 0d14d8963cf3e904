"""How velocity and acceleration of one link change with q, v and a.

In link axes, with c, s', s'' and ``twice = s' + crm(V) s`` of a joint inward (``derivatives.py``) carried to the link:

    dV/dq = s',    dalpha/dq = s'' + crm(s') V(link),    dalpha/dv = twice + crm(c) V(link),    dalpha/da = c

In other frames the axes do not turn along with the link: vectors change by ``(c angular) x`` themselves besides, in the
mixed frame, or by ``crm(c)`` themselves, at the origin of the world.

Differentiating the plan of the velocity, one direction per freedom, takes 1.4 times the operations for an arm, 2.7
times for a free flyer of 14 bodies and 6.7 times for a chain of 40; that of the acceleration takes as many for an arm
and twice as many for the flyer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from recursa.dynamics.derivatives import COLUMN_RATES, ColumnRates, turned_columns
from recursa.dynamics.kinematics import (
    ACCELERATION,
    LINK_ACCELERATION,
    LINK_IN_BODY,
    LINK_POSE,
    LINK_VELOCITY,
    POSE,
    RELATIVE,
    VELOCITY,
    classical,
    frame_function,
    jacobian_entries,
    path_plan,
    require_kind,
)
from recursa.model.model import Model
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.inertia import Motion
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO
from recursa.sweeps import Buffer, Plan, Step, Values

Rates = tuple[tuple[Motion, ...], ...]
"""Changes of the link's motion by q, by v and, of its acceleration, by a: per unit of every freedom of a joint."""


# ---- axes that do not turn along: what a motion of the link, c, does to the components of a vector x -----------------


def _with_link(column: Motion, x: Motion) -> Motion:
    return Motion.zero()


def _turned(column: Motion, x: Motion) -> Motion:
    return Motion(column.angular.cross(x.angular), column.angular.cross(x.linear))


def _carried(column: Motion, x: Motion) -> Motion:
    return column.cross_motion(x)


_TURNING: dict[str, Callable[[Motion, Motion], Motion]] = {"body": _with_link, "mixed": _turned, "world": _carried}


# ---- steps -----------------------------------------------------------------------------------------------------------


def velocity_rates_in(frame: str) -> Callable[..., Rates]:
    """The step for results in a frame."""
    change, turning = frame_function(frame), _TURNING[frame]

    def velocity_rates(
        link_here: Transform, rates: tuple[tuple[Motion, Motion], ...], pose: Transform, velocity: Motion
    ) -> Rates:
        """The columns of a joint."""
        by_q, by_v = [], []
        for rate in rates:
            column, first = (link_here.inverse_motion(motion) for motion in rate)
            by_q.append(change(pose, first + turning(column, velocity)))
            by_v.append(change(pose, column))
        return tuple(by_q), tuple(by_v)

    return velocity_rates


def acceleration_rates_in(frame: str, kind: str) -> Callable[..., Rates]:
    """The step for results in a frame, of one kind of acceleration."""
    change, turning = frame_function(frame), _TURNING[frame]
    swings_here = kind == "classical" and frame != "world"  # w x v of the link's own origin
    swings_there = kind == "classical" and frame == "world"  # of the point that passes the world's

    def acceleration_rates(
        link_here: Transform, rates: tuple[ColumnRates, ...], pose: Transform, velocity: Motion, acceleration: Motion
    ) -> Rates:
        """The columns of a joint."""
        turned = classical(acceleration, velocity) if swings_here else acceleration
        found = []
        for rate in rates:
            column, first, second, twice = (link_here.inverse_motion(motion) for motion in rate)
            by_q = second + first.cross_motion(velocity)
            by_v = twice + column.cross_motion(velocity)
            if swings_here:
                by_q, by_v = by_q + _swinging(velocity, first), by_v + _swinging(velocity, column)
            by_q, by_v, by_a = (change(pose, x) for x in (by_q + turning(column, turned), by_v, column))
            if swings_there:
                there, first = change(pose, velocity), change(pose, first + turning(column, velocity))
                by_q, by_v = by_q + _swinging(there, first), by_v + _swinging(there, by_a)
            found.append((by_q, by_v, by_a))
        return tuple(zip(*found, strict=True))

    return acceleration_rates


def _swinging(velocity: Motion, change: Motion) -> Motion:
    """Change of ``w x v``, which makes an acceleration classical."""
    return Motion(ZERO, change.angular.cross(velocity.linear) + velocity.angular.cross(change.linear))


# ---- plans -----------------------------------------------------------------------------------------------------------


_RATES = Buffer("S", ())


def velocity_derivatives_plan(model: Model, link: int, frame: str) -> Plan:
    """Derivatives of a link's velocity along the path to it."""
    first = Step(turned_columns, ("joint", "X", "V@parent"), ("S",), "s' = crm(U) s,  U = phi* V(parent)")
    reads = ("XL", "S", "L@target", "VL@target")
    rates = Step(velocity_rates_in(frame), reads, ("JF",), f"dV/dq, dV/dv in frame '{frame}'")
    outward, at_link = (RELATIVE, POSE, VELOCITY, first), (LINK_POSE, LINK_VELOCITY)
    return path_plan("velocity_derivatives", model, link, outward, at_link, (LINK_IN_BODY, rates), _RATES)


def acceleration_derivatives_plan(model: Model, link: int, frame: str, kind: str) -> Plan:
    """Derivatives of a link's acceleration along the path to it."""
    require_kind(kind)
    reads = ("XL", "S", "L@target", "VL@target", "AL@target")
    equation = f"dalpha/dq, dalpha/dv, dalpha/da in frame '{frame}'"
    rates = Step(acceleration_rates_in(frame, kind), reads, ("JF",), equation)
    outward = (RELATIVE, POSE, VELOCITY, ACCELERATION, COLUMN_RATES)
    at_link = (LINK_POSE, LINK_VELOCITY, LINK_ACCELERATION)
    return path_plan("acceleration_derivatives", model, link, outward, at_link, (LINK_IN_BODY, rates), _RATES)


def link_derivative_entries(model: Model, link: int, count: int, values: Values) -> Iterator[Scalar]:
    """So many matrices, (count, 6, nv) row by row."""
    found = values.lists.get("JF", [])
    for number in range(count):
        yield from jacobian_entries(model, link, [rates[number] if rates else () for rates in found])


# ---- quantities ------------------------------------------------------------------------------------------------------


def _velocity_derivatives(of: Subject, given: Names, *, link: str, frame: str = "body") -> Recipe:
    model, number = of.model, of.model.link_index(link)
    gather = partial(link_derivative_entries, model, number, 2)
    return Recipe(velocity_derivatives_plan(model, number, frame), gather, (2, 6, model.nv))


def _acceleration_derivatives(
    of: Subject, given: Names, *, link: str, frame: str = "body", kind: str = "spatial"
) -> Recipe:
    model, number = of.model, of.model.link_index(link)
    gather = partial(link_derivative_entries, model, number, 3)
    return Recipe(acceleration_derivatives_plan(model, number, frame, kind), gather, (3, 6, model.nv))


VELOCITY_DERIVATIVES = Quantity(
    "velocity_derivatives",
    ("q", "v"),
    _velocity_derivatives,
    "by q, by v; (angular, linear) in rad/s and m/s per unit; columns as in v, {frame}",
)
ACCELERATION_DERIVATIVES = Quantity(
    "acceleration_derivatives",
    ("q", "v", "a"),
    _acceleration_derivatives,
    "by q, by v, by a; (angular, linear) in rad/s^2 and m/s^2 per unit; columns as in v, {frame}",
)
