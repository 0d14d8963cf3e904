"""Dynamics along a reference velocity: ``M(q) a_r + C(q, v) v_r + g(q)``, as adaptive control needs it.

C is the Coriolis matrix of Christoffel symbols (``coriolis.py``), so that ``dM/dt - 2 C`` is skew (Slotine & Li,
Int. J. Robotics Research 6:3 (1987) 49). It is not formed: with a body's velocity V and its V_r at the reference
speeds, its share of ``C v_r`` is bilinear, ``(crf(V) M V_r + crf(V_r) M V - M crm(V) V_r)/2``, and the recursion is
Newton's and Euler's with two velocities (Echeandia & Wensing, 2021). Everything is linear in the inertial parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from recursa.dynamics.gathering import FORCES, listed, vector_of
from recursa.dynamics.inverse import FORCE_BUFFERS, TORQUE, at_joint
from recursa.dynamics.kinematics import RELATIVE, VELOCITY, acceleration, velocity
from recursa.dynamics.regressor import ROW_BUFFERS, ROWS, UNIT_BODIES
from recursa.quantities import Names, Quantity, Recipe, Subject
from recursa.spatial.inertia import Force, Motion, RigidInertia
from recursa.spatial.scalars import Scalar
from recursa.sweeps import Buffer, Plan, Step, base_to_tip, tip_to_base

# ---- steps -----------------------------------------------------------------------------------------------------------


def mixed_force(inertia: RigidInertia, faster: Motion, moving: Motion, reference: Motion) -> Force:
    """``M alpha_r + (crf(V) M V_r + crf(V_r) M V - M crm(V) V_r)/2``."""
    turning = moving.cross_force(inertia @ reference) + reference.cross_force(inertia @ moving)
    return inertia @ faster + (turning - inertia @ moving.cross_motion(reference)) * 0.5


def forces_by_parameter(faster: Motion, moving: Motion, reference: Motion) -> tuple[Force, ...]:
    """The same per unit of each of a body's ten parameters."""
    return tuple(mixed_force(unit, faster, moving, reference) for unit in UNIT_BODIES)


def powers_by_parameter(faster: Motion, moving: Motion, reference: Motion, along: Motion) -> tuple[Scalar, ...]:
    """What these forces do along a motion of the body, ``Y* s`` of its parameters."""
    return tuple(along.dot(force) for force in forces_by_parameter(faster, moving, reference))


