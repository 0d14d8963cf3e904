"""Inverse dynamics and generalised forces, Saha (30)-(32) and section 5.1, as corrected.

Outward go the twists nu (here t) and their rates xi, relative to free fall; inward goes gam, the whole wrench that
passes through a joint onto its link. Against the print: nu has its B, and Bdot has the share of joints that slide.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from recursa.book.on_axes import Centred
from recursa.denoc.mass_centers import (
    AT_CENTER,
    BUFFERS,
    GEOMETRY,
    MOTION,
    Hinge,
    Shift,
    carried,
    require_mass_centers,
)
from recursa.dynamics.gathering import FORCES, vector_of
from recursa.dynamics.inverse import at_joint, less_external, pushing
from recursa.dynamics.wrenches import Losses
from recursa.model.may_move import MayMove
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.inertia import Force, Motion
from recursa.spatial.scalars import Scalar
from recursa.spatial.vec3 import ZERO, Vec3
from recursa.sweeps import Buffer, Given, Plan, Step, base_to_tip, tip_to_base
from recursa.walks.jacobians import along


def twist_rate(
    p: Hinge,
    B: Shift,
    parent: Motion,
    parent_rate: Motion,
    cdot: Vec3,
    own: Motion,
    v: Sequence[Scalar],
    a: Sequence[Scalar],
) -> Motion:
    """``xi = p qdd + Omega p qd + B xi(parent) + Bdot nu(parent)``."""
    return along(p, a) + drift(p, B, parent, parent_rate, cdot, own, v)


def drift(
    p: Hinge, B: Shift, parent: Motion, parent_rate: Motion, cdot: Vec3, own: Motion, v: Sequence[Scalar]
) -> Motion:
    """The same without qdd."""
    bending = Motion(ZERO, cdot.cross(B.turn.inverse_rotate(parent.angular)))  # Bdot nu(parent)
    return carried(own.angular, along(p, v)) + B.twist(parent_rate) + bending


def link_wrench(link: Centred, t: Motion, s: Motion, rate: Motion) -> Force:
    """``M sd + Mdot s`` with ``Mdot = diag(~w I, O)`` (8): what a link's motion takes, where s is t and sd its rate."""
    return Force(link.moment @ rate.angular + t.angular.cross(link.moment @ s.angular), rate.linear * link.mass)


def torque(p: Hinge, B: Shift, wrench: Force) -> tuple[tuple[Scalar, ...], Force]:
    """``tau_i = p_i^T gam_i``, and ``B^T gam_i`` for the parent (30)."""
    return tuple(column.dot(wrench) for column in p), B.wrench(wrench)


def falling(given: Given) -> Vec3:
    """The acceleration of gravity."""
    return given.gravity


def gravity_in_link(B: Shift, parent: Vec3) -> Vec3:
    """Gravity in link axes."""
    return B.turn.inverse_rotate(parent)


def weight(link: Centred, g: Vec3) -> Force:
    """``(0, m g)``."""
    return Force(ZERO, g * link.mass)


def plus(one: Force, other: Force) -> Force:
    """Their sum."""
    return one + other


_FROM_PARENT = ("p", "B", "t@parent", "xi@parent", "cdot", "t", "v")
RATE = Step(
    twist_rate, (*_FROM_PARENT, "a"), ("xi",), "xi = p qdd + Omega p qd + B xi(parent) + Bdot t(parent)   (5.1)"
)
DRIFT = Step(drift, _FROM_PARENT, ("xi",), "xi = Omega p qd + B xi(parent) + Bdot t(parent)           (5.1)")
LINK_WRENCH = Step(link_wrench, ("link", "t", "t", "xi"), ("gam",), "gam = M xi + Mdot t                         (9)")
EXTERNAL = Step(less_external, ("gam", "w^E"), ("gam",), "gam -= w^E                                  (30)")
TORQUE = Step(torque, ("p", "B", "gam"), ("T", "gam@parent"), "tau = p.gam, gam(parent) += B^T gam         (30)")
GRAVITY = Step(gravity_in_link, ("B", "g@parent"), ("g",), "g in link axes")
WEIGHT = Step(weight, ("link", "g"), ("gam",), "w^E = (0, m g)")
MORE_EXTERNAL = Step(plus, ("gam", "w^E"), ("gam",), "w^E += external")


@cache
def inverse_plan(*, wrenches: bool = False, losses: Losses = False, springs: bool = False) -> Plan:
    """Torques for given accelerations, section 5.1 with gravity by (32)."""
    bring, external = pushing(AT_CENTER, EXTERNAL, wrenches=wrenches)
    outward = base_to_tip(*MOTION, RATE, LINK_WRENCH, *external)
    inward = tip_to_base(TORQUE, *at_joint(losses=losses, springs=springs))
    return Plan("inverse_dynamics, denoc", BUFFERS, (*bring, outward, inward))


@cache
def generalized_forces_plan(*, wrenches: bool = False) -> Plan:
    """``tau = N^T w^E`` of gravity and of wrenches on links (30)."""
    bring, external = pushing(AT_CENTER, MORE_EXTERNAL, wrenches=wrenches)
    outward = base_to_tip(*GEOMETRY, GRAVITY, WEIGHT, *external)
    buffers = (*BUFFERS, Buffer("g", ZERO, falling))
    return Plan("generalized_forces, denoc", buffers, (*bring, outward, tip_to_base(TORQUE)))


# ---- quantities ------------------------------------------------------------------------------------------------------


def _generalized_forces(of: Subject, given: Names) -> Recipe:
    plan = generalized_forces_plan(wrenches="wrenches" in given)
    return Recipe(plan, vector_of(of.model, "T"), (of.model.nv,), MayMove.FRAMES, require=require_mass_centers)


GENERALIZED_FORCES = Quantity(
    "denoc.generalized_forces",
    ("q",),
    _generalized_forces,
    FORCES,
    optional=("wrenches",),
    reads={"wrenches": "wrench"},
)
