"""Inverse dynamics by Newton's and Euler's equations in link frames: Algorithms 5.3 (vectors) and 5.6 (tensors)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from recursa.book.on_axes import BUFFERS, CENTRED, Centred, slides
from recursa.book.rigid_body import angular_acceleration_tensor, euler_from_inertia, torque_from_euler
from recursa.dynamics.inverse import at_joint, pushing
from recursa.dynamics.kinematics import RELATIVE
from recursa.dynamics.losses import Losses
from recursa.model.model import Joint
from recursa.spatial.mat3 import Mat3
from recursa.spatial.scalars import Scalar
from recursa.spatial.screws import ScrewChain
from recursa.spatial.vec3 import SYM_ZERO, Z_AXIS, ZERO, SymMat3, Vec3
from recursa.spatial.vectors6 import Force
from recursa.sweeps import Buffer, Given, Plan, Step, base_to_tip, tip_to_base

# ---- Algorithm 5.3: Luh, Walker & Paul ("luh-walker-paul") -----------------------------------------------------------


class LinkRates(NamedTuple):
    """omega, its rate, the origin's acceleration."""

    w: Vec3
    wd: Vec3
    sdd: Vec3


def resting(given: Given) -> LinkRates:
    """The base: at rest, accelerating upwards."""
    return LinkRates(ZERO, ZERO, -given.gravity)


def rates(joint: Joint, step: ScrewChain, parent: LinkRates, v: Sequence[Scalar], a: Sequence[Scalar]) -> LinkRates:
    """Forward recursion (5.2.23a-c)."""
    (w, wd, sdd), s, z = parent, step.origin(), Z_AXIS
    above = step.inverse_rotate(w)  # w' = A^T w_i
    wd_above = step.inverse_rotate(wd)
    point = step.inverse_rotate(sdd + wd.cross(s) + w.cross(w.cross(s)))
    if slides(joint):
        return LinkRates(above, wd_above, point + above.cross(z * v[0]) * 2.0 + z * a[0])  # (5.2.23c)
    return LinkRates(
        above + z * v[0],  # (5.2.23a)
        wd_above + above.cross(z * v[0]) + z * a[0],  # (5.2.23b)
        point,
    )


def link_force(link: Centred, here: LinkRates) -> tuple[Vec3, Vec3]:
    """What the link itself takes: F_i, and its moment about o_i."""
    w, wd, sdd = here
    rdd = wd.cross(link.r) + w.cross(w.cross(link.r)) + sdd  # (5.2.23d)
    force = rdd * link.mass  # (5.2.23e)
    moment = link.moment @ wd + w.cross(link.moment @ w)  # (5.2.23f)
    return force, moment + link.r.cross(force)


def joint_force(joint: Joint, step: ScrewChain, f: Vec3, eta: Vec3) -> tuple[tuple[Scalar, ...], Vec3, Vec3]:
    """Backward recursion: tau_i, and what the link hands to its parent."""
    torque = f.z if slides(joint) else eta.z  # (5.2.24c)
    there = step.rotate(f)  # (5.2.24a)
    return (torque,), there, step.origin().cross(there) + step.rotate(eta)  # (5.2.24b)


def less_external(f: Vec3, eta: Vec3, external: Force) -> tuple[Vec3, Vec3]:
    """What is left for the joint where a wrench acts on the link."""
    return f - external.force, eta - external.moment


_EXTERNAL = Step(less_external, ("f", "eta", "E"), ("f", "eta"), "f -= external force, eta -= its moment about o_i")
JOINT_FORCE = Step(
    joint_force,
    ("joint", "X", "f", "eta"),
    ("T", "f@parent", "eta@parent"),
    "f = F + A f, eta = M + r x F + s x A f + A eta, tau = z.eta or z.f   (5.2.24)",
)
_FORCES = (Buffer("f", ZERO), Buffer("eta", ZERO))


