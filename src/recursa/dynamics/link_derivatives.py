"""How velocity and acceleration of one link change with q and v: the kinematic half of linearised Cartesian models.

In link axes, with c, s', s'' and ``twice = s' + crm(V) s`` of a joint inward (``derivatives.py``) carried to the link:

    dV/dq = s',    dalpha/dq = s'' + crm(s') V(link),    dalpha/dv = twice + crm(c) V(link)

In the mixed frame the axes turn along with the link no more: vectors change by ``(c angular) x`` themselves besides.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from recursa.dynamics.derivatives import COLUMN_RATES, ColumnRates
from recursa.dynamics.kinematics import (
    ACCELERATION,
    BUFFERS,
    LINK_ACCELERATION,
    LINK_BUFFERS,
    LINK_IN_BODY,
    LINK_POSE,
    LINK_VELOCITY,
    POSE,
    RELATIVE,
    VELOCITY,
    in_mixed,
    jacobian_entries,
)
from recursa.model.model import Model
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import Transform
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.spatial.vectors6 import Motion
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, each_link, tip_to_base


class LinkRates(NamedTuple):
    """Changes of the link's motion per unit of every freedom of a joint, in the mixed frame."""

    velocity_by_q: tuple[Motion, ...]
    acceleration_by_q: tuple[Motion, ...]
    acceleration_by_v: tuple[Motion, ...]


def link_rates(
    link_here: Transform, rates: tuple[ColumnRates, ...], pose: Transform, velocity: Motion, acceleration: Motion
) -> LinkRates:
    """The columns of a joint; the acceleration is the classical one."""
    w, v = velocity
    classical = Motion(acceleration.angular, acceleration.linear + w.cross(v))
    found = []
    for rate in rates:
        column, first, second, twice = (link_here.inverse_motion(motion) for motion in rate)
        by_q = second + first.cross_motion(velocity)
        by_v = twice + column.cross_motion(velocity)
        found.append(
            (
                in_mixed(pose, first + _turned(column.angular, velocity)),
                in_mixed(pose, by_q + _swinging(velocity, first) + _turned(column.angular, classical)),
                in_mixed(pose, by_v + _swinging(velocity, column)),
            )
        )
    return LinkRates(*zip(*found, strict=True))


def _turned(rotation: Vec3, motion: Motion) -> Motion:
    return Motion(rotation.cross(motion.angular), rotation.cross(motion.linear))


def _swinging(velocity: Motion, change: Motion) -> Motion:
    """Change of ``w x v``, which makes an acceleration classical."""
    return Motion(ZERO, change.angular.cross(velocity.linear) + velocity.angular.cross(change.linear))


def link_derivatives_plan(model: Model, link: int) -> Plan:
    """Derivatives of a link's velocity and acceleration along the path to it."""
    rates = Step(link_rates, ("XL", "S", "L@target", "VL@target", "AL@target"), ("JF",), "dV/dq, dalpha/dq, dalpha/dv")
    path = model.support(model.links[link].body)
    buffers = (*BUFFERS, *LINK_BUFFERS, Buffer("XL", model.links[link].offset), Buffer("S", ()), Buffer("JF", ()))
    sweeps = (
        base_to_tip(RELATIVE, POSE, VELOCITY, ACCELERATION, COLUMN_RATES, only=path),
        each_link(LINK_POSE, LINK_VELOCITY, LINK_ACCELERATION, only=(link,)),
        tip_to_base(LINK_IN_BODY, rates, only=path),
    )
    return Plan("link_derivatives", buffers, sweeps, target=link)


def link_derivative_entries(model: Model, link: int, values: Values) -> Iterator[Scalar]:
    """dV/dq, dalpha/dq and dalpha/dv, (3, 6, nv) row by row."""
    found = values.lists.get("JF", [])
    for number in range(3):
        yield from jacobian_entries(model, link, [rates[number] if rates else () for rates in found])


def _link_derivatives(of: Subject, given: Names, *, link: str) -> Recipe:
    model, number = of.model, of.model.link_index(link)
    gather = partial(link_derivative_entries, model, number)
    return Recipe(link_derivatives_plan(model, number), gather, (3, 6, model.nv))


LINK_DERIVATIVES = Quantity(
    "kinematics.link_derivatives",
    ("q", "v", "a"),
    _link_derivatives,
    "velocity by q, acceleration by q and by v: (angular, linear), world axes at the link origin; columns as in v",
)
