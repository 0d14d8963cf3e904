"""How momentum and centre of mass change: in time, and with q and v.

In world axes about the world origin, with R, h inertia and momentum of everything outward of a joint, V, U velocities
of its body and its parent, s a column of its ``H*`` in link axes, and phi from there to the world:

    A s   = phi R s                            the momentum matrix
    dA/dt = phi (dR/dt s + R crm(V) s)         its rate
    dh/dq = phi (crf(s) h + R crm(U) s)        what moves rigidly along, and what it no longer has of U

About the centre of mass c, which moves with p/m: ``L_c = L - c x p``, differentiated.

Differentiating plans step by step takes 1.4 to 1.6 times the operations for dh/dt and for the acceleration of the
centre of mass, 0.9 to 1.6 times for its velocity, 0.96 to 1.2 times for dA/dt and 0.84 to 1.4 times for the rate of the
centre's Jacobian: more for longer chains. One direction per freedom takes 3 to 13 times those of dh/dq and dh/dv.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import NamedTuple

from recursa.dynamics.derivatives import COMPOSITE_MOMENTUM, COMPOSITE_RATE
from recursa.dynamics.inverse import moving_force
from recursa.dynamics.kinematics import (
    ACCELERATION,
    BODY_AT_LINK,
    BUFFERS,
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
from recursa.dynamics.mass_matrix import COMPOSITE, force_columns, moved_to
from recursa.dynamics.mass_properties import (
    FIRST_MOMENT,
    MOMENTUM,
    TOTAL_FIRST_MOMENT,
    center_of_mass_of,
    require_mass,
    required_about,
)
from recursa.model.model import Joint, Model
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.inertia import Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, tip_to_base


class Column(NamedTuple):
    """Of one freedom: its column of the momentum matrix, and how something changes with it."""

    momentum: Force
    change: Force


# ---- steps -----------------------------------------------------------------------------------------------------------


def momentum_rate(pose: Transform, inertia: RigidInertia, acceleration: Motion, velocity: Motion) -> Force:
    """``M alpha + crf(V) M V`` of a body, carried to the world origin."""
    return pose.force(moving_force(inertia, acceleration, velocity))


def changes_with_q(
    joint: Joint, step: Transform, parent: Motion, total: RigidInertia, momentum: Force, pose: Transform
) -> tuple[Column, ...]:
    """``phi R s`` and ``phi (crf(s) h + R crm(U) s)``."""
    up = step.inverse_motion(parent)
    return tuple(
        Column(pose.force(total @ s), pose.force(s.cross_force(momentum) + total @ up.cross_motion(s)))
        for s in joint.columns()
    )


def changes_in_time(
    joint: Joint, velocity: Motion, total: RigidInertia, rate: RigidInertia, pose: Transform
) -> tuple[Column, ...]:
    """``phi R s`` and ``phi (dR/dt s + R crm(V) s)``."""
    return tuple(
        Column(pose.force(total @ s), pose.force(rate @ s + total @ velocity.cross_motion(s))) for s in joint.columns()
    )


# ---- plans -----------------------------------------------------------------------------------------------------------

TOTAL_MOMENTUM = replace(MOMENTUM, writes=("total@robot",))
MOMENTUM_RATE = Step(
    momentum_rate, ("W", "inertia", "alpha", "V"), ("rate@robot",), "dh/dt = sum of phi (M alpha + crf(V) M V)"
)
_WHERE = (FIRST_MOMENT, TOTAL_FIRST_MOMENT)
_BUFFERS = (
    *BUFFERS,
    Buffer("mc", ZERO),
    Buffer("MC", ZERO),
    Buffer("total", Force.zero()),
    Buffer("rate", Force.zero()),
    Buffer("R", RigidInertia.zero()),
    Buffer("Rdot", RigidInertia.zero()),
    Buffer("h", Force.zero()),
    Buffer("columns", ()),
)

CENTER_VELOCITY_PLAN = Plan(
    "center_of_mass_velocity", _BUFFERS, (base_to_tip(RELATIVE, POSE, VELOCITY, TOTAL_MOMENTUM),)
)
CENTER_ACCELERATION_PLAN = Plan(
    "center_of_mass_acceleration", _BUFFERS, (base_to_tip(RELATIVE, POSE, VELOCITY, ACCELERATION, MOMENTUM_RATE),)
)
MOMENTUM_RATE_PLAN = Plan(
    "momentum_rate", _BUFFERS, (base_to_tip(RELATIVE, POSE, VELOCITY, ACCELERATION, *_WHERE, MOMENTUM_RATE),)
)
MOMENTUM_DERIVATIVES_PLAN = Plan(
    "momentum_derivatives",
    _BUFFERS,
    (
        base_to_tip(RELATIVE, POSE, VELOCITY, *_WHERE, TOTAL_MOMENTUM),
        tip_to_base(COMPOSITE, COMPOSITE_MOMENTUM),
        base_to_tip(
            Step(
                changes_with_q,
                ("joint", "X", "V@parent", "R", "h", "W"),
                ("columns",),
                "phi R s, phi (crf(s) h + R crm(U) s)",
            ),
        ),
    ),
)
MOMENTUM_MATRIX_DERIVATIVE_PLAN = Plan(
    "momentum_matrix_derivative",
    _BUFFERS,
    (
        base_to_tip(RELATIVE, POSE, VELOCITY, *_WHERE, TOTAL_MOMENTUM),
        tip_to_base(
            COMPOSITE,
            COMPOSITE_RATE,
            Step(
                changes_in_time,
                ("joint", "V", "R", "Rdot", "W"),
                ("columns",),
                "phi R s, phi (dR/dt s + R crm(V) s)",
            ),
        ),
    ),
)

# ---- results ---------------------------------------------------------------------------------------------------------


def rate_entries(model: Model, about: str, values: Values) -> tuple[Scalar, ...]:
    """dh/dt; about the centre of mass ``dL/dt - c x dp/dt``, since it moves along p."""
    total: Force = values.robot["rate"]
    return (total if about == "world" else moved_to(center_of_mass_of(model, values), total)).components()


def derivative_entries(model: Model, about: str, values: Values) -> Iterator[Scalar]:
    """By q and by v, (2, 6, nv) row by row."""
    columns: list[tuple[Column, ...]] = values.lists.get("columns", [])
    if about == "com":
        center, total = center_of_mass_of(model, values), values.robot["total"].force
        columns = [
            tuple(
                Column(
                    moved_to(center, one.momentum),
                    _less(moved_to(center, one.change), (one.momentum.force * (1.0 / model.total_mass)).cross(total)),
                )
                for one in own
            )
            for own in columns
        ]
    return chain.from_iterable(
        force_columns(model, [[column[which] for column in own] for own in columns]) for which in (1, 0)
    )


def matrix_derivative_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """dA/dt about the centre of mass, (6, nv) row by row."""
    center, moving = center_of_mass_of(model, values), values.robot["total"].force * (1.0 / model.total_mass)
    found = [
        [_less(moved_to(center, one.change), moving.cross(one.momentum.force)) for one in own]
        for own in values.lists.get("columns", [])
    ]
    return force_columns(model, found)


def center_jacobian_entries(model: Model, values: Values) -> Iterator[Scalar]:
    """The linear part of dA/dt over the mass, (3, nv) row by row."""
    found = [[one.change * (1.0 / model.total_mass) for one in own] for own in values.lists.get("columns", [])]
    return islice(force_columns(model, found), 3 * model.nv, None)


def _less(change: Force, moment: Vec3) -> Force:
    return Force(change.moment - moment, change.force)


# ---- quantities ------------------------------------------------------------------------------------------------------


def _center(plan: Plan, name: str, of: Subject, given: Names) -> Recipe:
    model = of.model
    return Recipe(plan, lambda values: values.robot[name].force * (1.0 / model.total_mass), (3,), require=require_mass)


def _momentum_rate(of: Subject, given: Names, *, about: str = "com") -> Recipe:
    return Recipe(MOMENTUM_RATE_PLAN, partial(rate_entries, of.model, about), (6,), require=required_about(about))


def _momentum_derivatives(of: Subject, given: Names, *, about: str = "com") -> Recipe:
    gather = partial(derivative_entries, of.model, about)
    return Recipe(MOMENTUM_DERIVATIVES_PLAN, gather, (2, 6, of.model.nv), require=required_about(about))


def _momentum_matrix_derivative(of: Subject, given: Names) -> Recipe:
    gather = partial(matrix_derivative_entries, of.model)
    return Recipe(MOMENTUM_MATRIX_DERIVATIVE_PLAN, gather, (6, of.model.nv), require=require_mass)


def _center_of_mass_jacobian_derivative(of: Subject, given: Names) -> Recipe:
    gather = partial(center_jacobian_entries, of.model)
    return Recipe(MOMENTUM_MATRIX_DERIVATIVE_PLAN, gather, (3, of.model.nv), require=require_mass)


CENTER_OF_MASS_VELOCITY = Quantity(
    "center_of_mass_velocity", ("q", "v"), partial(_center, CENTER_VELOCITY_PLAN, "total"), "m/s, world axes"
)
CENTER_OF_MASS_ACCELERATION = Quantity(
    "center_of_mass_acceleration",
    ("q", "v", "a"),
    partial(_center, CENTER_ACCELERATION_PLAN, "rate"),
    "m/s^2, without gravity, world axes",
)
CENTER_OF_MASS_JACOBIAN_DERIVATIVE = Quantity(
    "center_of_mass_jacobian_derivative",
    ("q", "v"),
    _center_of_mass_jacobian_derivative,
    "times v: m/s^2, world axes; columns as in v",
)
MOMENTUM_RATE_OF_ROBOT = Quantity(
    "momentum_rate", ("q", "v", "a"), _momentum_rate, "(angular, linear) in N m and N, world axes"
)
MOMENTUM_DERIVATIVES = Quantity(
    "momentum_derivatives",
    ("q", "v"),
    _momentum_derivatives,
    "by q, by v; (angular, linear) in kg m^2/s and kg m/s per unit, world axes; columns as in v",
)
MOMENTUM_MATRIX_DERIVATIVE = Quantity(
    "momentum_matrix_derivative",
    ("q", "v"),
    _momentum_matrix_derivative,
    "times v: (angular, linear) in N m and N, world axes; columns as in v",
)


# ---- -----------------------------------------------------------------------------------------------------------------
# The second time derivative of a link's Jacobian, d2J/dt2, column by column along the path to the link.
# In link axes J = XL^-1 H*, and with U = XL^-1 V_k and V the velocities of body k and of the link there,
#
#     J' = crm(U - V) J        J'' = crm(B - A - crm(V) U) J + crm(U - V) J'        B = XL^-1 alpha_k, A = dV/dt
#
# Differentiating the plan of J' step by step takes 0.99 to 1.5 times the operations of this one, and 1.2 to 1.6 times
# in mixed axes: about as many for arms, most for long chains (``tests/scaling/test_rates_by_hand.py``).


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