def natural_rates(inertia: RigidInertia, by_parameter: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """Rates of a body's parameters with ``P' = P L P``, P its pseudo-inertia and ``tr(L P) = Y* s . pi``.

    P stays positive: the parameters are those of some distribution of mass (Lee, Kwon & Park, Automatica 2018).
    """
    p, dual = pseudo_inertia(inertia.components()), _dual(by_parameter)
    half = [[sum((p[i][k] * dual[k][j] for k in range(4)), start=0.0) for j in range(4)] for i in range(4)]
    rate = [[sum((half[i][k] * p[k][j] for k in range(4)), start=0.0) for j in range(4)] for i in range(4)]
    (xx, xy, xz, hx), (_, yy, yz, hy), (_, _, zz, hz), (_, _, _, m) = rate
    return m, hx, hy, hz, yy + zz, -xy, xx + zz, -xz, -yz, xx + yy


def pseudo_inertia(parameters: Sequence[Scalar]) -> list[list[Scalar]]:
    """``[[S, h], [h*, m]]`` with ``S = tr(I)/2 - I``, from the ten parameters in their order."""
    m, hx, hy, hz, ixx, ixy, iyy, ixz, iyz, izz = parameters
    sx, sy, sz = 0.5 * (iyy + izz - ixx), 0.5 * (ixx + izz - iyy), 0.5 * (ixx + iyy - izz)
    return [[sx, -ixy, -ixz, hx], [-ixy, sy, -iyz, hy], [-ixz, -iyz, sz, hz], [hx, hy, hz, m]]


def _dual(by: tuple[Scalar, ...]) -> list[list[Scalar]]:
    """The symmetric matrix L with ``tr(L P(pi)) = by . pi`` for all pi."""
    m, hx, hy, hz, ixx, ixy, iyy, ixz, iyz, izz = by
    x, y, z = 0.5 * hx, 0.5 * hy, 0.5 * hz
    xy, xz, yz = -0.5 * ixy, -0.5 * ixz, -0.5 * iyz
    return [[iyy + izz, xy, xz, x], [xy, ixx + izz, yz, y], [xz, yz, ixx + iyy, z], [x, y, z, m]]


# ---- plans -----------------------------------------------------------------------------------------------------------

REFERENCE_VELOCITY = Step(
    velocity, ("joint", "X", "VR@parent", "joint:v_r"), ("VR",), "V_r(k) = phi* V_r(parent) + H* v_r"
)
REFERENCE_ACCELERATION = Step(
    acceleration,
    ("joint", "X", "alpha@parent", "V", "joint:v_r", "a"),
    ("alpha",),
    "alpha_r(k) = phi* alpha_r(parent) + H* a_r + crm(V) H* v_r",
)
_ALONG = Step(velocity, ("joint", "X", "S@parent", "joint:s"), ("S",), "S(k) = phi* S(parent) + H* s")
_FORCE = Step(
    mixed_force,
    ("inertia", "alpha", "V", "VR"),
    ("f",),
    "f = M alpha_r + (crf(V) M V_r + crf(V_r) M V - M crm(V) V_r)/2",
)
_POWERS = Step(powers_by_parameter, ("alpha", "V", "VR", "S"), ("Y",), "Y* s = S . f per parameter")
_NATURAL = Step(natural_rates, ("inertia", "Y"), ("Y",), "P' = P L P")
OUTWARD = (RELATIVE, VELOCITY, REFERENCE_VELOCITY, REFERENCE_ACCELERATION)
_REFERENCE = (Buffer("VR", Motion.zero()),)
REFERENCE_BUFFERS = (*FORCE_BUFFERS, *_REFERENCE)


@cache
def reference_dynamics_plan(*, springs: bool = False) -> Plan:
    """Torques for reference speeds and accelerations."""
    inward = tip_to_base(TORQUE, *at_joint(losses=False, springs=springs))
    return Plan("reference_dynamics", REFERENCE_BUFFERS, (base_to_tip(*OUTWARD, _FORCE), inward))


PARAMETER_FORCES = Step(forces_by_parameter, ("alpha", "V", "VR"), ("F",), "f per parameter, see f above")
REFERENCE_REGRESSOR_PLAN = Plan(
    "reference_regressor",
    (*REFERENCE_BUFFERS, *ROW_BUFFERS),
    (base_to_tip(*OUTWARD, PARAMETER_FORCES), tip_to_base(ROWS)),
)


@cache
def _adaptation_plan(*, natural: bool) -> Plan:
    buffers = (*REFERENCE_BUFFERS, Buffer("S", Motion.zero()), Buffer("Y", ()))
    steps = (*OUTWARD, _ALONG, _POWERS, *((_NATURAL,) if natural else ()))
    return Plan("adaptation, natural" if natural else "adaptation", buffers, (base_to_tip(*steps),))


# ---- quantities ------------------------------------------------------------------------------------------------------


def _reference_dynamics(of: Subject, given: Names) -> Recipe:
    return Recipe(reference_dynamics_plan(springs=of.model.has_springs), vector_of(of.model, "T"), (of.model.nv,))


def _adaptation(of: Subject, given: Names, *, natural: bool = False) -> Recipe:
    return Recipe(_adaptation_plan(natural=natural), listed("Y"), (10 * of.model.nbodies,))


REFERENCE_READS = {"v_r": "joint:v_r", "a_r": "a", "s": "joint:s"}
REFERENCE_WORDS = {
    "v_r": "reference speeds, places as in v",
    "a_r": "reference accelerations: rates of v_r, places as in v",
    "s": "speeds, places as in v",
}
REFERENCE_DYNAMICS = Quantity(
    "reference_dynamics",
    ("q", "v", "v_r", "a_r"),
    _reference_dynamics,
    FORCES,
    optional=("parameters",),
    reads=REFERENCE_READS,
    words=REFERENCE_WORDS,
)
ADAPTATION = Quantity(
    "control.adaptation",
    ("q", "v", "v_r", "a_r", "s"),
    _adaptation,
    "per inertial parameter: Y* s, watts per unit of the parameter; natural: its rate with P' = P L P",
    optional=("parameters",),
    reads=REFERENCE_READS,
    words=REFERENCE_WORDS,
)
