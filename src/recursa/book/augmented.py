"""Inverse dynamics with augmented links, the Cartesian-tensor recursion with the fewest operations.

Balafoutis & Patel, Algorithm 5.7 (5.3.44)-(5.3.46), for trees: an augmented link carries the mass of everything outward
as points at its children's origins. What Step 1 computes is constant where the children turn, so that a kernel holds
only Steps 2 and 3. Frames sit on the joint axes (``model/canonical.py``), joints turn about or slide along z.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from recursa.book.on_axes import BRING, completed, less_external
from recursa.book.rigid_body import angular_acceleration_tensor, euler_from_inertia, torque_from_euler
from recursa.dynamics.kinematics import RELATIVE
from recursa.dynamics.losses import Losses
from recursa.dynamics.springs import SPRING
from recursa.model.canonical import CanonicalJoint
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import RigidInertia
from recursa.spatial.mat3 import Mat3
from recursa.spatial.scalars import Scalar
from recursa.spatial.screws import ScrewChain
from recursa.spatial.transform import IDENTITY_TRANSFORM
from recursa.spatial.vec3 import SYM_ZERO, ZERO, SymMat3, Vec3
from recursa.spatial.vectors6 import Force
from recursa.sweeps import Buffer, Given, Plan, Step, base_to_tip, tip_to_base


class TensorRates(NamedTuple):
    """What Step 2 hands outward: omega, its rate, the tensor Omega, the origin's acceleration, and zeta."""

    w: Vec3
    wd: Vec3
    omega: Mat3
    sdd: Vec3
    zeta: Vec3


def augmented_link(
    inertia: RigidInertia, mass: Scalar, first: Vec3, euler: SymMat3, step: ScrewChain
) -> tuple[Scalar, Vec3, SymMat3, Scalar, Vec3, SymMat3]:
    """Mass outward, first moment u and Euler tensor K of the augmented link, and its share in its parent's (5.3.44)."""
    total = inertia.mass + mass  # (5.3.44a)
    s = step.origin()
    return (
        total,
        inertia.first + first,  # (5.3.44b)
        euler_from_inertia(inertia.moment) + euler,  # (5.3.44c, d) in their short form
        total,
        s * total,
        SymMat3.dyad(s, total),
    )


def resting_base(given: Given) -> TensorRates:
    """The base: at rest, accelerating upwards."""
    return TensorRates(ZERO, ZERO, Mat3.zero(), -given.gravity, ZERO)


def rates(joint: Joint, step: ScrewChain, parent: TensorRates, v: Sequence[Scalar], a: Sequence[Scalar]) -> TensorRates:
    """Step 2 (5.3.45a-e)."""
    w = step.inverse_rotate(parent.w)
    wd = step.inverse_rotate(parent.wd)
    sdd = step.inverse_rotate(parent.sdd + parent.omega @ step.origin())
    zeta = ZERO
    if joint.kind.slides:
        twice = v[0] + v[0]
        zeta = Vec3(w.y * twice, -(w.x * twice), a[0])  # 2 ~w z qd + z qdd    (5.3.45d)
        sdd = sdd + zeta  # (5.3.45e)
    else:
        wd = Vec3(wd.x + w.y * v[0], wd.y - w.x * v[0], wd.z + a[0])  # ~w z qd + z qdd    (5.3.45b)
        w = Vec3(w.x, w.y, w.z + v[0])  # (5.3.45a)
    return TensorRates(w, wd, angular_acceleration_tensor(w, wd), sdd, zeta)  # (5.3.45c)


def drifting_rates(joint: Joint, step: ScrewChain, parent: TensorRates, v: Sequence[Scalar]) -> TensorRates:
    """Step 2 without joint accelerations."""
    return rates(joint, step, parent, v, (0.0,))


def torques(
    joint: Joint,
    step: ScrewChain,
    here: TensorRates,
    mass: Scalar,
    first: Vec3,
    euler: SymMat3,
    pull: Vec3,
    moment: Vec3,
) -> tuple[tuple[Scalar, ...], Vec3, Vec3]:
    """Step 3 (5.3.46), corrected: the joint's torque, and h and the moment for the parent."""
    force = here.omega @ first + pull  # Udd    (5.3.46a)
    eta = torque_from_euler(euler, here.omega) + first.cross(here.sdd) + moment  # (5.3.45f, g), (5.3.46b)
    sliding = joint.kind.slides
    torque = mass * here.sdd.z + force.z if sliding else eta.z  # (5.3.46c)
    h = step.rotate(force + here.zeta * mass if sliding else force)
    return (torque,), h, step.origin().cross(h) + step.rotate(eta)


TENSOR_RATES = Buffer("rates", TensorRates(ZERO, ZERO, Mat3.zero(), ZERO, ZERO), resting_base)
AUGMENTED_BUFFERS = (
    Buffer("X", IDENTITY_TRANSFORM),
    Buffer("mass", 0.0),
    Buffer("u", ZERO),
    Buffer("K", SYM_ZERO),
    TENSOR_RATES,
    Buffer("U", ZERO),
    Buffer("eta", ZERO),
    Buffer("T", ()),
)
AUGMENT = Step(
    augmented_link,
    ("inertia", "mass", "u", "K", "X"),
    ("mass", "u", "K", "mass@parent", "u@parent", "K@parent"),
    "mass, u, K of the augmented link   (5.3.44)",
)
_RATES = Step(rates, ("joint", "X", "rates@parent", "v", "a"), ("rates",), "omega, omegad, Omega, sdd   (5.3.45)")
_DRIFT = Step(drifting_rates, ("joint", "X", "rates@parent", "v"), ("rates",), "the same with qdd = 0   (5.3.45)")
_TORQUES = Step(
    torques,
    ("joint", "X", "rates", "mass", "u", "K", "U", "eta"),
    ("T", "U@parent", "eta@parent"),
    "Udd, eta, tau   (5.3.46)",
)
# a wrench on the link starts Step 3 there: Udd enters the recursion as a force does
_EXTERNAL = Step(less_external, ("U", "eta", "E"), ("U", "eta"), "Udd -= external force, eta -= its moment about o_i")


def suits(model: Model) -> bool:
    """Whether every joint turns about or slides along the z axis of its frame."""
    return all(isinstance(joint, CanonicalJoint) and not joint.kind.has_pitch for joint in model.joints)


ALGORITHM_5_7 = Plan(
    "augmented",
    (*AUGMENTED_BUFFERS, Buffer("E", Force.zero())),
    (BRING, base_to_tip(RELATIVE), tip_to_base(AUGMENT), base_to_tip(_RATES), tip_to_base(_EXTERNAL, _TORQUES)),
)


@cache
def augmented_plan(*, wrenches: bool = False, losses: Losses = False, springs: bool = False) -> Plan:
    """Torques for given accelerations."""
    return completed(ALGORITHM_5_7, wrenches=wrenches, losses=losses, springs=springs)


@cache
def augmented_bias_plan(*, springs: bool = False) -> Plan:
    """Torques that keep the joints from accelerating, which are without losses."""
    inward = tip_to_base(_TORQUES, *((SPRING,) if springs else ()))
    sweeps = (base_to_tip(RELATIVE), tip_to_base(AUGMENT), base_to_tip(_DRIFT), inward)
    return Plan("augmented", AUGMENTED_BUFFERS, sweeps)
