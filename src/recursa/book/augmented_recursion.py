"""Inverse dynamics with augmented links, the Cartesian-tensor recursion with the fewest operations.

Balafoutis & Patel, Algorithm 5.7 (5.3.44)-(5.3.46), for trees: an augmented link carries the mass of everything outward
as points at its children's origins. What Step 1 computes is constant where the children turn, so that a kernel holds
only Steps 2 and 3. Frames sit on the joint axes (``model/canonical.py``), joints turn about or slide along z.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recursa.book.on_axes import BRING, completed, less_external
from recursa.book.rigid_body import (
    angular_acceleration_tensor,
    euler_from_inertia,
    inertia_from_euler,
    torque_from_euler,
)
from recursa.dynamics.kinematics import RELATIVE
from recursa.dynamics.wrenches import SPRING, Losses
from recursa.model.canonical import CanonicalJoint, axis_frames
from recursa.model.model import Joint, Model
from recursa.spatial.inertia import Force, RigidInertia
from recursa.spatial.mat3 import Mat3, array_of
from recursa.spatial.scalars import Scalar
from recursa.spatial.transform import IDENTITY_TRANSFORM, ScrewChain, Transform
from recursa.spatial.vec3 import SYM_ZERO, Z_AXIS, ZERO, SymMat3, Vec3
from recursa.sweeps import Buffer, Given, Plan, Step, base_to_tip, run, tip_to_base


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


# ---- the off-line step of Algorithm 5.7 as data: what of the augmented links does not depend on the state ------------


Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AugmentedLinks:
    """The constants of Algorithm 5.7, Step 1 (5.3.44), one row per body, in frames on the axes or of the links.

    Augmented link i is link i with the mass of everything outward of each of its joints put at that joint's origin.

    - ``mass`` (n,): mbar_i, the mass of link i and all outward of it (5.3.44a).
    - ``first`` (n, 3): u_i, the first moment about the frame's origin (5.3.44b).
    - ``inertia`` (n, 3, 3): K_i, the inertia tensor about it (5.3.44c).
    - ``euler`` (n, 3, 3): its Euler tensor (5.3.44d).
    - ``frames`` (n, 4, 4): pose of the frame, z along the joint's axis, in the link's frame.
    - ``first_slope`` (n, 3), ``euler_slope``, ``euler_curvature`` (n, 3, 3): where joint j slides, its parent's moments
      depend on q_j: add ``q_j first_slope[j]`` to u, ``q_j euler_slope[j] + q_j**2 euler_curvature[j]`` to the Euler
      tensor of the parent, whose rows above are those at q_j = 0. Zero where joint j turns.
    - ``online``: the links whose moments therefore depend on the state; kernels work these out each time.
    """

    mass: Array
    first: Array
    inertia: Array
    euler: Array
    frames: Array
    first_slope: Array
    euler_slope: Array
    euler_curvature: Array
    online: tuple[str, ...]

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)


_OFFLINE = Plan("augmented links", AUGMENTED_BUFFERS, (base_to_tip(RELATIVE), tip_to_base(AUGMENT)))


def augmented_links(model: Model, moved: Model) -> AugmentedLinks:
    """Of a model and the same with its frames on the joint axes; ``moved`` may be the model itself, if they are."""
    free = replace(moved, joints=tuple(replace(joint, tie=None) for joint in moved.joints))  # q_j is joint j's own
    values = run(_OFFLINE, free, {"q": [0.0] * model.nq})
    n = model.nbodies
    first_slope, euler_slope, curvature = np.zeros((n, 3)), np.zeros((n, 3, 3)), np.zeros((n, 3, 3))
    online = []
    for j, joint in enumerate(moved.joints):
        if not joint.kind.slides:
            continue
        step: ScrewChain | Transform = values["X"][j]
        s, z, mass = np.array(step.origin()), np.array(step.rotate(Z_AXIS)), values["mass"][j]
        first_slope[j] = mass * z
        euler_slope[j] = mass * (np.outer(s, z) + np.outer(z, s))
        curvature[j] = mass * np.outer(z, z)
        if joint.parent >= 0:
            online.append(moved.joints[joint.parent].child)
    return AugmentedLinks(
        mass=np.array(values["mass"], float).reshape(n),
        first=np.array(values["u"], float).reshape(n, 3),
        inertia=np.array([array_of(inertia_from_euler(K).rows()) for K in values["K"]]).reshape(n, 3, 3),
        euler=np.array([array_of(K.rows()) for K in values["K"]]).reshape(n, 3, 3),
        frames=_frames(model, moved).reshape(n, 4, 4),
        first_slope=first_slope,
        euler_slope=euler_slope,
        euler_curvature=curvature,
        online=tuple(dict.fromkeys(online)),
    )


def _frames(model: Model, moved: Model) -> Array:
    """Poses of the frames in those of the links."""
    if moved is model:
        return np.tile(np.eye(4), (model.nbodies, 1, 1))
    return np.array([array_of(frame.rows()) for frame in axis_frames(model)])
