"""Twists, wrenches and masses of links at their mass centres in base axes, in which the paper writes its matrices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial
from typing import Any

from recursa.book.on_axes import Centred
from recursa.denoc.forward import ARTICULATE, ARTICULATED, Pivots, require_independent
from recursa.denoc.inverse_dynamics import RATE, inverse_plan
from recursa.denoc.mass_centers import BUFFERS, GEOMETRY, MOTION, TWIST, Hinge, require_mass_centers
from recursa.dynamics.factorization import six_by_six
from recursa.dynamics.gathering import flat
from recursa.dynamics.inverse import OWN_ROTOR
from recursa.dynamics.kinematics import POSE
from recursa.quantities import Names, Quantity, Recipe, Subject, refusals
from recursa.spatial.inertia import ArticulatedInertia, Force, Motion
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import IDENTITY_TRANSFORM, Transform
from recursa.spatial.vec3 import SYM_ZERO, ZERO, SymMat3, Vec3
from recursa.sweeps import Buffer, Plan, Step, Values, base_to_tip, tip_to_base


def center(pose: Transform, link: Centred) -> Vec3:
    """C_i."""
    return pose @ link.r


def hinge_in_base(pose: Transform, p: Hinge) -> Hinge:
    """p_i in base axes."""
    return tuple(twist_in_base(pose, column) for column in p)


def moment_in_base(pose: Transform, link: Centred) -> SymMat3:
    """I_i in base axes."""
    return pose.rotation.symmetric(link.moment)


def twist_in_base(pose: Transform, t: Motion) -> Motion:
    """Both halves turned; the point stays C_i."""
    return Motion(pose.rotation @ t.angular, pose.rotation @ t.linear)


def wrench_in_base(pose: Transform, w: Force) -> Force:
    """Likewise."""
    return Force(pose.rotation @ w.moment, pose.rotation @ w.force)


def mass_in_base(pose: Transform, mass: ArticulatedInertia) -> ArticulatedInertia:
    """Mh_i in base axes."""
    return mass.rotated(pose.rotation)


def multipliers_in_base(pose: Transform, pivots: Pivots) -> tuple[Force, ...]:
    """psi of each freedom in base axes."""
    return tuple(wrench_in_base(pose, pivot.psi) for pivot in pivots)


_BUFFERS = (
    *BUFFERS,
    Buffer("W", IDENTITY_TRANSFORM),
    Buffer("C", ZERO),
    Buffer("p0", ()),
    Buffer("I0", SYM_ZERO),
    Buffer("t0", Motion.zero()),
    Buffer("w0", Force.zero()),
    Buffer("Mh0", ArticulatedInertia.zero()),
    Buffer("psi0", ()),
)
LINKS_PLAN = Plan(
    "links in base axes, denoc",
    _BUFFERS,
    (
        base_to_tip(
            *GEOMETRY,
            POSE,
            Step(center, ("W", "link"), ("C",), "C in base axes"),
            Step(hinge_in_base, ("W", "p"), ("p0",), "p in base axes"),
            Step(moment_in_base, ("W", "link"), ("I0",), "I in base axes"),
        ),
    ),
)
TWISTS_PLAN = Plan(
    "twists, denoc",
    _BUFFERS,
    (base_to_tip(*GEOMETRY, TWIST, POSE, Step(twist_in_base, ("W", "t"), ("t0",), "t in base axes")),),
)
TWIST_RATES_PLAN = Plan(
    "twist_rates, denoc",
    (*(buffer for buffer in _BUFFERS if buffer.name != "xi"), Buffer("xi", Motion.zero())),  # without gravity
    (base_to_tip(*MOTION, RATE, POSE, Step(twist_in_base, ("W", "xi"), ("t0",), "dt/dt in base axes")),),
)
MASSES_PLAN = Plan(
    "articulated masses in base axes, denoc",
    (*_BUFFERS, *(buffer for buffer in ARTICULATED.buffers if buffer.name in ("Mh", "psi"))),
    (
        base_to_tip(*GEOMETRY, POSE),
        tip_to_base(
            ARTICULATE,
            Step(mass_in_base, ("W", "Mh"), ("Mh0",), "Mh in base axes"),
            Step(multipliers_in_base, ("W", "psi"), ("psi0",), "psi in base axes"),
        ),
    ),
)


@cache
def joint_wrenches_plan(*, wrenches: bool = False, rotors: bool = False) -> Plan:
    """gam of inverse dynamics in base axes."""
    known = inverse_plan(wrenches=wrenches)
    own = replace(OWN_ROTOR, reads=("joint", "gam", "xi", "t", "v", "a"), writes=("gam",))
    turned = base_to_tip(
        POSE, *((own,) if rotors else ()), Step(wrench_in_base, ("W", "gam"), ("w0",), "gam in base axes")
    )
    return Plan("joint_wrenches, denoc", _BUFFERS, (*known.sweeps, turned))


def link_entries(values: Values) -> Iterator[Scalar]:
    """Per body the 3 x 4 pose of its frame, C and I; then p, freedom by freedom."""
    for pose, place, moment in zip(*(values.lists.get(name, []) for name in ("W", "C", "I0")), strict=True):
        yield from flat((*pose.rows()[:3], place, *moment.rows()))
    yield from _six(values, "p0")


def mass_entries(values: Values) -> Iterator[Scalar]:
    """Mh (6 x 6 per body), mh, and psi, freedom by freedom."""
    yield from flat(map(six_by_six, values.lists.get("Mh0", [])))
    yield from (pivot.mh for pivots in values.lists.get("psi", []) for pivot in pivots)
    yield from _six(values, "psi0")


def six_entries(values: Values, name: str) -> Iterator[Any]:
    """Six numbers per body."""
    return flat(item.components() for item in values.lists.get(name, []))


def _six(values: Values, name: str) -> Iterator[Scalar]:
    return flat(column.components() for columns in values.lists.get(name, []) for column in columns)


# ---- quantities ------------------------------------------------------------------------------------------------------


def _per_link(plan: Plan, name: str, of: Subject, given: Names) -> Recipe:
    return Recipe(plan, partial(six_entries, name=name), (of.model.nbodies, 6), require=require_mass_centers)


def _joint_wrenches(of: Subject, given: Names) -> Recipe:
    rotors = any(joint.rotor for joint in of.model.joints)
    return _per_link(joint_wrenches_plan(wrenches="wrenches" in given, rotors=rotors), "w0", of, given)


def _links(of: Subject, given: Names) -> Recipe:
    size = 24 * of.model.nbodies + 6 * sum(joint.kind.nv for joint in of.model.joints)
    return Recipe(LINKS_PLAN, link_entries, (size,), require=require_mass_centers)


def _masses(of: Subject, given: Names) -> Recipe:
    require_independent(of)
    size = 36 * of.model.nbodies + 7 * of.model.nv
    return Recipe(MASSES_PLAN, mass_entries, (size,), require=require_mass_centers)


LINKS = Quantity(
    "denoc.links",
    ("q",),
    _links,
    "per body its 3 x 4 pose, C in m and I in kg m^2; then p, freedom by freedom; world axes",
)
TWISTS = Quantity(
    "denoc.twists",
    ("q", "v"),
    partial(_per_link, TWISTS_PLAN, "t0"),
    "(angular, linear) of every body in rad/s and m/s, world axes at its mass centre",
)
TWIST_RATES = Quantity(
    "denoc.twist_rates",
    ("q", "v", "a"),
    partial(_per_link, TWIST_RATES_PLAN, "t0"),
    "(angular, linear) of every body in rad/s^2 and m/s^2, world axes at its mass centre",
)
JOINT_WRENCHES = Quantity(
    "denoc.joint_wrenches",
    ("q", "v", "a"),
    _joint_wrenches,
    "(moment, force) onto every body in N m and N, world axes at its mass centre",
    optional=("wrenches",),
    reads={"wrenches": "wrench"},
    on_constraints=refusals.REACTIONS,
)
MASSES = Quantity(
    "denoc.masses",
    ("q",),
    _masses,
    "per body Mh, 6 x 6, in kg m^2, kg m and kg; then mh and psi, freedom by freedom; world axes at mass centres",
    on_constraints=refusals.RESPONSES,
)
