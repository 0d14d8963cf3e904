"""The second time derivative of a link's Jacobian, d2J/dt2, column by column along the path to the link.

In link axes J = XL^-1 H*, and with U = XL^-1 V_k and V the velocities of body k and of the link there,

    J' = crm(U - V) J        J'' = crm(B - A - crm(V) U) J + crm(U - V) J'        B = XL^-1 alpha_k, A = dV/dt

Differentiating the plan of J' step by step takes 0.99 to 1.5 times the operations of this one, and 1.2 to 1.6 times in
mixed axes: about as many for arms, most for long chains (``tests/scaling/test_rates_by_hand.py``).
"""

from __future__ import annotations

from recursa.dynamics.kinematics import (
    ACCELERATION,
    BODY_AT_LINK,
    COLUMNS,
    LINK_ACCELERATION,
    LINK_IN_BODY,
    LINK_POSE,
    LINK_VELOCITY,
    POSE,
    RELATIVE,
    VELOCITY,
    body_motion_seen_at_link,
    frame_function,
    in_mixed,
    link_matrix,
    path_plan,
)
from recursa.model.model import Model
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import Vec3
from recursa.spatial.vectors6 import Motion
from recursa.sweeps import Buffer, Plan, Step

Columns = tuple[Motion, ...]


def second_in_body(pose: Transform, u: Motion, b: Motion, v: Motion, a: Motion, columns: Columns) -> Columns:
    """As the head of this module has it."""
    apart, change = u - v, b - a - v.cross_motion(u)
    return tuple(change.cross_motion(c) + apart.cross_motion(apart.cross_motion(c)) for c in columns)


def second_in_mixed(pose: Transform, u: Motion, b: Motion, v: Motion, a: Motion, columns: Columns) -> Columns:
    """``R (J'' + 2 ~w J' + (~w' + ~w ~w) J)``: the axes are the link's, turned to the world's."""
    found = []
    for column, second in zip(columns, second_in_body(pose, u, b, v, a, columns), strict=True):
        first = (u - v).cross_motion(column)
        halves = (_turned(v.angular, a.angular, *three) for three in zip(column, first, second, strict=True))
        found.append(in_mixed(pose, Motion(*halves)))
    return tuple(found)


def _turned(w: Vec3, wd: Vec3, vector: Vec3, first: Vec3, second: Vec3) -> Vec3:
    return second + w.cross(first) * 2.0 + wd.cross(vector) + w.cross(w.cross(vector))


def second_in_world(pose: Transform, u: Motion, b: Motion, v: Motion, a: Motion, columns: Columns) -> Columns:
    """``crm(B) J + crm(U) crm(U) J`` carried to the world origin: columns move with body k."""
    return tuple(pose.motion(b.cross_motion(c) + u.cross_motion(u.cross_motion(c))) for c in columns)


SECOND_IN = {"body": second_in_body, "mixed": second_in_mixed, "world": second_in_world}


def second_derivative_plan(model: Model, link: int, frame: str) -> Plan:
    """Out along the path with velocities and accelerations, once at the link, back in with columns."""
    frame_function(frame)  # an unknown frame is an error here too
    at_link = Step(body_motion_seen_at_link, ("XL", "alpha"), ("B",), "B = phi*(k, link) alpha(k)")
    rates = Step(
        SECOND_IN[frame], ("L@target", "U", "B", "VL@target", "AL@target", "J"), ("JF",), f"d2J/dt2, frame '{frame}'"
    )
    return path_plan(
        "jacobian_second_derivative",
        model,
        link,
        (RELATIVE, POSE, VELOCITY, ACCELERATION),
        (LINK_POSE, LINK_VELOCITY, LINK_ACCELERATION),
        (LINK_IN_BODY, COLUMNS, BODY_AT_LINK, at_link, rates),
        Buffer("B", Motion.zero()),
    )


def _second_derivative(of: Subject, given: Names, *, link: str, frame: str = "body") -> Recipe:
    return link_matrix(second_derivative_plan, of, given, link=link, frame=frame)


JACOBIAN_SECOND_DERIVATIVE = Quantity(
    "jacobian_second_derivative",
    ("q", "v", "a"),
    _second_derivative,
    "times v: (angular, linear) in rad/s^3 and m/s^3; columns as in v, {frame}",
)