@cache
def luh_walker_paul_plan(*, wrenches: bool = False, losses: Losses = False, springs: bool = False) -> Plan:
    """Algorithm 5.3."""
    bring, less = pushing(_EXTERNAL, wrenches=wrenches)
    outward = (
        RELATIVE,
        CENTRED,
        Step(rates, ("joint", "X", "rates@parent", "v", "a"), ("rates",), "omega, omegad, sdd   (5.2.23a-c)"),
        Step(link_force, ("link", "rates"), ("f", "eta"), "F = m rdd, M = I omegad + omega x I omega   (5.2.23d-f)"),
        *less,
    )
    buffers = (*BUFFERS, *_FORCES, Buffer("rates", LinkRates(ZERO, ZERO, ZERO), resting))
    inward = tip_to_base(JOINT_FORCE, *at_joint(losses=losses, springs=springs))
    return Plan("luh-walker-paul", buffers, (*bring, base_to_tip(*outward), inward))


# ---- Algorithm 5.6: the same with tensors ("tensor") -----------------------------------------------------------------


class TensorRates(NamedTuple):
    """omega, its rate, the tensor Omega, the origin's acceleration."""

    w: Vec3
    wd: Vec3
    omega: Mat3
    sdd: Vec3


def resting_tensor(given: Given) -> TensorRates:
    """The base: at rest, accelerating upwards."""
    return TensorRates(ZERO, ZERO, Mat3.zero(), -given.gravity)


def euler_tensor(link: Centred) -> SymMat3:
    """``J_c = tr(I_c) 1/2 - I_c``, off-line."""
    return euler_from_inertia(link.moment)  # (5.3.5a)


def tensor_rates(
    joint: Joint, step: ScrewChain, parent: TensorRates, v: Sequence[Scalar], a: Sequence[Scalar]
) -> TensorRates:
    """Forward recursion (5.3.7a-d); sdd takes the parent's Omega."""
    z = Z_AXIS
    w, wd = step.inverse_rotate(parent.w), step.inverse_rotate(parent.wd)
    sdd = step.inverse_rotate(parent.sdd + parent.omega @ step.origin())
    if slides(joint):
        sdd = sdd + w.cross(z * v[0]) * 2.0 + z * a[0]  # (5.3.7d)
    else:
        wd = wd + w.cross(z * v[0]) + z * a[0]  # (5.3.7b)
        w = w + z * v[0]  # (5.3.7a)
    return TensorRates(w, wd, angular_acceleration_tensor(w, wd), sdd)  # (5.3.7c)


def tensor_link_force(link: Centred, euler: SymMat3, here: TensorRates) -> tuple[Vec3, Vec3]:
    """What the link itself takes: F_i, and its moment about o_i."""
    rdd = here.omega @ link.r + here.sdd  # (5.3.7e)
    force = rdd * link.mass  # (5.3.7f)
    moment = torque_from_euler(euler, here.omega)  # dual of Omega J - (Omega J)^T    (5.3.7g, h)
    return force, moment + link.r.cross(force)


@cache
def tensor_plan(*, wrenches: bool = False, losses: Losses = False, springs: bool = False) -> Plan:
    """Algorithm 5.6."""
    bring, less = pushing(_EXTERNAL, wrenches=wrenches)
    outward = (
        RELATIVE,
        CENTRED,
        Step(euler_tensor, ("link",), ("J",), "J_c   (5.3.5a)"),
        Step(tensor_rates, ("joint", "X", "rates@parent", "v", "a"), ("rates",), "omega, Omega, sdd   (5.3.7a-d)"),
        Step(
            tensor_link_force, ("link", "J", "rates"), ("f", "eta"), "F = m rdd, ~M = Omega J - (Omega J)^T (5.3.7e-h)"
        ),
        *less,
    )
    rest = TensorRates(ZERO, ZERO, Mat3.zero(), ZERO)
    buffers = (*BUFFERS, *_FORCES, Buffer("J", SYM_ZERO), Buffer("rates", rest, resting_tensor))
    inward = tip_to_base(JOINT_FORCE, *at_joint(losses=losses, springs=springs))
    return Plan("tensor", buffers, (*bring, base_to_tip(*outward), inward))
